// The password of the database by reference: each connection takes the newest. A proxy before the server asks for it and writes down what comes.
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { planted } from '../lib/planted.mjs';
import { newFolder, ok, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';

const server = process.env.AR_TEST_POSTGRES;
const OLD = 'old-password-4Rk8Vd', NEW = 'new-password-9Zp2Hs';
const NO_ENCRYPTION = new Set([80877103, 80877104]); // SSL, GSS

/** Asks every client for its password in the clear before the server sees it. */
async function askingProxy(target) {
	const passwords = [];
	const clients = new Set();
	function serve(client) {
		clients.add(client.on('error', () => {}).on('close', () => clients.delete(client)));
		let startup = null, bytes = Buffer.alloc(0);
		client.on('data', function read(piece) {
			bytes = Buffer.concat([bytes, piece]);
			for (;;) {
				const head = startup ? 1 : 0;
				if (bytes.length < head + 4 || bytes.length < head + bytes.readInt32BE(head)) return;
				const message = bytes.subarray(0, head + bytes.readInt32BE(head));
				bytes = bytes.subarray(message.length);
				if (startup) {
					passwords.push(message.subarray(5, -1).toString());
					client.off('data', read);
					const up = net.connect(target).on('error', () => client.destroy()).on('close', () => client.destroy());
					client.on('close', () => up.destroy());
					up.write(Buffer.concat([startup, bytes]));
					client.pipe(up).pipe(client);
					return;
				}
				if (NO_ENCRYPTION.has(message.readInt32BE(4))) client.write('N');
				else {
					startup = Buffer.from(message);
					client.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])); // AuthenticationCleartextPassword
				}
			}
		});
	}
	const proxy = net.createServer(serve).unref();
	await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
	return { port: proxy.address().port, passwords, cut: () => clients.forEach((client) => client.destroy()) };
}

test('a rotated password of the database is used by the next connection, and shown nowhere', { skip: !server && 'no server' }, async () => {
	const given = Object.fromEntries(server.split(' ').map((pair) => pair.split('=')));
	const proxy = await askingProxy({ path: join(given.host, `.s.PGSQL.${given.port ?? 5432}`) });
	const dataDir = newFolder();
	const file = join(newFolder(), 'password');
	const put = (text) => (writeFileSync(file, text, { mode: 0o600 }), chmodSync(file, 0o600));
	put(OLD);
	const name = /dbname=(\S+)/.exec(storeOf(dataDir).AGENTD_STORE)[1];
	const store = `host=127.0.0.1 port=${proxy.port} user=${given.user ?? 'postgres'} dbname=${name}`;
	const rt = await startAgentd({ dataDir, env: { AGENTD_STORE: store }, config: { store_password: { file, cache_s: 0 } } });
	await ok(rt, 'create_session', {});
	assert.ok(proxy.passwords.length > 1 && proxy.passwords.every((password) => password === OLD), proxy.passwords.join());

	put(NEW);
	process.kill(rt.pid, 'SIGHUP');
	await waitFor(() => rt.stderr.includes('a secret was renewed'), 'the password to be read again');
	const before = proxy.passwords.length;
	proxy.cut();
	await ok(rt, 'create_session', {});
	await waitFor(() => proxy.passwords.length > before, 'a new connection');
	assert.ok(proxy.passwords.slice(before).every((password) => password === NEW), proxy.passwords.join());
	const { assertClean, scanDisk } = planted([OLD, NEW]);
	const { settings } = await ok(rt, 'get_settings', {}, { via: 'socket' });
	assert.deepEqual(settings.find(({ key }) => key === 'store_password').value, { file, cache_s: 0 });
	assertClean(JSON.stringify(settings), 'get_settings');
	assertClean(rt.stderr, 'the log');
	scanDisk(dataDir);
	await rt.stop();
});
