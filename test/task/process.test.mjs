// Commands that run while they are not wanted any more: an interrupted turn and a cancelled task end them, and the facts say in which order.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { facts, seen } from '../lib/gate.mjs';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox

let w;

before(async () => {
	const folder = newFolder();
	const workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 300 } });
});

/** Processes of this machine that run exactly this. */
const alive = (words) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() === words;
	} catch {
		return false;
	}
});

test('QU-06 CP-09 an interruption in the middle of a command: the intent, what is cleaned up, the end; the queue as asked, no process left', async () => {
	const turn = await submit(w.rt, '[[tool shell {"command":"sleep 61.7"}]]', {});
	const { sessionId } = turn;
	const [kept, dropped] = [await submit(w.rt, 'kept', { sessionId }), await submit(w.rt, '[[hang]]', { sessionId })];
	const later = await submit(w.rt, 'later', { sessionId });
	const [started] = await seen(w.rt, sessionId, 'process.started');
	await waitFor(() => alive('sleep 61.7').length > 0, 'the command');
	const first = await ok(w.rt, 'interrupt_turn', { sessionId, turnId: turn.turnId, reason: 'enough' });
	assert.deepEqual([first.result, first.affected.processes, first.affected.tools.length], ['accepted', [started.processId], 1]);
	assert.equal((await ok(w.rt, 'interrupt_turn', { sessionId, turnId: turn.turnId, reason: 'again' })).result, 'no_op');
	await waitFor(async () => (await facts(w.rt, sessionId, 'turn.completed')).some((e) => e.turnId === kept.turnId), 'the queue goes on');
	const log = await facts(w.rt, sessionId);
	const at = (check) => log.find(check).sequence;
	const intent = at((e) => e.type === 'run.status' && e.payload.phase === 'interrupting' && e.turnId === turn.turnId);
	const cleaned = [at((e) => e.type === 'process.terminated'), at((e) => e.type === 'tool.failed' && e.turnId === turn.turnId)];
	const end = at((e) => e.type === 'turn.failed' && e.turnId === turn.turnId);
	assert.ok(cleaned.every((n) => n > intent && n < end), JSON.stringify([intent, cleaned, end]));
	assert.deepEqual(alive('sleep 61.7'), [], 'nobody is left');
	await ok(w.rt, 'interrupt_turn', { sessionId, turnId: dropped.turnId, reason: 'all of it', queuePolicy: 'clear' });
	await waitFor(async () => (await facts(w.rt, sessionId, 'turn.failed')).some((e) => e.turnId === later.turnId), 'the queue is cleared');
	assert.equal((await facts(w.rt, sessionId, 'turn.started')).some((e) => e.turnId === later.turnId), false);
});

test('TK-37 cancel_task with a running part and its process: the intent is the first fact, the task ends last', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'watch' });
	await ok(w.rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	const turn = await submit(w.rt, '[[tool shell {"command":"sleep 60"}]]', { sessionId, taskId });
	const [command] = await seen(w.rt, sessionId, 'process.started');
	const { targets } = await ok(w.rt, 'cancel_task', { taskId, reason: 'not wanted' });
	assert.deepEqual(targets, [{ kind: 'task', id: turn.taskId }, { kind: 'process', id: command.processId }]);
	await waitFor(async () => (await ok(w.rt, 'get_task', { taskId })).status === 'cancelled', 'the end');
	const log = await facts(w.rt, sessionId);
	const at = (type, id) => log.find((e) => e.type === type && e.taskId === id).sequence;
	const ended = log.find((e) => e.type === 'process.terminated').sequence;
	const { sequence: child } = log.find((e) => e.type === 'run.status' && e.turnId === turn.turnId && e.payload.phase === 'interrupting');
	assert.ok(at('task.cancel_requested', taskId) < child && child < ended, 'the part is stopped after the intent');
	assert.ok(ended < at('task.cancelled', turn.taskId) && at('task.cancelled', turn.taskId) < at('task.cancelled', taskId));
});

test('TK-42 ST-20 a turn that ends while its command goes on in the background is not called reconciled; without one it is', async () => {
	for (const [text, reconciled] of [['[[tool shell {"command":"sleep 63.1","background":true}]]', false], ['[[tool shell {"command":"true"}]]', true]]) {
		const { sessionId } = await submit(w.rt, text, {});
		const [end] = await seen(w.rt, sessionId, 'task.completed');
		assert.equal(end.payload.reconciled, reconciled, text);
		const [started] = await facts(w.rt, sessionId, 'process.started');
		if (!reconciled) await ok(w.rt, 'terminate_process', { processId: started.processId, reason: 'seen' });
	}
});
