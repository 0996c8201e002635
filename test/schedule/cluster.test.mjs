// Schedules on two nodes: each fires what it owns, their turns run on either, and when one is killed the other goes on without a time twice.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { newFolder, ok, request, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
let model, nodes;

const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;

before(async () => {
	if (skip) return;
	model = await startModel();
	const env = storeOf(newFolder());
	nodes = [];
	for (const name of ['a', 'b']) nodes.push(await startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500 } }));
	for (const node of nodes) await waitFor(async () => (await table(node)).length === 2 && (await table(node)).every((n) => n.partitions > 400), 'a fair share for each');
});

/** The log of a schedule. */
async function factsOf(rt, id) {
	const { text } = await request(rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: id.replace('sched_', 'sess_'), limit: 1000 }) });
	return JSON.parse(text).history.events;
}

test('a node is killed while forty schedules are due each second: no time twice, none goes on alone, and every run ends', { skip }, async () => {
	const [a, b] = nodes;
	const ids = [];
	for (let i = 0; i < 40; i++) ids.push((await ok(i % 2 ? a : b, 'create_schedule', { name: `s${i}`, spec: 'every 1s', overlap: 'queue', catchUp: 'all', start: { text: 'work' } })).schedule.scheduleId);
	const runsAtLeast = (least) => waitFor(async () => {
		const { schedules } = await ok(b, 'list_schedules', { limit: 200 });
		return schedules.length === 40 && schedules.every((s) => s.runs + s.missed >= least);
	}, `${least} runs of each`, 60000);
	await runsAtLeast(2);
	await a.kill9();
	await runsAtLeast(6);
	for (const scheduleId of ids) await ok(b, 'end_schedule', { scheduleId });
	let turns = 0;
	for (const scheduleId of ids) {
		const { runs } = await waitFor(async () => {
			const found = await ok(b, 'get_schedule', { scheduleId });
			return found.runs.every((run) => run.endedAt) && found;
		}, 'the end of its runs', 60000);
		for (const run of runs) assert.ok(['completed', 'cancelled', 'missed'].includes(run.status), JSON.stringify(run));
		const facts = await factsOf(b, scheduleId);
		const due = facts.filter((f) => f.type === 'schedule.fired').map((f) => f.payload.run.dueAt);
		assert.equal(new Set(due).size, due.length, 'no time twice');
		const missed = facts.filter((f) => f.type === 'schedule.missed').reduce((n, f) => n + f.payload.run.count, 0);
		const times = due.map((t) => Date.parse(t)).sort((x, y) => x - y);
		if (missed === 0) assert.equal((times.at(-1) - times[0]) / 1000, times.length - 1, 'no time left out');
		const started = facts.filter((f) => f.type === 'schedule.run_changed' && f.payload.run.status === 'completed');
		assert.equal(new Set(started.map((f) => f.payload.run.sessionId)).size, started.length, 'a session each');
		turns += started.length;
	}
	const { sessions } = await ok(b, 'list_sessions', { limit: 200 });
	assert.ok(turns > 0 && sessions.length > 0);
});
