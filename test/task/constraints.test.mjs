// What a task says about means and limits, in the run that the runtime executes: each constraint is enforced and cited by the decision that
// applied it; the profile chooses the model; progress is recorded while the run goes on.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, refused, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let rt, sessionId, workspace;

const run = (command, input) => ok(rt, command, input);
const shell = (args) => `[[tool shell ${JSON.stringify(args)}]]`;

before(async () => {
	const folder = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	const { url } = await startModel();
	const entry = (name, capabilities) => ({ name, provider: 'openai-chat', base_url: url, input_price: '3', output_price: '15.5', capabilities });
	rt = await startAgentd({ config: { models: [entry('plain', ['tools', 'json']), entry('seeing', ['vision', 'tools', 'json'])],
		'tools.workspace': workspace, 'permission.mode': 'bypass', 'task.progress_ms': 1, 'budget.on_limit': 'stop' } });
	({ sessionId } = await run('create_session', {}));
});

/** A task that the runtime has executed, with its facts and those of its turn. */
async function executed(objective, constraints, more = {}) {
	const { taskId } = await run('create_task', { sessionId, objective, constraints, ...more });
	await run('start_task', { taskId, worker: { kind: 'agent' } });
	const record = await waitFor(async () => {
		const task = await run('get_task', { taskId });
		return ['completed', 'failed', 'timed_out', 'waiting_input'].includes(task.status) && task;
	}, 'the end of the run');
	const { turnId } = record.attempts[0];
	const log = (await facts(rt, sessionId)).filter((e) => e.taskId === taskId || e.turnId === turnId);
	return { taskId, record, log, all: (type) => log.filter((e) => e.type === type), one: (type) => log.find((e) => e.type === type)?.payload };
}

test('TK-05 model: the route says that the task names it', async () => {
	const { taskId, one } = await executed('hello', { model: 'seeing' });
	const route = one('routing.decided') ?? one('routing.single_candidate');
	assert.equal(route.selectedModel, 'seeing');
	assert.match(route.decisionReason, new RegExp(`${taskId}/constraints.model`));
});

test('TK-05 tool: a tool that is not in the list is not there, and the refusal says whose list that is', async () => {
	const { taskId, one } = await executed(shell({ command: 'touch tool.txt' }), { tools: ['read_file'] });
	const { content } = await run('read_output', { outputRef: one('tool.failed').errorRef });
	assert.match(content, new RegExp(`${taskId}/constraints.tools`));
	assert.equal(existsSync(join(workspace, 'tool.txt')), false);
});

test('TK-05 permission: the mode of the task decides over the host\'s looser one', async () => {
	const { taskId, one } = await executed(shell({ command: 'touch mode.txt' }), { mode: 'plan' });
	assert.equal(one('permission.evaluated').decision, 'deny');
	assert.ok(one('permission.evaluated').ruleRefs.includes(`${taskId}/constraints.mode`));
	assert.equal(existsSync(join(workspace, 'mode.txt')), false);
});

test('TK-05 sandbox: what the task may not write is not written', async () => {
	const { taskId, one } = await executed(shell({ command: 'touch sandbox.txt' }), { sandbox: 'read_only' });
	assert.equal(one('permission.evaluated').sandboxProfile, 'read_only');
	assert.ok(one('permission.evaluated').ruleRefs.includes(`${taskId}/constraints.sandbox`));
	assert.equal(existsSync(join(workspace, 'sandbox.txt')), false);
	const free = await executed(shell({ command: 'touch sandbox.txt' }), {});
	assert.deepEqual([existsSync(join(workspace, 'sandbox.txt')), free.one('permission.evaluated').ruleRefs], [true, []]);
});

test('TK-05 network: no call reaches one, and none is given by asking for a looser sandbox', async () => {
	const wide = shell({ command: 'true', sandbox: 'allowlisted_network', justification: 'please' });
	const { taskId, one } = await executed(wide, { network: 'denied' });
	assert.equal(one('permission.evaluated').decision, 'deny');
	assert.deepEqual(one('permission.evaluated').ruleRefs, [`${taskId}/constraints.network`]);
	const quiet = await executed(shell({ command: 'cat /proc/net/route | wc -l' }), { network: 'denied' });
	assert.equal(quiet.one('process.started').networkDecision, 'restricted');
	assert.ok(quiet.one('permission.evaluated').ruleRefs.includes(`${quiet.taskId}/constraints.network`));
	const { taskId: wrong } = await run('create_task', { sessionId, objective: 'x', constraints: { network: 'denied', sandbox: 'allowlisted_network' } });
	await refused(rt, 'invalid_input', 'start_task', { taskId: wrong, worker: { kind: 'agent' } });
	const { taskId: unknown } = await run('create_task', { sessionId, objective: 'x', constraints: { network: 'some' } });
	await refused(rt, 'invalid_input', 'start_task', { taskId: unknown, worker: { kind: 'agent' } });
});

test('TK-05 cost: the amount of the task stops its run, and the facts name the task', async () => {
	const { taskId, record, one } = await executed(`[[loop]]${shell({ command: 'true # $n' })}`, { budget: { cost: '0.0001' } });
	assert.equal(record.status, 'failed');
	assert.deepEqual([one('quota.blocked').quotaKind, one('quota.blocked').scope.taskId], ['turn_cost', taskId]);
	assert.match(record.lastError.message, new RegExp(`${taskId}/constraints.budget`));
});

test('TK-05 time: the run ends with the time of the task, and the fact has the limit', async () => {
	const { record, all, taskId } = await executed('[[hang]]', { timeMs: 300 });
	assert.equal(record.status, 'timed_out');
	const over = all('task.timed_out').find((e) => e.taskId === taskId).payload;
	assert.deepEqual([over.limitKind, over.limitMs], ['time', 300]);
});

test('TK-05 output: an answer that does not fit the schema fails the run; one that fits completes the task', async () => {
	const outputSchema = { type: 'object', required: ['answer'], properties: { answer: { type: 'integer' } } };
	for (const text of ['plain words', '{"answer":"seven"}', '{}']) {
		const { taskId, record } = await executed(`[[say ${text}]]`, { outputSchema });
		assert.deepEqual([record.status, record.lastError.category], ['failed', 'output_invalid'], text);
		assert.match(record.lastError.message, new RegExp(`${taskId}/constraints.outputSchema`));
	}
	assert.equal((await executed('[[say {"answer":7}]]', { outputSchema })).record.status, 'completed');
});

test('TK-06 the profile chooses the model by capability; complete_task refuses until both criteria hold', async () => {
	assert.equal(((await executed('hello', {})).one('routing.decided')).selectedModel, 'plain');
	const acceptance = [{ criterion: 'green' }, { criterion: 'reviewed' }];
	const { taskId, record, one } = await executed('hello', {}, { profile: { capability: 'vision', latencyTarget: 'batch', budgetClass: 'low', fallbackPolicy: 'deny' }, acceptance });
	const { requiredCapabilities, latencyTarget, budgetClass, fallbackPolicy } = one('task.profile.resolved');
	assert.ok(requiredCapabilities.includes('vision'));
	assert.deepEqual([latencyTarget, budgetClass, fallbackPolicy], ['batch', 'low', 'deny']);
	const route = one('routing.decided') ?? one('routing.single_candidate');
	assert.equal(route.selectedModel, 'seeing');
	assert.deepEqual(one('routing.candidates.resolved').excluded.map((e) => [e.candidate, e.missing]), [['plain', ['vision']]]);
	assert.equal(record.status, 'waiting_input');
	const met = (criterion) => ({ criterion, satisfied: true });
	await refused(rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [] });
	await refused(rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [met('green')] });
	await refused(rt, 'acceptance_unmet', 'complete_task', { taskId, acceptance: [met('green'), { criterion: 'reviewed', satisfied: false }] });
	await run('complete_task', { taskId, acceptance: [met('green'), met('reviewed')] });
	assert.equal((await run('get_task', { taskId })).status, 'completed');
	const { taskId: odd } = await run('create_task', { sessionId, objective: 'x', profile: { requiredCapabilities: ['telepathy'] } });
	await refused(rt, 'invalid_input', 'start_task', { taskId: odd, worker: { kind: 'agent' } });
});

test('AN-29 a run of the runtime records its progress itself: steps, tool calls, tokens and refs that can be read; errors are facts', async () => {
	const { all, record, log } = await executed(`[[tool shell {"command":"echo part; sleep 0.05"}]][[then]]${shell({ command: 'exit 3' })}[[then]]done`, {});
	const progress = all('task.progress');
	assert.ok(progress.length >= 2, JSON.stringify(log.map((e) => e.type)));
	for (const { payload } of progress) assert.equal(payload.phase, 'working');
	const last = progress.at(-1);
	assert.deepEqual([last.payload.counters.toolCalls, last.payload.counters.modelSteps >= 2, last.payload.counters.outputTokens > 0], [2, true, true]);
	assert.equal(last.runId, record.attempts[0].runId);
	const steps = progress.map((e) => e.payload.currentStep);
	assert.ok(steps.includes('shell') && steps.includes('model'), steps.join());
	const refs = progress.flatMap((e) => e.payload.outputRefs);
	assert.ok(refs.length > 0);
	const texts = [];
	for (const outputRef of refs) texts.push((await run('read_output', { outputRef })).content);
	assert.ok(texts.some((text) => text.includes('part')), texts.join('|'));
	assert.equal(record.progress.counters.toolCalls, 2);
	assert.ok(log.some((e) => e.type.startsWith('process.') && e.payload.exitCode === 3), 'the error of the second command');
	assert.ok(progress.every((e) => e.sequence < log.find((f) => f.type === 'task.completed' && f.taskId === e.taskId).sequence));
});
