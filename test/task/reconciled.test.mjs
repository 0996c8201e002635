// A task is completed when facts show that all of it is done: nothing that a model or a tool calls success replaces them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts, pending } from '../lib/gate.mjs';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const AGENT = { kind: 'agent' };
const OUTSIDE = { kind: 'worker', id: 'w-1' };
const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
const tool = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, workspace, sessionId;

const run = (command, input) => ok(w.rt, command, input);
const get = (taskId) => run('get_task', { taskId });
const until = (taskId, word) => waitFor(async () => (await get(taskId)).status === word && (await get(taskId)), () => `${taskId} ${word}`);
const ends = async (taskId) => (await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId);

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

async function started(more, worker = AGENT) {
	const { taskId } = await run('create_task', { sessionId, objective: 'hello', ...more });
	await run('start_task', { taskId, worker });
	return taskId;
}

/** While something of it is open it waits, also over a kill -9, and complete_task does not help. */
async function staysOpen(taskId, word, why) {
	const task = await until(taskId, word);
	assert.match(task.statusReason ?? '', why);
	assert.deepEqual(await ends(taskId), []);
	await restart();
	assert.equal((await get(taskId)).status, word);
	assert.deepEqual(await ends(taskId), []);
	return task;
}

const completes = async (taskId) => {
	const task = await until(taskId, 'completed');
	const [end, more] = await ends(taskId);
	assert.deepEqual([end.payload.reconciled, more], [true, undefined]);
	return { task, end };
};

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass' } });
	({ sessionId } = await run('create_session', {}));
});

test('ST-19 the tool is ok and the model stops, but the artifact is missing: neither the turn nor the task is completed, also over a kill -9; with it both are', async () => {
	const acceptance = [{ criterion: 'the report', artifact: 'report.md' }];
	const taskId = await started({ objective: tool('write_file', { path: 'other.md', content: 'x' }), acceptance });
	const task = await staysOpen(taskId, 'waiting_input', /a criterion is not met/);
	const { turnId } = task.attempts[0];
	const log = await facts(w.rt, sessionId);
	assert.ok(log.some((e) => e.type === 'tool.result' && e.turnId === turnId), 'the tool was ok');
	assert.equal(log.filter((e) => e.type === 'turn.completed' && e.turnId === turnId).length, 0);
	const failed = log.find((e) => e.type === 'turn.failed' && e.turnId === turnId);
	assert.deepEqual([failed.payload.status, failed.payload.error.category], ['failed', 'acceptance_unmet']);
	assert.match(failed.payload.error.message, /'report\.md'/);
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [{ criterion: 'the report', satisfied: true, ref: 'trust me' }] });
	await run('update_task', { taskId, changed: { objective: tool('write_file', { path: 'report.md', content: 'found\n' }) } });
	await run('retry_task', { taskId, retryReason: 'the right file' });
	const { end } = await completes(taskId);
	const [change] = (await facts(w.rt, sessionId, 'artifact.changed')).filter((e) => e.payload.readRef && e.turnId !== turnId);
	assert.ok(change.sequence < end.sequence);
	assert.deepEqual(end.payload.acceptance, [{ criterion: 'the report', satisfied: true, ref: change.artifactId }]);
});

test('ST-19 a file that another task made does not meet the criterion, and criteria that say two things are refused', async () => {
	await ended(w.rt, sessionId, (await submit(w.rt, tool('write_file', { path: 'foreign.md', content: 'x' }), { sessionId, createPolicy: { thread: 'new' } })).turnId);
	await until(await started({ acceptance: [{ criterion: 'theirs', artifact: 'foreign.md' }] }), 'waiting_input');
	const bad = [[{ criterion: 'a', artifact: 'x', person: true }], [{ criterion: 'a', artifact: '' }], [{ criterion: 'a', evidence: 'pack', command: 'true' }], [{ evidence: 'pack' }]];
	for (const acceptance of bad) await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', acceptance });
});

test('ST-20 a question, a part, a command, an artifact, evidence and a delivery: while one is open there is no task.completed; it follows when that is closed', async () => {
	// a question
	const asks = await started({ acceptance: [{ criterion: 'it is good', person: true }] });
	await until(asks, 'running');
	await pending(w.rt, sessionId);
	await staysOpen(asks, 'running', /^$/);
	const [{ actionId }] = await pending(w.rt, sessionId);
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId: asks, acceptance: [] });
	await run('respond_action', { actionId, decision: 'approve' });
	await completes(asks);
	// a part
	const { taskId: whole } = await run('create_task', { sessionId, objective: 'hello' });
	const { taskId: part } = await run('create_task', { parentTaskId: whole, objective: 'part' });
	await run('start_task', { taskId: whole, worker: AGENT });
	await staysOpen(whole, 'waiting_resource', /parts of it are open/);
	await run('start_task', { taskId: part, worker: OUTSIDE });
	await run('complete_task', { taskId: part, acceptance: [] });
	await completes(whole);
	// a command that goes on after the turn
	const busy = await started({ objective: tool('shell', { command: 'while [ ! -e stop ]; do sleep 0.05; done', background: true }) });
	await staysOpen(busy, 'waiting_resource', /its command proc_\w+ runs/);
	await refused(w.rt, 'unreconciled', 'complete_task', { taskId: busy, acceptance: [] });
	writeFileSync(join(workspace, 'stop'), '');
	await completes(busy);
	// an artifact, of a worker outside
	const makes = await started({ acceptance: [{ criterion: 'the plan', artifact: 'plan-7' }] }, OUTSIDE);
	await refused(w.rt, 'acceptance_unmet', 'complete_task', { taskId: makes, acceptance: [{ criterion: 'the plan', satisfied: true }], artifacts: ['plan-7'] });
	assert.deepEqual(await ends(makes), []);
	await run('complete_task', { taskId: makes, acceptance: [], artifacts: [{ ref: 'plan-7', versionId: 'v1' }] });
	const { end: made } = await completes(makes);
	assert.deepEqual(made.payload.acceptance, [{ criterion: 'the plan', satisfied: true, ref: 'plan-7' }]);
	// evidence
	const proves = await started({ acceptance: [{ criterion: 'a pack', evidence: 'pack' }] });
	await staysOpen(proves, 'waiting_resource', /evidence about it is missing \(pack\)/);
	await run('export_review', { sessionId, taskId: proves });
	assert.equal((await get(proves)).status, 'waiting_resource', 'another kind is not it');
	const { evidenceId } = await run('export_evidence', { sessionId, taskId: proves });
	const { end: proven } = await completes(proves);
	assert.deepEqual(proven.payload.acceptance, [{ criterion: 'a pack', satisfied: true, ref: evidenceId }]);
	// a delivery
	const { channelId } = await run('connect_channel', { ...PEER, sessionId });
	const tells = await started({ delivery: { kind: 'channel', target: channelId } });
	await staysOpen(tells, 'waiting_resource', /is being delivered to the channel/);
	await run('ack_events', { channelId, sequence: (await get(tells)).deliveryState.sequence });
	await completes(tells);
	// and a part that did not end well is for somebody to decide
	const { taskId: rest } = await run('create_task', { sessionId, objective: 'hello' });
	const { taskId: lame } = await run('create_task', { parentTaskId: rest, objective: 'part' });
	await run('start_task', { taskId: rest, worker: AGENT });
	await until(rest, 'waiting_resource');
	await run('cancel_task', { taskId: lame, reason: 'not wanted' });
	assert.deepEqual([(await get(rest)).status, await ends(rest)], ['waiting_resource', []]);
	await run('complete_task', { taskId: rest, acceptance: [] });
	await completes(rest);
});
