// Services as tools in a real agentd: one request per call, checked arguments, honest ends, nothing sent twice that must not be, no secret kept.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newFolder, ok, readLog, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';

const secret = 'tok-4711-do-not-tell';
const city = JSON.stringify({
	type: 'object',
	properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
	required: ['city'],
	additionalProperties: false,
});
let w;
let service;
let seen = [];
let silent = false;

async function serve() {
	const server = http.createServer(async (request, response) => {
		let body = '';

		for await (const part of request) body += part;
		seen.push({ method: request.method, url: request.url, headers: request.headers, body });
		if (silent) return;
		if (request.url.startsWith('/broken')) {
			response.writeHead(503, { 'content-type': 'text/plain' }).end(`no, not with ${request.headers.authorization}`);
			return;
		}
		response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sunny: true }));
	});

	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return server;
}

before(async () => {
	service = await serve();
	const origin = `http://127.0.0.1:${service.address().port}`;
	const headers = [`Authorization: Bearer ${secret}`];
	const entry = (name, more) => ({ name, description: `Does ${name}.`, url: `${origin}/${name}`, headers, ...more });

	w = await world({
		config: {
			'permission.mode': 'bypass',
			http_tools: [
				entry('weather', { method: 'GET', url: `${origin}/v1/{city}`, schema: city, read_only: true }),
				entry('order'),
				entry('put_value', { method: 'PUT', idempotent: true }),
				entry('broken'),
				entry('nobody', { url: 'http://127.0.0.1:1/' }),
			],
		},
	});
});

after(() => {
	service.closeAllConnections();
	service.close();
});

const ask = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const facts = async (sessionId, ...types) => (await readLog(w.rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const ended = (sessionId) => waitFor(async () => (await facts(sessionId, 'turn.completed', 'turn.failed'))[0], 'the end of the turn');
const bytes = async (ref) => (await ok(w.rt, 'read_output', { outputRef: ref })).content;

async function turn(text) {
	seen = [];
	const { sessionId } = await submit(w.rt, text);
	const end = await ended(sessionId);

	return { sessionId, end, started: await facts(sessionId, 'tool.started'), results: await facts(sessionId, 'tool.result'), failed: await facts(sessionId, 'tool.failed') };
}

test('TL-04 TL-12 OU-04 a model calls a service and goes on with its answer', async () => {
	const { sessionId, end, started, results } = await turn(ask('weather', { city: 'Köln/Süd', days: 2 }));

	assert.equal(end.type, 'turn.completed');
	assert.equal(started[0].payload.runtimeOwner, 'hosted_connector');
	assert.equal(started[0].payload.isReadOnly, true);
	assert.equal(seen.length, 1);
	assert.equal(`${seen[0].method} ${seen[0].url}`, 'GET /v1/K%C3%B6ln%2FS%C3%BCd?days=2');
	assert.equal(seen[0].headers.authorization, `Bearer ${secret}`);
	assert.equal(seen[0].headers['x-agentruntime-session'], sessionId);
	assert.equal(seen[0].headers['x-agentruntime-tool-call'], started[0].toolCallId);
	assert.equal(await bytes(results[0].payload.outputRef), '{"sunny":true}');
	assert.deepEqual(JSON.parse(await bytes(results[0].payload.structuredContentRef)), { sunny: true });
	assert.match(await bytes(end.payload.outputRef), /The tool said: \{"sunny":true\}/);
});

test('arguments that do not meet the schema never leave, and the model is told why', async () => {
	const { failed } = await turn(ask('weather', { city: 'Rom', days: 0 }));

	assert.equal(seen.length, 0);
	assert.equal(failed[0].payload.errorCategory, 'invalid_arguments');
	assert.match(await bytes(failed[0].payload.errorRef), /\/days must be at least 1, not 0/);
	const other = await turn(ask('weather', { city: 'Rom', day: 1 }));
	assert.match(await bytes(other.failed[0].payload.errorRef), /unknown member \/day; allowed: city, days/);
});

test('a service that refuses, and one that is not there', async () => {
	const { sessionId, failed, end } = await turn(ask('broken', {}) + ask('nobody', {}));

	assert.equal(end.type, 'turn.completed');
	assert.deepEqual(failed.map((f) => f.payload.errorCategory).sort(), ['network', 'service_error']);
	assert.equal(seen.length, 1);
	const [masked] = await facts(sessionId, 'output.redacted');
	assert.ok(masked.payload.redaction.count >= 1, JSON.stringify(masked.payload));
	const said = await bytes(failed.find((f) => f.payload.errorCategory === 'service_error').payload.errorRef);
	assert.match(said, /127\.0\.0\.1 answered with status 503/);
	assert.match(said, /no, not with .*\[redacted:secret\]/);
});

test('a write that is open when the process dies is not sent again; an idempotent one is, with the same key', async () => {
	silent = true;
	seen = [];
	const write = await submit(w.rt, ask('order', { n: 1 }));
	const put = await submit(w.rt, ask('put_value', { n: 2 }));
	await waitFor(async () => seen.length === 2, 'both requests');
	await w.rt.kill9();
	silent = false;
	w.rt = await w.again();
	assert.equal((await ended(put.sessionId)).type, 'turn.completed');
	await waitFor(async () => (await facts(write.sessionId, 'tool.failed'))[0]?.payload.status === 'interrupted', 'the write is given up');
	const writes = seen.filter((s) => s.method === 'POST');
	const puts = seen.filter((s) => s.method === 'PUT');
	assert.deepEqual([writes.length, puts.length], [1, 2]);
	assert.equal(puts[0].headers['idempotency-key'], puts[1].headers['idempotency-key']);
	assert.notEqual(puts[0].headers['x-agentruntime-tool-call'], puts[1].headers['x-agentruntime-tool-call']);
	assert.notEqual(puts[0].headers['idempotency-key'], writes[0].headers['idempotency-key']);
});

test('the token of a service is in no file of the runtime', () => {
	const files = readdirSync(w.rt.dataDir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile() && f.name !== 'agentd.yaml');

	for (const f of files) assert.ok(!readFileSync(join(f.parentPath ?? f.path, f.name)).includes(secret), f.name);
	assert.ok(!w.rt.stderr.includes(secret));
});

for (const [what, entry, why] of [
	['an address of another kind', { url: 'file:///etc/passwd' }, /'bad': the url must begin with http:\/\/ or https:\/\//],
	['a schema that means nothing', { url: 'http://h/', schema: '{"type":"strnig"}' }, /schema of 'bad' cannot be used: type must be/],
	['a header of two lines', { url: 'http://h/', headers: ['A: b\r\nC: d'] }, /header 1 must be 'Name: value'/],
])
	test(`${what} is refused at the start`, async () => {
		const config = { http_tools: [{ name: 'bad', description: 'x', ...entry }] };
		const rt = await startAgentd({ dataDir: newFolder(), config, mayDie: true });

		assert.equal((await rt.gone).code, 1);
		assert.match(rt.stderr, why);
	});
