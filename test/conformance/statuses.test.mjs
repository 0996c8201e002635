// The fine word beside the coarse status of a thread follows the work, word by word.
// ci: first
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen, serve } from '../lib/gate.mjs';
import { bin, newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';

// OPEN-06: what the snapshot schema has for each fine word
const COARSE = { preparing: 'running', running: 'running', streaming: 'running', retrying: 'running', interrupting: 'running', waiting_input: 'blocked', waiting_permission: 'blocked',
	waiting_resource: 'blocked', lost: 'stale', timed_out: 'failed', paused: 'idle' };
let w, folder;

const run = (command, input) => ok(w.rt, command, input);
const thread = async ({ sessionId, threadId }) => (await run('get_thread_read', { sessionId, threadId })).threads[0];

/** Waits for the word; it stays until the test does something. */
async function says(turn, word) {
	let last;
	await waitFor(async () => {
		last = await thread(turn);
		return last.statusDetail === word;
	}, () => `${word}, not ${last.statusDetail}`);
	assert.equal(last.status, COARSE[word], word);
	const { threads } = await run('get_session', { sessionId: turn.sessionId });
	assert.equal(threads.find((t) => t.threadId === turn.threadId).statusDetail, word, 'get_session says the same');
	return last;
}

before(async () => {
	folder = newFolder();
	const hooks = [{ name: 'slow', point: 'user_prompt_submit', command: `grep -q slowly && while [ ! -e ${folder}/go ]; do sleep 0.05; done; echo '{}'`, timeout_ms: 120000 }];
	w = await world({ config: { hooks, 'model.max_attempts': 3, 'model.backoff_ms': 60000, 'recovery.auto_resume': false } });
});

const stop = async (turn) => {
	await run('interrupt_turn', { sessionId: turn.sessionId, reason: 'enough' });
	await ended(w.rt, turn.sessionId, turn.turnId);
	assert.deepEqual([(await thread(turn)).status, (await thread(turn)).statusDetail], ['idle', undefined]);
};

test('ST-03 OPEN-06 preparing while the context is gathered, running when the model is asked, streaming while it answers', async () => {
	const turn = await submit(w.rt, 'slowly [[hang]]');
	await seen(w.rt, turn.sessionId, 'hook.started');
	await says(turn, 'preparing');
	assert.deepEqual(await facts(w.rt, turn.sessionId, 'context.resolved'), []);
	writeFileSync(join(folder, 'go'), '');
	await says(turn, 'running');
	await stop(turn);
	const talking = await submit(w.rt, '[[hang-after 2]] [[tokens 5]]');
	await says(talking, 'streaming');
	await stop(talking);
});

test('ST-09 streaming ends with the answer, and is read anew by everybody who asks meanwhile', async () => {
	const turn = await submit(w.rt, '[[hang-after 2]] [[tokens 5]]');
	for (let i = 0; i < 3; i++) await says(turn, 'streaming');
	await stop(turn);
	const { sessionId, turnId } = await submit(w.rt, 'hello', { sessionId: turn.sessionId });
	await ended(w.rt, sessionId, turnId);
	assert.equal((await thread(turn)).statusDetail, undefined);
});

test('OPEN-06 retrying and waiting_permission: each exact beside its coarse word', async () => {
	const failed = await submit(w.rt, '[[http 500]]');
	await says(failed, 'retrying');
	await stop(failed);
	const asked = await ask(w.rt, ['write']);
	const [open] = await pending(w.rt, asked.sessionId);
	await says(asked, 'waiting_permission');
	await run('respond_action', { actionId: open.actionId, decision: 'allow' });
	await says(asked, 'running');
	await serve(w.rt, asked.sessionId, asked.turnId);
	assert.equal((await thread(asked)).statusDetail, undefined);
});

test('OPEN-06 timed_out and paused: each exact beside its coarse word, also after a kill -9, and gone with its cause', async () => {
	const { sessionId } = await run('create_session', {});
	const { taskId } = await run('create_task', { sessionId, objective: '[[hang]]' });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	const [halted] = await seen(w.rt, sessionId, 'model.requested');
	await run('interrupt_turn', { sessionId, turnId: halted.turnId, reason: 'lunch' });
	await waitFor(async () => (await run('get_task', { taskId })).status === 'paused', 'paused');
	const late = await submit(w.rt, '[[hang]]', { sessionId, createPolicy: { thread: 'new' }, options: { budget: { ms: 200 } } });
	await ended(w.rt, sessionId, late.turnId);
	for (let i = 0; i < 2; i++) {
		await says({ sessionId, threadId: halted.threadId }, 'paused');
		await says(late, 'timed_out');
		if (i > 0) break;
		await w.rt.kill9();
		w.rt = await w.again();
	}
	await run('cancel_task', { taskId, reason: 'enough' });
	await ended(w.rt, sessionId, (await submit(w.rt, 'hello', { sessionId, threadId: late.threadId })).turnId);
	for (const threadId of [halted.threadId, late.threadId]) {
		const { status, statusDetail } = await thread({ sessionId, threadId });
		assert.deepEqual([status, statusDetail], ['idle', undefined]);
	}
});

test('OPEN-06 lost: the thread is stale until it is resumed', async () => {
	const turn = await submit(w.rt, '[[fail-times 1 hang]]');
	await says(turn, 'running');
	await w.rt.kill9();
	w.rt = await w.again();
	await says(turn, 'lost');
	await run('resume_thread', { sessionId: turn.sessionId, threadId: turn.threadId });
	await ended(w.rt, turn.sessionId, turn.turnId);
	assert.equal((await thread(turn)).statusDetail, undefined);
});

test('ST-07 without the key of the only model the task waits for a resource and names it; with the key it goes on', async () => {
	const own = await world({ config: { models: [{ name: 'locked', provider: 'anthropic' }] } });
	const before = w.rt;
	w.rt = own.rt;
	const turn = await submit(w.rt, 'hello');
	await says(turn, 'waiting_resource');
	const [{ payload }] = await facts(w.rt, turn.sessionId, 'task.waiting');
	assert.deepEqual([payload.waitFor, payload.status], ['resource', 'waiting_resource']);
	assert.match(payload.statusReason, /no model has a key \(locked\)/);
	assert.equal((await run('get_task', { taskId: turn.taskId })).status, 'waiting_resource');
	const ctl = spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'run', 'hello'], { encoding: 'utf8', timeout: 60000 });
	assert.equal(ctl.status, 1, 'agentctl does not wait for a key');
	assert.match(ctl.stderr, /the turn is blocked: no_candidate/);
	await w.rt.stop();
	w.rt = await own.again({ config: { models: [{ name: 'locked', provider: 'openai-chat', model: 'wire', base_url: own.model.url }] } });
	await ended(w.rt, turn.sessionId, turn.turnId);
	assert.equal((await thread(turn)).statusDetail, undefined);
	assert.equal((await run('get_task', { taskId: turn.taskId })).status, 'completed', 'the key itself ends the wait');
	await w.rt.stop();
	w.rt = before;
});
