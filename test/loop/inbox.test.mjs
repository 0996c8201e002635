// What waits for people, over all sessions: list_actions against what the sessions themselves say, through answers, deadlines, restarts and
// damage to its rows.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { sql } from '../lib/damage.mjs';
import { validateCommandResult } from '../lib/schemas.mjs';

const tool = { name: 'set_value', description: 'Sets something.', inputSchema: { type: 'object' }, isDestructive: true };
const options = { tools: [tool] };

let model;

before(async () => {
	model = await startModel();
});

// A session whose turn asks for permission as often as said; ends when so many wait.
async function asking(rt, n = 1, more = {}) {
	const { sessionId } = await submit(rt, Array.from({ length: n }, (_, i) => `[[tool set_value {"q":"${i}"}]]`).join(''), { options, ...more });
	await waitFor(async () => (await list(rt, { sessionId })).length === n, `${n} actions`);
	return sessionId;
}

async function list(rt, input = {}) {
	const seen = [];
	let cursor;
	do {
		const page = await ok(rt, 'list_actions', { ...input, ...(cursor ? { cursor } : {}) });
		validateCommandResult('list_actions', page);
		assert.ok(page.actions.length <= (input.limit ?? 50));
		seen.push(...page.actions);
		cursor = page.nextCursor;
	} while (cursor);
	return seen;
}

const ids = (actions) => actions.map((a) => a.actionId);
const answer = (rt, actionId, decision) => ok(rt, 'respond_action', { actionId, decision, actor: { name: 'ada' } });

test('list_actions shows what waits in all sessions, oldest first, and what was decided', async () => {
	const rt = await startAgentd({ model, dataDir: newFolder() });
	const one = await asking(rt, 2, { createPolicy: { title: 'first' } });
	const two = await asking(rt, 1, { createPolicy: { title: 'second', accountRef: 'acme' } });
	const all = await list(rt);
	assert.deepEqual(all.map((a) => a.sessionId), [one, one, two]);
	for (const limit of [1, 2, 3]) assert.deepEqual(ids(await list(rt, { limit })), ids(all));
	assert.deepEqual(await list(rt, { sessionId: two }), all.slice(2));
	assert.deepEqual(await list(rt, { accountRef: 'acme' }), all.slice(2));
	assert.deepEqual(JSON.parse((await request(rt, { method: 'GET', path: `/v1/actions?sessionId=${one}` })).text).actions, all.slice(0, 2));
	const [{ event: required }] = (await readLog(rt, two)).filter((f) => f.type === 'action.required');
	const shown = all[2];
	assert.deepEqual([shown.actionId, shown.actionType, shown.status, shown.sessionTitle, shown.toolName, shown.destructive, shown.createdAt],
		[required.actionId, 'tool_permission', 'pending', 'second', 'set_value', true, required.timestamp]);
	assert.deepEqual(shown.decisions, required.payload.decisions);
	assert.equal(shown.title, required.payload.prompt, 'a list shows what was asked, no less');
	await answer(rt, all[2].actionId, 'deny');
	assert.deepEqual(ids(await list(rt)), ids(all.slice(0, 2)));
	const [settled] = await list(rt, { status: 'resolved' });
	assert.deepEqual([settled.actionId, settled.status, settled.decision, settled.decisionSource], [shown.actionId, 'resolved', 'deny', 'human']);
	assert.deepEqual(ids(await list(rt, { status: 'all', limit: 1 })), ids(all));
	await rt.stop();
});

test('what waits is listed and answered after kill -9; an interruption settles it', async () => {
	const dataDir = newFolder();
	let rt = await startAgentd({ model, dataDir });
	const one = await asking(rt);
	const two = await asking(rt);
	const before = await list(rt);
	await rt.kill9();
	rt = await startAgentd({ model, dataDir });
	assert.deepEqual(await list(rt), before);
	const { threads: [{ pendingRequests }] } = await ok(rt, 'get_session', { sessionId: one });
	assert.deepEqual(pendingRequests.map((a) => [a.actionId, a.scope]), [[before[0].actionId, before[0].scope]]);
	await answer(rt, before[0].actionId, 'allow');
	await ok(rt, 'interrupt_turn', { sessionId: two, turnId: before[1].turnId, reason: 'enough' });
	await waitFor(async () => (await list(rt)).length === 0, 'an empty inbox');
	assert.deepEqual((await list(rt, { status: 'all' })).map((a) => [a.sessionId, a.decisionSource]), [[one, 'human'], [two, 'cancelled']]);
	await rt.stop();
});

test('many that are settled by one interruption all leave the list', async () => {
	const rt = await startAgentd({ model, dataDir: newFolder() });
	const sessionId = await asking(rt, 30);
	const [{ turnId }] = await list(rt, { limit: 1 });
	await ok(rt, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
	await waitFor(async () => (await list(rt)).length === 0, 'an empty inbox');
	assert.equal((await list(rt, { status: 'resolved' })).length, 30);
	await rt.stop();
});

test('a deadline settles it in the list, too', async () => {
	const rt = await startAgentd({ model, dataDir: newFolder(), config: { 'permission.timeout_ms': 1000 } });
	await asking(rt);
	const [{ createdAt, expiresAt }] = await list(rt);
	assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 1000);
	await waitFor(async () => (await list(rt)).length === 0, 'an empty inbox');
	const [settled] = await list(rt, { status: 'all' });
	assert.deepEqual([settled.decision, settled.decisionSource], ['deny', 'timeout']);
	await rt.stop();
});

test('rows that are not what the log says are found and written again', async () => {
	const dataDir = newFolder();
	let rt = await startAgentd({ model, dataDir });
	const sessionId = await asking(rt, 4);
	const [settled] = await list(rt);
	await answer(rt, settled.actionId, 'deny');
	const whole = await list(rt, { status: 'all' });
	await rt.stop();
	const at = (n) => `action = (SELECT action FROM action ORDER BY created, action LIMIT 1 OFFSET ${n})`;
	sql(dataDir, [`UPDATE action SET created = 5 WHERE ${at(3)}`, `DELETE FROM action WHERE ${at(3)}`,
		`UPDATE action SET pending = NOT pending WHERE ${at(1)}`]);
	rt = await startAgentd({ model, dataDir });
	const verify = async (repair) => {
		const { text } = await request(rt, { path: '/v1/verify', body: JSON.stringify({ sessionId, repair }) });
		return JSON.parse(text).sessions[0];
	};
	const found = await verify(false);
	assert.deepEqual([found.status, found.findings.map((f) => f.what)], ['differs', ['action', 'action', 'action']]);
	assert.equal((await verify(true)).status, 'repaired');
	assert.deepEqual((await verify(false)).findings, []);
	assert.deepEqual(await list(rt, { status: 'all' }), whole);
	assert.deepEqual(ids(await list(rt)), ids(whole.slice(1)));
	await rt.stop();
});
