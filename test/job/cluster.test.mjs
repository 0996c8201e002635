// A job on three nodes over PostgreSQL while nodes are killed with -9, and AC-17 on two: a node dies at a fault point, the other one goes on.
// AR_JOB_CLUSTER_ITEMS=100000 AR_JOB_CLUSTER_KILLS=60 for more than the gate does; AR_JOB_POINTS=all for every fault point.
// ci: release only
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, newFolder, ok, request, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { checkLaws, COUNTS, eachPage, jobFacts, lines } from './laws.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const ITEMS = Number(process.env.AR_JOB_CLUSTER_ITEMS ?? 600);
const KILLS = Number(process.env.AR_JOB_CLUSTER_KILLS ?? 2);
const src = fileURLToPath(new URL('../../src', import.meta.url));
let model;

const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;

before(async () => {
	if (!skip) model = await startModel();
});

/** Nodes of one database, by name; start() starts one, or starts it again. */
function cluster() {
	const env = storeOf(newFolder());
	const nodes = new Map();
	const start = async (name, more = {}) => {
		nodes.set(name, await startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500, 'model.max_attempts': 5, 'model.backoff_ms': 20, 'recovery.max_restarts': 50, 'limits.max_body_bytes': 134217728 }, ...more }));
		return nodes.get(name);
	};
	/** Every node that is there has a share. */
	const shared = () => waitFor(async () => {
		for (const node of nodes.values()) {
			const rows = await table(node).catch(() => []);
			if (rows.length !== nodes.size || rows.some((row) => row.partitions < 100)) return false;
		}
		return true;
	}, 'a share for each node', 60000);
	return { nodes, start, shared, stop: () => Promise.all([...nodes.values()].map((node) => node.stop().catch(() => {}))) };
}

/** One call at a node that may be about to die, or that has no owner for it yet. */
const tried = async (node, command, input) => (await call(node, command, input).catch(() => ({}))).body;

test(`JB-06 JB-12 a job of ${ITEMS} items on three nodes, ${KILLS} of them killed with -9 on the way: one output an item, and counts that add up`, { skip, timeout: 60000 + ITEMS * 100 + KILLS * 30000 }, async () => {
	const c = cluster();
	const names = ['a', 'b', 'c'];
	for (const name of names) await c.start(name);
	await c.shared();
	const input = Array.from({ length: ITEMS }, (_, i) => `[[burst]]item ${i}`).join('\n');
	const { jobId, sessionId } = await ok(c.nodes.get('a'), 'create_job', { instruction: '', input, concurrency: 16 });
	const live = (nth) => [...c.nodes.values()].filter((node) => !node.isGone)[nth % 2];
	for (let kill = 0; kill < KILLS; kill++) {
		const least = Math.floor((ITEMS * (kill + 1)) / (KILLS + 2));
		await waitFor(async () => (await tried(live(kill), 'get_job', { jobId, limit: 1 }))?.counts?.completed >= least, `${least} items`, 60000 + ITEMS * 50);
		const name = names[kill % 3];
		await c.nodes.get(name).kill9();
		await c.start(name);
	}
	const job = await waitFor(async () => {
		const now = await tried(live(0), 'get_job', { jobId, limit: 1 });
		return now?.status && now.status !== 'running' && now;
	}, 'the end', 60000 + ITEMS * 100);
	assert.deepEqual([job.status, job.counts], ['completed', COUNTS(0, 0, ITEMS, 0)]);
	await c.shared();
	for (const node of c.nodes.values()) {
		const outputs = new Set();
		assert.equal(await eachPage(node, jobId, (items) => items.forEach((item) => outputs.add(item.outputRef))), ITEMS);
		assert.equal(outputs.size, ITEMS, 'each item has an output of its own, at each node');
		assert.equal(checkLaws(await jobFacts(node, sessionId), ITEMS).size, ITEMS, 'and each node tells the same log');
	}
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
	const c = cluster();
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
