// `agentctl verify-pack` finds ids that join nothing: in a log that was really stored so, and in packs of another exporter that are whole and signed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { rewrite, rowsOf } from '../lib/damage.mjs';
import { ended, pending, seen, tools } from '../lib/gate.mjs';
import { bin, newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { download, signed } from './packs.mjs';

const shell = (args) => `[[tool shell ${JSON.stringify(args)}]]`;
let w, rich, whole, lines;

const run = (command, input) => ok(w.rt, command, input);
const turn = async (text, more) => {
	const receipt = await submit(w.rt, text, more);
	await ended(w.rt, receipt.sessionId, receipt.turnId);
	return receipt;
};
const packOf = async (scope, rt = w.rt) => download(rt, (await ok(rt, 'export_evidence', { redactionPolicy: 'without_contents', ...scope })).packRef);
const verify = (folder, ...args) => spawnSync(join(bin, 'agentctl'), ['verify-pack', folder, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
const linesOf = (folder) => readFileSync(join(folder, 'events.ndjson'), 'utf8').split('\n').filter(Boolean);

/** What is said of the pack with other facts. */
function verdict(pack, facts) {
	const folder = signed(pack, facts), said = verify(folder);
	rmSync(folder, { recursive: true });
	return said;
}

/** The facts with the one at this place changed. */
const changed = (facts, at, change) => facts.with(at, JSON.stringify(change(JSON.parse(facts[at]))));

before(async () => {
	const folder = newFolder(), root = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(root);
	if (process.getuid() === 0) chownSync(root, 1000, 1000);
	w = await world({ config: { 'tools.workspace': root, 'permission.may_loosen': true, 'session.snapshot_every': 1000000, hooks: [{ name: 'watch', point: 'pre_tool_use', match: 'shell', command: `echo '{}'` }] } });
	const first = await turn(`${shell({ command: 'seq 1 40000' })}[[then]][[tool no_such_tool {"a":1}]]`, { options: { mode: 'bypass' } }), { sessionId, threadId } = first;
	await turn('[[fail-times 1 http 429 retry-after=0]] again', { sessionId });
	await run('connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'permissions'] });
	const declare = (more) => run('create_task', { sessionId, threadId, objective: 'a part', ...more });
	const task = await declare({ title: 'The whole' }), part = await declare({ parentTaskId: task.taskId, constraints: { retryPolicy: { maxAttempts: 3 } } });
	const { runId } = await run('start_task', { taskId: part.taskId, worker: { kind: 'worker', id: 'w' } });
	await run('fail_task', { taskId: part.taskId, runId, error: { category: 'x', message: 'no', retryable: true } });
	await run('retry_task', { taskId: part.taskId, retryReason: 'again', worker: { kind: 'worker', id: 'w' } });
	await run('start_task', { taskId: (await declare({ title: 'An agent does it' })).taskId, worker: { kind: 'agent' } });
	const asked = await submit(w.rt, '[[tool write {"q":"x"}]]', { sessionId, options: { tools: Object.values(tools), mode: 'default' } });
	const [action] = await pending(w.rt, sessionId);
	await run('spawn_subagent', { sessionId, threadId, turnId: asked.turnId, objective: 'look around' });
	await seen(w.rt, sessionId, 'subagent.completed');
	const { jobId } = await run('create_job', { sessionId, instruction: 'Say it.', input: 'a\nb\n' });
	await waitFor(async () => (await run('get_job', { jobId })).status === 'completed', 'the end of the job');
	await run('respond_action', { actionId: action.actionId, decision: 'deny' });
	await ended(w.rt, sessionId, asked.turnId);
	await run('record_evidence', { sessionId, turnId: first.turnId, kind: 'review', source: 'Ada', note: 'looked at it' });
	await waitFor(async () => (await run('get_session', { sessionId })).status === 'idle', 'rest');
	rich = { sessionId, threadId, jobId, turnId: first.turnId, taskId: task.taskId };
	whole = await packOf({ sessionId });
	lines = linesOf(whole);
});

test('PF-15 a sound pack has no id that joins nothing; one of a part of a session says what only a pack of the session shows', async () => {
	const said = verify(whole);
	assert.deepEqual([said.status, said.stderr], [0, ''], said.stderr);
	assert.match(said.stdout, /^ids: each joins a fact$/m);
	const { sessionId, turnId, threadId, taskId, jobId } = rich;
	for (const [scope, word] of [[{ sessionId }, 'session'], [{ turnId }, 'turn'], [{ turnId, threadId }, 'turn'], [{ threadId }, 'none'], [{ taskId }, 'none'], [{ jobId }, 'none']]) {
		const part = verify(await packOf(scope), '--json');
		assert.deepEqual([part.status, part.stderr, JSON.parse(part.stdout || '{}').joined], [0, '', word], JSON.stringify(scope) + part.stderr);
	}
});

const JOINED = /^(thread|turn|task|run|attempt|parentTask|rootTask|step|toolCall|action|subagent|process|channel|job|jobItem|modelRequest)Id$/;
// These facts tell an id first, whatever it is (catalog/scopes.cat): no other one shows that it was changed here.
const FIRST = ['turn.submitted taskId', 'task.attempt.started turnId', 'tool.catalog.resolved stepId', 'tool.catalog.resolved toolCallId', 'permission.evaluated actionId', 'sandbox.applied processId',
	'task.retrying runId', 'task.retrying attemptId', 'evidence.changed turnId'];
// These introduce an id: the facts that carry the one it had join nothing any more.
const INTRODUCING = ['thread.started threadId', 'turn.submitted turnId', 'task.created taskId', 'task.attempt.started runId', 'task.attempt.started attemptId', 'model.requested stepId', 'model.requested modelRequestId',
	'process.started processId', 'channel.connected channelId', 'action.required actionId', 'subagent.spawned subagentId', 'job.created jobId', 'job.item.started jobItemId'];

test('PF-15 an id of a fact of any family that joins nothing is named with its fact', () => {
	const facts = lines.map((l) => JSON.parse(l)), last = new Map(facts.map((f, at) => [f.type, at]));
	for (const family of ['thread', 'turn', 'task', 'run', 'model', 'tool', 'process', 'output', 'action', 'permission', 'sandbox', 'hook', 'context', 'routing', 'cost', 'rate_limit', 'subagent', 'job', 'channel', 'evidence']) assert.ok([...last.keys()].some((t) => t.startsWith(`${family}.`)), family);
	const all = [...last].flatMap(([type, at]) => Object.keys(facts[at]).filter((member) => JOINED.test(member)).map((member) => ({ name: `${type} ${member}`, type, at, member })));
	const others = (named) => all.filter(({ name }) => named.includes(name)), say = (places) => verdict(whole, places.reduce((now, { at, member }) => changed(now, at, (f) => ({ ...f, [member]: `${f[member]}x` })), lines));
	assert.deepEqual(all.map(({ name }) => name).filter((name) => FIRST.includes(name)).sort(), FIRST.toSorted());
	assert.equal(say(others(FIRST)).status, 0);
	for (const place of others(INTRODUCING)) {
		const said = say([place]);
		assert.deepEqual([said.status, / \w+ \S+ joins nothing\n/.test(said.stderr)], [1, true], `${place.name}: ${said.stderr}`);
	}
	const carried = all.filter(({ name }) => !FIRST.includes(name) && !INTRODUCING.includes(name));
	assert.ok(carried.length > 150, String(carried.length));
	for (let from = 0; from < carried.length; from += 20) {
		const some = carried.slice(from, from + 20), said = say(some);
		assert.equal(said.status, 1);
		const named = some.map(({ type, at, member }) => `agentctl: fact ${at + 1} (${type}): ${member} ${facts[at][member]}x joins nothing`);
		assert.deepEqual(said.stderr.split('\n').slice(0, some.length).sort(), named.sort());
		assert.ok(said.stderr.includes(`agentctl: ${some.length} ids of facts`), said.stderr);
	}
});

test('PF-15 a fact without an id that its type has is named; so are the first of many, and what to do next is said', () => {
	const at = lines.findIndex((l) => JSON.parse(l).type === 'tool.result' || JSON.parse(l).type === 'tool.failed');
	const without = verdict(whole, changed(lines, at, ({ toolCallId, ...f }) => f));
	assert.equal(without.status, 1);
	assert.ok(without.stderr.includes(`fact ${at + 1} (${JSON.parse(lines[at]).type}): it has no toolCallId\n`), without.stderr);
	const foreign = verdict(whole, changed(lines, at, (f) => ({ ...f, sessionId: `${f.sessionId}x` })));
	assert.ok(foreign.stderr.includes(`fact ${at + 1} (${JSON.parse(lines[at]).type}): its sessionId is not that of the pack\n`), foreign.stderr);
	const started = lines.findIndex((l) => JSON.parse(l).type === 'thread.started');
	const many = verdict(whole, lines.map((l) => l.replaceAll(/"threadId":"\w+/g, '$&x')).with(started, lines[started]));
	assert.equal(many.status, 1);
	assert.equal(many.stderr.match(/joins nothing\n/g).length, 20, many.stderr);
	assert.match(many.stderr, /agentctl: \d{3} ids of facts are missing or join nothing; the first are named above\nnext: compare with an earlier pack/);
});

test('a fact that cannot be read ends the check: nothing is said of those behind it', () => {
	const said = verdict(whole, lines.with(9, 'no JSON'));
	assert.deepEqual([said.status, said.stdout], [1, '']);
	assert.equal(said.stderr, `agentctl: events.ndjson: 9 facts can be read, but the statement says that it has ${lines.length}\n`);
});

test('PF-15 in a pack of one turn its calls and steps are judged, and a fact without an id is named in any pack', async () => {
	const part = await packOf({ turnId: rich.turnId }), facts = linesOf(part), at = facts.findIndex((l) => JSON.parse(l).type === 'process.started');
	for (const [member, status] of [['toolCallId', 1], ['stepId', 1], ['processId', 1], ['runId', 0], ['threadId', 0]])
		assert.equal(verdict(part, changed(facts, at, (f) => ({ ...f, [member]: `${f[member]}x` }))).status, status, member);
	const job = await packOf({ jobId: rich.jobId }), [created, ...rest] = linesOf(job).map((l) => JSON.parse(l));
	const said = verdict(job, [JSON.stringify({ ...created, type: 'job.item.started' }), ...rest.map((f) => JSON.stringify(f))]);
	assert.deepEqual([said.status, said.stderr.includes(`fact ${created.sequence} (job.item.started): it has no jobItemId\n`)], [1, true], said.stderr);
});

test('a type that this agentctl does not know may introduce ids: from there on none is judged, and that is said', () => {
	const said = verdict(whole, changed(lines, 1, (f) => ({ ...f, type: 'thread.begun' })));
	assert.deepEqual([said.status, said.stderr], [0, 'agentctl: ids are not judged from fact 2 (thread.begun) on: this agentctl does not know its type\n']);
	assert.match(said.stdout, /^ids: whether each joins a fact cannot be said of this pack$/m);
});

test('PF-15 a log that is stored with an id that joins nothing: its pack is whole and signed, and the fact is named', { skip: process.env.AR_TEST_POSTGRES && 'changes the file of SQLite' }, async () => {
	const own = await world({ config: { 'session.snapshot_every': 1000000 } }), { sessionId, turnId } = await submit(own.rt, 'hello');
	await ended(own.rt, sessionId, turnId);
	const facts = linesOf(await packOf({ sessionId }, own.rt)), at = facts.findIndex((l) => JSON.parse(l).type === 'cost.recorded');
	await own.rt.stop();
	rewrite(own.dataDir, rowsOf(own.dataDir), changed(facts, at, (f) => ({ ...f, modelRequestId: `${f.modelRequestId}x` })), true);
	own.rt = await own.again();
	const said = verify(await packOf({ sessionId }, own.rt), '--key', join(own.dataDir, 'data/evidence.pem'));
	assert.equal(said.status, 1);
	assert.match(said.stderr, new RegExp(`^agentctl: fact ${at + 1} \\(cost\\.recorded\\): modelRequestId \\w+x joins nothing\nagentctl: 1 ids of facts`));
	await own.rt.stop();
});
