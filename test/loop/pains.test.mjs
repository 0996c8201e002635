// What hurts users of other agents, each shown not to happen here. The letters are those of our list of complaints; P22 is in budget.test,
// P23 in context.test, P27 in secrets and redact tests, P28 in http_tools.test.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world();
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const schema = { type: 'object', properties: { q: { type: 'string' } } };
const tools = ['put', 'drop'].map((name) => ({ name, description: `${name} something`, inputSchema: schema }));
const ask = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;
const facts = async (sessionId, ...types) => (await readLog(w.rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const pending = (sessionId, n) =>
	waitFor(async () => {
		const { actions } = await ok(w.rt, 'list_actions', { sessionId });
		return actions.length === n && actions;
	}, `${n} open questions`);
const answer = (actionId, decision) => ok(w.rt, 'respond_action', { actionId, decision });
const started = (sessionId, n) => waitFor(async () => (await facts(sessionId, 'tool.started')).filter((e) => e.payload.runtimeOwner)[n - 1], `call ${n}`);
const report = async (sessionId, n) => ok(w.rt, 'report_tool_result', { toolCallId: (await started(sessionId, n)).toolCallId, output: 'ok' });
const ended = (sessionId) => waitFor(async () => (await facts(sessionId, 'turn.completed', 'turn.failed'))[0], 'the end of the turn');

test('P12 the permission mode of a session is the same after kill -9', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', { title: 'strict' });
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { mode: 'plan' } });
	await restart();
	await submit(w.rt, ask('put', 'x'), { sessionId, options: { tools } });
	await ended(sessionId);
	const [judged] = await facts(sessionId, 'permission.evaluated');
	assert.deepEqual([judged.payload.mode, judged.payload.decision], ['plan', 'deny']);
	assert.equal((await facts(sessionId, 'action.required')).length, 0);
});

test('P18 what was said or queued while the agent waits for a person is still there after kill -9', async () => {
	const { sessionId, threadId, turnId } = await submit(w.rt, ask('put', 'x'), { options: { tools } });
	const [asked] = await pending(sessionId, 1);
	await ok(w.rt, 'steer_turn', { sessionId, threadId, turnId, input: [{ type: 'text', text: 'and hurry' }] });
	const queued = await submit(w.rt, 'next, please', { sessionId });
	await restart();
	await answer(asked.actionId, 'deny');
	await waitFor(async () => (await facts(sessionId, 'turn.completed')).find((e) => e.turnId === queued.turnId), 'the queued turn');
	assert.ok(w.model.log(turnId).some((entry) => JSON.stringify(entry).includes('and hurry')), 'the model read it');
});

test('P19 P20 a question outlives the process, is in one list, says how long it waits, and its answer counts', async () => {
	const { sessionId } = await submit(w.rt, ask('put', 'x'), { options: { tools } });
	const [asked] = await pending(sessionId, 1);
	assert.ok(Date.parse(asked.expiresAt) > Date.now());
	await restart();
	assert.deepEqual((await pending(sessionId, 1))[0], asked);
	const thread = (await ok(w.rt, 'get_session', { sessionId })).threads[0];
	assert.deepEqual([thread.status, thread.statusDetail], ['blocked', 'waiting_permission']);
	await answer(asked.actionId, 'allow');
	await report(sessionId, 1);
	assert.equal((await ended(sessionId)).type, 'turn.completed');
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: asked.actionId, decision: 'deny' });
});

test('P21 a client that comes back sees the open question once, and none that was answered', async () => {
	const { sessionId } = await submit(w.rt, `${ask('put', '1')}${ask('put', '2')}`, { options: { tools } });
	const [first] = await pending(sessionId, 2);
	await answer(first.actionId, 'deny');
	const [second] = await pending(sessionId, 1);
	const head = (await readLog(w.rt, sessionId)).at(-1).event.sequence;
	const follower = await follow(w.rt, sessionId, { after: String(head) });
	await answer(second.actionId, 'deny');
	await follower.until(() => follower.of('turn.completed')[0], 'the end');
	assert.equal(follower.of('action.required').length, 0);
	const { pendingRequests } = (await ok(w.rt, 'get_session', { sessionId })).threads[0];
	assert.equal(pendingRequests.length, 0);
});

test('P32 a decision is about what was asked: denying one call denies no other, allowing a tool for the session allows no other tool', async () => {
	const { sessionId } = await submit(w.rt, `${ask('put', '1')}${ask('drop', '2')}`, { options: { tools } });
	const [put, drop] = await pending(sessionId, 2);
	assert.deepEqual([put.toolName, drop.toolName], ['put', 'drop']);
	await answer(drop.actionId, 'deny');
	assert.equal((await pending(sessionId, 1))[0].actionId, put.actionId);
	await answer(put.actionId, 'allow_session');
	await report(sessionId, 1);
	await ended(sessionId);
	await submit(w.rt, `${ask('put', '3')}${ask('drop', '4')}`, { sessionId, options: { tools } });
	await report(sessionId, 2);
	const [again] = await pending(sessionId, 1);
	assert.equal(again.toolName, 'drop');
	await answer(again.actionId, 'deny');
});
