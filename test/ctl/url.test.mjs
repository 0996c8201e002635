// Where agentctl takes a token: over https, or to this machine; and whom it believes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bin, newFolder, startAgentd } from '../lib/runtime.mjs';
import { Pki } from '../transport/pki.mjs';

/** Runs agentctl; { code, err }. */
function ctl(args, env = {}) {
	return new Promise((done) => execFile(join(bin, 'agentctl'), args, { env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env } },
		(error, out, err) => done({ code: error?.code ?? 0, err })));
}

test('an address with a user name is refused before a byte is sent', async () => {
	const got = [];
	const server = net.createServer((socket) => { got.push('a connection'); socket.on('error', () => {}).on('data', (bytes) => { got.push(bytes.toString()); socket.destroy(); }); });
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	after(() => server.close());
	const { port } = server.address();
	for (const user of ['127.0.0.1:x@', 'localhost@', ':word@']) {
		const { code, err } = await ctl(['--url', `http://${user}127.0.0.1:${port}`, 'sessions'], { AGENTCTL_TOKEN: 'art_secret' });
		assert.equal(code, 2, user);
		assert.match(err, /has a user name before its host/);
		assert.match(err, /AGENTCTL_TOKEN/);
		assert.doesNotMatch(err, /art_secret/);
	}
	assert.deepEqual(got, []);
});

test('a token does not cross the network in the clear', async () => {
	for (const url of ['http://192.0.2.1:7717', 'http://agents.example.com', 'http://127.0.0.1.example.com', 'HTTP://[2001:db8::1]/']) {
		for (const args of [['--url', url, 'sessions'], ['--url', url, '--token', 'art_secret', 'sessions']]) {
			const { code, err } = await ctl(args, { AGENTCTL_TOKEN: 'art_secret' });
			assert.equal(code, 2, url);
			assert.match(err, /in plain text/);
			assert.match(err, /use https/);
		}
	}
	for (const url of ['ftp://127.0.0.1', 'agents.example.com', 'https://', 'http://exa mple']) {
		const { code, err } = await ctl(['--url', url, 'sessions']);
		assert.equal(code, 2, url);
		assert.match(err, /is not an http or https address/);
	}
});

test('an https server is verified by --cacert, by SSL_CERT_FILE, or not at all talked to', async () => {
	const pki = new Pki(newFolder()).root('ca').issue('server', 'ca').root('other');
	const rt = await startAgentd({ config: { 'tls.certificate': pki.at('server.pem'), 'tls.key': pki.at('server.key') } });
	const url = ['--url', `https://localhost:${rt.port}`];
	assert.equal((await ctl([...url, '--cacert', pki.at('ca.pem'), 'sessions'])).code, 0);
	assert.equal((await ctl([...url, 'sessions', '--cacert', pki.at('ca.pem')], { SSL_CERT_FILE: pki.at('other.pem') })).code, 0);
	assert.equal((await ctl([...url, 'sessions'], { SSL_CERT_FILE: pki.at('ca.pem') })).code, 0);
	assert.notEqual((await ctl([...url, 'sessions'])).code, 0);
	assert.notEqual((await ctl([...url, '--cacert', pki.at('other.pem'), 'sessions'], { SSL_CERT_FILE: pki.at('ca.pem') })).code, 0);
	await rt.stop();
});
