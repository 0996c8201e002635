// How agentd ends and reloads: SIGTERM lets calls under way end within shutdown.grace_ms and begins nothing new, a second one ends at once, SIGHUP never ends it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, call, follow, newFolder, ok, request, startAgentd, startModel, submit, waitFor, within } from '../lib/runtime.mjs';

let model;
before(async () => {
	model = await startModel();
});

const lines = (rt) => rt.stderr.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
const said = (rt, message, count = 1) => waitFor(() => lines(rt).filter((l) => l.message === message)[count - 1], () => `'${message}'; there is ${rt.stderr}`);

/** A model server that holds every call until it is let through to the scripted one. */
async function startHeldModel() {
	const held = [];
	const server = http.createServer((req, res) => {
		held.push(() => req.pipe(http.request(model.origin + req.url, { method: req.method, headers: { ...req.headers, host: new URL(model.origin).host } },
			(answer) => (res.writeHead(answer.statusCode, answer.headers), answer.pipe(res)))));
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	after(() => (server.closeAllConnections(), server.close()));
	return { held, url: `http://127.0.0.1:${server.address().port}/v1`, call: (n = 1) => waitFor(() => held[n - 1], `model call ${n}`) };
}

const start = (options, graceMs) => startAgentd({ ...options, env: { AGENTD_SHUTDOWN_GRACE_MS: graceMs } });
const term = (rt) => process.kill(rt.pid, 'SIGTERM');

async function outcome(dataDir, sessionId, turnId) {
	const rt = await startAgentd({ dataDir, model });
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	const types = ['turn.completed', 'model.requested', 'model.completed', 'model.failed'].map((type) => follower.of(type).length);
	follower.stop();
	await rt.stop();
	return types;
}

test('a model call under way ends, is recorded, and is not paid for twice', async () => {
	const held = await startHeldModel();
	const dataDir = newFolder();
	const rt = await start({ dataDir, model: held }, '1h');
	const { sessionId, turnId } = await submit(rt, '[[say all of it]]');
	const release = await held.call();
	const follower = await follow(rt, sessionId);
	term(rt);
	await said(rt, 'draining');
	release();
	await follower.ended(turnId); // a client that watches sees the end, too
	follower.stop();
	assert.deepEqual(await rt.gone, { code: 0, signal: null });
	assert.equal(held.held.length, 1);
	assert.deepEqual(await outcome(dataDir, sessionId, turnId), [1, 1, 1, 0]);
});

test('while it drains: no work is begun, work can be ended, reads are answered', async () => {
	const held = await startHeldModel();
	const rt = await start({ model: held }, '1h');
	const { sessionId, turnId } = await submit(rt, 'hello');
	await held.call();
	term(rt);
	await said(rt, 'draining');
	const refused = await call(rt, 'submit_turn', { createPolicy: {}, text: 'more' });
	assert.deepEqual([refused.status, refused.body.error.code, refused.body.error.retryable], [503, 'overloaded', true]);
	assert.match(refused.body.error.message, /the server is stopping/);
	assert.equal((await request(rt, { method: 'GET', path: '/ready' })).status, 503);
	assert.equal((await ok(rt, 'get_session', { sessionId })).sessionId, sessionId);
	await ok(rt, 'interrupt_turn', { sessionId, turnId, reason: 'the operator wants to go home' });
	assert.deepEqual(await rt.gone, { code: 0, signal: null });
	assert.equal(held.held.length, 1);
});

test('a call that wants another one after it: the rest is left for the next start', async () => {
	const held = await startHeldModel();
	const dataDir = newFolder();
	const rt = await start({ dataDir, model: held }, '1h');
	const { sessionId, turnId } = await submit(rt, '[[fail-times 1 http 500]] hello');
	const release = await held.call();
	term(rt);
	await said(rt, 'draining');
	release();
	assert.deepEqual(await rt.gone, { code: 0, signal: null });
	assert.equal(held.held.length, 1, 'a second attempt was begun while it drained');
	assert.equal((await outcome(dataDir, sessionId, turnId))[0], 1);
});

test('a model that takes longer than the grace is left for the next start', async () => {
	const held = await startHeldModel();
	const dataDir = newFolder();
	const rt = await start({ dataDir, model: held }, '200ms');
	const { sessionId, turnId } = await submit(rt, 'hello');
	await held.call();
	await rt.stop(20000); // the model never answers
	const [completed, , , failed] = await outcome(dataDir, sessionId, turnId);
	assert.deepEqual([completed, failed], [1, 1]);
});

test('a second SIGTERM ends it at once', async () => {
	const held = await startHeldModel();
	const rt = await start({ model: held }, '1h');
	await submit(rt, 'hello');
	await held.call();
	term(rt);
	await said(rt, 'draining');
	term(rt);
	assert.deepEqual(await within(rt.gone, 20000), { code: 0, signal: null });
});

test('agentctl stop waits as long as the daemon may take, and says so', async () => {
	const held = await startHeldModel();
	const rt = await start({ model: held }, '1h');
	await submit(rt, '[[say the end]]');
	const release = await held.call();
	const child = spawn(join(bin, 'agentctl'), ['--data-dir', join(rt.dataDir, 'data'), 'stop'], { stdio: ['ignore', 'pipe', 'pipe'] });
	const told = { out: '', err: '' };
	child.stdout.on('data', (piece) => (told.out += piece));
	child.stderr.on('data', (piece) => (told.err += piece));
	const ended = new Promise((done) => child.on('close', done));
	await waitFor(() => /waiting up to 3630 s/.test(told.err), () => `its patience; there is ${told.err}`);
	release();
	assert.equal(await ended, 0, told.err);
	assert.match(told.out, new RegExp(`stopped agentd, process ${rt.pid}`));
	assert.deepEqual(await rt.gone, { code: 0, signal: null });
});

test('without calls under way it ends whatever the grace is', async () => {
	const rt = await start({ model }, '1h');
	const { sessionId, turnId } = await submit(rt, 'hello');
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	follower.stop();
	await rt.stop(20000);
});

test('SIGHUP does not end a daemon without TLS; it says what changed and what is wrong', async () => {
	const dataDir = newFolder();
	const rt = await startAgentd({ dataDir, model, config: { 'model.name': 'small' } });
	const file = join(dataDir, 'agentd.yaml');
	const hup = () => process.kill(rt.pid, 'SIGHUP');
	hup();
	await said(rt, 'the settings have not changed');
	writeFileSync(file, 'model: { name: large }\nhooks:\n  - {name: a, point: stop, command: /bin/true}\n');
	hup();
	assert.equal((await said(rt, 'these settings have changed; restart agentd to apply them')).detail, 'model.name, hooks');
	writeFileSync(file, 'model: { name: large }\nauth: { required: flase }\n');
	hup();
	assert.match((await said(rt, 'the settings are wrong now; those in force stay')).detail, /agentd\.yaml:2: auth\.required: 'flase' is not a boolean/);
	const { sessionId, turnId } = await submit(rt, 'hello');
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	assert.equal(follower.of('model.requested')[0].payload.model, 'small');
	follower.stop();
	await rt.stop();
});
