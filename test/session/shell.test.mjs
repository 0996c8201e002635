// How a session is listed: its title, its pinned threads, whether it is archived (update_session, session.updated).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, call, follow, ok, readLog, refused, request, submit, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world({ config: { 'session.snapshot_every': 5 } });
});

async function newSession(title) {
	const { sessionId, threadId } = await ok(w.rt, 'create_session', { title });
	return { sessionId, threadId };
}

const changesOf = async (sessionId) => (await readLog(w.rt, sessionId)).filter((f) => f.type === 'session.updated').map((f) => f.event.payload);

/** The shell as a reader of the log alone has it. */
async function folded(sessionId) {
	const shell = { archived: false, pinnedThreadIds: [] };
	for (const { type, event } of await readLog(w.rt, sessionId)) {
		if (type === 'session.created') shell.title = event.payload.title;
		if (type === 'session.updated') Object.assign(shell, event.payload.changed);
	}
	return shell;
}

async function shown(sessionId) {
	const { title, archived, pinnedThreadIds } = await ok(w.rt, 'get_session', { sessionId });
	return { archived, pinnedThreadIds, title };
}

async function listed(archived) {
	const ids = [];
	for (let cursor; ;) {
		const page = await ok(w.rt, 'list_sessions', { limit: 2, cursor, archived });
		ids.push(...page.sessions.map((s) => s.sessionId));
		if (!(cursor = page.nextCursor)) return ids;
	}
}

test('EV-38 RM-02 rename and pin: one session.updated for each change, and the log folds to what get_session shows', async () => {
	const { sessionId, threadId } = await newSession('first');
	const forked = (await ok(w.rt, 'fork_thread', { sessionId, threadId })).threadId;
	const renamed = await ok(w.rt, 'update_session', { sessionId, title: 'second' });
	assert.equal(renamed.result, 'updated');
	await ok(w.rt, 'update_session', { sessionId, pinnedThreadIds: [forked, threadId] });
	await ok(w.rt, 'update_session', { sessionId, pinnedThreadIds: [threadId], title: 'third' });
	const changes = await changesOf(sessionId);
	assert.deepEqual(changes.map((c) => c.changed), [{ title: 'second' }, { pinnedThreadIds: [forked, threadId] }, { title: 'third', pinnedThreadIds: [threadId] }]);
	assert.ok(changes.every((c) => !Number.isNaN(Date.parse(c.updatedAt))));
	assert.deepEqual(await folded(sessionId), await shown(sessionId));
	assert.deepEqual(await shown(sessionId), { archived: false, pinnedThreadIds: [threadId], title: 'third' });
	await ok(w.rt, 'update_session', { sessionId, pinnedThreadIds: [] });
	assert.deepEqual((await shown(sessionId)).pinnedThreadIds, []);
	const row = (await ok(w.rt, 'list_sessions', {})).sessions.find((s) => s.sessionId === sessionId);
	assert.equal(row.title, 'third');
});

test('EV-38 the same values and the same key do nothing', async () => {
	const { sessionId, threadId } = await newSession('same');
	const first = await ok(w.rt, 'update_session', { sessionId, title: 'other', pinnedThreadIds: [threadId], idempotencyKey: 'k' });
	const before = (await readLog(w.rt, sessionId)).length;
	assert.deepEqual(await ok(w.rt, 'update_session', { sessionId, title: 'other', pinnedThreadIds: [threadId], idempotencyKey: 'k' }), first);
	const again = await ok(w.rt, 'update_session', { sessionId, title: 'other', pinnedThreadIds: [threadId], archived: false });
	assert.deepEqual([again.result, again.sequence], ['no_op', first.sequence]);
	assert.equal((await readLog(w.rt, sessionId)).length, before);
});

test('EV-38 an archived session is left out of lists, works as before, and is listed while it does', async () => {
	const { sessionId } = await newSession('put away');
	assert.ok((await listed()).includes(sessionId));
	await ok(w.rt, 'update_session', { sessionId, archived: true });
	assert.ok(!(await listed()).includes(sessionId));
	assert.ok((await listed('include')).includes(sessionId));
	assert.deepEqual(await listed('only'), [sessionId]);
	assert.equal((await shown(sessionId)).archived, true);
	const live = await follow(w.rt, sessionId);
	const { turnId } = await submit(w.rt, '[[hang]]', { sessionId });
	await live.until(() => live.of('model.requested', turnId).length > 0, 'the call');
	assert.ok((await listed()).includes(sessionId));
	assert.deepEqual((await ok(w.rt, 'get_session', { sessionId })).activeThreadIds.length, 1);
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await live.ended(turnId);
	live.stop();
	assert.ok(!(await listed()).includes(sessionId));
	await ok(w.rt, 'update_session', { sessionId, archived: false });
	assert.ok((await listed()).includes(sessionId));
	assert.deepEqual((await changesOf(sessionId)).map((c) => c.changed), [{ archived: true }, { archived: false }]);
});

test('EV-38 the shell is the same after a kill, from the log and from a snapshot', async () => {
	const { sessionId, threadId } = await newSession('kept');
	await ok(w.rt, 'update_session', { sessionId, title: 'kept on', archived: true, pinnedThreadIds: [threadId] });
	const had = await shown(sessionId);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await shown(sessionId), had);
	const live = await follow(w.rt, sessionId);
	const { turnId } = await submit(w.rt, 'enough facts for a snapshot', { sessionId });
	await live.ended(turnId);
	live.stop();
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await shown(sessionId), had);
	assert.ok(!(await listed()).includes(sessionId));
	const verified = JSON.parse((await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId }) })).text);
	assert.deepEqual(verified.sessions.map((s) => s.status), ['ok']);
});

test('EV-38 what cannot be is refused and leaves no fact', async () => {
	const { sessionId, threadId } = await newSession('refusals');
	const other = await newSession('other');
	const before = (await readLog(w.rt, sessionId)).length;
	await refused(w.rt, 'invalid_input', 'update_session', { sessionId });
	await refused(w.rt, 'invalid_input', 'update_session', { sessionId, title: '' });
	await refused(w.rt, 'thread_not_found', 'update_session', { sessionId, title: 'x', pinnedThreadIds: [other.threadId] });
	await refused(w.rt, 'invalid_input', 'update_session', { sessionId, pinnedThreadIds: [threadId, threadId] });
	await refused(w.rt, 'invalid_input', 'update_session', { sessionId, pinnedThreadIds: Array(65).fill(threadId) });
	await refused(w.rt, 'session_not_found', 'update_session', { sessionId: `sess_${'0'.repeat(26)}`, title: 'x' });
	assert.notEqual((await call(w.rt, 'update_session', { sessionId, title: 'x'.repeat(257) }, { loose: true })).status, 200);
	assert.equal((await readLog(w.rt, sessionId)).length, before);
});

test('agentctl rename and archive', async () => {
	const { sessionId } = await newSession('from the terminal');
	const ctl = (...args) => new Promise((done) => {
		const env = { PATH: process.env.PATH, HOME: w.rt.dataDir, XDG_RUNTIME_DIR: w.rt.dataDir };
		execFile(join(bin, 'agentctl'), ['--url', `http://127.0.0.1:${w.rt.port}`, ...args], { env, timeout: 60_000 }, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
	});
	assert.equal((await ctl('rename', sessionId, 'a new name')).out, `${sessionId}  updated\n`);
	assert.match((await ctl('sessions')).out, /a new name/);
	assert.equal((await ctl('archive', sessionId.slice(-8))).code, 0);
	assert.doesNotMatch((await ctl('sessions')).out, /a new name/);
	assert.match((await ctl('sessions', '--archived')).out, /a new name/);
	assert.equal((await ctl('archive', sessionId)).out, `${sessionId}  not changed\n`);
	assert.equal((await ctl('archive', '--undo', sessionId.slice(-8))).code, 0);
	assert.match((await ctl('sessions')).out, /a new name/);
	assert.equal((await ctl('rename', sessionId)).code, 2);
});
