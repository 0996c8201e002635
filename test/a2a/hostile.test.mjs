// Callers, models and tools of A2A that mean harm, or say too much: JSON that nests deeper than a reader takes, words that are for others, a secret beside an
// answer, and an agent whose settings change under a context.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, request, startAgentd, waitFor } from '../lib/runtime.mjs';
import { receiver } from '../webhook/receiver.mjs';
import { AGENTS, client, dataPart, message, raw, start, taskOf, textPart } from './peers.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const KEY = 'a key of more than sixteen bytes';
const nested = (levels) => (levels ? { a: nested(levels - 1) } : 1);
const OLD = { headers: { 'a2a-version': '0.3' } };
const old = (text, more = {}) => ({ message: { kind: 'message', messageId: `old-${text.length}`, role: 'user', parts: [{ kind: 'text', text }] }, ...more });
let w, bank, to;

before(async () => {
	bank = http.createServer((q, res) => res.writeHead(401, { 'content-type': 'text/plain' }).end('who are you?'));
	await new Promise((done) => bank.listen(0, '127.0.0.1', done));
	to = await receiver({ secret: null });
	w = await start({ config: {
		'a2a.push_to': new URL(to.url).origin, 'a2a.push_key': KEY, 'a2a.push_backoff_ms': 20,
		permission_rules: [{ name: 'forms', effect: 'allow', tool: 'm_ask' }, { name: 'bank', effect: 'allow', tool: 'account' }],
		http_tools: [{ name: 'account', description: 'Reads the account.', url: `http://127.0.0.1:${bank.address().port}/`, method: 'GET', read_only: true, headers: ['Authorization: Bearer not-valid-yet'] }],
		mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }],
	} });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_ask'), 'the tools of the server');
});

after(() => {
	bank.closeAllConnections();
	bank.close();
});

test('A2-10 data of a client that nests deep is taken, and shown as text where the task would nest deeper than readers take', async () => {
	for (const levels of [30, 57, 58, 31]) {
		const sent = await raw(w.rt, 'SendMessage', { message: { messageId: `deep-${levels}`, role: 'ROLE_USER', parts: [{ text: '[[say hi]]' }, { data: nested(levels) }] } });
		const [, part] = sent.result.task.history[0].parts;
		if (levels <= 30) assert.deepEqual(part.data, nested(levels));
		else assert.ok(sent.result.task.history[0].parts[0].text?.includes('"a":{"a":'), 'as the model read it');
		assert.equal((await raw(w.rt, 'GetTask', { id: sent.result.task.id })).result.status.state, 'TASK_STATE_COMPLETED');
	}
});

test('A2-10 an answer of the model that nests deep is text, for clients of 1.0 and 0.3 and in what is pushed to them', async () => {
	for (const levels of [48, 59, 64, 49]) {
		const text = JSON.stringify(nested(levels));
		const configuration = { blocking: true, pushNotificationConfig: { id: `p${levels}`, url: to.url } };
		const { result } = await raw(w.rt, 'message/send', old(`[[say ${text}]]`, { configuration }), OLD);
		const [part] = result.artifacts[0].parts;
		const isData = levels <= 48;
		assert.ok(isData ? JSON.stringify(part.data) === text : part.text === text, `0.3 of ${levels} levels`);
		const [other] = (await raw(w.rt, 'GetTask', { id: result.id })).result.artifacts[0].parts;
		assert.ok(isData ? JSON.stringify(other.data) === text : other.text === text, `1.0 of ${levels} levels`);
		await waitFor(() => to.got.some((r) => r.event.id === result.id && r.event.status.state === 'completed'), 'the end of the task at the receiver');
	}
});

test('A2-10 what somebody else says with an answer is not shown to the client of the task', async () => {
	const c = await client(w.rt, 'JSONRPC');
	const { id, contextId, status } = taskOf(await c.sendMessage(message('[[tool m_ask {}]][[then]][[say thanks]]')));
	const { actionId } = status.message.parts[1].content.value;
	await ok(w.rt, 'respond_action', { actionId, decision: 'decline', comment: 'between us: they owe us money' });
	const task = await waitFor(async () => {
		const t = await c.getTask({ tenant: '', id });
		return t.status.state === 3 && t;
	}, 'the end');
	assert.deepEqual(task.history.slice(1).map((m) => m.parts[0].content.value), ['name?', 'decline']);
	assert.ok(!JSON.stringify(task).includes('money'));
	assert.equal((await facts(w.rt, contextId, 'action.resolved'))[0].payload.comment, 'between us: they owe us money', 'it is on record here');
});

test('a secret that comes beside the answer to a question for a credential is nowhere in the log', async () => {
	const c = await client(w.rt, 'JSONRPC');
	const { id, contextId, status } = taskOf(await c.sendMessage(message('[[tool account {}]][[then]][[say so]]')));
	const { actionId } = status.message.parts[1].content.value;
	await c.sendMessage(message([textPart('my password is hunter-two'), dataPart({ actionId, decision: 'decline' })], { message: { taskId: id } }));
	const log = JSON.stringify(await facts(w.rt, contextId));
	assert.ok(log.includes('action.resolved') && log.includes('channel.message'));
	assert.ok(!log.includes('hunter-two'), log.match(/.{80}hunter-two/)?.[0]);
});

test('A2-10 a caller is enrolled once in a session: messages that come again, and more of them in a context of its own, enrol nobody', async () => {
	const say = async (messageId, more = {}) => (await raw(w.rt, 'SendMessage', { message: { messageId, role: 'ROLE_USER', parts: [{ text: '[[say hi]]' }], ...more } })).result.task;
	const factsOf = async (task) => facts(w.rt, (await ok(w.rt, 'get_task', { taskId: task.id })).sessionId);
	const once = await say('again');
	const before = (await factsOf(once)).length;
	assert.equal((await say('again')).id, once.id);
	assert.equal((await factsOf(once)).length, before, 'a repeat is no fact');
	const mine = [];
	for (const id of ['c1', 'c2', 'c2', 'c3']) mine.push(await say(id, { contextId: 'enrolled-once' }));
	const log = await factsOf(mine[0]);
	assert.deepEqual(['channel.connected', 'turn.submitted'].map((type) => log.filter((e) => e.type === type).length), [1, 3]);
});

/** How often a command was asked, whatever the answer. */
async function asked(command) {
	const { text } = await request(w.rt, { method: 'GET', path: '/metrics', via: 'socket' });
	return [...text.matchAll(new RegExp(`^agentd_commands_total\\{command="${command}",code="[^"]*"\\} (\\d+)`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0);
}

test('A2-10 an answer or more input that comes again does nothing again, whatever the task does by then', async () => {
	const say = async (messageId, text, taskId) => (await raw(w.rt, 'SendMessage', { message: { messageId, role: 'ROLE_USER', parts: [{ text }], taskId }, configuration: { returnImmediately: !!taskId } })).result?.task;
	const reach = (id, ...wanted) => waitFor(async () => wanted.includes((await raw(w.rt, 'GetTask', { id })).result.status.state.replace('TASK_STATE_', '')), `${id} ${wanted}`);
	const steered = async (task) => (await facts(w.rt, task.contextId, 'run.status')).filter((e) => e.payload.phase === 'steered').length;
	const twice = await say('r1', '[[tool m_ask {}]][[then]][[tool m_ask {}]][[then]][[hang]]');
	await say('r2', 'Ann', twice.id);
	await waitFor(async () => (await facts(w.rt, twice.contextId, 'action.required')).length === 2, 'the second question');
	await reach(twice.id, 'INPUT_REQUIRED');
	assert.equal((await say('r2', 'Ann', twice.id)).id, twice.id, 'it is no answer to the second question');
	assert.equal((await facts(w.rt, twice.contextId, 'action.resolved')).length, 1);
	await say('r3', 'Bob', twice.id);
	await reach(twice.id, 'WORKING');
	assert.equal((await say('r3', 'Bob', twice.id)).id, twice.id, 'nor input for the turn that goes on');
	assert.equal(await steered(twice), 0);
	const before = [await asked('respond_action'), await asked('steer_turn')];
	for (let i = 0; i < 2; i++) assert.equal((await say('r4', 'and this', twice.id)).id, twice.id);
	assert.equal(await steered(twice), 1);
	assert.deepEqual([await asked('respond_action'), await asked('steer_turn')], before.map((n) => n + 2), 'a task at work: whether it was an answer is asked, and the message is sent');
	await raw(w.rt, 'CancelTask', { id: twice.id });
	await reach(twice.id, 'CANCELED');
	for (const [id, text] of [['r2', 'Ann'], ['r4', 'and this']]) assert.equal((await say(id, text, twice.id))?.id, twice.id, `${id} after the end`);
	assert.equal(await say('r5', 'one more', twice.id), undefined, 'a new one is refused');
});

test('a named context begins anew when its agent has another workspace, and is found again when it has the first', async () => {
	const u = await start({ config: { 'workspaces.dir': newFolder() } });
	const { workspace: { workspaceId } } = await ok(u.rt, 'create_workspace', {});
	const say = async (rt, text) => (await ok(rt, 'get_task', { taskId: taskOf(await (await client(rt, 'JSONRPC')).sendMessage(message(text, { message: { contextId: 'mine' } }))).id })).sessionId;
	const moved = { ...u.settings, a2a_agents: AGENTS.map((agent) => ({ ...agent, workspace: workspaceId })) };
	const seen = [await say(u.rt, '[[say one]]')];
	for (const config of [moved, u.settings]) {
		await u.rt.stop();
		u.rt = await startAgentd({ dataDir: u.dataDir, model: u.model, config });
		seen.push(await say(u.rt, '[[say more]]'));
	}
	assert.notEqual(seen[1], seen[0]);
	assert.equal(seen[2], seen[0]);
	await u.rt.stop();
});
