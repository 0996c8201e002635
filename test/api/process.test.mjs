// Processes end to end, through the real shim and boundary: what is on record before they run, every byte by its place, input, each end, what a
// restart finds of them, and what is said of one that nobody can reach any more.
// ci: first
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call, follow, newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { ended, facts, seen } from '../lib/gate.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const ENDS = ['process.completed', 'process.failed', 'process.terminated'];
const isShared = !!process.env.AR_TEST_POSTGRES;
let w, workspace;

const shell = (args) => `[[tool shell ${JSON.stringify(args)}]]`;
const config = () => ({ 'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 300 });

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	w = await world({ config: config() });
});

const run = (args, more) => submit(w.rt, shell(args), more);

/** Whether a reader has something that a process wrote. */
const wrote = (reader) => [...reader.outputs.keys()].some((key) => key.startsWith('proc_'));

/** The one process of a session, once it has ended. */
async function endOf({ sessionId }) {
	return waitFor(async () => (await facts(w.rt, sessionId, ...ENDS))[0], 'the end of the process', 60000);
}

async function startOf({ sessionId }) {
	return (await seen(w.rt, sessionId, 'process.started'))[0];
}

async function whole(ref) {
	const parts = [];
	for (let offset = 0, size = 1; offset < size;) {
		const got = await ok(w.rt, 'read_output', { outputRef: ref, offset, length: 1000000 });
		const bytes = Buffer.from(got.content, got.encoding === 'base64' ? 'base64' : 'utf8');
		parts.push(bytes);
		size = got.sizeBytes;
		offset += bytes.length;
		if (bytes.length === 0) break;
	}
	return Buffer.concat(parts);
}

test('PR-04 PR-09 SB-06 all that is known of a command is on record before it runs', async () => {
	const turn = await run({ command: 'sleep 0.2 | cat', justification: 'to see it' });
	await endOf(turn);
	const log = await facts(w.rt, turn.sessionId);
	const at = (type) => log.find((e) => e.type === type);
	const started = at('process.started'), applied = at('sandbox.applied'), allowed = at('permission.evaluated');
	assert.equal(started.payload.parsedSubcommands.length, 2);
	assert.equal(started.payload.cwd, workspace);
	assert.equal(started.payload.tty, false);
	assert.equal(started.payload.destructive, false);
	assert.equal(started.payload.sandboxRef, applied.eventId);
	assert.equal(started.payload.permissionRef, allowed.eventId);
	assert.equal(started.payload.networkDecision, 'restricted');
	assert.match(started.payload.safeCommand, /sleep 0\.2 \| cat/);
	assert.equal(typeof started.payload.pathValidation, 'object');
	assert.equal(applied.payload.mode, 'workspace_write');
	assert.equal(applied.payload.network, 'restricted');
	assert.ok(applied.payload.writeRoots.includes(workspace));
	assert.ok(applied.payload.boundary);
	assert.equal(applied.processId, started.processId);
	assert.ok(allowed.sequence < applied.sequence && applied.sequence < started.sequence);
	const result = at('tool.result');
	assert.equal(result.payload.sandboxRef, applied.eventId);
});

test('PR-04 a pipeline that removes something: that it does, and all else, is on record before its first byte', async () => {
	const turn = await run({ command: 'echo gone >doomed; rm -rf doomed | cat; echo done', justification: 'to clean up' });
	const reader = await follow(w.rt, turn.sessionId);
	const before = []; // what a reader had when output came
	const take = reader.output.bind(reader);
	reader.output = (event) => {
		before.push(reader.facts.map((f) => f.type));
		take(event);
	};
	await reader.until(() => reader.of('process.completed').length, 'the end');
	reader.stop();
	for (const type of ['permission.evaluated', 'sandbox.applied', 'process.started']) assert.ok(before[0].includes(type), type);
	const [{ payload }] = reader.of('process.started');
	assert.deepEqual([payload.destructive, payload.justification, payload.networkDecision], [true, 'to clean up', 'restricted']);
	assert.deepEqual(payload.parsedSubcommands.map((c) => c.words[0]), ['echo', 'rm', 'cat', 'echo']);
	const [judged] = reader.of('permission.evaluated');
	assert.deepEqual([judged.payload.destructive, judged.payload.decisionSource], [true, 'mode']);
	assert.ok(judged.payload.impactScope && judged.payload.rollbackAdvice);
});

test('PR-10 OPEN-03 every byte of both streams by its place, live, after a cut, and again from the store', async () => {
	const turn = await run({ command: 'for i in $(seq 1 2000); do echo "out $i"; echo "err $i" >&2; done; sleep 0.3; printf "\\303"; sleep 0.2; printf "\\251\\377"' });
	const live = await follow(w.rt, turn.sessionId);
	await live.until(wrote, 'output');
	await live.resume();
	const end = await endOf(turn);
	await live.until(() => live.facts.some((f) => f.type === 'process.completed'), 'the end');
	const later = await follow(w.rt, turn.sessionId);
	await later.until(() => later.facts.some((f) => f.type === 'process.completed'), 'the end again');
	const want = { stdout: Array.from({ length: 2000 }, (_, i) => `out ${i + 1}\n`).join(''), stderr: Array.from({ length: 2000 }, (_, i) => `err ${i + 1}\n`).join('') };
	want.stdout = Buffer.concat([Buffer.from(want.stdout), Buffer.from([0xc3, 0xa9, 0xff])]);
	want.stderr = Buffer.from(want.stderr);
	for (const stream of ['stdout', 'stderr']) {
		for (const reader of [live, later]) {
			const have = reader.outputs.get(`${end.processId}:${stream}`);
			assert.equal(have.length, want[stream].length);
			assert.deepEqual(Buffer.concat(have.pieces), want[stream]);
		}
		assert.deepEqual(await whole(`${end.processId}.${stream}`), want[stream]);
	}
	for (const reader of [live, later]) {
		reader.stop();
		reader.check();
	}
	assert.equal(end.payload.outputRefs.length, 2);
});

test('PR-11 PR-05 what is typed is on record before it is written, once per key, until the input is closed', async () => {
	const turn = await run({ command: 'cat', background: true });
	const { processId } = await startOf(turn);
	const write = (input, more) => ok(w.rt, 'write_process_stdin', { processId, input, ...more });
	await ended(w.rt, turn.sessionId, turn.turnId);
	const reader = await follow(w.rt, turn.sessionId);
	const typed = []; // inputs that a reader had when output came
	const take = reader.output.bind(reader);
	reader.output = (event) => {
		typed.push(reader.of('process.input').length);
		take(event);
	};
	assert.equal((await write('hello\n', { idempotencyKey: 'one' })).bytesWritten, 6);
	assert.equal((await write('hello\n', { idempotencyKey: 'one' })).bytesWritten, 6);
	await write(Buffer.from([0xff, 10]).toString('base64'), { encoding: 'base64' });
	await write('', { eof: true });
	const end = await endOf(turn);
	assert.equal(end.type, 'process.completed');
	await reader.until(() => reader.of('process.completed').length, 'the end');
	reader.stop();
	assert.ok(typed.length > 0 && typed[0] > 0, 'the input is told before its echo');
	assert.deepEqual(await whole(`${processId}.stdout`), Buffer.from([...Buffer.from('hello\n'), 0xff, 10]));
	const inputs = await facts(w.rt, turn.sessionId, 'process.input');
	assert.deepEqual(inputs.map((e) => [e.payload.bytes, e.payload.eof]), [[6, false], [2, false], [0, true]]);
	await refused(w.rt, 'exited', 'write_process_stdin', { processId, input: 'x' });
	await refused(w.rt, 'process_not_found', 'write_process_stdin', { processId: '4711', input: 'x' });
	await refused(w.rt, 'process_not_found', 'terminate_process', { processId: `${processId}9`, reason: 'no such' });
});

test('CP-42 writes are answered with where the answer will be; a closed input and one that nobody reads are refused, each with its own code', async () => {
	const turn = await run({ command: 'cat; sleep 60', background: true });
	const { processId } = await startOf(turn);
	await ended(w.rt, turn.sessionId, turn.turnId);
	let offset = 0;
	for (const input of ['one\n', 'and two\n']) {
		const { bytesWritten, outputWindow } = await ok(w.rt, 'write_process_stdin', { processId, input });
		assert.deepEqual([bytesWritten, outputWindow], [input.length, { outputRef: `${processId}.stdout`, offset }]);
		await waitFor(async () => (await ok(w.rt, 'read_output', { ...outputWindow, length: 100 })).content === input, 'its echo');
		offset += input.length;
	}
	await ok(w.rt, 'write_process_stdin', { processId, input: '', eof: true });
	await refused(w.rt, 'stdin_closed', 'write_process_stdin', { processId, input: 'x' });

	const deaf = await run({ command: 'sleep 60', background: true });
	const other = (await startOf(deaf)).processId;
	await waitFor(async () => (await call(w.rt, 'write_process_stdin', { processId: other, input: 'x' })).status < 300, 'the first that it takes');
	const full = async () => {
		for (let i = 0; i < 40; i++) {
			const { status, body } = await call(w.rt, 'write_process_stdin', { processId: other, input: 'x'.repeat(60000) });
			if (status >= 400) return body.error.code;
		}
		return 'never';
	};
	assert.equal(await full(), 'backpressure');
	for (const id of [processId, other]) await ok(w.rt, 'terminate_process', { processId: id, reason: 'enough' });
	for (const { sessionId } of [turn, deaf]) await seen(w.rt, sessionId, 'process.terminated');
});

test('CP-43 terminate_process ends the whole tree, takes only ids of the runtime, and does nothing to one that has ended', async () => {
	const mark = `sleep 97.${process.pid}`;
	const left = () => execFileSync('ps', ['axo', 'args']).toString().split('\n').filter((line) => line === mark).length;
	const turn = await run({ command: `sh -c '${mark} & ${mark} & wait' & setsid ${mark} & wait`, background: true });
	const { processId } = await startOf(turn);
	await waitFor(() => left() === 3, 'the tree');
	for (const id of ['1', String(process.pid), `${processId}0`]) await refused(w.rt, 'process_not_found', 'terminate_process', { processId: id, reason: 'mine' });
	assert.equal((await ok(w.rt, 'terminate_process', { processId, reason: 'enough', graceMs: 100 })).status, 'terminating');
	assert.equal((await endOf(turn)).type, 'process.terminated');
	await waitFor(() => left() === 0, 'all of it to be gone');
	const before = (await facts(w.rt, turn.sessionId)).length;
	assert.equal((await ok(w.rt, 'terminate_process', { processId, reason: 'again' })).status, 'terminated');
	assert.equal((await facts(w.rt, turn.sessionId)).length, before);
});

test('PR-12 an exit code is a result, not a failure', async () => {
	const end = await endOf(await run({ command: 'exit 3' }));
	assert.equal(end.type, 'process.completed');
	assert.equal(end.payload.exitCode, 3);
	assert.equal(end.payload.status, 'exited');
});

test('PR-13 a program that is not there, and a command over its time', async () => {
	const missing = await endOf(await run({ argv: ['/nowhere/at/all'] }));
	assert.equal(missing.type, 'process.failed', JSON.stringify(missing.payload));
	assert.equal(missing.payload.failureKind, 'spawn');
	const late = await endOf(await run({ command: 'sleep 30', timeoutMs: 500 }));
	assert.equal(late.type, 'process.failed');
	assert.equal(late.payload.failureKind, 'timeout');
});

test('PR-14 who ended it is told: a person, an interruption, the end of the runtime; and nothing is left', async () => {
	const mark = `sleep 98.${process.pid}`;
	const left = () => execFileSync('ps', ['axo', 'args']).toString().split('\n').filter((line) => line === mark).length;

	const first = await run({ command: `${mark} & wait`, background: true });
	const { processId } = await startOf(first);
	await waitFor(() => left() === 1, 'the command');
	assert.equal((await ok(w.rt, 'terminate_process', { processId, reason: 'enough' })).status, 'terminating');
	let end = await endOf(first);
	assert.deepEqual([end.type, end.payload.terminatedBy, end.payload.reason], ['process.terminated', 'user', 'enough']);
	assert.equal((await ok(w.rt, 'terminate_process', { processId, reason: 'again' })).status, 'terminated');

	const second = await run({ command: `${mark}` });
	await startOf(second);
	const { affected } = await ok(w.rt, 'interrupt_turn', { sessionId: second.sessionId, reason: 'stop' });
	assert.equal(affected.processes.length, 1);
	end = await endOf(second);
	assert.equal(end.payload.terminatedBy, 'parent_cancellation');

	await w.rt.stop();
	w.rt = await w.again({ config: { ...config(), 'process.on_shutdown': 'terminate' } });
	const third = await run({ command: `${mark}`, background: true });
	await startOf(third);
	await w.rt.stop();
	await waitFor(() => left() === 0, 'all to be gone');
	w.rt = await w.again();
	end = await endOf(third);
	assert.equal(end.payload.terminatedBy, 'shutdown');
});

/** What turn.started refers to is what get_execution_environment answers. */
async function isRecorded({ sessionId }, env) {
	const [begun] = await facts(w.rt, sessionId, 'turn.started');
	const kept = JSON.parse((await ok(w.rt, 'read_output', { outputRef: begun.payload.executionEnvironmentRef })).content);
	for (const name of ['workspaceId', 'cwd', 'additionalRoots', 'shell', 'os', 'arch']) assert.deepEqual(kept[name], env[name], name);
	assert.deepEqual(kept.resourceLimits, env.processLimits);
	assert.deepEqual([kept.sandboxProfile, kept.networkProfile.access], [{ mode: env.sandbox.mode, isAvailable: env.sandbox.inForce.isAvailable }, env.network.access]);
}

test('PR-01 PR-03 PR-06 the environment of a session, and what a restart would find of it', async () => {
	const turn = await run({ command: 'echo here; sleep 60', background: true });
	const { processId } = await startOf(turn);
	await ended(w.rt, turn.sessionId, turn.turnId);
	await w.rt.kill9();
	w.rt = await w.again();
	const env = await ok(w.rt, 'get_execution_environment', { sessionId: turn.sessionId });
	for (const name of ['workspaceId', 'cwd', 'additionalRoots', 'shell', 'os', 'arch', 'envRef', 'sandboxProfile', 'networkProfile', 'resourceLimits'])
		assert.ok(name in env, name);
	for (const name of [env.os, env.arch]) assert.match(name, /^\w{2,12}$/, 'a generic name, no build of a kernel');
	assert.ok(!JSON.stringify(env).includes(release()));
	assert.equal(env.cwd, workspace);
	assert.equal(env.sandbox.mode, 'workspace_write');
	assert.equal(env.sandbox.inForce.isAvailable, true);
	assert.ok(env.sandbox.inForce.guarantees && env.sandbox.ladder.length > 0);
	assert.equal(env.network.access, 'restricted');
	assert.deepEqual(env.activeProcesses.map((p) => [p.processId, p.status, p.isBackground]), [[processId, 'running', true]]);
	assert.deepEqual(env.recovery.mayBeAlive.map((p) => p.processId), [processId]);
	assert.deepEqual(Object.keys(env.recovery), ['mayBeAlive', 'outputIsSafe', 'beyondRecovery', 'openActions']);
	const { threads } = await ok(w.rt, 'get_session', { sessionId: turn.sessionId });
	assert.equal(threads[0].processes[0].processId, processId);
	await isRecorded(turn, env);
	const strict = await submit(w.rt, 'hello', { options: { sandbox: 'no_network' } });
	await ended(w.rt, strict.sessionId, strict.turnId);
	const named = await ok(w.rt, 'get_execution_environment', { turnId: strict.turnId });
	assert.equal(named.sandbox.mode, 'no_network');
	await isRecorded(strict, named);
	await refused(w.rt, 'scope_not_found', 'get_execution_environment', { sessionId: turn.sessionId, turnId: 'nobody' });
	await ok(w.rt, 'terminate_process', { processId, reason: 'done' });
	assert.equal((await endOf(turn)).payload.terminatedBy, 'user');
	const after = await ok(w.rt, 'get_execution_environment', { sessionId: turn.sessionId });
	assert.deepEqual(after.recovery.outputIsSafe.map((p) => p.processId), [processId]);
});

test('kill -9 while a command runs: its output goes on by its places, its end is told once', async () => {
	const turn = await run({ command: 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done' });
	const reader = await follow(w.rt, turn.sessionId);
	await reader.until(wrote, 'output');
	await w.rt.kill9();
	w.rt = await w.again();
	await reader.resume(w.rt);
	await reader.ended(turn.turnId, 30000);
	const end = await endOf(turn);
	reader.stop();
	reader.check();
	const have = reader.outputs.get(`${end.processId}:stdout`);
	assert.equal(Buffer.concat(have.pieces).toString(), '1\n2\n3\n4\n5\n6\n7\n8\n');
	assert.equal((await facts(w.rt, turn.sessionId, ...ENDS)).length, 1);
	assert.equal((await facts(w.rt, turn.sessionId, 'process.started')).length, 1);
	assert.equal((await facts(w.rt, turn.sessionId, 'task.attempt.started')).length, 1, 'no attempt was lost');
});

test('PR-07 PR-08 OPEN-38 one that nobody can reach is unavailable: warned of, repaired, refused, never completed', async () => {
	const turn = await run({ command: 'sleep 60', background: true });
	const { processId } = await startOf(turn);
	await ended(w.rt, turn.sessionId, turn.turnId);
	await w.rt.kill9();
	const folder = join(w.dataDir, 'data', 'processes');
	for (const name of readdirSync(folder)) {
		for (const pid of pidsIn(join(folder, name))) tryKill(pid);
		rmSync(join(folder, name), { recursive: true, force: true });
	}
	w.rt = await w.again();
	const [repaired] = await waitFor(async () => {
		const found = await facts(w.rt, turn.sessionId, 'snapshot.repaired');
		return found.length > 0 && found;
	}, 'the repair');
	assert.deepEqual(repaired.payload.unavailable, [processId]);
	const [warning] = await facts(w.rt, turn.sessionId, 'runtime.warning');
	assert.equal(warning.payload.code, 'process_unavailable');
	assert.deepEqual(warning.payload.scope, { processId });
	await refused(w.rt, 'unavailable', 'write_process_stdin', { processId, input: 'x' });
	await refused(w.rt, 'unavailable', 'terminate_process', { processId, reason: 'x' });
	assert.deepEqual(await facts(w.rt, turn.sessionId, ...ENDS), []);
	const { recovery } = await ok(w.rt, 'get_execution_environment', { sessionId: turn.sessionId });
	assert.deepEqual(recovery.beyondRecovery.map((p) => p.processId), [processId]);
});

// A cluster waits an hour: another node may have the session.
test('what is left of processes goes a day after their end, but not what a session comes back for', { skip: isShared && 'not in its first hour' }, async () => {
	const turn = await run({ command: 'sleep 0.5; exit 3', background: true });
	const name = (await startOf(turn)).payload.handle.split('/').pop();
	await ended(w.rt, turn.sessionId, turn.turnId);
	await w.rt.kill9();
	const folder = join(w.dataDir, 'data', 'processes');
	await waitFor(() => pidsIn(join(folder, name)).length === 0, 'the end of its supervisor');
	const old = (days) => new Date(Date.now() - days * 24 * 3600 * 1000);
	const age = (which, days) => utimesSync(join(folder, which, 'journal'), old(days), old(days));
	const [left, young] = ['0', '1', '2'].filter((last) => !name.endsWith(last)).map((last) => name.slice(0, -1) + last);
	for (const copy of [left, young]) {
		cpSync(join(folder, name), join(folder, copy), { recursive: true, filter: (path) => !path.endsWith('sock') });
		chmodSync(join(folder, copy), 0o700);
	}
	age(name, 3);
	age(left, 2);
	age(young, 0.5);
	w.rt = await w.again();
	assert.equal((await endOf(turn)).payload.exitCode, 3);
	await waitFor(() => !existsSync(join(folder, left)), 'the sweep', 20000);
	assert.ok(existsSync(join(folder, young)));
	rmSync(join(folder, young), { recursive: true });
});

/** The supervisor that works in this folder. */
function pidsIn(folder) {
	return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder);
		} catch {
			return false;
		}
	}).map(Number);
}

function tryKill(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch {
		// it ended meanwhile
	}
}
