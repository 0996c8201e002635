// What a session is made of on disk, layer by layer: each is read in its own way, the log alone gives all of it at any sequence, and what is damaged is never
// shown as if it were whole.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { documentOf } from '../evidence/packs.mjs';
import { execute, sql } from '../lib/damage.mjs';
import { bin, call, follow, newFolder, ok, readLog, request, submit, waitFor, world } from '../lib/runtime.mjs';

const SEED = Number(process.env.AR_HISTORY_SEED ?? 7);
const tools = [{ name: 'put', description: 'Puts.', inputSchema: { type: 'object', properties: {} } }];

/** Numbers that look like chance and are the same each time. */
function dice(seed) {
	let state = seed;
	return (sides) => {
		state = (Math.imul(state, 1103515245) + 12345) >>> 0;
		return (state >>> 8) % sides;
	};
}

/** What the facts up to a sequence fold to, without a server. */
function foldedAt(log, sequence) {
	const file = join(newFolder(), 'facts.ndjson');
	writeFileSync(file, log.filter((f) => f.sequence <= sequence).map((f) => `${f.data}\n`).join(''));
	return JSON.parse(execFileSync(join(bin, 'ar-refold'), [file], { encoding: 'utf8', maxBuffer: 1 << 26 }));
}

test('AC-19 the facts up to a sequence, folded without the server, give what it answered there: 20 random sequences', async () => {
	const w = await world({ config: { 'model.backoff_ms': 5 } });
	const { sessionId, threadId } = await submit(w.rt, '[[say begin]]', { options: { tools } });
	const answers = new Map();
	const look = async () => {
		const read = await ok(w.rt, 'get_thread_read', { sessionId, threadId });
		answers.set(read.asOfSequence, read);
		return read;
	};
	const follower = await follow(w.rt, sessionId);
	for (let n = 0; n < 8; n++) {
		const { turnId } = await submit(w.rt, n % 3 === 2 ? '[[fail-times 1 http 500]] again' : '[[tool put {}]]', { sessionId, options: { tools } });
		await look();
		if (n % 3 !== 2) {
			const [asked] = await waitFor(async () => {
				const { threads: [{ pendingRequests }] } = await look();
				return pendingRequests.length > 0 && pendingRequests;
			}, 'a question');
			await ok(w.rt, 'respond_action', { actionId: asked.actionId, decision: n % 2 ? 'allow' : 'deny' });
			await look();
			if (n % 2) {
				const { toolCallId } = await waitFor(() => follower.of('tool.started').find((e) => e.payload.runtimeOwner && e.turnId === turnId), 'the call');
				await look();
				await ok(w.rt, 'report_tool_result', { toolCallId, output: `result ${n}` });
				await look();
			}
		}
		await follower.ended(turnId);
		await look();
	}
	const log = await readLog(w.rt, sessionId);
	assert.equal(new Set(log.map((f) => f.event.eventId)).size, log.length, 'ids are stable and unique');
	assert.ok(answers.size >= 20, `${answers.size} answers`);
	const roll = dice(SEED), left = [...answers.keys()].sort((a, b) => a - b);
	for (let i = 0; i < 20; i++) {
		const [sequence] = left.splice(roll(left.length), 1);
		const [shown, folded] = [answers.get(sequence), foldedAt(log, sequence)];
		// The reader of an open answer says streaming, no fact does.
		for (const [k, t] of shown.threads.entries()) if (t.statusDetail === 'streaming') folded.threads[k].statusDetail = 'streaming';
		if (shown.statusDetail === 'streaming') folded.statusDetail = 'streaming';
		assert.deepEqual(folded, shown, `at ${sequence}`);
	}
	await w.rt.stop();
});

test('HI-02 six layers, each with its own way to be read and its own form; without its snapshot a session is what it was', async () => {
	const w = await world({ config: { 'session.snapshot_every': 5 } });
	const { sessionId, threadId } = await submit(w.rt, '[[say one]]');
	const follower = await follow(w.rt, sessionId);
	for (const text of ['[[say two]]', '[[say three]]']) await follower.ended((await submit(w.rt, text, { sessionId })).turnId);
	await ok(w.rt, 'compact_thread', { sessionId, threadId });
	await follower.until(() => follower.of('context.compaction.completed')[0], 'a boundary');
	const last = await submit(w.rt, '[[say four]]', { sessionId });
	await follower.ended(last.turnId);
	await follower.until(() => follower.of('turn.completed').length === follower.of('turn.started').length, 'the end of all turns');
	follower.stop();
	const { packRef } = await ok(w.rt, 'export_evidence', { sessionId });

	const read = async () => {
		const log = await readLog(w.rt, sessionId);
		const { requestRef, contextRef, manifestRef } = log.findLast((f) => f.type === 'model.requested').event.payload;
		const boundary = log.find((f) => f.type === 'context.compaction.completed').event.payload;
		return {
			event_log: log.map((f) => f.data),
			rollout_log: (await ok(w.rt, 'read_output', { outputRef: requestRef ?? contextRef ?? manifestRef })).content,
			session_snapshot: await ok(w.rt, 'get_session', { sessionId }),
			thread_read_model: await ok(w.rt, 'get_thread_read', { sessionId, threadId }),
			context_boundary: (await ok(w.rt, 'read_output', { outputRef: boundary.summaryRef })).content,
			evidence_export: await documentOf(w.rt, packRef),
		};
	};
	const layers = await read();
	assert.equal(new Set(Object.values(layers).map((l) => JSON.stringify(l))).size, 6, 'six forms');
	assert.ok(layers.session_snapshot.historyCursor || layers.session_snapshot.threads, 'the shell');
	assert.equal(layers.thread_read_model.threads[0].threadId, threadId);
	assert.ok(layers.context_boundary.length > 0 && layers.evidence_export.files.length > 0);
	const has = () => sql(w.dataDir, ['SELECT count(*) FROM snapshot']);
	await w.rt.stop();
	assert.notEqual(has(), '0', 'a snapshot is stored');
	sql(w.dataDir, ['DELETE FROM snapshot']);
	w.rt = await w.again();
	assert.deepEqual(await read(), layers, 'the log gives all of it');
	await w.rt.stop();
});

test('HI-07 AN-17 a session that lost facts is neither running nor completed: it is refused as damaged, and after the loss was accepted it says what is gone', async () => {
	for (const damage of ['log-first', 'log-end']) {
		const w = await world({ config: { 'recovery.auto_resume': false } });
		const { sessionId, threadId, turnId: first } = await submit(w.rt, '[[say one]]');
		const follower = await follow(w.rt, sessionId);
		await follower.ended(first);
		follower.stop();
		const { turnId } = await submit(w.rt, '[[fail-times 1 hang]] hello', { sessionId });
		await waitFor(() => w.model.log(turnId)[0], 'the call');
		await w.rt.kill9();
		execute(w.dataDir, damage);
		const listed = async (more = {}) => (await ok(w.rt, 'list_sessions', more)).sessions.map((s) => [s.sessionId, s.status, s.degraded]);
		w.rt = await w.again();
		// Nobody asked for it: the start finds it, as it has open work.
		await waitFor(async () => (await listed())[0][1] === 'unknown', 'the damage in the list');
		assert.deepEqual(await listed(), [[sessionId, 'unknown', true]], damage);
		assert.deepEqual(await listed({ status: 'unknown' }), [[sessionId, 'unknown', true]], damage);
		for (const status of ['running', 'idle', 'completed']) assert.deepEqual(await listed({ status }), [], `${damage} ${status}`);
		const { tasks } = await ok(w.rt, 'find_tasks', { withInternal: true, withEnded: true });
		assert.deepEqual(tasks.map((t) => t.status), ['unknown', 'unknown'], damage);
		assert.equal((await ok(w.rt, 'find_tasks', { withInternal: true, status: 'unknown' })).tasks.length, 1, 'the one that was open');
		for (const status of ['running', 'completed']) assert.deepEqual((await ok(w.rt, 'find_tasks', { withInternal: true, status })).tasks, []);
		assert.equal((await ok(w.rt, 'get_task', { taskId: tasks[0].taskId })).status, 'unknown');
		for (const [command, input] of [['get_session', { sessionId }], ['get_thread_read', { sessionId, threadId }]]) {
			const { status, body } = await call(w.rt, command, input);
			assert.deepEqual([status, body.error?.code, body.status], [500, 'storage_corrupt', undefined], `${damage} ${command}`);
		}
		const { text } = await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId, acceptLoss: true }) });
		const { status } = JSON.parse(text).sessions[0];
		assert.equal(status === 'corrupt', damage === 'log-first', 'only a lost end can be accepted');
		if (status !== 'corrupt') {
			const types = (await readLog(w.rt, sessionId)).map((f) => f.type);
			assert.ok(types.includes('snapshot.repaired') && types.includes('runtime.error'));
			const read = await ok(w.rt, 'get_session', { sessionId });
			assert.ok(!['running', 'completed'].includes(read.status), read.status);
			assert.ok(read.threads[0].incidents.some((i) => /are lost$/.test(i.message)), JSON.stringify(read.threads[0].incidents));
			assert.deepEqual(await listed(), [[sessionId, read.status, undefined]], 'what it is now is known');
		}
		await w.rt.stop();
	}
});

test('HI-07 AN-17 a session whose snapshot hides a lost part of its log is degraded once that was found, and says so where it is read', async () => {
	const w = await world({ config: { 'session.snapshot_every': 5 } });
	const { sessionId, turnId } = await submit(w.rt, '[[say one]]');
	const follower = await follow(w.rt, sessionId);
	await follower.ended(turnId);
	for (const text of ['[[say two]]', '[[say three]]']) await follower.ended((await submit(w.rt, text, { sessionId })).turnId);
	follower.stop();
	await w.rt.stop();
	execute(w.dataDir, 'log-gap');
	w.rt = await w.again();
	const shown = async () => [(await ok(w.rt, 'get_session', { sessionId })).degraded, (await ok(w.rt, 'list_sessions')).sessions[0]];
	assert.equal((await shown())[0], undefined, 'nobody looked at that part yet');
	const { text } = await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId }) });
	assert.equal(JSON.parse(text).sessions[0].status, 'corrupt');
	const [read, row] = await shown();
	assert.deepEqual([read, row.degraded, row.status], [true, true, 'idle'], 'what it is could be read');
	await w.rt.stop();
});
