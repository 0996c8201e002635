// Webhooks on two nodes: while a receiver fails one node is killed, then the other; every event arrives, each under one id.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder, ok, request, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';
import { factsOf } from '../tenant/tenants.mjs';
import { entry, receiver } from './receiver.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;

test('a node is killed while a receiver fails: the other delivers what is left, and every event keeps its id', { skip, timeout: 180000 }, async () => {
	const to = await receiver({ answer: () => 500 });
	const model = await startModel(), env = storeOf(newFolder());
	const start = (name) => startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500, 'webhook.report_ms': 20, webhooks: [entry('hook', to, { max_attempts: 100, parallel: 8 })] } });
	const nodes = [await start('a'), await start('b')];
	for (const node of nodes) await waitFor(async () => (await table(node)).length === 2 && (await table(node)).every((n) => n.partitions > 400), 'a share for each');
	await waitFor(async () => (await ok(nodes[0], 'list_webhooks', {})).webhooks[0].cursor !== undefined, 'the first position');

	const sessions = [];
	const turns = async (node) => {
		for (let i = 0; i < 8; i++) sessions.push((await waitFor(() => submit(node, 'hello').catch(() => null), 'a session', 60000)).sessionId);
	};
	/** Every event of every session, as the node has it. */
	const events = async (node) => (await Promise.all(sessions.map((id) => factsOf(node, null, id)))).flat();
	/** Until the node has taken over what the other one had. */
	const ended = (node) => waitFor(async () => {
		const all = await events(node).catch(() => []);
		return all.filter((e) => e.type === 'turn.completed').length === sessions.length && all;
	}, 'the ends of the turns', 60000);

	await turns(nodes[0]);
	await ended(nodes[1]);
	await waitFor(() => to.got.length > 0, 'an attempt');
	await nodes[0].kill9();
	const before = new Set(sessions);
	to.answer = ({ event }) => (before.has(event.sessionId) ? 204 : 500);
	await turns(nodes[1]);
	await ended(nodes[1]);
	await waitFor(() => to.got.some((r) => !before.has(r.event?.sessionId)), 'an attempt for one of the new sessions', 60000);
	nodes[0] = await start('a');
	await nodes[1].kill9();
	to.answer = () => (to.got.length % 3 ? 204 : 503);
	const all = await ended(nodes[0]);
	const missing = () => all.find((e) => !to.got.some((r) => r.event?.eventId === e.eventId));
	await waitFor(() => !missing(), () => `event ${JSON.stringify(missing())}`, 60000);
	assert.deepEqual(to.bad, []);
	const idOf = new Map();
	for (const { id, event } of to.got) {
		assert.equal(idOf.get(event.eventId) ?? id, id, 'an event has one id, whichever node sends it');
		idOf.set(event.eventId, id);
	}
	assert.equal(new Set(idOf.values()).size, idOf.size, 'two events have two ids');
});
