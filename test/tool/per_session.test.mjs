// Each session works in the folder of its own workspace: files, commands and what it is told of its environment. A session without one has no tools for files.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';

const isRoot = process.getuid() === 0;
const FOLDER_TOOLS = ['edit_file', 'process_read', 'read_file', 'shell', 'write_file'];
// Not the values: those of secrets are masked on their way to the model.
const HAS = 'echo has ${OF_LOCAL:+variable} ${KEY_FILE:+file} over';
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w;

function folderWith(note) {
	const folder = realpathSync(newFolder());
	writeFileSync(join(folder, 'note.txt'), note);
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', folder]);
	return folder;
}

const managed = (config = {}) => ({ 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()), ...config });
const ended = (rt, who, { sessionId, turnId }) => waitFor(async () => (await factsOf(rt, who, sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');

// A turn in a session of the workspace, as local or with a token; what the model read of the call.
async function run(place, who, where, name, args) {
	const createPolicy = where.sessionId ? undefined : { workspaceId: where.workspaceId };
	const turn = await must(place.rt, who, 'submit_turn', { ...(createPolicy ? { createPolicy } : { sessionId: where.sessionId }), text: call(name, args) });
	await ended(place.rt, who, turn);
	return { ...turn, requests: place.model.log(turn.turnId), text: JSON.stringify(place.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool')) };
}

const offered = (requests) => (requests[0].body.tools ?? []).map((t) => t.function.name).sort();

before(async () => {
	w = await world({ config: managed() });
});

test('two sessions with two workspaces see each its own folder, also after a restart', async () => {
	const places = [];
	for (const note of ['the first note', 'the second note']) {
		const root = folderWith(note);
		const { workspace } = await ok(w.rt, 'create_workspace', { root });
		const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
		places.push({ root, note, sessionId, workspaceId: workspace.workspaceId });
	}
	const look = async ({ root, note, sessionId, workspaceId }) => {
		const read = await run(w, undefined, { sessionId }, 'read_file', { path: 'note.txt' });
		assert.ok(read.text.includes(note), read.text);
		assert.deepEqual(FOLDER_TOOLS.filter((t) => !offered(read.requests).includes(t)), []);
		const shell = await run(w, undefined, { sessionId }, 'shell', { command: 'pwd; cat note.txt; touch made' });
		assert.ok(shell.text.includes(root) && shell.text.includes(note), shell.text);
		assert.ok(existsSync(join(root, 'made')));
		const environment = await ok(w.rt, 'get_execution_environment', { sessionId });
		assert.deepEqual([environment.cwd, environment.workspaceRoots, environment.workspaceId], [root, [root], workspaceId]);
		assert.equal(environment.sandbox.inForce.isAvailable, true);
	};
	for (const place of places) await look(place);
	const [first, second] = places;
	const outside = await run(w, undefined, first, 'read_file', { path: join(second.root, 'note.txt') });
	assert.ok(!outside.text.includes(second.note), outside.text);
	const around = await run(w, undefined, first, 'shell', { command: `cat ${second.root}/note.txt; echo over` });
	assert.ok(around.text.includes('over') && !around.text.includes(second.note), around.text);
	await w.rt.kill9();
	w.rt = await w.again();
	for (const place of places) await look(place);
});

test('a link that a session of an outer workspace puts in the place of an inner one leads nowhere', async () => {
	const outer = folderWith('outer'), secret = folderWith('not for the agent');
	const inner = join(outer, 'inner');
	mkdirSync(inner);
	if (isRoot) execFileSync('chown', ['1000:1000', inner]);
	const [a, b] = [await ok(w.rt, 'create_workspace', { root: outer }), await ok(w.rt, 'create_workspace', { root: inner })];
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: b.workspace.workspaceId });
	const swap = await run(w, undefined, a.workspace, 'shell', { command: `mv inner moved && ln -s ${secret} inner && echo swapped` });
	assert.ok(swap.text.includes('swapped'), swap.text);
	for (const [name, args] of [['read_file', { path: 'note.txt' }], ['shell', { command: 'cat note.txt' }]]) {
		const { text } = await run(w, undefined, { sessionId }, name, args);
		assert.ok(!text.includes('not for the agent') && text.includes('link'), text);
	}
});

test('a store of checkpoints beside the files of a workspace is not there for its commands and file tools', async () => {
	const { workspace } = await ok(w.rt, 'create_workspace', { name: 'with a store' });
	const store = join(workspace.root, '../checkpoints');
	const made = await run(w, undefined, workspace, 'shell', { command: 'echo made > made.txt' });
	await waitFor(async () => (await factsOf(w.rt, undefined, made.sessionId)).some((f) => f.type === 'checkpoint.created' && f.payload.phase === 'end'), 'the checkpoint at the end');
	writeFileSync(join(store, 'kept'), 'kept by the runtime');
	if (isRoot) execFileSync('chown', [`--reference=${workspace.root}`, join(store, 'kept')]);
	const seen = await run(w, undefined, made, 'shell', { command: `cat ${store}/kept; ls -A ..; echo gone > ${store}/kept; echo more > ${store}/new; echo over` });
	assert.ok(seen.text.includes('over') && !seen.text.includes('kept by the runtime') && !seen.text.includes('checkpoints\\n'), seen.text);
	const read = await run(w, undefined, made, 'read_file', { path: '../checkpoints/kept' });
	assert.ok(!read.text.includes('kept by the runtime'), read.text);
	assert.ok(!readdirSync(store).includes('new'));
	assert.equal(readFileSync(join(store, 'kept'), 'utf8'), 'kept by the runtime');
});

test('a turn that makes its session names the workspace too; the facts say so', async () => {
	const root = folderWith('the note of the turn');
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	const read = await run(w, undefined, workspace, 'read_file', { path: 'note.txt' });
	assert.ok(read.text.includes('the note of the turn'), read.text);
	const [created, bound] = await readLog(w.rt, read.sessionId);
	assert.deepEqual([created.type, bound.type], ['session.created', 'workspace.bound']);
	assert.deepEqual(bound.event.payload.binding, { workspaceId: workspace.workspaceId, version: workspace.version, folder: root });
});

test('a session without a workspace is offered no tool for files or commands', async () => {
	const turn = await submit(w.rt, 'hello');
	await ended(w.rt, undefined, turn);
	assert.deepEqual(offered(w.model.log(turn.turnId)), []);
	const environment = await ok(w.rt, 'get_execution_environment', { sessionId: turn.sessionId });
	assert.deepEqual([environment.cwd, environment.workspaceRoots, environment.sandbox.inForce.isAvailable], ['', [], false]);
	const { tools } = await ok(w.rt, 'get_tool_inventory', { sessionId: turn.sessionId });
	assert.deepEqual(tools.map((t) => t.name), []);
});

test('an archived workspace takes no session; a repeat of an old write is answered as before', async () => {
	const { workspace: { workspaceId } } = await ok(w.rt, 'create_workspace', { root: folderWith('x') });
	const input = { workspaceId, idempotencyKey: 'before' };
	const made = await ok(w.rt, 'create_session', input);
	await ok(w.rt, 'archive_workspace', { workspaceId });
	assert.equal((await ok(w.rt, 'create_session', input)).sessionId, made.sessionId);
	for (const [name, body] of [['create_session', { workspaceId }], ['submit_turn', { createPolicy: { workspaceId }, text: 'x' }]]) {
		const { status, body: { error } } = await ask(w.rt, undefined, name, body);
		assert.deepEqual([status, error.code], [409, 'workspace_archived']);
	}
});

test('a tenant with a workspace of its own reads nothing of local: no file, no instructions, no variable, no secret', async () => {
	const workspace = folderWith('the note of local');
	writeFileSync(join(workspace, 'AGENTS.md'), 'Never mention the merger.');
	const place = await world({ config: managed({ 'tools.workspace': workspace, 'sandbox.env': 'OF_LOCAL=of-local', 'sandbox.allow_danger': true,
		command_secrets: [{ name: 'KEY', value: 'key-of-local' }] }) });
	const { token } = await ok(place.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] });
	const { workspace: { workspaceId, root } } = await must(place.rt, token, 'create_workspace', { name: 'ours' });
	const own = await run(place, undefined, { sessionId: (await ok(place.rt, 'create_session', {})).sessionId }, 'shell', { command: `${HAS}; cat note.txt` });
	for (const text of ['has variable file over', 'the note of local']) assert.ok(own.text.includes(text), own.text);

	const written = await run(place, token, { workspaceId }, 'write_file', { path: 'ours.txt', content: 'ours\n' });
	assert.deepEqual(readdirSync(root), ['ours.txt'], written.text);
	assert.ok(!JSON.stringify(written.requests).includes('merger'));
	const attempts = [['read_file', { path: join(workspace, 'note.txt') }], ['shell', { command: `${HAS}; cat ${workspace}/note.txt` }],
		['shell', { command: `cat ${workspace}/note.txt`, sandbox: 'danger_full_access', justification: 'to look' }]];
	for (const [name, args] of attempts) {
		const seen = await run(place, token, { workspaceId }, name, args);
		if (name === 'shell' && !args.sandbox) assert.ok(seen.text.includes('has over'), seen.text);
		for (const text of ['the note of local', 'merger']) assert.ok(!seen.text.includes(text), `${name}: ${text}: ${seen.text}`);
	}
	// Without one it is refused as before, and that of local is as one that is not there.
	assert.equal((await ask(place.rt, token, 'create_session', {})).body.error.code, 'policy_denied');
	const { workspace: theirs } = await ok(place.rt, 'create_workspace', { name: 'theirs' });
	const unknown = `ws_0000000000j${theirs.workspaceId.slice(14).split('').reverse().join('')}`;
	for (const [name, inputOf] of [['create_session', (id) => ({ workspaceId: id })], ['submit_turn', (id) => ({ createPolicy: { workspaceId: id }, text: 'x' })]]) {
		const [foreign, none] = await Promise.all([theirs.workspaceId, unknown].map(async (id) => ask(place.rt, token, name, inputOf(id))));
		assert.deepEqual([foreign.status, foreign.body.error.code], [404, 'workspace_not_found']);
		assert.deepEqual({ ...foreign.body.error, requestId: '' }, { ...none.body.error, requestId: '' });
	}
});
