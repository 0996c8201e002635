// Money of a tree of agents: what is recorded, and what the provider charged, is never more than the root may cost. The model takes all that a
// request allows it, and kill -9 comes while requests are under way.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, ok, readLog, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

let w;
const INPUT = 3000n, OUTPUT = 15000n; // billionths for a token
const LOOK = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } };
const run = (command, input) => ok(w.rt, command, input);
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const list = async (sessionId) => (await run('list_subagents', { sessionId, depth: 'descendants', limit: 200 })).subagents;
const nano = (amount) => BigInt(Math.round(Number(amount) * 1e9));
const priceOf = ({ input, output }) => BigInt(input) * INPUT + BigInt(output) * OUTPUT;

before(async () => {
	const model = await startModel();
	const models = [
		{ name: 'priced', provider: 'openai-chat', base_url: model.url, input_price: '3', output_price: '15' },
		{ name: 'free', provider: 'openai-chat', base_url: model.url },
	];
	w = await world({ model, config: { models, 'model.backoff_ms': 20, 'budget.on_limit': 'stop', 'permission.mode': 'bypass', 'subagents.max_running': 12 } });
});

// A turn that waits for its client: no request of it is under way.
async function parent(options) {
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[tool look {}]]', { options: { tools: [LOOK], ...options } });
	await waitFor(async () => (await log(sessionId)).some((e) => e.type === 'tool.started'), 'its call');
	return { sessionId, threadId, turnId };
}

// The sums after each fact: what was recorded, and with it what requests without a known cost can have cost at most.
function account(facts) {
	const open = new Map();
	let recorded = 0n, most = 0n, worst = 0n;
	for (const e of facts) {
		if (e.type === 'model.requested') open.set(e.modelRequestId, nano(e.payload.reserved));
		if (e.type === 'model.failed' && e.payload.outcome === 'rejected') open.delete(e.modelRequestId);
		if (e.type === 'cost.recorded') {
			assert.ok(nano(e.payload.amount) <= open.get(e.modelRequestId), 'no request costs more than was set aside');
			open.delete(e.modelRequestId);
			recorded += nano(e.payload.amount);
		}
		const now = [...open.values()].reduce((a, b) => a + b, recorded);
		if (recorded > most) most = recorded;
		if (now > worst) worst = now;
	}
	return { recorded, most, worst, lost: [...open.values()].reduce((a, b) => a + b, 0n) };
}

const charged = (sessionId) => w.model.log().filter((e) => e.session === sessionId && e.usage).reduce((n, e) => n + priceOf(e.usage), 0n);
const quiet = (sessionId) => waitFor(async () => (await list(sessionId)).every((r) => ['completed', 'failed'].includes(r.status)), 'all have ended', 120000);

test('a tree of 50 children costs no more than its root may, to the billionth, with kill -9 in between; and nearly all of it is used', async () => {
	const CAP = 1_500_000_000n;
	const p = await parent({ budget: { cost: '1.5' }, maxOutputTokens: 1000 });
	const made = [];
	for (let i = 0; i < 50; i++) {
		const hangs = i % 13 === 12;
		const { status, body } = await call(w.rt, 'spawn_subagent', { ...p, objective: `${hangs ? '[[fail-times 1 hang]]' : ''}[[greedy]][[say w${i}]]`, ...(i % 3 ? { budget: { cost: '0.05' } } : {}) });
		if (status < 300) made.push(body.subagentId);
		else assert.equal(body.error.code, 'budget_exceeded');
		if (!hangs || status >= 300) continue;
		await waitFor(async () => w.model.log().some((e) => e.session === p.sessionId && !e.usage && !e.endedAt), 'a request under way');
		await w.rt.kill9();
		w.rt = await w.again();
	}
	assert.ok(made.length > 25, `${made.length} children`);
	await quiet(p.sessionId);
	for (let before = -1n, now = 0n; now > before;) {
		for (const id of made) await call(w.rt, 'send_subagent_input', { subagentId: id, input: '[[greedy]][[say more]]' });
		await quiet(p.sessionId);
		[before, now] = [now, account(await log(p.sessionId)).recorded];
	}
	const facts = await log(p.sessionId);
	const { recorded, most, worst, lost } = account(facts);
	assert.ok(most <= CAP && worst <= CAP, `${worst} of ${CAP}`);
	assert.ok(charged(p.sessionId) <= CAP, `${charged(p.sessionId)} charged of ${CAP}`);
	assert.ok(lost > 0n && facts.some((e) => e.type === 'model.failed' && e.payload.outcome === 'interrupted'), 'a kill met a request');
	assert.ok(recorded * 100n > CAP * 80n, `only ${recorded} of ${CAP} used, ${lost} lost`);
	assert.ok(facts.some((e) => e.type === 'subagent.failed' && e.payload.error.category === 'budget_exhausted'), 'somebody met the limit');
	const records = await list(p.sessionId);
	const own = nano(facts.find((e) => e.type === 'cost.recorded').payload.amount); // the parent's only request
	assert.equal(records.reduce((n, r) => n + BigInt(r.spent?.costNano ?? 0), own), recorded, 'the records add up to the facts');
	assert.equal(records.reduce((n, r) => n + BigInt(r.spent?.reservedNano ?? 0), 0n), lost, 'and so does what is not known');
});

test('an answer is made shorter to fit, and a request that does not fit is not sent', async () => {
	const { sessionId, turnId } = await submit(w.rt, '[[greedy]][[say x]]', { options: { budget: { cost: '0.02' } } });
	await waitFor(async () => (await log(sessionId)).some((e) => e.type === 'turn.completed'), 'its end');
	const asked = (await log(sessionId)).find((e) => e.type === 'model.requested').payload;
	assert.ok(asked.maxOutputTokens < 8192 && asked.maxOutputTokens > 900, JSON.stringify(asked));
	assert.equal(w.model.log(turnId)[0].usage.output, asked.maxOutputTokens);
	assert.ok(nano(asked.reserved) <= 20_000_000n && charged(sessionId) <= nano(asked.reserved));
	const small = await submit(w.rt, '[[greedy]][[say x]]', { options: { budget: { cost: '0.002' } } });
	await waitFor(async () => (await log(small.sessionId)).some((e) => e.type === 'turn.failed'), 'its end');
	const facts = await log(small.sessionId);
	assert.equal(facts.find((e) => e.type === 'quota.blocked').payload.quotaKind, 'turn_cost');
	const { error } = facts.find((e) => e.type === 'turn.failed').payload;
	assert.deepEqual([error.category, /less left than the next request/.test(error.message)], ['budget_exhausted', true]);
	assert.equal(w.model.log(small.turnId).length, 0);
	assert.ok(!facts.some((e) => e.type === 'model.requested'));
});

test('a request waits for one that holds the money, and goes on with what that did not need', async () => {
	const p = await parent({ budget: { cost: '0.17' } });
	const slow = await run('spawn_subagent', { ...p, objective: '[[first 400]][[say slow]]' });
	const next = await run('spawn_subagent', { ...p, objective: '[[say next]]' });
	await waitFor(async () => (await list(p.sessionId)).every((r) => r.status === 'completed'), 'both');
	const facts = (await log(p.sessionId)).filter((e) => ['model.requested', 'cost.recorded'].includes(e.type));
	const of = (id) => facts.filter((e) => e.threadId === id);
	const requested = of(next.childThreadId)[0], recorded = of(slow.childThreadId)[1];
	assert.deepEqual([requested.type, recorded.type], ['model.requested', 'cost.recorded']);
	assert.ok(requested.sequence > recorded.sequence, 'not before the other is paid');
	assert.equal(requested.payload.maxOutputTokens, 8192, 'it did not have to be shorter');
});

test('without a price nothing is set aside, and without a limit neither', async () => {
	for (const options of [{ model: 'free', budget: { cost: '0.01' } }, { model: 'priced' }]) {
		const { sessionId } = await submit(w.rt, '[[say x]]', { options });
		await waitFor(async () => (await log(sessionId)).some((e) => e.type === 'turn.completed'), 'its end');
		const { payload } = (await log(sessionId)).find((e) => e.type === 'model.requested');
		assert.deepEqual([payload.reserved, payload.maxOutputTokens], [undefined, undefined]);
	}
});
