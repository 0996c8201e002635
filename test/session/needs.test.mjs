// What only a person can give: a permission, a plan's approval, a credential, an input. Each is a question, and nothing that depends on it happens before its answer.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ended, facts, pending, seen, tools } from '../lib/gate.mjs';
import { ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const call = (name, args = {}) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, service, requests = [], isGranted = false;

before(async () => {
	service = http.createServer((request, response) => {
		requests.push(request.url);
		response.writeHead(isGranted ? 200 : 401, { 'content-type': 'text/plain' }).end(isGranted ? 'the account is open' : 'who are you?');
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	const url = `http://127.0.0.1:${service.address().port}/account`;
	w = await world({ config: { 'permission.mode': 'default',
		permission_rules: [{ name: 'asks', effect: 'allow', tool: 'm_ask' }, { name: 'bank', effect: 'allow', tool: 'account' }],
		http_tools: [{ name: 'account', description: 'Reads the account.', url, method: 'GET', read_only: true, headers: ['Authorization: Bearer not-valid-yet'] }],
		mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }] } });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_ask'), 'the tools of the server');
});

after(() => {
	service.closeAllConnections();
	service.close();
});

/** All facts after the question of a session, as long as nobody answers it, and once its answer is given. */
async function around(sessionId, actionId) {
	const log = (await readLog(w.rt, sessionId)).map((f) => f.event);
	const from = log.findIndex((e) => e.type === 'action.required' && e.actionId === actionId);
	const to = log.findIndex((e) => e.type === 'action.resolved' && e.actionId === actionId);
	return { waiting: log.slice(from + 1, to < 0 ? undefined : to), then: to < 0 ? [] : log.slice(to + 1) };
}

const DEPENDENT = /^(tool|model|process|artifact|turn)\./;
const write = { tools: [tools.write] };

const needs = [
	{ what: 'structured input', type: 'structured_input', text: call('m_ask'), decision: 'decline' },
	{ what: 'permission', type: 'tool_permission', text: call('write', { q: 'x' }), options: write, decision: 'deny' },
	{ what: 'plan approval', type: 'plan_approval', text: call('propose_plan', { plan: 'Write it down.' }), options: { mode: 'plan' }, decision: 'approve' },
	{ what: 'credential', type: 'credential', text: call('account'), decision: 'decline' },
];

for (const { what, type, text, options, decision } of needs) {
	test(`HL-05 OPEN-26 the need for a ${what} is an action.required of its own, and nothing that depends on it is done before its resolution`, async () => {
		const { sessionId } = await submit(w.rt, text, { options });
		const [action] = await pending(w.rt, sessionId);
		assert.equal(action.actionType, type);
		const { threads } = await ok(w.rt, 'get_session', { sessionId });
		assert.equal(threads[0].status, 'blocked');
		assert.deepEqual((await around(sessionId, action.actionId)).waiting.filter((e) => DEPENDENT.test(e.type)).map((e) => e.type), []);
		if (type !== 'structured_input') { // a server that asked would be gone with the process, and its question with it
			await w.rt.kill9();
			w.rt = await w.again();
			assert.equal((await pending(w.rt, sessionId))[0].actionId, action.actionId, 'the same question after kill -9');
		}
		await ok(w.rt, 'respond_action', { actionId: action.actionId, decision });
		assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
		const { waiting, then } = await around(sessionId, action.actionId);
		assert.deepEqual(waiting.filter((e) => DEPENDENT.test(e.type)).map((e) => e.type), []);
		assert.ok(then.some((e) => e.type === 'model.requested'), 'the turn goes on after it');
	});
}

/** What a question of each type has beside the ids. `policy`: what asks, where a policy does. */
const forms = {
	tool_permission: { decisions: ['allow', 'allow_session', 'deny'], onTimeout: 'deny', prompt: /write/, policy: { mode: 'default', rule: undefined } },
	plan_approval: { decisions: ['approve', 'reject'], onTimeout: 'deny', prompt: /Write it down\./, policy: { mode: 'plan', rule: undefined } },
	credential: { decisions: ['provide', 'decline'], onTimeout: 'cancel', prompt: /account/ },
	structured_input: { decisions: ['accept', 'decline', 'cancel'], onTimeout: 'cancel', schema: ['name', 'size'] },
};

test('HL-01 an action.required of each of these types has its id, type, scope, prompt or schema, decisions, policy and time, and the list of questions has the same', async () => {
	for (const { type, text, options } of needs) {
		const { sessionId, threadId, turnId } = await submit(w.rt, text, { options });
		await pending(w.rt, sessionId);
		const { actions: [listed] } = await ok(w.rt, 'list_actions', { sessionId });
		const [required] = await facts(w.rt, sessionId, 'action.required');
		const { payload } = required, form = forms[type];
		const [call] = (await facts(w.rt, sessionId, 'tool.failed', 'permission.evaluated', 'tool.started')).map((e) => e.toolCallId);
		assert.match(required.actionId, /^action_\w+_\d+$/);
		assert.deepEqual([payload.actionType, payload.decisions, payload.onTimeout], [type, form.decisions, form.onTimeout]);
		const { toolName, ...scope } = payload.scope;
		assert.deepEqual([scope.sessionId, scope.threadId, scope.turnId, scope.toolCallId], [sessionId, threadId, turnId, call], type);
		assert.deepEqual([required.sessionId, required.threadId, required.turnId, required.toolCallId], [sessionId, threadId, turnId, call], type);
		assert.equal(toolName, payload.toolName, type);
		if (form.prompt) assert.match(payload.prompt, form.prompt);
		assert.deepEqual(payload.schema && Object.keys(payload.schema.properties), form.schema, type);
		assert.ok(Date.parse(payload.expiresAt) > Date.parse(required.timestamp), type);
		assert.deepEqual(payload.policy && { mode: payload.policy.mode, rule: payload.policy.rule }, form.policy, type);
		if (form.policy) assert.ok(payload.policy.reason, type);
		for (const name of ['actionType', 'decisions', 'expiresAt']) assert.deepEqual(listed[name], payload[name], `${type} ${name}`);
		assert.equal(listed.actionId, required.actionId);
		await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
		await ended(w.rt, sessionId);
	}
});

test('OPEN-25 one approval and one form open, one old question: three actions, two pending requests, one pending approval', async () => {
	const { sessionId, turnId } = await submit(w.rt, call('write', { q: 'old' }), { options: write });
	const [old] = await pending(w.rt, sessionId);
	await ok(w.rt, 'respond_action', { actionId: old.actionId, decision: 'deny' });
	await ended(w.rt, sessionId, turnId);
	const both = await submit(w.rt, `${call('m_ask')}${call('write', { q: 'new' })}`, { sessionId, options: write });
	const open = await pending(w.rt, sessionId, 2);
	const idOf = (type) => open.find((action) => action.actionType === type).actionId;
	const [thread] = (await ok(w.rt, 'get_session', { sessionId })).threads;
	const ids = (list) => list.map((action) => action.actionId).sort();
	assert.deepEqual(ids(thread.actions), [old.actionId, idOf('tool_permission'), idOf('structured_input')].sort());
	assert.deepEqual(ids(thread.pendingRequests), [idOf('tool_permission'), idOf('structured_input')].sort());
	assert.deepEqual(thread.permissionState.pendingApprovals, [idOf('tool_permission')]);
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await ended(w.rt, sessionId, both.turnId);
	const [rest] = (await ok(w.rt, 'get_session', { sessionId })).threads;
	assert.deepEqual([rest.actions.length, rest.pendingRequests, rest.permissionState.pendingApprovals], [3, [], []]);
});

test('HL-05 an approved plan lets the rest of its turn change something, a rejected one does not, and neither reaches the next turn', async () => {
	const text = `${call('propose_plan', { plan: '1. Write it down.' })}[[then]]${call('write', { q: 'x' })}`;
	for (const decision of ['approve', 'reject']) {
		const { sessionId } = await submit(w.rt, text, { options: { mode: 'plan', ...write } });
		const [plan] = await pending(w.rt, sessionId);
		assert.deepEqual([plan.actionType, plan.decisions], ['plan_approval', ['approve', 'reject']]);
		assert.match((await seen(w.rt, sessionId, 'action.required'))[0].payload.prompt, /1\. Write it down\./);
		await ok(w.rt, 'respond_action', { actionId: plan.actionId, decision });
		if (decision === 'approve') {
			const [permission] = await pending(w.rt, sessionId);
			assert.equal(permission.actionType, 'tool_permission', 'the mode of the host asks as before');
			await w.rt.kill9();
			w.rt = await w.again();
			await ok(w.rt, 'respond_action', { actionId: permission.actionId, decision: 'deny' });
		}
		assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
		const judged = (await facts(w.rt, sessionId, 'permission.evaluated')).map((e) => e.payload);
		assert.deepEqual(judged.map((p) => p.decision), decision === 'approve' ? ['ask', 'ask'] : ['ask', 'deny']);
		const next = await submit(w.rt, call('write', { q: 'y' }), { sessionId, options: { mode: 'plan', ...write } });
		await ended(w.rt, sessionId, next.turnId);
		assert.equal((await facts(w.rt, sessionId, 'permission.evaluated')).at(-1).payload.decision, 'deny');
	}
});

test('HL-05 a turn that is not in mode plan has no such tool, and a plan of the host is ended by nobody', async () => {
	const plain = await submit(w.rt, call('propose_plan', { plan: 'x' }));
	await ended(w.rt, plain.sessionId);
	assert.equal((await facts(w.rt, plain.sessionId, 'tool.failed'))[0].payload.errorCategory, 'tool_unavailable');
	const strict = await world({ config: { 'permission.mode': 'plan' } });
	const { sessionId } = await submit(strict.rt, call('propose_plan', { plan: 'x' }), { options: { mode: 'plan' } });
	await ended(strict.rt, sessionId);
	assert.equal((await facts(strict.rt, sessionId, 'tool.failed'))[0].payload.errorCategory, 'tool_unavailable');
	await strict.rt.stop();
});

test('HL-05 a credential that was refused is asked for, never taken with an answer, and the call is made again', async () => {
	requests = [];
	const { sessionId } = await submit(w.rt, call('account'));
	const [action] = await pending(w.rt, sessionId);
	assert.deepEqual([action.actionType, action.decisions, requests.length], ['credential', ['provide', 'decline'], 1]);
	await refused(w.rt, 'invalid_input', 'respond_action', { actionId: action.actionId, decision: 'provide', payload: { token: 'tok-in-an-answer' } });
	isGranted = true;
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'provide' });
	assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
	isGranted = false;
	const [failed, result] = await facts(w.rt, sessionId, 'tool.failed', 'tool.result');
	assert.deepEqual([failed.payload.errorCategory, result.type, result.payload.preview, requests.length], ['credential_needed', 'tool.result', 'the account is open', 2]);
	assert.ok(!JSON.stringify(await facts(w.rt, sessionId)).match(/tok-in-an-answer|not-valid-yet/));
});
