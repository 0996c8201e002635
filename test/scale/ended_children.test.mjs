// ci: release only
// A session with 500 ended child agents beside one without: its readers get at most twice as much, at a cost that does not follow the
// children. What is left out is read on demand. AR_CHILDREN sets their number.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ok, request, submit, waitFor, world } from '../lib/runtime.mjs';

const CHILDREN = Number(process.env.AR_CHILDREN ?? 500);
const AT_ONCE = 20;
const ROUNDS = 20;
const READS = 10; // of one round
const SHOWN_ENDED = 3;

let w;
const run = (command, input) => ok(w.rt, command, input);
const idle = (sessionId) => waitFor(async () => (await run('get_session', { sessionId })).status === 'idle', `${sessionId} idle`);

async function read(sessionId, more = {}) {
	const { status, text } = await request(w.rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId, ...more }) });
	assert.equal(status, 200, text.slice(0, 300));
	return text;
}

// Milliseconds of CPU of all threads of agentd.
function cpu() {
	const tasks = `/proc/${w.rt.pid}/task`;
	return readdirSync(tasks).reduce((sum, id) => sum + Number(readFileSync(`${tasks}/${id}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e6;
}

// The least of all rounds counts: what children cost is in every one of them, what the machine does beside is not. `limit` keeps the answer out of the cache of reads.
async function costs(sessions) {
	const best = sessions.map(() => Infinity);
	for (let round = 0; round < ROUNDS; round++) {
		for (const [i, sessionId] of sessions.entries()) {
			const start = cpu();
			for (let n = 0; n < READS; n++) await read(sessionId, { limit: 1 });
			best[i] = Math.min(best[i], (cpu() - start) / READS);
		}
	}
	return best;
}

async function makeChildren(p) {
	const made = [];
	while (made.length < CHILDREN) {
		const some = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => run('spawn_subagent', { ...p, objective: i % 10 ? '[[say done]]' : '[[http 400]]' })));
		const ids = some.map((c) => c.subagentId);
		const { timedOut } = await run('wait_subagents', { subagentIds: ids, mode: 'all', timeoutMs: 60000 });
		assert.equal(timedOut, false);
		// Half of them stay open: a child without work is as light as a closed one.
		await Promise.all(ids.filter((_, i) => i % 2).map((subagentId) => run('close_subagent', { subagentId })));
		made.push(...some);
	}
	return made;
}

const without = (doc) => [doc.threads.map((t) => t.threadId), doc.tasks.map((t) => t.taskId), doc.taskSummary, doc.threadSummary, doc.subagentJobSummary];

test('SA-06 RM-29 a session with 500 ended children is read like one without: at most twice the bytes, and what is left out is read on demand', async (t) => {
	w = await world({ config: { 'subagents.max_running': AT_ONCE } });
	const bare = await submit(w.rt, '[[hang]]');
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]');
	const made = await makeChildren({ sessionId, threadId, turnId });
	const live = await run('spawn_subagent', { sessionId, threadId, turnId, objective: '[[hang]]' });
	await waitFor(async () => (await run('list_subagents', { sessionId, status: 'running' })).subagents.length === 1, 'the live one');

	const doc = await run('get_session', { sessionId });
	assert.deepEqual(doc.threads.map((x) => x.threadId), [threadId, live.childThreadId], 'the live one is always there');
	assert.deepEqual(doc.threadSummary, { count: CHILDREN + 2, shown: 2, truncated: true, command: 'list_subagents' });
	const newest = [live, ...made.slice(-SHOWN_ENDED).reverse()].map((c) => c.subagentId);
	const { counts, count, truncated, subagents, recoverability } = doc.subagentJobSummary;
	assert.deepEqual([count, truncated, counts.running, counts.closed, counts.failed + counts.completed], [CHILDREN + 1, true, 1, CHILDREN / 2, CHILDREN / 2]);
	assert.deepEqual([subagents.map((r) => r.subagentId), Object.keys(recoverability), doc.threads[0].subagents.map((r) => r.subagentId)], [newest, newest, newest]);
	assert.deepEqual([doc.taskSummary.active, doc.taskSummary.failed, doc.taskSummary.completed], [2, CHILDREN / 10, CHILDREN * 9 / 10], 'counts are of all');
	const parentTask = doc.tasks.find((x) => x.turnId === turnId);
	assert.deepEqual(parentTask.relationships.map((e) => e.targetId).sort(), [...newest].sort(), 'edges of children that are shown');
	assert.equal((await run('get_task', { taskId: parentTask.taskId })).relationships.length, CHILDREN + 1, 'all of them');

	// What is left out, on demand: by pages, one by one, or all at once.
	const listed = [];
	for (let cursor; ;) {
		const page = await run('list_subagents', { sessionId, limit: 100, ...(cursor && { cursor }) });
		listed.push(...page.subagents.map((r) => r.childThreadId));
		cursor = page.nextCursor;
		if (!cursor) break;
	}
	assert.deepEqual(listed, [...made, live].map((c) => c.childThreadId));
	const { threads: [first] } = await run('get_thread_read', { sessionId, threadId: made[1].childThreadId });
	assert.equal(first.turns[0].steps[0].preview.trim(), 'done');
	const all = await run('get_session', { sessionId, include: ['ended_threads'] });
	assert.deepEqual([all.threads.length, all.threadSummary.truncated, all.tasks.length, all.subagentJobSummary.truncated, all.threads[0].subagents.length],
		[CHILDREN + 2, false, CHILDREN + 2, false, CHILDREN + 1]);
	const { threads: [parent], subagentJobSummary } = await run('get_thread_read', { sessionId, threadId });
	assert.deepEqual([parent.subagents.length, subagentJobSummary.truncated], [51, true], 'one thread shows more of its own');
	const { threads: [none], subagentJobSummary: few } = await run('get_thread_read', { sessionId, threadId: made[1].childThreadId });
	assert.deepEqual([none.subagents.length, few.subagents.length], [0, SHOWN_ENDED + 1]);

	// The same work is left in both: one turn that has ended.
	await run('close_subagent', { subagentId: live.subagentId });
	for (const id of [bare.sessionId, sessionId]) await run('interrupt_turn', { sessionId: id, reason: 'enough' });
	for (const id of [bare.sessionId, sessionId]) await idle(id);
	const [small, large] = [await read(bare.sessionId), await read(sessionId)].map((text) => Buffer.byteLength(text));
	const [cheap, dear] = await costs([bare.sessionId, sessionId]);
	t.diagnostic(`${large} bytes against ${small}, ${dear.toFixed(3)} ms of CPU against ${cheap.toFixed(3)}`);
	assert.ok(large <= 2 * small, `${large} bytes against ${small}`);
	assert.ok(dear <= 8 * cheap, `${dear} ms of CPU against ${cheap}`); // two to three times it; to write all children took a hundred times
	const before = without(await run('get_session', { sessionId }));
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(without(await run('get_session', { sessionId })), before, 'the same after a kill -9');
});

test('a child that has ended is in the session again as soon as it has work; a branch of it always is', async () => {
	w = await world({});
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]');
	const { subagentId, childThreadId } = await run('spawn_subagent', { sessionId, threadId, turnId, objective: '[[say one]]' });
	const shown = async () => (await run('get_session', { sessionId })).threads.some((t) => t.threadId === childThreadId);
	await waitFor(async () => (await run('list_subagents', { sessionId })).subagents[0].status === 'completed', 'its end');
	assert.equal(await shown(), false);
	await run('send_subagent_input', { subagentId, input: '[[hang]]' });
	assert.equal(await shown(), true);
	// A branch of it is a thread of its own, for people; what source its turns name is their business.
	const branch = await run('fork_thread', { sessionId, threadId: childThreadId });
	assert.ok((await run('get_session', { sessionId })).threads.some((t) => t.threadId === branch.threadId), 'a branch is shown');
});
