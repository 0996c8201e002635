// Rows of the standard that need a turn driven step by step, a kill, a repair or much output; each test names its rows.
// ci: release only
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { execute } from '../lib/damage.mjs';
import { ask, digestOf, ended, facts, pending, seen, tools } from '../lib/gate.mjs';
import { call, newFolder, ok, readLog, refused, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';

const EVENT_MAX = 131072; // no fact is larger: content goes by ref
const MARKER = 'marker-4711-only-in-the-file';
const workspace = newFolder();
const put = [{ name: 'put', description: 'Puts.', inputSchema: { type: 'object' } }];
let w;

before(async () => {
	writeFileSync(join(workspace, 'AGENTS.md'), `Be kind. ${MARKER}`);
	writeFileSync(join(workspace, 'note.txt'), 'a note');
	w = await world({ config: { 'tools.workspace': workspace, 'model.backoff_ms': 20, 'limits.max_body_bytes': 8388608, 'budget.on_limit': 'stop', 'tools.max_parallel': 2 } });
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const run = (command, input) => ok(w.rt, command, input);

/** What a reader makes of thread.updated and turn.* alone. */
function fold(events, threadId) {
	const state = { status: 'idle', activeTurnId: undefined };
	for (const e of events.filter((x) => x.threadId === threadId)) {
		if (e.type === 'thread.updated') state.status = e.payload.status;
		if (e.type === 'turn.started') state.activeTurnId = e.turnId;
		if (e.type === 'turn.completed' || e.type === 'turn.failed') state.activeTurnId = e.turnId === state.activeTurnId ? undefined : state.activeTurnId;
	}
	return state;
}

test('RM-03 EV-40 at every moment of a thread its read model is what its facts say: idle, running, queued behind, blocked, running, idle, failed', async () => {
	const { sessionId, threadId } = await run('create_session', {});
	const words = [];
	const look = async (expected) => {
		const read = await run('get_thread_read', { sessionId, threadId });
		const [t] = read.threads;
		const events = (await log(sessionId)).filter((e) => e.sequence <= read.asOfSequence);
		assert.deepEqual({ status: t.status, activeTurnId: t.activeTurnId }, fold(events, threadId));
		assert.deepEqual({ threadId: t.threadId, status: t.status, active: t.activeTurnId, pending: t.pendingRequests.length, queued: t.queuedTurns.map((q) => q.turnId),
			outcome: t.lastOutcome?.status, incidents: t.incidents.length > 0, state: t.diagnostics.state }, { threadId, state: 'available', ...expected });
		words.push(t.status);
	};
	const at = (more) => ({ active: undefined, pending: 0, queued: [], outcome: undefined, incidents: false, ...more });
	await look(at({ status: 'idle' }));
	const first = await submit(w.rt, '[[hang]]', { sessionId, threadId });
	await waitFor(async () => w.model.log(first.turnId).length > 0, 'the call');
	await look(at({ status: 'running', active: first.turnId }));
	const second = await submit(w.rt, '[[tool put {"q":"1"}]]', { sessionId, threadId, options: { tools: put } });
	await look(at({ status: 'running', active: first.turnId, queued: [second.turnId] }));
	await run('interrupt_turn', { sessionId, turnId: first.turnId, reason: 'enough' });
	const [asked] = await pending(w.rt, sessionId);
	await look(at({ status: 'blocked', active: second.turnId, pending: 1, outcome: 'cancelled', incidents: true }));
	await run('respond_action', { actionId: asked.actionId, decision: 'allow' });
	const [started] = await seen(w.rt, sessionId, 'tool.started');
	await look(at({ status: 'running', active: second.turnId, outcome: 'cancelled', incidents: true }));
	await run('report_tool_result', { toolCallId: started.toolCallId, output: 'done' });
	await ended(w.rt, sessionId, second.turnId);
	await look(at({ status: 'idle', outcome: 'completed', incidents: true }));
	const third = await submit(w.rt, '[[http 400]]', { sessionId, threadId });
	await ended(w.rt, sessionId, third.turnId);
	await look(at({ status: 'idle', outcome: 'failed', incidents: true }));
	assert.deepEqual(words, ['idle', 'running', 'running', 'blocked', 'running', 'idle', 'idle']);
});

test('AC-21 action, queue, task and an old session, each with a kill -9 in the middle', async () => {
	const action = await ask(w.rt, ['write']);
	const [asked] = await pending(w.rt, action.sessionId);
	await restart();
	assert.equal((await run('list_actions', { sessionId: action.sessionId })).actions[0].actionId, asked.actionId);
	assert.equal((await facts(w.rt, action.sessionId, 'tool.started')).length, 0, 'nothing runs before respond_action');
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	await ended(w.rt, action.sessionId, action.turnId);

	const running = await submit(w.rt, '[[hang]]', {});
	const { sessionId } = running;
	const [a, b, c] = [await submit(w.rt, 'a', { sessionId }), await submit(w.rt, 'b', { sessionId }), await submit(w.rt, 'c', { sessionId })];
	await run('promote_queued_turn', { sessionId, queuedTurnId: c.turnId });
	await run('remove_queued_turn', { sessionId, queuedTurnId: a.turnId });
	await restart();
	const order = async () => (await run('get_session', { sessionId })).threads[0].queuedTurns.map((q) => q.turnId);
	assert.deepEqual(await order(), [c.turnId, b.turnId]);
	assert.deepEqual((await facts(w.rt, sessionId, 'queue.changed')).map((e) => e.payload.change), ['enqueued', 'enqueued', 'enqueued', 'promoted', 'removed']);
	await run('interrupt_turn', { sessionId, reason: 'go on' });
	await ended(w.rt, sessionId, b.turnId);

	const { taskId } = await run('create_task', { sessionId, objective: 'x' });
	const { runId } = await run('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	await restart();
	const task = await run('get_task', { taskId });
	assert.deepEqual([task.status, task.currentRunId], ['running', runId]);
	await run('complete_task', { taskId, acceptance: [] });

	const old = await submit(w.rt, 'turn 0', {});
	await ended(w.rt, old.sessionId, old.turnId);
	for (let i = 1; i < 30; i++) {
		const { turnId } = await submit(w.rt, `turn ${i}`, { sessionId: old.sessionId });
		await ended(w.rt, old.sessionId, turnId);
	}
	await restart();
	const snapshot = await run('get_session', { sessionId: old.sessionId });
	validateSnapshot(snapshot);
	assert.deepEqual([snapshot.threads[0].turns.length, snapshot.threads[0].turns.at(-1).inputPreview], [20, 'turn 29'], 'a window, the newest');
	assert.equal((await facts(w.rt, old.sessionId, 'turn.completed')).length, 30, 'the log has all');
	assert.equal((await run('get_task', { taskId: old.taskId })).status, 'completed', 'and what left the window is still read');
});

test('EV-23 a repair leaves an open question and a failed call where they were', async () => {
	const own = await world({ config: { 'session.snapshot_every': 5 } });
	const failed = await submit(own.rt, '[[tool nothing {}]]', {});
	const { sessionId } = failed;
	await ended(own.rt, sessionId, failed.turnId);
	const turn = await submit(own.rt, '[[tool put {}]]', { sessionId, options: { tools: put } });
	const [asked] = await pending(own.rt, sessionId);
	await own.rt.stop();
	execute(own.dataDir, 'snapshot-garbage');
	own.rt = await own.again();
	const { text } = await request(own.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId, repair: true }) });
	assert.equal(JSON.parse(text).sessions[0].status, 'repaired');
	const [repaired] = await facts(own.rt, sessionId, 'snapshot.repaired');
	assert.ok(repaired.payload.repairedFields.length > 0 && repaired.payload.reason);
	const { threads: [thread] } = await ok(own.rt, 'get_session', { sessionId });
	assert.deepEqual(thread.pendingRequests.map((p) => p.actionId), [asked.actionId]);
	assert.ok(thread.toolCalls.some((c) => c.status === 'failed' && c.turnId === failed.turnId), JSON.stringify(thread.toolCalls));
	await ok(own.rt, 'respond_action', { actionId: asked.actionId, decision: 'deny' });
	await ended(own.rt, sessionId, turn.turnId);
});

test('EV-10 EV-24 a megabyte of arguments and five of results: refs and previews, and no large fact', async () => {
	const big = 'x'.repeat(1000000);
	const { sessionId, turnId } = await submit(w.rt, `[[tool put {"q":"${big}"}]]`, { options: { tools: put } });
	const [asked] = await pending(w.rt, sessionId);
	const read = async (outputRef) => {
		let text = '';
		for (let size = 1; text.length < size;) {
			const got = await run('read_output', { outputRef, offset: text.length, length: 1048576 });
			[text, size] = [text + got.content, got.sizeBytes];
		}
		return text;
	};
	await run('respond_action', { actionId: asked.actionId, decision: 'allow', promptDigest: digestOf(asked.actionId, await read(asked.promptRef)) });
	const [started] = await seen(w.rt, sessionId, 'tool.started');
	assert.deepEqual(JSON.parse(await read(started.payload.inputRef)), { q: big });
	await run('report_tool_result', { toolCallId: started.toolCallId, output: 'y'.repeat(1000000) });
	await ended(w.rt, sessionId, turnId);
	const [result] = await facts(w.rt, sessionId, 'tool.result');
	assert.equal((await read(result.payload.outputRef)).length, 1000000);
	assert.ok(result.payload.preview.length < 5000 && result.payload.preview.startsWith('yyy'), 'a preview');
	for (let i = 0; i < 4; i++) {
		const turn = await submit(w.rt, '[[tool look {"q":"1"}]]', { sessionId, options: { tools: [tools.look] } });
		const next = await waitFor(async () => (await facts(w.rt, sessionId, 'tool.started')).find((e) => e.turnId === turn.turnId), 'the call');
		await run('report_tool_result', { toolCallId: next.toolCallId, output: 'z'.repeat(1000000) });
		await ended(w.rt, sessionId, turn.turnId);
	}
	const sizes = (await readLog(w.rt, sessionId)).map((f) => f.data.length);
	assert.ok(Math.max(...sizes) < EVENT_MAX, `${Math.max(...sizes)}`);
});

test('OW-01 nobody outside writes identity, status, sequence, queue or the life of a question', async () => {
	const { sessionId, threadId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: 'x' });
	const turn = await ask(w.rt, ['write'], { sessionId });
	const [asked] = await pending(w.rt, sessionId);
	const before = (await log(sessionId)).length;
	const loose = { loose: true };
	const tries = [
		['create_session', { sessionId: 'mine' }], ['create_session', { status: 'running' }], ['submit_turn', { sessionId, text: 'x', status: 'completed' }],
		['submit_turn', { sessionId, text: 'x', sequence: 7 }], ['submit_turn', { sessionId, text: 'x', turnId: turn.turnId }], ['submit_turn', { sessionId, text: 'x', source: 'system' }],
		['create_task', { sessionId, objective: 'x', status: 'completed' }], ['create_task', { sessionId, objective: 'x', taskId }],
		['promote_queued_turn', { sessionId, queuedTurnId: 'x', order: [] }], ['respond_action', { actionId: asked.actionId, decision: 'allow', status: 'resolved' }],
		['start_task', { taskId, runId: `run_${sessionId.slice(5)}_1` }],
	];
	for (const [command, input] of tries) await refused(w.rt, 'invalid_input', command, input, loose);
	await refused(w.rt, 'invalid_field', 'update_task', { taskId, changed: { status: 'completed' } });
	await refused(w.rt, 'invalid_field', 'update_task', { taskId, changed: { taskId: 'other' } });
	await refused(w.rt, 'invalid_decision', 'respond_action', { actionId: asked.actionId, decision: 'whatever' });
	assert.equal((await log(sessionId)).length, before, 'none of it left a fact');
	assert.deepEqual([(await run('get_task', { taskId })).status, (await run('get_thread_read', { sessionId, threadId })).threads[0].status], ['accepted', 'blocked']);
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: asked.actionId, decision: 'allow' });
	await ended(w.rt, sessionId, turn.turnId);
});

test('OW-05 what the model is given from elsewhere is in the facts as a ref, never as text', async () => {
	const { sessionId, turnId } = await submit(w.rt, 'hello', {});
	await ended(w.rt, sessionId, turnId);
	assert.ok(JSON.stringify(w.model.log(turnId)[0].body).includes(MARKER), 'the model got it');
	const all = await readLog(w.rt, sessionId);
	assert.ok(all.every((f) => !f.data.includes(MARKER)), 'no fact has it');
	const [resolved] = await facts(w.rt, sessionId, 'context.resolved');
	const texts = await Promise.all(resolved.payload.instructionRefs.map((outputRef) => run('read_output', { outputRef })));
	assert.ok(texts.some((t) => t.content.includes(MARKER)), 'the ref resolves to it');
});

test('CP-40 the host and a client answer at once: one outcome, and both facts name it', async () => {
	for (let i = 0; i < 5; i++) {
		const { sessionId, turnId } = await ask(w.rt, ['write']);
		const [{ actionId }] = await pending(w.rt, sessionId);
		const answers = await Promise.all([
			request(w.rt, { path: '/v1/resolve_permission', body: JSON.stringify({ actionId, decision: 'allow', reason: 'host' }) }),
			request(w.rt, { path: '/v1/respond_action', body: JSON.stringify({ actionId, decision: 'deny' }) }),
		]);
		assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409]);
		const won = answers[0].status === 200 ? ['allow', 'host', 'allowed'] : ['deny', 'human', 'denied'];
		const [action, more] = await facts(w.rt, sessionId, 'action.resolved');
		const [permission] = await facts(w.rt, sessionId, 'permission.resolved');
		assert.deepEqual([action.payload.decision, action.payload.decisionSource, permission.payload.outcome, more], [...won, undefined]);
		assert.deepEqual([permission.payload.decisionSource, permission.payload.approvalActionId, action.actionId], [won[1], actionId, actionId]);
		await run('interrupt_turn', { sessionId, reason: 'enough' });
		await ended(w.rt, sessionId, turnId);
	}
});

test('TL-10 an interruption with two running calls: each has its end as a fact', async () => {
	const { sessionId, turnId } = await submit(w.rt, '[[tool look {"q":"1"}]][[tool look {"q":"2"}]]', { options: { tools: [tools.look] } });
	await seen(w.rt, sessionId, 'tool.started', 2);
	await run('interrupt_turn', { sessionId, reason: 'enough' });
	await ended(w.rt, sessionId, turnId);
	const started = (await facts(w.rt, sessionId, 'tool.started')).map((e) => e.toolCallId);
	const failed = await facts(w.rt, sessionId, 'tool.failed');
	assert.deepEqual(failed.map((e) => e.toolCallId).sort(), started.sort());
	for (const e of failed) assert.match(e.payload.status, /^(interrupted|cancelled)$/);
});

test('LI-04 every kind of limit event: rate_limit_hit, quota_low, quota_blocked, parallel_budget_reached', async () => {
	const hit = await submit(w.rt, '[[fail-times 1 http 429 retry-after=1]] hello', {});
	await ended(w.rt, hit.sessionId, hit.turnId);
	assert.equal((await facts(w.rt, hit.sessionId, 'rate_limit.hit')).length, 1);
	const busy = await submit(w.rt, [1, 2, 3].map((n) => `[[tool look {"q":"${n}"}]]`).join(' '), { options: { tools: [tools.look] } });
	const [changed] = await seen(w.rt, busy.sessionId, 'limit.changed');
	assert.equal(changed.payload.limitState.limitEvent, 'parallel_budget_reached');
	await run('interrupt_turn', { sessionId: busy.sessionId, reason: 'enough' });
	const spent = await submit(w.rt, '[[loop]][[tool look {"q":"$n"}]]', { options: { tools: [tools.look], budget: { toolCalls: 5 } } });
	const answered = new Set();
	await waitFor(async () => {
		for (const e of await facts(w.rt, spent.sessionId, 'tool.started')) {
			if (answered.has(e.toolCallId)) continue;
			answered.add(e.toolCallId);
			await call(w.rt, 'report_tool_result', { toolCallId: e.toolCallId, output: e.toolCallId });
		}
		return (await facts(w.rt, spent.sessionId, 'turn.failed', 'turn.completed')).length;
	}, 'the end of the budget');
	const kinds = (await facts(w.rt, spent.sessionId, 'quota.low', 'quota.blocked')).map((e) => e.type);
	assert.deepEqual(kinds, ['quota.low', 'quota.blocked']);
});

test('RM-26 five words, five set-ups: unknown, unavailable, not_applicable, stale, blocked', async () => {
	const own = await world({ config: { 'recovery.auto_resume': false } });
	const turn = await submit(own.rt, '[[hang]]', {});
	await waitFor(async () => own.model.log(turn.turnId).length > 0, 'the call');
	await own.rt.kill9();
	own.rt = await own.again();
	const status = async () => (await ok(own.rt, 'get_session', { sessionId: turn.sessionId })).threads[0].status;
	await waitFor(async () => (await status()) === 'stale', 'what ran there may be out of date');
	const asking = await ask(own.rt, ['write']);
	await pending(own.rt, asking.sessionId);
	const read = await ok(own.rt, 'get_session', { sessionId: asking.sessionId });
	assert.equal(read.threads[0].status, 'blocked', 'it waits for a person');
	assert.equal(read.threads[0].costState.state, 'unknown', 'no price is known');
	assert.equal(read.telemetrySummary.state, 'unavailable', 'not supported here');
	assert.equal(read.tasks[0].deliveryState.state, 'not_applicable', 'nothing is delivered to anybody');
});

test('CP-08 a kill -9 between the reply and the model call: the turn is there, and its repeat gets the same receipt', async () => {
	const own = await world({ config: {}, mayDie: true });
	await own.rt.kill9();
	own.rt = await own.again({ fault: 'engine.after_reply:1' });
	const input = { createPolicy: {}, turnId: 'once', text: 'hello' };
	const first = await request(own.rt, { path: '/v1/submit_turn', body: JSON.stringify(input) }).catch(() => undefined);
	assert.equal((await own.rt.gone).signal, 'SIGKILL', 'it died at that point');
	assert.equal(own.model.log('once').length, 0, 'no call was made');
	own.rt = await own.again({ fault: undefined });
	const again = await ok(own.rt, 'submit_turn', input);
	if (first) assert.deepEqual(again, JSON.parse(first.text));
	assert.deepEqual(await ok(own.rt, 'submit_turn', input), again);
	await ended(own.rt, again.sessionId, 'once');
	assert.equal((await facts(own.rt, again.sessionId, 'turn.submitted')).length, 1);
	assert.equal(own.model.log('once').length, 1);
});

test('TL-14 a call of a tool of ours: a fresh id, what it was given, the word of the policy, and one end', async () => {
	const { sessionId, turnId } = await submit(w.rt, '[[tool read_file {"path":"note.txt"}]]', {});
	await ended(w.rt, sessionId, turnId);
	const [started, more] = await facts(w.rt, sessionId, 'tool.started');
	assert.equal(more, undefined);
	assert.deepEqual([started.payload.toolName, typeof started.payload.policy], ['read_file', 'string']);
	const args = started.payload.safeArgs ?? JSON.parse((await run('read_output', { outputRef: started.payload.inputRef })).content);
	assert.deepEqual(args, { path: 'note.txt' });
	const ends = await facts(w.rt, sessionId, 'tool.result', 'tool.failed');
	assert.deepEqual(ends.map((e) => [e.type, e.toolCallId]), [['tool.result', started.toolCallId]]);
});
