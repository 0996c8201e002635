// Peers that follow all sessions of a tenant, also before there is one: they enrol, acknowledge by cursor, go and come back, over kill -9; and they see
// and touch nothing that is not theirs.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ended, facts, seen } from '../lib/gate.mjs';
import { ok, readLog, refused, startModel, submit, world } from '../lib/runtime.mjs';
import { TenantFollower } from '../tenant/follow_all.mjs';
import { ask, homeOf, must, tenants } from '../tenant/tenants.mjs';

const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };

let model;

before(async () => {
	model = await startModel();
});

async function finish(rt, text) {
	const { sessionId, turnId } = await submit(rt, text);
	await ended(rt, sessionId, turnId);
	return sessionId;
}

const stream = (rt, channelId, more = {}) => new TenantFollower(rt, { query: `view=extended&channelId=${channelId}`, ...more }).open();
const home = homeOf('local');
const summary = async (rt) => (await ok(rt, 'get_session', { sessionId: home })).channelSummary;

test('OPEN-13 CH-11 a peer enrols before there is any session: a fact of the runtime\'s own session, and in its summary', async () => {
	const w = await world({ model });
	const { channelId, resumeToken } = await ok(w.rt, 'connect_channel', PEER);
	assert.equal(channelId.replace(/^chan_/, 'sess_').slice(0, home.length), home);
	assert.ok(resumeToken);
	await ok(w.rt, 'connect_channel', { ...PEER, channelId: 'my-wall', peerRole: 'host' });
	const [created, started, ...connected] = (await readLog(w.rt, home)).map((f) => f.event);
	assert.deepEqual([created.type, created.payload.title, started.type], ['session.created', 'Home', 'thread.started']);
	assert.deepEqual(connected.map((e) => [e.type, e.channelId, e.payload.peerRole, e.sessionId]), [['channel.connected', channelId, 'client', home], ['channel.connected', 'my-wall', 'host', home]]);
	const before = await summary(w.rt);
	assert.deepEqual(before.channels.map((c) => [c.channelId, c.status]), [[channelId, 'connected'], ['my-wall', 'connected']]);
	assert.deepEqual((await ok(w.rt, 'list_sessions', {})).sessions, []);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await summary(w.rt), { ...before, channels: before.channels.map((c) => ({ ...c, status: 'disconnected' })) }, 'nobody is there after a crash');
	await w.rt.stop();
});

test('OPEN-05 CH-06 CH-13 over all sessions: acknowledged by cursor, cut and killed, it goes on exactly there, after a snapshot of the sessions', async () => {
	const w = await world({ model });
	const { channelId } = await ok(w.rt, 'connect_channel', { ...PEER, channelId: 'dashboard' });
	const first = await stream(w.rt, channelId);
	const sessions = [await finish(w.rt, 'one'), await finish(w.rt, 'two')];
	const isWhole = async (reader) => {
		for (const sessionId of sessions) await reader.until(() => reader.facts.some((f) => f.event.sessionId === sessionId && f.type === 'turn.completed'), 'both turns');
	};
	await isWhole(first);
	const late = first.cursor, all = first.facts.length;
	const half = new TenantFollower(w.rt);
	const cursors = [];
	half.fact = (event, fields) => cursors.push(fields.id);
	await half.open();
	await half.until(() => cursors.length >= all, 'all');
	half.stop();
	const early = cursors[4];
	const ack = (cursor) => ok(w.rt, 'ack_events', { channelId, cursor });
	assert.equal((await ack(early)).cursor, early);
	assert.equal((await ack(late)).cursor, late);
	assert.deepEqual(await ack(early), await ack(late), 'an older one does nothing');
	await refused(w.rt, 'invalid_input', 'ack_events', { channelId, sequence: 7 });
	for (const cursor of ['7', 't', 't1:999999999999']) await refused(w.rt, 'invalid_cursor', 'ack_events', { channelId, cursor });
	await refused(w.rt, 'channel_not_found', 'ack_events', { channelId: 'nobody', cursor: late });
	first.stop();
	await seen(w.rt, home, 'channel.disconnected');
	await w.rt.kill9();
	w.rt = await w.again();
	sessions.push(await finish(w.rt, 'three'));
	await refused(w.rt, 'invalid_input', 'reconnect_channel', { channelId, lastAckedSequence: 7 });
	const back = await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: 0 });
	assert.deepEqual(back.snapshot.sessions.map((s) => s.sessionId).toSorted(), sessions.toSorted());
	assert.deepEqual([back.replayMode, back.gap], ['replay', undefined]);
	const resumed = (await facts(w.rt, home, 'channel.resumed')).at(-1);
	assert.deepEqual([resumed.channelId, resumed.payload.cursor, resumed.payload.replayMode], [channelId, late, 'replay']);
	assert.equal((await facts(w.rt, home, 'snapshot.repaired')).length, 0);
	const second = await stream(w.rt, `${channelId}&sessionId=${home}`); // the home's channels follow all, whether it is named or not
	await second.until(() => second.facts.some((f) => f.event.sessionId === sessions[2] && f.type === 'turn.completed'), 'the third turn');
	const rest = await new TenantFollower(w.rt, { after: late }).open();
	await rest.until(() => rest.facts.length >= second.facts.length, 'the same');
	assert.deepEqual(second.facts.map((f) => f.data), rest.facts.slice(0, second.facts.length).map((f) => f.data), 'after what was acknowledged');
	second.stop();
	// Whoever begins with the snapshot goes on behind it.
	const after = await stream(w.rt, channelId, { after: back.cursor });
	const fourth = await finish(w.rt, 'four');
	await after.until(() => after.facts.some((f) => f.event.sessionId === fourth), 'what is new');
	assert.ok(!after.facts.some((f) => sessions.includes(f.event.sessionId)));
	after.stop();
	await w.rt.stop();
});

test('CH-14 a notice of a peer that follows all sessions is a fact of the home, and no turn', async () => {
	const w = await world({ model });
	const { channelId } = await ok(w.rt, 'connect_channel', PEER);
	const { sequence } = await ok(w.rt, 'post_channel_message', { channelId, messageKind: 'status', text: 'on battery' });
	const said = (await readLog(w.rt, home)).at(-1);
	assert.deepEqual([said.sequence, said.type, said.event.payload.preview], [sequence, 'channel.message', 'on battery']);
	await w.rt.stop();
});

test('OPEN-59 a channel over all sessions is its account\'s, of its tenant, and opens nothing that was closed', async () => {
	const w = await tenants({ model });
	const { acme, zeta } = w;
	const { channelId } = await must(w.rt, acme.tokens.read, 'connect_channel', { ...PEER, channelId: 'eye' });
	const mine = await stream(w.rt, channelId, { token: acme.tokens.read });
	const { turnId } = await must(w.rt, acme.tokens.submit, 'submit_turn', { createPolicy: {}, text: 'yes' });
	await mine.until(() => mine.facts.some((f) => f.event.turnId === turnId && f.type === 'turn.completed'), 'the turn');
	assert.ok(!mine.sessions.has(homeOf('acme')), 'the home stays hidden from whoever may not read it');
	const cursor = mine.cursor;
	await must(w.rt, acme.tokens.read, 'ack_events', { channelId, cursor });
	const code = async (token, name, input) => (await ask(w.rt, token, name, input)).body.error.code;
	assert.equal(await code(acme.tokens.admin, 'ack_events', { channelId, cursor }), 'not_authorized');
	assert.equal(await code(acme.tokens.admin, 'post_channel_message', { channelId, messageKind: 'status', text: 'x' }), 'not_authorized');
	assert.equal(await code(acme.tokens.admin, 'connect_channel', { ...PEER, channelId }), 'not_authorized');
	assert.equal(await code(acme.tokens.admin, 'subscribe_events', { channelId }), 'channel_not_found');
	for (const name of ['ack_events', 'reconnect_channel']) assert.equal(await code(zeta.tokens.read, name, { channelId, cursor }), 'channel_not_found');
	const minted = (await must(w.rt, acme.tokens.read, 'connect_channel', PEER)).channelId;
	for (const name of ['ack_events', 'reconnect_channel']) assert.equal(await code(zeta.tokens.read, name, { channelId: minted, cursor }), 'session_not_found');
	assert.equal(await code(acme.tokens.read, 'get_session', { sessionId: homeOf('acme') }), 'not_authorized');
	const back = await must(w.rt, acme.tokens.read, 'reconnect_channel', { channelId, cursor });
	assert.ok(back.snapshot.sessions.every((s) => s.sessionId !== homeOf('acme') && s.sessionId !== zeta.ids.sessionId));
	mine.stop();
	await w.rt.stop();
});

test('CP-49 a peer of all sessions that comes back names the sessions that it shows: it gets these, and is told which are not there', async () => {
	const w = await tenants({ model });
	const { acme, zeta } = w;
	const mine = [];
	for (const text of ['one', 'two', 'three']) mine.push((await must(w.rt, acme.tokens.admin, 'submit_turn', { createPolicy: {}, text })).sessionId);
	const { sessionId: theirs } = await must(w.rt, zeta.tokens.admin, 'submit_turn', { createPolicy: {}, text: 'not yours' });
	await must(w.rt, acme.tokens.admin, 'connect_channel', { ...PEER, channelId: 'board' });
	const back = (sessions, more = {}) => ask(w.rt, acme.tokens.admin, 'reconnect_channel', { channelId: 'board', lastAckedSequence: 0, sessions, ...more });
	const none = mine[0].replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	const [first, , third] = mine;
	const { status, body, text } = await back([third, theirs, first, none]);
	assert.equal(status, 200, text);
	assert.deepEqual(body.snapshot.sessions.map((s) => s.sessionId), [third, first]);
	assert.deepEqual(body.snapshot.missing, [theirs, none], 'another tenant\'s is as little there as one that never was');
	assert.ok(!text.includes('not yours'));
	assert.deepEqual((await back([])).body.snapshot, { sessions: [], missing: [] });
	assert.deepEqual((await back([homeOf('acme')])).body.snapshot.sessions, [], 'the home is no session to show');
	const token = body.newResumeToken;
	assert.equal((await back([first], { resumeToken: token })).body.error.code, 'resume_token_invalid', 'each time has its own token');
	assert.equal((await back(Array(51).fill(first))).body.error.code, 'invalid_input');
	assert.equal((await back(['../etc'])).body.error.code, 'session_not_found');
	await must(w.rt, acme.tokens.admin, 'connect_channel', { ...PEER, channelId: 'board', sessionId: first });
	assert.equal((await back([third], { sessionId: first })).body.error.code, 'invalid_input', 'one that follows a session');
	await w.rt.stop();
});
