// What peers post about work that is with them (mechanism: push): it wakes us, and is not used. Lost, repeated, forged and foreign notifications.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, pending } from '../lib/gate.mjs';
import { ok, request, sleep, waitFor } from '../lib/runtime.mjs';
import { delegate, kinds, native, push, start, STATE, status, taskOf, until } from './delegate.mjs';

const text = (value) => [{ text: value }];
const begin = (t, options = {}, peer = {}, more = {}) => start(t, options, { peer: { mechanism: 'push', idle_ms: 3600000, ...peer }, ...more });
const update = (task, state, more = {}) => ({ statusUpdate: { taskId: task.id, contextId: task.contextId, status: { state: STATE(state) }, ...more } });
const hookOf = (w, task = w.peer.task) => w.peer.hooks.get(task.id);

/** The task is with the peer, all that it posted was taken, and nothing is asked any more. */
async function quiet(w, ...words) {
	const one = await delegate(w);
	await native(w, one.taskId, STATE('submitted'));
	for (const word of words) {
		w.peer.set(word);
		await native(w, one.taskId, STATE(word));
	}
	await settled(w);
	return { ...one, task: w.peer.task };
}

/** All that was posted has been asked for: each notification is at most two questions, 20 ms apart. */
async function settled(w) {
	await w.peer.posted;
	for (let seen = -1; seen !== w.peer.asked.length; await sleep(700)) seen = w.peer.asked.length;
}

/** A notification that the task says nothing new for: the peer is asked, and once more. */
async function inVain(w, body) {
	const before = w.peer.asked.length;
	assert.equal((await push(hookOf(w), body)).status, 202);
	await waitFor(() => w.peer.asked.length === before + 2, () => `two questions, not ${w.peer.asked.length - before}`);
}

const failures = async (w, reason) => Number(new RegExp(`agentd_peer_failures_total\\{reason="${reason}"\\} (\\d+)`).exec((await request(w.rt, { method: 'GET', path: '/metrics', via: 'socket' })).text)?.[1] ?? 0);

test('A2-08 a peer that pushes is asked when it posts, and is not asked between', async (t) => {
	const w = await begin(t);
	const { taskId } = await quiet(w);
	const sent = w.peer.stub.requests.find((r) => r.body.includes('SendMessage'));
	const { url, token, authentication } = JSON.parse(sent.body).params.configuration.taskPushNotificationConfig;
	assert.deepEqual(authentication, { scheme: 'Bearer', credentials: token });
	assert.ok(token.length >= 64 && !url.includes(token), 'the address alone is no secret');
	const before = w.peer.count('GetTask');
	await sleep(500);
	assert.equal(w.peer.count('GetTask'), before, 'nothing is asked while nothing is posted');
	w.peer.isMute = true;
	for (const [state, shown] of [['working', { 'x-a2a-notification-token': token }], ['auth-required', { authorization: `Bearer ${token}` }]]) {
		w.peer.set(state, `now ${state}`);
		assert.deepEqual(await push(hookOf(w), update(w.peer.task, state), { shown }), { status: 202, text: '{"status":"accepted"}' });
		await native(w, taskId, STATE(state));
	}
	w.peer.set('working');
	assert.equal((await push(hookOf(w), { ...w.peer.task, kind: 'task', status: { state: 'working' } }, { type: 'application/json' })).status, 202, 'in the words of 0.3');
	await native(w, taskId, STATE('working'));
	w.peer.end();
	assert.equal((await push(hookOf(w), { task: w.peer.task })).status, 202);
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('A2-08 notifications that are lost: the peer is asked when it was silent for idle_ms', async (t) => {
	const w = await begin(t, {}, { idle_ms: 200 });
	w.peer.isMute = true;
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.set('working');
	await native(w, taskId, STATE('working'));
	w.peer.end();
	assert.equal((await status(w, taskId, 'completed')).remoteTask.deliveryMechanism, 'push_notification');
	assert.equal(w.peer.answers.length, 0);
	await w.rt.stop();
});

test('A2-08 kill -9 between two notifications: the peer is asked at the start, and what it posts then is taken with the token of before', async (t) => {
	const w = await begin(t);
	const { sessionId, taskId } = await quiet(w, 'working');
	await w.rt.kill9();
	w.peer.give('result', text('one '), { last: false });
	w.peer.set('working', 'half');
	await w.peer.posted;
	w.rt = await w.again();
	await waitFor(async () => (await facts(w.rt, sessionId, 'channel.message')).length === 1, 'what was posted to nobody');
	await settled(w);
	w.peer.answers = [];
	w.peer.give('result', text('two'), { append: true });
	w.peer.set('completed');
	await status(w, taskId, 'completed');
	await w.peer.posted;
	assert.deepEqual(w.peer.answers, [202, 202]);
	const [{ readRef }] = await kinds(w, sessionId, 'artifact.changed');
	assert.equal((await ok(w.rt, 'read_output', { outputRef: readRef, length: 100 })).content, 'one two');
	assert.equal(w.peer.messages.length, 1);
	await w.rt.stop();
});

test('A2-11 a peer whose card has no pushes gets no address, and the task says how its changes are learned of', async (t) => {
	for (const [streaming, word] of [[true, 'streaming'], [false, 'polling']]) {
		const w = await begin(t, { pushing: false, streaming });
		const { taskId } = await delegate(w);
		await native(w, taskId, STATE('submitted'));
		assert.equal(w.peer.hooks.size, 0);
		w.peer.end();
		assert.equal((await status(w, taskId, 'completed')).remoteTask.deliveryMechanism, word);
		await w.rt.stop();
	}
});

test('A2-11 a setting that is changed to push while work is with a peer: that work goes on as it began, the next one is pushed', async (t) => {
	const w = await begin(t, {}, { mechanism: 'push' });
	const config = structuredClone(w.config);
	config.peers[0].mechanism = 'stream';
	await w.rt.stop();
	w.rt = await w.again({ config });
	const one = await quiet(w);
	await w.rt.stop();
	w.rt = await w.again();
	await waitFor(() => w.peer.streams.size === 1, 'the stream');
	assert.equal((await taskOf(w, one.taskId)).remoteTask.deliveryMechanism, 'streaming');
	w.peer.end();
	assert.equal((await status(w, one.taskId, 'completed')).remoteTask.deliveryMechanism, 'streaming');
	const two = await quiet(w);
	w.peer.end();
	assert.equal((await status(w, two.taskId, 'completed')).remoteTask.deliveryMechanism, 'push_notification');
	await w.rt.stop();
});

test('a question of a peer that pushes: the answer is a message to its task, and what follows is pushed again', async (t) => {
	const w = await begin(t, { sent: (m) => m.taskId && w.peer.set('working') });
	const { sessionId, taskId } = await quiet(w);
	w.peer.set('input-required', 'Which branch?');
	const [question] = await pending(w.rt, sessionId);
	await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: 'accept', payload: { answer: 'main' } });
	await native(w, taskId, STATE('working'));
	w.peer.end();
	await status(w, taskId, 'completed');
	assert.deepEqual(w.peer.messages.map((m) => m.parts[0].text), ['Review the change', 'main']);
	await w.rt.stop();
});

// ---- hostile ----

test('A2-08 hostile pushes: whoever has not the token of the work is refused in the same words, and nothing is asked', async (t) => {
	const w = await begin(t);
	const one = await quiet(w, 'working');
	const two = await quiet(w, 'working');
	const [mine, other] = [one, two].map((x) => hookOf(w, x.task));
	const asked = w.peer.asked.length;
	const strange = mine.url.replace(/[^/]+(?=\/push$)/, (id) => `${id}9`);
	const body = update(one.task, 'completed');
	const tries = [
		[mine, { shown: {} }], [mine, { shown: { 'x-a2a-notification-token': '' } }], [mine, { shown: { 'x-a2a-notification-token': `${mine.token}0` } }],
		[mine, { shown: { 'x-a2a-notification-token': mine.token.slice(0, -1) } }], [mine, { shown: { authorization: `Basic ${mine.token}` } }],
		[{ ...mine, token: other.token }, {}], [{ ...mine, url: strange }, {}], [{ ...mine, url: mine.url.replace(/[^/]+(?=\/push$)/, 'x') }, {}],
	];
	const answers = [];
	for (const [hook, how] of tries) answers.push(await push(hook, body, how));
	assert.deepEqual([...new Set(answers.map((a) => a.status))], [401]);
	assert.equal(new Set(answers.map((a) => a.text)).size, 1, 'no word about what there is');
	assert.equal(w.peer.asked.length, asked);
	const entries = await waitFor(async () => {
		const found = (await ok(w.rt, 'list_audit', {}, { via: 'socket' })).entries.filter((e) => e.command === 'peer_push');
		return found.length > 0 && found;
	}, 'the refusals in the audit');
	assert.ok(!JSON.stringify(entries).includes(mine.token));
	assert.equal((await push(mine, body)).status, 202, 'and the right one is taken');
	await w.rt.stop();
});

test('A2-08 hostile pushes: what is posted is not used: ends, artifacts and states that the task does not have, replays, a foreign task', async (t) => {
	const w = await begin(t);
	const { sessionId, taskId, task } = await quiet(w, 'working');
	const hook = hookOf(w);
	const before = (await facts(w.rt, sessionId)).length;
	const lies = [
		update(task, 'completed'), update(task, 'failed'), { task: { ...task, status: { state: STATE('completed') }, artifacts: [{ artifactId: 'x', parts: text('a lie') }] } },
		{ artifactUpdate: { taskId: task.id, contextId: 'other', artifact: { artifactId: 'x', parts: text('a lie') }, append: true } }, update(task, 'submitted'), {},
		{ message: { messageId: 'm', role: 'ROLE_AGENT', parts: text('done') } }, { task: { id: task.id } }, { statusUpdate: { taskId: task.id }, task: { id: 'other' } },
	];
	for (const lie of [...lies, ...lies]) await inVain(w, lie);
	await settled(w);
	assert.equal((await facts(w.rt, sessionId)).length, before, 'not one fact');
	const asked = w.peer.asked.length, refused = await failures(w, 'protocol');
	for (const foreign of [update({ id: 'FOREIGN' }, 'completed'), { task: { id: 'FOREIGN' } }, { id: 'FOREIGN', kind: 'task', status: { state: 'completed' } }])
		assert.equal((await push(hook, foreign)).status, 202);
	await inVain(w, update(task, 'working'));
	assert.equal(w.peer.asked.length, asked + 2, 'a foreign task is nothing to ask for');
	assert.equal(await failures(w, 'protocol'), refused + 1, 'and is counted, once for the work');
	for (const [body, type, want] of [['{"task":', undefined, 400], ['[]', undefined, 400], [{ task: { id: 7 } }, undefined, 400], [{ task: { id: 'a\nb' } }, undefined, 400], [{ task: { id: 'x'.repeat(300) } }, undefined, 400], [{}, 'text/plain', 415]])
		assert.equal((await push(hook, body, { type })).status, want, JSON.stringify(body));
	w.peer.give('result', text('the work'));
	w.peer.set('completed');
	await status(w, taskId, 'completed');
	const after = (await facts(w.rt, sessionId)).length, done = w.peer.asked.length;
	for (const late of [update(task, 'working'), update(task, 'completed'), { task }]) assert.equal((await push(hook, late)).status, 202, 'a late one is no error');
	assert.deepEqual([(await facts(w.rt, sessionId)).length, w.peer.asked.length], [after, done], 'nothing after the end');
	assert.equal((await kinds(w, sessionId, 'artifact.changed')).length, 1);
	await w.rt.stop();
});

test('A2-08 hostile pushes: bodies larger than max_answer_bytes are refused', async (t) => {
	const w = await begin(t, {}, { max_answer_bytes: 4096 });
	const { task } = await quiet(w, 'working');
	const asked = w.peer.asked.length;
	const { status: code } = await push(hookOf(w), { task: { id: task.id, metadata: { x: 'x'.repeat(5000) } } });
	assert.equal(code, 413);
	await inVain(w, { task: { id: task.id, metadata: { x: 'x'.repeat(3000) } } });
	assert.equal(w.peer.asked.length, asked + 2, 'by the one that was taken');
	await w.rt.stop();
});

test('A2-08 hostile pushes: a flood of notifications is answered by few questions, one at a time', async (t) => {
	let open = 0, most = 0;
	const rpc = (q, res, m) => {
		if (m.method !== 'GetTask') return;
		most = Math.max(most, ++open);
		res.on('close', () => open--);
	};
	const w = await begin(t, { rpc }, { poll_ms: 1000 });
	const { taskId, task } = await quiet(w, 'working');
	const before = w.peer.count('GetTask'), began = Date.now();
	for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 20 }, () => push(hookOf(w), update(task, 'working'))));
	const seconds = (Date.now() - began) / 1000;
	assert.ok(w.peer.count('GetTask') - before <= seconds + 2, `${w.peer.count('GetTask') - before} questions in ${seconds} s`);
	assert.equal(most, 1);
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('A2-08 a peer that posts before its task shows it is asked once more', async (t) => {
	const w = await begin(t);
	const { taskId, task } = await quiet(w, 'working');
	w.peer.isMute = true;
	const asked = w.peer.count('GetTask');
	await push(hookOf(w), update(task, 'completed'));
	await waitFor(() => w.peer.count('GetTask') > asked, 'the question');
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('a server without a peer that pushes has no address for it', async (t) => {
	const w = await start(t);
	assert.equal((await push({ url: `${w.rt.url}/v1/peers/x/push`, token: 'x' }, {})).status, 404);
	await until(w, (await delegate(w)).taskId, (x) => x.remoteTask, 'the task');
	await w.rt.stop();
});
