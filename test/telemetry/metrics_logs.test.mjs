// Metrics and log records over OTLP: the same numbers that are scraped, and records of warnings, decisions and requests that join the facts by ids or say that they do not.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, test } from 'node:test';
import { call, ok, readLog, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';
import { collector } from './otlp.mjs';

const SECRET = 'correct-horse-battery-staple';
const tools = [{ name: 'put', description: 'Puts.', inputSchema: { type: 'object' } }];
const hash = (word, session, id, bytes) => createHash('sha256').update(`${word}\n${session}\n${id}`).digest('hex').slice(0, 2 * bytes);
let to, rt, model, turn, events, asked;

before(async () => {
	to = await collector();
	model = await startModel();
	rt = await startAgentd({ model, config: { 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20, 'telemetry.metrics_interval_ms': 50, 'log.requests': 'all', 'model.backoff_ms': 10, 'budget.turn_tokens': 1000000 } });
	turn = await submit(rt, `${SECRET} [[fail-times 1 http 500]][[tool put {}]]`, { options: { tools } });
	asked = await waitFor(async () => (await ok(rt, 'list_actions', { sessionId: turn.sessionId })).actions[0], 'a question');
	await ok(rt, 'respond_action', { actionId: asked.actionId, decision: 'allow' });
	const { toolCallId } = await waitFor(async () => (await readLog(rt, turn.sessionId)).map((f) => f.event).find((e) => e.type === 'tool.started' && e.payload.runtimeOwner), 'the call');
	await ok(rt, 'report_tool_result', { toolCallId, output: SECRET });
	await waitFor(async () => (await readLog(rt, turn.sessionId)).some((f) => f.type === 'turn.completed'), 'the end');
	events = (await readLog(rt, turn.sessionId)).map((f) => f.event);
	await waitFor(() => to.logs.some((l) => l.eventName === 'request' && l.attributes['agentd.command'] === 'report_tool_result'), 'the last request');
});

const valueOf = (name, labels = {}) => {
	const metric = to.metrics.filter((m) => m.name === name).at(-1);
	const points = (metric?.sum ?? metric?.gauge ?? metric?.histogram)?.points ?? [];
	return points.find((p) => Object.entries(labels).every(([k, v]) => p.attributes?.some((a) => a.key === k && a.value.stringValue === v)));
};

test('metrics arrive as sums, gauges and histograms with the values that are scraped', async () => {
	await waitFor(() => valueOf('agentd_turns_ended_total', { outcome: 'completed' })?.int === 1n, 'the ended turn');
	assert.deepEqual(to.bad, []);
	const last = (name) => to.metrics.filter((m) => m.name === name).at(-1);
	assert.deepEqual([last('agentd_turns_ended_total').sum.temporality, last('agentd_turns_ended_total').sum.isMonotonic], [2n, 1n]);
	assert.ok(last('agentd_sessions_open').gauge.points[0].int >= 1n);
	const { histogram } = last('agentd_turn_duration_seconds');
	const [point] = histogram.points;
	assert.deepEqual([point.count, point.bucketCounts.reduce((a, b) => a + b, 0n), point.explicitBounds.length + 1], [1n, 1n, point.bucketCounts.length]);
	const names = new Set(to.metrics.map((m) => m.name));
	const scraped = Object.keys(await scrape(rt)).map((k) => k.replace(/\{.*/, '').replace(/_(bucket|sum|count)$/, ''));
	for (const name of new Set(scraped)) assert.ok(names.has(name), name);
});

test('TE-06 the waits, durations, retries and quotas of the standard are metrics, and match the times in the log', async () => {
	const counts = await scrape(rt);
	const at = (type, which = () => true) => Date.parse(events.find((e) => e.type === type && which(e)).timestamp);
	const near = (seconds, ms, what) => assert.ok(Math.abs(seconds * 1000 - ms) < 2, `${what}: ${seconds} s, ${ms} ms in the log`);
	near(counts.agentd_queue_wait_seconds_sum, at('turn.started') - at('turn.submitted'), 'queue');
	near(counts.agentd_permission_wait_seconds_sum, at('action.resolved') - at('action.required'), 'permission');
	near(counts['agentd_task_duration_seconds_sum{outcome="completed"}'], at('task.attempt.completed') - at('task.attempt.started'), 'task');
	const failures = events.filter((e) => e.type === 'model.failed').length;
	const retries = Object.entries(counts).filter(([k]) => k.startsWith('agentd_model_retries_total{reason=')).reduce((n, [, v]) => n + v, 0);
	assert.ok(failures > 0 && retries === failures, `${failures} failures, ${retries} retries`);
	for (const name of ['model_first_token_seconds_count', 'rate_limits_hit_total', 'cost_total', 'processes_duration_seconds_count', 'hook_duration_seconds_count', 'tool_duration_seconds_count', 'model_tokens_total', 'model_latency_seconds_count', 'quota_events_total']) {
		const { text } = await request(rt, { method: 'GET', path: '/metrics' });
		assert.ok(text.includes(`agentd_${name.replace(/_count$/, '')}`), name);
	}
});

test('TE-07 a permission decision and a routing decision are log records in the trace of their turn', () => {
	const trace = hash('trace', turn.sessionId, turn.turnId, 16);
	const facts = to.logs.filter((l) => l.attributes['agentd.event.id']);
	for (const type of ['permission.evaluated', 'permission.resolved', 'action.required', 'action.resolved', 'cost.recorded']) {
		const [event] = events.filter((e) => e.type === type), record = facts.find((l) => l.attributes['agentd.event.id'] === event.eventId);
		assert.deepEqual([record?.eventName, record?.traceId, record?.spanId], [type, trace, event.spanId], type);
	}
	const resolved = facts.find((l) => l.eventName === 'permission.resolved');
	assert.equal(resolved.attributes['agentd.decision'], 'allowed');
	for (const l of facts) if (!events.some((e) => e.eventId === l.attributes['agentd.event.id'] && e.traceId === l.traceId)) assert.equal(l.attributes['agentd.correlation'], 'missing', l.eventName);
});

test('PM-13 every permission fact of a traced turn joins its call, its question and an exported span', async () => {
	const facts = events.filter((e) => e.type.startsWith('permission.') || e.type.startsWith('action.'));
	assert.ok(facts.length >= 5);
	for (const e of facts) {
		assert.ok(events.some((f) => f.type === 'tool.started' && f.toolCallId === e.toolCallId), e.type);
		if (e.type !== 'permission.evaluated') assert.equal(e.actionId, asked.actionId);
		const span = await waitFor(() => to.traces.find((s) => s.spanId === e.spanId), `the span of ${e.type}`);
		assert.deepEqual([span.traceId, span.attributes['agentd.tool_call.id']], [e.traceId, e.toolCallId]);
	}
});

test('TE-03 a request that names a turn only by itself stays unjoined; one that was answered for a turn joins it', async () => {
	const requests = () => to.logs.filter((l) => l.eventName === 'request');
	const mine = requests().find((l) => l.attributes['agentd.command'] === 'submit_turn');
	assert.deepEqual([mine.traceId, mine.attributes['agentd.turn.id'], mine.attributes['http.response.status_code']], [hash('trace', turn.sessionId, turn.turnId, 16), turn.turnId, 202]);
	await call(rt, 'interrupt_turn', { sessionId: 'sess_00000000000000000000000000', turnId: turn.turnId, reason: 'x' });
	const refused = await waitFor(() => requests().find((l) => l.attributes['agentd.command'] === 'interrupt_turn'), 'the refused request');
	assert.deepEqual([refused.traceId, refused.attributes['agentd.correlation']], [undefined, 'missing']);
	await ok(rt, 'list_sessions', {});
	const plain = await waitFor(() => requests().find((l) => l.attributes['agentd.command'] === 'list_sessions'), 'a request about no turn');
	assert.deepEqual([plain.traceId, plain.attributes['agentd.correlation']], [undefined, 'missing']);
});

test('TE-05 no log record and no metric has a text of a person, a tool or a file', async () => {
	const path = `/v1/${SECRET}-not-masked`;
	await request(rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: turn.sessionId }) });
	for (const { body } of to.raw) assert.equal(body.indexOf(SECRET), -1, path);
});
