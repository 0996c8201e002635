// Questions to people: nothing goes on without an answer, the first answer stands, and no crash changes that.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen, serve } from '../lib/gate.mjs';
import { call, ok, refused, sleep, submit, waitFor, world } from '../lib/runtime.mjs';

const RACES = Number(process.env.AR_RACES ?? 40);

let w;

before(async () => {
	w = await world();
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const thread = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).threads[0];
const answer = (actionId, decision, more) => call(w.rt, 'respond_action', { actionId, decision, ...more });
const mayRun = async (sessionId) => (await facts(w.rt, sessionId, 'tool.started')).filter((e) => e.payload.runtimeOwner);

test('AC-04 HL-01 HL-02 HL-06 HL-07 OPEN-26 ST-06 P20 an approval waits through kill -9, with the same id, and nothing runs before it', async () => {
	const { sessionId, taskId } = await ask(w.rt, ['drop']);
	const [action] = await pending(w.rt, sessionId);
	const [required] = await facts(w.rt, sessionId, 'action.required');
	const { payload } = required;
	assert.equal(required.actionId, action.actionId);
	assert.deepEqual([payload.actionType, payload.decisions, payload.decisionKind, payload.onTimeout], ['tool_permission', ['allow', 'deny'], 'allow_or_deny', 'deny']);
	assert.deepEqual([payload.toolName, payload.destructive, payload.scope.toolCallId], ['drop', true, required.toolCallId]);
	assert.ok(payload.prompt.includes('drop') && payload.policy.mode === 'default' && Date.parse(payload.expiresAt) > Date.now());
	assert.ok(payload.impactScope && payload.rollbackAdvice);
	for (let i = 0; i < 2; i++) {
		await restart();
		await sleep(i === 0 ? 10000 : 0);
		assert.deepEqual((await pending(w.rt, sessionId)).map((a) => [a.actionId, a.expiresAt]), [[action.actionId, action.expiresAt]]);
		assert.equal((await mayRun(sessionId)).length, 0, 'nothing runs');
		const t = await thread(sessionId);
		assert.deepEqual([t.status, t.statusDetail, t.turns[0].status], ['blocked', 'waiting_permission', 'waiting_permission']);
		assert.equal((await ok(w.rt, 'get_task', { taskId })).status, 'waiting_permission');
	}
	assert.equal((await facts(w.rt, sessionId, 'task.attempt.started')).length, 1, 'waiting costs no attempt');
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'allow' });
	assert.equal((await serve(w.rt, sessionId)).type, 'turn.completed');
	const [resolved] = await facts(w.rt, sessionId, 'permission.resolved');
	const [started] = await facts(w.rt, sessionId, 'tool.started');
	assert.ok(started.sequence > resolved.sequence);
	assert.equal(started.payload.permissionRef, resolved.eventId);
	assert.equal((await thread(sessionId)).pendingRequests.length, 0);
});

test('HL-02 a rollback does not allow what is asked: it stays open, or goes with its turn', async () => {
	const first = await submit(w.rt, 'hello');
	const { sessionId, threadId } = first;
	await ended(w.rt, sessionId, first.turnId);
	const { turnId } = await ask(w.rt, ['drop'], { sessionId });
	const [{ actionId }] = await pending(w.rt, sessionId);
	await call(w.rt, 'rollback_thread', { sessionId, threadId, target: { turnId: first.turnId }, reason: 'back' });
	const { actions } = await ok(w.rt, 'list_actions', { sessionId });
	assert.deepEqual((await mayRun(sessionId)).length, 0, 'nothing ran');
	assert.deepEqual(actions.map((a) => a.actionId), [actionId], 'it still waits');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await ended(w.rt, sessionId, turnId);
	await ok(w.rt, 'rollback_thread', { sessionId, threadId, target: { turnId: first.turnId }, reason: 'back' });
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId, decision: 'allow' });
	assert.equal((await mayRun(sessionId)).length, 0);
});

test('HL-03 HL-04 a turn that says yes is no answer, and another thread goes on', async () => {
	const { sessionId, turnId } = await ask(w.rt, ['write']);
	const [action] = await pending(w.rt, sessionId);
	await submit(w.rt, 'yes, allow it', { sessionId });
	const other = await submit(w.rt, 'elsewhere', { sessionId, createPolicy: { thread: 'new' } });
	assert.equal((await ended(w.rt, sessionId, other.turnId)).type, 'turn.completed');
	assert.deepEqual((await pending(w.rt, sessionId)).map((a) => a.actionId), [action.actionId]);
	const { result, blockers } = await ok(w.rt, 'resume_thread', { sessionId, threadId: action.threadId });
	assert.deepEqual([result, blockers], ['blocked', [{ kind: 'action', id: action.actionId }]]);
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'allow' });
	assert.equal((await serve(w.rt, sessionId, turnId)).type, 'turn.completed');
});

test('HL-08 CP-25 eight clients answer at once: one outcome, and whoever came later is told who and when', async () => {
	for (let round = 0; round < RACES / 4; round++) {
		const { sessionId } = await ask(w.rt, ['write']);
		const [{ actionId }] = await pending(w.rt, sessionId);
		const words = Array.from({ length: 8 }, (_, i) => (i % 2 ? 'allow' : 'deny'));
		const replies = await Promise.all(words.map((word, i) => answer(actionId, word, { actor: { name: `client-${i}` } })));
		const [resolved, ...others] = await facts(w.rt, sessionId, 'action.resolved');
		assert.equal(others.length, 0);
		for (const [i, { body }] of replies.entries()) {
			if (words[i] === resolved.payload.decision) assert.equal(body.decision, words[i]);
			else {
				assert.equal(body.error.code, 'already_resolved');
				assert.ok(body.error.message.includes(resolved.payload.actor.name) && body.error.message.includes(resolved.payload.resolvedAt.slice(0, 19)), body.error.message);
			}
		}
		assert.equal((await facts(w.rt, sessionId, 'permission.resolved')).length, 1);
		await serve(w.rt, sessionId);
		assert.equal((await mayRun(sessionId)).length, resolved.payload.decision === 'allow' ? 1 : 0);
	}
});

test('OPEN-27 OPEN-28 the host and a person race: one action.resolved and one permission.resolved, the same outcome', async () => {
	for (let round = 0; round < RACES; round++) {
		const { sessionId } = await ask(w.rt, ['write']);
		const [{ actionId }] = await pending(w.rt, sessionId);
		const both = [() => call(w.rt, 'resolve_permission', { actionId, decision: 'denied' }), () => answer(actionId, 'allowed')];
		const [one, two] = await Promise.all((round % 2 ? both : both.toReversed()).map((go) => go()));
		assert.deepEqual([one.status, two.status].sort(), [200, 409]);
		const ends = await facts(w.rt, sessionId, 'action.resolved', 'permission.resolved');
		assert.deepEqual(ends.map((e) => e.type), ['action.resolved', 'permission.resolved']);
		const [action, permission] = ends.map((e) => e.payload);
		const table = { allow: ['allowed', 'human'], deny: ['denied', 'host'] };
		assert.deepEqual([permission.outcome, permission.decisionSource], table[action.decision]);
		assert.equal(action.decisionSource, permission.decisionSource);
	}
});

test('wrong answers change nothing', async () => {
	const { sessionId } = await ask(w.rt, ['write']);
	const [{ actionId }] = await pending(w.rt, sessionId);
	assert.match((await refused(w.rt, 'invalid_decision', 'respond_action', { actionId, decision: 'maybe' })).message, /allow_session/);
	await refused(w.rt, 'action_not_found', 'respond_action', { actionId: `${actionId}9`, decision: 'allow' });
	await refused(w.rt, 'action_not_found', 'respond_action', { actionId: 'nothing', decision: 'allow' });
	await refused(w.rt, 'request_not_found', 'resolve_permission', { requestId: `${actionId}9`, decision: 'allow' });
	assert.equal((await pending(w.rt, sessionId)).length, 1);
	const key = { actionId, decision: 'deny', idempotencyKey: 'k' };
	assert.deepEqual(await ok(w.rt, 'respond_action', key), await ok(w.rt, 'respond_action', key));
});

test('PM-17 interruption cancels what waits, and nothing of it runs', async () => {
	const { sessionId } = await ask(w.rt, ['write', 'drop']);
	const open = await pending(w.rt, sessionId, 2);
	const { affected } = await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	assert.deepEqual(affected.actions, open.map((a) => a.actionId));
	assert.equal((await ended(w.rt, sessionId)).payload.status, 'cancelled');
	const outcomes = await facts(w.rt, sessionId, 'permission.resolved');
	assert.deepEqual(outcomes.map((e) => [e.payload.outcome, e.payload.decisionSource]), [['cancelled', 'cancelled'], ['cancelled', 'cancelled']]);
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: open[0].actionId, decision: 'allow' });
	assert.equal((await mayRun(sessionId)).length, 0);
});

test('OPEN-29 its time runs out, here and while nothing is running: denied by timeout, never allowed', async () => {
	const slow = await world({ config: { 'permission.timeout_ms': 1000 } });
	const check = async (sessionId) => {
		const end = await ended(slow.rt, sessionId);
		assert.equal(end.type, 'turn.completed', 'the model was told and went on');
		const [action] = await facts(slow.rt, sessionId, 'action.resolved');
		assert.deepEqual([action.payload.decision, action.payload.decisionSource], ['deny', 'timeout']);
		const [permission] = await facts(slow.rt, sessionId, 'permission.resolved');
		assert.equal(permission.payload.outcome, 'timed_out');
		const [failed] = await facts(slow.rt, sessionId, 'tool.failed');
		assert.equal(failed.payload.status, 'denied');
		const started = await facts(slow.rt, sessionId, 'tool.started');
		assert.ok(started.every((e) => !e.payload.runtimeOwner));
		return action;
	};
	const live = await ask(slow.rt, ['write']);
	await pending(slow.rt, live.sessionId);
	await check(live.sessionId);
	const down = await ask(slow.rt, ['write']);
	const [{ expiresAt }] = await pending(slow.rt, down.sessionId);
	await slow.rt.kill9();
	await sleep(Math.max(0, Date.parse(expiresAt) - Date.now() + 200));
	slow.rt = await slow.again({ config: { 'permission.timeout_ms': 3600000 } });
	const resolved = await check(down.sessionId);
	assert.ok(Date.parse(resolved.payload.resolvedAt) >= Date.parse(expiresAt));
});

test('P19 P21 what waits is in every read: list, thread, session; what is answered is not asked again', async () => {
	const { sessionId } = await ask(w.rt, ['write']);
	const [{ actionId }] = await pending(w.rt, sessionId);
	const listed = async (status) => (await ok(w.rt, 'list_actions', { sessionId, status })).actions.map((a) => a.actionId);
	assert.deepEqual(await listed('pending'), [actionId]);
	const { sessions } = await ok(w.rt, 'list_sessions', {});
	assert.equal(sessions.find((s) => s.sessionId === sessionId).status, 'blocked');
	assert.deepEqual((await thread(sessionId)).permissionState.pendingApprovals, [actionId]);
	await ok(w.rt, 'respond_action', { actionId, decision: 'deny' });
	await restart();
	assert.deepEqual([await listed('pending'), await listed('resolved')], [[], [actionId]]);
	const t = await thread(sessionId);
	assert.deepEqual([t.pendingRequests.length, t.actions.length, t.actions[0].decision], [0, 1, 'deny']);
	await waitFor(async () => (await thread(sessionId)).status === 'idle', 'the thread to rest');
	assert.equal((await seen(w.rt, sessionId, 'action.required')).length, 1);
});
