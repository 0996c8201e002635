// Tenants over two nodes: a principal goes along to the node that owns a session, the wall stands on both, and a home session hears what
// was refused on either. Needs PostgreSQL: tools/run-tests --store postgres.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newFolder, ok, request, sleep, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { TenantFollower } from './follow_all.mjs';
import { ask, homeOf, must } from './tenants.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

let nodes, token;

before(async () => {
	if (skip) return;
	const model = await startModel(), env = storeOf(newFolder());
	nodes = [];
	for (const name of ['a', 'b']) nodes.push(await startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500, tenants: [{ name: 'words', tokens_per_day: 60 }] } }));
	for (const node of nodes)
		await waitFor(async () => {
			const shares = JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes.map((n) => n.partitions);
			return shares.length === 2 && shares.every((n) => n === 512);
		}, 'a fair share for each');
	token = {};
	for (const [name, tenant, scopes] of [['acme', 'acme', ['admin']], ['zeta', 'zeta', ['admin']], ['reader', 'zeta', ['read']], ['words', 'words', ['admin']]])
		token[name] = (await ok(nodes[0], 'create_token', { tenant, name, scopes })).token;
	for (const node of nodes)
		for (const one of Object.values(token)) await waitFor(async () => (await ask(node, one, 'list_sessions', {})).status === 200, 'the token on every node');
});

test('any node answers a tenant about its own, and about others as about nobody', { skip }, async () => {
	for (const made of nodes) {
		const { sessionId } = await must(made, token.acme, 'create_session', {});
		const other = sessionId.slice(0, -4) + (sessionId.endsWith('qqqq') ? 'rrrr' : 'qqqq');
		for (const asked of nodes) {
			await must(asked, token.acme, 'get_session', { sessionId });
			for (const [name, more] of [['get_session', {}], ['submit_turn', { text: 'x' }], ['explain', { id: 'x' }], ['list_tasks', {}]]) {
				const foreign = await ask(asked, token.zeta, name, { sessionId, ...more });
				const unknown = await ask(asked, token.zeta, name, { sessionId: other, ...more });
				assert.deepEqual([foreign.status, foreign.text.replaceAll(sessionId, '')], [unknown.status, unknown.text.replaceAll(other, '')]);
				assert.equal(foreign.body.error.code, 'session_not_found');
			}
		}
		assert.equal((await must(made, token.acme, 'get_session', { sessionId })).asOfSequence, 2);
	}
});

test('a home hears what every node refused, whoever owns it', { skip }, async () => {
	for (const tenant of ['acme', 'zeta']) {
		const admin = token[tenant], { token: reader, record } = await must(nodes[0], admin, 'create_token', { name: `reader of ${tenant}`, scopes: ['read'] });
		for (const node of nodes) {
			await waitFor(async () => (await ask(node, reader, 'list_sessions', {})).status === 200, 'the token on every node');
			assert.equal((await ask(node, reader, 'create_session', {})).status, 403);
		}
		const told = () =>
			ask(nodes[1], admin, 'get_session', { sessionId: homeOf(tenant), limit: 200 }).then(({ body }) =>
				(body.history?.events ?? []).filter((f) => f.type === 'access.refused' && f.payload.actor.includes(record.tokenId)));
		await waitFor(async () => (await told()).length === 2, `two refusals in the home of ${tenant}`);
		for (const { payload } of await told()) assert.deepEqual([payload.command, payload.code, payload.count], ['create_session', 'not_authorized', 1]);
	}
});

test('only nodes bring notes', { skip }, async () => {
	const { status } = await request(nodes[0], { path: '/v1/audit', body: JSON.stringify({ tenant: 'acme', actor: 'me', code: 18, count: 1 }) });
	assert.equal(status, 404);
});

test('OPEN-13 a channel over all sessions is one and the same through any node', { skip }, async () => {
	const peer = { channelId: 'eye', transport: 'sse', peerRole: 'client', credential: 'mine' };
	const streams = [];
	for (const node of nodes) {
		await must(node, token.zeta, 'connect_channel', peer);
		streams.push(await new TenantFollower(node, { token: token.zeta, query: 'view=extended&channelId=eye' }).open());
	}
	await must(nodes[0], token.zeta, 'connect_channel', { ...peer, channelId: 'ws', transport: 'websocket' });
	for (const node of nodes) await assert.rejects(new TenantFollower(node, { token: token.zeta, query: 'channelId=ws' }).open(), /its stream comes by HTTP/, 'CH-11: what a peer says is held against its stream at whichever node');
	const made = [];
	for (const node of nodes) made.push((await must(node, token.zeta, 'create_session', {})).sessionId);
	for (const stream of streams) {
		for (const sessionId of made) await stream.until(() => stream.has(sessionId, 1), sessionId);
		stream.check();
	}
	const { cursor } = streams[0];
	for (const node of nodes) assert.equal((await must(node, token.zeta, 'ack_events', { channelId: 'eye', cursor })).cursor, cursor);
	for (const stream of streams) stream.stop();
	const facts = async () => (await must(nodes[0], token.zeta, 'get_session', { sessionId: homeOf('zeta'), limit: 500 })).history.events.filter((e) => e.channelId === 'eye');
	await waitFor(async () => (await facts()).some((e) => e.type === 'channel.disconnected'), 'the end of the last stream');
	assert.deepEqual((await facts()).map((e) => e.type), ['channel.connected', 'channel.connected', 'channel.acked', 'channel.disconnected']);
	for (const node of nodes) assert.equal((await must(node, token.zeta, 'reconnect_channel', { channelId: 'eye', lastAckedSequence: 0 })).replayMode, 'replay');
});

test('tokens of a day count over all nodes: what one used is refused by the other', { skip }, async () => {
	const left = 86400000 - (Date.now() % 86400000);
	if (left < 60000) await sleep(left + 1000); // the day must not end meanwhile
	const { sessionId } = await must(nodes[0], token.words, 'submit_turn', { createPolicy: {}, text: '[[tokens 100]]' });
	await waitFor(async () => (await must(nodes[0], token.words, 'get_session', { sessionId, limit: 200 })).history.events.some((f) => f.type === 'turn.completed'), 'the end of the turn');
	const used = [];
	for (const node of nodes) {
		used.push((await must(node, token.words, 'get_quota', {})).quotas.find((q) => q.quota === 'tokens_per_day').used);
		const { status, body } = await ask(node, token.words, 'submit_turn', { createPolicy: {}, text: 'more' });
		assert.deepEqual([status, body.error?.code], [429, 'tenant_quota_exceeded'], JSON.stringify(body));
	}
	assert.ok(used[0] > 100 && used[0] === used[1], `${used}`);
});
