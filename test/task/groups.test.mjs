// Tasks by state, and how many there are of each: what a reader sees is what the log says, before and after a kill -9.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';

const WORKER = { kind: 'worker', id: 'w-1' };
const WORDS = { 'task.completed': 'completed', 'task.failed': 'failed', 'task.cancelled': 'cancelled', 'task.timed_out': 'timed_out', 'task.lost': 'lost',
	'task.blocked': 'blocked', 'task.waiting': 'waiting' };
const OVER = ['completed', 'failed', 'cancelled', 'timed_out'];

/** The state of each task, of its facts alone. */
function fold(log) {
	const words = new Map();
	for (const e of log.filter((x) => x.type.startsWith('task.') && !/attempt|dependency|delegated/.test(x.type))) words.set(e.taskId, WORDS[e.type] ?? 'active');
	return words;
}

test('RM-04 RM-15 RM-40 tasks by state: six tasks in six states with two attempts each, in their groups, with edges and delivery', async () => {
	const own = await world({ config: { 'recovery.auto_resume': false, 'model.backoff_ms': 20 } });
	const mine = (command, input) => ok(own.rt, command, input);
	const s = await mine('create_session', { title: 'groups' });
	const make = async (more = {}) => (await mine('create_task', { sessionId: s.sessionId, threadId: s.threadId, objective: 'x', ...more })).taskId;
	const [active, blocked, failed, ended] = [await make(), await make(), await make(), await make()];
	const waiting = await make({ objective: '[[http 400]]', acceptance: [{ criterion: 'c' }] });
	const fail = (taskId) => mine('fail_task', { taskId, error: { category: 'x', message: 'y' } });
	for (const taskId of [active, failed, ended, blocked]) {
		await mine('start_task', { taskId, worker: WORKER });
		await fail(taskId);
		await mine('retry_task', { taskId, retryReason: 'again' });
	}
	await mine('start_task', { taskId: waiting, worker: { kind: 'agent' } });
	await waitFor(async () => (await mine('get_task', { taskId: waiting })).status === 'failed', 'the first attempt');
	await mine('update_task', { taskId: waiting, changed: { objective: '[[say x]]' } });
	await mine('retry_task', { taskId: waiting, retryReason: 'again' });
	await waitFor(async () => (await mine('get_task', { taskId: waiting })).status === 'waiting_input', 'the second');
	await mine('link_tasks', { sourceId: active, targetId: blocked, kind: 'blocks' });
	const late = await make({ constraints: { timeMs: 50 } });
	await mine('start_task', { taskId: late, worker: WORKER });
	await waitFor(async () => (await mine('get_task', { taskId: late })).status === 'timed_out', 'the end of its time');
	await fail(failed);
	await mine('complete_task', { taskId: ended, acceptance: [], deliveryState: { state: 'delivered', to: 'ui' } });
	const lost = await submit(own.rt, '[[hang]]', { sessionId: s.sessionId, threadId: s.threadId });
	for (let i = 0; i < 2; i++) {
		await waitFor(async () => own.model.log(lost.turnId).length > i, 'the call');
		await own.rt.kill9();
		own.rt = await own.again();
		await waitFor(async () => (await mine('get_task', { taskId: lost.taskId })).status === 'lost', 'the loss');
		if (i === 0) await mine('resume_thread', { sessionId: s.sessionId, threadId: s.threadId });
	}
	const read = await mine('get_thread_read', { sessionId: s.sessionId, threadId: s.threadId });
	assert.deepEqual(read.taskGroups, { active: [active], waiting: [waiting], blocked: [blocked], failed: [failed, late], lost: [lost.taskId], recentlyEnded: [ended] });
	const snapshot = await mine('get_session', { sessionId: s.sessionId });
	validateSnapshot(snapshot);
	for (const [group, ids] of Object.entries(read.taskGroups)) assert.deepEqual(snapshot.taskGroups[group].filter((id) => ids.includes(id)), ids, group);
	for (const taskId of [active, blocked, failed, ended, waiting, lost.taskId]) {
		const record = snapshot.tasks.find((t) => t.taskId === taskId);
		assert.equal(record.attempts.length, 2, taskId);
		assert.ok(record.deliveryState.state);
	}
	assert.deepEqual(snapshot.tasks.find((t) => t.taskId === ended).deliveryState, { state: 'delivered', to: 'ui' });
	assert.deepEqual(snapshot.taskGraph.edges.map((e) => [e.sourceId, e.kind, e.targetId]), [[active, 'blocks', blocked]]);
	const { taskSummary, tasks } = await mine('list_tasks', { sessionId: s.sessionId });
	assert.equal(tasks.length, 6);
	const words = [...fold((await readLog(own.rt, s.sessionId)).map((f) => f.event))];
	const count = (...wanted) => words.filter(([, word]) => wanted.includes(word)).length;
	const { recentTerminal, ...counts } = taskSummary;
	assert.deepEqual(counts, { active: 1, waiting: 1, blocked: 1, completed: 2, failed: 2, cancelled: 0, lost: 1, terminal: 5 }, 'with the turns of the waiting one');
	assert.deepEqual(counts, { ...Object.fromEntries(Object.keys(counts).map((word) => [word, count(word)])), terminal: count(...OVER) }, 'RM-40 what the log says');
	assert.deepEqual(new Set(recentTerminal), new Set(words.filter(([, word]) => OVER.includes(word)).map(([id]) => id)));
	assert.deepEqual(snapshot.taskSummary, taskSummary);
	await own.rt.kill9();
	own.rt = await own.again();
	assert.deepEqual((await mine('get_session', { sessionId: s.sessionId })).taskSummary, taskSummary, 'the same after a kill -9');
	assert.deepEqual((await mine('list_tasks', { sessionId: s.sessionId, status: 'blocked' })).tasks.map((t) => t.taskId), [blocked]);
	assert.deepEqual((await mine('list_tasks', { threadId: s.threadId, limit: 2 })).tasks.length, 2);
});
