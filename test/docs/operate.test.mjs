// docs/operate.md, as it stands: each marked block is run with bash against a live store with work in it; what is restored elsewhere has
// to be verified clean and to show the same sessions. And what the page says about log lines, codes and settings has to exist.
// ci: release only
// ci: first
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../lib/port.mjs';
import { bin, newFolder, ok, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const self = fileURLToPath(import.meta.url);
const root = resolve(self, '../../..');
const page = readFileSync(join(root, 'docs/operate.md'), 'utf8');
const server = process.env.AR_TEST_POSTGRES;
const pgBin = execFileSync('bash', ['-c', "dirname \"$(ls -d /usr/lib/postgresql/*/bin/pg_ctl | sort -V | tail -n 1)\""], { encoding: 'utf8' }).trim();
const ran = new Set();
const outer = { skip: server ? 'without a server' : false };
const needsServer = { skip: server ? false : 'needs a server' };
let model;

before(async () => {
	model = await startModel();
});

function block(name) {
	const found = new RegExp(`<!-- run: ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(page);
	assert.ok(found, `the page has a block ${name}`);
	ran.add(name);
	return found[1];
}

// Runs a block; whatever it starts in the background is ended with the test, by the pid that agentd leaves in its folder.
async function run(name, names, { cwd = root, as } = {}) {
	const env = { PATH: `${bin}:${pgBin}:${process.env.PATH}`, HOME: '/nonexistent', OPENAI_BASE_URL: model.url, ...names };
	const command = as && process.getuid() === 0 ? ['runuser', '-u', as, '--', 'bash'] : ['bash'];
	const child = spawn(command[0], [...command.slice(1), '-euc', block(name)], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
	assert.equal(await new Promise((done) => child.on('exit', done)), 0, name);
}

const started = [];
after(() => {
	for (const end of started.reverse()) end();
});

const pidIn = (folder) => Number(readFileSync(join(folder, 'agentd.pid'), 'utf8'));

// An agentd that a block started: ready, reached over its socket.
async function daemon(folder) {
	const ready = join(folder, 'ready');
	const line = await waitFor(() => readFileSync(ready, { flag: 'a+', encoding: 'utf8' }).split('\n')[0], `agentd in ${folder}`);
	const pid = pidIn(folder);
	started.push(() => {
		try {
			process.kill(pid, 'SIGKILL');
		} catch { /* it has ended */ }
	});
	const { socket } = JSON.parse(line);
	return { pid, agent: new http.Agent(), where: () => ({ socketPath: socket }), socket, folder };
}

// A daemon with ended sessions, and one whose turn is still open.
async function busy(options) {
	const rt = await startAgentd({ model, ...options });
	const ended = [];
	for (let i = 0; i < 5; i++) ended.push((await submit(rt, `[[say answer ${i}]]`)).sessionId);
	const shown = async () => Promise.all(ended.map((sessionId) => ok(rt, 'get_session', { sessionId })));
	await waitFor(async () => (await shown()).every((s) => s.status === 'idle'), 'the answers');
	const { sessionId: open } = await submit(rt, '[[tokens 1500]] [[delay 2]]');
	await waitFor(async () => (await ok(rt, 'get_session', { sessionId: open })).status === 'running', 'a turn at work');
	return { rt, ended, open, before: await shown() };
}

async function expectSame(rt, { ended, open, before: wanted }) {
	for (let i = 0; i < ended.length; i++) assert.deepEqual(await ok(rt, 'get_session', { sessionId: ended[i] }), wanted[i]);
	await waitFor(async () => (await ok(rt, 'get_session', { sessionId: open })).status === 'idle', 'the open turn goes on', 60000);
	assert.deepEqual((await ok(rt, 'get_session', { sessionId: open })).tasks.map((task) => task.status), ['completed']);
}

function writable() {
	const folder = newFolder();
	chmodSync(folder, 0o777); // blocks may run as the user of the server
	return folder;
}

test('check, start', outer, async () => {
	const DATA = newFolder();
	await run('check', { DATA });
	await run('start', { DATA });
	await daemon(DATA);
});

test('install', outer, async () => {
	const PREFIX = newFolder();
	await run('install', { PREFIX });
	assert.deepEqual(readdirSync(join(PREFIX, 'bin')).toSorted(), ['agent-audit', 'agent-files', 'agent-init', 'agent-proxy', 'agent-shim', 'agentctl', 'agentd']);
	const check = (folder) => JSON.parse(execFileSync('sh', ['-c', '"$0" sandbox check --json || true', join(folder, 'agentctl')], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } }));
	assert.deepEqual(check(join(PREFIX, 'bin')), check(bin), 'it can do what the build can');
	assert.equal(check(join(PREFIX, 'bin')).cause, undefined);
	assert.match(execFileSync(join(PREFIX, 'bin/agentd'), ['--version'], { encoding: 'utf8' }), /^agentd /);
});

test('a live SQLite store is backed up, restored elsewhere, verified, and is the same', outer, async () => {
	const world = await busy({ env: { AGENTD_STORE: '' } });
	const BACKUP = newFolder();
	await run('backup-sqlite', { DATA: join(world.rt.dataDir, 'data'), BACKUP });
	await world.rt.kill9();
	const RESTORED = newFolder();
	await run('restore-sqlite', { RESTORED, BACKUP });
	const rt = await daemon(join(RESTORED, 'sqlite'));
	await run('verify', { RESTORED });
	await expectSame(rt, world);
	await run('verify', { RESTORED });
});

test('PostgreSQL: the blocks that need a server', { ...outer, timeout: 300000 }, async () => {
	const { NODE_TEST_CONTEXT: _, ...outside } = process.env; // the inner run reports as one of its own
	const { stdout } = await promisify(execFile)(join(root, 'test/lib/postgres'), ['run', process.execPath, '--test', '--test-reporter=tap', self],
		{ env: outside, maxBuffer: 1 << 24 }).catch((error) => assert.fail(error.stdout + error.stderr));
	for (const name of ['dump', 'base backup', 'cluster']) assert.match(stdout, new RegExp(`ok \\d+ - ${name}:(?!.*SKIP)`), stdout);
	for (const name of stdout.matchAll(/^# ran (\S+)$/gm)) ran.add(name[1]);
});

function note(t, ...names) {
	for (const name of names) t.diagnostic(`ran ${name}`);
}

test('dump: a live PostgreSQL store is dumped, restored into a new database, verified, and is the same', needsServer, async (t) => {
	execFileSync('psql', ['-q', '-d', `${server} dbname=postgres`, '-c', 'CREATE DATABASE live']);
	const STORE = `${server} dbname=live`;
	const world = await busy({ env: { AGENTD_STORE: STORE } });
	const BACKUP = newFolder();
	await run('backup-postgres', { STORE, BACKUP });
	await world.rt.kill9();
	const RESTORED = newFolder();
	await run('restore-postgres', { SERVER: server, RESTORED, BACKUP });
	const rt = await daemon(join(RESTORED, 'postgres'));
	await run('verify', { RESTORED });
	await expectSame(rt, world);
	note(t, 'backup-postgres', 'restore-postgres');
});

test('base backup: the whole server is copied while it works, started beside it, and the sessions are there', needsServer, async (t) => {
	execFileSync('psql', ['-q', '-d', `${server} dbname=postgres`, '-c', 'CREATE DATABASE whole']);
	const world = await busy({ env: { AGENTD_STORE: `${server} dbname=whole` } });
	const BACKUP = writable();
	await run('backup-base', { SERVER: server, BACKUP }, { as: 'postgres', cwd: '/' });
	await world.rt.kill9();
	t.after(() => process.kill(Number(readFileSync(join(BACKUP, 'base/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT'));
	await run('restore-base', { BACKUP }, { as: 'postgres', cwd: '/' });
	const rt = await startAgentd({ model, env: { AGENTD_STORE: `${server} port=5433 dbname=whole` } });
	await run('verify', { RESTORED: rt.dataDir });
	await expectSame(rt, world);
	await rt.stop();
	note(t, 'backup-base', 'restore-base');
});

test('cluster: two nodes share the sessions, and each verifies its own', needsServer, async (t) => {
	const cwd = newFolder();
	const address = async () => `127.0.0.1:${await freePort()}`;
	await run('cluster-certificates', {}, { cwd });
	await run('cluster', { SERVER: server, STORE: `${server} dbname=agentd`, NODE_A: await address(), NODE_B: await address() }, { cwd });
	const nodes = await Promise.all(['node-a', 'node-b'].map((name) => daemon(join(cwd, name))));
	const owned = async () => {
		const { text } = await get(nodes[0], '/v1/nodes');
		return JSON.parse(text).nodes.map((n) => [n.nodeId, n.partitions]);
	};
	await waitFor(async () => (await owned()).length === 2 && (await owned()).every(([, n]) => n > 400), 'both to have their share', 30000);
	const ids = [];
	for (let i = 0; i < 12; i++) ids.push((await submit(nodes[i % 2], 'hello')).sessionId);
	for (const sessionId of ids) await waitFor(async () => (await ok(nodes[0], 'get_session', { sessionId })).status === 'idle', 'the answer');
	let verified = 0, elsewhere = 0;
	await run('verify', { RESTORED: cwd });
	for (const { folder } of nodes) {
		const report = JSON.parse(execFileSync(join(bin, 'agentctl'), ['--data-dir', folder, 'verify', '--all', '--json'], { encoding: 'utf8' }));
		verified += report.sessions.length;
		elsewhere += report.elsewhere;
	}
	assert.deepEqual([verified, elsewhere], [12, 12]);
	await run('nodes', {}, { cwd });
	await run('upgrade', {}, { cwd });
	await waitFor(() => pidIn(join(cwd, 'node-a')) !== nodes[0].pid, 'another process');
	const again = await daemon(join(cwd, 'node-a'));
	for (const sessionId of ids) assert.equal((await ok(again, 'get_session', { sessionId })).status, 'idle');
	note(t, 'cluster-certificates', 'cluster', 'nodes', 'upgrade');
});

function get(rt, path) {
	return new Promise((done, fail) => {
		http.get({ ...rt.where(), path }, (res) => {
			let text = '';
			res.on('data', (piece) => (text += piece)).on('end', () => done({ text }));
		}).on('error', fail);
	});
}

test('every block of the page was run', outer, () => {
	const all = [...page.matchAll(/<!-- run: (\S+) -->/g)].map((m) => m[1]);
	assert.equal(all.length, [...page.matchAll(/^```sh$/gm)].length, 'no block without a name');
	assert.deepEqual([...ran].toSorted(), all.toSorted());
});

test('log lines, codes and settings that the page names exist', () => {
	const sources = execFileSync('git', ['-C', root, 'grep', '-hE', '-A2', 'ar_log_line|report\\(|AR_REASON_'], { encoding: 'utf8' });
	const [, lines, codes] = page.split('## Messages and what to do')[1].split(/^In .*:$/m);
	for (const [, line] of lines.matchAll(/^\| `([^`]+)` \|/gm)) assert.ok(sources.includes(`"${line}"`), line);
	const errors = readFileSync(join(root, 'catalog/errors.cat'), 'utf8');
	for (const [, code] of codes.matchAll(/^\| `([^`]+)` \|/gm)) assert.match(errors, new RegExp(`^error \\d+ ${code} `, 'm'));
	const settings = readFileSync(join(root, 'catalog/config.cat'), 'utf8');
	for (const [, key] of page.matchAll(/`((?:cluster|node|recovery)\.(?!signal)\w+)`/g)) assert.match(settings, new RegExp(`^config ${key} `, 'm'));
});
