// Strangers who take every connection: the operator on the unix socket, and the other nodes, are served at once.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bin, newFolder, ok, startAgentd, waitFor } from '../lib/runtime.mjs';

const sockets = new Set();
const children = new Set();

after(() => {
	for (const socket of sockets) socket.destroy();
	for (const child of children) child.kill('SIGKILL');
});

/** A silent connection; `isClosed` when the server has ended it. */
function connect(port) {
	return new Promise((done) => {
		const socket = net.connect(port, '127.0.0.1');
		const client = { socket, text: '', isClosed: false };
		sockets.add(socket);
		socket.on('data', (text) => (client.text += text)).on('error', () => {}).on('close', () => (client.isClosed = true));
		socket.on('connect', () => done(client));
	});
}

async function crowd(rt, count) {
	const clients = [];
	for (let i = 0; i < count; i++) clients.push(await connect(rt.port));
	await waitFor(() => clients.some((c) => c.text.startsWith('HTTP/1.1 503')), 'some are turned away');
	return clients;
}

test('silent clients on TCP do not lock the operator out of the unix socket', async () => {
	const rt = await startAgentd({ config: { 'limits.max_connections': 200, 'limits.max_address_connections': 0 } });
	const clients = await crowd(rt, 220);
	for (let i = 0; i < 5; i++) assert.deepEqual((await ok(rt, 'list_sessions', {}, { via: 'socket' })).sessions, []);
	const kept = process.env.AR_TEST_POSTGRES ? 50 : 25;
	assert.equal(clients.filter((c) => !c.isClosed).length, 200 - kept, 'an eighth is kept, and another one for nodes where there may be some');
});

test('nor when there are few descriptors', async () => {
	const program = join(newFolder(), 'agentd');
	writeFileSync(program, `#!/bin/sh\nulimit -n 128\nexec ${join(bin, 'agentd')} "$@"\n`, { mode: 0o755 });
	const rt = await startAgentd({ program });
	await crowd(rt, 220);
	for (let i = 0; i < 5; i++) assert.deepEqual((await ok(rt, 'list_sessions', {}, { via: 'socket' })).sessions, []);
});

test('one address has a part of the connections; the server\'s own user has all', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
	const rt = await startAgentd({ config: { 'limits.max_address_connections': 10 } });
	const script = `for i in $(seq 20); do exec {fd}<>/dev/tcp/127.0.0.1/${rt.port}; done; echo there; read`;
	const other = spawn('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'bash', '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
	children.add(other);
	await new Promise((done) => other.stdout.once('data', done));
	const turned = async () => Number(/agentd_connections_refused_total\{reason="limit"\} (\d+)/.exec(await (await fetch(`${rt.url}/metrics`)).text())?.[1]);
	await waitFor(async () => (await turned()) === 10, 'ten are turned away');
	const own = await Promise.all(Array.from({ length: 30 }, () => connect(rt.port)));
	assert.equal((await ok(rt, 'list_sessions')).sessions.length, 0);
	assert.ok(own.every((c) => !c.isClosed));
});

test('who was not let in may not keep the connection for long', async () => {
	const rt = await startAgentd({ config: { 'auth.required': true, 'limits.header_timeout_ms': 700, 'limits.keepalive_timeout_ms': 60000 } });
	const { token } = await ok(rt, 'create_token', { name: 'x', scopes: ['read'] }, { via: 'socket' });
	const ask = (client, more = '') => client.socket.write(`GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`);
	const [silent, stranger, known] = [await connect(rt.port), await connect(rt.port), await connect(rt.port)];
	ask(stranger);
	ask(known, `Authorization: Bearer ${token}\r\n`);
	await waitFor(() => stranger.text.startsWith('HTTP/1.1 401') && known.text.startsWith('HTTP/1.1 200'), 'the answers');
	await waitFor(() => silent.isClosed && stranger.isClosed, 'the end of both', 10000);
	assert.ok(!known.isClosed);
	ask(known, `Authorization: Bearer ${token}\r\n`);
	await waitFor(() => known.text.match(/HTTP\/1\.1 200/g).length === 2, 'the second answer');
});
