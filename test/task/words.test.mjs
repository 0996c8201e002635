// The 20 words of tasks, each reached, listed and valid; and who cancelled what.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { facts, seen } from '../lib/gate.mjs';
import { ok, refused, submit, waitFor } from '../lib/runtime.mjs';
import { validateSnapshot } from '../lib/schemas.mjs';
import { driveWords, startWords, WORDS } from './words.mjs';

let world;

before(async () => {
	world = await startWords();
});

test('TK-08 ST-17 RM-36 the 20 words of tasks: a script brings tasks into each, list_tasks has them, and the snapshot is valid', async () => {
	const { w } = world;
	const reached = new Set();
	await driveWords(world, async (word, { sessionId, taskId, isInternal }) => {
		const filter = { sessionId, limit: 1000, includeArchived: true, ...(isInternal && { visibility: 'internal' }) };
		const listed = (await ok(w.rt, 'list_tasks', filter)).tasks.find((t) => t.taskId === taskId);
		assert.equal(listed?.status, word, 'in the list');
		assert.ok((await ok(w.rt, 'list_tasks', { ...filter, status: word })).tasks.some((t) => t.taskId === taskId), `${word} as a filter`);
		const snapshot = await ok(w.rt, 'get_session', { sessionId });
		validateSnapshot(snapshot);
		const shown = snapshot.tasks.find((t) => t.taskId === taskId);
		if (word !== 'archived') assert.equal(shown?.status, word, 'in the snapshot');
		reached.add(word);
	});
	assert.deepEqual([...reached].sort(), [...WORDS].sort());
});

test('RM-36 the members of a task in the snapshot have their types, and a visibility that is none is refused', async () => {
	const { w } = world;
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const visibilities = ['foreground', 'background', 'internal', 'hidden'];
	for (const visibility of visibilities) await ok(w.rt, 'create_task', { sessionId, objective: 'x', visibility, priority: 'high', acceptance: [{ text: 'it works' }] });
	for (const visibility of ['secret', 'unknown']) await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', visibility }, { loose: true });
	const { tasks } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual(tasks.map((t) => t.visibility).sort(), [...visibilities].sort());
	for (const task of tasks) {
		assert.deepEqual([task.priority, task.acceptance.map((c) => typeof c), Array.isArray(task.evidenceRefs)], ['high', ['object'], true]);
		for (const time of [task.createdAt, task.updatedAt]) assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
	}
});

test('ST-15 an interrupt, cancel_task and a schedule that stops its run before the next: each ends cancelled, with who did it', async () => {
	const { w } = world;
	const end = async (sessionId, taskId) => (await waitFor(async () => (await facts(w.rt, sessionId, 'task.cancelled')).find((e) => e.taskId === taskId), 'task.cancelled')).payload;
	const turn = await submit(w.rt, '[[hang]]');
	await ok(w.rt, 'interrupt_turn', { sessionId: turn.sessionId, reason: 'enough' });
	assert.deepEqual(await end(turn.sessionId, turn.taskId), { cancelledBy: 'user', reason: 'enough' });
	const { sessionId } = turn;
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'x' });
	await ok(w.rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	await ok(w.rt, 'cancel_task', { taskId, reason: 'not wanted', requestedBy: { kind: 'user', id: 'ada' } });
	assert.deepEqual(await end(sessionId, taskId), { cancelledBy: 'user', reason: 'not wanted' });
	assert.deepEqual((await facts(w.rt, sessionId, 'task.cancel_requested')).at(-1).payload.requestedBy, { kind: 'user', id: 'ada' });
	const { schedule: { scheduleId } } = await ok(w.rt, 'create_schedule', { name: 'next', spec: '@yearly', overlap: 'cancel', start: { text: '[[hang]]', sessionId } });
	await ok(w.rt, 'run_schedule', { scheduleId });
	const first = await waitFor(async () => (await facts(w.rt, sessionId, 'model.requested')).find((e) => e.turnId !== turn.turnId), 'the first run');
	await ok(w.rt, 'run_schedule', { scheduleId });
	const [failed] = (await seen(w.rt, sessionId, 'turn.failed', 2)).filter((e) => e.turnId === first.turnId);
	assert.equal(failed.payload.status, 'cancelled');
	assert.deepEqual(await end(sessionId, first.taskId), { cancelledBy: 'policy', reason: 'the next run of its schedule is due' });
});
