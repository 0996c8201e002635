// Hooks: commands and endpoints that are asked at points of a turn, against the scripted model. A handler is one shell script that keeps the document it
// was given and then does what the test wrote into a file of its name; without such a file it says nothing.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { follow, newFolder, ok, readLog, request, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

const POINTS = ['session_start', 'user_prompt_submit', 'pre_tool_use', 'permission_request', 'post_tool_use', 'post_tool_failure', 'post_sampling', 'stop'];
const folder = newFolder();
const script = join(folder, 'handler');
const SECRET = 'hunter2-planted-secret';
const ENV_MARK = 'planted-in-the-environment';
const FILE_MARK = 'planted-in-a-private-file';
const UI_MARK = 'planted-by-a-client';
const workspace = newFolder();
let w;
let endpoint; // what the HTTP handler answers: (document) => ({ status, body })
let server;

writeFileSync(script, `name=$1
mkdir -p ${folder}/in
cat >${folder}/in/$(date +%s%N).$name
env >${folder}/env
[ -f ${folder}/$name.do ] && . ${folder}/$name.do
exit 0
`);

const command = (name, point, more = {}) => ({ name, point, command: `sh ${script} ${name}`, timeout_ms: 5000, ...more });

function hooks(port) {
	return [
		...POINTS.map((point) => command(point, point)),
		command('prompt_2', 'user_prompt_submit'),
		command('prompt_closed', 'user_prompt_submit', { on_failure: 'closed' }),
		command('pre_set', 'pre_tool_use', { match: 'set_*' }),
		command('pre_open', 'pre_tool_use', { on_failure: 'open' }),
		command('pre_slow', 'pre_tool_use', { timeout_ms: 2000 }),
		command('pre_2', 'pre_tool_use'),
		command('post_closed', 'post_tool_use', { on_failure: 'closed' }),
		command('stop_closed', 'stop', { on_failure: 'closed' }),
		{ name: 'web', point: 'user_prompt_submit', url: `http://127.0.0.1:${port}/hook`, timeout_ms: 2000 },
	];
}

const settings = () => ({ hooks: hooks(server.address().port), 'tools.workspace': workspace });

before(async () => {
	server = http.createServer((req, res) => {
		let text = '';
		req.on('data', (piece) => (text += piece)).on('end', () => {
			const { status = 200, body = '' } = endpoint(JSON.parse(text));
			res.writeHead(status, { 'content-type': 'application/json' }).end(body);
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	const model = await startModel();
	writeFileSync(join(workspace, '.env'), FILE_MARK);
	w = await world({ model, config: settings(), env: { OPENAI_API_KEY: SECRET, UNRELATED: ENV_MARK } });
});
after(() => server.close());

beforeEach(() => {
	endpoint = () => ({});
	for (const file of readdirSync(folder)) if (file.endsWith('.do')) rmSync(join(folder, file));
	rmSync(join(folder, 'in'), { recursive: true, force: true });
	mkdirSync(join(folder, 'in'));
});

/** What the handler does: a line of shell, or an object that it prints. */
function does(name, what) {
	writeFileSync(join(folder, `${name}.do`), typeof what === 'string' ? what : `cat <<'END'\n${JSON.stringify(what)}\nEND\n`);
}

/** The documents that a handler was given, oldest first. */
const given = (name) =>
	readdirSync(join(folder, 'in')).sort().filter((f) => f.endsWith(`.${name}`)).map((f) => JSON.parse(readFileSync(join(folder, 'in', f), 'utf8')));

const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
const options = {
	tools: [
		{ name: 'look_up', description: 'Looks something up.', inputSchema: schema, isReadOnly: true },
		{ name: 'set_value', description: 'Sets something.', inputSchema: schema },
	],
};
const ask = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const of = (events, ...types) => events.filter((e) => types.includes(e.type));
const bytes = async (ref) => (await ok(w.rt, 'read_output', { outputRef: ref })).content;
const begun = (sessionId, n = 1) => waitFor(async () => of(await log(sessionId), 'tool.started')[n - 1], `tool call ${n}`);
const question = (sessionId) => waitFor(async () => of(await log(sessionId), 'action.required')[0], 'a question');
const report = (toolCallId, output, more = {}) => ok(w.rt, 'report_tool_result', { toolCallId, output, ...more });

async function finished(sessionId, turnId) {
	return waitFor(async () => {
		const events = await log(sessionId);
		return events.some((e) => e.turnId === turnId && ['turn.completed', 'turn.failed'].includes(e.type)) && events;
	}, 'the end of the turn');
}

/** A turn without tools, to its end. */
async function run(text, more = {}) {
	const receipt = await submit(w.rt, text, more);
	return { ...receipt, events: await finished(receipt.sessionId, receipt.turnId) };
}

/** A turn with one call, which the client answers. */
async function runTool(call, answer = 'the answer', more = {}, where) {
	const { sessionId, turnId } = await submit(w.rt, call, { options, ...(where ? { sessionId: where } : {}) });
	const started = await begun(sessionId);
	if (answer !== null) await report(started.toolCallId, answer, more);
	return { sessionId, turnId, started, events: await finished(sessionId, turnId) };
}

const last = (events) => events.filter((e) => ['turn.completed', 'turn.failed'].includes(e.type)).at(-1);
/** What the model was asked last, as a list of messages. */
const asked = (turnId) => w.model.log(turnId).at(-1).body.messages;
const textOf = (message) => (typeof message.content === 'string' ? message.content : message.content.map((p) => p.text).join('\n'));

function endOf(events, handler) {
	return of(events, 'hook.completed', 'hook.failed').filter((e) => e.payload.handlerRef === handler).at(-1);
}

test('HK-01 HK-13 every point asks its handler once, with a fact before it runs and one after', async () => {
	const { sessionId, turnId } = await submit(w.rt, `${ask('look_up', 'a')}${ask('set_value', 'b')}`, { options });
	const first = await begun(sessionId, 1);
	const { actionId } = await question(sessionId);
	await ok(w.rt, 'respond_action', { actionId, decision: 'allow' });
	await report(first.toolCallId, 'fine');
	const second = await begun(sessionId, 2);
	await report(second.toolCallId, 'gone', { status: 'error', category: 'not_found' });
	const events = await finished(sessionId, turnId);
	const started = of(events, 'hook.started');
	for (const point of POINTS) {
		const told = started.filter((e) => e.payload.hookPoint === point && e.payload.handlerRef === point);
		assert.ok(told.length > 0, point);
		assert.deepEqual(told.map((e) => e.eventId).sort(), given(point).map((d) => d.hookRunId).sort(), `${point}: one fact for each time that it was asked`);
		assert.deepEqual([...new Set(told.map((e) => e.payload.timeoutMs))], [5000]);
	}
	const ends = of(events, 'hook.completed');
	assert.equal(ends.length, started.length);
	for (const e of started) {
		assert.equal(e.turnId, turnId);
		assert.equal(e.payload.timeoutMs > 0, true);
		assert.equal(e.payload.scopeIds.turnId, turnId);
		const end = ends.find((x) => x.payload.hookRunRef === e.eventId);
		assert.ok(end && end.sequence > e.sequence, e.payload.handlerRef);
		assert.equal(end.payload.decision, 'continue');
	}
	assert.equal(last(events).type, 'turn.completed');
	assert.equal(started.filter((e) => e.payload.hookPoint === 'session_start').length, 1);
	const next = await run('again', { sessionId });
	assert.equal(of(next.events, 'hook.started').filter((e) => e.payload.hookPoint === 'session_start').length, 1, 'only the first turn of a session');
});

// ---- before the first request ----

test('HK-02 OPEN-61 a handler that objects to the prompt ends the turn before any model is asked; the input stays for audit', async () => {
	const start = w.model.log().length;
	for (const [how, reason] of [
		[{ decision: 'block', reason: 'not on sundays' }, 'not on sundays'],
		['echo "no entry" >&2; exit 2', 'no entry'],
		[{ continue: false, reason: 'stop here' }, 'stop here'],
		[{ decision: 'deny', reason: 'never' }, 'never'],
	]) {
		does('user_prompt_submit', how);
		const { events } = await run('a planned question');
		const end = last(events);
		assert.equal(end.type, 'turn.failed');
		assert.equal(end.payload.error.category, 'blocked_by_hook');
		assert.match(end.payload.error.message, new RegExp(reason));
		assert.equal(of(events, 'model.requested').length, 0);
		const types = events.map((e) => e.type);
		assert.ok(types.indexOf('turn.submitted') < types.indexOf('hook.started'));
		const [submitted] = of(events, 'turn.submitted');
		assert.match(await bytes(submitted.payload.inputRef), /a planned question/);
		const done = endOf(events, 'user_prompt_submit');
		assert.equal(done.payload.reason, reason);
		assert.equal(of(events, 'hook.started').some((e) => e.payload.handlerRef === 'prompt_2'), false, 'nobody else is asked');
	}
	assert.equal(w.model.log().length, start);
});

test('HK-14 OPEN-61 a rewrite reaches the next handler and the model; the input before it stays', async () => {
	does('user_prompt_submit', { updatedInput: '[[say first]]' });
	does('prompt_2', { updatedInput: '[[say second]]', auditRefs: ['audit_7'], suppressOutput: true });
	const { events, turnId } = await run('[[say original]]');
	assert.equal(given('prompt_2')[0].prompt.text, '[[say first]]');
	assert.equal(await bytes(last(events).payload.outputRef), 'second');
	const [one, two] = ['user_prompt_submit', 'prompt_2'].map((name) => endOf(events, name).payload);
	const [submitted] = of(events, 'turn.submitted');
	assert.equal(one.originalInputRef, submitted.payload.inputRef);
	assert.equal(two.originalInputRef, one.updatedInputRef);
	assert.match(await bytes(two.updatedInputRef), /say second/);
	assert.match(await bytes(submitted.payload.inputRef), /say original/);
	assert.deepEqual([two.auditRefs, two.suppressOutput], [['audit_7'], true]);
	assert.equal(asked(turnId).filter((m) => m.role === 'user').length, 1);
});

test('HK-02 context that handlers add stands before the input, that of the session first', async () => {
	does('session_start', { additionalContext: 'the session is in Rome' });
	does('user_prompt_submit', { additionalContext: ['it is May', 'it rains'] });
	const { sessionId, turnId, events } = await run('[[say fine]]');
	const texts = asked(turnId).filter((m) => m.role === 'user').map(textOf);
	assert.deepEqual(texts, ['the session is in Rome', 'it is May', 'it rains', '[[say fine]]']);
	assert.equal(endOf(events, 'user_prompt_submit').payload.additionalContextRefs.length, 2);
	rmSync(join(folder, 'user_prompt_submit.do'));
	const next = await run('[[say more]]', { sessionId });
	assert.deepEqual(asked(next.turnId).filter((m) => m.role === 'user').map(textOf), [...texts, '[[say more]]'], 'it stays in the conversation');
});

test('an endpoint is asked like a command, and may object', async () => {
	let document;
	endpoint = (d) => ((document = d), { body: JSON.stringify({ additionalContext: 'from the web' }) });
	const { turnId } = await run('[[say ok]]');
	assert.equal(document.hookPoint, 'user_prompt_submit');
	assert.deepEqual(asked(turnId).filter((m) => m.role === 'user').map(textOf), ['from the web', '[[say ok]]']);
	endpoint = () => ({ body: '{"decision":"block","reason":"says the web"}' });
	assert.match(last((await run('x')).events).payload.error.message, /hook 'web' stopped the turn: says the web/);
	endpoint = () => ({ status: 500 });
	const { events } = await run('[[say still]]');
	assert.equal(last(events).type, 'turn.completed');
	assert.equal(endOf(events, 'web').payload.errorCategory, 'hook_error');
	assert.match(endOf(events, 'web').payload.message, /status 500/);
});

test('HK-10 HK-15 a context handler that fails is warned about and the turn goes on, unless it was declared closed', async () => {
	does('user_prompt_submit', 'echo broken pipe dream >&2; exit 3');
	const { events } = await run('[[say ok]]');
	assert.equal(last(events).type, 'turn.completed');
	const failed = endOf(events, 'user_prompt_submit').payload;
	assert.deepEqual([failed.errorCategory, failed.failMode, failed.timedOut], ['hook_error', 'fail_open', false]);
	assert.match(failed.message, /exit status 3: broken pipe dream/);
	assert.ok(of(events, 'runtime.warning').some((e) => e.payload.code === 'hook_failed' && /user_prompt_submit/.test(e.payload.message)));
	does('prompt_closed', 'exit 1');
	const closed = await run('[[say ok]]');
	assert.equal(last(closed.events).payload.error.category, 'blocked_by_hook');
	assert.equal(endOf(closed.events, 'prompt_closed').payload.failMode, 'fail_closed');
	assert.equal(of(closed.events, 'model.requested').length, 0);
});

test('HK-08 what means nothing is a failure, never consent', async () => {
	for (const said of ['echo not json', 'echo "[1]"', { decision: 'maybe' }, { desicion: 'block' }, { decision: 'ask' }, { updatedToolOutput: 'x' },
		{ updatedInput: 7 }, { additionalContext: [1] }, { auditRefs: 'x' }]) {
		does('prompt_closed', said);
		const { events } = await run('[[say ok]]');
		const failed = endOf(events, 'prompt_closed');
		assert.equal(failed.type, 'hook.failed', JSON.stringify(said));
		assert.equal(failed.payload.errorCategory, 'invalid_output');
		assert.equal(last(events).payload.error.category, 'blocked_by_hook');
	}
});

// ---- tool calls ----

test('AC-12 HK-12 HK-14 a handler rewrites the arguments: the tool gets the new ones, both are kept, the result names the run', async () => {
	does('pre_tool_use', { updatedInput: { q: 'rewritten' } });
	does('pre_2', 'grep -q rewritten $(ls -t ' + folder + '/in/*.pre_2 | head -1) && echo \'{"updatedInput":{"q":"twice"}}\'');
	const { started, events } = await runTool(ask('look_up', 'original'));
	assert.equal(await bytes(started.payload.inputRef), '{"q":"twice"}');
	const [one, two] = ['pre_tool_use', 'pre_2'].map((name) => endOf(events, name));
	assert.equal(await bytes(one.payload.originalInputRef), '{"q":"original"}');
	assert.equal(await bytes(one.payload.updatedInputRef), '{"q":"rewritten"}');
	assert.equal(two.payload.originalInputRef, one.payload.updatedInputRef);
	assert.equal(one.toolCallId, started.toolCallId);
	assert.equal(of(events, 'permission.evaluated')[0].payload.updatedInputRef, two.payload.updatedInputRef);
	const [result] = of(events, 'tool.result');
	assert.ok(result.payload.hookRunRefs.includes(one.payload.hookRunRef) && result.payload.hookRunRefs.includes(two.payload.hookRunRef));
	assert.equal(last(events).type, 'turn.completed');
});

test('TL-15 arguments stream in, then a frame says that they are complete, and one for each rewrite; secrets in them are masked', async () => {
	does('pre_tool_use', { updatedInput: { q: 'rewritten' } });
	for (const [q, mark] of [['a longer question, to come in pieces', 'a longer'], [SECRET, 'redacted']]) {
		const { sessionId, turnId } = await submit(w.rt, '[[say hello]]');
		await finished(sessionId, turnId);
		const reader = await follow(w.rt, sessionId);
		await reader.ended(turnId); // it has caught up: from here on it gets what is only for those who read now
		const next = await submit(w.rt, `[[delay 5]][[tool look_up {"q":"${q}"}]]`, { sessionId, options });
		const started = await begun(sessionId);
		await report(started.toolCallId, 'fine');
		await reader.ended(next.turnId);
		reader.check();
		reader.stop();
		const streamed = Buffer.concat(reader.outputs.get(`${started.stepId}:tool.args:${started.toolCallId}`).pieces).toString();
		const [rewritten, complete, ...more] = reader.args.filter((e) => e.toolCallId === started.toolCallId);
		assert.deepEqual([more.length, complete.payload.complete, complete.payload.inputRef], [0, true, started.payload.inputRef], 'what the tool got');
		assert.equal(await bytes(complete.payload.inputRef), '{"q":"rewritten"}');
		assert.deepEqual([rewritten.payload.complete, rewritten.payload.updatedInputRef], [true, started.payload.inputRef]);
		assert.equal(await bytes(rewritten.payload.inputRef), streamed, 'the pieces add up to what was rewritten');
		assert.ok(streamed.includes(mark) && !streamed.includes(SECRET), streamed);
	}
});

test('arguments that a handler broke do not reach the tool', async () => {
	does('pre_tool_use', { updatedInput: { q: 7 } });
	const { events } = await runTool(ask('look_up', 'x'), null);
	const [failed] = of(events, 'tool.failed');
	assert.equal(failed.payload.errorCategory, 'invalid_arguments');
	assert.equal(of(events, 'permission.evaluated').length, 0);
});

test('AC-12 a handler blocks a call: it never runs, the reason and the run are on it, and the model reads why', async () => {
	does('pre_set', { decision: 'block', reason: 'values are frozen' });
	const { events } = await runTool(ask('set_value', 'x'), null);
	const [failed] = of(events, 'tool.failed');
	assert.deepEqual([failed.payload.status, failed.payload.errorCategory], ['blocked', 'blocked_by_hook']);
	assert.equal(failed.payload.hookRunRef, endOf(events, 'pre_set').payload.hookRunRef);
	assert.match(await bytes(failed.payload.errorRef), /hook 'pre_set' stopped this call: values are frozen/);
	assert.equal(of(events, 'permission.evaluated').length, 0);
	assert.match(await bytes(last(events).payload.outputRef), /values are frozen/);
	const other = await runTool(ask('look_up', 'x'));
	assert.equal(of(other.events, 'tool.result').length, 1, 'the pattern names other tools');
	assert.equal(endOf(other.events, 'pre_set'), undefined);
});

test('HK-09 HK-11 HK-15 a handler before a tool that crashes or is late stops the call; declared open it does not', async () => {
	does('pre_tool_use', 'kill -9 $$');
	const crashed = await runTool(ask('look_up', 'x'), null);
	assert.equal(of(crashed.events, 'tool.failed')[0].payload.status, 'blocked');
	assert.equal(endOf(crashed.events, 'pre_tool_use').payload.failMode, 'fail_closed');
	does('pre_tool_use', '');
	does('pre_slow', 'sleep 20');
	const slow = async () => {
		const { text } = await request(w.rt, { path: '/metrics', method: 'GET' });
		const value = (name) => Number(new RegExp(`^agentd_hook_duration_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
		return { count: value('count'), sum: value('sum') };
	};
	const before = await slow();
	const late = await runTool(ask('look_up', 'x'), null);
	const now = await slow();
	assert.ok(now.count > before.count && now.sum - before.sum >= 1.9, `its time is in the metrics: ${JSON.stringify([before, now])}`);
	const { payload } = endOf(late.events, 'pre_slow');
	assert.deepEqual([payload.errorCategory, payload.timedOut, payload.failMode, payload.retryable], ['timeout', true, 'fail_closed', true]);
	assert.ok(payload.durationMs >= 1900 && payload.durationMs < 15000);
	assert.equal(of(late.events, 'tool.failed')[0].payload.status, 'blocked');
	does('pre_slow', '');
	does('pre_open', 'exit 1');
	const open = await runTool(ask('look_up', 'x'));
	assert.equal(endOf(open.events, 'pre_open').payload.failMode, 'fail_open');
	assert.equal(of(open.events, 'tool.result').length, 1);
	assert.ok(of(open.events, 'runtime.warning').length > 0);
});

test('HK-03 what a tool said may be rewritten, objected to and commented; the model reads that', async () => {
	does('post_tool_use', { updatedToolOutput: 'the short answer' });
	const rewritten = await runTool(ask('look_up', 'x'), 'a very long answer');
	const done = endOf(rewritten.events, 'post_tool_use');
	assert.equal(await bytes(done.payload.updatedToolOutputRef), 'the short answer');
	assert.equal(await bytes(of(rewritten.events, 'tool.result')[0].payload.outputRef), 'a very long answer');
	assert.match(await bytes(last(rewritten.events).payload.outputRef), /The tool said: the short answer/);
	does('post_tool_use', { decision: 'block', reason: 'that is outdated', additionalContext: 'ask again tomorrow' });
	const { events } = await runTool(ask('look_up', 'x'), 'old news');
	const said = await bytes(last(events).payload.outputRef);
	for (const words of [/old news/, /that is outdated/, /ask again tomorrow/]) assert.match(said, words);
	does('post_tool_use', '');
	does('post_tool_failure', { additionalContext: 'try the other catalogue' });
	const failed = await runTool(ask('look_up', 'x'), 'no such page', { status: 'error', category: 'not_found' });
	assert.match(await bytes(last(failed.events).payload.outputRef), /no such page[^]*try the other catalogue/);
	assert.equal(given('post_tool_failure')[0].toolFailure.category, 'not_found');
	const advice = endOf(failed.events, 'post_tool_failure');
	assert.equal(advice.type, 'hook.completed');
	assert.deepEqual(JSON.parse(await bytes(advice.payload.additionalContextRefs[0])), [{ type: 'text', text: 'try the other catalogue' }]);
	does('post_closed', 'exit 1');
	const closed = await runTool(ask('look_up', 'x'));
	assert.equal(last(closed.events).payload.error.category, 'blocked_by_hook');
});

test('calls that run together are asked about one by one, and each answer goes to its call', async () => {
	does('post_tool_use', `grep -q '"q":"b"' $(ls -t ${folder}/in/*.post_tool_use | head -1) && echo '{"updatedToolOutput":"for b"}'`);
	const { sessionId, turnId } = await submit(w.rt, `${ask('look_up', 'a')}${ask('look_up', 'b')}`, { options });
	const [one, two] = [await begun(sessionId, 1), await begun(sessionId, 2)];
	await report(one.toolCallId, 'same');
	await waitFor(async () => endOf(await log(sessionId), 'post_closed'), 'the handlers of the first');
	await report(two.toolCallId, 'same');
	await finished(sessionId, turnId);
	assert.deepEqual(asked(turnId).filter((m) => m.role === 'tool').map(textOf), ['same', 'for b']);
});

// ---- permission ----

const judged = (events) => of(events, 'permission.evaluated').map((e) => [e.payload.decision, e.payload.decisionSource]);

test('HK-03 a handler decides in the place of a person, before anybody is asked', async () => {
	does('permission_request', { decision: 'allow', reason: 'small change' });
	const allowed = await runTool(ask('set_value', 'x'));
	assert.deepEqual(judged(allowed.events), [['allow', 'hook']]);
	assert.equal(of(allowed.events, 'action.required').length, 0);
	assert.equal(of(allowed.events, 'tool.result').length, 1);
	assert.match(of(allowed.events, 'permission.evaluated')[0].payload.decisionReason, /small change/);
	does('permission_request', { decision: 'deny', reason: 'large change' });
	const denied = await runTool(ask('set_value', 'x'), null);
	assert.deepEqual(judged(denied.events), [['deny', 'hook']]);
	const [failed] = of(denied.events, 'tool.failed');
	assert.equal(failed.payload.status, 'denied');
	assert.equal(failed.payload.hookRunRef, endOf(denied.events, 'permission_request').payload.hookRunRef);
	assert.equal(of(denied.events, 'action.required').length, 0);
	assert.deepEqual(of((await runTool(ask('look_up', 'x'))).events, 'hook.started').filter((e) => e.payload.hookPoint === 'permission_request'), [],
		'nobody would have been asked');
});

test('HK-09 a handler in the place of a person that fails denies', async () => {
	does('permission_request', 'exit 9');
	const { events } = await runTool(ask('set_value', 'x'), null);
	assert.deepEqual(judged(events), [['deny', 'hook']]);
	assert.equal(endOf(events, 'permission_request').payload.failMode, 'fail_closed');
	assert.equal(of(events, 'action.required').length, 0);
});

test('a handler that says nothing leaves it to a person', async () => {
	const { sessionId, turnId } = await submit(w.rt, ask('set_value', 'x'), { options });
	const { actionId } = await question(sessionId);
	await ok(w.rt, 'respond_action', { actionId, decision: 'allow' });
	await report((await begun(sessionId)).toolCallId, 'done');
	assert.equal(last(await finished(sessionId, turnId)).type, 'turn.completed');
});

test('what a handler allows, asks and denies before a call is one voice: rules that deny or ask are louder', async () => {
	does('pre_tool_use', { decision: 'allow' });
	assert.deepEqual(judged((await runTool(ask('set_value', 'x'))).events), [['allow', 'hook']]);
	does('pre_tool_use', { decision: 'ask', reason: 'look twice' });
	const asks = await submit(w.rt, ask('look_up', 'x'), { options });
	const { actionId } = await question(asks.sessionId);
	await ok(w.rt, 'respond_action', { actionId, decision: 'deny' });
	assert.equal(of(await finished(asks.sessionId, asks.turnId), 'tool.failed')[0].payload.status, 'denied');
	for (const point of ['pre_tool_use', 'permission_request']) does(point, { decision: 'allow' });
	for (const decision of ['ask', 'deny']) {
		const { sessionId } = await ok(w.rt, 'create_session', {});
		await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { rules: [{ name: 'careful', tool: 'set_*', decision }] } });
		const { turnId } = await submit(w.rt, ask('set_value', 'x'), { sessionId, options });
		if (decision === 'ask') await ok(w.rt, 'respond_action', { actionId: (await question(sessionId)).actionId, decision: 'deny' });
		const events = await finished(sessionId, turnId);
		assert.deepEqual(judged(events), [[decision, 'rule']]);
		assert.equal(of(events, 'tool.failed')[0].payload.status, 'denied');
	}
});

// ---- the answer and the end ----

test('HK-03 a handler that objects to an answer ends the turn', async () => {
	does('post_sampling', `grep -q 'say bad' $(ls -t ${folder}/in/*.post_sampling | head -1) && echo '{"decision":"block","reason":"bad words"}'`);
	const { events } = await run('[[say bad]]');
	assert.equal(last(events).payload.error.category, 'blocked_by_hook');
	assert.match(last(events).payload.error.message, /bad words/);
	assert.equal(given('post_sampling')[0].answer.text, 'bad');
	const done = endOf(events, 'post_sampling');
	assert.deepEqual([done.type, done.payload.decision, done.payload.reason], ['hook.completed', 'block', 'bad words']);
	assert.equal(last((await run('[[say good]]')).events).type, 'turn.completed');
	does('post_sampling', { decision: 'block', reason: 'no tools today' });
	const { sessionId, turnId } = await submit(w.rt, ask('look_up', 'x'), { options });
	const tool = await finished(sessionId, turnId);
	assert.equal(last(tool).payload.error.category, 'blocked_by_hook');
	assert.deepEqual(given('post_sampling').at(-1).answer.toolCalls.map((c) => [c.name, c.input]), [['look_up', { q: 'x' }]]);
	assert.equal(of(tool, 'tool.failed')[0].payload.status, 'cancelled');
	assert.equal(of(tool, 'tool.result').length, 0);
});

test('a call goes on after a handler looked at the answer', async () => {
	does('post_sampling', { decision: 'continue' });
	const { events } = await runTool(ask('look_up', 'x'));
	assert.equal(last(events).type, 'turn.completed');
	assert.equal(of(events, 'hook.started').filter((e) => e.payload.hookPoint === 'post_sampling').length, 2);
});

test('HK-04 a handler keeps the turn from ending once; the reason is said to the model; both runs are facts', async () => {
	const flag = join(folder, 'blocked-once');
	does('stop', `if [ -f ${flag} ]; then echo '{"reason":"looked at twice","auditRefs":["note-7"]}'; else touch ${flag}; echo '{"decision":"block","reason":"[[say the tests too]]"}'; fi`);
	const { events, turnId } = await run('[[say done]]');
	rmSync(flag);
	assert.equal(last(events).type, 'turn.completed');
	assert.equal(await bytes(last(events).payload.outputRef), 'the tests too');
	const ends = of(events, 'hook.completed').filter((e) => e.payload.handlerRef === 'stop');
	assert.deepEqual(ends.map((e) => e.payload.decision), ['block', 'continue']);
	assert.deepEqual([ends[1].payload.reason, ends[1].payload.auditRefs], ['looked at twice', ['note-7']], 'a note');
	assert.deepEqual(asked(turnId).map((m) => [m.role, textOf(m)]).filter(([role]) => role !== 'system'),
		[['user', '[[say done]]'], ['assistant', 'done'], ['user', '[[say the tests too]]']]);
});

test('a handler that never lets a turn end is overruled after three times', async () => {
	does('stop', { decision: 'block', reason: '[[say more]]' });
	const { events } = await run('[[say done]]');
	assert.equal(last(events).type, 'turn.completed');
	assert.equal(of(events, 'model.requested').length, 4);
	assert.ok(of(events, 'runtime.warning').some((e) => e.payload.code === 'stop_hook_limit'));
	does('stop', '');
	does('stop_closed', 'exit 1');
	assert.equal(last((await run('[[say done]]')).events).payload.error.category, 'blocked_by_hook');
});

// ---- what handlers see ----

test('HK-06 HK-07 the document has scope, mode, routing and refs, and neither it nor the environment a secret', async () => {
	const clients = await ok(w.rt, 'create_session', { title: UI_MARK });
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: clients.sessionId, policy: { rules: [{ name: 'no-drop', tool: 'drop', decision: 'deny' }] } });
	const { sessionId, turnId, started, events } = await runTool(ask('look_up', `tea ${SECRET}`), `found ${SECRET}`, {}, clients.sessionId);
	const [before] = given('pre_tool_use');
	assert.equal(before.hookPoint, 'pre_tool_use');
	assert.deepEqual([before.sessionId, before.turnId, before.toolCallId, before.threadId], [sessionId, turnId, started.toolCallId, started.threadId]);
	assert.equal(before.hookRunId, of(events, 'hook.started').find((e) => e.payload.handlerRef === 'pre_tool_use').eventId);
	assert.equal(before.tool.name, 'look_up');
	assert.match(before.tool.input.q, /^tea /);
	for (const member of ['permissionMode', 'workspaceId', 'cwd', 'sandbox', 'routing', 'transcriptRef', 'prompt']) assert.ok(member in before, member);
	assert.equal(before.sandbox.state, 'not_applicable');
	assert.equal(before.permissionMode, 'default');
	assert.equal(before.routing.model, of(events, 'model.requested')[0].payload.model);
	assert.match(await bytes(before.transcriptRef), /"append"/);
	const [afterwards] = given('post_tool_use');
	assert.match(afterwards.toolOutput.text, /^found /);
	const everything = readdirSync(join(folder, 'in')).map((f) => readFileSync(join(folder, 'in', f), 'utf8')).join('\n');
	const env = readFileSync(join(folder, 'env'), 'utf8');
	for (const mark of [SECRET, ENV_MARK, FILE_MARK, UI_MARK]) assert.deepEqual([everything.includes(mark), env.includes(mark)], [false, false], mark);
	assert.deepEqual([before.policyRef, before.cwd], [of(events, 'policy.changed')[0].payload.policyRef, workspace]);
	assert.match(env, new RegExp(`AGENTRUNTIME_SESSION_ID=${sessionId}`));
});

test('HK-07 a secret in what a handler says is masked, and told', async () => {
	does('user_prompt_submit', { decision: 'block', reason: `the key ${SECRET} is in it` });
	const { events } = await run('x');
	assert.equal(JSON.stringify(events).includes(SECRET), false);
	assert.ok(of(events, 'output.redacted').length > 0);
	assert.match(endOf(events, 'user_prompt_submit').payload.reason, /the key .+ is in it/);
});

test('AN-07 AN-13 5 MB from a handler are in no fact: it fails, and output.truncated has both sizes and the beginning', async () => {
	for (const name of ['prompt_closed', 'web']) {
		if (name === 'web') endpoint = () => ({ body: 'x'.repeat(5 * 1024 * 1024) });
		else does(name, 'yes | head -c 5242880');
		const { sessionId, events } = await run('[[say ok]]');
		const failed = endOf(events, name);
		assert.deepEqual([failed.type, failed.payload.errorCategory], ['hook.failed', 'output_too_large']);
		const [cut] = of(events, 'output.truncated');
		assert.deepEqual([cut.payload.truncation, cut.payload.originalSize, cut.payload.keptSize, cut.payload.rawOutputRef], ['head', 5242880, 262144, null]);
		assert.equal((await bytes(cut.outputRef)).length, 262144);
		assert.ok((await readLog(w.rt, sessionId)).every((f) => JSON.stringify(f.event).length < 65536), 'nothing of it is in a payload');
		rmSync(join(folder, `${name}.do`), { force: true });
		endpoint = () => ({});
	}
});

test('AN-13 OU-02 a long reason is cut with a fact, and long context is said to lie in storage; both can be read whole', async () => {
	const reason = 'because '.repeat(1000), context = 'remember this. '.repeat(8000);
	does('prompt_2', { additionalContext: context, reason });
	const { events } = await run('[[say ok]]');
	assert.equal(last(events).type, 'turn.completed');
	const [cut] = of(events, 'output.truncated');
	assert.deepEqual([cut.payload.truncation, cut.payload.originalSize, cut.payload.keptSize], ['head', reason.length, 1024]);
	assert.equal(await bytes(cut.payload.rawOutputRef), reason);
	const [spilled] = of(events, 'output.spilled');
	assert.equal(spilled.payload.owner, 'hook');
	assert.equal(JSON.parse(await bytes(spilled.outputRef))[0].text, context);
});

test('HK-05 a handler acts through commands like everybody else, and its session has the facts', async () => {
	does('stop', `curl -s -X POST ${w.rt.url}/v1/submit_turn -H 'content-type: application/json' -d '{"text":"[[say by hook]]","createPolicy":{}}' >${folder}/other`);
	const { events } = await run('[[say ok]]');
	assert.equal(last(events).type, 'turn.completed');
	does('stop', '');
	const other = JSON.parse(readFileSync(join(folder, 'other'), 'utf8'));
	assert.equal(last(await finished(other.sessionId, other.turnId)).type, 'turn.completed');
});

test('AN-06 a handler has no way to a model or a tool beside the commands: its own request to the provider has no key', async () => {
	const seen = [];
	const provider = http.createServer((req, res) => {
		seen.push(req.headers.authorization);
		res.writeHead(req.headers.authorization === `Bearer ${SECRET}` ? 200 : 401).end();
	});
	await new Promise((done) => provider.listen(0, '127.0.0.1', done));
	try {
		const url = `http://127.0.0.1:${provider.address().port}/v1/chat/completions`;
		does('stop', `curl -s -o /dev/null -w '%{http_code}' -X POST ${url} -H "authorization: Bearer $OPENAI_API_KEY$AGENTD_API_KEY" -d '{}' >${folder}/direct
curl -s -X POST ${w.rt.url}/v1/submit_turn -H 'content-type: application/json' -d '{"text":"${ask('look_up', 'by hook').replaceAll('"', '\\"')}","createPolicy":{},"options":${JSON.stringify(options)}}' >${folder}/other`);
		const { events } = await run('[[say ok]]');
		assert.equal(last(events).type, 'turn.completed');
		does('stop', '');
		assert.equal(readFileSync(join(folder, 'direct'), 'utf8'), '401');
		assert.ok(seen.length > 0 && seen.every((value) => !value?.includes(SECRET)));
		const other = JSON.parse(readFileSync(join(folder, 'other'), 'utf8'));
		const started = await begun(other.sessionId);
		await report(started.toolCallId, 'found');
		const types = (await finished(other.sessionId, other.turnId)).map((e) => e.type);
		for (const type of ['turn.submitted', 'model.requested', 'permission.evaluated', 'tool.started', 'tool.result', 'turn.completed']) assert.ok(types.includes(type), type);
	} finally {
		provider.closeAllConnections();
		provider.close();
	}
});

// ---- interruption and crashes ----

const sleeps = (mark) => readdirSync('/proc').filter((p) => /^\d+$/.test(p)).some((p) => {
	try {
		return readFileSync(`/proc/${p}/cmdline`, 'utf8').includes(mark);
	} catch {
		return false;
	}
});

test('an interruption ends the handler and the turn', async () => {
	does('user_prompt_submit', 'sleep 61.25 & sleep 61.25');
	const { sessionId, turnId } = await submit(w.rt, 'x');
	await waitFor(() => sleeps('61.25'), 'the handler');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	const events = await finished(sessionId, turnId);
	assert.equal(last(events).payload.status, 'cancelled');
	assert.equal(endOf(events, 'user_prompt_submit').payload.errorCategory, 'cancelled');
	await waitFor(() => !sleeps('61.25'), 'the end of the handler');
});

for (const [point, text, answer] of [
	['session_start', '[[say ok]]'],
	['user_prompt_submit', '[[say ok]]'],
	['post_sampling', '[[say ok]]'],
	['stop', '[[say ok]]'],
	['post_sampling', ask('look_up', 'x'), 'fine'],
	['pre_tool_use', ask('look_up', 'x'), 'fine'],
	['permission_request', ask('set_value', 'x'), 'fine'],
	['post_tool_use', ask('look_up', 'x'), 'fine'],
])
	test(`killed at ${point}${answer ? ' with a call' : ''}: the handler is run again and the turn ends once`, async () => {
		const flag = join(folder, `once.${point}`);
		does(point, `[ -f ${flag} ] || { touch ${flag}; sleep 30; }${point === 'permission_request' ? `\necho '{"decision":"allow"}'` : ''}`);
		const { sessionId, turnId } = await submit(w.rt, text, { options });
		if (point === 'post_tool_use') await report((await begun(sessionId)).toolCallId, answer);
		await waitFor(async () => readdirSync(folder).includes(`once.${point}`), 'the handler');
		await w.rt.kill9();
		w.rt = await w.again({ config: settings(), env: { OPENAI_API_KEY: SECRET, UNRELATED: ENV_MARK } });
		if (answer && point !== 'post_tool_use') await report((await begun(sessionId)).toolCallId, answer);
		const events = await finished(sessionId, turnId);
		rmSync(flag);
		const ends = of(events, 'hook.completed', 'hook.failed').filter((e) => e.payload.handlerRef === point);
		assert.deepEqual([ends[0].type, ends[0].payload.errorCategory], ['hook.failed', 'interrupted']);
		assert.equal(ends[1].type, 'hook.completed');
		assert.equal(last(events).type, 'turn.completed');
		assert.equal(of(events, 'turn.completed').length, 1);
		const runs = of(events, 'hook.started').filter((e) => e.payload.handlerRef === point);
		assert.deepEqual(runs.slice(0, 2).map((e) => e.payload.attempt), [1, 2]);
		if (answer) assert.equal(of(events, 'tool.result').length, 1);
	});
