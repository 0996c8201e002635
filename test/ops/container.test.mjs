// ci: release only
// The container file, built and run: a base made by debootstrap stands in for the image that it names, since no registry can be relied on. It takes
// many minutes and packages from Debian, so it runs only when it is asked for:  AR_CONTAINER=1 tools/run-tests --only node test/ops/container
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newFolder, startModel } from '../lib/runtime.mjs';
import { has } from './scrape.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const wanted = process.env.AR_CONTAINER === '1';
const skip = !wanted ? 'it takes long; AR_CONTAINER=1 asks for it' : !(process.getuid() === 0 && has('buildah') && has('debootstrap')) && 'needs root, buildah and debootstrap';
const limits = { skip, timeout: 3_600_000 };
const run = promisify(execFile);
let folder, model, container;

const order = (words) => ['--root', join(folder, 'root'), '--runroot', join(folder, 'runroot'), ...words];

/** What buildah prints, in a store of its own. */
const buildah = async (...words) => (await run('buildah', order(words), { maxBuffer: 1 << 28 })).stdout.trim();

/** The arguments of a command inside. */
const inside = (...words) => order(['run', '--isolation', 'chroot', container, '--', ...words]);

// All in one go, as what is inside has volumes of its own: agentd as the image starts it, the image's own check once we have looked, a turn, the end.
const life = `env OPENAI_BASE_URL="$1" sh -c "exec $2" &
pid=$!; control=/run/agentd/agentd.sock
read -r go && eval "$3" && agentctl --socket $control run "[[say hello from the container]]" && agentctl --socket $control stop
status=$?; kill $pid 2>/dev/null; wait; exit $status`;
const quoted = (words) => words.map((word) => `'${word}'`).join(' ');

before(async () => {
	if (skip) return;
	folder = newFolder();
	model = await startModel();
}, limits);

after(async () => {
	if (!folder) return;
	await buildah('rm', '--all').catch(() => {});
	await buildah('rmi', '--all', '--force').catch(() => {});
	rmSync(folder, { recursive: true, force: true });
});

test('the image is built from the container file as it stands', limits, async () => {
	const [, from] = /^FROM (\S+)$/m.exec(readFileSync(join(root, 'packaging/Containerfile'), 'utf8'));
	const base = join(folder, 'base');
	await run('debootstrap', ['--variant=minbase', 'bookworm', base], { maxBuffer: 1 << 28 });
	const empty = await buildah('from', 'scratch');
	await buildah('add', '--quiet', empty, base, '/');
	await buildah('commit', '--quiet', '--rm', empty, `localhost/${from}`);
	rmSync(base, { recursive: true });
	const context = join(folder, 'context');
	mkdirSync(context);
	execFileSync('bash', ['-c', 'git ls-files -z | tar --null -T - -c | tar -x -C "$1"', 'bash', context], { cwd: root });
	await buildah('bud', '--isolation', 'chroot', '--pull-never', '--tag', 'agentd', '--file', join(context, 'packaging/Containerfile'), context);
	container = await buildah('from', '--pull-never', 'localhost/agentd');
});

test('agentd in it is ready, healthy, and comes to an answer', limits, async () => {
	assert.match((await run('buildah', inside('agentctl', 'version'))).stdout, /^agentctl \d/);
	const config = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/agentd')).OCIv1.config;
	assert.equal(config.User, 'agentd');
	const words = [...config.Entrypoint, ...config.Cmd.map((word) => (word === 'off' ? '127.0.0.1:0' : word))];
	const [, check] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync(join(root, 'packaging/Containerfile'), 'utf8'));
	const child = spawn('buildah', inside('sh', '-c', life, 'sh', model.url, quoted(words), quoted(JSON.parse(check))), { stdio: ['pipe', 'pipe', 'inherit'] });
	const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
	const { value: ready } = await lines.next();
	assert.equal((await fetch(`http://${JSON.parse(ready).listen}/health`)).status, 200);
	child.stdin.end('go\n');
	let out = '';
	for await (const line of { [Symbol.asyncIterator]: () => lines }) out += `${line}\n`;
	assert.match(out, /hello from the container/);
	assert.equal(child.exitCode ?? (await new Promise((done) => child.on('exit', done))), 0);
});
