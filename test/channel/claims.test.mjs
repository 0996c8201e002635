// What a peer says of itself and the server knows: the protocol of its calls and of its stream, and whether it may have its role.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { connectWs, RpcError, startStdio } from '../lib/rpc.mjs';
import { call, follow, ok, startModel, waitFor, world } from '../lib/runtime.mjs';
import { ask, must } from '../tenant/tenants.mjs';

const PEER = { peerRole: 'client', credential: 'mine' };
const TRANSPORTS = ['websocket', 'sse', 'json_rpc', 'grpc', 'http_json', 'stdio', 'in_process', 'custom'];
const none = { event() {}, ended() {}, lost() {} };

/** Which of all transports are taken when a peer names them in a call by this door. */
async function taken(connect) {
	const good = [];
	for (const transport of TRANSPORTS) {
		const refusal = await connect({ ...PEER, transport }).then(() => good.push(transport) && null, (e) => e);
		if (refusal) assert.ok(/came by/.test(refusal.message ?? refusal), String(refusal));
	}
	return good;
}

test('CH-11 an SSE client and a JSON-RPC peer: two channels with the transports that the server sees; what it sees otherwise is refused, and is no fact', async () => {
	const w = await world();
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const overHttp = async (peer) => {
		const { status, body } = await call(w.rt, 'connect_channel', { sessionId, ...peer });
		if (status !== 200) throw new Error(body.error.message);
	};
	assert.deepEqual(await taken(overHttp), ['websocket', 'sse', 'json_rpc', 'http_json', 'custom']);
	const ws = await connectWs(w.rt.url);
	assert.deepEqual(await taken((peer) => ws.call('connect_channel', { sessionId, ...peer })), ['websocket', 'json_rpc', 'custom']);
	const model = await startModel();
	const stdio = startStdio({ model });
	const mine = (await stdio.call('create_session', {})).sessionId;
	assert.deepEqual(await taken((peer) => stdio.call('connect_channel', { sessionId: mine, ...peer })), ['json_rpc', 'stdio', 'custom']);
	assert.equal((await facts(w.rt, sessionId, 'channel.connected')).length, 8, 'a refused one is no fact');

	const one = await ok(w.rt, 'connect_channel', { sessionId, ...PEER, transport: 'sse' });
	const two = await ws.call('connect_channel', { sessionId, ...PEER, transport: 'json_rpc', peerRole: 'host' });
	const stream = await follow(w.rt, sessionId, { channelId: one.channelId });
	const subscribe = (peer, channelId, id = sessionId) => peer.subscribe({ sessionId: id, channelId }, none);
	await subscribe(ws, two.channelId);
	const [a, b] = (await facts(w.rt, sessionId, 'channel.connected')).slice(-2);
	assert.deepEqual([a, b].map((e) => [e.channelId, e.payload.transport, e.payload.peerRole]), [[one.channelId, 'sse', 'client'], [two.channelId, 'json_rpc', 'host']]);
	assert.notEqual(a.channelId, b.channelId);

	await assert.rejects(subscribe(ws, one.channelId), (e) => e instanceof RpcError && /connected as 'sse', and its stream comes by WebSocket/.test(e.message));
	await assert.rejects(follow(w.rt, sessionId, { channelId: two.channelId }), /connected as 'json_rpc', and its stream comes by HTTP/);
	stream.stop();
	const { channelId } = await stdio.call('connect_channel', { sessionId: mine, ...PEER, transport: 'stdio' });
	await subscribe(stdio, channelId, mine);
	await stdio.end();
	ws.destroy();
	await w.rt.stop();
});

test('CH-11 a peer has no role that it has no right to: the refusal names the scope, is in the audit trail, and is no fact of the session', async () => {
	const w = await world({ config: { 'auth.required': true } });
	const NEEDS = { client: 'read', host: 'decide', worker: 'worker', remote_runtime: 'submit', peer_agent: 'submit', tool_server: 'worker' };
	const token = async (scopes) => (await ok(w.rt, 'create_token', { name: scopes.join(), scopes }, { via: 'socket' })).token;
	const admin = await token(['admin']);
	const { sessionId } = await must(w.rt, admin, 'create_session', {});
	for (const [peerRole, scope] of Object.entries(NEEDS)) {
		const peer = { sessionId, transport: 'sse', credential: 'mine', peerRole };
		await must(w.rt, await token(['read', scope]), 'connect_channel', { ...peer, channelId: `${peerRole}-1` });
		await must(w.rt, admin, 'connect_channel', { ...peer, channelId: `${peerRole}-2` });
		if (scope === 'read') continue;
		const without = await token(['read', ...['submit', 'decide', 'worker'].filter((s) => s !== scope)]);
		const { body } = await ask(w.rt, without, 'connect_channel', peer);
		assert.deepEqual([body.error.code, body.error.message], ['not_authorized', `a peer in the role '${peerRole}' needs the scope '${scope}', which the caller does not have`]);
	}
	const { history } = await must(w.rt, admin, 'get_session', { sessionId, limit: 200 });
	assert.deepEqual(history.events.filter((e) => e.type === 'channel.connected').map((e) => e.payload.peerRole), Object.keys(NEEDS).flatMap((role) => [role, role]));
	const refusals = async () => (await must(w.rt, admin, 'list_audit', { limit: 200 })).entries.filter((e) => e.command === 'connect_channel' && e.code === 'not_authorized');
	await waitFor(async () => (await refusals()).length === 5, 'all refusals in the audit trail');
	await w.rt.stop();
});
