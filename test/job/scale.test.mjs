// ci: release only
// A job at its size: while it runs, the memory of the daemon does not grow with the items that are done, its items are read page by page, and
// the counts of every fact are those of the facts before it. AR_JOB_ITEMS=100000 or 1000000 for more than the gate does.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { test } from 'node:test';
import { COUNTS, eachPage, JobLaws, usageOf } from './laws.mjs';
import { follow, ok, sleep, world } from '../lib/runtime.mjs';

const ITEMS = Number(process.env.AR_JOB_ITEMS ?? 2000);
const MB = 1024 * 1024;
const rssOf = (rt) => MB * usageOf(rt).rss;

/** One command over HTTP/2, on a connection of its own. */
function overH2(rt, command, input) {
	return new Promise((done, fail) => {
		const session = http2.connect(rt.url).on('error', fail);
		const stream = session.request({ ':method': 'POST', ':path': `/v1/${command}`, 'content-type': 'application/json' }).on('error', fail);
		let text = '';
		stream.setEncoding('utf8').on('data', (piece) => (text += piece)).on('end', () => {
			session.close();
			done(JSON.parse(text));
		});
		stream.end(JSON.stringify(input));
	});
}

for (const [name, send] of [['HTTP/1', ok], ['HTTP/2', overH2]]) {
	test(`a list of 20 MB is taken in with less than three and a half times its size, over ${name}`, async () => {
		const w = await world({ config: { 'limits.max_body_bytes': 33554432 } });
		const before = usageOf(w.rt).peak;
		const input = Array.from({ length: 200000 }, (_, i) => `line ${i} `.padEnd(100, 'x')).join('\n');
		const { itemCount, jobId } = await send(w.rt, 'create_job', { instruction: '', input, start: false });
		const grown = usageOf(w.rt).peak - before;
		assert.equal(itemCount, 200000);
		assert.ok(grown < 3.5 * (input.length / MB), `${grown} MB for ${input.length} bytes`);
		const { items: [last] } = await send(w.rt, 'get_job', { jobId, cursor: '199999' });
		assert.deepEqual([last.number, last.status], [199999, 'pending']);
		await w.rt.stop();
	});
}

test(`JB-06 JB-12 a job of ${ITEMS} items: memory does not grow with them, pages have no gap, counts are the fold, one output an item`, { timeout: 60000 + ITEMS * 20 }, async () => {
	// So that the sessions of items that are kept for the next request are the same number from the beginning on.
	const w = await world({ config: { 'limits.max_body_bytes': 134217728, 'session.cache': 64 } });
	const input = Array.from({ length: ITEMS }, (_, i) => `[[burst]]item ${i}`).join('\n');
	const { jobId, sessionId, itemCount } = await ok(w.rt, 'create_job', { instruction: '', input, concurrency: 32 });
	assert.equal(itemCount, ITEMS);
	const follower = await follow(w.rt, sessionId);
	const laws = new JobLaws(ITEMS);
	const seen = []; // how many were done, and the memory then
	for (let status = 'running'; status === 'running'; await sleep(ITEMS > 10000 ? 2000 : 250)) {
		const from = Math.floor((seen.length * 997) % Math.max(1, ITEMS - 100));
		const job = await ok(w.rt, 'get_job', { jobId, limit: 100, cursor: String(from) });
		({ status } = job);
		assert.deepEqual(job.items.map((item) => item.number), Array.from({ length: Math.min(100, ITEMS - from) }, (_, i) => from + i), 'a page while it runs');
		for (const item of job.items) assert.equal(item.status === 'completed', Boolean(item.outputRef), JSON.stringify(item));
		seen.push({ done: job.counts.completed, rss: rssOf(w.rt) });
		laws.see(follower.facts.splice(0).map((f) => f.event));
	}
	const job = await ok(w.rt, 'get_job', { jobId, limit: 1 });
	assert.deepEqual([job.status, job.counts], ['completed', COUNTS(0, 0, ITEMS, 0)]);
	for (let i = 0; i < 600 && laws.done.size < ITEMS; i++) {
		laws.see(follower.facts.splice(0).map((f) => f.event));
		await sleep(100);
	}
	assert.equal(laws.done.size, ITEMS, 'every item has its fact');
	follower.stop();
	const outputs = new Set();
	assert.equal(await eachPage(w.rt, jobId, (items) => items.forEach((item) => outputs.add(item.outputRef))), ITEMS);
	assert.equal(outputs.size, ITEMS, 'every item has an output of its own');
	const half = seen.find((one) => one.done >= ITEMS / 2) ?? seen.at(-1), end = seen.at(-1);
	// What is not of the items, such as the pages that SQLite keeps, grows to its limit in the beginning.
	const allowed = 12 * MB + 30 * (end.done - half.done);
	assert.ok(end.rss - half.rss < allowed, `${half.rss} bytes at ${half.done} items, ${end.rss} at ${end.done}`);
	assert.ok(end.rss < 100 * MB, `${end.rss} bytes`);
	await w.rt.stop();
});
