// What a model request carries, and how a conversation that becomes too long is shortened: context.resolved, compaction by command and by
// itself, what bounds it, and what survives it.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { follow, newFolder, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const WINDOW = 1000; // tokens
const workspace = newFolder();
let w;

before(async () => {
	writeFileSync(join(workspace, 'AGENTS.md'), 'Answer in German.');
	w = await world({
		config: {
			'model.backoff_ms': 5, 'model.max_attempts': 2, 'model.system_prompt': 'Be kind.', 'context.window_tokens': WINDOW,
			'tools.workspace': workspace,
		},
	});
});

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

let next = 0;
const newId = () => `c${next++}`;
const thread = async (sessionId, index = 0) => (await ok(w.rt, 'get_session', { sessionId })).threads[index];
const read = async (outputRef) => (await ok(w.rt, 'read_output', { outputRef })).content;
const said = (entry) => entry.body.messages.map((m) => [m.role, m.content?.[0]?.text ?? m.content]);
const isSummary = (entry) => said(entry).at(-1)[1].endsWith('Write its summary now.');
const asked = (turnId) => w.model.log(turnId).filter((entry) => !isSummary(entry));
const kinds = (turnId) => w.model.log(turnId).map((entry) => (isSummary(entry) ? 'summary' : 'turn'));

// A turn that is over; its facts are all there.
async function turn(text, more = {}) {
	const turnId = newId();
	const receipt = await submit(w.rt, text, { turnId, ...more });
	await settled(receipt.sessionId, turnId);
	return receipt;
}

async function settled(sessionId, turnId) {
	const follower = await follow(w.rt, sessionId);
	await follower.ended(turnId);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	follower.stop();
	follower.check();
}

async function facts(sessionId, turnId, prefix) {
	const log = await readLog(w.rt, sessionId);
	return log.map((f) => f.event).filter((e) => e.turnId === turnId && e.type.startsWith(prefix));
}

// Two turns of about 300 tokens each.
async function longThread(hint = '') {
	const first = await turn(`my name is Ada ${hint} [[tokens 250]]`);
	const second = await turn('I live in Bern [[tokens 250]]', { sessionId: first.sessionId });
	return { ...first, first, second };
}

// ---- context.resolved ----

test('CX-01 CX-07 context.resolved: what a request is made of is a fact before it, once per turn, and again only when it changed', async () => {
	const { sessionId, turnId } = await turn('[[tool look_up {"a":1}]]');
	const log = (await readLog(w.rt, sessionId)).map((f) => f.event);
	const [resolved, ...more] = log.filter((e) => e.type === 'context.resolved');
	assert.deepEqual(more, [], 'two requests, one fact');
	assert.equal(log.filter((e) => e.type === 'model.requested').length, 2);
	assert.ok(log.indexOf(resolved) < log.findIndex((e) => e.type === 'model.requested'));
	const { payload } = resolved;
	for (const name of ['memoryRefs', 'knowledgeRefs', 'browserRefs', 'omissions']) assert.deepEqual(payload[name], [], name);
	assert.deepEqual(payload.workspaceRefs, ['workspace:/']);
	assert.deepEqual(payload.policyFacts, [{ fact: 'permissionMode', mode: 'default' }, { fact: 'contextWindow', tokens: WINDOW }]);
	assert.deepEqual(await Promise.all(payload.instructionRefs.map(read)), ['Be kind.', 'Answer in German.']);
	assert.ok(payload.tokenEstimate > 0);
	assert.deepEqual(said(w.model.log(turnId)[0])[0], ['system', 'Be kind.\n\nAnswer in German.']);
});

test('CX-07 context.resolved: an instruction file that is missing, too large or no text is an omission with its reason', async () => {
	const file = join(workspace, 'AGENTS.md');
	const bad = [[() => rmSync(file), 'not_found'], [() => writeFileSync(file, 'x'.repeat(65537)), 'too_large'],
		[() => writeFileSync(file, Buffer.from([0xff, 0xfe])), 'unreadable'], [() => { rmSync(file); mkdirSync(file); }, 'unreadable']];
	const resolvedNow = async () => {
		const { sessionId, turnId } = await turn('hello');
		return [(await facts(sessionId, turnId, 'context.resolved'))[0].payload, said(w.model.log(turnId)[0])[0][1]];
	};
	for (const [spoil, reason] of bad) {
		spoil();
		const [payload, system] = await waitFor(async () => {
			const now = await resolvedNow();
			return now[0].omissions[0]?.reason.startsWith(reason) && now;
		}, reason);
		assert.deepEqual([payload.omissions[0].ref, payload.instructionRefs.length, system], ['AGENTS.md', 1, 'Be kind.']);
	}
	rmSync(file, { recursive: true });
	writeFileSync(file, 'Answer in French.');
	const [payload] = await waitFor(async () => {
		const now = await resolvedNow();
		return now[1] === 'Be kind.\n\nAnswer in French.' && now;
	}, 'the new instructions');
	assert.deepEqual(payload.omissions, []);
});

// ---- compact_thread ----

test('CX-03 CX-05 CX-08 OPEN-12 AN-15 compact_thread: a system turn with its own life writes the boundary; the next request carries it, also after kill -9', async () => {
	const { sessionId, threadId, first, second } = await longThread();
	const tools = [{ name: 'look_up', description: 'Looks up.', inputSchema: { type: 'object' }, isReadOnly: true }];
	const tool = await submit(w.rt, '[[tool look_up {"a":1}]]', { sessionId, turnId: newId(), options: { tools } });
	const call = await waitFor(async () => (await facts(sessionId, tool.turnId, 'tool.started'))[0], 'the call');
	await ok(w.rt, 'report_tool_result', { toolCallId: call.toolCallId, output: 'found it' });
	await settled(sessionId, tool.turnId);
	await turn('I like tea [[tokens 250]]', { sessionId });
	const before = await thread(sessionId);
	assert.equal(before.contextBoundary.state, 'none');
	const { boundaryRef, turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId, reason: 'long' });
	await settled(sessionId, turnId);

	const own = await facts(sessionId, turnId, '');
	const types = own.map((e) => e.type);
	assert.deepEqual([types[0], types.at(-1) === 'turn.completed', own[0].payload.source], ['turn.submitted', true, 'system']);
	for (const type of ['turn.started', 'task.created', 'context.compaction.started', 'model.requested', 'model.completed', 'context.compaction.completed'])
		assert.equal(types.filter((t) => t === type).length, 1, type);
	const started = own.find((e) => e.type === 'context.compaction.started').payload;
	const completed = own.find((e) => e.type === 'context.compaction.completed').payload;
	assert.deepEqual([started.trigger, completed.trigger, started.boundaryRef], ['manual', 'manual', boundaryRef]);
	assert.deepEqual(started.affectedTurnIds.slice(0, 3), [first.turnId, second.turnId, tool.turnId]);
	assert.deepEqual(completed.affectedTurnIds, started.affectedTurnIds);
	assert.equal(completed.tokensBefore, started.tokensBefore);
	assert.ok(completed.tokensAfter < 0.8 * completed.tokensBefore, JSON.stringify(completed));
	assert.equal(await read(completed.summaryRef), 'Summary: they talked.');
	assert.equal(completed.summaryPreview, 'Summary: they talked.');
	assert.deepEqual(Object.keys(completed.preserved), ['actionIds', 'incidentIds', 'artifactRefs', 'evidenceRefs']);
	const document = JSON.parse(await read(boundaryRef));
	assert.deepEqual([document.reason, document.affectedTurnIds], ['long', started.affectedTurnIds]);
	const replacement = JSON.parse(await read(completed.replacementHistoryRef));
	assert.deepEqual(replacement.append[0], { role: 'summary', ref: completed.summaryRef });
	assert.equal(own.find((e) => e.type === 'model.requested').payload.purpose, 'compaction');
	const [, [role, transcript]] = said(w.model.log(turnId)[0]);
	assert.equal(role, 'user');
	assert.match(transcript, /### User\nmy name is Ada[\s\S]*### Assistant\nw0 w1[\s\S]*### User\nI live in Bern/);

	// What was answered to a call that the summary covers is still there to read.
	const [{ payload: result }] = await facts(sessionId, tool.turnId, 'tool.result');
	assert.equal(await read(result.outputRef), 'found it');

	await restart();
	assert.equal(await read(result.outputRef), 'found it');
	const { contextBoundary, history } = await thread(sessionId);
	assert.deepEqual([contextBoundary.state, contextBoundary.turnId, contextBoundary.summaryRef, contextBoundary.tokensAfter],
		['compacted', turnId, completed.summaryRef, completed.tokensAfter]);
	assert.ok(history.contextMessages < before.history.contextMessages);
	assert.deepEqual((await ok(w.rt, 'get_session', { sessionId })).contextBoundary, contextBoundary);
	const after = await turn('who am I?', { sessionId });
	const messages = said(w.model.log(after.turnId)[0]);
	assert.match(messages[1][1], /^\[The earlier part .*\n\nSummary: they talked\.$/);
	assert.deepEqual(messages.at(-1), ['user', 'who am I?']);
	assert.ok(!messages.some(([, text]) => text?.includes('Ada')));
	const [resolved] = await facts(sessionId, after.turnId, 'context.resolved');
	assert.deepEqual(resolved.payload.omissions.map((o) => [o.ref, o.reason.split(':')[0], o.count]),
		[[`${threadId}:messages`, 'compacted', contextBoundary.coveredMessages]]);
});

test('compact_thread: a busy thread, nothing to shorten and an unknown thread are told apart; a running one is joined, a key repeats', async () => {
	const short = await turn('hello');
	await refused(w.rt, 'nothing_to_compact', 'compact_thread', { sessionId: short.sessionId, threadId: short.threadId });
	await refused(w.rt, 'thread_not_found', 'compact_thread', { sessionId: short.sessionId, threadId: 'thread_x' });
	const { sessionId, threadId } = await longThread('[[summary first 300]]');
	const key = { idempotencyKey: 'compact-once' };
	const receipt = await ok(w.rt, 'compact_thread', { sessionId, threadId, ...key });
	const joined = await ok(w.rt, 'compact_thread', { sessionId, threadId });
	assert.deepEqual(joined, receipt);
	await settled(sessionId, receipt.turnId);
	assert.deepEqual(await ok(w.rt, 'compact_thread', { sessionId, threadId, ...key }), receipt);
	assert.equal((await readLog(w.rt, sessionId)).filter((f) => f.type === 'context.compaction.started').length, 1);
	await refused(w.rt, 'nothing_to_compact', 'compact_thread', { sessionId, threadId });
	await submit(w.rt, '[[hang]]', { sessionId });
	await refused(w.rt, 'thread_busy', 'compact_thread', { sessionId, threadId });
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'end' });
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, text: 'x', source: 'system' });
});

test('CX-06 CX-10 compact_thread: a summary that fails, is empty or is no smaller leaves the old history in force', async () => {
	for (const [hint, category, retries] of [['http 500', 'server_error', 1], ['tool x {}', 'empty_summary', 0], ['tokens 600', 'not_smaller', 0]]) {
		const { sessionId, threadId } = await longThread(`[[summary ${hint}]]`);
		const before = await thread(sessionId);
		const { turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId });
		await settled(sessionId, turnId);
		const [, failed, ...more] = await facts(sessionId, turnId, 'context.');
		assert.deepEqual([failed.type, failed.payload.trigger, more.length], ['context.compaction.failed', 'manual', 0]);
		assert.deepEqual([failed.payload.error.category, failed.payload.retries], [category, retries], hint);
		const now = await thread(sessionId);
		assert.deepEqual(now.history.contextMessages, before.history.contextMessages);
		assert.deepEqual([now.contextBoundary.state, now.lastOutcome.status, now.lastOutcome.category], ['none', 'failed', 'compaction_failed']);
		assert.ok(now.incidents.some((i) => i.incidentId === failed.eventId && i.code === category));
		const { turnId: after } = await turn('who am I?', { sessionId });
		assert.ok(said(w.model.log(after)[0])[1][1].startsWith('my name is Ada'), 'the whole conversation goes along');
	}
});

test('compact_thread: an interrupt ends it, the old history stays', async () => {
	const { sessionId, threadId } = await longThread('[[summary hang]]');
	const { turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId });
	await waitFor(() => w.model.log(turnId)[0], 'the model call');
	assert.equal((await thread(sessionId)).contextBoundary.state, 'compacting');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'not now' });
	await settled(sessionId, turnId);
	const types = (await facts(sessionId, turnId, '')).map((e) => e.type);
	assert.ok(types.indexOf('context.compaction.failed') < types.indexOf('turn.failed'));
	assert.deepEqual([(await thread(sessionId)).contextBoundary.state, (await thread(sessionId)).lastOutcome.status], ['none', 'cancelled']);
});

test('compact_thread: kill -9 while the summary is written: that one failed, the next attempt writes the boundary', async () => {
	const { sessionId, threadId } = await longThread('[[summary fail-times 1 hang]]');
	const { turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId });
	await waitFor(() => w.model.log(turnId)[0], 'the model call');
	await restart();
	await settled(sessionId, turnId);
	const own = await facts(sessionId, turnId, 'context.');
	assert.deepEqual(own.map((e) => e.type.split('.').at(-1)), ['started', 'failed', 'started', 'completed']);
	assert.equal(own[1].payload.error.category, 'interrupted');
	assert.equal((await facts(sessionId, turnId, 'model.failed'))[0].payload.error.category, 'interrupted');
	assert.equal((await thread(sessionId)).contextBoundary.state, 'compacted');
});

// ---- by itself ----

// Three turns bring the thread near its window; the fourth is over it.
async function fullThread(hint = '') {
	const { sessionId, threadId, first } = await longThread(hint);
	const third = await turn(`I am 36 ${hint} [[tokens 250]]`, { sessionId });
	return { sessionId, threadId, first, third };
}

test('CX-04 CX-08 compaction by itself: before a request that would be too large, inside its turn; the newest messages stay', async () => {
	const { sessionId, first } = await fullThread();
	const { turnId } = await turn('who am I?', { sessionId });
	const own = await facts(sessionId, turnId, '');
	const [started, completed] = own.filter((e) => e.type.startsWith('context.compaction')).map((e) => e.payload);
	assert.deepEqual([started.trigger, started.affectedTurnIds[0], completed.trigger], ['auto', first.turnId, 'auto']);
	assert.ok(started.tokensBefore >= 0.8 * WINDOW);
	assert.ok(completed.tokensAfter < 0.8 * started.tokensBefore);
	assert.deepEqual(kinds(turnId), ['summary', 'turn']);
	assert.deepEqual(own.filter((e) => e.type === 'model.requested').map((e) => e.payload.purpose), ['compaction', 'turn']);
	const messages = said(asked(turnId)[0]);
	assert.match(messages[1][1], /Summary: they talked/);
	assert.deepEqual(messages.at(-1), ['user', 'who am I?']);
	const usage = own.find((e) => e.type === 'turn.completed').payload.usage;
	const counted = own.filter((e) => e.type === 'model.completed').map((e) => e.payload.usage);
	assert.equal(usage.inputTokens, counted[0].inputTokens + counted[1].inputTokens, 'the summary is paid for, too');
	const { turns } = await thread(sessionId);
	assert.deepEqual(turns.at(-1).steps.map((s) => s.purpose), ['compaction', 'turn']);
});

test('CX-06 compaction by itself: after two that failed the turn tries no more; what does not fit stays out, and that is said', async () => {
	const { sessionId } = await fullThread('[[summary tokens 900]]');
	const { turnId } = await turn('[[tokens 250]] who am I?', { sessionId });
	const own = await facts(sessionId, turnId, 'context.');
	assert.deepEqual(own.map((e) => e.type.split('.').at(-1)), ['started', 'failed', 'started', 'failed', 'resolved']);
	assert.deepEqual(own.filter((e) => e.type.endsWith('failed')).map((e) => e.payload.error.category), ['not_smaller', 'not_smaller']);
	assert.deepEqual(kinds(turnId), ['summary', 'summary', 'turn']);
	assert.deepEqual(own.at(-1).payload.omissions, []);
	const { turnId: over } = await turn('and now?', { sessionId });
	assert.deepEqual(kinds(over), ['turn'], 'after a turn in which it failed, compaction rests for one');
	assert.match(own[1].payload.error.recoveryAdvice, /automatic compaction rests for 1 turn,/);
	const resolved = (await facts(sessionId, over, 'context.resolved'))[0].payload;
	assert.deepEqual(resolved.omissions.map((o) => o.reason.split(':')[0]), ['too_long']);
	assert.equal(said(asked(over)[0]).length - 1 + resolved.omissions[0].count, 9);
	assert.ok(!said(asked(over)[0]).some(([, text]) => text.includes('Ada')));
});

test('compaction by itself: kill -9 in the middle, and the turn goes on with a summary', async () => {
	const { sessionId } = await fullThread('[[summary fail-times 1 hang]]');
	const turnId = newId();
	await submit(w.rt, 'who am I?', { sessionId, turnId });
	await waitFor(() => w.model.log(turnId)[0], 'the summary call');
	await restart();
	await settled(sessionId, turnId);
	const own = await facts(sessionId, turnId, 'context.');
	assert.deepEqual(own.map((e) => e.type.split('.').at(-1)), ['started', 'failed', 'started', 'completed', 'resolved']);
	assert.deepEqual(kinds(turnId), ['summary', 'summary', 'turn']);
});

test('compaction by itself: an interrupt during it ends the turn', async () => {
	const { sessionId } = await fullThread('[[summary hang]]');
	const turnId = newId();
	await submit(w.rt, 'who am I?', { sessionId, turnId });
	await waitFor(() => w.model.log(turnId)[0], 'the summary call');
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'stop' });
	await settled(sessionId, turnId);
	const own = (await facts(sessionId, turnId, '')).map((e) => e.type);
	assert.ok(own.includes('context.compaction.failed'));
	assert.deepEqual(kinds(turnId), ['summary']);
	assert.equal((await thread(sessionId)).lastOutcome.status, 'cancelled');
});

const TOO_LONG = 'http 400 code=context_length_exceeded';

test('P23 a model that finds the request too long: one compaction, then the answer; or an honest end', async () => {
	const once = await longThread();
	const { turnId } = await turn(`[[fail-times 1 ${TOO_LONG}]] who am I?`, { sessionId: once.sessionId });
	assert.deepEqual(kinds(turnId), ['turn', 'summary', 'turn']);
	assert.equal((await thread(once.sessionId)).lastOutcome.status, 'completed');
	const always = await longThread();
	const failed = await turn(`[[${TOO_LONG}]] who am I?`, { sessionId: always.sessionId });
	assert.deepEqual(kinds(failed.turnId), ['turn', 'summary', 'turn']);
	assert.deepEqual((await thread(always.sessionId)).lastOutcome.category, 'context_length');
	const broken = await longThread('[[summary http 400]]');
	const worse = await turn(`[[${TOO_LONG}]] who am I?`, { sessionId: broken.sessionId });
	assert.deepEqual(kinds(worse.turnId), ['turn', 'summary']);
	const { lastOutcome } = await thread(broken.sessionId);
	assert.deepEqual([lastOutcome.status, lastOutcome.category], ['failed', 'context_length']);
});

// ---- rollback and branches over a boundary ----

test('rollback and branches over a boundary: before it the old messages speak, after it the summary', async () => {
	const { sessionId, threadId, first, second } = await longThread();
	const { turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId });
	await settled(sessionId, turnId);
	const after = await turn('who am I?', { sessionId });
	const early = await ok(w.rt, 'fork_thread', { sessionId, threadId, turnId: first.turnId });
	const late = await ok(w.rt, 'fork_thread', { sessionId, threadId, turnId: after.turnId });
	await restart();
	const words = (id) => said(asked(id)[0]).slice(1).map(([, text]) => text.slice(0, 40));
	const there = await turn('early', { sessionId, threadId: early.threadId });
	assert.equal(words(there.turnId)[0].startsWith('my name is Ada'), true);
	const here = await turn('late', { sessionId, threadId: late.threadId });
	assert.match(words(here.turnId)[0], /^\[The earlier part/);
	assert.ok(words(here.turnId).includes('who am I?'));

	await ok(w.rt, 'rollback_thread', { sessionId, threadId, target: { turnId } });
	const kept = await turn('again', { sessionId, threadId });
	assert.match(words(kept.turnId)[0], /^\[The earlier part/);
	assert.ok(!words(kept.turnId).includes('who am I?'));
	await ok(w.rt, 'rollback_thread', { sessionId, threadId, target: { turnId: second.turnId } });
	await restart();
	const undone = await turn('once more', { sessionId, threadId });
	assert.deepEqual(words(undone.turnId).map((text) => text.slice(0, 14)), ['my name is Ada', 'w0 w1 w2 w3 w4', 'I live in Bern', 'w0 w1 w2 w3 w4', 'once more']);
	assert.equal((await thread(sessionId)).contextBoundary.state, 'none');
});

// ---- what a boundary does not touch ----

test('CX-02 CX-09 HL-02 AC-06 an open question and an incident outlive the boundary: both are named in it, the tool runs only when it is allowed', async () => {
	const { sessionId, threadId } = await longThread();
	const options = { mode: 'default', tools: [{ name: 'set_value', description: 'Sets.', inputSchema: { type: 'object' } }] };
	const asking = newId();
	const other = await submit(w.rt, '[[tool set_value {"a":1}]]', { turnId: asking, options, sessionId, createPolicy: { thread: 'new' } });
	const action = await waitFor(async () => (await facts(sessionId, asking, 'action.required'))[0], 'the question');
	await turn('[[http 400]]', { sessionId, threadId });
	const { turnId } = await ok(w.rt, 'compact_thread', { sessionId, threadId });
	await settled(sessionId, turnId);
	const completed = (await facts(sessionId, turnId, 'context.compaction.completed'))[0].payload;
	await restart();
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	const mine = threads.find((t) => t.threadId === threadId);
	assert.deepEqual(completed.preserved, { actionIds: [action.actionId], incidentIds: mine.incidents.map((i) => i.incidentId), artifactRefs: [], evidenceRefs: [] });
	assert.equal(mine.incidents.length, 1);
	assert.deepEqual(mine.contextBoundary.preserved, completed.preserved);
	const theirs = threads.find((t) => t.threadId === other.threadId);
	assert.deepEqual(theirs.pendingRequests.map((r) => r.actionId), [action.actionId]);
	assert.deepEqual(await facts(sessionId, asking, 'tool.started'), []);
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'allow' });
	const started = await waitFor(async () => (await facts(sessionId, asking, 'tool.started'))[0], 'the call');
	await ok(w.rt, 'report_tool_result', { toolCallId: started.toolCallId, output: 'done' });
});
