// What happens to an open question before it is answered: who has seen it, and that another audience is told when nobody answers.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const tools = [{ name: 'put', description: 'Puts.', inputSchema: { type: 'object' } }];
let w;

const lines = async (sessionId, phase) => (await readLog(w.rt, sessionId)).map((f) => f.event).filter((e) => e.type === 'run.status' && e.payload.phase === phase);
const inbox = async (sessionId) => (await ok(w.rt, 'list_actions', { sessionId, status: 'all' })).actions;

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

async function asked() {
	const turn = await submit(w.rt, '[[tool put {}]]', { options: { tools } });
	return (await waitFor(async () => (await inbox(turn.sessionId))[0], 'a question'));
}

before(async () => {
	w = await world({ config: { 'action.escalate_after_ms': 600, 'action.escalate_to': 'on-call' } });
});

test('the first sight of each actor is recorded, once, and outlives a kill -9', async () => {
	const { actionId, sessionId, seenBy } = await asked();
	assert.deepEqual(seenBy, []);
	const ada = { id: 'ada', name: 'Ada' };
	const first = await ok(w.rt, 'see_action', { actionId, actor: ada });
	assert.deepEqual([first.recorded, first.seenBy.map((s) => s.actor)], [true, [ada]]);
	for (let i = 0; i < 20; i++) assert.equal((await ok(w.rt, 'see_action', { actionId, actor: ada })).recorded, false);
	assert.equal((await ok(w.rt, 'see_action', { actionId })).recorded, true, 'without an actor it is the caller');
	const seen = await lines(sessionId, 'action_seen');
	assert.deepEqual(seen.map((e) => [e.actionId, e.payload.detail]), [[actionId, 'ada'], [actionId, 'local']], 'no flood');
	await restart();
	assert.equal((await ok(w.rt, 'see_action', { actionId, actor: ada })).recorded, false);
	const [listed] = await inbox(sessionId);
	assert.deepEqual(listed.seenBy.map((s) => [s.actor.id, typeof s.at]), [['ada', 'string'], ['local', 'string']]);
	await ok(w.rt, 'respond_action', { actionId, decision: 'deny' });
	assert.deepEqual((await inbox(sessionId))[0].seenBy, listed.seenBy, 'who had seen it stays known');
	await refused(w.rt, 'already_resolved', 'see_action', { actionId, actor: { id: 'bo' } });
	await refused(w.rt, 'action_not_found', 'see_action', { actionId: 'nothing' });
	await refused(w.rt, 'invalid_input', 'see_action', { actionId: (await asked()).actionId, actor: { shoe: 42 } });
});

test('a question that nobody answers is put to another audience, once; it can still be answered', async () => {
	const before = await asked();
	const { actionId, sessionId } = before;
	assert.deepEqual([before.escalation.state, before.escalation.audience], ['pending', 'on-call']);
	const after = await waitFor(async () => (await inbox(sessionId)).find((a) => a.escalation.state === 'escalated'), 'the escalation');
	assert.ok(Date.parse(after.escalation.at) - Date.parse(after.createdAt) >= 599, 'not before its time');
	const [told, more] = await lines(sessionId, 'action_escalated');
	assert.deepEqual([told.actionId, told.payload.metadata.audience, more], [actionId, 'on-call', undefined]);
	assert.deepEqual([after.status, after.expiresAt], ['pending', before.expiresAt], 'nothing else changed');
	await restart();
	assert.equal((await inbox(sessionId))[0].escalation.state, 'escalated');
	await ok(w.rt, 'respond_action', { actionId, decision: 'deny' });
	assert.equal((await lines(sessionId, 'action_escalated')).length, 1);
});

test('one that is answered in time is not escalated; one whose time came while nothing ran is, after the restart', async () => {
	const answered = await asked();
	await ok(w.rt, 'respond_action', { actionId: answered.actionId, decision: 'deny' });
	const open = await asked();
	await w.rt.kill9();
	await new Promise((done) => setTimeout(done, 700));
	w.rt = await w.again();
	await waitFor(async () => (await inbox(open.sessionId))[0].escalation.state === 'escalated', 'the escalation');
	assert.equal((await lines(answered.sessionId, 'action_escalated')).length, 0);
	await ok(w.rt, 'respond_action', { actionId: open.actionId, decision: 'deny' });
});
