// agentctl task: create with what it waits for and what has to hold, show, and the words that change one task.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, Running } from '../ctl/place.mjs';
import { ok, readLog, waitFor, world } from '../lib/runtime.mjs';

let w, sessionId;
const ctl = (...words) => new Running(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...words], { env: { PATH: process.env.PATH } }).within();
const get = (taskId) => ok(w.rt, 'get_task', { taskId });
const until = (taskId, status) => waitFor(async () => (await get(taskId)).status === status, () => `${taskId} ${status}`);

async function create(...words) {
	const { code, out, err } = await ctl('task', 'create', ...words);
	assert.equal(code, 0, err);
	assert.match(out, /^task_\w+\n$/, 'the id alone');
	return out.trim();
}
async function says(pattern, ...words) {
	const { code, out, err } = await ctl('task', ...words);
	assert.equal(code, 0, err);
	assert.match(out, pattern);
}

before(async () => {
	w = await world();
	({ sessionId } = await ok(w.rt, 'create_session', {}));
});

test('a task that waits for two others begins by itself when they are completed; a repeat with the key is the same one', async () => {
	const [first, second] = [await create('[[hang]]'), await create('wait', '--hold')];
	const words = ['[[say both are done]]', '--session', sessionId, '--title', 'Last', '--after', `${first},${second}`, '--key', 'once'];
	const last = await create(...words);
	assert.equal(await create(...words), last);
	assert.equal((await get(last)).status, 'queued');
	await says(new RegExp(`^task +${last}\ntitle +Last\nobjective +\\[\\[say both[^]*^status +queued$[^]*^waits for +${first} +open\nwaits for +${second} +open$`, 'm'), 'show', last);
	await says(new RegExp(`^before +${last} +open$`, 'm'), 'show', first);
	await says(new RegExp(`^${second}  \\w+\n$`), 'start', second);
	await says(new RegExp(`^${first}  paused\n$`), 'pause', first);
	await says(new RegExp(`^${first}  cancell\\w+\n$`), 'cancel', first, '--reason', 'not needed');
	await until(last, 'blocked');
	await ok(w.rt, 'unlink_tasks', { sourceId: first, targetId: last, kind: 'blocks' });
	await until(second, 'completed');
	await until(last, 'completed');
	await says(/^attempt +completed/m, 'show', last);
	assert.equal((await readLog(w.rt, sessionId)).filter(({ event }) => event.type === 'task.created' && event.taskId === last).length, 1);
	const { reason } = (await readLog(w.rt, sessionId)).find(({ event }) => event.type === 'task.cancel_requested').event.payload;
	assert.equal(reason, 'not needed');
	await says(new RegExp(`^${last}  archived\n$`), 'archive', last);
});

test('what has to hold, how often it is tried and where it goes are the task\'s', async () => {
	const task = await create('[[http 400]]', '--check', 'make test', '--person', 'reads well', '--attempts', '2', '--mode', 'plan', '--deliver', 'file:NOTES.md');
	const record = await get(task);
	assert.deepEqual(record.acceptance, [{ criterion: 'check', command: 'make test' }, { criterion: 'reads well', person: true }]);
	assert.deepEqual([record.constraints.retryPolicy, record.constraints.mode, record.delivery], [{ maxAttempts: 2 }, 'plan', { kind: 'file', target: 'NOTES.md' }]);
	await until(task, 'failed');
	await says(/^status +failed$[^]*^attempt +failed +\S.*\n(?:attempt .*\n)*not met +check\nnot met +reads well$/m, 'show', task);
	await says(new RegExp(`^${task}  attempt \\d+  \\S*\n$`), 'retry', task);
	assert.deepEqual(JSON.parse((await ctl('--json', 'task', 'show', task)).out).acceptance, record.acceptance);
});

test('wait ends with the task, or when its time is over; meanwhile it says what the task waits for', async () => {
	const done = await create('[[first 300]][[say done]]');
	await says(new RegExp(`^${done}  attempt 1  completed\n$`), 'wait', done);
	const failed = await ctl('task', 'wait', await create('[[http 400]]'));
	assert.deepEqual([failed.code, /  failed\n$/.test(failed.out)], [1, true], failed.err);
	const { taskId: asks } = await ok(w.rt, 'create_task', { sessionId, objective: '[[say as told]]', acceptance: ['ci passes'] });
	await ctl('task', 'start', asks);
	await until(asks, 'waiting_input');
	const waits = await ctl('task', 'wait', asks, '--timeout', '1s');
	assert.deepEqual([waits.code, waits.out, /waiting_\w+/.test(waits.err), /has not ended/.test(waits.err)], [124, '', true, true], waits.err);
	assert.equal((await ctl('task', 'wait', asks, '--timeout', 'long')).code, 2);
	const other = new Running(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'task', 'wait', asks], { env: { PATH: process.env.PATH } });
	await other.until((run) => /waiting_/.test(run.err));
	await ctl('task', 'cancel', asks);
	assert.deepEqual([(await other.within()).code, /  cancelled\n$/.test(other.out)], [1, true], other.err);
});

test('a command needs no model', async () => {
	const task = await create('count', '--command', 'echo 1', '--hold');
	await says(/^command +echo 1\nstatus +accepted$/m, 'show', task);
	await ctl('task', 'start', task);
	assert.deepEqual((await get(task)).attempts[0].worker, { kind: 'command' });
});

test('what is refused is said, and wrong words are wrong usage', async () => {
	const refused = await ctl('task', 'show', `${sessionId.replace('sess', 'task')}_999`);
	assert.deepEqual([refused.code, /task_not_found|no task/i.test(refused.err)], [1, true], refused.err);
	for (const words of [['create'], ['show'], ['cancel'], ['draw'], ['create', 'x', '--attempts', 'many']]) assert.equal((await ctl('task', ...words)).code, 2, words.join(' '));
	const loose = await ctl('task', 'create', 'x', '--after', `${sessionId.replace('sess', 'task')}_999`);
	assert.deepEqual([loose.code, /^task_\w+\n$/.test(loose.out)], [1, true], 'its id is known');
	assert.equal((await get(loose.out.trim())).status, 'accepted', 'and it was not started');
});
