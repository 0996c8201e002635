// Nodes on one PostgreSQL that know each other by certificate. What is refused in the handshake, and how certificates are replaced, is in
// test/transport/cluster_tls.test.mjs; here is what an operator sets, and what agentd makes of it.
import assert from 'node:assert/strict';
import net from 'node:net';
import tls from 'node:tls';
import { before, test } from 'node:test';
import { follow, newFolder, ok, request, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';
import { Pki } from '../transport/pki.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
let model, pki;

before(async () => {
	if (skip) return;
	model = await startModel();
	pki = new Pki(newFolder()).root('ca').issue('a', 'ca').issue('b', 'ca').issue('next', 'ca').root('evil').issue('foreign', 'evil');
});

async function pair(settingsOf) {
	const env = storeOf(newFolder());
	const nodes = [];
	for (const name of ['a', 'b']) nodes.push(await startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500, ...settingsOf(name) } }));
	for (const node of nodes) await waitFor(async () => (await table(node)).length === 2 && (await table(node)).every((n) => n.partitions > 400), 'a fair share for each');
	return nodes;
}

const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;

test('two nodes with mutual TLS serve and pass on; nobody else is answered at their address', { skip }, async () => {
	const [a, b] = await pair((name) => pki.clusterSettings(name));
	const { sessionId } = await submit(a, 'hello');
	const follower = await follow(b, sessionId);
	await submit(b, '[[tokens 20]]', { sessionId, turnId: 'by-b' });
	await follower.ended('by-b');
	follower.check();
	for (const node of [a, b]) assert.equal((await ok(node, 'get_session', { sessionId })).asOfSequence, follower.last);

	const [, port] = (await table(a)).find((n) => n.self).address.split(':');
	const answer = (socket) => new Promise((done) => {
		let text = '';
		socket.on('error', () => {}).on('data', (piece) => (text += piece)).on('close', () => done(text));
		socket.end('POST /v1/list_sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
	});
	const [ca, cert, key] = [pki.read('ca.pem'), pki.read('foreign.pem'), pki.read('foreign.key')];
	assert.equal(await answer(tls.connect({ port, host: '127.0.0.1', ca })), '');
	assert.equal(await answer(tls.connect({ port, host: '127.0.0.1', ca, cert, key })), '');
	assert.match(await answer(net.connect(port, '127.0.0.1')), /^HTTP\/1\.1 400 /);

	pki.deploy('next', 'a');
	a.child.kill('SIGHUP');
	await waitFor(() => a.stderr.includes('new connections between nodes use the certificate'), 'the new certificate');
	await submit(b, 'after', { sessionId, turnId: 'after' });
	await follower.ended('after');
	await a.stop();
	await b.stop();
});

test('a node that others reach over a network does not start without certificates', { skip }, async () => {
	for (const [key, address] of [['cluster.listen', '0.0.0.0:0'], ['cluster.advertise', '10.0.0.1:7718']]) {
		const rt = await startAgentd({ model, env: storeOf(newFolder()), config: { [key]: address }, mayDie: true });
		assert.equal((await rt.gone).code, 1);
		assert.ok(rt.stderr.includes(`${key} '${address}' is not loopback, and nodes on a network need TLS between them: set cluster.tls_certificate`), rt.stderr);
	}
});
