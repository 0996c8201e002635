// get_usage: sums of what the facts say, by hour, model, workspace, session and tenant; after a kill -9, for one tenant and not another, and as bars in the terminal.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, ok, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';

const HOUR = 3600000;
const who = {};
const turns = { acme: [], zeta: [] };
let w, since;

const use = (tenant, input = {}) => must(w.rt, who[tenant], 'get_usage', { since, ...input });

async function turn(tenant, text, more = {}) {
	const made = await must(w.rt, who[tenant], 'submit_turn', { ...(more.sessionId ? {} : { createPolicy: {} }), text, ...more });
	await waitFor(async () => (await factsOf(w.rt, who[tenant], made.sessionId)).some((f) => f.turnId === made.turnId && /^turn\.(completed|failed)$/.test(f.type)), `the end of ${made.turnId}`);
	turns[tenant].push(made.sessionId);
	return made;
}

/** What the facts of the tenant's sessions say was used: by whatever the given function makes of a fact and its session. */
async function counted(tenant, keyOf) {
	const sums = {};
	for (const sessionId of new Set(turns[tenant])) {
		const facts = await factsOf(w.rt, who[tenant], sessionId);
		for (const f of facts.filter((one) => one.type === 'cost.recorded')) {
			const model = facts.find((one) => one.type === 'model.requested' && one.modelRequestId === f.modelRequestId)?.payload.model;
			const key = `${keyOf({ fact: f, model, sessionId })} ${f.payload.currency ?? ''}`;
			const sum = (sums[key] ??= { requests: 0, input: 0, output: 0, cost: 0 });
			sum.requests++;
			sum.input += f.payload.inputTokens;
			sum.output += f.payload.outputTokens;
			if (f.payload.currency) sum.cost += f.payload.amount;
		}
	}
	return sums;
}

const round = (n) => Math.round(n * 1e6) / 1e6;
const rowsOf = ({ rows }) => Object.fromEntries(rows.map((r) => [`${r.key} ${r.currency ?? ''}`, { requests: r.requests, input: r.inputTokens, output: r.outputTokens, cost: round(r.cost ?? 0) }]));
const rounded = (sums) => Object.fromEntries(Object.entries(sums).map(([k, v]) => [k, { ...v, cost: round(v.cost) }]));

before(async () => {
	w = await world();
	await w.rt.stop();
	const entry = (name, more) => ({ name, provider: 'openai-chat', base_url: w.model.url, capabilities: ['tools'], ...more });
	const models = [entry('priced', { input_price: '1000', output_price: '2000' }), entry('cheap', { input_price: '1', output_price: '2' }), entry('free', {})];
	const again = w.again;
	w.again = () => again({ config: { models } });
	w.rt = await w.again();
	for (const name of ['acme', 'zeta']) ({ token: who[name] } = await ok(w.rt, 'create_token', { tenant: name, name, scopes: ['admin'] }));
	since = new Date(Date.now() - 2 * HOUR).toISOString();
	const first = await turn('acme', '[[tokens 20]]', { options: { model: 'priced' }, createPolicy: { workspaceId: 'red' } });
	await turn('acme', '[[tokens 7]]', { sessionId: first.sessionId, options: { model: 'free' } });
	await turn('acme', 'hello', { options: { model: 'cheap' }, createPolicy: { workspaceId: 'blue' } });
	await turn('acme', 'hello', { options: { model: 'priced' } });
	await turn('zeta', '[[tokens 50]]', { options: { model: 'priced' }, createPolicy: { workspaceId: 'red' } });
});

test('sums are those of the facts, by each of the keys, also after a kill -9', async () => {
	const hourOf = ({ fact }) => new Date(Math.floor(Date.parse(fact.timestamp) / HOUR) * HOUR).toISOString();
	const check = async () => {
		const byModel = await use('acme', { by: 'model' });
		assert.deepEqual(rowsOf(byModel), rounded(await counted('acme', ({ model }) => model)));
		assert.deepEqual(byModel.rows.map((r) => r.key), ['cheap', 'free', 'priced']);
		assert.equal(byModel.rows[1].cost, undefined, 'no price is known of it');
		for (const row of byModel.rows) assert.equal(row.tokens, row.inputTokens + row.outputTokens);
		const hours = rowsOf(await use('acme'));
		assert.deepEqual(Object.fromEntries(Object.entries(hours).map(([k, v]) => [new Date(k.split(' ')[0]).toISOString() + ' ' + k.split(' ')[1], v])), rounded(await counted('acme', hourOf)));
		const places = (await use('acme', { by: 'workspace' })).rows.map((r) => `${r.key} ${r.currency ?? ''} ${r.requests}`);
		assert.deepEqual(places, ['blue USD 1', 'default USD 1', 'red  1', 'red USD 1']);
		const filtered = (await use('acme', { by: 'model', workspaceId: 'red' })).rows.map((r) => r.key);
		assert.deepEqual(filtered, ['free', 'priced']);
	};
	await check();
	await w.rt.kill9();
	w.rt = await w.again();
	await check();
});

test('by session: the newest first, each with all that it used', async () => {
	const { rows } = await use('acme', { by: 'session' });
	const sums = await counted('acme', ({ sessionId }) => sessionId);
	assert.deepEqual(rows.map((r) => r.key), [...new Set(turns.acme)].reverse());
	for (const row of rows) {
		const of = Object.entries(sums).filter(([k]) => k.startsWith(row.key)).map(([, v]) => v);
		assert.equal(row.requests, of.reduce((n, s) => n + s.requests, 0));
		assert.equal(row.tokens, of.reduce((n, s) => n + s.input + s.output, 0));
	}
	assert.deepEqual((await use('acme', { by: 'session', since: new Date(Date.now() + HOUR).toISOString(), until: new Date(Date.now() + 3 * HOUR).toISOString() })).rows, []);
});

test('pages follow each other without a gap or a repeat', async () => {
	for (const by of ['model', 'workspace', 'session']) {
		const whole = (await use('acme', { by })).rows;
		const pages = [];
		for (let cursor, n = 0; n < 10; n++) {
			const page = await use('acme', { by, limit: 1, ...(cursor ? { cursor } : {}) });
			pages.push(...page.rows);
			if (!(cursor = page.nextCursor)) break;
		}
		assert.deepEqual(pages, whole, by);
		const wrong = await ask(w.rt, who.acme, 'get_usage', { since, by, cursor: 'no.cursor' });
		assert.equal(wrong.body.error.code, 'invalid_cursor');
	}
});

test('nobody sees what another tenant used; the operator sees each, and all', async () => {
	const own = await use('zeta', { by: 'tenant' });
	assert.deepEqual(own.rows.map((r) => r.key), ['zeta']);
	assert.deepEqual(await use('zeta', { by: 'tenant', tenant: 'acme' }), own, 'a tenant that is named by someone else is not looked at');
	for (const by of ['hour', 'model', 'workspace', 'session']) assert.deepEqual(await use('zeta', { by, tenant: 'acme' }), await use('zeta', { by }));
	assert.equal((await use('zeta', { by: 'workspace' })).rows.reduce((n, r) => n + r.requests, 0), 1);
	const all = await ok(w.rt, 'get_usage', { since, by: 'tenant' });
	assert.deepEqual([...new Set(all.rows.map((r) => r.key))].filter((k) => k !== 'local'), ['acme', 'zeta']);
	assert.deepEqual((await ok(w.rt, 'get_usage', { since, by: 'model', tenant: 'zeta' })).rows, (await use('zeta', { by: 'model' })).rows);
	assert.deepEqual((await ok(w.rt, 'get_usage', { since, by: 'session', tenant: 'zeta' })).rows, (await use('zeta', { by: 'session' })).rows);
});

test('what a provider claims cannot break the sums', async () => {
	const before = rowsOf(await use('zeta', { by: 'model' }));
	for (let i = 0; i < 3; i++) await turn('zeta', '[[lie-usage]]', { options: { model: 'priced' }, createPolicy: { workspaceId: 'w'.repeat(120) } });
	const [row] = (await use('zeta', { by: 'model' })).rows;
	assert.ok(Number.isSafeInteger(row.tokens) && row.tokens > before['priced USD'].output && row.inputTokens >= 0, JSON.stringify(row));
	assert.ok(row.outputTokens <= 3e12 + before['priced USD'].output, JSON.stringify(row));
});

test('spans: whole hours, at most 31 days but by hour and session, begin before end', async () => {
	const long = new Date(Date.now() - 60 * 24 * HOUR).toISOString();
	const refused = async (input) => (await ask(w.rt, who.acme, 'get_usage', input)).body.error?.code;
	assert.equal(await refused({ since: long, by: 'model' }), 'invalid_input');
	assert.equal(await refused({ since: long, by: 'tenant' }), 'invalid_input');
	assert.equal(await refused({ since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }), 'invalid_input');
	assert.equal(await refused({ by: 'session', options: { model: 'priced' } }), 'invalid_input');
	const now = Date.now();
	const answer = await use('acme', { since: long });
	assert.equal(Date.parse(answer.since) % HOUR, 0);
	assert.ok(Date.parse(answer.until) >= now && Date.parse(answer.until) % HOUR === 0);
	assert.deepEqual(answer.rows, (await use('acme')).rows);
	const earlier = await use('acme', { since: long, until: new Date(Date.now() - 3 * HOUR).toISOString() });
	assert.deepEqual(earlier.rows, []);
});

test('agentctl usage draws a line for each key, and prints the rows as JSON', async () => {
	const ctl = (...words) => execFileSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...words], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } });
	const text = ctl('usage', '--by', 'tenant', '--since', '2h');
	const lines = text.split('\n');
	assert.match(lines[0], /^TENANT +REQUESTS +TOKENS +COST$/);
	const acme = lines.find((l) => l.startsWith('acme'));
	assert.match(acme, /^acme +4 +\d+ +#+ +[\d.e-]+ USD, 1 without a price$/);
	assert.equal(lines.filter((l) => l.startsWith('zeta')).length, 1);
	const rows = ctl('usage', '--by', 'model', '--since', '2h', '--tenant', 'acme', '--json').trim().split('\n').map((l) => JSON.parse(l));
	assert.deepEqual(rows, (await use('acme', { by: 'model' })).rows);
});

test('agentctl cost: a line for each turn of a session, with what has no price beside what has one, and all of it', async () => {
	const sessionId = turns.acme[0];
	const facts = (await factsOf(w.rt, who.acme, sessionId)).filter((f) => f.type === 'cost.recorded');
	const ctl = (...words) => execFileSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, '--token', who.acme, ...words], { encoding: 'utf8' });
	const ids = [...new Set(facts.map((f) => f.turnId))];
	const sum = (member, of) => facts.filter((f) => !of || f.turnId === of).reduce((all, f) => all + (Number(f.payload[member]) || 0), 0);
	assert.equal(ids.length, 2, 'one with a price, one without');
	const lines = ctl('cost', sessionId).trimEnd().split('\n').map((line) => line.split(/ {2,}/));
	assert.deepEqual(lines[0], ['TURN', 'IN', 'OUT', 'CACHED', 'COST']);
	assert.deepEqual(lines.slice(1).map(([id, input, output]) => [id, Number(input), Number(output)]), [...ids.map((id) => [id, sum('inputTokens', id), sum('outputTokens', id)]), ['all', sum('inputTokens'), sum('outputTokens')]]);
	const price = `${sum('amount').toFixed(6)} USD`;
	assert.deepEqual(lines.slice(1).map((line) => line.at(-1)), [price, '1 without a price', `${price}, 1 without a price`]);
	const rows = ctl('cost', sessionId, '--json').trim().split('\n').map((line) => JSON.parse(line));
	assert.deepEqual(rows.map((r) => [r.turnId, r.unpriced, round(r.amounts.USD ?? 0)]), [[ids[0], 0, round(sum('amount'))], [ids[1], 1, 0], [undefined, 1, round(sum('amount'))]]);
});
