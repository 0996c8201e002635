// What people do all day works inside workspace_write, started by root and by anybody: git, npm, CMake, Python with processes of its own, a compiler, a
// browser. Nothing of it is given more than the profile gives.
// ci: release only
import './isolate.mjs';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backends, fill, launch, makeWorld } from './world.mjs';

const LIMITS = 'limits=512,3072,1024,4096,1024'; // of real work: MiB where sizes

function work(world, script, options = {}) {
	const shown = launch(world, 'workspace_write', ['/bin/bash', '--noprofile', '--norc', '-ec', script], { ...options, words: [LIMITS, ...(options.words ?? [])] });
	assert.equal(shown.unavailable, null);
	assert.equal(shown.failed, null);
	assert.equal(shown.status, 0, `${script}\n${shown.out.join('\n')}\n${shown.err.join('\n')}\n${shown.stderr}`);
	return shown;
}

const has = (program) => ['/usr/bin', '/usr/local/bin', '/bin'].map((folder) => join(folder, program)).find(existsSync);

/** A world whose workspace has these files beside the usual ones. */
async function workspaceWith(backend, files) {
	const world = await makeWorld(backend);
	fill(world.workspace, files);
	world.give(world.workspace);
	return world;
}

const GIT = 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b';

const CMAKE = {
	'hello/CMakeLists.txt': 'cmake_minimum_required(VERSION 3.20)\nproject(hello C)\nenable_testing()\nadd_library(words words.c)\nadd_executable(hello main.c)\n' +
		'target_link_libraries(hello words)\nadd_test(NAME hello COMMAND hello)\n',
	'hello/words.c': 'const char *words(void) { return "built inside"; }\n',
	'hello/main.c': '#include <stdio.h>\nconst char *words(void);\nint main(void) { puts(words()); return 0; }\n',
};

const NPM = {
	'app/package.json': JSON.stringify({ name: 'app', version: '1.0.0', dependencies: { 'left-word': 'file:../left-word' }, scripts: { test: 'node main.js' } }),
	'app/package-lock.json': JSON.stringify({ name: 'app', version: '1.0.0', lockfileVersion: 3, requires: true, packages: {
		'': { name: 'app', version: '1.0.0', dependencies: { 'left-word': 'file:../left-word' } }, '../left-word': { version: '1.0.0' },
		'node_modules/left-word': { resolved: '../left-word', link: true } } }),
	'app/main.js': 'console.log(require("left-word"));\n',
	'left-word/package.json': JSON.stringify({ name: 'left-word', version: '1.0.0', main: 'index.js' }),
	'left-word/index.js': 'module.exports = "installed inside";\n',
};

const PYTHON = {
	'square.py': 'import multiprocessing as m\ndef square(x):\n    return x * x\nif __name__ == "__main__":\n    with m.Pool(3) as p:\n        print(sum(p.map(square, range(100))))\n' +
		'    q = m.Queue()\n    c = m.Process(target=q.put, args=("sent",))\n    c.start()\n    print(q.get())\n    c.join()\n',
};

for (const backend of backends) {
	test(`${backend.name}: git makes, clones and commits; hooks and configuration stay as they are`, async () => {
		const world = await workspaceWith(backend, {});
		const shown = work(world, `${GIT}
			git init -q -b main first && cd first && echo one > file && git add file && git commit -qm one && cd ..
			git clone -q first second && cd second && echo two >> file && git commit -qam two && git log --format=%s | tr '\\n' ' '
			git -C ../first fetch -q ../second main && git -C ../first merge -q FETCH_HEAD && git stash list && git status --short`);
		assert.ok(shown.out.join('').includes('two one'), shown.out.join('\n'));
		assert.equal(readFileSync(join(world.workspace, 'first/file'), 'utf8'), 'one\ntwo\n');
		assert.equal(statSync(join(world.workspace, 'first/file')).uid, 1000, 'files belong to the owner of the workspace');
	});

	test(`${backend.name}: git works in a repository that was there before`, async () => {
		const world = await workspaceWith(backend, {});
		work(world, `${GIT}; git init -q -b main old && cd old && echo one > file && git add file && git commit -qm one`);
		const inner = { ...world, workspace: join(world.workspace, 'old') };
		const shown = work(inner, `${GIT}
			echo two >> file && git commit -qam two && git checkout -qb side && echo three >> file && git commit -qam three
			git checkout -q main && git merge -q side && git tag v1 && git gc -q && git log --format=%s | tr '\\n' ' '
			if git config user.name other 2>/dev/null; then echo CONFIGURED; fi
			if touch .git/hooks/pre-commit 2>/dev/null; then echo HOOKED; fi`);
		assert.match(shown.out.join(' '), /three two one/);
		assert.doesNotMatch(shown.out.join(' '), /CONFIGURED|HOOKED/);
	});

	test(`${backend.name}: npm ci without a network`, { skip: !has('npm') && 'no npm in /usr' }, async () => {
		const world = await workspaceWith(backend, NPM);
		const shown = work(world, 'cd app && npm ci --offline --no-audit --no-fund >/dev/null && npm test --silent');
		assert.match(shown.out.join(' '), /installed inside/);
	});

	test(`${backend.name}: CMake configures, builds in parallel and tests`, { skip: !has('cmake') && 'no cmake in /usr' }, async () => {
		const world = await workspaceWith(backend, CMAKE);
		const shown = work(world, 'cmake -S hello -B out >/dev/null && cmake --build out -j2 >/dev/null && (cd out && ctest --output-on-failure >/dev/null) && out/hello');
		assert.match(shown.out.join(' '), /built inside/);
	});

	test(`${backend.name}: a compiler's program runs, from the workspace and from /tmp`, { skip: !has('gcc') && 'no gcc in /usr' }, async () => {
		const world = await workspaceWith(backend, { 'x.c': CMAKE['hello/main.c'] + CMAKE['hello/words.c'].replace('const', ' const') });
		const shown = work(world, 'gcc -O2 -g x.c -o x && ./x && cp x /tmp/x && /tmp/x');
		assert.deepEqual(shown.out, ['built inside', 'built inside']);
	});

	test(`${backend.name}: a Python environment, pools and queues of processes`, { skip: !has('python3') && 'no python3 in /usr' }, async () => {
		const world = await workspaceWith(backend, PYTHON);
		const shown = work(world, '/usr/bin/python3 -m venv --without-pip env && env/bin/python square.py');
		assert.deepEqual(shown.out, ['328350', 'sent']);
	});

	test(`${backend.name}: node with workers, a server and a client on the loopback inside`, async () => {
		const world = await workspaceWith(backend, { 'talk.mjs': `import http from 'node:http'; import { Worker } from 'node:worker_threads'; import { spawnSync } from 'node:child_process';
			const server = http.createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', async () => {
				console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
				console.log(spawnSync('/bin/echo', ['spawned'], { encoding: 'utf8' }).stdout.trim());
				new Worker("console.log('worked')", { eval: true }).on('exit', () => server.close());
			});` });
		const shown = work(world, 'node talk.mjs');
		assert.deepEqual(shown.out, ['served', 'spawned', 'worked']);
	});

	const browser = has('chromium') ?? has('google-chrome') ?? has('chromium-browser');
	test(`${backend.name}: a browser takes a picture`, { skip: !browser && 'no browser on this machine' }, async () => {
		const world = await workspaceWith(backend, { 'page.html': '<h1>inside</h1>' });
		// Its own sandbox needs what this one forbids; it is inside this one anyway.
		work(world, `${browser} --headless --no-sandbox --disable-gpu --screenshot=page.png --window-size=400,300 page.html`);
		assert.ok(statSync(join(world.workspace, 'page.png')).size > 500);
	});

	test(`${backend.name}: a pager, an editor and a question end at once`, async () => {
		const world = await workspaceWith(backend, {});
		const started = Date.now();
		work(world, `${GIT}; git init -q q && cd q && git commit -q --allow-empty -m one && git log && git commit --amend -q --allow-empty && read -r answer || echo nobody answers`);
		assert.ok(Date.now() - started < 20000);
	});
}
