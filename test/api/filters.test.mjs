// What a subscription leaves out: other threads, other tasks, other families of events. What it sends has the cursors of the whole log, so a reader may
// come back with any filter.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { ok, request, submit, world } from '../lib/runtime.mjs';

let w, first, second, log;

before(async () => {
	w = await world();
	first = await submit(w.rt, 'one');
	await ended(w.rt, first.sessionId, first.turnId);
	second = await submit(w.rt, 'two', { sessionId: first.sessionId, createPolicy: { thread: 'new' } });
	await ended(w.rt, first.sessionId, second.turnId);
	log = await facts(w.rt, first.sessionId);
});

/** The stored facts that such a subscription sends, with their cursors. */
async function read(input, until) {
	const controller = new AbortController();
	const answer = await fetch(`${w.rt.url}/v1/subscribe_events`, {
		method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ view: 'extended', deltas: false, ...input }), signal: controller.signal,
	});
	assert.equal(answer.status, 200);
	let text = '';
	const events = () => text.split('\n\n').slice(0, -1).filter((f) => f.includes('data: ')).map((f) => ({ id: /id: (\S+)/.exec(f)[1], ...JSON.parse(/data: (.*)/.exec(f)[1]) }));
	for await (const piece of answer.body) {
		text += Buffer.from(piece).toString();
		if (events().some((e) => e.sequence >= until)) break;
	}
	controller.abort();
	return events();
}

const last = (list) => list.at(-1).sequence;

test('a thread: exactly its facts, whether or not the session is named', async () => {
	const wanted = log.filter((e) => e.threadId === second.threadId);
	assert.ok(wanted.length > 5 && wanted.length < log.length - 5);
	for (const input of [{ threadId: second.threadId }, { threadId: second.threadId, sessionId: first.sessionId }]) {
		const got = await read(input, last(wanted));
		assert.deepEqual(got.map((e) => e.eventId), wanted.map((e) => e.eventId));
		assert.deepEqual(got.map((e) => Number.parseInt(e.id, 10)), wanted.map((e) => e.sequence), 'cursors of the whole log');
	}
});

test('a task: exactly its facts', async () => {
	const wanted = log.filter((e) => e.taskId === first.taskId);
	assert.ok(wanted.length > 3);
	assert.deepEqual((await read({ taskId: first.taskId }, last(wanted))).map((e) => e.eventId), wanted.map((e) => e.eventId));
});

test('a family stands for all of its types; a family without types is refused', async () => {
	const wanted = log.filter((e) => e.type.startsWith('turn.') || e.type === 'model.completed');
	const got = await read({ sessionId: first.sessionId, types: ['turn.*', 'model.completed'] }, last(wanted));
	assert.deepEqual(got.map((e) => e.eventId), wanted.map((e) => e.eventId));
	for (const name of ['nothing.*', '.*', 'turn', 'tur*']) {
		const { status, text } = await request(w.rt, { path: '/v1/subscribe_events', body: JSON.stringify({ sessionId: first.sessionId, types: [name] }) });
		assert.deepEqual([status, JSON.parse(text).error.code], [400, 'invalid_input'], name);
	}
});

test('another filter may go on from the cursor of the first', async () => {
	const turns = log.filter((e) => e.type.startsWith('turn.'));
	const [one] = await read({ sessionId: first.sessionId, types: ['turn.*'] }, turns[0].sequence);
	const rest = log.filter((e) => e.sequence > one.sequence && e.type.startsWith('task.'));
	const got = await read({ sessionId: first.sessionId, types: ['task.*'], after: one.id }, last(rest));
	assert.deepEqual(got.map((e) => e.eventId), rest.map((e) => e.eventId));
});

test('the view of the profile is that of the standard', async () => {
	const until = last(log.filter((e) => e.type === 'turn.completed'));
	const [strict, profile] = [await read({ sessionId: first.sessionId, view: 'strict' }, until), await read({ sessionId: first.sessionId, view: 'profile' }, until)];
	assert.deepEqual(profile.map((e) => e.eventId), strict.map((e) => e.eventId));
	assert.ok(profile.every((e) => e.schemaVersion.startsWith('lime-profile')));
	await ok(w.rt, 'get_session', { sessionId: first.sessionId });
});
