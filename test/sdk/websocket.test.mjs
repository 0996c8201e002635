// The client over WebSocket: the same calls and events, one connection for all of them, and what it does when that one hangs, breaks or is too fast.
// ci: release only
import assert from 'node:assert/strict';
import { after, test as plain } from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';
import { AgentRuntime, RefusedError, WebSocketTransport } from '../../sdk/typescript/dist/index.js';
import { sleep, world } from '../lib/runtime.mjs';
import { Fold, storedText } from './fold.mjs';
import { take } from './server.mjs';

/** Waiting for ever is what most of them would do when the client is wrong. */
const test = (name, run) => plain(name, { timeout: 60000 }, run);

const S = 'sess_00000000000000000000000001';
const things = new Set();

after(() => {
	for (const thing of things) thing.close();
});

function connect(urls, options = {}) {
	let sockets = 0;
	class Counted extends WebSocket {
		constructor(...args) {
			super(...args);
			sockets++;
		}
	}
	const client = new AgentRuntime({ url: urls, transport: new WebSocketTransport({ WebSocket: Counted, token: options.token }), ...options });
	things.add(client);
	return { client, sockets: () => sockets };
}

/** A server that does with each message what the test says; { url, calls, protocols }. */
async function serve(answer) {
	const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'agentruntime.v1' });
	const seen = { calls: [], protocols: [] };
	things.add({ close: () => (server.clients.forEach((c) => c.terminate()), server.close()) });
	server.on('connection', (socket, request) => {
		seen.protocols.push(request.headers['sec-websocket-protocol']);
		socket.on('message', (text) => {
			const call = JSON.parse(text);
			seen.calls.push(call);
			const send = (message) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
			answer(call, send, socket, seen.calls.length);
		});
	});
	await new Promise((done) => server.on('listening', done));
	return Object.assign(seen, { url: `http://127.0.0.1:${server.address().port}` });
}

const event = (sequence, subscriptionId = 'a') =>
	({ method: 'event', params: { subscriptionId, cursor: String(sequence), event: { type: 'runtime.warning', sessionId: S, sequence, payload: {} } } });

test('calls, refusals and turns are the same as over HTTP, over one connection', async () => {
	const { rt } = await world();
	const { client, sockets } = connect(rt.url);
	const answers = await Promise.all(Array.from({ length: 20 }, async (_, i) => {
		const { sessionId } = await client.createSession({ title: `${i}` });
		const result = await client.run(`[[delay 2]][[say answer ${i}]]`, { sessionId }).result();
		const fold = new Fold();
		const { asOfSequence } = await client.getSession({ sessionId });
		for await (const one of client.events({ sessionId })) {
			fold.take(one);
			if (one.sequence >= asOfSequence) break;
		}
		await fold.check(rt, sessionId);
		assert.equal(await storedText(rt, result), result.text);
		return result.text;
	}));
	assert.deepEqual(answers, Array.from({ length: 20 }, (_, i) => `answer ${i}`));
	assert.equal(sockets(), 1);
	const input = { sessionId: S };
	const [overWs, overHttp] = await Promise.all([client, new AgentRuntime({ url: rt.url })].map((c) => c.getSession(input).catch((e) => e)));
	assert.ok(overWs instanceof RefusedError);
	assert.deepEqual([overWs.details, overWs.status], [overHttp.details, overHttp.status]);
	await assert.rejects(client.events({ sessionId: S }).next(), { code: 'session_not_found' });
});

test('a consumer that is slow holds no queue: the subscription is given back and taken again at its place', async () => {
	const server = await serve(({ id, method, params }, send) => {
		send({ id, result: { subscriptionId: `s${id}` } });
		if (method !== 'subscribe_events') return;
		for (let n = Number(params.after ?? 0) + 1; n <= 2000; n++) send(event(n, `s${id}`));
	});
	const { client } = connect(server.url);
	const events = client.events({ sessionId: S });
	await events.next();
	await sleep(300);
	assert.deepEqual(server.calls.map(({ method }) => method), ['subscribe_events', 'unsubscribe']);
	assert.deepEqual(await take(events, 1999), Array.from({ length: 1999 }, (_, i) => i + 2));
	const [, again] = server.calls.filter(({ method }) => method === 'subscribe_events');
	assert.ok(['512', '513'].includes(again.params.after), `again after ${again.params.after}`);
});

test('silence is noticed although a WebSocket shows no heartbeat; an answer is no silence', async () => {
	const hung = await serve(({ id, method }, send) => method === 'subscribe_events' && send({ id, result: { subscriptionId: 'a' } }));
	const quiet = await serve(({ id, method }, send) => {
		if (method !== 'subscribe_events') return send({ id, error: { code: -32002, message: 'no', data: { code: 'scope_not_found', message: 'no', retryable: false, next: '' } } });
		send({ id, result: { subscriptionId: 'a' } });
		setTimeout(() => send(event(1)), 2500);
	});
	const told = [];
	const { client } = connect([hung.url, quiet.url]);
	const options = { silenceMs: 1000, signal: AbortSignal.timeout(50000), onInterrupted: ({ message }) => told.push(message) };
	assert.deepEqual(await take(client.events({ sessionId: S, ...options }), 1).catch((e) => e), [1]);
	assert.match(told[0], /nothing came for 1000 ms/);
	assert.ok(quiet.calls.length > 3);
});

test('a connection on which nothing is answered is not used again', async () => {
	let connections = 0;
	const server = await serve(({ id }, send, socket) => {
		socket.number ??= ++connections;
		if (socket.number > 1) send({ id, result: { sessions: [] } });
	});
	const { client, sockets } = connect(server.url, { attemptMs: 200 });
	assert.deepEqual(await client.listSessions(), { sessions: [] });
	assert.equal(sockets(), 2);
});

test('a write that was on its way when the connection broke is sent again with its key', async () => {
	const server = await serve(({ id }, send, socket, n) => (n < 3 ? socket.terminate() : send({ id, result: { sessionId: S } })));
	const { client } = connect(server.url);
	await client.createSession({ title: 'x' });
	assert.equal(new Set(server.calls.map(({ params }) => params.idempotencyKey)).size, 1);
	assert.equal(server.calls.length, 3);
});

test('a stream that the server ends with a reason says it; without one it goes on', async () => {
	const refusal = { code: 'auth_failed', message: 'the token was revoked', retryable: false, next: 'Get a new one.' };
	const server = await serve(({ id, method }, send, socket, n) => {
		if (method !== 'subscribe_events') return;
		send({ id, result: { subscriptionId: 'a' } });
		send(event(n));
		send({ method: 'subscription.ended', params: { subscriptionId: 'a', cursor: String(n), ...(n > 1 ? { error: refusal } : {}) } });
	});
	const events = connect(server.url).client.events({ sessionId: S });
	assert.equal((await events.next()).value.sequence, 1);
	assert.equal((await events.next()).value.sequence, 2);
	await assert.rejects(events.next(), { code: 'auth_failed', status: 401 });
});

test('the token goes as a subprotocol; what is no message ends the connection', async () => {
	const server = await serve(({ id }, send, socket, n) => (n === 1 ? socket.send('{') : send({ id, result: {} })));
	await connect(server.url, { token: 'art_1_x' }).client.listSessions();
	assert.equal(server.protocols[0].replace(/\s/g, ''), 'agentruntime.v1,bearer.art_1_x');
	assert.equal(server.protocols.length, 2);
});
