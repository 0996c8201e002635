// Tools that the client runs itself: the model asks, the runtime judges and records, the client reports, the model goes on.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass' } });
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
const reads = { name: 'look_up', description: 'Looks something up.', inputSchema: schema, isReadOnly: true };
const writes = { name: 'set_value', description: 'Sets something.', inputSchema: schema };
const options = { tools: [reads, writes] };

const ask = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;
const begun = async (sessionId, n = 1) =>
	waitFor(async () => {
		const started = (await readLog(w.rt, sessionId)).filter((f) => f.type === 'tool.started');
		return started.length >= n && started.map((f) => f.event);
	}, `${n} tool calls`);
const report = (toolCallId, output, more = {}) => ok(w.rt, 'report_tool_result', { toolCallId, output, ...more });
const ended = (sessionId) =>
	waitFor(async () => (await readLog(w.rt, sessionId)).find((f) => ['turn.completed', 'turn.failed'].includes(f.type))?.event, 'the end of the turn');
const facts = async (sessionId, ...types) => (await readLog(w.rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const bytes = async (ref) => (await ok(w.rt, 'read_output', { outputRef: ref })).content;

test('TL-07 TL-12 TL-14 TL-17 AC-20 a call is judged, started and answered, and the model reads the answer', async () => {
	const { sessionId } = await submit(w.rt, ask('look_up', 'tea'), { options });
	const [started] = await begun(sessionId);
	assert.equal(started.payload.toolName, 'look_up');
	assert.equal(started.payload.runtimeOwner, 'client');
	assert.equal(started.payload.isReadOnly, true);
	const { status } = await report(started.toolCallId, 'green tea');
	assert.equal(status, 'ok');
	const end = await ended(sessionId);
	assert.equal(end.type, 'turn.completed');
	const types = (await readLog(w.rt, sessionId)).map((f) => f.type);
	const order = ['tool.catalog.resolved', 'model.requested', 'model.completed', 'permission.evaluated', 'tool.started', 'tool.result', 'turn.completed'];
	for (let i = 1; i < order.length; i++) assert.ok(types.indexOf(order[i - 1]) < types.indexOf(order[i]), `${order[i - 1]} before ${order[i]}`);
	assert.equal(types.filter((t) => t === 'model.requested').length, 2);
	const [result] = await facts(sessionId, 'tool.result');
	const [judged] = await facts(sessionId, 'permission.evaluated');
	assert.equal(result.payload.permissionRef, judged.eventId);
	assert.equal(started.payload.permissionRef, judged.eventId);
	assert.equal(await bytes(result.payload.outputRef), 'green tea');
	assert.equal(await bytes(started.payload.inputRef), '{"q":"tea"}');
	assert.match(await bytes(end.payload.outputRef), /The tool said: green tea/);
});

test('the first report stands; another one is told so, and so is one for a call that is not there', async () => {
	const { sessionId } = await submit(w.rt, `${ask('look_up', 'a')}${ask('look_up', 'b')}`, { options });
	const [one, two] = await begun(sessionId, 2);
	const first = await report(one.toolCallId, 'A', { idempotencyKey: 'r1' });
	assert.deepEqual(await report(one.toolCallId, 'A', { idempotencyKey: 'r1' }), first);
	await refused(w.rt, 'already_resolved', 'report_tool_result', { toolCallId: one.toolCallId, output: 'other' });
	await refused(w.rt, 'tool_call_not_found', 'report_tool_result', { toolCallId: `${one.toolCallId}9`, output: 'x' });
	await report(two.toolCallId, 'gone', { status: 'error', category: 'not_found' });
	assert.equal((await ended(sessionId)).type, 'turn.completed');
	const [failed] = await facts(sessionId, 'tool.failed');
	assert.deepEqual([failed.payload.status, failed.payload.errorCategory], ['failed', 'not_found']);
});

test('TL-08 TL-09 reads that follow one another run together; a write waits for what stands before it, a read for a write before it', async () => {
	const names = ['look_up', 'look_up', 'set_value', 'look_up', 'set_value'];
	const { sessionId } = await submit(w.rt, names.map((name, i) => ask(name, String(i))).join(''), { options });
	const inputs = async (count) => Promise.all((await begun(sessionId, count)).map(async (e) => JSON.parse(await bytes(e.payload.inputRef)).q));
	const end = async (at) => report((await begun(sessionId, at + 1))[at].toolCallId, 'done');
	assert.deepEqual(await inputs(2), ['0', '1']);
	await end(1);
	assert.deepEqual(await inputs(2), ['0', '1'], 'the write waits for the first read');
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).threads[0].statusDetail, 'running', 'ST-04 while a tool runs');
	await end(0);
	for (const at of [2, 3, 4]) {
		assert.deepEqual((await inputs(at + 1)).slice(2), ['2', '3', '4'].slice(0, at - 1));
		await end(at);
	}
	assert.equal((await ended(sessionId)).type, 'turn.completed');
});

test('TL-18 a tool that is not there and arguments that do not fit are told to the model, nothing runs', async () => {
	const { sessionId } = await submit(w.rt, `[[tool nothing {"q":"x"}]][[tool look_up {broken]][[tool look_up [1]]][[tool look_up {"q":7}]]`, { options });
	await ended(sessionId);
	const failed = await facts(sessionId, 'tool.failed');
	assert.deepEqual(failed.map((f) => f.payload.errorCategory), ['tool_unavailable', 'invalid_arguments', 'invalid_arguments', 'invalid_arguments']);
	assert.match(await bytes(failed[3].payload.errorRef), /\/q must be a string, not a number/);
	const started = await facts(sessionId, 'tool.started');
	assert.equal(started.length, failed.length);
	assert.ok(started.every((f) => f.payload.runtimeOwner === undefined), 'none of them ran');
});

test('TL-11 a call that waits for its client goes on waiting over kill -9, and costs no attempt', async () => {
	const { sessionId } = await submit(w.rt, ask('set_value', 'x'), { options });
	const [started] = await begun(sessionId);
	await restart();
	await restart();
	assert.equal((await begun(sessionId)).length, 1);
	await report(started.toolCallId, 'set');
	assert.equal((await ended(sessionId)).type, 'turn.completed');
	assert.equal((await facts(sessionId, 'task.attempt.started')).length, 1);
	assert.equal((await facts(sessionId, 'tool.result')).length, 1);
});

test('TL-10 an interruption ends every open call with a fact, and the conversation goes on', async () => {
	const { sessionId } = await submit(w.rt, `${ask('set_value', '1')}${ask('set_value', '2')}`, { options });
	await begun(sessionId);
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	const end = await ended(sessionId);
	assert.equal(end.payload.status, 'cancelled');
	const failed = await facts(sessionId, 'tool.failed');
	assert.deepEqual(failed.map((f) => f.payload.status).sort(), ['cancelled', 'interrupted']);
	const again = await submit(w.rt, 'and now?', { sessionId });
	const follower = await follow(w.rt, sessionId);
	await follower.until(() => follower.of('turn.completed').find((e) => e.turnId === again.turnId), 'the next turn');
});

test('a tool list that cannot be used is refused with the reason', async () => {
	for (const tools of [{}, [{ name: 'a b', inputSchema: {} }], [{ name: 'a' }], [{ name: 'a', inputSchema: { type: 7 } }]])
		await refused(w.rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'hi', options: { tools } }, { loose: true });
	const { status } = await call(w.rt, 'submit_turn', { createPolicy: {}, text: 'hi', options: { tools: [] } });
	assert.equal(status, 202);
});

test('AC-22 explain says from facts alone why a call ran, failed or was refused, and why a turn ended', async () => {
	const { sessionId, turnId } = await submit(w.rt, `${ask('look_up', 'a')}[[tool nothing {}]]`, { options });
	const started = await begun(sessionId, 2);
	const ran = started.find((e) => e.payload.toolName === 'look_up');
	await report(ran.toolCallId, 'A');
	await ended(sessionId);
	const why = async (id, more = {}) => ok(w.rt, 'explain', { id, ...more });
	const good = await why(ran.toolCallId);
	assert.deepEqual([good.kind, good.turnId], ['tool_call', turnId]);
	assert.match(good.summary, /^the tool answered/);
	assert.deepEqual(good.reasons.map((r) => r.type), ['permission.evaluated', 'tool.started', 'tool.result']);
	assert.match(good.reasons[0].text, /^allow: /);
	const bad = await why(started.find((e) => e.payload.toolName === 'nothing').toolCallId);
	assert.match(bad.summary, /no result, failed \(tool_unavailable\); use one of the tools/);
	for (const id of [turnId, sessionId, started[0].taskId, started[0].runId]) {
		const { summary, reasons } = await why(id);
		assert.match(summary, /^completed: |^the thread is idle/, id);
		assert.ok(reasons.every((r, i) => i === 0 || r.sequence > reasons[i - 1].sequence));
	}
	const own = await submit(w.rt, '[[http 400]]', { sessionId, turnId: 'own-turn' });
	await waitFor(async () => (await facts(sessionId, 'turn.failed'))[0], 'the failure');
	assert.match((await why('own-turn', { sessionId })).summary, /^failed: /);
	await refused(w.rt, 'scope_not_found', 'explain', { id: 'own-turn' });
	await refused(w.rt, 'scope_not_found', 'explain', { id: `${own.turnId}-x`, sessionId });
	await refused(w.rt, 'session_not_found', 'explain', { id: `tool_${'0'.repeat(26)}_1` });
});
