// A command as a task: one surface with offsets of its output, a stop, an end that is told, and a rule when it leaves the list.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;

const run = (command, input) => ok(w.rt, command, input);

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 300 } });
});

async function started(input) {
	const { sessionId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: 'run it', visibility: 'background', ...input });
	await run('start_task', { taskId });
	return { sessionId, taskId };
}

const reached = (taskId, ...statuses) => waitFor(async () => {
	const task = await run('get_task', { taskId });
	return statuses.includes(task.status) && task;
}, `task ${taskId}: ${statuses}`);

const stdout = (taskId) => waitFor(async () => (await run('get_task', { taskId })).progress?.outputRefs?.find((ref) => ref.endsWith('.stdout')), 'the ref of its output');

test('TK-25 a command in the background: its output is read by offset while it runs, turns go on beside it, its end is told, and an archived one leaves the list', async () => {
	const { sessionId, taskId } = await started({ command: 'echo first; until test -e more.txt; do sleep 0.05; done; echo second' });
	const outputRef = await stdout(taskId);
	const early = await waitFor(async () => {
		const part = await run('read_output', { outputRef });
		return part.content.includes('first\n') && part;
	}, 'the first line');
	assert.equal(early.content, 'first\n');
	const beside = await submit(w.rt, 'hello', { sessionId });
	await waitFor(async () => (await facts(w.rt, sessionId, 'turn.completed')).some((e) => e.turnId === beside.turnId), 'a turn beside it');
	assert.equal((await run('get_task', { taskId })).status, 'running');
	assert.ok((await run('list_tasks', { sessionId })).tasks.some((t) => t.taskId === taskId));
	writeFileSync(join(workspace, 'more.txt'), '');
	const task = await reached(taskId, 'completed', 'failed');
	assert.equal(task.status, 'completed', JSON.stringify(task));
	assert.deepEqual(task.attempts.map((a) => [a.statusDetail, a.worker]), [['completed', { kind: 'command' }]]);
	assert.equal((await run('read_output', { outputRef, offset: 6 })).content, 'second\n', 'the rest, by offset');
	assert.equal((await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId).length, 1);
	assert.equal((await facts(w.rt, sessionId, 'model.requested')).every((e) => e.turnId === beside.turnId), true, 'no model was asked for it');
	await run('archive_task', { taskId });
	assert.equal((await run('list_tasks', { sessionId })).tasks.some((t) => t.taskId === taskId), false);
	assert.equal((await run('get_task', { taskId })).status, 'archived');
});

test('TK-25 cancel_task stops the command: the intent first, then the process, then the task', async () => {
	const { sessionId, taskId } = await started({ command: 'sleep 73.5' });
	await stdout(taskId);
	await run('cancel_task', { taskId, reason: 'enough' });
	await reached(taskId, 'cancelled');
	const log = await waitFor(async () => {
		const all = await facts(w.rt, sessionId);
		return all.some((e) => e.type === 'process.terminated') && all;
	}, 'the end of the command');
	const at = (type) => log.find((e) => e.type === type && (e.taskId === taskId || type.startsWith('process'))).sequence;
	assert.ok(at('task.cancel_requested') < at('process.terminated'));
});

test('TK-25 another exit code fails the run, and the policy tries it again; the time of the task ends it; kill -9 does not run it twice', async () => {
	const policy = { retryPolicy: { maxAttempts: 2, backoffMs: 1 } };
	const failed = await started({ command: 'echo broken; exit 4', constraints: policy });
	const task = await reached(failed.taskId, 'completed', 'failed');
	assert.deepEqual([task.status, task.attempts.map((a) => a.lastError.category)], ['failed', ['exit_code', 'exit_code']]);
	assert.match(task.lastError.message, /exit code is 4[^]*broken/);
	const late = await started({ command: 'sleep 74.6', constraints: { timeMs: 300 } });
	assert.equal((await reached(late.taskId, 'timed_out', 'failed', 'completed')).status, 'timed_out');
	const once = await started({ command: 'echo ran >> once.txt; until test -e on.txt; do sleep 0.05; done; test $(wc -l < once.txt) = 1' });
	await waitFor(() => existsSync(join(workspace, 'once.txt')), 'the command');
	await w.rt.kill9();
	w.rt = await w.again();
	writeFileSync(join(workspace, 'on.txt'), '');
	assert.equal((await reached(once.taskId, 'completed', 'failed')).status, 'completed');
});

test('a command of a task is judged and confined as one of a model; without a command there is no such worker; nobody speaks to its turn', async () => {
	const denied = await started({ command: 'touch denied.txt', constraints: { mode: 'plan' } });
	assert.equal((await reached(denied.taskId, 'failed', 'completed')).lastError.category, 'permission_denied');
	const confined = await started({ command: 'touch confined.txt', constraints: { sandbox: 'read_only' } });
	assert.equal((await reached(confined.taskId, 'failed', 'completed')).status, 'failed');
	assert.deepEqual(['denied.txt', 'confined.txt'].map((f) => existsSync(join(workspace, f))), [false, false]);
	const { sessionId } = await run('create_session', {});
	await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', command: '' });
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, text: 'rm -rf /', options: { purpose: 'command' } });
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, text: 'x', source: 'system' });
	const { taskId } = await run('create_task', { sessionId, objective: 'x' });
	await refused(w.rt, 'worker_unavailable', 'start_task', { taskId, worker: { kind: 'command' } });
	const long = await started({ command: 'sleep 75.7' });
	await stdout(long.taskId);
	const [{ turnId, threadId }] = await facts(w.rt, long.sessionId, 'turn.started');
	await refused(w.rt, 'turn_not_active', 'steer_turn', { sessionId: long.sessionId, threadId, turnId, input: [{ type: 'text', text: 'do something else' }] });
	await run('cancel_task', { taskId: long.taskId, reason: 'seen' });
	await reached(long.taskId, 'cancelled');
});
