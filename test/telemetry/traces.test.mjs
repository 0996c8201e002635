// Traces: every kind of span of the standard reaches a collector, joined to the facts by their ids, without anything that a person, a file or a key said.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';
import { scrape } from '../ops/scrape.mjs';
import { collector } from './otlp.mjs';

const SECRET = 'correct-horse-battery-staple', IN_FILE = 'the-content-of-the-file', KEY = 'sk-key-of-the-provider-1';
const KINDS = ['interaction', 'task.run', 'context.resolve', 'model.request', 'tool.call', 'process.exec', 'hook.run', 'artifact.write', 'evidence.export'];
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const isRoot = process.getuid() === 0;
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const hash = (word, session, id, bytes) => createHash('sha256').update(`${word}\n${session}\n${id}`).digest('hex').slice(0, 2 * bytes);
const eventsOf = async (rt, sessionId) => (await readLog(rt, sessionId)).map((f) => f.event);
const ended = (rt, { sessionId, turnId }) => waitFor(async () => (await eventsOf(rt, sessionId)).find((e) => e.turnId === turnId && /^turn\.(completed|failed)$/.test(e.type)), 'the end of the turn');

function workspace() {
	const folder = realpathSync(newFolder());
	writeFileSync(join(folder, 'note.txt'), IN_FILE);
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', folder]);
	return folder;
}

/** A service that is a tool, and what it was sent. */
async function service() {
	const seen = [];
	const server = createServer((req, res) => {
		seen.push(req.headers);
		res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	server.unref();
	return { seen, url: `http://127.0.0.1:${server.address().port}/` };
}

const settings = (to, more = {}) => ({ 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20, 'permission.mode': 'bypass', 'model.backoff_ms': 10, ...more });

/** A turn with a file read and written, a command, a hook, a service and a tool that does not exist, then a task and its evidence. */
async function rich(rt) {
	const text = `${SECRET} ${call('read_file', { path: 'note.txt' })}${call('write_file', { path: 'made.txt', content: SECRET })}${call('shell', { command: `echo ${SECRET}` })}${call('order', { q: SECRET })}${call(SECRET, {})}`;
	const headers = { 'content-type': 'application/json', traceparent: PARENT };
	const answer = await request(rt, { path: '/v1/submit_turn', body: JSON.stringify({ createPolicy: {}, text }), headers });
	const turn = JSON.parse(answer.text);
	await ended(rt, turn);
	const { taskId } = await ok(rt, 'create_task', { sessionId: turn.sessionId, objective: SECRET });
	const { runId } = await ok(rt, 'start_task', { taskId });
	await ok(rt, 'complete_task', { taskId, acceptance: [], artifacts: [] });
	await ok(rt, 'export_evidence', { taskId });
	return { ...turn, taskId, runId };
}

let to, rt, tool, turn, events, model, config;

before(async () => {
	to = await collector();
	tool = await service();
	model = await startModel();
	const folder = workspace();
	config = settings(to, {
		'tools.workspace': folder,
		http_tools: [{ name: 'order', description: 'Orders.', url: tool.url, method: 'POST' }],
		hooks: [{ name: 'watch', point: 'pre_tool_use', match: 'read_file', command: `echo '{"decision":"continue"}'` }],
	});
	rt = await startAgentd({ model, config, env: { OPENAI_API_KEY: KEY, OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test%20one,service.name=other' } });
	turn = await rich(rt);
	events = await eventsOf(rt, turn.sessionId);
	const want = new Set(events.map((e) => e.spanId).filter(Boolean));
	await waitFor(() => [...want].every((id) => to.traces.some((s) => s.spanId === id)), () => `spans of ${events.filter((e) => e.spanId && !to.traces.some((s) => s.spanId === e.spanId)).map((e) => e.type)}`);
});

const attribute = (name) => (s) => s.attributes[name];

test('TE-04 TE-07 the nine kinds of spans arrive, each with the ids of session, thread and turn that it has', () => {
	assert.deepEqual(to.bad, []);
	const kinds = new Set(to.traces.map(attribute('agentd.span.kind')));
	assert.deepEqual([...kinds].sort(), [...KINDS].sort());
	const names = new Set(to.traces.map((s) => s.name));
	for (const name of ['invoke_agent agentd', 'invoke_workflow', 'execute_tool read_file', 'execute_tool shell', 'agentd.process.exec']) assert.ok(names.has(name), `${name} of ${[...names]}`);
	for (const s of to.traces) {
		assert.equal(s.attributes['agentd.session.id'], turn.sessionId);
		assert.ok(s.start <= s.end && s.start > 0n, s.name);
		assert.equal(s.schemaUrl, 'https://opentelemetry.io/schemas/1.41.1');
		if (s.attributes['agentd.turn.id']) assert.equal(s.attributes['agentd.thread.id'], turn.threadId);
	}
	const { resource } = to.traces[0];
	assert.deepEqual([resource['service.name'], resource['deployment.environment'], resource['telemetry.sdk.language']], ['shop', 'test one', 'c']);
});

test('EV-08 TE-09 every fact of the turn names its trace and a span that was exported; ids follow from the ids of the log', () => {
	const mine = events.filter((e) => e.turnId === turn.turnId);
	assert.ok(mine.length > 20);
	const trace = hash('trace', turn.sessionId, turn.turnId, 16);
	const spans = new Map(to.traces.map((s) => [s.spanId, s]));
	assert.equal(spans.size, to.traces.length, 'no span is sent twice');
	for (const e of mine) {
		assert.equal(e.traceId, trace, e.type);
		assert.match(e.spanId, /^[0-9a-f]{16}$/);
		assert.equal(spans.get(e.spanId)?.traceId, trace, e.type);
	}
	for (const e of events.filter((f) => !f.turnId && !f.runId && !f.evidenceId)) assert.ok(!('traceId' in e || 'spanId' in e), e.type);
	const model_ = events.find((e) => e.type === 'model.completed');
	assert.equal(model_.spanId, hash('span', turn.sessionId, model_.modelRequestId, 8));
});

test('the spans of a turn form one tree under the turn, which links to the request of the client', () => {
	const mine = to.traces.filter((s) => s.traceId === hash('trace', turn.sessionId, turn.turnId, 16));
	const [root, ...others] = mine.filter((s) => !s.parentSpanId);
	assert.deepEqual([others.length, root.attributes['agentd.span.kind'], root.spanId], [0, 'interaction', hash('span', turn.sessionId, turn.turnId, 8)]);
	const [, traceId, spanId] = PARENT.split('-');
	assert.deepEqual(root.links, [{ traceId, spanId, flags: 0x301 }]);
	const of = new Map(mine.map((s) => [s.spanId, s]));
	for (const s of mine) {
		const up = of.get(s.parentSpanId);
		assert.ok(s === root || up, `${s.name} has a parent`);
		assert.ok(s === root || (s.start >= root.start && s.end <= root.end), `${s.name} is inside the turn`);
	}
	const process = mine.find((s) => s.attributes['agentd.span.kind'] === 'process.exec');
	assert.equal(of.get(process.parentSpanId).name, 'execute_tool shell');
	const submitted = events.find((e) => e.type === 'turn.submitted');
	assert.equal(submitted.payload.traceParent, PARENT);
});

test('MR-08 LI-06 model calls have their usage, turns their route and cost; they join cost.recorded one to one', () => {
	const calls = to.traces.filter((s) => s.attributes['agentd.span.kind'] === 'model.request');
	const costs = events.filter((e) => e.type === 'cost.recorded');
	assert.deepEqual(calls.map(attribute('agentd.model_request.id')).sort(), costs.map((e) => e.modelRequestId).sort());
	for (const cost of costs) {
		const { attributes, traceId, kind, name } = calls.find((s) => s.attributes['agentd.model_request.id'] === cost.modelRequestId);
		assert.deepEqual([attributes['gen_ai.usage.input_tokens'], attributes['gen_ai.usage.output_tokens']], [cost.payload.inputTokens, cost.payload.outputTokens]);
		assert.deepEqual([traceId, kind, attributes['gen_ai.operation.name']], [cost.traceId, 3n, 'chat']);
		assert.ok(name.startsWith('chat ') && attributes['gen_ai.response.finish_reasons'].length === 1);
	}
	const root = to.traces.find((s) => s.attributes['agentd.span.kind'] === 'interaction');
	const decided = events.find((e) => /^routing\.(decided|single_candidate)$/.test(e.type));
	assert.equal(root.attributes['gen_ai.request.model'], decided.payload.selectedModel);
	assert.equal(root.attributes['agentd.model.requests'], costs.length);
});

test('TE-05 AN-41 no prompt, file content, command, key or name that a model made up is in any span', () => {
	for (const { body } of to.raw) for (const secret of [SECRET, IN_FILE, KEY, 'note.txt', 'made.txt']) assert.equal(body.indexOf(secret), -1, secret);
	const failed = to.traces.find((s) => s.attributes['error.type'] === 'tool_unavailable');
	assert.deepEqual([failed.name, failed.status.code], ['execute_tool', 2n]);
});

test('TE-09 ID-13 the provider and the service of a tool get a traceparent of the trace, with the span of the call', () => {
	const trace = hash('trace', turn.sessionId, turn.turnId, 16);
	for (const { headers } of model.log(turn.turnId)) {
		const span = hash('span', turn.sessionId, headers['x-request-id'], 8);
		assert.equal(headers.traceparent, `00-${trace}-${span}-01`);
		assert.ok(to.traces.some((s) => s.spanId === span));
	}
	assert.equal(tool.seen.length, 1);
	assert.equal(tool.seen[0].traceparent, `00-${trace}-${hash('span', turn.sessionId, tool.seen[0]['x-agentruntime-tool-call'], 8)}-01`);
});

test('TE-06 an export of evidence says how long it took: in its fact, its span and its metric', async () => {
	const [changed] = events.filter((e) => e.type === 'evidence.changed');
	const span = to.traces.find((s) => s.spanId === changed.spanId), counts = await scrape(rt);
	assert.equal(span.attributes['agentd.evidence.kind'], 'pack');
	assert.ok(changed.payload.durationMs >= 0);
	assert.equal(Number(span.end - span.start) / 1e6, changed.payload.durationMs);
	assert.equal(counts['agentd_evidence_duration_seconds_count{kind="pack"}'], 1);
	assert.equal(Math.round(counts['agentd_evidence_duration_seconds_sum{kind="pack"}'] * 1000), changed.payload.durationMs);
});

test('RM-11 the read models name the traces and that they join', async () => {
	const thread = await ok(rt, 'get_thread_read', { sessionId: turn.sessionId, threadId: turn.threadId });
	const session = await ok(rt, 'get_session', { sessionId: turn.sessionId });
	const telemetry = { state: 'available', joinStatus: 'joined', traceIds: [hash('trace', turn.sessionId, turn.turnId, 16)] };
	assert.deepEqual(thread.threads[0].telemetry, telemetry);
	assert.deepEqual(session.telemetrySummary, telemetry);
});

test('TE-01 without an address nothing is traced, and apart from trace ids the facts are the same', async () => {
	const quiet = await startAgentd({ model, config: { ...config, 'telemetry.endpoint': '', 'tools.workspace': workspace() } });
	const other = await rich(quiet);
	const dark = await eventsOf(quiet, other.sessionId);
	assert.deepEqual(dark.map((e) => e.type), events.map((e) => e.type));
	for (const e of dark) assert.ok(!('traceId' in e || 'spanId' in e || 'traceParent' in e.payload), e.type);
	assert.deepEqual((await ok(quiet, 'get_session', { sessionId: other.sessionId })).telemetrySummary, { state: 'unavailable' });
});

test('telemetry.content sends previews; headers of the settings are sent, and are a secret', async () => {
	const open = await collector();
	const loud = await startAgentd({ model, config: { ...config, 'telemetry.endpoint': `${open.url}/`, 'telemetry.content': true }, env: { OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20secret%2Ckey,x-two=2' } });
	await ended(loud, await submit(loud, 'hello there'));
	const root = await waitFor(() => open.traces.find((s) => s.name.startsWith('invoke_agent')), 'the turn');
	assert.equal(root.attributes['agentd.input.preview'], 'hello there');
	assert.deepEqual([open.requests[0].headers['x-api-key'], open.requests[0].headers['x-two']], ['a secret,key', '2']);
	const shown = await ok(loud, 'get_settings', {}).catch(() => ({}));
	assert.ok(!JSON.stringify(shown).includes('a secret,key') && !JSON.stringify(shown).includes('a%20secret'));
});

test('a traceparent that is none is left out, and two tenants with one turn id have two traces', async () => {
	for (const traceparent of ['00-00000000000000000000000000000000-b7ad6b7169203331-01', 'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', `${PARENT}-x`, 'x'.repeat(4000), '']) {
		const { text } = await request(rt, { path: '/v1/submit_turn', body: JSON.stringify({ createPolicy: {}, text: 'hello' }), headers: { 'content-type': 'application/json', traceparent } });
		const { sessionId } = JSON.parse(text);
		assert.ok(!('traceParent' in (await eventsOf(rt, sessionId)).find((e) => e.type === 'turn.submitted').payload), traceparent.slice(0, 60));
	}
	const traces = new Set();
	const shared = await startAgentd({ model, config: settings(await collector()) });
	const { token } = await ok(shared, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] });
	for (const who of [null, token]) {
		const { sessionId } = await must(shared, who, 'submit_turn', { createPolicy: {}, turnId: 'mine', text: 'hello' });
		traces.add((await factsOf(shared, who, sessionId)).find((e) => e.type === 'turn.submitted').traceId);
	}
	assert.equal(traces.size, 2);
});

test('a turn that a crash cut is one trace: the spans that end after the restart have the same ids, and the start of before', async () => {
	const dataDir = newFolder(), own = await collector();
	const first = await startAgentd({ dataDir, model, config: settings(own) });
	const cut = await submit(first, '[[hang]]');
	await waitFor(async () => (await eventsOf(first, cut.sessionId)).some((e) => e.type === 'model.requested'), 'the call');
	await first.kill9();
	const second = await startAgentd({ dataDir, model, config: settings(own) });
	await waitFor(async () => (await eventsOf(second, cut.sessionId)).filter((e) => e.type === 'model.requested').length > 1, 'the second call');
	await ok(second, 'interrupt_turn', { sessionId: cut.sessionId, turnId: cut.turnId, reason: 'enough' });
	await ended(second, cut);
	const root = await waitFor(() => own.traces.find((s) => s.name.startsWith('invoke_agent')), 'the turn');
	const log = await eventsOf(second, cut.sessionId);
	assert.deepEqual([...new Set(log.filter((e) => e.turnId).map((e) => e.traceId))], [root.traceId]);
	assert.equal(root.start, BigInt(Date.parse(log.find((e) => e.type === 'turn.started').timestamp)) * 1000000n + BigInt(log.find((e) => e.type === 'turn.started').timestamp.slice(23, 26)) * 1000n);
	await waitFor(() => own.traces.filter((s) => s.attributes['agentd.span.kind'] === 'model.request').length >= 2, 'both calls');
});

test('a stop sends what is left', async () => {
	const own = await collector();
	const one = await startAgentd({ model, config: settings(own, { 'telemetry.interval_ms': 600000 }) });
	await ended(one, await submit(one, 'hello'));
	assert.equal(own.requests.length, 0);
	await one.stop();
	assert.ok(own.traces.some((s) => s.name.startsWith('invoke_agent')));
	assert.deepEqual(own.bad, []);
});

test('spans are counted', async () => {
	const counts = await scrape(rt);
	assert.ok(counts['agentd_telemetry_exported_total{signal="traces"}'] >= to.traces.length);
	assert.equal(counts['agentd_telemetry_dropped_total{signal="traces",reason="queue"}'], 0);
});
