// One session with a child agent and a turn that waited, seen five ways: events, request log, spans, metrics, evidence pack. Each id of one is an id of the others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, realpathSync, rmSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call, newFolder, ok, readLog, startAgentd, startModel, submit, waitFor, within } from '../lib/runtime.mjs';
import { download, linesOf } from '../evidence/packs.mjs';
import { scrape } from '../ops/scrape.mjs';
import { collector } from './otlp.mjs';

const isRoot = process.getuid() === 0, SECRET = 'hunter2-of-the-operator';
const tool = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
// The ids of an event that others share: its members, and those that stand in its payload.
const SHARED = ['runtimeId', 'sessionId', 'threadId', 'turnId', 'taskId', 'runId', 'attemptId', 'toolCallId', 'processId', 'actionId', 'stepId', 'modelRequestId', 'queuedTurnId', 'subagentId', 'traceId', 'spanId', 'evidenceId'];
let rt, to, model, file, sessionId, threadId, parent, child, queued, asked, events, lines, pack, counts;

const eventsOf = async (session = sessionId) => (await readLog(rt, session)).map((f) => f.event);
const linesOfLog = (path = file) => readFileSync(path, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
const ended = (turnId, session = sessionId) => waitFor(async () => (await eventsOf(session)).find((e) => e.turnId === turnId && /^turn\.(completed|failed)$/.test(e.type)), `the end of ${turnId}`);
const question = (of = () => true) => waitFor(async () => (await ok(rt, 'list_actions', { sessionId })).actions.find((a) => a.status === 'pending' && of(a)), 'a question');

function folder() {
	const path = realpathSync(newFolder());
	if (isRoot) execFileSync('chown', ['1000:1000', path]);
	return path;
}

before(async () => {
	[to, model] = await Promise.all([collector(), startModel()]);
	file = join(realpathSync(newFolder()), 'requests.log');
	rt = await startAgentd({ config: {
		models: [{ name: 'priced', provider: 'openai-chat', model: 'priced-wire', base_url: model.url, input_price: '3', output_price: '15.5' }],
		'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20, 'telemetry.metrics_interval_ms': 50, 'telemetry.timeout_ms': 60000, 'telemetry.request_log': file, 'log.requests': 'all',
		'model.backoff_ms': 5, 'budget.on_limit': 'stop', 'redact.literals': SECRET, 'tools.workspace': folder(),
		hooks: [{ name: 'watch', point: 'pre_tool_use', match: 'shell', command: `echo '{"decision":"continue"}'` }],
	} });
	parent = await submit(rt, '[[hang]]');
	({ sessionId, threadId } = parent);
	child = await ok(rt, 'spawn_subagent', { sessionId, threadId, turnId: parent.turnId, objective: tool('shell', { command: 'echo child' }) });
	asked = await question();
	queued = await ok(rt, 'send_subagent_input', { subagentId: child.subagentId, input: `[[fail-times 1 http 429 retry-after=0]] ${tool('shell', { command: 'echo again' })}` });
	await ok(rt, 'respond_action', { actionId: asked.actionId, decision: 'allow' });
	const second = await question((a) => a.actionId !== asked.actionId);
	await ok(rt, 'respond_action', { actionId: second.actionId, decision: 'allow' });
	await ended(queued.childTurnId);
	const { taskId } = await ok(rt, 'create_task', { sessionId, objective: 'x' });
	await ok(rt, 'start_task', { taskId });
	await ok(rt, 'complete_task', { taskId, acceptance: [], artifacts: [] });
	const spent = await submit(rt, `${tool('find_files', { pattern: '$n' })} [[loop]]`, { options: { budget: { toolCalls: 5 } } });
	await ended(spent.turnId, spent.sessionId);
	await ok(rt, 'interrupt_turn', { sessionId, turnId: parent.turnId, reason: 'enough' });
	await ended(parent.turnId);
	await waitFor(async () => (await ok(rt, 'get_session', { sessionId })).status === 'idle', 'rest');
	const made = await ok(rt, 'export_evidence', { sessionId });
	pack = linesOf(await download(rt, made.packRef), 'events.ndjson');
	events = [...await eventsOf(), ...await eventsOf(spent.sessionId)];
	const spans = new Set(events.map((e) => e.spanId).filter(Boolean));
	await waitFor(() => [...spans].every((id) => to.traces.some((s) => s.spanId === id)), () => `spans of ${events.filter((e) => e.spanId && !to.traces.some((s) => s.spanId === e.spanId)).map((e) => e.type)}`);
	counts = await scrape(rt);
	await waitFor(() => to.metrics.some((m) => m.name === 'agentd_evidence_duration_seconds' && m.histogram.points.some((p) => p.count === 1n)), 'the metrics');
	lines = linesOfLog();
});

const known = (list) => new Map(SHARED.map((name) => [name, new Set(list.flatMap((e) => [e[name], e.payload?.[name]]).filter(Boolean))]));
const requests = () => lines.filter((l) => l.message === 'model request');

test('TE-10 the line of each model request of a queued child turn has the keys of session, thread, turn, queued turn and child; that of an answer also the question', () => {
	const mine = requests().filter((l) => l.turnId === queued.childTurnId);
	assert.deepEqual(mine.map((l) => l.outcome), ['rejected', 'completed', 'completed']);
	const ids = { sessionId, threadId: child.childThreadId, turnId: queued.childTurnId, queuedTurnId: queued.childTurnId, subagentId: child.subagentId };
	for (const l of mine) assert.deepEqual(Object.fromEntries(Object.keys(ids).map((k) => [k, l[k]])), ids);
	assert.deepEqual([mine[0].status, mine[0].code, mine[0].level], [429, 'rate_limited', 'warning']);
	const answers = lines.filter((l) => l.command === 'respond_action');
	assert.equal(answers.length, 2);
	assert.deepEqual([answers[0].actionId, answers[0].sessionId, answers[0].threadId, answers[0].subagentId, answers[0].queuedTurnId], [asked.actionId, sessionId, child.childThreadId, child.subagentId, undefined]);
	assert.equal(answers[1].queuedTurnId, queued.childTurnId);
	const sent = lines.find((l) => l.command === 'send_subagent_input');
	assert.deepEqual(Object.fromEntries(Object.keys(ids).map((k) => [k, sent[k]])), ids);
	const others = requests().filter((l) => l.turnId === parent.turnId);
	for (const l of others) assert.ok(!('subagentId' in l || 'queuedTurnId' in l || 'actionId' in l), JSON.stringify(l));
	assert.ok(others.length > 0);
});

test('TE-02 each id of a line, a span, a metric and the pack is that of an event: nothing is left over', () => {
	const of = known(events), orphans = [];
	const look = (what, id, name) => id === undefined || of.get(name).has(id) || orphans.push(`${what}: ${name} ${id}`);
	const theirs = new Set(events.map((e) => e.requestId));
	for (const l of requests()) if (l.requestId && !theirs.has(l.requestId)) orphans.push(`model request: requestId ${l.requestId}`);
	for (const l of lines) for (const name of SHARED) look(`${l.message} ${l.command ?? l.outcome}`, l[name], name);
	const attribute = (name) => `agentd.${name.replace(/Id$/, '').replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}.id`;
	for (const s of to.traces) for (const name of SHARED) look(`span ${s.name}`, name === 'traceId' || name === 'spanId' ? s[name] : s.attributes[attribute(name)], name);
	for (const m of to.metrics) look(`metric ${m.name}`, m.resource['service.instance.id'], 'runtimeId');
	for (const l of to.logs) for (const name of SHARED) look(`record ${l.eventName}`, name === 'traceId' || name === 'spanId' ? l[name] : l.attributes[attribute(name)], name);
	assert.deepEqual(orphans, []);
	const ids = new Set(events.map((e) => e.eventId));
	assert.ok(pack.length > 100 && pack.every((e) => ids.has(e.eventId)));
	// And the other way: what applies is there.
	const seen = (list, name) => new Set(list.map((x) => x[name] ?? x.attributes?.[attribute(name)]).filter(Boolean));
	for (const name of ['runtimeId', 'sessionId', 'threadId', 'turnId', 'taskId', 'runId', 'attemptId', 'modelRequestId', 'queuedTurnId', 'subagentId', 'traceId', 'spanId', 'actionId']) assert.ok(seen(lines, name).size > 0, `${name} in the request log`);
	for (const name of ['runtimeId', 'sessionId', 'threadId', 'turnId', 'taskId', 'runId', 'attemptId', 'toolCallId', 'processId', 'modelRequestId', 'queuedTurnId', 'subagentId', 'evidenceId', 'traceId', 'spanId']) assert.ok(seen(to.traces, name).size > 0, `${name} in spans`);
	for (const name of ['queuedTurnId', 'subagentId', 'turnId', 'processId']) assert.deepEqual([...known(pack).get(name)].filter((id) => !of.get(name).has(id)), [], `${name} of the pack`);
});

test('LI-06 cost.recorded, model.completed, the request log, the spans and the pack join by modelRequestId and traceId, one to one', () => {
	const of = (list, type) => list.filter((e) => e.type === type);
	const key = (x) => `${x.modelRequestId} ${x.traceId}`;
	const costs = of(events, 'cost.recorded').map(key).sort();
	assert.ok(costs.length > 8 && new Set(costs).size === costs.length);
	const completed = of(events, 'model.completed').map(key).sort();
	assert.deepEqual(costs.filter((k) => completed.includes(k)), completed);
	const called = [...of(events, 'model.completed'), ...of(events, 'model.failed')].map(key).sort();
	assert.deepEqual(requests().map(key).sort(), called, 'request log');
	assert.deepEqual(to.traces.filter((s) => s.attributes['agentd.span.kind'] === 'model.request').map((s) => `${s.attributes['agentd.model_request.id']} ${s.traceId}`).sort(), called, 'spans');
	const inPack = (type) => of(pack, type).map(key).sort(), inLog = (type) => of(events, type).filter((e) => e.sessionId === sessionId).map(key).sort();
	for (const type of ['cost.recorded', 'model.completed', 'model.failed', 'rate_limit.hit']) assert.deepEqual(inPack(type), inLog(type), type);
	const [hit] = of(events, 'rate_limit.hit');
	const [line] = requests().filter((l) => l.requestId === hit.payload.requestId);
	assert.deepEqual([line?.modelRequestId, line?.turnId, line?.traceId, line?.status], [hit.modelRequestId, hit.turnId, hit.traceId, 429]);
	for (const cost of of(events, 'cost.recorded').filter((e) => completed.includes(key(e)))) {
		const found = requests().find((l) => l.modelRequestId === cost.modelRequestId);
		assert.deepEqual([found.inputTokens, found.outputTokens], [cost.payload.inputTokens, cost.payload.outputTokens]);
	}
});

test('MR-08 the routing decision and the cost of a turn are the same in get_thread_read, the pack and its span', async () => {
	const read = await ok(rt, 'get_thread_read', { sessionId, threadId: child.childThreadId });
	const summary = read.routingLimitSummary, turnId = queued.childTurnId;
	const [decided] = pack.filter((e) => e.turnId === turnId && /^routing\.(decided|single_candidate)$/.test(e.type));
	const { attributes } = to.traces.find((s) => s.attributes['agentd.span.kind'] === 'interaction' && s.attributes['agentd.turn.id'] === turnId);
	assert.deepEqual([summary.selectedModel, decided.payload.selectedModel, attributes['gen_ai.request.model']], Array(3).fill('priced'));
	assert.deepEqual([decided.payload.routingMode ?? 'single_candidate', attributes['agentd.routing.mode']], Array(2).fill(summary.routingMode));
	const costs = pack.filter((e) => e.turnId === turnId && e.type === 'cost.recorded');
	const nano = costs.reduce((sum, e) => sum + Math.round(Number(e.payload.amount) * 1e9), 0);
	assert.ok(nano > 0);
	assert.equal(attributes['agentd.cost'], nano);
	const limited = pack.find((e) => e.type === 'rate_limit.hit' && e.turnId === turnId);
	assert.ok(to.logs.some((l) => l.attributes['agentd.event.id'] === limited.eventId && l.traceId === limited.traceId));
});

test('TE-06 after the scenario every metric of the standard has a value, and the waits are those of the log', () => {
	const sum = (name) => Object.entries(counts).filter(([k]) => k.startsWith(name)).reduce((n, [, v]) => n + v, 0);
	const missing = ['model_first_token_seconds_count', 'evidence_duration_seconds_count', 'quota_events_total', 'rate_limits_hit_total', 'cost_total', 'processes_duration_seconds_count', 'permission_wait_seconds_count',
		'queue_wait_seconds_count', 'hook_duration_seconds_count', 'tool_duration_seconds_count', 'model_tokens_total', 'model_retries_total{reason="', 'task_duration_seconds_count', 'model_latency_seconds_count'].filter((name) => !(sum(`agentd_${name}`) > 0));
	assert.deepEqual(missing, []);
	const times = (from, to_, id) => events.filter((e) => e.type === to_).map((end) => Date.parse(end.timestamp) - Date.parse(events.find((e) => e.type === from && e[id] === end[id]).timestamp));
	const near = (name, list) => assert.ok(list.length > 0 && Math.abs(counts[`agentd_${name}_seconds_sum`] * 1000 - list.reduce((a, b) => a + b, 0)) <= 2 * list.length, `${name}: ${counts[`agentd_${name}_seconds_sum`]} s, ${list} ms in the log`);
	near('queue_wait', times('turn.submitted', 'turn.started', 'turnId'));
	near('permission_wait', times('action.required', 'action.resolved', 'actionId'));
});

test('TE-05 a refused request has its own words only, masked; nothing that was said is in the file', async () => {
	await call(rt, 'interrupt_turn', { sessionId, turnId: `x-${SECRET}`, reason: 'x' });
	const refused = await waitFor(() => linesOfLog().find((l) => l.command === 'interrupt_turn' && l.status >= 400), 'the line');
	assert.ok(!('threadId' in refused || 'traceId' in refused));
	const text = readFileSync(file, 'utf8');
	for (const word of [SECRET, 'echo again', 'echo child', 'You said']) assert.ok(!text.includes(word), word);
	assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('the file stays below its limit; links and pipes in its place are not written to, and lines that are missing are counted', async () => {
	const dir = realpathSync(newFolder()), path = join(dir, 'requests.log'), other = join(dir, 'other');
	const start = (more = {}) => startAgentd({ model, config: { 'telemetry.request_log': path, 'telemetry.request_log_bytes': 4096, 'log.requests': 'all' }, ...more });
	const small = await start();
	const fill = async () => {
		for (let i = 0; i < 40; i++) await ok(small, 'list_sessions', {});
		return (await scrape(small)).agentd_request_log_dropped_total;
	};
	assert.equal(await fill(), 0);
	for (const one of [path, `${path}.1`]) assert.ok(linesOfLog(one).length > 0 && statSync(one).size <= 4096, one);
	writeFileSync(other, '');
	for (const make of [() => symlinkSync(other, path), () => execFileSync('mkfifo', [path]), () => linkSync(other, path)]) {
		rmSync(path);
		make();
		assert.equal(await fill(), 0);
		assert.ok(statSync(path).isFile() && linesOfLog(path).length > 0, 'a file of its own');
		assert.equal(readFileSync(other, 'utf8'), '');
	}
	rmSync(path);
	mkdirSync(path);
	assert.ok(await fill() > 0, 'counted');
	rmdirSync(path);
	await small.stop();
	for (const make of [() => symlinkSync(other, path), () => linkSync(other, path), () => execFileSync('mkfifo', [path]), () => mkdirSync(path)]) {
		rmSync(path, { recursive: true, force: true });
		make();
		const refused = await start({ mayDie: true });
		assert.notEqual((await within(refused.gone, 20000))?.code ?? 0, 0);
		assert.match(refused.stderr, /telemetry\.request_log/);
	}
	assert.equal(readFileSync(other, 'utf8'), '');
});
