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
