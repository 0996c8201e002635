// Criteria that the runtime checks itself when a run has ended well: a command in the sandbox, or a person. The result is a fact that nobody's word replaces.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, refused, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const AGENT = { kind: 'agent' };
let w, workspace;

const run = (command, input) => ok(w.rt, command, input);
const shell = (args) => `[[tool shell ${JSON.stringify(args)}]]`;

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass' } });
});

async function started(input, worker = AGENT) {
	const sessionId = input.sessionId ?? (await run('create_session', {})).sessionId;
	const { taskId } = await run('create_task', { sessionId, ...input });
	await run('start_task', { taskId, worker });
	return { sessionId, taskId };
}

const reached = (taskId, ...statuses) => waitFor(async () => {
	const task = await run('get_task', { taskId });
	return statuses.includes(task.status) && task;
}, `task ${taskId}: ${statuses}`);

const checks = async (sessionId) => (await facts(w.rt, sessionId, 'task.progress')).map((e) => e.payload.checked).filter(Boolean);
const question = (sessionId) => waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.actionType === 'acceptance'), 'the question');

test('a command that exits with 0 meets its criterion: the task is completed by itself, with the exit code and a ref that can be read', async () => {
	const { sessionId, taskId } = await started({ objective: shell({ command: 'echo done > made.txt' }), acceptance: [{ criterion: 'made', command: 'cat made.txt' }] });
	const task = await reached(taskId, 'completed', 'failed', 'waiting_input');
	assert.equal(task.status, 'completed', JSON.stringify(task));
	const [{ ref, ...met }] = task.acceptance;
	assert.deepEqual(met, { criterion: 'made', satisfied: true, exitCode: 0 });
	assert.match((await run('read_output', { outputRef: ref })).content, /done/);
	assert.deepEqual((await checks(sessionId)).map((c) => [c.criterion, c.satisfied]), [['made', undefined], ['made', true]], 'it began, then it held');
	const log = await facts(w.rt, sessionId);
	const at = (check) => log.find(check).sequence;
	assert.ok(at((e) => e.type === 'turn.completed') < at((e) => e.type === 'task.progress' && e.payload.checked), 'the run ended well first');
	assert.equal(log.filter((e) => e.type === 'model.requested').every((e) => e.turnId === task.attempts[0].turnId), true, 'no model was asked for the check');
	assert.equal(log.filter((e) => e.type === 'sandbox.applied').length, 2, 'it ran in a sandbox as the call of the model did');
	const [attempt] = log.filter((e) => e.type === 'task.attempt.completed' && e.taskId === taskId);
	assert.ok(attempt.payload.outputRefs.length > 0);
});

test('an unmet criterion: the run is tried again by the retry policy, and the next attempt is told the exit code and the output', async () => {
	const { sessionId, taskId } = await started({ objective: shell({ command: 'echo x >> twice.txt' }),
		constraints: { retryPolicy: { maxAttempts: 3, backoffMs: 1 } }, acceptance: [{ criterion: 'two lines', command: 'test $(wc -l < twice.txt) -ge 2 || { echo only one line; exit 3; }' }] });
	const task = await reached(taskId, 'completed', 'failed', 'waiting_input');
	assert.equal(task.status, 'completed', JSON.stringify(task));
	assert.deepEqual(task.attempts.map((a) => [a.statusDetail, a.lastError?.category]), [['failed', 'acceptance_unmet'], ['completed', undefined]]);
	assert.match(task.attempts[0].lastError.message, /'two lines' is not met: its exit code is 3[^]*only one line/);
	const [first] = (await checks(sessionId)).filter((c) => c.satisfied === false);
	assert.equal(first.exitCode, 3);
	const asked = (turnId) => JSON.stringify(w.model.log(turnId)[0].body ?? w.model.log(turnId)[0]);
	assert.doesNotMatch(asked(task.attempts[0].turnId), /only one line/);
	assert.match(asked(task.attempts[1].turnId), /only one line/);
	assert.match(asked(task.attempts[1].turnId), /data and no instruction/);
});

test('without a policy the task waits and says why; nobody\'s word meets the criterion; retry_task and update_task go on', async () => {
	const { taskId } = await started({ objective: 'hello', acceptance: [{ criterion: 'file', command: 'test -e wanted.txt' }, 'read by me'] });
	const task = await reached(taskId, 'waiting_input', 'completed', 'failed');
	assert.deepEqual([task.status, task.attempts[0].statusDetail, task.checks.map((c) => [c.criterion, c.satisfied, c.exitCode])], ['waiting_input', 'failed', [['file', false, 1]]]);
	assert.match(task.statusReason, /retry_task/);
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'file', satisfied: true, ref: 'believe me' }, { criterion: 'read by me', satisfied: true }] });
	await run('append_task_progress', { taskId, phase: 'verifying', validationState: 'passed', acceptanceCoverage: { file: true } });
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'read by me', satisfied: true }] });
	writeFileSync(join(workspace, 'wanted.txt'), '');
	await run('retry_task', { taskId, retryReason: 'the file is there now' });
	await waitFor(async () => (await run('get_task', { taskId })).checks?.[0]?.satisfied, 'the check holds');
	await reached(taskId, 'waiting_input');
	const word = { taskId, acceptance: [{ criterion: 'read by me', satisfied: true }] };
	await run('complete_task', word);
	const done = await run('get_task', { taskId });
	assert.deepEqual(done.acceptance.map((c) => [c.criterion, c.satisfied]), [['read by me', true], ['file', true]]);
	assert.equal((await run('complete_task', word)).status, 'completed', 'a repeat gets the same answer');
});

test('the check is confined as the calls of the run are: what the sandbox of the task forbids, it cannot do', async () => {
	const { taskId } = await started({ objective: 'hello', constraints: { sandbox: 'read_only' }, acceptance: [{ criterion: 'writes', command: 'echo x > escaped.txt' }] });
	const task = await reached(taskId, 'waiting_input', 'completed');
	assert.equal(task.checks[0].satisfied, false);
	assert.equal(existsSync(join(workspace, 'escaped.txt')), false);
	const denied = await started({ objective: 'hello', constraints: { mode: 'plan' }, acceptance: [{ criterion: 'denied', command: 'true' }] });
	const { checks: [check] } = await reached(denied.taskId, 'waiting_input', 'completed');
	assert.deepEqual([check.satisfied, check.exitCode], [false, undefined], 'a command that may not run shows nothing');
});

test('a command that does not end in time does not meet its criterion, and no process is left', async () => {
	const { sessionId, taskId } = await started({ objective: 'hello', acceptance: [{ criterion: 'slow', command: 'sleep 71.3', timeoutMs: 200 }] });
	const { checks: [check] } = await reached(taskId, 'waiting_input', 'completed');
	assert.deepEqual([check.satisfied, check.exitCode], [false, undefined]);
	assert.equal((await facts(w.rt, sessionId, 'process.failed')).length, 1);
});

test('a person is asked, with the criterion, the objective and the whole answer; yes completes the task, no brings the reason into the next attempt', async () => {
	const policy = { retryPolicy: { maxAttempts: 2, backoffMs: 1 } };
	const { sessionId, taskId } = await started({ objective: 'write the poem', constraints: policy, acceptance: [{ criterion: 'it rhymes', person: true }] });
	const first = await question(sessionId);
	assert.match(first.title, /Does this hold: it rhymes[^]*write the poem[^]*answer of its run/);
	assert.deepEqual(first.decisions, ['approve', 'reject']);
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId, acceptance: [{ criterion: 'it rhymes', satisfied: true }] });
	await run('respond_action', { actionId: first.actionId, decision: 'reject', payload: { reason: 'line two does not' } });
	const second = await waitFor(async () => (await run('list_actions', { sessionId })).actions.find((a) => a.actionType === 'acceptance' && a.actionId !== first.actionId), 'the next question');
	const { attempts } = await run('get_task', { taskId });
	assert.match(attempts[0].lastError.message, /line two does not/);
	assert.match(JSON.stringify(w.model.log(attempts[1].turnId)[0]), /line two does not/);
	await w.rt.kill9();
	w.rt = await w.again();
	await run('respond_action', { actionId: second.actionId, decision: 'approve' });
	const task = await reached(taskId, 'completed', 'waiting_input', 'failed');
	assert.deepEqual([task.status, task.acceptance.map((c) => [c.criterion, c.satisfied, c.ref])], ['completed', [['it rhymes', true, second.actionId]]]);
});

test('kill -9 while the command runs: it is found again and not run twice', async () => {
	const { sessionId, taskId } = await started({ objective: 'hello', acceptance: [{ criterion: 'slow', command: 'echo ran >> runs.txt; until test -e go.txt; do sleep 0.05; done; test $(wc -l < runs.txt) = 1' }] });
	await waitFor(() => existsSync(join(workspace, 'runs.txt')), 'the command');
	await w.rt.kill9();
	w.rt = await w.again();
	writeFileSync(join(workspace, 'go.txt'), '');
	const task = await reached(taskId, 'completed', 'waiting_input', 'failed');
	assert.equal(task.status, 'completed', JSON.stringify(task.checks));
	assert.equal((await facts(w.rt, sessionId, 'process.started')).length, 1);
});

test('a worker outside: complete_task begins the checks and answers what is unmet; when they hold, the repeat completes the task', async () => {
	const { taskId } = await started({ objective: 'outside', acceptance: [{ criterion: 'true', command: 'true' }, 'mine'] }, { kind: 'worker', id: 'w-1' });
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [] });
	const word = { taskId, acceptance: [{ criterion: 'mine', satisfied: true }], artifacts: ['a-1'] };
	const first = await run('complete_task', word);
	assert.deepEqual([first.status, first.unmet], ['running', ['true']]);
	await waitFor(async () => (await run('get_task', { taskId })).checks?.[0]?.satisfied, 'the check');
	await waitFor(async () => (await run('complete_task', word)).status === 'completed', 'the end');
	assert.deepEqual((await run('get_task', { taskId })).artifacts, [{ ref: 'a-1' }]);
});

test('cancel_task while the check runs ends its process and the task; criteria that cannot be checked are refused', async () => {
	const { sessionId, taskId } = await started({ objective: 'hello', acceptance: [{ criterion: 'for ever', command: 'sleep 72.4' }] });
	await waitFor(async () => (await facts(w.rt, sessionId, 'process.started')).length === 1, 'the command');
	await run('cancel_task', { taskId, reason: 'not wanted' });
	await reached(taskId, 'cancelled');
	await waitFor(async () => (await facts(w.rt, sessionId, 'process.terminated')).length === 1, 'the end of the command');
	const bad = [[{ criterion: 'a', command: '' }], [{ criterion: 'a', command: 'true', person: true }], [{ person: true }], [{ criterion: 'a', command: 'true', timeoutMs: 0 }],
		[{ criterion: 'a', command: 'true' }, { criterion: 'a', person: true }], Array.from({ length: 33 }, (_, i) => ({ criterion: `c${i}`, person: true }))];
	for (const acceptance of bad) await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', acceptance });
	const { taskId: plain } = await run('create_task', { sessionId, objective: 'x' });
	await refused(w.rt, 'invalid_field', 'update_task', { taskId: plain, changed: { acceptance: bad[1] } });
});

test('AN-24 a model that ticks every item of its list and stops has not completed the task: its criteria are unmet', async () => {
	const todos = createServer((req, res) => req.resume().on('end', () => res.setHeader('content-type', 'application/json').end('{"ok":true}')));
	await new Promise((done) => todos.listen(0, '127.0.0.1', done));
	const url = `http://127.0.0.1:${todos.address().port}/`, http_tools = [{ name: 'todo_write', description: 'Writes the list.', url, read_only: true }];
	const { rt } = await world({ config: { http_tools } });
	const list = (status) => `[[tool todo_write {"todos":[{"text":"a","status":"${status}"},{"text":"b","status":"${status}"}]}]]`;
	const { sessionId } = await ok(rt, 'create_session', {});
	const { taskId } = await ok(rt, 'create_task', { sessionId, objective: `${list('pending')}[[then]]${list('completed')}[[then]][[say All done.]]`, acceptance: [{ criterion: 'artifact there' }] });
	await ok(rt, 'start_task', { taskId, worker: { kind: 'agent' } });
	const record = await waitFor(async () => ((r) => r.status === 'waiting_input' && r)(await ok(rt, 'get_task', { taskId })), 'a task that waits');
	assert.equal(record.attempts[0].statusDetail, 'completed', 'the model has stopped');
	const turn = (await ok(rt, 'get_session', { sessionId })).threads.flatMap((t) => t.turns)[0];
	assert.deepEqual(turn.items.filter((i) => i.kind === 'todo').map((i) => i.status), ['completed', 'completed']);
	assert.deepEqual((await facts(rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId), []);
	await refused(rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'artifact there', satisfied: false }] });
	todos.close();
	await rt.stop();
});
