// Secrets that commands use: read from memory by those that are given one, put in place by the proxy for the hosts that they are for, and nowhere else: not in an environment, not in words of
// a command, not on disk, not in what the runtime keeps or says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { filesUnder, planted } from '../lib/planted.mjs';
import { newFolder, ok, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const KEY = 'deploy/Key+7f3kQ9xLw2Zp0aVbN';
const TOKEN = 'tok3n-Zp0aVbN-of-the-service';
const { assertClean, scanDisk } = planted([KEY, TOKEN]);
const heard = [];
let w, workspace, port, server;

const ask = (args) => `[[tool shell ${JSON.stringify(args)}]]`;
const listen = (host) => new Promise((done) => {
	server = http.createServer((req, res) => {
		heard.push(req.headers.authorization ?? '');
		res.end('seen\n');
	}).listen(0, host, () => done(server.address().port));
});

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', [`${OWNER}:${OWNER}`, workspace]);
	port = await listen('127.0.0.2');
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'sandbox.profile': 'allowlisted_network',
		'sandbox.allow_hosts': `inside.test:${port}@127.0.0.2! other.test:${port}@127.0.0.2!`,
		command_secrets: [{ name: 'DEPLOY_KEY', value: KEY }, { name: 'RELEASE_KEY', value: KEY, commands: ['sh release', 'make'] },
			{ name: 'SERVICE_TOKEN', value: TOKEN, give: 'proxy', hosts: [`inside.test:${port}`] }] } });
});

after(() => server.close());

/** One command; what it wrote, and the facts. */
async function run(args) {
	const { sessionId, turnId } = await submit(w.rt, ask(typeof args === 'string' ? { command: args } : args));
	await ended(w.rt, sessionId, turnId);
	return read(sessionId);
}

async function read(sessionId) {
	const log = await facts(w.rt, sessionId);
	const [result] = log.filter((e) => e.type === 'tool.result');
	const { content } = await ok(w.rt, 'read_output', { outputRef: result.payload.outputRef, length: 1 << 20 });
	assertClean(content, 'the result');
	assertClean(JSON.stringify(log), 'a fact');
	for (const [outputRef] of JSON.stringify(log).matchAll(/blob_[a-z0-9]+_[a-z0-9]+/g)) assertClean((await ok(w.rt, 'read_output', { outputRef, length: 1 << 20 })).content, outputRef);
	return { content, log };
}

/** Everything that a process of this machine shows of itself without its memory being read. */
function scanProcesses() {
	for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
		for (const file of ['environ', 'cmdline']) {
			try {
				assertClean(readFileSync(`/proc/${pid}/${file}`), `/proc/${pid}/${file}`);
			} catch (e) {
				if (e.code === 'ERR_ASSERTION') throw e; // others are gone, or not ours to look at
			}
		}
	}
}

const digest = createHash('sha256').update(KEY).digest('hex');

test('a command reads its secret, by itself and by what it starts; nothing that can be looked at holds it, while it runs and after a kill -9', async () => {
	const { sessionId, turnId } = await submit(w.rt, ask({ command: `sha256sum <"$DEPLOY_KEY_FILE"; touch begun; while [ ! -e go ]; do sleep 0.05; done; sh -c 'sha256sum "$DEPLOY_KEY_FILE"'` }));
	await waitFor(() => existsSync(join(workspace, 'begun')), 'its begin', 30000);
	scanDisk(w.dataDir);
	scanProcesses();
	await w.rt.kill9();
	scanDisk(w.dataDir);
	w.rt = await w.again();
	writeFileSync(join(workspace, 'go'), '');
	await ended(w.rt, sessionId, turnId);
	const { content, log } = await read(sessionId);
	assert.equal(content.split(digest).length - 1, 2, content);
	assert.ok(log.some((e) => e.type === 'sandbox.applied'));
	scanDisk(w.dataDir);
	for (const file of filesUnder(workspace)) assertClean(readFileSync(file), file);
});

test('it cannot be changed, is gone for others, and is masked where a command writes it', async () => {
	const { content } = await run('env | grep -E "KEY|TOKEN" | sort; ls -l /proc/self/fd | grep -c memfd; (echo x >"$DEPLOY_KEY_FILE") 2>&1; (echo x >>"$DEPLOY_KEY_FILE") 2>&1; sha256sum <"$DEPLOY_KEY_FILE"; cat "$DEPLOY_KEY_FILE"');
	assert.match(content, /^DEPLOY_KEY_FILE=\/proc\/self\/fd\/40$/m);
	assert.match(content, /^SERVICE_TOKEN=art_secret_[0-9a-z]{26}$/m);
	assert.doesNotMatch(content, /RELEASE_KEY/, 'for other commands');
	assert.match(content, /^1$/m, 'one descriptor');
	assert.equal(content.match(/not permitted|Permission denied/g)?.length, 2, content);
	assert.ok(content.includes(digest));
});

test('a secret for some commands is given to those', async () => {
	writeFileSync(join(workspace, 'release'), 'env | grep -c _KEY_FILE; sha256sum <"$RELEASE_KEY_FILE"\n');
	assert.match((await run({ argv: ['sh', 'release'] })).content, new RegExp(`^2\\n${digest}`, 'm'));
	assert.match((await run('sh released || true; env | grep -c _KEY_FILE')).content, /^1$/m);
	assert.match((await run({ command: 'env | grep -c _KEY_FILE; env | grep -c SERVICE_TOKEN', sandbox: 'no_network' })).content, /^1\n0$/m, 'without the proxy there is no placeholder');
});

test('the proxy puts a token in place, for its host alone, and only there', async () => {
	const get = (host, header = 'Authorization: Bearer') => `curl -s -H "${header} $SERVICE_TOKEN" http://${host}:${port}/`;
	heard.length = 0;
	await run(`${get('inside.test')}; ${get('other.test')}; ${get('inside.test', 'X-Other:')}; curl -s -H "authorization: token $SERVICE_TOKEN, $SERVICE_TOKEN" http://inside.test:${port}/`);
	assert.equal(heard.length, 4);
	assert.equal(heard[0], `Bearer ${TOKEN}`);
	assert.match(heard[1], /^Bearer art_secret_[0-9a-z]{26}$/, 'another host gets what was sent');
	assert.equal(heard[2], '');
	assert.equal(heard[3], `token ${TOKEN}, ${TOKEN}`);
	scanDisk(w.dataDir);
});

test('through CONNECT nothing is read, so nothing is put in place', async () => {
	heard.length = 0;
	await run(`curl -s -p -H "Authorization: Bearer $SERVICE_TOKEN" http://inside.test:${port}/`);
	assert.match(heard[0], /^Bearer art_secret_/);
});

test('settings that could not be meant are refused at the start, without their value', async () => {
	const start = async (secret, more = {}) => {
		const rt = await startAgentd({ mayDie: true, config: { 'tools.workspace': workspace, command_secrets: [secret], ...more } });
		assert.ok(rt.isGone, 'it runs');
		assertClean(rt.stderr, 'stderr');
		return rt.stderr;
	};
	assert.match(await start({ name: 'LD_PRELOAD', value: KEY }), /LD_PRELOAD.*cannot be set here/);
	assert.match(await start({ name: 'SHORT', value: 'short' }), /SHORT.*too short/);
	assert.match(await start({ name: 'TOKEN', value: TOKEN, give: 'proxy' }), /TOKEN.*hosts/);
	assert.match(await start({ name: 'TOKEN', value: TOKEN, give: 'proxy', hosts: ['a.test'] }), /TOKEN.*sandbox\.allow_hosts/);
	assert.match(await start({ name: 'TOKEN', value: `${TOKEN}\nx`, give: 'proxy', hosts: ['a.test'] }, { 'sandbox.allow_hosts': 'a.test' }), /TOKEN.*no header/);
});
