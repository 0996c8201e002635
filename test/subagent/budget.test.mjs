// Budgets of child agents: set aside from the parent, returned at the end, never more in all than the root may use; over kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, ok, readLog, refused, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

let w;
const run = (command, input) => ok(w.rt, command, input);
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const list = async (sessionId) => (await run('list_subagents', { sessionId, depth: 'descendants', limit: 200 })).subagents;
const until = (sessionId, id, status) => waitFor(async () => (await list(sessionId)).find((r) => r.subagentId === id && r.status === status), () => `${id} ${status}`);
const parent = async (more = {}) => {
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]', more);
	return { sessionId, threadId, turnId };
};
const spawn = (p, objective, budget, more = {}) => run('spawn_subagent', { ...p, objective, ...(budget ? { budget } : {}), ...more });
const LOOK = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } };

before(async () => {
	const model = await startModel();
	const models = [{ name: 'priced', provider: 'openai-chat', base_url: model.url, input_price: '3', output_price: '15' }];
	w = await world({ model, config: { models, 'model.backoff_ms': 20, 'budget.on_limit': 'stop', 'subagents.max_running': 100, 'subagents.tools': true } });
});

test('what a child may use is set aside, refused when it is not there, and returned when the child ends', async () => {
	const p = await parent({ options: { budget: { tokens: 1000, toolCalls: 10 } } });
	const first = await spawn(p, '[[hang]]', { tokens: 600 });
	const { message } = await refused(w.rt, 'budget_exceeded', 'spawn_subagent', { ...p, objective: 'x', budget: { tokens: 401 } });
	assert.match(message, /401.*400/);
	await refused(w.rt, 'budget_exceeded', 'spawn_subagent', { ...p, objective: 'x', budget: { toolCalls: 11 } });
	const second = await spawn(p, '[[say x]]', { tokens: 400 });
	await until(p.sessionId, second.subagentId, 'completed');
	const used = (await list(p.sessionId)).find((r) => r.subagentId === second.subagentId).spent.tokens;
	assert.ok(used > 0 && used < 400);
	await refused(w.rt, 'budget_exceeded', 'spawn_subagent', { ...p, objective: 'x', budget: { tokens: 400 - used + 1 } });
	await run('close_subagent', { subagentId: first.subagentId });
	await until(p.sessionId, first.subagentId, 'closed');
	await refused(w.rt, 'budget_exceeded', 'spawn_subagent', { ...p, objective: 'x', budget: { tokens: 1000 - used + 1 } });
	const last = await spawn(p, '[[hang]]', { tokens: 1000 - used });
	await refused(w.rt, 'budget_exceeded', 'send_subagent_input', { subagentId: second.subagentId, input: 'more' });
	await run('close_subagent', { subagentId: last.subagentId });
});

test('a child stops at its own budget over all its turns, and so does the tree under it', async () => {
	const p = await parent();
	const child = await spawn(p, '[[say x]]', { tokens: 200 });
	const r = await until(p.sessionId, child.subagentId, 'completed');
	for (let i = 0; i < 30; i++) {
		await run('send_subagent_input', { subagentId: child.subagentId, input: `[[say answer number ${i}]]` });
		const { children } = await run('wait_subagents', { subagentIds: [child.subagentId], timeoutMs: 10000 });
		if (children[0].status === 'failed') {
			assert.equal(children[0].error.category, 'budget_exhausted');
			assert.match(children[0].error.message, new RegExp(child.subagentId));
			break;
		}
	}
	const end = (await list(p.sessionId)).find((one) => one.subagentId === child.subagentId);
	assert.equal(end.status, 'failed');
	assert.ok(end.spent.tokens <= 200 && end.spent.tokens > r.spent.tokens, JSON.stringify(end.spent));
});

test('a tree of 50 children uses no more than its root may, whatever they ask for; kill -9 in between changes nothing', async () => {
	const LIMIT = 3000;
	const p = await parent({ options: { budget: { tokens: LIMIT } } });
	let refusals = 0, made = [];
	for (let i = 0; i < 50; i++) {
		const { status, body } = await call(w.rt, 'spawn_subagent', { ...p, objective: `[[first ${20 * (i % 5)}]][[say w${i}]]`, ...(i % 2 ? { budget: { tokens: 300 } } : {}) });
		if (status < 300) made.push(body.subagentId);
		else {
			assert.equal(body.error.code, 'budget_exceeded');
			refusals++;
		}
		if (i === 25) {
			await w.rt.kill9();
			w.rt = await w.again();
		}
	}
	for (const id of made) for (let k = 0; k < 3; k++) {
		await call(w.rt, 'send_subagent_input', { subagentId: id, input: `[[say again ${k} and some more words]]` });
	}
	await waitFor(async () => (await list(p.sessionId)).every((r) => ['completed', 'failed'].includes(r.status)), 'all have ended', 60000);
	const facts = await log(p.sessionId);
	const all = facts.filter((e) => e.type === 'cost.recorded').reduce((n, e) => n + e.payload.inputTokens + e.payload.outputTokens, 0);
	assert.ok(facts.some((e) => e.type === 'subagent.failed' && e.payload.error.category === 'budget_exhausted'), 'somebody met the limit');
	assert.ok(all <= LIMIT, `${all} tokens of ${LIMIT}`);
	const counted = (await list(p.sessionId)).reduce((n, r) => n + (r.spent?.tokens ?? 0), 0);
	assert.equal(counted, all, 'the records add up to the facts');
	assert.ok(made.length + refusals === 50 && made.length > 10, `${made.length} children, ${refusals} refused`);
});

test('money and tool calls of a child are its own, and the session has a limit too', async () => {
	const p = await parent({ options: { budget: { cost: '0.1', toolCalls: 3 }, maxOutputTokens: 500, tools: [LOOK] } });
	await refused(w.rt, 'budget_exceeded', 'spawn_subagent', { ...p, objective: 'x', budget: { cost: '0.1' } }); // its own request is under way
	const child = await spawn(p, '[[say x]]', { cost: '0.05', toolCalls: 2 });
	await until(p.sessionId, child.subagentId, 'completed');
	const { spent } = (await list(p.sessionId))[0];
	const recorded = (await log(p.sessionId)).filter((e) => e.type === 'cost.recorded').reduce((n, e) => n + Math.round(e.payload.amount * 1e9), 0);
	assert.equal(spent.costNano, recorded);
});
