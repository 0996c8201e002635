// snapshot.updated: a stored snapshot of a thread from which a reader continues without the facts before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { follow, ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';

/** A thread as its snapshot has it, continued by later facts. */
function fold(snapshot, facts) {
	const t = { ...snapshot, turns: snapshot.turns.map((turn) => ({ ...turn })) };
	const turnOf = (id) => t.turns.find((turn) => turn.turnId === id);
	for (const { type, turnId, payload } of facts) {
		if (type === 'turn.submitted') t.turns.push({ turnId, status: payload.status });
		if (type === 'queue.changed') t.queuedTurnIds = payload.order;
		if (type === 'turn.started') t.activeTurnId = turnId;
		if (type === 'model.completed') turnOf(turnId).outputRef = payload.outputRef;
		if (type === 'thread.updated') t.status = payload.status;
		if (type === 'turn.completed' || type === 'turn.failed') {
			delete t.activeTurnId;
			Object.assign(turnOf(turnId), { status: payload.status ?? 'completed', outputRef: payload.outputRef });
		}
	}
	return { status: t.status, activeTurnId: t.activeTurnId, queued: t.queuedTurnIds, turns: t.turns.map((x) => [x.turnId, x.status, x.outputRef]) };
}

test('RM-44 resume_thread stores a snapshot; it and the facts after it give the read model', async () => {
	const w = await world({ config: { 'recovery.auto_resume': false } });
	const first = await submit(w.rt, 'before');
	const live = await follow(w.rt, first.sessionId);
	await live.ended(first.turnId);
	const { sessionId, threadId } = first;
	const lost = await submit(w.rt, '[[fail-times 1 hang]] hello', { sessionId });
	await live.until(() => live.of('model.requested', lost.turnId).length > 0, 'the call');
	const later = await submit(w.rt, 'later', { sessionId });
	live.stop();
	await w.rt.kill9();
	w.rt = await w.again();
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).status === 'stale', 'a stale thread');
	assert.equal((await ok(w.rt, 'resume_thread', { sessionId, threadId })).result, 'resumed');
	const after = await follow(w.rt, sessionId);
	await after.ended(later.turnId);
	after.stop();
	await ok(w.rt, 'resume_thread', { sessionId, threadId });
	const events = (await readLog(w.rt, sessionId)).map((f) => f.event);
	const updates = events.filter((e) => e.type === 'snapshot.updated');
	assert.equal(updates.length, 1, 'one for the resumption; none when there was nothing to resume');
	const [{ payload, sequence, threadId: of }] = updates;
	assert.deepEqual([payload.snapshotKind, payload.recoveryMode, of], ['thread', 'replay', threadId]);
	assert.equal(payload.asOfSequence, sequence - 1);
	const snapshot = JSON.parse((await ok(w.rt, 'read_output', { outputRef: payload.snapshotRef })).content);
	assert.deepEqual([snapshot.threadId, snapshot.asOfSequence, snapshot.activeTurnId, snapshot.queuedTurnIds], [threadId, payload.asOfSequence, lost.turnId, [later.turnId]]);
	const [now] = (await ok(w.rt, 'get_thread_read', { sessionId, threadId })).threads;
	assert.deepEqual(fold(snapshot, events.filter((e) => e.sequence > payload.asOfSequence && e.threadId === threadId)), {
		status: now.status, activeTurnId: now.activeTurnId, queued: now.queuedTurns.map((q) => q.turnId),
		turns: now.turns.map((t) => [t.turnId, t.status, t.outputRef]),
	});
	await w.rt.stop();
});
