// A repeat of a write is the same write: by turnId, by sessionId, by idempotencyKey, a thousand at once, and after kill -9.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, realpathSync } from 'node:fs';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen } from '../lib/gate.mjs';
import { call, follow, newFolder, ok, readLog, refused, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { native, start as startWithPeer, STATE, status } from '../peer/delegate.mjs';
import { factsOf } from '../tenant/tenants.mjs';

const MANY = 1000;
let w;

before(async () => {
	w = await world();
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

const count = (log, type) => log.filter((f) => f.type === type).length;
const many = (n, make) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));

test('the header Idempotency-Key is the member idempotencyKey', async () => {
	const post = async (key, input, command = 'create_session') => {
		const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: key ? { 'idempotency-key': key } : {} });
		return { status, body: JSON.parse(text) };
	};
	const first = await post('head-1', {});
	for (const again of [await post('head-1', {}), await post('"head-1"', {}), await post(null, { idempotencyKey: 'head-1' }), await post('head-1', { idempotency_key: 'head-1' })])
		assert.deepEqual(again, first);
	assert.notEqual((await post('head-2', {})).body.sessionId, first.body.sessionId);
	const both = await post('head-1', { idempotencyKey: 'head-3' });
	assert.equal(both.status, 400);
	assert.match(both.body.error.message, /Idempotency-Key header and idempotencyKey of the body differ/);
	assert.equal((await post('head-1', { limit: 1 }, 'list_sessions')).status, 200, 'a read has no use for it');
});

test('CP-08 submit_turn: one turnId is one turn, a thousand times at once and after kill -9', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const input = { sessionId, turnId: 'one-turn', text: '[[tokens 5]] [[delay 20]]' };
	const replies = await many(MANY, () => call(w.rt, 'submit_turn', input));
	assert.deepEqual([...new Set(replies.map((r) => `${r.status} ${r.text}`))], [`202 ${replies[0].text}`]);

	await restart();
	const later = await many(MANY, () => call(w.rt, 'submit_turn', input));
	assert.deepEqual([...new Set(later.map((r) => r.text))], [replies[0].text]);
	const log = await readLog(w.rt, sessionId);
	assert.equal(count(log, 'turn.submitted'), 1);
	assert.equal(count(log, 'turn.started'), 1);
	assert.equal(w.model.count().turns['one-turn'] <= 2, true, 'one call, and one more after the crash');
});

test('CP-08 submit_turn: another body under the same turnId is id_conflict, also after kill -9', async () => {
	const first = await submit(w.rt, 'hello', { turnId: 'taken' });
	const { sessionId } = first;
	for (let round = 0; round < 2; round++) {
		await refused(w.rt, 'id_conflict', 'submit_turn', { createPolicy: {}, text: 'other', turnId: 'taken' });
		await refused(w.rt, 'id_conflict', 'submit_turn', { sessionId, text: 'hello', turnId: 'taken' });
		await refused(w.rt, 'id_conflict', 'submit_turn', { createPolicy: {}, text: 'hello', turnId: 'taken', options: { model: 'x' } });
		assert.deepEqual(await submit(w.rt, 'hello', { turnId: 'taken' }), first);
		await restart();
	}
	assert.equal(count(await readLog(w.rt, sessionId), 'turn.submitted'), 1);
});

test('CP-08 submit_turn: a turnId that fails validation is not taken by it', async () => {
	await refused(w.rt, 'invalid_input', 'submit_turn', { createPolicy: {}, turnId: 'free', input: [{ type: 'text' }] });
	await submit(w.rt, 'hello', { turnId: 'free' });
});

test('CP-08 submit_turn: an id in the form that the runtime mints is refused', async () => {
	const { sessionId, turnId } = await submit(w.rt, 'hello');
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, turnId, text: 'again' });
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, turnId: 'no spaces', text: 'x' }, { loose: true });
});

test('CP-03 submit_turn: one idempotencyKey creates one session with one turn, at once and after kill -9', async () => {
	const input = { createPolicy: { title: 'keyed' }, text: 'hello', idempotencyKey: 'key-1' };
	const before = (await ok(w.rt, 'list_sessions', { limit: 200 })).sessions.length;
	const replies = await many(200, () => call(w.rt, 'submit_turn', input));
	assert.equal(new Set(replies.map((r) => r.text)).size, 1);
	await restart();
	assert.equal((await call(w.rt, 'submit_turn', input)).text, replies[0].text);
	await refused(w.rt, 'id_conflict', 'submit_turn', { ...input, text: 'other' });
	assert.equal((await ok(w.rt, 'list_sessions', { limit: 200 })).sessions.length, before + 1);
	assert.equal(count(await readLog(w.rt, replies[0].body.sessionId), 'turn.submitted'), 1);
});

test('CP-03 submit_turn: in a known session too, and the key is kept with the fact', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const input = { sessionId, text: 'hello', idempotencyKey: 'key-2' };
	const replies = await many(200, () => call(w.rt, 'submit_turn', input));
	assert.equal(new Set(replies.map((r) => r.text)).size, 1);
	const [submitted, ...others] = (await readLog(w.rt, sessionId)).filter((f) => f.type === 'turn.submitted');
	assert.equal(submitted.event.payload.idempotencyKey, 'key-2');
	assert.deepEqual(others, []);
});

test('OPEN-57 create_session: one key is one session, another body conflicts, both over kill -9', async () => {
	const input = { title: 'mine', idempotencyKey: 'key-3' };
	const replies = await many(200, () => call(w.rt, 'create_session', input));
	assert.equal(new Set(replies.map((r) => r.text)).size, 1);
	for (let round = 0; round < 2; round++) {
		assert.equal((await call(w.rt, 'create_session', input)).text, replies[0].text);
		await refused(w.rt, 'id_conflict', 'create_session', { ...input, title: 'yours' });
		await restart();
	}
	assert.equal((await readLog(w.rt, replies[0].body.sessionId)).length, 2);
});

test('OPEN-57 create_session: a session id of the caller is taken once', async () => {
	const sessionId = `sess_${'0123456789abcdefghjkmnpqrs'}`;
	const input = { sessionId, title: 'own id' };
	const first = await ok(w.rt, 'create_session', input);
	assert.equal(first.sessionId, sessionId);
	assert.deepEqual(await ok(w.rt, 'create_session', input), first);
	await refused(w.rt, 'id_conflict', 'create_session', { ...input, title: 'other' });
	await restart();
	assert.deepEqual(await ok(w.rt, 'create_session', input), first);
	await refused(w.rt, 'invalid_input', 'create_session', { sessionId: 'sess_short' });
});

test('OPEN-16 OPEN-57 snake_case spelling is the same input: it gets the same receipt', async () => {
	const input = { createPolicy: {}, text: 'hello', turnId: 'spelled', idempotencyKey: 'key-4', busyPolicy: 'queue' };
	const first = await call(w.rt, 'submit_turn', input);
	const second = await call(w.rt, 'submit_turn', input, { snake: true });
	assert.equal(second.text, first.text);
	const reordered = Object.fromEntries(Object.entries(input).reverse());
	assert.equal((await call(w.rt, 'submit_turn', reordered)).text, first.text);
});

test('OPEN-57 the key of one command is no key of another', async () => {
	const { sessionId, threadId } = await submit(w.rt, 'hello', { idempotencyKey: 'shared' });
	await ok(w.rt, 'create_session', { idempotencyKey: 'shared' });
	const interrupt = { sessionId, reason: 'test', idempotencyKey: 'shared' };
	const first = await call(w.rt, 'interrupt_turn', interrupt);
	assert.equal((await call(w.rt, 'interrupt_turn', interrupt)).text, first.text);
	await refused(w.rt, 'id_conflict', 'interrupt_turn', { ...interrupt, reason: 'other' });
	const resume = { sessionId, threadId, idempotencyKey: 'shared' };
	assert.equal((await ok(w.rt, 'resume_thread', resume)).result, 'nothing_to_resume');
});

test('CP-03 every write with a key: a repeat after kill -9 gets the first receipt and adds no fact', async () => {
	const { sessionId, threadId } = await ok(w.rt, 'create_session', {});
	await submit(w.rt, '[[hang]]', { sessionId, turnId: 'holds' });
	for (const turnId of ['q1', 'q2', 'q3']) await submit(w.rt, 'later', { sessionId, turnId });
	const input = [{ type: 'text', text: 'also' }];
	const { threadId: other } = await submit(w.rt, 'hello', { sessionId, turnId: 'stays', createPolicy: { thread: 'new' } });
	await submit(w.rt, 'hello', { sessionId, threadId: other, turnId: 'goes' });
	const reader = await follow(w.rt, sessionId);
	await reader.ended('goes');
	reader.stop();
	const writes = [
		['fork_thread', { sessionId, threadId, idempotencyKey: 'k' }],
		['steer_turn', { sessionId, threadId, turnId: 'holds', input, idempotencyKey: 'k' }],
		['promote_queued_turn', { sessionId, queuedTurnId: 'q3', idempotencyKey: 'k' }],
		['remove_queued_turn', { sessionId, queuedTurnId: 'q1', idempotencyKey: 'k' }],
		['resume_thread', { sessionId, threadId, idempotencyKey: 'k' }],
		['rollback_thread', { sessionId, threadId: other, target: { turnId: 'stays' }, idempotencyKey: 'k' }],
		['interrupt_turn', { sessionId, turnId: 'holds', reason: 'enough', queuePolicy: 'clear', idempotencyKey: 'k' }],
	];
	const replies = [];
	for (const [command, input] of writes) replies.push((await call(w.rt, command, input)).text);
	await restart();
	await ok(w.rt, 'get_session', { sessionId });
	const { asOfSequence } = await ok(w.rt, 'get_session', { sessionId });
	for (const [i, [command, input]] of writes.entries()) {
		assert.equal((await call(w.rt, command, input)).text, replies[i], command);
		await refused(w.rt, 'id_conflict', command, { ...input, ...(input.reason ? { reason: 'new' } : { threadId: `${threadId}x` }) });
	}
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).asOfSequence, asOfSequence);
});

/** Makes writes with a key; `repeat` makes each again, as it was and with another body, before and after a kill -9: the logs stay as they are. */
function recorder(own) {
	const replies = [];
	const write = async (command, given, other) => {
		const input = { idempotencyKey: 'k', ...given };
		const { status, text } = await call(own.rt, command, input);
		assert.ok(status < 300, `${command}: ${text}`);
		replies.push([command, input, other && { ...input, ...other }, text]);
		return JSON.parse(text);
	};
	const repeat = async (ids, settled = () => {}) => {
		const heads = () => Promise.all(ids.map(async (id) => (await factsOf(own.rt, undefined, id.replace(/^[a-z]+_/, 'sess_'))).length));
		for (let round = 0; round < 2; round++) {
			await settled(round);
			const before = await heads();
			for (const [command, input, other, text] of replies) {
				assert.equal((await call(own.rt, command, input)).text, text, command);
				if (other) await refused(own.rt, 'id_conflict', command, other);
			}
			assert.deepEqual(await heads(), before, 'no fact');
			await own.rt.kill9();
			own.rt = await own.again();
		}
		await own.rt.stop();
	};
	return { write, repeat };
}

async function actAndWrite({ rt }, write) {
	const { sessionId, turnId, threadId } = await ask(rt, ['write']);
	const [{ actionId }] = await pending(rt, sessionId);
	await write('respond_action', { actionId, decision: 'allow' }, { decision: 'deny' });
	const [{ toolCallId }] = await seen(rt, sessionId, 'tool.started');
	await write('report_tool_result', { toolCallId, output: 'done' }, { output: 'more' });
	await ended(rt, sessionId, turnId);
	for (let i = 0; i < 2; i++) await ended(rt, sessionId, (await submit(rt, `${i} [[tokens 250]]`, { sessionId })).turnId);
	await write('compact_thread', { sessionId, threadId, reason: 'long' }, { reason: 'longer' });
	await seen(rt, sessionId, 'context.compaction.completed');
	await write('set_policy', { scope: 'session', scopeId: sessionId, policy: { mode: 'plan' } }, { policy: { mode: 'never' } });
	const channel = { transport: 'sse', peerRole: 'client', credential: 'x' }, { channelId } = await ok(rt, 'connect_channel', { sessionId, ...channel });
	await write('post_channel_message', { channelId, messageKind: 'status', text: 'one' }, { text: 'two' });
	await write('evaluate_permission', { sessionId, turnId, act: { toolName: 'look', arguments: {} } }, { act: { toolName: 'drop', arguments: {} } });
	const asked = await ask(rt, ['drop']), [question] = await pending(rt, asked.sessionId);
	await write('resolve_permission', { actionId: question.actionId, decision: 'deny', reason: 'no' }, { reason: 'never' });
	const running = await submit(rt, '[[tool shell {"command":"cat","background":true}]]');
	const [{ processId }] = await seen(rt, running.sessionId, 'process.started');
	await write('write_process_stdin', { processId, input: 'one\n' }, { input: 'two\n' });
	await write('terminate_process', { processId, reason: 'enough' }, { reason: 'too much' });
	await seen(rt, running.sessionId, 'process.terminated');
	return [sessionId, asked.sessionId, running.sessionId];
}

/** The fact of a log, once there is one. */
const told = (rt, id, find, what) => waitFor(async () => (await factsOf(rt, undefined, id.replace(/^[a-z]+_/, 'sess_'))).find(find), what);

/** Files of a session that has a folder for itself. */
async function changeFiles({ rt }, write) {
	const { workspace: { workspaceId } } = await ok(rt, 'create_workspace', {});
	const { sessionId } = await ok(rt, 'create_session', { workspaceId, isolation: 'copy' });
	const run = async (text) => {
		const { turnId } = await submit(rt, `[[tool shell {"command":"echo ${text} > ${text}"}]]`, { sessionId });
		await ended(rt, sessionId, turnId);
		return told(rt, sessionId, (f) => f.type === 'checkpoint.created' && f.turnId === turnId && f.payload.phase === 'end', 'its checkpoint');
	};
	await run('one');
	const { applyId } = await write('apply_workspace', { sessionId, reason: 'one' }, { reason: 'two' });
	await told(rt, sessionId, (f) => f.type === 'workspace.applied' && f.payload.applyId === applyId, 'the end of the merge');
	const { payload: { checkpointId: made } } = await run('two');
	for (const [command, more] of [['discard_workspace', {}], ['restore_checkpoint', { checkpointId: made }]]) {
		const { checkpointId } = await write(command, { sessionId, ...more, reason: 'one' }, { reason: 'two' });
		await told(rt, sessionId, (f) => f.type === 'checkpoint.restored' && f.payload.checkpointId === checkpointId, command);
	}
	return [sessionId, workspaceId];
}

/** Records that have a log of their own, jobs, child agents and evidence. */
async function changeRecords({ rt }, write) {
	const { sessionId, threadId, turnId } = await submit(rt, '[[hang]]');
	const { workspace: { workspaceId } } = await ok(rt, 'create_workspace', {}), { worker: { workerId } } = await ok(rt, 'create_worker', { name: 'w' });
	const { schedule: { scheduleId } } = await ok(rt, 'create_schedule', { name: 's', spec: '@yearly', start: { text: 'x' } });
	await write('update_workspace', { workspaceId, name: 'one' }, { name: 'two' });
	await write('archive_workspace', { workspaceId, reason: 'one' }, { reason: 'two' });
	await write('update_worker', { workerId, name: 'one' }, { name: 'two' });
	await write('remove_worker', { workerId, reason: 'one' }, { reason: 'two' });
	await write('update_schedule', { scheduleId, name: 'one' }, { name: 'two' });
	await write('run_schedule', { scheduleId });
	await told(rt, scheduleId, (f) => f.type === 'schedule.run_changed' && f.payload.run.endedAt, 'the end of the run');
	await write('end_schedule', { scheduleId, reason: 'one' }, { reason: 'two' });
	const { jobId } = await write('create_job', { instruction: 'Say it.', input: 'a', start: false }, { input: 'b' });
	await write('start_job', { jobId });
	await write('cancel_job', { jobId, reason: 'one' }, { reason: 'two' });
	const child = await write('spawn_subagent', { sessionId, threadId, turnId, objective: '[[say one]]' }, { objective: 'two' });
	await seen(rt, sessionId, 'subagent.completed');
	await write('resume_subagent', { subagentId: child.subagentId, input: '[[say again]]' }, { input: '[[say otherwise]]' });
	await seen(rt, sessionId, 'subagent.completed', 2);
	await write('close_subagent', { subagentId: child.subagentId, reason: 'one' }, { reason: 'two' });
	await ok(rt, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
	await ended(rt, sessionId, turnId);
	await write('record_evidence', { sessionId, kind: 'review', source: 'us', note: 'one' }, { note: 'two' });
	await write('export_replay', { turnId, graderInstructions: 'one' }, { graderInstructions: 'two' });
	return [sessionId, workspaceId, workerId, scheduleId];
}

test('CP-03 OPEN-57 answers, results, policy, compaction, channels and processes: the same after kill -9, and another body is a conflict', async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', folder]);
	const own = await world({ config: { 'tools.workspace': folder, permission_rules: [{ name: 'cat', effect: 'allow', tool: 'shell', command: 'cat' }] } });
	const { write, repeat } = recorder(own);
	await repeat(await actAndWrite(own, write));
});

test('CP-03 OPEN-57 workspaces, workers, schedules, jobs, child agents and evidence: the same after kill -9, and another body is a conflict', async () => {
	const own = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	const { write, repeat } = recorder(own);
	await repeat(await changeRecords(own, write));
});

test('CP-03 OPEN-57 files of a workspace merged, thrown away and restored: the same after kill -9, and another body is a conflict', async () => {
	const own = await world({ config: { 'workspaces.dir': realpathSync(newFolder()), 'permission.mode': 'bypass' } });
	const { write, repeat } = recorder(own);
	await repeat(await changeFiles(own, write));
});

/** Two tasks that a peer gets: one that it has done, one that it still has. */
async function handOn(own, write) {
	const { sessionId } = await ok(own.rt, 'create_session', {});
	const tasks = {};
	for (const objective of ['done', 'open']) {
		const { taskId } = await ok(own.rt, 'create_task', { sessionId, objective });
		await write('delegate_task', { taskId, peer: 'far', idempotencyKey: objective }, { peer: 'near' });
		await native(own, taskId, STATE('submitted'));
		tasks[objective] = taskId;
		if (objective === 'open') continue;
		own.peer.end();
		await status(own, taskId, 'completed');
	}
	return { sessionId, ...tasks };
}

/** The call that stands for the open task is the newest one, after that many restarts, and has asked the peer: no more facts come of it. */
const resumed = (own, { sessionId, open }, restarts) => waitFor(async () => {
	const started = await facts(own.rt, sessionId, 'tool.started');
	const { remoteTask } = await ok(own.rt, 'get_task', { taskId: open });
	return started.length === 2 + restarts && remoteTask.toolCallId === started.at(-1).toolCallId;
}, 'the call of the open task');

test('CP-03 OPEN-57 work that a peer does is handed on once: the same after kill -9, and another body is a conflict', async (t) => {
	const own = await startWithPeer(t);
	const { write, repeat } = recorder(own);
	const tasks = await handOn(own, write);
	await repeat([tasks.sessionId], (round) => resumed(own, tasks, round));
	assert.deepEqual(own.peer.messages.map((m) => m.parts[0].text), ['done', 'open'], 'one message for each task');
});

test('OPEN-57 an id of the caller and a key together are refused: either alone makes a repeat safe', async () => {
	await refused(w.rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'x', turnId: 'both', idempotencyKey: 'both' });
});
