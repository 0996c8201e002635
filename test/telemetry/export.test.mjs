// agentctl export --format otlp: the spans that a collector got while the session worked, from its log alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must as ctl, facts, place, turn } from '../export/session.mjs';
import { ok, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { collector, readJson } from './otlp.mjs';

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const ended = (w, sessionId, turnId) => waitFor(async () => (await facts(w, sessionId)).some((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');

/** Spans of each kind: what succeeds, fails, is refused, is interrupted, waits in a queue, is of a child agent or of a task. */
async function work(w) {
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: w.workspaceId });
	await turn(w, sessionId, `${call('read_file', { path: 'note.txt' })}${call('shell', { command: 'exit 3' })}${call('nothing', {})}[[then]]${call('write_file', { path: 'made.txt', content: 'x' })}`);
	await turn(w, sessionId, `${call('shell', { command: 'rm -rf other' })}[[then]][[say Refused.]]`, 'deny');
	await turn(w, sessionId, `[[tool spawn_agent {"objective":"[[say child\\u005d\\u005d"}]]`);
	await turn(w, sessionId, '[[http 400 message=refused]]');
	await turn(w, sessionId, '[[http 500]]');
	const first = await submit(w.rt, '[[hang]]', { sessionId }), second = await submit(w.rt, 'next', { sessionId, busyPolicy: 'queue' });
	await waitFor(async () => (await facts(w, sessionId)).some((f) => f.turnId === first.turnId && f.type === 'model.requested'), 'the request');
	await ok(w.rt, 'interrupt_turn', { sessionId, turnId: first.turnId, reason: 'enough' });
	for (const { turnId } of [first, second]) await ended(w, sessionId, turnId);
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'to do' });
	await ok(w.rt, 'start_task', { taskId });
	await ok(w.rt, 'complete_task', { taskId, acceptance: [], artifacts: [] });
	await ok(w.rt, 'export_evidence', { taskId });
	return sessionId;
}

test('agentctl export --format otlp writes the spans that were sent, each with the same ids, times and attributes', async () => {
	const to = await collector();
	const hooks = [{ name: 'watch', point: 'pre_tool_use', match: 'read_file', command: `echo '{"decision":"continue"}'` }];
	const models = [{ name: 'priced', provider: 'openai-chat', base_url: (await startModel()).url, input_price: '1.25', output_price: '3' }];
	const w = await place({ models, 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20, 'model.backoff_ms': 10, hooks });
	const sessionId = await work(w);
	const log = await facts(w, sessionId), ids = new Set(log.map((e) => e.spanId).filter(Boolean));
	const sent = () => to.traces.filter((s) => s.attributes['agentd.session.id'] === sessionId);
	await waitFor(() => [...ids].every((id) => sent().some((s) => s.spanId === id)), 'all spans');
	const text = await ctl(w, 'export', sessionId, '--format', 'otlp'), written = readJson(text), of = new Map(written.map((s) => [s.spanId, s]));
	assert.equal(new Set(written.map((s) => s.attributes['agentd.span.kind'])).size, 9);
	assert.deepEqual([...of.keys()].sort(), sent().map((s) => s.spanId).sort());
	assert.ok(text.trim().includes('\n') && written.length > 32, 'more than one line');
	const bare = ({ resource, ...span }) => span;
	assert.ok(written.some((s) => s.attributes['agentd.cost'] > 0) && written.some((s) => s.attributes['agentd.queued_turn.id']) && written.some((s) => s.attributes['agentd.subagent.id']));
	for (const s of sent()) assert.deepEqual(bare(of.get(s.spanId)), bare(s));
	await w.rt.stop();
});
