// What a client reads about a thread while things happen to it: the read models say what the facts say.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, request, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';
import { ask, ended, facts, pending, seen } from '../lib/gate.mjs';

let w;

before(async () => {
	w = await world({ config: { 'tools.timeout_ms': 600 } });
});

const read = async (rt, { sessionId, threadId }) => (await ok(rt, 'get_thread_read', { sessionId, threadId })).threads[0];
const entry = (name, more = {}) => ({ name, provider: 'openai-chat', model: `${name}-wire`, base_url: w.model.url, ...more });

test('RM-05 the boundary of the newest compaction is the one of its fact, with its summary', async () => {
	const first = await submit(w.rt, `remember this: ${'seven times seven is fine sand. '.repeat(200)}`);
	await ended(w.rt, first.sessionId, first.turnId);
	await ok(w.rt, 'compact_thread', { sessionId: first.sessionId, threadId: first.threadId });
	const [done] = await seen(w.rt, first.sessionId, 'context.compaction.completed');
	const { contextBoundary } = await read(w.rt, first);
	assert.equal(contextBoundary.summaryRef, done.payload.summaryRef);
	assert.deepEqual([contextBoundary.state, contextBoundary.turnId], ['compacted', done.turnId]);
	for (const name of ['summaryRef', 'replacementHistoryRef', 'trigger', 'tokensBefore', 'tokensAfter', 'preserved']) {
		assert.notEqual(done.payload[name], undefined, name);
		assert.deepEqual(contextBoundary[name], done.payload[name], name);
	}
});

test('RM-07 RM-21 two models, the first is throttled: profile, count, decision, fallback, cost and limit in one place', async () => {
	const rt = await startAgentd({ config: { models: [entry('busy'), entry('free', { input_price: '3', output_price: '15' })], 'model.max_attempts': 1, 'model.fallback': 'allow' } });
	const turn = await submit(rt, '[[fail-times 1 http 429 retry-after=60]]');
	await ended(rt, turn.sessionId, turn.turnId);
	const answer = await ok(rt, 'get_thread_read', { sessionId: turn.sessionId, threadId: turn.threadId });
	const { routingLimitSummary: summary, threads: [thread] } = answer;
	assert.equal(summary.candidateCount, 2);
	assert.equal(summary.selectedModel, 'free');
	assert.equal(summary.fallbacks, 1);
	assert.equal(summary.costState.state, 'recorded');
	assert.notEqual(summary.limitState.state, 'ok', 'the throttled one is named');
	assert.match(JSON.stringify(summary.limitState), /busy/);
	assert.equal(thread.turns.at(-1).taskProfile.kind, 'chat');
	assert.deepEqual(summary.taskProfile, thread.turns.at(-1).taskProfile);
	assert.deepEqual(thread.limitState, summary.limitState, 'RM-07');
	assert.equal(thread.modelRouting.selectedModel, 'free');
});

test('EV-39 a new thread, a branch and a delegated one: each begins with thread.started, and is there after kill -9', async () => {
	const first = await submit(w.rt, 'one');
	await ended(w.rt, first.sessionId, first.turnId);
	const branch = await ok(w.rt, 'fork_thread', { sessionId: first.sessionId, threadId: first.threadId, turnId: first.turnId });
	const { sessionId, threadId } = first, { turnId } = await submit(w.rt, '[[hang]]', { sessionId, threadId });
	const child = await ok(w.rt, 'spawn_subagent', { sessionId, threadId, turnId, objective: '[[say mine]]' });
	const started = await facts(w.rt, sessionId, 'thread.started');
	assert.deepEqual(started.map((e) => [e.threadId, e.sessionId, e.payload.reason, e.payload.parentThreadId, e.payload.parentTurnId, e.payload.subagentId]), [
		[threadId, sessionId, 'new', undefined, undefined, undefined],
		[branch.threadId, sessionId, 'branch', threadId, first.turnId, undefined],
		[child.childThreadId, sessionId, 'delegate', threadId, turnId, child.subagentId],
	]);
	assert.ok(started.every((e) => e.payload.status));
	await waitFor(async () => (await facts(w.rt, sessionId, 'subagent.completed'))[0], 'the end of the child');
	await w.rt.kill9();
	w.rt = await w.again();
	const { threads } = await ok(w.rt, 'get_session', { sessionId }), { subagents } = await ok(w.rt, 'list_subagents', { sessionId });
	assert.deepEqual([...threads.map((t) => t.threadId), ...subagents.map((s) => s.childThreadId)], started.map((e) => e.threadId));
	assert.equal((await read(w.rt, { sessionId, threadId: child.childThreadId })).threadId, child.childThreadId);
	await ok(w.rt, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
});

test('OPEN-08 OPEN-10 TL-18 six ways to end without a result: status and category differ, and two of them are errors in the metrics', async () => {
	const workspace = newFolder();
	const hooks = [{ name: 'no', point: 'pre_tool_use', match: 'write', command: `echo '{"decision":"block","reason":"frozen"}'` }];
	const config = { 'tools.workspace': workspace, hooks };
	const own = await world({ config });
	const outcomes = async (metric) => {
		const { text } = await request(own.rt, { path: '/metrics', method: 'GET' });
		return Object.fromEntries([...text.matchAll(new RegExp(`^agentd_${metric}_total\\{outcome="(\\w+)"\\} (\\d+)`, 'gm'))].map(([, name, count]) => [name, Number(count)]));
	};
	const ends = {};
	const end = async (name, turn) => {
		await ended(own.rt, turn.sessionId, turn.turnId);
		ends[name] = (await facts(own.rt, turn.sessionId, 'tool.failed')).map((e) => [e.payload.status, e.payload.errorCategory]);
	};
	const broken = await ask(own.rt, ['look']);
	const [call] = await seen(own.rt, broken.sessionId, 'tool.started');
	await ok(own.rt, 'report_tool_result', { toolCallId: call.toolCallId, status: 'error', category: 'tool_error', output: 'it broke' });
	await end('error', broken);
	await end('outside', await submit(own.rt, '[[tool read_file {"path":"../../etc/passwd"}]]'));
	await end('deny', await ask(own.rt, ['drop'], { options: { mode: 'plan' } }));
	await end('block', await ask(own.rt, ['write']));
	const stopped = await ask(own.rt, ['look']);
	await seen(own.rt, stopped.sessionId, 'tool.started');
	await ok(own.rt, 'interrupt_turn', { sessionId: stopped.sessionId, reason: 'enough' });
	await end('interrupt', stopped);
	const { sessionId, taskId } = await ok(own.rt, 'create_session', {}).then(async (s) => ({ ...s, ...(await ok(own.rt, 'create_task', { sessionId: s.sessionId, objective: 'x' })) }));
	await ok(own.rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	const working = await ask(own.rt, ['drop'], { sessionId, taskId });
	await pending(own.rt, sessionId);
	await ok(own.rt, 'cancel_task', { taskId, reason: 'not wanted' });
	await end('cancel', working);
	const calls = await outcomes('tool_calls_ended');
	const turns = await outcomes('turns_ended');
	await own.rt.stop();
	own.rt = await own.again({ config: { ...config, 'tools.timeout_ms': 300 } }); // nobody answers this one in time
	await end('timeout', await ask(own.rt, ['look']));
	assert.deepEqual(Object.fromEntries(Object.entries(ends).map(([name, list]) => [name, list.map(([status]) => status)])),
		{ error: ['failed'], outside: ['failed'], timeout: ['timed_out'], deny: ['denied'], block: ['blocked'], interrupt: ['interrupted'], cancel: ['cancelled'] });
	const { cancel: [[, word]], ...causes } = ends;
	const categories = Object.values(causes).map(([[, category]]) => category);
	assert.equal(word, causes.interrupt[0][1], 'stopped on purpose, before or while it ran');
	assert.equal(new Set(categories).size, categories.length, categories.join());
	assert.deepEqual(calls, { failed: 2, denied: 1, blocked: 1, interrupted: 1, cancelled: 1 });
	assert.deepEqual(await outcomes('tool_calls_ended'), { timed_out: 1 });
	assert.deepEqual([turns.cancelled, turns.failed ?? 0], [2, 0], 'what was interrupted has not failed');
	await own.rt.stop();
});

test('AN-09 while a stop hook decides, the thread runs; the turn is completed afterwards and not before', async () => {
	const folder = newFolder();
	const script = join(folder, 'stop.sh');
	writeFileSync(script, `while [ ! -e ${folder}/go ]; do sleep 0.05; done; echo "{}"\n`);
	const rt = await startAgentd({ model: w.model, config: { hooks: [{ name: 'slow', point: 'stop', command: `sh ${script}`, timeout_ms: 60000 }] } });
	const turn = await submit(rt, 'hello');
	await seen(rt, turn.sessionId, 'hook.started');
	const meanwhile = await read(rt, turn);
	assert.deepEqual([meanwhile.status, meanwhile.activeTurnId, meanwhile.turns[0].status, meanwhile.lastOutcome], ['running', turn.turnId, 'running', undefined]);
	assert.equal((await facts(rt, turn.sessionId, 'turn.completed')).length, 0);
	writeFileSync(join(folder, 'go'), '');
	await ended(rt, turn.sessionId, turn.turnId);
	const log = (await facts(rt, turn.sessionId)).map((e) => e.type);
	assert.ok(log.indexOf('turn.completed') > log.lastIndexOf('hook.completed'));
});

test('EV-23 an open question and a failed call outlive a restart', async () => {
	const turn = await ask(w.rt, ['write', 'drop']);
	const [first] = await pending(w.rt, turn.sessionId, 2);
	await ok(w.rt, 'respond_action', { actionId: first.actionId, decision: 'deny' });
	await w.rt.kill9();
	w.rt = await w.again();
	const thread = await waitFor(async () => {
		const t = await read(w.rt, turn);
		return t.pendingRequests.length === 1 && t;
	}, 'the open question');
	assert.deepEqual(thread.toolCalls.map((c) => c.status).sort(), ['denied', 'waiting_permission']);
});

test('OW-10 workspace and account are words of the host: kept and given back as they came', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', { title: 'x', workspaceId: 'repo://odd/näme?x=1' });
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).workspaceId, 'repo://odd/näme?x=1');
	const accountRef = 'acct://odd/kündin?x=1';
	const mine = await ask(w.rt, ['write'], { createPolicy: { accountRef } });
	await pending(w.rt, mine.sessionId);
	assert.equal((await facts(w.rt, mine.sessionId, 'session.created'))[0].payload.accountRef, accountRef);
	const sessionsOf = async (account) => (await ok(w.rt, 'list_actions', { accountRef: account })).actions.map((action) => action.sessionId);
	assert.deepEqual(await sessionsOf(accountRef), [mine.sessionId]);
	assert.deepEqual(await sessionsOf(`${accountRef}2`), []);
	await ok(w.rt, 'interrupt_turn', { sessionId: mine.sessionId, reason: 'enough' });
});

test('RM-27 RM-28 what needs attention is listed with its ids, and goes with its cause; what is not looked for is unavailable', async () => {
	const kinds = async (turn) => (await read(w.rt, turn)).diagnostics.findings.map((f) => f.kind);
	const asked = await ask(w.rt, ['write']);
	const [open] = await pending(w.rt, asked.sessionId);
	const { diagnostics } = await read(w.rt, asked);
	assert.deepEqual(diagnostics.findings.map((f) => [f.kind, f.actionId, f.turnId]), [['pending_request', open.actionId, asked.turnId]]);
	assert.deepEqual([diagnostics.state, new Set(Object.values(diagnostics.kinds))], ['available', new Set(['available'])], 'all kinds are looked for');
	assert.equal(diagnostics.kinds.pending_request, 'available');
	await ok(w.rt, 'respond_action', { actionId: open.actionId, decision: 'deny' });
	await ended(w.rt, asked.sessionId, asked.turnId);
	assert.deepEqual(await kinds(asked), []);

	const late = await ask(w.rt, ['look']);
	await ended(w.rt, late.sessionId, late.turnId);
	assert.deepEqual(await kinds(late), ['failed_tool']);
	const next = await submit(w.rt, 'go on', { sessionId: late.sessionId });
	await ended(w.rt, next.sessionId, next.turnId);
	assert.deepEqual(await kinds(late), []);

	const broken = await submit(w.rt, '[[http 400 message=no]]', {});
	await ended(w.rt, broken.sessionId, broken.turnId);
	assert.ok((await kinds(broken)).includes('failed_turn'));
});
