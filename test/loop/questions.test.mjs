// A tool asks a person in the middle of its work: a real MCP server whose tool wants a form filled in.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ended, facts, pending, seen } from '../lib/gate.mjs';
import { ok, refused, sleep, submit, waitFor, world } from '../lib/runtime.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const config = { 'permission.mode': 'bypass', 'tools.timeout_ms': 4000, mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }] };

let w;

before(async () => {
	w = await world({ config });
	await offered();
});

async function offered() {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_ask'), 'the tools of the server');
}

async function asked() {
	const { sessionId, taskId } = await submit(w.rt, '[[tool m_ask {}]]');
	const [action] = await pending(w.rt, sessionId);
	return { sessionId, taskId, action };
}

const bytes = async (ref) => (await ok(w.rt, 'read_output', { outputRef: ref })).content;

test('ST-05 OPEN-06 HL-05 a form waits for its answer, which has to fit, and the tool goes on with it', async () => {
	const { sessionId, taskId, action } = await asked();
	assert.deepEqual([action.actionType, action.title, action.toolName, action.decisions], ['structured_input', 'name?', 'm_ask', ['accept', 'decline', 'cancel']]);
	assert.equal(action.schema.properties.name.type, 'string');
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual([threads[0].status, threads[0].statusDetail, threads[0].permissionState.pendingApprovals], ['blocked', 'waiting_input', []]);
	assert.equal((await ok(w.rt, 'get_task', { taskId })).status, 'waiting_input');
	await sleep(5000); // longer than the tool itself may take: a person's time is not its own
	const { message } = await refused(w.rt, 'schema_mismatch', 'respond_action', { actionId: action.actionId, decision: 'accept', payload: { name: 7 } });
	assert.match(message, /name/);
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'accept', payload: { name: 'ada', size: 3 } });
	assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
	const [result] = await facts(w.rt, sessionId, 'tool.result');
	assert.match(await bytes(result.payload.outputRef), /ada/);
	const [resolved] = await facts(w.rt, sessionId, 'action.resolved');
	assert.ok(resolved.sequence < result.sequence);
	assert.match(await bytes(resolved.payload.responseRef), /"size":3/);
	assert.equal((await facts(w.rt, sessionId, 'permission.resolved')).length, 0);
});

test('declined or cancelled, the tool is told and goes on', async () => {
	for (const decision of ['decline', 'cancel']) {
		const { sessionId, action } = await asked();
		await ok(w.rt, 'respond_action', { actionId: action.actionId, decision });
		assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
		const [end] = await facts(w.rt, sessionId, 'tool.result', 'tool.failed');
		const ref = end.payload.outputRef ?? end.payload.errorRef;
		assert.match(await bytes(ref), new RegExp(decision));
	}
});

test('HL-02 the tool dies with the process: its question ends as cancelled, never as answered', async () => {
	const { sessionId, action } = await asked();
	await w.rt.kill9();
	w.rt = await w.again();
	await offered();
	assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
	const [resolved] = await seen(w.rt, sessionId, 'action.resolved');
	assert.deepEqual([resolved.actionId, resolved.payload.decisionSource], [action.actionId, 'cancelled']);
	const [failed] = await facts(w.rt, sessionId, 'tool.failed');
	assert.equal(failed.payload.status, 'interrupted');
	await refused(w.rt, 'already_resolved', 'respond_action', { actionId: action.actionId, decision: 'accept', payload: { name: 'x' } });
});

test('an interruption ends the question and the call', async () => {
	const { sessionId, action } = await asked();
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	assert.equal((await ended(w.rt, sessionId)).payload.status, 'cancelled');
	assert.equal((await facts(w.rt, sessionId, 'action.resolved'))[0].actionId, action.actionId);
});
