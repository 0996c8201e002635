// Child agents by commands: their record, facts, isolation, limits, ends; read before and after a kill -9.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

let w;
const run = (command, input) => ok(w.rt, command, input);
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const of = async (sessionId, id, ...types) => (await log(sessionId)).filter((e) => e.subagentId === id && (types.length === 0 || types.includes(e.type)));
const list = async (input) => (await run('list_subagents', input)).subagents;
const get = async (sessionId, id) => (await list({ sessionId, depth: 'descendants' })).find((r) => r.subagentId === id);
const until = (sessionId, id, status) => waitFor(async () => ((r) => r?.status === status && r)(await get(sessionId, id)), () => `${id} ${status}`);

/** A turn that waits for its model for ever: a parent that is at work. */
const parent = async (more = {}) => {
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]', more);
	return { sessionId, threadId, turnId };
};
const spawn = (p, objective, more = {}) => run('spawn_subagent', { ...p, objective, ...more });

async function restart(more) {
	await w.rt.kill9();
	w.rt = await w.again(more);
}

before(async () => {
	w = await world({ config: { 'model.backoff_ms': 20, 'subagents.max_running': 4 } });
});

// ---- making ----

test('SA-01 SA-09 SA-12 SA-15 ID-10 CP-31 a child has its record and its own thread; the facts link it to its parent', async () => {
	const p = await parent();
	const made = await spawn(p, '[[say the result]]', { role: 'reader', nickname: 'Ada' });
	const r = await until(p.sessionId, made.subagentId, 'completed');
	assert.deepEqual([r.parentSessionId, r.parentThreadId, r.parentTurnId, r.childThreadId, r.role, r.nickname, r.depth],
		[p.sessionId, p.threadId, p.turnId, made.childThreadId, 'reader', 'Ada', 1]);
	assert.equal(made.subagentId, `sub_${p.sessionId.slice(5)}_1`);
	const facts = await log(p.sessionId);
	const at = (type, f = (e) => e.subagentId === made.subagentId) => facts.findIndex((e) => e.type === type && f(e));
	const spawned = facts[at('subagent.spawned')];
	assert.deepEqual([spawned.threadId, spawned.turnId, spawned.payload.parentSessionId, spawned.payload.parentThreadId, spawned.payload.parentTurnId, spawned.payload.childThreadId],
		[p.threadId, p.turnId, p.sessionId, p.threadId, p.turnId, made.childThreadId]);
	const started = facts.find((e) => e.type === 'thread.started' && e.threadId === made.childThreadId);
	assert.deepEqual([started.payload.reason, started.payload.subagentId, started.payload.parentTurnId], ['delegate', made.subagentId, p.turnId]);
	const own = (e) => e.threadId === made.childThreadId;
	const order = [at('subagent.spawned'), at('task.delegated'), at('task.dependency.updated'), at('subagent.input'), at('turn.submitted', own), at('turn.started', own),
		at('turn.completed', own), at('subagent.output'), at('subagent.completed')];
	assert.deepEqual(order, [...order].sort((a, b) => a - b), 'edge and input before the child runs, its end after the end of its turn');
	assert.ok(!order.includes(-1), `${order}`);
	const completed = facts[at('subagent.completed')];
	const { content } = await run('read_output', { outputRef: completed.payload.resultRef });
	assert.match(content, /the result/);
	assert.equal(facts[at('subagent.output')].payload.summary.trim(), 'the result');
	assert.equal(facts[at('subagent.input')].payload.inputRef, facts[at('turn.submitted', own)].payload.inputRef);
	for (const e of facts.filter((f) => f.type.startsWith('subagent.')))
		assert.deepEqual([e.sessionId, e.threadId, e.turnId], [p.sessionId, p.threadId, p.turnId], `PF-12 ${e.type}`);
});

test('CP-31 a repeat with the id or the key is the same child; the same id with another body is refused', async () => {
	const p = await parent();
	const subagentId = `sub_${p.sessionId.slice(5)}_mine`;
	const first = await spawn(p, '[[say x]]', { subagentId });
	assert.deepEqual(await spawn(p, '[[say x]]', { subagentId }), first);
	await refused(w.rt, 'id_conflict', 'spawn_subagent', { ...p, objective: 'y', subagentId });
	const second = await spawn(p, '[[say x]]', { idempotencyKey: 'k' });
	assert.deepEqual(await spawn(p, '[[say x]]', { idempotencyKey: 'k' }), second);
	assert.equal((await list({ sessionId: p.sessionId })).length, 2);
	await refused(w.rt, 'invalid_input', 'spawn_subagent', { ...p, objective: 'y', subagentId: 'mine' });
});

test('CP-31 refusals: no such parent, a parent that is cancelled, too deep', async () => {
	const p = await parent();
	await refused(w.rt, 'parent_not_found', 'spawn_subagent', { ...p, turnId: 'turn_x', objective: 'x' });
	let at = p;
	for (let depth = 1; depth <= 3; depth++) {
		const child = await spawn(at, '[[hang]]');
		const r = await until(p.sessionId, child.subagentId, 'running');
		assert.equal(r.depth, depth);
		const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: child.childThreadId });
		at = { sessionId: p.sessionId, threadId: child.childThreadId, turnId: thread.activeTurnId };
	}
	await refused(w.rt, 'depth_limit', 'spawn_subagent', { ...at, objective: 'x' });
	const direct = await list({ threadId: p.threadId });
	const all = await list({ threadId: p.threadId, depth: 'descendants' });
	assert.deepEqual([direct.length, all.length], [1, 3], 'CP-44');
	assert.deepEqual((await list({ subagentId: direct[0].subagentId })).map((r) => r.parentId), [direct[0].subagentId]);
	assert.equal((await list({ subagentId: direct[0].subagentId, depth: 'descendants' })).length, 2);
	await restart();
	assert.deepEqual((await list({ threadId: p.threadId, depth: 'descendants' })).map((r) => r.subagentId), all.map((r) => r.subagentId), 'SA-06 AN-43');
	await run('interrupt_turn', { ...p, reason: 'enough' });
	await refused(w.rt, 'parent_cancelling', 'spawn_subagent', { ...p, objective: 'x' });
});

// ---- input ----

test('SA-11 CP-32 input as text and as JSON: each one turn of the child, its fact first; a repeat adds nothing', async () => {
	const p = await parent();
	const { subagentId, childThreadId } = await spawn(p, '[[say one]]');
	await until(p.sessionId, subagentId, 'completed');
	const text = { subagentId, input: '[[say two]]', idempotencyKey: 'a' };
	const json = { subagentId, input: { city: 'Bern', days: 3 }, turnId: 'own-turn' };
	const sent = [await run('send_subagent_input', text), await run('send_subagent_input', json)];
	assert.deepEqual([await run('send_subagent_input', text), await run('send_subagent_input', json)], sent);
	assert.equal(sent[1].childTurnId, 'own-turn');
	await waitFor(async () => (await of(p.sessionId, subagentId, 'subagent.completed')).length >= 2, 'both are done');
	const facts = await log(p.sessionId);
	const inputs = facts.filter((e) => e.type === 'subagent.input' && e.subagentId === subagentId);
	const turns = facts.filter((e) => e.type === 'turn.submitted' && e.threadId === childThreadId);
	assert.deepEqual(inputs.map((e) => e.payload.inputKind), ['text', 'text', 'structured']);
	assert.deepEqual(inputs.map((e) => e.payload.inputRef), turns.map((e) => e.payload.inputRef));
	inputs.forEach((e, i) => assert.ok(e.sequence < turns[i].sequence));
	assert.match((await run('read_output', { outputRef: inputs[2].payload.inputRef })).content, /Bern/);
});

test('SA-04 a child that inherits its model may not have another; options cannot be put past it', async () => {
	const p = await parent({ options: { model: 'small' } });
	await refused(w.rt, 'policy_denied', 'spawn_subagent', { ...p, objective: 'x', modelPolicy: { inherit: true, model: 'large' } });
	const other = await spawn(p, '[[say x]]', { modelPolicy: { model: 'large' } });
	const child = await spawn(p, '[[hang]]');
	const r = await until(p.sessionId, child.subagentId, 'running');
	assert.deepEqual([r.modelPolicy, r.options.model], [{ inherit: true, model: 'small' }, 'small']);
	assert.equal((await get(p.sessionId, other.subagentId)).modelPolicy.inherit, false);
	const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: child.childThreadId });
	const inner = { sessionId: p.sessionId, threadId: child.childThreadId, turnId: thread.activeTurnId };
	const { message } = await refused(w.rt, 'policy_denied', 'spawn_subagent', { ...inner, objective: 'x', modelPolicy: { model: 'large' } });
	assert.match(message, /inherit/);
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId: p.sessionId, threadId: child.childThreadId, text: 'x', options: { model: 'large' } });
});

// ---- status ----

test('SA-05 SA-10 SA-13 CP-33 AC-07 four children: outcome by facts and wait_subagents alone', async () => {
	const p = await parent();
	const good = await spawn(p, '[[say good]]');
	const bad = await spawn(p, '[[http 400]]');
	const held = await spawn(p, '[[hang]]');
	const closed = await spawn(p, '[[hang]]');
	await run('close_subagent', { subagentId: closed.subagentId, reason: 'not needed' });
	const ids = [good, bad, held, closed].map((c) => c.subagentId);
	const { children, timedOut } = await run('wait_subagents', { subagentIds: ids.slice(0, 2).concat(ids[3]), mode: 'all', timeoutMs: 10000 });
	assert.deepEqual([children.map((c) => c.status), timedOut], [['completed', 'failed', 'closed'], false]);
	assert.ok(children[0].resultRef);
	assert.equal(children[1].error.category, 'invalid_request');
	const [failed] = await of(p.sessionId, bad.subagentId, 'subagent.failed');
	assert.equal(failed.payload.error.category, 'invalid_request');
	assert.deepEqual(await of(p.sessionId, bad.subagentId, 'subagent.completed'), []);
	await refused(w.rt, 'subagent_closed', 'send_subagent_input', { subagentId: closed.subagentId, input: 'x' });
	await refused(w.rt, 'subagent_not_found', 'send_subagent_input', { subagentId: `sub_${p.sessionId.slice(5)}_99`, input: 'x' });
	assert.deepEqual((await list({ sessionId: p.sessionId, status: 'running' })).map((r) => r.subagentId), [held.subagentId]);
});

test('OPEN-36 CP-33 any ends with the first, all with the time; waiting leaves no fact', async () => {
	const p = await parent();
	const slow = await spawn(p, '[[hang]]');
	const quick = [await spawn(p, '[[first 200]][[say a]]'), await spawn(p, '[[say b]]')];
	const ids = [slow, ...quick].map((c) => c.subagentId);
	const any = await run('wait_subagents', { subagentIds: ids, mode: 'any', timeoutMs: 20000 });
	assert.equal(any.timedOut, false);
	assert.equal(any.children.find((c) => c.subagentId === slow.subagentId).status, 'running');
	for (const c of quick) await until(p.sessionId, c.subagentId, 'completed');
	const head = (await run('get_session', { sessionId: p.sessionId })).asOfSequence;
	const all = await run('wait_subagents', { subagentIds: ids, mode: 'all', timeoutMs: 300 });
	assert.deepEqual([all.timedOut, all.children.map((c) => c.status)], [true, ['running', 'completed', 'completed']]);
	assert.equal((await run('get_session', { sessionId: p.sessionId })).asOfSequence, head, 'nothing was recorded');
	await refused(w.rt, 'subagent_not_found', 'wait_subagents', { subagentIds: [ids[0], `sub_${p.sessionId.slice(5)}_99`] });
});

test('SA-05 more children than may run wait, and begin when there is a place; all seven words', async () => {
	const p = await parent();
	const made = [];
	for (let i = 0; i < 6; i++) made.push(await spawn(p, '[[hang]]'));
	assert.deepEqual(made.map((c) => c.status), ['running', 'running', 'running', 'running', 'queued', 'queued']);
	await restart({ config: { 'model.backoff_ms': 20, 'subagents.max_running': 4 } });
	await run('close_subagent', { subagentId: made[0].subagentId });
	await until(p.sessionId, made[4].subagentId, 'running');
	assert.equal((await get(p.sessionId, made[5].subagentId)).status, 'queued');
	await run('close_subagent', { subagentId: made[5].subagentId });
	const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: made[1].childThreadId });
	await run('interrupt_turn', { sessionId: p.sessionId, turnId: thread.activeTurnId, reason: 'stop it' });
	await until(p.sessionId, made[1].subagentId, 'cancelled');
	assert.deepEqual((await list({ sessionId: p.sessionId })).map((r) => r.status), ['closed', 'cancelled', 'running', 'running', 'running', 'closed']);
});

// ---- after a crash ----

test('SA-07 CP-34 OPEN-34 OPEN-35 kill -9 with a live child: blocked and lost, no end; resume_subagent goes on in its thread', async () => {
	const quiet = { config: { 'model.backoff_ms': 20, 'recovery.auto_resume': false } };
	await restart(quiet);
	const p = await parent();
	const { subagentId, childThreadId } = await spawn(p, '[[fail-times 1 hang]][[say after all]]');
	await until(p.sessionId, subagentId, 'running');
	await restart(quiet);
	const r = await until(p.sessionId, subagentId, 'blocked');
	assert.deepEqual([r.statusReason, r.statusDetail], ['lost', 'lost']);
	assert.deepEqual(await of(p.sessionId, subagentId, 'subagent.completed', 'subagent.failed'), []);
	const layers = (await log(p.sessionId)).find((e) => e.type === 'history.reconstructed').payload.layers;
	assert.equal(layers.subagents, 'restored', 'HI-06 HI-10');
	const summary = (await run('get_session', { sessionId: p.sessionId })).subagentJobSummary;
	assert.deepEqual([summary.counts.blocked, summary.recoverability[subagentId]], [1, 'resume_subagent'], 'RM-22');
	const head = (await run('get_session', { sessionId: p.sessionId })).asOfSequence;
	const resumed = await run('resume_subagent', { subagentId, reason: 'again' });
	assert.deepEqual([resumed.subagentId, resumed.childThreadId, resumed.status], [subagentId, childThreadId, 'running']);
	await until(p.sessionId, subagentId, 'completed');
	const later = (await log(p.sessionId)).filter((e) => e.sequence > head);
	const back = later.findIndex((e) => e.type === 'history.reconstructed' && e.threadId === childThreadId);
	const status = later.findIndex((e) => e.type === 'subagent.status' && e.payload.status === 'running' && e.payload.reason === 'resumed');
	assert.ok(back >= 0 && back < status, `${back} ${status}`);
	assert.equal((await run('resume_subagent', { subagentId })).status, 'completed', 'nothing to resume');
	await restart();
});

test('SA-07 with automatic recovery the loss and the return are facts, and the child ends', async () => {
	const p = await parent();
	const { subagentId } = await spawn(p, '[[fail-times 1 hang]][[say after all]]');
	await until(p.sessionId, subagentId, 'running');
	await restart();
	await until(p.sessionId, subagentId, 'completed');
	const words = (await of(p.sessionId, subagentId, 'subagent.status')).map((e) => [e.payload.status, e.payload.reason]);
	assert.deepEqual(words, [['running', 'turn_started'], ['blocked', 'lost'], ['running', 'resumed']]);
});

// ---- ends ----

test('CP-35 SA-14 AN-42 a closed child: its turn ends first, a repeat does nothing, its thread stays readable', async () => {
	const p = await parent();
	const done = await spawn(p, '[[say kept words]]');
	await until(p.sessionId, done.subagentId, 'completed');
	const live = await spawn(p, '[[hang]]');
	const inner = await run('get_thread_read', { sessionId: p.sessionId, threadId: live.childThreadId });
	const grandchild = await spawn({ sessionId: p.sessionId, threadId: live.childThreadId, turnId: inner.threads[0].activeTurnId }, '[[hang]]');
	for (const c of [done, live]) await run('close_subagent', { subagentId: c.subagentId, reason: 'over' });
	await until(p.sessionId, live.subagentId, 'closed');
	const facts = await log(p.sessionId);
	const at = (type, f) => facts.findIndex((e) => e.type === type && f(e));
	const [closed] = await of(p.sessionId, live.subagentId, 'subagent.closed');
	assert.deepEqual([closed.payload.closedBy, closed.payload.reason], ['parent', 'over']);
	assert.ok(closed.payload.resourcesReleased.includes(grandchild.subagentId) && closed.payload.resourcesReleased.length === 2, JSON.stringify(closed.payload));
	assert.ok(at('subagent.closed', (e) => e.subagentId === grandchild.subagentId) < at('subagent.closed', (e) => e.subagentId === live.subagentId), 'children first');
	assert.ok(at('turn.failed', (e) => e.threadId === live.childThreadId && e.payload.status === 'cancelled') < at('subagent.closed', (e) => e.subagentId === live.subagentId));
	const head = (await run('get_session', { sessionId: p.sessionId })).asOfSequence;
	assert.equal((await run('close_subagent', { subagentId: live.subagentId })).status, 'closed');
	assert.equal((await run('get_session', { sessionId: p.sessionId })).asOfSequence, head);
	await restart();
	const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: done.childThreadId });
	assert.equal(thread.turns[0].steps[0].preview.trim(), 'kept words');
	const kept = await get(p.sessionId, done.subagentId);
	assert.match((await run('read_output', { outputRef: kept.resultRef })).content, /kept words/);
});

test('an interrupted parent takes its children along, and lists them; HI-04 a rollback names them', async () => {
	const p = await parent();
	const child = await spawn(p, '[[hang]]');
	await until(p.sessionId, child.subagentId, 'running');
	const { affected } = await run('interrupt_turn', { sessionId: p.sessionId, reason: 'stop' });
	assert.deepEqual(affected.subagents, [child.subagentId]);
	await until(p.sessionId, child.subagentId, 'cancelled');
	await waitFor(async () => (await log(p.sessionId)).some((e) => e.type === 'turn.failed' && e.turnId === p.turnId), 'the parent');
	await run('rollback_thread', { sessionId: p.sessionId, threadId: p.threadId, target: { sequence: 0 }, reason: 'again' });
	const rolled = (await log(p.sessionId)).find((e) => e.type === 'history.rollback.completed');
	assert.deepEqual(rolled.payload.affected.subagents, [child.subagentId]);
});

// ---- tasks ----

test('SA-08 TK-44 AN-28 CP-17 TK-16 a child in a task: the edge before it runs; cancelled with the task, or not', async () => {
	const p = await parent();
	for (const propagation of [undefined, ['children']]) {
		const { taskId } = await run('create_task', { sessionId: p.sessionId, objective: 'whole' });
		await run('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
		const child = await spawn(p, '[[hang]]', { taskId });
		await until(p.sessionId, child.subagentId, 'running');
		const facts = await log(p.sessionId);
		const delegated = facts.find((e) => e.type === 'task.delegated' && e.taskId === taskId);
		assert.deepEqual([delegated.payload.delegateKind, delegated.payload.targetId, delegated.payload.edge.kind], ['subagent', child.subagentId, 'spawned_subagent']);
		assert.ok(delegated.sequence < facts.find((e) => e.type === 'turn.started' && e.threadId === child.childThreadId).sequence);
		assert.ok((await run('get_task', { taskId })).relationships.some((e) => e.kind === 'spawned_subagent' && e.targetId === child.subagentId));
		const { targets } = await run('cancel_task', { taskId, reason: 'no more', ...(propagation ? { propagation } : {}) });
		await waitFor(async () => (await run('get_task', { taskId })).status === 'cancelled', 'the task');
		if (propagation) {
			assert.equal((await get(p.sessionId, child.subagentId)).status, 'running', 'not meant');
			continue;
		}
		assert.deepEqual(targets.filter((t) => t.kind === 'subagent').map((t) => t.id), [child.subagentId]);
		const after = await log(p.sessionId);
		const at = (type, f) => after.find((e) => e.type === type && f(e)).sequence;
		assert.ok(at('task.cancel_requested', (e) => e.taskId === taskId) < at('subagent.closed', (e) => e.subagentId === child.subagentId));
		assert.ok(at('subagent.closed', (e) => e.subagentId === child.subagentId) < at('task.cancelled', (e) => e.taskId === taskId));
	}
});
