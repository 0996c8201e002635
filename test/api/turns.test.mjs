// Turns that wait and turns that are stopped: queue order, busy policies, interrupts, and all of it over kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20 } });
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const thread = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).threads[0];
const order = async (sessionId) => (await thread(sessionId)).queuedTurns.map((t) => t.queuedTurnId);
const called = (turnId) => waitFor(() => w.model.log(turnId)[0], `the model call of ${turnId}`);

// The newest queue.changed says this, and the read model says the same.
async function checkOrder(sessionId, change, wanted) {
	const { payload } = (await readLog(w.rt, sessionId)).findLast((f) => f.type === 'queue.changed').event;
	assert.deepEqual([payload.change, payload.order], [change, wanted]);
	assert.deepEqual(await order(sessionId), wanted);
}

let next = 0;
const ids = (n) => Array.from({ length: n }, () => `t${next++}`);

// A session whose first turn hangs in the model, with `n` turns behind it.
async function busy(n) {
	const [running, ...queued] = ids(n + 1);
	const { sessionId, threadId } = await submit(w.rt, '[[hang]]', { turnId: running });
	await called(running);
	const receipts = [];
	for (const turnId of queued) receipts.push(await submit(w.rt, `I am ${turnId}`, { sessionId, turnId }));
	return { sessionId, threadId, running, queued, receipts };
}

// ---- submitting ----

test('AC-01 EV-37 EV-41 a submitted turn is a fact before the model answers, and after kill -9 right after the reply', async () => {
	const [turnId] = ids(1);
	const { sessionId, threadId, sequence } = await submit(w.rt, '[[hang]]', { turnId });
	const follower = await follow(w.rt, sessionId);
	await follower.until(() => follower.of('model.requested')[0], 'the request');
	const types = follower.types();
	assert.equal(types[0], 'session.created');
	assert.ok(types.indexOf('turn.submitted') < types.indexOf('model.requested'));
	assert.equal(sequence, follower.of('turn.submitted')[0].sequence);
	const { status, statusDetail, activeTurnId } = await thread(sessionId);
	assert.deepEqual([status, statusDetail, activeTurnId], ['running', 'running', turnId]);
	const { title, createdAt, workspaceId } = await ok(w.rt, 'get_session', { sessionId });

	const other = await submit(w.rt, '[[hang]] at once', { sessionId, threadId, turnId: `${turnId}-b` });
	await restart();
	assert.deepEqual((await readLog(w.rt, sessionId)).filter((f) => f.type === 'turn.submitted').map((f) => f.event.turnId),
		[turnId, other.turnId]);
	const after = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual([after.title, after.createdAt, after.workspaceId], [title, createdAt, workspaceId]);
});

// ---- the queue ----

test('RM-14 QU-01 turns for a busy thread are queued; their places are told from 1 on', async () => {
	const { sessionId, queued, receipts } = await busy(3);
	assert.deepEqual(receipts.map((r) => [r.status, r.position, r.queuedTurnId]), queued.map((id, i) => ['queued', i + 1, id]));
	const { queuedTurns, queue } = await thread(sessionId);
	assert.deepEqual(queuedTurns.map((t) => [t.queuedTurnId, t.turnId, t.position]), queued.map((id, i) => [id, id, i + 1]));
	assert.equal(queue.length, 3);
	const submitted = (await readLog(w.rt, sessionId)).filter((f) => f.type === 'turn.submitted').map((f) => f.event);
	assert.deepEqual(submitted.slice(1).map((e) => [e.payload.status, e.payload.position, e.payload.queuedTurnId]),
		queued.map((id, i) => ['queued', i + 1, id]));
});

test('CP-27 promote_queued_turn: the third becomes the first; in the fact, the reply, the read model, and after kill -9', async () => {
	const { sessionId, queued: [a, b, c] } = await busy(3);
	assert.deepEqual((await ok(w.rt, 'promote_queued_turn', { sessionId, queuedTurnId: c })).order, [c, a, b]);
	assert.deepEqual(await order(sessionId), [c, a, b]);
	const fact = (await readLog(w.rt, sessionId)).at(-1).event;
	assert.deepEqual([fact.type, fact.payload.change, fact.payload.queuedTurnId, fact.payload.order],
		['queue.changed', 'promoted', c, [c, a, b]]);
	const { asOfSequence } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual((await ok(w.rt, 'promote_queued_turn', { sessionId, turnId: c })).order, [c, a, b], 'the head: no-op');
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).asOfSequence, asOfSequence);
	assert.deepEqual((await ok(w.rt, 'promote_queued_turn', { sessionId, turnId: b, position: 2 })).order, [c, b, a]);
	await restart();
	assert.deepEqual(await order(sessionId), [c, b, a]);
});

test('CP-26 OPEN-41 remove_queued_turn: the second goes, its input stays readable, and after kill -9 it is still gone', async () => {
	const { sessionId, queued: [a, b, c] } = await busy(3);
	const { inputRef } = (await thread(sessionId)).turns.find((t) => t.turnId === b);
	const reply = await ok(w.rt, 'remove_queued_turn', { sessionId, queuedTurnId: b, reason: 'changed my mind' });
	assert.deepEqual(reply, { removed: true, order: [a, c] });
	const tail = (await readLog(w.rt, sessionId)).slice(-3).map((f) => f.event);
	assert.deepEqual(tail.map((e) => e.type), ['queue.changed', 'task.cancelled', 'turn.failed']);
	assert.deepEqual([tail[0].payload.change, tail[0].payload.order], ['removed', [a, c]]);
	assert.deepEqual([tail[2].turnId, tail[2].payload.status], [b, 'cancelled']);
	await restart();
	assert.deepEqual(await order(sessionId), [a, c]);
	assert.deepEqual(await ok(w.rt, 'remove_queued_turn', { sessionId, turnId: b }), { removed: false, order: [a, c] });
	assert.match((await ok(w.rt, 'read_output', { outputRef: inputRef })).content, new RegExp(`I am ${b}`));
});

test('QU-02 QU-03 QU-08 OPEN-41 every change of the queue is a queue.changed that gives its order; kill -9 changes nothing', async () => {
	const { sessionId, threadId, queued: [a, b, c] } = await busy(0).then(async (s) => {
		const queued = ids(3);
		for (const [i, turnId] of queued.entries()) {
			await submit(w.rt, 'x', { sessionId: s.sessionId, turnId, source: i ? 'api' : 'channel' });
			await checkOrder(s.sessionId, 'enqueued', queued.slice(0, i + 1));
		}
		return { ...s, queued };
	});
	await ok(w.rt, 'promote_queued_turn', { sessionId, queuedTurnId: c });
	await checkOrder(sessionId, 'promoted', [c, a, b]);
	assert.deepEqual((await thread(sessionId)).queuedTurns.map((t) => [t.position, t.source]), [[1, 'api'], [2, 'channel'], [3, 'api']], 'RM-14 two sources');
	await ok(w.rt, 'remove_queued_turn', { threadId, turnId: a });
	await checkOrder(sessionId, 'removed', [c, b]);
	const { queuedTurns, queue } = await thread(sessionId);
	assert.deepEqual(queuedTurns.map((t) => [t.queuedTurnId, t.position, t.source, t.policy, Boolean(t.submittedAt)]), [[c, 1, 'api', 'queue', true], [b, 2, 'api', 'queue', true]]);
	assert.deepEqual([queue.length, queue.resumeState], [2, 'automatic']);
	await restart();
	assert.deepEqual((await thread(sessionId)).queuedTurns, queuedTurns);
	assert.deepEqual((await thread(sessionId)).queue, queue);
	await checkOrder(sessionId, 'removed', [c, b]);
});

test('AC-05 QU-02 after kill -9 the queue runs in its order, one turn at a time', async () => {
	const [first, ...queued] = ids(4);
	const { sessionId } = await submit(w.rt, '[[fail-times 1 hang]] first', { turnId: first });
	await called(first);
	for (const turnId of queued) await submit(w.rt, `I am ${turnId}`, { sessionId, turnId });
	await ok(w.rt, 'promote_queued_turn', { sessionId, queuedTurnId: queued[2] });
	await restart();
	const follower = await follow(w.rt, sessionId);
	await follower.ended(queued[1]);
	const wanted = [first, queued[2], queued[0], queued[1]];
	assert.deepEqual(follower.of('turn.started').map((e) => e.turnId), wanted);
	assert.deepEqual(follower.of('turn.completed').map((e) => e.turnId), wanted);
	const dequeued = follower.of('queue.changed').filter((e) => e.payload.change === 'dequeued');
	assert.deepEqual(dequeued.map((e) => e.payload.order), [queued.slice(0, 2), queued.slice(1, 2), []]);
	follower.check();
});

test('CP-26 CP-27 queue commands: errors are told apart', async () => {
	const { sessionId, running, queued: [a] } = await busy(1);
	for (const command of ['promote_queued_turn', 'remove_queued_turn']) {
		await refused(w.rt, 'queued_turn_not_found', command, { sessionId, queuedTurnId: 'nobody' });
		await refused(w.rt, 'already_started', command, { sessionId, queuedTurnId: running });
		await refused(w.rt, 'invalid_input', command, { sessionId }, { loose: true });
		await refused(w.rt, 'session_not_found', command, { sessionId: `sess_${'0'.repeat(26)}`, queuedTurnId: a });
	}
	assert.deepEqual(await order(sessionId), [a]);
});

test('QU-01 CP-08 busyPolicy reject: thread_busy_rejected says which thread and turn, and nothing is recorded', async () => {
	const { sessionId, threadId, running } = await busy(0);
	const { asOfSequence } = await ok(w.rt, 'get_session', { sessionId });
	const input = { sessionId, text: 'now', turnId: 'rejected', busyPolicy: 'reject' };
	const error = await refused(w.rt, 'thread_busy_rejected', 'submit_turn', input);
	assert.ok(error.retryable && error.message.includes(threadId) && error.message.includes(running) && /reject/.test(error.message));
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).asOfSequence, asOfSequence);
	await ok(w.rt, 'submit_turn', { ...input, busyPolicy: 'queue' });
});

test('CP-08 busyPolicy interrupt: the running turn ends cancelled, this one is next and passes those that wait; kill -9 changes nothing', async () => {
	const { sessionId, running, queued: [a] } = await busy(1);
	const [turnId, last] = ids(2);
	const receipt = await submit(w.rt, 'at once', { sessionId, turnId, busyPolicy: 'interrupt' });
	assert.deepEqual([receipt.status, receipt.position], ['queued', 1]);
	await restart();
	const follower = await follow(w.rt, sessionId);
	await follower.ended(a);
	assert.deepEqual(follower.of('turn.started').map((e) => e.turnId), [running, turnId, a]);
	assert.deepEqual(follower.of('turn.failed').map((e) => [e.turnId, e.payload.status]), [[running, 'cancelled']]);
	assert.equal(w.model.log(running).length, 1);
	const idle = await submit(w.rt, 'nothing runs', { sessionId, turnId: last, busyPolicy: 'interrupt' });
	assert.equal(idle.status, 'accepted');
	await follower.ended(last);
	follower.check();
});

test('CP-08 queue.max_turns: one too many is overloaded', async () => {
	const small = await world({ model: w.model, config: { 'queue.max_turns': 1 } });
	const [a, b, c] = ids(3);
	const { sessionId } = await submit(small.rt, '[[hang]]', { turnId: a });
	await submit(small.rt, 'x', { sessionId, turnId: b });
	await refused(small.rt, 'overloaded', 'submit_turn', { sessionId, turnId: c, text: 'x' });
	await small.rt.kill9();
});

test('ID-03 a second thread works beside the first, and both are listed', async () => {
	const { sessionId, threadId } = await busy(0);
	const other = await submit(w.rt, 'hello', { sessionId, createPolicy: { thread: 'new' } });
	assert.notEqual(other.threadId, threadId);
	assert.equal(other.status, 'accepted');
	const follower = await follow(w.rt, sessionId);
	await follower.ended(other.turnId);
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual(threads.map((t) => t.threadId), [threadId, other.threadId]);
	const read = await ok(w.rt, 'get_thread_read', { sessionId, threadId: other.threadId });
	assert.deepEqual(read.threads.map((t) => t.threadId), [other.threadId]);
	follower.check();
});

// ---- interrupt ----

test('CP-09 QU-06 ST-15 OPEN-08 interrupt_turn: intent first, then the model call is aborted and the turn ends cancelled with what it had said', async () => {
	const [turnId] = ids(1);
	const { sessionId, threadId } = await submit(w.rt, '[[tokens 50]] [[delay 30]]', { turnId });
	const follower = await follow(w.rt, sessionId);
	await follower.until(() => follower.frames > follower.facts.length + 3, 'some words');
	const reply = await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	assert.deepEqual([reply.result, reply.turnId], ['accepted', turnId]);
	const { payload } = await follower.ended(turnId);
	const types = follower.types();
	const at = (type, n = 0) => follower.facts.findIndex((f, i) => f.type === type && i >= n);
	const intent = follower.facts.findIndex((f) => f.type === 'thread.updated' && f.event.payload.reason === 'interrupt_requested');
	assert.deepEqual(types.slice(intent, intent + 2), ['thread.updated', 'run.status']);
	assert.equal(follower.facts[intent + 1].event.payload.phase, 'interrupting');
	assert.equal(follower.facts[intent].event.payload.statusDetail, 'interrupting');
	assert.ok(intent + 1 < at('model.failed') && at('model.failed') < at('turn.failed'));
	assert.equal(follower.of('model.failed')[0].payload.outcome, 'cancelled');
	assert.deepEqual([payload.status, payload.error.category, payload.interruptedBy], ['cancelled', 'cancelled', 'enough']);
	const { content } = await ok(w.rt, 'read_output', { outputRef: payload.outputRef });
	assert.equal(content, follower.text(follower.of('model.requested')[0].stepId));
	assert.match(content, /^w0 w1 w2 /);
	await waitFor(() => w.model.log(turnId)[0].endedAt, 'the end at the model');
	assert.equal(w.model.log(turnId)[0].aborted, true);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	const { lastOutcome } = await thread(sessionId);
	assert.deepEqual([lastOutcome.turnId, lastOutcome.status], [turnId, 'cancelled']);

	const before = follower.last;
	assert.equal((await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'again' })).result, 'no_op');
	assert.equal((await ok(w.rt, 'interrupt_turn', { sessionId, threadId, turnId, reason: 'again' })).result, 'no_op');
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).asOfSequence, before);
	follower.check();
});

test('CP-09 interrupt_turn: a repeat while the first is at work is a no_op too', async () => {
	const { sessionId, running } = await busy(0);
	const replies = await Promise.all(Array.from({ length: 20 }, () => ok(w.rt, 'interrupt_turn', { sessionId, reason: 'stop' })));
	assert.equal(replies.filter((r) => r.result === 'accepted').length, 1);
	const follower = await follow(w.rt, sessionId);
	await follower.ended(running);
	assert.equal(follower.of('run.status').length, 1);
	assert.equal(follower.of('turn.failed').length, 1);
});

test('CP-09 QU-05 interrupt_turn: by default the queue is preserved and goes on', async () => {
	const { sessionId, running, queued } = await busy(2);
	await ok(w.rt, 'interrupt_turn', { sessionId, turnId: running, reason: 'next please' });
	const follower = await follow(w.rt, sessionId);
	await follower.ended(queued[1]);
	assert.deepEqual(follower.of('turn.completed').map((e) => e.turnId), queued);
	follower.check();
});

test('CP-09 QU-05 interrupt_turn: queuePolicy clear cancels what waits as well', async () => {
	const { sessionId, running, queued } = await busy(2);
	await ok(w.rt, 'interrupt_turn', { sessionId, turnId: running, reason: 'all of it', queuePolicy: 'clear' });
	const follower = await follow(w.rt, sessionId);
	await follower.ended(running);
	assert.deepEqual(follower.of('turn.failed').map((e) => [e.turnId, e.payload.status]).sort(),
		[running, ...queued].map((id) => [id, 'cancelled']).sort());
	assert.deepEqual(await order(sessionId), []);
	assert.equal(w.model.log(queued[0]).length, 0);
});

test('CP-09 OPEN-09 interrupt_turn: kill -9 right after the reply still ends in cancelled, and the model is not called again', async () => {
	const { sessionId, running } = await busy(0);
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'and die' });
	await restart();
	const follower = await follow(w.rt, sessionId);
	const { payload } = await follower.ended(running);
	assert.deepEqual([payload.status, payload.error.category], ['cancelled', 'cancelled']);
	assert.equal(follower.of('model.requested').length, 1);
	assert.equal(w.model.log(running).length, 1);
	follower.check();
});

test('CP-09 interrupt_turn while a retry is awaited ends the turn at once', async () => {
	const [turnId] = ids(1);
	const slow = await world({ model: w.model, config: { 'model.backoff_ms': 60000 } });
	const { sessionId } = await submit(slow.rt, '[[http 500]]', { turnId });
	const follower = await follow(slow.rt, sessionId);
	await follower.until(() => follower.of('run.status').length > 0, 'retrying');
	await ok(slow.rt, 'interrupt_turn', { sessionId, reason: 'no more' });
	assert.equal((await follower.ended(turnId, 2000)).payload.status, 'cancelled');
	await slow.rt.kill9();
});

test('OPEN-42 interrupt_turn: two running threads are ambiguous, a thread or all decides', async () => {
	const { sessionId, threadId, running } = await busy(0);
	const [second] = ids(1);
	await submit(w.rt, '[[hang]]', { sessionId, turnId: second, createPolicy: { thread: 'new' } });
	await refused(w.rt, 'ambiguous_scope', 'interrupt_turn', { sessionId, reason: 'which' });
	assert.equal((await ok(w.rt, 'interrupt_turn', { sessionId, threadId, reason: 'this' })).turnId, running);
	const follower = await follow(w.rt, sessionId);
	await follower.ended(running);
	await submit(w.rt, '[[hang]]', { sessionId, threadId });
	await ok(w.rt, 'interrupt_turn', { sessionId, all: true, reason: 'all' });
	await follower.until(() => follower.of('turn.failed').length === 3, 'three ends');
	follower.check();
});

test('CP-09 interrupt_turn: unknown session, thread and missing reason are told apart', async () => {
	const { sessionId } = await busy(0);
	await refused(w.rt, 'session_not_found', 'interrupt_turn', { sessionId: `sess_${'0'.repeat(26)}`, reason: 'x' });
	await refused(w.rt, 'thread_not_found', 'interrupt_turn', { sessionId, threadId: 'thread_x', reason: 'x' });
	await refused(w.rt, 'turn_not_found', 'interrupt_turn', { sessionId, turnId: 'nobody', reason: 'x' });
	await refused(w.rt, 'invalid_input', 'interrupt_turn', { sessionId }, { loose: true });
});

test('ID-12 ids come without a clock: they count up inside their session and name it', async () => {
	const { sessionId } = await submit(w.rt, 'one');
	const core = sessionId.slice('sess_'.length);
	const follower = await follow(w.rt, sessionId);
	await submit(w.rt, 'two', { sessionId });
	await follower.until(() => follower.of('turn.completed').length === 2, 'two ends');
	const log = follower.facts.map((f) => f.event);
	for (const [member, prefix] of [['turnId', 'turn'], ['taskId', 'task'], ['runId', 'run'], ['attemptId', 'attempt'],
		['stepId', 'step'], ['modelRequestId', 'mreq'], ['threadId', 'thread']]) {
		const seen = [...new Set(log.map((e) => e[member]).filter(Boolean))];
		assert.deepEqual(seen, seen.map((_, i) => `${prefix}_${core}_${i + 1}`));
	}
	log.forEach((e, i) => assert.equal(e.eventId, `evt_${core}_${i + 1}`));
	await call(w.rt, 'get_session', { sessionId });
});

test('CP-27 promote_queued_turn with interruptActive: the running turn is cancelled and the promoted one is next', async () => {
	const { sessionId, running, queued: [, b] } = await busy(2);
	const reader = await follow(w.rt, sessionId);
	await ok(w.rt, 'promote_queued_turn', { sessionId, queuedTurnId: b, interruptActive: true });
	assert.equal((await reader.ended(running)).payload.status, 'cancelled');
	await reader.ended(b);
	assert.equal(reader.of('turn.started')[1].turnId, b);
	reader.stop();
	reader.check();
});

test('CP-08 metadata is kept with the turn; a task that is not there and a channel that does not follow are refused', async () => {
	const { sessionId } = await submit(w.rt, 'with metadata', { metadata: { ticket: 7 } });
	const fact = (await readLog(w.rt, sessionId)).find((f) => f.type === 'turn.submitted').event;
	assert.deepEqual(fact.payload.metadata, { ticket: 7 });
	for (const [code, more] of [['task_not_found', { taskId: 'mine' }], ['channel_not_found', { channelId: 'mine' }]])
		await refused(w.rt, code, 'submit_turn', { sessionId, text: 'x', ...more });
});
