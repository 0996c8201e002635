// Where the result of a task goes: a message to a channel, delivered when its peer acknowledges it. A failure is a fact of the task.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { ok, refused, waitFor, world } from '../lib/runtime.mjs';

const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
let w, sessionId;

const run = (command, input) => ok(w.rt, command, input);
const to = (target) => ({ kind: 'channel', target });

before(async () => {
	w = await world();
	({ sessionId } = await run('create_session', {}));
});

async function completed(delivery, word = {}) {
	const { taskId } = await run('create_task', { sessionId, objective: 'Find the bug', delivery });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w-1' } });
	await run('complete_task', { taskId, acceptance: [], completionSummary: 'it was a comma', ...word });
	const [end] = (await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId);
	return { taskId, end };
}

test('TK-18 TK-24 a channel that is not there: failed is a fact of the task, whatever its worker says, and the task is not reconciled', async () => {
	const { taskId, end } = await completed(to('nobody'), { deliveryState: { state: 'delivered' } });
	assert.deepEqual([end.payload.deliveryState, end.payload.reconciled], [{ state: 'failed', to: 'nobody', kind: 'channel', reason: 'the session has no such channel' }, false]);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await run('get_task', { taskId })).deliveryState.state, 'failed');
	assert.deepEqual((await facts(w.rt, sessionId, 'channel.message')), [], 'nothing was sent');
});

test('TK-18 a channel gets the result as a message: queued until its peer acknowledges it, also over a kill -9, then delivered, once', async () => {
	const { channelId } = await run('connect_channel', { ...PEER, sessionId });
	const { taskId, end } = await completed(to(channelId));
	assert.equal(end, undefined, 'it is not completed before its result is delivered');
	const [message] = (await facts(w.rt, sessionId, 'channel.message')).filter((e) => e.taskId === taskId);
	assert.deepEqual([message.channelId, message.payload.direction, message.payload.preview], [channelId, 'out', 'it was a comma']);
	const waits = await run('get_task', { taskId });
	const { deadline, ...queued } = waits.deliveryState;
	assert.deepEqual([waits.status, queued], ['waiting_resource', { state: 'queued', to: channelId, kind: 'channel', sequence: message.sequence }]);
	assert.equal(Date.parse(deadline) - Date.parse(message.timestamp), 86400000, 'a day');
	assert.equal((await run('complete_task', { taskId, acceptance: [], completionSummary: 'it was a comma' })).status, 'waiting_resource', 'nothing is sent twice');
	await w.rt.kill9();
	w.rt = await w.again();
	const state = async () => (await run('get_task', { taskId })).deliveryState.state;
	assert.equal(await state(), 'queued', 'the peer is gone and has not seen it');
	await run('ack_events', { channelId, sequence: message.sequence - 1 });
	assert.equal(await state(), 'queued', 'what was before it is not it');
	for (let i = 0; i < 2; i++) await run('ack_events', { channelId, sequence: message.sequence });
	assert.equal((await run('get_task', { taskId })).status, 'running', 'its worker says that it is complete');
	await run('complete_task', { taskId, acceptance: [], completionSummary: 'it was a comma' });
	const task = await run('get_task', { taskId });
	assert.deepEqual([task.status, task.deliveryState.state], ['completed', 'delivered']);
	const [done] = (await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId);
	assert.equal(done.payload.reconciled, true);
	assert.deepEqual((await facts(w.rt, sessionId, 'task.progress')).filter((e) => e.taskId === taskId).map((e) => e.payload.deliveryState.state), ['queued', 'delivered']);
	assert.equal((await facts(w.rt, sessionId, 'channel.message')).filter((e) => e.taskId === taskId).length, 1);
});

test('the answer of a run of the runtime goes by ref; another channel of the session cannot acknowledge it', async () => {
	const [mine, other] = [await run('connect_channel', { ...PEER, sessionId }), await run('connect_channel', { ...PEER, sessionId })];
	const { taskId } = await run('create_task', { sessionId, objective: 'hello', delivery: to(mine.channelId) });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	const task = await waitFor(async () => {
		const now = await run('get_task', { taskId });
		return now.status === 'waiting_resource' && now;
	}, 'the result');
	const [message] = (await facts(w.rt, sessionId, 'channel.message')).filter((e) => e.taskId === taskId);
	assert.equal((await run('read_output', { outputRef: message.payload.messageRef })).state, 'available');
	await run('ack_events', { channelId: other.channelId, sequence: task.deliveryState.sequence });
	assert.equal((await run('get_task', { taskId })).deliveryState.state, 'queued');
	await run('ack_events', { channelId: mine.channelId, sequence: task.deliveryState.sequence });
	assert.deepEqual([(await run('get_task', { taskId })).status, (await run('get_task', { taskId })).deliveryState.state], ['completed', 'delivered']);
	for (const delivery of [{ kind: 'file', target: '/etc/passwd' }, { kind: 'channel', target: '' }, { kind: 'channel' }])
		await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', delivery });
});

test('TK-18 a part whose parent was cancelled before it: parent_missing, and the task is not reconciled', async () => {
	const { taskId: parent } = await run('create_task', { sessionId, objective: 'whole' });
	await run('start_task', { taskId: parent, worker: { kind: 'worker', id: 'w-1' } });
	const { taskId } = await run('create_task', { sessionId, objective: 'part', parentTaskId: parent });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w-1' } });
	await run('cancel_task', { taskId: parent, reason: 'gone', propagation: [] });
	await run('complete_task', { taskId, acceptance: [] });
	const [end] = (await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId);
	assert.deepEqual([end.payload.deliveryState, end.payload.reconciled], [{ state: 'parent_missing' }, false]);
});
