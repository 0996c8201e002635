// Tasks that wait for tasks: started early, they begin by themselves when the last blocker is completed, over chains, diamonds and a
// kill -9 in between; behind a blocker that ended otherwise they stay blocked and say why.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';

const WORKER = { kind: 'worker', id: 'w-1' };
const SUM = { name: 'sum', description: 'Adds.', inputSchema: { type: 'object', properties: { a: { type: 'integer' } } } };
const AGENT = { kind: 'agent' };
let w, sessionId;

const run = (command, input) => ok(w.rt, command, input);
const get = (taskId) => run('get_task', { taskId });
const make = async (more = {}) => (await run('create_task', { sessionId, objective: 'a part', ...more })).taskId;
const start = (taskId, worker = WORKER) => run('start_task', { taskId, worker });
const block = (sourceId, targetId) => run('link_tasks', { sourceId, targetId, kind: 'blocks' });
const until = (taskId, status) => waitFor(async () => (await get(taskId)).status === status && (await get(taskId)), () => `${taskId} ${status}`);
const log = async () => (await readLog(w.rt, sessionId)).map((f) => f.event);

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20, 'session.snapshot_every': 5 } });
});

test('TK-28 TK-45 a diamond and a chain of agent tasks, all started at once, run one after another by themselves, over kill -9', async () => {
	({ sessionId } = await run('create_session', {}));
	const [a, b, c, d, e] = [await make(), await make(), await make(), await make(), await make()];
	for (const [from, to] of [[a, b], [a, c], [b, d], [c, d], [d, e]]) await block(from, to);
	for (const task of [e, d, c, b]) assert.equal((await start(task, AGENT)).status, 'queued');
	await start(a);
	await restart();
	for (const task of [b, c, d, e]) assert.equal((await get(task)).status, 'queued', 'nothing began without its blocker');
	await run('complete_task', { taskId: a, acceptance: [] });
	await restart();
	await until(e, 'completed');
	const facts = await log();
	const at = (type, taskId) => {
		const found = facts.filter((f) => f.type === type && f.taskId === taskId);
		assert.equal(found.length, 1, `${type} of ${taskId} once`);
		return found[0].sequence;
	};
	for (const [from, to] of [[a, b], [a, c], [b, d], [c, d], [d, e]]) assert.ok(at('task.completed', from) < at('task.started', to));
});

test('TK-33 RM-42 a blocker that fails or is cancelled leaves what waits for it blocked with the reason; a retry that succeeds frees it', async () => {
	({ sessionId } = await run('create_session', {}));
	const [failing, held, cancelled, other] = [await make(), await make(), await make(), await make()];
	await block(failing, held);
	await block(cancelled, other);
	for (const task of [held, other]) assert.equal((await start(task)).status, 'queued');
	await start(failing);
	await run('fail_task', { taskId: failing, error: { category: 'broken', message: 'no' } });
	await run('cancel_task', { taskId: cancelled, reason: 'not wanted' });
	await restart();
	for (const [task, blocker, word] of [[held, failing, 'failed'], [other, cancelled, 'cancelled']]) {
		const record = await get(task);
		assert.equal(record.status, 'blocked');
		assert.match(record.statusReason, new RegExp(`${blocker} is ${word}`));
		const shown = (await run('get_session', { sessionId })).blockedTasks.find((t) => t.taskId === task);
		assert.deepEqual(shown.blockers.map((b) => b.id), [blocker]);
		assert.equal(shown.statusReason, record.statusReason);
	}
	await run('retry_task', { taskId: failing, retryReason: 'mended' });
	await run('complete_task', { taskId: failing, acceptance: [] });
	await until(held, 'running');
	assert.equal((await get(other)).status, 'blocked');
	await run('unlink_tasks', { sourceId: cancelled, targetId: other, kind: 'blocks' });
	await until(other, 'running');
});

test('TK-45 a blocker that is the task of a turn frees what waits for it when the turn is completed', async () => {
	const turn = await submit(w.rt, '[[tool sum {"a":1}]]', { options: { tools: [SUM] } });
	({ sessionId } = turn);
	const held = await make();
	const { edge } = await run('link_tasks', { sourceId: held, targetId: turn.taskId, kind: 'blocked_by' });
	assert.equal(edge.status, 'open');
	assert.equal((await start(held)).status, 'queued');
	const asked = await waitFor(async () => (await run('list_actions', { sessionId })).actions[0], 'the question');
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	await until(held, 'running');
	const facts = await log();
	assert.ok(facts.find((f) => f.type === 'task.started' && f.taskId === held).sequence > facts.find((f) => f.type === 'turn.completed').sequence);
});
