// The published contract, catalog/gen/openapi.json: it is a clean OpenAPI document, the daemon serves exactly it to anybody, every route in it
// answers and every write says what it is. That answers agree with it is checked by test/lib/contract.mjs in every test.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createConfig, lint } from '@redocly/openapi-core';
import { checkAnswer } from '../lib/contract.mjs';
import { request, startAgentd } from '../lib/runtime.mjs';
import { standardDir } from '../lib/schemas.mjs';

const file = fileURLToPath(new URL('../../catalog/gen/openapi.json', import.meta.url));
const text = readFileSync(file, 'utf8');
const document = JSON.parse(text);
const operations = Object.entries(document.paths).flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })));

let rt;

before(async () => {
	rt = await startAgentd({ config: { 'auth.required': true } });
});

// What the linter's strict rules say of things that are so: a WebSocket has no 2xx, and a stream of events has no place for the schema of one.
const MEANT = ['operation-2xx-response #/paths/~1v1~1rpc/get/responses', 'operation-2xx-response #/paths/~1v1~1worker/get/responses', 'no-unused-components #/components/schemas/Event'];

test('the document has no fault by the strict rules of an OpenAPI linter', async () => {
	const problems = await lint({ ref: file, config: await createConfig({ extends: ['recommended-strict'] }) });
	assert.deepEqual(problems.map(({ ruleId, location }) => `${ruleId} ${location[0].pointer}`).sort(), MEANT.sort());
});

test('no operation has a default answer, or an object without a shape where the catalogue has one', () => {
	for (const { path, method, operation } of operations) {
		assert.ok(!operation.responses.default, path);
		assert.ok(operation.security.length === 0 === ['/health', '/openapi.json', '/v1/triggers/{name}', '/v1/peers/{operation}/push', '/.well-known/agent-card.json', '/a2a/{agent}/.well-known/agent-card.json'].includes(path), `${method} ${path}`);
	}
	assert.deepEqual(Object.keys(document.paths['/v1/submit_turn'].post.responses).filter((status) => status < 400), ['202']);
	assert.equal(document.components.schemas.SubmitTurnInput.properties.options.$ref, '#/components/schemas/TurnOptions');
	assert.deepEqual(document.servers.map(({ url }) => url), ['/', 'http://127.0.0.1:7717']);
});

test('GET /openapi.json: anybody gets these bytes, and who has them is told so', async () => {
	const first = await request(rt, { method: 'GET', path: '/openapi.json' });
	assert.equal((await request(rt, { method: 'GET', path: '/v1/sessions' })).status, 401);
	assert.deepEqual([first.status, first.headers['content-type'], first.headers['cache-control']], [200, 'application/json', 'no-cache']);
	assert.equal(first.text, text);
	const { etag } = first.headers;
	for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
		const again = await request(rt, { method: 'GET', path: '/openapi.json', headers: { 'if-none-match': held } });
		assert.deepEqual([again.status, again.text, again.headers.etag, again.headers['content-length'], again.headers['content-type']], [304, '', etag, undefined, undefined], held);
	}
	assert.equal((await request(rt, { method: 'GET', path: '/openapi.json', headers: { 'if-none-match': '"other"' } })).status, 200);
});

test('the same over HTTP/2', async () => {
	const session = http2.connect(rt.url);
	const ask = (headers) => new Promise((done, fail) => {
		const stream = session.request({ ':path': '/openapi.json', ...headers }).on('error', fail);
		const answer = { text: '' };
		stream.setEncoding('utf8').on('response', (head) => (answer.head = head)).on('data', (piece) => (answer.text += piece)).on('end', () => done(answer));
	});
	const { head, text: body } = await ask({});
	assert.deepEqual([head[':status'], head['content-type'], head['cache-control'], body === text], [200, 'application/json', 'no-cache', true]);
	const again = await ask({ 'if-none-match': head.etag });
	assert.deepEqual([again.head[':status'], again.head['content-length'], again.text], [304, undefined, '']);
	session.close();
});

/** Asks as the operator; an event stream is left at its head. */
function ask({ method, path }) {
	const body = method === 'POST' ? '{}' : undefined;
	const headers = body ? { 'content-type': 'application/json', 'content-length': 2 } : {};
	return new Promise((done, fail) => {
		const req = http.request({ ...rt.where('socket'), method, path: path.replace(/\{\w+\}/g, 'x'), headers }, (res) => {
			let answer = '';
			if (res.headers['content-type'] === 'text/event-stream') return done({ status: res.statusCode, text: '' }), req.destroy();
			res.setEncoding('utf8').on('data', (piece) => (answer += piece)).on('end', () => done({ status: res.statusCode, text: answer }));
		});
		req.on('error', fail).end(body);
	});
}

test('CP-05 every route of the published table answers, and every write says which command or what it changes', async () => {
	const named = readFileSync(`${standardDir}/commands.tsv`, 'utf8').split('\n').map((line) => line.split('\t')[0]);
	const last = ({ path }) => path === '/v1/nodes/drain';
	for (const route of operations.toSorted((a, b) => last(a) - last(b))) {
		const { status, text: answer } = await ask(route);
		assert.ok(status !== 405 && !answer.includes('there is no path'), `${route.method} ${route.path}: ${status} ${answer}`);
		const { operation } = route;
		if (operation['x-command'] && named.includes(operation['x-command'])) continue;
		assert.ok(operation['x-writes'] || operation['x-origin']?.startsWith('extension (') || operation['x-origin']?.startsWith('ours (') || route.method === 'GET', `${route.method} ${route.path}`);
	}
	for (const name of named.slice(1).filter(Boolean)) assert.ok(document.paths[`/v1/${name}`]?.post, `${name} has no route`);
});

test('CP-05 a route that is no command says which commands it stands for, or that it writes no fact; no other path is there', async () => {
	const commands = new Set(operations.map(({ operation }) => operation['x-command']));
	const own = operations.filter(({ method, operation }) => method !== 'GET' && !operation['x-command']);
	const meant = Object.fromEntries(own.map(({ path, operation }) => [path, (operation['x-writes'] ?? '').match(/\w+/g).filter((word) => commands.has(word))]));
	assert.deepEqual(Object.keys(meant).sort(), ['/a2a/{agent}/rpc', '/v1/nodes/drain', '/v1/peers/{operation}/push', '/v1/triggers/{name}', '/v1/verify']);
	for (const { path, operation } of own) assert.ok(meant[path].length > 0 || operation['x-writes'].includes('no fact of a session'), `${path}: ${operation['x-writes']}`);
	assert.deepEqual([meant['/v1/triggers/{name}'], meant['/v1/peers/{operation}/push']], [['submit_turn', 'create_job'], ['report_peer_task']]);
	const all = [...readFileSync(new URL('../../catalog/routes.cat', import.meta.url), 'utf8').matchAll(/^route \w+ (GET|POST) (\S+)\n.*\n  access +(\w+)/gm)];
	assert.deepEqual(all.filter(([, method, path]) => !document.paths[path]?.[method.toLowerCase()]).map(([, , path, access]) => [path, access]), [['/v1/audit', 'node']], 'only nodes have another one');
	for (const path of ['/v1/stop', '/v1/tokens', '/v1/shutdown', '/v1/sessions/x', '/verify']) assert.notEqual((await ask({ method: 'POST', path })).status, 200, path);
});

test('what the contract does not declare is found', () => {
	const good = { method: 'POST', path: '/v1/create_session', status: 200, type: 'application/json', text: '{"sessionId":"sess_1","threadId":"thread_1","status":"created","sequence":1}' };
	const refusal = (code) => JSON.stringify({ error: { code, message: 'm', retryable: false, next: 'n' } });
	const found = (change) => assert.throws(() => checkAnswer({ ...good, ...change }), Error, JSON.stringify(change));
	found({ status: 201 });
	found({ type: 'text/html' });
	found({ text: '{"sessionId":7}' });
	found({ path: '/v1/submit_turn', status: 200 });
	found({ status: 404, text: refusal('job_not_found') });
	found({ status: 409, text: '{"error":"no"}' });
	found({ path: '/v1/nothing', status: 200 });
	found({ method: 'GET', path: '/openapi.json', status: 304, text: 'x' });
	checkAnswer({ ...good, path: '/v1/nothing', status: 404, text: refusal('not_found') });
	checkAnswer({ ...good, path: '/v1/get_task', status: 404, text: refusal('task_not_found') });
});
