// One session that does a little of everything, and a walk over the standard's snapshot schema that names each member it leaves
// empty. A member may be empty only if a list below says why.
// ci: first
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts, pending, seen, tools } from '../lib/gate.mjs';
import { newFolder, ok, refused, startModel, submit, waitFor, world } from '../lib/runtime.mjs';
import { standardDir } from '../lib/schemas.mjs';
import { collector } from '../telemetry/otlp.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const PEER = { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume', 'permissions'] };
const hooks = [{ name: 'watch', point: 'pre_tool_use', match: 'shell', command: `echo '{}'` }];
const shell = (args) => `[[tool shell ${JSON.stringify(args)}]]`;
const snapshotSchema = JSON.parse(readFileSync(join(standardDir, 'schemas/agentruntime-snapshot.schema.json'), 'utf8'));
let w, workspace, rich;

const run = (command, input) => ok(w.rt, command, input);
const turn = async (text, more) => {
	const receipt = await submit(w.rt, text, more);
	await ended(w.rt, receipt.sessionId, receipt.turnId);
	return receipt;
};

/** What a member says by itself: nothing, or that it has nothing to say. */
function isEmpty(value) {
	if (value === undefined || value === null || value === '') return true;
	if (Array.isArray(value)) return value.length === 0;
	if (typeof value !== 'object') return false;
	return Object.keys(value).length === 0 || ['unknown', 'unavailable', 'not_applicable'].includes(value.state);
}

/** The members of a schema that no value of the list fills, by their path. */
function emptyMembers(schema, values, path = '') {
	const found = [];
	for (const [name, of] of Object.entries(schema.properties ?? {})) {
		const inside = values.map((v) => v[name]).filter((v) => !isEmpty(v));
		const at = path ? `${path}.${name}` : name;
		if (inside.length === 0) {
			found.push(at);
			continue;
		}
		const ref = (of.$ref ?? of.items?.$ref)?.split('/').at(-1);
		const next = ref && snapshotSchema.$defs[ref];
		// a thread and a turn name their tasks, and the document has them whole
		if (next?.properties && !['threads.tasks', 'threads.turns.tasks'].includes(at)) found.push(...emptyMembers(next, of.items ? inside.flat() : inside, at));
	}
	return found;
}

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(join(workspace, 'inner'), { recursive: true });
	if (process.getuid() === 0) for (const path of [workspace, join(workspace, 'inner')]) chownSync(path, OWNER, OWNER);
	const model = await startModel(), to = await collector();
	const models = [{ name: 'priced', provider: 'openai-chat', model: 'wire', base_url: model.url, input_price: '3', output_price: '15' }];
	w = await world({ model, config: { models, 'tools.workspace': workspace, 'tools.max_parallel': 2, 'queue.max_turns': 1, 'telemetry.endpoint': to.url, 'permission.may_loosen': true, hooks } });
	rich = await fill();
});

/** The session; its last turn waits for a person and another one waits behind it. */
async function fill() {
	const options = { mode: 'bypass' };
	const first = await turn(`[[summary http 400]]${shell({ command: 'seq 1 40000' })}[[then]]${shell({ command: 'unshare -U true; sleep 600', background: true })}`, { options });
	const { sessionId, threadId } = first;
	await turn(`remember: ${'sand '.repeat(2000)}`, { sessionId });
	await turn('and go on', { sessionId });
	await run('compact_thread', { sessionId, threadId });
	await seen(w.rt, sessionId, 'context.compaction.failed');
	const { channelId } = await run('connect_channel', { ...PEER, sessionId });
	const declare = (more) => run('create_task', { sessionId, threadId, objective: 'a part', ...more });
	const whole = await declare({ title: 'The whole', taskKind: 'feature', taskFamily: 'code', priority: 'high', requestedBy: { kind: 'person', id: 'p' }, owner: { kind: 'person', id: 'p' },
		assignee: { kind: 'agent', id: 'a' }, acceptance: [{ criterion: 'it works' }], profile: { budgetClass: 'low' }, constraints: { timeMs: 600000 } });
	const part = await declare({ parentTaskId: whole.taskId, constraints: { retryPolicy: { maxAttempts: 3 } }, delivery: { kind: 'channel', target: channelId } });
	const { runId } = await run('start_task', { taskId: part.taskId, worker: { kind: 'worker', id: 'w' }, inputRefs: ['in-1'] });
	await run('fail_task', { taskId: part.taskId, runId, error: { category: 'x', message: 'no', retryable: true } });
	await run('retry_task', { taskId: part.taskId, retryReason: 'again', worker: { kind: 'worker', id: 'w' } });
	await waitFor(async () => (await run('get_task', { taskId: part.taskId })).status === 'running', 'another attempt');
	await run('append_task_progress', { taskId: part.taskId, summary: 'half', percent: 50, outputRefs: ['out-1'] });
	const complete = () => run('complete_task', { taskId: part.taskId, acceptance: [], completionSummary: 'done', artifacts: ['a-1'], evidenceRefs: ['e-1'] });
	await complete();
	await run('ack_events', { channelId, sequence: (await run('get_task', { taskId: part.taskId })).deliveryState.sequence });
	await complete();
	const behind = await declare({ title: 'Behind' });
	await run('link_tasks', { sourceId: whole.taskId, targetId: behind.taskId, kind: 'blocks', reason: 'it needs it' });
	const waiting = await submit(w.rt, '[[tool write {"q":"x"}]]', { sessionId, options: { tools: Object.values(tools), mode: 'default' } });
	const [action] = await pending(w.rt, sessionId);
	const child = await run('spawn_subagent', { sessionId, threadId, turnId: waiting.turnId, taskId: whole.taskId, objective: '[[hang]]' });
	await run('create_job', { sessionId, taskId: whole.taskId, instruction: 'Do it: {item}', input: '[[say 1]]\n[[hang]]', concurrency: 2 });
	const queued = await submit(w.rt, 'later', { sessionId });
	await run('export_evidence', { sessionId });
	await run('record_evidence', { sessionId, kind: 'verification', source: 'ci', verificationOutcomes: [{ name: 'tests', status: 'passed' }] });
	return { sessionId, threadId, first, waiting, queued, action, child, whole, part, behind };
}

const read = () => run('get_session', { sessionId: rich.sessionId });
const thread = async () => (await run('get_thread_read', { sessionId: rich.sessionId, threadId: rich.threadId })).threads[0];

// Others build these; when they are filled, their line goes.
const NOT_APPLICABLE = {
	'tasks.attempts.checkpointRefs': 'checkpoints are of turns and their folders, not of attempts: checkpointSummary has them',
	'tasks.nativeStatus': 'no task here runs on another system that has a status of its own',
};

test('RM-32 RM-34 RM-35 RM-36 one rich session fills every member of the snapshot schema, but those that are listed with a reason', async () => {
	const empty = emptyMembers(snapshotSchema, [await read()]);
	assert.deepEqual(empty.sort(), Object.keys(NOT_APPLICABLE).sort());
});

test('RM-32 the parts of a session are what its facts say', async () => {
	const s = await read();
	const [applied] = await facts(w.rt, rich.sessionId, 'sandbox.applied');
	assert.equal(s.executionEnvironment.cwd, workspace);
	assert.equal(s.executionEnvironment.activeProcesses.length, 1);
	assert.deepEqual([s.sandboxState.state, s.sandboxState.profile], ['applied', applied.payload.mode]);
	const spilled = await facts(w.rt, rich.sessionId, 'output.spilled');
	assert.deepEqual([s.outputSummary.outputs, s.outputSummary.sizeBytes], [spilled.length, spilled.reduce((sum, e) => sum + e.payload.sizeBytes, 0)]);
	assert.equal(s.historySummary.facts, s.asOfSequence);
	assert.equal(s.deliveryState.delivered ?? s.deliveryState.queued, 1, JSON.stringify(s.deliveryState));
	const catalogs = await facts(w.rt, rich.sessionId, 'tool.catalog.resolved');
	assert.ok(catalogs.some((e) => e.payload.catalogRef === s.toolInventoryRef));
	const t = await thread();
	assert.deepEqual(t.taskGraph, { tasks: t.tasks.length, edges: t.taskGraph.edges, blocked: 1 });
	assert.deepEqual(t.blockedTasks.map((x) => x.taskId), [rich.behind.taskId]);
	assert.deepEqual(t.jobs.map((j) => j.assignedThreadCount), t.jobs.map((j) => j.assignedThreadIds.length), 'so few are all listed');
});

test('RM-08 RM-19 an open approval beside the permission mode and the sandbox profile, and the violation with its ref', async () => {
	const t = await thread();
	assert.deepEqual(t.permissionState.pendingApprovals, [rich.action.actionId]);
	assert.ok(t.permissionState.mode && t.sandboxState.profile);
	const violations = await facts(w.rt, rich.sessionId, 'sandbox.violation');
	assert.ok(violations.length > 0);
	assert.equal(t.sandboxState.violations, violations.length);
	assert.deepEqual(t.sandboxState.violationRefs, violations.slice(-10).map((e) => e.payload.violationRef));
	const turn = t.turns.find((x) => x.turnId === rich.waiting.turnId);
	assert.deepEqual([turn.permissionState.pendingApprovals, turn.permissionState.mode], [1, 'default']);
});

test('RM-09 RM-20 CP-41 PR-01 where a turn runs: its ten fields, the same in get_session, and what a command in it sees', async () => {
	const { sessionId, threadId, turnId } = await turn(shell({ command: 'pwd; uname -s; uname -m; env' }), { options: { mode: 'bypass' } });
	const more = await submit(w.rt, shell({ command: 'echo here; sleep 600' }), { sessionId, options: { mode: 'bypass' } });
	const { processId } = (await seen(w.rt, sessionId, 'process.started', 2))[1];
	await waitFor(async () => (await run('read_output', { outputRef: `${processId}.stdout` })).content === 'here\n', 'its output');
	const environment = await run('get_execution_environment', { turnId: more.turnId });
	const { threads: [{ turns, processes }] } = await run('get_thread_read', { sessionId, threadId });
	const own = turns.find((x) => x.turnId === more.turnId);
	for (const name of ['workspaceId', 'cwd', 'additionalRoots', 'shell', 'os', 'arch', 'envRef', 'sandboxProfile', 'networkProfile', 'resourceLimits'])
		assert.notEqual(environment.turnEnvironment[name], undefined, name);
	assert.deepEqual(own.executionEnvironment, environment.turnEnvironment);
	assert.deepEqual(own.sandboxProfile, environment.turnEnvironment.sandboxProfile);
	const { payload: { output, preview } } = (await facts(w.rt, sessionId, 'tool.result'))[0];
	const lines = (output ?? preview).split('\n');
	assert.ok(lines.includes(environment.cwd), lines.join());
	assert.ok(lines.some((line) => line.toLowerCase() === environment.os.toLowerCase()), environment.os);
	assert.ok(lines.includes(environment.arch));
	const [applied, running] = await facts(w.rt, sessionId, 'sandbox.applied');
	const variables = JSON.parse((await run('read_output', { outputRef: applied.payload.environmentRef })).content);
	assert.equal(turns.find((x) => x.turnId === turnId).executionEnvironment.envRef, applied.payload.environmentRef);
	for (const name of Object.keys(variables)) assert.ok(lines.some((line) => line.startsWith(`${name}=`)), name);
	const [active] = environment.activeProcesses;
	assert.deepEqual([active.processId, active.cwd, active.envRef], [processes[1].processId, workspace, running.payload.environmentRef]);
	assert.deepEqual(active.resourceLimits, running.payload.processLimits);
	assert.equal(environment.turnEnvironment.envRef, active.envRef);
	assert.equal((await run('read_output', { outputRef: active.outputRef })).content, 'here\n');
	await run('terminate_process', { processId: active.processId, reason: 'enough' });
	await ended(w.rt, sessionId, more.turnId);
	await refused(w.rt, 'scope_not_found', 'get_execution_environment', { turnId: `${turnId}9` });
});

test('PR-02 a command in another folder than that of its turn says why; one in the same folder says nothing', async () => {
	const options = { mode: 'bypass' };
	const { sessionId } = await turn(shell({ command: 'true' }), { options });
	await turn(shell({ command: 'true', cwd: 'inner', justification: 'the tests are there' }), { sessionId, options });
	await turn(shell({ command: 'true', cwd: 'inner' }), { sessionId, options });
	const started = await facts(w.rt, sessionId, 'process.started');
	assert.deepEqual(started.map((e) => [e.payload.cwd, e.payload.overrideReason]),
		[[workspace, undefined], [join(workspace, 'inner'), 'the tests are there'], [join(workspace, 'inner'), 'the tool call names this folder']]);
	const { threads: [{ processes }] } = await run('get_session', { sessionId });
	assert.deepEqual(processes.map((p) => p.overrideReason), started.map((e) => e.payload.overrideReason));
});

test('CP-07 the snapshot of an input has workspace, augmentation, routing, tool policy, sandbox, output schema and metadata, also of a turn that waited', async () => {
	const outputSchema = { type: 'object' }, metadata = { ticket: 'x-1' };
	const options = { model: 'priced', mode: 'plan', sandbox: 'read_only', outputSchema, fallback: 'deny' };
	const held = await submit(w.rt, '[[hang]]');
	const { sessionId, turnId } = await submit(w.rt, '[[say {}]]', { sessionId: held.sessionId, options, metadata });
	await run('interrupt_turn', { sessionId, reason: 'go on' });
	await ended(w.rt, sessionId, turnId);
	const started = (await facts(w.rt, sessionId, 'turn.started')).find((e) => e.turnId === turnId);
	const snapshot = JSON.parse((await run('read_output', { outputRef: started.payload.inputSnapshotRef })).content);
	assert.deepEqual(snapshot.routing, { model: 'priced', fallback: false, models: 1 });
	assert.deepEqual(snapshot.toolPolicy, { mode: 'plan', rules: 0, offered: false });
	assert.deepEqual([snapshot.sandboxProfile, snapshot.hasOutputSchema, snapshot.options.outputSchema, snapshot.metadata], ['read_only', true, outputSchema, metadata]);
	assert.ok(snapshot.workspaceId && snapshot.inputRef);
	assert.equal(typeof snapshot.promptAugmentation.skills, 'number');
	const own = (await run('get_session', { sessionId })).threads[0].turns.find((x) => x.turnId === turnId);
	assert.deepEqual([own.sandboxProfile.mode, own.permissionState.mode], ['read_only', 'plan'], 'they rule the run');
});

test('RM-13 CP-30 the tools differ by caller, mode and policy; a denied one is never called allowed', async () => {
	const { sessionId } = rich;
	const words = async (more) => Object.fromEntries((await run('get_tool_inventory', { sessionId, ...more })).tools.map((t) => [t.toolName, t.policy]));
	const [own, plan] = [await words(), await words({ mode: 'plan' })];
	assert.deepEqual([own.write_file, plan.write_file], ['ask', 'denied']);
	assert.deepEqual(await words({ caller: { kind: 'runtime' } }), own);
	const spawned = await submit(w.rt, '[[hang]]');
	const child = await run('spawn_subagent', { sessionId: spawned.sessionId, threadId: spawned.threadId, turnId: spawned.turnId, objective: '[[hang]]', isolation: { tool: 'read_file' } });
	const list = async (caller) => (await run('get_tool_inventory', { sessionId: spawned.sessionId, caller })).tools.map((t) => t.toolName);
	assert.deepEqual(await list({ kind: 'subagent', id: child.subagentId }), ['read_file']);
	assert.ok((await list({ kind: 'runtime' })).length > 1);
	await run('set_policy', { scope: 'session', scopeId: spawned.sessionId, policy: { mode: 'plan' } });
	const by = async (policy) => (await run('get_tool_inventory', { sessionId: spawned.sessionId, policy })).tools.find((t) => t.toolName === 'write_file').policy;
	assert.deepEqual([await by('session'), await by('host')], ['denied', 'ask']);
	for (const bad of [{ policy: 'mine' }, { caller: { kind: 'ghost' } }]) await refused(w.rt, 'invalid_input', 'get_tool_inventory', { sessionId, ...bad });
	await refused(w.rt, 'invalid_scope', 'get_tool_inventory', { sessionId, caller: { kind: 'subagent', id: child.subagentId } });
});

test('LI-01 a full queue, the access mode and the only candidate are in the limit state of the thread', async () => {
	const { limitState } = await thread();
	assert.deepEqual(limitState.queue, { state: 'full', length: 1, limit: 1 });
	assert.deepEqual([limitState.state, limitState.accessMode, limitState.singleCandidate, limitState.parallel], ['queue_full', 'workspace_write', true, 'ok']);
	await refused(w.rt, 'overloaded', 'submit_turn', { sessionId: rich.sessionId, text: 'too much' });
});

test('PF-16 the read models of the profile, cell by cell, from one session', async () => {
	const s = await run('get_session', { sessionId: rich.sessionId, limit: 5 });
	const t = await thread();
	const task = await run('get_task', { taskId: rich.part.taskId });
	const cells = {
		'SessionSnapshot: threads, tasks, recovery cursor': [s.threads.length, s.tasks.length, s.historyCursor.before, s.history.cursor],
		'ThreadReadModel: turns, calls, questions, queue, incidents': [t.turns.length, t.toolCalls.length, t.pendingRequests.length, t.queuedTurns.length, t.incidents.length],
		'TaskSnapshot: attempts, edges, progress, delivery': [task.attempts.length, task.relationships.length, task.progress.percent, task.deliveryState.state],
		'PermissionSandboxSummary: decisions, approvals, profile, violations': [t.permissionState.decisions.length, t.permissionState.pendingApprovals.length, t.sandboxState.profile, t.sandboxState.violations],
		'RoutingLimitSummary: model, candidates, decision, cost, limits': [s.routingLimitSummary.selectedModel, s.routingLimitSummary.candidateCount, s.routingLimitSummary.decisionReason,
			s.routingLimitSummary.costState.amount, s.routingLimitSummary.limitState.state],
		'EvidenceSummary: refs, traces, outcomes': [t.evidenceSummary.evidenceRefs.length, t.evidenceSummary.traceIds.length, t.evidenceSummary.verificationOutcomes.length],
	};
	for (const [cell, values] of Object.entries(cells)) for (const value of values) assert.ok(value, `${cell}: ${JSON.stringify(values)}`);
	assert.equal(task.attempts.length, 2);
});

test('EV-36 the facts of five layers: input, execution, state, coordination and observability, each with its ids', async () => {
	const log = await facts(w.rt, rich.sessionId);
	const [t, of] = [await thread(), (type, turnId) => log.find((e) => e.type === type && (!turnId || e.turnId === turnId))];
	const submitted = of('turn.submitted', rich.first.turnId);
	assert.deepEqual([submitted.payload.source, submitted.payload.submittedBy?.length > 0, typeof submitted.payload.inputRef], ['api', true, 'string'], 'input: who, where from, what');
	const call = t.toolCalls.find((c) => c.turnId === rich.first.turnId);
	assert.equal(of('tool.started', rich.first.turnId).toolCallId, call.toolCallId, 'execution: the call');
	assert.equal(of('process.started').processId, t.processes[0].processId, 'execution: its process');
	assert.equal(of('action.required', rich.waiting.turnId).actionId, t.pendingRequests[0].actionId, 'state: what is open');
	assert.equal(of('queue.changed').payload.queuedTurnId, t.queuedTurns[0].queuedTurnId, 'state: what waits');
	assert.equal(of('context.resolved', rich.waiting.turnId).turnId, t.contextBoundary.selection.turnId, 'coordination: context');
	assert.ok(log.some((e) => e.type === 'permission.evaluated' && e.eventId === t.permissionState.decisions[0].permissionRef), 'coordination: policy');
	assert.ok(log.some((e) => e.type === 'output.spilled' && e.outputRef === t.outputs[0].outputRef), 'coordination: outputs');
	assert.ok(log.some((e) => e.eventId === t.incidents[0].incidentId), 'observability: incidents');
	assert.ok(t.turns[0].hookRuns.every((h) => log.some((e) => e.eventId === h.hookRunId)), 'observability: hooks');
	assert.ok(of('cost.recorded').payload, 'observability: cost');
});

test('RM-25 what has no source is never a success: an empty session, a queued turn, a host without a sandbox', async () => {
	const empty = await run('get_session', { sessionId: (await run('create_session', { title: 'x' })).sessionId });
	const [t] = empty.threads;
	for (const member of [empty.sandboxState, empty.executionEnvironment, empty.deliveryState, empty.routingLimitSummary, t.modelRouting, t.costState])
		assert.equal(member.state, 'not_applicable');
	assert.deepEqual([t.sandboxState.state, t.limitState.accessMode, empty.toolInventoryRef], ['unknown', 'unknown', undefined]);
	const queued = (await thread()).turns.find((x) => x.turnId === rich.queued.turnId);
	assert.deepEqual([queued.executionEnvironment, queued.permissionState.mode, queued.attemptId], [{ state: 'not_applicable' }, 'unknown', undefined]);
	const bare = await world({ model: w.model });
	const { sessionId, turnId } = await submit(bare.rt, 'hello');
	await ended(bare.rt, sessionId, turnId);
	const s = await ok(bare.rt, 'get_session', { sessionId });
	assert.equal(s.sandboxState.state, 'unavailable');
	assert.ok(s.sandboxState.reason);
	assert.deepEqual(s.threads[0].turns[0].sandboxProfile.isAvailable, false);
	assert.equal(s.executionEnvironment.cwd, undefined, 'there is no folder');
	await bare.rt.stop();
});
