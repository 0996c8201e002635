// Turns and questions through the client, against a real agentd with a scripted model.
// ci: release only
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { AgentRuntime } from '../../sdk/typescript/dist/index.js';
import { connectLocal, findSocket } from '../../sdk/typescript/dist/node.js';
import { facts, tools, wants } from '../lib/gate.mjs';
import { ok, waitFor, world } from '../lib/runtime.mjs';
import { storedText } from './fold.mjs';

let rt;
let client;

before(async () => {
	({ rt } = await world());
	client = new AgentRuntime({ url: rt.url });
});

const tool = (run, more = {}) => ({ description: 'Does it.', inputSchema: { type: 'object' }, isReadOnly: true, run, ...more });

test('a turn that fails is a result, with what there is of it', async () => {
	const result = await client.run('[[http 400 message=no]]').result();
	assert.equal(result.status, 'failed');
	assert.equal(result.text, '');
	assert.equal(typeof result.error.message, 'string');
});

test('a turn that is refused is an exception, for the receipt and for the iteration', async () => {
	const turn = client.run('x', { sessionId: 'sess_00000000000000000000000000' });
	await assert.rejects(turn.receipt(), { code: 'session_not_found' });
	await assert.rejects(turn.result(), { code: 'session_not_found' });
});

test('text is the answer so far, and the final one has all rounds behind it', async () => {
	const turn = client.run('[[tool look {}]][[then]][[say and this is it]]', { tools: { look: tool(() => 'x') } });
	const seen = new Set();
	for await (const event of turn) if (event.type === 'model.delta') seen.add(turn.text);
	const result = await turn.result();
	assert.equal(result.text, await storedText(rt, result));
	assert.deepEqual([...seen], ['and ', 'and this ', 'and this is ', 'and this is it']);
});

test('a request that is tried again begins the text anew', async () => {
	const turn = client.run('[[fail-times 1 cut 3]][[say once and whole]]');
	const seen = [];
	for await (const event of turn) if (event.type === 'model.delta') seen.push(turn.text);
	assert.deepEqual(seen.slice(-3), ['once ', 'once and ', 'once and whole']);
	assert.ok(seen.length > 3, 'the first attempt said something');
});

test('an answer larger than one part of the store is read whole', async () => {
	const { turnId, sessionId, threadId } = await client.run('[[burst]][[tokens 180000]]').result();
	const turn = client.attach({ sessionId, threadId, turnId, sequence: 3 });
	const { text } = await turn.result();
	assert.equal(text, Array.from({ length: 180000 }, (_, i) => `w${i} `).join(''));
});

test('leaving the loop leaves the turn running; attach() follows it again from its beginning', async () => {
	const turn = client.run('[[delay 20]][[tokens 40]]');
	const receipt = await turn.receipt();
	for await (const event of turn) if (event.type === 'model.delta') break;
	await assert.rejects(turn.next(), { name: 'AbortError' });
	const again = client.attach(receipt);
	const { value } = await again.next();
	assert.equal(value.type, 'turn.submitted');
	assert.equal((await again.result()).status, 'completed');
});

test('a tool that has run does not run again when the turn is followed again; an answered question is not asked again', async () => {
	const asked = [];
	const options = {
		tools: { set: tool(({ q }) => (asked.push(`set ${q}`), { done: q }), { isReadOnly: false }) },
		onQuestion: ({ decisions }) => (asked.push(decisions[0]), 'allow'),
	};
	const turn = client.run('[[tool set {"q":"1"}]]', options);
	const receipt = await turn.receipt();
	await turn.result();
	assert.equal(asked.length, 2);
	await client.attach(receipt, options).result();
	assert.equal(asked.length, 2);
});

test('another process takes over tools and questions that are open', async () => {
	const options = (run) => ({ tools: { set: tool(run, { isReadOnly: false }) } });
	const stop = new AbortController();
	const first = client.run('[[tool set {"q":"1"}]]', { ...options(() => 'never'), signal: stop.signal });
	const receipt = await first.receipt();
	await waitFor(async () => (await facts(rt, receipt.sessionId, 'action.required')).length > 0, 'the question');
	stop.abort();
	await assert.rejects(first.result(), { name: 'AbortError' });
	const { text } = await client.attach(receipt, { ...options(() => 'by the second'), onQuestion: () => 'allow' }).result();
	assert.equal(text, 'The tool said: by the second');
});

test('actions() tells what is open and then what comes, once each; approve and deny answer', async () => {
	const { sessionId } = await client.createSession({ title: 'questions' });
	const ask = (q) => client.submitTurn({ sessionId, text: wants('write', q) + wants('drop', q), options: { tools: Object.values(tools) }, busyPolicy: 'queue' });
	await ask('1');
	await waitFor(async () => (await client.listActions({ sessionId })).actions.length === 2, 'two questions');
	await ask('2');
	const told = [];
	const stop = new AbortController();
	for await (const action of client.actions({ sessionId, signal: stop.signal })) {
		told.push(action.actionId);
		const { decision } = await (told.length % 2 ? client.deny(action.actionId) : client.approve(action.actionId));
		assert.equal(decision, told.length % 2 ? 'deny' : 'allow');
		if (told.length % 2 === 0) {
			const started = await waitFor(async () => (await facts(rt, sessionId, 'tool.started')).filter((e) => e.payload.runtimeOwner === 'client')[told.length / 2 - 1], 'the call');
			await client.reportToolResult({ toolCallId: started.toolCallId, output: 'ok' });
		}
		if (told.length === 4) stop.abort();
	}
	assert.equal(new Set(told).size, 4);
	assert.deepEqual((await ok(rt, 'list_actions', { sessionId })).actions, []);
});

test('a question that leaves out a part is approved with what readQuestion() read, and not without', async () => {
	const long = 'x'.repeat(5000);
	const { sessionId } = await client.submitTurn({ createPolicy: {}, text: wants('write', long), options: { tools: Object.values(tools) } });
	const [action] = await waitFor(async () => {
		const { actions } = await client.listActions({ sessionId });
		return actions.length > 0 && actions;
	}, 'the question');
	assert.equal(action.isTruncated, true);
	await assert.rejects(client.approve(action.actionId), { code: 'not_shown' });
	const { text, promptDigest } = await client.readQuestion(action.actionId, action);
	assert.ok(text.includes(long));
	assert.equal((await client.approve(action.actionId, { promptDigest })).decision, 'allow');
});

test('the daemon of the user is looked for where agentctl looks', async () => {
	assert.equal(findSocket({ AGENTD_SOCKET: '/s', AGENTD_DATA_DIR: '/d' }), '/s');
	assert.equal(findSocket({ AGENTD_DATA_DIR: '/d', XDG_STATE_HOME: '/x' }), '/d/agentd.sock');
	assert.equal(findSocket({ XDG_STATE_HOME: '/x', HOME: '/h' }), '/x/agentd/agentd.sock');
	assert.equal(findSocket({ XDG_STATE_HOME: 'x', HOME: '/h' }), '/h/.local/state/agentd/agentd.sock');
	const local = connectLocal({ socket: rt.socket });
	const turn = local.run('[[delay 5]][[tokens 30]]');
	assert.equal((await turn.result()).text, Array.from({ length: 30 }, (_, i) => `w${i} `).join(''));
});
