// Input from remote peers: what order it enters in, what stops at the door, and that nothing remote is shown that is not a fact.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { sealed, sql } from '../lib/damage.mjs';
import { ask, facts, pending, seen } from '../lib/gate.mjs';
import { bin, call, follow, newFolder, ok, refused, request, startAgentd, startModel, waitFor, world } from '../lib/runtime.mjs';
import { must } from '../tenant/tenants.mjs';

const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
const post = async (rt, command, input, token) => {
	const { status, text } = await request(rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: token ? { authorization: `Bearer ${token}` } : {} });
	return { status, body: JSON.parse(text) };
};

test('CH-03 a remote message enters in five steps: enrolled, resolved, submitted, told as channel events, kept in read models over a kill -9; without a valid token it stops at the first, and nothing is written', async () => {
	const w = await world({ config: { 'auth.required': true } });
	const [token, other] = await Promise.all(['phone', 'laptop'].map(async (name) => (await ok(w.rt, 'create_token', { tenant: 'acme', name, scopes: ['read', 'submit'] }, { via: 'socket' })).token));
	const { sessionId } = await must(w.rt, token, 'create_session', {});
	const read = async () => (await must(w.rt, token, 'get_session', { sessionId, limit: 500 }));
	const { channelId, resumeToken } = await must(w.rt, token, 'connect_channel', { ...PEER, sessionId, channelId: 'phone', nativeProtocol: 'chat/1' });
	const before = (await read()).asOfSequence;
	for (const bad of [undefined, 'no-such-token', `${token}x`]) {
		for (const [command, input] of [['submit_turn', { sessionId, channelId, text: 'let me in' }], ['post_channel_message', { sessionId, channelId, messageKind: 'status', text: 'let me in' }], ['connect_channel', { ...PEER, sessionId }]]) {
			const { status, body } = await post(w.rt, command, input, bad);
			assert.deepEqual([status, body.error.code], [401, 'auth_failed'], command);
		}
	}
	assert.equal((await post(w.rt, 'submit_turn', { sessionId, channelId, text: 'as somebody else' }, other)).body.error.code, 'not_authorized', 'a channel is its account\'s');
	assert.equal((await read()).asOfSequence, before, 'nothing was written');
	await w.rt.kill9();
	w.rt = await w.again();
	await waitFor(async () => (await read()).history.events.some((e) => e.type === 'channel.disconnected'), 'nobody is there after a crash');
	const { turnId } = await must(w.rt, token, 'submit_turn', { sessionId, channelId, text: 'hello from afar' });
	await must(w.rt, token, 'post_channel_message', { sessionId, channelId, messageKind: 'status', text: 'on the train' });
	const steps = (await read()).history.events.filter((e) => e.channelId === channelId);
	assert.deepEqual(steps.map((e) => e.type), ['channel.connected', 'channel.disconnected', 'channel.resumed', 'turn.submitted', 'task.created', 'channel.message']);
	const [enrolled, , back, turn, message] = steps;
	assert.ok(enrolled.payload.accountRef && enrolled.payload.nativeProtocol === 'chat/1', '1: enrolled, by an account that was authenticated');
	assert.ok(turn.sessionId === sessionId && turn.threadId && turn.taskId && turn.turnId === turnId, '2: resolved to session, thread and task');
	assert.ok(back.sequence < turn.sequence && turn.sequence < message.sequence, '3 and 4: submitted, then told');
	const model = await read();
	const [shown] = model.channelSummary.channels;
	assert.deepEqual([shown.channelId, shown.status, shown.nativeProtocol], ['phone', 'connected', 'chat/1']);
	await must(w.rt, token, 'ack_events', { sessionId, channelId, sequence: message.sequence });
	await waitFor(async () => (await read()).history.events.some((e) => e.type === 'turn.completed'), 'the end of the turn');
	await w.rt.kill9();
	w.rt = await w.again();
	const [kept] = (await read()).channelSummary.channels;
	assert.deepEqual([kept.nativeProtocol, kept.lastAckedSequence], ['chat/1', message.sequence], '5: native ids and cursors are back');
	assert.ok(!JSON.stringify(await read()).includes(resumeToken), 'the token is in no read model');
});

test('AN-18 every remote message that the API shows is a fact with an id in the log; what a peer writes past the commands, onto its stream, is shown nowhere', async () => {
	const [model, dataDir] = [await startModel(), newFolder()];
	let rt = await startAgentd({ dataDir, model });
	const { sessionId } = await ok(rt, 'create_session', {});
	const { channelId } = await ok(rt, 'connect_channel', { ...PEER, sessionId });
	const wall = await follow(rt, sessionId, { view: 'extended' });
	for (const text of ['first', 'second']) await ok(rt, 'post_channel_message', { channelId, messageKind: 'status', text });
	const stored = await facts(rt, sessionId, 'channel.message');
	assert.deepEqual(stored.map((e) => e.payload.preview), ['first', 'second']);
	await wall.until(() => wall.of('channel.message').length === 2, 'both on the stream');
	const ids = new Set((await ok(rt, 'read_events', { sessionId })).events.map((e) => e.eventId));
	for (const e of [...stored, ...wall.of('channel.message')]) assert.ok(ids.has(e.eventId), `${e.eventId} is in the log`);
	// What a peer writes onto the connection of a stream is no command, and reaches nobody.
	const { port } = new URL(rt.url);
	const raw = net.connect(Number(port), '127.0.0.1');
	const forged = `id: 99\nevent: channel.message\ndata: ${JSON.stringify({ ...stored[1], eventId: 'evt_forged', payload: { ...stored[1].payload, preview: 'injected' } })}\n\n`;
	raw.on('error', () => {});
	raw.write(`GET /v1/sessions/${sessionId}/events?channelId=${channelId} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
	await new Promise((done) => raw.once('data', done));
	raw.write(forged);
	await ok(rt, 'post_channel_message', { channelId, messageKind: 'status', text: 'third' });
	await wall.until(() => wall.of('channel.message').length === 3, 'the third');
	const shown = await Promise.all([['get_session', { sessionId, limit: 500 }], ['read_events', { sessionId }]].map(async ([command, input]) => JSON.stringify(await ok(rt, command, input))));
	for (const text of [...shown, JSON.stringify(wall.of('channel.message'))]) assert.ok(!text.includes('injected') && !text.includes('evt_forged'), text.slice(0, 300));
	raw.destroy();
	wall.stop();
	await rt.stop();
});

test('AN-18 a message that somebody adds to the database itself is no message of the session: it is refused, verify names the fact and repairs nothing', { skip: process.env.AR_TEST_POSTGRES && 'copies a folder with its SQLite file' }, async () => {
	const [model, dataDir] = [await startModel(), newFolder()];
	let rt = await startAgentd({ dataDir, model });
	const { sessionId } = await ok(rt, 'create_session', {});
	const { channelId } = await ok(rt, 'connect_channel', { ...PEER, sessionId });
	await ok(rt, 'post_channel_message', { channelId, messageKind: 'status', text: 'said' });
	const [said] = await facts(rt, sessionId, 'channel.message');
	await rt.stop();
	const key = Buffer.from(sql(dataDir, ['SELECT hex(session) FROM log LIMIT 1']), 'hex');
	const last = Number(sql(dataDir, ['SELECT max(last_seq) FROM log'])), next = last + 1;
	const text = JSON.stringify({ ...said, sequence: next, eventId: `${said.eventId.slice(0, -1)}z`, payload: { ...said.payload, preview: 'injected' } });
	const good = sealed(key, next, next, text), broken = Buffer.from(good);
	broken[broken.length - 1] ^= 1;
	const hex = (bytes) => `X'${bytes.toString('hex')}'`;
	const rows = {
		'a copy of another row': `(SELECT body FROM log WHERE last_seq = ${said.sequence})`,
		'a wrong checksum': hex(broken),
		'no checksum': hex(Buffer.concat([Buffer.of(0), Buffer.from(text)])),
		'the checksum of its place': hex(good),
	};
	const agentctl = (...args) => spawnSync(join(bin, 'agentctl'), ['--socket', rt.socket, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
	for (const [what, body] of Object.entries(rows)) {
		const copy = newFolder();
		cpSync(join(dataDir, 'data'), join(copy, 'data'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
		sql(copy, [`INSERT INTO log (session, first_seq, last_seq, at, body, tenant, position) SELECT session, ${next}, ${next}, at, ${body}, tenant, position + 1 FROM log WHERE last_seq = ${last}`]);
		rt = await startAgentd({ dataDir: copy, model });
		const answers = await Promise.all([['get_session', { sessionId, limit: 500 }], ['read_events', { sessionId }], ['post_channel_message', { channelId, messageKind: 'status', text: 'later' }]].map(([command, input]) => call(rt, command, input)));
		assert.deepEqual(answers.map((a) => a.body.error?.code), ['storage_corrupt', 'storage_corrupt', 'storage_corrupt'], what);
		const listed = (await ok(rt, 'list_sessions', {})).sessions;
		assert.deepEqual(listed.map((s) => [s.status, s.degraded]), [['unknown', true]], what);
		for (const args of [['verify', sessionId], ['verify', '--all', '--repair'], ['verify', sessionId]]) {
			const told = agentctl(...args);
			assert.deepEqual([told.status, new RegExp(`^${sessionId}  corrupt   log  at fact ${next}  `).test(told.stdout)], [1, true], `${what}: ${args}: ${told.stdout}${told.stderr}`);
		}
		await rt.stop();
	}
});

test('CH-04 the token of an absent peer runs out: its question comes back from it as an auth failure, for this channel alone, also after a kill -9; others can still answer, and a peer that enrols again is asked again', async () => {
	const config = { 'channel.token_ms': 1000 };
	const w = await world({ config });
	const { sessionId } = await ask(w.rt, ['drop']);
	const [action] = await pending(w.rt, sessionId);
	await ok(w.rt, 'connect_channel', { ...PEER, sessionId, channelId: 'phone' });
	await w.rt.kill9();
	w.rt = await w.again();
	const [back] = await seen(w.rt, sessionId, 'channel.permission_returned');
	const [out] = await facts(w.rt, sessionId, 'channel.permission_forwarded');
	assert.deepEqual([out.payload.requestingPeer.kind, out.payload.requestingPeer.sessionId], ['runtime', sessionId], 'the peer that asked');
	assert.deepEqual(out.payload.target, { kind: 'tool', id: action.toolCallId }, 'what it is about');
	assert.deepEqual([back.channelId, back.actionId, back.payload.decision, back.payload.decidingSide, back.payload.source, back.payload.channelScoped], ['phone', action.actionId, 'none', 'local', 'auth_failure', true]);
	const [{ tokenExpiresAt }] = (await facts(w.rt, sessionId, 'channel.connected')).map((e) => e.payload);
	assert.ok(Date.parse(back.timestamp) >= Date.parse(tokenExpiresAt), 'not before');
	assert.deepEqual((await facts(w.rt, sessionId, 'action.resolved')), [], 'the question is open');
	assert.deepEqual((await ok(w.rt, 'get_session', { sessionId })).channelSummary.channels[0].permissionBridge.open, []);
	await ok(w.rt, 'connect_channel', { ...PEER, sessionId, channelId: 'phone' });
	assert.equal((await facts(w.rt, sessionId, 'channel.permission_forwarded')).length, 2, 'it is asked again');
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'deny', channelId: 'phone' });
	assert.deepEqual((await facts(w.rt, sessionId, 'channel.permission_returned')).map((e) => [e.payload.source, e.payload.decidingSide, e.payload.channelScoped]), [['auth_failure', 'local', true], ['response', 'remote', false]]);
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: action.actionId, decision: 'allow' });
});
