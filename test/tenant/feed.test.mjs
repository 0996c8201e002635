// All sessions of a tenant in one stream: what it carries is what their logs say, each fact once and each session's in order, whatever is cut or
// killed meanwhile; and nothing of another tenant.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { connectWs, RpcFollower, startStdio } from '../lib/rpc.mjs';
import { follow, newFolder, ok, readLog, request, startAgentd, startModel, storeOf, submit, waitFor, world } from '../lib/runtime.mjs';
import { H2TenantFollower, RpcTenantFollower, TenantFollower } from './follow_all.mjs';
import { ask, homeOf, must, tenants } from './tenants.mjs';

let model;

before(async () => {
	model = await startModel();
});

/** All that `read` gives of these sessions has arrived, in its order and in its bytes, and nothing of others. */
async function expectFacts(read, follower, sessionIds) {
	for (const sessionId of sessionIds) {
		const log = await read(sessionId);
		await follower.until(() => follower.has(sessionId, log.length), `${log.length} facts of ${sessionId}`);
		assert.deepEqual(follower.of(sessionId), log.map((f) => f.data), sessionId);
	}
	follower.check();
	assert.deepEqual([...follower.sessions.keys()].toSorted(), sessionIds.toSorted());
}

const expectLogs = (rt, follower, sessionIds) => expectFacts((sessionId) => readLog(rt, sessionId), follower, sessionIds);

const isAtRest = ({ threads }) => threads.every((t) => !t.activeTurnId && !t.queuedTurns?.length);

async function settle(rt, { sessionId, turnId }) {
	const reader = await follow(rt, sessionId);
	await reader.ended(turnId);
	reader.stop();
}

test('sessions that are there and sessions that are made later', async () => {
	const { rt } = await world({ model });
	const first = await submit(rt, 'one');
	await settle(rt, first);
	const follower = await new TenantFollower(rt).open();
	const second = await submit(rt, 'two');
	const again = await submit(rt, 'three', { sessionId: first.sessionId });
	for (const turn of [second, again]) await settle(rt, turn);
	await expectLogs(rt, follower, [first.sessionId, second.sessionId]);
	const late = await new TenantFollower(rt).open();
	await expectLogs(rt, late, [first.sessionId, second.sessionId]);
	assert.deepEqual(late.facts.map((f) => f.data), follower.facts.map((f) => f.data), 'one order for all who read');
	await rt.stop();
});

test('cut and killed again and again, exactly the facts of all logs arrive', async () => {
	const dataDir = newFolder();
	let rt = await startAgentd({ dataDir, model });
	const sessions = [];
	const follower = new TenantFollower(rt);
	for (let round = 0; round < 12; round++) {
		await waitFor(() => follower.open().catch(() => undefined), 'the stream');
		const arrived = follower.facts.length;
		for (let i = 0; i < 2; i++) sessions.push((await submit(rt, `[[tokens ${5 + round}]]`)).sessionId);
		await submit(rt, 'more', { sessionId: sessions[round % sessions.length] });
		await follower.until(() => follower.facts.length > arrived + round, 'some more');
		follower.cut();
		await follower.until(() => !follower.isOpen, 'the cut');
		if (round % 3 < 2) continue;
		await rt.kill9();
		follower.rt = rt = await startAgentd({ dataDir, model });
	}
	await follower.open();
	for (const sessionId of sessions) await waitFor(async () => isAtRest(await ok(rt, 'get_session', { sessionId })), 'rest');
	await expectLogs(rt, follower, sessions);
	await rt.stop();
});

test('every cursor of the stream goes on exactly there', async () => {
	const { rt } = await world({ model });
	const { sessionId, turnId } = await submit(rt, '[[tokens 3]]');
	await settle(rt, { sessionId, turnId });
	const whole = await new TenantFollower(rt).open();
	await expectLogs(rt, whole, [sessionId]);
	const cursors = [];
	const noting = new TenantFollower(rt);
	noting.fact = (event, fields) => (cursors.push(fields.id), TenantFollower.prototype.fact.call(noting, event, fields));
	await noting.open();
	await noting.until(() => cursors.length === whole.facts.length, 'all');
	for (const [i, after] of cursors.slice(0, -1).entries()) {
		const from = await new TenantFollower(rt, { after }).open();
		await from.until(() => from.facts.length === whole.facts.length - i - 1, `what follows ${after}`);
		assert.deepEqual(from.facts.map((f) => f.data), whole.facts.slice(i + 1).map((f) => f.data));
		from.stop();
	}
	await rt.stop();
});

test('families, views, and only what is new', async () => {
	const { rt } = await world({ model });
	const old = await submit(rt, 'one');
	await settle(rt, old);
	const [turns, strict, now] = await Promise.all(['view=extended&types=turn.*', 'view=strict', 'after=now&view=extended'].map((query) => new TenantFollower(rt, { query: encodeURI(query) }).open()));
	const fresh = await submit(rt, 'two');
	await settle(rt, fresh);
	const logs = [...(await readLog(rt, old.sessionId)), ...(await readLog(rt, fresh.sessionId))];
	const isEnd = (f) => f.type === 'turn.completed' && f.event.turnId === fresh.turnId;
	for (const follower of [turns, strict, now]) await follower.until(() => follower.facts.some(isEnd), 'the end of the turn');
	assert.deepEqual(turns.facts.map((f) => f.data), logs.filter((f) => f.type.startsWith('turn.')).map((f) => f.data));
	assert.ok(strict.facts.length > turns.facts.length && strict.facts.every((f) => f.event.schemaVersion));
	assert.deepEqual([...now.sessions.keys()], [fresh.sessionId]);
	assert.equal(now.facts[0].sequence, 1);
	await rt.stop();
});

test('what is of one session only is refused, and cursors are not taken for each other', async () => {
	const { rt } = await world({ model });
	const { sessionId, turnId } = await submit(rt, 'one');
	await settle(rt, { sessionId, turnId });
	const code = async (input) => JSON.parse((await request(rt, { path: '/v1/subscribe_events', body: JSON.stringify(input) })).text).error.code;
	assert.equal(await code({ fromSequence: 3 }), 'invalid_input');
	assert.equal(await code({ deltas: true }), 'invalid_input');
	for (const after of ['3', 't', 't1', 't1:', 't1:2.', 't1:2,', 't1:2,1:3', 't1:2.1,2:3.1', 't0:1', 't1:0', 't1:99999999999999', 'tx:1']) assert.equal(await code({ after }), 'invalid_cursor', after);
	assert.equal(await code({ sessionId, after: 't1:2' }), 'invalid_cursor');
	await rt.stop();
});

test('over JSON-RPC, with the same cursors', async () => {
	const { rt } = await world({ model });
	const peer = await connectWs(rt.url);
	const events = [];
	const subscriptionId = await peer.subscribe({ view: 'extended' }, { event: (cursor, json) => events.push({ cursor, json }), ended: () => {}, lost: () => {} });
	assert.match(subscriptionId, /^subscription_/);
	const turn = await submit(rt, 'one');
	await settle(rt, turn);
	const log = await readLog(rt, turn.sessionId);
	await waitFor(() => events.length >= log.length, 'all facts');
	assert.deepEqual(events.map((e) => e.json), log.map((f) => f.data));
	const rest = await new TenantFollower(rt, { after: events[2].cursor }).open();
	await rest.until(() => rest.facts.length === log.length - 3, 'the rest');
	assert.deepEqual(rest.facts.map((f) => f.data), log.slice(3).map((f) => f.data));
	await rt.stop();
});

// ---- other doors: work in two sessions at once, and the reader cut in the middle of it, again and again ----

/** Rounds of work; `submitTo` gives the session, `breakOff` cuts the reader and brings it back. The sessions. */
async function workAndCut(follower, submitTo, breakOff) {
	const sessions = [undefined, undefined];
	for (let round = 0; round < 4; round++) {
		const arrived = follower.facts.length;
		for (const i of sessions.keys()) sessions[i] = (await submitTo(sessions[i], `[[tokens ${20 + round}]] [[delay 2]]`)).sessionId;
		await follower.until(() => follower.facts.length > arrived + 3 + round, 'some more');
		await breakOff();
	}
	return sessions;
}

test('over HTTP/2, by its cursors, exactly the facts of the logs arrive', async () => {
	const { rt } = await world({ model });
	const follower = await new H2TenantFollower(rt).open();
	const sessions = await workAndCut(follower, (sessionId, text) => submit(rt, text, { sessionId }), () => follower.resume());
	for (const sessionId of sessions) await waitFor(async () => isAtRest(await ok(rt, 'get_session', { sessionId })), 'rest');
	await expectLogs(rt, follower, sessions);
	assert.equal(follower.connections, 5);
	await rt.stop();
});

test('over stdio, by its cursors, exactly the facts of the logs arrive, the runtime itself being killed', async () => {
	const dataDir = newFolder();
	const start = () => startStdio({ dataDir, model, config: { 'recovery.max_restarts': 100 } });
	let peer = start();
	const follower = await new RpcTenantFollower(async () => peer).open();
	const submitTo = (sessionId, text) => peer.call('submit_turn', { ...(sessionId ? { sessionId } : { createPolicy: {} }), text });
	const sessions = await workAndCut(follower, submitTo, async () => {
		follower.cut();
		assert.deepEqual(await peer.closed, { code: null, signal: 'SIGKILL' }, peer.stderr);
		peer.check();
		peer = start();
		await follower.open();
	});
	for (const sessionId of sessions) await waitFor(async () => isAtRest(await peer.call('get_session', { sessionId })), 'rest');
	const read = async (sessionId) => {
		const { asOfSequence } = await peer.call('get_session', { sessionId });
		const reader = await new RpcFollower(async () => peer, sessionId).open();
		await reader.until(() => reader.last >= asOfSequence, 'the log');
		reader.check();
		return reader.facts;
	};
	await expectFacts(read, follower, sessions);
	assert.equal(follower.connections, 5);
	peer.check();
	assert.deepEqual(await peer.end(), { code: 0, signal: null }, peer.stderr);
});

// ---- the wall ----

test('another tenant is never shown, and the home session to administrators alone', async () => {
	const w = await tenants({ model });
	const open = (tenant, scope) => new TenantFollower(w.rt, { token: w[tenant].tokens[scope] }).open();
	const [ours, reader, theirs] = await Promise.all([open('acme', 'admin'), open('acme', 'read'), open('zeta', 'read')]);
	assert.equal((await ask(w.rt, w.acme.tokens.read, 'submit_turn', { createPolicy: {}, text: 'no' })).status, 403);
	const made = {};
	for (const tenant of ['acme', 'zeta']) made[tenant] = await must(w.rt, w[tenant].tokens.submit, 'submit_turn', { createPolicy: {}, text: 'yes' });
	const isEnd = (tenant) => (f) => f.type === 'turn.completed' && f.event.turnId === made[tenant].turnId;
	for (const [follower, tenant] of [[ours, 'acme'], [reader, 'acme'], [theirs, 'zeta']]) await follower.until(() => follower.facts.some(isEnd(tenant)), 'the end of the turn');
	await ours.until(() => ours.facts.some((f) => f.type === 'access.refused'), 'the refusal');
	const shown = (tenant) => [w[tenant].ids.sessionId, made[tenant].sessionId, w[tenant].ids.workspaceId.replace('ws_', 'sess_'), w[tenant].ids.workerId.replace('wk_', 'sess_'), w[tenant].ids.scheduleId.replace('sched_', 'sess_')].toSorted();
	assert.deepEqual([...reader.sessions.keys()].toSorted(), shown('acme'));
	assert.deepEqual([...theirs.sessions.keys()].toSorted(), shown('zeta'));
	assert.deepEqual([...ours.sessions.keys()].toSorted(), [...shown('acme'), homeOf('acme')].toSorted());
	for (const follower of [ours, reader, theirs]) follower.check();
	assert.equal((await ask(w.rt, w.acme.tokens.submit, 'subscribe_events', {})).body.error.code, 'not_authorized');
	await w.rt.stop();
});

// ---- many nodes ----

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

test('a node shows what the others write, also when one is killed', { skip }, async () => {
	const env = storeOf(newFolder());
	const start = (name) => startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500 } });
	const nodes = [await start('a'), await start('b'), await start('c')];
	const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;
	for (const node of nodes) await waitFor(async () => (await table(node)).filter((n) => n.partitions > 300).length === 3, 'a fair share for each');
	const follower = await new TenantFollower(nodes[0]).open();
	const sessions = [];
	for (let round = 0; round < 5; round++) {
		for (const node of nodes) sessions.push((await submit(node, `[[tokens ${10 + round}]]`)).sessionId);
		if (round % 2) await follower.resume(nodes[round % 3]);
	}
	follower.cut();
	await follower.until(() => !follower.isOpen, 'the cut');
	await nodes[2].kill9();
	follower.rt = nodes[1];
	await follower.open();
	await waitFor(async () => (await table(nodes[0])).length === 2, 'the takeover');
	for (const sessionId of sessions) {
		await submit(nodes[0], 'once more', { sessionId });
		await waitFor(async () => isAtRest(await ok(nodes[0], 'get_session', { sessionId })), 'rest');
	}
	await expectLogs(nodes[0], follower, sessions);
	for (const node of nodes.slice(0, 2)) await node.stop();
});
