// What a child may do is never more than its parent may, and is on record: tools, permission, workspace; processes end with it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;
const run = (command, input) => ok(w.rt, command, input);
const log = async (sessionId) => (await readLog(w.rt, sessionId)).map((f) => f.event);
const get = async (sessionId, id) => (await run('list_subagents', { sessionId, depth: 'descendants' })).subagents.find((r) => r.subagentId === id);
const until = (sessionId, id, status) => waitFor(async () => ((r) => r?.status === status && r)(await get(sessionId, id)), () => `${id} ${status}`);
const parent = async (more = {}) => {
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]', more);
	return { sessionId, threadId, turnId };
};
const spawn = (p, objective, more = {}) => run('spawn_subagent', { ...p, objective, ...more });
const write = (name) => `[[tool write_file {"path":"${name}","content":"x"}]]`;
const alive = (words) => readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() === words;
	} catch {
		return false;
	}
});

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 300, 'subagents.tools': true } });
});

test('SA-02 SA-03 AN-45 a child with read-only tools cannot write, whatever its role is called; the isolation is a fact with and without an argument', async () => {
	const p = await parent();
	const free = await spawn(p, write('free.txt'));
	await until(p.sessionId, free.subagentId, 'completed');
	assert.ok(existsSync(join(workspace, 'free.txt')), 'without isolation it has the rights of its parent');
	const bound = await spawn(p, write('bound.txt'), { role: 'admin', nickname: 'root', isolation: { tool: 'read_only' } });
	await until(p.sessionId, bound.subagentId, 'completed');
	assert.ok(!existsSync(join(workspace, 'bound.txt')));
	const facts = await log(p.sessionId);
	const failed = facts.find((e) => e.type === 'tool.failed' && e.threadId === bound.childThreadId);
	assert.deepEqual([failed.payload.status, failed.payload.errorCategory], ['denied', 'permission_denied']);
	assert.match((await run('read_output', { outputRef: failed.payload.errorRef })).content, new RegExp(`${bound.subagentId}.*isolation is tool=read_only`));
	const spawned = facts.filter((e) => e.type === 'subagent.spawned').map((e) => e.payload.isolation);
	assert.deepEqual(spawned, [{ prompt: 'own', workspace: 'shared', worktree: 'shared', tool: 'inherit', permission: 'inherit', memory: 'own' },
		{ prompt: 'own', workspace: 'shared', worktree: 'shared', tool: 'read_only', permission: 'plan', memory: 'own' }]);
});

test('a child of a bound child is bound too: tools, mode and sandbox only get tighter', async () => {
	const p = await parent({ options: { mode: 'plan', tools: ['read_file', 'spawn_agent'] } });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...p, objective: 'x', isolation: { permission: 'bypass' } });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...p, objective: 'x', isolation: { tool: 'read_file,write_file' } });
	const child = await spawn(p, '[[hang]]');
	const r = await until(p.sessionId, child.subagentId, 'running');
	assert.deepEqual([r.options.mode, r.options.tools], ['plan', ['read_file', 'spawn_agent']]);
	const { threads: [thread] } = await run('get_thread_read', { sessionId: p.sessionId, threadId: child.childThreadId });
	const at = { sessionId: p.sessionId, threadId: child.childThreadId, turnId: thread.activeTurnId };
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...at, objective: 'x', isolation: { tool: 'write_file' } });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...at, objective: 'x', isolation: { permission: 'default' } });
	const grandchild = await spawn(at, write('grand.txt'), { isolation: { tool: 'inherit' } });
	await until(p.sessionId, grandchild.subagentId, 'completed');
	assert.ok(!existsSync(join(workspace, 'grand.txt')));
});

test('what cannot be had is refused, not replaced: worktree, prompt, memory, unknown words', async () => {
	const p = await parent();
	for (const isolation of [{ worktree: 'own' }, { prompt: 'inherit' }, { memory: 'shared' }, { workspace: 'copy' }, { tool: 'no_such_tool' }, { permission: 'loose' }]) {
		const { message } = await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...p, objective: 'x', isolation });
		assert.match(message, new RegExp(Object.keys(isolation)[0]));
	}
	assert.deepEqual((await run('list_subagents', { sessionId: p.sessionId })).subagents, []);
});

test('workspace read_only binds commands by the sandbox, none takes the files away', async () => {
	const p = await parent();
	const shell = '[[tool shell {"command":"touch by_shell.txt; echo done"}]]';
	const reader = await spawn(p, shell, { isolation: { workspace: 'read_only' } });
	await until(p.sessionId, reader.subagentId, 'completed');
	assert.ok(!existsSync(join(workspace, 'by_shell.txt')));
	const without = await spawn(p, shell, { isolation: { workspace: 'none' } });
	await until(p.sessionId, without.subagentId, 'completed');
	assert.ok(!existsSync(join(workspace, 'by_shell.txt')));
	const failed = (await log(p.sessionId)).find((e) => e.type === 'tool.failed' && e.threadId === without.childThreadId);
	assert.equal(failed.payload.status, 'denied');
});

test('SA-10 a child that waits for approval is blocked: the parent reads it in its own stream', async () => {
	const p = await parent({ options: { mode: 'untrusted' } });
	const child = await spawn(p, write('asked.txt'));
	await until(p.sessionId, child.subagentId, 'blocked');
	const facts = await log(p.sessionId);
	const blocked = facts.find((e) => e.type === 'subagent.status' && e.payload.status === 'blocked');
	assert.deepEqual([blocked.threadId, blocked.turnId, blocked.payload.reason], [p.threadId, p.turnId, 'waiting_permission']);
	const { actionId } = facts.find((e) => e.type === 'action.required');
	await run('respond_action', { actionId, decision: 'allow' });
	await until(p.sessionId, child.subagentId, 'completed');
});

test('SA-14 CP-35 a child with running processes: they end, then it is closed; none is left', async () => {
	const p = await parent();
	const child = await spawn(p, '[[tool shell {"command":"sleep 73.5 & sleep 74.5"}]]');
	await waitFor(() => alive('sleep 73.5').length > 0 && alive('sleep 74.5').length > 0, 'the commands');
	await run('close_subagent', { subagentId: child.subagentId, reason: 'enough' });
	await until(p.sessionId, child.subagentId, 'closed');
	assert.deepEqual([alive('sleep 73.5'), alive('sleep 74.5')], [[], []]);
	const facts = await log(p.sessionId);
	const at = (type, f) => facts.findIndex((e) => e.type === type && f(e));
	const closed = facts.find((e) => e.type === 'subagent.closed' && e.subagentId === child.subagentId);
	const terminated = at('process.terminated', (e) => e.threadId === child.childThreadId);
	assert.ok(terminated >= 0 && terminated < facts.indexOf(closed));
	assert.ok(closed.payload.resourcesReleased.includes(facts[terminated].processId), JSON.stringify(closed.payload));
});

test('AC-07 four children, one completes, one fails, one needs a person, one is closed: known from facts and wait_subagents alone', async () => {
	const p = await parent({ options: { mode: 'untrusted' } });
	const made = [];
	for (const objective of ['[[say good]]', '[[http 400]]', write('person.txt'), '[[hang]]']) made.push(await spawn(p, objective));
	const [good, bad, asks, closed] = made.map((c) => c.subagentId);
	await run('close_subagent', { subagentId: closed, reason: 'not needed' });
	const early = await run('wait_subagents', { subagentIds: [good, bad, asks, closed], mode: 'all', timeoutMs: 3000 });
	assert.deepEqual([early.timedOut, early.children.map((c) => c.status)], [true, ['completed', 'failed', 'blocked', 'closed']]);
	const facts = await log(p.sessionId);
	const last = (id) => facts.filter((e) => e.subagentId === id && e.type.startsWith('subagent.')).at(-1);
	assert.deepEqual([good, bad, asks, closed].map((id) => [last(id).type, last(id).payload.status]),
		[['subagent.completed', undefined], ['subagent.failed', undefined], ['subagent.status', 'blocked'], ['subagent.closed', undefined]]);
	for (const c of made) {
		const { payload } = facts.find((e) => e.type === 'subagent.spawned' && e.subagentId === c.subagentId);
		assert.deepEqual([payload.parentSessionId, payload.parentThreadId, payload.parentTurnId, payload.childThreadId], [p.sessionId, p.threadId, p.turnId, c.childThreadId]);
	}
	const { threads: [thread], subagentJobSummary } = await run('get_thread_read', { sessionId: p.sessionId, threadId: p.threadId });
	assert.deepEqual(thread.subagents.map((r) => r.subagentId).sort(), [good, bad, asks, closed].sort());
	assert.deepEqual([subagentJobSummary.counts.completed, subagentJobSummary.counts.failed, subagentJobSummary.counts.blocked, subagentJobSummary.counts.closed], [1, 1, 1, 1]);
	const { actionId } = facts.find((e) => e.type === 'action.required' && e.threadId === made[2].childThreadId);
	await run('respond_action', { actionId, decision: 'allow' });
	const late = await run('wait_subagents', { subagentIds: [asks], timeoutMs: 20000 });
	assert.deepEqual([late.timedOut, late.children[0].status], [false, 'completed']);
});

test('HI-04 a rollback over a turn with a child and an artifact: both are listed as affected, with the calls, the target, what survives and the repair', async () => {
	const { sessionId, threadId, turnId: first } = await submit(w.rt, 'before');
	const ended = (id) => waitFor(async () => (await log(sessionId)).find((e) => e.turnId === id && e.type === 'turn.completed'), 'the end of the turn');
	await ended(first);
	const { turnId } = await run('submit_turn', { sessionId, text: `[[tool spawn_agent {"objective":"look"}]]${write('rolled.txt')}` });
	await ended(turnId);
	const [child] = (await run('list_subagents', { sessionId })).subagents;
	const before = await log(sessionId), of = (type) => before.filter((e) => e.type === type && e.turnId === turnId);
	const [artifact] = of('artifact.changed');
	await run('rollback_thread', { sessionId, threadId, target: { turnId: first }, reason: 'again' });
	const { payload } = (await log(sessionId)).find((e) => e.type === 'history.rollback.completed');
	assert.deepEqual(payload.affected, { tools: of('tool.started').map((e) => e.toolCallId), artifacts: [artifact.artifactId], subagents: [child.subagentId], jobs: [] });
	assert.deepEqual([payload.removedTurnIds, payload.target], [[turnId], { turnId: first }]);
	assert.ok(JSON.parse((await run('read_output', { outputRef: payload.survivingBaselineRef })).content));
	assert.match((await run('read_output', { outputRef: payload.readModelRepairRef })).content, new RegExp(turnId));
	assert.ok((await get(sessionId, child.subagentId)).status === 'completed' && existsSync(join(workspace, 'rolled.txt')), 'both stay');
});
