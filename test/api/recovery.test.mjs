// What is said and done about work that a killed process leaves behind, and resume_thread.
// ci: alone any
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, follow, newFolder, ok, readLog, refused, sleep, startAgentd, startModel, storeOf, submit, waitFor, within } from '../lib/runtime.mjs';

let model;

before(async () => {
	model = await startModel();
});

let next = 0;

// A session whose only turn was at the model when its process was killed; restarted with `config`.
async function crashed(config, text, env = {}) {
	const dataDir = newFolder();
	const turnId = `r${next++}`;
	const first = await startAgentd({ dataDir, model, config });
	const { sessionId, threadId } = await submit(first, text, { turnId });
	await waitFor(() => model.log(turnId)[0], 'the model call');
	await first.kill9();
	const again = (more = {}) => startAgentd({ dataDir, model, config, ...more });
	return { sessionId, threadId, turnId, again, rt: await again(env) };
}

const thread = async (rt, sessionId) => (await ok(rt, 'get_session', { sessionId })).threads[0];
const task = async (rt, sessionId) => (await ok(rt, 'get_session', { sessionId })).tasks[0];

test('HI-10 TK-46 TK-48 after kill -9 the lost call is a fact, then the turn goes on as a counted new attempt of the same task', async () => {
	const { sessionId, turnId, rt } = await crashed({}, '[[fail-times 1 hang]] hello');
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	const types = follower.types();
	const from = types.indexOf('history.reconstructed');
	assert.deepEqual(types.slice(from, from + 6), ['history.reconstructed', 'model.failed', 'task.attempt.failed', 'task.retrying',
		'task.attempt.started', 'thread.updated']);
	const [failed] = follower.of('model.failed');
	assert.deepEqual([failed.payload.outcome, failed.payload.error.category], ['interrupted', 'interrupted']);
	assert.equal(follower.of('task.attempt.failed')[0].payload.status, 'lost');
	const [first, second] = follower.of('task.attempt.started');
	assert.equal(first.taskId, second.taskId);
	assert.notEqual(first.runId, second.runId);
	assert.deepEqual([second.payload.attemptCount, second.payload.trigger], [2, 'resume_after_crash']);
	const { payload } = follower.of('history.reconstructed')[0];
	assert.equal(payload.layers.queuedTurns, 'restored');
	assert.equal(payload.degraded, false);
	assert.equal(follower.end(turnId).payload.attempts, 2);
	const { attempts } = await task(rt, sessionId);
	assert.deepEqual(attempts.map((a) => [a.statusDetail, a.runId]), [['lost', first.runId], ['completed', second.runId]]);
	follower.check();
	await rt.stop();
});

test('EV-46 saved pieces of an answer become the failed step\'s outputRef', async () => {
	const dataDir = newFolder();
	const first = await startAgentd({ dataDir, model });
	const { sessionId } = await submit(first, '[[tokens 30000]] [[delay 1]]', { turnId: 'big' });
	const seen = await follow(first, sessionId);
	await seen.until(() => seen.of('model.requested')[0], 'the step');
	const { stepId } = seen.of('model.requested')[0];
	await seen.until(() => seen.text(stepId).length > 12000, 'more than one chunk');
	await first.kill9();
	const rt = await startAgentd({ dataDir, model, config: { 'recovery.auto_resume': false } });
	await seen.resume(rt);
	await seen.until(() => seen.of('model.failed')[0], 'the failed step');
	const { outputRef } = seen.of('model.failed')[0].payload;
	const { content } = await ok(rt, 'read_output', { outputRef, length: 1000000 });
	assert.ok(content.length >= 8192, `${content.length} bytes were kept`);
	assert.ok(seen.text(stepId).startsWith(content), 'what was kept is what was streamed');
	seen.check();
	await rt.stop();
});

test('CP-10 QU-04 QU-07 ST-11 TK-41 AN-31 OPEN-07 resume_thread: without auto_resume the thread is stale and the task lost until asked; two calls start one loop', async () => {
	const config = { 'recovery.auto_resume': false };
	const { sessionId, threadId, turnId, rt } = await crashed(config, '[[fail-times 1 hang]] hello');
	await waitFor(async () => (await thread(rt, sessionId)).status === 'stale', 'a stale thread');
	const stale = await thread(rt, sessionId);
	assert.deepEqual([stale.statusDetail, stale.activeTurnId], ['lost', turnId]);
	assert.equal(stale.diagnostics.findings.find((f) => f.kind === 'lost_worker').turnId, turnId);
	const lost = await task(rt, sessionId);
	assert.deepEqual([lost.status, lost.attempts[0].status, lost.attempts[0].statusDetail], ['lost', 'unknown', 'lost']);
	assert.equal(model.log(turnId).length, 1, 'nothing runs unasked');

	const replies = await Promise.all([1, 2].map(() => ok(rt, 'resume_thread', { sessionId, threadId })));
	assert.deepEqual(replies.map((r) => [r.result, r.activeTurnId]).sort(), [['already_active', turnId], ['resumed', turnId]]);
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	const types = follower.types();
	const at = types.indexOf('history.window.loaded');
	assert.deepEqual(types.slice(at, at + 3), ['history.window.loaded', 'history.reconstructed', 'snapshot.updated']);
	assert.ok(types.indexOf('task.lost') < at);
	const updated = types.indexOf('thread.updated', at);
	assert.ok(updated > at + 2 && types.lastIndexOf('model.requested') > updated, 'recovery is told before the model is asked again');
	assert.equal(follower.of('model.requested').length, 2);
	assert.equal(model.log(turnId).length, 2);
	assert.equal(follower.of('turn.completed').length, 1);
	assert.equal((await ok(rt, 'resume_thread', { sessionId, threadId })).result, 'nothing_to_resume');
	follower.check();
	await rt.stop();
});

test('CP-10 resume_thread: what waits behind a lost turn waits too, over another kill -9', async () => {
	const config = { 'recovery.auto_resume': false };
	const { sessionId, threadId, turnId, rt, again } = await crashed(config, '[[fail-times 1 hang]] hello');
	await waitFor(async () => (await thread(rt, sessionId)).status === 'stale', 'a stale thread');
	const { turnId: later, status } = await submit(rt, 'later', { sessionId, turnId: `${turnId}-later` });
	assert.equal(status, 'queued');
	await rt.kill9();
	const other = await again();
	assert.equal((await thread(other, sessionId)).status, 'stale');
	assert.equal((await ok(other, 'resume_thread', { sessionId, threadId })).result, 'resumed');
	const follower = await follow(other, sessionId);
	await follower.ended(later);
	assert.deepEqual(follower.of('turn.completed').map((e) => e.turnId), [turnId, later]);
	await other.stop();
});

test('CP-09 a lost turn can be interrupted instead', async () => {
	const config = { 'recovery.auto_resume': false };
	const { sessionId, turnId, rt } = await crashed(config, '[[hang]]');
	await waitFor(async () => (await thread(rt, sessionId)).status === 'stale', 'a stale thread');
	assert.equal((await ok(rt, 'interrupt_turn', { sessionId, reason: 'not needed' })).result, 'accepted');
	const follower = await follow(rt, sessionId);
	assert.equal((await follower.ended(turnId)).payload.status, 'cancelled');
	assert.equal((await thread(rt, sessionId)).status, 'idle');
	await rt.stop();
});

test('CP-10 a turn that keeps killing its process is blocked as crash_loop; resume_thread works then', async () => {
	const config = { 'recovery.max_restarts': 2 };
	const { sessionId, threadId, turnId, rt, again } = await crashed(config, '[[fail-times 3 hang]] hello');
	let current = rt;
	for (let restarts = 1; restarts <= 2; restarts++) {
		await waitFor(() => model.log(turnId).length === restarts + 1, `attempt ${restarts + 1}`);
		await current.kill9();
		current = await again();
	}
	await waitFor(async () => (await thread(current, sessionId)).status === 'blocked', 'a blocked thread');
	const blocked = await thread(current, sessionId);
	assert.deepEqual([blocked.statusReason, blocked.activeTurnId, blocked.turns[0].restarts], ['crash_loop', turnId, 2]);
	assert.equal((await task(current, sessionId)).status, 'blocked');
	assert.equal(model.log(turnId).length, 3, 'not tried again');
	assert.deepEqual((await ok(current, 'list_actions', {})).actions.map((a) => a.actionType), ['recovery'], 'a person is asked');
	assert.equal((await ok(current, 'resume_thread', { sessionId, threadId })).result, 'resumed');
	assert.deepEqual((await ok(current, 'list_actions', {})).actions, [], 'and answered so');
	const follower = await follow(current, sessionId);
	await follower.ended(turnId);
	assert.equal(follower.of('task.blocked').length, 1);
	follower.check();
	await current.stop();
});

test('CP-10 resume_thread: unknown session and thread are told apart', async () => {
	const rt = await startAgentd({ model });
	const { sessionId } = await ok(rt, 'create_session', {});
	await refused(rt, 'thread_not_found', 'resume_thread', { sessionId, threadId: 'thread_x' });
	await refused(rt, 'session_not_found', 'resume_thread', { sessionId: `sess_${'0'.repeat(26)}`, threadId: 'thread_x' });
	await rt.stop();
});

test('HI-01 SIGTERM in mid-turn: the next start finds the turn and goes on', async () => {
	const dataDir = newFolder();
	const first = await startAgentd({ dataDir, model });
	const { sessionId, turnId } = await submit(first, '[[fail-times 1 hang]] hello', { turnId: 'sigterm' });
	await waitFor(() => model.log(turnId)[0], 'the model call');
	await first.stop();
	const rt = await startAgentd({ dataDir, model });
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	assert.equal(follower.of('model.failed').length, 1);
	follower.check();
	await rt.stop();
});

test('SIGTERM at any moment under load is a clean end, and loses nothing that was acknowledged', async () => {
	const dataDir = newFolder();
	const acknowledged = new Map();
	for (let round = 0; round < 8; round++) {
		const rt = await startAgentd({ dataDir, model, config: { 'model.backoff_ms': 20, 'recovery.max_restarts': 100 } });
		const before = acknowledged.size;
		const sent = Array.from({ length: 24 }, (_, i) => {
			const turnId = `load-${round}-${i}`;
			const text = ['[[tokens 20]] [[delay 3]]', '[[http 500]]', 'plain', '[[tokens 3000]]'][i % 4];
			return call(rt, 'submit_turn', { createPolicy: {}, turnId, text }).then(({ status, body }) => {
				if (status === 202) acknowledged.set(turnId, body.sessionId);
				if (i % 6 === 0 && status === 202) return call(rt, 'interrupt_turn', { sessionId: body.sessionId, reason: 'x' });
			}).catch((error) => assert.ok(error.code, error));
		});
		// A moment of the load, not of the clock: a slow machine stops at the same places.
		for (let i = 0; i < 10000 && acknowledged.size < before + round * 3; i++) await sleep(1);
		await Promise.all([rt.stop(), ...sent]);
	}
	const rt = await startAgentd({ dataDir, model, config: { 'model.backoff_ms': 20, 'recovery.max_restarts': 100 } });
	assert.ok(acknowledged.size > 50, `${acknowledged.size} were acknowledged`);
	for (const [turnId, sessionId] of acknowledged) {
		const follower = await follow(rt, sessionId);
		await follower.ended(turnId);
		follower.check();
		follower.stop();
	}
	await rt.stop();
});

test('HI-01 kill -9 while a retry is awaited: the turn goes on after the restart', async () => {
	const dataDir = newFolder();
	const first = await startAgentd({ dataDir, model, config: { 'model.backoff_ms': 60000 } });
	const { sessionId, turnId } = await submit(first, '[[fail-times 1 http 500]] hello', { turnId: 'waits' });
	const follower = await follow(first, sessionId);
	await follower.until(() => follower.of('run.status').length > 0, 'retrying');
	await first.kill9();
	const rt = await startAgentd({ dataDir, model });
	await follower.resume(rt);
	await follower.ended(turnId);
	assert.equal(follower.end(turnId).type, 'turn.completed');
	follower.check();
	await rt.stop();
});

test('an empty settings file changes nothing', async () => {
	const rt = await startAgentd({ model, config: {} });
	await rt.stop();
});

const onPostgres = Boolean(process.env.AR_TEST_POSTGRES);

test('a second process on the same data folder is kept out', { skip: onPostgres && 'the file lock is of SQLite' }, async () => {
	const dataDir = newFolder();
	const rt = await startAgentd({ dataDir, model });
	const other = await startAgentd({ dataDir, model, mayDie: true });
	assert.equal((await other.gone).code, 1);
	assert.ok(other.stderr.length > 0);
	await submit(rt, 'still here');
	await rt.stop();
});

test('on PostgreSQL a second process takes the store over, and the first one stops', { skip: !onPostgres && 'no server' }, async () => {
	const dataDir = newFolder();
	const first = await startAgentd({ dataDir, model });
	const refusedOne = await startAgentd({ dataDir, model, env: { AGENTD_SOCKET: 'off' }, mayDie: true });
	assert.match(refusedOne.stderr, /is in use by process/, 'not in the same folder');
	const second = await startAgentd({ model, env: storeOf(dataDir) });
	assert.equal((await within(first.gone, 10000)).code, 1);
	assert.match(first.stderr, /another process runs as node/);
	await submit(second, 'mine now');
	await second.stop();
});

test('ID-01 runtime id: the same after kill -9, another in another data folder', async () => {
	const dataDir = newFolder();
	const idOf = async (rt) => {
		const { sessionId } = await ok(rt, 'create_session', {});
		const ids = new Set((await readLog(rt, sessionId)).map((f) => f.event.runtimeId));
		assert.equal(ids.size, 1);
		assert.equal((await ok(rt, 'get_session', { sessionId })).runtimeId, [...ids][0]);
		return [...ids][0];
	};
	const first = await startAgentd({ dataDir, model });
	const id = await idOf(first);
	await first.kill9();
	const again = await startAgentd({ dataDir, model });
	assert.equal(await idOf(again), id);
	const other = await startAgentd({ model });
	assert.notEqual(await idOf(other), id);
	await again.stop();
	await other.stop();
});

test('AC-05 a busy thread rejects with its policy or queues; after kill -9 the queue is there, takes another order and is resumed', async () => {
	const { sessionId, threadId, turnId, rt, again } = await crashed({ 'recovery.auto_resume': false }, '[[fail-times 1 hang]] hello');
	await waitFor(async () => (await thread(rt, sessionId)).status === 'stale', 'a stale thread');
	const { message } = await refused(rt, 'thread_busy_rejected', 'submit_turn', { sessionId, text: 'x', busyPolicy: 'reject' });
	assert.match(message, /busyPolicy/);
	const ids = ['a', 'b', 'c'].map((name) => `${turnId}-${name}`);
	for (const id of ids) await submit(rt, id, { sessionId, turnId: id });
	await rt.kill9();
	const other = await again();
	const order = async () => (await thread(other, sessionId)).queuedTurns.map((t) => t.queuedTurnId);
	assert.deepEqual(await order(), ids);
	await ok(other, 'promote_queued_turn', { sessionId, queuedTurnId: ids[2] });
	const wanted = [ids[2], ids[0], ids[1]];
	assert.deepEqual(await order(), wanted);
	assert.equal((await ok(other, 'resume_thread', { sessionId, threadId })).result, 'resumed');
	const follower = await follow(other, sessionId);
	await follower.ended(ids[1]);
	assert.deepEqual(follower.of('turn.completed').map((e) => e.turnId), [turnId, ...wanted]);
	follower.check();
	await other.stop();
});
