// Work that agentd hands on to a peer: what the session knows of it from the first message to the end, and what the peer sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, pending } from '../lib/gate.mjs';
import { ok, request, sleep, waitFor } from '../lib/runtime.mjs';
import { delegate, kinds, native, start, STATE, status, taskOf, until } from './delegate.mjs';

const text = (value) => [{ text: value }];
const read = async (w, outputRef) => (await ok(w.rt, 'read_output', { outputRef, length: 1048576 })).content;

/** What has to be the same however the peer is listened to. */
function shapeOf(log) {
	return log.filter((e) => /^(task|channel|artifact|tool)\./.test(e.type)).map((e) => [e.type, e.payload.remoteTask?.nativeStatus ?? e.payload.nativeStatus ?? '', e.payload.status ?? e.payload.phase ?? '']);
}

const shapes = {};

const DELIVERY = { stream: 'streaming', poll: 'polling', push: 'push_notification' };

for (const mechanism of Object.keys(DELIVERY)) {
	test(`A2-02 A2-04 A2-07 A2-08 A2-11 A2-13 A2-14 AN-19 ID-19 ST-18 OPEN-01 by ${mechanism}: both identities, each state once, an artifact in two pieces`, async (t) => {
		const w = await start(t, {}, { peer: { mechanism } });
		const { sessionId, taskId } = await delegate(w);
		await native(w, taskId, STATE('submitted'));
		w.peer.set('working');
		await native(w, taskId, STATE('working'));
		w.peer.give('result', text('one '), { last: false });
		w.peer.give('result', text('two'), { append: true });
		w.peer.set('completed');
		const done = await status(w, taskId, 'completed');
		const { remoteTask } = done;
		assert.notEqual(remoteTask.remoteTaskId, taskId);
		assert.deepEqual(
			[remoteTask.nativeProtocol, remoteTask.remoteTaskId, remoteTask.remoteContextId, remoteTask.remoteAgentRef, remoteTask.deliveryMechanism, remoteTask.nativeStatus, remoteTask.recoveryState],
			['a2a', w.peer.task.id, w.peer.task.contextId, 'far', DELIVERY[mechanism], STATE('completed'), 'ended']);
		assert.deepEqual((await ok(w.rt, 'find_tasks', { remoteTaskId: remoteTask.remoteTaskId, withEnded: true })).tasks.map((x) => x.taskId), [taskId], 'and back');
		const log = await facts(w.rt, sessionId);
		const linked = log.filter((e) => e.type === 'channel.peer_task.linked');
		assert.deepEqual(linked.map((e) => [e.taskId, e.channelId, e.payload.remoteTaskId]), [[taskId, 'peer:far', w.peer.task.id]]);
		assert.deepEqual(log.filter((e) => e.type === 'channel.peer_task.updated').map((e) => [e.payload.nativeStatus, e.payload.status]),
			[[STATE('submitted'), 'accepted'], [STATE('working'), 'running'], [STATE('completed'), 'running']]);
		assert.ok(log.find((e) => e.type === 'task.delegated' && e.payload.delegateKind === 'peer_task').sequence < linked[0].sequence, 'the intent comes first');
		const [artifact, ...more] = log.filter((e) => e.type === 'artifact.changed');
		assert.equal(more.length, 0);
		assert.deepEqual(remoteTask.remoteArtifactRefs, [artifact.artifactId]);
		assert.equal(await read(w, artifact.payload.readRef), 'one two');
		assert.ok(done.relationships.some((e) => e.kind === 'produced_artifact' && e.targetId === artifact.artifactId));
		const [connected] = log.filter((e) => e.type === 'channel.connected');
		assert.deepEqual(connected.payload.capabilities, ['task_delegation', 'streaming', ...(mechanism === 'push' ? ['push_notifications'] : []), 'skill:review']);
		assert.equal(connected.payload.agentCardRef, remoteTask.agentCardRef);
		assert.equal(JSON.parse(await read(w, remoteTask.agentCardRef)).name, 'stub');
		assert.equal(w.peer.messages.length, 1);
		assert.deepEqual(w.peer.messages[0].parts, text('Review the change'));
		assert.equal(w.peer.count(mechanism === 'stream' ? 'GetTask' : 'SubscribeToTask'), 0, 'by that alone');
		shapes[mechanism] = shapeOf(log);
		assert.deepEqual(shapes[mechanism], shapes.stream, 'the same facts');
		if (mechanism === 'push') assert.deepEqual([...new Set(w.peer.answers)], [202]);
		await w.rt.stop();
	});
}

test('OPEN-49 every state of A2A, in both spellings, is a status of ours with the word of the peer beside it', async (t) => {
	const w = await start(t, { streaming: false });
	for (const spelled of [STATE, (word) => word]) {
		w.peer.spelled = spelled;
		const one = await delegate(w);
		await native(w, one.taskId, STATE('submitted'));
		for (const [word, ours] of [['submitted', 'accepted'], ['working', 'running'], ['unspecified', 'unknown'], ['input-required', 'waiting_input'], ['working', 'running'], ['auth-required', 'waiting_permission'], ['canceled', 'cancelled']]) {
			w.peer.set(word, word);
			const seen = await native(w, one.taskId, spelled(word));
			if (seen.status !== ours) await status(w, one.taskId, ours);
		}
		for (const word of ['failed', 'rejected']) {
			const { sessionId, taskId } = await delegate(w);
			await native(w, taskId, STATE('submitted'));
			w.peer.set(word, 'no');
			assert.equal((await status(w, taskId, 'failed')).remoteTask.nativeStatus, spelled(word));
			assert.equal((await kinds(w, sessionId, 'task.failed'))[0].failureCategory, word === 'rejected' ? 'rejected' : 'peer_failed');
		}
	}
	await w.rt.stop();
});

test('a peer that asks for input: a person answers in the inbox, and the answer is one message to the same task of the peer', async (t) => {
	const w = await start(t, { sent: (m) => m.taskId && w.peer.set('working') });
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.set('input-required', 'Which branch?');
	const [question] = await pending(w.rt, sessionId);
	assert.match(question.prompt ?? question.title, /Which branch\?/);
	assert.equal((await taskOf(w, taskId)).status, 'waiting_input');
	await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: 'accept', payload: { answer: 'main' } });
	await native(w, taskId, STATE('working'));
	const answer = w.peer.messages[1];
	assert.deepEqual([w.peer.messages.length, answer.taskId, answer.contextId, answer.parts], [2, w.peer.task.id, w.peer.task.contextId, text('main')]);
	w.peer.set('input-required', 'And which file?');
	const [second] = await pending(w.rt, sessionId);
	assert.notEqual(second.actionId, question.actionId, 'another question is another action');
	await ok(w.rt, 'respond_action', { actionId: second.actionId, decision: 'accept', payload: { answer: 'a.c' } });
	await native(w, taskId, STATE('working'));
	assert.deepEqual(w.peer.messages.map((m) => m.parts[0].text), ['Review the change', 'main', 'a.c']);
	assert.equal(new Set(w.peer.messages.map((m) => m.messageId)).size, 3);
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('A2-09 OPEN-26 a peer that asks for authorization: the four facts share the action, and the word of the person goes to the peer', async (t) => {
	const w = await start(t, { sent: (m) => m.taskId && w.peer.set('working') });
	for (const decision of ['allow', 'deny']) {
		const { sessionId, taskId } = await delegate(w);
		await native(w, taskId, STATE('submitted'));
		w.peer.set('auth-required', 'May I push?');
		const [question] = await pending(w.rt, sessionId);
		assert.equal((await taskOf(w, taskId)).status, 'waiting_permission');
		const [asked] = await kinds(w, sessionId, 'action.required');
		assert.deepEqual([asked.actionType, asked.decisions, asked.decisionKind], ['peer_authorization', ['allow', 'deny'], 'allow_or_deny']);
		await ok(w.rt, 'respond_action', { actionId: question.actionId, decision });
		await native(w, taskId, STATE('working'));
		const log = await facts(w.rt, sessionId);
		for (const type of ['action.required', 'permission.requested', 'channel.permission_forwarded', 'channel.permission_returned'])
			assert.deepEqual(log.filter((e) => e.type === type).map((e) => e.actionId), [question.actionId], type);
		assert.deepEqual(w.peer.messages.at(-1).parts, text(decision));
		w.peer.end();
		await status(w, taskId, 'completed');
	}
	await w.rt.stop();
});

test('A2-06 AN-20 a peer that only talks has left no output: the task waits until somebody says that it is complete', async (t) => {
	const answers = [{ message: { messageId: 'r1', contextId: 'c', role: 'ROLE_AGENT', parts: text('It is fine.') } }, undefined];
	const w = await start(t, { sent: () => answers.shift() });
	for (const asTask of [false, true]) {
		const { sessionId, taskId } = await delegate(w);
		if (asTask) {
			await native(w, taskId, STATE('submitted'));
			w.peer.set('completed', 'It is fine.');
		}
		const waits = await status(w, taskId, 'waiting_resource');
		assert.deepEqual(waits.attempts[0].outputRefs, []);
		const [said] = await kinds(w, sessionId, 'channel.message');
		assert.equal(await read(w, said.messageRef), 'It is fine.');
		await ok(w.rt, 'complete_task', { taskId, acceptance: [], completionSummary: 'it is fine' });
		assert.equal((await taskOf(w, taskId)).status, 'completed');
	}
	await w.rt.stop();
});

test('A2-12 a peer that has ended, but whose artifact cannot be taken: the task is not completed', async (t) => {
	for (const mechanism of Object.keys(DELIVERY)) {
		const w = await start(t, {}, { peer: { mechanism, max_artifact_bytes: 1024 } });
		const { sessionId, taskId } = await delegate(w);
		await native(w, taskId, STATE('submitted'));
		for (let i = 0; i < 3; i++) w.peer.give('result', text('x'.repeat(500)), { append: i > 0, last: i === 2 });
		w.peer.set('completed');
		await status(w, taskId, 'failed');
		assert.equal((await kinds(w, sessionId, 'task.failed'))[0].failureCategory, 'too_large');
		assert.equal((await facts(w.rt, sessionId, 'artifact.changed')).length, 0);
		await w.rt.stop();
	}
});

test('A2-05 a peer that fails, and a retry here: two attempts, each with the task and the state of its own', async (t) => {
	const w = await start(t);
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.set('failed', 'no disk');
	await status(w, taskId, 'failed');
	const first = w.peer.task.id;
	await ok(w.rt, 'retry_task', { taskId, retryReason: 'again', worker: { kind: 'peer', id: 'far' } });
	await until(w, taskId, (x) => x.attempts.length === 2 && x.remoteTask.nativeStatus === STATE('submitted') && x.remoteTask.remoteTaskId !== first);
	w.peer.end();
	const { attempts } = await status(w, taskId, 'completed');
	assert.deepEqual(attempts.map((a) => [a.statusDetail ?? a.status, a.remoteTasks.map((r) => [r.remoteTaskId, r.nativeStatus])]),
		[['failed', [[first, STATE('failed')]]], ['completed', [[w.peer.task.id, STATE('completed')]]]]);
	await w.rt.stop();
});

test('a task that is cancelled here is cancelled at the peer', async (t) => {
	const w = await start(t);
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	await ok(w.rt, 'cancel_task', { taskId, reason: 'enough' });
	await status(w, taskId, 'cancelled');
	assert.deepEqual([w.peer.count('CancelTask'), w.peer.task.status.state], [1, STATE('canceled')]);
	await w.rt.stop();
});

test('a model hands work on by itself, once a person allows it; who has no peer has no such tool', async (t) => {
	const w = await start(t, { sent: (m, task) => {
		w.peer.give('note', text('the remote answer'), { task });
		w.peer.set('completed', undefined, task);
	} }, { config: { permission_rules: [], 'auth.required': true } });
	const tokens = await Promise.all(['local', 'other'].map(async (tenant) => (await ok(w.rt, 'create_token', { tenant, name: tenant, scopes: ['read', 'submit', 'decide'] }, { via: 'socket' })).token));
	const as = (token) => async (command, input) => JSON.parse((await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } })).text);
	const [local, other] = tokens.map(as);
	const names = async (run) => (await run('get_tool_inventory', { sessionId: (await run('create_session', {})).sessionId })).tools.map((x) => x.toolName);
	assert.ok((await names(local)).includes('delegate_to_peer'));
	assert.ok(!(await names(other)).includes('delegate_to_peer'));
	const strange = (await other('create_session', {})).sessionId;
	const { taskId } = await other('create_task', { sessionId: strange, objective: 'x' });
	assert.equal((await other('delegate_task', { taskId, peer: 'far' })).error.code, 'worker_unavailable');
	const { sessionId, turnId } = await local('submit_turn', { createPolicy: {}, text: '[[tool delegate_to_peer {"peer":"far","message":"look at it"}]][[then]][[say thanks]]' });
	const question = await waitFor(async () => (await local('list_actions', { sessionId })).actions[0], 'the question');
	assert.equal(w.peer.messages.length, 0, 'nothing leaves before it is allowed');
	await local('respond_action', { actionId: question.actionId, decision: 'allow' });
	const { outputs } = await waitFor(async () => {
		const { events } = await local('read_events', { sessionId });
		const end = events.find((e) => e.type === 'turn.completed' && e.turnId === turnId);
		return end && { outputs: events.filter((e) => e.type === 'tool.result') };
	}, 'the end of the turn');
	assert.match(outputs[0].payload.preview, /the remote answer/, 'the model reads what the peer left');
	await w.rt.stop();
});

test('A2-14 AN-23 a peer that cannot be reached: stale while nobody knows, running again when it is back, and never completed for it', async (t) => {
	const w = await start(t);
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.set('working');
	await native(w, taskId, STATE('working'));
	w.peer.isAway = true;
	w.peer.cut();
	const stale = await status(w, taskId, 'stale');
	assert.deepEqual([stale.remoteTask.recoveryState, stale.remoteTask.nativeStatus], ['unavailable', STATE('working')]);
	w.peer.isAway = false;
	await status(w, taskId, 'running');
	w.peer.end();
	await status(w, taskId, 'completed');
	assert.equal((await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId).length, 1);
	assert.equal(w.peer.messages.length, 1, 'nothing was sent again');
	await w.rt.stop();
});

test('AN-23 a peer that stays away: stale, then lost, when lost_ms is over', async (t) => {
	const w = await start(t, {}, { peer: { lost_ms: 1500 } });
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.isAway = true;
	w.peer.cut();
	const lost = await status(w, taskId, 'lost');
	assert.equal(lost.remoteTask.recoveryState, 'unavailable');
	const before = (await facts(w.rt, sessionId, 'task.progress', 'task.lost')).map((e) => e.payload.remoteTask?.status ?? e.type);
	assert.deepEqual(before.slice(-2), ['stale', 'task.lost']);
	assert.equal((await facts(w.rt, sessionId, 'task.completed', 'task.failed')).filter((e) => e.taskId === taskId).length, 0);
	await w.rt.stop();
});

test('a peer that is not there at all is told at once, and nothing was handed on', async (t) => {
	const w = await start(t);
	w.peer.isAway = true;
	const { sessionId, taskId } = await delegate(w);
	await status(w, taskId, 'failed');
	assert.equal((await facts(w.rt, sessionId, 'task.delegated')).filter((e) => e.payload.delegateKind === 'peer_task').length, 0);
	await w.rt.stop();
});

test('a peer that refuses the message: the call did not run, and the peer has no task of it', async (t) => {
	const w = await start(t, { rpc: (q, res, m) => m.method === 'SendMessage' && (res.writeHead(401), res.end(), true) });
	const { sessionId, taskId } = await delegate(w);
	const { remoteTask } = await status(w, taskId, 'failed');
	assert.deepEqual([(await kinds(w, sessionId, 'task.failed'))[0].failureCategory, remoteTask.recoveryState, remoteTask.remoteTaskId], ['auth', 'missing', undefined]);
	assert.equal(w.peer.count('SendMessage'), 1);
	await w.rt.stop();
});

test('a peer that names the task of another work: its state and its artifacts are not those of this one', async (t) => {
	const w = await start(t, { sent: () => (w.peer.messages.length > 1 ? { task: w.peer.tasks.values().next().value } : undefined) });
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	const first = w.peer.task;
	for (const isOver of [false, true]) {
		if (isOver) {
			w.peer.give('result', text('the work'), { task: first });
			w.peer.set('completed', undefined, first);
			await status(w, taskId, 'completed');
		}
		const second = await ok(w.rt, 'create_task', { sessionId, objective: 'Something else' });
		await ok(w.rt, 'delegate_task', { taskId: second.taskId, peer: 'far' });
		const { remoteTask } = await status(w, second.taskId, 'failed');
		assert.equal(remoteTask.remoteTaskId, undefined);
		assert.equal((await kinds(w, sessionId, 'task.failed')).at(-1).failureCategory, 'protocol');
		assert.equal((await facts(w.rt, sessionId, 'artifact.changed')).length, isOver ? 1 : 0);
	}
	assert.equal(w.peer.count('CancelTask'), 0, 'the other one goes on');
	await w.rt.stop();
});

test('a task that may not reach a network is not handed on', async (t) => {
	const w = await start(t);
	const { taskId } = await delegate(w, { constraints: { network: 'denied' } });
	await status(w, taskId, 'failed');
	assert.deepEqual([w.peer.messages.length, w.peer.stub.requests.length], [0, 0]);
	await w.rt.stop();
});

test('a peer that does not stop talking: the session is told of the newest, a bounded number of times', async (t) => {
	const w = await start(t);
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	await waitFor(() => w.peer.streams.size === 1, 'the stream');
	for (let i = 0; i < 300; i++) {
		w.peer.set('working', `word ${i}`);
		await sleep(2);
	}
	for (let i = 0; i < 3000; i++) w.peer.set('working', `more ${i}`);
	w.peer.end();
	await status(w, taskId, 'completed');
	const said = (await facts(w.rt, sessionId, 'channel.message')).map((e) => e.payload.preview);
	assert.ok(said.length > 0 && said.length < 100, `${said.length} messages`);
	await w.rt.stop();
});
