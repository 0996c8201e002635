// Folders that a worker offers by name: one of them is a workspace like any other, and no other folder of the machine is reached.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ok, refused, waitFor, world } from '../lib/runtime.mjs';
import { factsOf } from '../tenant/tenants.mjs';
import { privateFolder, startWorker, tokenFile, Worker } from './worker.mjs';

const project = privateFolder();
let w, worker;

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': privateFolder() } });
	writeFileSync(join(project, 'there'), 'before\n');
	if (process.getuid() === 0) for (const path of [project, join(project, 'there')]) chownSync(path, 1000, 1000); // the sandbox does not work in folders of root
	worker = await startWorker(w.rt, { args: ['--root', `notes=${project}`] });
});

test('a folder that is offered becomes a workspace by its name, once', async () => {
	const { workspace, created } = await ok(w.rt, 'create_workspace', { worker: worker.workerId, root: 'notes' });
	assert.deepEqual([workspace.root, workspace.kind, workspace.worker, created], [project, 'folder', worker.workerId, true]);
	const again = await ok(w.rt, 'create_workspace', { worker: worker.workerId, root: 'notes' });
	assert.deepEqual([again.workspace.workspaceId, again.created], [workspace.workspaceId, false]);
	const text = '[[tool edit_file {"path":"there","oldText":"before","newText":"after"}]]';
	const turn = await ok(w.rt, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text });
	const end = await waitFor(async () => (await factsOf(w.rt, undefined, turn.sessionId)).find((f) => /^turn\.(completed|failed)$/.test(f.type)), 'the end');
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));
	assert.equal(readFileSync(join(project, 'there'), 'utf8'), 'after\n', JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool')));
});

test('every other folder is refused, by the server or by the worker, and nothing is made', async () => {
	for (const root of ['/etc', project, '../x', 'a/b', 'wk_x']) await refused(w.rt, 'invalid_input', 'create_workspace', { worker: worker.workerId, root });
	for (const root of ['other', 'Notes', 'etc', '..']) await refused(w.rt, 'unavailable', 'create_workspace', { worker: worker.workerId, root });
	assert.ok(!existsSync(join(worker.dir, 'workspaces/other')));
});

test('a worker does not start with a folder that leads to its own files, or into another one', async () => {
	const dir = privateFolder(), outer = privateFolder();
	mkdirSync(join(outer, 'inner'));
	symlinkSync(project, join(outer, 'link'));
	const token = tokenFile('art_x');
	for (const [roots, why] of [
		[[`x=${dir}`], /above or below/], [[`x=${join(dir, 'state')}`], /above or below|no folder/], [['x=/'], /above or below|no folder/], [[`x=${join(outer, 'link')}`], /a link on its path/],
		[[`x=${outer}`, `y=${join(outer, 'inner')}`], /above or below/], [['x=relative'], /no folder/], [['x=/nonexistent'], /no folder/],
	]) {
		const one = new Worker(['--join', w.rt.url, '--token-file', token, ...roots.flatMap((root) => ['--root', root])], { dir });
		assert.equal((await one.end()).code, 1, roots.join(' '));
		assert.match(one.stderr, why, roots.join(' '));
	}
});
