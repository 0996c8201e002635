// Peers that follow a session: they enrol, acknowledge, go, come back, and answer questions; all of it is facts, and survives kill -9.
import assert from 'node:assert/strict';
import net from 'node:net';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen } from '../lib/gate.mjs';
import { download, linesOf } from '../evidence/packs.mjs';
import { follow, ok, refused, sleep, startAgentd, submit, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world();
});

const connect = (sessionId, more = {}) =>
	ok(w.rt, 'connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'], ...more });
const summary = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).channelSummary;
const head = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).asOfSequence;

async function quiet(text = 'hello') {
	const turn = await submit(w.rt, text);
	await ended(w.rt, turn.sessionId, turn.turnId);
	return turn;
}

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

test('CH-01 CH-11 RM-24 a peer enrols: who it is and what it can do are facts and a summary, before and after kill -9', async () => {
	const { sessionId } = await quiet();
	const { channelId, resumeToken } = await connect(sessionId, { channelId: 'my-editor', nativeProtocol: 'json_rpc' });
	assert.equal(channelId, 'my-editor');
	const [fact] = await facts(w.rt, sessionId, 'channel.connected');
	assert.equal(fact.channelId, channelId);
	assert.deepEqual([fact.payload.transport, fact.payload.peerRole, fact.payload.accountRef, fact.payload.nativeProtocol], ['sse', 'client', 'local', 'json_rpc']);
	assert.deepEqual(fact.payload.capabilities, ['streaming', 'resume', 'permissions']);
	assert.ok(Date.parse(fact.payload.lastSeenAt) && Date.parse(fact.payload.tokenExpiresAt) > Date.now());
	assert.ok(!JSON.stringify(fact).includes(resumeToken), 'the token is in no fact');
	const before = await summary(sessionId);
	await restart();
	assert.equal(before.channels[0].status, 'connected');
	assert.deepEqual(await summary(sessionId), { ...before, channels: [{ ...before.channels[0], status: 'disconnected' }] }, 'nobody is there after a crash');
	const [gone] = await facts(w.rt, sessionId, 'channel.disconnected');
	assert.deepEqual([gone.channelId, gone.payload.reason, gone.payload.lastSeenAt], [channelId, 'error', fact.payload.lastSeenAt]);
	await connect(sessionId, { transport: 'json_rpc', peerRole: 'host', capabilities: [] });
	const two = await facts(w.rt, sessionId, 'channel.connected');
	assert.deepEqual(two.map((e) => [e.payload.transport, e.payload.peerRole]), [['sse', 'client'], ['json_rpc', 'host']]);
	assert.notEqual(two[0].channelId, two[1].channelId);
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	assert.equal(threads[0].channels[0].channelId, channelId, 'RM-10');
});

test('CP-50 OPEN-05 acknowledgements are cumulative, of one session, and stand after kill -9', async () => {
	const one = await quiet();
	const two = await quiet();
	for (const { sessionId } of [one, two]) await connect(sessionId, { channelId: 'both' });
	const at = await head(one.sessionId);
	assert.equal((await ok(w.rt, 'ack_events', { channelId: 'both', sessionId: one.sessionId, sequence: at })).lastAckedSequence, at);
	assert.equal((await ok(w.rt, 'ack_events', { channelId: 'both', sessionId: one.sessionId, sequence: 1 })).lastAckedSequence, at, 'an older one does nothing');
	await refused(w.rt, 'sequence_ahead', 'ack_events', { channelId: 'both', sessionId: one.sessionId, sequence: at + 1000 });
	await refused(w.rt, 'channel_not_found', 'ack_events', { channelId: 'nobody', sessionId: one.sessionId, sequence: 1 });
	await restart();
	const acked = async (id) => (await summary(id)).channels[0].lastAckedSequence;
	assert.deepEqual([await acked(one.sessionId), await acked(two.sessionId)], [at, 0], 'the other session is not touched');
	for (const [turn, from] of [[one, at], [two, 0]]) {
		const stream = await follow(w.rt, turn.sessionId, { channelId: 'both', from });
		await stream.until(() => stream.facts.length > 0, 'the next fact');
		assert.equal(stream.facts[0].sequence, from + 1, 'without a cursor it goes on after what was acknowledged');
		stream.stop();
	}
});

test('CP-49 CH-06 CH-13 AC-16 coming back: the snapshot first, then what follows the last acknowledged sequence', async () => {
	const { sessionId } = await quiet();
	const { channelId, resumeToken } = await connect(sessionId);
	assert.match(channelId, /^chan_/);
	const at = 3;
	await ok(w.rt, 'ack_events', { channelId, sequence: at });
	await restart();
	const back = await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: at, resumeToken });
	assert.equal(back.snapshot.sessionId, sessionId);
	assert.equal(back.snapshot.asOfSequence, back.asOfSequence);
	assert.equal(back.replayMode, 'replay');
	assert.notEqual(back.newResumeToken, resumeToken);
	const [fact] = await facts(w.rt, sessionId, 'channel.resumed');
	assert.deepEqual([fact.payload.fromSequence, fact.payload.replayMode, fact.channelId], [at, 'replay', channelId]);
	const stream = await follow(w.rt, sessionId, { channelId, from: at });
	await stream.until(() => stream.last >= back.asOfSequence, 'what was missed');
	assert.equal(stream.facts[0].sequence, at + 1);
	stream.check();
	stream.stop();
	await refused(w.rt, 'resume_token_invalid', 'reconnect_channel', { channelId, lastAckedSequence: at, resumeToken });
	const { threadId } = (await ok(w.rt, 'get_session', { sessionId })).threads[0];
	assert.equal((await ok(w.rt, 'resume_thread', { sessionId, threadId, resumeToken: back.newResumeToken })).result, 'nothing_to_resume');
	await refused(w.rt, 'resume_token_invalid', 'resume_thread', { sessionId, threadId, resumeToken });
	await refused(w.rt, 'invalid_cursor', 'reconnect_channel', { channelId, cursor: 'x.y', resumeToken: back.newResumeToken });
	await refused(w.rt, 'channel_not_found', 'reconnect_channel', { channelId: 'nobody', sessionId, lastAckedSequence: 1 });
	await ok(w.rt, 'reconnect_channel', { channelId, cursor: `${at + 1}`, resumeToken: back.newResumeToken });
	const cursors = async () => (await summary(sessionId)).channels.map((c) => [c.resumeCursor, c.lastAckedSequence]);
	assert.deepEqual(await cursors(), [[`${at + 1}`, at + 1]], 'RM-24');
	await restart();
	assert.deepEqual(await cursors(), [[`${at + 1}`, at + 1]], 'RM-24');
});

test('CP-10 a token that is too old is told apart from a wrong one', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'channel.token_ms': 1000 } });
	const { sessionId, turnId } = await submit(rt, 'hello');
	await ended(rt, sessionId, turnId);
	const { channelId, resumeToken } = await ok(rt, 'connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'x' });
	const threadId = (await ok(rt, 'get_session', { sessionId })).threads[0].threadId;
	await sleep(1100);
	await refused(rt, 'resume_token_expired', 'reconnect_channel', { channelId, lastAckedSequence: 0, resumeToken });
	await refused(rt, 'resume_token_expired', 'resume_thread', { sessionId, threadId, resumeToken });
	await rt.stop();
});

/** As many peers as a session knows, none of which ever follows it. */
async function crowd(rt) {
	const { sessionId } = await ok(rt, 'create_session', {});
	const peer = (channelId) => ({ sessionId, channelId, transport: 'sse', peerRole: 'client', credential: 'x' });
	for (let i = 0; i < 64; i++) await ok(rt, 'connect_channel', peer(`c${i}`));
	return peer;
}

test('peers that enrol and never follow keep others out no longer than their tokens are good', async () => {
	const full = await crowd(w.rt);
	await refused(w.rt, 'overloaded', 'connect_channel', full('one-more'));
	await ok(w.rt, 'connect_channel', full('c0'));
	const rt = await startAgentd({ model: w.model, config: { 'channel.token_ms': 1000 } });
	const peer = await crowd(rt);
	await sleep(1100);
	await ok(rt, 'connect_channel', peer('c0')); // heard of again
	await ok(rt, 'connect_channel', peer('one-more'));
	const { channels } = (await ok(rt, 'get_session', { sessionId: peer().sessionId })).channelSummary;
	assert.equal(channels.length, 64);
	assert.deepEqual(['c0', 'c1', 'c2', 'one-more'].map((id) => channels.some((c) => c.channelId === id)), [true, false, true, true]);
	for (let i = 0; i < 70; i++) await ok(rt, 'connect_channel', { ...peer(`all${i}`), sessionId: undefined });
	await rt.stop();
});

test('CH-12 a stream of a channel ends: the peer is disconnected, once, and the next stream resumes it', async () => {
	const { sessionId } = await quiet();
	const { channelId } = await connect(sessionId);
	const first = await follow(w.rt, sessionId, { channelId });
	const second = await follow(w.rt, sessionId, { channelId });
	await first.until(() => first.facts.length > 0, 'facts');
	first.stop();
	await submit(w.rt, 'work goes on', { sessionId });
	assert.equal((await facts(w.rt, sessionId, 'channel.disconnected')).length, 0, 'another stream is open');
	second.stop();
	const [gone] = await seen(w.rt, sessionId, 'channel.disconnected');
	assert.deepEqual([gone.channelId, gone.payload.reason, gone.payload.lastAckedSequence], [channelId, 'closed', 0]);
	assert.ok(Date.parse(gone.payload.lastSeenAt) <= Date.parse(gone.timestamp));
	const third = await follow(w.rt, sessionId, { channelId });
	const [resumed] = await seen(w.rt, sessionId, 'channel.resumed');
	assert.equal(resumed.payload.fromSequence, 0);
	assert.equal((await summary(sessionId)).channels[0].status, 'connected');
	third.stop();
});

test('CH-12 a client that takes nothing is told apart from one that went, and work goes on', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'limits.write_timeout_ms': 300 } });
	const { sessionId } = await submit(rt, 'hello');
	const { channelId } = await ok(rt, 'connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'x' });
	const frozen = net.connect(Number(new URL(rt.url).port), '127.0.0.1', () => {
		frozen.pause();
		frozen.write(`GET /v1/sessions/${sessionId}/events?channelId=${channelId} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
	});
	frozen.on('error', () => {});
	const { turnId } = await submit(rt, '[[tokens 4000]] [[delay 1]]', { sessionId, busyPolicy: 'queue' });
	const [gone] = await seen(rt, sessionId, 'channel.disconnected');
	assert.deepEqual([gone.channelId, gone.payload.reason], [channelId, 'missed_heartbeat']);
	assert.equal((await ended(rt, sessionId, turnId)).type, 'turn.completed');
	frozen.destroy();
	await rt.stop();
});

test('CH-04 CH-05 CH-15 CH-16 AN-22 a question crosses a channel and its answer comes back, as facts; no turn is made of it', async () => {
	const { sessionId } = await quiet();
	const asker = await connect(sessionId, { channelId: 'phone' });
	await connect(sessionId, { channelId: 'wall', capabilities: ['streaming'] });
	await ask(w.rt, ['drop'], { sessionId });
	const [action] = await pending(w.rt, sessionId);
	const out = await facts(w.rt, sessionId, 'channel.permission_forwarded');
	assert.deepEqual(out.map((e) => [e.channelId, e.actionId]), [['phone', action.actionId]], 'CH-02 not to one that cannot answer');
	assert.deepEqual([out[0].payload.forwardedTo.channelId, out[0].payload.target.kind, out[0].payload.approvalActionId], ['phone', 'tool', action.actionId]);
	assert.deepEqual(out[0].payload.requestingPeer, { kind: 'runtime', runtimeId: out[0].runtimeId, sessionId });
	assert.deepEqual([out[0].payload.target.id, out[0].payload.expiresAt], [action.toolCallId, action.expiresAt]);
	assert.deepEqual((await summary(sessionId)).channels.map((c) => c.permissionBridge.open), [[action.actionId], []]);
	await ok(w.rt, 'ack_events', { channelId: 'phone', sessionId, sequence: out[0].sequence });
	await restart();
	const [phone] = (await summary(sessionId)).channels;
	assert.deepEqual([phone.permissionBridge.open, phone.lastAckedSequence], [[action.actionId], out[0].sequence], 'RM-24');
	const turns = (await facts(w.rt, sessionId, 'turn.submitted')).length;
	await refused(w.rt, 'channel_not_found', 'respond_action', { actionId: action.actionId, decision: 'allow', channelId: 'nobody' });
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'allow', channelId: 'phone' });
	const [back] = await facts(w.rt, sessionId, 'channel.permission_returned');
	assert.deepEqual([back.channelId, back.actionId, back.payload.decision, back.payload.decidingSide, back.payload.source], ['phone', action.actionId, 'allow', 'remote', 'response']);
	const [resolved] = await facts(w.rt, sessionId, 'action.resolved');
	assert.deepEqual([resolved.payload.decisionSource, resolved.payload.channelId], ['remote', 'phone']);
	assert.equal((await facts(w.rt, sessionId, 'turn.submitted')).length, turns);
	assert.deepEqual((await summary(sessionId)).channels[0].permissionBridge.open, []);
	assert.ok(asker.resumeToken);
	const pack = await download(w.rt, (await ok(w.rt, 'export_evidence', { sessionId })).packRef);
	const about = linesOf(pack, 'events.ndjson').filter((e) => e.actionId === action.actionId).map((e) => e.type);
	for (const type of ['channel.permission_forwarded', 'channel.permission_returned', 'permission.resolved', 'action.resolved']) assert.ok(about.includes(type), `${type} in the evidence`);
});

test('a question that was asked before the peer came is forwarded to it when it comes, and the answer from elsewhere is told to it', async () => {
	const { sessionId } = await ask(w.rt, ['drop']);
	const [action] = await pending(w.rt, sessionId);
	await connect(sessionId, { channelId: 'late' });
	assert.equal((await facts(w.rt, sessionId, 'channel.permission_forwarded')).length, 1);
	await connect(sessionId, { channelId: 'late' });
	assert.equal((await facts(w.rt, sessionId, 'channel.permission_forwarded')).length, 1, 'once');
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'deny' });
	const [back] = await facts(w.rt, sessionId, 'channel.permission_returned');
	assert.deepEqual([back.payload.decision, back.payload.decidingSide], ['deny', 'local']);
});

test('CH-16 a forwarded question that nobody answers comes back as timed out', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'permission.timeout_ms': 1000 } });
	const { sessionId } = await ask(rt, ['drop']);
	await ok(rt, 'connect_channel', { sessionId, channelId: 'phone', transport: 'sse', peerRole: 'client', credential: 'x', capabilities: ['permissions'] });
	const [back] = await seen(rt, sessionId, 'channel.permission_returned');
	assert.deepEqual([back.payload.source, back.payload.decidingSide], ['timeout', 'local']);
	const [resolved] = await facts(rt, sessionId, 'action.resolved');
	assert.deepEqual([resolved.actionId, resolved.payload.decisionSource], [back.actionId, 'timeout']);
	await rt.stop();
});

test('CH-16 a policy that denies it settles an open question: its peer is told, and nobody can allow it any more', async () => {
	const { sessionId, turnId } = await ask(w.rt, ['drop', 'write', 'drop']);
	const open = await pending(w.rt, sessionId, 3);
	await connect(sessionId, { channelId: 'phone' });
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, rules: [{ name: 'no-drop', tool: 'drop', decision: 'deny' }] });
	const drops = open.filter((q) => q.toolName === 'drop').map((q) => q.actionId);
	const back = await facts(w.rt, sessionId, 'channel.permission_returned');
	assert.deepEqual(back.map((e) => [e.actionId, e.payload.decision, e.payload.decidingSide, e.payload.source]), drops.map((id) => [id, 'deny', 'local', 'policy_deny']));
	const resolved = await facts(w.rt, sessionId, 'permission.resolved');
	assert.deepEqual(resolved.map((e) => [e.actionId, e.payload.outcome, e.payload.decisionSource]), drops.map((id) => [id, 'denied', 'policy']));
	assert.match(resolved[0].payload.decisionReason, /no-drop/);
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: drops[0], decision: 'allow', channelId: 'phone' });
	const [left] = await pending(w.rt, sessionId);
	await ok(w.rt, 'respond_action', { actionId: left.actionId, decision: 'deny' });
	await ended(w.rt, sessionId, turnId);
	assert.deepEqual((await facts(w.rt, sessionId, 'tool.failed')).map((e) => e.payload.status), ['denied', 'denied', 'denied']);
});

test('CH-02 the stream of a peer that cannot answer holds no question', async () => {
	const { sessionId } = await quiet();
	await connect(sessionId, { channelId: 'wall', capabilities: ['streaming'] });
	const wall = await follow(w.rt, sessionId, { channelId: 'wall', view: 'strict' });
	await ask(w.rt, ['drop'], { sessionId });
	await pending(w.rt, sessionId);
	await wall.until(() => wall.of('task.waiting').length > 0, 'the wait');
	assert.deepEqual([wall.of('action.required').length, wall.of('permission.requested').length], [0, 0]);
	wall.stop();
});

test('CH-14 a notice is a fact and no turn', async () => {
	const { sessionId } = await quiet();
	const { channelId } = await connect(sessionId);
	const before = (await facts(w.rt, sessionId, 'turn.submitted')).length;
	const { sequence } = await ok(w.rt, 'post_channel_message', { channelId, messageKind: 'status', text: 'I am going under a tunnel' });
	const [fact] = await facts(w.rt, sessionId, 'channel.message');
	assert.deepEqual([fact.sequence, fact.payload.messageKind, fact.payload.preview, fact.payload.direction], [sequence, 'status', 'I am going under a tunnel', 'in']);
	assert.equal((await facts(w.rt, sessionId, 'turn.submitted')).length, before);
});

test('AN-21 twenty times back: no turn is doubled', async () => {
	const { sessionId } = await quiet();
	const { channelId } = await connect(sessionId);
	for (let i = 0; i < 20; i++) await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: i });
	assert.equal((await facts(w.rt, sessionId, 'turn.submitted')).length, 1);
	assert.equal((await summary(sessionId)).channels.length, 1);
});

test('a turn may name the channel that it comes through, when that follows the session', async () => {
	const { sessionId } = await quiet();
	const { channelId } = await connect(sessionId);
	await submit(w.rt, 'through it', { sessionId, channelId });
	await refused(w.rt, 'channel_not_found', 'submit_turn', { sessionId, channelId: 'nobody', text: 'x' });
});
