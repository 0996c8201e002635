// Child agents of a model: spawn_agent, send_input, wait_agents, close_agent; what its conversation gets, limits, and kill -9 in between.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';

const CONFIG = { 'subagents.tools': true, 'model.backoff_ms': 20, 'subagents.max_running': 4 };
let w;
const run = (command, input) => ok(w.rt, command, input);
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const list = async (sessionId) => (await run('list_subagents', { sessionId, depth: 'descendants' })).subagents;
/** A directive inside the arguments of another one. */
const inner = (text) => JSON.stringify(text).replaceAll(']', '\\u005d').slice(1, -1);
const spawnCall = (objective, more = '') => `[[tool spawn_agent {"objective":"${inner(objective)}"${more}}]]`;
const ended = (sessionId, turnId) => waitFor(async () => (await log(sessionId)).find((e) => e.turnId === turnId && ['turn.completed', 'turn.failed'].includes(e.type)), 'the end of the turn');
const results = async (sessionId, turnId) => (await log(sessionId)).filter((e) => e.turnId === turnId && ['tool.result', 'tool.failed'].includes(e.type));

async function restart() {
	await w.rt.kill9();
	w.rt = await w.again();
}

before(async () => {
	w = await world({ config: CONFIG });
});

test('a model hands work to three agents at once: each in its thread, the parent gets their last words', async () => {
	const { sessionId, turnId } = await submit(w.rt, spawnCall('[[say one]]') + spawnCall('[[say two]]') + spawnCall('[[http 400]]'));
	assert.equal((await ended(sessionId, turnId)).type, 'turn.completed');
	const children = await list(sessionId);
	assert.deepEqual(children.map((r) => r.status), ['completed', 'completed', 'failed']);
	assert.equal(new Set(children.map((r) => r.childThreadId)).size, 3);
	const [a, b, c] = await results(sessionId, turnId);
	const texts = (await results(sessionId, turnId)).map((e) => e.payload.preview).sort();
	assert.ok(texts.some((t) => t.includes('completed:\none')) && texts.some((t) => t.includes('completed:\ntwo')) && texts.some((t) => /failed \(invalid_request\)/.test(t)), texts.join('|'));
	assert.deepEqual([a, b, c].map((e) => e.type), ['tool.result', 'tool.result', 'tool.result']);
	const facts = await log(sessionId);
	const phases = facts.filter((e) => e.type === 'run.status' && e.payload.phase === 'waiting_subagents');
	assert.deepEqual(phases.map((e) => [e.turnId, e.payload.metadata.subagentIds.length]), [[turnId, 1], [turnId, 1], [turnId, 1]]);
	const started = facts.filter((e) => e.type === 'tool.started' && e.turnId === turnId);
	assert.ok(started.every((e) => e.payload.runtimeOwner === 'subagent'));
	assert.deepEqual(children.map((r) => r.toolCallId), started.map((e) => e.toolCallId));
	assert.ok(facts.filter((e) => e.type === 'task.profile.resolved').some((e) => e.payload.source === 'subagent'), 'MR-02');
});

test('kill -9 while it waits: the call is not lost, the child goes on, one result, no second child', async () => {
	const asked = w.model.count().total;
	const { sessionId, turnId } = await submit(w.rt, spawnCall('[[fail-times 1 hang]][[say late words]]'));
	await waitFor(async () => (await list(sessionId))[0]?.status === 'running', 'the child');
	await waitFor(() => w.model.count().total > asked + 1, 'the request that hangs'); // of the child, behind that of its parent
	await restart();
	assert.equal((await ended(sessionId, turnId)).type, 'turn.completed');
	assert.equal((await list(sessionId)).length, 1);
	const all = await results(sessionId, turnId);
	assert.deepEqual(all.map((e) => e.type), ['tool.result']);
	assert.match(all[0].payload.preview, /late words/);
	const attempts = (await log(sessionId)).filter((e) => e.type === 'task.attempt.started' && e.turnId === turnId);
	assert.equal(attempts.length, 1, 'a parent that only waits lost nothing');
});

test('in the background: wait_agents brings the first end, send_input another answer, close_agent the end', async () => {
	const key = /sess_(.*)/;
	const { sessionId } = await run('create_session', {});
	const id = (n) => `sub_${key.exec(sessionId)[1]}_${n}`;
	const script = [spawnCall('[[hang]]', ',"background":true') + spawnCall('[[say first words]]', ',"background":true,"nickname":"Bo"'),
		`[[tool wait_agents {"agents":["${id(1)}","${id(2)}"],"mode":"any"}]]`,
		`[[tool send_input {"agent":"${id(2)}","text":"${inner('[[say more words]]')}"}]]`,
		`[[tool wait_agents {"agents":["${id(1)}"],"timeout_ms":100}]]`,
		`[[tool close_agent {"agent":"${id(1)}"}]]`, '[[say all done]]'].join('[[then]]');
	const { turnId } = await submit(w.rt, script, { sessionId });
	assert.equal((await ended(sessionId, turnId)).type, 'turn.completed');
	const texts = (await results(sessionId, turnId)).map((e) => e.payload.preview);
	assert.match(texts[0] + texts[1], /works in the background/);
	assert.match(texts[2], /_1\] is running[\s\S]*completed:\nfirst words/);
	assert.match(texts[3], /more words/);
	assert.match(texts[4], /is running[\s\S]*time of this wait is over/);
	assert.match(texts[5], /is closed/);
	assert.deepEqual((await list(sessionId)).map((r) => [r.status, r.nickname]), [['closed', ''], ['completed', 'Bo']]);
});

test('a model reaches only agents of its own, and no other session', async () => {
	const other = await submit(w.rt, spawnCall('[[say secret words]]'));
	await ended(other.sessionId, other.turnId);
	const [foreign] = await list(other.sessionId);
	const { sessionId, turnId } = await submit(w.rt, `[[tool wait_agents {"agents":["${foreign.subagentId}"]}]][[tool close_agent {"agent":"${foreign.subagentId}"}]]`);
	await ended(sessionId, turnId);
	assert.deepEqual((await results(sessionId, turnId)).map((e) => [e.type, e.payload.errorCategory]), [['tool.failed', 'subagent_not_found'], ['tool.failed', 'subagent_not_found']]);
	assert.equal((await list(other.sessionId))[0].status, 'completed');
	const nested = await submit(w.rt, spawnCall(`[[tool close_agent {"agent":"${foreign.subagentId}"}]]`), { sessionId: other.sessionId });
	await ended(other.sessionId, nested.turnId);
	assert.equal((await list(other.sessionId))[0].status, 'completed', 'a child does not reach its siblings');
});

test('agents nest as deep as the settings say; the one at the limit is refused in words', async () => {
	const deep = spawnCall(spawnCall(spawnCall(spawnCall('[[say never]]'))));
	const { sessionId, turnId } = await submit(w.rt, deep);
	await ended(sessionId, turnId);
	const children = await list(sessionId);
	assert.deepEqual(children.map((r) => [r.depth, r.status]), [[1, 'completed'], [2, 'completed'], [3, 'completed']]);
	const refusals = (await log(sessionId)).filter((e) => e.type === 'tool.failed').map((e) => e.payload.errorCategory);
	assert.deepEqual(refusals, ['depth_limit']);
});

test('a parent in a chain leaves its place: more waiting parents than places do not block each other', async () => {
	const turns = [];
	for (let i = 0; i < 4; i++) turns.push(await submit(w.rt, spawnCall(spawnCall('[[first 50]][[say leaf]]')) + spawnCall(spawnCall('[[say leaf]]')), turns[0] ? { sessionId: turns[0].sessionId, createPolicy: { thread: 'new' } } : {}));
	for (const t of turns) assert.equal((await ended(t.sessionId, t.turnId)).type, 'turn.completed');
	assert.equal((await list(turns[0].sessionId)).filter((r) => r.status === 'completed').length, 16);
});

test('an interruption ends the call and the child; nothing of it runs on', async () => {
	const { sessionId, turnId } = await submit(w.rt, spawnCall('[[hang]]'));
	await waitFor(async () => (await list(sessionId))[0]?.status === 'running', 'the child');
	await run('interrupt_turn', { sessionId, reason: 'stop' });
	assert.equal((await ended(sessionId, turnId)).payload.status, 'cancelled');
	await waitFor(async () => (await list(sessionId))[0].status === 'cancelled', 'the child ends too');
});

test('a child that ends without having run: the call that waits for it is answered', async () => {
	const p = await submit(w.rt, '[[hang]]');
	for (let i = 0; i < 4; i++) await run('spawn_subagent', { sessionId: p.sessionId, threadId: p.threadId, turnId: p.turnId, objective: '[[hang]]' });
	const { turnId } = await submit(w.rt, spawnCall('never'), { sessionId: p.sessionId, createPolicy: { thread: 'new' } });
	const queued = await waitFor(async () => (await list(p.sessionId)).find((r) => r.status === 'queued'), 'a child without a place');
	const child = (await log(p.sessionId)).find((e) => e.type === 'turn.submitted' && e.threadId === queued.childThreadId);
	await run('remove_queued_turn', { sessionId: p.sessionId, turnId: child.turnId, reason: 'no' });
	assert.equal((await ended(p.sessionId, turnId)).type, 'turn.completed');
	assert.match((await results(p.sessionId, turnId))[0].payload.preview, /is cancelled: no/);
});
