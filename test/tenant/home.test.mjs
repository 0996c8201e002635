// The home session of a tenant reads as any other session: it begins with a thread, in which nobody starts anything. A home that an older version
// made has none and gets one when it is loaded: exactly one, whenever the process is killed meanwhile.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, readLog, refused, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';
import { ask, homeOf, must } from './tenants.mjs';

const home = homeOf('local');
const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine' };

const typesOf = async (rt, sessionId = home) => (await readLog(rt, sessionId)).map((f) => f.type);

/** What get_session says of the home is valid; its one thread. */
async function threadOf(rt) {
	const { threads, status } = await ok(rt, 'get_session', { sessionId: home }); // checked under the standard's schemas
	assert.deepEqual([status, threads.map((t) => [t.status, t.turns.length])], ['idle', [['idle', 0]]]);
	return threads[0].threadId;
}

/** Homes of these tenants as an older version wrote them, in a new store. */
function writeOldHomes(...tenants) {
	const dataDir = newFolder();
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	const store = storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db');
	for (const tenant of tenants) {
		const sessionId = homeOf(tenant), timestamp = '2026-01-01T00:00:00.000Z';
		const told = tenant === 'local' ? {} : { tenant };
		const facts = [
			['session.created', { title: 'Home', accountRef: 'system', createdAt: timestamp, source: 'system', ...told }],
			['access.changed', { actor: 'local', command: 'create_token', subject: 'tok_1' }],
		].map(([type, payload], i) => ({ type, eventId: sessionId.replace('sess', 'evt') + `_${i + 1}`, sequence: i + 1, timestamp, runtimeId: sessionId.replace('sess', 'rt'), sessionId, payload }));
		execFileSync(join(bin, 'ar-make-session'), ['--store', store], { input: facts.map((f) => `${JSON.stringify(f)}\n`).join('') });
	}
	return dataDir;
}

const OLD = ['session.created', 'access.changed'];

test('PF-18 OPEN-56 the home of a tenant is valid under the snapshot schemas from its first fact on: it begins with an idle thread', async () => {
	const rt = await startAgentd();
	await ok(rt, 'connect_channel', { ...PEER, channelId: 'eye' });
	const threadId = await threadOf(rt);
	assert.deepEqual(await typesOf(rt), ['session.created', 'thread.started', 'channel.connected']);
	assert.deepEqual((await ok(rt, 'get_thread_read', { sessionId: home, threadId })).threads.map((t) => t.threadId), [threadId]);

	const { token } = await ok(rt, 'create_token', { tenant: 'acme', name: 'boss', scopes: ['admin'] });
	const read = () => ask(rt, token, 'get_session', { sessionId: homeOf('acme'), limit: 10 });
	const { body: acme } = await waitFor(async () => { const r = await read(); return r.status === 200 && r; }, 'the home of acme');
	validateSnapshot(acme);
	assert.deepEqual(acme.history.events.map((e) => e.type), ['session.created', 'thread.started', 'access.changed']);
	await rt.stop();
});

test('nobody starts anything in the thread of a home, and no list has it', async () => {
	const rt = await startAgentd();
	await ok(rt, 'connect_channel', { ...PEER, channelId: 'eye' });
	const threadId = await threadOf(rt);
	const text = 'x';
	for (const [command, input] of [['submit_turn', { text }], ['submit_turn', { text, threadId }], ['submit_turn', { text, createPolicy: { thread: 'new' } }], ['resume_thread', { threadId }],
		['fork_thread', { threadId }], ['compact_thread', { threadId }], ['create_task', { objective: text, threadId }], ['update_session', { pinnedThreadIds: [threadId] }]])
		await refused(rt, 'not_authorized', command, { sessionId: home, ...input });
	await refused(rt, 'session_not_found', 'create_schedule', { name: 'daily', spec: '@daily', start: { text, sessionId: home, threadId } });
	assert.deepEqual(await typesOf(rt), ['session.created', 'thread.started', 'channel.connected']);
	assert.deepEqual((await ok(rt, 'list_sessions', {})).sessions, []);
	await rt.stop();
});

test('CH-14 a channel over all sessions that reads an older window of the home leaves one fact in its thread', async () => {
	const rt = await startAgentd();
	for (const channelId of ['eye', 'ear']) await ok(rt, 'connect_channel', { ...PEER, channelId });
	const threadId = await threadOf(rt);
	for (const cursor of ['4', '2']) await ok(rt, 'get_session', { sessionId: home, limit: 1, cursor, channelId: 'eye' });
	const told = (await readLog(rt, home)).slice(4).map(({ event: e }) => [e.type, e.threadId, e.channelId, e.payload.startCursor]);
	assert.deepEqual(told, [['history.window.loaded', threadId, 'eye', '3']]);
	await rt.stop();
});

test('OPEN-56 the home of an older version gets one thread when it is loaded, whatever the process is killed at', async () => {
	for (const fault of ['engine.recover:1', 'engine.before_append:1', 'engine.after_commit:1']) {
		const dataDir = writeOldHomes('local');
		const killed = await startAgentd({ dataDir, fault, mayDie: true }); // the policy of the host is compared with that of the run before: it loads the home
		await waitFor(() => killed.isGone, fault, 5000);
		assert.equal((await killed.gone).signal, 'SIGKILL', fault);
		let threadId;
		for (let i = 0; i < 2; i++) {
			const rt = await startAgentd({ dataDir, config: { 'session.snapshot_every': 1 } });
			threadId ??= await threadOf(rt);
			assert.equal(await threadOf(rt), threadId);
			assert.deepEqual(await typesOf(rt), [...OLD, 'thread.started'], fault);
			await rt.kill9();
		}
	}
});

test('a command that needs an old home finds it with its thread', async () => {
	const rt = await startAgentd({ dataDir: writeOldHomes('acme') });
	const { token } = await ok(rt, 'create_token', { tenant: 'acme', name: 'boss', scopes: ['admin'] });
	await must(rt, token, 'connect_channel', { ...PEER, channelId: 'eye' });
	const { history, ...snapshot } = await must(rt, token, 'get_session', { sessionId: homeOf('acme'), limit: 10 });
	validateSnapshot(snapshot);
	assert.deepEqual(history.events.map((e) => e.type).toSorted(), [...OLD, 'thread.started', 'access.changed', 'channel.connected'].toSorted());
	assert.equal(history.events[2].type, 'thread.started', 'first of all that this version adds');
	await rt.stop();
});

test('nodes that are asked for an old home at once give it one thread', { skip: !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL' }, async () => {
	const dataDir = writeOldHomes('local'), env = storeOf(dataDir);
	const start = (name) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500 } });
	const [a, b] = await Promise.all(['a', 'b'].map(start));
	const [first, second] = await Promise.all([a, b].map(threadOf));
	assert.equal(first, second);
	await a.kill9();
	await waitFor(async () => (await ask(b, undefined, 'get_session', { sessionId: home })).status === 200, 'the home at the other node');
	assert.deepEqual(await typesOf(b), [...OLD, 'thread.started']);
	await b.stop();
});
