// A git repository inside the workspace names commands that git runs (core.fsmonitor, hooks). One that a sandboxed command makes or changes runs them outside of the sandbox as soon as
// somebody enters it: it is on record, the model is warned, and `agentctl sandbox quarantine` disables it.
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, beforeEach, test } from 'node:test';
import { ended, facts } from '../../lib/gate.mjs';
import { bin, newFolder, ok, sleep, submit, world } from '../../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const asOwner = process.getuid() === 0 ? { uid: OWNER, gid: OWNER } : {};
let w, folder, workspace;

/** git of the person who owns the workspace, outside of any sandbox. */
const git = (...args) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: workspace, env: { PATH: process.env.PATH, HOME: folder }, encoding: 'utf8', ...asOwner });
const ctl = (...args) => spawnSync(join(bin, 'agentctl'), args, { env: { PATH: process.env.PATH, HOME: folder }, encoding: 'utf8', ...asOwner });
const wants = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

async function call(name, args) {
	const { sessionId, turnId } = await submit(w.rt, wants(name, args));
	await ended(w.rt, sessionId, turnId);
	const log = await facts(w.rt, sessionId);
	const [end] = log.filter((e) => e.type === 'tool.result' || e.type === 'tool.failed');
	const text = end.payload.outputRef ? (await ok(w.rt, 'read_output', { outputRef: end.payload.outputRef })).content : '';
	const observed = log.filter((e) => e.type === 'sandbox.violation' && e.payload.evidence === 'observed');
	for (const { payload } of observed) assert.deepEqual([payload.boundary, payload.effect], ['filesystem', 'logged']);
	return { end, text, told: observed.map((e) => e.payload.attempted).sort() };
}

const run = (command) => call('shell', { command: `export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; ${command}` });

before(async () => {
	folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(workspace);
	mkdirSync(join(folder, 'seen'));
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, folder]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass' } });
});

beforeEach(() => {
	for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true });
	git('init', '-q', '.');
});

test('a planted repository is a fact and a warning; in quarantine git on the host does not run its command', async () => {
	const marker = join(folder, 'seen/marker');
	const { told, text } = await run(`git init -q sub && git -C sub config core.fsmonitor 'touch ${marker}; false'`);
	assert.deepEqual(told, ['plant repository sub/.git']);
	assert.match(text, /warning: seen in the workspace afterwards: plant repository sub\/\.git; .*agentctl sandbox quarantine PATH/);
	assert.doesNotMatch(text, /the sandbox blocked/);
	git('-C', 'sub', 'status');
	assert.ok(existsSync(marker), 'the attack works: git on the host ran it');
	rmSync(marker);

	assert.equal(ctl('sandbox', 'repositories', '--workspace', workspace).stdout, 'sub/.git\n');
	const done = ctl('sandbox', 'quarantine', 'sub/.git', '--workspace', workspace);
	assert.deepEqual([done.status, done.stdout], [0, 'quarantined sub/.git: renamed to .git.quarantined-1\n'], done.stderr);
	git('-C', 'sub', 'status');
	git('-C', 'sub/.git.quarantined-1', 'rev-parse', '--show-toplevel');
	assert.ok(!existsSync(marker), 'it was not run');
	assert.equal(ctl('sandbox', 'repositories', '--workspace', workspace).stdout, '');
});

test('a .git file, a .git link, a layout without worktree and one in another letter case are told', async () => {
	const { told } = await run(['mkdir -p a b c/objects c/refs d', 'echo "gitdir: ../c" >a/.git', 'ln -s ../c b/.git', 'echo "ref: refs/heads/x" >c/HEAD; printf "[core]\\n" >c/config', 'mkdir d/.GIT'].join('; '));
	assert.deepEqual(told, ['plant repository a/.git', 'plant repository b/.git', 'plant repository c', 'plant repository d/.GIT']);
	for (const name of ['a', 'b/.git', 'c', 'd/.GIT']) assert.equal(ctl('sandbox', 'quarantine', name, '--workspace', workspace).status, 0, name);
	assert.equal(ctl('sandbox', 'repositories', '--workspace', workspace).stdout, '');
});

test('configuration and hooks of a repository that was there are told when they change; work in it is not', async () => {
	for (const name of ['one', 'two', 'three']) git('init', '-q', name);
	await sleep(100); // times of files are as fine as the kernel's tick, 10 ms at most
	assert.deepEqual((await run('cd one; echo x >f; git add f; git commit -qm f; git status; git log; cat .git/config')).told, []);
	assert.deepEqual((await run('git -C one config core.fsmonitor evil; echo evil >two/.git/hooks/pre-commit.sample; touch three/f')).told, ['plant repository one/.git', 'plant repository two/.git']);
});

test('a repository that is put together by several commands is told', async () => {
	assert.deepEqual((await run('mkdir -p x/objects x/refs; echo "[core]" >x/config')).told, []);
	assert.deepEqual((await run('echo "ref: refs/heads/x" >x/HEAD')).told, ['plant repository x']);
	assert.deepEqual((await run('mkdir y; mv x/HEAD y; mv x/config y')).told, ['plant repository y']);
});

test('more than can be told at once is told to be so', async () => {
	const { told } = await run('for i in $(seq 70); do mkdir $i; touch $i/.git; done');
	assert.equal(told.filter((t) => t.startsWith('plant repository ')).length, 64);
	assert.equal(told.filter((t) => t.startsWith('leave unsearched ')).length, 1);
});

test('the workspace may not be written: nothing is looked for', async () => {
	git('init', '-q', 'sub');
	const { sessionId, turnId } = await submit(w.rt, wants('shell', { command: 'ls' }), { options: { sandbox: 'read_only' } });
	await ended(w.rt, sessionId, turnId);
	assert.deepEqual(await facts(w.rt, sessionId, 'sandbox.violation'), []);
});

test('file tools make and change no repository inside the workspace, also not by several files at once or through a link', async () => {
	git('init', '-q', 'sub');
	mkdirSync(join(workspace, 'bare/objects'), { recursive: true });
	writeFileSync(join(workspace, 'bare/HEAD'), 'ref: refs/heads/x\n');
	execFileSync('ln', ['-s', 'sub/.git', join(workspace, 'link')]);
	if (process.getuid() === 0) execFileSync('chown', ['-hR', `${OWNER}:${OWNER}`, workspace]);
	const add = (...names) => `*** Begin Patch\n${names.map((n) => `*** Add File: ${n}\n+x\n`).join('')}*** End Patch\n`;
	const attacks = [
		['write_file', { path: 'sub/.git/config', content: '[core]\n' }],
		['write_file', { path: 'new/.git/config', content: 'x', createDirs: true }],
		['write_file', { path: 'sub/.GIT/x', content: 'x', createDirs: true }],
		['write_file', { path: 'link/config', content: '[core]\n' }],
		['write_file', { path: 'link/hooks/pre-commit', content: 'x' }],
		['write_file', { path: 'bare/config', content: 'x' }],
		['write_file', { path: 'bare/hooks/pre-commit', content: 'x', createDirs: true }],
		['apply_patch', { patch: add('made/HEAD', 'made/config') }],
		['edit_file', { path: 'sub/.git/config', oldText: '[core]', newText: '[core]\nfsmonitor=evil' }],
	];
	const before = execFileSync('find', ['.', '-not', '-path', './.git/*', '-type', 'f', '-exec', 'sha256sum', '{}', '+'], { cwd: workspace, encoding: 'utf8' }).split('\n').sort();
	for (const [name, args] of attacks) {
		const { end } = await call(name, args);
		assert.deepEqual([end.type, end.payload.errorCategory], ['tool.failed', 'protected'], `${name} ${JSON.stringify(args)}: ${JSON.stringify(end.payload)}`);
	}
	const after = execFileSync('find', ['.', '-not', '-path', './.git/*', '-type', 'f', '-exec', 'sha256sum', '{}', '+'], { cwd: workspace, encoding: 'utf8' }).split('\n').sort();
	assert.deepEqual(after, before);
	const fine = await call('write_file', { path: 'src/config/HEAD', content: 'x', createDirs: true });
	assert.equal(fine.end.type, 'tool.result', 'a name alone makes no repository');
});

test('quarantine refuses what is no repository, leads outside or goes through a link', () => {
	mkdirSync(join(folder, 'outside/.git'), { recursive: true });
	writeFileSync(join(folder, 'outside/.git/HEAD'), '');
	execFileSync('ln', ['-s', '../outside', join(workspace, 'link')]);
	mkdirSync(join(workspace, 'plain'));
	for (const name of ['plain', 'missing', '../outside/.git', 'link/.git', join(folder, 'outside/.git')]) {
		const { status, stderr } = ctl('sandbox', 'quarantine', name, '--workspace', workspace);
		assert.deepEqual([status, /agentctl: /.test(stderr)], [1, true], `${name}: ${stderr}`);
	}
	assert.ok(existsSync(join(folder, 'outside/.git/HEAD')));
});
