// Remote agents that lie, stall, flood and answer garbage. Each case is bounded by a limit or a deadline, refused in a word, and
// reported: the client tells its owner of the trouble (log and metric of the runtime), and nothing of it reaches a task.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { cardOf, drive, json, openStream, result, rpcError, startStub, task } from './wire.mjs';

const WORKING = 'TASK_STATE_WORKING';
const DONE = 'TASK_STATE_COMPLETED';
const GET = ['get', { task: 'T' }];
const FOLLOW = ['follow', { task: 'T' }];
const SEND = ['send', { message: 'm', text: 'x', context: 'C' }];
const CARD = ['card', {}];
const BIG = 'x'.repeat(100_000);

const answer = (make) => ({ rpc: (q, res, m) => json(res, make(m)) });
const raw = (text, headers = {}) => ({ rpc: (q, res) => json(res, text, 200, headers) });
const card = (make) => ({ card: (q, res, origin) => json(res, make(origin)) });
const at = (url, more = {}) => card((origin) => cardOf(origin, { supportedInterfaces: [{ url: url(origin), protocolBinding: 'JSONRPC', protocolVersion: '1.0' }], ...more }));
const stream = (feed) => ({ rpc: (q, res, m) => feed(openStream(res), m, res) });
const artifact = (id, text, more = {}) => ({ artifactUpdate: { taskId: 'T', contextId: 'C', artifact: { artifactId: id, parts: [{ text }] }, ...more } });
const status = (state, id = 'T') => ({ statusUpdate: { taskId: id, contextId: 'C', status: { state } } });
// Writes for as long as the other side takes it.
const forever = (res, piece, ms = 1) => {
	const timer = setInterval(() => res.write(piece), ms);
	res.on('close', () => clearInterval(timer));
};

// name, [operation, options], what the peer does, the word, more options
const cases = [
	['a body larger than the limit', GET, raw(`{"x":"${BIG}"}`), 'too_large'],
	['a body that never ends', GET, { rpc: (q, res) => { res.writeHead(200, { 'content-type': 'application/json' }); forever(res, BIG); } }, 'too_large'],
	['a header of 200 kB', GET, { rpc: (q, res) => { res.socket.write(`HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(200_000)}\r\n\r\n`); res.socket.end(); } }, 'protocol|unreachable|too_large'],
	['an event of a stream larger than the limit', FOLLOW, stream((say, m) => say(result(m, artifact('a', BIG)))), 'too_large'],
	['a line of a stream that never ends', FOLLOW, stream((say, m, res) => forever(res, BIG)), 'too_large'],
	['an artifact larger than the limit', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: [{ text: 'x'.repeat(20_000) }] }] }))), 'too_large'],
	['an artifact larger than the limit, as base64', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: [{ raw: Buffer.alloc(20_000).toString('base64') }] }] }))), 'too_large'],
	['chunks of an artifact that never end', FOLLOW, stream((say, m, res) => { forever(res, `data: ${JSON.stringify(result(m, artifact('a', 'x'.repeat(1000), { append: true })))}\n\n`); }), 'too_large'],
	['a stream of updates that never ends', FOLLOW, stream((say, m, res) => { forever(res, `data: ${JSON.stringify(result(m, status(WORKING)))}\n\n`.repeat(100)); }), 'too_large'],
	['a stream of comments that never ends', FOLLOW, stream((say, m, res) => { forever(res, `: ${'x'.repeat(10_000)}\n`); }), 'too_large'],
	['an answer that trickles', GET, { rpc: (q, res) => { res.writeHead(200, { 'content-type': 'application/json' }); forever(res, ' ', 50); } }, 'timeout|unreachable', { timeout_ms: 600 }],
	['a card that trickles', CARD, { card: (q, res) => { res.writeHead(200, { 'content-type': 'application/json' }); forever(res, ' ', 50); } }, 'timeout|unreachable', { timeout_ms: 600 }],
	['a peer that takes the request and says nothing', SEND, { rpc: () => {} }, 'timeout|unreachable', { timeout_ms: 300 }],
	['a stream that trickles past the deadline', FOLLOW, stream((say, m, res) => forever(res, ':\n', 50)), 'timeout', { deadline_ms: 700 }],
	['bytes that are no JSON', GET, raw('<html>'), 'protocol'],
	['half of a JSON text', GET, raw('{"jsonrpc":"2.0","id":2,"resu'), 'protocol'],
	['JSON that is nested 60,000 deep', GET, raw('['.repeat(60_000)), 'protocol'],
	['invalid UTF-8', GET, { rpc: (q, res, m) => { res.writeHead(200, { 'content-type': 'application/json' }); res.end(Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${m.id},"result":{"id":"T","status":{"state":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}}}')])); } }, 'protocol'],
	['a NUL in the text of an artifact', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: [{ text: 'a\0b' }] }] }))), 'protocol'],
	['a line end in an id', SEND, answer((m) => result(m, { task: task('T\r\nX: y', WORKING) })), 'protocol'],
	['a name of a member twice', GET, { rpc: (q, res, m) => json(res, `{"jsonrpc":"2.0","id":${m.id},"result":{"id":"T","id":"U","status":{"state":"working"}}}`) }, 'protocol'],
	['another type of content', GET, { rpc: (q, res, m) => json(res, result(m, task('T', DONE)), 200, { 'content-type': 'text/html' }) }, 'protocol'],
	['a compressed answer that nobody asked for', GET, { rpc: (q, res) => { res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }); res.end(gzipSync(Buffer.alloc(50_000_000))); } }, 'protocol'],
	['an answer to another request', GET, answer((m) => ({ ...result(m, task('T', DONE)), id: m.id + 1 })), 'protocol'],
	['a result and an error at once', GET, answer((m) => ({ ...result(m, task('T', DONE)), error: { code: -32001, message: 'x' } })), 'protocol'],
	['another task than the one asked for', GET, answer((m) => result(m, task('FOREIGN', DONE))), 'protocol'],
	['an update of another task in a stream', FOLLOW, stream((say, m) => { say(result(m, { task: task('T', WORKING) })); say(result(m, status(DONE, 'FOREIGN'))); }), 'protocol'],
	['another task after a message to one', ['send', { ...SEND[1], task: 'T' }], answer((m) => result(m, { task: task('FOREIGN', WORKING) })), 'protocol'],
	['two artifacts with one id', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: [] }, { artifactId: 'a', parts: [] }] }))), 'protocol'],
	['300 artifacts', GET, answer((m) => result(m, task('T', DONE, { artifacts: Array.from({ length: 300 }, (_, i) => ({ artifactId: `a${i}`, parts: [] })) }))), 'too_large'],
	['300 parts', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: Array(300).fill({ text: '' }) }] }))), 'too_large'],
	['a page of 500 tasks', ['list', { context: 'C' }], answer((m) => result(m, { tasks: Array.from({ length: 500 }, (_, i) => task(`${i}`, DONE)) })), 'too_large'],
	['a part that is two things', GET, answer((m) => result(m, task('T', DONE, { artifacts: [{ artifactId: 'a', parts: [{ text: 'x', url: 'y' }] }] }))), 'protocol'],
	['a task and a message at once', SEND, answer((m) => result(m, { task: task('T', DONE), message: { messageId: 'm', parts: [] } })), 'protocol'],
	['a redirect', GET, { rpc: (q, res) => { res.writeHead(307, { location: 'http://169.254.169.254/' }); res.end(); } }, 'protocol'],
	['a redirect of the card', CARD, { card: (q, res) => { res.writeHead(302, { location: '/other' }); res.end(); } }, 'protocol'],
	['a card that points to a metadata service', SEND, at(() => 'http://169.254.169.254/latest'), 'untrusted'],
	['a card that points to another port of this machine', SEND, at(() => 'http://127.0.0.1:1/rpc'), 'untrusted'],
	['a card that hides another host behind a user name', SEND, at((o) => `${o.replace('http://', 'http://127.0.0.1@')}.evil.example/rpc`), 'untrusted'],
	['a card with another scheme', SEND, at(() => 'file:///etc/passwd'), 'untrusted'],
	['a card with 200 interfaces', CARD, card((o) => cardOf(o, { supportedInterfaces: Array(200).fill({ url: `${o}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }) })), 'protocol'],
	['a card that requires an extension', CARD, card((o) => cardOf(o, { capabilities: { extensions: [{ uri: 'urn:evil', required: true }] } })), 'unsupported'],
	['a card with versions that nobody knows', CARD, card((o) => cardOf(o, { supportedInterfaces: [{ url: `${o}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '9.9' }] })), 'unsupported'],
	['errors without end', FOLLOW, { rpc: (q, res) => json(res, 'oops', 500) }, 'refused'],
	['streams that break at once, without end', FOLLOW, { rpc: (q, res) => res.destroy() }, 'unreachable'],
	['an error with orders for the terminal', GET, answer((m) => rpcError(m, -32603, '\x1b[2Jgone')), 'refused'],
	['401', GET, { rpc: (q, res) => json(res, {}, 401) }, 'auth'],
];

for (const [name, [op, options], handlers, words, more] of cases) {
	test(`hostile peer: ${name}`, async (t) => {
		const stub = await startStub(t, handlers);
		const { end, troubles, updates } = await drive(op, stub.origin, { ...options, ...more });
		assert.match(end.error, new RegExp(`^(${words})$`), `${end.error}: ${end.reason}`);
		assert.equal(troubles.length, 1, 'reported once');
		assert.equal(troubles[0].why, end.reason);
		assert.ok(end.reason.length > 0 && end.reason.length < 600);
		assert.doesNotMatch(end.reason, /[\x00-\x1f]/);
		assert.ok(!updates.some((u) => u.task === 'FOREIGN' || u.native === DONE), 'nothing of it was told');
		assert.ok(stub.requests.length < 10, 'not asked again and again');
		if (op === 'send') assert.ok(stub.requests.filter((r) => r.path === '/rpc').length <= 1, 'sent once at most');
	});
}

test('hostile peer: what comes after the end of a task is not read', async (t) => {
	const stub = await startStub(t, stream((say, m, res) => {
		say(result(m, status(DONE)));
		say(result(m, status(WORKING)));
		say(result(m, artifact('late', 'x')));
		forever(res, ': more\n', 5);
	}));
	const { updates, end } = await drive('follow', stub.origin, { task: 'T' });
	assert.equal(end.error, 'ok');
	assert.deepEqual(updates.map((u) => u.native), [DONE]);
});

test('hostile peer: a state that is no word of the standard is unknown, and kept', async (t) => {
	const stub = await startStub(t, answer((m) => result(m, task('T', 'TASK_STATE_PERHAPS'))));
	const { end } = await drive('get', stub.origin, { task: 'T' });
	assert.equal(end.error, 'ok');
	assert.equal(end.tasks[0].native, 'TASK_STATE_PERHAPS');
	assert.equal(end.tasks[0].state, 1);
});

test('hostile peer: the token is not shown to another origin', async (t) => {
	const thief = await startStub(t, { rpc: (q, res, m) => json(res, result(m, { task: task('T', DONE) })) });
	const stub = await startStub(t, at(() => `${thief.origin}/rpc`));
	const { end } = await drive('send', stub.origin, { ...SEND[1], token: 's3cret' });
	assert.equal(end.error, 'untrusted');
	assert.equal(end.sent, false);
	assert.deepEqual(thief.requests, []);
});
