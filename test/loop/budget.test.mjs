// What a turn and a session may use: tokens, tool calls, money, time. A warning, a question, the end; and what was used is exact, to the token.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, ok, readLog, refused, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';

let w;
let next = 0;
const newId = () => `b${next++}`;

const CLIENT = { tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, isReadOnly: true, isConcurrencySafe: true }] };

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 5, 'permission.mode': 'bypass', 'guard.repeats': 3 } });
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const thread = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).threads[0];
const calls = (turnId) => w.model.log(turnId);
const counted = (entries) => entries.reduce((n, e) => n + e.usage.input + e.usage.output, 0);

async function facts(sessionId, turnId, ...types) {
	const log = await readLog(w.rt, sessionId);
	return log.map((f) => f.event).filter((e) => (!turnId || e.turnId === turnId) && (types.length === 0 || types.includes(e.type)));
}

// What the log says was used, by the facts that a bill would be made of.
async function recorded(sessionId, turnId) {
	const all = await facts(sessionId, turnId, 'cost.recorded');
	return all.reduce((n, e) => n + e.payload.inputTokens + e.payload.outputTokens, 0);
}

// A client that answers every call for it, until the turn has ended or asks about its budget.
async function serve(sessionId, turnId, output = (n) => `answer ${n}`) {
	const follower = await follow(w.rt, sessionId);
	const done = new Set();
	let n = 0;
	for (;;) {
		const has = (type) => follower.facts.filter((f) => f.type === type && f.event.turnId === turnId);
		const ended = new Set([...has('tool.result'), ...has('tool.failed')].map((f) => f.event.toolCallId));
		const open = has('tool.started').find((f) => !ended.has(f.event.toolCallId) && !done.has(f.event.toolCallId));
		if (open) {
			done.add(open.event.toolCallId);
			await ok(w.rt, 'report_tool_result', { toolCallId: open.event.toolCallId, output: output(n++) });
			continue;
		}
		const asked = has('action.required').at(-1)?.event;
		const answered = asked && has('action.resolved').some((f) => f.event.actionId === asked.actionId);
		const over = has('turn.failed').length + has('turn.completed').length > 0;
		if (over || (asked && !answered)) {
			follower.stop();
			return { asked: over ? undefined : asked, count: done.size };
		}
		const seen = follower.facts.length;
		await follower.until(() => follower.facts.length > seen, 'the next fact');
	}
}

const FOREVER = '[[tool look {"n":"$n"}]] [[loop]]';

async function start(text, options = {}, more = {}) {
	const turnId = newId();
	const { sessionId, threadId } = await submit(w.rt, text, { turnId, options: { ...CLIENT, ...options }, ...more });
	return { sessionId, threadId, turnId };
}

const respond = (actionId, decision) => ok(w.rt, 'respond_action', { actionId, decision });

test('LI-11 LI-12 P22 a turn that calls for ever: quota.low once, then quota.blocked with a question; stop ends it, its cost exact to the token', async () => {
	const { sessionId, turnId } = await start(FOREVER, { budget: { tokens: 4000 } });
	const { asked } = await serve(sessionId, turnId, (n) => `${n} `.repeat(50));
	assert.deepEqual([asked.payload.actionType, asked.payload.decisions], ['budget_override', ['extend', 'stop']]);
	const [low, blocked, ...more] = await facts(sessionId, turnId, 'quota.low', 'quota.blocked');
	assert.deepEqual([low.type, low.payload.quotaKind, low.payload.limit, more.length], ['quota.low', 'turn_tokens', 4000, 0]);
	assert.ok(low.payload.remaining <= 800 && low.payload.remaining > 0, JSON.stringify(low.payload));
	assert.deepEqual([blocked.type, blocked.payload.quotaKind, blocked.payload.limit, blocked.payload.requiredActionId],
		['quota.blocked', 'turn_tokens', 4000, asked.actionId]);
	const { status, statusReason } = await thread(sessionId);
	assert.deepEqual([status, statusReason], ['blocked', 'action_required']);
	const { limitState } = await thread(sessionId);
	assert.deepEqual([limitState.state, limitState.quotas], ['quota_blocked', [{ quotaKind: 'turn_tokens', state: 'quota_blocked', limit: 4000 }]]);
	const before = calls(turnId).length;
	await respond(asked.actionId, 'stop');
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === turnId, 'its end');
	const { lastOutcome } = await thread(sessionId);
	assert.deepEqual([lastOutcome.status, lastOutcome.category], ['failed', 'budget_exhausted']);
	assert.equal(calls(turnId).length, before, 'no further request');
	assert.equal(await recorded(sessionId, turnId), counted(calls(turnId)));
	assert.ok(counted(calls(turnId)) <= 4000, `${counted(calls(turnId))} of 4000`);
});

test('a model that spawns for ever: nothing is offered to spawn with, every try fails and is paid for, and the budget stops it, its cost exact to the token', async () => {
	const { sessionId, turnId } = await start('[[tool spawn_subagent {"n":"$n"}]] [[loop]]', { budget: { tokens: 4000 } });
	const { asked, count } = await serve(sessionId, turnId);
	assert.equal(count, 0, 'nothing ran');
	assert.equal(asked.payload.actionType, 'budget_override');
	const failed = await facts(sessionId, turnId, 'tool.failed');
	assert.ok(failed.length >= 2, `${failed.length} tries`);
	assert.deepEqual([...new Set(failed.map((e) => e.payload.errorCategory))], ['tool_unavailable']);
	assert.equal((await facts(sessionId, turnId, 'subagent.spawned')).length, 0);
	await respond(asked.actionId, 'stop');
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === turnId, 'its end');
	assert.equal(await recorded(sessionId, turnId), counted(calls(turnId)));
	assert.ok(counted(calls(turnId)) <= 4000, `${counted(calls(turnId))} of 4000`);
});

test('LI-07 extend raises the limit by its original size, a fact with old and new; also over kill -9 while the question is open', async () => {
	const { sessionId, turnId } = await start(FOREVER, { budget: { toolCalls: 2 } });
	const { asked, count } = await serve(sessionId, turnId);
	assert.equal(count, 2);
	await restart();
	assert.equal((await thread(sessionId)).status, 'blocked');
	await respond(asked.actionId, 'extend');
	const again = await serve(sessionId, turnId);
	assert.notEqual(again.asked.actionId, asked.actionId);
	const [changed] = await facts(sessionId, turnId, 'limit.changed');
	assert.deepEqual([changed.payload.limitKind, changed.payload.previous.limit, changed.payload.limitState.limit, changed.payload.limitState.used],
		['budget', 2, 4, 2]);
	const started = await facts(sessionId, turnId, 'tool.started');
	assert.equal(started.length, 4, 'two and two; the fifth waits');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.status === 'cancelled', 'its end');
	const [settled] = (await facts(sessionId, turnId, 'action.resolved')).filter((e) => e.actionId === again.asked.actionId);
	assert.equal(settled.payload.decisionSource, 'cancelled');
});

test('calls of a tool that does not exist count, also over kill -9: the budget asks, and its end stops the loop', async () => {
	const { sessionId, turnId } = await start('[[tool nowhere {"a":1}]] [[loop]]', { budget: { toolCalls: 2 } });
	const open = () => waitFor(async () => (await thread(sessionId)).pendingRequests[0], 'the question');
	await open();
	await restart();
	const failed = await facts(sessionId, turnId, 'tool.failed');
	assert.deepEqual(failed.map((e) => e.payload.errorCategory), ['tool_unavailable', 'tool_unavailable']);
	await respond((await open()).actionId, 'stop');
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === turnId, 'its end');
	const [end] = await facts(sessionId, turnId, 'turn.failed');
	assert.deepEqual([end.payload.error.category, calls(turnId).length], ['budget_exhausted', 3]);
});

test('LI-07 a policy lowers the budget of a session: limit.changed has old and new, the summary the same, it holds over kill -9, and a higher one is refused', async () => {
	const own = await world({ model: w.model, config: { 'budget.session_tokens': 5000, 'budget.on_limit': 'stop' } });
	const kept = w;
	w = own;
	const { sessionId } = await submit(w.rt, '[[tokens 90]]', { turnId: newId() });
	await waitFor(async () => (await thread(sessionId)).lastOutcome, 'its end');
	const set = (budget) => ({ scope: 'session', scopeId: sessionId, policy: { budget } });
	await ok(w.rt, 'set_policy', set({ tokens: 400 }));
	const [changed] = await facts(sessionId, null, 'limit.changed');
	assert.deepEqual([changed.payload.limitKind, changed.payload.source, changed.payload.scope], ['budget', 'policy', { sessionId }]);
	assert.deepEqual([changed.payload.previous.limit, changed.payload.limitState.limit], [5000, 400]);
	assert.equal(changed.payload.limitState.used, await recorded(sessionId));
	assert.match((await refused(w.rt, 'invalid_policy', 'set_policy', set({ tokens: 5001 }))).message, /looser than the host's 5000/);
	await restart();
	const { routingLimitSummary } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual(routingLimitSummary.limitState.quotas, [{ quotaKind: 'session_tokens', state: 'policy', limit: 400 }]);
	for (let turns = 0; (await thread(sessionId)).lastOutcome.status === 'completed'; turns++) {
		assert.ok(turns < 5, 'the lower budget ends it');
		const turnId = newId();
		await submit(w.rt, '[[tokens 90]]', { turnId, sessionId });
		const follower = await follow(w.rt, sessionId);
		await follower.ended(turnId);
		follower.stop();
	}
	assert.equal((await thread(sessionId)).lastOutcome.category, 'budget_exhausted');
	assert.ok(await recorded(sessionId) <= 400);
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: {} });
	const raised = (await facts(sessionId, null, 'limit.changed')).at(-1);
	assert.deepEqual([raised.payload.previous.limit, raised.payload.limitState.limit], [400, 5000]);
	w = kept;
	await own.rt.stop();
});

test('budgets of a session hold over its turns; without anyone to ask the turn ends at once', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'budget.session_tokens': 200, 'budget.on_limit': 'stop' } });
	const kept = w.rt;
	w.rt = rt;
	const { sessionId } = await submit(rt, '[[tokens 90]]', { turnId: newId() });
	for (let i = 0; i < 3; i++) {
		const turnId = newId();
		await submit(rt, '[[tokens 30]]', { turnId, sessionId });
		const follower = await follow(rt, sessionId);
		await follower.ended(turnId);
		follower.stop();
	}
	const all = await facts(sessionId, null, 'quota.low', 'quota.blocked', 'action.required', 'model.requested');
	assert.equal(all.filter((e) => e.type === 'quota.blocked').at(-1).payload.quotaKind, 'session_tokens');
	assert.equal(all.filter((e) => e.type === 'action.required').length, 0);
	const { lastOutcome } = await thread(sessionId);
	assert.deepEqual([lastOutcome.status, lastOutcome.category], ['failed', 'budget_exhausted']);
	assert.equal(await recorded(sessionId), counted(w.model.log().filter((e) => e.session === sessionId)));
	w.rt = kept;
	await rt.stop();
});

test('ST-12 the time of a turn: over it the turn is timed out, its call is cancelled; also when it was over while nobody ran it', async () => {
	const { sessionId, turnId } = await start('[[hang]]', { budget: { ms: 300 } });
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === turnId, 'its end');
	const { lastOutcome } = await thread(sessionId);
	assert.deepEqual([lastOutcome.status, lastOutcome.category], ['timed_out', 'budget_exhausted']);
	const [blocked] = await facts(sessionId, turnId, 'quota.blocked');
	assert.deepEqual([blocked.payload.quotaKind, blocked.payload.limit], ['turn_ms', 300]);
	const [task] = await facts(sessionId, turnId, 'task.timed_out');
	assert.deepEqual([task.payload.limitKind, task.payload.limitMs], ['time', 300]);
	await waitFor(() => calls(turnId)[0].aborted, 'the cancelled call');
	const other = await start('[[hang]]', { budget: { ms: 400 } });
	await waitFor(() => calls(other.turnId)[0], 'the call');
	await restart();
	await waitFor(async () => (await thread(other.sessionId)).lastOutcome?.status === 'timed_out', 'its end');
});

test('ST-12 TK-39 a turn that is silent for too long is timed out for inactivity; one that talks, or waits for a person, is not', async () => {
	const kept = w.rt;
	w.rt = await startAgentd({ model: w.model, config: { 'turn.inactivity_ms': 500, 'permission.mode': 'default' } });
	const run = (text, options = {}) => submit(w.rt, text, { options });
	const ends = (s) => waitFor(async () => (await thread(s.sessionId)).lastOutcome?.turnId === s.turnId && (await thread(s.sessionId)).lastOutcome, 'its end');
	const [silent, talks, asks] = [
		await run('[[hang]]'), await run('[[tokens 12]][[delay 100]]'),
		await run('[[tool drop {}]]', { tools: [{ ...CLIENT.tools[0], name: 'drop', isReadOnly: false }] }),
	];
	const outcome = await ends(silent);
	assert.deepEqual([outcome.status, outcome.category], ['timed_out', 'inactivity']);
	const [task] = await facts(silent.sessionId, silent.turnId, 'task.timed_out');
	assert.deepEqual([task.payload.limitKind, task.payload.limitMs], ['inactivity', 500]);
	assert.ok(task.payload.elapsedMs >= 500);
	const [blocked] = await facts(silent.sessionId, silent.turnId, 'quota.blocked');
	assert.equal(blocked.payload.quotaKind, 'turn_inactivity_ms');
	const long = await run('[[tokens 90]][[delay 100]]', { budget: { ms: 800 } });
	assert.equal((await ends(long)).status, 'timed_out');
	assert.equal((await facts(long.sessionId, long.turnId, 'task.timed_out'))[0].payload.limitKind, 'time', 'it talked, and took too long');
	await waitFor(() => calls(silent.turnId)[0].aborted, 'the cancelled call');
	assert.equal((await ends(talks)).status, 'completed');
	await new Promise((done) => setTimeout(done, 700));
	assert.equal((await thread(asks.sessionId)).pendingRequests.length, 1, 'it still waits');
	await ok(w.rt, 'interrupt_turn', { sessionId: asks.sessionId, turnId: asks.turnId, reason: 'done' });
	await w.rt.stop();
	w.rt = kept;
});

test('CX-04 a request over the token budget: a compaction that saves enough goes first, once, with trigger budget; else it is asked', async () => {
	const long = await start(`${'word '.repeat(8000)} [[say yes]]`);
	await waitFor(async () => (await thread(long.sessionId)).lastOutcome?.turnId === long.turnId, 'the long turn');
	const next = async (budget, text = 'go on') => {
		const turnId = newId();
		await submit(w.rt, text, { sessionId: long.sessionId, turnId, options: { budget } });
		await waitFor(async () => (await facts(long.sessionId, turnId, 'turn.completed', 'turn.failed', 'action.required')).length > 0, 'its end, or a question');
		return { turnId, seen: await facts(long.sessionId, turnId) };
	};
	const types = (seen, ...wanted) => seen.map((e) => e.type).filter((t) => wanted.includes(t));

	const hopeless = await next({ tokens: 2000 });
	assert.deepEqual(types(hopeless.seen, 'context.compaction.started', 'model.requested', 'quota.blocked'), ['quota.blocked'], 'no call is spent on it');
	await ok(w.rt, 'respond_action', { actionId: hopeless.seen.find((e) => e.type === 'action.required').actionId, decision: 'stop' });
	await waitFor(async () => (await thread(long.sessionId)).status === 'idle', 'rest');

	const { turnId, seen } = await next({ tokens: 6000 });
	assert.deepEqual(types(seen, 'context.compaction.started', 'context.compaction.completed', 'quota.blocked', 'turn.completed'),
		['context.compaction.started', 'context.compaction.completed', 'turn.completed']);
	const done = seen.find((e) => e.type === 'context.compaction.completed').payload;
	assert.equal(done.trigger, 'budget');
	assert.ok(done.tokensBefore > 6000 && done.tokensAfter < 1500, `${done.tokensBefore} ${done.tokensAfter}`);
	assert.equal(calls(turnId).length, 2);
	assert.ok(await recorded(long.sessionId, turnId) <= 6000);
	assert.equal(await recorded(long.sessionId, turnId), counted(calls(turnId)));
});

test('options.budget can only lower what the operator allows, and says what it does not understand', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'budget.turn_tokens': 100, 'budget.on_limit': 'stop' } });
	const kept = w.rt;
	w.rt = rt;
	const { sessionId, turnId } = await submit(rt, `${'word '.repeat(120)}`, { turnId: newId(), options: { budget: { tokens: 100000 } } });
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === turnId, 'its end');
	assert.equal((await thread(sessionId)).lastOutcome.category, 'budget_exhausted');
	assert.equal(calls(turnId).length, 0, 'a request that would go over it is not sent');
	await refused(rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'x', options: { budget: 7 } }, { loose: true });
	for (const budget of [{ tokens: 0 }, { tokens: 'x' }, { spawns: 3 }, { cost: -1 }])
		await refused(rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'x', options: { budget } });
	w.rt = kept;
	await rt.stop();
});

test('a turn that repeats itself is stopped by the guard: the same call, the same answer, three times in a row', async () => {
	const { sessionId, turnId } = await start('[[tool look {"a":1}]] [[loop]]');
	const { count } = await serve(sessionId, turnId, () => 'nothing new');
	assert.equal(count, 3);
	const [failed] = await facts(sessionId, turnId, 'turn.failed');
	assert.equal(failed.payload.error.category, 'no_progress');
	assert.match(failed.payload.error.message, /'look' was called 3 times in a row/);
	assert.equal(await recorded(sessionId, turnId), counted(calls(turnId)));
	const other = await start('[[tool look {"a":1}]] [[loop]]', { budget: { toolCalls: 6 } });
	const free = await serve(other.sessionId, other.turnId);
	assert.equal(free.count, 6, 'other answers are progress');
});

test('OPEN-44 LI-04 more calls at once than may run: limit.changed with parallel_budget_reached, once; the others wait', async () => {
	const rt = await startAgentd({ model: w.model, config: { 'tools.max_parallel': 2, 'permission.mode': 'bypass' } });
	const kept = w.rt;
	w.rt = rt;
	const three = [1, 2, 3].map((n) => `[[tool look {"n":${n}}]]`).join(' ');
	const { sessionId, turnId } = await start(three);
	await waitFor(async () => (await facts(sessionId, turnId, 'limit.changed')).length > 0, 'the fact');
	assert.equal((await facts(sessionId, turnId, 'tool.started')).length, 2);
	await serve(sessionId, turnId);
	const [changed, ...more] = await facts(sessionId, turnId, 'limit.changed');
	assert.deepEqual([changed.payload.limitKind, changed.payload.limitState.limitEvent, changed.payload.limitState.maxParallel, more.length],
		['concurrency', 'parallel_budget_reached', 2, 0]);
	assert.equal((await facts(sessionId, turnId, 'tool.started')).length, 3);
	assert.equal((await thread(sessionId)).lastOutcome.status, 'completed');
	w.rt = kept;
	await rt.stop();
});

test('money: a turn stops before its amount, counted to the billionth; a model without a price has no such limit', async () => {
	const entry = (name, more) => ({ name, provider: 'openai-chat', base_url: w.model.url, ...more });
	const models = [entry('priced', { input_price: '3', output_price: '15.5' }), entry('free', {})];
	const rt = await startAgentd({ model: w.model, config: { models, 'permission.mode': 'bypass', 'budget.turn_cost': '0.02', 'budget.on_limit': 'stop' } });
	const kept = w.rt;
	w.rt = rt;
	const { sessionId, turnId } = await start(FOREVER, { model: 'priced', maxOutputTokens: 50 });
	await serve(sessionId, turnId, (n) => `${n} `.repeat(30));
	const { lastOutcome } = await thread(sessionId);
	assert.deepEqual([lastOutcome.status, lastOutcome.category], ['failed', 'budget_exhausted']);
	const [blocked] = await facts(sessionId, turnId, 'quota.blocked');
	assert.deepEqual([blocked.payload.quotaKind, blocked.payload.limit], ['turn_cost', 0.02]);
	const nano = (amount) => Math.round(amount * 1e9);
	const spent = (await facts(sessionId, turnId, 'cost.recorded')).reduce((n, e) => n + nano(e.payload.amount), 0);
	const due = calls(turnId).reduce((n, e) => n + e.usage.input * 3000 + e.usage.output * 15500, 0);
	assert.equal(spent, due);
	assert.ok(spent <= 20e6 && spent > 10e6, `${spent} of 20000000: the next request could have cost more than is left`);
	const free = await start('hello', { model: 'free' }, { sessionId });
	await waitFor(async () => (await thread(sessionId)).lastOutcome?.turnId === free.turnId, 'its end');
	assert.equal((await thread(sessionId)).lastOutcome.status, 'completed');
	w.rt = kept;
	await rt.stop();
});
