// File tools in a real agentd and its sandbox: what they change, what the kernel keeps them from, what is on record to undo it, and what a kill -9 leaves.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, statSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';

const isRoot = process.getuid() === 0;

// A folder that belongs to somebody without rights: as root nothing else can be written from inside.
function newWorkspace(files = {}) {
	const folder = newFolder();
	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), text);
	}
	give(folder);
	return folder;
}

function give(folder) {
	if (isRoot) execFileSync('chown', ['-hR', '1000:1000', folder]);
}

const start = (workspace, more = {}) => world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', ...more } });
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const facts = async (rt, sessionId, ...types) => (await readLog(rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const ended = (rt, sessionId) =>
	waitFor(async () => (await facts(rt, sessionId, 'turn.completed', 'turn.failed', 'turn.canceled'))[0], 'the end of the turn');

async function content(rt, outputRef) {
	let text = '';
	for (;;) {
		const { content: part, sizeBytes } = await ok(rt, 'read_output', { outputRef, offset: text.length, length: 1048576 });
		text += part;
		if (text.length >= sizeBytes) return text;
	}
}

// One turn with one call; its last fact with the text that the model read.
async function run(rt, name, args) {
	const { sessionId } = await submit(rt, call(name, args));
	await ended(rt, sessionId);
	const [end] = await facts(rt, sessionId, 'tool.result', 'tool.failed');
	const { payload } = end;
	return { sessionId, type: end.type, ...payload, text: await content(rt, payload.outputRef ?? payload.errorRef) };
}

test('SB-06 write, edit, patch and git, each inside its boundary and with what was there before', async () => {
	const workspace = newWorkspace({ 'src/a.c': 'int a;\nint b;\n', 'old.txt': 'gone\n' });
	const git = (...args) => execFileSync('git', ['-C', workspace, '-c', 'safe.directory=*', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
	git('init', '-q', '-b', 'main');
	git('add', '.');
	git('commit', '-qm', 'first');
	give(workspace);
	const w = await start(workspace);

	const written = await run(w.rt, 'write_file', { path: 'docs/new.md', content: 'new\n', createDirs: true });
	assert.match(written.text, /^Created docs\/new\.md \(1 line, 4 bytes, sha256 /);
	assert.equal(readFileSync(join(workspace, 'docs/new.md'), 'utf8'), 'new\n');
	assert.deepEqual(JSON.parse(await content(w.rt, written.changesRef)).map((c) => [c.path, c.kind, c.before]), [['docs/new.md', 'created', undefined]]);
	const [applied] = await facts(w.rt, written.sessionId, 'sandbox.applied');
	assert.equal(written.sandboxRef, applied.eventId);
	assert.deepEqual([applied.payload.profile, applied.payload.network, applied.payload.boundary.noNewPrivs], ['workspace_write', 'restricted', true]);

	const edited = await run(w.rt, 'edit_file', { path: 'src/a.c', oldText: 'int b;', newText: 'int c;' });
	assert.match(edited.text, /^Changed src\/a\.c at line 2 /);
	const [change] = JSON.parse(await content(w.rt, edited.changesRef));
	assert.deepEqual([change.before, change.encoding, change.mode], ['int a;\nint b;\n', 'utf-8', 0o644]);

	const patch = '*** Begin Patch\n*** Update File: src/a.c\n@@\n-int a;\n+int z;\n*** Delete File: old.txt\n*** Add File: src/n.c\n+n\n*** End Patch\n';
	const patched = await run(w.rt, 'apply_patch', { patch });
	assert.equal(patched.text, 'Changed src/a.c\nDeleted old.txt\nCreated src/n.c\n(3 files, 2 hunks)');
	assert.equal(readFileSync(join(workspace, 'src/a.c'), 'utf8'), 'int z;\nint c;\n');
	assert.ok(!existsSync(join(workspace, 'old.txt')));

	const status = await run(w.rt, 'git_status', {});
	assert.equal(status.text, '## main\n D old.txt\n M src/a.c\n?? docs/\n?? src/n.c\n');
	assert.equal((await facts(w.rt, status.sessionId, 'sandbox.applied'))[0].payload.profile, 'read_only');
	assert.match((await run(w.rt, 'git_diff', { path: 'src/a.c' })).text, /-int a;\n-int b;\n\+int z;\n\+int c;\n$/);
	const page = await run(w.rt, 'git_diff', { offset: 2, limit: 1 });
	assert.match(page.text, /^deleted file mode 100644\n\(1 of \d+ lines; call git_diff with offset=3 for more\)$/);

	const wrong = await run(w.rt, 'edit_file', { path: 'src/a.c', oldText: 'int  z;', newText: 'x' });
	assert.deepEqual([wrong.type, wrong.errorCategory], ['tool.failed', 'no_match']);
	assert.match(wrong.text, /The most similar line is line 1, which is 'int z;' where 'int  z;' was given/);
	await w.rt.stop();
});

test('what is protected or outside stays as it is, whatever a path or a patch says', async () => {
	const outside = newFolder();
	writeFileSync(join(outside, 'secret'), 'secret\n');
	chmodSync(outside, 0o777);
	const workspace = newWorkspace({ 'd/f': 'x\n', '.git/hooks/pre-commit': 'old\n', '.git/config': '[core]\n', '.git/HEAD': 'ref: refs/heads/main\n' });
	symlinkSync(outside, join(workspace, 'out'));
	symlinkSync(join(outside, 'secret'), join(workspace, 'link'));
	give(workspace);
	const w = await start(workspace);
	const refused = [
		['write_file', { path: '.git/hooks/pre-commit', content: 'evil' }, 'sandbox'],
		['write_file', { path: '.git/hooks/post-checkout', content: 'evil' }, 'sandbox'],
		['edit_file', { path: '.git/config', oldText: '[core]', newText: '[core]\nfsmonitor=evil' }, 'sandbox'],
		['write_file', { path: 'out/new', content: 'evil' }, 'sandbox'],
		['write_file', { path: 'link', content: 'evil' }, 'is_link'],
		['write_file', { path: '/etc/evil', content: 'evil' }, 'sandbox'],
		['read_file', { path: 'link' }, 'sandbox'],
		['apply_patch', { patch: '--- /dev/null\n+++ b/../evil\n@@ -0,0 +1 @@\n+x\n' }, 'sandbox'],
		['apply_patch', { patch: '*** Begin Patch\n*** Update File: d/f\n*** Move to: .git/hooks/f\n@@\n-x\n+y\n*** End Patch\n' }, 'sandbox'],
	];
	for (const [name, args, category] of refused) {
		const end = await run(w.rt, name, args);
		assert.deepEqual([end.type, end.errorCategory], ['tool.failed', category], `${JSON.stringify(args)}: ${end.text}`);
	}
	assert.equal(readFileSync(join(workspace, '.git/hooks/pre-commit'), 'utf8'), 'old\n');
	assert.equal(readFileSync(join(workspace, '.git/config'), 'utf8'), '[core]\n');
	assert.deepEqual(readdirSync(join(workspace, '.git/hooks')), ['pre-commit']);
	assert.deepEqual(readdirSync(join(workspace, 'd')), ['f']);
	assert.deepEqual(readdirSync(outside), ['secret']);
	assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret\n');
	await w.rt.stop();
});

test('git runs nothing that a repository configures outside the boundary', async () => {
	const marks = newFolder();
	chmodSync(marks, 0o777);
	const workspace = newWorkspace({ f: 'one\n', '.gitattributes': '* diff=evil filter=evil\n' });
	const git = (...args) => execFileSync('git', ['-C', workspace, '-c', 'safe.directory=*', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
	git('init', '-q');
	git('add', '.');
	git('commit', '-qm', 'first');
	for (const [key, value] of [['core.fsmonitor', 'monitor'], ['diff.external', 'external'], ['diff.evil.textconv', 'textconv'], ['filter.evil.clean', 'clean'], ['core.pager', 'pager']])
		git('config', key, `sh -c 'touch ${join(marks, value)}; cat'`);
	writeFileSync(join(workspace, 'f'), 'two\n');
	give(workspace);
	const w = await start(workspace);
	await run(w.rt, 'git_status', {});
	await run(w.rt, 'git_diff', {});
	assert.deepEqual(readdirSync(marks), []);
	await w.rt.stop();
});

test('SB-02 without a boundary nothing runs, and both are told what to do', async () => {
	const workspace = newWorkspace({ f: 'x\n' });
	const w = await start(workspace, { 'sandbox.without': 'mount_view' });
	for (const [name, args] of [['read_file', { path: 'f' }], ['write_file', { path: 'f', content: 'y' }]]) {
		const end = await run(w.rt, name, args);
		assert.deepEqual([end.type, end.errorCategory], ['tool.failed', 'sandbox_unavailable']);
		assert.match(end.text, /mount_view does not work here/);
		assert.deepEqual(await facts(w.rt, end.sessionId, 'sandbox.applied'), []);
	}
	assert.equal(readFileSync(join(workspace, 'f'), 'utf8'), 'x\n');
	await w.rt.stop();
});

test('a workspace of root is read, and not written', { skip: !isRoot }, async () => {
	const workspace = newFolder();
	writeFileSync(join(workspace, 'f'), 'x\n', { mode: 0o600 });
	const w = await start(workspace);
	assert.match((await run(w.rt, 'read_file', { path: 'f' })).text, /^ +1\tx\n/);
	const end = await run(w.rt, 'write_file', { path: 'f', content: 'y' });
	assert.equal(end.errorCategory, 'sandbox_unavailable');
	assert.match(end.text, /belongs to root; give the workspace to an unprivileged user \(chown\)/);
	assert.equal(readFileSync(join(workspace, 'f'), 'utf8'), 'x\n');
	await w.rt.stop();
});

test('agentctl undo puts back what a turn changed, the newest first, and keeps what somebody changed since', async () => {
	const workspace = newWorkspace({ a: 'one\n', b: 'one\n', gone: 'gone\n' });
	const w = await start(workspace);
	const calls = [
		call('edit_file', { path: 'a', oldText: 'one', newText: 'two' }),
		call('edit_file', { path: 'a', oldText: 'two', newText: 'three' }),
		call('apply_patch', { patch: '*** Begin Patch\n*** Update File: b\n@@\n-one\n+two\n*** Delete File: gone\n*** Add File: new\n+n\n*** End Patch\n' }),
	];
	const { sessionId, turnId } = await submit(w.rt, calls.join(''));
	await ended(w.rt, sessionId);
	assert.equal(readFileSync(join(workspace, 'a'), 'utf8'), 'three\n');
	writeFileSync(join(workspace, 'b'), 'mine\n');
	const undo = (...args) => spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'undo', ...args], { encoding: 'utf8' });
	const done = undo(turnId);
	assert.equal(done.stdout, 'removed new\nrestored gone\nkept b: it was changed since\nrestored a\nrestored a\n', done.stderr);
	assert.deepEqual([done.status, done.stderr], [1, 'agentctl: not all files could be restored\nnext: check the files that were kept\n']);
	const now = Object.fromEntries(readdirSync(workspace).map((name) => [name, readFileSync(join(workspace, name), 'utf8')]));
	assert.deepEqual(now, { a: 'one\n', b: 'mine\n', gone: 'gone\n' });
	if (isRoot) assert.equal(statSync(join(workspace, 'gone')).uid, 1000);
	assert.equal(undo(turnId).status, 1, 'a second time nothing is as the turn left it');
	assert.equal(undo(`${turnId}9`).status, 1);
	await w.rt.stop();
});

// Processes whose working folder this is.
function processesIn(folder) {
	return readdirSync('/proc').filter((pid) => {
		try {
			return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === folder;
		} catch {
			return false;
		}
	});
}

// Kills agentd at the first sign of a write: the file beside the one that it replaces.
async function cutWrite(workspace, text) {
	const w = await start(workspace);
	const begun = new Promise((done) => watch(workspace, () => done()).unref());
	const { sessionId } = await submit(w.rt, text);
	await begun;
	await w.rt.kill9();
	await waitFor(() => processesIn(workspace).length === 0, 'the end of its processes');
	return { w, sessionId };
}

test('kill -9 of agentd in the middle of a write: the file is the old or the new one, and the write is repeated', async () => {
	const [old, fresh] = ['a', 'b'].map((c) => c.repeat(50000));
	const workspace = newWorkspace({ f: old });
	const { w, sessionId } = await cutWrite(workspace, call('write_file', { path: 'f', content: fresh }));
	assert.ok([old, fresh].includes(readFileSync(join(workspace, 'f'), 'utf8')));
	const rt = await w.again();
	await ended(rt, sessionId);
	assert.equal(readFileSync(join(workspace, 'f'), 'utf8'), fresh);
	await rt.stop();
});

test('kill -9 of agentd in the middle of a patch: it is cut, every file is the old or the new one, and no process is left', async () => {
	const names = Array.from({ length: 120 }, (_, i) => `f${i}`);
	const workspace = newWorkspace(Object.fromEntries(names.map((name) => [name, 'old\n'])));
	const hunks = names.map((name) => `*** Update File: ${name}\n@@\n-old\n+new\n`).join('');
	const { w, sessionId } = await cutWrite(workspace, call('apply_patch', { patch: `*** Begin Patch\n${hunks}*** End Patch\n` }));
	const found = names.map((name) => readFileSync(join(workspace, name), 'utf8'));
	assert.ok(found.every((text) => ['old\n', 'new\n'].includes(text)));
	assert.ok(found.includes('old\n'), 'it was cut');
	const rt = await w.again();
	await ended(rt, sessionId);
	const [failed] = await facts(rt, sessionId, 'tool.failed');
	assert.equal(failed.payload.status, 'interrupted');
	await rt.stop();
});

test('an interrupted search leaves no process', async () => {
	const workspace = newWorkspace(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`slow/${i}`, `${'a'.repeat(60)}!\n`.repeat(2000)])));
	const w = await start(workspace);
	const { sessionId } = await submit(w.rt, call('search_files', { pattern: '^(a|aa)+(b|\\1c)$' }));
	await waitFor(() => processesIn(workspace).length > 0, 'the process of the search');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await ended(w.rt, sessionId);
	await waitFor(() => processesIn(workspace).length === 0, 'the end of its processes');
	await w.rt.stop();
});

test('SB-07 what a file tool is refused, and what it makes where nothing was protected yet, is on record beside its result', async () => {
	const workspace = newWorkspace({ 'a.c': 'int a;\n', '.gitattributes': '*.c filter=evil\n' });
	const git = (...args) => execFileSync('git', ['-C', workspace, '-c', 'safe.directory=*', '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
	git('init', '-q', '-b', 'main');
	git('add', '.');
	git('commit', '-qm', 'first');
	// A repository may name programs of its own: they run inside.
	git('config', 'filter.evil.clean', 'unshare -U true; unshare -U true; cat');
	writeFileSync(join(workspace, 'a.c'), 'int b;\n');
	give(workspace);
	const w = await start(workspace);
	const violations = async ({ sessionId }) => (await facts(w.rt, sessionId, 'sandbox.violation')).map(({ payload, toolCallId }) => [payload.evidence, payload.effect, payload.attempted, payload.count > 0, toolCallId !== undefined]);

	const diff = await run(w.rt, 'git_diff', {});
	assert.match(diff.text, /-int a;\n\+int b;/);
	assert.deepEqual(await violations(diff), [['seccomp-notify', 'blocked', 'unshare(CLONE_NEWUSER)', true, true]]);
	assert.deepEqual(await violations(await run(w.rt, 'read_file', { path: 'a.c' })), []);

	const made = await run(w.rt, 'write_file', { path: '.vscode/tasks.json', content: '{}\n', createDirs: true });
	assert.equal(made.type, 'tool.result');
	assert.deepEqual(await violations(made), [['observed', 'logged', 'create .vscode', true, true]]);
	const again = await run(w.rt, 'write_file', { path: '.vscode/tasks.json', content: '{"x":1}\n' });
	assert.equal(again.type, 'tool.failed', 'now that it is there it is protected');
	assert.deepEqual(await violations(again), [['enforcer', 'blocked', 'write_file .vscode/tasks.json', true, true]]);
	await w.rt.stop();
});
