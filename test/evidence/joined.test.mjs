// What evidence is joined to: the trace of a turn at a collector, and the items of a job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { collector } from '../telemetry/otlp.mjs';
import { check, download, jsonOf, linesOf } from './packs.mjs';

test('EX-10 the trace id of a turn is in its facts, its pack and at the collector; without tracing there is none', async () => {
	const to = await collector();
	const w = await world({ config: { 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20 } });
	const turn = await submit(w.rt, 'hello');
	await waitFor(() => to.traces.some((s) => s.attributes['agentd.turn.id'] === turn.turnId && s.name.startsWith('invoke_agent')), 'the span of the turn');
	const folder = await download(w.rt, (await ok(w.rt, 'export_evidence', { turnId: turn.turnId })).packRef);
	const { runtimeCorrelation, signals } = jsonOf(folder, 'summary.json');
	const ids = new Set(linesOf(folder, 'events.ndjson').map((e) => e.traceId));
	assert.deepEqual([...ids], [runtimeCorrelation.traceId]);
	assert.equal(signals.traces, 'exported');
	assert.ok(to.traces.some((s) => s.traceId === runtimeCorrelation.traceId));
	await w.rt.stop();

	const plain = await world();
	const other = await submit(plain.rt, 'hello');
	await waitFor(async () => (await ok(plain.rt, 'get_session', { sessionId: other.sessionId })).status === 'idle', 'rest');
	const untraced = jsonOf(await download(plain.rt, (await ok(plain.rt, 'export_evidence', { turnId: other.turnId })).packRef), 'summary.json');
	assert.deepEqual([untraced.runtimeCorrelation.traceId, untraced.signals.traces], [undefined, 'not_recorded']);
	await plain.rt.stop();
});

test('JB-07 the evidence of a job has the facts of its items and no others', async () => {
	const w = await world();
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Say it.', input: 'a\nb\n' });
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId })).status === 'completed', 'the end of the job');
	const beside = await ok(w.rt, 'create_job', { sessionId, instruction: 'Say it.', input: 'c\n' });
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId: beside.jobId })).status === 'completed', 'the end of the other');
	const folder = await download(w.rt, (await ok(w.rt, 'export_evidence', { jobId })).packRef);
	check(folder);
	const facts = linesOf(folder, 'events.ndjson');
	assert.deepEqual([...new Set(facts.map((e) => e.jobId))], [jobId]);
	for (const type of ['job.created', 'job.item.completed', 'job.completed']) assert.ok(facts.some((e) => e.type === type), `${type} of ${[...new Set(facts.map((e) => e.type))]}`);
	assert.equal(jsonOf(folder, 'summary.json').runtimeCorrelation.jobId, jobId);
	await w.rt.stop();
});
