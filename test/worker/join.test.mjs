// A worker joins a daemon: with its enrolment token once, then with its own; over TLS only with the authority that was named; and it leaves in order.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newFolder, ok, request, waitFor, within, world } from '../lib/runtime.mjs';
import { Pki } from '../transport/pki.mjs';
import { again, privateFolder, startRelay, startWorker, stateOf, tokenFile, Worker } from './worker.mjs';

let w, pki;
const servers = [];

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	pki = new Pki(realpathSync(newFolder())).root('ca').issue('server', 'ca').root('other');
});
after(() => servers.forEach((server) => server.close()));

const listening = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => { servers.push(server); done(server.address().port); }));

test('a worker enrols once, keeps its token for itself, joins, and joins again without the first token', async () => {
	const one = await startWorker(w.rt, { args: ['--label', 'zone=a', '--label=gpu=none', '--name', 'the machine'] });
	assert.equal((await one.ready).workerId, one.workerId);
	const live = await stateOf(w.rt, one.workerId, 'connected');
	assert.ok(live.capabilities.profiles.workspace_write, JSON.stringify(live));
	const { worker } = await ok(w.rt, 'get_worker', { workerId: one.workerId });
	assert.deepEqual([worker.ownLabels, worker.info.name], [{ zone: 'a', gpu: 'none' }, 'the machine']);
	const file = join(one.dir, 'state/worker.json');
	assert.equal(statSync(file).mode & 0o777, 0o600);
	assert.equal(statSync(join(one.dir, 'workspaces')).mode & 0o777, 0o700);
	const kept = JSON.parse(readFileSync(file, 'utf8'));
	assert.equal(kept.workerId, one.workerId);
	assert.ok(!one.stderr.includes(kept.token) && !one.stdout.includes(kept.token), 'the token is in no log');
	assert.deepEqual(await one.end('SIGTERM'), { code: 0, signal: null });
	await stateOf(w.rt, one.workerId, 'away');
	const two = await again(one, w.rt.url);
	await stateOf(w.rt, one.workerId, 'connected');
	const third = new Worker(['--join', w.rt.url], { dir: one.dir });
	assert.equal((await third.end()).code, 1, 'two processes of one worker');
	assert.deepEqual(await two.end('SIGINT'), { code: 0, signal: null });
	chmodSync(file, 0o644);
	const open = new Worker(['--join', w.rt.url], { dir: one.dir });
	assert.equal((await open.end()).code, 1);
	assert.match(open.stderr, /can be read or changed by others/);
});

test('a daemon that is away is tried again; a worker that was started first waits for it', async () => {
	const other = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	const relay = await startRelay(other.rt.port);
	const one = await startWorker(other.rt, { url: relay.url });
	await other.rt.kill9();
	await waitFor(() => /joining again|cannot be joined/.test(one.stderr), () => one.stderr);
	other.rt = await other.again();
	relay.port = other.rt.port;
	await stateOf(other.rt, one.workerId, 'connected');
	await waitFor(() => one.stderr.split('"joined"').length > 2, () => one.stderr); // the daemon knows of it first
	relay.cut();
	await waitFor(() => one.stderr.split('"joined"').length > 3, () => one.stderr);
	await stateOf(other.rt, one.workerId, 'connected');
	await one.end('SIGTERM');
	await other.rt.stop();
	const early = again(one, relay.url);
	other.rt = await other.again();
	relay.port = other.rt.port;
	await early;
	await stateOf(other.rt, one.workerId, 'connected');
	assert.equal((await (await early).end('SIGTERM')).code, 0);
	await other.rt.stop();
});

test('what is not accepted ends with a sentence: a wrong token, a used one, a removed worker, no token, an address in the clear', async () => {
	const { enrolmentToken } = await ok(w.rt, 'create_worker', { name: 'used' });
	const used = tokenFile(enrolmentToken);
	const first = await new Worker(['--join', w.rt.url, '--token-file', used]).joined();
	await first.end('SIGTERM');
	const cases = [
		[['--join', w.rt.url, '--token-file', tokenFile('art_0000000000000000_0000000000000000000000000000000000000000000000000000')], /does not accept the enrolment token/],
		[['--join', w.rt.url, '--token-file', used], /does not accept the enrolment token/],
		[['--join', w.rt.url], /not enrolled/],
		[['--join', w.rt.url, '--token-file', join(privateFolder(), 'none')], /cannot be opened/],
		[['--join', 'http://198.51.100.1:7717', '--token-file', used], /https/],
		[['--join', `${w.rt.url.replace('http://', 'http://127.0.0.1:1@')}`, '--token-file', used], /https|cannot be joined/],
	];
	for (const [args, why] of cases) {
		const one = new Worker(args);
		assert.deepEqual(await one.end(), { code: 1, signal: null }, `${args.join(' ')}\n${one.stderr}`);
		assert.match(one.stderr, why);
		assert.ok(!existsSync(join(one.dir, 'state/worker.json')));
	}
	assert.equal((await new Worker([]).end()).code, 2);
	assert.equal((await new Worker(['--join', w.rt.url, '--label', 'nonsense']).end()).code, 2);
	await ok(w.rt, 'remove_worker', { workerId: (await first.ready).workerId });
	const gone = new Worker(['--join', w.rt.url], { dir: first.dir });
	assert.equal((await gone.end()).code, 1);
	assert.match(gone.stderr, /does not accept the token of this worker/);
});

test('a worker that is removed while it is connected ends', async () => {
	const one = await startWorker(w.rt);
	await ok(w.rt, 'remove_worker', { workerId: one.workerId });
	assert.deepEqual(await one.end(), { code: 1, signal: null });
	assert.match(one.stderr, /does not accept the token of this worker/);
});

test('over TLS: joined with the authority that signed the daemon, and with no other', async () => {
	const secure = await world({ config: { 'workspaces.dir': realpathSync(newFolder()), 'tls.certificate': pki.at('server.pem'), 'tls.key': pki.at('server.key') } });
	const url = `https://127.0.0.1:${secure.rt.port}`;
	const one = await startWorker(secure.rt, { url, args: ['--ca-file', pki.at('ca.pem')] });
	await stateOf(secure.rt, one.workerId, 'connected');
	assert.equal((await one.end('SIGTERM')).code, 0);
	for (const args of [['--ca-file', pki.at('other.pem')], []]) {
		const wrong = new Worker(['--join', url, ...args], { dir: one.dir });
		assert.deepEqual(await wrong.end(), { code: 1, signal: null }, wrong.stderr);
		assert.match(wrong.stderr, /certificate/);
	}
	const { enrolmentToken } = await ok(secure.rt, 'create_worker', { name: 'wrong' }, { via: 'socket' });
	const fresh = new Worker(['--join', url, '--token-file', tokenFile(enrolmentToken), '--ca-file', pki.at('other.pem')]);
	await waitFor(() => /cannot be reached/.test(fresh.stderr), () => fresh.stderr);
	await fresh.end('SIGTERM');
	assert.ok(!existsSync(join(fresh.dir, 'state/worker.json')));
	const named = new Worker(['--join', `https://localhost.example.invalid:${secure.rt.port}`, '--ca-file', pki.at('ca.pem')], { dir: one.dir });
	await waitFor(() => /cannot be joined/.test(named.stderr), () => named.stderr);
	await named.end('SIGTERM');
	await secure.rt.stop();
});

test('a server that only looks like a daemon gets no worker: other answers, an endless head', async () => {
	const one = await startWorker(w.rt);
	await one.end('SIGTERM');
	const answers = {
		'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}': /status 200/,
		'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\nSec-WebSocket-Protocol: agentruntime.worker.1\r\n\r\n': /no daemon that takes workers/,
		[`HTTP/1.1 101 x\r\n${'X: y\r\n'.repeat(20000)}`]: /no daemon that takes workers|connection is lost/,
		'SSH-2.0-OpenSSH_9\r\n\r\n': /no daemon that takes workers/,
	};
	for (const [answer, why] of Object.entries(answers)) {
		let asked = '';
		const at = await listening(net.createServer((socket) => socket.on('error', () => {}).once('data', (text) => { asked += text; socket.write(answer); })));
		const fooled = new Worker(['--join', `http://127.0.0.1:${at}`], { dir: one.dir });
		await waitFor(() => why.test(fooled.stderr), () => `${answer.slice(0, 40)}: ${fooled.stderr}`);
		assert.match(asked, /^GET \/v1\/worker HTTP\/1\.1\r\n/);
		await fooled.end(fooled.isGone ? undefined : 'SIGKILL');
	}
});

test('SIGTERM ends a worker that waits for its daemon', async () => {
	const one = await startWorker(w.rt);
	await one.end('SIGTERM');
	const silent = await listening(net.createServer((socket) => socket.on('error', () => {})));
	const waiting = new Worker(['--join', `http://127.0.0.1:${silent}`], { dir: one.dir });
	await within(new Promise((done) => servers.at(-1).once('connection', done)), 20000);
	assert.deepEqual(await waiting.end('SIGTERM', 5000), { code: 0, signal: null });
});

test('the link is for the worker alone: its token does nothing else, and a page of a browser does not get in', async () => {
	const one = await startWorker(w.rt);
	const { token } = JSON.parse(readFileSync(join(one.dir, 'state/worker.json'), 'utf8'));
	const authorization = `Bearer ${token}`;
	for (const path of ['/v1/list_sessions', '/v1/create_worker', '/v1/enrol_worker', '/v1/list_workers'])
		assert.equal((await request(w.rt, { path, body: '{}', headers: { authorization } })).status, 403, path);
	const upgrade = (headers) => new Promise((done, fail) => {
		const socket = net.connect(w.rt.port, '127.0.0.1').on('error', fail);
		socket.once('data', (text) => { done(Number(/^HTTP\/1\.1 (\d+)/.exec(text)[1])); socket.destroy(); });
		socket.write(`GET /v1/worker HTTP/1.1\r\nHost: 127.0.0.1:${w.rt.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`
			+ `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: agentruntime.worker.1\r\n${headers}\r\n`);
	});
	assert.equal(await upgrade(`Authorization: ${authorization}\r\nOrigin: http://127.0.0.1:${w.rt.port}\r\n`), 403);
	assert.equal(await upgrade(`Authorization: ${authorization}\r\nOrigin: https://evil.example\r\n`), 403);
	assert.equal(await upgrade(''), 403, 'the operator is no worker');
	const { token: user } = await ok(w.rt, 'create_token', { tenant: 'local', name: 'user', scopes: ['admin', 'worker'] });
	assert.equal(await upgrade(`Authorization: Bearer ${user}\r\n`), 403, 'nor is a token with the scope alone');
	await stateOf(w.rt, one.workerId, 'connected');
	await one.end('SIGTERM');
	assert.ok(readdirSync(join(one.dir, 'state')).includes('worker.json'));
});
