// A session with many closed children: they are stored in packs, and everything that could be read of them before can be read after a kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, refused, request, submit, waitFor, world } from '../lib/runtime.mjs';

const CHILDREN = 45; // two packs, and some that are in none
let w, p, made;
const run = (command, input) => ok(w.rt, command, input);

before(async () => {
	w = await world({ config: { 'session.snapshot_every': 20 } });
	p = await submit(w.rt, '[[hang]]');
	made = [];
	for (let i = 0; i < CHILDREN; i++) {
		const child = await run('spawn_subagent', { sessionId: p.sessionId, threadId: p.threadId, turnId: p.turnId, objective: `[[say answer ${i}]]` });
		await run('wait_subagents', { subagentIds: [child.subagentId], mode: 'all' });
		await run('close_subagent', { subagentId: child.subagentId });
		made.push(child);
	}
});

async function everyChild() {
	const found = [];
	for (let cursor; ;) {
		const { subagents, nextCursor } = await run('list_subagents', { sessionId: p.sessionId, limit: 10, ...(cursor ? { cursor } : {}) });
		found.push(...subagents);
		if (!nextCursor) return found;
		cursor = nextCursor;
	}
}

async function readAll() {
	const { subagentJobSummary, threadList, threads } = await run('get_session', { sessionId: p.sessionId });
	const listed = await everyChild();
	assert.deepEqual(listed.map((r) => r.subagentId), made.map((c) => c.subagentId), 'in the order of their spawns');
	assert.deepEqual(subagentJobSummary.counts.closed, CHILDREN);
	assert.deepEqual(subagentJobSummary.subagents.map((r) => r.subagentId), made.slice(-3).reverse().map((c) => c.subagentId), 'the newest');
	assert.deepEqual(threads.map((t) => t.threadId), [p.threadId]);
	const own = await run('get_thread_read', { sessionId: p.sessionId, threadId: p.threadId });
	assert.equal(own.threads[0].subagents.length, CHILDREN, 'those of its thread');
	const ended = await run('get_session', { sessionId: p.sessionId, include: ['ended_threads'] });
	assert.deepEqual(ended.threads.map((t) => t.threadId), [p.threadId, ...made.map((c) => c.childThreadId)]);
	for (const [i, c] of made.entries()) {
		const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: c.childThreadId });
		assert.equal(thread.turns[0].steps[0].preview.trim(), `answer ${i}`);
	}
	return { listed, threadList, ended: ended.threads };
}

test('what is in packs is read as what is not, after a kill -9, too', async () => {
	const first = await readAll();
	await w.rt.kill9();
	w.rt = await w.again();
	await waitFor(async () => (await run('list_subagents', { sessionId: p.sessionId, limit: 1 })).subagents.length === 1, 'the session');
	const again = await readAll();
	assert.deepEqual(again.listed, first.listed);
	assert.deepEqual(again.ended.slice(1), first.ended.slice(1));
});

test('a closed child stays closed', async () => {
	await w.rt.kill9();
	w.rt = await w.again();
	const [{ subagentId }] = made;
	await refused(w.rt, 'subagent_closed', 'resume_subagent', { subagentId, input: 'more' });
	assert.equal((await run('close_subagent', { subagentId })).status, 'closed');
	const { subagents: [record] } = await run('list_subagents', { sessionId: p.sessionId, limit: 1 });
	assert.deepEqual([record.subagentId, record.status], [subagentId, 'closed']);
});

test('the stored state is the fold of the log', async () => {
	await w.rt.kill9();
	w.rt = await w.again();
	const { text } = await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId: p.sessionId }) });
	assert.deepEqual(JSON.parse(text).sessions.map((s) => [s.sessionId, s.status, s.findings]), [[p.sessionId, 'ok', []]], text);
});
