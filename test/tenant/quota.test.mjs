// Quotas of tenants: each one at its limit, over it, after a crash, and without an effect on another tenant.
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { before, test } from 'node:test';
import { newFolder, ok, sleep, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from './tenants.mjs';

const DAY = 86400000;
const NAMES = ['rooms', 'hands', 'heads', 'words', 'coins', 'free'];
const MODEL = 'priced';
const who = {};
let w;

const config = {
	'permission.mode': 'bypass',
	'workspaces.dir': realpathSync(newFolder()),
	tenants: [
		{ name: 'rooms', workspaces: 2 },
		{ name: 'hands', processes: 1 },
		{ name: 'heads', turns: 2 },
		{ name: 'words', tokens_per_day: 60 },
		{ name: 'coins', cost_per_day: '0.05' },
		{ name: '*', turns: 50 },
	],
};

// What is used counts for a day: a test that goes on over midnight would find it gone.
async function awayFromMidnight() {
	const left = DAY - (Date.now() % DAY);
	if (left < 120000) await sleep(left + 1000);
}

const give = (tenant, text, more = {}) => ask(w.rt, who[tenant], 'submit_turn', { ...(more.sessionId ? {} : { createPolicy: {} }), text, ...more });
const must202 = async (tenant, text, more) => {
	const { status, body } = await give(tenant, text, more);
	assert.equal(status, 202, JSON.stringify(body));
	return body;
};
const factOf = (tenant, { sessionId, turnId }, pattern) =>
	waitFor(async () => (await factsOf(w.rt, who[tenant], sessionId)).find((f) => f.turnId === turnId && pattern.test(f.type)), `${pattern} of ${turnId}`);
const ended = (tenant, turn) => factOf(tenant, turn, /^turn\.(completed|failed|cancelled)$/);
const quotaOf = async (tenant, name) => (await must(w.rt, who[tenant], 'get_quota', {})).quotas.find((q) => q.quota === name);

function assertOver({ status, body }, name, figures) {
	assert.deepEqual([status, body.error?.code, body.error?.retryable], [429, 'tenant_quota_exceeded', true], JSON.stringify(body));
	assert.match(body.error.message, new RegExp(`the quota ${name} of the tenant is used up: ${figures}; .*ask the operator`));
}

async function crash() {
	await w.rt.kill9();
	w.rt = await w.again();
}

before(async () => {
	await awayFromMidnight();
	w = await world();
	await w.rt.stop();
	config.models = [{ name: MODEL, provider: 'openai-chat', base_url: w.model.url, input_price: '1000', output_price: '1000', capabilities: ['tools'] }];
	const again = w.again;
	w.again = () => again({ config });
	w.rt = await w.again();
	for (const name of NAMES) ({ token: who[name] } = await ok(w.rt, 'create_token', { tenant: name, name, scopes: ['admin'] }));
});

test('workspaces: those that are not archived count; one that is there is returned, one more is refused before a folder is made', async () => {
	const create = (tenant, more = {}) => ask(w.rt, who[tenant], 'create_workspace', more);
	const first = await must(w.rt, who.rooms, 'create_workspace', { idempotencyKey: 'one' });
	const both = await Promise.all([create('rooms'), create('rooms'), create('rooms')]);
	assert.deepEqual(both.map((r) => r.status).sort(), [200, 429, 429]);
	assertOver(both.find((r) => r.status === 429), 'workspaces', '2 of 2');
	assert.equal((await must(w.rt, who.rooms, 'create_workspace', { idempotencyKey: 'one' })).workspace.workspaceId, first.workspace.workspaceId);
	assert.equal((await must(w.rt, who.rooms, 'list_workspaces', {})).workspaces.length, 2);
	assert.deepEqual(await quotaOf('rooms', 'workspaces'), { quota: 'workspaces', limit: 2, used: 2, measured: 'workspaces that are not archived, on all nodes' });

	await crash();
	assertOver(await create('rooms'), 'workspaces', '2 of 2');
	for (let i = 0; i < 3; i++) await must(w.rt, who.free, 'create_workspace', {});
	await must(w.rt, who.rooms, 'archive_workspace', { workspaceId: first.workspace.workspaceId });
	await must(w.rt, who.rooms, 'create_workspace', {});
	assertOver(await create('rooms'), 'workspaces', '2 of 2');
});

test('turns: those at work count, queued ones do not; what ends makes room', async () => {
	const turns = [await must202('heads', '[[hang]]'), await must202('heads', '[[hang]]')];
	assertOver(await give('heads', 'one more'), 'turns', '2 of 2');
	const queued = await must202('heads', 'after it', { sessionId: turns[0].sessionId, busyPolicy: 'queue' });
	assert.equal(queued.status, 'queued');
	assert.equal((await quotaOf('heads', 'turns')).used, 2);
	await ended('free', await must202('free', 'not concerned'));

	await crash();
	assertOver(await give('heads', 'one more'), 'turns', '2 of 2');
	await must(w.rt, who.heads, 'interrupt_turn', { sessionId: turns[1].sessionId, turnId: turns[1].turnId, reason: 'enough' });
	await ended('heads', turns[1]);
	await ended('heads', await must202('heads', 'there is room'));
	assert.equal((await quotaOf('heads', 'turns')).used, 1);
	await must(w.rt, who.heads, 'interrupt_turn', { sessionId: turns[0].sessionId, turnId: turns[0].turnId, reason: 'enough' });
	await ended('heads', queued);
	assert.equal((await quotaOf('heads', 'turns')).used, 0);
});

test('turns that are submitted at the same time do not pass the limit together', async () => {
	const all = await Promise.all(Array.from({ length: 8 }, () => give('heads', '[[hang]]')));
	const taken = all.filter((r) => r.status === 202);
	assert.equal(taken.length, 2, JSON.stringify(all.map((r) => r.status)));
	for (const { body } of taken) {
		await must(w.rt, who.heads, 'interrupt_turn', { sessionId: body.sessionId, turnId: body.turnId, reason: 'enough' });
		await ended('heads', body);
	}
});

test('tokens of a day: the turn that reaches the limit ends before its next request, others are refused, also after a crash', async () => {
	const first = await must202('words', `[[tokens 200]]`);
	assert.equal((await ended('words', first)).type, 'turn.completed');
	const used = (await quotaOf('words', 'tokens_per_day')).used;
	assert.ok(used > 200, `${used}`);
	assertOver(await give('words', 'more'), 'tokens_per_day', `${used} of 60`);
	assertOver(await give('words', 'more', { sessionId: first.sessionId }), 'tokens_per_day', `${used} of 60`);

	await crash();
	assertOver(await give('words', 'more'), 'tokens_per_day', `${used} of 60`);
	const row = await quotaOf('words', 'tokens_per_day');
	assert.deepEqual([row.limit, row.used, Date.parse(row.resetsAt) % DAY], [60, used, 0]);
	assert.ok(Date.parse(row.resetsAt) > Date.now() && Date.parse(row.resetsAt) - Date.now() <= DAY, row.resetsAt);
	await ended('free', await must202('free', '[[tokens 200]]'));
	assert.equal((await quotaOf('free', 'tokens_per_day')).used, undefined);
});

test('cost of a day: a turn with several requests stops at the limit, and says why', async () => {
	const turn = await must202('coins', '[[tool shell {"command":"true"}]] [[tokens 100]] [[loop]]', { createPolicy: {} });
	const end = await ended('coins', turn);
	assert.deepEqual([end.type, end.payload.error?.category ?? end.payload.errorCategory], ['turn.failed', 'tenant_quota_exceeded'], JSON.stringify(end.payload));
	const blocked = await factOf('coins', turn, /^quota\.blocked$/);
	assert.deepEqual([blocked.payload.quotaKind, blocked.payload.limit], ['tenant_cost_per_day', 0.05]);
	const { used, limit } = await quotaOf('coins', 'cost_per_day');
	assert.ok(used >= limit && limit === 0.05, `${used} of ${limit}`);
	const over = await give('coins', 'more');
	assertOver(over, 'cost_per_day', `${used} of 0.05`);
	await crash();
	assert.deepEqual((await give('coins', 'more')).body, over.body);
});

test('processes: a command over the limit is not started and its call says so; background ones count, also after a crash', async () => {
	const session = async (tenant) => {
		const { workspace } = await must(w.rt, who[tenant], 'create_workspace', {});
		return must(w.rt, who[tenant], 'create_session', { workspaceId: workspace.workspaceId });
	};
	const run = async (tenant, { sessionId }, args) => {
		const turn = await must202(tenant, `[[tool shell ${JSON.stringify(args)}]]`, { sessionId });
		await ended(tenant, turn);
		return { ...turn, read: JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool').at(-1)) };
	};
	const place = await session('hands'), second = await session('hands'), other = await session('free');
	await run('hands', place, { command: 'sleep 300', background: true });
	assert.equal((await quotaOf('hands', 'processes')).used, 1);
	const refused = await run('hands', second, { command: 'echo ran' });
	assert.match(refused.read, /the command was not started: the quota processes of the tenant is used up, 1 of 1 run/);
	const failed = await factOf('hands', refused, /^tool\.failed$/);
	assert.equal(failed.payload.errorCategory, 'tenant_quota_exceeded');
	assert.ok(!(await factsOf(w.rt, who.hands, second.sessionId)).some((f) => f.type === 'process.started'));
	assert.match((await run('free', other, { command: 'echo ran' })).read, /ran/);

	await crash();
	assert.match((await run('hands', second, { command: 'echo ran' })).read, /was not started/);
	const started = (await factsOf(w.rt, who.hands, place.sessionId)).find((f) => f.type === 'process.started');
	await must(w.rt, who.hands, 'terminate_process', { processId: started.processId, reason: 'enough' });
	await waitFor(async () => (await quotaOf('hands', 'processes')).used === 0, 'the end of the process');
	assert.match((await run('hands', second, { command: 'echo ran' })).read, /ran/);
});

test('a tenant without an entry has the quotas of *, local included; a quota that is not set is not counted', async () => {
	const { tenant, quotas } = await must(w.rt, who.free, 'get_quota', {});
	assert.equal(tenant, 'free');
	assert.deepEqual(quotas.map((q) => [q.quota, q.limit, q.used]), [['workspaces', undefined, undefined], ['processes', undefined, undefined], ['turns', 50, 0], ['tokens_per_day', undefined, undefined], ['cost_per_day', undefined, undefined], ['workspace_bytes', undefined, undefined]]);
	assert.deepEqual((await ok(w.rt, 'get_quota', {})).quotas.find((q) => q.quota === 'turns').limit, 50);
});
