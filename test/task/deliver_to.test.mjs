// Results of tasks and jobs that go to a webhook or to a file of the workspace, and what happens when the place is dead, hostile or silent.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, refused, waitFor, world } from '../lib/runtime.mjs';
import { entry, receiver } from '../webhook/receiver.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, top, workspace, config, ci, dead, foreign;

const run = (command, input) => ok(w.rt, command, input);
const restart = async () => {
	await w.rt.kill9();
	w.rt = await w.again();
};

before(async () => {
	top = realpathSync(newFolder());
	workspace = join(top, 'work');
	chmodSync(top, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	[ci, dead, foreign] = [await receiver(), await receiver({ answer: () => 500 }), await receiver()];
	config = {
		'tools.workspace': workspace, 'permission.mode': 'bypass', 'webhook.report_ms': 20,
		webhooks: [entry('ci', ci, { events: ['turn.failed'] }), entry('dead', dead, { events: ['turn.failed'], max_attempts: 2 }), entry('theirs', foreign, { tenant: 'acme', events: ['turn.failed'] })],
	};
	w = await world({ config });
	await waitFor(async () => (await run('list_webhooks', {})).webhooks.every((h) => h.cursor !== undefined), 'the first positions');
});

const results = (to) => to.got.filter((r) => r.event?.type === 'delivery.requested');
const reached = (command, id, ...states) => waitFor(async () => {
	const now = await run(command, id);
	return states.includes(now.deliveryState?.state) && now;
}, () => `${JSON.stringify(id)}: ${states}`);
const delivered = (taskId, ...states) => reached('get_task', { taskId }, ...states);

const end = (taskId) => run('complete_task', { taskId, acceptance: [], completionSummary: 'it was a comma' });

/** A task whose worker says at once that it is complete. */
async function completed(delivery, more = {}, known) {
	const sessionId = known ?? (await run('create_session', {})).sessionId;
	const { taskId } = await run('create_task', { sessionId, objective: 'Find the bug', delivery, ...more });
	await run('start_task', { taskId, worker: { kind: 'worker', id: 'w-1' } });
	await end(taskId);
	return { sessionId, taskId };
}

test('TK-18 a webhook gets the result signed, whatever types it is for, also over a kill -9: at least once, under one id, and delivered is a fact', async () => {
	ci.answer = () => 500;
	const { sessionId, taskId } = await completed({ kind: 'webhook', target: 'ci' });
	const [asked] = await facts(w.rt, sessionId, 'delivery.requested');
	const waits = await run('get_task', { taskId });
	assert.deepEqual([waits.status, waits.deliveryState.state, waits.deliveryState.sequence], ['waiting_resource', 'queued', asked.sequence]);
	await waitFor(() => results(ci).length > 0, 'an attempt');
	await restart();
	assert.equal((await run('get_task', { taskId })).deliveryState.state, 'queued', 'nobody has it yet');
	ci.answer = () => 204;
	await delivered(taskId, 'delivered', 'failed');
	await end(taskId);
	const task = await run('get_task', { taskId });
	assert.deepEqual([task.status, task.deliveryState.state, task.deliveryState.kind, task.deliveryState.to], ['completed', 'delivered', 'webhook', 'ci'], JSON.stringify(task.deliveryState));
	assert.deepEqual([...new Set(results(ci).map((r) => r.id))], [task.deliveryState.deliveryId], 'one id');
	assert.deepEqual(ci.bad, [], 'every request is signed');
	const { event } = results(ci)[0];
	assert.deepEqual(event, asked, 'the event of the log');
	assert.deepEqual([event.taskId, event.payload.status, event.payload.summary], [taskId, 'completed', 'it was a comma']);
	assert.deepEqual([results(dead), results(foreign)], [[], []], 'nobody else gets it');
	assert.equal((await facts(w.rt, sessionId, 'task.progress')).filter((e) => e.payload.deliveryState).length, 2, 'each state once');
	await refused(w.rt, 'not_authorized', 'report_delivery', { to: taskId, sequence: asked.sequence, deliveryId: 'msg_x', state: 'failed' });
});

test('RM-43 a receiver that is down: failed, with why and how often, over a kill -9; sent again it is delivered', async () => {
	const { sessionId, taskId } = await completed({ kind: 'webhook', target: 'dead' });
	const failed = (await delivered(taskId, 'failed')).deliveryState;
	assert.deepEqual([failed.attempts, /500/.test(failed.reason)], [2, true], failed.reason);
	assert.equal((await facts(w.rt, sessionId, 'task.progress')).at(-1).payload.deliveryState.state, 'failed', 'a fact of the task');
	const [given] = await waitFor(async () => {
		const { failures } = (await run('list_webhooks', {})).webhooks.find((h) => h.name === 'dead');
		return failures.length && failures;
	}, 'the failure of the webhook');
	assert.equal(given.deliveryId, failed.deliveryId);
	await restart();
	assert.deepEqual((await run('get_task', { taskId })).deliveryState, failed);
	dead.answer = () => 204;
	await run('redeliver_webhook', { name: 'dead', deliveryId: failed.deliveryId });
	assert.equal((await delivered(taskId, 'delivered')).deliveryState.deliveryId, failed.deliveryId);
	dead.answer = () => 500;
});

test('a webhook that does not exist, that of another tenant, and paths outside of the workspace are refused alike', async () => {
	const { sessionId } = await run('create_session', {});
	const none = await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', delivery: { kind: 'webhook', target: 'nobody' } });
	const theirs = await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', delivery: { kind: 'webhook', target: 'theirs' } });
	assert.equal(JSON.stringify(theirs).replaceAll('theirs', 'nobody'), JSON.stringify(none).replaceAll(none.error?.requestId ?? '-', theirs.error?.requestId ?? '-'));
	for (const target of ['/etc/passwd', '../out.txt', 'a/../../b', 'a/..', ''])
		for (const command of ['create_task', 'create_job']) await refused(w.rt, 'invalid_input', command, { sessionId, objective: 'x', instruction: 'x', input: 'a', delivery: { kind: 'file', target } }, { loose: true });
	await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', delivery: { kind: 'mail', target: 'x' } });
});

test('JB-09 a file of the workspace: exactly the answer of the run, written by a call in the sandbox, also when the daemon is killed in between', async () => {
	const { sessionId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: 'hello', delivery: { kind: 'file', target: 'result.txt' } });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	await waitFor(async () => (await run('get_task', { taskId })).deliveryState?.state === 'queued', 'the beginning');
	await restart();
	const task = await delivered(taskId, 'delivered', 'failed');
	assert.equal(task.deliveryState.state, 'delivered', JSON.stringify(task.deliveryState));
	assert.equal(readFileSync(join(workspace, 'result.txt'), 'utf8'), 'You said: hello');
	const calls = (await facts(w.rt, sessionId, 'tool.started')).map((e) => e.payload.toolName);
	assert.ok(calls.length > 0 && calls.every((name) => name === 'write_file'), `${calls}`);
	const [over] = (await facts(w.rt, sessionId, 'task.completed')).filter((e) => e.taskId === taskId);
	assert.deepEqual([over.payload.deliveryState.state, over.payload.reconciled], ['delivered', true]);
	assert.equal((await facts(w.rt, sessionId, 'model.requested')).length, 1, 'no model is asked to write it');
	// Killed before the call, and after it before its end is recorded: the call is repeated, which changes nothing.
	for (const point of ['engine.before_tool', 'engine.tool_end']) {
		await w.rt.stop();
		w.rt = await w.again({ fault: `${point}:1`, mayDie: true });
		const { taskId: next } = await completed({ kind: 'file', target: 'killed.txt' });
		await waitFor(() => w.rt.isGone, 'the kill');
		w.rt = await w.again();
		assert.equal((await delivered(next, 'delivered', 'failed')).deliveryState.state, 'delivered', point);
		assert.equal(readFileSync(join(workspace, 'killed.txt'), 'utf8'), 'it was a comma', point);
		rmSync(join(workspace, 'killed.txt'));
	}
});

test('a link in the workspace does not lead out of it, and a mode that does not let it write: failed, with why', async () => {
	const outside = join(top, 'outside');
	mkdirSync(outside);
	chmodSync(outside, 0o777);
	writeFileSync(join(outside, 'kept'), 'mine');
	symlinkSync(outside, join(workspace, 'out'));
	symlinkSync(join(outside, 'kept'), join(workspace, 'link.txt'));
	const through = await completed({ kind: 'file', target: 'out/new' });
	const over = await completed({ kind: 'file', target: 'link.txt' });
	const plan = await completed({ kind: 'file', target: 'plan.txt' }, { constraints: { mode: 'plan' } });
	const states = await Promise.all([through, over, plan].map(async ({ taskId }) => (await delivered(taskId, 'delivered', 'failed')).deliveryState));
	assert.equal(existsSync(join(outside, 'new')), false, 'nothing was written outside');
	assert.equal(readFileSync(join(outside, 'kept'), 'utf8'), 'mine');
	assert.deepEqual([states[0].state, states[2].state], ['failed', 'failed'], JSON.stringify(states));
	assert.ok(states[0].reason && states[2].reason && states[2].attempts === 1, JSON.stringify(states));
	assert.equal(existsSync(join(workspace, 'plan.txt')), false);
	rmSync(join(workspace, 'out'));
	rmSync(join(workspace, 'link.txt'), { force: true });
});

test('JB-09 a job with overrides and a dead delivery target: origin, overrides, timeout, outputs per run and the failed delivery are back after a kill -9; another that nobody works on ends by inactivity', async () => {
	const made = await run('create_job', { instruction: 'Say it.', input: 'a\nb', options: { mode: 'plan', maxOutputTokens: 500 }, inactivityMs: 600000, maxAttempts: 2, delivery: { kind: 'webhook', target: 'dead' } });
	const id = { jobId: made.jobId };
	const job = await reached('get_job', id, 'failed');
	assert.deepEqual([job.status, job.deliveryState.attempts, job.deliveryState.to, job.inactivityMs, job.options.mode, job.options.maxOutputTokens, job.delivery], ['completed', 2, 'dead', 600000, 'plan', 500, { kind: 'webhook', target: 'dead' }]);
	assert.ok(job.deliveryState.reason && job.submittedBy, JSON.stringify(job));
	const outputs = await Promise.all(job.items.map(async (i) => [i.attemptCount, (await run('read_output', { outputRef: i.outputRef })).content]));
	assert.deepEqual(outputs, [[1, 'You said: Say it.\n\na'], [1, 'You said: Say it.\n\nb']]);
	const { event } = results(dead).find((r) => r.event.jobId === made.jobId);
	assert.deepEqual([event.payload.status, event.payload.counts.completed], ['completed', 2]);
	await restart();
	assert.deepEqual(await run('get_job', id), job, 'the same after kill -9');
	assert.deepEqual((await facts(w.rt, made.sessionId, 'job.delivery')).map((e) => e.payload.deliveryState.state), ['queued', 'failed']);
	const file = await run('create_job', { instruction: 'Say it.', input: 'a', delivery: { kind: 'file', target: 'job.json' } });
	await reached('get_job', { jobId: file.jobId }, 'delivered');
	const written = JSON.parse(readFileSync(join(workspace, 'job.json'), 'utf8'));
	assert.deepEqual([written.jobId, written.status, written.counts.completed], [file.jobId, 'completed', 1]);
	assert.ok(lstatSync(join(workspace, 'job.json')).isFile());
	const silent = await run('create_job', { instruction: 'Say it.', input: '[[hang]]', inactivityMs: 300 });
	const over = await waitFor(async () => {
		const now = await run('get_job', { jobId: silent.jobId });
		return now.status === 'failed' && now;
	}, 'the end of a job in which nothing happens');
	assert.equal(over.error.category, 'inactivity');
});

test('TK-18 RM-43 a channel that is down: pending, then delivered when its peer comes back; one whose peer never does has failed when its time is over, also after a restart', async () => {
	const peer = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
	const { sessionId } = await run('create_session', {});
	const { channelId } = await run('connect_channel', { ...peer, sessionId });
	await restart();
	await waitFor(async () => (await facts(w.rt, sessionId, 'channel.disconnected')).length, 'nobody is there after a crash');
	const begun = async ({ taskId }) => (await facts(w.rt, sessionId, 'task.progress')).find((e) => e.taskId === taskId).payload.deliveryState;
	const found = await completed({ kind: 'channel', target: channelId }, {}, sessionId);
	const { state, sequence } = await begun(found);
	assert.equal(state, 'pending');
	await run('ack_events', { channelId, sequence });
	await delivered(found.taskId, 'delivered');
	await w.rt.kill9();
	w.rt = await w.again({ config: { ...config, 'task.delivery_ms': 1000 } });
	await waitFor(async () => (await facts(w.rt, sessionId, 'channel.disconnected')).length > 0, 'it is down');
	const lost = await completed({ kind: 'channel', target: channelId }, {}, sessionId);
	await restart();
	assert.equal((await delivered(lost.taskId, 'failed')).deliveryState.reason, 'its peer did not acknowledge it in time');
	const late = (await facts(w.rt, sessionId, 'task.progress')).findLast((e) => e.taskId === lost.taskId);
	assert.ok(Date.parse(late.timestamp) >= Date.parse((await begun(lost)).deadline), 'not before its time');
});
