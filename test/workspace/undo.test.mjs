// What people do with checkpoints: the read models show them, agentctl compares and undoes a turn, and nothing is restored while one runs.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { bin, newFolder, ok, refused, waitFor, world } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const needsRoots = { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' };
let w, root, sessionId;

before(async () => {
	if (needsRoots.skip) return;
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) } });
	root = realpathSync(newFolder());
	for (const name of ['a.txt', 'b.txt']) writeFileSync(join(root, name), `${name} as it was\n`);
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	({ sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId }));
});

const facts = () => factsOf(w.rt, undefined, sessionId);
const files = () => Object.fromEntries(readdirSync(root).filter((n) => /txt$/.test(n)).sort().map((n) => [n, readFileSync(join(root, n), 'utf8')]));
const fact = (find, what) => waitFor(async () => (await facts()).find(find), what);

/** A turn to its end, and to the end of its checkpoints if it makes any. */
async function run(name, args) {
	const { turnId } = await must(w.rt, undefined, 'submit_turn', { sessionId, text: call(name, args) });
	await fact((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type), 'the end of the turn');
	const began = (await facts()).filter((f) => f.turnId === turnId && f.type === 'checkpoint.started');
	const made = [];
	for (const { payload } of began) made.push(await fact((f) => /^checkpoint\.(created|failed)$/.test(f.type) && f.payload.checkpointId === payload.checkpointId, 'the checkpoint'));
	return { turnId, made };
}

async function restore(input) {
	const { checkpointId } = await ok(w.rt, 'restore_checkpoint', { sessionId, ...input });
	return fact((f) => /^checkpoint\.(restored|failed)$/.test(f.type) && f.payload.checkpointId === checkpointId, 'the restore');
}

const SPOIL = 'rm a.txt; echo spoilt > b.txt; echo new > c.txt';
const BEFORE = { 'a.txt': 'a.txt as it was\n', 'b.txt': 'b.txt as it was\n' };

test('they survive a restart, and are in the read model of the thread', needsRoots, async () => {
	const { turnId, made } = await run('shell', { command: SPOIL });
	await w.rt.kill9();
	w.rt = await w.again();
	const session = await ok(w.rt, 'get_session', { sessionId });
	validateSnapshot(session);
	const summary = session.threads[0].checkpointSummary;
	assert.deepEqual(summary.checkpoints.filter((c) => c.turnId === turnId).map((c) => [c.phase, c.status]), [['end', 'available'], ['start', 'available']]);
	assert.equal(summary.checkpoints.find((c) => c.turnId === turnId && c.phase === 'start').tree, made[0].payload.tree);
	assert.equal((await restore({ turnId })).type, 'checkpoint.restored');
	assert.deepEqual(files(), BEFORE);
});

test('agentctl undoes the turn and shows what it changed', needsRoots, async () => {
	const ctl = (...args) => promisify(execFile)(join(bin, 'agentctl'), ['--url', w.rt.url ?? `http://127.0.0.1:${w.rt.port}`, ...args]);
	const { turnId } = await run('shell', { command: SPOIL });
	const { stdout: names } = await ctl('diff', '--names', turnId);
	assert.equal(names, 'D  a.txt\nM  b.txt\nA  c.txt\n');
	const { stdout } = await ctl('undo', turnId);
	assert.equal(stdout, '3 files restored\n');
	assert.deepEqual(files(), BEFORE);
});

test('nothing is restored while a turn runs, or that there is not', needsRoots, async () => {
	await refused(w.rt, 'checkpoint_not_found', 'restore_checkpoint', { sessionId, turnId: 'nothing' });
	await refused(w.rt, 'checkpoint_not_found', 'diff_checkpoints', { sessionId, from: 'nothing' });
	const { turnId } = await must(w.rt, undefined, 'submit_turn', { sessionId, text: call('shell', { command: 'while [ ! -e go.txt ]; do sleep 0.05; done; rm go.txt' }) });
	const made = await fact((f) => f.turnId === turnId && f.type === 'checkpoint.created', 'its checkpoint');
	await refused(w.rt, 'active_turn', 'restore_checkpoint', { sessionId, checkpointId: made.payload.checkpointId });
	writeFileSync(join(root, 'go'), '');
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', join(root, 'go')]); // a file of root's could not be removed in the sandbox
	renameSync(join(root, 'go'), join(root, 'go.txt'));
	await fact((f) => f.turnId === turnId && f.type === 'turn.completed', 'the end of the turn');
	assert.ok(!existsSync(join(root, 'go.txt')));
});
