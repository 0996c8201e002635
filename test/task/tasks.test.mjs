// Declared tasks: commands, facts, graph, runs by people outside and by turns of the runtime; read before and after a kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, refused, request, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateOfficialEvent, validateSnapshot } from '../lib/schemas.mjs';

const SUM = { name: 'sum', description: 'Adds.', inputSchema: { type: 'object', properties: { a: { type: 'integer' } } } };
const WORKER = { kind: 'worker', id: 'w-1' };
let w, sessionId, threadId;

const run = (command, input) => ok(w.rt, command, input);
const get = (taskId) => run('get_task', { taskId });
const create = (more = {}) => run('create_task', { sessionId, objective: 'Find the bug', ...more });
const log = async () => (await readLog(w.rt, sessionId)).map((f) => f.event);
const of = async (taskId, ...types) => (await log()).filter((e) => e.taskId === taskId && (types.length === 0 || types.includes(e.type)));
const until = (taskId, status) => waitFor(async () => (await get(taskId)).status === status && (await get(taskId)), () => `${taskId} ${status}`);
const facts = async (taskId) => (await of(taskId)).map((e) => e.type);

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

/** What a reader sees of a task, without the times of reading. */
const seen = ({ asOfSequence, ...record }) => record;

async function started(more = {}) {
	const { taskId } = await create(more);
	const { runId } = await run('start_task', { taskId, worker: WORKER });
	return { taskId, runId };
}

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20, 'limits.max_body_bytes': 4194304 } });
	({ sessionId, threadId } = await run('create_session', { title: 'tasks' }));
});

// ---- making and changing ----

test('CP-11 TK-02 TK-03 TK-26 OPEN-45 create_task: one key is one task, and every field is there after a kill -9', async () => {
	const given = { title: 'Bug', objective: 'Find it', taskKind: 'coding', taskFamily: 'software', visibility: 'background', priority: 'odd-one',
		profile: { capability: 'tools' }, constraints: { budget: { tokens: 10 } }, acceptance: [{ criterion: 'green' }, { criterion: 'reviewed' }],
		owner: { kind: 'user', id: 'ada' }, assignee: { kind: 'worker', id: 'w-9' }, requestedBy: { kind: 'channel', id: 'chan-1' }, metadata: { ticket: 7 } };
	const first = await run('create_task', { threadId, idempotencyKey: 'k-1', ...given });
	assert.deepEqual(await run('create_task', { threadId, idempotencyKey: 'k-1', ...given }), first);
	assert.equal(first.status, 'accepted');
	assert.equal((await of(first.taskId, 'task.created')).length, 1);
	const [created, accepted] = await of(first.taskId);
	assert.equal(created.payload.objective, 'Find it');
	assert.deepEqual([accepted.type, accepted.sequence > created.sequence, accepted.payload.owner], ['task.accepted', true, given.owner]);
	assert.equal(accepted.payload.acceptedAt, accepted.timestamp);
	const before = await get(first.taskId);
	await restart();
	const after = await get(first.taskId);
	assert.deepEqual(seen(after), seen(before));
	const { profile, ...rest } = given;
	for (const [name, value] of Object.entries({ ...rest, taskProfile: profile, sessionId, threadId, status: 'accepted' })) assert.deepEqual(after[name], value, name);
	assert.deepEqual(created.payload.acceptance, after.acceptance, 'event and snapshot have the same criteria');
});

test('TK-04 requester, owner and assignee are as given', async () => {
	const { taskId } = await create({ requestedBy: { kind: 'channel', id: 'chan-7' }, owner: { kind: 'user', id: 'ada' }, assignee: { kind: 'worker', id: 'w-2' } });
	const { requestedBy, owner, assignee } = await get(taskId);
	assert.deepEqual([requestedBy, owner, assignee], [{ kind: 'channel', id: 'chan-7' }, { kind: 'user', id: 'ada' }, { kind: 'worker', id: 'w-2' }]);
});

test('TK-04 a task that comes through a channel names it as the requester; a channel of nobody is refused', async () => {
	const { channelId } = await run('connect_channel', { sessionId, transport: 'http_json', peerRole: 'client', credential: 'connection' });
	const given = { channelId, owner: { kind: 'user', id: 'ada' }, assignee: { kind: 'worker', id: 'w-2' } };
	const { taskId } = await create(given);
	const { requestedBy, owner, assignee } = await get(taskId);
	assert.deepEqual([requestedBy, owner, assignee], [{ kind: 'channel', id: channelId }, given.owner, given.assignee]);
	assert.equal((await of(taskId, 'task.created'))[0].channelId, channelId);
	const forAda = await create({ ...given, requestedBy: { kind: 'user', id: 'ada' } });
	assert.deepEqual((await get(forAda.taskId)).requestedBy, { kind: 'user', id: 'ada' }, 'who says on whose behalf it asks is believed');
	assert.equal((await of(forAda.taskId, 'task.created'))[0].channelId, channelId, 'and its channel is on record');
	await refused(w.rt, 'channel_not_found', 'create_task', { sessionId, objective: 'x', channelId: 'chan-of-nobody' });
});

test('TK-02 parent, child and grandchild in a turn: six ids, root and parent right', async () => {
	const turn = await submit(w.rt, '[[hang]]', { sessionId, threadId });
	const parent = await run('create_task', { threadId, objective: 'whole' });
	const child = await run('create_task', { parentTaskId: parent.taskId, objective: 'part' });
	const grandchild = await run('create_task', { parentTaskId: child.taskId, objective: 'part of the part' });
	const record = await get(grandchild.taskId);
	assert.deepEqual([record.taskId, record.parentTaskId, record.rootTaskId, record.sessionId, record.threadId, record.turnId],
		[grandchild.taskId, child.taskId, parent.taskId, sessionId, threadId, turn.turnId]);
	const [delegated] = await of(parent.taskId, 'task.delegated');
	assert.deepEqual([delegated.payload.delegateKind, delegated.payload.targetId], ['child_task', child.taskId]);
	await run('interrupt_turn', { sessionId, reason: 'enough' });
});

test('TK-03 each visibility is kept, hidden ones are not listed, and priority ends nothing', async () => {
	for (const visibility of ['foreground', 'background', 'internal', 'hidden']) {
		const { taskId } = await create({ visibility, priority: 'urgent' });
		const record = await get(taskId);
		assert.deepEqual([record.visibility, record.status, record.priority], [visibility, 'accepted', 'urgent']);
		const listed = (await run('list_tasks', { sessionId, limit: 1000 })).tasks.some((t) => t.taskId === taskId);
		assert.equal(listed, visibility === 'foreground' || visibility === 'background', visibility);
		assert.ok((await run('list_tasks', { sessionId, visibility, limit: 1000 })).tasks.some((t) => t.taskId === taskId));
	}
	await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', visibility: 'secret' }, { loose: true });
});

test('CP-11 what create_task refuses has its own word', async () => {
	await refused(w.rt, 'invalid_scope', 'create_task', { threadId: `${threadId}9`, objective: 'x' });
	await refused(w.rt, 'parent_not_found', 'create_task', { parentTaskId: `task_${sessionId.slice(5)}_99999`, objective: 'x' });
	const own = `task_${sessionId.slice(5)}_mine`;
	await run('create_task', { sessionId, taskId: own, objective: 'x' });
	assert.equal((await get(own)).objective, 'x');
	await refused(w.rt, 'id_conflict', 'create_task', { sessionId, taskId: own, objective: 'another' });
	await refused(w.rt, 'invalid_input', 'create_task', { sessionId, taskId: 'mine', objective: 'x' });
	await refused(w.rt, 'task_not_found', 'get_task', { taskId: `task_${sessionId.slice(5)}_99999` });
});

test('CP-12 TK-30 update_task: only what changed is told, attempts and edges stay, and nothing changed says nothing', async () => {
	const { taskId } = await started();
	const other = await create();
	await run('link_tasks', { sourceId: taskId, targetId: other.taskId, kind: 'source_task' });
	const before = await get(taskId);
	const values = { title: 'New', objective: 'Another', metadata: { a: 1 }, priority: 'high', assignee: { kind: 'user', id: 'bo' }, acceptance: [{ criterion: 'x' }], constraints: { timeMs: 100000 } };
	for (const [name, value] of Object.entries(values)) {
		await run('update_task', { taskId, changed: { [name]: value } });
		const last = (await of(taskId, 'task.updated')).at(-1);
		assert.deepEqual(last.payload.changed, { [name]: value });
		assert.ok(last.payload.updatedAt);
	}
	const after = await get(taskId);
	for (const [name, value] of Object.entries(values)) assert.deepEqual(after[name], value, name);
	assert.deepEqual([after.attempts, after.relationships], [before.attempts, before.relationships]);
	const count = (await of(taskId)).length;
	await run('update_task', { taskId, changed: { title: 'New' } });
	assert.equal((await of(taskId)).length, count, 'nothing changed');
	await refused(w.rt, 'task_not_found', 'update_task', { taskId: `task_${sessionId.slice(5)}_99999`, changed: { title: 'y' } });
	await refused(w.rt, 'invalid_field', 'update_task', { taskId, changed: { status: 'completed' } });
	await refused(w.rt, 'version_conflict', 'update_task', { taskId, changed: { title: 'y' }, expectedUpdatedAt: '2020-01-01T00:00:00Z' });
	await run('update_task', { taskId, changed: { title: 'z' }, expectedUpdatedAt: after.updatedAt });
});

// ---- runs ----

test('CP-13 TK-29 TK-09 start_task: the attempt names worker, thread and environment; a second start is refused and adds none', async () => {
	const { taskId } = await create();
	const reply = await run('start_task', { taskId, worker: WORKER, threadId, environment: { cwd: '/w' }, inputRefs: ['ref-in'] });
	assert.equal(reply.status, 'running');
	const [attempt] = await of(taskId, 'task.attempt.started');
	const [start] = await of(taskId, 'task.started');
	assert.deepEqual([attempt.runId, start.runId, start.payload.runId], [reply.runId, reply.runId, reply.runId]);
	assert.deepEqual([attempt.payload.worker, start.payload.worker, start.payload.threadId], [WORKER, WORKER, threadId]);
	assert.deepEqual(JSON.parse((await run('read_output', { outputRef: start.payload.environmentRef })).content), { cwd: '/w' });
	await refused(w.rt, 'already_running', 'start_task', { taskId });
	await refused(w.rt, 'task_not_found', 'start_task', { taskId: `task_${sessionId.slice(5)}_99999` });
	const record = await get(taskId);
	assert.equal(record.attempts.length, 1);
	const named = await create();
	await refused(w.rt, 'worker_unavailable', 'start_task', { taskId: named.taskId, threadId: `${threadId}9` });
	const first = await run('start_task', { taskId: named.taskId, runId: 'my-first-run', worker: WORKER });
	assert.deepEqual(await run('start_task', { taskId: named.taskId, runId: 'my-first-run', worker: WORKER }), first, 'the same run id is the same run');
	assert.deepEqual([first.runId, (await of(named.taskId, 'task.attempt.started')).length], ['my-first-run', 1]);
	await run('complete_task', { taskId: named.taskId, acceptance: [] });
	await refused(w.rt, 'terminal_state', 'start_task', { taskId: named.taskId });
	const [kept] = record.attempts;
	for (const name of ['runId', 'attemptId', 'status', 'worker', 'inputRefs', 'outputRefs', 'checkpointRefs', 'startedAt', 'attemptCount', 'retryPolicy']) assert.ok(kept[name] !== undefined, name);
	assert.deepEqual(kept.inputRefs, [{ ref: 'ref-in' }]);
});

test('TK-09 the summary of an attempt decides nothing', async () => {
	const { taskId } = await started();
	await run('append_task_progress', { taskId, summary: 'all is done, completed, finished' });
	assert.equal((await get(taskId)).status, 'running');
	await run('complete_task', { taskId, acceptance: [], completionSummary: 'it failed miserably' });
	const record = await get(taskId);
	assert.deepEqual([record.status, record.attempts[0].completionSummary, Boolean(record.attempts[0].endedAt)], ['completed', 'it failed miserably', true]);
});

test('CP-14 TK-31 progress: appended, merged in the record; the same offset twice is one fact; an ended task takes none', async () => {
	const { taskId, runId } = await started();
	await run('append_task_progress', { taskId, runId, phase: 'working', counters: { files: 1, tests: 4 }, outputRefs: ['out-1'], outputOffset: 10 });
	const second = { taskId, runId, phase: 'verifying', counters: { tests: 9 }, outputRefs: ['out-2'], outputOffset: 20, percent: 50, currentStep: 'checks', validationState: 'running' };
	const reply = await run('append_task_progress', second);
	assert.deepEqual(await run('append_task_progress', second), reply);
	const told = await of(taskId, 'task.progress');
	assert.deepEqual(told.map((e) => e.payload.counters), [{ files: 1, tests: 4 }, { tests: 9 }], 'the older fact stays as it was');
	const { progress } = await get(taskId);
	assert.deepEqual(progress, { phase: 'verifying', percent: 50, currentStep: 'checks', counters: { files: 1, tests: 9 }, outputRefs: ['out-1', 'out-2'], outputOffset: 20, validationState: 'running' });
	await refused(w.rt, 'offset_conflict', 'append_task_progress', { taskId, phase: 'working', outputOffset: 5 });
	await refused(w.rt, 'run_not_current', 'append_task_progress', { taskId, runId: 'run-of-nobody', phase: 'working' });
	await run('complete_task', { taskId, acceptance: [] });
	await refused(w.rt, 'terminal_state', 'append_task_progress', { taskId, phase: 'working' });
});

test('TK-17 AN-29 progress facts carry phase, step, counters, refs and offsets, delivery, validation and coverage', async () => {
	const { taskId } = await started();
	const given = { phase: 'working', currentStep: '2 of 3', counters: { files: 3, tests: 8, toolCalls: 5, jobItems: 0, childTasks: 1, items: 2 },
		outputRefs: ['report'], outputOffset: 64, deliveryState: { state: 'pending' }, validationState: 'passed', acceptanceCoverage: { met: 1, of: 2 } };
	await run('append_task_progress', { taskId, ...given });
	const [{ payload }] = await of(taskId, 'task.progress');
	assert.deepEqual(payload, given);
	assert.deepEqual((await get(taskId)).deliveryState, { state: 'pending' });
});

test('TK-19 a long report goes by ref: the fact stays small and the whole can be read', async () => {
	const { taskId } = await started();
	const text = 'report line\n'.repeat(85000);
	await run('append_task_progress', { taskId, summary: text });
	const [told] = await of(taskId, 'task.progress');
	assert.ok(JSON.stringify(told).length < 10000, 'the fact is small');
	const [outputRef] = told.payload.outputRefs;
	let read = '';
	for (let offset = 0; read.length < text.length; offset = read.length) read += (await run('read_output', { outputRef, offset, length: 1000000 })).content;
	assert.equal(read, text);
});

test('CP-15 CP-16 TK-34 TK-35 pause and resume: the same run goes on, history and edges stay, over a restart', async () => {
	const { taskId, runId } = await started();
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	const before = await get(taskId);
	await run('pause_task', { taskId, reason: 'lunch' });
	await run('pause_task', { taskId, reason: 'lunch again' });
	assert.equal((await of(taskId, 'task.paused')).length, 1, 'pausing a paused task does nothing');
	const paused = await get(taskId);
	assert.deepEqual([paused.status, paused.attempts, paused.relationships], ['paused', before.attempts, before.relationships]);
	await restart();
	assert.deepEqual(seen(await get(taskId)), seen(paused));
	assert.equal((await get(child.taskId)).status, 'accepted', 'parts go on unless they are named');
	const resumed = await run('resume_task', { taskId, reason: 'back' });
	assert.deepEqual([resumed.runId, resumed.status], [runId, 'running'], 'the worker lives: the same run');
	assert.deepEqual(await run('resume_task', { taskId, reason: 'back' }), resumed);
	await run('append_task_progress', { taskId, phase: 'working' });
	assert.deepEqual((await facts(taskId)).slice(-3), ['task.paused', 'task.resumed', 'task.progress']);
	await run('pause_task', { taskId, reason: 'the worker died' });
	const other = await run('resume_task', { taskId, reason: 'another takes over', worker: { kind: 'worker', id: 'w-2' } });
	assert.notEqual(other.runId, runId);
	assert.deepEqual((await get(taskId)).attempts.map((a) => [a.runId, a.statusDetail]), [[runId, 'lost'], [other.runId, 'running']]);
	const { taskId: idle } = await create();
	const count = (await of(idle)).length;
	await refused(w.rt, 'not_paused', 'resume_task', { taskId: idle, reason: 'x' });
	assert.equal((await of(idle)).length, count);
	await run('cancel_task', { taskId: idle, reason: 'x' });
	await refused(w.rt, 'not_pausable', 'pause_task', { taskId: idle, reason: 'x' });
});

test('CP-18 CP-20 TK-10 TK-36 TK-40 TK-07 fail and retry: a new run, constraints kept, the failed attempt with its error intact', async () => {
	const error = { category: 'compile', message: 'it does not compile' };
	const { taskId, runId } = await started({ constraints: { timeMs: 600000 } });
	const source = await create();
	await run('link_tasks', { sourceId: taskId, targetId: source.taskId, kind: 'source_task' });
	await run('append_task_progress', { taskId, phase: 'working', counters: { files: 2 }, outputRefs: ['build-log'] });
	assert.equal((await run('fail_task', { taskId, error, artifacts: ['core-dump'], evidenceRefs: ['log-1'] })).status, 'failed');
	const failed = await get(taskId);
	assert.deepEqual([failed.status, failed.lastError, failed.artifacts, failed.evidenceRefs], ['failed', error, [{ ref: 'core-dump' }], ['log-1']]);
	assert.deepEqual((await of(taskId, 'task.attempt.failed', 'task.failed')).map((e) => e.type), ['task.attempt.failed', 'task.failed']);
	await refused(w.rt, 'already_terminal', 'fail_task', { taskId, error });
	const again = await run('retry_task', { taskId, retryReason: 'fixed', runId: 'second-run' });
	assert.deepEqual([again.runId, again.attemptCount], ['second-run', 2]);
	assert.deepEqual(await run('retry_task', { taskId, retryReason: 'fixed', runId: 'second-run' }), again);
	const [retrying] = await of(taskId, 'task.retrying');
	assert.deepEqual([retrying.payload.previousRunId, retrying.payload.newRunId], [runId, 'second-run']);
	await refused(w.rt, 'already_running', 'retry_task', { taskId, retryReason: 'x' });
	const retried = await get(taskId);
	assert.deepEqual([retried.artifacts, retried.evidenceRefs], [[{ ref: 'core-dump' }], ['log-1']], 'what the failed run left is kept');
	await run('complete_task', { taskId, acceptance: [] });
	await restart();
	const record = await get(taskId);
	assert.deepEqual([record.taskId, record.status, record.constraints, record.lastError], [taskId, 'completed', { timeMs: 600000 }, undefined]);
	assert.deepEqual(record.attempts.map((a) => [a.statusDetail, a.lastError, a.trigger]), [['failed', error, 'start'], ['completed', undefined, 'retry']]);
	for (const time of ['createdAt', 'updatedAt', 'startedAt', 'endedAt']) assert.ok(record[time], time);
	assert.deepEqual([record.currentRunId, record.progress.phase, record.progress.counters, record.progress.outputRefs], ['second-run', 'working', { files: 2 }, ['build-log']]);
	assert.deepEqual(record.relationships.map((e) => [e.kind, e.targetId]), [['source_task', source.taskId]]);
	await refused(w.rt, 'not_retryable', 'retry_task', { taskId, retryReason: 'x' });
});

test('TK-12 a retry policy is obeyed: the second attempt after its pause, and no third', async () => {
	const { taskId, runId } = await started({ constraints: { retryPolicy: { maxAttempts: 2, backoffMs: 400, nonRetryable: ['syntax'] } } });
	const at = Date.now();
	await run('fail_task', { taskId, runId, error: { category: 'network', message: 'down' }, retryable: true });
	assert.equal((await get(taskId)).status, 'retrying');
	const record = await waitFor(async () => { const t = await get(taskId); return t.attempts.length === 2 && t; }, 'the second attempt');
	assert.ok(Date.now() - at >= 390, 'not before its pause is over');
	assert.deepEqual(record.attempts.map((a) => a.trigger), ['start', 'retry']);
	await run('fail_task', { taskId, error: { category: 'network', message: 'down' }, retryable: true });
	assert.equal((await get(taskId)).status, 'failed');
	await refused(w.rt, 'retry_exhausted', 'retry_task', { taskId, retryReason: 'once more' });
	const never = await started({ constraints: { retryPolicy: { maxAttempts: 5, backoffMs: 1, nonRetryable: ['syntax'] } } });
	await run('fail_task', { taskId: never.taskId, error: { category: 'syntax', message: 'no' }, retryable: true });
	assert.equal((await get(never.taskId)).status, 'failed');
});

test('TK-39 a time constraint and an inactivity constraint end a task as timed_out, which is not failed', async () => {
	const late = await started({ constraints: { timeMs: 200 } });
	const silent = await started({ constraints: { inactivityMs: 200 } });
	for (const [{ taskId }, kind] of [[late, 'time'], [silent, 'inactivity']]) {
		await until(taskId, 'timed_out');
		const [over] = await of(taskId, 'task.timed_out');
		assert.deepEqual([over.payload.limitKind, over.payload.limitMs], [kind, 200]);
		assert.ok(over.payload.elapsedMs >= 200);
		assert.equal((await of(taskId, 'task.failed')).length, 0);
	}
});

test('TK-12 what a policy says about time: a run whose time is over is tried again, and no third', async () => {
	const policy = { maxAttempts: 2, backoffMs: 50, onTimeout: 'retry' };
	const outside = await started({ constraints: { timeMs: 150, retryPolicy: policy } });
	const agent = await create({ objective: '[[hang]]', constraints: { timeMs: 150, retryPolicy: policy } });
	await run('start_task', { taskId: agent.taskId, worker: { kind: 'agent' } });
	for (const { taskId } of [outside, agent]) {
		const over = await until(taskId, 'timed_out');
		assert.deepEqual(over.attempts.map((a) => [a.trigger, a.statusDetail]), [['start', 'timed_out'], ['retry', 'timed_out']]);
		assert.equal((await of(taskId, 'task.timed_out')).length, 1);
		const [first, second] = await of(taskId, 'task.attempt.failed');
		assert.deepEqual([first.payload.nextAttemptPolicy, second.payload.nextAttemptPolicy], ['automatic', 'manual']);
	}
});

test('TK-39 a task that the runtime works on is cut by its time constraint too', async () => {
	const { taskId } = await create({ objective: '[[hang]]', constraints: { timeMs: 200 } });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	await until(taskId, 'timed_out');
	assert.equal((await of(taskId, 'task.timed_out'))[0].payload.limitKind, 'time');
});

// ---- ends ----

test('CP-19 TK-42 ST-13 complete_task refuses while criteria are unmet, names them, and then proves the end', async () => {
	const { taskId } = await started({ acceptance: [{ criterion: 'tests green' }, { criterion: 'docs written' }] });
	const error = await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'tests green', satisfied: true, ref: 'run-1' }] });
	assert.match(error.message, /docs written/);
	assert.doesNotMatch(error.message, /tests green/);
	assert.equal((await get(taskId)).status, 'running');
	const acceptance = [{ criterion: 'tests green', satisfied: true, ref: 'run-1' }, { criterion: 'docs written', satisfied: true, ref: 'doc-1' }];
	assert.equal((await run('complete_task', { taskId, acceptance, artifacts: [{ ref: 'patch-1', versionId: 'v7' }, 'notes'], evidenceRefs: [{ ref: 'ev-1', kind: 'review' }, 'ev-2'] })).status, 'completed');
	const types = (await log()).filter((e) => e.taskId === taskId).map((e) => e.type);
	assert.ok(types.indexOf('artifact.changed') > 0 && types.indexOf('evidence.changed') > types.indexOf('artifact.changed'));
	assert.ok(types.indexOf('task.attempt.completed') > types.indexOf('evidence.changed') && types.at(-1) === 'task.completed');
	const record = await get(taskId);
	assert.deepEqual([record.acceptance, record.artifacts, record.evidenceRefs], [acceptance, [{ ref: 'patch-1' }, { ref: 'notes' }], ['ev-1', 'ev-2']]);
	assert.deepEqual((await of(taskId, 'artifact.changed')).map((e) => [e.artifactId, e.payload.versionId, e.payload.readRef]), [['patch-1', 'v7', 'patch-1']]);
	assert.deepEqual((await of(taskId, 'evidence.changed')).map((e) => [e.evidenceId, e.payload.kind, e.payload.reviewRef, e.payload.packRef]), [['ev-1', 'review', 'ev-1', undefined]]);
	await refused(w.rt, 'invalid_input', 'complete_task', { taskId, acceptance, artifacts: [7] });
	await refused(w.rt, 'already_terminal', 'complete_task', { taskId, acceptance });
});

test('CP-19 CP-20 an end that is said again with the same facts is the recorded one, also after a kill -9; with others it is refused', async () => {
	const done = await started({ acceptance: [{ criterion: 'green' }] });
	const broken = await started();
	const ends = [['complete_task', { taskId: done.taskId, acceptance: [{ criterion: 'green', satisfied: true, ref: 'r "1"' }], artifacts: ['a-1'], evidenceRefs: ['e-1'] }],
		['fail_task', { taskId: broken.taskId, error: { category: 'compile', message: 'no "type"' }, evidenceRefs: ['e-2'] }]];
	const replies = [];
	for (const [command, input] of ends) replies.push(await run(command, input));
	const before = (await log()).length;
	for (let round = 0; round < 2; round++) {
		for (const [i, [command, input]] of ends.entries()) {
			assert.deepEqual(await run(command, input), replies[i], command);
			await refused(w.rt, 'already_terminal', command, { ...input, evidenceRefs: ['another'] });
		}
		if (round === 0) await restart();
	}
	assert.equal((await log()).length, before, 'no second end');
	await refused(w.rt, 'already_terminal', 'fail_task', { taskId: done.taskId, error: { category: 'late', message: 'too late' } });
});

test('CP-19 ST-20 a task with an open part or an open question is not completed', async () => {
	const { taskId } = await started();
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId, acceptance: [] });
	await run('cancel_task', { taskId: child.taskId, reason: 'not wanted' });
	const turn = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, taskId, createPolicy: { thread: 'new' }, options: { tools: [SUM] } });
	const asked = await waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.turnId === turn.turnId), 'the question');
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId, acceptance: [] });
	assert.equal((await get(taskId)).status, 'running');
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	await waitFor(async () => (await get(turn.taskId)).endedAt, 'the end of the turn');
	await run('complete_task', { taskId, acceptance: [] });
	const all = await log();
	for (const end of all.filter((e) => e.type === 'task.completed' && e.taskId === taskId)) {
		const parts = all.filter((e) => e.parentTaskId === taskId && e.type === 'task.created').map((e) => e.taskId);
		for (const part of parts) assert.ok(all.some((e) => e.taskId === part && /^task\.(completed|failed|cancelled|timed_out)$/.test(e.type) && e.sequence < end.sequence), part);
	}
});

test('TK-32 a turn that works for a task waits with its question: named, and left after the answer', async () => {
	const { taskId } = await started();
	const turn = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, taskId, createPolicy: { thread: 'new' }, options: { tools: [SUM] } });
	const asked = await waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.turnId === turn.turnId), 'the question');
	const [waiting] = await of(turn.taskId, 'task.waiting');
	assert.deepEqual([waiting.payload.waitFor, waiting.payload.status, waiting.payload.actionId], ['permission', 'waiting_permission', asked.actionId]);
	assert.equal((await get(turn.taskId)).status, 'waiting_permission');
	assert.equal((await get(turn.taskId)).parentTaskId, taskId);
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	assert.notEqual((await get(turn.taskId)).status, 'waiting_permission');
	await waitFor(async () => (await get(turn.taskId)).endedAt, 'the end');
	await run('cancel_task', { taskId, reason: 'enough' });
});

test('TK-47 AN-24 ST-19 an agent run that ends well is not yet the task: criteria decide', async () => {
	const { taskId } = await create({ objective: '[[say All items are ticked off: done.]]', acceptance: [{ criterion: 'artifact there' }] });
	const { runId, status } = await run('start_task', { taskId, worker: { kind: 'agent' } });
	assert.equal(status, 'preparing');
	const record = await until(taskId, 'waiting_input');
	assert.deepEqual(record.attempts.map((a) => [a.runId, a.statusDetail]), [[runId, 'completed']]);
	assert.equal(record.attempts[0].outputRefs.length, 1);
	assert.equal((await of(taskId, 'task.completed')).length, 0);
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'artifact there', satisfied: false }] });
	await run('complete_task', { taskId, acceptance: [{ criterion: 'artifact there', satisfied: true, ref: 'a-1' }] });
	assert.equal((await get(taskId)).status, 'completed');
});

test('TK-22 work with an objective is a task: done by a turn of the runtime, completed with it', async () => {
	const { taskId } = await create({ objective: '[[say done]]' });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	const record = await until(taskId, 'completed');
	const [turn] = record.relationships.filter((e) => e.kind === 'child');
	const own = await get(turn.targetId);
	assert.deepEqual([own.parentTaskId, own.objective], [taskId, '[[say done]]'], 'the turn has a record too');
	const lost = await create({ objective: '[[http 400]]' });
	await run('start_task', { taskId: lost.taskId, worker: { kind: 'agent' } });
	const failed = await until(lost.taskId, 'failed');
	assert.equal(failed.attempts[0].statusDetail, 'failed');
	assert.ok(failed.lastError.category);
});

test('AN-27 a run that ends well does not complete a task with an open part', async () => {
	const { taskId } = await create({ objective: '[[say done]]' });
	const part = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	await until(taskId, 'waiting_resource');
	const [waiting] = await of(taskId, 'task.waiting');
	assert.deepEqual([waiting.payload.waitFor, (await of(taskId, 'task.completed')).length], ['dependency', 0]);
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId, acceptance: [] });
	await run('start_task', { taskId: part.taskId, worker: WORKER });
	await run('complete_task', { taskId: part.taskId, acceptance: [] });
	assert.equal((await run('complete_task', { taskId, acceptance: [] })).status, 'completed');
});

// ---- cancelling ----

test('CP-17 TK-16 TK-37 TK-38 cancel_task: the intent first, then the parts, the task last; a kill -9 in between changes nothing', async () => {
	const { taskId } = await started();
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	await run('start_task', { taskId: child.taskId, worker: WORKER });
	const turn = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, taskId, createPolicy: { thread: 'new' }, options: { tools: [SUM], mode: 'default' } });
	const asked = await waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.turnId === turn.turnId), 'the question');
	await run('respond_action', { actionId: asked.actionId, decision: 'allow' });
	await waitFor(async () => (await log()).some((e) => e.type === 'tool.started' && e.turnId === turn.turnId && e.payload.runtimeOwner), 'the call');
	const reply = await run('cancel_task', { taskId, reason: 'not wanted' });
	assert.deepEqual(reply.targets.map((t) => t.id).sort(), [child.taskId, turn.taskId].sort());
	await restart();
	await until(taskId, 'cancelled');
	const all = await log();
	const [intent] = all.filter((e) => e.taskId === taskId && e.type === 'task.cancel_requested');
	assert.deepEqual([intent.payload.reason, intent.payload.propagation.children], ['not wanted', true]);
	const end = all.find((e) => e.taskId === taskId && e.type === 'task.cancelled');
	for (const part of [child.taskId, turn.taskId]) {
		const over = all.find((e) => e.taskId === part && e.type === 'task.cancelled');
		assert.ok(over.sequence > intent.sequence && over.sequence < end.sequence, part);
	}
	assert.deepEqual((await get(taskId)).attempts.map((a) => a.statusDetail), ['cancelled']);
	await refused(w.rt, 'already_terminal', 'cancel_task', { taskId, reason: 'x' });
	await refused(w.rt, 'cancelled', 'retry_task', { taskId, retryReason: 'x' });
});

test('TK-15 TK-16 TK-38 a cancelled tree takes nothing new, also after a restart; without propagation the parts go on', async () => {
	const { taskId } = await started();
	const turn = await submit(w.rt, '[[delay 50]][[tokens 60]]', { sessionId, taskId, createPolicy: { thread: 'new' } });
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	const free = await started();
	const kept = await run('create_task', { parentTaskId: free.taskId, objective: 'goes on' });
	assert.equal((await run('cancel_task', { taskId: free.taskId, reason: 'x', propagation: [] })).status, 'cancelled');
	assert.equal((await get(kept.taskId)).status, 'accepted');
	await run('cancel_task', { taskId, reason: 'x' });
	assert.equal((await of(taskId, 'task.cancel_requested')).length, 1);
	await refused(w.rt, 'parent_cancelling', 'create_task', { parentTaskId: taskId, objective: 'late' });
	await refused(w.rt, 'parent_cancelling', 'submit_turn', { sessionId, taskId, text: 'late' });
	await restart();
	await refused(w.rt, 'parent_cancelling', 'create_task', { parentTaskId: taskId, objective: 'late' });
	await until(taskId, 'cancelled');
	assert.equal((await get(child.taskId)).status, 'cancelled');
	const [end] = await of(taskId, 'task.cancelled');
	const [settled] = await of(turn.taskId, 'task.cancelled', 'task.failed', 'task.completed');
	assert.ok(settled.sequence < end.sequence, 'the parent ends after its part');
	const [intent] = await of(taskId, 'task.cancel_requested');
	const begun = (await log()).filter((e) => e.type === 'task.created' && e.parentTaskId === taskId && e.sequence > intent.sequence);
	assert.deepEqual(begun, [], 'nothing new in between');
});

// ---- the graph ----

test('TK-13 TK-14 RM-38 CP-23 CP-24 edges: every kind, with status, times and reason, over a kill -9; removed ones stay in the log', async () => {
	const { taskId } = await create();
	const others = await Promise.all([...Array(5)].map(() => create()));
	const first = await started();
	const targets = { parent: others[0].taskId, child: others[1].taskId, blocks: others[2].taskId, blocked_by: others[3].taskId, source_task: others[4].taskId,
		source_attempt: first.runId, spawned_subagent: 'sub-1', assigned_thread: threadId, produced_artifact: 'art-1', consumed_artifact: 'art-2', evidence: 'ev-1' };
	for (const [kind, targetId] of Object.entries(targets)) {
		const { edge } = await run('link_tasks', { sourceId: taskId, targetId, kind, reason: `because ${kind}` });
		assert.deepEqual([edge.kind, edge.targetId, edge.reason], [kind, targetId, `because ${kind}`]);
		assert.ok(edge.status && edge.createdAt && edge.updatedAt);
		await run('link_tasks', { sourceId: taskId, targetId, kind, reason: `because ${kind}` });
	}
	assert.equal((await of(taskId, 'task.dependency.updated')).length, 11, 'a repeat adds nothing');
	await sleep(5);
	const { edge } = await run('link_tasks', { sourceId: taskId, targetId: 'art-1', kind: 'produced_artifact', status: 'delivered' });
	await restart();
	const { relationships } = await get(taskId);
	const snapshot = await run('get_session', { sessionId });
	validateSnapshot(snapshot);
	const shown = snapshot.tasks.find((t) => t.taskId === taskId).relationships;
	for (const [kind, targetId] of Object.entries(targets)) {
		for (const edges of [relationships, shown]) {
			const { createdAt, updatedAt, status, reason } = edges.find((e) => e.kind === kind && e.targetId === targetId);
			assert.ok(Date.parse(createdAt) && Date.parse(updatedAt) && status, kind);
			if (kind !== 'produced_artifact') assert.equal(reason, `because ${kind}`);
		}
	}
	const [moved] = relationships.filter((e) => e.kind === 'produced_artifact');
	assert.deepEqual([moved.status, moved.createdAt, moved.updatedAt > moved.createdAt], ['delivered', edge.createdAt, true]);
	for (const kind of Object.keys(targets)) assert.ok(snapshot.taskGraph.edges.some((e) => e.sourceId === taskId && e.kind === kind), kind);
	assert.ok((await get(others[2].taskId)).relationships.some((e) => e.kind === 'blocked_by' && e.targetId === taskId), 'the other end sees it');
	const before = (await log()).length;
	await refused(w.rt, 'cycle', 'link_tasks', { sourceId: others[2].taskId, targetId: taskId, kind: 'blocks' });
	await refused(w.rt, 'cycle', 'link_tasks', { sourceId: others[0].taskId, targetId: taskId, kind: 'parent' });
	await refused(w.rt, 'task_not_found', 'link_tasks', { sourceId: `task_${sessionId.slice(5)}_99999`, targetId: taskId, kind: 'blocks' });
	assert.equal((await log()).length, before);
	assert.deepEqual(await run('unlink_tasks', { sourceId: taskId, targetId: 'ev-1', kind: 'evidence' }), { removed: true });
	assert.deepEqual(await run('unlink_tasks', { sourceId: taskId, targetId: 'ev-1', kind: 'evidence' }), { removed: false });
	assert.ok(!(await get(taskId)).relationships.some((e) => e.kind === 'evidence'));
	assert.deepEqual((await of(taskId, 'task.dependency.updated')).filter((e) => e.payload.relationship.kind === 'evidence').map((e) => e.payload.change), ['added', 'removed']);
});

test('TK-28 TK-33 TK-45 ST-02 ST-08 RM-42 a blocker: queued behind it, named, and free when it is completed', async () => {
	const a = await started();
	const b = await create();
	await run('link_tasks', { sourceId: a.taskId, targetId: b.taskId, kind: 'blocks' });
	const [blocked] = await of(b.taskId, 'task.blocked');
	assert.deepEqual(blocked.payload.blockers, [{ kind: 'task', id: a.taskId }]);
	const listed = async () => (await run('get_session', { sessionId })).blockedTasks.find((t) => t.taskId === b.taskId);
	assert.deepEqual((await listed()).blockers, [{ kind: 'task', id: a.taskId }]);
	const reply = await run('start_task', { taskId: b.taskId, worker: WORKER });
	assert.equal(reply.status, 'queued');
	assert.equal((await of(b.taskId, 'task.queued')).at(-1).payload.queueReason, 'dependency');
	assert.equal((await get(b.taskId)).status, 'queued');
	assert.deepEqual((await listed()).status, 'queued');
	assert.equal((await of(b.taskId, 'task.attempt.started')).length, 0);
	await run('complete_task', { taskId: a.taskId, acceptance: [] });
	const free = await until(b.taskId, 'running');
	assert.deepEqual(free.attempts.map((x) => x.runId), [reply.runId]);
	assert.deepEqual((await of(a.taskId, 'task.dependency.updated')).map((e) => [e.payload.change, e.payload.relationship.status]), [['added', 'open'], ['updated', 'satisfied']]);
	assert.equal(await listed(), undefined);
});

test('RM-42 a blocked task names the question that its blocker waits for', async () => {
	const blocker = await started();
	const { taskId } = await create();
	const turn = await submit(w.rt, '[[tool sum {"a":1}]]', { sessionId, taskId: blocker.taskId, createPolicy: { thread: 'new' }, options: { tools: [SUM] } });
	const asked = await waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.turnId === turn.turnId), 'the question');
	await run('link_tasks', { sourceId: taskId, targetId: blocker.taskId, kind: 'blocked_by' });
	const named = [{ kind: 'task', id: blocker.taskId, requiredActionId: asked.actionId }];
	const listed = async () => (await run('get_session', { sessionId })).blockedTasks.find((t) => t.taskId === taskId).blockers;
	assert.deepEqual((await of(taskId, 'task.blocked'))[0].payload.blockers, named);
	assert.deepEqual(await listed(), named);
	await run('respond_action', { actionId: asked.actionId, decision: 'deny' });
	assert.deepEqual(await listed(), [{ kind: 'task', id: blocker.taskId }]);
	await waitFor(async () => (await get(turn.taskId)).endedAt, 'the end of the turn');
	await run('unlink_tasks', { sourceId: taskId, targetId: blocker.taskId, kind: 'blocked_by' });
	await run('complete_task', { taskId: blocker.taskId, acceptance: [] });
});

test('RM-42 the tree and the blockers can be rebuilt from the snapshot alone', async () => {
	const snapshot = await run('get_session', { sessionId });
	validateSnapshot(snapshot);
	const tree = new Map(snapshot.taskGraph.edges.filter((e) => e.kind === 'parent').map((e) => [e.sourceId, e.targetId]));
	for (const e of snapshot.taskGraph.edges.filter((x) => x.kind === 'child')) tree.set(e.targetId, e.sourceId);
	const declared = (await run('list_tasks', { sessionId, limit: 1000, includeArchived: true })).tasks;
	assert.ok([...tree].length > 3);
	for (const t of declared) assert.equal(tree.get(t.taskId), t.parentTaskId, t.taskId);
	const blocked = new Set();
	const over = new Set(declared.filter((t) => /completed|failed|cancelled|timed_out|archived/.test(t.status)).map((t) => t.taskId));
	for (const e of snapshot.taskGraph.edges.filter((x) => x.status !== 'satisfied')) {
		if (e.kind === 'blocks' && !over.has(e.targetId)) blocked.add(e.targetId);
		if (e.kind === 'blocked_by' && !over.has(e.sourceId)) blocked.add(e.sourceId);
	}
	assert.deepEqual(new Set(snapshot.blockedTasks.map((t) => t.taskId)), blocked);
	const late = snapshot.tasks.flatMap((t) => t.attempts).filter((a) => a.statusDetail === 'timed_out');
	assert.ok(late.length > 0 && late.every((a) => a.status === 'failed' && a.lastError.category), 'OPEN-07 RM-37 a timed-out attempt validates and is told apart');
});

test('AC-08 RM-41 ID-05 retry and graph: one task id, two attempts, edges intact, over a kill -9', async () => {
	const parent = await started({ visibility: 'background', title: 'nightly build' });
	const child = await run('create_task', { parentTaskId: parent.taskId, objective: 'part' });
	const dependant = await create();
	await run('link_tasks', { sourceId: dependant.taskId, targetId: parent.taskId, kind: 'blocked_by' });
	await run('cancel_task', { taskId: child.taskId, reason: 'x' });
	await run('fail_task', { taskId: parent.taskId, error: { category: 'x', message: 'y' } });
	await run('retry_task', { taskId: parent.taskId, retryReason: 'again' });
	const before = await get(parent.taskId);
	await restart();
	const after = await get(parent.taskId);
	assert.deepEqual(seen(after), seen(before));
	assert.deepEqual(after.attempts.map((a) => a.statusDetail), ['failed', 'running']);
	assert.deepEqual(after.relationships.map((e) => [e.kind, e.targetId]).sort(), [['blocks', dependant.taskId], ['child', child.taskId]]);
	const compact = (await run('get_session', { sessionId })).tasks.find((t) => t.taskId === parent.taskId);
	assert.equal(compact.title, 'nightly build');
	for (const name of ['relationships', 'progress', 'currentRunId', 'scope', 'owner', 'status']) assert.ok(compact[name] !== undefined, name);
	assert.equal(compact.attempts.length, 2);
	for (const a of compact.attempts) assert.ok(Array.isArray(a.checkpointRefs) && Array.isArray(a.outputRefs));
	assert.deepEqual(new Set((await log()).filter((e) => e.runId && after.attempts.some((a) => a.runId === e.runId)).map((e) => e.taskId)), new Set([parent.taskId]));
});

test('AN-26 background work is there after all clients have gone and a kill -9', async () => {
	const { taskId } = await started({ visibility: 'background', title: 'nightly' });
	await run('append_task_progress', { taskId, phase: 'working', counters: { files: 4 } });
	await restart();
	const listed = (await run('list_tasks', { sessionId, visibility: 'background', limit: 1000 })).tasks.find((t) => t.taskId === taskId);
	assert.deepEqual([listed.status, listed.title, listed.progress.counters], ['running', 'nightly', { files: 4 }]);
});

test('TK-21 a kill -9 after each step of its life: the task is as it was, with attempts and edges', async () => {
	const other = await create();
	const { taskId } = await create();
	await run('link_tasks', { sourceId: taskId, targetId: other.taskId, kind: 'blocks' });
	const child = await run('create_task', { parentTaskId: taskId, objective: 'part' });
	const steps = [['start_task', { worker: WORKER }], ['append_task_progress', { phase: 'working', outputOffset: 7 }], ['pause_task', { reason: 'r' }], ['resume_task', { reason: 'r' }],
		['fail_task', { error: { category: 'c', message: 'm' } }], ['retry_task', { retryReason: 'r' }], ['cancel_task', { taskId: child.taskId, reason: 'r' }],
		['complete_task', { acceptance: [] }], ['archive_task', {}]];
	for (const [command, more] of steps) {
		await run(command, { taskId, ...more });
		const before = [await get(taskId), await get(other.taskId), await get(child.taskId)].map(seen);
		await restart();
		assert.deepEqual([await get(taskId), await get(other.taskId), await get(child.taskId)].map(seen), before, `after ${command}`);
	}
	const record = await get(taskId);
	assert.deepEqual([record.attempts.length, record.relationships.map((e) => e.kind)], [2, ['blocks', 'child']]);
});

test('TK-11 TK-46 every reason for another attempt is recorded with a run of its own', async () => {
	const { taskId, runId } = await started();
	const fail = () => run('fail_task', { taskId, error: { category: 'c', message: 'm' } });
	await fail();
	await run('retry_task', { taskId, retryReason: 'again' });
	await fail();
	await run('retry_task', { taskId, retryReason: 'somebody else', worker: { kind: 'worker', id: 'w-5' } });
	await fail();
	await run('retry_task', { taskId, retryReason: 'another model', routing: { model: 'default' }, worker: { kind: 'worker', id: 'w-5' } });
	const agent = await create({ objective: '[[hang]]' });
	await run('start_task', { taskId: agent.taskId, worker: { kind: 'agent' } });
	const { turnId } = (await get(agent.taskId)).attempts[0];
	await run('interrupt_turn', { sessionId, turnId, reason: 'wait' });
	await until(agent.taskId, 'paused');
	await run('update_task', { taskId: agent.taskId, changed: { objective: '[[delay 30]][[tokens 40]]' } });
	await run('resume_task', { taskId: agent.taskId, reason: 'once more' });
	await restart();
	await until(agent.taskId, 'completed');
	const attempts = (await log()).filter((e) => e.type === 'task.attempt.started');
	const triggers = new Set(attempts.map((e) => e.payload.trigger));
	assert.deepEqual([...triggers].sort(), ['alternate_worker', 'reroute', 'rerun', 'resume_after_crash', 'retry', 'start']);
	assert.equal(new Set(attempts.map((e) => e.runId)).size, attempts.length);
	assert.deepEqual((await get(taskId)).attempts.map((a) => [a.attemptCount, a.trigger]), [[1, 'start'], [2, 'retry'], [3, 'alternate_worker'], [4, 'reroute']]);
	assert.equal((await get(taskId)).attempts[0].runId, runId);
});

test('TK-43 archive_task: out of the list, still read, and only what has ended', async () => {
	const { taskId } = await started();
	const other = await create();
	await run('link_tasks', { sourceId: taskId, targetId: other.taskId, kind: 'source_task' });
	await refused(w.rt, 'not_terminal', 'archive_task', { taskId });
	await run('complete_task', { taskId, acceptance: [] });
	await run('archive_task', { taskId, reason: 'old' });
	await run('archive_task', { taskId, reason: 'old' });
	const [archived, more] = await of(taskId, 'task.archived');
	assert.deepEqual([archived.payload.previousStatus, more], ['completed', undefined]);
	assert.ok(!(await run('list_tasks', { sessionId, limit: 1000 })).tasks.some((t) => t.taskId === taskId));
	assert.ok((await run('list_tasks', { sessionId, limit: 1000, includeArchived: true })).tasks.some((t) => t.taskId === taskId));
	const kept = await get(taskId);
	assert.deepEqual([kept.attempts.length, kept.relationships.map((e) => [e.kind, e.targetId])], [1, [['source_task', other.taskId]]]);
	await refused(w.rt, 'task_archived', 'update_task', { taskId, changed: { title: 'x' } });
});

test('ST-01 ST-17 a task is accepted before it is anything else; drafts wait to be taken over', async () => {
	const plain = await create();
	assert.equal(plain.status, 'accepted');
	assert.equal((await get(plain.taskId)).status, 'accepted');
	const { taskId, status } = await create({ draft: true });
	assert.equal(status, 'draft');
	assert.equal((await get(taskId)).status, 'draft');
	assert.deepEqual(await facts(taskId), ['task.created']);
	await run('start_task', { taskId, worker: WORKER });
	assert.deepEqual(await facts(taskId), ['task.created', 'task.accepted', 'task.attempt.started', 'task.started']);
	const turn = await submit(w.rt, 'hello', { sessionId, createPolicy: { thread: 'new' } });
	assert.equal(turn.status, 'accepted');
	const told = (await log()).filter((e) => e.turnId === turn.turnId);
	assert.equal(told[0].payload.status, 'accepted');
	assert.ok(told.findIndex((e) => e.type === 'thread.updated' && e.payload.statusDetail === 'preparing') > 0);
});

test('ST-02 what waits behind a turn or behind a task says queued: in the reply, in its fact and in the read model', async () => {
	const running = await submit(w.rt, '[[hang]]', { sessionId, createPolicy: { thread: 'new' } });
	const turn = await submit(w.rt, 'next', { sessionId, threadId: running.threadId });
	assert.equal(turn.status, 'queued');
	assert.equal((await log()).find((e) => e.type === 'turn.submitted' && e.turnId === turn.turnId).payload.status, 'queued');
	const { threads: [thread] } = await run('get_thread_read', { sessionId, threadId: running.threadId });
	assert.deepEqual([thread.turns.at(-1).status, thread.queuedTurns[0].turnId], ['queued', turn.turnId]);
	await run('interrupt_turn', { sessionId, turnId: running.turnId, reason: 'enough', queuePolicy: 'clear' });
	const first = await started();
	const { taskId } = await create();
	await run('link_tasks', { sourceId: taskId, targetId: first.taskId, kind: 'blocked_by' });
	assert.equal((await run('start_task', { taskId, worker: WORKER })).status, 'queued');
	assert.equal((await of(taskId, 'task.queued')).length, 1);
	assert.equal((await get(taskId)).status, 'queued');
	await run('unlink_tasks', { sourceId: taskId, targetId: first.taskId, kind: 'blocked_by' });
	await until(taskId, 'running');
});

test('CP-04 CP-03 every task command leaves its fact, once per key', async () => {
	const { taskId } = await create();
	const other = await create();
	const steps = [['update_task', { changed: { title: 'k' } }], ['start_task', { worker: WORKER }], ['append_task_progress', { phase: 'planning', progressKey: 'p' }],
		['pause_task', { reason: 'r' }], ['resume_task', { reason: 'r' }], ['fail_task', { error: { category: 'c', message: 'm' } }], ['retry_task', { retryReason: 'r' }],
		['link_tasks', { sourceId: taskId, targetId: other.taskId, kind: 'blocks' }], ['unlink_tasks', { sourceId: taskId, targetId: other.taskId, kind: 'blocks' }],
		['complete_task', { acceptance: [] }], ['archive_task', { reason: 'r' }], ['create_task', { sessionId, objective: 'another' }], ['cancel_task', { taskId: other.taskId, reason: 'r' }]];
	for (const [command, more] of steps) {
		const input = { ...(more.sourceId || more.sessionId ? {} : { taskId }), ...(more.progressKey || command === 'archive_task' ? {} : { idempotencyKey: `key-${command}` }), ...more };
		const before = (await log()).length;
		const first = await run(command, input);
		const after = (await log()).length;
		assert.ok(after > before, `${command} leaves a fact`);
		assert.deepEqual(await run(command, input), first, command);
		assert.equal((await log()).length, after, `${command} again leaves none`);
	}
});

test('TK-20 PF-10 CP-04 AN-27 every task fact validates, ends come after what they name, and a restart gives the same tasks', async () => {
	const all = await log();
	const types = new Set(all.map((e) => e.type));
	for (const e of all) validateOfficialEvent(e);
	for (const e of all.filter((x) => x.type.startsWith('task.'))) assert.ok(e.taskId && (!e.type.startsWith('task.attempt.') || e.runId), e.type);
	const open = new Map(); // PF-10 while a task has an open attempt, each of its facts names it; afterwards some may name none, and never another's
	for (const e of all.filter((x) => x.type.startsWith('task.'))) {
		if (e.type === 'task.attempt.started') open.set(e.taskId, e.runId);
		if (open.has(e.taskId) && e.type !== 'task.retrying') assert.equal(e.runId, open.get(e.taskId), `${e.type} ${e.sequence}`);
		if (/^task\.attempt\.(completed|failed)$/.test(e.type)) open.delete(e.taskId);
	}
	for (const word of ['created', 'accepted', 'queued', 'started', 'updated', 'progress', 'waiting', 'blocked', 'paused', 'resumed', 'retrying', 'cancel_requested', 'cancelled', 'timed_out',
		'failed', 'completed', 'archived', 'delegated', 'dependency.updated', 'attempt.started', 'attempt.completed', 'attempt.failed']) assert.ok(types.has(`task.${word}`), word);
	for (const end of all.filter((e) => e.type === 'task.completed')) {
		for (const e of all.filter((e) => /^(artifact|evidence)\.changed$/.test(e.type) && e.taskId === end.taskId))
			assert.ok([...end.payload.artifacts, ...end.payload.evidenceRefs].includes(e.artifactId ?? e.evidenceId) && e.sequence < end.sequence, e.type);
		assert.equal(end.payload.reconciled, ['delivered', 'not_applicable'].includes(end.payload.deliveryState.state), 'nothing of them runs');
		const parts = all.filter((e) => e.type === 'task.created' && e.parentTaskId === end.taskId && e.sequence < end.sequence).map((e) => e.taskId);
		for (const part of parts)
			assert.ok(all.some((e) => e.taskId === part && /^task\.(completed|failed|cancelled|timed_out)$/.test(e.type) && e.sequence < end.sequence), `${part} is open at the end of ${end.taskId}`);
	}
	const before = (await run('list_tasks', { sessionId, limit: 1000, includeArchived: true })).tasks.map(seen);
	const card = { ...before.find((t) => t.status === 'accepted'), status: 'completed' }; // what a client makes of it is nobody's truth
	await restart();
	assert.equal((await get(card.taskId)).status, 'accepted');
	assert.deepEqual((await run('list_tasks', { sessionId, limit: 1000, includeArchived: true })).tasks.map(seen), before);
	for (const t of before) assert.deepEqual(seen(await get(t.taskId)), t, t.taskId);
	const { text } = await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId }) });
	assert.deepEqual(JSON.parse(text).sessions.map((x) => [x.status, x.findings]), [['ok', []]], 'the log alone gives what is stored');
});
