// Two nodes on one PostgreSQL and one worker, which is connected to both: a session reaches its worker whichever node has it, also after the other node was killed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { follow, newFolder, ok, request, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { privateFolder, startRelay, startWorker } from './worker.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const nodes = {};
let model, env, worker, workspace;

/** The name of a node is the port of its relay, so that workers.node_url leads there, and the node can have any port. */
async function startNode(name) {
	const relay = nodes[name]?.relay ?? await startRelay(0);
	const port = new URL(relay.url).port;
	const rt = await startAgentd({ model, env: { ...env, AGENTD_NODE: port }, config: { 'cluster.lease_ms': 1500, 'permission.mode': 'bypass', 'workspaces.dir': privateFolder(),
		'workers.node_url': 'http://127.0.0.1:{node}', 'workers.heartbeat_ms': 200, 'workers.lease_ms': 3000 } });
	relay.port = rt.port;
	nodes[name] = { rt, relay, port };
	return nodes[name];
}

const table = async (node) => JSON.parse((await request(node.rt, { method: 'GET', path: '/v1/nodes' })).text);
const shares = async (node, count) => waitFor(async () => { const t = (await table(node)).nodes; return t.length === count && t.every((n) => n.partitions >= Math.floor(1024 / count)); }, 'a fair share for each', 20000);
/** What this node itself knows: the record may be another one's. */
const joinedTo = (node) => waitFor(() => worker.stderr.split('\n').filter((line) => line.includes(`127.0.0.1:${node.port}`)).at(-1)?.includes('"joined"'), () => `a link to ${node.port}:\n${worker.stderr}`, 30000);
const submit = (node, name, args, more = {}) => ok(node.rt, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: call(name, args), ...more });

before(async () => {
	if (skip) return;
	model = await startModel();
	env = storeOf(newFolder());
	for (const name of ['a', 'b']) await startNode(name);
	for (const name of ['a', 'b']) await shares(nodes[name], 2);
	worker = await startWorker(nodes.a.rt, { url: nodes.a.relay.url });
	({ workspace } = await ok(nodes.a.rt, 'create_workspace', { name: 'far', worker: worker.workerId }));
});
after(async () => { for (const { rt } of Object.values(nodes)) await rt.kill9().catch(() => {}); });

async function completes(node, turn, turnId = turn.turnId) {
	const follower = await follow(node.rt, turn.sessionId);
	await follower.ended(turnId);
	const end = follower.facts.find((f) => f.event.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type));
	assert.equal(end?.type, 'turn.completed', JSON.stringify(end?.event));
	follower.check();
	return follower.facts.map((f) => ({ type: f.type, ...f.event }));
}

test('a worker that was given one address is connected to every node', { skip, timeout: 120000 }, async () => {
	for (const node of Object.values(nodes)) await joinedTo(node);
	for (const { rt } of Object.values(nodes)) {
		const { live } = await ok(rt, 'get_worker', { workerId: worker.workerId });
		assert.equal(live.state, 'connected', JSON.stringify(live));
	}
});

test('sessions of each node work on it', { skip, timeout: 120000 }, async () => {
	for (const [name, node] of Object.entries(nodes)) {
		const turn = await submit(node, 'write_file', { path: `by-${name}`, content: `${name}\n` });
		await completes(node, turn);
		assert.equal(readFileSync(join(workspace.root, `by-${name}`), 'utf8'), `${name}\n`);
	}
});

test('a node is killed while its session runs a command there: the other node has it, and it ran once', { skip, timeout: 120000 }, async () => {
	const turn = await submit(nodes.a, 'shell', { command: 'echo began >> ran; while [ ! -e go-on ]; do sleep 0.05; done; echo over' });
	await waitFor(() => existsSync(join(workspace.root, 'ran')), 'the command');
	await nodes.a.rt.kill9();
	nodes.a.relay.cut(true);
	await shares(nodes.b, 1);
	await waitFor(() => worker.stderr.includes('"a node is gone"'), () => worker.stderr, 30000);
	writeFileSync(join(workspace.root, 'go-on'), '');
	const facts = await completes(nodes.b, turn);
	assert.equal(facts.filter((f) => f.type === 'process.started').length, 1);
	assert.equal(readFileSync(join(workspace.root, 'ran'), 'utf8'), 'began\n');
	const text = JSON.stringify(model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
	assert.ok(text.includes('over'), text);
});

test('a node that is back is joined again; drained at one node, no node begins a call', { skip, timeout: 120000 }, async () => {
	nodes.a.relay.isDown = false;
	await startNode('a');
	for (const name of ['a', 'b']) await shares(nodes[name], 2);
	await joinedTo(nodes.a);
	await ok(nodes.a.rt, 'update_worker', { workerId: worker.workerId, draining: true });
	const held = [];
	for (const node of Object.values(nodes)) {
		const { sessionId } = await ok(node.rt, 'create_session', { workspaceId: workspace.workspaceId });
		held.push(await waitFor(async () => {
			const turn = await submit(node, 'write_file', { path: 'late', content: 'x' }, { sessionId, createPolicy: undefined });
			const { status } = await waitFor(async () => { const task = await ok(node.rt, 'get_task', { taskId: turn.taskId }); return /^(waiting_resource|completed)$/.test(task.status) && task; }, 'an end or a wait');
			if (status === 'waiting_resource') return turn;
			return false;
		}, 'a call that waits', 20000));
	}
	await ok(nodes.b.rt, 'update_worker', { workerId: worker.workerId, draining: false });
	for (const turn of held) await completes(nodes.a, turn);
});

test('a worker that is removed at one node is gone from all', { skip, timeout: 60000 }, async () => {
	await ok(nodes.b.rt, 'remove_worker', { workerId: worker.workerId });
	assert.equal((await worker.end(undefined, 30000)).code, 1);
	assert.match(worker.stderr, /does not accept the token/);
});
