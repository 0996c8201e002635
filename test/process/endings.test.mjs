// How processes of a real agentd are ended, and by whom: with everything that descends from them, however it hid; by a person, an interruption, a
// shutdown; and what a stop and a start of the daemon (an upgrade), or its death and another node, leave of a long command.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, before, beforeEach, test } from 'node:test';
import { ended, facts, seen } from '../lib/gate.mjs';
import { newFolder, ok, request, startAgentd, storeOf, submit, waitFor, world } from '../lib/runtime.mjs';
import { configOf, ENDS, endOf, newWorkspace, pidsNaming, shell, startOf } from './place.mjs';

const LEASE_MS = 1500;
let w, workspace, mark, marks = 0;

before(async () => {
	workspace = newWorkspace();
	w = await world({ config: configOf(workspace) });
});

beforeEach(() => (mark = `96.${process.pid}${marks++}`)); // a time to sleep that nobody else has

afterEach(async () => {
	await waitFor(() => left().length === 0, () => `nothing to be left: ${left()}`);
});

const left = () => pidsNaming(mark).filter((pid) => pid !== w.rt.pid);
const ran = () => (existsSync(join(workspace, 'runs')) ? readFileSync(join(workspace, 'runs'), 'utf8') : ''); // a command that was started need not have written yet
const runs = () => ran().split('\n').filter((line) => line === mark).length;
const run = (command, more) => submit(w.rt, `${shell(command, more)}[[then]][[say so it is]]`);

async function restart(more) {
	await w.rt.stop();
	w.rt = await w.again({ config: configOf(workspace, more) });
}

// Sessions of their own, fathers that left, signals that are ignored, a name that was changed.
const family = () => [
	`for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep ${mark} & done`,
	`for i in 1 2 3 4 5 6 7 8 9 10; do (sleep ${mark} &) ; (setsid sh -c "sleep ${mark} & exit" &); done`,
	`for i in 1 2 3 4 5 6 7 8 9 10; do nohup setsid sh -c "trap '' HUP INT TERM; sleep ${mark} & wait" >/dev/null 2>&1 & done`,
	`exec -a renamed sleep ${mark}`,
].join('\n');

test('41 descendants that fled into sessions of their own die when their turn is interrupted', async () => {
	const turn = await run(`exec bash -c '${family().replaceAll("'", `'"'"'`)}'`);
	const sleeping = () => pidsNaming(mark, 'sleep').length;
	await waitFor(() => sleeping() === 41, () => `the family: ${sleeping()}`, 60000);
	await ok(w.rt, 'interrupt_turn', { sessionId: turn.sessionId, reason: 'enough' });
	const end = await endOf(w.rt, turn);
	assert.deepEqual([end.type, end.payload.terminatedBy], ['process.terminated', 'parent_cancellation']);
	assert.deepEqual(left(), [], 'once its end is told, nothing of it lives');
});

test('PR-14 a person, an interruption and the shutdown are told apart', async () => {
	const by = [];
	const first = await run(`sleep ${mark}; exit 5`);
	const { processId } = await startOf(w.rt, first);
	await ok(w.rt, 'terminate_process', { processId, reason: 'not wanted' });
	by.push((await endOf(w.rt, first)).payload.terminatedBy);
	assert.equal((await ended(w.rt, first.sessionId)).type, 'turn.completed', 'the model goes on with what it is told');

	const second = await run(`sleep ${mark}; exit 5`);
	await startOf(w.rt, second);
	await ok(w.rt, 'interrupt_turn', { sessionId: second.sessionId, reason: 'enough' });
	by.push((await endOf(w.rt, second)).payload.terminatedBy);

	await restart({ 'process.on_shutdown': 'terminate' });
	const third = await run(`sleep ${mark}; exit 5`), fourth = await run(`sleep ${mark}; exit 5`, { background: true });
	for (const turn of [third, fourth]) await startOf(w.rt, turn);
	await waitFor(() => pidsNaming(mark, 'sleep').length === 2, 'both commands');
	await restart();
	for (const turn of [third, fourth]) by.push((await endOf(w.rt, turn)).payload.terminatedBy);
	assert.deepEqual(by, ['user', 'parent_cancellation', 'shutdown', 'shutdown']);
	await ended(w.rt, third.sessionId, third.turnId);
	for (const turn of [first, second, third, fourth]) assert.equal((await facts(w.rt, turn.sessionId, ...ENDS)).length, 1);
});

test('AN-26 an upgrade in the middle of a long command: it runs on, is found again, and its call gets its end', async () => {
	const command = `echo ${mark} >>runs; echo before; while ! [ -e go-${mark} ]; do sleep 0.05; done; echo after; exit 4`;
	const turn = await run(command), other = await run(command, { background: true });
	for (const t of [turn, other]) await startOf(w.rt, t);
	await waitFor(() => runs() === 2, 'both');
	await ended(w.rt, other.sessionId, other.turnId);
	await w.rt.stop();
	assert.ok(left().length > 0, 'it runs while no daemon does');
	w.rt = await w.again();
	const { recovery } = await ok(w.rt, 'get_execution_environment', { sessionId: other.sessionId });
	assert.equal(recovery.mayBeAlive.length, 1);
	const go = await run(`touch go-${mark}`);
	for (const t of [turn, other]) {
		const end = await endOf(w.rt, t);
		assert.deepEqual([end.type, end.payload.exitCode, end.payload.outputs[0].length], ['process.completed', 4, 'before\nafter\n'.length]);
		assert.equal((await facts(w.rt, t.sessionId, 'task.attempt.started')).length, 1, 'no attempt was lost');
	}
	await ended(w.rt, turn.sessionId, turn.turnId);
	await ended(w.rt, go.sessionId, go.turnId);
	const [told] = await facts(w.rt, turn.sessionId, 'tool.result');
	assert.match(told.payload.preview, /^exit code 4,[^]*before\nafter\n/);
	assert.equal(runs(), 2, 'nothing ran twice');
});

const skip = !process.env.AR_TEST_POSTGRES && 'a takeover needs PostgreSQL';

test('another node of the same host finds the processes of one that was killed', { skip }, async () => {
	const env = storeOf(newFolder());
	const start = (name) => startAgentd({ model: w.model, env: { ...env, AGENTD_NODE: name }, config: configOf(workspace, { 'cluster.lease_ms': LEASE_MS }) });
	const a = await start('a');
	const b = await start('b');
	await waitFor(async () => JSON.parse((await request(b, { method: 'GET', path: '/v1/nodes' })).text).nodes.every((n) => n.partitions >= 512), 'a fair share for each');
	const turn = await submit(a, `${shell(`echo ${mark} >>runs; echo before; while ! [ -e go-${mark} ]; do sleep 0.05; done; exit 4`)}[[then]][[say so it is]]`);
	const talk = await submit(a, shell(`echo ${mark} >>runs; while read -r line; do echo "got $line"; done; exit 3`, { background: true }));
	for (const t of [turn, talk]) await startOf(a, t);
	const { processId } = await startOf(a, talk);
	await ok(a, 'write_process_stdin', { processId, input: 'one\n' });
	await ended(a, talk.sessionId, talk.turnId);
	await waitFor(() => runs() === 2, 'both');
	await a.kill9();
	await waitFor(async () => ok(b, 'write_process_stdin', { processId, input: 'two\n', eof: true, idempotencyKey: 'two' }).catch(() => null), 'the new owner');
	const end = await endOf(b, talk);
	assert.deepEqual([end.type, end.payload.exitCode, end.payload.outputs[0].length], ['process.completed', 3, 'got one\ngot two\n'.length]);
	const go = await submit(b, shell(`touch go-${mark}`));
	const built = await endOf(b, turn);
	assert.deepEqual([built.type, built.payload.exitCode], ['process.completed', 4]);
	for (const t of [turn, go]) assert.equal((await ended(b, t.sessionId, t.turnId)).type, 'turn.completed');
	assert.equal((await seen(b, turn.sessionId, 'tool.result')).length, 1);
	assert.equal(runs(), 2, 'nothing ran twice');
	await b.stop();
});

const WAIT = { name: 'hold', description: 'Holds the turn.', inputSchema: { type: 'object' }, isReadOnly: true, isConcurrencySafe: true };

/** A terminal with a shell, opened in a turn that the client holds open; written to and read while the turn runs. */
async function terminal() {
	const turn = await submit(w.rt, `[[tool terminal_open ${JSON.stringify({ command: `sh -c 'read word; echo "got $word"; sleep ${mark}'` })}]][[tool hold {}]][[then]][[say so it is]]`, { options: { tools: [WAIT] } });
	const { processId } = await startOf(w.rt, turn);
	const { outputWindow } = await ok(w.rt, 'write_process_stdin', { processId, input: 'hello\n' });
	const read = await waitFor(async () => {
		const part = await ok(w.rt, 'read_output', outputWindow);
		return part.content?.includes('got hello') && part;
	}, 'what the shell says');
	assert.equal((await facts(w.rt, turn.sessionId, 'process.input'))[0].processId, processId);
	assert.ok(read.content.includes('got hello'));
	const call = await waitFor(async () => (await facts(w.rt, turn.sessionId, 'tool.started')).find((e) => e.payload.toolName === 'hold'), 'the call of the client');
	assert.deepEqual(await facts(w.rt, turn.sessionId, ...ENDS), [], 'it runs');
	await ok(w.rt, 'report_tool_result', { toolCallId: call.toolCallId, output: 'go on' });
	assert.equal((await ended(w.rt, turn.sessionId, turn.turnId)).type, 'turn.completed');
	return { ...turn, processId };
}

const isActive = async ({ sessionId, processId }) => (await ok(w.rt, 'get_execution_environment', { sessionId })).activeProcesses.some((p) => p.processId === processId);

test('PR-05 the end of a turn keeps its terminal or ends it, by the rule of the host, also when the daemon dies right after it', async () => {
	const kept = await terminal();
	assert.ok(await isActive(kept));
	const { processId, sessionId } = kept;
	const later = await submit(w.rt, 'hello', { sessionId });
	await ended(w.rt, sessionId, later.turnId);
	assert.ok(await isActive(kept), 'it has the same id in the turns that follow');
	await ok(w.rt, 'terminate_process', { processId, reason: 'enough' });
	assert.equal((await endOf(w.rt, kept)).payload.terminatedBy, 'user');

	const left = await terminal();
	await w.rt.kill9();
	w.rt = await w.again({ config: configOf(workspace, { 'process.on_turn_end': 'terminate' }) });
	assert.deepEqual((({ terminatedBy, reason }) => [terminatedBy, reason])((await endOf(w.rt, left)).payload), ['policy', 'its turn has ended (process.on_turn_end)']);
	const ends = await terminal();
	assert.equal((await endOf(w.rt, ends)).payload.terminatedBy, 'policy');
	assert.equal(await isActive(ends), false);
	await restart();
});
