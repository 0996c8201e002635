// A script that brings tasks into each of the 20 words of the standard, one after another, in one runtime. Each word stays until the visitor has returned.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seen } from '../lib/gate.mjs';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { startWorker, stateOf } from '../worker/worker.mjs';

export const WORDS = ['draft', 'accepted', 'queued', 'preparing', 'running', 'waiting_input', 'waiting_permission', 'waiting_resource', 'blocked', 'paused', 'retrying', 'cancelling',
	'cancelled', 'timed_out', 'failed', 'lost', 'completed', 'archived', 'stale', 'unknown'];

const OUTSIDE = { kind: 'worker', id: 'w-1' };
const AGENT = { kind: 'agent' };
/** Ends when it was asked to and the file `end` is there; or after some minutes, when a test has failed. */
const STUBBORN = `i=0; step() { sleep 0.05; i=$((i+1)); }; trap 'until test -e end || test $i -gt 4800; do step; done; exit 0' INT TERM; echo up; while test $i -lt 4800; do step; done`;
const SUM = { name: 'sum', description: 'Adds.', inputSchema: { type: 'object' } };

/** The world that the script needs; `tools` as tests of workspaces have it. */
export async function startWords(config = {}) {
	const folder = realpathSync(newFolder());
	const workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', workspace]);
	const hooks = [{ name: 'slow', point: 'user_prompt_submit', command: `grep -q slowly && while [ ! -e ${folder}/go ]; do sleep 0.05; done; echo '{}'`, timeout_ms: 120000 }];
	const settings = { 'tools.workspace': workspace, hooks, 'workers.heartbeat_ms': 200, 'workers.lease_ms': 600000, 'process.grace_ms': 600000, 'permission.mode': 'bypass', ...config };
	return { w: await world({ config: settings }), settings, folder, workspace };
}

/** Ends the supervisors of all processes of this daemon, and removes what they left: nobody knows how their commands ended. */
function loseProcesses(dataDir) {
	const dir = join(dataDir, 'data', 'processes');
	for (const name of readdirSync(dir)) {
		for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
			try {
				if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(join(dir, name))) process.kill(Number(pid), 'SIGKILL');
			} catch {
				// it ended meanwhile
			}
		}
		rmSync(join(dir, name), { recursive: true, force: true });
	}
}

/**
 * Calls `visit(word, { sessionId, taskId, isInternal })` for each word, while that task has it. The words are in one session but for those that need a crash or a worker.
 * `w` is what startWords() gave; its runtime is killed and started again on the way, so `w.rt` changes.
 */
export async function driveWords({ w, settings, folder, workspace }, visit) {
	const run = (command, input) => ok(w.rt, command, input);
	const { sessionId } = await run('create_session', {});
	const create = async (more = {}) => (await run('create_task', { sessionId, objective: 'hello', ...more })).taskId;
	const start = async (more, worker = OUTSIDE) => {
		const taskId = await create(more);
		await run('start_task', { taskId, worker });
		return taskId;
	};
	const until = (taskId, word) => {
		let last;
		return waitFor(async () => (last = (await run('get_task', { taskId })).status) === word, () => `${word}, not ${last}`);
	};
	const see = async (word, taskId, more = {}) => {
		await until(taskId, word);
		await visit(word, { sessionId, taskId, isInternal: false, ...more });
		return taskId;
	};

	await see('draft', await create({ draft: true }));
	await see('accepted', await create());
	const blocker = await see('running', await start());
	const behind = await create();
	await run('link_tasks', { sourceId: behind, targetId: blocker, kind: 'blocked_by' });
	await run('start_task', { taskId: behind, worker: OUTSIDE });
	await see('queued', behind);
	await run('fail_task', { taskId: blocker, error: { category: 'broken', message: 'it broke' } });
	await see('failed', blocker);
	await see('blocked', behind);

	const slow = await start({ objective: 'slowly' }, AGENT);
	await see('preparing', slow);
	writeFileSync(join(folder, 'go'), '');
	await see('completed', slow);
	await run('archive_task', { taskId: slow });
	await see('archived', slow);

	await see('waiting_input', await start({ acceptance: [{ criterion: 'somebody says so' }] }, AGENT));
	const whole = await create();
	await create({ parentTaskId: whole });
	await run('start_task', { taskId: whole, worker: AGENT });
	await see('waiting_resource', whole);
	const asked = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, createPolicy: { thread: 'new' }, options: { tools: [SUM], mode: 'default' } });
	await see('waiting_permission', asked.taskId, { isInternal: true });
	await run('interrupt_turn', { sessionId, turnId: asked.turnId, reason: 'enough' });

	const paused = await start();
	await run('pause_task', { taskId: paused, reason: 'lunch' });
	await see('paused', paused);
	const again = await start({ constraints: { retryPolicy: { maxAttempts: 2, backoffMs: 600000 } } });
	await run('fail_task', { taskId: again, error: { category: 'flaky', message: 'once more' }, retryable: true });
	await see('retrying', again);
	await see('timed_out', await start({ constraints: { timeMs: 1 } }));

	const cancelled = await start();
	await submit(w.rt, `[[tool shell ${JSON.stringify({ command: STUBBORN })}]]`, { sessionId, taskId: cancelled, createPolicy: { thread: 'new' } });
	await seen(w.rt, sessionId, 'process.started');
	await run('cancel_task', { taskId: cancelled, reason: 'not wanted' });
	await see('cancelling', cancelled);
	writeFileSync(join(workspace, 'end'), '');
	await see('cancelled', cancelled);

	const far = await startWorker(w.rt, { url: w.rt.url });
	const { workspace: { workspaceId } } = await run('create_workspace', { name: 'far', worker: far.workerId });
	const there = await run('submit_turn', { createPolicy: { workspaceId }, text: `[[tool shell ${JSON.stringify({ command: 'sleep 600' })}]]` });
	await seen(w.rt, there.sessionId, 'process.started');
	far.child.kill('SIGSTOP');
	await see('stale', there.taskId, { sessionId: there.sessionId, isInternal: true });
	far.child.kill('SIGCONT');
	await stateOf(w.rt, far.workerId, 'connected');
	await run('interrupt_turn', { sessionId: there.sessionId, reason: 'enough' });

	const command = await create({ command: 'sleep 600' });
	await run('start_task', { taskId: command });
	await seen(w.rt, sessionId, 'process.started', 2);
	await w.rt.kill9();
	loseProcesses(w.dataDir);
	w.rt = await w.again();
	await see('unknown', command);
	const hung = await submit(w.rt, '[[hang]]', { sessionId, createPolicy: { thread: 'new' } });
	await until(hung.taskId, 'running');
	await w.rt.kill9();
	w.rt = await w.again({ config: { ...settings, 'recovery.auto_resume': false } });
	await see('lost', hung.taskId, { isInternal: true });
}
