// What task.completed says of an end: refs as they were given, where the result is, and whether all of it is settled.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, refused, world } from '../lib/runtime.mjs';

let w, sessionId;

const run = (command, input) => ok(w.rt, command, input);
const of = async (taskId, ...types) => (await readLog(w.rt, sessionId)).map((f) => f.event).filter((e) => e.taskId === taskId && types.includes(e.type));

async function started(more = {}) {
	const { taskId } = await run('create_task', { sessionId, objective: 'Find the bug', ...more });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w-1' } });
	return { taskId };
}

before(async () => {
	w = await world();
	({ sessionId } = await run('create_session', { title: 'ends' }));
});

test('TK-42 a ref without a version or a kind is quoted, and no version and no kind is made up', async () => {
	const { taskId } = await started();
	await run('complete_task', { taskId, acceptance: [], artifacts: ['a-1', { ref: 'a-2' }], evidenceRefs: ['e-1', { ref: 'e-2', kind: 'rumour' }] });
	assert.deepEqual(await of(taskId, 'artifact.changed', 'evidence.changed'), []);
	const [end] = await of(taskId, 'task.completed');
	assert.deepEqual([end.payload.artifacts, end.payload.evidenceRefs], [['a-1', 'a-2'], ['e-1', 'e-2']]);
});

test('TK-18 TK-42 the result is delivered when a fact shows it: to a parent that waits for it, or when the worker says so', async () => {
	const parent = await started();
	const part = async () => (await started({ parentTaskId: parent.taskId })).taskId;
	const [plain, told, awaited] = [await part(), await part(), await part()];
	await run('link_tasks', { sourceId: parent.taskId, targetId: awaited, kind: 'blocked_by' });
	await run('append_task_progress', { taskId: told, deliveryState: { state: 'queued', to: 'channel' } });
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId: told, acceptance: [] });
	await run('append_task_progress', { taskId: told, deliveryState: { state: 'delivered', to: 'channel' } });
	for (const taskId of [plain, told, awaited]) await run('complete_task', { taskId, acceptance: [] });
	const ends = await Promise.all([plain, told, awaited].map(async (id) => (await of(id, 'task.completed'))[0].payload));
	assert.deepEqual(ends.map((p) => [p.deliveryState, p.reconciled]), [[{ state: 'pending', to: 'parent' }, false], [{ state: 'delivered', to: 'channel' }, true],
		[{ state: 'delivered', to: 'parent' }, true]]);
	const [edge] = (await of(parent.taskId, 'task.dependency.updated')).slice(-1);
	assert.deepEqual([edge.payload.relationship.targetId, edge.payload.relationship.status], [awaited, 'satisfied']);
});
