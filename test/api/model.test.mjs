// One turn and what a model can do to it: answers of every shape, failures of every kind, and what is recorded of them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, newFolder, ok, startAgentd, startModel, submit } from '../lib/runtime.mjs';

const CONFIG = { 'model.backoff_ms': 20 };
let model, rt;

before(async () => {
	model = await startModel();
	rt = await startAgentd({ model, config: CONFIG });
});

// A turn from its submit to its end: the follower that saw all of it.
async function run(text, more = {}, at = rt) {
	const receipt = await submit(at, text, more);
	const follower = await follow(at, receipt.sessionId);
	follower.turn = await follower.ended(receipt.turnId);
	follower.receipt = receipt;
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	follower.check();
	follower.stop();
	return follower;
}

const read = async (outputRef) => (await ok(rt, 'read_output', { outputRef, length: 16777216 })).content;
const failures = (f) => f.of('model.failed').map((e) => e.payload);

test('EV-43 EV-47 OPEN-43 ID-15 a plain turn: the facts in their order, the text streamed and stored alike', async () => {
	const f = await run('hello world');
	assert.deepEqual(f.types(), ['session.created', 'thread.started', 'turn.submitted', 'task.created', 'task.accepted', 'turn.started',
		'task.attempt.started', 'task.started', 'thread.updated', 'task.profile.resolved', 'routing.candidates.resolved',
		'routing.single_candidate', 'cost.estimated', 'context.resolved', 'model.requested', 'model.completed', 'cost.recorded', 'task.attempt.completed',
		'task.completed', 'turn.completed', 'thread.updated']);
	const [requested] = f.of('model.requested');
	const [completed] = f.of('model.completed');
	assert.equal(f.text(requested.stepId), 'You said: hello world');
	assert.equal(await read(completed.payload.outputRef), 'You said: hello world');
	assert.deepEqual([f.turn.type, f.turn.payload.status, f.turn.payload.stopReason], ['turn.completed', 'completed', 'stop']);
	assert.equal(completed.payload.stopReason, 'stop');
	assert.equal(f.turn.payload.outputRef, completed.payload.outputRef);
	assert.deepEqual(f.turn.payload.usage, completed.payload.usage);
	assert.deepEqual(completed.payload.usage, { inputTokens: 2, outputTokens: 4, cachedTokens: 0 }, 'as the provider said');
	for (const name of ['sessionId', 'threadId', 'turnId', 'taskId', 'runId', 'attemptId', 'stepId', 'modelRequestId'])
		assert.ok(requested[name] && completed[name] === requested[name], name);
});

test('ID-13 the provider gets the ids of the turn', async () => {
	const f = await run('hello', { turnId: 'with-ids' });
	const [{ session, turn, step }] = model.log('with-ids');
	const [{ sessionId, turnId, stepId }] = f.of('model.requested');
	assert.deepEqual([session, turn, step], [sessionId, turnId, stepId]);
});

test('HI-03 the conversation goes along, also after kill -9: earlier turns are sent again in their order', async () => {
	const dataDir = newFolder();
	const before = await startAgentd({ model, dataDir });
	const talk = async () => {
		const f = await run('first', {}, before);
		await run('[[reasoning let me see]][[tool nothing {"a":1}]]', { sessionId: f.receipt.sessionId }, before);
		return f.receipt.sessionId;
	};
	const [killed, twin] = [await talk(), await talk()];
	await run('second', { sessionId: twin, turnId: 'goes-on' }, before);
	await before.kill9();
	const again = await startAgentd({ model, dataDir });
	await run('second', { sessionId: killed, turnId: 'remembers' }, again);
	await again.stop();
	const messages = model.log('remembers')[0].body.messages.map((m) => [m.role, m.content?.[0]?.text ?? m.content]);
	assert.deepEqual([messages.slice(0, 2), messages.at(-1)], [[['user', 'first'], ['assistant', 'You said: first']], ['user', 'second']]);
	const exact = (turnId) => JSON.parse(JSON.stringify(model.log(turnId)[0].body).replace(/call_\w+|tool_\w+|[a-z]+_[0-9a-z]{26}\w*/g, 'ID'));
	assert.ok(JSON.stringify(exact('remembers')).includes('nothing'), 'the call is in it');
	assert.deepEqual(exact('remembers'), exact('goes-on'), 'the request that would have been made without the kill');
});

test('ST-10 failures that pass: two http 500 are two model.failed, retrying in between, then completed', async () => {
	const f = await run('[[fail-times 2 http 500]] hello', { turnId: 'thrice' });
	assert.deepEqual(failures(f).map((p) => [p.attempt, p.status, p.error.retryable, p.outcome]), [[1, 500, true, 'rejected'], [2, 500, true, 'rejected']]);
	assert.deepEqual(f.of('run.status').map((e) => e.payload.phase), ['retrying', 'retrying']);
	const retrying = f.of('thread.updated').filter((e) => e.payload.statusDetail === 'retrying');
	assert.equal(retrying.length, 2);
	assert.deepEqual(f.of('model.requested').map((e) => e.payload.attempt), [1, 2, 3]);
	assert.equal(f.turn.type, 'turn.completed');
	assert.equal(new Set(f.of('model.requested').map((e) => e.runId)).size, 1);
	const [first, second, third] = model.log('thrice').map((e) => e.startedAt);
	assert.ok(second - first >= 15 && third - second >= 35, 'the pause doubles');
});

test('EV-44 attempts end with model.max_attempts: the turn fails with the last failure and advice', async () => {
	const f = await run('[[http 503]]', { turnId: 'hopeless' });
	assert.equal(model.log('hopeless').length, 3);
	assert.equal(f.turn.payload.status, 'failed');
	assert.equal(f.turn.payload.error.retryable, true);
	assert.ok(f.turn.payload.error.recoveryAdvice);
	assert.equal(f.of('task.failed').length, 1);
});

test('EV-48 429: the pause that the provider asks for is kept', async () => {
	const f = await run('[[fail-times 1 http 429 retry-after=1]] hello', { turnId: 'polite' });
	const [failed] = failures(f);
	assert.deepEqual([failed.status, failed.retryAfterMs], [429, 1000]);
	const [first, second] = model.log('polite').map((e) => e.startedAt);
	assert.ok(second - first >= 990, `${second - first} ms`);
	assert.equal(f.turn.type, 'turn.completed');
});

test('ST-14 400 is not tried again: the turn fails at once', async () => {
	const f = await run('[[http 400 code=bad_model]]', { turnId: 'wrong' });
	assert.equal(model.log('wrong').length, 1);
	const [failed] = failures(f);
	assert.deepEqual([failed.status, failed.error.retryable, failed.outcome], [400, false, 'rejected']);
	assert.deepEqual([f.turn.payload.status, f.turn.payload.error.retryable], ['failed', false]);
	assert.equal(f.turn.payload.error.category, failed.error.category);
});

test('EV-48 a stream that is cut: model.failed says cut and keeps what had come, readable by its ref', async () => {
	const f = await run('[[fail-times 1 cut 4]] [[say all of it]] and some more words');
	const [failed] = failures(f);
	assert.equal(failed.outcome, 'cut');
	const [cut, whole] = f.of('model.requested').map((e) => e.stepId);
	assert.match(await read(failed.outputRef), /^You said: and/);
	assert.equal(f.text(cut), await read(failed.outputRef));
	assert.equal(f.text(whole), 'all of it');
	assert.equal(await read(f.turn.payload.outputRef), 'all of it');
});

test('EV-48 an error inside the stream, nonsense in it, a page instead of an answer: failures with a category, tried again', async () => {
	for (const directive of ['error-in-stream', 'garbage', 'text', 'cut 0']) {
		const f = await run(`[[fail-times 1 ${directive}]] [[say fine]]`);
		const [failed] = failures(f);
		assert.ok(failed?.error.category && failed.error.message, directive);
		assert.equal(f.turn.type, 'turn.completed', directive);
		assert.equal(await read(f.turn.payload.outputRef), 'fine');
	}
});

test('EV-48 a silent model: no first byte and a stop in the middle are timeouts', async () => {
	const config = { ...CONFIG, 'model.first_byte_timeout_ms': 400, 'model.idle_timeout_ms': 300, 'model.max_attempts': 10 };
	const impatient = await startAgentd({ model, config });
	for (const directive of ['hang', 'hang-after 4']) {
		const f = await run(`[[fail-times 1 ${directive}]] [[say awake]] and some more words`, {}, impatient);
		assert.ok(failures(f).length >= 1, directive);
		for (const { outcome } of failures(f)) assert.equal(outcome, 'timeout', directive);
		assert.equal(f.turn.type, 'turn.completed');
	}
	await impatient.stop();
});

test('answers in odd shapes are the same answer', async () => {
	for (const shape of ['split', 'json', 'no-done', 'no-finish', 'junk-after-done', 'no-usage', 'lie-usage', 'delay 2']) {
		const f = await run(`[[say one two three]] [[${shape}]]`);
		assert.equal(f.turn.type, 'turn.completed', shape);
		assert.equal(await read(f.turn.payload.outputRef), 'one two three', shape);
	}
});

test('EV-46 text of any script arrives whole, also cut into bytes', async () => {
	const f = await run('[[utf8]] [[split]]');
	const text = await read(f.turn.payload.outputRef);
	assert.equal(f.text(f.of('model.requested')[0].stepId), text);
	assert.match(text, /日本語 .*👩‍👩‍👧‍👦 .*مرحبا /);
});

test('EV-49 reasoning goes out as reasoning.delta, never as model.delta, and not into the answer', async () => {
	const f = await run('[[reasoning secret thoughts here]] [[say the answer]]');
	const [{ stepId }] = f.of('model.requested');
	assert.equal(f.text(stepId), 'the answer');
	assert.equal(f.text(stepId, 'reasoning.delta'), 'secret thoughts here');
	assert.equal(await read(f.turn.payload.outputRef), 'the answer');
	const [completed] = f.of('model.completed');
	assert.equal(await read(completed.payload.reasoningRef), 'secret thoughts here');
	await run('go on', { sessionId: f.receipt.sessionId, turnId: 'after-thoughts' });
	const { messages } = model.log('after-thoughts')[0].body;
	assert.deepEqual(messages.filter((m) => m.role === 'assistant').map((m) => m.content), ['the answer']);
});

test('TL-14 TL-18 ID-08 a tool that the runtime does not have: tool.started, tool.failed, and the model may go on', async () => {
	const f = await run('[[tool weather {"city":"Bern"}]]', { turnId: 'tooled' });
	const [started] = f.of('tool.started');
	const [failed] = f.of('tool.failed');
	assert.equal(started.payload.toolName, 'weather');
	assert.equal(await read(started.payload.inputRef), '{"city":"Bern"}');
	assert.equal(failed.payload.errorCategory, 'tool_unavailable');
	assert.equal(failed.toolCallId, started.toolCallId);
	assert.ok(started.stepId && failed.stepId === started.stepId);
	const [first, second] = f.of('model.requested');
	assert.equal(f.text(first.stepId), '');
	assert.match(f.text(second.stepId), /^The tool said: Error \(tool_unavailable\): there is no tool 'weather'/);
	assert.equal(f.turn.type, 'turn.completed');
	const { messages } = model.log('tooled')[1].body;
	const [asked, told] = messages.slice(-2);
	assert.equal(asked.tool_calls[0].id, told.tool_call_id);
	assert.equal(asked.tool_calls[0].function.arguments, '{"city":"Bern"}');
});

test('TL-18 two tool calls in one answer each get their end', async () => {
	const f = await run('[[tool a {"x":1}]] [[tool b {"y":2}]]');
	const ids = f.of('tool.started').map((e) => e.toolCallId);
	assert.equal(new Set(ids).size, 2);
	assert.deepEqual(f.of('tool.failed').map((e) => e.toolCallId), ids);
	assert.equal(f.turn.type, 'turn.completed');
});

test('EV-44 no model configured: the turn fails with no_model_configured and says what to do', async () => {
	const bare = await startAgentd({ dataDir: newFolder() });
	const f = await run('hello', {}, bare);
	const { status, error } = f.turn.payload;
	assert.deepEqual([status, error.category], ['failed', 'no_model_configured']);
	assert.match(error.recoveryAdvice, /OPENAI_BASE_URL/);
	assert.equal(f.of('model.requested').length, 0);
	await bare.stop();
});

test('EV-44 a provider that is not there: failures with a category, then the turn fails', async () => {
	const gone = await startAgentd({ env: { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }, config: CONFIG });
	const f = await run('hello', {}, gone);
	assert.equal(failures(f).length, 3);
	assert.equal(f.turn.payload.status, 'failed');
	assert.equal(f.turn.payload.error.retryable, true);
	await gone.stop();
});

test('CP-07 options of the turn choose the model; they are kept with the turn', async () => {
	const f = await run('hello', { turnId: 'chosen', options: { model: 'other-model' } });
	assert.equal(model.log('chosen')[0].body.model, 'other-model');
	assert.equal(f.of('model.requested')[0].payload.model, 'other-model');
	assert.deepEqual(f.of('turn.submitted')[0].payload.options, { model: 'other-model' });
	assert.deepEqual(JSON.parse(await read(f.of('turn.started')[0].payload.inputSnapshotRef)).options, { model: 'other-model' });
});

test('a key of the provider is in no event, not even when the provider repeats it', async () => {
	const keyed = await startAgentd({ model, env: { OPENAI_API_KEY: 'sk-planted-secret-0123456789' }, config: CONFIG });
	const f = await run('[[http 401 echo-auth]]', { turnId: 'leaky' }, keyed);
	assert.equal(model.log('leaky')[0].headers.authorization, 'Bearer sk-planted-secret-0123456789');
	assert.ok(!f.facts.some(({ data }) => data.includes('planted-secret')));
	assert.equal(f.turn.payload.error.retryable, false);
	await keyed.stop();
});

test('EV-46 EV-02 a client that loses its connection again and again in mid-token misses nothing and gets nothing twice', async () => {
	const { sessionId, turnId } = await submit(rt, '[[tokens 120]] [[delay 4]]');
	const f = await follow(rt, sessionId);
	const whole = await follow(rt, sessionId);
	for (let n = 0; n < 15 && !f.end(turnId); n++) {
		await f.until(() => f.frames > n * 8 || f.end(turnId), 'some frames');
		await f.resume();
	}
	await Promise.all([f.ended(turnId), whole.ended(turnId)]);
	const [{ stepId }] = f.of('model.requested');
	assert.equal(f.text(stepId), Array.from({ length: 120 }, (_, i) => `w${i} `).join(''));
	assert.equal(f.text(stepId), await read(f.end(turnId).payload.outputRef));
	assert.deepEqual(f.facts.map((x) => x.data).slice(0, whole.facts.length), whole.facts.map((x) => x.data));
	assert.ok(f.connections > 5);
	f.check();
	whole.check();
});
