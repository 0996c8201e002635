// ci: release only
// A thread with more history than is kept in memory: what comes back after a crash is a slice with cursors, and the pages before it follow one another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';

const STEPS = 10000;

function make(dataDir, count) {
	const store = storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db');
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	return JSON.parse(execFileSync(join(bin, 'ar-make-session'), ['--store', store, '--facts', String(count)], { encoding: 'utf8' }));
}

test(`HI-09 a thread of ${STEPS} steps comes back as a slice; the pages before its start have every fact once, without a gap`, async () => {
	const dataDir = newFolder();
	const { sessionId, threadId, turns } = make(dataDir, 21 * STEPS);
	assert.ok(turns >= STEPS, `${turns} steps`);
	const model = await startModel();
	const run = () => startAgentd({ dataDir, model, config: { 'recovery.auto_resume': false } });
	const first = await run();
	await submit(first, '[[hang]]', { sessionId, threadId });
	await waitFor(() => model.count().total > 0, 'the request');
	await first.kill9();
	const rt = await run();
	await ok(rt, 'resume_thread', { sessionId, threadId });
	const [{ payload: slice, sequence }] = (await ok(rt, 'read_events', { sessionId, newestFirst: true, types: ['history.window.loaded'], limit: 1 })).events;
	assert.equal(slice.truncated, true);
	assert.ok(Number(slice.endCursor) < sequence && Number(slice.startCursor) > 1, JSON.stringify(slice));
	assert.equal(slice.count, Number(slice.endCursor) - Number(slice.startCursor) + 1);
	let [next, steps] = [Number(slice.startCursor), 0];
	while (next > 1) {
		const { events } = (await ok(rt, 'get_session', { sessionId, limit: 1000, cursor: String(next) })).history;
		assert.ok(events.length > 0, `before ${next}`);
		for (const event of events.toReversed()) {
			assert.equal(event.sequence, next - 1, 'no gap and nothing twice');
			next = event.sequence;
			steps += event.type === 'model.requested';
		}
	}
	assert.ok(steps > STEPS - 100, `${steps} steps before the slice`);
	await rt.stop();
});
