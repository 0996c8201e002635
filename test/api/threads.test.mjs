// What becomes of the conversation of a thread: input while a turn runs, branches, rollback; all of it over kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

let w;

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20 } });
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const thread = async (sessionId, index = 0) => (await ok(w.rt, 'get_session', { sessionId })).threads[index];
const said = (entry) => entry.body.messages.map((m) => [m.role, m.content?.[0]?.text ?? m.content]);
const say = (text) => [{ type: 'text', text }];

let next = 0;
const newId = () => `h${next++}`;

// A turn that is over; its facts are all there.
async function turn(text, more = {}) {
	const turnId = newId();
	const receipt = await submit(w.rt, text, { turnId, ...more });
	const follower = await follow(w.rt, receipt.sessionId);
	await follower.ended(turnId);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	follower.stop();
	follower.check();
	return receipt;
}

// ---- steer_turn ----

test('OPEN-37 steer_turn: what is said while the model answers is a fact at once, and the next request of the same turn carries it', async () => {
	const turnId = newId();
	const { sessionId, threadId } = await submit(w.rt, '[[tokens 20]] [[delay 30]]', { turnId });
	const follower = await follow(w.rt, sessionId);
	await follower.until(() => follower.frames > follower.facts.length, 'a word');
	const { accepted, appliedAtStep } = await ok(w.rt, 'steer_turn', { sessionId, threadId, turnId, input: say('in German') });
	assert.equal(accepted, true);
	const fact = (await readLog(w.rt, sessionId)).findLast((f) => f.type === 'run.status').event;
	assert.deepEqual([fact.payload.phase, fact.turnId, fact.stepId, fact.payload.detail], ['steered', turnId, appliedAtStep, 'in German']);
	const { content } = await ok(w.rt, 'read_output', { outputRef: fact.payload.metadata.inputRef });
	assert.deepEqual(JSON.parse(content), say('in German'));
	await follower.ended(turnId);
	const [first, second] = w.model.log(turnId);
	assert.equal(first.aborted ?? false, false);
	assert.deepEqual(said(second).map(([role]) => role), ['user', 'assistant', 'user']);
	assert.deepEqual(said(second)[2], ['user', 'in German']);
	assert.equal(follower.of('turn.completed').length, 1);
	const { steps } = (await thread(sessionId)).turns[0];
	assert.deepEqual(steps.map((s) => s.kind), ['model', 'input', 'model']);
	assert.equal(steps[1].stepId, appliedAtStep);
	follower.check();
});

test('steer_turn: kill -9 right after the reply, and the attempt that follows says it to the model', async () => {
	const turnId = newId();
	const { sessionId, threadId } = await submit(w.rt, '[[fail-times 1 hang]] [[say done]]', { turnId });
	await waitFor(() => w.model.log(turnId)[0], 'the model call');
	await ok(w.rt, 'steer_turn', { sessionId, threadId, turnId, input: say('quickly') });
	await restart();
	const follower = await follow(w.rt, sessionId);
	await follower.ended(turnId);
	assert.deepEqual(said(w.model.log(turnId)[1]).at(-1), ['user', 'quickly']);
	follower.check();
});

test('steer_turn: a turn that does not run and another turn than the expected are told apart, and leave no fact', async () => {
	const { sessionId, threadId, turnId } = await turn('hello');
	const input = say('too late');
	await refused(w.rt, 'turn_not_active', 'steer_turn', { sessionId, threadId, turnId, input });
	const running = newId();
	await submit(w.rt, '[[hang]]', { sessionId, turnId: running });
	await refused(w.rt, 'turn_mismatch', 'steer_turn', { sessionId, threadId, turnId, input });
	await refused(w.rt, 'thread_not_found', 'steer_turn', { sessionId, threadId: 'thread_x', turnId: running, input });
	await refused(w.rt, 'invalid_input', 'steer_turn', { sessionId, threadId, turnId: running, input: [] });
	assert.ok((await readLog(w.rt, sessionId)).every((f) => f.event.payload.phase !== 'steered'));
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'end' });
	await refused(w.rt, 'turn_not_active', 'steer_turn', { sessionId, threadId, turnId: running, input });
});

// ---- fork_thread ----

test('OPEN-37 fork_thread: one fact; the branch goes on from the turn it names, its parent from its own end, also after kill -9', async () => {
	const first = await turn('my name is Ada');
	const { sessionId, threadId } = first;
	await turn('I live in Bern', { sessionId });
	const before = await thread(sessionId);
	const log = await readLog(w.rt, sessionId);
	const fork = await ok(w.rt, 'fork_thread', { sessionId, threadId, turnId: first.turnId });
	assert.deepEqual([fork.parentThreadId, fork.parentTurnId, fork.sequence], [threadId, first.turnId, log.length + 1]);
	const [fact, ...more] = (await readLog(w.rt, sessionId)).slice(log.length).map((f) => f.event);
	assert.deepEqual(more, []);
	assert.deepEqual([fact.type, fact.threadId, fact.payload.reason, fact.payload.parentThreadId, fact.payload.parentTurnId],
		['thread.started', fork.threadId, 'branch', threadId, first.turnId]);
	await restart();
	const branch = await thread(sessionId, 1);
	assert.deepEqual([branch.parentThreadId, branch.parentTurnId, branch.turns, branch.history.contextMessages], [threadId, first.turnId, [], 2]);
	assert.deepEqual(await thread(sessionId), before);

	const there = await turn('who am I?', { sessionId, threadId: fork.threadId });
	const here = await turn('where do I live?', { sessionId, threadId });
	const words = (id) => said(w.model.log(id)[0]).filter(([role]) => role === 'user').map(([, text]) => text);
	assert.deepEqual(words(there.turnId), ['my name is Ada', 'who am I?']);
	assert.deepEqual(words(here.turnId), ['my name is Ada', 'I live in Bern', 'where do I live?']);
	const deeper = await ok(w.rt, 'fork_thread', { sessionId, threadId: fork.threadId });
	assert.equal(deeper.parentTurnId, there.turnId);
	const deep = await turn('and now?', { sessionId, threadId: deeper.threadId });
	assert.deepEqual(words(deep.turnId), ['my name is Ada', 'who am I?', 'and now?']);
});

test('fork_thread: without a turn that ended the branch is empty; what cannot be branched from is told apart', async () => {
	const { sessionId, threadId } = await ok(w.rt, 'create_session', {});
	const empty = await ok(w.rt, 'fork_thread', { sessionId, threadId });
	assert.equal(empty.parentTurnId, undefined);
	const turnId = newId();
	await submit(w.rt, '[[hang]]', { sessionId, threadId, turnId });
	await refused(w.rt, 'active_turn', 'fork_thread', { sessionId, threadId, turnId });
	await refused(w.rt, 'turn_not_found', 'fork_thread', { sessionId, threadId, turnId: 'nobody' });
	await refused(w.rt, 'thread_not_found', 'fork_thread', { sessionId, threadId: 'thread_x' });
	await refused(w.rt, 'session_not_found', 'fork_thread', { sessionId: `sess_${'0'.repeat(26)}`, threadId });
});

// ---- rollback_thread ----

test('HI-05 HI-11 HI-12 OPEN-37 rollback_thread: the next model call has no removed turn, the read model neither, the log all; also after kill -9', async () => {
	const first = await turn('my name is Ada');
	const { sessionId, threadId } = first;
	const earlier = await thread(sessionId);
	const second = await turn('my name is Bob', { sessionId });
	const third = await turn('[[tool look_up {"a":1}]]', { sessionId });
	const log = await readLog(w.rt, sessionId);
	const target = { turnId: first.turnId };
	const reply = await ok(w.rt, 'rollback_thread', { sessionId, threadId, target, reason: 'wrong name' });
	assert.deepEqual(reply.removedTurnIds, [second.turnId, third.turnId]);

	const all = await readLog(w.rt, sessionId);
	assert.deepEqual(all.slice(0, log.length), log, 'the log keeps everything');
	const [started, completed, repaired, updated, ...more] = all.slice(log.length).map((f) => f.event);
	assert.deepEqual([started.type, completed.type, repaired.type, updated.type, more.length],
		['history.rollback.started', 'history.rollback.completed', 'snapshot.repaired', 'thread.updated', 0]);
	for (const { payload } of [started, completed])
		assert.deepEqual([payload.target, payload.removedTurnIds], [target, reply.removedTurnIds]);
	assert.deepEqual([started.payload.reason, updated.payload.status, updated.payload.reason], ['wrong name', 'idle', 'rolled_back']);
	assert.equal(completed.payload.survivingBaselineRef, reply.baselineRef);
	const calls = log.filter((f) => f.type === 'tool.started').map((f) => f.event.toolCallId);
	assert.ok(calls.length > 0);
	assert.deepEqual(completed.payload.affected, { tools: calls, artifacts: [], subagents: [], jobs: [] });
	const baseline = JSON.parse((await ok(w.rt, 'read_output', { outputRef: reply.baselineRef })).content);
	assert.deepEqual(baseline.append.map((m) => m.role), ['user', 'assistant']);
	const repair = JSON.parse((await ok(w.rt, 'read_output', { outputRef: completed.payload.readModelRepairRef })).content);
	assert.deepEqual([repair.removedTurnIds, repair.contextMessages], [reply.removedTurnIds, 2]);

	await restart();
	const now = await thread(sessionId);
	assert.deepEqual([now.turns, now.lastOutcome, now.incidents], [earlier.turns, earlier.lastOutcome, earlier.incidents]);
	assert.deepEqual([now.history.contextMessages, now.history.removedTurns], [2, 2]);
	assert.equal((await ok(w.rt, 'get_task', { taskId: second.taskId })).status, 'completed', 'what was done was done');
	assert.deepEqual(await ok(w.rt, 'rollback_thread', { sessionId, threadId, target }), { removedTurnIds: [], baselineRef: reply.baselineRef });
	assert.equal((await readLog(w.rt, sessionId)).length, all.length, 'the same target twice adds nothing');
	const after = await turn('who am I?', { sessionId });
	assert.deepEqual(said(w.model.log(after.turnId)[0]).map(([, text]) => text), ['my name is Ada', 'You said: my name is Ada', 'who am I?']);
	const manifest = (await readLog(w.rt, sessionId)).findLast((f) => f.type === 'model.requested').event.payload.requestRef;
	assert.equal(JSON.parse((await ok(w.rt, 'read_output', { outputRef: manifest })).content).base, reply.baselineRef);
});

test('CP-08 busyPolicy rollback: the running turn ends cancelled and leaves the conversation, also when kill -9 comes between', async () => {
	const { sessionId } = await turn('first');
	const [running, turnId] = [newId(), newId()];
	await submit(w.rt, '[[hang]] a mistake', { sessionId, turnId: running });
	await waitFor(() => w.model.log(running)[0], 'the model call');
	await submit(w.rt, 'instead', { sessionId, turnId, busyPolicy: 'rollback' });
	await restart();
	const follower = await follow(w.rt, sessionId);
	await follower.ended(turnId);
	assert.deepEqual(follower.of('turn.failed').map((e) => [e.turnId, e.payload.status]), [[running, 'cancelled']]);
	assert.deepEqual(follower.of('history.rollback.completed').map((e) => e.payload.removedTurnIds), [[running]]);
	assert.deepEqual(said(w.model.log(turnId)[0]).map(([, text]) => text), ['first', 'You said: first', 'instead']);
	assert.ok((await thread(sessionId)).turns.every((t) => t.turnId !== running));
	follower.check();
});

test('rollback_thread: a sequence is a target too; what is running or unknown is refused with its own code', async () => {
	const { sessionId, threadId, turnId } = await turn('hello');
	await refused(w.rt, 'target_not_found', 'rollback_thread', { sessionId, threadId, target: { turnId: 'nobody' } });
	await refused(w.rt, 'target_not_found', 'rollback_thread', { sessionId, threadId, target: { sequence: 1e6 } });
	await refused(w.rt, 'invalid_input', 'rollback_thread', { sessionId, threadId, target: {} });
	await refused(w.rt, 'thread_not_found', 'rollback_thread', { sessionId, threadId: 'thread_x', target: { turnId } });
	assert.deepEqual((await ok(w.rt, 'rollback_thread', { sessionId, threadId, target: { sequence: 2 } })).removedTurnIds, [turnId]);
	assert.equal((await thread(sessionId)).lastOutcome, undefined);
	await submit(w.rt, '[[hang]]', { sessionId });
	await refused(w.rt, 'active_turn', 'rollback_thread', { sessionId, threadId, target: { sequence: 2 } });
});
