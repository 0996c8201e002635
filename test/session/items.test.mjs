// Items of a turn: the derived events item.*, the member `items` of a turn, summaries of reasoning, lists of things to do.
import assert from 'node:assert/strict';
import http from 'node:http';
import { before, test } from 'node:test';
import { follow, newFolder, ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { isOfficialType, validateEvent, validateOfficialEvent } from '../lib/schemas.mjs';

const TOOLS = ['look', 'todo_write'].map((name) => ({ name, description: 'Of the client.', inputSchema: { type: 'object' }, isReadOnly: true }));
const WIRES = { chat: ['openai-chat', 'm'], responses: ['openai-responses', 'm'], gemini: ['gemini', 'm'], claude: ['anthropic', 'claude-sonnet-5'], older: ['anthropic', 'claude-3-7-sonnet'], other: ['anthropic', 'm'] };
let model, rt, again;

before(async () => {
	model = await startModel();
	const models = Object.entries(WIRES).map(([name, [provider, id]]) => ({ name, provider, model: id, base_url: provider.startsWith('openai') ? model.url : model.origin, api_key: 'k', capabilities: ['tools', 'json', 'reasoning'] }));
	const dataDir = newFolder();
	again = () => startAgentd({ dataDir, config: { models, 'model.backoff_ms': 20, 'model.max_attempts': 2, 'session.snapshot_every': 5 } });
	rt = await again();
});

/** Frames of a stream of one session, each with its cursor. */
class Stream {
	constructor(sessionId, query, after = '') {
		this.frames = [];
		let rest = '';
		this.open = new Promise((done, fail) => {
			this.req = http.get({ ...rt.where(), agent: false, path: encodeURI(`/v1/sessions/${sessionId}/events?${query}`), headers: after ? { 'last-event-id': after } : {} }, (res) => {
				res.setEncoding('utf8').on('error', () => {}).on('data', (text) => {
					const parts = (rest + text).split('\n\n');
					rest = parts.pop();
					for (const part of parts) this.take(part);
				});
				done(this);
			}).on('error', fail);
		});
	}

	take(part) {
		const [, id] = /^id: (.*)$/m.exec(part) ?? [];
		const [, data] = /^data: (.*)$/m.exec(part) ?? [];
		if (!data) return;
		const event = JSON.parse(data);
		validateEvent(event);
		this.frames.push({ id, data, event });
	}

	stop() {
		this.req.destroy();
	}
}

const ITEMS = 'view=extended&types=item.*';

/** The items of a session up to the fact that ends its turn, from the store. */
async function itemsOf(sessionId, count, after) {
	const stream = await new Stream(sessionId, ITEMS, after).open;
	await waitFor(() => stream.frames.length >= count, () => `${count} items, there are ${stream.frames.length}`);
	stream.stop();
	return stream.frames;
}

const short = ({ event: { type, stepId, payload } }) => [type.slice(5), payload.itemKind, stepId, payload.status].filter((x) => x !== undefined);

async function run(text, more = {}) {
	const receipt = await submit(rt, text, { options: { model: 'responses', tools: TOOLS, ...more.options }, ...(more.sessionId ? { sessionId: more.sessionId } : {}) });
	const live = await follow(rt, receipt.sessionId);
	for (let n = 0; ;) {
		await live.until(() => live.end(receipt.turnId) || live.of('tool.started').length > n, 'the end or a call');
		if (live.end(receipt.turnId)) break;
		const { toolCallId } = live.of('tool.started')[n++];
		await more.meanwhile?.(live, receipt);
		await ok(rt, 'report_tool_result', { toolCallId, output: 'seen' });
	}
	live.stop();
	return { ...receipt, live };
}

test('EV-53 EV-55 EV-28 a reader of items alone lists every step of a turn in order, each closed once', async () => {
	const { sessionId, live } = await run('[[reasoning because]][[tool look {}]]');
	const [first, second] = live.of('model.requested').map((e) => e.stepId);
	const [{ toolCallId }] = live.of('tool.started');
	const items = await itemsOf(sessionId, 10);
	const message = (id) => [['started', 'agent_message', id], ['completed', 'agent_message', id, 'completed']];
	const reasoning = (id) => [['started', 'reasoning', `${id}.reasoning`], ['completed', 'reasoning', `${id}.reasoning`, 'completed']];
	assert.deepEqual(items.map(short), [...message(first), ...reasoning(first), ['started', 'tool_call', toolCallId], ['completed', 'tool_call', toolCallId, 'completed'], ...message(second), ...reasoning(second)]);
	const [turn] = (await ok(rt, 'get_session', { sessionId })).threads[0].turns;
	assert.deepEqual(turn.items.map((i) => [i.itemId, i.kind, i.status]), [
		[`${first}.reasoning`, 'reasoning', 'completed'], [first, 'agent_message', 'completed'], [toolCallId, 'tool_call', 'completed'],
		[`${second}.reasoning`, 'reasoning', 'completed'], [second, 'agent_message', 'completed'],
	]);
	const { content } = await ok(rt, 'read_output', { outputRef: items[5].event.payload.resultRef });
	assert.equal(content, 'seen');
});

// An error is the last item of a turn that did not succeed.
const outcomeOf = (items) => (items.at(-1).event.payload.itemKind === 'error' ? items.at(-1).event.payload.status : 'completed');

test('EV-28 items alone say how a turn ended, as its facts do', async () => {
	const outcomes = [];
	for (const [text, count] of [['fine', 2], ['[[http 400]]', 4], ['[[hang]]', 4]]) {
		const { sessionId, turnId } = await submit(rt, text, { options: { model: 'responses' } });
		const live = await follow(rt, sessionId);
		await live.until(() => live.of('model.requested').length > 0, 'the call');
		if (text === '[[hang]]') await ok(rt, 'interrupt_turn', { sessionId, reason: 'enough' });
		const end = await live.ended(turnId);
		live.stop();
		const items = await itemsOf(sessionId, count);
		assert.equal(items.length, count);
		assert.deepEqual(items.map(({ event }) => event.type), Array.from({ length: count }, (_, i) => (i % 2 ? 'item.completed' : 'item.started')));
		assert.equal(outcomeOf(items), end.type === 'turn.completed' ? 'completed' : end.payload.status);
		if (count === 4) assert.equal(items[2].event.payload.title, end.payload.error.category);
		outcomes.push(outcomeOf(items));
	}
	assert.deepEqual(outcomes, ['completed', 'failed', 'cancelled']);
});

test('EV-53 items are the same live and from the store, from every cursor, and over a kill', async () => {
	const { sessionId } = await submit(rt, 'first', { options: { model: 'responses' } });
	const stream = await new Stream(sessionId, ITEMS).open;
	await waitFor(() => stream.frames.length >= 2, 'the items of the first turn');
	await run('[[reasoning hm]][[tool look {}]]', { sessionId });
	await waitFor(() => stream.frames.length >= 10, 'the items of the second turn');
	stream.stop();
	const whole = await itemsOf(sessionId, stream.frames.length);
	assert.deepEqual(whole, stream.frames);
	for (const [i, { id }] of whole.entries()) {
		if (i + 1 === whole.length) break;
		const rest = await itemsOf(sessionId, whole.length - i - 1, id);
		const missing = whole.slice(i + 1).filter((f) => !rest.some((r) => r.data === f.data));
		assert.deepEqual(missing, [], `after ${id}`);
		assert.ok(rest.length - (whole.length - i - 1) <= 1, 'what comes twice has the same id');
	}
	await rt.kill9();
	rt = await again();
	assert.deepEqual(await itemsOf(sessionId, whole.length), whole);
});

test('OPEN-01 items come to those who ask for them; strict and extended streams hold the same facts', async () => {
	const { sessionId } = await run('[[reasoning because]][[tool look {}]]');
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId });
	const views = {};
	for (const query of ['view=strict', 'view=extended', 'view=strict&types=item.*,turn.*', 'view=extended&types=item.*,turn.*']) {
		const stream = await new Stream(sessionId, `${query}&deltas=false`).open;
		await waitFor(() => stream.frames.some((f) => f.event.type === 'turn.completed'), query);
		if (!query.includes('types')) await waitFor(() => stream.frames.at(-1).event.sequence >= asOfSequence, query);
		stream.stop();
		views[query] = stream.frames;
	}
	const isItem = ({ event }) => event.type.startsWith('item.');
	assert.deepEqual(Object.values(views).map((frames) => frames.some(isItem)), [false, false, false, true]);
	for (const { event } of views['view=strict']) validateOfficialEvent(event);
	assert.deepEqual(views['view=strict'].map((f) => f.data), views['view=extended'].filter((f) => isOfficialType(f.event.type)).map((f) => f.data));
	const both = views['view=extended&types=item.*,turn.*'];
	const sequences = both.map((f) => f.event.sequence);
	assert.deepEqual(sequences, [...sequences].sort((a, b) => a - b), 'each beside the fact that it follows from');
	assert.deepEqual(both.filter((f) => !isItem(f)).map((f) => f.event.type), ['turn.submitted', 'turn.started', 'turn.completed']);
});

test('EV-54 TK-23 a list of things to do is an item that changes; no task does', async () => {
	const seen = [];
	const { sessionId, taskId, live } = await run('[[tool todo_write {"todos":[{"text":"a","status":"done"},{"text":"b","status":"done"}]}]]', {
		meanwhile: async (_, receipt) => seen.push((await ok(rt, 'get_task', { taskId: receipt.taskId })).status),
	});
	assert.deepEqual(seen, ['running']);
	const items = (await itemsOf(sessionId, 7)).filter(({ event }) => event.payload.itemKind === 'todo');
	assert.deepEqual(items.map(({ event }) => event.type), ['item.started', 'item.updated', 'item.completed']);
	const { content } = await ok(rt, 'read_output', { outputRef: items[1].event.payload.changed.inputRef });
	assert.deepEqual(JSON.parse(content).todos.map((t) => t.status), ['done', 'done']);
	const at = live.of('tool.started')[0].sequence, end = live.of('tool.result')[0].sequence;
	assert.deepEqual((await readLog(rt, sessionId)).filter(({ event }) => event.taskId === taskId && event.type.startsWith('task.') && event.sequence > at && event.sequence <= end), []);
});

test('TK-01 task, run, step, job and list of things to do are five records, each with a status of its own', async () => {
	const { jobId } = await ok(rt, 'create_job', { instruction: 'Say it.', input: 'a', start: false });
	let running;
	const { sessionId, taskId } = await run('[[tool todo_write {"todos":[]}]]', {
		meanwhile: async (_, receipt) => {
			const [turn] = (await ok(rt, 'get_session', { sessionId: receipt.sessionId })).threads[0].turns;
			running = { turn, task: await ok(rt, 'get_task', { taskId: receipt.taskId }) };
		},
	});
	const { turn, task } = running;
	const todo = turn.items.find((i) => i.kind === 'todo');
	const job = await ok(rt, 'get_job', { jobId });
	const records = [[task.taskId, task.status], [task.attempts[0].runId, task.attempts[0].status], [turn.steps[0].stepId, turn.steps[0].status], [job.jobId, job.status], [todo.itemId, todo.status]];
	assert.deepEqual(records.map(([id]) => id.split('_')[0]), ['task', 'run', 'step', 'job', 'tool']);
	assert.deepEqual(records.map(([, status]) => status), ['running', 'running', 'completed', 'pending', 'open']);
	assert.equal(task.taskId, taskId);
	assert.equal((await ok(rt, 'get_task', { taskId })).status, 'completed');
	const [{ items }] = (await ok(rt, 'get_session', { sessionId })).threads[0].turns;
	assert.equal(items.find((i) => i.kind === 'todo').status, 'completed');
});

test('EV-50 a summary of reasoning is a fact where the provider shows one, apart from the answer', async () => {
	const summaries = {};
	for (const wire of Object.keys(WIRES)) {
		const { sessionId, live, turnId } = await run('[[reasoning because of that]][[say the answer]]', { options: { model: wire } });
		const [summary] = live.of('reasoning.summary');
		summaries[wire] = summary?.payload.summary;
		const { content: answer } = await ok(rt, 'read_output', { outputRef: live.end(turnId).payload.outputRef });
		assert.equal(answer, 'the answer', wire);
		const [turn] = (await ok(rt, 'get_session', { sessionId })).threads[0].turns;
		assert.equal(turn.items.some((i) => i.kind === 'reasoning'), Boolean(summary), wire);
		if (!summary) continue;
		const [completed] = live.of('model.completed');
		assert.deepEqual([summary.stepId, summary.modelRequestId], [completed.stepId, completed.modelRequestId]);
		assert.equal(summary.payload.reasoningRef, completed.payload.reasoningRef);
		assert.equal((await ok(rt, 'read_output', { outputRef: summary.payload.reasoningRef })).content, 'because of that');
	}
	const said = 'because of that';
	assert.deepEqual(summaries, { chat: undefined, responses: said, gemini: said, claude: said, older: undefined, other: undefined });
});
