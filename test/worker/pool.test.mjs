// A workspace in a pool: workers with the same files. A call goes to one that is connected and takes calls, a command stays with the worker that began it, and nothing runs twice.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ok, refused, sleep, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must, SCOPES } from '../tenant/tenants.mjs';
import { again, privateFolder, startWorker, stateOf } from './worker.mjs';

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const shared = privateFolder();
let w, a, b, claimer, foreign, workspace;

const start = (name, labels, args = []) => startWorker(w.rt, { name, args: ['--workspaces', shared, ...args], create: (input) => ok(w.rt, 'create_worker', { ...input, labels }, { via: 'socket' }) });
const begun = (worker) => (existsSync(join(worker.dir, 'state/begun')) ? readFileSync(join(worker.dir, 'state/begun'), 'utf8').split('\n').filter((line) => line.startsWith('t:')).length : 0);
const submit = (name, args) => ok(w.rt, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call(name, args) });
const facts = (turn) => factsOf(w.rt, undefined, turn.sessionId);
const fact = (turn, type) => waitFor(async () => (await facts(turn)).find((f) => f.type === type), () => type);
const drain = (worker, draining) => ok(w.rt, 'update_worker', { workerId: worker.workerId, draining });

async function completes(turn) {
	const end = await waitFor(async () => (await facts(turn)).find((f) => f.turnId === turn.turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn', 30000);
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));
	return facts(turn);
}

async function writes(path) {
	await completes(await submit('write_file', { path, content: 'here\n' }));
	assert.equal(readFileSync(join(workspace.root, path), 'utf8'), 'here\n');
}

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': privateFolder(), 'workspaces.checkpoints': 0, 'workers.heartbeat_ms': 200, 'workers.lease_ms': 2000 } });
});

test('a pool without a worker makes no workspace; neither does a worker that only names itself, nor one of another tenant', async () => {
	await refused(w.rt, 'worker_unavailable', 'create_workspace', { pool: 'build' });
	const { token } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: SCOPES });
	foreign = await startWorker(w.rt, { name: 'foreign', args: ['--workspaces', shared], create: (input) => must(w.rt, token, 'create_worker', { ...input, labels: { pool: 'build' } }) });
	await waitFor(async () => (await must(w.rt, token, 'get_worker', { workerId: foreign.workerId })).live.state === 'connected', 'the worker of another tenant');
	claimer = await start('claimer', undefined, ['--label', 'pool=build']);
	await stateOf(w.rt, claimer.workerId, 'connected');
	await refused(w.rt, 'worker_unavailable', 'create_workspace', { pool: 'build' });
	for (const pool of ['', 'wk_x', 'a b', 'x'.repeat(64) + 'y', '../x']) await refused(w.rt, 'invalid_input', 'create_workspace', { pool });
	await refused(w.rt, 'invalid_input', 'create_workspace', { pool: 'build', worker: claimer.workerId });
	await refused(w.rt, 'invalid_input', 'create_workspace', { pool: 'build', root: '/tmp' });
});

test('calls go to the workers of the pool, and to no other', async () => {
	a = await start('a', { pool: 'build' });
	b = await start('b', { pool: 'build' });
	({ workspace } = await waitFor(() => ok(w.rt, 'create_workspace', { pool: 'build' }).catch(() => false), 'a workspace'));
	assert.equal(workspace.pool, 'build');
	assert.equal(workspace.worker, undefined);
	assert.ok(workspace.root.startsWith(`${shared}/`), workspace.root);
	await refused(w.rt, 'isolation_unsupported', 'create_session', { workspaceId: workspace.workspaceId, isolation: 'copy' });
	await refused(w.rt, 'isolation_unsupported', 'create_workspace', { pool: 'build', isolation: 'copy' });
	for (let i = 0; i < 4; i++) await writes(`f${i}`);
	assert.ok(begun(a) + begun(b) >= 4, `${begun(a)} ${begun(b)}`);
	for (const other of [claimer, foreign]) assert.equal(begun(other), 0);
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
	assert.ok((await ok(w.rt, 'get_execution_environment', { sessionId })).sandbox.profiles.some((p) => p.isAvailable));
});

test('a drained worker gets none; when the only other one is gone, calls wait for the pool', async () => {
	await drain(a, true);
	const before = begun(a);
	await writes('drained');
	assert.equal(begun(a), before);
	await b.end('SIGTERM');
	await stateOf(w.rt, b.workerId, 'away');
	const turn = await submit('write_file', { path: 'waited', content: 'here\n' });
	const waiting = await fact(turn, 'task.waiting');
	assert.match(waiting.payload.statusReason, /no worker of pool build is connected and takes calls/);
	assert.equal(begun(claimer), 0);
	b = await again(b, w.rt.url, ['--workspaces', shared]);
	await completes(turn);
	assert.equal(begun(a), before);
	await drain(a, false);
});

test('a command stays with its worker: it is found there again, while new calls go to the other one', async () => {
	await drain(b, true);
	const turn = await submit('shell', { command: 'echo began >> ran; while [ ! -e go-on ]; do sleep 0.05; done; echo over' });
	await waitFor(() => existsSync(join(workspace.root, 'ran')), 'the command');
	await drain(b, false);
	await a.end('SIGKILL');
	await stateOf(w.rt, a.workerId, 'lost');
	await writes('meanwhile');
	a = await again(a, w.rt.url, ['--workspaces', shared]);
	await stateOf(w.rt, a.workerId, 'connected');
	writeFileSync(join(workspace.root, 'go-on'), '');
	const found = await completes(turn);
	assert.equal(found.filter((f) => f.type === 'process.started').length, 1);
	assert.equal(readFileSync(join(workspace.root, 'ran'), 'utf8'), 'began\n');
	const text = JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
	assert.ok(text.includes('over'), text);
});

test('a call that was sent to a worker which is lost does not run on another one', async () => {
	await writes('file');
	await drain(b, true);
	const before = begun(b);
	a.child.kill('SIGSTOP');
	const turn = await submit('edit_file', { path: 'file', oldText: 'here', newText: 'there' });
	await fact(turn, 'tool.started');
	await drain(b, false);
	a.child.kill('SIGKILL');
	const found = await completes(turn);
	assert.equal(found.filter((f) => f.type === 'tool.started').length, 1);
	const text = JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
	assert.match(text, /may have taken effect/);
	await sleep(300);
	assert.equal(begun(b), before);
	assert.equal(readFileSync(join(workspace.root, 'file'), 'utf8'), 'here\n');
});
