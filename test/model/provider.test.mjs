// The OpenAI provider against servers that behave, misbehave and are real. Runs bin/provider-probe (env AR_PROBE), which
// prints each callback as a line of JSON and aborts when the provider breaks its contract.
import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findModel } from './llama.mjs';
import { start } from './scripted.mjs';

const PROBE = process.env.AR_PROBE;
const here = path.dirname(fileURLToPath(import.meta.url));
let server;
let turns = 0;

before(async () => {
	assert.ok(PROBE && existsSync(PROBE), 'AR_PROBE names the provider-probe program');
	server = await start(0);
});
after(() => server.close());

// Runs the probe and gives its lines; `done` is the end of the first call.
async function probe(prompt, more = {}) {
	const turn = more.turn ?? `turn${++turns}`;
	const config = { baseUrl: server.url, prompt, turn, ...more };
	const child = spawn(PROBE, [JSON.stringify(config)], { stdio: ['ignore', 'pipe', 'pipe'] });
	let out = '';
	let errors = '';
	child.stdout.on('data', (bytes) => (out += bytes));
	child.stderr.on('data', (bytes) => (errors += bytes));
	const code = await new Promise((ended) => child.on('close', (c, signal) => ended(c ?? signal)));
	assert.equal(code, 0, `probe ended with ${code}: ${errors}`);
	const lines = out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
	const of = (kind) => lines.filter((l) => l.on === kind).map((l) => l.bytes).join('');
	return { turn, lines, done: lines.find((l) => l.on === 'done'), text: of('text'), reasoning: of('reasoning'), of };
}

function assertEnd({ done }, expected) {
	for (const [name, value] of Object.entries(expected)) assert.equal(done[name], value, `${name}: ${JSON.stringify(done)}`);
}

// The client's ports: one for each connection.
function portsOf(peer, run) {
	return new Set(peer.log().filter((e) => e.turn.startsWith(`${run.turn}-`)).map((e) => e.clientPort));
}

const COMPLETED = { outcome: 'completed', http: 200, stopReason: 'stop', retryable: false };

test('echo: text, usage, model, ids', async () => {
	const run = await probe('hello brave world');
	assert.equal(run.text, 'You said: hello brave world');
	assertEnd(run, { ...COMPLETED, hasUsage: true, inputTokens: 3, outputTokens: 5, cachedTokens: 0, model: 'test-model' });
	assert.match(run.done.requestId, /^req_\d+$/);
	assert.ok(run.done.latencyMs >= run.done.ttftMs);
});

test('the request carries correlation headers, the key and the options', async () => {
	const run = await probe('hi', { apiKey: ' sk-test-1234\n', options: '{"temperature":0.5,"maxOutputTokens":9}' });
	const [entry] = server.log(run.turn);
	assert.equal(entry.headers.authorization, 'Bearer sk-test-1234');
	assert.equal(entry.headers['x-request-id'], 'mreq_probe');
	assert.equal(entry.session, 'sess_probe');
	assert.equal(entry.step, 'step_probe');
	assert.equal(entry.headers.expect, undefined);
	assert.deepEqual(entry.body, {
		model: 'test-model', messages: [{ role: 'user', content: 'hi' }], stream: true,
		stream_options: { include_usage: true }, temperature: 0.5, max_tokens: 9,
	});
});

test('no key, no Authorization header', async () => {
	const run = await probe('hi');
	assert.equal(server.log(run.turn)[0].headers.authorization, undefined);
});

test('a long body is sent without waiting for 100-continue', async () => {
	const run = await probe(`[[say ok]]${'x'.repeat(100_000)}`);
	assertEnd(run, COMPLETED);
});

test('say, tokens, reasoning, utf8', async () => {
	assert.equal((await probe('[[say one two]]')).text, 'one two');
	assert.match((await probe('[[tokens 200]]')).text, /^w0 w1 .* w199 $/);
	const thinking = await probe('[[reasoning let me think]] [[say done]]');
	assert.equal(thinking.reasoning, 'let me think');
	assert.equal(thinking.text, 'done');
	assert.ok((await probe('[[utf8]]')).text.includes('👩‍👩‍👧‍👦 e\u0301 🇨🇭'));
});

test('one byte at a time gives the same text', async () => {
	const whole = await probe('[[utf8]]');
	const split = await probe('[[utf8]] [[split]]');
	assert.equal(split.text, whole.text);
	assertEnd(split, COMPLETED);
});

test('tool call, then text after its result', async () => {
	const call = await probe('[[tool add {"a":1,"b":"a long argument"}]] [[tool now]]');
	const tools = call.lines.filter((l) => l.on === 'tool');
	assert.deepEqual(tools.map((t) => [t.index, t.name]), [[0, 'add'], [1, 'now']]);
	const args = (index) => call.lines.filter((l) => l.on === 'args' && l.index === index).map((l) => l.bytes).join('');
	assert.equal(args(0), '{"a":1,"b":"a long argument"}');
	assert.equal(args(1), '{}');
	assertEnd(call, { ...COMPLETED, stopReason: 'tool_calls' });
	const answer = await probe('[[tool add {"a":1}]]', { toolResult: '42' });
	assert.equal(answer.text, 'The tool said: 42');
	assert.deepEqual(server.log(answer.turn)[0].body.messages[2], { role: 'tool', content: '42', tool_call_id: 'call_1' });
});

test('a server that ignores "stream" is understood', async () => {
	const run = await probe('[[json]] [[reasoning hm]] [[say whole answer]]');
	assert.equal(run.text, 'whole answer');
	assert.equal(run.reasoning, 'hm');
	assertEnd(run, { ...COMPLETED, hasUsage: true });
	const tool = await probe('[[json]] [[tool add {"a":1}]]');
	assert.equal(tool.of('args'), '{"a":1}');
});

test('parts that may be missing or doubled', async () => {
	assertEnd(await probe('[[no-done]] x'), COMPLETED);
	assertEnd(await probe('[[no-finish]] x'), { ...COMPLETED, stopReason: undefined });
	assertEnd(await probe('[[no-usage]] x'), { ...COMPLETED, hasUsage: false });
	assertEnd(await probe('[[no-done]] [[no-finish]] x'), { outcome: 'cut', category: 'network', retryable: true });
	assert.equal((await probe('[[dup]] [[say a b]]')).text, 'a a bb');
	assertEnd(await probe('[[lie-usage]] x'), { ...COMPLETED, inputTokens: 0, outputTokens: 9e15 });
});

test('bytes after the end mark are ignored and do not hold the call', async () => {
	const began = Date.now();
	const run = await probe('[[junk-after-done]] [[say fine]]');
	assert.equal(run.text, 'fine');
	assertEnd(run, COMPLETED);
	assert.ok(Date.now() - began < 3000);
});

test('rejections', async () => {
	const cases = [
		['[[http 400]]', 'invalid_request', false], ['[[http 400 code=context_length_exceeded]]', 'context_length', false],
		['[[http 401]]', 'auth', false], ['[[http 403]]', 'auth', false], ['[[http 404]]', 'not_found', false],
		['[[http 408]]', 'timeout', true], ['[[http 422]]', 'invalid_request', false],
		['[[http 429]]', 'rate_limited', true], ['[[http 429 code=insufficient_quota]]', 'quota', false],
		['[[http 500]]', 'server_error', true], ['[[http 500 x-should-retry=false]]', 'server_error', false],
		['[[http 503]]', 'overloaded', true], ['[[http 529]]', 'overloaded', true],
		['[[http 307 location=/v1/chat/completions]]', 'redirect', false],
	];
	for (const [prompt, category, retryable] of cases) {
		const run = await probe(prompt);
		assertEnd(run, { outcome: 'rejected', category, retryable, http: Number(/\d+/.exec(prompt)[0]) });
		assert.equal(server.log(run.turn).length, 1, 'neither repeated nor redirected');
	}
});

test('retry-after in seconds, milliseconds and as a date', async () => {
	assertEnd(await probe('[[http 429 retry-after=3]]'), { retryAfterMs: 3000 });
	assertEnd(await probe('[[http 429 retry-after=3 retry-after-ms=70]]'), { retryAfterMs: 70 });
	const date = new Date(Date.now() + 60_000).toUTCString().replaceAll(' ', '_');
	const { done } = await probe(`[[http 503 retry-after=${date}]]`);
	assert.ok(done.retryAfterMs > 50_000 && done.retryAfterMs <= 60_000, String(done.retryAfterMs));
	assertEnd(await probe('[[http 429]]'), { retryAfterMs: 0 });
});

test('the key never shows in a message', async () => {
	const { done } = await probe('[[http 401 echo-auth]]', { apiKey: 'sk-very-secret' });
	assert.equal(done.message, 'the model server answered 401: scripted 401 Bearer ***');
});

test('first calls fail, then it works: the count is the number of starts', async () => {
	const turn = 'flaky';
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), { outcome: 'rejected', http: 500 });
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), { outcome: 'rejected', http: 500 });
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), COMPLETED);
	assert.equal(server.count().turns[turn], 3);
});

test('error inside the stream, garbage, a page', async () => {
	const failed = await probe('[[error-in-stream]]');
	assertEnd(failed, { outcome: 'failed', category: 'server_error', retryable: true });
	assert.match(failed.done.message, /the model fell over/);
	assertEnd(await probe('[[garbage]]'), { outcome: 'garbled', category: 'protocol' });
	assertEnd(await probe('[[text]]'), { outcome: 'garbled', category: 'protocol' });
});

test('over the cap', async () => {
	assertEnd(await probe('[[tokens 5000]]', { maxOutputBytes: 1000 }), { outcome: 'garbled', category: 'too_large', retryable: false });
	const whole = await probe(`[[json]] [[tokens 5000]]`, { maxOutputBytes: 1000 });
	assertEnd(whole, { outcome: 'garbled', category: 'too_large' });
	assert.equal(whole.text, '');
});

test('cut in the middle keeps what came', async () => {
	const run = await probe('[[cut 5]] [[tokens 100]]');
	assertEnd(run, { outcome: 'cut', category: 'network', retryable: true });
	assert.equal(run.text, 'w0 w1 w2 w3 ');
});

test('a connection lost before the answer is not silently tried again', async () => {
	const run = await probe('[[cut 0]]');
	assertEnd(run, { outcome: 'cut', category: 'network', retryable: true });
	assert.equal(server.log(run.turn).length, 1);
});

// Where the connection is a reused one, libcurl alone would send the request again.
test('a reused connection that dies is reported, once', async () => {
	const seen = [];
	const raw = net.createServer((socket) => {
		let answered = 0;
		socket.on('error', () => {}).on('data', (bytes) => {
			if (!bytes.includes('POST')) return;
			seen.push(socket);
			if (answered++ > 0) return socket.destroy();
			const body = 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
			socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
		});
	});
	await new Promise((done) => raw.listen(0, '127.0.0.1', done));
	const run = await probe('x', { baseUrl: `http://127.0.0.1:${raw.address().port}/v1`, calls: 2, oneByOne: true });
	const ends = run.lines.filter((l) => l.on === 'done').map((l) => l.outcome);
	assert.deepEqual(ends, ['completed', 'cut']);
	assert.equal(seen.length, 2, 'two starts, two requests');
	assert.equal(seen[0], seen[1], 'on one connection');
	raw.close();
});

test('connections are used again', async () => {
	const run = await probe('x', { calls: 5, oneByOne: true });
	assert.equal(run.lines.filter((l) => l.outcome === 'completed').length, 5);
	assert.equal(portsOf(server, run).size, 1);
});

test('unreachable: refused, unknown name, bad URL', async () => {
	const refused = await probe('x', { baseUrl: 'http://user:hunter22@127.0.0.1:1/v1' });
	assertEnd(refused, { outcome: 'unreachable', category: 'network', retryable: true, http: 0 });
	assert.match(refused.done.message, /check that the base URL.*http:\/\/127\.0\.0\.1:1\/v1/);
	assert.doesNotMatch(refused.done.message, /hunter22/);
	assertEnd(await probe('x', { baseUrl: 'http://no-such-host.invalid/v1' }), { outcome: 'unreachable', category: 'network' });
	for (const baseUrl of ['not a url', 'file:///etc', 'ftp://127.0.0.1/v1', ''])
		assertEnd(await probe('x', { baseUrl }), { outcome: 'unreachable' });
});

test('a server that does not speak HTTP', async () => {
	const raw = net.createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.2\r\n'));
	await new Promise((done) => raw.listen(0, '127.0.0.1', done));
	const run = await probe('x', { baseUrl: `http://127.0.0.1:${raw.address().port}/v1` });
	assertEnd(run, { outcome: 'garbled', category: 'protocol' });
	raw.close();
});

test('endless headers are refused', async () => {
	const raw = net.createServer((socket) => {
		socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\n');
		const timer = setInterval(() => socket.write(`x-pad: ${'p'.repeat(8000)}\r\n`), 1);
		socket.on('close', () => clearInterval(timer));
	});
	await new Promise((done) => raw.listen(0, '127.0.0.1', done));
	const run = await probe('x', { baseUrl: `http://127.0.0.1:${raw.address().port}/v1` });
	assertEnd(run, { outcome: 'garbled', category: 'too_large' });
	raw.close();
});

test('timeouts: each phase has its own', async () => {
	const timeout = { outcome: 'timeout', category: 'timeout', retryable: true };
	const first = await probe('[[hang]]', { firstByteMs: 200 });
	assertEnd(first, timeout);
	assert.match(first.done.message, /no first byte within 200 ms/);
	assert.ok(first.done.latencyMs >= 195 && first.done.latencyMs < 2000, String(first.done.latencyMs));
	const late = await probe('[[first 1500]]', { firstByteMs: 200 });
	assertEnd(late, timeout);
	const idle = await probe('[[hang-after 3]]', { idleMs: 200, firstByteMs: 60_000 });
	assertEnd(idle, timeout);
	assert.match(idle.done.message, /no further byte within 200 ms/);
	assert.equal(idle.text, 'You said: ');
	const total = await probe('[[tokens 1000]] [[delay 20]]', { totalMs: 300, idleMs: 10_000 });
	assertEnd(total, timeout);
	assert.match(total.done.message, /no complete answer within 300 ms/);
});

test('a TLS handshake that is never answered ends at the connect time', async () => {
	const raw = net.createServer((socket) => socket.on('error', () => {}).resume());
	await new Promise((done) => raw.listen(0, '127.0.0.1', done));
	const run = await probe('x', { baseUrl: `https://127.0.0.1:${raw.address().port}/v1`, connectMs: 200 });
	assertEnd(run, { outcome: 'timeout', category: 'timeout', retryable: true });
	assert.ok(run.done.latencyMs >= 195 && run.done.latencyMs < 2000, String(run.done.latencyMs));
	raw.close();
});

test('slow but steady is no timeout', async () => {
	assertEnd(await probe('[[tokens 10]] [[delay 60]]', { idleMs: 500, firstByteMs: 1000 }), COMPLETED);
});

test('a loop that stood still does not time out what came in time', async () => {
	const run = await probe('[[tokens 20]] [[delay 20]]', { idleMs: 300, stallMs: 900 });
	assertEnd(run, COMPLETED);
});

test('cancel from inside an output: nothing more comes, the server sees it', async () => {
	const run = await probe('[[tokens 500]] [[delay 5]]', { cancelAfter: 3 });
	assertEnd(run, { outcome: 'cancelled', category: 'cancelled', retryable: false });
	assert.equal(run.text, 'w0 w1 w2 ');
	await new Promise((done) => setTimeout(done, 100));
	assert.equal(server.log(run.turn)[0].aborted, true);
});

test('cancel from inside an output when all chunks came in one read', async () => {
	const run = await probe('[[tokens 5]]', { cancelAfter: 2 });
	assertEnd(run, { outcome: 'cancelled' });
	assert.equal(run.text, 'w0 w1 ');
});

test('cancel from the loop while nothing has come', async () => {
	const run = await probe('[[hang]]', { cancelAtMs: 100 });
	assertEnd(run, { outcome: 'cancelled' });
	assert.ok(run.done.latencyMs < 1000);
});

test('cancel while the name is being resolved or connected does not block', async () => {
	const began = Date.now();
	await probe('x', { baseUrl: 'http://no-such-host.invalid/v1', cancelAtMs: 1 });
	assert.ok(Date.now() - began < 2000);
});

test('close with open calls ends them', async () => {
	const run = await probe('[[tokens 1000]] [[delay 10]]', { calls: 5, closeAtMs: 150 });
	const ends = run.lines.filter((l) => l.on === 'done').map((l) => l.outcome);
	assert.deepEqual(ends, Array(5).fill('cancelled'));
});

test('options that are no JSON end the call without a request', async () => {
	const run = await probe('x', { options: '{' });
	assertEnd(run, { outcome: 'rejected', category: 'invalid_request', http: 0 });
	assert.equal(server.log(run.turn).length, 0);
});

test('hundreds of streams at once, each whole, each once', async () => {
	const run = await probe('[[tokens 20]] [[delay 10]]', { calls: 300 });
	const ends = run.lines.filter((l) => l.on === 'done');
	assert.equal(ends.length, 300);
	assert.ok(ends.every((l) => l.outcome === 'completed'));
	for (let i = 0; i < 300; i++) assert.equal(server.count().turns[`${run.turn}-${i}`], 1);
});

// ---- TLS ----

let dir;
function certificate() {
	dir ??= mkdtempSync(path.join(os.tmpdir(), 'ar-provider-'));
	const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
	if (!existsSync(cert))
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
			'-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
	return { caFile: cert, key: readFileSync(key), cert: readFileSync(cert) };
}
after(() => dir && rmSync(dir, { recursive: true }));

async function tlsServer(create) {
	const { caFile, key, cert } = certificate();
	const tls = await start(0, { createServer: (listener) => create({ key, cert, allowHTTP1: true }, listener) });
	return { tls, caFile, baseUrl: `https://127.0.0.1:${tls.port}/v1` };
}

test('HTTP/2: hundreds of streams share a few connections', async () => {
	const { tls, caFile, baseUrl } = await tlsServer(http2.createSecureServer);
	const run = await probe('[[tokens 10]] [[delay 20]]', { baseUrl, caFile, calls: 200 });
	assert.equal(run.lines.filter((l) => l.outcome === 'completed').length, 200);
	assert.ok(tls.log().every((e) => e.httpVersion === '2.0'));
	assert.ok(portsOf(tls, run).size <= 4, `${portsOf(tls, run).size} connections`);
	const cut = await probe('[[cut 4]] [[tokens 10]]', { baseUrl, caFile });
	assertEnd(cut, { outcome: 'cut' });
	assertEnd(await probe('[[hang]]', { baseUrl, caFile, cancelAtMs: 300 }), { outcome: 'cancelled' });
	await tls.close();
});

test('HTTP/1.1 over TLS does not queue behind four connections', async () => {
	const { tls, caFile, baseUrl } = await tlsServer(https.createServer);
	const run = await probe('[[tokens 20]] [[delay 100]]', { baseUrl, caFile, calls: 32 });
	const ends = run.lines.filter((l) => l.on === 'done');
	assert.ok(ends.every((l) => l.outcome === 'completed'));
	const slowest = Math.max(...ends.map((l) => l.latencyMs));
	assert.ok(slowest < 10_000, `the slowest took ${slowest} ms; four at a time would take 18 s`);
	await tls.close();
});

test('a certificate that nobody vouches for is refused', async () => {
	const { tls, baseUrl } = await tlsServer(https.createServer);
	const run = await probe('x', { baseUrl });
	assertEnd(run, { outcome: 'unreachable' });
	assert.match(run.done.message, /certificate/i);
	assert.equal(tls.count().total, 0);
	await tls.close();
});

// ---- a real model ----

const model = findModel();
const packages = existsSync(path.join(here, '../node_modules/@fugood/llama.node'));

test('a real model writes, stops at its limit and can be cancelled', { skip: !(model && packages) && 'no model here' }, async () => {
	const child = spawn(process.execPath, [path.join(here, 'llama.mjs'), model], { stdio: ['ignore', 'pipe', 'ignore'] });
	try {
		let port;
		for await (const line of createInterface({ input: child.stdout })) {
			if (!line.startsWith('{')) continue;
			({ port } = JSON.parse(line));
			break;
		}
		const baseUrl = `http://127.0.0.1:${port}/v1`;
		const options = '{"maxOutputTokens":48,"temperature":0,"seed":1}';
		const runs = await Promise.all([1, 2].map(() => probe('Once upon a time', { baseUrl, options })));
		for (const run of runs) {
			assert.equal(run.done.outcome, 'completed', JSON.stringify(run.done));
			assert.ok(run.text.trim().split(/\s+/).length > 8, run.text);
			assert.ok(run.done.hasUsage && run.done.outputTokens > 0 && run.done.outputTokens <= 48);
			assert.ok(run.lines.length > 10, 'streamed in pieces');
		}
		const cut = await probe('Once upon a time', { baseUrl, options: '{"maxOutputTokens":400}', cancelAfter: 5 });
		assertEnd(cut, { outcome: 'cancelled' });
	} finally {
		child.kill('SIGTERM');
		await new Promise((done) => (child.exitCode !== null ? done() : child.once('exit', done)));
	}
});
