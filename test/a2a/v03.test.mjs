// A2A 0.3: the official client of that version finds the agent by its card, sends, streams, asks again, cancels and answers; both versions see the same tasks.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory } from 'a2a-js-sdk-03/client';
import { request } from '../lib/runtime.mjs';
import { AGENTS, client, message, raw, start, taskOf } from './peers.mjs';

let w;

/** The client takes all addresses from the card; the port of the server is put in on the way. */
async function oldClient(rt) {
	const fetchImpl = (url, init) => fetch(String(url).replace(/^http:\/\/127\.0\.0\.1\//, `${rt.url}/`), init);
	const card = JSON.parse((await request(rt, { method: 'GET', path: '/a2a/builder/.well-known/agent-card.json' })).text);
	return new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] }).createFromAgentCard(card);
}

const said = (text, more = {}) => ({ message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...more } });

before(async () => {
	w = await start();
	w.client = await oldClient(w.rt);
});

test('A2-10 a client of 0.3 runs a task, reads it, and 1.0 sees the same one', async () => {
	const sent = said('[[say the answer]]');
	const task = await w.client.sendMessage(sent);
	assert.deepEqual([task.kind, task.status.state], ['task', 'completed']);
	assert.deepEqual(task.artifacts.map((a) => [a.artifactId, a.parts[0].kind, a.parts[0].text]), [['answer', 'text', 'the answer']]);
	assert.deepEqual([task.history[0].kind, task.history[0].role, task.history[0].messageId], ['message', 'user', sent.message.messageId]);
	assert.equal((await w.client.sendMessage(sent)).id, task.id, 'a repeat starts nothing');
	const read = await w.client.getTask({ id: task.id, historyLength: 0 });
	assert.deepEqual([read.kind, read.id, read.status.state], ['task', task.id, 'completed']);
	const { result } = await raw(w.rt, 'GetTask', { id: task.id });
	assert.deepEqual([result.id, result.contextId, result.status.state, result.kind], [task.id, task.contextId, 'TASK_STATE_COMPLETED', undefined]);
});

test('A2-08 a stream of 0.3 has kinds, and its last event says that it is the last', async () => {
	const events = [];
	for await (const e of w.client.sendMessageStream(said('[[tokens 50]]')))
		events.push(e);
	assert.equal(events[0].kind, 'task');
	const updates = events.filter((e) => e.kind === 'status-update'), last = events.at(-1);
	assert.deepEqual([last.kind, last.status.state, last.final], ['status-update', 'completed', true]);
	assert.ok(updates.slice(0, -1).every((e) => e.final === false));
	assert.ok(events.every((e) => ['task', 'status-update', 'artifact-update'].includes(e.kind)), JSON.stringify(events));
	const outputs = [...(events[0].artifacts ?? []), ...events.filter((e) => e.kind === 'artifact-update').map((e) => e.artifact)];
	assert.match(outputs[0].parts[0].text, /^w0 w1 .*w49/s);
});

test('a configuration that does not block answers at once; the task is cancelled, and its stream taken up again ends with that', async () => {
	const task = await w.client.sendMessage({ ...said('[[hang]]'), configuration: { blocking: false } });
	assert.ok(['submitted', 'working'].includes(task.status.state), task.status.state);
	const seen = [];
	for await (const e of w.client.resubscribeTask({ id: task.id })) {
		seen.push(e);
		if (seen.length === 1)
			assert.equal((await w.client.cancelTask({ id: task.id })).status.state, 'canceled');
	}
	assert.deepEqual([seen[0].kind, seen[0].id], ['task', task.id]);
	assert.deepEqual([seen.at(-1).kind, seen.at(-1).status.state, seen.at(-1).final], ['status-update', 'canceled', true]);
	await assert.rejects(w.client.getTask({ id: 'no-such-task' }), /Task not found/);
});

test('the version of a request: none is 0.3, unknown ones are refused, 0.3 has no HTTP+JSON here', async () => {
	const params = said('hello');
	const none = await raw(w.rt, 'message/send', params, { headers: { 'a2a-version': '' } });
	assert.equal(none.result.kind, 'task');
	assert.equal((await raw(w.rt, 'message/send', params, { headers: { 'a2a-version': '0.3' } })).result.id, none.result.id);
	assert.equal((await raw(w.rt, 'message/send', params)).error.code, -32601, '1.0 has no such method');
	for (const version of ['0.2', '1.1', '2.0', 'x']) {
		const { error } = await raw(w.rt, 'message/send', params, { headers: { 'a2a-version': version } });
		assert.deepEqual([error.code, error.data[0].reason], [-32009, 'VERSION_NOT_SUPPORTED'], version);
	}
	const rest = await request(w.rt, { path: '/a2a/builder/message:send', body: JSON.stringify(params), headers: { 'a2a-version': '0.3' } });
	assert.deepEqual([rest.status, JSON.parse(rest.text).error.details[0].reason], [400, 'VERSION_NOT_SUPPORTED']);
});

test('what is not as 0.3 says is refused as in 1.0, and starts nothing', async () => {
	const old = { headers: { 'a2a-version': '0.3' } };
	for (const params of [{}, { message: 1 }, { message: { ...said('x').message, role: 'boss' } }, { message: { ...said('x').message, parts: [{ kind: 'video', text: 'x' }] } }, { message: { ...said('x').message, parts: {} } }]) {
		const { error } = await raw(w.rt, 'message/send', params, old);
		assert.equal(error.code, -32602, JSON.stringify(params));
	}
	assert.equal((await raw(w.rt, 'message/send', [1], old)).error.code, -32602);
	assert.equal((await raw(w.rt, 'tasks/pushNotificationConfig/list', { id: 'x' }, old)).error.code, -32003);
	const card = (await raw(w.rt, 'agent/getAuthenticatedExtendedCard', undefined, old)).result;
	assert.deepEqual([card.protocolVersion, card.name], ['0.3.0', 'builder']);
});

test('without clients of 0.3 a card has members of 1.0 alone, whoever asks, and their requests are of a version that is not served', async () => {
	const { rt } = await start({ config: { a2a_agents: AGENTS.map((agent) => ({ ...agent, old_clients: false })) } });
	const card = async (headers) => JSON.parse((await request(rt, { method: 'GET', path: '/.well-known/agent-card.json', headers })).text);
	const pure = await card({});
	assert.deepEqual(pure, await card({ 'a2a-version': '1.0' }));
	assert.deepEqual([pure.protocolVersion, pure.url, pure.supportedInterfaces.map((i) => i.protocolVersion)], [undefined, undefined, ['1.0', '1.0']]);
	const old = { message: { kind: 'message', messageId: 'old', role: 'user', parts: [{ kind: 'text', text: 'x' }] } };
	for (const version of ['', '0.3'])
		assert.equal((await raw(rt, 'message/send', old, { headers: { 'a2a-version': version } })).error.data[0].reason, 'VERSION_NOT_SUPPORTED', version);
	assert.equal((await raw(rt, 'GetTask', { id: 'x' }, { headers: { 'a2a-version': '0.3' } })).error.data[0].reason, 'VERSION_NOT_SUPPORTED');
	assert.equal(taskOf(await (await client(rt, 'JSONRPC')).sendMessage(message('[[say x]]'))).status.state, TaskState.TASK_STATE_COMPLETED);
	await rt.stop();
});
