// Schedules that start jobs: a run is a job, the facts of both name each other, the run ends with the job, and nothing of it is lost or
// doubled by kill -9.
// ci: release only (the shifted clock is preloaded)
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkLaws, COUNTS, factsOf, jobFacts } from '../job/laws.mjs';
import { Clock } from '../cluster/machines/clock.mjs';
import { bin, newFolder, ok, refused, request, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';

/** The log of a schedule. */
async function scheduleFacts(rt, id) {
	const { text } = await request(rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: id.replace('sched_', 'sess_'), limit: 1000 }) });
	return JSON.parse(text).history.events;
}

function ctl(rt, ...args) {
	return new Promise((done) => {
		execFile(join(bin, 'agentctl'), ['--url', rt.url, ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent' } }, (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr }));
	});
}

const runsOf = async (rt, scheduleId) => (await ok(rt, 'get_schedule', { scheduleId })).runs;
const runWith = (rt, scheduleId, ...states) =>
	waitFor(async () => (await runsOf(rt, scheduleId)).find((run) => states.includes(run.status)), `a run that is ${states}`, 60000);
const start = (job = {}, more = {}) => ({ text: 'Describe it.', job: { input: 'Rome\nOslo', ...job }, ...more });

/** agentd with a clock that can be set. */
async function withClock() {
	const clock = new Clock(join(newFolder(), 'clock'));
	const { AR_CLOCK_OFFSET_ALL: _, ...env } = clock.env;
	return { clock, ...(await world({ env })) };
}

test('a job of a schedule with an item that fails every time ends by itself, so that the next run can start', async () => {
	const w = await world({ config: { 'model.max_attempts': 1 } });
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'fails', spec: '@yearly', start: start({ input: '[[fail-turns 99 http 503]]Rome' }) });
	for (let i = 0; i < 2; i++) {
		await ok(w.rt, 'run_schedule', { scheduleId });
		await waitFor(async () => (await runsOf(w.rt, scheduleId)).filter((run) => run.status === 'completed').length === i + 1, 'the end of the run', 60000);
	}
	const [run] = await runsOf(w.rt, scheduleId);
	assert.deepEqual(run.counts, COUNTS(0, 0, 0, 1));
	assert.deepEqual((await ok(w.rt, 'get_job', { jobId: run.jobId })).items.map((i) => [i.attemptCount, i.retryable]), [[3, false]]);
	await w.rt.stop();
});

test('JB-08 AN-30 a schedule of a job that ticks for a minute makes no task, no job and no fact; when it is due it starts one job, which names it', async () => {
	const w = await withClock();
	const { sessionId } = await submit(w.rt, 'first');
	const made = await Promise.all([{ spec: 'every 1s', paused: true }, { spec: '@yearly' }].map((when) => ok(w.rt, 'create_schedule', { name: 'dispatcher', ...when, start: start({}, { sessionId }) })));
	const [idle, far] = made.map((one) => one.schedule);
	const tasks = async () => (await ok(w.rt, 'list_tasks', { sessionId })).tasks.map((task) => task.taskId);
	const jobs = async () => (await ok(w.rt, 'list_jobs', { sessionId })).jobs;
	const heads = async () => Promise.all([idle, far].map(async (one) => (await scheduleFacts(w.rt, one.scheduleId)).length));
	const before = { tasks: await tasks(), heads: await heads() };
	for (let second = 0; second <= 60; second += 5) {
		w.clock.step(second);
		await sleep(100);
	}
	await sleep(5500); // it has looked at the clock
	assert.deepEqual({ tasks: await tasks(), heads: await heads() }, before, 'a tick is no task and no fact');
	assert.deepEqual(await jobs(), []);
	w.clock.step(Math.ceil((Date.parse(far.nextAt) - Date.now()) / 1000) + 1);
	const run = await runWith(w.rt, far.scheduleId, 'completed');
	const [job, ...others] = await jobs();
	assert.deepEqual([job.jobId, others.length, run.counts], [run.jobId, 0, COUNTS(0, 0, 2, 0)]);
	const full = await ok(w.rt, 'get_job', { jobId: job.jobId });
	assert.deepEqual([full.scheduleId, full.scheduleRunId, full.sessionId], [far.scheduleId, run.runId, sessionId]);
	const facts = await waitFor(async () => {
		const all = await jobFacts(w.rt, sessionId);
		return all.some((e) => e.type === 'job.reported') && all;
	}, 'the end of its report');
	const created = facts.find((e) => e.type === 'job.created').payload;
	assert.deepEqual([created.scheduleId, created.scheduleRunId], [far.scheduleId, run.runId]);
	const reported = facts.find((e) => e.type === 'job.reported');
	validateEvent(reported);
	assert.deepEqual(reported.payload, { to: run.runId, result: 'accepted' });
	assert.equal(checkLaws(facts, 2).size, 2);
	assert.deepEqual(await tasks(), before.tasks, 'the run of a schedule is no task');
	await w.rt.stop();
});

for (const point of ['engine.before_append', 'engine.after_commit', 'engine.before_decide'])
	test(`a run starts one job and ends with it, whatever is killed at ${point}`, async () => {
		const w = await world({});
		const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'killed', spec: '@yearly', overlap: 'queue', start: start() });
		let rt = w.rt;
		// Each life dies a little further in the way of the run: of the schedule, the job, its items, its report.
		for (const nth of [1, 2, 3, 4, 6, 9, 13]) {
			await rt.kill9();
			rt = await w.again({ fault: `${point}:${nth}`, mayDie: true });
			if (!rt.isGone) await request(rt, { path: '/v1/run_schedule', body: JSON.stringify({ scheduleId, idempotencyKey: `k${nth}` }) }).catch(() => {});
			await waitFor(async () => rt.isGone || (await runsOf(rt, scheduleId).catch(() => [])).every((run) => run.endedAt), 'its end, or that of the run', 30000);
			if (!rt.isGone) await rt.kill9();
			rt = await w.again({});
			await ok(rt, 'run_schedule', { scheduleId, idempotencyKey: `k${nth}` });
		}
		const runs = await waitFor(async () => {
			const all = await runsOf(rt, scheduleId);
			return all.every((run) => run.endedAt) && all;
		}, 'the end of all runs', 60000);
		assert.deepEqual(runs.map((run) => [run.status, run.counts]), Array(7).fill(['completed', COUNTS(0, 0, 2, 0)]));
		assert.equal(new Set(runs.map((run) => run.jobId)).size, 7);
		for (const run of runs) {
			const facts = await jobFacts(rt, run.sessionId);
			assert.equal(facts.filter((e) => e.type === 'job.created').length, 1, 'a run is one job');
			assert.equal(checkLaws(facts, 2).size, 2, 'with one output an item');
		}
		await rt.stop();
	});

test('what becomes of the job becomes of the run: refused, failed, cancelled by the next, with an item that failed', async () => {
	const w = await world({ config: { 'model.max_attempts': 1 } });
	const create = async (name, more) => (await ok(w.rt, 'create_schedule', { name, spec: '@yearly', ...more })).schedule.scheduleId;
	const nowhere = await create('nowhere', { start: start({}, { createPolicy: { workspaceId: 'ws_0000000000j000000000000000' } }) });
	await ok(w.rt, 'run_schedule', { scheduleId: nowhere });
	assert.equal((await runWith(w.rt, nowhere, 'refused')).error.category, 'workspace_not_found');

	const late = await create('late', { start: start({ input: '[[hang]]a', maxRuntime: 300 }) });
	await ok(w.rt, 'run_schedule', { scheduleId: late });
	const failed = await runWith(w.rt, late, 'failed');
	assert.deepEqual([failed.error.category, failed.counts.running], ['timeout', 1]);

	const next = await create('next', { overlap: 'cancel', start: start({ input: '[[hang]]a\nb', concurrency: 2 }) });
	await ok(w.rt, 'run_schedule', { scheduleId: next });
	const first = await waitFor(async () => {
		const run = await runWith(w.rt, next, 'running');
		return (await ok(w.rt, 'get_job', { jobId: run.jobId })).counts.completed === 1 && run;
	}, 'one of its items');
	await ok(w.rt, 'run_schedule', { scheduleId: next });
	const cancelled = await runWith(w.rt, next, 'cancelled');
	assert.deepEqual([cancelled.runId, cancelled.counts, cancelled.reason], [first.runId, COUNTS(0, 0, 1, 1), 'the next run of its schedule is due']);
	assert.equal((await ok(w.rt, 'get_job', { jobId: first.jobId })).status, 'cancelled');
	await ok(w.rt, 'end_schedule', { scheduleId: next });
	await w.rt.stop();
});

test('a schedule of a job that could never start is refused, and nobody but the runtime reports a job', async () => {
	const w = await world({});
	const bad = [{ input: '' }, { input: '\n' }, { input: '{}', inputFormat: 'json' }, { input: 'a', outputSchema: { type: 7 } }, { input: 'a', concurrency: 0 }];
	for (const job of bad) await refused(w.rt, 'invalid_input', 'create_schedule', { name: 'bad', spec: '@daily', start: { text: 'x', job } });
	assert.deepEqual((await ok(w.rt, 'list_schedules', { status: 'all' })).schedules, []);
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'mine', spec: '@yearly', start: start({ input: '[[hang]]a' }) });
	await refused(w.rt, 'invalid_input', 'update_schedule', { scheduleId, start: { text: 'x', job: bad[1] } });
	await ok(w.rt, 'run_schedule', { scheduleId });
	const run = await runWith(w.rt, scheduleId, 'running');
	const { token } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] });
	const forged = { to: run.runId, jobId: run.jobId, sessionId: run.sessionId, status: 'completed', counts: {} };
	const theirs = async (input) => JSON.parse((await request(w.rt, { path: '/v1/report_job', body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } })).text).error;
	await refused(w.rt, 'not_authorized', 'report_job', forged);
	const unknown = { ...forged, to: `${run.runId.slice(0, 31)}${run.runId[31] === '0' ? '1' : '0'}_1` };
	assert.deepEqual((await theirs(forged)).code, (await theirs(unknown)).code, 'another tenant cannot tell whether it is there');
	await refused(w.rt, 'invalid_input', 'create_job', { instruction: 'x', input: 'a', reportTo: run.runId });
	assert.equal((await runsOf(w.rt, scheduleId))[0].status, 'running');
	assert.deepEqual((await factsOf(w.rt, run.sessionId)).filter((e) => e.type === 'job.reported'), []);
	await w.rt.stop();
});

test('agentctl schedule create --job makes one from a file, and shows its runs', async () => {
	const w = await world({});
	const file = join(newFolder(), 'cities.csv');
	const schema = join(newFolder(), 'schema.json');
	writeFileSync(file, 'city,country\nRome,Italy\nOslo,Norway\n');
	writeFileSync(schema, '{}');
	const made = await ctl(w.rt, 'schedule', 'create', 'cities', '@yearly', 'Describe it.', '--job', file, '--schema', schema, '--concurrency', '1', '--max-runtime', '600');
	assert.equal(made.code, 0, made.stderr);
	const scheduleId = made.stdout.trim();
	const { schedule } = await ok(w.rt, 'get_schedule', { scheduleId });
	assert.deepEqual(schedule.start, { text: 'Describe it.', job: { input: 'city,country\nRome,Italy\nOslo,Norway\n', inputFormat: 'csv', outputSchema: {}, concurrency: 1, maxRuntime: 600000 } });
	assert.equal((await ctl(w.rt, 'schedule', 'run', scheduleId)).code, 0);
	const run = await runWith(w.rt, scheduleId, 'completed', 'failed', 'refused', 'running');
	const shown = await ctl(w.rt, 'schedule', 'show', scheduleId);
	assert.ok(shown.stdout.includes(run.jobId), shown.stdout);
	assert.notEqual((await ctl(w.rt, 'schedule', 'create', 'x', '@yearly', 'x', '--job', '/nowhere/at/all')).code, 0);
	await w.rt.stop();
});

test('agentctl schedule change gives it other times and policies, and leaves what it starts', async () => {
	const w = await world({});
	const made = await ctl(w.rt, 'schedule', 'create', 'report', '0 9 * * MON-FRI', 'What changed?', '--zone', 'Europe/Berlin', '--jitter', '5', '--overlap', 'queue');
	const scheduleId = made.stdout.trim();
	const record = async () => (await ok(w.rt, 'get_schedule', { scheduleId })).schedule;
	const members = ({ spec, zone, jitterMs, catchUp, overlap, start: { text } }) => [spec, zone, jitterMs, catchUp, overlap, text];
	const before = await record();
	const { code, stdout, stderr } = await ctl(w.rt, 'schedule', 'change', scheduleId, '30 8 * * SAT', '--zone', 'America/New_York', '--jitter', '0');
	assert.equal(code, 0, stderr);
	assert.match(stdout, /^every Saturday at 08:30 America\/New_York; next: \d{4}-\d\d-\d\dT1[23]:30:00Z\n$/);
	assert.deepEqual(members(await record()), ['30 8 * * SAT', 'America/New_York', 0, before.catchUp, 'queue', 'What changed?']);
	assert.equal((await ctl(w.rt, 'schedule', 'change', scheduleId, '--catch-up', 'all', '--overlap', 'cancel')).code, 0);
	assert.deepEqual(members(await record()), ['30 8 * * SAT', 'America/New_York', 0, 'all', 'cancel', 'What changed?']);
	for (const wrong of [[scheduleId, '--jitter', '4000'], [scheduleId, '@daily', 'text'], []]) assert.equal((await ctl(w.rt, 'schedule', 'change', ...wrong)).code, 2, wrong.join(' '));
	assert.equal((await ctl(w.rt, 'schedule', 'change', scheduleId, 'never')).code, 1);
	await w.rt.stop();
});
