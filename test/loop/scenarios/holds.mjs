// What is true at the end of every scenario, however often the runtime was killed in it: each turn and each call ended once, nothing ran
// before it was allowed, what the servers saw is what the facts say, every end can be explained, and the log replays into what is stored.
import assert from 'node:assert/strict';
import { request } from '../../lib/runtime.mjs';

const ALLOWING = (e) => (e.type === 'permission.evaluated' && e.payload.decision === 'allow') || (e.type === 'permission.resolved' && e.payload.outcome === 'allowed');
const ENDS = ['tool.result', 'tool.failed'];

/** The members of a list by the value of a key. */
function by(list, key) {
	const groups = new Map();
	for (const e of list) groups.set(e[key], [...(groups.get(e[key]) ?? []), e]);
	return groups;
}

function turnsEndOnce(play) {
	const ends = by(play.facts('turn.completed', 'turn.failed'), 'turnId');
	const submitted = play.facts('turn.submitted').map((e) => e.turnId);
	assert.equal(new Set(submitted).size, submitted.length, 'a turn is submitted once');
	for (const turnId of submitted) assert.equal(ends.get(turnId)?.length, 1, `ends of ${turnId}`);
	for (const type of ['task.completed', 'task.failed', 'task.cancelled'])
		for (const [taskId, list] of by(play.facts(type), 'taskId')) assert.equal(list.length, 1, `${type} of ${taskId}`);
}

/** AC-20: for each call its input, its decision, its one end, and the result or the error of it. */
async function callsEndOnce(play) {
	const started = by(play.facts('tool.started'), 'toolCallId');
	const ends = by(play.facts(...ENDS), 'toolCallId');
	const asked = play.facts('model.completed').flatMap((e) => e.payload.toolCalls ?? []).map((c) => c.toolCallId);
	for (const id of asked) assert.ok(started.has(id), `${id} was asked for and has no start`);
	for (const [id, [begin, ...again]] of started) {
		const [end, ...more] = ends.get(id) ?? [];
		assert.deepEqual([again.length, more.length], [0, 0], `${id} begins and ends once`);
		assert.ok(end && end.sequence > begin.sequence, `${id} has an end after its beginning`);
		assert.ok((await play.bytes(begin.payload.inputRef)).length > 0, `the input of ${id}`);
		const ref = end.type === 'tool.result' ? end.payload.outputRef : end.payload.errorRef;
		assert.ok((await play.bytes(ref)).length > 0, `what ${id} ended with`);
	}
	for (const id of ends.keys()) assert.ok(started.has(id), `${id} ended and never began`);
}

function nothingRunsUnallowed(play) {
	const facts = new Map(play.facts().map((e) => [e.eventId, e]));
	for (const begin of play.facts('tool.started').filter((e) => e.payload.runtimeOwner)) {
		const allowed = facts.get(begin.payload.permissionRef);
		assert.ok(allowed && ALLOWING(allowed), `${begin.toolCallId} ran by ${begin.payload.permissionRef}`);
		assert.ok(allowed.sequence < begin.sequence);
	}
	for (const e of play.facts('permission.evaluated').filter((f) => f.payload.decision === 'ask')) {
		const resolved = play.facts('permission.resolved').filter((r) => r.toolCallId === e.toolCallId);
		assert.equal(resolved.length, 1, `${e.toolCallId} was asked about: one outcome`);
	}
	for (const [actionId, list] of by(play.facts('action.resolved'), 'actionId')) assert.equal(list.length, 1, `${actionId} is resolved once`);
}

function serversAgree(play) {
	const steps = play.facts('model.requested').map((e) => e.stepId);
	const calls = play.model.log();
	assert.equal(new Set(calls.map((c) => c.step)).size, calls.length, 'no step is called twice');
	for (const { step } of calls) assert.ok(steps.includes(step), `the call of ${step} was announced`);
	for (const e of play.facts('model.completed')) assert.ok(calls.some((c) => c.step === e.stepId), `${e.stepId} was called`);
	const started = by(play.facts('tool.started'), 'toolCallId');
	const requests = by(play.service.requests, 'call');
	for (const [id, list] of requests) {
		assert.equal(list.length, 1, `${id} is sent once`);
		assert.ok(started.get(id)?.[0].payload.runtimeOwner, `${id} was announced`);
		assert.equal(list[0].key, started.get(id)[0].payload.permissionRef, 'its key is that of its permission');
	}
	for (const e of play.facts('tool.result'))
		if (started.get(e.toolCallId)[0].payload.runtimeOwner === 'hosted_connector') assert.ok(requests.has(e.toolCallId), `${e.toolCallId} was sent`);
	for (const [key, list] of by(play.service.requests, 'key')) {
		const { read_only: reads, idempotent } = play.scenario.tools[list[0].name];
		assert.ok(reads || idempotent || list.length === 1, `${list[0].name} was done ${list.length} times with ${key}`);
	}
}

/** AC-22: a reason from facts for each call, each process and each turn. */
async function allIsExplained(play) {
	const processes = play.facts('process.started').map((e) => e.processId);
	const ids = [...play.facts('tool.started').map((e) => e.toolCallId), ...processes, ...play.facts('turn.submitted').map((e) => e.turnId)];
	for (const id of new Set(ids)) {
		const { summary, reasons } = await play.must('explain', { id, sessionId: play.sessionId });
		assert.ok(summary.length > 0, `${id} is explained`);
		assert.ok(reasons.length > 0 && reasons.every((r) => r.text.length > 0), `${id}: ${JSON.stringify(reasons)}`);
		if (!processes.includes(id)) continue;
		const types = reasons.map((r) => r.type);
		for (const type of ['permission.evaluated', 'sandbox.applied', 'process.started']) assert.ok(types.includes(type), `${id}: ${types}`);
		assert.ok(types.some((type) => /^process\.(completed|failed|terminated)$/.test(type)), `the end of ${id}: ${types}`);
	}
}

const OF_A_TURN = /^(turn|run|model|reasoning|tool|action|permission|sandbox|hook|context|routing|cost|rate_limit|quota|limit|process|output)\./;

/** EV-06, EV-07, PF-07: what concerns a turn names session, thread and turn; a call also the run that it was made in, its step and itself. */
function idsAreThere(play) {
	const turns = new Map(play.facts('turn.submitted').map((e) => [e.turnId, e]));
	const steps = new Set(play.facts('model.requested', 'tool.catalog.resolved').map((e) => e.stepId));
	const runs = new Map(play.facts('task.attempt.started').map((e) => [e.runId, e]));
	for (const e of play.facts().filter((f) => OF_A_TURN.test(f.type))) {
		assert.equal(e.sessionId, play.sessionId, e.type);
		assert.ok(e.turnId && e.threadId, `${e.type} ${e.sequence} names no turn`);
		assert.equal(e.threadId, turns.get(e.turnId)?.threadId, `${e.type} ${e.sequence}`);
		if (!/^(tool|permission|action)\./.test(e.type)) continue;
		assert.ok(runs.get(e.runId)?.taskId === e.taskId && runs.get(e.runId).attemptId === e.attemptId, `${e.type} ${e.sequence} names no run`);
		assert.equal(e.taskId, turns.get(e.turnId).taskId, `${e.type} ${e.sequence}`);
		if (e.type.startsWith('tool.') || e.toolCallId) assert.ok(e.toolCallId && steps.has(e.stepId), `${e.type} ${e.sequence} names no call, or no step of it`);
		if (/^action|permission\.(requested|resolved)/.test(e.type)) assert.ok(e.actionId, `${e.type} ${e.sequence} names no question`);
	}
}

async function replaysClean(play) {
	await play.handToDaemon();
	const { text } = await request(play.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId: play.sessionId }) });
	const [{ status, findings }] = JSON.parse(text).sessions;
	assert.deepEqual([status, findings], ['ok', []]);
	play.follower.check();
}

async function asExpected(play) {
	const { ends = {}, facts = {}, always = [], never = [], says = {}, effects = {} } = play.scenario.expects;
	const isDisturbed = play.kills.length > 0;
	for (const [name, type] of Object.entries(ends)) assert.equal(play.follower.end(play.names.get(name).turnId).type, type, name);
	for (const [name, pattern] of Object.entries(says)) assert.match(await play.bytes(play.follower.end(play.names.get(name).turnId).payload.outputRef), pattern);
	for (const [type, count] of Object.entries(facts)) if (!isDisturbed) assert.equal(play.facts(type).length, count, type);
	for (const type of always) assert.ok(play.facts(type).length > 0, `${type} is missing`);
	for (const type of never) assert.equal(play.facts(type).length, 0, type);
	for (const [tool, count] of Object.entries(effects)) {
		const keys = new Set(play.service.of(tool).map((r) => r.key));
		const lost = play.facts('tool.failed').filter((e) => e.payload.status === 'interrupted').length;
		assert.ok(keys.size <= count && keys.size >= count - (isDisturbed ? lost : 0), `${tool} has ${keys.size} effects, not ${count}`);
	}
	await play.scenario.check?.(play, isDisturbed);
}

/** Everything above; a failure names the first that is not so. */
export async function holds(play) {
	turnsEndOnce(play);
	await callsEndOnce(play);
	nothingRunsUnallowed(play);
	serversAgree(play);
	idsAreThere(play);
	await asExpected(play);
	await allIsExplained(play);
	await replaysClean(play);
}
