// What a session shows of its worker: it waits for one that is away or drained, is stale while one with calls is silent, lost when its lease has ended, and goes on when it is back.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, refused, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { factsOf } from '../tenant/tenants.mjs';
import { again, startRelay, startWorker, stateOf } from './worker.mjs';

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const relay = await startRelay(0);
let w, one, workspace, dir;

const facts = (turn) => factsOf(w.rt, undefined, turn.sessionId);
const fact = (turn, type, what = () => true) => waitFor(async () => (await facts(turn)).find((f) => f.type === type && what(f.payload)), () => type);
const ended = (turn) => waitFor(async () => (await facts(turn)).find((f) => f.turnId === turn.turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');
const submit = (name, args) => ok(w.rt, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call(name, args) });
const threadOf = async ({ sessionId }) => (await ok(w.rt, 'get_session', { sessionId })).threads[0];
const taskOf = ({ taskId }) => ok(w.rt, 'get_task', { taskId });
const write = (path) => submit('write_file', { path, content: 'here\n' });

/** What waits is seen in every read model, with the worker and the way out. */
async function assertWaits(turn) {
	const waiting = await fact(turn, 'task.waiting');
	assert.deepEqual([waiting.payload.waitFor, waiting.payload.status, waiting.taskId], ['worker', 'waiting_resource', turn.taskId]);
	assert.ok(waiting.payload.statusReason.includes(one.workerId), waiting.payload.statusReason);
	const thread = await threadOf(turn);
	assert.deepEqual([thread.status, thread.statusDetail, thread.statusReason], ['blocked', 'waiting_resource', 'worker_unavailable']);
	assert.equal((await taskOf(turn)).status, 'waiting_resource');
	assert.ok(!(await facts(turn)).some((f) => f.type === 'tool.started'), 'nothing began');
	return { thread, waiting };
}

async function assertCompletes(turn, path) {
	assert.equal((await ended(turn)).type, 'turn.completed');
	const found = await facts(turn);
	for (const one of found) validateEvent(one);
	if (path) assert.equal(readFileSync(join(workspace.root, path), 'utf8'), 'here\n');
	assert.equal((await taskOf(turn)).status, 'completed');
	return found;
}

const lostWorker = (thread) => thread.diagnostics.findings.filter((f) => f.kind === 'lost_worker');

before(async () => {
	dir = realpathSync(newFolder());
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': dir, 'workers.heartbeat_ms': 200, 'workers.lease_ms': 3000 } });
	relay.port = w.rt.port;
	one = await startWorker(w.rt, { url: relay.url });
	({ workspace } = await ok(w.rt, 'create_workspace', { name: 'far', worker: one.workerId }));
});

async function goAway() {
	await one.end('SIGTERM');
	await stateOf(w.rt, one.workerId, 'away');
}

async function comeBack() {
	one = await again(one, relay.url);
	await stateOf(w.rt, one.workerId, 'connected');
}

test('TK-32 ST-07 RM-27 a call waits for a worker that is away, visibly, and begins when it is back', async () => {
	await goAway();
	const turn = await write('waited');
	const { thread } = await assertWaits(turn);
	assert.deepEqual(lostWorker(thread).map((f) => [f.workerId, f.turnId]), [[one.workerId, turn.turnId]]);
	assert.equal((await fact(turn, 'worker.changed')).payload.worker.state, 'away');
	const { result, blockers } = await ok(w.rt, 'resume_thread', { sessionId: turn.sessionId, threadId: turn.threadId });
	assert.deepEqual([result, blockers], ['blocked', [{ kind: 'worker', id: one.workerId }]]);
	await comeBack();
	const found = await assertCompletes(turn, 'waited');
	const order = found.map((f) => f.type).filter((type) => ['worker.changed', 'task.waiting', 'task.resumed', 'tool.started'].includes(type));
	assert.deepEqual(order, ['worker.changed', 'task.waiting', 'worker.changed', 'task.resumed', 'tool.started']);
	assert.deepEqual(lostWorker(await threadOf(turn)), [], 'it goes with its cause');
});

test('a restart of the daemon finds what waits; nothing is lost or tried twice', async () => {
	await goAway();
	const turn = await write('after the restart');
	await assertWaits(turn);
	await w.rt.kill9();
	w.rt = await w.again();
	relay.port = w.rt.port;
	await assertWaits(turn);
	await comeBack();
	const found = await assertCompletes(turn, 'after the restart');
	assert.equal(found.filter((f) => f.type === 'task.attempt.started').length, 1);
	assert.equal(found.filter((f) => f.type === 'tool.started').length, 1);
});

test('a drained worker begins no calls, also after a restart', async () => {
	await ok(w.rt, 'update_worker', { workerId: one.workerId, draining: true });
	const turn = await write('drained');
	const { thread, waiting } = await assertWaits(turn);
	assert.match(waiting.payload.statusReason, /is drained/);
	assert.deepEqual(lostWorker(thread), [], 'it is not lost');
	await w.rt.kill9();
	w.rt = await w.again();
	relay.port = w.rt.port;
	await stateOf(w.rt, one.workerId, 'connected');
	assert.equal((await ok(w.rt, 'get_worker', { workerId: one.workerId })).live.draining, true);
	await assertWaits(turn);
	await ok(w.rt, 'update_worker', { workerId: one.workerId, draining: false });
	await assertCompletes(turn, 'drained');
});

test('a turn that waits is interrupted at once, and the call never begins', async () => {
	await goAway();
	const turn = await write('never');
	await assertWaits(turn);
	await ok(w.rt, 'interrupt_turn', { sessionId: turn.sessionId, reason: 'enough' });
	assert.equal((await ended(turn)).payload.status, 'cancelled');
	await comeBack();
	const other = await write('other');
	await assertCompletes(other, 'other');
	assert.equal(existsSync(join(workspace.root, 'never')), false);
});

test('ST-16 while a worker with calls is silent, thread and task are stale; then the command goes on', async () => {
	const turn = await submit('shell', { command: 'echo began; while [ ! -e go-on ]; do sleep 0.05; done; echo over' });
	await fact(turn, 'process.started');
	one.child.kill('SIGSTOP');
	await fact(turn, 'worker.changed', (p) => p.worker.state === 'stale');
	await waitFor(async () => (await threadOf(turn)).status === 'stale', 'a stale thread');
	assert.equal((await taskOf(turn)).status, 'stale');
	assert.equal(lostWorker(await threadOf(turn))[0].workerId, one.workerId);
	one.child.kill('SIGCONT');
	await stateOf(w.rt, one.workerId, 'connected');
	await waitFor(async () => (await threadOf(turn)).status === 'running', 'a running thread');
	assert.equal((await taskOf(turn)).status, 'running');
	writeFileSync(join(workspace.root, 'go-on'), '');
	const found = await assertCompletes(turn);
	assert.ok(!found.some((f) => f.type === 'task.lost'));
});

test('ST-11 TK-41 AN-31 a worker whose lease has ended makes the attempt lost, never failed; the command is found again', async () => {
	const turn = await submit('shell', { command: 'echo began; while [ ! -e go-home ]; do sleep 0.05; done; echo over' });
	await fact(turn, 'process.started');
	await one.end('SIGKILL');
	const lost = await fact(turn, 'task.lost');
	assert.deepEqual([lost.payload.worker.kind, lost.payload.worker.id, lost.taskId], ['worker', one.workerId, turn.taskId]);
	assert.ok(Date.parse(lost.payload.lastSeenAt) + 3000 <= Date.parse(lost.timestamp), JSON.stringify(lost));
	const ends = (await facts(turn)).filter((f) => /^task\.(completed|failed)$/.test(f.type));
	assert.deepEqual(ends, [], 'nothing is claimed');
	assert.equal((await fact(turn, 'task.attempt.failed')).payload.status, 'lost');
	assert.equal((await taskOf(turn)).status, 'lost');
	const thread = await threadOf(turn);
	assert.deepEqual([thread.status, thread.statusDetail], ['stale', 'lost']);
	assert.equal(lostWorker(thread)[0].workerId, one.workerId);
	await comeBack();
	writeFileSync(join(workspace.root, 'go-home'), '');
	const found = await assertCompletes(turn);
	assert.equal(found.filter((f) => f.type === 'tool.started').length, 1, 'the command ran once');
	assert.equal(found.filter((f) => f.type === 'task.attempt.started').length, 2);
	const text = JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
	assert.ok(text.includes('began') && text.includes('over'), text);
});

test('the execution environment of a session on a worker is what the worker reported', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
	const { capabilities } = (await ok(w.rt, 'get_worker', { workerId: one.workerId })).live;
	const { sandbox, cwd, os } = await ok(w.rt, 'get_execution_environment', { sessionId });
	assert.equal(cwd, workspace.root);
	assert.equal(os, undefined, 'that of the daemon says nothing about the worker');
	assert.equal(sandbox.profiles.length, 5);
	for (const { profile, isAvailable } of sandbox.profiles) assert.equal(isAvailable, capabilities.profiles[profile].isAvailable, profile);
	assert.ok(sandbox.profiles.some((p) => p.isAvailable), JSON.stringify(sandbox.profiles));
	assert.deepEqual(sandbox.inForce.guarantees, capabilities.profiles[sandbox.mode].guarantees);
	assert.deepEqual(sandbox.ladder.map((step) => step.mechanism), capabilities.ladder.map((step) => step.mechanism));
});

test('a session in a workspace of a worker has no folder of its own', async () => {
	const homes = readdirSync(join(one.dir, 'workspaces'), { recursive: true });
	for (const isolation of ['copy', 'worktree', 'empty']) {
		await refused(w.rt, 'isolation_unsupported', 'create_session', { workspaceId: workspace.workspaceId, isolation });
		await refused(w.rt, 'isolation_unsupported', 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId, isolation }, text: 'x' });
		await refused(w.rt, 'isolation_unsupported', 'update_workspace', { workspaceId: workspace.workspaceId, isolation });
		await refused(w.rt, 'isolation_unsupported', 'create_workspace', { worker: one.workerId, isolation });
	}
	assert.deepEqual(readdirSync(dir), [], 'nothing was made on the machine of the daemon');
	assert.deepEqual(readdirSync(join(one.dir, 'workspaces'), { recursive: true }), homes, 'nor on the worker');
	await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId, isolation: 'shared' });
});

test('a removed worker is gone at once: what waits for it goes on waiting, and can be interrupted', async () => {
	await ok(w.rt, 'remove_worker', { workerId: one.workerId });
	await waitFor(async () => (await ok(w.rt, 'get_worker', { workerId: one.workerId })).live.state !== 'connected', 'the end of the connection');
	const turn = await write('gone');
	await assertWaits(turn);
	await ok(w.rt, 'interrupt_turn', { sessionId: turn.sessionId, reason: 'enough' });
	assert.equal((await ended(turn)).payload.status, 'cancelled');
});
