// Attempts of a task: each keeps its own error and its own outputs, whatever came after it, over a kill -9.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';

const WORKER = { kind: 'worker', id: 'w-1' };

test('TK-10 TK-48 AN-25 RM-41 two attempts fail and the third succeeds: three attempts, each with its own error and outputs, in the log, get_task and get_session', async () => {
	const w = await world();
	const run = (command, input) => ok(w.rt, command, input);
	const { sessionId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: 'build it', title: 'build' });
	const errors = [{ category: 'compile', message: 'it does not compile' }, { category: 'test', message: 'two tests are red' }];
	await run('start_task', { taskId, worker: WORKER });
	for (const [i, error] of errors.entries()) {
		await run('append_task_progress', { taskId, phase: 'working', outputRefs: [`out-${i}`] });
		await run('fail_task', { taskId, error });
		await run('retry_task', { taskId, retryReason: `after ${error.category}` });
	}
	await run('append_task_progress', { taskId, phase: 'working', outputRefs: ['out-2'] });
	const compact = (await run('get_session', { sessionId })).tasks.find((t) => t.taskId === taskId);
	assert.deepEqual(compact.attempts.map((a) => [a.statusDetail, a.outputRefs]), [['failed', [{ ref: 'out-0' }]], ['failed', [{ ref: 'out-1' }]], ['running', [{ ref: 'out-2' }]]]);
	await run('complete_task', { taskId, acceptance: [] });
	await w.rt.kill9();
	w.rt = await w.again();
	const { attempts } = await run('get_task', { taskId });
	assert.deepEqual(attempts.map((a) => [a.attemptCount, a.statusDetail, a.trigger, a.lastError, a.outputRefs]),
		[[1, 'failed', 'start', errors[0], [{ ref: 'out-0' }]], [2, 'failed', 'retry', errors[1], [{ ref: 'out-1' }]], [3, 'completed', 'retry', undefined, [{ ref: 'out-2' }]]]);
	const log = (await readLog(w.rt, sessionId)).map((f) => f.event);
	const failed = log.filter((e) => e.type === 'task.attempt.failed');
	assert.deepEqual(failed.map(({ runId, payload: p }) => [runId, p.status, p.failureCategory, p.lastError, p.nextAttemptPolicy]),
		errors.map((error, i) => [attempts[i].runId, 'failed', error.category, error, 'manual']));
	for (const [i, { payload }] of failed.entries()) assert.equal(payload.endedAt, attempts[i].endedAt);
	const [completed] = log.filter((e) => e.type === 'task.attempt.completed');
	assert.deepEqual(completed.payload.outputRefs, ['out-2'], 'not what earlier attempts made');
	const snapshot = await run('get_session', { sessionId });
	validateSnapshot(snapshot);
	assert.deepEqual(snapshot.tasks.find((t) => t.taskId === taskId).attempts, attempts);
	await w.rt.stop();
});

test('TK-41 AN-31 a kill -9 with a turn at the model: task.lost names its run, its worker and when it was last heard of; nothing says completed or failed', async () => {
	const w = await world({ config: { 'recovery.auto_resume': false } });
	const turn = await submit(w.rt, '[[hang]]', {});
	await waitFor(() => w.model.log(turn.turnId).length > 0, 'the call');
	await w.rt.kill9();
	w.rt = await w.again();
	const log = async () => (await readLog(w.rt, turn.sessionId)).map((f) => f.event);
	const lost = await waitFor(async () => (await log()).find((e) => e.type === 'task.lost'), 'the loss');
	const [attempt, ...more] = (await log()).filter((e) => e.type === 'task.attempt.started');
	assert.deepEqual([lost.taskId, lost.runId, lost.payload.runId, lost.payload.worker, more], [turn.taskId, attempt.runId, attempt.runId, attempt.payload.worker, []]);
	assert.ok(lost.payload.reason.length > 0 && lost.payload.lastSeenAt >= attempt.timestamp && lost.payload.lastSeenAt < lost.timestamp, JSON.stringify(lost.payload));
	const types = (await log()).filter((e) => e.taskId === turn.taskId).map((e) => e.type);
	for (const type of ['task.completed', 'task.failed', 'task.cancelled', 'turn.completed', 'turn.failed']) assert.equal(types.includes(type), false, type);
	assert.equal((await ok(w.rt, 'get_task', { taskId: turn.taskId })).status, 'lost');
	await ok(w.rt, 'resume_thread', { sessionId: turn.sessionId, threadId: turn.threadId });
	const { endedAt } = await ok(w.rt, 'get_task', { taskId: turn.taskId });
	const { taskSummary } = await ok(w.rt, 'get_session', { sessionId: turn.sessionId });
	assert.deepEqual([endedAt, taskSummary.lost, taskSummary.active], [undefined, 0, 1], 'it goes on');
	await w.rt.stop();
});
