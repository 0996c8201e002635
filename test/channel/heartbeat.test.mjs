// Peers that agreed to be heard of, and peers whose credentials end: silence and a lost right are facts with their reasons, and questions come back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, ended, facts, pending, seen, tools, wants } from '../lib/gate.mjs';
import { follow, ok, refused, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';

const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
const HEARTBEAT = 1000;
const SIGNS = ['channel.connected', 'channel.resumed', 'channel.acked', 'channel.message', 'turn.submitted'];
const at = (time) => Date.parse(time);

/** No peer is disconnected for silence earlier than it agreed to, and the fact says when it was last heard of. */
function isTrue(log, channelId) {
	const mine = log.filter((e) => e.channelId === channelId);
	const gone = mine.filter((e) => e.type === 'channel.disconnected');
	for (const e of gone) {
		const last = mine.findLast((f) => SIGNS.includes(f.type) && f.sequence < e.sequence);
		assert.deepEqual([e.payload.reason, e.payload.lastSeenAt], ['missed_heartbeat', last.timestamp], channelId);
		assert.ok(at(e.timestamp) - at(e.payload.lastSeenAt) >= HEARTBEAT, 'not before its time');
	}
	return gone;
}

test('CH-12 a peer that agreed to a heartbeat and is silent is disconnected, though its stream is open; work goes on, and heard of again it is back and asked', async () => {
	const w = await world();
	const { sessionId } = await ok(w.rt, 'create_session', {});
	for (const transport of ['grpc', 'in_process']) await refused(w.rt, 'invalid_input', 'connect_channel', { ...PEER, sessionId, transport });
	for (const heartbeatMs of [0, 999, -1, 86_400_001]) await refused(w.rt, 'invalid_input', 'connect_channel', { ...PEER, sessionId, heartbeatMs });
	await ok(w.rt, 'connect_channel', { ...PEER, sessionId, channelId: 'calm' });
	await ok(w.rt, 'connect_channel', { ...PEER, sessionId, channelId: 'phone', heartbeatMs: HEARTBEAT });
	const stream = await follow(w.rt, sessionId, { channelId: 'phone' });
	await seen(w.rt, sessionId, 'channel.disconnected');
	assert.equal(isTrue(await facts(w.rt, sessionId), 'phone').length, 1);
	const { turnId } = await submit(w.rt, 'work goes on', { sessionId });
	assert.equal((await ended(w.rt, sessionId, turnId)).type, 'turn.completed');
	await stream.until(() => stream.end(turnId), 'what it did not ask for');
	const status = async () => Object.fromEntries((await ok(w.rt, 'get_session', { sessionId })).channelSummary.channels.map((c) => [c.channelId, [c.status, c.heartbeatMs]]));
	assert.deepEqual(await status(), { calm: ['connected', undefined], phone: ['disconnected', HEARTBEAT] }, 'without a heartbeat silence says nothing');
	await ask(w.rt, ['drop'], { sessionId });
	const [action] = await pending(w.rt, sessionId);
	const asked = async () => (await facts(w.rt, sessionId, 'channel.permission_forwarded')).filter((e) => e.channelId === 'phone').map((e) => e.actionId);
	assert.deepEqual(await asked(), []);
	await ok(w.rt, 'ack_events', { channelId: 'phone', sessionId, sequence: 0 });
	assert.equal((await facts(w.rt, sessionId, 'channel.resumed')).filter((e) => e.channelId === 'phone').length, 1);
	assert.deepEqual(await asked(), [action.actionId]);
	await seen(w.rt, sessionId, 'channel.disconnected', 2);
	assert.equal(isTrue(await facts(w.rt, sessionId), 'phone').length, 2, 'silent again');
	stream.stop();
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual((await status()).phone, ['disconnected', HEARTBEAT]);
	assert.equal((await facts(w.rt, sessionId, 'channel.disconnected')).filter((e) => e.channelId === 'phone').length, 2, 'it is told once');
	await ok(w.rt, 'ack_events', { channelId: 'phone', sessionId, sequence: 0 });
	await waitFor(async () => isTrue((await facts(w.rt, sessionId)).filter((e) => e.channelId === 'phone'), 'phone').length === 3, 'the agreement holds after a crash');
	await w.rt.stop();
});

test('CH-12 every command of a peer is a sign of life: an acknowledgement that is not new, a notice, a turn', async () => {
	const w = await world();
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const signs = {
		ack: (channelId) => ok(w.rt, 'ack_events', { channelId, sessionId, sequence: 0 }),
		notice: (channelId) => ok(w.rt, 'post_channel_message', { channelId, sessionId, messageKind: 'status', text: 'here' }),
		turn: (channelId) => submit(w.rt, 'here', { sessionId, channelId, busyPolicy: 'queue' }),
	};
	for (const channelId of Object.keys(signs)) await ok(w.rt, 'connect_channel', { ...PEER, sessionId, channelId, heartbeatMs: HEARTBEAT });
	const [first] = await facts(w.rt, sessionId, 'channel.connected');
	let round = 0;
	await waitFor(async () => {
		const now = Date.now() - at(first.timestamp);
		for (; round * HEARTBEAT / 4 < now; round++) for (const [channelId, sign] of Object.entries(signs)) await sign(channelId);
		return now > 1.5 * HEARTBEAT;
	}, 'longer than the silence that was agreed to');
	const log = await waitFor(async () => {
		const all = await facts(w.rt, sessionId);
		return Object.keys(signs).every((id) => all.findLast((e) => e.channelId === id).type === 'channel.disconnected') && all;
	}, 'the silence after it');
	for (const [channelId, type] of [['ack', 'channel.acked'], ['notice', 'channel.message'], ['turn', 'turn.submitted']])
		assert.equal(log.filter((e) => e.channelId === channelId && e.type === type).length, round, `${channelId}: each is a fact`);
	for (const channelId of Object.keys(signs)) assert.ok(at(isTrue(log, channelId).at(-1).payload.lastSeenAt) - at(first.timestamp) > HEARTBEAT, `${channelId} was heard of`);
	await w.rt.stop();
});

test('CH-04 CH-12 the credential of a peer is revoked: disconnected by auth, its question comes back as an auth failure for this channel alone, and others can answer it', async () => {
	const w = await world({ config: { 'auth.required': true } });
	const made = (name) => ok(w.rt, 'create_token', { tenant: 'acme', name, scopes: ['read', 'submit', 'decide'] }, { via: 'socket' });
	const [phone, desk] = [await made('phone'), await made('desk')];
	const { sessionId } = await must(w.rt, desk.token, 'submit_turn', { createPolicy: {}, text: wants('drop'), options: { tools: Object.values(tools) } });
	const log = async (...types) => (await factsOf(w.rt, desk.token, sessionId)).filter((e) => types.includes(e.type));
	const [{ actionId, toolCallId }] = await waitFor(async () => { const open = await log('action.required'); return open.length > 0 && open; }, 'a question');
	await must(w.rt, phone.token, 'connect_channel', { ...PEER, sessionId, channelId: 'phone' });
	await must(w.rt, desk.token, 'connect_channel', { ...PEER, sessionId, channelId: 'desk' });
	const stream = await fetch(`${w.rt.url}/v1/sessions/${sessionId}/events?channelId=phone`, { headers: { authorization: `Bearer ${phone.token}` } });
	assert.equal(stream.status, 200);
	const drained = stream.text();
	const foreign = await request(w.rt, { path: '/v1/respond_action', body: JSON.stringify({ actionId, decision: 'allow', channelId: 'phone' }), headers: { authorization: `Bearer ${desk.token}` } });
	assert.equal(JSON.parse(foreign.text).error.code, 'not_authorized', 'nobody answers as another peer');
	await ok(w.rt, 'revoke_token', { tokenId: phone.record.tokenId }, { via: 'socket' });
	await drained;
	const [back] = await waitFor(async () => { const all = await log('channel.permission_returned'); return all.length > 0 && all; }, 'the question is back');
	const [gone] = await log('channel.disconnected');
	assert.deepEqual([gone.channelId, gone.payload.reason], ['phone', 'auth']);
	const out = (await log('channel.permission_forwarded')).find((e) => e.channelId === 'phone');
	assert.deepEqual([out.payload.requestingPeer.sessionId, out.payload.target, out.payload.approvalActionId], [sessionId, { kind: 'tool', id: toolCallId }, actionId]);
	assert.deepEqual([back.channelId, back.actionId, back.payload.decision, back.payload.decidingSide, back.payload.source, back.payload.channelScoped], ['phone', actionId, 'none', 'local', 'auth_failure', true]);
	assert.deepEqual(await log('action.resolved'), [], 'the question is open');
	await w.rt.kill9();
	w.rt = await w.again();
	await must(w.rt, desk.token, 'respond_action', { actionId, decision: 'deny', channelId: 'desk' });
	const all = await log('channel.permission_returned');
	assert.deepEqual(all.map((e) => [e.channelId, e.payload.source, e.payload.decidingSide, e.payload.channelScoped]), [['phone', 'auth_failure', 'local', true], ['desk', 'response', 'remote', false]]);
	const resumed = await log('channel.resumed');
	assert.deepEqual(resumed.map((e) => e.channelId), ['desk'], 'who answers is there');
	await w.rt.stop();
});
