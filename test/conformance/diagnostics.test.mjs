// What needs attention, kind by kind: each is provoked, listed with its ids, and gone with its cause. The same for what limits a turn.
// ci: first
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen, serve } from '../lib/gate.mjs';
import { newFolder, ok, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;

const run = (command, input) => ok(w.rt, command, input);
const thread = async ({ sessionId, threadId }) => (await run('get_thread_read', { sessionId, threadId })).threads[0];
const findings = async (turn, kind) => (await thread(turn)).diagnostics.findings.filter((f) => f.kind === kind);
const turn = async (text, more) => {
	const receipt = await submit(w.rt, text, more);
	await ended(w.rt, receipt.sessionId, receipt.turnId);
	return receipt;
};

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) chownSync(workspace, OWNER, OWNER);
	const model = await startModel();
	const entry = (name) => ({ name, provider: 'openai-chat', model: `${name}-wire`, base_url: model.url });
	w = await world({ model, config: { models: [entry('one'), entry('other')], 'model.max_attempts': 1, 'model.fallback': 'allow', 'tools.workspace': workspace, 'tools.max_parallel': 1,
		'permission.mode': 'bypass', 'context.max_messages': 6, 'context.compact_at': 0, 'recovery.auto_resume': false, 'process.grace_ms': 60000 } });
});

test('RM-27 a failed command is named, until the next turn', async () => {
	const first = await turn('[[tool shell {"command":"exit 3"}]]');
	const [started] = await facts(w.rt, first.sessionId, 'process.started');
	assert.deepEqual((await findings(first, 'failed_command')).map((f) => [f.processId, f.turnId, f.message]), [[started.processId, first.turnId, 'exit 3']]);
	await turn('[[tool shell {"command":"exit 0"}]]', { sessionId: first.sessionId });
	assert.deepEqual(await findings(first, 'failed_command'), []);
});

test('RM-27 an interrupt that waits for a call is named, until the turn has ended', async () => {
	const asked = await submit(w.rt, `[[tool shell ${JSON.stringify({ command: "trap '' INT TERM; touch deaf; while [ ! -e go ]; do sleep 0.05; done" })}]]`);
	await waitFor(() => existsSync(join(workspace, 'deaf')), 'it does not hear');
	await run('interrupt_turn', { sessionId: asked.sessionId, reason: 'enough' });
	const [found] = await findings(asked, 'interrupt_requested');
	assert.deepEqual([found?.turnId, found?.message], [asked.turnId, 'enough']);
	writeFileSync(join(workspace, 'go'), '');
	await ended(w.rt, asked.sessionId, asked.turnId);
	assert.deepEqual(await findings(asked, 'interrupt_requested'), []);
});

test('RM-27 a turn that was lost with the runtime is stalled and its worker lost, until it is resumed', async () => {
	const held = await submit(w.rt, '[[fail-times 1 hang]]');
	await seen(w.rt, held.sessionId, 'model.requested');
	await w.rt.kill9();
	w.rt = await w.again();
	const [stalled] = await waitFor(async () => ((f) => f.length && f)(await findings(held, 'stalled_turn')), 'the turn stands still');
	assert.deepEqual([stalled.turnId, stalled.message], [held.turnId, 'worker_lost']);
	assert.deepEqual((await findings(held, 'lost_worker')).map((f) => f.turnId), [held.turnId]);
	await run('resume_thread', { sessionId: held.sessionId, threadId: held.threadId });
	await ended(w.rt, held.sessionId, held.turnId);
	assert.deepEqual([...(await findings(held, 'stalled_turn')), ...(await findings(held, 'lost_worker'))], []);
});

test('RM-27 a task behind one that failed is stalled, until the edge is gone', async () => {
	const { sessionId, threadId } = await turn('hello');
	const [blocker, held] = await Promise.all([1, 2].map(() => run('create_task', { sessionId, threadId, objective: 'x' })));
	await run('link_tasks', { sourceId: blocker.taskId, targetId: held.taskId, kind: 'blocks' });
	assert.deepEqual(await findings({ sessionId, threadId }, 'stalled_task'), [], 'it only waits');
	await run('start_task', { taskId: blocker.taskId, worker: { kind: 'worker', id: 'w' } });
	await run('fail_task', { taskId: blocker.taskId, error: { category: 'x', message: 'no' } });
	assert.deepEqual((await findings({ sessionId, threadId }, 'stalled_task')).map((f) => f.taskId), [held.taskId]);
	await run('unlink_tasks', { sourceId: blocker.taskId, targetId: held.taskId, kind: 'blocks' });
	assert.deepEqual(await findings({ sessionId, threadId }, 'stalled_task'), []);
});

test('RM-27 RM-16 messages that a request cannot carry are a context gap, until a summary stands for them', async () => {
	const { sessionId, threadId } = await turn('one');
	for (const text of ['two', 'three', 'four']) await turn(text, { sessionId });
	const at = { sessionId, threadId };
	const [gap] = await findings(at, 'context_gap');
	assert.match(gap.message, /^too_long/);
	const { selection } = (await thread(at)).contextBoundary;
	assert.ok(selection.omissions.some((o) => o.reason === gap.message && o.ref === gap.ref));
	assert.ok(selection.omissions.some((o) => o.reason.startsWith('not_found')), 'the source that is missing');
	assert.deepEqual(selection.workspaceRefs, ['workspace:/']);
	const compaction = await run('compact_thread', at);
	await seen(w.rt, sessionId, 'context.compaction.completed');
	await ended(w.rt, sessionId, compaction.turnId);
	await turn('five', { sessionId });
	assert.deepEqual(await findings(at, 'context_gap'), []);
	const { contextBoundary } = await thread(at);
	assert.ok(contextBoundary.summaryRef && contextBoundary.selection.omissions.some((o) => o.reason.startsWith('compacted')));
});

test('RM-27 LI-01 a used-up quota: named with its turn and in the limit state, until a person decides', async () => {
	const asked = await submit(w.rt, '[[loop]][[tool shell {"command":"echo $n"}]]', { options: { budget: { toolCalls: 1 } } });
	const [open] = await pending(w.rt, asked.sessionId);
	const [found] = await findings(asked, 'quota');
	assert.deepEqual([found.message, found.turnId], ['quota_blocked', asked.turnId]);
	assert.equal((await thread(asked)).limitState.state, 'quota_blocked');
	await run('respond_action', { actionId: open.actionId, decision: 'stop' });
	await ended(w.rt, asked.sessionId, asked.turnId);
	assert.deepEqual(await findings(asked, 'quota'), []);
});

test('LI-01 a rate limit and calls that wait for others are in the limit state of the thread, and calls only while they wait', async () => {
	const throttled = await turn('[[fail-times 1 http 429 retry-after=60]]');
	const { limitState } = await thread(throttled);
	assert.deepEqual([limitState.state, limitState.rateLimits.map((l) => l.model), limitState.singleCandidate, limitState.accessMode], ['rate_limited', ['one'], false, 'workspace_write']);
	const crowd = await ask(w.rt, ['write', 'drop']);
	await seen(w.rt, crowd.sessionId, 'limit.changed');
	const crowded = await thread(crowd);
	assert.deepEqual([crowded.limitState.state, crowded.limitState.parallel], ['parallel_limited', 'reached']);
	await serve(w.rt, crowd.sessionId, crowd.turnId);
	assert.equal((await thread(crowd)).limitState.parallel, 'ok');
});

test('RM-27 a warning is named until the next turn; the incidents of the thread keep it', async () => {
	const { sessionId, threadId } = await turn('[[summary http 400]] one');
	await turn('two', { sessionId });
	await turn('three', { sessionId });
	await run('compact_thread', { sessionId, threadId });
	const [failed] = await seen(w.rt, sessionId, 'context.compaction.failed');
	await ended(w.rt, sessionId, failed.turnId);
	assert.ok((await findings({ sessionId, threadId }, 'warning')).some((f) => f.incidentId === failed.eventId));
	await turn('four', { sessionId });
	assert.deepEqual(await findings({ sessionId, threadId }, 'warning'), []);
	assert.ok((await thread({ sessionId, threadId })).incidents.some((i) => i.incidentId === failed.eventId));
});
