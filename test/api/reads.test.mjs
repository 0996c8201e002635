// The surface: every command and route, what is refused and how, and reads that page through everything exactly once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, realpathSync } from 'node:fs';
import net from 'node:net';
import { before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { call, checkError, follow, newFolder, ok, readLog, refused, request, startAgentd, startModel, submit, world } from '../lib/runtime.mjs';
import { isOfficialType, validateCommandResult, validateSnapshot } from '../lib/schemas.mjs';

const NOBODY = `sess_${'0'.repeat(26)}`;
const BUILT = ['ack_events', 'append_task_progress', 'apply_workspace', 'archive_task', 'archive_workspace', 'assign_job_item', 'cancel_job',
	'cancel_task', 'close_subagent', 'compact_thread', 'complete_task', 'connect_channel', 'count_events', 'create_job', 'create_schedule',
	'create_session', 'create_task', 'create_token', 'create_worker', 'create_workspace', 'delegate_task', 'diff_checkpoints', 'diff_workspace', 'discard_workspace',
	'end_schedule', 'enrol_worker', 'evaluate_permission', 'explain', 'export_evidence', 'export_replay', 'export_review', 'fail_task',
	'find_processes', 'find_tasks', 'fork_thread', 'get_artifact', 'get_execution_environment', 'get_job', 'get_quota', 'get_schedule', 'get_session',
	'get_settings', 'get_task', 'get_thread_read', 'get_tool_inventory', 'get_usage', 'get_worker', 'get_workspace', 'inspect_workspace',
	'interrupt_turn', 'link_peer_task', 'link_tasks', 'list_actions', 'list_artifacts', 'list_audit', 'list_checkpoints', 'list_jobs', 'list_schedules',
	'list_sessions', 'list_subagents', 'list_task_pushes', 'list_tasks', 'list_tokens', 'list_webhooks', 'list_workers', 'list_workspaces', 'pause_task',
	'post_channel_message', 'promote_queued_turn', 'read_events', 'read_output', 'reconnect_channel', 'record_evidence', 'redact_output',
	'redeliver_webhook', 'remove_queued_turn', 'remove_task_push', 'remove_worker', 'report_delivery', 'report_job', 'report_job_item', 'report_peer_task', 'report_tool_result',
	'report_turn', 'report_webhook', 'resolve_permission', 'respond_action', 'restore_checkpoint', 'resume_subagent', 'resume_task', 'resume_thread',
	'retry_job_item', 'retry_task', 'revoke_token', 'rollback_thread', 'rotate_token', 'run_schedule', 'see_action', 'send_subagent_input',
	'set_policy', 'set_task_push', 'spawn_subagent', 'start_job', 'start_task', 'steer_turn', 'submit_turn', 'subscribe_events', 'terminate_process', 'unlink_tasks',
	'update_schedule', 'update_session', 'update_task', 'update_worker', 'update_workspace', 'wait_subagents', 'write_process_stdin'];

// The catalogue is the list of what there is: name, and the path of reads.
const commands = readFileSync(new URL('../../catalog/commands.cat', import.meta.url), 'utf8').split(/^command /m).slice(1).map((text) => ({
	name: /^\d+ (\w+)/.exec(text)[1],
	get: /^ {2}get +(\S+)/m.exec(text)?.[1],
	isBuilt: /^ {2}built +yes/m.test(text),
}));

let model, rt, session;

before(async () => {
	model = await startModel();
	rt = await startAgentd({ model, config: { 'workspaces.dir': realpathSync(newFolder()) } });
	session = await submit(rt, 'hello world', { turnId: 'first' });
	const follower = await follow(rt, session.sessionId);
	await follower.ended('first');
	session.outputRef = follower.end('first').payload.outputRef;
	session.workspaceId = (await ok(rt, 'create_workspace', { name: 'reads' })).workspace.workspaceId;
	session.workerId = (await ok(rt, 'create_worker', { name: 'reads' })).worker.workerId;
	session.scheduleId = (await ok(rt, 'create_schedule', { name: 'reads', spec: '@yearly', start: { text: 'x' } })).schedule.scheduleId;
	follower.stop();
});

const get = async (path, headers) => {
	const { status, text, headers: got } = await request(rt, { method: 'GET', path, headers });
	return { status, body: JSON.parse(text), text, headers: got };
};
const post = async (path, body, headers) => {
	const { status, text, headers: got } = await request(rt, { path, body, headers });
	return { status, body: JSON.parse(text), headers: got };
};

// ---- what is there ----

test('RM-25 a command that is not built says so by name: unavailable, 501, nothing pretended', async () => {
	const unbuilt = commands.filter((c) => !c.isBuilt).map((c) => c.name);
	assert.equal(unbuilt.length, 5);
	for (const name of unbuilt) {
		const { status, body } = await post(`/v1/${name}`, '{}');
		checkError(status, body);
		assert.deepEqual([status, body.error.code, body.error.retryable], [501, 'unavailable', false], name);
		assert.ok(body.error.message.includes(name), body.error.message);
	}
});

test('the built commands are exactly those that answer', () => {
	assert.deepEqual(commands.filter((c) => c.isBuilt).map((c) => c.name).sort(), BUILT);
});

/** One that a task names, in a session of its own. */
async function newArtifact() {
	const { sessionId } = await ok(rt, 'create_session', {});
	const { taskId } = await ok(rt, 'create_task', { sessionId, objective: 'report' });
	const artifactId = `artifact_${sessionId.slice(5)}_report`;
	await ok(rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	await ok(rt, 'complete_task', { taskId, acceptance: [], artifacts: [{ ref: artifactId, versionId: 'v1' }] });
	return artifactId;
}

test('every GET route answers like its POST', async () => {
	const ids = { artifactId: await newArtifact(), sessionId: session.sessionId, threadId: session.threadId, taskId: session.taskId, outputRef: session.outputRef, id: session.taskId, workspaceId: session.workspaceId, workerId: session.workerId, scheduleId: session.scheduleId,
		jobId: (await ok(rt, 'create_job', { instruction: 'x', input: 'a', start: false })).jobId };
	for (const { name, get: route, isBuilt } of commands.filter((c) => c.get && c.name !== 'subscribe_events')) {
		const path = route.replace(/\{(\w+)\}/g, (_, id) => ids[id] ?? 'x');
		const answer = await get(path);
		if (!isBuilt) {
			assert.equal(answer.body.error?.code, 'unavailable', path);
			continue;
		}
		const input = Object.fromEntries([...route.matchAll(/\{(\w+)\}/g)].map(([, id]) => [id, ids[id]]));
		assert.equal(answer.status, 200, path);
		validateCommandResult(name, answer.body);
		assert.equal(answer.text, (await call(rt, name, input)).text, path);
		assert.match(answer.headers['content-type'], /^application\/json/);
	}
});

test('a read that is asked again has the same bytes until something happens, and then others', async () => {
	const { sessionId, threadId, taskId } = await submit(rt, 'again', { turnId: 'again' });
	const follower = await follow(rt, sessionId);
	await follower.ended('again');
	const reads = [['get_session', { sessionId }], ['get_thread_read', { sessionId, threadId }], ['get_task', { taskId }]];
	const readAll = () => Promise.all(reads.map(async ([name, input]) => (await call(rt, name, input)).text));
	const first = await readAll();
	for (let i = 0; i < 4; i++) assert.deepEqual(await readAll(), first);
	for (let turn = 0; turn < 3; turn++) {
		const before = (await readAll()).map((text) => JSON.parse(text).asOfSequence);
		await submit(rt, 'more', { sessionId, turnId: `again-${turn}` });
		await follower.ended(`again-${turn}`);
		for (let i = 0; i < 3; i++) {
			const after = (await readAll()).map((text) => JSON.parse(text));
			after.forEach((document, k) => assert.ok(document.asOfSequence > before[k], reads[k][0]));
			assert.equal(after[0].tasks.length, 2 + turn);
		}
	}
	follower.stop();
});

/** The answers to a request that is sent `count` times on one connection; only the first ones are taken before `meanwhile` is over. */
async function takeLate(path, count, meanwhile) {
	const socket = net.connect(rt.port, '127.0.0.1').setEncoding('utf8');
	socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(count - 1) + `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
	await once(socket, 'readable'); // no more is taken than a buffer of this process holds
	await meanwhile();
	let text = '';
	for await (const part of socket) text += part;
	return text.split(/HTTP\/1\.1 200 .*\r\n(?:.+\r\n)*\r\n/).slice(1);
}

test('an answer that a slow reader has yet to take stays what it was when the session goes on', async () => {
	const { sessionId, threadId } = await submit(rt, 'x'.repeat(3000), { turnId: 'slow' });
	const follower = await follow(rt, sessionId);
	await follower.ended('slow');
	const seen = [];
	const see = async () => {
		const { text } = await call(rt, 'get_thread_read', { sessionId, threadId });
		seen.push(text);
	};
	await see();
	const answers = await takeLate(`/v1/sessions/${sessionId}/threads/${threadId}`, 3000, async () => {
		for (let turn = 0; turn < 3; turn++) {
			await submit(rt, 'more', { sessionId, turnId: `slow-${turn}` });
			await follower.ended(`slow-${turn}`);
			for (let i = 0; i < 3; i++) await see();
		}
	});
	assert.equal(answers.length, 3000);
	assert.ok(answers.some((text) => text === seen[0]), 'the first ones were written before the session went on');
	let last = 0;
	for (const text of new Set(answers)) {
		const { asOfSequence } = JSON.parse(text);
		assert.ok(asOfSequence >= last, 'none comes after one of a later moment');
		last = asOfSequence;
	}
	follower.stop();
});

test('query parameters of a GET are the members of its POST', async () => {
	const byGet = await get(`/v1/sessions/${session.sessionId}?limit=3`);
	const byPost = await call(rt, 'get_session', { sessionId: session.sessionId, limit: 3 });
	assert.equal(byGet.text, byPost.text);
	assert.equal(byGet.body.history.events.length, 3);
	assert.equal((await get(`/v1/sessions/${session.sessionId}?limit=abc`)).body.error.code, 'invalid_input');
	assert.equal((await get(`/v1/sessions/${session.sessionId}?nonsense=1`)).body.error.code, 'invalid_input');
});

test('/health and /ready', async () => {
	assert.deepEqual((await get('/health')).body, { status: 'ok' });
	assert.deepEqual((await get('/ready')).body, { status: 'ready' });
});

// ---- what is refused ----

test('OPEN-54 unknown paths and methods', async () => {
	assert.equal((await get('/v1/nothing')).body.error.code, 'not_found');
	assert.equal((await post('/v1/no_such_command', '{}')).body.error.code, 'not_found');
	const wrong = await get('/v1/submit_turn');
	assert.deepEqual([wrong.status, wrong.body.error.code, wrong.headers.allow], [405, 'method_not_allowed', 'POST']);
});

test('OPEN-54 unknown ids, each with its own code', async () => {
	const { sessionId, threadId } = session;
	await refused(rt, 'session_not_found', 'get_session', { sessionId: NOBODY });
	await refused(rt, 'session_not_found', 'get_session', { sessionId: 'something' });
	await refused(rt, 'session_not_found', 'submit_turn', { sessionId: NOBODY, text: 'x' });
	await refused(rt, 'session_not_found', 'get_thread_read', { sessionId: NOBODY, threadId });
	await refused(rt, 'session_not_found', 'list_tasks', { sessionId: NOBODY });
	await refused(rt, 'thread_not_found', 'get_thread_read', { sessionId, threadId: 'thread_x' });
	await refused(rt, 'thread_not_found', 'submit_turn', { sessionId, threadId: 'thread_x', text: 'x' });
	await refused(rt, 'task_not_found', 'get_task', { taskId: 'task_x' });
	await refused(rt, 'task_not_found', 'get_task', { taskId: session.taskId.replace(/_1$/, '_99') });
	await refused(rt, 'ref_not_found', 'read_output', { outputRef: 'blob_x' });
	await refused(rt, 'ref_not_found', 'read_output', { outputRef: session.outputRef.replace(/_.{26}_/, `_${'~'.repeat(26)}_`) });
	await refused(rt, 'ref_not_found', 'read_output', { outputRef: session.outputRef.replace(/.$/, (c) => (c === '0' ? '1' : '0')) });
	await assert.rejects(follow(rt, NOBODY), { status: 404, message: /session_not_found/ });
});

test('OPEN-54 a body that is no JSON object is invalid_json', async () => {
	const notUtf8 = Buffer.from('{"text":"\xff"}', 'latin1');
	for (const body of ['{', '[]', '"x"', 'null', '{"a":1}{', '{"text":"\\ud800"}', '{"text":"x","text":"y"}', notUtf8])
		assert.equal((await post('/v1/submit_turn', body)).body.error.code, 'invalid_json', String(body));
	assert.equal((await post('/v1/list_sessions', '')).status, 200, 'no body is an empty object');
});

test('OPEN-54 an input that nests deeper than 48 levels is invalid_input, and what does not is there after kill -9', async () => {
	const nested = (levels) => (levels ? { a: nested(levels - 1) } : 1);
	const w = await world();
	const { sessionId } = await ok(w.rt, 'create_session', { metadata: nested(47) });
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'x', metadata: nested(47) });
	for (const levels of [48, 63]) {
		await refused(w.rt, 'invalid_input', 'create_session', { metadata: nested(levels) });
		await refused(w.rt, 'invalid_input', 'create_task', { sessionId, objective: 'x', metadata: nested(levels) });
		await refused(w.rt, 'invalid_input', 'append_task_progress', { taskId, counters: nested(levels) });
	}
	await w.rt.kill9();
	const rt = await w.again();
	assert.deepEqual((await ok(rt, 'get_task', { taskId })).metadata, nested(47));
	await rt.stop();
});

test('OPEN-54 wrong types, unknown members and missing ones are invalid_input and named', async () => {
	const bad = [
		['submit_turn', { createPolicy: {}, text: 5 }, 'text'],
		['submit_turn', { createPolicy: 'yes', text: 'x' }, 'createPolicy'],
		['submit_turn', { createPolicy: {}, text: 'x', busyPolicy: 'sometimes' }, 'busyPolicy'],
		['submit_turn', { createPolicy: {}, text: 'x', unknownThing: 1 }, 'unknownThing'],
		['submit_turn', { createPolicy: {} }, 'text'],
		['submit_turn', { text: 'x' }, 'sessionId'],
		['submit_turn', { createPolicy: {}, input: [] }, 'input'],
		['submit_turn', { createPolicy: {}, input: [{ type: 'image_ref', ref: 'x' }] }, 'image_ref'],
		['get_session', {}, 'sessionId'],
		['get_session', { sessionId: 5 }, 'sessionId'],
		['get_session', { sessionId: session.sessionId, limit: 'all' }, 'limit'],
		['interrupt_turn', { sessionId: session.sessionId, reason: 'x'.repeat(2000) }, 'reason'],
		['interrupt_turn', { sessionId: session.sessionId, reason: 'x', all: 'yes' }, 'all'],
	];
	for (const [command, input, named] of bad) {
		const error = await refused(rt, 'invalid_input', command, input, { loose: true });
		assert.ok(error.message.includes(named), `${named}: ${error.message}`);
	}
});

test('OPEN-16 one member in both spellings: equal values pass, different ones do not', async () => {
	const { sessionId } = session;
	const once = await ok(rt, 'get_session', { sessionId });
	for (const input of [{ session_id: sessionId }, { sessionId, session_id: sessionId }]) assert.deepEqual(await ok(rt, 'get_session', input, { loose: true }), once);
	await refused(rt, 'invalid_input', 'get_session', { sessionId, session_id: NOBODY }, { loose: true });
});

test('OPEN-54 a body over the limit is payload_too_large, one of another type unsupported', async () => {
	const large = await post('/v1/submit_turn', JSON.stringify({ createPolicy: {}, text: 'x'.repeat(1100000) }));
	assert.deepEqual([large.status, large.body.error.code], [413, 'payload_too_large']);
	const typed = await post('/v1/submit_turn', '{}', { 'content-type': 'text/plain' });
	assert.deepEqual([typed.status, typed.body.error.code], [415, 'unsupported_media_type']);
});

test('OPEN-60 what is refused, and reads, leave no fact', async () => {
	const { sessionId } = session;
	const before = (await ok(rt, 'get_session', { sessionId })).asOfSequence;
	await refused(rt, 'thread_not_found', 'submit_turn', { sessionId, threadId: 'thread_x', text: 'x' });
	await Promise.all(Array.from({ length: 1000 }, () => ok(rt, 'get_session', { sessionId })));
	for (const name of ['get_thread_read', 'list_tasks']) await ok(rt, name, { sessionId, threadId: session.threadId });
	assert.equal((await ok(rt, 'get_session', { sessionId })).asOfSequence, before);
	assert.equal((await readLog(rt, sessionId)).length, before);
});

test('OPEN-60 the first older window that a channel reads leaves history.window.loaded; the windows before it and repeats leave nothing, also after kill -9', async () => {
	const w = await world();
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[tokens 40]]');
	await ended(w.rt, sessionId, turnId);
	const connect = async (channelId) => (await ok(w.rt, 'connect_channel', { sessionId, channelId, transport: 'sse', peerRole: 'client', credential: 'x' })).channelId;
	const [one, two, three] = [await connect('one'), await connect('two'), await connect('three')];
	const read = async (cursor, channelId, limit = 3) => (await ok(w.rt, 'get_session', { sessionId, limit, ...(cursor ? { cursor } : {}), ...(channelId ? { channelId } : {}) })).history;
	const windows = async () => (await facts(w.rt, sessionId, 'history.window.loaded')).map((e) => [e.channelId, e.threadId, e.payload.startCursor, e.payload.endCursor, e.payload.count, e.payload.truncated]);
	const first = await read(undefined, one);
	assert.equal(String((await ok(w.rt, 'get_session', { sessionId })).historyCursor.before), String(first.events.at(-1).sequence + 1));
	assert.deepEqual((await read(String(first.events.at(-1).sequence + 1), one)).events, first.events);
	await read(first.cursor);
	assert.deepEqual(await windows(), [], 'the newest window, with a cursor or without, and a read that names no channel');
	const of = (channelId, { events }) => [channelId, threadId, String(events[0].sequence), String(events.at(-1).sequence), events.length, events[0].sequence > 1];
	const older = await read(first.cursor, one);
	const want = [of(one, older)];
	assert.deepEqual(await windows(), want);
	for (let round = 0; round < 2; round++) {
		let sequence = first.events[0].sequence;
		for (let { cursor } = first; cursor;) {
			const page = await read(cursor, one, round + 1);
			assert.equal(page.events.at(-1).sequence, sequence - 1, 'no gap, no overlap');
			({ cursor } = page);
			sequence = page.events[0].sequence;
		}
		assert.equal(sequence, 1, 'down to the first fact');
		assert.deepEqual(await windows(), want, 'what goes on from there, and repeats');
		await w.rt.kill9();
		w.rt = await w.again();
	}
	const again = await read(first.cursor, two);
	want.push(of(two, again));
	assert.deepEqual([again.events, await windows()], [older.events, want], 'another channel is another reader');
	want.push(of(three, await read(older.cursor, three, 500)));
	assert.deepEqual([await windows(), want[2][2], want[2][5]], [want, '1', false], 'up to the first fact');
	await refused(w.rt, 'channel_not_found', 'get_session', { sessionId, limit: 3, cursor: first.cursor, channelId: 'four' });
	await w.rt.stop();
});

// ---- reads ----

test('OPEN-56 get_session right after create_session is valid under the standard\'s snapshot schemas', async () => {
	const { sessionId, threadId } = await ok(rt, 'create_session', { title: 'Fresh', workspaceId: 'w1' });
	const fresh = await ok(rt, 'get_session', { sessionId });
	validateSnapshot(fresh);
	assert.deepEqual(fresh.threads.map((t) => [t.threadId, t.status]), [[threadId, 'idle']]);
	assert.deepEqual([fresh.title, fresh.workspaceId, fresh.tasks.length, fresh.asOfSequence], ['Fresh', 'w1', 0, 2]);
	assert.equal(fresh.taskSummary.active, 0);
	assert.deepEqual([fresh.routingLimitSummary.state, fresh.telemetrySummary.state], ['not_applicable', 'unavailable']);
});

test('RM-31 RM-33 PF-18 PF-19 OPEN-21 get_session is valid under the standard\'s schemas while a turn runs, waits, and has ended', async () => {
	const { sessionId } = await submit(rt, '[[first 300]] hello', { turnId: 'steps' });
	await submit(rt, 'waits', { sessionId, turnId: 'waits' });
	const running = await ok(rt, 'get_session', { sessionId });
	validateSnapshot(running);
	assert.deepEqual([running.status, running.threads[0].status, running.threads[0].activeTurnId], ['running', 'running', 'steps']);
	const follower = await follow(rt, sessionId);
	await follower.ended('waits');
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	const ended = await ok(rt, 'get_session', { sessionId });
	validateSnapshot(ended);
	assert.deepEqual(ended.threads[0].turns.map((t) => [t.turnId, t.status]), [['steps', 'completed'], ['waits', 'completed']]);
	assert.deepEqual([ended.taskSummary.completed, ended.taskSummary.active, ended.taskSummary.terminal], [2, 0, 2]);
	assert.ok(!('activeTurnId' in ended.threads[0]));
	assert.deepEqual([ended.threads[0].lastOutcome.turnId, ended.threads[0].lastOutcome.status], ['waits', 'completed']);
});

test('OPEN-23 get_thread_read is the session limited to one thread, with asOfSequence', async () => {
	const { sessionId, threadId } = session;
	const read = await ok(rt, 'get_thread_read', { sessionId, threadId });
	validateSnapshot(read);
	assert.equal(read.threads.length, 1);
	const whole = await ok(rt, 'get_session', { sessionId });
	assert.deepEqual(read.threads, whole.threads);
	assert.equal(read.asOfSequence, whole.asOfSequence);
});

test('RM-30 history pages back through all events exactly once', async () => {
	const { sessionId } = await submit(rt, 'one');
	for (const text of ['two', 'three']) await submit(rt, text, { sessionId });
	const follower = await follow(rt, sessionId);
	await follower.until(() => follower.of('turn.completed').length === 3, 'three ends');
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	for (const limit of [1, 7, 500]) {
		const seen = [];
		let cursor;
		do {
			const { history } = await ok(rt, 'get_session', { sessionId, limit, ...(cursor ? { cursor } : {}) });
			assert.ok(history.events.length >= 1 && history.events.length <= limit);
			seen.unshift(...history.events.map((e) => JSON.stringify(e)));
			cursor = history.cursor;
		} while (cursor);
		assert.deepEqual(seen, follower.facts.map((f) => f.data), `pages of ${limit}`);
	}
	for (const cursor of ['x', '0', '99999']) await refused(rt, 'invalid_cursor', 'get_session', { sessionId, cursor });
});

test('list_actions without any is an empty page; what it cannot read it refuses', async () => {
	for (const input of [{}, { status: 'all' }, { sessionId: NOBODY }, { accountRef: 'nobody', limit: 1 }, { cursor: '12.action_x' }])
		assert.deepEqual(await ok(rt, 'list_actions', input), { actions: [] });
	for (const cursor of ['x', '12', '.x', '12.', '-1.x', '99999999999999999999.x', '12.a b']) await refused(rt, 'invalid_cursor', 'list_actions', { cursor });
	await refused(rt, 'session_not_found', 'list_actions', { sessionId: 'sess_1' });
	assert.equal((await get('/v1/actions?status=open')).body.error.code, 'invalid_input');
});

test('RM-30 list_sessions pages through all sessions exactly once, newest first; filters hold', async () => {
	const other = await startAgentd({ model, dataDir: newFolder() });
	const made = [];
	for (let i = 0; i < 23; i++)
		made.push((await ok(other, 'create_session', { title: `s${i}`, workspaceId: i % 2 ? 'odd' : 'even' })).sessionId);
	const walk = async (input) => {
		const seen = [];
		let cursor;
		do {
			const page = await ok(other, 'list_sessions', { ...input, ...(cursor ? { cursor } : {}) });
			assert.ok(page.sessions.length <= input.limit);
			seen.push(...page.sessions.map((s) => s.sessionId));
			cursor = page.nextCursor;
		} while (cursor);
		return seen;
	};
	for (const limit of [1, 5, 23, 100]) assert.deepEqual(await walk({ limit }), made.toReversed());
	assert.deepEqual(await walk({ limit: 4, workspace: 'odd' }), made.filter((_, i) => i % 2).reverse());
	const { sessionId } = await submit(other, '[[hang]]');
	assert.deepEqual(await walk({ limit: 5, status: 'running' }), [sessionId]);
	await refused(other, 'invalid_cursor', 'list_sessions', { cursor: 'x' });
	await other.kill9();
	const again = await startAgentd({ model, dataDir: other.dataDir });
	assert.equal((await ok(again, 'list_sessions', { limit: 200 })).sessions.length, 24);
	await again.stop();
});

test('CP-22 get_task: the record of a turn\'s task, the same as in the session', async () => {
	const record = await ok(rt, 'get_task', { taskId: session.taskId });
	assert.deepEqual([record.status, record.turnId, record.objective, record.attempts.length], ['completed', 'first', 'hello world', 1]);
	const [inSession] = (await ok(rt, 'get_session', { sessionId: session.sessionId })).tasks;
	assert.deepEqual(record, inSession);
});

test('CP-21 OPEN-14 OPEN-24 list_tasks: tasks of turns are internal; with that visibility they page exactly once; counts are the log\'s', async () => {
	const { sessionId } = await submit(rt, 'one');
	for (const text of ['two', 'three', '[[http 400]]']) await submit(rt, text, { sessionId });
	const follower = await follow(rt, sessionId);
	await follower.until(() => follower.of('turn.completed').length + follower.of('turn.failed').length === 4, 'four ends');
	assert.deepEqual((await ok(rt, 'list_tasks', { sessionId })).tasks, []);
	const seen = [];
	let cursor;
	do {
		const page = await ok(rt, 'list_tasks', { sessionId, visibility: 'internal', limit: 1, ...(cursor ? { cursor } : {}) });
		seen.push(...page.tasks);
		cursor = page.nextCursor;
		assert.deepEqual(page.taskSummary, { active: 0, waiting: 0, blocked: 0, completed: 3, failed: 1, cancelled: 0, lost: 0, terminal: 4,
			recentTerminal: follower.of('task.created').map((e) => e.taskId) });
	} while (cursor);
	assert.deepEqual(seen.map((t) => t.taskId), follower.of('task.created').map((e) => e.taskId));
	assert.deepEqual(seen.map((t) => t.status), ['completed', 'completed', 'completed', 'failed']);
	const failed = await ok(rt, 'list_tasks', { sessionId, visibility: 'internal', status: 'failed' });
	assert.deepEqual(failed.tasks.map((t) => t.taskId), [seen[3].taskId]);
	await refused(rt, 'invalid_cursor', 'list_tasks', { sessionId, cursor: 'x' });
});

test('read_output: windows of the content, its size, and what is no text as base64', async () => {
	const whole = await ok(rt, 'read_output', { outputRef: session.outputRef });
	assert.deepEqual([whole.content, whole.sizeBytes, whole.encoding, whole.state],
		['You said: hello world', 21, 'utf-8', 'available']);
	const part = await ok(rt, 'read_output', { outputRef: session.outputRef, offset: 4, length: 4 });
	assert.deepEqual([part.content, part.offset, part.sizeBytes], ['said', 4, 21]);
	assert.equal((await ok(rt, 'read_output', { outputRef: session.outputRef, offset: 100 })).content, '');
	const { sessionId } = await submit(rt, '[[utf8]]', { turnId: 'wide' });
	const follower = await follow(rt, sessionId);
	const { outputRef } = (await follower.ended('wide')).payload;
	const broken = await ok(rt, 'read_output', { outputRef, offset: 2, length: 1 });
	assert.equal(broken.encoding, 'base64');
	assert.equal(Buffer.from(broken.content, 'base64').length, 1);
});

test('EV-13 the strict view has only types of the standard, the types filter only those asked for, deltas can be left out', async () => {
	const { sessionId } = session;
	const strict = await follow(rt, sessionId, { view: 'strict' });
	await strict.until(() => strict.end('first'), 'the end');
	strict.check();
	for (const type of strict.types()) assert.ok(isOfficialType(type), type);
	const body = JSON.stringify({ sessionId, types: ['turn.completed'], deltas: false });
	const text = await new Promise((done, fail) => {
		fetch(`${rt.url}/v1/subscribe_events`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }).then(async (res) => {
			const reader = res.body.getReader();
			done(Buffer.from((await reader.read()).value).toString());
			await reader.cancel();
		}, fail);
	});
	assert.equal([...text.matchAll(/^data: /gm)].length, 1);
	assert.match(text, /"type":"turn\.completed"/);
});

test('EV-33 snapshot, then follow from its sequence: no gap, nothing again', async () => {
	const { sessionId } = session;
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId });
	const follower = await follow(rt, sessionId, { after: String(asOfSequence) });
	const { turnId } = await submit(rt, 'more', { sessionId });
	await follower.ended(turnId);
	assert.equal(follower.facts[0].sequence, asOfSequence + 1);
	follower.check();
	await assert.rejects(follow(rt, sessionId, { after: '99999' }), /invalid_cursor/);
	await assert.rejects(follow(rt, sessionId, { after: 'x' }), /invalid_cursor/);
});

test('ID-02 session, threads and turns are the same after a restart', async () => {
	const first = await startAgentd({ model, dataDir: newFolder() });
	const { sessionId, turnId } = await submit(first, 'hello');
	const follower = await follow(first, sessionId);
	await follower.ended(turnId);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	const { text } = await call(first, 'get_session', { sessionId });
	await first.kill9();
	const again = await startAgentd({ model, dataDir: first.dataDir });
	assert.equal((await call(again, 'get_session', { sessionId })).text, text);
	await again.stop();
});

test('CP-21 list_tasks: by status and limit it is a fold of the log, while work is open and after a restart', async () => {
	const w = await world();
	const { sessionId } = await submit(w.rt, '[[hang]]', { turnId: 'open' });
	for (let n = 1; n < 60; n++) await submit(w.rt, 'waits', { sessionId, turnId: `open-${n}` });
	const list = async (more) => (await ok(w.rt, 'list_tasks', { sessionId, visibility: 'internal', ...more })).tasks;
	const created = (await readLog(w.rt, sessionId)).filter((f) => f.type === 'task.created').map((f) => f.event.taskId);
	const check = async () => {
		assert.deepEqual((await list({ limit: 200 })).map((t) => t.taskId), created);
		assert.equal((await list({})).length, 50);
		assert.deepEqual((await list({ status: 'running' })).map((t) => t.taskId), created.slice(0, 1));
		assert.deepEqual((await list({ status: 'queued', limit: 200 })).map((t) => t.taskId), created.slice(1));
		assert.deepEqual(await list({ status: 'completed' }), []);
	};
	await check();
	await w.rt.kill9();
	w.rt = await w.again();
	await check();
	await w.rt.stop();
});
