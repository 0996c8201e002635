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
