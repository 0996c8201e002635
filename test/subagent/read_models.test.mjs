// What a session and a thread show of work that was handed on (children, jobs, channels, tasks), and of a long one; over a kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { ok, submit, waitFor, world } from '../lib/runtime.mjs';

const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
const TOOL = { name: 'sum', description: 'adds', inputSchema: { type: 'object' } };
const IMAGE = [{ type: 'text', text: 'what is this?' }, { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }];
let w;
const quiet = { config: { 'model.backoff_ms': 20, 'recovery.auto_resume': false } };

const run = (command, input) => ok(w.rt, command, input);
const status = async (sessionId, id) => (await run('list_subagents', { sessionId })).subagents.find((r) => r.subagentId === id).status;

before(async () => {
	w = await world(quiet);
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

test('RM-10 RM-22 a child, a job of five items and a channel in one task: get_thread_read shows edges, counts and states, before and after kill -9', async () => {
	const p = await submit(w.rt, '[[hang]]');
	const { sessionId, threadId, turnId } = p;
	const { channelId } = await run('connect_channel', { ...PEER, sessionId });
	const { taskId } = await run('create_task', { sessionId, threadId, objective: 'whole', delivery: { kind: 'channel', target: channelId } });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	const child = await run('spawn_subagent', { sessionId, threadId, turnId, taskId, objective: '[[hang]]' });
	const done = await run('spawn_subagent', { sessionId, threadId, turnId, taskId, objective: '[[say done]]' });
	const { jobId } = await run('create_job', { sessionId, taskId, instruction: 'Do it: {item}', input: '[[say 1]]\n[[say 2]]\n[[say 3]]\n[[http 400]]\n[[hang]]', concurrency: 5 });
	const settled = () => waitFor(async () => ((j) => j.counts.completed === 3 && j.counts.failed === 1 && j.counts.running === 1 && j)(await run('get_job', { jobId })), 'four items');
	const { assignedThreadIds, items } = await settled();
	assert.equal(items[4].status, 'running');
	await waitFor(async () => (await status(sessionId, child.subagentId)) === 'running' && (await status(sessionId, done.subagentId)) === 'completed', 'the children');

	const look = async () => {
		const { threads: [thread], taskGraph, channelSummary, subagentJobSummary: summary } = await run('get_thread_read', { sessionId, threadId });
		const edges = taskGraph.edges.filter((e) => e.sourceId === taskId && e.kind === 'spawned_subagent').map((e) => e.targetId);
		assert.deepEqual(edges, [child.subagentId, done.subagentId], 'the edges to the children');
		assert.deepEqual(thread.subagents.map((r) => [r.subagentId, r.parentThreadId, r.taskId]), [done, child].map((c) => [c.subagentId, threadId, taskId]), 'newest first');
		assert.deepEqual(thread.jobs, summary.jobs);
		assert.equal(summary.jobCount, 1);
		const [job] = thread.jobs;
		assert.deepEqual([job.jobId, job.taskId, job.status, job.itemCount, job.recoverability], [jobId, taskId, 'running', 5, 'automatic']);
		assert.deepEqual([job.counts.completed, job.counts.failed, job.counts.running, job.counts.pending], [3, 1, 1, 0]);
		assert.deepEqual(job.assignedThreadIds, assignedThreadIds, 'the threads that work on items');
		assert.deepEqual([thread.channels.map((c) => c.channelId), channelSummary.channels.map((c) => c.channelId)], [[channelId], [channelId]]);
		return { thread, summary };
	};
	const first = await look();
	assert.deepEqual(first.thread.channels.map((c) => c.status), ['connected']);
	assert.deepEqual(first.summary.recoverability, { [done.subagentId]: 'send_subagent_input', [child.subagentId]: 'automatic' });
	await restart();
	await waitFor(async () => (await status(sessionId, child.subagentId)) === 'blocked', 'the lost child');
	const again = await look();
	assert.deepEqual(again.thread.channels.map((c) => c.status), ['disconnected'], 'nobody is there after a crash');
	assert.deepEqual(again.summary.recoverability, { [done.subagentId]: 'send_subagent_input', [child.subagentId]: 'resume_subagent' }, 'what can be recovered, and how');
	await run('cancel_job', { jobId, reason: 'seen' });
	const { threads: [over] } = await run('get_thread_read', { sessionId, threadId });
	assert.deepEqual([over.jobs[0].status, over.jobs[0].counts.running, over.jobs[0].recoverability], ['cancelled', 0, 'not_applicable']);
});

test('HI-06 kill -9 with one of each: a job, a subagent, a queued turn, a question, the thread and its window are back, and history.reconstructed lists them', async () => {
	const { sessionId, threadId, turnId: old } = await submit(w.rt, 'kept words');
	await ended(w.rt, sessionId, old);
	const parent = await submit(w.rt, '[[hang]]', { sessionId });
	const queued = await submit(w.rt, 'later', { sessionId });
	const asks = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, createPolicy: { thread: 'new' }, options: { tools: [TOOL], mode: 'default' } });
	const child = await run('spawn_subagent', { sessionId, threadId, turnId: parent.turnId, objective: '[[hang]]' });
	const { jobId } = await run('create_job', { sessionId, instruction: '{item}', input: '[[hang]]', concurrency: 1 });
	const [action] = await waitFor(async () => ((a) => a.length > 0 && a)((await run('list_actions', { sessionId })).actions), 'the question');
	await waitFor(async () => (await status(sessionId, child.subagentId)) === 'running', 'the child');
	await waitFor(async () => (await run('get_job', { jobId })).counts.running === 1, 'the item');
	const shell = ({ title, createdAt, threads }) => [title, createdAt, threads.map((t) => t.threadId)];
	const before = await run('get_session', { sessionId });
	await restart();
	const told = await waitFor(async () => ((e) => e.some((f) => f.threadId === threadId) && e.some((f) => f.threadId === child.childThreadId) && e)(await facts(w.rt, sessionId, 'history.reconstructed')), 'what came back');
	for (const { payload } of told) {
		assert.deepEqual(payload.layers, { sessionShell: 'restored', threadSummaries: 'restored', queuedTurns: 'restored', pendingActions: 'restored', recentWindow: 'restored',
			activeThreadRead: 'restored', subagents: 'restored', jobs: 'restored' });
		assert.deepEqual([payload.degraded, payload.missing], [false, []]);
	}
	const after = await run('get_session', { sessionId });
	assert.deepEqual(shell(after), shell(before));
	const [main] = after.threads;
	assert.deepEqual([main.status, main.activeTurnId, main.statusReason], ['stale', parent.turnId, 'worker_lost'], 'what ran is stale, not running');
	assert.deepEqual([main.queuedTurns.map((t) => t.turnId), main.turns[0].turnId], [[queued.turnId], old]);
	assert.equal(main.turns[0].steps.at(-1).preview, before.threads[0].turns[0].steps.at(-1).preview);
	assert.deepEqual(after.threads.find((t) => t.threadId === asks.threadId).pendingRequests.map((a) => a.actionId), [action.actionId]);
	assert.equal(await status(sessionId, child.subagentId), 'blocked');
	assert.equal((await run('get_job', { jobId })).status, 'running');
	await run('cancel_job', { jobId, reason: 'seen' });
});

test('MR-02 a turn of a user, of a subagent and of a job: each has another source; the capabilities follow what the input needs', async () => {
	const profile = async (sessionId, check) => (await waitFor(async () => (await facts(w.rt, sessionId, 'task.profile.resolved')).find(check), 'the profile')).payload;
	const p = await submit(w.rt, '[[hang]]');
	const child = await run('spawn_subagent', { sessionId: p.sessionId, threadId: p.threadId, turnId: p.turnId, objective: '[[say x]]' });
	const job = await run('create_job', { sessionId: p.sessionId, instruction: '{item}', input: '[[hang]]', concurrency: 1 });
	const [threadId] = await waitFor(async () => ((ids) => ids.length > 0 && ids)((await run('get_job', { jobId: job.jobId })).assignedThreadIds), 'the item');
	const itemSession = threadId.replace(/^thread_/, 'sess_').replace(/_\d+$/, '');
	const sources = [
		(await profile(p.sessionId, (e) => e.turnId === p.turnId)).source,
		(await profile(p.sessionId, (e) => e.threadId === child.childThreadId)).source,
		(await profile(itemSession, () => true)).source,
	];
	assert.deepEqual(sources, ['api', 'subagent', 'job']);
	const needs = async (text, more) => {
		const turn = await submit(w.rt, text, more);
		return (await profile(turn.sessionId, (e) => e.turnId === turn.turnId)).requiredCapabilities;
	};
	assert.deepEqual(await needs('hello'), []);
	assert.deepEqual(await needs('hello', { options: { tools: [TOOL] } }), ['tools']);
	assert.deepEqual(await needs(undefined, { input: IMAGE }), ['vision']);
	assert.deepEqual(await needs('hello', { options: { outputSchema: { type: 'object' } } }), ['json']);
	await run('cancel_job', { jobId: job.jobId, reason: 'seen' });
});

test('RM-01 two threads and 200 steps: after kill -9 get_session has title, times, both threads, their newest steps, and a cursor that pages back to the first fact', async () => {
	const STEPS = 100; // of each thread
	const one = await submit(w.rt, 'hello', { createPolicy: { title: 'long' } });
	const { sessionId } = one;
	const other = await submit(w.rt, 'hello', { sessionId, createPolicy: { thread: 'new' } });
	const rest = async ({ threadId, turnId }) => {
		const over = (id) => waitFor(async () => (await run('get_thread_read', { sessionId, threadId })).threads[0].lastOutcome?.turnId === id, `the end of ${id}`);
		await over(turnId);
		for (let n = 1; n < STEPS; n++) await over((await submit(w.rt, `[[say ${n}]]`, { sessionId, threadId })).turnId);
	};
	await Promise.all([rest(one), rest(other)]);
	const before = await run('get_session', { sessionId });
	await restart();
	const after = await run('get_session', { sessionId, limit: 50 });
	const { payload: { title, createdAt } } = (await facts(w.rt, sessionId, 'session.created'))[0];
	assert.deepEqual([after.title, after.createdAt, after.updatedAt, after.asOfSequence], [title, createdAt, before.updatedAt, before.asOfSequence]);
	assert.equal(title, 'long');
	assert.deepEqual(after.threads, before.threads);
	assert.deepEqual(after.threads.map((t) => t.threadId), [one.threadId, other.threadId]);

	const seen = [...after.history.events].reverse();
	for (let { cursor } = after.history; cursor;) {
		const { history } = await run('get_session', { sessionId, limit: 50, cursor });
		seen.push(...[...history.events].reverse());
		cursor = history.cursor;
	}
	assert.deepEqual(seen.map((e) => e.sequence), Array.from({ length: after.asOfSequence }, (_, i) => after.asOfSequence - i), 'each fact once, back to the first');
	const steps = seen.filter((e) => e.type === 'model.requested').reverse();
	assert.equal(new Set(steps.map((e) => e.stepId)).size, 2 * STEPS);
	for (const thread of after.threads) {
		const shown = thread.turns.flatMap((t) => t.steps.map((s) => s.stepId));
		assert.ok(shown.length >= 10, `${shown.length} steps`);
		assert.deepEqual(shown, steps.filter((e) => e.threadId === thread.threadId).slice(-shown.length).map((e) => e.stepId), 'the newest');
	}
});
