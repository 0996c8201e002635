// ci: release only
// AC-17 at every fault point: agentd kills itself there while a job runs, starts again, and goes on. Afterwards the log is held against the
// laws of jobs.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { call, ok, waitFor, world } from '../lib/runtime.mjs';
import { checkLaws, COUNTS, jobFacts, lines } from './laws.mjs';

const src = fileURLToPath(new URL('../../src', import.meta.url));
const unused = process.env.AR_TEST_POSTGRES ? 'store_sqlite' : 'store_postgres';

/** Points that a job without tools passes. */
function points() {
	const names = new Set();
	for (const file of readdirSync(src, { recursive: true }).filter((f) => /\.c$/.test(f) && !f.includes(unused)))
		for (const [, name] of readFileSync(join(src, file), 'utf8').matchAll(/\bAR_FAULT\("([^"]+)"\)/g)) names.add(name);
	return [...names].filter((name) => !/tool|hook|process|before_go|checkpoint|recover|chunk/.test(name)).sort();
}

for (const [index, point] of points().entries()) {
	const retry = index % 2 ? { maxAttempts: 5 } : {}; // by itself, or by command
	test(`AC-17 JB-06 a job with a retry, killed at ${point}: others untouched, attempt count 2, one output per item`, async () => {
		const w = await world({ config: { 'model.max_attempts': 1, 'recovery.max_restarts': 20 } });
		const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: point, input: lines('a', 'b', '[[fail-turns 1 http 503]]c', 'd', 'e'), concurrency: 2, start: false, ...retry });
		await w.rt.stop();
		let kills = 0;
		for (const nth of [3, 9, 17]) {
			w.rt = await w.again({ fault: `${point}:${nth}`, mayDie: true });
			await call(w.rt, 'start_job', { jobId }).catch(() => {});
			const job = await waitFor(async () => {
				if (w.rt.isGone) return 'gone';
				const { body } = await call(w.rt, 'get_job', { jobId }).catch(() => ({}));
				return body?.counts && body.counts.pending + body.counts.running === 0 && body;
			}, `the end, or a kill at ${point}`, 30000);
			if (job === 'gone') kills++;
			else await w.rt.stop().catch(() => {});
		}
		w.rt = await w.again();
		assert.ok(kills > 0, 'it was killed there');
		await call(w.rt, 'start_job', { jobId });
		const job = await waitFor(async () => {
			const now = await ok(w.rt, 'get_job', { jobId });
			return now.counts.pending + now.counts.running === 0 && now;
		}, 'no item at work', 60000);
		if (job.counts.failed) {
			assert.equal(retry.maxAttempts, undefined, 'it is tried again by itself');
			assert.deepEqual([job.status, job.counts, job.items[2].status], ['running', COUNTS(0, 0, 4, 1), 'failed']);
			await ok(w.rt, 'retry_job_item', { jobId, jobItemId: job.items[2].jobItemId });
		}
		const done = await waitFor(async () => {
			const now = await ok(w.rt, 'get_job', { jobId });
			return now.status === 'completed' && now;
		}, 'the end', 60000);
		assert.deepEqual(done.counts, COUNTS(0, 0, 5, 0));
		assert.deepEqual(done.items.filter((_, i) => i !== 2).map((i) => i.attemptCount), [1, 1, 1, 1]);
		assert.equal(checkLaws(await jobFacts(w.rt, sessionId), 5).size, 5);
		await w.rt.stop();
	});
}
