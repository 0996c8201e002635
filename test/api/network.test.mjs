// agentd on a network: TLS with a certificate that is replaced while it runs, client certificates, HTTP/2, and the same words over every door.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder, ok, readLog, startAgentd, waitFor, world } from '../lib/runtime.mjs';

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A folder with a certificate of the server and an authority with one client, alice. */
function makeKeys() {
	const dir = newFolder(), at = (name) => join(dir, name);
	const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
	const root = (name) => openssl('req', '-x509', ...curve, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`), '-days', '2',
		'-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
	for (const name of ['server', 'next', 'ca']) root(name);
	openssl('req', ...curve, '-keyout', at('alice.key'), '-out', at('alice.csr'), '-subj', '/O=Example/CN=alice');
	openssl('x509', '-req', '-in', at('alice.csr'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-days', '2', '-out', at('alice.pem'));
	return { at, read: (name) => readFileSync(at(name)) };
}

/** A connection of HTTP/2; ask() resolves { status, body }. */
function connect(rt, scheme, options) {
	const session = http2.connect(`${scheme}://127.0.0.1:${rt.port}`, { servername: 'localhost', ...options });
	session.on('error', () => {});
	return {
		session,
		ask: (command, input = {}, headers = {}) => new Promise((done, fail) => {
			const stream = session.request({ ':method': 'POST', ':path': `/v1/${command}`, 'content-type': 'application/json', ...headers });
			let status, text = '';
			stream.setEncoding('utf8').on('response', (head) => { status = head[':status']; }).on('data', (part) => { text += part; });
			stream.on('end', () => done({ status, body: JSON.parse(text) })).on('error', fail);
			stream.end(JSON.stringify(input));
		}),
		close: () => session.destroy(),
	};
}

test('a client certificate says who asks, over TLS and HTTP/2', async () => {
	const keys = makeKeys();
	const rt = await startAgentd({ config: {
		'tls.certificate': keys.at('server.pem'), 'tls.key': keys.at('server.key'), 'tls.client_ca': keys.at('ca.pem'), 'auth.required': true,
		certificates: [{ subject: 'CN=alice,O=Example', scopes: ['read', 'submit'] }],
	} });
	const ca = keys.read('server.pem');
	const alice = connect(rt, 'https', { ca, cert: keys.read('alice.pem'), key: keys.read('alice.key') });
	const created = await alice.ask('create_session');
	assert.equal(created.status, 200, JSON.stringify(created.body));
	assert.equal(alice.session.alpnProtocol, 'h2');
	assert.equal((await alice.ask('create_token', { name: 'x', scopes: ['read'] })).body.error.code, 'not_authorized');
	const nobody = connect(rt, 'https', { ca });
	assert.equal((await nobody.ask('get_session', { sessionId: created.body.sessionId })).body.error.code, 'auth_failed');
	const { token } = await ok(rt, 'create_token', { name: 't', scopes: ['read'] }, { via: 'socket' });
	assert.equal((await nobody.ask('list_sessions', {}, { authorization: `Bearer ${token}` })).status, 200);
	alice.close();
	nobody.close();
});

test('a new certificate is taken on SIGHUP, under connections that stay', async () => {
	const keys = makeKeys();
	const rt = await startAgentd({ config: { 'tls.certificate': keys.at('server.pem'), 'tls.key': keys.at('server.key') } });
	const ca = [keys.read('server.pem'), keys.read('next.pem')];
	const before = connect(rt, 'https', { ca });
	assert.equal((await before.ask('list_sessions')).status, 200);
	for (const kind of ['key', 'pem']) {
		copyFileSync(keys.at(`next.${kind}`), keys.at('new'));
		renameSync(keys.at('new'), keys.at(`server.${kind}`));
	}
	rt.child.kill('SIGHUP');
	await waitFor(() => rt.stderr.includes('certificates were read'), 'the certificates are read');
	const after = connect(rt, 'https', { ca });
	assert.equal((await after.ask('list_sessions')).status, 200);
	assert.notEqual(after.session.socket.getPeerCertificate().fingerprint256, before.session.socket.getPeerCertificate().fingerprint256);
	assert.equal((await before.ask('list_sessions')).status, 200);
	writeFileSync(keys.at('server.pem'), 'nonsense');
	await waitFor(() => rt.stderr.includes('the certificates stay as they were'), 'what cannot be used is named');
	assert.equal((await connect(rt, 'https', { ca }).ask('list_sessions')).status, 200);
	before.close();
	after.close();
});

test('an address of the network is refused until TLS and auth.required are there, and it says so', async () => {
	const rt = await startAgentd({ listen: '192.0.2.1:7717', mayDie: true });
	assert.match(rt.stderr, /set tls\.certificate, tls\.key and auth\.required/);
});

test('CP-02 one script over HTTP/1, HTTP/2 and the socket: equal logs', async () => {
	const { rt } = await world();
	const two = connect(rt, 'http');
	const doors = {
		h1: (command, input) => ok(rt, command, input),
		socket: (command, input) => ok(rt, command, input, { via: 'socket' }),
		h2: async (command, input) => {
			const { status, body } = await two.ask(command, input);
			assert.ok(status < 300, JSON.stringify(body));
			return body;
		},
	};
	const logs = {};
	for (const [name, door] of Object.entries(doors)) {
		const { sessionId } = await door('create_session', {});
		const { taskId } = await door('create_task', { sessionId, objective: 'the same', draft: true });
		await door('update_task', { taskId, changed: { title: 'named' } });
		assert.equal((await door('get_task', { taskId })).title, 'named');
		logs[name] = (await readLog(rt, sessionId)).map((line) => without(line.event ?? line));
	}
	two.close();
	assert.ok(logs.h1.length >= 3);
	assert.deepEqual(logs.h2, logs.h1);
	assert.deepEqual(logs.socket, logs.h1);
});

/** What differs from run to run: ids and times, and the peer's user that the kernel tells of a socket. */
const without = (event) => JSON.parse(JSON.stringify(event).replace(/[a-z]+_[0-9a-z]{26}(_[0-9]+)*/g, 'id')
	.replace(/"[0-9-]{10}T[0-9:.]+Z"/g, '"time"').replace(/"uid:\d+"/g, '"local"'));
