// One word for each signal of a pack, and what others recorded: lines of a request log are joined by our ids and by nothing else.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { collector } from '../telemetry/otlp.mjs';
import { check, download, jsonOf, linesOf } from './packs.mjs';

const WORDS = ['exported', 'not_applicable', 'unsupported', 'not_recorded', 'missing_correlation'];
const ndjson = (...lines) => lines.map((l) => (typeof l === 'string' ? l : JSON.stringify(l))).join('\n');

async function turn(rt, text, more = {}) {
	const receipt = await submit(rt, text, more), follower = await follow(rt, receipt.sessionId);
	await follower.ended(receipt.turnId);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	follower.stop();
	return receipt;
}

const pack = async (rt, scope) => {
	const made = await ok(rt, 'export_evidence', scope), folder = await download(rt, made.packRef);
	check(folder);
	return { ...made, folder, requests: existsSync(join(folder, 'requests.ndjson')) ? linesOf(folder, 'requests.ndjson') : undefined, summary: jsonOf(folder, 'summary.json') };
};

test('AN-39 ID-14 EX-06 OPEN-31 TE-08 five set-ups, five words; a line of a request log is joined by our ids alone, others are listed unjoined', async () => {
	const to = await collector();
	const traced = await world({ config: { 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20 } }), { rt } = traced;
	const first = await turn(rt, 'hello'), { sessionId } = first, second = await turn(rt, 'hello', { sessionId }), stranger = await turn(rt, 'hello');
	const log = (await readLog(rt, sessionId)).map((f) => f.event), calls = log.filter((e) => e.type === 'model.requested');
	const called = calls.find((e) => e.turnId === first.turnId), other = calls.find((e) => e.turnId === second.turnId);
	await waitFor(() => to.traces.some((s) => s.attributes['agentd.turn.id'] === first.turnId), 'a span of the turn');
	const plain = await pack(rt, { sessionId });
	assert.deepEqual([plain.signalStatus.traces, plain.signalStatus.browser, plain.signalStatus.metrics, plain.signalStatus.requestLog, plain.knownGaps, plain.requests], ['exported', 'not_applicable', 'unsupported', 'exported', [], undefined]);

	const good = [{ turnId: first.turnId, status: 200 }, { modelRequestId: called.modelRequestId }, { sessionId, turnId: second.turnId, modelRequestId: other.modelRequestId }];
	const whole = await ok(rt, 'record_evidence', { sessionId, kind: 'request_log', source: 'gateway.example', lines: ndjson(...good) });
	assert.deepEqual([whole.evidence.kind, typeof whole.evidence.requestLogRef], ['trace', 'string']);
	const joined = await pack(rt, { sessionId });
	assert.deepEqual([joined.signalStatus.requestLog, joined.knownGaps], ['exported', []]);
	assert.deepEqual(joined.requests.map((r) => [r.line, r.state, r.turnId, r.modelRequestId, JSON.parse(r.text)]), good.map((g, i) => [i + 1, 'joined', g.turnId, g.modelRequestId, g]));

	const bad = [
		{ time: called.timestamp, prompt: 'hello', model: called.payload.model }, // the same text at the same time is no id
		{ turnId: stranger.turnId }, // of another session
		{ turnId: second.turnId, modelRequestId: called.modelRequestId }, // a request of another turn
		{ sessionId: stranger.sessionId, turnId: first.turnId },
		{ requestId: first.turnId, note: first.turnId },
		{ turnId: ['x'], modelRequestId: '' },
		`no JSON ${first.turnId}`,
		'[]',
	];
	await ok(rt, 'record_evidence', { sessionId, kind: 'request_log', source: 'gateway.example', lines: `\n${ndjson(...bad)}\n` });
	const mixed = await pack(rt, { sessionId });
	assert.equal(mixed.signalStatus.requestLog, 'missing_correlation');
	assert.deepEqual(mixed.knownGaps, [{ part: 'requestLog', reason: `${bad.length} lines name no turn or model request of the session` }]);
	assert.deepEqual(mixed.requests.slice(good.length).map((r) => [r.line, r.state, r.turnId, r.modelRequestId, r.text]), bad.map((b, i) => [i + 2, 'missing_correlation', undefined, undefined, ndjson(b)]));
	assert.deepEqual([mixed.summary.counts.joinedLogLines, mixed.summary.counts.unjoinedRequests], [good.length, bad.length]);
	const one = await pack(rt, { turnId: first.turnId });
	assert.deepEqual(one.requests.map((r) => JSON.parse(r.text)), good.slice(0, 2), 'of a turn only its own lines, from logs of the whole session, too');
	assert.deepEqual([one.signalStatus.requestLog, one.knownGaps], ['exported', []]);

	await ok(rt, 'record_evidence', { sessionId, kind: 'trace', source: 'gateway.example', signals: [{ signal: 'requestLog', status: 'correlation_missing' }, { signal: 'browser', status: 'not_applicable' }] });
	const said = [{ signal: 'requestLog', status: 'missing_correlation' }, { signal: 'browser', status: 'not_applicable' }];
	assert.deepEqual((await pack(rt, { sessionId })).summary.recorded.at(-1).signals, said, 'the other word is read as ours');
	assert.deepEqual((await readLog(rt, sessionId)).map((f) => f.event).filter((e) => e.payload.signals).map((e) => e.payload.signals), [said]);
	const count = (await readLog(rt, sessionId)).length;
	await refused(rt, 'invalid_input', 'record_evidence', { sessionId, kind: 'trace', source: 'x', signals: [{ signal: 'browser', status: 'fine' }] });
	await refused(rt, 'invalid_input', 'record_evidence', { sessionId, kind: 'request_log', source: 'x', note: 'no lines' });
	await refused(rt, 'invalid_input', 'record_evidence', { sessionId, kind: 'trace', source: 'x', lines: '{}' });
	assert.equal((await readLog(rt, sessionId)).length, count);
	const { evidenceSummary } = (await ok(rt, 'get_thread_read', { sessionId, threadId: first.threadId })).threads[0];
	assert.equal(evidenceSummary.traceIds.includes(whole.evidence.ref), false, 'a request log is no trace id');

	const untraced = await traced.again({ dataDir: undefined, config: { 'telemetry.endpoint': to.url, 'telemetry.traces_endpoint': 'off' } });
	const quiet = await pack(untraced, { sessionId: (await turn(untraced, 'hello')).sessionId });
	assert.equal(quiet.signalStatus.traces, 'not_recorded', 'the turn had no trace');
	const words = [plain, joined, mixed, one, quiet].flatMap((p) => Object.values(p.signalStatus));
	assert.deepEqual([...new Set(words)].toSorted(), WORDS.toSorted());
});
