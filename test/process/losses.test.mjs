// What is lost while a process lives: its supervisor, the daemon, both, its folder. An end is told only when it is known, an exit code only when somebody
// saw it, and the turn goes on: the model is told, or a person is asked.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, truncateSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { ended, facts, pending, seen } from '../lib/gate.mjs';
import { ok, refused, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { configOf, ENDS, endOf, foldersOf, kill9, newWorkspace, pidsNaming, recordsIn, shell, shimOf, startOf } from './place.mjs';

const RUNNING = 4; // records: spawned, applied, released, started
let w, workspace, mark, known, marks = 0;
const shims = new Set();

before(async () => {
	workspace = newWorkspace();
	w = await world({ config: configOf(workspace) });
});

beforeEach(() => {
	mark = `97.${process.pid}${marks++}`; // a time to sleep that nobody else has
	known = new Set(foldersOf(w.dataDir));
});

afterEach(async () => {
	await waitFor(() => left().length === 0, () => `nothing to be left of the command: ${left()}`);
});

after(() => shims.forEach(kill9));

const left = () => pidsNaming(mark, 'sleep');
const runs = () => readFileSync(join(workspace, 'runs'), 'utf8').split('\n').filter((line) => line === mark).length;
const begin = (more = {}) => submit(w.rt, `${shell(`echo ${mark} >>runs; echo begun; sleep ${mark}; exit 5`, more)}[[then]][[say so it is]]`);

/** The folder of the process that this test began, once it runs and has written. */
async function folder() {
	const found = await waitFor(() => foldersOf(w.dataDir).find((f) => !known.has(f) && recordsIn(f) > RUNNING), 'the process');
	await waitFor(() => left().length === 1, 'its sleep');
	return found;
}

const killShim = (where) => {
	const pid = shimOf(where);
	assert.ok(pid, 'a supervisor');
	kill9(pid);
};

async function restart(more = {}) {
	w.rt = await w.again({ config: configOf(workspace, more) });
}

/** It was lost: that much is a fact, and nothing else is said about its end. */
async function isLost(turn) {
	const end = await endOf(w.rt, turn);
	assert.deepEqual([end.type, end.payload.failureKind, end.payload.error.category], ['process.failed', 'transport', 'supervisor_lost']);
	assert.equal(end.payload.exitCode, undefined);
	assert.ok(!end.payload.end?.exitIsKnown || end.payload.end.signal === 'SIGKILL', `an exit code that nobody saw: ${JSON.stringify(end.payload.end)}`);
	assert.equal((await facts(w.rt, turn.sessionId, ...ENDS)).length, 1);
	assert.equal(end.payload.outputs[0].length, 'begun\n'.length, 'what it wrote is kept');
	return end;
}

/** Its call told the model that it failed, and the turn went on to its end. */
async function goesOn(turn) {
	const end = await ended(w.rt, turn.sessionId, turn.turnId);
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));
	const [told] = await facts(w.rt, turn.sessionId, 'tool.failed', 'tool.result');
	assert.equal(told.type, 'tool.failed');
	assert.equal(runs(), 1);
	return told;
}

test('OPEN-38 the supervisor is killed: its process goes with it, and its end is told as what it is', async () => {
	const turn = await begin();
	killShim(await folder());
	await isLost(turn);
	const told = await goesOn(turn);
	assert.deepEqual([told.payload.status, told.payload.retryable], ['interrupted', false]);
	assert.match(told.payload.recoveryAdvice, /find out whether it took effect/);
});

test('OPEN-38 supervisor and daemon are killed, in either order: no exit code is invented', async () => {
	for (const shimFirst of [true, false]) {
		const turn = await begin();
		const where = await folder();
		if (shimFirst) killShim(where);
		await w.rt.kill9();
		if (!shimFirst) killShim(where);
		await restart();
		await isLost(turn);
		await ended(w.rt, turn.sessionId, turn.turnId);
		await waitFor(() => left().length === 0, 'its sleep to be gone');
		known = new Set(foldersOf(w.dataDir));
		mark = `97.${process.pid}${marks++}`;
	}
});

test('a journal that was cut within a record tells what is before it', async () => {
	const turn = await begin();
	const where = await folder();
	await w.rt.kill9();
	killShim(where);
	await sleep(50);
	const journal = join(where, 'journal');
	truncateSync(journal, statSync(journal).size - 3);
	await restart();
	const end = await endOf(w.rt, turn);
	assert.deepEqual([end.type, end.payload.failureKind], ['process.failed', 'transport']);
	await goesOn(turn);
});

test('killed at its barrier, with the daemon: nothing ran, so its call begins anew and runs once', async () => {
	await w.rt.kill9();
	w.rt = await w.again({ fault: 'engine.before_go:1', mayDie: true });
	const turn = await submit(w.rt, `${shell(`echo ${mark} >>runs; exit 5`)}[[then]][[say so it is]]`);
	await w.rt.gone;
	const [where] = foldersOf(w.dataDir).filter((f) => !known.has(f));
	killShim(where);
	await restart();
	const end = await ended(w.rt, turn.sessionId, turn.turnId);
	assert.equal(end.type, 'turn.completed');
	const log = await facts(w.rt, turn.sessionId, ...ENDS);
	assert.deepEqual(log.map((e) => [e.type, e.payload.failureKind ?? e.payload.exitCode]), [['process.failed', 'spawn'], ['process.completed', 5]]);
	assert.equal(runs(), 1);
});

const ASKS = { 'permission.mode': 'on_request' }; // where nobody may be asked, the model is told

/** Nobody knows: it is said so, and a person is asked about the call. */
async function isUnavailable(turn) {
	const [repaired] = await seen(w.rt, turn.sessionId, 'snapshot.repaired');
	const { processId } = await startOf(w.rt, turn);
	assert.deepEqual(repaired.payload.unavailable, [processId]);
	const warnings = await facts(w.rt, turn.sessionId, 'runtime.warning');
	assert.deepEqual(warnings.filter((e) => e.payload.code === 'process_unavailable').map((e) => e.payload.scope), [{ processId }]);
	const { threads } = await ok(w.rt, 'get_session', { sessionId: turn.sessionId });
	assert.equal(threads[0].processes.find((p) => p.processId === processId).status, 'unavailable');
	await refused(w.rt, 'unavailable', 'terminate_process', { processId, reason: 'x' });
	const [question] = await pending(w.rt, turn.sessionId);
	return question;
}

test('PR-07 OPEN-38 its folder is gone, and all that ran: unavailable, a person is asked, and no end is ever told', async () => {
	await w.rt.stop();
	await restart(ASKS);
	const turn = await begin();
	const where = await folder();
	await w.rt.kill9();
	killShim(where);
	rmSync(where, { recursive: true });
	await restart(ASKS);
	const question = await isUnavailable(turn);
	await w.rt.kill9();
	await restart(ASKS);
	assert.equal((await facts(w.rt, turn.sessionId, 'snapshot.repaired')).length, 1, 'told once');
	const [again] = await pending(w.rt, turn.sessionId);
	assert.equal(again.actionId, question.actionId);
	await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: 'skip' });
	assert.equal((await ended(w.rt, turn.sessionId, turn.turnId)).type, 'turn.completed');
	assert.deepEqual(await facts(w.rt, turn.sessionId, ...ENDS), []);
	assert.equal(runs(), 1);
});

test('PR-07 its folder is gone while it runs on: unavailable, never completed', async () => {
	const turn = await begin();
	const where = await folder();
	const pid = shimOf(where);
	shims.add(pid);
	await w.rt.kill9();
	rmSync(where, { recursive: true });
	await restart(ASKS);
	const question = await isUnavailable(turn);
	assert.equal(left().length, 1, 'it does run');
	kill9(pid);
	await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: 'mark_done' });
	await ended(w.rt, turn.sessionId, turn.turnId);
	assert.deepEqual(await facts(w.rt, turn.sessionId, ...ENDS), []);
});
