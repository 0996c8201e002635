// Work that is with a peer when agentd is killed: it is found again, told apart by what is known of it, and never handed on twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts, pending } from '../lib/gate.mjs';
import { ok, waitFor } from '../lib/runtime.mjs';
import { delegate, native, Peer, start, STATE, status, taskOf, until } from './delegate.mjs';
import { json } from './wire.mjs';

test('CH-08 CH-09 A2-14 six states of a peer at the restart are six answers here, and none of them is failed', async (t) => {
	const gone = await new Peer().start(t);
	const w = await start(t, {}, {});
	await w.rt.stop();
	w.config.peers.push({ ...w.config.peers[0], name: 'gone', url: gone.origin });
	w.rt = await w.again({ config: w.config });
	const begin = async (name) => {
		const { sessionId } = await ok(w.rt, 'create_session', {});
		const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: name });
		const peer = name === 'unavailable' ? gone : w.peer;
		await ok(w.rt, 'delegate_task', { taskId, peer: name === 'unavailable' ? 'gone' : 'far' });
		await native(w, taskId, STATE('submitted'));
		return { name, sessionId, taskId, peer, task: peer.task };
	};
	const works = [];
	for (const name of ['running', 'idle', 'waiting', 'unreconciled', 'missing', 'unavailable']) works.push(await begin(name));
	const of = Object.fromEntries(works.map((x) => [x.name, x]));
	await w.rt.kill9();
	w.peer.set('working', undefined, of.running.task);
	w.peer.set('submitted', undefined, of.idle.task);
	w.peer.set('input-required', 'which?', of.waiting.task);
	w.peer.set('completed', 'done', of.unreconciled.task);
	w.peer.tasks.delete(of.missing.task.id);
	gone.isAway = true;
	w.rt = await w.again({ config: w.config });
	const want = { running: 'running', idle: 'accepted', waiting: 'waiting_input', unreconciled: 'waiting_resource', missing: 'lost', unavailable: 'stale' };
	for (const { name, taskId, task, peer } of works) {
		const seen = await until(w, taskId, (x) => x.remoteTask.recoveryState === name && x.status === want[name], name);
		assert.equal(seen.remoteTask.remoteTaskId, task.id, 'the same task of the peer');
		assert.equal(peer.messages.filter((m) => m.parts[0].text === name).length, 1, `${name} was handed on once`);
	}
	gone.isAway = false;
	for (const name of ['running', 'idle']) {
		w.peer.give('result', [{ text: name }], { task: of[name].task });
		w.peer.set('completed', undefined, of[name].task);
		await status(w, of[name].taskId, 'completed');
	}
	await until(w, of.unavailable.taskId, (x) => x.status === 'accepted');
	await w.rt.stop();
});

/** The peer has the message, and we die before its answer. */
async function cutInSend(t, options = {}) {
	let isFirst = true;
	const w = await start(t, { ...options, sent: () => {
		const answer = isFirst ? 'hold' : undefined;
		isFirst = false;
		return answer;
	} }, { peer: { timeout_ms: 60000 } });
	const one = await delegate(w);
	await waitFor(() => w.peer.messages.length === 1, 'the message');
	return { w, ...one };
}

test('a message that arrived before the crash is found by its context, and not sent again', async (t) => {
	const { w, sessionId, taskId } = await cutInSend(t);
	assert.equal((await taskOf(w, taskId)).remoteTask.recoveryState, 'sending', 'the intent is a fact before the message leaves');
	await w.rt.kill9();
	w.rt = await w.again();
	await native(w, taskId, STATE('submitted'));
	assert.deepEqual([w.peer.messages.length, w.peer.tasks.size, w.peer.count('ListTasks')], [1, 1, 1]);
	w.peer.end();
	await status(w, taskId, 'completed');
	assert.equal((await facts(w.rt, sessionId, 'task.delegated')).filter((e) => e.payload.delegateKind === 'peer_task').length, 1);
	await w.rt.stop();
});

test('a message that did not arrive is sent again, under the same id, when the peer has been asked twice', async (t) => {
	const { w, taskId } = await cutInSend(t);
	await w.rt.kill9();
	w.peer.tasks.clear();
	w.rt = await w.again();
	await native(w, taskId, STATE('submitted'));
	assert.deepEqual([w.peer.messages.length, w.peer.count('ListTasks')], [2, 2]);
	assert.equal(w.peer.messages[0].messageId, w.peer.messages[1].messageId);
	await w.rt.stop();
});

test('OPEN-49 ST-21 a peer that cannot be asked whether the message arrived: the work is unknown, not lost, and nothing is sent a second time', async (t) => {
	const { w, taskId } = await cutInSend(t, { rpc: (q, res, m) => m.method === 'ListTasks' && (res.writeHead(200, { 'content-type': 'application/json' }), res.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no such method' } })), true) });
	await w.rt.kill9();
	w.rt = await w.again();
	const { remoteTask, lastError } = await status(w, taskId, 'unknown');
	assert.deepEqual([remoteTask.status, remoteTask.recoveryState, remoteTask.unreachableSince, lastError.category], ['unknown', 'sending', undefined, 'end_unknown']);
	assert.match(remoteTask.reason, /nobody knows whether the peer has the message/);
	assert.equal(w.peer.messages.length, 1);
	await w.rt.stop();
});

test('OPEN-49 ST-21 a peer of 0.3, which has no list, whose answer is cut off: the work is unknown, until a person has it sent again', async (t) => {
	const sent = [];
	const w = await start(t, { rpc: (q, res, m) => {
		if (m.method !== 'message/send') return false;
		sent.push(m.params.message.messageId);
		if (sent.length === 1) res.destroy();
		else json(res, { jsonrpc: '2.0', id: m.id, result: { kind: 'task', id: 'T', contextId: 'C', status: { state: 'rejected' } } });
		return true;
	} });
	w.peer.more = { protocolVersion: '0.3.0', url: `${w.peer.origin}/rpc`, preferredTransport: 'JSONRPC', supportedInterfaces: undefined };
	const { sessionId, taskId } = await delegate(w);
	const { remoteTask } = await status(w, taskId, 'unknown');
	assert.deepEqual([remoteTask.status, remoteTask.recoveryState, sent.length], ['unknown', 'sending', 1]);
	assert.ok(remoteTask.unreachableSince, 'it was not reached since');
	const seen = await facts(w.rt, sessionId, 'channel.connected', 'channel.disconnected', 'task.lost');
	assert.deepEqual(seen.map((e) => e.type), ['channel.connected', 'channel.disconnected', 'task.lost']);
	assert.match(seen[2].payload.reason, /nobody knows whether the peer has the work/);
	assert.equal((await ok(w.rt, 'list_tasks', { sessionId, status: 'unknown' })).tasks.length, 1);
	await ok(w.rt, 'retry_task', { taskId, retryReason: 'it was not there' });
	await status(w, taskId, 'failed');
	assert.equal(new Set(sent).size, 2, 'another piece of work');
	await w.rt.stop();
});

test('a message whose answer is cut off is looked for, without a crash too', async (t) => {
	const w = await start(t, { sent: (m, task) => (w.peer.messages.length === 1 ? 'cut' : undefined) });
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	assert.deepEqual([w.peer.messages.length, w.peer.tasks.size], [1, 1]);
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('a message that a gateway answered with 503 is looked for, and not sent again where it arrived', async (t) => {
	const w = await start(t, { sent: (m, task, res) => (w.peer.messages.length === 1 ? (json(res, {}, 503), 'hold') : undefined) });
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	assert.deepEqual([w.peer.messages.length, w.peer.tasks.size], [1, 1]);
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('work that is cancelled while nobody knows whether its message arrived: nobody says that the peer was asked to cancel', async (t) => {
	const w = await start(t, { sent: () => 'cut', rpc: (q, res, m) => m.method === 'ListTasks' && (json(res, {}, 503), true) });
	const { sessionId, taskId } = await delegate(w);
	await status(w, taskId, 'stale');
	await ok(w.rt, 'cancel_task', { taskId, reason: 'enough' });
	await status(w, taskId, 'cancelled');
	const [failed] = await waitFor(async () => {
		const found = await facts(w.rt, sessionId, 'tool.failed');
		return found.length > 0 && found;
	}, 'the end of the call');
	const { content } = await ok(w.rt, 'read_output', { outputRef: failed.payload.errorRef, length: 4096 });
	assert.match(content, /the peer may have the message/);
	assert.equal(w.peer.count('CancelTask'), 0);
	await w.rt.stop();
});

test('a peer that breaks while it takes the message: nobody says that it did not take it', async (t) => {
	const w = await start(t, { sent: (m, task, res) => (json(res, {}, 500), 'hold') });
	const { taskId } = await delegate(w);
	const { remoteTask } = await status(w, taskId, 'failed');
	assert.deepEqual([remoteTask.recoveryState, w.peer.messages.length], ['sending', 1]);
	await w.rt.stop();
});

test('a peer behind a gateway that answers 503 for a while is away, and its work is not lost', async (t) => {
	let isBusy = false;
	const w = await start(t, { streaming: false, rpc: (q, res, m) => isBusy && m.method === 'GetTask' && (json(res, {}, 503), true) });
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	isBusy = true;
	await status(w, taskId, 'stale');
	isBusy = false;
	w.peer.end();
	await status(w, taskId, 'completed');
	assert.equal(w.peer.messages.length, 1);
	await w.rt.stop();
});

test('a peer that answered by a message alone before the crash is not asked again', async (t) => {
	const answer = { message: { messageId: 'r', contextId: 'c', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } };
	const w = await start(t, { sent: () => answer }, { world: { fault: 'engine.tool_end:1' } });
	const { taskId } = await delegate(w);
	await w.rt.gone;
	w.rt = await w.again({ fault: undefined });
	await status(w, taskId, 'waiting_resource');
	assert.equal(w.peer.messages.length, 1);
	await w.rt.stop();
});

test('a question of the peer is asked again after the crash, and its answer goes to the same task', async (t) => {
	const w = await start(t, { sent: (m) => m.taskId && w.peer.set('working') });
	const { sessionId, taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	w.peer.set('input-required', 'Which?');
	const [first] = await pending(w.rt, sessionId);
	await w.rt.kill9();
	w.rt = await w.again();
	const second = await waitFor(async () => (await ok(w.rt, 'list_actions', { sessionId })).actions.find((a) => a.actionId !== first.actionId), 'the question');
	await ok(w.rt, 'respond_action', { actionId: second.actionId, decision: 'accept', payload: { answer: 'this' } });
	await native(w, taskId, STATE('working'));
	assert.deepEqual(w.peer.messages.map((m) => [m.taskId, m.parts[0].text]), [[undefined, 'Review the change'], [w.peer.task.id, 'this']]);
	w.peer.end();
	await status(w, taskId, 'completed');
	await w.rt.stop();
});

test('a shutdown does not wait for work at a peer, and leaves it there; the next start goes on with it', async (t) => {
	const w = await start(t, {}, { world: { env: { AGENTD_SHUTDOWN_GRACE_MS: '600000' } } });
	const { taskId } = await delegate(w);
	await native(w, taskId, STATE('submitted'));
	await w.rt.stop(60000);
	assert.equal(w.peer.count('CancelTask'), 0);
	w.rt = await w.again();
	w.peer.end();
	await status(w, taskId, 'completed');
	assert.equal(w.peer.messages.length, 1);
	await w.rt.kill9();
});
