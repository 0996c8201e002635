// Every wire format against a server that behaves and misbehaves as told, over plain HTTP.
// ci: first
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FORMATS } from './formats.mjs';
import { assertEnd, COMPLETED, portsOf, probe as probeAt, rawServer } from './probe.mjs';
import { waitFor } from '../lib/runtime.mjs';
import { soon } from '../lib/soon.mjs';
import { start } from './scripted.mjs';

let server;
before(async () => {
	server = await start(0);
});
after(() => server.close());

// One test for each format; the function gets the format and a probe that speaks it.
function over(name, run) {
	for (const format of FORMATS) {
		const probe = (prompt, more = {}) => probeAt(prompt, { baseUrl: server.origin + format.base, format: format.name, ...more });
		test(`${format.name}: ${name}`, (t) => run({ t, format, probe }));
	}
}

// The same call until our server, which shares the machine with others, sent every piece of it in time.
async function withServerInTime(probe, prompt, more, ms) {
	const gap = (run) => Math.max(...server.log().filter((e) => e.turn.startsWith(run.turn)).map((e) => e.longestGapMs ?? Infinity));
	for (let tries = 0; tries < 20; tries++) {
		const run = await probe(prompt, more);
		if (gap(run) < ms || run.lines.every((l) => l.on !== 'done' || l.outcome === 'completed')) return run;
	}
	return assert.fail(`the server never kept under ${ms} ms between two pieces`);
}

over('echo: text, usage, model, ids', async ({ probe }) => {
	const run = await probe('hello brave world');
	assert.equal(run.text, 'You said: hello brave world');
	assertEnd(run, { ...COMPLETED, hasUsage: true, inputTokens: 3, outputTokens: 5, cachedTokens: 0, model: 'test-model' });
	assert.match(run.done.requestId, /^req_\d+$/);
	assert.ok(run.done.latencyMs >= run.done.ttftMs);
});

over('the request carries correlation headers, the key and the options', async ({ format, probe }) => {
	const run = await probe('hi', { apiKey: ' sk-test-1234\n', options: '{"temperature":0.5,"maxOutputTokens":9}' });
	const [entry] = server.log(run.turn);
	for (const [name, value] of Object.entries(format.headers('sk-test-1234'))) assert.equal(entry.headers[name], value);
	assert.equal(entry.url, format.path);
	assert.equal(entry.headers['x-request-id'], 'mreq_probe');
	assert.equal(entry.session, 'sess_probe');
	assert.equal(entry.step, 'step_probe');
	assert.deepEqual(entry.body, format.body);
});

over('no key, no header for it', async ({ format, probe }) => {
	const run = await probe('hi');
	assert.equal(server.log(run.turn)[0].headers[format.keyHeader], undefined);
});

over('tools, an output schema and a signature go along', async ({ format, probe }) => {
	const options = '{"outputSchema":{"type":"object"}}';
	const first = await probe('[[reasoning hm]] [[tool add {"a":1}]]', { tools: true, options });
	format.checkTools(server.log(first.turn)[0].body);
	const then = await probe('[[tool add {"a":1}]]', { toolResult: '42', echo: first.done.echo });
	format.checkEcho(server.log(then.turn)[0].body);
});

over('a long body is sent without waiting for 100-continue', async ({ probe }) => {
	const run = await probe('[[say ok]]', { padBytes: 3_000_000 });
	assertEnd(run, COMPLETED);
	const [entry] = server.log(run.turn);
	assert.equal(entry.headers.expect, undefined);
	assert.ok(Number(entry.headers['content-length']) > 3_000_010);
});

over('say, tokens, reasoning, utf8', async ({ probe }) => {
	assert.equal((await probe('[[say one two]]')).text, 'one two');
	assert.match((await probe('[[tokens 200]]')).text, /^w0 w1 .* w199 $/);
	const thinking = await probe('[[reasoning let me think]] [[say done]]');
	assert.equal(thinking.reasoning, 'let me think');
	assert.equal(thinking.text, 'done');
	assert.ok((await probe('[[utf8]]')).text.includes('👩‍👩‍👧‍👦 e\u0301 🇨🇭'));
});

over('one byte at a time gives the same text', async ({ probe }) => {
	const whole = await probe('[[utf8]]');
	const split = await probe('[[utf8]] [[split]]');
	assert.equal(split.text, whole.text);
	assertEnd(split, COMPLETED);
});

over('tool call, then text after its result', async ({ format, probe }) => {
	const call = await probe('[[tool add {"a":1,"b":"a long argument"}]] [[tool now]]');
	const tools = call.lines.filter((l) => l.on === 'tool');
	assert.deepEqual(tools.map((t) => [t.index, t.name]), [[0, 'add'], [1, 'now']]);
	const args = (index) => call.lines.filter((l) => l.on === 'args' && l.index === index).map((l) => l.bytes).join('');
	assert.equal(args(0), '{"a":1,"b":"a long argument"}');
	assert.equal(args(1), '{}');
	assertEnd(call, { ...COMPLETED, stopReason: 'tool_calls' });
	const answer = await probe('[[tool add {"a":1}]]', { toolResult: '42' });
	assert.equal(answer.text, 'The tool said: 42');
	format.checkResult(server.log(answer.turn)[0].body);
});

over('a server that ignores "stream" is understood', async ({ probe }) => {
	const run = await probe('[[json]] [[reasoning hm]] [[say whole answer]]');
	assert.equal(run.text, 'whole answer');
	assert.equal(run.reasoning, 'hm');
	assertEnd(run, { ...COMPLETED, hasUsage: true });
	const tool = await probe('[[json]] [[tool add {"a":1}]]');
	assert.equal(tool.of('args'), '{"a":1}');
});

over('parts that may be missing or doubled', async ({ format, probe }) => {
	const cut = { outcome: 'cut', category: 'network', retryable: true };
	for (const [prompt, expected] of Object.entries(format.missing)) assertEnd(await probe(`${prompt} x`), expected);
	assertEnd(await probe('[[no-usage]] x'), { ...COMPLETED, hasUsage: false });
	assertEnd(await probe('[[no-done]] [[no-finish]] x'), cut);
	assert.equal((await probe('[[dup]] [[say a b]]')).text, 'a a bb');
	assertEnd(await probe('[[lie-usage]] x'), { ...COMPLETED, inputTokens: 0, outputTokens: 9e15 });
});

over('bytes after the end mark are ignored and do not hold the call', async ({ probe }) => {
	await soon(3000, async () => {
		const run = await probe('[[junk-after-done]] [[say fine]]');
		assert.equal(run.text, 'fine');
		assertEnd(run, COMPLETED);
	});
});

over('rejections', async ({ format, probe }) => {
	const cases = [
		['[[http 400]]', 'invalid_request', false], ['[[http 400 code=context_length_exceeded]]', 'context_length', false],
		['[[http 401]]', 'auth', false], ['[[http 403]]', 'auth', false], ['[[http 404]]', 'not_found', false],
		['[[http 408]]', 'timeout', true], ['[[http 422]]', 'invalid_request', false],
		['[[http 429]]', 'rate_limited', true], ['[[http 429 code=insufficient_quota]]', 'quota', false],
		['[[http 500]]', 'server_error', true], ['[[http 500 x-should-retry=false]]', 'server_error', false],
		['[[http 503]]', 'overloaded', true], ['[[http 529]]', 'overloaded', true],
		[`[[http 307 location=${format.path.replaceAll('=', '%3D')}]]`, 'redirect', false],
	];
	for (const [prompt, category, retryable] of cases) {
		const run = await probe(prompt);
		assertEnd(run, { outcome: 'rejected', category, retryable, http: Number(/\d+/.exec(prompt)[0]) });
		assert.equal(server.log(run.turn).length, 1, 'neither repeated nor redirected');
	}
});

over('retry-after in seconds, milliseconds and as a date', async ({ probe }) => {
	assertEnd(await probe('[[http 429 retry-after=3]]'), { retryAfterMs: 3000 });
	assertEnd(await probe('[[http 429 retry-after=3 retry-after-ms=70]]'), { retryAfterMs: 70 });
	const date = new Date(Date.now() + 60_000).toUTCString().replaceAll(' ', '_');
	const { done } = await probe(`[[http 503 retry-after=${date}]]`);
	assert.ok(done.retryAfterMs > 50_000 && done.retryAfterMs <= 60_000, String(done.retryAfterMs));
	assertEnd(await probe('[[http 429]]'), { retryAfterMs: 0 });
});

over('the key never shows in a message', async ({ format, probe }) => {
	const { done } = await probe('[[http 401 echo-auth]]', { apiKey: 'sk-very-secret' });
	assert.equal(done.message, `the model server answered 401: scripted 401 ${format.headers('***')[format.keyHeader]}`);
	assert.match(done.payload, /scripted 401/);
	assert.doesNotMatch(done.payload, /very-secret/);
});

over('limits come along, and an exhausted one says how long to wait', async ({ format, probe }) => {
	const within = (limits, kind, ms) => assert.ok(limits[kind][2] > ms - 60_000 && limits[kind][2] <= ms, JSON.stringify(limits));
	const { done } = await probe('[[limits]] x');
	assertEnd({ done }, COMPLETED);
	assert.deepEqual(Object.keys(done.limits), Object.keys(format.limits));
	for (const [kind, [limit, remaining, ms]] of Object.entries(format.limits)) {
		assert.deepEqual(done.limits[kind].slice(0, 2), [limit, remaining]);
		within(done.limits, kind, ms);
	}
	const refused = (await probe('[[limits]] [[http 429]]')).done;
	assert.ok(format.exhaustedMs === 0 ? refused.retryAfterMs === 0 : refused.retryAfterMs > format.exhaustedMs - 60_000);
	assertEnd(await probe('[[limits]] [[http 429 retry-after=3]]'), { retryAfterMs: 3000 });
});

over('first calls fail, then it works: the count is the number of starts', async ({ format, probe }) => {
	const turn = `flaky-${format.name}`;
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), { outcome: 'rejected', http: 500 });
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), { outcome: 'rejected', http: 500 });
	assertEnd(await probe('[[fail-times 2 http 500]] x', { turn }), COMPLETED);
	assert.equal(server.count().turns[turn], 3);
});

over('error inside the stream, garbage, a page', async ({ probe }) => {
	const failed = await probe('[[error-in-stream]]');
	assertEnd(failed, { outcome: 'failed', category: 'server_error', retryable: true });
	assert.match(failed.done.message, /the model fell over/);
	assertEnd(await probe('[[garbage]]'), { outcome: 'garbled', category: 'protocol' });
	assertEnd(await probe('[[text]]'), { outcome: 'garbled', category: 'protocol' });
});

over('over the cap', async ({ probe }) => {
	assertEnd(await probe('[[tokens 5000]]', { maxOutputBytes: 1000 }), { outcome: 'garbled', category: 'too_large', retryable: false });
	const whole = await probe('[[json]] [[tokens 300000]]', { maxOutputBytes: 1000 });
	assertEnd(whole, { outcome: 'garbled', category: 'too_large' });
	assert.equal(whole.text, '');
});

over('a stream that says nothing without end is ended', async ({ probe }) => {
	assertEnd(await probe('[[endless]]', { maxOutputBytes: 1000 }), { outcome: 'garbled', category: 'too_large', retryable: false });
});

over('cut in the middle keeps what came', async ({ probe }) => {
	const run = await probe('[[cut 5]] [[tokens 100]]');
	assertEnd(run, { outcome: 'cut', category: 'network', retryable: true });
	assert.equal(run.text, 'w0 w1 w2 w3 ');
});

over('a connection lost before the answer is not silently tried again', async ({ probe }) => {
	const run = await probe('[[cut 0]]');
	assertEnd(run, { outcome: 'cut', category: 'network', retryable: true });
	assert.equal(server.log(run.turn).length, 1);
});

// Where the connection is a reused one, libcurl alone would send the request again.
over('a reused connection that dies is reported, once', async ({ t, format, probe }) => {
	const seen = [];
	const at = await rawServer(t, (socket) => {
		let answered = 0;
		socket.on('data', (bytes) => {
			if (!bytes.includes('POST')) return;
			seen.push(socket);
			if (answered++ > 0) return socket.destroy();
			const body = format.stream;
			socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
		});
	});
	const run = await probe('x', { baseUrl: `http://${at}`, calls: 2, oneByOne: true });
	const ends = run.lines.filter((l) => l.on === 'done').map((l) => l.outcome);
	assert.deepEqual(ends, ['completed', 'cut']);
	assert.equal(seen.length, 2, 'two starts, two requests');
	assert.equal(seen[0], seen[1], 'on one connection');
});

over('connections are used again', async ({ probe }) => {
	const run = await probe('x', { calls: 5, oneByOne: true });
	assert.equal(run.lines.filter((l) => l.outcome === 'completed').length, 5);
	assert.equal(portsOf(server, run).size, 1);
});

over('unreachable: refused, unknown name, bad URL', async ({ probe }) => {
	const refused = await probe('x', { baseUrl: 'http://user:hunter22@127.0.0.1:1/v1' });
	assertEnd(refused, { outcome: 'unreachable', category: 'network', retryable: true, http: 0 });
	assert.match(refused.done.message, /check that the base URL.*http:\/\/127\.0\.0\.1:1\/v1/);
	assert.doesNotMatch(refused.done.message, /hunter22/);
	assertEnd(await probe('x', { baseUrl: 'http://no-such-host.invalid/v1' }), { outcome: 'unreachable', category: 'network' });
	for (const baseUrl of ['not a url', 'ftp://127.0.0.1/v1', ''])
		assertEnd(await probe('x', { baseUrl }), { outcome: 'unreachable' });
});

over('a file is no server', async ({ t, format, probe }) => {
	const at = mkdtempSync(path.join(os.tmpdir(), 'ar-provider-'));
	t.after(() => rmSync(at, { recursive: true }));
	const file = path.join(at, new URL(format.path, 'http://x').pathname);
	mkdirSync(path.dirname(file), { recursive: true });
	writeFileSync(file, format.whole('read from disk'));
	const run = await probe('x', { baseUrl: `file://${at}${format.base}` });
	assertEnd(run, { outcome: 'unreachable' });
	assert.doesNotMatch(run.done.message, /read from disk/);
});

over('a server that does not speak HTTP', async ({ t, probe }) => {
	const at = await rawServer(t, (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
	assertEnd(await probe('x', { baseUrl: `http://${at}` }), { outcome: 'garbled', category: 'protocol' });
});

over('endless headers are refused', async ({ t, probe }) => {
	const at = await rawServer(t, (socket) => {
		socket.write('HTTP/1.1 200 OK\r\n');
		const timer = setInterval(() => socket.write(`x-pad: ${'p'.repeat(8000)}\r\n`), 1);
		socket.on('close', () => clearInterval(timer));
	});
	assertEnd(await probe('x', { baseUrl: `http://${at}` }), { outcome: 'garbled', category: 'too_large' });
});

over('timeouts: each phase has its own', async ({ probe }) => {
	const timeout = { outcome: 'timeout', category: 'timeout', retryable: true };
	await soon(2000, async () => {
		const first = await probe('[[hang]]', { firstByteMs: 200 });
		assertEnd(first, timeout);
		assert.match(first.done.message, /no first byte within 200 ms/);
		assert.ok(first.done.latencyMs >= 195, String(first.done.latencyMs));
		return first.done.latencyMs;
	});
	const late = await probe('[[first 6000]]', { firstByteMs: 200 });
	assertEnd(late, timeout);
	const idle = await probe('[[hang-after 3]]', { idleMs: 200, firstByteMs: 60_000 });
	assertEnd(idle, timeout);
	assert.match(idle.done.message, /no further byte within 200 ms/);
	assert.equal(idle.text, 'You said: ');
	const total = await probe('[[tokens 1000]] [[delay 20]]', { totalMs: 300, idleMs: 10_000 });
	assertEnd(total, timeout);
	assert.match(total.done.message, /no complete answer within 300 ms/);
});

over('slow but steady is no timeout', async ({ probe }) => {
	assertEnd(await withServerInTime(probe, '[[tokens 10]] [[delay 60]]', { idleMs: 500, firstByteMs: 10_000 }, 400), COMPLETED);
});

over('a loop that stood still does not time out what came in time', async ({ probe }) => {
	const run = await withServerInTime(probe, '[[tokens 40]] [[delay 20]]', { calls: 5, idleMs: 300, stallMs: 900 }, 200);
	assert.deepEqual(run.lines.filter((l) => l.on === 'done').map((l) => l.outcome), Array(5).fill('completed'));
});

over('cancel from inside an output: nothing more comes, the server sees it', async ({ probe }) => {
	const run = await probe('[[tokens 500]] [[delay 5]]', { cancelAfter: 3 });
	assertEnd(run, { outcome: 'cancelled', category: 'cancelled', retryable: false });
	assert.equal(run.text, 'w0 w1 w2 ');
	await waitFor(() => server.log(run.turn)[0].aborted, 'the server to see it');
});

over('cancel from inside an output when all chunks came in one read', async ({ probe }) => {
	const run = await probe('[[tokens 5]] [[burst]]', { cancelAfter: 2 });
	assertEnd(run, { outcome: 'cancelled' });
	assert.equal(run.text, 'w0 w1 ');
	const whole = await probe('[[json]] [[reasoning hm]] [[say no]]', { cancelAfter: 1 });
	assertEnd(whole, { outcome: 'cancelled' });
	assert.equal(whole.text, '');
});

over('cancel from the loop while nothing has come', async ({ probe }) => {
	await soon(1000, async () => {
		const run = await probe('[[hang]]', { cancelAtMs: 100 });
		assertEnd(run, { outcome: 'cancelled' });
		return run.done.latencyMs;
	});
});

over('cancel while the name is being resolved or connected does not block', async ({ probe }) => {
	await soon(2000, async () => {
		await probe('x', { baseUrl: 'http://no-such-host.invalid/v1', cancelAtMs: 1 });
	});
});

over('close with open calls ends them', async ({ probe }) => {
	const run = await probe('[[tokens 1000]] [[delay 10]]', { calls: 5, closeAtMs: 150 });
	const ends = run.lines.filter((l) => l.on === 'done').map((l) => l.outcome);
	assert.deepEqual(ends, Array(5).fill('cancelled'));
});

over('options that are no JSON end the call without a request', async ({ probe }) => {
	const run = await probe('x', { options: '{' });
	assertEnd(run, { outcome: 'rejected', category: 'invalid_request', http: 0 });
	assert.equal(server.log(run.turn).length, 0);
});

over('hundreds of streams at once, each whole, each once', async ({ probe }) => {
	const run = await probe('[[tokens 20]] [[delay 10]]', { calls: 300 });
	const ends = run.lines.filter((l) => l.on === 'done');
	assert.equal(ends.length, 300);
	assert.ok(ends.every((l) => l.outcome === 'completed'));
	for (let i = 0; i < 300; i++) assert.equal(server.count().turns[`${run.turn}-${i}`], 1);
});

test('anthropic: the version of the API goes along, and the newer one has no sampling', async () => {
	const options = '{"temperature":0.5}';
	const run = await probeAt('hi', { baseUrl: server.origin, format: 'anthropic', version: '2026-10-21', options });
	assertEnd(run, COMPLETED);
	const [entry] = server.log(run.turn);
	assert.equal(entry.headers['anthropic-version'], '2026-10-21');
	assert.equal(entry.body.temperature, undefined);
});
