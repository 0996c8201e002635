// Hooks: commands and endpoints that are asked at points of a turn, against the scripted model. A handler is one shell script that keeps the document it
// was given and then does what the test wrote into a file of its name; without such a file it says nothing.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { newFolder, ok, readLog, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

const POINTS = ['session_start', 'user_prompt_submit', 'pre_tool_use', 'permission_request', 'post_tool_use', 'post_tool_failure', 'post_sampling', 'stop'];
const folder = newFolder();
const script = join(folder, 'handler');
const SECRET = 'hunter2-planted-secret';
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
		command('pre_slow', 'pre_tool_use', { timeout_ms: 300 }),
		command('pre_2', 'pre_tool_use'),
		command('post_closed', 'post_tool_use', { on_failure: 'closed' }),
		command('stop_closed', 'stop', { on_failure: 'closed' }),
		{ name: 'web', point: 'user_prompt_submit', url: `http://127.0.0.1:${port}/hook`, timeout_ms: 2000 },
	];
}

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
	w = await world({ model, config: { hooks: hooks(server.address().port) }, env: { OPENAI_API_KEY: SECRET } });
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
async function runTool(call, answer = 'the answer', more = {}) {
	const { sessionId, turnId } = await submit(w.rt, call, { options });
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
	const { sessionId, turnId } = await submit(w.rt, `${ask('look_up', 'a')}${ask('look_up', 'b')}`, { options });
	const first = await begun(sessionId, 1);
	const second = await begun(sessionId, 2);
	await report(first.toolCallId, 'fine');
	await report(second.toolCallId, 'gone', { status: 'error', category: 'not_found' });
	const events = await finished(sessionId, turnId);
	const started = of(events, 'hook.started');
	for (const point of POINTS.filter((p) => p !== 'permission_request'))
		assert.ok(started.some((e) => e.payload.hookPoint === point && e.payload.handlerRef === point), point);
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
