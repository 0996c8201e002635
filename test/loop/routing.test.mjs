// Which model answers a turn, who steps in, and what it costs: every outcome is explained by facts, and the read models say the same.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, newFolder, ok, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const IMAGE = [{ type: 'text', text: 'what is this?' }, { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }];
const ROUTING = ['task.profile.resolved', 'routing.candidates.resolved'];
let model, lone, many;

const entry = (name, more = {}) => ({ name, provider: 'openai-chat', model: `${name}-wire`, base_url: model.url, ...more });
const start = (models, more = {}) => startAgentd({ config: { models, 'model.backoff_ms': 20, 'model.max_attempts': 2, ...more } });

before(async () => {
	model = await startModel();
	lone = await startAgentd({ model, config: { 'model.backoff_ms': 20 } });
	many = await start([
		entry('priced', { input_price: '3', output_price: '15.5', context_tokens: 1000 }),
		{ name: 'keyless', provider: 'anthropic' },
		entry('seeing', { capabilities: ['vision', 'json', 'tools'], context_tokens: 9000 }),
	]);
});

// A turn from its submit to its end, or until its thread is blocked.
async function run(rt, text, options, more = {}) {
	const receipt = await submit(rt, text, { ...(options ? { options } : {}), ...more });
	const f = await follow(rt, receipt.sessionId);
	const ends = (e) => e.type === 'turn.completed' || e.type === 'turn.failed' || e.payload.status === 'blocked';
	await f.until(() => f.facts.some(({ event: e }) => ends(e) && (e.turnId === receipt.turnId)), 'an end');
	Object.assign(f, { receipt, mine: f.facts.map(({ event }) => event).filter((e) => e.turnId === receipt.turnId) });
	f.one = (type) => {
		const found = f.mine.filter((e) => e.type === type);
		assert.equal(found.length, 1, `${type} in ${f.mine.map((e) => e.type)}`);
		return found[0];
	};
	f.all = (type) => f.mine.filter((e) => e.type === type);
	f.check();
	f.stop();
	return f;
}

async function thread(rt, f) {
	const read = await ok(rt, 'get_thread_read', { sessionId: f.receipt.sessionId, threadId: f.receipt.threadId });
	return { summary: read.routingLimitSummary, thread: read.threads[0], turn: read.threads[0].turns.at(-1) };
}

const order = (f, ...types) => {
	const at = types.map((type) => f.mine.findIndex((e) => e.type === type));
	assert.ok(at.every((i, n) => i >= 0 && (n === 0 || i > at[n - 1])), `${types}: ${f.mine.map((e) => e.type)}`);
};

test('AC-14 MR-05 MR-14 OPEN-14 one model: routing.single_candidate, and limit, cost, gap, reason and count in the read model', async () => {
	const f = await run(lone, 'hello');
	order(f, ...ROUTING, 'routing.single_candidate', 'cost.estimated', 'model.requested', 'model.completed', 'cost.recorded');
	const { payload } = f.one('routing.single_candidate');
	assert.deepEqual([payload.candidateCount, payload.selectedModel, payload.capabilityGap], [1, 'default', 'none']);
	assert.ok(f.one('task.profile.resolved').taskId);
	const { summary, thread: t } = await thread(lone, f);
	assert.deepEqual([summary.singleCandidate, summary.candidateCount, summary.selectedModel, summary.capabilityGap, summary.routingMode],
		[true, 1, 'default', 'none', 'single_candidate']);
	assert.equal(summary.decisionReason, payload.decisionReason);
	assert.equal(summary.limitState.state, 'ok');
	assert.equal(summary.costState.state, 'unknown');
	assert.deepEqual([t.modelRouting.selectedModel, t.limitState.state, t.costState.amount], ['default', 'ok', 'unknown']);
});

test('MR-03 what nobody said of a model is not said: its capabilities are absent, and a gap against what the turn needs is unknown', async () => {
	const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }];
	const f = await run(lone, 'hello', { tools });
	const [candidate] = f.one('routing.candidates.resolved').payload.candidates;
	assert.ok(candidate.model && !('capabilities' in candidate), JSON.stringify(candidate));
	assert.equal(f.one('routing.single_candidate').payload.capabilityGap, 'unknown');
	assert.equal((await thread(lone, f)).summary.capabilityGap, 'unknown');
	const { candidates } = (await run(many, 'hello')).one('routing.candidates.resolved').payload;
	assert.deepEqual(candidates.map((c) => [c.model, c.capabilities]), [['priced', undefined], ['seeing', ['vision', 'tools', 'json']]]);
});

test('LI-02 LI-03 LI-08 no price: the cost is unknown before and after the call, in facts and read models', async () => {
	const f = await run(lone, 'hello');
	assert.equal(f.one('cost.estimated').payload.amount, 'unknown');
	assert.equal(f.one('cost.recorded').payload.amount, 'unknown');
	const { summary, turn } = await thread(lone, f);
	for (const state of [summary.costState, turn.costState]) {
		assert.deepEqual([state.estimated, state.amount, state.outputTokens], ['unknown', 'unknown', 3]);
		assert.ok(!('currency' in state));
	}
});

test('LI-02 LI-08 a price: the estimate is there before the call and in the read model meanwhile; then tokens and what it cost', async () => {
	const { sessionId, threadId, turnId } = await submit(many, '[[hang]] one two three');
	await waitFor(() => model.log(turnId).length > 0, 'the call');
	const cost = async () => (await ok(many, 'get_thread_read', { sessionId, threadId })).threads[0].turns.at(-1).costState;
	const f = await follow(many, sessionId);
	await f.until(() => f.of('model.requested').length, 'the call as a fact');
	const [estimate] = f.of('cost.estimated');
	assert.ok(estimate.payload.amount > 0 && estimate.sequence < f.of('model.requested')[0].sequence);
	assert.deepEqual([(await cost()).estimated, (await cost()).amount], [estimate.payload.amount, undefined], 'nothing is recorded yet');
	f.stop();
	await ok(many, 'interrupt_turn', { sessionId, reason: 'enough' });
	const g = await run(many, 'one two three');
	const { amount, inputTokens, outputTokens, cachedTokens } = g.one('cost.recorded').payload;
	const { turn } = await thread(many, g);
	assert.deepEqual([turn.costState.amount, turn.costState.inputTokens, turn.costState.outputTokens, turn.costState.cachedTokens], [amount, inputTokens, outputTokens, cachedTokens]);
	assert.ok(amount > 0);
});

test('MR-03 MR-09 MR-10 an image: vision is required; the one without a key and the one that cannot see are left out, with the reason', async () => {
	const f = await run(many, undefined, undefined, { input: IMAGE });
	const { payload: profile } = f.one('task.profile.resolved');
	assert.deepEqual(profile.requiredCapabilities, ['vision']);
	const { payload: set } = f.one('routing.candidates.resolved');
	assert.deepEqual(set.candidates.map((c) => c.model), ['seeing']);
	assert.deepEqual(set.excluded, [
		{ candidate: 'priced', reason: 'missing_capability', missing: ['vision'] }, { candidate: 'keyless', reason: 'no_credential' }]);
	assert.deepEqual([set.candidateCount, set.singleCandidate, set.hardConstraints], [1, true, ['vision']]);
	assert.deepEqual(set.gaps, { credentials: 1, capability: 1 });
	order(f, ...ROUTING, 'model.requested');
	assert.equal(f.one('model.requested').payload.model, 'seeing');
	assert.equal(model.log(f.receipt.turnId)[0].body.model, 'seeing-wire');
	// What was shown stays in the conversation: the next turn needs the same.
	const g = await run(many, 'and now?', undefined, { sessionId: f.receipt.sessionId });
	assert.deepEqual(g.one('task.profile.resolved').payload.requiredCapabilities, ['vision']);
});

test('MR-01 MR-11 the model that was asked for is left out: the decision names it, the one that answers, and why', async () => {
	const f = await run(many, 'hello', { model: 'keyless' });
	const { payload: d } = f.one('routing.decided');
	assert.deepEqual([d.requestedModel, d.selectedModel, d.decisionSource, d.routingMode, d.candidateCount],
		['keyless', 'priced', 'runtime_fallback', 'multi_candidate', 2]);
	assert.match(d.decisionReason, /keyless is left out: no_credential/);
	assert.equal(f.one('model.requested').payload.model, 'priced');
	const { turn } = await thread(many, f);
	assert.deepEqual(turn.taskProfile, f.one('task.profile.resolved').payload);
	assert.deepEqual(turn.candidateModelSet, f.one('routing.candidates.resolved').payload);
	assert.deepEqual(turn.routingDecision, d);
});

test('MR-04 by name, by the name of the server, by the order of the list, by price: the decision says what decided', async () => {
	for (const [options, selected, source] of [
		[{ model: 'seeing' }, 'seeing', 'explicit'], [{ model: 'seeing-wire' }, 'seeing', 'explicit'], [undefined, 'priced', 'host_policy'],
		[{ budgetClass: 'low' }, 'priced', 'task_preference'], [{ model: 'keyless' }, 'priced', 'runtime_fallback'],
	]) {
		const f = await run(many, 'hello', options);
		const { payload } = f.one('routing.decided');
		assert.deepEqual([payload.selectedModel, payload.decisionSource], [selected, source]);
		assert.equal(model.log(f.receipt.turnId)[0].body.model, `${selected}-wire`);
	}
});

test('MR-04 the model of a session counts for turns that name none, and six set-ups have the six words', async () => {
	const words = new Map();
	const decided = async (rt, options, more) => {
		const f = await run(rt, 'hello', options, more);
		const { payload } = f.mine.find((e) => ['routing.decided', 'routing.single_candidate'].includes(e.type));
		words.set(payload.decisionSource, payload.selectedModel);
		return { ...f.receipt, payload };
	};
	const { sessionId } = await decided(many, undefined);
	await ok(many, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { model: 'seeing' } });
	const own = await decided(many, undefined, { sessionId });
	assert.deepEqual([own.payload.selectedModel, own.payload.decisionSource], ['seeing', 'session']);
	assert.deepEqual((await decided(many, { model: 'priced' }, { sessionId })).payload.decisionSource, 'explicit', 'a turn that names one has it');
	await decided(many, { budgetClass: 'low' });
	await decided(many, { model: 'keyless' });
	await decided(many, { capabilities: ['vision'] });
	assert.deepEqual([...words], [['host_policy', 'priced'], ['session', 'seeing'], ['explicit', 'priced'], ['task_preference', 'priced'], ['runtime_fallback', 'priced'], ['policy_auto', 'seeing']]);
});

test('MR-06 MR-13 no model has a key: routing.not_possible, no call, the thread is blocked with the gap, and goes on when one has', async () => {
	const dataDir = newFolder();
	const keyless = await startAgentd({ dataDir, config: { models: [{ name: 'a', provider: 'anthropic' }, { name: 'b', provider: 'gemini' }] } });
	const f = await run(keyless, 'hello');
	const { payload } = f.one('routing.not_possible');
	assert.deepEqual([payload.candidateCount, payload.requiresUserOverride, payload.reason], [0, false, 'no model has a key']);
	assert.deepEqual(payload.excluded.map((e) => e.reason), ['no_credential', 'no_credential']);
	assert.equal(f.all('model.requested').length, 0);
	const { summary, thread: t, turn } = await thread(keyless, f);
	assert.deepEqual([t.status, t.statusReason], ['blocked', 'no_candidate']);
	assert.deepEqual(t.diagnostics.findings, [{ kind: 'no_candidate', turnId: f.receipt.turnId, message: 'no model has a key' }], 'no worker was lost');
	assert.deepEqual([summary.state, summary.routingMode, summary.candidateCount], ['blocked', 'no_candidate', 0]);
	assert.deepEqual(turn.candidateModelSet.gaps, { credentials: 2 });
	await keyless.stop();
	const keyed = await startAgentd({ dataDir, config: { models: [entry('a')] } });
	const { sessionId, threadId, turnId } = f.receipt;
	await ok(keyed, 'resume_thread', { sessionId, threadId });
	const again = await follow(keyed, sessionId);
	assert.equal((await again.ended(turnId)).type, 'turn.completed');
});

test('what no model can do, and a named model that may not be replaced: the turn fails with no_candidate and says what is missing', async () => {
	const plain = await start([entry('plain')]);
	const f = await run(plain, undefined, undefined, { input: IMAGE });
	assert.deepEqual([f.one('turn.failed').payload.error.category, f.one('turn.failed').payload.error.message],
		['no_candidate', 'no model can do what the turn needs: vision']);
	assert.equal(f.all('model.requested').length, 0);
	const both = await start([entry('plain'), { name: 'keyless', provider: 'anthropic' }]);
	const g = await run(both, 'hello', { model: 'keyless', fallback: 'deny' });
	assert.equal(g.one('routing.not_possible').payload.requiresUserOverride, true);
	assert.match(g.one('turn.failed').payload.error.message, /keyless.*, and the turn lets no other model answer/);
	await both.stop();
	const h = await run(plain, 'hello', { fallback: 'local_only' });
	assert.deepEqual(h.one('routing.not_possible').payload.excluded, [{ candidate: 'plain', reason: 'not_local' }]);
	assert.deepEqual(h.one('routing.candidates.resolved').payload.gaps, { network: 1 });
	await plain.stop();
});

test('MR-12 a 529: routing.fallback.applied between model.failed and the next model.requested, and the other model answers', async () => {
	const f = await run(many, '[[fail-times 1 http 529]] hello');
	order(f, 'routing.decided', 'model.failed', 'routing.fallback.applied');
	const requested = f.all('model.requested');
	assert.deepEqual(requested.map((e) => [e.payload.model, e.payload.attempt]), [['priced', 1], ['seeing', 1]]);
	const { payload, sequence } = f.one('routing.fallback.applied');
	assert.ok(f.one('model.failed').sequence < sequence && sequence < requested[1].sequence);
	assert.deepEqual([payload.from, payload.to, payload.reason, payload.fallbackChain],
		[{ provider: 'openai-chat', model: 'priced' }, { provider: 'openai-chat', model: 'seeing' }, 'overloaded', []]);
	assert.deepEqual(model.log(f.receipt.turnId).map((call) => call.body.model), ['priced-wire', 'seeing-wire']);
	assert.equal(f.one('turn.completed').payload.status, 'completed');
	const { summary } = await thread(many, f);
	assert.deepEqual([summary.selectedModel, summary.decisionSource, summary.fallbacks], ['seeing', 'runtime_fallback', 1]);
});

test('a failure that another attempt may heal goes to the next model when the attempts are spent; deny keeps to the one', async () => {
	const f = await run(many, '[[fail-times 2 http 500]] hello');
	assert.deepEqual(f.all('model.requested').map((e) => [e.payload.model, e.payload.attempt]), [['priced', 1], ['priced', 2], ['seeing', 1]]);
	const g = await run(many, '[[fail-times 2 http 500]] hello', { fallback: 'deny' });
	assert.deepEqual(g.all('model.requested').map((e) => e.payload.model), ['priced', 'priced']);
	assert.equal(g.one('turn.failed').payload.error.category, 'server_error');
	assert.equal(g.one('task.profile.resolved').payload.fallbackPolicy, 'deny');
	const denying = await start([entry('a'), entry('b')], { 'model.fallback': 'deny' });
	const h = await run(denying, '[[fail-times 2 http 500]] hello');
	assert.deepEqual(h.all('model.requested').map((e) => e.payload.model), ['a', 'a']);
	await denying.stop();
});

test('AC-15 LI-05 LI-10 a 429: rate_limit.hit with the request id; the model is passed over until then', async () => {
	const f = await run(many, '[[fail-times 1 http 429 retry-after=30]] hello');
	order(f, 'model.failed', 'rate_limit.hit', 'routing.fallback.applied');
	const hit = f.one('rate_limit.hit');
	assert.deepEqual([hit.payload.source, hit.payload.retryAfterMs, hit.payload.limit.model], ['provider', 30000, 'priced']);
	assert.ok(hit.payload.requestId && hit.requestId === hit.payload.requestId);
	assert.equal(hit.modelRequestId, f.one('model.failed').modelRequestId);
	assert.equal(model.log(f.receipt.turnId)[0].turn, hit.turnId, 'the server saw that turn');
	const g = await run(many, 'again', undefined, { sessionId: f.receipt.sessionId });
	const [slow] = g.one('routing.candidates.resolved').payload.excluded.filter((e) => e.candidate === 'priced');
	assert.equal(slow.reason, 'rate_limited');
	assert.deepEqual(g.one('routing.candidates.resolved').payload.gaps, { credentials: 1, quota: 1 });
	assert.equal(Date.parse(slow.until), Date.parse(hit.timestamp) + 30000);
	assert.equal(g.one('model.requested').payload.model, 'seeing');
	const { summary } = await thread(many, g);
	assert.deepEqual([summary.limitState.state, summary.limitState.rateLimits.map((l) => l.model)], ['rate_limited', ['priced']]);
});

test('a 429 with nobody else: the same model is asked again when the pause is over', async () => {
	const f = await run(lone, '[[fail-times 1 http 429 retry-after-ms=150]] hello');
	const [first, second] = f.all('model.requested');
	assert.equal(f.all('routing.fallback.applied').length, 0);
	assert.ok(f.one('rate_limit.hit').payload.requestId);
	assert.ok(Date.parse(second.timestamp) - Date.parse(first.timestamp) >= 150);
	assert.equal(second.payload.attempt, 2);
});

// Why a turn went to its model, from its facts and nothing else.
function explain(facts) {
	const of = (type) => facts.filter((e) => e.type === type).map((e) => e.payload);
	const [profile] = of('task.profile.resolved');
	const [set] = of('routing.candidates.resolved');
	const [decision] = [...of('routing.decided'), ...of('routing.single_candidate'), ...of('routing.not_possible')];
	const hops = of('routing.fallback.applied');
	return {
		requested: decision.requestedModel ?? '', needs: profile.requiredCapabilities, candidates: set.candidates.map((c) => c.model),
		selected: decision.selectedModel ?? null, answered: hops.at(-1)?.to.model ?? decision.selectedModel ?? null,
		chain: decision.fallbackChain ?? [], budget: profile.budgetClass, limits: decision.limitStateSnapshot ?? decision.limitState ?? null,
		reason: hops.at(-1)?.reason ?? decision.decisionReason ?? decision.reason,
		excluded: set.excluded.map((e) => e.reason), cost: of('cost.recorded').map((c) => c.amount),
	};
}

test('AC-23 MR-07 selected, fallback, no candidate and single candidate are explained by their facts alone', async () => {
	const plain = await start([entry('plain')]);
	const selected = explain((await run(many, 'hello', { model: 'seeing', budgetClass: 'low' })).mine);
	assert.deepEqual(selected, { requested: 'seeing', needs: [], candidates: ['priced', 'seeing'], selected: 'seeing', answered: 'seeing',
		chain: ['priced'], budget: 'low', limits: { state: 'ok' }, reason: 'the turn names it', excluded: ['no_credential'], cost: ['unknown'] });
	const fallback = explain((await run(many, '[[fail-times 1 http 401]] hello', { model: 'seeing' })).mine);
	assert.deepEqual([fallback.selected, fallback.answered, fallback.reason, typeof fallback.cost[0]], ['seeing', 'priced', 'auth', 'number']);
	const none = explain((await run(plain, undefined, undefined, { input: IMAGE })).mine);
	assert.deepEqual([none.selected, none.candidates, none.excluded, none.needs, none.cost], [null, [], ['missing_capability'], ['vision'], []]);
	const single = explain((await run(plain, 'hello')).mine);
	assert.deepEqual([single.selected, single.reason, single.limits, single.cost], ['plain', 'the only one that can answer', { state: 'ok' }, ['unknown']]);
	await plain.stop();
});

// Amounts as whole billionths, from the text of the fact: no floating point.
const nano = (json) => {
	const [, whole, places = ''] = /"amount":(\d+)(?:\.(\d+))?/.exec(json);
	return BigInt(whole) * 1000000000n + BigInt(places.padEnd(9, '0'));
};

test('LI-06 LI-09 the recorded costs of a session add up to its summary, to the billionth, and join the calls by their ids', async () => {
	const { sessionId, threadId } = (await run(many, 'one two three')).receipt;
	for (const text of ['four', '[[tokens 77]]', '[[fail-times 1 http 500]] five']) await run(many, text, undefined, { sessionId });
	const f = await follow(many, sessionId);
	await f.until(() => f.of('turn.completed').length === 4, 'four turns');
	const recorded = f.facts.filter(({ event }) => event.type === 'cost.recorded');
	const completed = new Map(f.of('model.completed').map((e) => [e.modelRequestId, e.payload.usage]));
	assert.equal(recorded.length, completed.size);
	let sum = 0n;
	for (const { event, data } of recorded) {
		const { inputTokens, outputTokens, cachedTokens, currency } = event.payload;
		assert.deepEqual({ inputTokens, outputTokens, cachedTokens }, completed.get(event.modelRequestId));
		assert.equal(nano(data), BigInt(inputTokens) * 3000n + BigInt(outputTokens) * 15500n);
		assert.equal(currency, 'USD');
		sum += nano(data);
	}
	const { routingLimitSummary: { costState } } = await ok(many, 'get_thread_read', { sessionId, threadId });
	assert.equal(nano(JSON.stringify({ amount: costState.amount })), sum);
	assert.deepEqual([costState.state, costState.requests, costState.currency], ['recorded', 4, 'USD']);
	assert.equal(costState.inputTokens, [...completed.values()].reduce((n, u) => n + u.inputTokens, 0));
	f.stop();
});

test('the route of a turn outlives kill -9: it is not decided again', async () => {
	const dataDir = newFolder();
	const config = { models: [entry('a'), entry('b')], 'model.backoff_ms': 20 };
	const rt = await startAgentd({ dataDir, config });
	const { sessionId, turnId } = await submit(rt, '[[delay 20]] [[tokens 40]]', { options: { model: 'b' } });
	await waitFor(() => model.log(turnId).length > 0, 'a call');
	await rt.kill9();
	const back = await startAgentd({ dataDir, config });
	const f = await follow(back, sessionId);
	assert.equal((await f.ended(turnId)).type, 'turn.completed');
	assert.equal(f.of('routing.decided').length, 1);
	assert.deepEqual(f.of('model.requested').map((e) => e.payload.model), ['b', 'b']);
	f.stop();
});

test('models of several currencies are refused at start, by name', async () => {
	const rt = await startAgentd({ mayDie: true, config: { models: [entry('a'), entry('b', { currency: 'EUR' })] } });
	assert.ok(rt.isGone);
	assert.match(rt.stderr, /models\[1\]\.currency: USD is needed/);
});
