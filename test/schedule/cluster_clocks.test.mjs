// Many schedules that are due in the same minute on three nodes, while nodes and PostgreSQL are killed with -9 and clocks are set: each time has one run, or is
// told as missed, and each run one turn. AR_SCHEDULES=100000 AR_SCHEDULE_WAVES=2 for more than the gate does.
// ci: release only (the shifted clock is preloaded)
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Clock } from '../cluster/machines/clock.mjs';
import { Cluster, killPostgres, tried } from '../job/cluster.mjs';
import { usageOf } from '../job/laws.mjs';
import { newFolder, ok, request, sleep, startModel, waitFor } from '../lib/runtime.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const SCHEDULES = Number(process.env.AR_SCHEDULES ?? 200);
const WAVES = Number(process.env.AR_SCHEDULE_WAVES ?? 1);
const LEAST = 2; // faults in a wave; there are more while it lasts
const AHEAD = 6; // seconds: a node looks at its clock every five
const TOGETHER = 50; // requests at once
const NAMES = ['a', 'b', 'c'];
const HOUR = 3600;
const DAY = 24 * HOUR;
const OTHERS = [
	{ spec: 'every 5h', period: 5 * HOUR, catchUp: 'once', overlap: 'skip' },
	{ spec: '17 * * * *', period: HOUR, catchUp: 'skip', overlap: 'queue' },
	{ spec: 'every 12h', period: 12 * HOUR, catchUp: 'all', overlap: 'cancel' },
];
const DAILY = { spec: '@daily', period: DAY, catchUp: 'once', overlap: 'queue' };
const kindOf = (i) => OTHERS[i % 20] ?? DAILY;
const START = { text: '[[burst]]work' };
const ENDED = /^(completed|failed|cancelled|refused|missed)$/;

/** A cluster whose nodes have clocks that can be set. */
async function withClocks(model) {
	const c = new Cluster(model, { 'schedules.per_tenant': 0 });
	const clocks = new Map(NAMES.map((name) => [name, new Clock(join(newFolder(), 'clock'))]));
	for (const [name, { env: { AR_CLOCK_OFFSET_ALL: _, ...env } }] of clocks) await c.start(name, { env });
	await c.shared();
	return { c, clocks };
}

/** Calls `work` for each number below `count`, some at once. */
async function each(count, work) {
	let next = 0;
	await Promise.all(Array.from({ length: TOGETHER }, async () => {
		while (next < count) await work(next++);
	}));
}

/** A call that is repeated at one node after another until it has an answer. */
const insist = (c, nth, command, input) => waitFor(async () => {
	const body = await tried(c.live(nth++), command, input);
	return body && !body.error && body;
}, command, 120000);

async function create(c) {
	const made = Array(SCHEDULES);
	await each(SCHEDULES, async (i) => {
		const { period, ...kind } = kindOf(i);
		const { schedule } = await insist(c, i, 'create_schedule', { name: `s${i}`, ...kind, start: START, idempotencyKey: `s${i}` });
		made[i] = { id: schedule.scheduleId, period: period * 1000, next: Date.parse(schedule.nextAt) };
	});
	return made;
}

// ---- faults ----

/** The clock of a node is wrong for a while. */
async function setClock(clock, seconds) {
	const before = clock.offset;
	clock.step(before + seconds);
	await sleep(1500);
	clock.step(before);
}

const DEEDS = [
	({ c, clocks }, nth) => Promise.all([c.killNode(NAMES[nth % 3]), setClock(clocks.get(NAMES[(nth + 1) % 3]), HOUR)]),
	({ clocks }, nth) => Promise.all([killPostgres(), setClock(clocks.get(NAMES[nth % 3]), -HOUR)]),
	({ clocks }, nth) => setClock(clocks.get(NAMES[nth % 3]), 2 * DAY),
	({ c }, nth) => c.killNode(NAMES[nth % 3]),
];

// ---- a wave ----

/** Waits until the next time of each schedule is after `due`. */
async function passed(c, due) {
	for (let cursor, nth = 0; ;) {
		const page = await tried(c.live(nth++), 'list_schedules', { limit: 1000, ...(cursor ? { cursor } : {}) });
		const isOver = page?.schedules?.every((s) => Date.parse(s.nextAt) > due);
		if (isOver && !page.nextCursor) return;
		if (isOver) cursor = page.nextCursor;
		else await sleep(500);
	}
}

async function wave(world, due, faults) {
	const offset = Math.floor((due - Date.now()) / 1000) - AHEAD;
	let isOver = false;
	for (const clock of world.clocks.values()) clock.step(offset);
	const over = passed(world.c, due).then(() => (isOver = true));
	await sleep(due - Date.now() - offset * 1000);
	for (let n = 0; n < LEAST || !isOver; n++) {
		await DEEDS[faults.count % DEEDS.length](world, faults.count);
		faults.count++;
		await sleep((faults.count * 700) % 3000);
	}
	await over;
}

// ---- what must hold ----

/** The log of a schedule, read at whichever node answers. */
const factsOf = (c, nth, id) => waitFor(async () => {
	const answer = await request(c.live(nth++), { path: '/v1/get_session', body: JSON.stringify({ sessionId: id.replace('sched_', 'sess_'), limit: 1000 }) }).catch(() => null);
	return answer?.status === 200 && JSON.parse(answer.text).history.events;
}, `the log of ${id}`, 120000);

/** Each time has one run or is missed, in order; returns the runs by number, with how each stands. */
function checkTimes(facts, { id, period, next }) {
	const runs = new Map();
	for (const { type, payload } of facts.filter((f) => /^schedule\.(fired|missed|run_changed)$/.test(f.type))) {
		const { run, nextAt } = payload;
		if (type === 'schedule.run_changed') {
			assert.ok(!ENDED.test(runs.get(run.number)?.status), `${id}: run ${run.number} ends once`);
			runs.set(run.number, { ...runs.get(run.number), ...run });
			continue;
		}
		const times = type === 'schedule.fired' ? 1 : run.count;
		if (type === 'schedule.fired') assert.equal(Date.parse(run.dueAt), next, `${id}: a run for the time that is next`);
		assert.equal(Date.parse(nextAt), next + times * period, `${id}: ${type} has every time once`);
		assert.ok(!runs.has(run.number), `${id}: ${run.number} is one run`);
		runs.set(run.number, { ...run, isFired: type === 'schedule.fired' });
		next = Date.parse(nextAt);
	}
	return [...runs.values()];
}

/** The same when all of its runs have ended. */
const endedRuns = (c, nth, schedule) => waitFor(async () => {
	const runs = checkTimes(await factsOf(c, nth++, schedule.id), schedule);
	if (runs.every((run) => ENDED.test(run.status))) return runs;
	await sleep(200);
	return false;
}, `the end of the runs of ${schedule.id}`, 600000);

const share = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

test(`${SCHEDULES} schedules, most due in the same minute, ${WAVES} times, with kill -9 of nodes and PostgreSQL and clocks that are set: no time twice, none left out, one turn a run`, { skip, timeout: 300000 + SCHEDULES * WAVES * 30 }, async (t) => {
	const model = await startModel();
	const world = await withClocks(model);
	let began = Date.now();
	const made = await create(world.c);
	t.diagnostic(`created in ${((Date.now() - began) / 1000).toFixed(0)} s, ${world.c.cpu.toFixed(1)} s of CPU`);
	const cpu = world.c.cpu, faults = { count: 0 };
	const midnight = made.find((s) => s.period === DAY * 1000).next;
	began = Date.now();
	for (let i = 0; i < WAVES; i++) await wave(world, midnight + i * DAY * 1000, faults);
	const lasted = (Date.now() - began) / 1000;
	const turns = new Set(), late = [], statuses = {};
	await each(SCHEDULES, async (i) => {
		const runs = await endedRuns(world.c, i, made[i]);
		// A clock that is days ahead makes times missed that had no run yet; the newest of them has one.
		if (kindOf(i) === DAILY) assert.ok(runs.some((run) => run.isFired), `${made[i].id} had a run`);
		for (const run of runs) {
			statuses[run.status] = (statuses[run.status] ?? 0) + 1;
			if (run.isFired) turns.add(`sched-${made[i].id.replace('sched_', '')}-${run.number}`);
			if (run.isFired && kindOf(i) === DAILY) late.push(run.lateMs ?? 0);
			assert.ok(run.status !== 'failed' && run.status !== 'refused', JSON.stringify(run));
		}
	});
	const { turns: asked } = model.count();
	assert.deepEqual(Object.keys(asked).filter((turn) => !turns.has(turn)), [], 'no turn without a run');
	const byRightClocks = late.filter((ms) => ms < HOUR * 1000).sort((x, y) => x - y);
	t.diagnostic(`${turns.size} fires in ${lasted.toFixed(0)} s with ${faults.count} faults; ${((1000 * (world.c.cpu - cpu)) / turns.size).toFixed(2)} ms of CPU each, its turn included; ${JSON.stringify(statuses)}`);
	t.diagnostic(`late by ${share(byRightClocks, 0.5)} ms (p50), ${share(byRightClocks, 0.99)} ms (p99), ${byRightClocks.at(-1)} ms (most), by clocks that were not ahead (${byRightClocks.length} of ${late.length})`);
	for (const [name, node] of world.c.nodes) t.diagnostic(`node ${name}: ${JSON.stringify(usageOf(node))}`);
	await world.c.stop();
});
