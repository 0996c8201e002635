// A workspace on a worker: files, commands, checkpoints and what its files bring are there, and nothing of it is on the daemon's machine. The same calls as here, over a link.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, sleep, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';
import { again, startRelay, startWorker, stateOf } from './worker.mjs';

const isRoot = process.getuid() === 0;
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, one, workspace, dir, relay;

const ended = (rt, { sessionId, turnId }) => waitFor(async () => (await factsOf(rt, undefined, sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');

async function run(where, name, args) {
	const turn = await must(w.rt, undefined, 'submit_turn', { ...(where.sessionId ? { sessionId: where.sessionId } : { createPolicy: { workspaceId: where.workspaceId } }), text: call(name, args) });
	await ended(w.rt, turn);
	return { ...turn, text: JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool')) };
}

before(async () => {
	dir = realpathSync(newFolder());
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': dir } });
	relay = await startRelay(w.rt.port);
	one = await startWorker(w.rt, { url: relay.url });
	({ workspace } = await ok(w.rt, 'create_workspace', { name: 'far', worker: one.workerId }));
});

test('the folder of the workspace is made by the worker, below its directory', () => {
	assert.equal(workspace.worker, one.workerId);
	assert.ok(workspace.root.startsWith(join(realpathSync(one.dir), 'workspaces/')), workspace.root);
	assert.ok(existsSync(workspace.root));
	assert.deepEqual(readdirSync(dir), [], 'nothing here');
});

test('file tools and commands work there', async () => {
	const wrote = await run(workspace, 'write_file', { path: 'note.txt', content: 'written far away\n' });
	assert.equal(readFileSync(join(workspace.root, 'note.txt'), 'utf8'), 'written far away\n');
	const read = await run(wrote, 'read_file', { path: 'note.txt' });
	assert.ok(read.text.includes('written far away'), read.text);
	const shell = await run(wrote, 'shell', { command: 'pwd; cat note.txt; echo made > made.txt; head -c 100000 /dev/zero | tr "\\\\0" x | wc -c' });
	assert.ok(shell.text.includes(workspace.root) && shell.text.includes('written far away') && shell.text.includes('100000'), shell.text);
	assert.equal(readFileSync(join(workspace.root, 'made.txt'), 'utf8'), 'made\n');
	const failed = await run(wrote, 'shell', { command: 'exit 7' });
	assert.ok(failed.text.includes('7'), failed.text);
	const [, bound] = await factsOf(w.rt, undefined, wrote.sessionId);
	assert.equal(bound.payload.binding.worker, one.workerId);
});

test('commands there get the environment of the workspace; secrets of the settings do not reach a worker', async () => {
	const { workspace: far } = await ok(w.rt, 'create_workspace', { name: 'with variables', worker: one.workerId, environment: [{ name: 'STAGE', value: 'far away' }] });
	assert.ok((await run(far, 'shell', { command: 'echo "<$STAGE>"' })).text.includes('<far away>'));
	const { status, body } = await ask(w.rt, undefined, 'update_workspace', { workspaceId: far.workspaceId, environment: [{ name: 'KEY', secret: 'DEPLOY' }] });
	assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
	assert.match(body.error.message, /do not reach a worker/);
});

test('a command in the sandbox of the worker sees neither its token nor other workspaces', async () => {
	const { workspace: other } = await ok(w.rt, 'create_workspace', { name: 'other', worker: one.workerId });
	writeFileSync(join(other.root, 'secret.txt'), 'of the other');
	if (isRoot) execFileSync('chown', [`--reference=${other.root}`, join(other.root, 'secret.txt')]);
	const seen = await run(workspace, 'shell', { command: `cat ${one.dir}/state/worker.json ${other.root}/secret.txt; ls ${one.dir}/state; echo over` });
	assert.ok(seen.text.includes('over') && !seen.text.includes('art_') && !seen.text.includes('of the other') && !seen.text.includes('begun'), seen.text);
	const file = await run(workspace, 'read_file', { path: `${one.dir}/state/worker.json` });
	assert.ok(!file.text.includes('art_'), file.text);
});

test('checkpoints of it are kept by the worker', async () => {
	const made = await run(workspace, 'shell', { command: 'echo one > kept.txt' });
	const saved = await waitFor(async () => (await factsOf(w.rt, undefined, made.sessionId)).find((f) => f.type === 'checkpoint.created' && f.payload.phase === 'end'), 'the checkpoint at the end');
	assert.ok(saved.payload.files >= 1, JSON.stringify(saved.payload));
	assert.ok(existsSync(join(workspace.root, '../checkpoints')));
	assert.deepEqual(readdirSync(dir), []);
});

test('a command goes on while the link is cut, the worker starts again, and the daemon starts again', async () => {
	const turn = await must(w.rt, undefined, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call('shell', { command: 'for i in 1 2 3 4 5 6 7 8 9; do echo line $i; while [ ! -e go ]; do sleep 0.05; done; done; echo at the end' }) });
	await waitFor(async () => (await factsOf(w.rt, undefined, turn.sessionId)).find((f) => f.type === 'process.started'), 'the process');
	const before = one.stderr.split('"joined"').length;
	relay.cut();
	await waitFor(() => one.stderr.split('"joined"').length > before, () => one.stderr);
	assert.deepEqual(await one.end('SIGKILL'), { code: null, signal: 'SIGKILL' });
	one = await again(one, relay.url);
	await w.rt.kill9();
	w.rt = await w.again();
	relay.port = w.rt.port;
	await stateOf(w.rt, one.workerId, 'connected');
	writeFileSync(join(workspace.root, 'go'), '');
	const end = await ended(w.rt, turn);
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));
	const text = JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
	for (const line of ['line 1', 'line 5', 'line 9', 'at the end']) assert.equal(text.split(line).length, 2, `${line}: ${text}`);
});

test('SIGTERM leaves a command running, whose output and end the next start brings', async () => {
	const turn = await must(w.rt, undefined, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call('shell', { command: 'echo began > began; while [ ! -e over ]; do sleep 0.05; done; echo done at last' }) });
	await waitFor(() => existsSync(join(workspace.root, 'began')), 'the command');
	assert.deepEqual(await one.end('SIGTERM'), { code: 0, signal: null });
	assert.ok(!(await factsOf(w.rt, undefined, turn.sessionId)).some((f) => /^turn\.(completed|failed)$/.test(f.type)));
	await sleep(100);
	writeFileSync(join(workspace.root, 'over'), '');
	one = await again(one, relay.url);
	const end = await ended(w.rt, turn);
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));
	assert.ok(JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages).includes('done at last'));
});

test('a call waits for a worker that is away, visibly, and begins when it is back', async () => {
	await one.end('SIGTERM');
	await stateOf(w.rt, one.workerId, 'away');
	const turn = await must(w.rt, undefined, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call('write_file', { path: 'late.txt', content: 'late' }) });
	await waitFor(async () => (await factsOf(w.rt, undefined, turn.sessionId)).some((f) => f.type === 'task.waiting'), 'the wait');
	assert.ok(!existsSync(join(workspace.root, 'late.txt')));
	one = await again(one, relay.url);
	assert.equal((await ended(w.rt, turn)).type, 'turn.completed');
	assert.equal(readFileSync(join(workspace.root, 'late.txt'), 'utf8'), 'late');
});
