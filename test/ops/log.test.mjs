// Lines of the log about requests: which ones, what they say, what they never say; and the id that client and log share.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { follow, ok, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

let model;
before(async () => {
	model = await startModel();
});

const start = (config) => startAgentd({ model, config: { 'model.max_attempts': 1, ...config } });
const entries = (rt) => rt.stderr.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).filter((e) => e.message === 'request');
const entry = (rt, find) => waitFor(() => entries(rt).find(find), () => `the line; there is ${rt.stderr}`, 3000);

test('by default errors leave a line, and successes none', async () => {
	const rt = await start();
	await ok(rt, 'list_sessions', {});
	const { status, headers } = await request(rt, { path: '/v1/get_session', body: '{"sessionId":"sess_00000000000000000000000000"}' });
	const e = await entry(rt, (x) => x.command === 'get_session');
	assert.deepEqual([e.status, e.code, e.sessionId, e.method, e.path, e.via, e.level],
		[status, 'session_not_found', 'sess_00000000000000000000000000', 'POST', '/v1/get_session', 'tcp', 'info']);
	assert.equal(e.requestId, headers['x-request-id']);
	assert.match(e.requestId, /^req_[0-9a-z]{26}$/);
	assert.ok(e.durationMs > 0 && e.durationMs < 5000 && e.bytes > 0);
	assert.ok(!entries(rt).some((x) => x.command === 'list_sessions'));
});

test('all: a turn is found by the id that its client chose, with session and turn', async () => {
	const rt = await start({ 'log.requests': 'all' });
	const body = JSON.stringify({ createPolicy: {}, text: 'a secret of the user' });
	const { headers, text } = await request(rt, { path: '/v1/submit_turn', body, via: 'socket', headers: { 'X-Request-Id': 'mine-42.a_b:c' } });
	assert.equal(headers['x-request-id'], 'mine-42.a_b:c');
	const { sessionId, turnId } = JSON.parse(text);
	const e = await entry(rt, (x) => x.requestId === 'mine-42.a_b:c');
	assert.deepEqual([e.command, e.status, e.sessionId, e.turnId, e.via], ['submit_turn', 202, sessionId, turnId, 'unix']);
	const follower = await follow(rt, sessionId);
	follower.stop();
	assert.equal((await entry(rt, (x) => x.command === 'subscribe_events')).status, 200);
	await request(rt, { method: 'GET', path: '/v1/sessions?status=idle&cursor=hidden' });
	assert.equal((await entry(rt, (x) => x.command === 'list_sessions')).path, '/v1/sessions');
	assert.ok(!rt.stderr.includes('secret of the user') && !rt.stderr.includes('hidden'), 'content in the log');
});

test('a success says no id unless one was sent; an id that is not a plain word is replaced', async () => {
	const rt = await start({ 'log.requests': 'off' });
	assert.equal((await request(rt, { path: '/v1/list_sessions', body: '{}' })).headers['x-request-id'], undefined);
	for (const bad of ['a b', '"quoted"', 'x'.repeat(65), 'semi;colon'])
		assert.equal((await request(rt, { path: '/v1/list_sessions', body: '{}', headers: { 'X-Request-Id': bad } })).headers['x-request-id'], undefined, bad);
	const { status, headers } = await request(rt, { method: 'GET', path: '/nowhere', headers: { 'X-Request-Id': 'a b' } });
	assert.equal(status, 404);
	assert.match(headers['x-request-id'], /^req_/);
	assert.deepEqual(entries(rt), []);
});

test('log.level leaves out what is less grave', async () => {
	const rt = await start({ 'log.requests': 'all', 'log.level': 'error' });
	await request(rt, { method: 'GET', path: '/nowhere' });
	await ok(rt, 'list_sessions', {});
	const levels = () => rt.stderr.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).level);
	process.kill(rt.pid, 'SIGHUP'); // "the settings have not changed" is information
	await ok(rt, 'list_sessions', {});
	writeFileSync(join(rt.dataDir, 'agentd.yaml'), 'log: { level: loud }\n');
	process.kill(rt.pid, 'SIGHUP');
	await waitFor(() => levels().length > 0, 'a line about the mistake');
	assert.deepEqual([...new Set(levels())], ['error'], rt.stderr);
});

test('a flood of refused requests is counted, not written', async () => {
	const rt = await start();
	for (let i = 0; i < 12; i++) await Promise.all(Array.from({ length: 100 }, () => request(rt, { method: 'GET', path: '/nowhere' })));
	const lines = entries(rt).length;
	assert.ok(lines >= 50 && lines <= 1000, `${lines} lines of 1200`);
	await waitFor(async () => {
		await request(rt, { method: 'GET', path: '/last' });
		return entries(rt).some((e) => e.leftOut > 0);
	}, 'how many were left out', 4000);
});

test('what was broken on the way in has a line too', async () => {
	const rt = await start();
	await request(rt, { path: '/v1/list_sessions', body: '{}', headers: { 'content-type': 'text/plain' } });
	const e = await entry(rt, (x) => x.status === 415);
	assert.equal(e.code, 'unsupported_media_type');
	assert.equal((await submit(rt, 'it works on')).status !== undefined, true);
});
