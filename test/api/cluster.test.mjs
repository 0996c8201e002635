// Two or three nodes on one PostgreSQL, without faults but the ones asked for: any node answers any request, a stopped one hands its sessions
// over, a dead one is replaced. What happens under real faults is in test/cluster.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { connectWs, RpcFollower } from '../lib/rpc.mjs';
import { bin, follow, newFolder, ok, readLog, refused, request, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const LEASE_MS = 1500;
const SLACK_MS = 5000; // of a busy machine

let model;

before(async () => {
	model = await startModel();
});

/** Nodes that share one database; each has a folder of its own. */
async function cluster(names, config = {}) {
	const env = storeOf(newFolder());
	const start = (name) => startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': LEASE_MS, ...config } });
	const nodes = [];
	for (const name of names) nodes.push(await start(name));
	const isFair = (list) => list.length === names.length && list.every((n) => n >= Math.floor(1024 / names.length));
	for (const node of nodes) await waitFor(async () => isFair(await shares(node)), 'a fair share for each');
	return { nodes, start };
}

const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text);
const shares = async (node) => (await table(node)).nodes.map((n) => n.partitions);

function ctl(node, ...args) {
	return execFileSync(join(bin, 'agentctl'), ['--url', node.url, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A session that the first node owns: new ones are made where they are asked for. */
const made = async (node) => (await submit(node, 'hello')).sessionId;

/** What a subscription at this node says of where the session is. */
async function asOf(node, params) {
	const peer = await connectWs(node.url), stream = { event: () => {}, ended: () => {}, lost: () => {} };
	await peer.subscribe(params, stream);
	peer.destroy();
	return stream.asOfSequence;
}

test('nodes share the partitions out, and say so', { skip }, async () => {
	const { nodes } = await cluster(['a', 'b', 'c']);
	const seen = await table(nodes[1]);
	assert.deepEqual(seen.nodes.map((n) => [n.nodeId, n.state, n.self]), [['a', 'up', false], ['b', 'up', true], ['c', 'up', false]]);
	assert.deepEqual((await shares(nodes[2])).toSorted(), [341, 341, 342]);
	assert.equal(seen.owners.length, 1024);
	assert.match(ctl(nodes[0], 'node', 'list'), /NODE +STATE +EPOCH +PARTITIONS +ADDRESS\n\* a +up/);
	const { checks } = JSON.parse(ctl(nodes[0], 'doctor', '--json'));
	assert.equal(checks.find((c) => c.name === 'nodes').message, '3, and every partition has an owner');
	for (const node of nodes) await node.stop();
});

test('any node answers any request, and streams it', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b']);
	const sessionId = await made(a);
	const follower = await follow(b, sessionId);
	const receipt = await submit(b, '[[tokens 20]]', { sessionId, turnId: 'by-b' });
	await follower.ended('by-b');
	follower.check();
	for (const node of [a, b]) {
		const { asOfSequence } = await ok(node, 'get_session', { sessionId });
		assert.equal(asOfSequence, follower.last);
		for (const more of [{}, { after: '2' }, { after: 'now' }]) assert.equal(await asOf(node, { sessionId, ...more }), asOfSequence);
		assert.deepEqual((await readLog(node, sessionId)).map((f) => f.json), follower.facts.map((f) => f.json));
		assert.deepEqual(await submit(node, '[[tokens 20]]', { sessionId, turnId: 'by-b' }), receipt);
		await refused(node, 'id_conflict', 'submit_turn', { sessionId, turnId: 'by-b', text: 'other' });
		await refused(node, 'session_not_found', 'get_session', { sessionId: `sess_${'0'.repeat(26)}` });
		assert.ok((await ok(node, 'list_sessions', {})).sessions.some((s) => s.sessionId === sessionId));
	}
	await a.stop();
	await b.stop();
});

test('any node lists what waits for people in all sessions, and takes the answer', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b']);
	const options = { tools: [{ name: 'set_value', description: 'Sets something.', inputSchema: { type: 'object' } }] };
	for (const node of [a, b]) await submit(node, '[[tool set_value {"q":"1"}]]', { options });
	const inbox = async (node) => (await ok(node, 'list_actions', {})).actions;
	await waitFor(async () => (await inbox(a)).length === 2, 'two questions');
	assert.deepEqual(await inbox(b), await inbox(a));
	for (const { actionId } of await inbox(a)) await ok(b, 'respond_action', { actionId, decision: 'deny' });
	for (const node of [a, b]) assert.deepEqual(await inbox(node), []);
	await a.stop();
	await b.stop();
});

test('a key makes one session, whichever nodes are asked', { skip }, async () => {
	const { nodes } = await cluster(['a', 'b']);
	const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ok(nodes[i % 2], 'submit_turn', { createPolicy: {}, text: 'x', idempotencyKey: 'once' })));
	assert.equal(new Set(answers.map((x) => JSON.stringify(x))).size, 1);
	for (const node of nodes) await node.stop();
});

test('a node that is drained hands over and goes on answering; a reader resumes elsewhere by its cursor', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b'], { 'cluster.handover_ms': 500 });
	const sessionId = await made(a);
	await submit(a, '[[fail-times 1 hang]] hello', { sessionId, turnId: 'hangs' });
	const follower = await follow(a, sessionId);
	await waitFor(() => model.log('hangs')[0], 'the model call');
	assert.match(ctl(a, 'node', 'drain'), /^drained/);
	await waitFor(async () => (await shares(b))[1] === 1024, 'all at the other node');
	await waitFor(() => !follower.isOpen, 'the end of the stream');
	follower.rt = b;
	await follower.open();
	await follower.ended('hangs');
	assert.equal(follower.of('model.failed').length, 1);
	follower.check();
	await submit(a, 'still here', { sessionId, turnId: 'by-a' });
	await follower.ended('by-a');
	await submit(a, 'a new one');
	await a.stop();
	await waitFor(async () => (await table(b)).nodes.length === 1, 'the other node alone');
	await b.stop();
});

test('what a killed node had open goes on at another, within two leases', { skip }, async () => {
	const { nodes: [a, b], start } = await cluster(['a', 'b'], { 'model.backoff_ms': 10 });
	const sessionId = await made(a);
	await submit(a, '[[fail-times 1 hang]] hello', { sessionId, turnId: 'lost' });
	await waitFor(() => model.log('lost')[0], 'the model call');
	const killedAt = Date.now();
	await a.kill9();
	const follower = await waitFor(() => follow(b, sessionId).catch(() => null), 'a stream at the other node');
	await follower.until(() => follower.of('model.failed')[0], 'recovery');
	assert.ok(Date.now() - killedAt < 2 * LEASE_MS + SLACK_MS, `it took ${Date.now() - killedAt} ms`);
	await follower.ended('lost');
	const [{ payload }] = follower.of('runtime.warning');
	assert.deepEqual([payload.code, payload.scope.nodeId], ['taken_over', 'b']);
	const again = await start('a');
	await waitFor(async () => (await shares(again)).every((n) => n === 512), 'its share again');
	assert.equal((await ok(again, 'get_session', { sessionId })).asOfSequence, follower.last);
	await again.stop();
	await b.stop();
});

test('readers at other nodes go on while the owner stands still, within two leases', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b'], { 'model.backoff_ms': 10, 'cluster.listen': '127.0.0.1:0' });
	const sessionId = await made(a);
	await submit(a, '[[fail-times 1 hang]] hello', { sessionId, turnId: 'stands' });
	await waitFor(() => model.log('stands')[0], 'the model call');
	const follower = await follow(b, sessionId);
	await follower.until(() => follower.of('model.requested', 'stands')[0], 'what there is');
	process.kill(a.pid, 'SIGSTOP');
	const stoppedAt = Date.now();
	try {
		follower.stay(() => b);
		await follower.until(() => follower.of('model.failed')[0], 'recovery');
		assert.ok(Date.now() - stoppedAt < 2 * LEASE_MS + SLACK_MS, `it took ${Date.now() - stoppedAt} ms`);
		await follower.ended('stands');
	} finally {
		process.kill(a.pid, 'SIGCONT');
	}
	follower.check();
	follower.stop();
	const both = /"this node's epoch was ended by another[^]*"this node has rejoined the cluster with a new epoch"/;
	await waitFor(() => both.test(a.stderr), 'the log to say both');
	await waitFor(async () => (await shares(a).catch(() => [])).join() === '512,512', 'its share again');
	assert.doesNotMatch(a.stderr, /the store is unavailable/, 'a process that stood still knows nothing of the store');
	await a.stop();
	await b.stop();
});

test('a node that is told to stop ends, also when it finds out meanwhile that it was declared lost', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b']);
	process.kill(a.pid, 'SIGSTOP');
	await waitFor(async () => (await table(b)).nodes.length === 1, 'the other node alone');
	process.kill(a.pid, 'SIGTERM'); // is there before anything else when it wakes
	process.kill(a.pid, 'SIGCONT');
	await a.stop();
	await b.stop();
});

test('CH-10 over a WebSocket any node answers, and a subscription whose owner dies goes on by its cursor', { skip }, async () => {
	const { nodes: [a, b] } = await cluster(['a', 'b'], { 'model.backoff_ms': 10 });
	const peer = await connectWs(b.url);
	const sessionId = await made(a);
	const reader = await new RpcFollower(async () => peer, sessionId).open();
	await peer.call('submit_turn', { sessionId, text: '[[tokens 20]]', turnId: 'by-b' });
	await reader.ended('by-b');
	const [session, missing] = await peer.batch(['get_session', { sessionId }], ['get_task', { taskId: `task_${sessionId.slice(5)}_99` }]);
	assert.equal(session.value.asOfSequence, reader.last);
	assert.equal(missing.reason.data.code, 'task_not_found');
	await peer.call('submit_turn', { sessionId, text: '[[fail-times 1 hang]] hello', turnId: 'lost' });
	await waitFor(() => model.log('lost')[0], 'the model call');
	await a.kill9();
	await reader.until(() => !reader.isOpen, 'the end of the subscription');
	assert.deepEqual([reader.how.error.code, reader.how.error.retryable, reader.how.cursor], ['owner_unreachable', true, reader.cursor]);
	assert.equal(peer.isOver, false, 'the connection is not the session');
	await waitFor(() => reader.open().then(() => true, () => false), 'the session at the other node');
	assert.equal((await reader.ended('lost')).type, 'turn.completed');
	reader.check();
	peer.check();
	peer.destroy();
	await b.stop();
});
