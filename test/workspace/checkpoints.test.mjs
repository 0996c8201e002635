// Checkpoints over the wire: what a turn did to the files of its workspace, also by commands, is restored byte for byte; nobody but the runtime reaches the store.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { factsOf } from '../tenant/tenants.mjs';

const isRoot = process.getuid() === 0;
const isCluster = Boolean(process.env.AR_TEST_POSTGRES); // whose nodes do not have each other's folders
const needsRoots = { skip: isCluster && 'no root is named on a cluster' };
const FILES = 1000;
let w, dir;

/** Every file below, with its bytes, its x bit or its target; as one hash. */
function hashOf(root) {
	const hash = createHash('sha256');
	const walk = (path) => {
		for (const name of readdirSync(join(root, path)).sort()) {
			const at = join(path, name), st = lstatSync(join(root, at));
			if (st.isDirectory()) walk(at);
			else hash.update(`${at}\0${st.isSymbolicLink() ? `-> ${readlinkSync(join(root, at))}` : `${st.mode & 0o111 ? 'x' : '-'} ${createHash('sha256').update(readFileSync(join(root, at))).digest('hex')}`}\n`);
		}
	};
	walk('.');
	return hash.digest('hex');
}

function folderWith(count) {
	const root = realpathSync(newFolder());
	for (let i = 0; i < count; i++) {
		const folder = join(root, `d${i % 20}`);
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, `file ${i}.txt`), `text ${i}\n`.repeat(1 + (i % 7)), { mode: i % 10 ? 0o644 : 0o755 });
	}
	symlinkSync('d0/file 0.txt', join(root, 'link'));
	if (isRoot) execFileSync('chown', ['-h', '-R', '1000:1000', root]);
	return root;
}

async function session(root) {
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	return { workspace, ...(await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId })) };
}

const facts = (sessionId, type) => factsOf(w.rt, undefined, sessionId).then((all) => all.filter((f) => !type || f.type === type));

async function run(sessionId, name, args) {
	const { turnId } = await submit(w.rt, `[[tool ${name} ${JSON.stringify(args)}]]`, { sessionId });
	await waitFor(async () => (await facts(sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');
	return { turnId, text: JSON.stringify(w.model.log(turnId).at(-1).body.messages.filter((m) => m.role === 'tool')) };
}

const made = (sessionId, turnId, phase) => waitFor(async () => (await facts(sessionId)).find((f) => f.turnId === turnId && f.type === 'checkpoint.created' && f.payload.phase === phase), `the checkpoint at the ${phase}`);

async function restore(sessionId, what) {
	const { checkpointId } = await ok(w.rt, 'restore_checkpoint', { sessionId, ...what });
	return waitFor(async () => (await facts(sessionId)).find((f) => /^checkpoint\.(restored|failed)$/.test(f.type) && f.payload.checkpointId === checkpointId), 'the end of the restore');
}

before(async () => {
	dir = realpathSync(newFolder());
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': dir } });
});

test(`a command that deletes and rewrites ${FILES} files is undone, byte for byte, and the undo too`, needsRoots, async () => {
	const root = folderWith(FILES), before = hashOf(root);
	const { sessionId } = await session(root);
	const command = 'for f in d*/*; do case $f in *1.txt) rm "$f";; *2.txt) chmod +x "$f";; *) echo other > "$f";; esac; done; rm -r d7 link; ln -s nowhere link; mkdir new && echo new > new/file; echo done';
	const { turnId, text } = await run(sessionId, 'shell', { command });
	assert.match(text, /done/);
	const after = hashOf(root);
	assert.notEqual(after, before);
	const [start, end] = [await made(sessionId, turnId, 'start'), await made(sessionId, turnId, 'end')];
	assert.equal(start.payload.files, FILES + 1);
	assert.notEqual(start.payload.tree, end.payload.tree);

	const { changes, diff, cut } = await ok(w.rt, 'diff_checkpoints', { sessionId, from: turnId, to: turnId });
	assert.ok(changes.some((c) => c.path === 'new/file' && c.change === 'added') && changes.some((c) => c.path === 'link' && c.change === 'changed') && changes.some((c) => c.path === 'd7/file 7.txt' && c.change === 'deleted'), JSON.stringify(changes.slice(0, 5)));
	assert.ok(diff.includes('+other') && !cut);

	const undone = await restore(sessionId, { turnId });
	assert.equal(undone.type, 'checkpoint.restored', JSON.stringify(undone.payload));
	assert.equal(hashOf(root), before);
	const again = await restore(sessionId, { checkpointId: undone.payload.checkpointId });
	assert.equal(again.type, 'checkpoint.restored');
	assert.equal(hashOf(root), after);
	for (const fact of await facts(sessionId)) validateEvent(fact);
});

test('turns that only read make no checkpoint; a file tool makes both, and the log has their order', needsRoots, async () => {
	const root = folderWith(3);
	const { sessionId } = await session(root);
	await run(sessionId, 'read_file', { path: 'd0/file 0.txt' });
	assert.deepEqual(await facts(sessionId, 'checkpoint.started'), []);
	const { turnId } = await run(sessionId, 'write_file', { path: 'made.txt', content: 'made' });
	await made(sessionId, turnId, 'end');
	const order = (await facts(sessionId)).filter((f) => f.turnId === turnId && /^(checkpoint\.|tool\.started|turn\.completed)/.test(f.type)).map((f) => `${f.type}${f.payload.phase ? ` ${f.payload.phase}` : ''}`);
	assert.deepEqual(order, ['checkpoint.started start', 'checkpoint.created start', 'tool.started', 'checkpoint.started end', 'checkpoint.created end', 'turn.completed']);
	const { checkpoints } = await ok(w.rt, 'list_checkpoints', { sessionId });
	assert.deepEqual(checkpoints.map((c) => [c.phase, c.status, c.turnId]), [['end', 'available', turnId], ['start', 'available', turnId]]);
});

test('what a command changed are artifacts of its turn; ignored files and what a tool reported are not named again', needsRoots, async () => {
	const root = folderWith(3);
	execFileSync('sh', ['-c', 'git init -q . && echo "*.o" > .gitignore && printf "\\000\\001" > data.bin'], { cwd: root, env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } });
	if (isRoot) execFileSync('chown', ['-h', '-R', '1000:1000', root]);
	const { sessionId } = await session(root);
	const before = await run(sessionId, 'write_file', { path: 'tool.txt', content: 'by a tool\n' });
	const command = 'echo changed > "d0/file 0.txt"; rm "d1/file 1.txt"; echo object > made.o; echo o > ":colon.o"; echo o > "a[1]*.o"; echo new > made.txt; printf "\\002\\003" > data.bin; chmod +x "d2/file 2.txt"; ln -s made.txt link2';
	const { turnId } = await run(sessionId, 'shell', { command });
	const log = await facts(sessionId);
	const changed = log.filter((f) => f.type === 'artifact.changed' && f.turnId === turnId);
	const sha = (path) => createHash('sha256').update(readFileSync(join(root, path))).digest('hex');
	assert.deepEqual(Object.fromEntries(changed.map((f) => [f.payload.path, [f.payload.change, f.payload.versionId, f.payload.state]])), {
		'd0/file 0.txt': ['observed', sha('d0/file 0.txt'), 'available'],
		'd1/file 1.txt': ['observed', 'deleted', 'deleted'],
		'data.bin': ['observed', sha('data.bin'), 'available'],
		'made.txt': ['observed', sha('made.txt'), 'available'],
	});
	assert.ok(changed.every((f) => !f.payload.producer), 'who changed them is not known');
	const by = (path) => changed.find((f) => f.payload.path === path).payload;
	assert.equal((await ok(w.rt, 'read_output', { outputRef: by('made.txt').readRef })).content, 'new\n');
	assert.match((await ok(w.rt, 'read_output', { outputRef: by('d0/file 0.txt').diffRef })).content, /^\+changed$/m);
	const end = log.find((f) => f.type === 'turn.completed' && f.turnId === turnId);
	assert.deepEqual([...end.payload.artifactRefs].sort(), changed.map((f) => f.artifactId).sort(), 'the turn names them');
	assert.ok(changed.every((f) => f.sequence < end.sequence));
	assert.equal(log.filter((f) => f.type === 'artifact.changed' && f.turnId === before.turnId).length, 1, 'the tool said it, the checkpoint does not again');
	for (const fact of log) validateEvent(fact);
});

test('commands neither see nor change the store, and sessions have only their own checkpoints', needsRoots, async () => {
	const root = folderWith(3);
	const [one, two] = [await session(root), await session(root)];
	const { turnId } = await run(one.sessionId, 'shell', { command: 'echo one > one.txt' });
	const { payload } = await made(one.sessionId, turnId, 'start');
	const look = await run(one.sessionId, 'shell', { command: `ls -la ${dir}; find ${dir} -name checkpoints; echo hacked > ${dir}/x; echo over` });
	assert.ok(look.text.includes('over') && !/checkpoints\b(?!\.)/.test(look.text.replaceAll(dir, '')), look.text);
	assert.ok(!readdirSync(dir).includes('x'));
	await refused(w.rt, 'checkpoint_not_found', 'restore_checkpoint', { sessionId: two.sessionId, checkpointId: payload.checkpointId });
});

test('after kill -9 an open checkpoint is failed, the old ones can be restored', needsRoots, async () => {
	const root = folderWith(50), before = hashOf(root);
	const { sessionId } = await session(root);
	const { turnId } = await run(sessionId, 'shell', { command: 'rm -r d1; echo x > d2/new' });
	await w.rt.kill9();
	w.rt = await w.again();
	const log = await facts(sessionId);
	for (const started of log.filter((f) => f.type === 'checkpoint.started'))
		assert.ok(log.some((f) => /^checkpoint\.(created|failed)$/.test(f.type) && f.payload.checkpointId === started.payload.checkpointId), 'every one that was begun has its end');
	assert.equal((await restore(sessionId, { turnId })).type, 'checkpoint.restored');
	assert.equal(hashOf(root), before);
});

test('a workspace that the runtime made has checkpoints too, also on a cluster', async () => {
	const { workspace } = await ok(w.rt, 'create_workspace', {});
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
	const first = await run(sessionId, 'shell', { command: 'echo kept > kept.txt' });
	await made(sessionId, first.turnId, 'end');
	const { turnId } = await run(sessionId, 'shell', { command: 'rm kept.txt' });
	await made(sessionId, turnId, 'end');
	assert.equal((await restore(sessionId, { turnId })).type, 'checkpoint.restored');
	assert.ok((await run(sessionId, 'shell', { command: 'cat kept.txt' })).text.includes('kept'));
});
