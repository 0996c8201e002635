// cancel_task of a task that has one of each: a child task, a job, a turn with a process, and a subagent. The process decides when it ends, so
// that the kill -9 is always in the middle.
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
const file = (name) => join(workspace, name);

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 600000 } });
});

/** A command that ends when it was asked to and the file `go` is there; or after some minutes, when a test has failed. */
const stubborn = (name) => `i=0; step() { sleep 0.05; i=$((i+1)); }; trap 'until test -e ${name}.go || test $i -gt 4800; do step; done; exit 0' INT TERM; echo up > ${name}.up; while test $i -lt 4800; do step; done`;

/** A task with one of each, all at work. */
async function whole(name) {
	const { sessionId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: 'whole' });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	await run('start_task', { taskId: child.taskId, worker: { kind: 'worker', id: 'w' } });
	const turn = await submit(w.rt, `[[tool shell ${JSON.stringify({ command: stubborn(name) })}]]`, { sessionId, taskId });
	const job = await run('create_job', { sessionId, taskId, instruction: '[[hang]]', input: 'a\nb\n', concurrency: 1 });
	const other = await submit(w.rt, '[[hang]]', { sessionId, createPolicy: { thread: 'new' } });
	const agent = await run('spawn_subagent', { sessionId, threadId: other.threadId, turnId: other.turnId, taskId, objective: '[[hang]]' });
	await waitFor(() => existsSync(file(`${name}.up`)), 'the command');
	const [{ processId }] = (await facts(w.rt, sessionId, 'process.started')).filter((e) => e.turnId === turn.turnId);
	await waitFor(async () => (await run('get_job', { jobId: job.jobId })).counts.running === 1, 'an item at work');
	const parts = { sessionId, taskId, child: child.taskId, turn: turn.taskId, processId, jobId: job.jobId, subagentId: agent.subagentId, other };
	await waitFor(async () => (await states(parts)).subagent === 'running', 'the subagent');
	return parts;
}

/** What each of the parts is now. */
async function states({ sessionId, child, turn, processId, jobId, subagentId }) {
	const { activeProcesses } = await run('get_execution_environment', { sessionId });
	return {
		child: (await run('get_task', { taskId: child })).status,
		turn: (await run('get_task', { taskId: turn })).status,
		job: (await run('get_job', { jobId })).status,
		process: activeProcesses.some((p) => p.processId === processId) ? 'running' : 'ended',
		subagent: (await run('list_subagents', { sessionId })).subagents.find((r) => r.subagentId === subagentId).status,
	};
}

const AT_WORK = { child: 'running', turn: 'running', job: 'running', process: 'running', subagent: 'running' };

test('CP-17 TK-16 cancel_task of a task with a child, a job, a process and a subagent: the intent first, each of them, the task last; kill -9 in between', async () => {
	const p = await whole('a');
	const { sessionId, taskId } = p;
	const reply = await run('cancel_task', { taskId, reason: 'not wanted' });
	const targets = [['job', p.jobId], ['process', p.processId], ['subagent', p.subagentId], ['task', p.child], ['task', p.turn]];
	assert.deepEqual([reply.taskId, reply.status, reply.targets.map((t) => [t.kind, t.id]).sort()], [taskId, 'cancelling', targets.sort()]);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await run('get_task', { taskId })).status, 'cancelling', 'its process has not ended');
	await waitFor(async () => (await states(p)).subagent === 'closed', 'the subagent');
	assert.deepEqual(await states(p), { ...AT_WORK, child: 'cancelled', job: 'cancelled', subagent: 'closed' });
	const repeat = await run('cancel_task', { taskId, reason: 'again' });
	assert.deepEqual([repeat.status, (await facts(w.rt, sessionId, 'task.cancel_requested')).filter((e) => e.taskId === taskId).length], ['cancelling', 1], 'a repeat is no second intent');
	writeFileSync(file('a.go'), '');
	await waitFor(async () => (await run('get_task', { taskId })).status === 'cancelled', 'the task');
	assert.deepEqual(await states(p), { child: 'cancelled', turn: 'cancelled', job: 'cancelled', process: 'ended', subagent: 'closed' });

	const log = await facts(w.rt, sessionId);
	const at = (type, check) => log.find((e) => e.type === type && check(e))?.sequence;
	const intent = at('task.cancel_requested', (e) => e.taskId === taskId);
	const ends = {
		'child asked': at('task.cancel_requested', (e) => e.taskId === p.child),
		'child': at('task.cancelled', (e) => e.taskId === p.child),
		'job': at('job.cancelled', (e) => e.jobId === p.jobId),
		'process': at('process.terminated', (e) => e.processId === p.processId),
		'subagent': at('subagent.closed', (e) => e.subagentId === p.subagentId),
		'turn': at('task.cancelled', (e) => e.taskId === p.turn),
	};
	const attempt = at('task.attempt.failed', (e) => e.taskId === taskId && e.payload.status === 'cancelled');
	const end = at('task.cancelled', (e) => e.taskId === taskId);
	for (const [name, sequence] of Object.entries(ends)) assert.ok(intent < sequence && sequence < attempt, `${name}: ${intent} < ${sequence} < ${attempt}`);
	assert.ok(attempt < end, `${attempt} < ${end}`);
	const [request] = log.filter((e) => e.type === 'task.cancel_requested' && e.taskId === taskId);
	assert.deepEqual(request.payload.propagation, { children: true, jobs: true, processes: true, subagents: true });
	await refused(w.rt, 'already_terminal', 'cancel_task', { taskId, reason: 'x' });
	await refused(w.rt, 'task_not_found', 'cancel_task', { taskId: taskId.replace(/_\d+$/, '_999'), reason: 'x' });
	await run('interrupt_turn', { sessionId, turnId: p.other.turnId, reason: 'done' });
});

test('TK-16 under propagation [] they all go on, also after kill -9', async () => {
	const p = await whole('b');
	assert.deepEqual(await run('cancel_task', { taskId: p.taskId, reason: 'x', propagation: [] }), { taskId: p.taskId, status: 'cancelled', targets: [] });
	assert.deepEqual(await states(p), AT_WORK);
	await w.rt.kill9();
	w.rt = await w.again();
	await waitFor(async () => (await states(p)).subagent === 'running', 'the subagent goes on');
	assert.deepEqual(await states(p), AT_WORK);
	writeFileSync(file('b.go'), '');
	await run('terminate_process', { processId: p.processId, reason: 'seen' });
	await waitFor(async () => (await states(p)).process === 'ended', 'the command');
});
