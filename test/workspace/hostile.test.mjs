// A hostile repository as the workspace of a session, one attack per row of the security review: what the runtime itself does with it (checkpoints, what a turn
// changed, git tools, undo) runs nothing that it configures, leaves it by no link, and shows its names escaped.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { factsOf } from '../tenant/tenants.mjs';

const isRoot = process.getuid() === 0;
const needsRoots = { skip: Boolean(process.env.AR_TEST_POSTGRES) && 'no root is named on a cluster' };
let w;

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) } });
});

const own = (root) => isRoot && execFileSync('chown', ['-h', '-R', '1000:1000', root]);
const git = (root, ...args) => execFileSync('git', ['-c', 'safe.directory=*', '-c', 'user.name=x', '-c', 'user.email=x@x', ...args], { cwd: root, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', HOME: '/nonexistent' } });

/** A repository with one commit, then changed by `make`. */
function repository(make) {
	const root = realpathSync(newFolder());
	git(root, 'init', '-q');
	writeFileSync(join(root, 'file.txt'), 'as it was\n');
	git(root, 'add', 'file.txt');
	git(root, 'commit', '-q', '-m', 'first');
	make(root);
	own(root);
	return root;
}

async function run(sessionId, name, args) {
	const { turnId } = await submit(w.rt, `[[tool ${name} ${JSON.stringify(args)}]]`, { sessionId });
	const facts = await waitFor(async () => {
		const log = (await factsOf(w.rt, undefined, sessionId)).filter((f) => f.turnId === turnId);
		return log.some((f) => /^turn\.(completed|failed)$/.test(f.type)) && log;
	}, 'the end of the turn');
	for (const fact of facts) validateEvent(fact);
	return { turnId, facts, result: facts.find((f) => /^tool\.(result|failed)$/.test(f.type))?.payload };
}

/** Everything that the runtime does with the files by itself: a turn that changes them, the git tools, a comparison, an undo. */
async function workIn(root, change = 'echo changed > file.txt; echo new > new.txt') {
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: workspace.workspaceId });
	const turn = await run(sessionId, 'shell', { command: change });
	const shown = [await run(sessionId, 'git_status', {}), await run(sessionId, 'git_diff', {})].map((t) => t.result?.preview ?? '');
	await ok(w.rt, 'diff_checkpoints', { sessionId, from: turn.turnId, to: turn.turnId });
	const { checkpointId } = await ok(w.rt, 'restore_checkpoint', { sessionId, turnId: turn.turnId });
	const restored = await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).find((f) => /^checkpoint\.(restored|failed)$/.test(f.type) && f.payload.checkpointId === checkpointId), 'the end of the restore');
	return { ...turn, sessionId, restored, shown, changed: turn.facts.filter((f) => f.type === 'artifact.changed').map((f) => f.payload.path) };
}

const program = (root, name, mark) => {
	const path = join(root, name);
	writeFileSync(path, `#!/bin/sh\ntouch '${mark}'\necho IT-RAN\n`);
	chmodSync(path, 0o755);
	return path;
};

/** Where a program of the repository would leave its mark: in the workspace, which it may write, and outside. One that reads only is seen by what it prints. */
const marks = (root) => [join(root, 'RAN'), join(realpathSync(newFolder()), 'RAN')];
const noneRan = (all) => assert.deepEqual(all.filter((m) => existsSync(m)), [], 'a program of the repository was run');

/** A repository whose configuration names a program of its own for everything in `keys`. */
function configured(keys, attributes) {
	let all;
	const root = repository((at) => {
		all = marks(at);
		const evil = program(at, 'evil', all[0]);
		for (const key of keys) git(at, 'config', key, evil);
		git(at, 'config', 'core.hooksPath', join(at, 'hooks'));
		writeFileSync(join(at, '.gitattributes'), attributes);
		mkdirSync(join(at, 'hooks'));
		for (const hook of ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-commit']) program(at, `hooks/${hook}`, all[0]);
		for (const hook of ['post-index-change', 'reference-transaction']) program(at, `.git/hooks/${hook}`, all[1]);
	});
	return { root, all };
}

test('hooks, text converters and external diffs of a repository are not run', needsRoots, async () => {
	const { root, all } = configured(['core.fsmonitor', 'diff.evil.textconv', 'diff.evil.command', 'diff.external', 'core.pager', 'core.sshCommand', 'core.editor', 'core.askPass'], '* diff=evil\n');
	const { restored, changed, shown } = await workIn(root);
	noneRan(all);
	assert.match(shown[1], /^\+changed$/m);
	assert.ok(!shown.join().includes('IT-RAN'), shown.join());
	assert.deepEqual(changed.sort(), ['file.txt', 'new.txt']);
	assert.equal(restored.type, 'checkpoint.restored', JSON.stringify(restored.payload));
	assert.equal(readFileSync(join(root, 'file.txt'), 'utf8'), 'as it was\n');
	assert.ok(!existsSync(join(root, 'new.txt')));
});

test('filters of a repository change nothing in checkpoints, artifacts and restored files', needsRoots, async () => {
	const { root, all } = configured(['filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process'], '* filter=evil text eol=crlf ident\n');
	const { restored, facts, sessionId } = await workIn(root, 'printf "changed\\r\\n\\$Id\\$\\n" > file.txt');
	noneRan(all);
	const { readRef } = facts.find((f) => f.type === 'artifact.changed' && f.payload.path === 'file.txt').payload;
	assert.equal((await ok(w.rt, 'read_output', { outputRef: readRef })).content, 'changed\r\n$Id$\n');
	assert.equal(restored.type, 'checkpoint.restored', JSON.stringify(restored.payload));
	assert.equal(readFileSync(join(root, 'file.txt'), 'utf8'), 'as it was\n');
	assert.ok(!JSON.stringify(await factsOf(w.rt, undefined, sessionId)).includes('IT-RAN'));
});

test('a repository whose .git leads elsewhere, or that borrows from elsewhere, gives nothing of it', needsRoots, async () => {
	const secret = realpathSync(newFolder());
	git(secret, 'init', '-q', '--bare');
	writeFileSync(join(secret, 'info/exclude'), 'TOPSECRET\n');
	for (const make of [
		(at) => { execFileSync('rm', ['-r', join(at, '.git')]); writeFileSync(join(at, '.git'), `gitdir: ${secret}\n`); },
		(at) => { execFileSync('rm', ['-r', join(at, '.git')]); symlinkSync(secret, join(at, '.git')); },
		(at) => { mkdirSync(join(at, '.git/objects/info'), { recursive: true }); writeFileSync(join(at, '.git/objects/info/alternates'), `${secret}/objects\n/etc\n`); },
		(at) => { git(at, 'config', 'core.excludesFile', '/etc/shadow'); git(at, 'config', 'core.worktree', '/etc'); },
		(at) => { git(at, 'config', 'include.path', '/etc/shadow'); },
	]) {
		const root = repository(make);
		const { facts, sessionId, restored } = await workIn(root, 'echo changed > file.txt; echo x > TOPSECRET');
		assert.match(facts.at(-1).type, /^turn\.(completed|failed)$/);
		assert.equal(restored.type, 'checkpoint.restored', JSON.stringify(restored.payload));
		assert.equal(readFileSync(join(root, 'file.txt'), 'utf8'), 'as it was\n');
		const text = JSON.stringify(await factsOf(w.rt, undefined, sessionId));
		assert.ok(!text.includes(secret) && !text.includes('root:'), 'nothing of what is outside');
	}
	assert.deepEqual(readdirSync(join(secret, 'refs/heads')), [], 'and nothing is written there');
});

test('nested repositories are kept out, whatever they configure; their files are not lost', needsRoots, async () => {
	let all;
	const root = repository((at) => {
		all = marks(at);
		mkdirSync(join(at, 'sub'));
		git(join(at, 'sub'), 'init', '-q');
		git(join(at, 'sub'), 'config', 'core.fsmonitor', program(at, 'evil', all[0]));
		writeFileSync(join(at, 'sub/inner.txt'), 'inner\n');
		writeFileSync(join(at, '.gitmodules'), '[submodule "x"]\n\tpath = sub\n\turl = ext::sh -c touch% RAN\n\tupdate = !touch RAN\n');
	});
	const { changed, restored } = await workIn(root, 'echo other > sub/inner.txt');
	noneRan(all);
	assert.deepEqual(changed, ['sub/inner.txt']);
	assert.equal(restored.type, 'checkpoint.restored');
	assert.equal(readFileSync(join(root, 'sub/inner.txt'), 'utf8'), 'inner\n');
	assert.ok(existsSync(join(root, 'sub/.git/HEAD')));
});

test('links that lead out are kept as links: nothing behind them is read, written or deleted', needsRoots, async () => {
	const outside = realpathSync(newFolder());
	writeFileSync(join(outside, 'secret.txt'), 'TOPSECRET\n');
	own(outside);
	const root = repository((at) => {
		symlinkSync(join(outside, 'secret.txt'), join(at, 'link.txt'));
		symlinkSync(outside, join(at, 'folder'));
	});
	const { sessionId, restored, changed } = await workIn(root, `rm link.txt folder; mkdir folder; echo mine > folder/secret.txt; ln -s ${outside}/secret.txt other`);
	assert.deepEqual(changed, ['folder/secret.txt']);
	assert.equal(restored.type, 'checkpoint.restored', JSON.stringify(restored.payload));
	assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'TOPSECRET\n');
	assert.deepEqual(readdirSync(outside), ['secret.txt']);
	assert.ok(!JSON.stringify(await factsOf(w.rt, undefined, sessionId)).includes('TOPSECRET'));
});

test('names with line ends, escapes and wrong UTF-8 are escaped in facts', needsRoots, async () => {
	const root = repository(() => {});
	const { changed } = await workIn(root, `printf x > 'new\nline'; printf x > "$(printf 'esc\\033[31m')"; printf x > "$(printf 'bad\\377')"; printf x > -rf; printf x > ':(top)'`);
	assert.equal(changed.length, 5, JSON.stringify(changed));
	for (const path of changed) assert.ok(!/[\x00-\x1f\x7f\ufffd]/.test(path), JSON.stringify(path));
});
