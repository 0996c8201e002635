// The A2A client against a remote agent that behaves: both bindings, streams, polls, cuts, signed cards.
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { generateAgentCardSignature } from '@a2a-js/sdk';
import { cardOf, drive, json, openStream, result, rpcError, startStub, task } from './wire.mjs';

const SEND = { message: 'm1', text: 'do it', context: 'C' };
const DONE = 'TASK_STATE_COMPLETED';
const WORKING = 'TASK_STATE_WORKING';

test('a message is sent once, with its ids and token, and brings the task', async (t) => {
	const stub = await startStub(t, { rpc: (q, res, m) => json(res, result(m, { task: task('T', WORKING) })) });
	const { end } = await drive('send', stub.origin, { ...SEND, token: 's3cret', push_url: 'https://us/x', push_token: 'p' });
	assert.equal(end.error, 'ok');
	assert.equal(end.sent, true);
	assert.equal(end.tasks[0].task, 'T');
	assert.equal(end.tasks[0].native, WORKING);
	const sent = stub.requests.filter((r) => r.path === '/rpc');
	assert.equal(sent.length, 1);
	assert.equal(sent[0].headers.authorization, 'Bearer s3cret');
	assert.equal(sent[0].headers['a2a-version'], '1.0');
	const m = JSON.parse(sent[0].body);
	assert.equal(m.method, 'SendMessage');
	assert.deepEqual(m.params.message, { messageId: 'm1', contextId: 'C', role: 'ROLE_USER', parts: [{ text: 'do it' }] });
	assert.equal(m.params.configuration.returnImmediately, true);
	assert.deepEqual(m.params.configuration.taskPushNotificationConfig, { url: 'https://us/x', token: 'p', authentication: { scheme: 'Bearer', credentials: 'p' } });
});

test('HTTP+JSON: the same operations by path', async (t) => {
	const seen = [];
	const stub = await startStub(t, {
		card: (q, res, origin) => json(res, cardOf(origin, {
			capabilities: {},
			supportedInterfaces: [
				{ url: 'grpc://x', protocolBinding: 'GRPC', protocolVersion: '1.0' },
				{ url: `${origin}/api/`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'acme' },
			],
		})),
		http: (q, res) => {
			seen.push(`${q.method} ${q.url}`);
			if (q.url.includes(':send')) return json(res, { task: task('T/1', WORKING) });
			if (q.url.includes('?pageSize')) return json(res, { tasks: [task('T/1', WORKING)], nextPageToken: 'n' });
			return json(res, task('T/1', q.url.includes(':cancel') ? 'TASK_STATE_CANCELED' : WORKING));
		},
	});
	assert.equal((await drive('send', stub.origin, SEND)).end.tasks[0].task, 'T/1');
	assert.equal((await drive('get', stub.origin, { task: 'T/1' })).end.tasks[0].native, WORKING);
	const page = (await drive('list', stub.origin, { context: 'C&x', page: 'p' })).end;
	assert.equal(page.nextPage, 'n');
	assert.equal(page.tasks.length, 1);
	assert.equal((await drive('cancel', stub.origin, { task: 'T/1' })).end.tasks[0].native, 'TASK_STATE_CANCELED');
	assert.deepEqual(seen, [
		'POST /api/acme/message:send', 'GET /api/acme/tasks/T%2F1?historyLength=0',
		'GET /api/acme/tasks?pageSize=50&historyLength=0&contextId=C%26x&pageToken=p', 'POST /api/acme/tasks/T%2F1:cancel',
	]);
});

test('A2-08 by stream: a cut is followed by another subscription, and the whole task', async (t) => {
	let streams = 0;
	const stub = await startStub(t, {
		rpc: (q, res, m) => {
			assert.equal(m.method, 'SubscribeToTask');
			const say = openStream(res);
			say(result(m, { task: task('T', WORKING) }));
			if (++streams === 1) return setImmediate(() => res.destroy());
			say(result(m, { artifactUpdate: { taskId: 'T', contextId: 'C', artifact: { artifactId: 'a', parts: [{ text: 'one' }] } } }));
			say(result(m, { artifactUpdate: { taskId: 'T', contextId: 'C', artifact: { artifactId: 'a', parts: [{ text: 'two' }] }, append: true, lastChunk: true } }));
			say(result(m, { statusUpdate: { taskId: 'T', contextId: 'C', status: { state: DONE } } }));
			return res.end();
		},
	});
	const { updates, end } = await drive('follow', stub.origin, { task: 'T' });
	assert.equal(end.error, 'ok');
	assert.equal(end.tasks[0].native, DONE);
	assert.equal(streams, 2);
	assert.deepEqual(updates.filter((u) => u.artifacts.length).map((u) => [u.artifacts[0].append, u.artifacts[0].last]), [[false, false], [true, true]]);
});

test('A2-08 by poll: where there is no stream the task is asked for, and only what is new is told', async (t) => {
	let polls = 0;
	const states = ['TASK_STATE_SUBMITTED', WORKING, WORKING, 'TASK_STATE_AUTH_REQUIRED', DONE];
	const stub = await startStub(t, {
		rpc: (q, res, m) => m.method === 'SubscribeToTask' ? json(res, rpcError(m, -32004)) : json(res, result(m, task('T', states[Math.min(polls++, 4)]))),
	});
	const { updates, end } = await drive('follow', stub.origin, { task: 'T' });
	assert.equal(end.error, 'ok');
	assert.deepEqual(updates.map((u) => u.native), ['TASK_STATE_SUBMITTED', WORKING, 'TASK_STATE_AUTH_REQUIRED', DONE]);
	const other = await drive('follow', stub.origin, { task: 'T', mechanism: 'poll' });
	assert.equal(other.updates.at(-1).native, DONE);
	assert.equal(stub.requests.filter((r) => r.body.includes('SubscribeToTask')).length, 1);
});

test('a run that asks for input ends, and one that is cancelled ends once', async (t) => {
	const stub = await startStub(t, { rpc: (q, res, m) => {
		const say = openStream(res);
		say(result(m, { task: task(m.params.id, m.params.id === 'T' ? 'TASK_STATE_INPUT_REQUIRED' : WORKING) }));
	} });
	assert.equal((await drive('follow', stub.origin, { task: 'T' })).end.tasks[0].native, 'TASK_STATE_INPUT_REQUIRED');
	const { end } = await drive('follow', stub.origin, { task: 'U', cancel_ms: 200 });
	assert.equal(end.error, 'cancelled');
	assert.equal(end.tasks[0].native, WORKING);
});

test('a peer that is not there is unreachable, and nothing was sent', async (t) => {
	const stub = await startStub(t, {});
	const { origin } = stub;
	await new Promise((done) => stub.server.close(done));
	const { end } = await drive('send', origin, SEND);
	assert.equal(end.error, 'unreachable');
	assert.equal(end.sent, false);
});

test('A2-02 a card signed by a pinned key is taken; an altered one and one without signature are not', async (t) => {
	const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] });
	let alter = (card) => card;
	let signed;
	const stub = await startStub(t, { card: (q, res) => json(res, alter(structuredClone(signed))) });
	const sign = generateAgentCardSignature(privateKey, { alg: 'ES256', kid: 'k1', typ: 'JOSE' });
	signed = await sign(cardOf(stub.origin, { description: 'signed “card” €' }));
	const good = (await drive('card', stub.origin, { keys })).end;
	assert.equal(good.error, 'ok', good.reason);
	assert.equal(good.card.checked, true);
	assert.equal(good.card.key, 'k1');
	assert.match(good.card.ref, /^sha256:[0-9a-f]{64}$/);
	assert.equal(good.card.ref.slice(7), createHash('sha256').update(JSON.stringify(signed)).digest('hex'));
	for (const change of [
		(c) => ({ ...c, name: 'another' }),
		(c) => ({ ...c, signatures: undefined }),
		(c) => ({ ...c, signatures: [] }),
		(c) => ({ ...c, signatures: [{ ...c.signatures[0], protected: Buffer.from('{"alg":"none"}').toString('base64url') }] }),
	]) {
		alter = change;
		const { end, troubles } = await drive('card', stub.origin, { keys });
		assert.equal(end.error, 'untrusted');
		assert.equal(end.card, undefined);
		assert.equal(troubles.length, 1);
	}
	alter = (c) => ({ ...c, signatures: undefined });
	assert.equal((await drive('card', stub.origin)).end.card.checked, false);
});

test('a peer whose card says 0.3 is spoken to in 0.3; what 0.3 does not have is unsupported', async (t) => {
	const methods = [];
	const old = (state) => ({ kind: 'task', id: 'T', contextId: 'C', status: { state }, artifacts: [{ artifactId: 'a', parts: [{ kind: 'text', text: 'out' }] }] });
	const stub = await startStub(t, {
		card: (q, res, origin) => json(res, { name: 'old', description: 'd', version: '1', protocolVersion: '0.3.0', url: `${origin}/rpc`, preferredTransport: 'JSONRPC', capabilities: { streaming: true }, skills: [], defaultInputModes: [], defaultOutputModes: [] }),
		rpc: (q, res, m) => {
			methods.push([m.method, q.headers['a2a-version']]);
			if (m.method === 'message/send') {
				assert.equal(m.params.message.kind, 'message');
				assert.equal(m.params.message.role, 'user');
				assert.deepEqual(m.params.message.parts, [{ kind: 'text', text: 'do it' }]);
				assert.equal(m.params.configuration.blocking, false);
				return json(res, result(m, old('working')));
			}
			if (m.method === 'tasks/resubscribe') {
				const say = openStream(res);
				say(result(m, { kind: 'status-update', taskId: 'T', contextId: 'C', status: { state: 'working' }, final: false }));
				say(result(m, { kind: 'artifact-update', taskId: 'T', contextId: 'C', artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'out' }] } }));
				say(result(m, { kind: 'status-update', taskId: 'T', contextId: 'C', status: { state: 'completed' }, final: true }));
				return res.end();
			}
			return json(res, result(m, old('completed')));
		},
	});
	const sent = (await drive('send', stub.origin, SEND)).end;
	assert.equal(sent.error, 'ok', sent.reason);
	assert.equal(sent.tasks[0].task, 'T');
	assert.deepEqual([sent.tasks[0].state, sent.tasks[0].native], [3, 'working']);
	const { updates, end } = await drive('follow', stub.origin, { task: 'T' });
	assert.equal(end.error, 'ok', end.reason);
	assert.deepEqual(updates.map((u) => [u.state, u.native]), [[3, 'working'], [0, undefined], [6, 'completed']]);
	assert.equal((await drive('get', stub.origin, { task: 'T' })).end.tasks[0].artifacts[0].bytes, 3);
	const list = (await drive('list', stub.origin, { context: 'C' })).end;
	assert.equal(list.error, 'unsupported');
	assert.equal(list.sent, false);
	assert.deepEqual(methods, [['message/send', undefined], ['tasks/resubscribe', undefined], ['tasks/get', undefined]]);
});
