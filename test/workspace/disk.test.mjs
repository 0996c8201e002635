// The space of a workspace: measured when a turn starts to change files, whatever checkpoints leave out; over the limit nothing is written any more, and reading still works.
import assert from 'node:assert/strict';
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, startAgentd, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';

const LIMIT = 1 << 20, OF_ACME = 300 << 10;
const who = {};
let w;

const ended = (tenant, { sessionId, turnId }) => waitFor(async () => (await factsOf(w.rt, who[tenant], sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');

async function place(tenant) {
	const { workspace } = await must(w.rt, who[tenant], 'create_workspace', {});
	const { sessionId } = await must(w.rt, who[tenant], 'create_session', { workspaceId: workspace.workspaceId });
	return { tenant, sessionId, root: workspace.root };
}

/** One call in a turn of its own: what the model read of it, and its facts. */
async function run({ tenant, sessionId }, name, args) {
	const turn = await must(w.rt, who[tenant], 'submit_turn', { sessionId, text: `[[tool ${name} ${JSON.stringify(args)}]]` });
	await ended(tenant, turn);
	const facts = (await factsOf(w.rt, who[tenant], sessionId)).filter((f) => f.turnId === turn.turnId);
	return { facts, read: JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool').at(-1)) };
}

const shell = (where, command) => run(where, 'shell', { command });
const usedOf = ({ facts }) => facts.find((f) => /^checkpoint\.(created|failed)$/.test(f.type) && f.payload.phase === 'start')?.payload.usedBytes;

function assertRefused({ facts, read }, limit) {
	const [, used, most] = /the files of the workspace take (\d+) bytes, which is more than the (\d+) that it may have.*measured.*agentctl undo/.exec(read) ?? assert.fail(read);
	assert.deepEqual([Number(used) > limit, Number(most)], [true, limit]);
	assert.equal(facts.find((f) => f.type === 'tool.failed').payload.errorCategory, 'disk_quota_exceeded');
	assert.ok(!facts.some((f) => f.type === 'process.started'));
	assert.equal(usedOf({ facts }), Number(used));
}

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()), 'workspaces.bytes': LIMIT, tenants: [{ name: 'acme', workspace_bytes: OF_ACME }, { name: 'wide', workspace_bytes: 10 * LIMIT }] } });
	for (const name of ['acme', 'zeta', 'wide']) ({ token: who[name] } = await ok(w.rt, 'create_token', { tenant: name, name, scopes: ['admin'] }));
});

test('over the limit calls that may write are refused with the figures, reads work, and what is freed makes room', async () => {
	const here = await place('zeta'), beside = await place('zeta');
	assert.match((await shell(here, 'head -c 600000 /dev/urandom > data; echo kept > note; echo done')).read, /done/);
	const below = await shell(here, 'head -c 900000 /dev/urandom > more; echo done');
	assert.match(below.read, /done/);
	assert.ok(usedOf(below) >= 600000 && usedOf(below) < LIMIT, `${usedOf(below)}`);

	assertRefused(await shell(here, 'touch not-made'), LIMIT);
	assertRefused(await run(here, 'write_file', { path: 'not-made', content: 'x' }), LIMIT);
	assert.match((await run(here, 'read_file', { path: 'note' })).read, /kept/);
	assert.match((await shell(beside, 'echo works > x; cat x')).read, /works/);
	await w.rt.kill9();
	w.rt = await w.again();
	assertRefused(await shell(here, 'touch not-made'), LIMIT);
	assert.ok(!existsSync(join(here.root, 'not-made')));

	rmSync(join(here.root, 'more'));
	assert.match((await shell(here, 'echo works > x; cat x')).read, /works/);
});

test('what checkpoints leave out is measured: repositories, large files; a file with holes takes what it has on the disk', async () => {
	const hidden = await place('zeta');
	await shell(hidden, 'mkdir -p sub/.git; head -c 2000000 /dev/urandom > sub/.git/pack; truncate -s 8G hole');
	assertRefused(await shell(hidden, 'touch not-made'), LIMIT);
	rmSync(join(hidden.root, 'sub'), { recursive: true });
	assert.match((await shell(hidden, 'echo works')).read, /works/);
});

test('many names for one file count it once, and a link to something outside counts nothing of that', async () => {
	const here = await place('zeta');
	await shell(here, 'head -c 500000 /dev/urandom > a; for i in 1 2 3 4; do ln a b$i; done; ln -s /usr out');
	const next = await shell(here, 'echo works');
	assert.match(next.read, /works/);
	assert.ok(usedOf(next) >= 490000 && usedOf(next) < 600000, `${usedOf(next)}`);
});

test('the smaller of both limits counts, for each workspace of the tenant', async () => {
	const acme = await place('acme'), wide = await place('wide');
	for (const where of [acme, wide]) await shell(where, 'head -c 400000 /dev/urandom > data');
	assertRefused(await shell(acme, 'true'), OF_ACME);
	const limitOf = async (name) => (await must(w.rt, who[name], 'get_quota', {})).quotas.find((q) => q.quota === 'workspace_bytes').limit;
	assert.deepEqual([await limitOf('acme'), await limitOf('wide'), await limitOf('zeta')], [OF_ACME, LIMIT, LIMIT]);
	assert.match((await shell(wide, 'head -c 900000 /dev/urandom > more; echo works')).read, /works/);
	assertRefused(await shell(wide, 'true'), LIMIT);
	assert.match((await shell(await place('acme'), 'echo works')).read, /works/);
});

test('a restore is possible, and brings the workspace below the limit', async () => {
	const here = await place('zeta');
	const { facts } = await shell(here, 'head -c 1500000 /dev/urandom > data');
	assertRefused(await shell(here, 'true'), LIMIT);
	const { checkpointId } = facts.find((f) => f.type === 'checkpoint.created' && f.payload.phase === 'start').payload;
	const restoring = await must(w.rt, who.zeta, 'restore_checkpoint', { sessionId: here.sessionId, checkpointId });
	await waitFor(async () => (await factsOf(w.rt, who.zeta, here.sessionId)).find((f) => f.type === 'checkpoint.restored' && f.payload.checkpointId === restoring.checkpointId), 'the restore');
	assert.match((await shell(here, 'echo works')).read, /works/);
});

test('without a limit nothing is measured; a limit without checkpoints is refused at the start', async () => {
	const { rt } = w;
	w.rt = await startAgentd({ model: w.model, config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) } });
	const { workspace } = await ok(w.rt, 'create_workspace', {});
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
	assert.equal(usedOf(await shell({ sessionId }, 'echo x > x')), undefined);
	await w.rt.stop();
	w.rt = rt;
	const dead = await startAgentd({ model: w.model, mayDie: true, config: { 'workspaces.bytes': 1000, 'workspaces.checkpoints': 0 } });
	assert.match(dead.stderr, /workspaces\.bytes.*checkpoints/);
});
