// Schedules over faults: kill -9 at every step of a run, a server that was down for hours by its clock, clocks that are set, many that are due at once.
// ci: release only (the shifted clock is preloaded)
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder, ok, request, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { Clock } from '../cluster/machines/clock.mjs';

/** The log of a schedule, or of a session. */
async function factsOf(rt, id) {
	const { text } = await request(rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: id.replace('sched_', 'sess_'), limit: 1000 }) });
	return JSON.parse(text).history.events;
}

const runsOf = async (rt, scheduleId) => (await ok(rt, 'get_schedule', { scheduleId })).runs;

/** Runs of the schedule that its session has turns of, by their ids. */
async function turnsOf(rt, sessionId) {
	return (await factsOf(rt, sessionId)).filter((f) => f.type === 'turn.submitted' && f.payload.source === 'schedule').map((f) => f.payload.metadata.runId);
}

/** agentd with a clock that can be set. */
async function withClock(config = {}) {
	const clock = new Clock(join(newFolder(), 'clock'));
	const { AR_CLOCK_OFFSET_ALL: _, ...env } = clock.env;
	return { clock, ...(await world({ env, config })) };
}

for (const point of ['engine.before_append', 'engine.after_commit', 'engine.after_publish', 'engine.after_reply', 'engine.before_decide'])
	test(`a run is begun once, and ends, whatever is killed at ${point}`, async () => {
		const w = await world({});
		const { sessionId } = await submit(w.rt, 'first');
		const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'killed', spec: '@yearly', overlap: 'queue', start: { text: 'work', sessionId } });
		await w.rt.kill9();
		// Each life dies a little further in the way of the run: of the schedule, of the turn, of its report.
		let rt = await w.again({});
		for (let nth = 1; nth <= 8; nth++) {
			await rt.kill9();
			rt = await w.again({ fault: `${point}:${nth}`, mayDie: true });
			if (!rt.isGone) await request(rt, { path: '/v1/run_schedule', body: JSON.stringify({ scheduleId, idempotencyKey: `k${nth}` }) }).catch(() => {});
			await sleep(150);
			if (!rt.isGone) await rt.kill9();
			rt = await w.again({});
			await ok(rt, 'run_schedule', { scheduleId, idempotencyKey: `k${nth}` });
		}
		const runs = await waitFor(async () => {
			const all = await runsOf(rt, scheduleId);
			return all.every((run) => run.endedAt) && all;
		}, 'the end of all runs', 60000);
		assert.deepEqual([...new Set(runs.map((run) => run.status))], ['completed'], JSON.stringify(runs));
		const fired = (await factsOf(rt, scheduleId)).filter((f) => f.type === 'schedule.fired');
		assert.equal(fired.length, 8, 'a key is one run');
		const turns = await turnsOf(rt, sessionId);
		assert.deepEqual([...turns].sort(), fired.map((f) => f.payload.run.runId).sort(), 'each has one turn');
	});

/** A server that was down for two hours, over 13 times of a schedule. */
async function down(catchUp, fired, missed) {
	const w = await withClock();
	const { sessionId } = await submit(w.rt, 'first');
	// So that the next time is minutes away from here on.
	const minute = (new Date().getUTCMinutes() + 5) % 10;
	const { schedule } = await ok(w.rt, 'create_schedule', { name: 'down', spec: `${minute}-59/10 * * * *`, catchUp, start: { text: 'work', sessionId } });
	const due = Date.parse(schedule.nextAt);
	await w.rt.kill9();
	w.clock.step(Math.ceil((due - Date.now()) / 1000) + 2 * 3600 + 120);
	const rt = await w.again();
	const { scheduleId } = schedule;
	const runs = await waitFor(async () => {
		const all = await runsOf(rt, scheduleId);
		return all.length && all.every((run) => run.endedAt) && all;
	}, 'what is made up for', 60000);
	const facts = await factsOf(rt, scheduleId);
	assert.equal(facts.filter((f) => f.type === 'schedule.fired').length, fired);
	assert.equal(facts.filter((f) => f.type === 'schedule.missed').reduce((n, f) => n + f.payload.run.count, 0), missed);
	assert.equal((await turnsOf(rt, sessionId)).length, fired);
	const after = (await ok(rt, 'get_schedule', { scheduleId })).schedule;
	assert.equal(Date.parse(after.nextAt), due + 130 * 60 * 1000, 'the first time after now');
	// The session has the missed run as a task.
	const { tasks } = await ok(rt, 'list_tasks', { sessionId });
	const record = tasks.find((task) => task.title === 'down');
	assert.equal(Boolean(record), missed > 0);
	if (!record) return;
	assert.equal(record.status, 'failed');
	const failed = (await factsOf(rt, sessionId)).find((f) => f.type === 'task.failed' && f.taskId === record.taskId);
	assert.equal(failed.payload.failureCategory, 'missed_run');
	assert.match(failed.payload.lastError.message, new RegExp(`missed ${missed} of its times`));
	assert.equal(runs.find((run) => run.status === 'missed').taskId, record.taskId);
}

test('TK-24 two hours down, skip: nothing runs, and the session has the missed runs as a task', () => down('skip', 0, 13));

test('TK-24 two hours down, once: the newest runs, and the others are missed', () => down('once', 1, 12));

test('two hours down, all: each time gets its run', () => down('all', 13, 0));

test('a clock that is set forward makes it due, and set back never twice', async () => {
	const w = await withClock();
	const { sessionId } = await submit(w.rt, 'first');
	const { schedule: { scheduleId, nextAt } } = await ok(w.rt, 'create_schedule', { name: 'clock', spec: '@daily', overlap: 'queue', start: { text: 'work', sessionId } });
	w.clock.step(Math.ceil((Date.parse(nextAt) - Date.now()) / 1000) + 1);
	await waitFor(async () => (await runsOf(w.rt, scheduleId)).some((run) => run.status === 'completed'), 'the run');
	for (const offset of [0, -3600, 0]) {
		w.clock.step(offset);
		await sleep(300);
	}
	w.clock.step(Math.ceil((Date.parse(nextAt) - Date.now()) / 1000) + 2);
	await sleep(6000); // longer than it looks at the clock
	assert.equal((await factsOf(w.rt, scheduleId)).filter((f) => f.type === 'schedule.fired').length, 1);
	assert.equal((await turnsOf(w.rt, sessionId)).length, 1);
});

test('JB-08 AN-30 a schedule that ticks makes no task while nothing is due', async () => {
	const w = await withClock();
	const { sessionId } = await submit(w.rt, 'first');
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'idle', spec: 'every 1s', paused: true, start: { text: 'work', sessionId } });
	const { schedule: { scheduleId: far } } = await ok(w.rt, 'create_schedule', { name: 'far', spec: '@yearly', start: { text: 'work', sessionId } });
	const before = await ok(w.rt, 'list_tasks', { sessionId });
	const heads = async () => Promise.all([scheduleId, far].map(async (id) => (await factsOf(w.rt, id)).length));
	const start = await heads();
	for (let second = 0; second <= 60; second += 5) {
		w.clock.step(second);
		await sleep(100);
	}
	await sleep(5500); // it has looked at the clock
	assert.deepEqual((await ok(w.rt, 'list_tasks', { sessionId })).tasks.map((t) => t.taskId), before.tasks.map((t) => t.taskId));
	assert.deepEqual(await heads(), start, 'a tick is no fact');
});

test('a thousand schedules that are due at once run once each', async () => {
	const w = await withClock({ 'schedules.per_tenant': 2000, 'session.cache': 50 });
	const ids = [];
	for (let i = 0; i < 1000; i += 50)
		ids.push(...(await Promise.all(Array.from({ length: 50 }, (_, k) => ok(w.rt, 'create_schedule', { name: `s${i + k}`, spec: '@daily', start: { text: 'work' } })))).map((r) => r.schedule));
	w.clock.step(Math.ceil((Date.parse(ids[0].nextAt) - Date.now()) / 1000) + 1);
	const began = Date.now();
	await waitFor(async () => {
		const { schedules } = await ok(w.rt, 'list_schedules', { limit: 200 });
		return schedules.every((s) => s.runs === 1);
	}, 'the first page', 60000);
	for (const { scheduleId } of ids) {
		const [run, ...others] = await waitFor(async () => {
			const runs = await runsOf(w.rt, scheduleId);
			return runs.length && runs.every((one) => one.endedAt) && runs;
		}, 'its end', 60000);
		assert.deepEqual([run.status, others.length], ['completed', 0]);
	}
	assert.ok(Date.now() - began < 60000, `${Date.now() - began} ms`);
	assert.equal(new Set((await Promise.all(ids.slice(0, 50).map(async ({ scheduleId }) => (await runsOf(w.rt, scheduleId))[0].sessionId)))).size, 50);
});
