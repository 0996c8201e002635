// Work that is with a peer when its session goes to another node: that node goes on with it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { freePort } from '../lib/port.mjs';
import { newFolder, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';
import { ALLOW, delegate, front, native, Peer, STATE, status } from './delegate.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

test('a node that leaves hands its work over: the task of the peer is not cancelled, and nothing is sent again', { skip, timeout: 180000 }, async (t) => {
	const peer = await new Peer().start(t);
	const env = storeOf(newFolder());
	const config = { 'cluster.lease_ms': 1500, 'cluster.handover_ms': 500, peers: [{ name: 'far', url: peer.origin, poll_ms: 20 }], permission_rules: ALLOW };
	const begin = (name) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config });
	const w = { rt: await begin('one') };
	const works = [];
	for (let i = 0; i < 4; i++) {
		const one = await delegate(w);
		await native(w, one.taskId, STATE('submitted'));
		works.push({ ...one, task: peer.task });
	}
	const other = await begin('two');
	await w.rt.stop(20000);
	w.rt = other;
	for (const { taskId, task } of works) {
		peer.set('working', undefined, task);
		await native(w, taskId, STATE('working'));
		peer.give('result', [{ text: 'done' }], { task });
		peer.set('completed', undefined, task);
		await status(w, taskId, 'completed');
	}
	assert.deepEqual([peer.messages.length, peer.count('CancelTask')], [4, 0]);
	await other.stop(20000);
});

test('A2-08 what a peer posts comes to any node, and to the work at another one; that node leaves, and its work goes on here', { skip, timeout: 180000 }, async (t) => {
	const peer = await new Peer({ pushing: true }).start(t);
	const env = storeOf(newFolder());
	const gate = await front();
	const config = { 'cluster.lease_ms': 1500, 'cluster.handover_ms': 500, ...gate.config, peers: [{ name: 'far', url: peer.origin, poll_ms: 20, idle_ms: 3600000, mechanism: 'push' }], permission_rules: ALLOW };
	const begin = (name) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config });
	const w = { rt: await begin('one') };
	const other = await begin('two');
	gate.to(other);
	const works = [];
	for (let i = 0; i < 8; i++) {
		const one = await delegate(w);
		await native(w, one.taskId, STATE('submitted'));
		works.push({ ...one, task: peer.task });
	}
	for (const { taskId, task } of works) {
		peer.set('working', undefined, task);
		await native(w, taskId, STATE('working'));
	}
	assert.deepEqual([...new Set(peer.answers)], [202]);
	await w.rt.stop(20000);
	w.rt = other;
	for (const { taskId, task } of works) {
		peer.give('result', [{ text: 'done' }], { task });
		peer.set('completed', undefined, task);
		await status(w, taskId, 'completed');
	}
	assert.deepEqual([peer.messages.length, peer.count('CancelTask')], [8, 0]);
	await other.stop(20000);
});

/** The way of the other nodes to one: counts the notifications that are passed on, and keeps answers back while `held` is pending. */
async function wayTo(t) {
	const way = { passed: 0, held: undefined };
	const server = net.createServer((client) => {
		const node = net.connect(way.port, '127.0.0.1');
		client.on('data', (bytes) => {
			way.passed += bytes.toString('latin1').split('/push HTTP').length - 1;
			node.write(bytes);
		}).on('error', () => {}).on('close', () => node.destroy());
		node.on('data', async (bytes) => {
			await way.held;
			client.write(bytes);
		}).on('error', () => {}).on('close', () => client.destroy());
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	t.after(() => server.close());
	way.port = await freePort();
	way.config = { 'cluster.listen': `127.0.0.1:${way.port}`, 'cluster.advertise': `127.0.0.1:${server.address().port}` };
	return way;
}

test('A2-08 what a peer posts while a notification about the same work is on its way to another node is passed on after it, once', { skip, timeout: 180000 }, async (t) => {
	const peer = await new Peer({ pushing: true }).start(t);
	const env = storeOf(newFolder());
	const gate = await front();
	const way = await wayTo(t);
	const config = { ...gate.config, peers: [{ name: 'far', url: peer.origin, poll_ms: 20, idle_ms: 3600000, mechanism: 'push' }], permission_rules: ALLOW };
	const begin = (name, more) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config: { ...config, ...more } });
	const w = { rt: await begin('one', way.config) };
	const other = await begin('two');
	gate.to(other);
	let one, release = () => {};
	for (let i = 0; i < 20 && way.passed === 0; i++) {
		release();
		peer.isMute = true;
		one = await delegate(w);
		await native(w, one.taskId, STATE('submitted'));
		peer.isMute = false;
		way.held = new Promise((done) => (release = done));
		peer.set('working');
		await native(w, one.taskId, STATE('working'));
	}
	for (const word of ['second', 'third', 'fourth']) peer.set('auth-required', word);
	await peer.posted;
	assert.equal(way.passed, 1, 'one at a time');
	release();
	await native(w, one.taskId, STATE('auth-required'));
	await waitFor(() => way.passed === 2, 'one more for all that came');
	peer.end();
	await status(w, one.taskId, 'completed');
	assert.deepEqual([peer.messages.length, [...new Set(peer.answers)]], [peer.tasks.size, [202]]);
	await Promise.all([w.rt.stop(20000), other.stop(20000)]);
});
