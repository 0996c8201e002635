// POST /v1/verify: the log is replayed and what is stored beside it compared. The store is damaged behind the daemon's back, as a bad
// disk, a half restore or a careless hand would; every damage is found and named, read models are repaired, lost facts are not.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checkError, follow, newFolder, ok, readLog, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { execute, extent } from '../lib/damage.mjs';

let model;

before(async () => {
	model = await startModel();
});

const TURNS = 30; // more than the state's window of ended turns
const EVERY = 50; // facts between snapshots

async function ask(rt, input) {
	const { status, text } = await request(rt, { path: '/v1/verify', body: JSON.stringify(input) });
	const body = JSON.parse(text);
	if (status >= 300) checkError(status, body);
	return { status, body };
}

async function verify(rt, sessionId, more = {}) {
	const { status, body } = await ask(rt, { sessionId, ...more });
	assert.equal(status, 200, JSON.stringify(body));
	assert.equal(body.sessions.length, 1);
	assert.equal(body.sessions[0].sessionId, sessionId);
	return body.sessions[0];
}

const whats = (session) => session.findings.map((f) => f.what);

async function work(rt, sessionId, from, to) {
	const follower = await follow(rt, sessionId);
	for (let i = from; i < to; i++) {
		const { turnId } = await submit(rt, `turn ${i} ${'x'.repeat(50)}`, { sessionId });
		await follower.ended(turnId);
	}
	follower.stop();
}

// A stopped store with one session of many turns in it, a copy of the snapshot it had halfway, and a twin with as many turns.
async function filled({ turns = TURNS, every = EVERY } = {}) {
	const dataDir = newFolder();
	const again = () => startAgentd({ dataDir, model, config: { 'session.snapshot_every': every } });
	const half = Math.floor(turns / 2);
	let rt = await again();
	const { sessionId } = await ok(rt, 'create_session', { title: 'one' });
	const { sessionId: twin } = await ok(rt, 'create_session', { title: 'two' });
	await Promise.all([work(rt, sessionId, 0, half), work(rt, twin, 0, half)]);
	await rt.stop();
	execute(dataDir, 'keep-snapshot');
	rt = await again();
	await Promise.all([work(rt, sessionId, half, turns), work(rt, twin, half, turns)]);
	const before = await ok(rt, 'get_session', { sessionId });
	const healthy = await verify(rt, sessionId);
	assert.deepEqual([healthy.status, healthy.findings, healthy.facts], ['ok', [], before.asOfSequence]);
	await rt.stop();
	return { dataDir, sessionId, before, again };
}

// Damages a filled store, and expects exactly these findings; with repair they are gone, and the session is what it was.
async function damaged(damage, expected, options) {
	const { dataDir, sessionId, before, again } = await filled(options);
	execute(dataDir, damage);
	const rt = await again();
	const found = await verify(rt, sessionId);
	assert.deepEqual([found.status, whats(found)], ['differs', expected], JSON.stringify(found));
	const repaired = await verify(rt, sessionId, { repair: true });
	assert.deepEqual([repaired.status, whats(repaired)], ['repaired', expected]);
	assert.ok(repaired.findings.every((f) => f.repaired));
	const clean = await verify(rt, sessionId);
	assert.deepEqual([clean.status, clean.findings], ['ok', []]);
	const log = await readLog(rt, sessionId); // every fact is checked against both schemas there
	const fact = log.at(-1).event;
	assert.equal(fact.type, 'snapshot.repaired');
	assert.deepEqual([fact.payload.fromSequence, fact.payload.toSequence], [1, before.asOfSequence]);
	assert.equal(fact.payload.repairedFields.length > 0, true);
	assert.deepEqual([fact.payload.stale, fact.payload.unavailable], [[], []]);
	const after = await ok(rt, 'get_session', { sessionId });
	assert.equal(after.asOfSequence, before.asOfSequence + 1);
	assert.deepEqual(after.threads, before.threads);
	await submit(rt, 'and on', { sessionId, turnId: 'on' });
	const follower = await follow(rt, sessionId);
	await follower.ended('on');
	follower.stop();
	assert.equal((await verify(rt, sessionId)).status, 'ok');
	await rt.stop();
	return { found, repaired, fact };
}

test('a healthy session of many turns is ok, also while it works', async () => {
	const { sessionId, again } = await filled();
	const rt = await again();
	const follower = await follow(rt, sessionId);
	await submit(rt, '[[tokens 400]] [[delay 1]]', { sessionId, turnId: 'busy' });
	await follower.until(() => follower.of('model.requested').at(-1)?.turnId === 'busy', 'the model works');
	assert.equal((await verify(rt, sessionId)).status, 'ok');
	assert.equal((await verify(rt, sessionId, { repair: true })).status, 'ok');
	await follower.ended('busy');
	assert.equal(follower.of('snapshot.repaired').length, 0);
	follower.stop();
	follower.check();
	await rt.stop();
});

test('HI-13 a snapshot that is not what the log says is found, repaired, and the repair is a fact', async () => {
	const { found, fact } = await damaged('snapshot-older', ['snapshot']);
	assert.equal(found.findings[0].sequence > 0, true);
	assert.deepEqual(fact.payload.repairedFields, ['snapshot']);
});

test('the snapshot of another session at the same sequence is found by its checksum', async () => {
	const { found } = await damaged('snapshot-other', ['snapshot'], { every: 1 });
	assert.match(found.findings[0].message, /is not the one that was stored/);
	await damaged('snapshot-other', ['snapshot']); // with facts behind it
});

test('a snapshot of garbage keeps nobody from verifying; after the repair the session can be read again', async () => {
	await damaged('snapshot-garbage', ['snapshot']);
});

test('open work behind a snapshot of garbage is taken up once it is repaired', async () => {
	const dataDir = newFolder();
	const again = () => startAgentd({ dataDir, model, config: { 'session.snapshot_every': 1 } });
	const first = await again();
	const { sessionId, turnId } = await submit(first, '[[fail-times 1 hang]] hello');
	await waitFor(() => model.log(turnId)[0], 'the model call');
	await first.kill9();
	execute(dataDir, 'snapshot-garbage');
	const rt = await again();
	assert.equal((await verify(rt, sessionId)).status, 'differs');
	assert.equal((await verify(rt, sessionId, { repair: true })).status, 'repaired');
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	const types = follower.types();
	assert.ok(types.indexOf('snapshot.repaired') < types.indexOf('history.reconstructed'), types.join(' '));
	assert.equal(follower.end(turnId).type, 'turn.completed');
	follower.check();
	assert.equal((await verify(rt, sessionId)).status, 'ok');
	await rt.stop();
});

test('a changed session row is found by column', async () => {
	const { found } = await damaged('session-status', ['session.status', 'session.active']);
	assert.deepEqual([found.findings[0].stored, found.findings[0].folded], ['running', 'idle']);
});

test('a changed shell, and a missing session row', async () => {
	await damaged('session-shell', ['session.shell']);
	await damaged('session-gone', ['session.row']);
});

test('changed and deleted task rows are written again, old ones too', async () => {
	const { found } = await damaged('tasks', ['task', 'task', 'task']);
	const [status, record, gone] = found.findings.map((f) => f.id.replace(/^task_[^_]+_/, ''));
	assert.deepEqual([status, record, gone], ['2', '29', '3']);
	assert.equal(found.findings[2].message, 'the row is missing');
});

test('a missing content stays a finding, and a repair beside it says what is unavailable', async () => {
	const { dataDir, sessionId, again } = await filled({ turns: 3 });
	execute(dataDir, 'blob-gone');
	execute(dataDir, 'session-shell');
	const rt = await again();
	const found = await verify(rt, sessionId);
	assert.equal(found.status, 'differs');
	const lost = found.findings.filter((f) => f.what === 'content');
	assert.ok(lost.length > 0 && lost.every((f) => f.id.startsWith('blob_') && f.sequence > 0), JSON.stringify(found));
	const repaired = await verify(rt, sessionId, { repair: true });
	assert.equal(repaired.status, 'differs', 'what is left is said');
	assert.deepEqual(repaired.findings.filter((f) => f.repaired).map((f) => f.what), ['session.shell']);
	const fact = (await readLog(rt, sessionId)).at(-1).event;
	assert.deepEqual(fact.payload.unavailable, lost.map((f) => f.id));
	assert.deepEqual(whats(await verify(rt, sessionId)), lost.map(() => 'content'));
	await rt.stop();
});

test('HI-10 a turn comes back without its texts: history.reconstructed names them and says degraded; with them it says restored, also when it is resumed', async () => {
	for (const isGone of [true, false]) {
		const dataDir = newFolder();
		const again = () => startAgentd({ dataDir, model, config: { 'recovery.auto_resume': false } });
		const first = await again();
		const { sessionId, threadId, turnId } = await submit(first, `[[fail-times 1 hang]] hello ${isGone}`);
		await waitFor(() => model.log(turnId)[0], 'the model call');
		await first.kill9();
		if (isGone) execute(dataDir, 'blob-gone');
		const rt = await again();
		const log = async () => (await readLog(rt, sessionId)).map((f) => f.event);
		const told = await waitFor(async () => (await log()).find((e) => e.type === 'history.reconstructed'), 'what came back');
		const { inputRef } = (await log()).find((e) => e.type === 'turn.submitted').payload;
		const { sessionShell, recentWindow, activeThreadRead, jobs } = told.payload.layers;
		assert.deepEqual([sessionShell, recentWindow, activeThreadRead, jobs], isGone ? ['restored', 'degraded', 'degraded', 'not_applicable'] : ['restored', 'restored', 'restored', 'not_applicable']);
		assert.deepEqual([told.payload.degraded, told.payload.missing], isGone ? [true, [inputRef]] : [false, []]);
		await ok(rt, 'resume_thread', { sessionId, threadId });
		const facts = (await log()).filter((e) => e.type === 'history.reconstructed');
		assert.deepEqual(facts.map((e) => e.payload.degraded), [isGone, isGone]);
		await rt.stop();
	}
});

test('a gap in the log, a broken fact and a lost end are corrupt, with the first bad sequence, and are not repaired', async () => {
	for (const [damage, why] of [['log-gap', /missing/], ['log-broken', /decode|unpack/], ['log-end', /ends here/]]) {
		const { dataDir, sessionId, again } = await filled({ turns: 8 });
		const bad = execute(dataDir, damage);
		const facts = extent(dataDir);
		const rt = await again();
		for (const repair of [false, true]) {
			const found = await verify(rt, sessionId, { repair });
			assert.equal(found.status, 'corrupt', `${damage} ${JSON.stringify(found)}`);
			assert.deepEqual(whats(found), ['log']);
			assert.equal(found.findings[0].sequence, bad, damage);
			assert.match(found.findings[0].message, why);
		}
		await rt.stop();
		assert.equal(extent(dataDir), facts, 'nothing was written');
	}
});

test('all sessions page by page, and what cannot be asked', async () => {
	const rt = await startAgentd({ model });
	const ids = [];
	for (let i = 0; i < 7; i++) {
		const { sessionId } = await submit(rt, 'hello', { turnId: `p${i}` });
		ids.unshift(sessionId);
	}
	const seen = [];
	let cursor;
	do {
		const { body } = await ask(rt, { limit: 3, ...(cursor ? { cursor } : {}) });
		assert.ok(body.sessions.length <= 3);
		assert.equal(body.elsewhere, 0);
		for (const { sessionId, status } of body.sessions) {
			assert.equal(status, 'ok');
			seen.push(sessionId);
		}
		cursor = body.nextCursor;
	} while (cursor);
	assert.deepEqual(seen, ids);
	const code = async (input) => (await ask(rt, input)).body.error?.code;
	assert.equal(await code({ sessionId: 'sess_nobody' }), 'session_not_found');
	assert.equal(await code({ sessionId: `sess_${'0'.repeat(26)}` }), 'session_not_found');
	assert.equal(await code({ cursor: 'x' }), 'invalid_cursor');
	assert.equal(await code({ repair: 'yes' }), 'invalid_input');
	assert.equal(await code({ all: true }), 'invalid_input');
	await rt.stop();
});
