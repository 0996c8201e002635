// Schedules as records, and their runs: turns in a session that is there, or in a new one each time.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, refused, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';

let w, acme;

/** One call with a token. */
async function as(token, command, input = {}) {
	const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } });
	return { status, body: JSON.parse(text) };
}

/** The log of a schedule: a session without a thread. */
async function factsOf(scheduleId) {
	const { text } = await request(w.rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: scheduleId.replace('sched_', 'sess_'), limit: 500 }) });
	return JSON.parse(text).history.events;
}

/** A run of the schedule with this status. */
const runWith = (scheduleId, status) =>
	waitFor(async () => (await ok(w.rt, 'get_schedule', { scheduleId })).runs.find((run) => run.status === status), `a run that is ${status}`);

before(async () => {
	w = await world({});
	({ token: acme } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] }));
});

test('a schedule says when it is due, in words and in times', async () => {
	const { schedule } = await ok(w.rt, 'create_schedule', { name: 'report', spec: '0 9 * * MON-FRI', zone: 'Europe/Berlin', start: { text: 'hello' } });
	assert.match(schedule.scheduleId, /^sched_0000000000[pq]/);
	assert.deepEqual([schedule.sentence, schedule.status, schedule.catchUp, schedule.overlap, schedule.runs, schedule.version],
		['every weekday at 09:00 Europe/Berlin', 'active', 'once', 'skip', 0, 1]);
	const { nextTimes, runs } = await ok(w.rt, 'get_schedule', { scheduleId: schedule.scheduleId });
	assert.deepEqual(runs, []);
	assert.equal(nextTimes.length, 3);
	assert.equal(nextTimes[0], schedule.nextAt);
	for (const time of nextTimes) {
		const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(new Date(time));
		assert.match(local, /^(Mon|Tue|Wed|Thu|Fri),? 09:00$/);
	}
	assert.ok(Date.parse(nextTimes[0]) > Date.now() && Date.parse(nextTimes[1]) > Date.parse(nextTimes[0]));
});

test('what cannot be read is refused, and leaves nothing', async () => {
	const start = { text: 'x' };
	for (const bad of [{ spec: '* * *' }, { spec: '0 0 30 2 *' }, { spec: 'every 0s' }, { spec: '@daily', zone: 'Europe/Nowhere' }, { spec: '@daily', zone: '../../etc/passwd' }, { spec: '@daily', zone: '/etc/passwd' }, { spec: '@daily', zone: 'posixrules/../UTC' }])
		await refused(w.rt, 'invalid_schedule', 'create_schedule', { name: 'bad', start, ...bad });
	await refused(w.rt, 'invalid_input', 'create_schedule', { name: '', spec: '@daily', start });
	await refused(w.rt, 'invalid_input', 'create_schedule', { name: 'x', spec: '@daily', start: { text: '' } });
	await refused(w.rt, 'session_not_found', 'create_schedule', { name: 'x', spec: '@daily', start: { text: 'x', sessionId: 'sess_01aaaaaaaaaaaaaaaaaaaaaaaa' } });
	await refused(w.rt, 'invalid_input', 'create_schedule', { name: 'x', spec: '@daily', start: { text: 'x', threadId: 't' } });
	assert.ok(!(await ok(w.rt, 'list_schedules', { status: 'all' })).schedules.some((s) => s.name === 'bad' || s.name === 'x'));
});

test('an interval submits a turn to its session each time, and each run ends with its turn', async () => {
	const { sessionId } = await submit(w.rt, 'first');
	const { schedule } = await ok(w.rt, 'create_schedule', { name: 'tick', spec: 'every 1s', overlap: 'queue', start: { text: 'again', sessionId } });
	const { scheduleId } = schedule;
	const done = await waitFor(async () => {
		const { runs } = await ok(w.rt, 'get_schedule', { scheduleId });
		const ended = runs.filter((run) => run.status === 'completed');
		return ended.length >= 2 && ended;
	}, 'two runs');
	await ok(w.rt, 'end_schedule', { scheduleId, reason: 'enough' });
	for (const run of done) assert.deepEqual([run.sessionId, run.trigger], [sessionId, 'time']);
	const due = done.map((run) => Date.parse(run.dueAt));
	assert.equal((due[1] - due[0]) % 1000, 0);
	const facts = await factsOf(scheduleId);
	for (const fact of facts) validateEvent(fact);
	const fired = facts.filter((f) => f.type === 'schedule.fired').map((f) => f.payload.run.dueAt);
	assert.equal(new Set(fired).size, fired.length, 'no time twice');
	const { history } = await ok(w.rt, 'get_session', { sessionId, limit: 500 }, { loose: true });
	const turns = history.events.filter((f) => f.type === 'turn.submitted' && f.payload.source === 'schedule');
	assert.ok(turns.length >= 2);
	assert.equal(new Set(turns.map((f) => f.payload.metadata.runId)).size, turns.length, 'a turn for each run');
});

const tool = { name: 'set_value', description: 'Sets something.', inputSchema: { type: 'object' } };
/** A turn that waits for a tool of ours until it is interrupted or answered. */
const waits = { text: '[[tool set_value {"q":"x"}]]', options: { tools: [tool] } };

test('each run without a session gets one of its own, with the policy of the schedule', async () => {
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'fresh', spec: '@yearly', start: { text: 'hello', createPolicy: { title: 'nightly' } } });
	for (let i = 0; i < 2; i++) {
		await ok(w.rt, 'run_schedule', { scheduleId });
		await waitFor(async () => (await ok(w.rt, 'get_schedule', { scheduleId })).runs.filter((run) => run.status === 'completed').length === i + 1, 'its end');
	}
	const { runs } = await ok(w.rt, 'get_schedule', { scheduleId });
	assert.notEqual(runs[0].sessionId, runs[1].sessionId);
	for (const { sessionId, outputRef } of runs) {
		assert.equal((await ok(w.rt, 'get_session', { sessionId }, { loose: true })).title, 'nightly');
		assert.equal((await ok(w.rt, 'read_output', { outputRef })).state, 'available');
	}
});

test('overlap: the next run is skipped, waits, or cancels the one before', async () => {
	for (const overlap of ['skip', 'queue', 'cancel']) {
		const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: overlap, spec: '@yearly', overlap, start: waits });
		await ok(w.rt, 'run_schedule', { scheduleId });
		const first = await runWith(scheduleId, 'running');
		const { run } = await ok(w.rt, 'run_schedule', { scheduleId });
		if (overlap === 'skip') {
			assert.deepEqual([run.status, run.reason], ['missed', 'the run before had not ended']);
			continue;
		}
		if (overlap === 'queue') {
			assert.equal(run.status, 'queued');
			await ok(w.rt, 'interrupt_turn', { sessionId: first.sessionId, turnId: first.turnId, reason: 'enough' });
		}
		await runWith(scheduleId, 'cancelled');
		const second = await runWith(scheduleId, 'running');
		assert.equal(second.runId, run.runId);
		await ok(w.rt, 'interrupt_turn', { sessionId: second.sessionId, turnId: second.turnId, reason: 'enough' });
	}
});

test('a paused schedule is not due, and what passed is not made up for; one that has ended stays so', async () => {
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'paused', spec: 'every 1s', catchUp: 'all', paused: true, start: { text: 'x' } });
	await new Promise((done) => setTimeout(done, 2200));
	const { schedule: resumed } = await ok(w.rt, 'update_schedule', { scheduleId, paused: false, version: 1 });
	assert.ok(Date.parse(resumed.nextAt) > Date.parse(resumed.updatedAt));
	await runWith(scheduleId, 'completed');
	await refused(w.rt, 'version_conflict', 'update_schedule', { scheduleId, name: 'x', version: 1 });
	await ok(w.rt, 'end_schedule', { scheduleId });
	assert.equal((await ok(w.rt, 'end_schedule', { scheduleId })).result, 'no_op');
	await refused(w.rt, 'schedule_ended', 'run_schedule', { scheduleId });
	const facts = await factsOf(scheduleId);
	assert.equal(facts.filter((f) => f.type === 'schedule.missed').length, 0);
	assert.ok(!(await ok(w.rt, 'list_schedules', { limit: 200 })).schedules.some((s) => s.scheduleId === scheduleId));
	assert.ok((await ok(w.rt, 'list_schedules', { limit: 200, status: 'ended' })).schedules.some((s) => s.scheduleId === scheduleId));
});

test('another tenant has its own: it neither sees nor changes nor fills those of others', async () => {
	const { body: { schedule: theirs } } = await as(acme, 'create_schedule', { name: 'theirs', spec: '@yearly', start: { text: 'x' } });
	for (const command of ['get_schedule', 'run_schedule', 'end_schedule', 'update_schedule']) await refused(w.rt, 'schedule_not_found', command, { scheduleId: theirs.scheduleId });
	const { sessionId } = await submit(w.rt, 'mine');
	assert.equal((await as(acme, 'create_schedule', { name: 'x', spec: '@yearly', start: { text: 'x', sessionId } })).body.error.code, 'session_not_found');
	assert.equal((await as(acme, 'update_schedule', { scheduleId: theirs.scheduleId, start: { text: 'x', sessionId } })).body.error.code, 'session_not_found');
	await as(acme, 'run_schedule', { scheduleId: theirs.scheduleId });
	const run = await waitFor(async () => (await as(acme, 'get_schedule', { scheduleId: theirs.scheduleId })).body.runs.find((one) => one.status === 'completed'), 'their run');
	await refused(w.rt, 'session_not_found', 'get_session', { sessionId: run.sessionId });
	assert.equal((await as(acme, 'get_session', { sessionId: run.sessionId })).status, 200);
	// Its log is nobody's to write: neither as a session, nor with a report that nobody sent.
	const asSession = theirs.scheduleId.replace('sched_', 'sess_');
	assert.equal((await as(acme, 'submit_turn', { sessionId: asSession, text: 'x' })).body.error.code, 'session_not_found');
	assert.equal((await as(acme, 'report_turn', { to: run.runId, turnId: 't', sessionId: run.sessionId, status: 'failed' })).body.error.code, 'not_authorized');
	assert.equal((await as(acme, 'create_schedule', { name: 'x', spec: '@yearly', start: { text: 'x', sessionId: asSession } })).body.error.code, 'session_not_found');
	assert.equal((await as(acme, 'submit_turn', { createPolicy: {}, text: 'x', reportTo: run.runId })).body.error.code, 'invalid_input');
	assert.equal((await as(acme, 'create_task', { sessionId: run.sessionId, objective: 'x', missedRun: { scheduleId: 's', runId: 'r', dueAt: '2026-01-01T00:00:00Z', count: 1, reason: 'x' } })).body.error.code, 'invalid_input');
});

test('the turns of a schedule count as those of who said what it starts: nobody approves for himself by way of it', async () => {
	const { schedule: { scheduleId, createdBy, person } } = await ok(w.rt, 'create_schedule', { name: 'whose', spec: '@yearly', start: { text: 'x' } });
	assert.equal(person, createdBy);
	await ok(w.rt, 'run_schedule', { scheduleId });
	const run = await runWith(scheduleId, 'completed');
	const { history } = await ok(w.rt, 'get_session', { sessionId: run.sessionId, limit: 500 }, { loose: true });
	assert.deepEqual(history.events.find((f) => f.type === 'turn.submitted').payload.submittedBy, [person]);
});

test('a turn that is refused is a run that is refused, with the reason', async () => {
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'refused', spec: '@yearly', start: { text: 'x', createPolicy: { workspaceId: 'ws_0000000000j000000000000000' } } });
	await ok(w.rt, 'run_schedule', { scheduleId });
	const run = await runWith(scheduleId, 'refused');
	assert.equal(run.error.category, 'workspace_not_found');
});

test('schedules of a tenant are limited, and the same key is the same schedule', async () => {
	const limited = await world({ config: { 'schedules.per_tenant': 2 } });
	const input = (name) => ({ name, spec: '@yearly', start: { text: 'x' }, idempotencyKey: name });
	const { schedule } = await ok(limited.rt, 'create_schedule', input('a'));
	await ok(limited.rt, 'create_schedule', input('b'));
	await refused(limited.rt, 'tenant_quota_exceeded', 'create_schedule', input('c'));
	assert.equal((await ok(limited.rt, 'create_schedule', input('a'))).schedule.scheduleId, schedule.scheduleId);
	await ok(limited.rt, 'end_schedule', { scheduleId: schedule.scheduleId });
	await ok(limited.rt, 'create_schedule', input('c'));
	await limited.rt.kill9();
	limited.rt = await limited.again();
	assert.deepEqual((await ok(limited.rt, 'list_schedules', {})).schedules.map((s) => s.name).sort(), ['b', 'c']);
});
