// What is said of a boundary is so inside, what it must not be is refused before anything runs, and nothing of a command is left after it.
// The limits of the attempts are too tight for sanitized helpers.
// ci: release only
// ci: alone
import './isolate.mjs';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { attack, backends, fill, isRoot, launch, makeWorld } from './world.mjs';

const sh = (script) => ['/bin/sh', '-c', script];
const NAMESPACES = ['pid', 'net', 'mnt', 'ipc', 'uts'];

/** Lines `key value` that a script printed. */
const told = (shown) => Object.fromEntries(shown.out.map((line) => line.split(/ (.*)/s).slice(0, 2)));

const LOOK = `echo uid $(id -u); echo cwd $(pwd); for n in ${NAMESPACES.join(' ')}; do echo $n $(readlink /proc/self/ns/$n); done;
	echo nnp $(sed -n 's/NoNewPrivs:\\s*//p' /proc/self/status); echo caps $(sed -n 's/CapEff:\\s*//p' /proc/self/status);
	echo filter $(sed -n 's/Seccomp:\\s*//p' /proc/self/status); echo files $(ulimit -n); echo tmp $(stat -f -c %b*%S /tmp); echo home $HOME; echo term "$TERM"`;

for (const backend of backends) {
	for (const profile of ['read_only', 'workspace_write']) {
		test(`SB-01 ${backend.name} ${profile}: what was read back is what is inside`, async () => {
			const world = await makeWorld(backend);
			const shown = launch(world, profile, sh(LOOK), { words: ['limits=64,512,8,200,16'] });
			assert.ok(shown.ready, shown.text + shown.stderr);
			const inside = told(shown);
			assert.equal(Number(inside.uid), shown.ready.uid);
			assert.equal(inside.cwd, world.workspace);
			assert.equal(shown.ready.mode, profile);
			assert.equal(shown.ready.network, 'none');
			assert.deepEqual([inside.nnp, inside.filter, BigInt(`0x${inside.caps}`)], ['1', '2', 0n]);
			assert.deepEqual([shown.ready.noNewPrivs, BigInt(`0x${shown.ready.capabilities}`)], [true, 0n]);
			assert.equal(inside.files, '200');
			assert.equal(inside.tmp, '4096*4096', '/tmp has the 16 MiB that were said');
			for (const name of NAMESPACES) {
				assert.equal(inside[name], `${name}:[${shown.ready.namespaces[name]}]`);
				assert.notEqual(inside[name], readlinkSync(`/proc/self/ns/${name}`), `${name} is the host's`);
			}
			assert.ok(shown.ready.landlock.isEnforced);
		});
	}

	test(`SB-01 ${backend.name}: every root that is said can be read, and written only where that is said`, async () => {
		const world = await makeWorld(backend);
		const first = launch(world, 'workspace_write', ['/bin/true']);
		const { readRoots, writeRoots } = first.ready;
		const shown = launch(world, 'workspace_write', sh([...readRoots.map((path) => `test -r ${path} && ! test -w ${path} || echo wrong ${path}`),
			...writeRoots.map((path) => `test -w ${path} || echo unwritable ${path}`)].join('\n')));
		assert.deepEqual(shown.out, []);
		assert.ok(writeRoots.includes(world.workspace));
		assert.ok(readRoots.length > 5);
	});

	test(`SB-04 ${backend.name}: the environment is made anew; what would steer loaders and shells is refused`, async () => {
		const world = await makeWorld(backend);
		const shown = launch(world, 'workspace_write', ['/usr/bin/env'], { words: ['env=WANTED=1'] });
		const names = shown.out.map((line) => line.split('=')[0]);
		assert.ok(names.includes('WANTED') && names.includes('PATH') && names.includes('HOME'));
		assert.deepEqual(names.filter((name) => /^(HOST_SECRET|LD_|BASH_ENV|SSH_AUTH_SOCK)/.test(name)), []);
		for (const name of ['LD_PRELOAD=/x', 'BASH_ENV=/x', 'GIT_SSH_COMMAND=x', 'NODE_OPTIONS=--require=/x', 'PYTHONSTARTUP=/x', 'http_proxy=http://x', 'ENV=/x', 'BASH_FUNC_ls%%=() { :; }']) {
			const refused = launch(world, 'workspace_write', ['/bin/true'], { words: [`env=${name}`] });
			assert.match(refused.unavailable ?? '', new RegExp(name.split('=')[0].replace('%%', '')), `${name} was let through`);
			assert.equal(refused.ready, null);
		}
	});

	test(`${backend.name}: a workspace that would show too much is refused`, async () => {
		const world = await makeWorld(backend);
		for (const workspace of ['/', '/usr', '/etc', '/usr/bin/..', world.base, world.state, join(world.base, 'nowhere')]) {
			const shown = launch({ ...world, workspace }, 'workspace_write', ['/bin/true']);
			assert.ok(shown.unavailable, `${workspace} was taken: ${shown.text}`);
			assert.equal(shown.ready, null);
		}
		const outside = launch(world, 'workspace_write', ['/bin/true'], { words: [`cwd=${world.base}/outside`] });
		assert.match(outside.unavailable ?? '', /not visible|does not exist/);
	});

	test(`${backend.name}: over a link to a workspace nothing runs; by its real path its protected paths hold`, async () => {
		const world = await makeWorld(backend);
		const link = join(world.base, 'link');
		const attempt = sh('pwd -P; echo x > .git/hooks/pre-commit; mv .git .git2; echo y > made && cat made');
		symlinkSync(world.workspace, link);
		assert.deepEqual(launch({ ...world, workspace: link }, 'workspace_write', attempt).out, []);
		assert.equal(existsSync(join(world.workspace, 'made')), false);
		assert.deepEqual(launch(world, 'workspace_write', attempt).out, [world.workspace, 'y']);
		assert.equal(readFileSync(join(world.workspace, '.git/hooks/pre-commit'), 'utf8'), '#!/bin/sh\n');
	});

	test(`${backend.name}: a worktree's .git file cannot be pointed elsewhere, its repository is only read`, async () => {
		const world = await makeWorld(backend);
		const gitdir = join(world.base, 'main/.git/worktrees/ws');
		fill(join(world.base, 'main'), { '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '', '.git/hooks/pre-commit': '', '.git/worktrees/ws/HEAD': 'ref: refs/heads/side\n',
			'.git/worktrees/ws/commondir': '../..\n', '.git/worktrees/ws/gitdir': `${world.workspace}/.git\n` });
		renameSync(join(world.workspace, '.git'), join(world.base, 'old-git'));
		writeFileSync(join(world.workspace, '.git'), `gitdir: ${gitdir}\n`);
		world.give(join(world.base, 'main'));
		world.give(world.workspace);
		const shown = launch(world, 'workspace_write', sh(`echo 'gitdir: evil' > .git; rm -f .git; mv .git g; echo x > ${gitdir}/commondir; echo x > ${world.base}/main/.git/hooks/pre-commit; cat .git`));
		assert.deepEqual(shown.out, [`gitdir: ${gitdir}`]);
		assert.equal(readFileSync(join(gitdir, 'commondir'), 'utf8'), '../..\n');
	});

	test(`${backend.name}: a planted .git file does not make anything outside visible`, async () => {
		const world = await makeWorld(backend);
		renameSync(join(world.workspace, '.git'), join(world.base, 'old-git'));
		writeFileSync(join(world.workspace, '.git'), `gitdir: ${world.base}/outside\n`);
		world.give(world.workspace);
		const shown = launch(world, 'workspace_write', sh(`cat ${world.base}/outside/secret; ls ${world.base}/outside`));
		assert.deepEqual(shown.out, []);
	});

	test(`${backend.name}: links of the workspace decide nothing of the view`, async () => {
		const world = await makeWorld(backend);
		for (const name of ['.husky', '.vscode']) {
			renameSync(join(world.workspace, name), join(world.workspace, `was${name}`));
			symlinkSync(join(world.base, 'outside'), join(world.workspace, name));
		}
		const shown = launch(world, 'workspace_write', sh(`cat .husky/secret .vscode/secret; echo x > .husky/made; cat ${world.base}/outside/secret`));
		assert.ok(shown.ready, shown.text);
		assert.deepEqual(shown.out, []);
		assert.deepEqual(readdirSync(join(world.base, 'outside')).filter((name) => name === 'made'), []);
	});

	test(`${backend.name}: names and words with every kind of byte are what they are, and nothing more`, async () => {
		const world = await makeWorld(backend);
		const workspace = join(world.base, 'w s\\\\x41 \'q" é\nuid 0\nend');
		renameSync(world.workspace, workspace);
		const word = 'x\nuid 0\nprotect \\\\x2f\nend\n\u00e9\u{1f600}\\t\x01';
		const shown = launch({ ...world, workspace }, 'workspace_write', ['/bin/sh', '-c', 'id -u; printf %s "$1" | od -An -c -w9999; echo x > .git/hooks/pre-commit; mv .git g; echo y > made && cat made', 'sh', word]);
		assert.ok(shown.ready, shown.text + shown.stderr);
		const expected = execFileSync('sh', ['-c', 'printf %s "$1" | od -An -c -w9999', 'sh', word], { encoding: 'utf8' }).trimEnd();
		assert.deepEqual(shown.out, [String(shown.ready.uid), expected, 'y']);
		assert.equal(readFileSync(join(workspace, '.git/hooks/pre-commit'), 'utf8'), '#!/bin/sh\n');
		assert.equal(readFileSync(join(workspace, 'made'), 'utf8'), 'y\n');
	});

	test(`${backend.name}: forty-one descendants in sessions of their own are gone with the command`, async () => {
		const world = await makeWorld(backend);
		const shown = launch(world, 'workspace_write', sh('for i in $(seq 41); do setsid sh -c "setsid sleep 98765 & exec sleep 98765" >/dev/null 2>&1 & done; sleep 0.5; echo started'));
		assert.deepEqual(shown.out, ['started']);
		assert.deepEqual(running('98765'), []);
	});

	test(`${backend.name}: on a terminal nothing can be typed into it`, async () => {
		const world = await makeWorld(backend);
		const shown = attack(world, 'workspace_write', ['open_tty', 'terminal_push', 'terminal_push_high', 'terminal_linux', 'terminal_discipline', 'host_session'], { words: ['tty=1'] });
		assert.ok(shown.ready, shown.text + shown.stderr);
		assert.deepEqual([...shown.results].filter(([name]) => name !== 'done'), [['open_tty', 'ok'], ['terminal_push', 'EPERM'], ['terminal_push_high', 'EPERM'], ['terminal_linux', 'EPERM'],
			['terminal_discipline', 'EPERM'], ['host_session', 'ESRCH']]);
	});
}

/** Processes whose command line has the word. */
function running(word) {
	return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map((pid) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
		} catch {
			return '';
		}
	}).filter((line) => line.includes(word));
}

test('root: a workspace of root, or of its group, is refused for writing, with what to do about it', { skip: !isRoot && 'needs root' }, async () => {
	const world = await makeWorld(backends[0]);
	chownSync(world.workspace, 0, 0);
	const shown = launch(world, 'workspace_write', ['/bin/true']);
	assert.match(shown.unavailable, /belongs to root; give the workspace to an unprivileged user \(chown\)/);
	assert.equal(shown.ready, null);
	const reader = launch(world, 'read_only', sh('cat plain; echo x > new'));
	assert.deepEqual(reader.out, ['plain']);
	chownSync(world.workspace, 1000, 0);
	assert.match(launch(world, 'workspace_write', ['/bin/true']).unavailable,
		/belongs to the group root; give the workspace to an unprivileged group \(chgrp\)/);
	assert.deepEqual(launch(world, 'read_only', sh('cat plain; echo x > new')).out, ['plain']);
});

test('root: files that a command makes belong to the owner of the workspace', { skip: !isRoot && 'needs root' }, async () => {
	const world = await makeWorld(backends[0]);
	launch(world, 'workspace_write', sh('echo x > made; mkdir -p a/b; ln -s made linked'));
	for (const name of ['made', 'a/b', 'linked']) assert.equal(lstatSync(join(world.workspace, name)).uid, 1000, name);
	assert.equal(execFileSync('find', [world.workspace, '-uid', '61777'], { encoding: 'utf8' }), '', 'nothing belongs to the id inside');
});
