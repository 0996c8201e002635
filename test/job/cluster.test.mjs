// A job on three nodes over PostgreSQL while nodes, PostgreSQL and a worker are killed with -9, and AC-17 on two: a node dies at a fault point, the other one goes on.
// For more than the gate does: AR_JOB_CLUSTER_ITEMS=100000 AR_JOB_CLUSTER_FAULTS=240 AR_JOB_CLUSTER_TOOLS=200 (one item of so many runs a command on the worker);
// AR_JOB_POINTS=all for every fault point.
// ci: release only
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ok, startModel, waitFor } from '../lib/runtime.mjs';
import { Cluster, killPostgres, table, tried, waitSlowly } from './cluster.mjs';
import { checkLaws, COUNTS, eachPage, jobFacts, lines, readLaws, usageOf } from './laws.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const ITEMS = Number(process.env.AR_JOB_CLUSTER_ITEMS ?? 600);
const FAULTS = Number(process.env.AR_JOB_CLUSTER_FAULTS ?? 4);
const TOOLS = Number(process.env.AR_JOB_CLUSTER_TOOLS ?? 100);
const NAMES = ['a', 'b', 'c'];
const src = fileURLToPath(new URL('../../src', import.meta.url));
let model;

before(async () => {
	if (!skip) model = await startModel();
});

const runsCommand = (i) => i % TOOLS === TOOLS - 2;
const textOf = (i) => (runsCommand(i) ? `[[tool shell ${JSON.stringify({ command: `echo ${i} >> ran` })}]]` : `[[burst]]item ${i}`);

/** What is done, in turn; PostgreSQL is also down for longer than a lease, and killed together with a node. */
const DEEDS = [
	(c, nth) => c.killNode(NAMES[nth % 3]),
	() => killPostgres(),
	(c) => c.killWorker(),
	(c, nth) => c.killNode(NAMES[nth % 3]),
	() => killPostgres(2500),
	async (c, nth) => {
		const name = NAMES[nth % 3];
		await Promise.all([c.nodes.get(name).kill9(), killPostgres(nth % 1000)]);
		await c.start(name);
	},
	(c) => Promise.all([c.killWorker(), killPostgres(300)]),
];

/** Faults one after another, evenly over the items; the last one leaves some items to be done after it. */
async function torment(c, jobId) {
	for (let nth = 0; nth < FAULTS; nth++) {
		const least = Math.floor((ITEMS * (nth + 1)) / (FAULTS + 2));
		await waitSlowly(async () => (await tried(c.live(nth), 'get_job', { jobId, limit: 1 }))?.counts?.completed >= least, `${least} items`, 60000 + ITEMS * 50);
		await DEEDS[nth % DEEDS.length](c, nth);
	}
}

/** The items that a command ran for, as the folder on the worker has them. */
const ran = (workspace) => readFileSync(join(workspace.root, 'ran'), 'utf8').split('\n').filter(Boolean).map(Number).sort((x, y) => x - y);

test(`JB-06 JB-12 a job of ${ITEMS} items on three nodes, with ${FAULTS} kill -9 of nodes, PostgreSQL and a worker on the way: one output an item, and counts that add up`, { skip, timeout: 120000 + ITEMS * 100 + FAULTS * 30000 }, async (t) => {
	const c = new Cluster(model);
	for (const name of NAMES) await c.start(name);
	await c.shared();
	const workspace = await c.startWorker();
	const input = Array.from({ length: ITEMS }, (_, i) => textOf(i)).join('\n');
	const began = Date.now();
	const { jobId, sessionId } = await ok(c.nodes.get('a'), 'create_job', { instruction: '', input, concurrency: 16, createPolicy: { workspaceId: workspace.workspaceId } });
	await torment(c, jobId);
	const job = await waitSlowly(async () => {
		const now = await tried(c.live(0), 'get_job', { jobId, limit: 1 });
		return now?.status && now.counts.pending + now.counts.running === 0 && now;
	}, 'the end', 60000 + ITEMS * 100);
	t.diagnostic(`${FAULTS} faults in ${((Date.now() - began) / 1000).toFixed(0)} s, ${(ITEMS / ((Date.now() - began) / 1000)).toFixed(0)} items/s`);
	assert.deepEqual([job.status, job.counts], ['completed', COUNTS(0, 0, ITEMS, 0)]);
	await c.shared();
	for (const [name, node] of c.nodes) {
		const outputs = new Set();
		let restarts = 0;
		assert.equal(await eachPage(node, jobId, (items) => items.forEach((item) => outputs.add(item.outputRef))), ITEMS);
		assert.equal(outputs.size, ITEMS, 'each item has an output of its own, at each node');
		const { done } = await readLaws(node, sessionId, ITEMS, (fact) => (restarts += fact.type === 'job.item.started' && fact.payload.attemptCount > 1));
		assert.equal(done.size, ITEMS, 'and each node tells the same log');
		t.diagnostic(`node ${name}: ${JSON.stringify(usageOf(node))}, ${restarts} items tried again`);
	}
	assert.deepEqual(ran(workspace), Array.from({ length: ITEMS }, (_, i) => i).filter(runsCommand), 'each command ran once');
	const { items: [last] } = await ok(c.nodes.get('b'), 'get_job', { jobId, cursor: String(ITEMS - 1) });
	assert.equal((await ok(c.nodes.get('c'), 'read_output', { outputRef: last.outputRef })).content, `You said: item ${ITEMS - 1}`);
	await c.stop();
});

/** Points that a job without tools passes on PostgreSQL. */
function points() {
	const names = new Set();
	for (const file of readdirSync(src, { recursive: true }).filter((f) => /\.c$/.test(f) && !f.includes('store_sqlite')))
		for (const [, name] of readFileSync(join(src, file), 'utf8').matchAll(/\bAR_FAULT\("([^"]+)"\)/g)) names.add(name);
	const all = [...names].filter((name) => !/tool|hook|process|before_go|checkpoint|recover|chunk/.test(name)).sort();
	return process.env.AR_JOB_POINTS === 'all' ? all : all.filter((name) => ['engine.before_append', 'engine.after_commit', 'engine.before_decide'].includes(name));
}

/** The job has no item at work: its status, and the counts. */
const settled = (node, jobId) => waitFor(async () => {
	const now = await tried(node, 'get_job', { jobId });
	return now?.counts && now.counts.pending + now.counts.running === 0 && now;
}, 'no item at work', 60000);

test('AC-17 JB-06 a node dies at a fault point in jobs with a retry, and the other one goes on: others untouched, attempt count 2, one output an item', { skip, timeout: 600000 }, async () => {
	const c = new Cluster(model);
	const b = await c.start('b');
	for (const point of points()) {
		const a = await c.start('a', { fault: `${point}:40`, mayDie: true });
		await waitFor(async () => a.isGone || (await table(b)).filter((row) => row.partitions > 100).length === 2, 'a share for each, or its end', 60000);
		const jobs = [];
		// The sessions of a job are on both nodes by chance: more jobs until the node has passed its point.
		for (let i = 0; i < 50 && !a.isGone; i++) {
			const key = `${point}-${i}`;
			const made = await waitFor(async () => {
				const answer = await tried(b, 'create_job', { instruction: key, input: lines('a', 'b', '[[fail-turns 1 http 503]]c', 'd', 'e'), concurrency: 2, idempotencyKey: key });
				return answer?.jobId && answer;
			}, 'a job', 60000);
			jobs.push(made);
			await waitFor(async () => {
				const now = a.isGone || (await tried(b, 'get_job', { jobId: made.jobId }));
				return now === true || (now?.counts && now.counts.pending + now.counts.running === 0);
			}, 'its items, or the end of the node', 60000);
		}
		assert.ok(a.isGone, `it was killed at ${point}`);
		for (const { jobId, sessionId } of jobs) {
			const now = await settled(b, jobId);
			assert.deepEqual([now.status, now.counts, now.items[2].status, now.items[2].attemptCount], ['running', COUNTS(0, 0, 4, 1), 'failed', 1], point);
			assert.equal((await ok(b, 'retry_job_item', { jobId, jobItemId: now.items[2].jobItemId })).attemptCount, 2);
			const done = await settled(b, jobId);
			assert.deepEqual([done.status, done.counts, done.items.map((item) => item.attemptCount)], ['completed', COUNTS(0, 0, 5, 0), [1, 1, 2, 1, 1]], point);
			const facts = await jobFacts(b, sessionId);
			assert.equal(checkLaws(facts, 5).size, 5);
			assert.match(facts.find((e) => e.type === 'job.item.failed').payload.lastError.message, /./, 'the last error stays in the history');
		}
		c.nodes.delete('a');
	}
	await c.stop();
});
