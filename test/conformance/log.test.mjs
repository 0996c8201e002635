// One rich session, killed once in the middle, and then its whole log read as an auditor would: which rows of the standard
// does it satisfy as it stands? Each test names its rows; the session has a plain turn, reasoning, a tool call, a retry,
// a refusal, an interrupt, a queue with a promotion and a removal, a second thread, and a recovered turn.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DELTAS, TERMINAL, follow, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { isOfficialType, standardDir, validateEvent, validateOfficialEvent, validateSnapshot } from '../lib/schemas.mjs';

const TURN_FAMILIES = /^(turn|model|reasoning|tool)\./;
const ID_FIELDS = ['sessionId', 'threadId', 'turnId', 'taskId', 'runId', 'attemptId', 'stepId', 'toolCallId',
	'modelRequestId', 'queueId', 'requestId'];

let w, sessionId, threads, events, live, snapshots;

// Microseconds since 1970, which Date alone would cut to milliseconds.
const micros = ({ timestamp }) => Date.parse(`${timestamp.slice(0, 19)}Z`) * 1000 + Number(timestamp.slice(20, 26));
const of = (type) => events.filter((e) => e.type === type);
const get = (command, more = {}) => ok(w.rt, command, { sessionId, ...more });

async function turn(text, more = {}) {
	const receipt = await submit(w.rt, text, { sessionId, ...more });
	await live.ended(receipt.turnId);
	return receipt;
}

async function snap() {
	snapshots.push(await get('get_session'));
}

async function queueAndInterrupt() {
	const running = await submit(w.rt, '[[hang]]', { sessionId });
	const [a, b, c] = [await submit(w.rt, 'first', { sessionId }), await submit(w.rt, 'second', { sessionId }),
		await submit(w.rt, 'third', { sessionId })];
	await snap();
	await ok(w.rt, 'promote_queued_turn', { sessionId, queuedTurnId: c.turnId });
	await ok(w.rt, 'remove_queued_turn', { sessionId, queuedTurnId: a.turnId });
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'the auditor said so' });
	for (const { turnId } of [running, a, b, c]) await live.ended(turnId);
}

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20 } });
	({ sessionId } = await ok(w.rt, 'create_session', { title: 'audit', workspaceId: 'ws' }));
	snapshots = [];
	await snap();
	live = await follow(w.rt, sessionId);
	await turn('plain');
	await turn('[[reasoning let me think]] [[say an answer]]');
	await turn('[[tool read_file {"path":"x"}]]');
	await turn('[[fail-times 1 http 500]] again');
	await turn('[[http 400]]');
	await queueAndInterrupt();
	await turn('beside', { createPolicy: { thread: 'new' } });
	await snap();
	const lost = await submit(w.rt, '[[tokens 40]] [[delay 30]]', { sessionId });
	await live.until(() => live.of('model.requested', lost.turnId).length > 0, 'the call');
	await w.rt.kill9();
	w.rt = await w.again();
	await live.resume(w.rt);
	await live.ended(lost.turnId, 30000);
	await snap();
	await waitFor(async () => (await get('get_session')).status === 'idle', 'rest');
	events = (await readLog(w.rt, sessionId)).map((f) => f.event);
	threads = new Set(of('thread.started').map((e) => e.threadId));
});

// ---- the envelope ----

test('EV-01 EV-03 EV-05 PF-05 each event has its envelope, an RFC 3339 time with a zone, and the profile version', () => {
	for (const e of events) {
		validateOfficialEvent(e);
		for (const member of ['type', 'eventId', 'timestamp', 'schemaVersion', 'runtimeId', 'sessionId', 'sequence', 'payload'])
			assert.ok(e[member] !== undefined, `${e.type} lacks ${member}`);
		assert.match(e.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
		assert.equal(e.schemaVersion, 'lime-profile-0.4.0');
	}
});

test('EV-04 OPEN-04 durable sequences are 1..n without holes, over a kill -9 too', () => {
	assert.deepEqual(events.map((e) => e.sequence), events.map((_, i) => i + 1));
});

test('OPEN-04 two sessions count apart', async () => {
	const other = await submit(w.rt, 'elsewhere');
	assert.equal((await readLog(w.rt, other.sessionId))[0].sequence, 1);
});

test('EV-02 ids are unique; what is delivered again is the same bytes', async () => {
	assert.equal(new Set(events.map((e) => e.eventId)).size, events.length);
	const again = (await readLog(w.rt, sessionId)).map((f) => f.data);
	assert.deepEqual(again, (await readLog(w.rt, sessionId)).map((f) => f.data));
	const seen = new Map(live.facts.map((f) => [f.sequence, f.data]));
	for (const [i, data] of again.entries()) if (seen.has(i + 1)) assert.equal(data, seen.get(i + 1));
});

test('EV-06 EV-07 PF-06 PF-07 PF-10 scope ids are on every event that they concern', () => {
	for (const e of events) {
		if (/^thread\./.test(e.type)) assert.ok(e.threadId, e.type);
		if (TURN_FAMILIES.test(e.type)) assert.ok(e.threadId && e.turnId, e.type);
		if (/^tool\./.test(e.type)) assert.ok(e.stepId && e.toolCallId, e.type);
		if (/^model\./.test(e.type)) assert.ok(e.stepId && e.modelRequestId && e.taskId && e.runId, e.type);
		if (/^task\./.test(e.type)) assert.ok(e.taskId, e.type);
		if (/^task\.attempt\./.test(e.type)) assert.ok(e.runId && e.attemptId, e.type);
	}
});

test('PF-08 PF-13 PF-15 OPEN-15 an event without a scope id that its family needs is refused by the validator', () => {
	const drops = { 'thread.updated': ['threadId'], 'turn.started': ['threadId', 'turnId'], 'model.completed': ['turnId', 'modelRequestId'],
		'tool.started': ['stepId', 'toolCallId'], 'task.created': ['taskId'], 'task.attempt.started': ['runId'],
		'queue.changed': ['threadId'] };
	for (const [type, ids] of Object.entries(drops)) {
		for (const id of ids) {
			const { [id]: _, ...mutilated } = of(type)[0];
			assert.throws(() => validateEvent(mutilated), new RegExp(id), `${type} without ${id}`);
		}
	}
});

test('ID-16 EV-16 ids are non-empty strings wherever they are', () => {
	for (const e of events)
		for (const field of ID_FIELDS) if (field in e) assert.ok(typeof e[field] === 'string' && e[field].length > 0, `${e.type}.${field}`);
});

test('PF-25 the envelope has no members beyond the standard schema', () => {
	const schema = JSON.parse(readFileSync(join(standardDir, 'schemas/agentruntime-event.schema.json'), 'utf8'));
	for (const e of events) for (const key of Object.keys(e)) assert.ok(key in schema.properties, `${e.type} has ${key}`);
});

test('EV-12 EV-13 the strict stream has only types of the standard, and a whole turn can be read from it', async () => {
	const strict = await follow(w.rt, sessionId, { view: 'strict' });
	await strict.until(() => strict.last >= events.length, 'the strict log');
	strict.stop();
	for (const f of strict.facts) assert.ok(isOfficialType(f.type), f.type);
	for (const { turnId } of of('turn.submitted')) assert.equal(strict.facts.filter((f) => f.event.turnId === turnId && TERMINAL.has(f.type)).length, 1);
});

test('EV-09 OPEN-20 payloads are objects, typed per class by a published schema', () => {
	for (const e of events) {
		assert.equal(Object.prototype.toString.call(e.payload), '[object Object]');
		validateEvent(e);
	}
});

test('EV-10 OU-05 AN-10 no event is large: content goes by ref', () => {
	for (const e of events) assert.ok(JSON.stringify(e).length < 16384, `${e.type} has ${JSON.stringify(e).length} bytes`);
});

test('EV-21 two readers of one session get the same facts in the same order', async () => {
	const [a, b] = await Promise.all([readLog(w.rt, sessionId), readLog(w.rt, sessionId)]);
	assert.deepEqual(a.map((f) => f.event.eventId), b.map((f) => f.event.eventId));
});

test('EV-33 OPEN-58 a snapshot as of n, then everything after n: no gap, no repeat', async () => {
	const { asOfSequence } = await get('get_session');
	const reader = await follow(w.rt, sessionId, { after: String(asOfSequence) });
	const { turnId } = await submit(w.rt, 'after the snapshot', { sessionId });
	await reader.ended(turnId);
	reader.stop();
	reader.check();
	assert.equal(reader.facts[0].sequence, asOfSequence + 1);
});

test('OPEN-03 output frames take no sequence: only facts are counted', () => {
	for (const e of events) assert.ok(!DELTAS.has(e.type));
	assert.ok(live.frames > live.facts.length, 'frames came');
	live.check();
});

test('OPEN-17 OPEN-18 one version on all events; facts stand in the payload, ids and refs beside it', () => {
	assert.deepEqual([...new Set(events.map((e) => e.schemaVersion))], ['lime-profile-0.4.0']);
	for (const e of events) for (const typed of ['routingDecision', 'task', 'taskAttempt', 'output']) assert.ok(!(typed in e));
});

// ---- identities ----

test('ID-02 ID-03 a session owns its threads, and a thread is of one session', () => {
	assert.equal(threads.size, 2);
	for (const e of events) if (e.threadId) assert.ok(threads.has(e.threadId), `${e.type} names ${e.threadId}`);
});

test('ID-04 EV-42 each turn: submitted once, of one thread, started at most once, one end', () => {
	for (const { turnId, threadId } of of('turn.submitted')) {
		const mine = events.filter((e) => e.turnId === turnId);
		assert.equal(mine.filter((e) => e.type === 'turn.submitted').length, 1);
		assert.ok(mine.filter((e) => e.type === 'turn.started').length <= 1);
		assert.equal(mine.filter((e) => TERMINAL.has(e.type)).length, 1);
		assert.deepEqual([...new Set(mine.map((e) => e.threadId))], [threadId]);
	}
});

test('ID-05 ID-06 OPEN-14 OPEN-40 a turn has one task over its attempts; run and attempt ids pair one to one, and either finds the run', async () => {
	const pairs = new Map(), owner = new Map();
	for (const e of events.filter((x) => x.runId)) {
		assert.equal(owner.get(e.runId) ?? e.taskId, e.taskId);
		assert.equal(pairs.get(e.runId) ?? e.attemptId, e.attemptId);
		owner.set(e.runId, e.taskId);
		pairs.set(e.runId, e.attemptId);
	}
	assert.equal(new Set(pairs.values()).size, pairs.size);
	for (const pair of pairs) {
		const [byRun, byAttempt] = await Promise.all(pair.map((id) => ok(w.rt, 'explain', { id, sessionId })));
		assert.ok(byRun.reasons.length > 0);
		assert.deepEqual(byAttempt.reasons, byRun.reasons);
	}
	for (const { turnId, taskId } of of('task.created')) assert.deepEqual([...new Set(events.filter((e) => e.turnId === turnId && e.taskId).map((e) => e.taskId))], [taskId]);
	const recovered = of('task.attempt.started').filter((e) => e.payload.trigger === 'resume_after_crash');
	assert.equal(recovered.length, 1);
	assert.equal(of('task.attempt.started').filter((e) => e.taskId === recovered[0].taskId).length, 2);
});

test('ID-07 steps keep their ids and order over a restart', async () => {
	const steps = async () => (await get('get_session')).threads.flatMap((t) => t.turns.flatMap((x) => x.steps.map((s) => s.stepId)));
	const first = await steps();
	assert.ok(first.length >= 8);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await steps(), first);
});

test('ID-08 TL-11 a tool call belongs to one step and has one start and one end', () => {
	for (const { toolCallId, stepId } of of('tool.started')) {
		const mine = events.filter((e) => e.toolCallId === toolCallId);
		assert.deepEqual(mine.map((e) => e.type), ['tool.started', 'tool.failed']);
		for (const e of mine) assert.equal(e.stepId, stepId);
	}
	assert.equal(of('tool.started').length, 1);
});

test('ID-12 ids of different kinds are never the same', () => {
	const kinds = new Map();
	for (const e of events)
		for (const field of ['turnId', 'taskId', 'runId', 'stepId', 'toolCallId', 'modelRequestId', 'threadId', 'attemptId']) {
			if (!e[field]) continue;
			assert.equal(kinds.get(e[field]) ?? field, field, e[field]);
			kinds.set(e[field], field);
		}
});

test('ID-15 the first model call carries session, thread, turn and step', () => {
	const [first] = of('model.requested');
	for (const field of ['sessionId', 'threadId', 'turnId', 'stepId', 'taskId', 'runId']) assert.ok(first[field], field);
});

test('ID-17 every id was introduced by the fact that makes such things', () => {
	const makers = { threadId: 'thread.started', turnId: 'turn.submitted', runId: 'task.attempt.started', stepId: 'model.requested',
		modelRequestId: 'model.requested', toolCallId: 'tool.started' };
	const known = new Set();
	for (const e of events) {
		for (const [field, maker] of Object.entries(makers)) {
			if (e.type === maker) known.add(e[field]);
			if (e[field]) assert.ok(known.has(e[field]), `${e.type} ${e.sequence} names ${field} ${e[field]} before ${maker}`);
		}
	}
});

test('ID-18 each thing has one parent: step in turn, call in step, run in task, turn in thread', () => {
	const parents = { stepId: 'turnId', modelRequestId: 'stepId', toolCallId: 'stepId', runId: 'taskId', turnId: 'threadId', threadId: 'sessionId' };
	const seen = new Map();
	for (const e of events)
		for (const [child, parent] of Object.entries(parents)) {
			if (!e[child] || !e[parent]) continue;
			assert.equal(seen.get(e[child]) ?? e[parent], e[parent], `${child} ${e[child]}`);
			seen.set(e[child], e[parent]);
		}
});

// ---- lifecycles ----

test('EV-41 AC-01 a turn is on record before any model call of it', () => {
	for (const { turnId, sequence } of of('model.requested'))
		assert.ok(of('turn.submitted').some((e) => e.turnId === turnId && e.sequence < sequence));
});

test('OPEN-43 EV-43 TK-47 the facts of a good end come in their order', () => {
	for (const { turnId, sequence } of of('turn.completed')) {
		const tail = events.slice(sequence - 3, sequence + 1);
		assert.deepEqual(tail.slice(0, 3).map((e) => e.type), ['task.attempt.completed', 'task.completed', 'turn.completed'], turnId);
		assert.ok(['thread.updated', 'queue.changed'].includes(tail[3].type));
		assert.ok(of('model.completed').some((e) => e.turnId === turnId && e.sequence < sequence));
	}
});

test('OPEN-08 OPEN-09 ST-15 an interrupt is intent first, and its end is cancelled, not failed', () => {
	const intent = events.find((e) => e.type === 'thread.updated' && e.payload.reason === 'interrupt_requested');
	const line = events.find((e) => e.type === 'run.status' && e.payload.phase === 'interrupting');
	const end = of('turn.failed').find((e) => e.turnId === intent.turnId);
	assert.ok(intent.sequence < end.sequence && line.sequence < end.sequence);
	assert.equal(end.payload.status, 'cancelled');
	assert.equal(events.filter((e) => e.taskId === end.taskId && e.type === 'task.failed').length, 0);
	assert.equal(events.filter((e) => e.taskId === end.taskId && e.type === 'task.cancelled').length, 1);
});

test('EV-44 ST-14 a turn that fails says category, message, whether to retry and what to do', () => {
	const failed = of('turn.failed').filter((e) => e.payload.status === 'failed');
	assert.equal(failed.length, 1);
	const { category, message, retryable, recoveryAdvice } = failed[0].payload.error;
	assert.deepEqual([category, retryable], ['invalid_request', false]);
	assert.ok(message && recoveryAdvice);
});

test('EV-44 the last outcome of the thread is the failure as the fact tells it', async () => {
	const other = await submit(w.rt, '[[http 400]]');
	const reader = await follow(w.rt, other.sessionId);
	const { payload: { status, error } } = await reader.ended(other.turnId);
	reader.stop();
	const [{ lastOutcome }] = (await ok(w.rt, 'get_session', { sessionId: other.sessionId })).threads;
	assert.deepEqual([lastOutcome.turnId, lastOutcome.status, lastOutcome.category, lastOutcome.message],
		[other.turnId, status, error.category, error.message]);
});

test('EV-45 EV-47 EV-48 each model call is asked once and ends once', () => {
	for (const { modelRequestId } of of('model.requested')) {
		const mine = events.filter((e) => e.modelRequestId === modelRequestId && /^model\./.test(e.type));
		assert.equal(mine.length, 2, mine.map((e) => e.type).join());
		assert.match(mine[1].type, /^model\.(completed|failed)$/);
	}
});

test('TK-26 TK-27 TK-29 TK-20 task facts carry their task, and attempts their run', () => {
	for (const { taskId } of of('task.created')) {
		const types = events.filter((e) => e.taskId === taskId && /^task\./.test(e.type)).map((e) => e.type);
		assert.deepEqual(types.slice(0, 2), ['task.created', 'task.accepted']);
	}
	assert.equal(of('task.attempt.started').length, of('task.attempt.completed').length + of('task.attempt.failed').length);
	for (const { taskId, payload } of of('task.started')) {
		const attempt = of('task.attempt.started').find((e) => e.taskId === taskId);
		assert.equal(payload.runId, attempt.runId);
		assert.deepEqual(payload.worker, attempt.payload.worker);
	}
});

test('TK-28 TK-38 a queued task says so, a cancelled one says by whom and why', () => {
	assert.equal(of('task.queued').length, 3);
	for (const e of of('task.queued')) assert.equal(e.payload.queueReason, 'queue');
	assert.equal(of('task.cancelled').length, 2);
	for (const e of of('task.cancelled')) assert.ok(e.payload.cancelledBy === 'user' && e.payload.reason);
});

test('TK-40 TK-42 TK-48 good and bad ends of tasks and attempts carry their facts', () => {
	for (const e of of('task.completed')) assert.equal(e.payload.reconciled, true);
	for (const e of of('task.failed')) assert.ok(e.payload.lastError.category && e.payload.failureCategory);
	const lost = of('task.attempt.failed').filter((e) => e.payload.status === 'lost');
	assert.equal(lost.length, 1);
	assert.equal(lost[0].payload.retryable, true);
});

test('TK-36 TK-10 TK-11 TK-46 AN-25 AN-31 a lost attempt is kept, a new one begins, nothing is called success', () => {
	const [retry] = of('task.retrying');
	assert.ok(retry.payload.previousRunId !== retry.payload.newRunId);
	const attempts = of('task.attempt.started').filter((e) => e.taskId === retry.taskId);
	assert.deepEqual(attempts.map((e) => [e.runId, e.payload.attemptCount, e.payload.trigger]),
		[[retry.payload.previousRunId, 1, 'start'], [retry.payload.newRunId, 2, 'resume_after_crash']]);
	const task = events.filter((e) => e.taskId === retry.taskId && /^task\./.test(e.type)).map((e) => e.type);
	assert.deepEqual(task.slice(task.indexOf('task.attempt.failed')),
		['task.attempt.failed', 'task.retrying', 'task.attempt.started', 'task.attempt.completed', 'task.completed']);
});

test('HI-10 what came back after the kill is told', () => {
	const [fact] = of('history.reconstructed');
	assert.equal(fact.payload.degraded, false);
	assert.equal(fact.payload.layers.queuedTurns, 'restored');
	assert.ok(fact.payload.asOfSequence < fact.sequence);
});

test('QU-03 QU-08 the queue is the fold of its facts at every point', () => {
	const changes = of('queue.changed');
	assert.deepEqual(new Set(changes.map((e) => e.payload.change)), new Set(['enqueued', 'promoted', 'removed', 'dequeued']));
	let queue = [];
	for (const { payload: { change, queuedTurnId, order } } of changes) {
		if (change === 'enqueued') queue = [...queue, queuedTurnId];
		if (change === 'promoted') queue = [queuedTurnId, ...queue.filter((x) => x !== queuedTurnId)];
		if (change === 'removed' || change === 'dequeued') queue = queue.filter((x) => x !== queuedTurnId);
		assert.deepEqual(order, queue, change);
	}
	const dequeued = changes.filter((e) => e.payload.change === 'dequeued').map((e) => e.payload.queuedTurnId);
	assert.deepEqual(of('turn.started').map((e) => e.turnId).filter((x) => dequeued.includes(x)), dequeued);
});

test('ST-22 each state line has a phase and a title and joins its turn', () => {
	assert.ok(of('run.status').length > 0);
	for (const e of of('run.status')) assert.ok(e.payload.phase && e.payload.title && of('turn.submitted').some((t) => t.turnId === e.turnId));
});

test('ID-11 AN-11 previews have the whole behind them', async () => {
	for (const e of of('model.completed')) {
		const { content, sizeBytes } = await ok(w.rt, 'read_output', { outputRef: e.payload.outputRef });
		assert.ok(content.startsWith(e.payload.preview));
		assert.equal(sizeBytes, e.payload.outputBytes);
	}
	const shown = events.flatMap((e) => ['preview', 'inputPreview', 'summaryPreview'].filter((name) => e.payload[name]).map((name) => [e, name]));
	for (const [e, name] of shown) {
		const outputRef = name === 'inputPreview' ? e.payload.inputRef : (e.outputRef ?? e.payload.outputRef ?? e.payload.errorRef ?? e.payload.summaryRef);
		assert.ok(outputRef, `${e.type} has ${name} and no ref`);
		const { content } = await ok(w.rt, 'read_output', { outputRef });
		assert.ok(content.includes(e.payload[name]) || content.includes(JSON.stringify(e.payload[name]).slice(1, -1)), `${e.type} ${name}`);
	}
	assert.ok(new Set(shown.map(([e]) => e.type)).size >= 2, shown.map(([e]) => e.type).join());
});

// ---- read models ----

test('RM-31 RM-33 RM-34 RM-35 RM-36 RM-37 PF-18 PF-19 OPEN-56 snapshots validate at every step, the first one too', async () => {
	assert.equal(snapshots.length, 4);
	for (const s of snapshots) validateSnapshot(s);
	for (const threadId of threads) validateSnapshot(await get('get_thread_read', { threadId }));
});

test('RM-01 RM-02 the session shows its shell, times, threads and newest steps', async () => {
	const s = await get('get_session');
	assert.deepEqual([s.title, s.workspaceId], ['audit', 'ws']);
	assert.equal(s.createdAt, events[0].payload.createdAt);
	assert.deepEqual(new Set(s.threads.map((t) => t.threadId)), threads);
	assert.ok(s.threads[0].turns.at(-1).steps.length > 0 && s.historyCursor.before === s.asOfSequence + 1);
});

test('RM-03 ST-02 ST-04 OPEN-06 while a turn runs and others wait, the thread says so', () => {
	const [t] = snapshots[1].threads;
	assert.deepEqual([t.status, t.queuedTurns.length, t.queue.length], ['running', 3, 3]);
	assert.ok(t.activeTurnId && ['preparing', 'running', 'interrupting', 'retrying'].includes(t.statusDetail));
	assert.deepEqual(t.queuedTurns.map((q) => q.position), [1, 2, 3]);
});

test('OPEN-21 RM-14 ST-04 at rest nothing is active, and the last outcome names its turn', async () => {
	const [t] = (await get('get_session')).threads;
	assert.ok(!('activeTurnId' in t));
	assert.equal(t.lastOutcome.status, 'completed');
	assert.ok(t.turns.some((x) => x.turnId === t.lastOutcome.turnId));
	assert.equal(t.queue.length, 0);
});

test('OPEN-23 CP-29 a thread read is the session limited to that thread', async () => {
	for (const threadId of threads) {
		const read = await get('get_thread_read', { threadId });
		assert.deepEqual(read.threads.map((t) => t.threadId), [threadId]);
		assert.ok(read.tasks.every((t) => t.threadId === threadId));
		assert.equal(typeof read.asOfSequence, 'number');
	}
});

test('OPEN-24 RM-40 RM-15 the task counts equal a fold of the log', async () => {
	const { taskSummary } = await get('get_session');
	const now = await readLog(w.rt, sessionId);
	const n = (type) => now.filter((f) => f.type === type).length;
	assert.deepEqual([taskSummary.completed, taskSummary.failed, taskSummary.cancelled, taskSummary.active],
		[n('task.completed'), n('task.failed'), n('task.cancelled'), 0]);
	assert.equal(taskSummary.terminal, taskSummary.completed + taskSummary.failed + taskSummary.cancelled);
	for (const key of ['active', 'waiting', 'blocked', 'completed', 'failed', 'cancelled', 'lost', 'terminal', 'recentTerminal'])
		assert.ok(key in taskSummary, key);
});

test('RM-41 TK-09 TK-21 a task shows its attempts, the lost one too, after a restart', async () => {
	const [retry] = of('task.retrying');
	const task = await ok(w.rt, 'get_task', { taskId: retry.taskId });
	assert.deepEqual(task.attempts.map((a) => [a.status, a.statusDetail]), [['unknown', 'lost'], ['completed', 'completed']]);
	assert.deepEqual(task.attempts.map((a) => a.trigger), ['start', 'resume_after_crash']);
	assert.equal(task.currentRunId, retry.payload.newRunId);
});

test('OPEN-07 ST-21 a lost attempt validates and is still told apart', async () => {
	const tasks = (await get('get_session')).tasks.flatMap((t) => t.attempts);
	const lost = tasks.filter((a) => a.statusDetail === 'lost');
	assert.equal(lost.length, 1);
	assert.deepEqual([lost[0].status, lost[0].lastError.category], ['unknown', 'worker_lost']);
});

test('RM-25 RM-26 RM-28 what this runtime cannot tell is called unavailable or not_applicable', async () => {
	const s = await get('get_session');
	for (const name of ['telemetrySummary', 'benchmarkSummary']) assert.equal(s[name].state, 'unavailable', name);
	assert.deepEqual(s.toolInventory, { state: 'available', command: 'get_tool_inventory' });
	assert.deepEqual([s.artifactSummary.state, s.artifactSummary.count, s.artifactSummary.artifacts], ['available', 0, []], 'no call of this session changes a file');
	assert.ok((await ok(w.rt, s.toolInventory.command, { sessionId })).tools, 'and so it is');
	assert.equal(s.tasks[0].deliveryState.state, 'not_applicable');
});

test('OPEN-60 CP-28 a thousand reads leave no fact', async () => {
	const { asOfSequence } = await get('get_session');
	for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, () => get('get_session')));
	assert.equal((await get('get_session')).asOfSequence, asOfSequence);
});

test('OPEN-22 the nine names that the standard has no member for are there', async () => {
	const s = await get('get_session');
	for (const name of ['toolInventory', 'contextBoundary', 'artifactSummary', 'historyCursor', 'asOfSequence', 'benchmarkSummary'])
		assert.ok(name in s, name);
	const [{ lastOutcome, diagnostics, queue }] = s.threads;
	const end = (await readLog(w.rt, sessionId)).findLast((f) => TERMINAL.has(f.type) && f.event.threadId === s.threads[0].threadId).event;
	assert.deepEqual([lastOutcome.turnId, lastOutcome.status], [end.turnId, end.payload.status ?? 'completed']);
	assert.deepEqual([diagnostics.state, queue.length, s.contextBoundary.state], ['available', 0, 'none']);
	const { history } = await get('get_session', { cursor: String(s.historyCursor.before), limit: 1 });
	assert.equal(history.events[0].sequence, s.asOfSequence, 'the cursor leads to the newest fact');
	validateSnapshot(s);
});

// ---- what clients cannot do ----

test('OW-08 CP-01 a client cannot post state: a status or a decision as data is refused or ignored, the log unchanged', async () => {
	const { asOfSequence } = await get('get_session');
	const posts = [['submit_turn', { text: 'x', status: 'completed' }], ['submit_turn', { text: 'x', thread: { status: 'idle' } }],
		['interrupt_turn', { reason: 'x', result: 'accepted', outcome: 'completed' }]];
	for (const [command, input] of posts) {
		const error = await refused(w.rt, 'invalid_input', command, { sessionId, ...input }, { loose: true });
		assert.match(error.message, /status|thread|result/);
	}
	assert.equal((await get('get_session')).asOfSequence, asOfSequence);
});

test('AN-21 twenty reconnects add no turn and no fact', async () => {
	const { asOfSequence, threads: [{ turns }] } = await get('get_session');
	for (let i = 0; i < 20; i++) (await follow(w.rt, sessionId)).stop();
	const after = await get('get_session');
	assert.deepEqual([after.asOfSequence, after.threads[0].turns.length], [asOfSequence, turns.length]);
});

test('AN-38 durations are differences of facts, times of the read model are theirs, and a client cannot post one', async () => {
	const turns = new Map((await get('get_session')).threads.flatMap((t) => t.turns).map((t) => [t.turnId, t]));
	for (const e of of('turn.completed')) {
		const [started] = of('turn.started').filter((x) => x.turnId === e.turnId);
		assert.equal(e.payload.durationMs, Math.floor((micros(e) - micros(started)) / 1000));
		const { startedAt, completedAt } = turns.get(e.turnId);
		assert.deepEqual([startedAt, completedAt], [started.timestamp, e.timestamp]);
	}
	const { asOfSequence } = await get('get_session');
	for (const more of [{ durationMs: 1 }, { startedAt: '2020-01-01T00:00:00Z' }]) await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, text: 'x', ...more }, { loose: true });
	assert.equal((await get('get_session')).asOfSequence, asOfSequence);
});
