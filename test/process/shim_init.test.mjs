// agent-shim with agent-init itself: what only a boundary shows. Descendants that left every group, a shim that is killed, limits of the kernel, a
// terminal of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, exitOf, marker, outputOf, pidsWith, sh, shim, typesOf, until } from './shim.mjs';

const isRoot = process.getuid() === 0;
const owner = isRoot ? 1000 : process.getuid();

const escape = (text) => [...Buffer.from(String(text))].map((b) =>
	b > 0x20 && b < 0x7f && b !== 0x5c ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, '0')}`).join('');

function planText(argv, workspace, words = {}) {
	const all = {
		mode: 'workspace_write', network: 'none', backend: isRoot ? 'root' : 'userns', uid: isRoot ? 61999 : 1000, gid: isRoot ? 61999 : 1000,
		workspace, workspace_uid: owner, workspace_gid: owner, cwd: workspace, read: ['/usr', '/bin', '/lib', '/lib64', '/etc'].filter(exists),
		env: ['PATH=/usr/bin:/bin'], ...words, arg: argv,
	};
	return Object.entries(all).flatMap(([word, value]) => [value].flat().map((v) => `${word} ${escape(v)}\n`)).join('') + 'end\n';
}

const exists = (path) => spawnSync('test', ['-e', path]).status === 0;

function boxed(t, argv, options = {}) {
	const workspace = mkdtempSync(join(tmpdir(), 'ar-shim-ws-'));
	if (isRoot)
		chownSync(workspace, owner, owner);
	t.after(() => rmSync(workspace, { recursive: true, force: true }));
	const s = shim(t, [], { ...options, planText: planText(argv, workspace, options.words), shim: { init: join(bin, 'agent-init'), ...options.shim } });
	s.workspace = workspace;
	return s;
}

// Fails with what agent-init said, when it could not.
async function sealed(s) {
	const records = await s.sealed();
	const failed = records.find((r) => r.type === 'SPAWN_FAILED');
	assert.equal(failed?.json.message, undefined);
	return records;
}

test('output, exit and the boundary are told', async (t) => {
	const s = await boxed(t, sh('echo out; echo err >&2; echo $$ > file; exit 5')).go();
	const records = await sealed(s);
	assert.deepEqual(typesOf(records).filter((x) => x !== 'OUTPUT'),
		['SPAWNED', 'APPLIED', 'RELEASED', 'STARTED', 'OUTPUT_END', 'EXIT', 'SEALED']);
	assert.equal(outputOf(records, 'stdout').toString(), 'out\n');
	assert.equal(outputOf(records, 'stderr').toString(), 'err\n');
	assert.deepEqual([exitOf(records).code, exitOf(records).by], [5, 'itself']);
	assert.equal(records[1].json.noNewPrivs, true);
	assert.equal(records[3].json.pid, 2, 'inside its own namespace');
	assert.equal(readFileSync(join(s.workspace, 'file'), 'utf8'), '2\n');
});

test('a program that is not there is told as the step exec', async (t) => {
	const s = await boxed(t, ['no-such-program']).go();
	const records = await s.sealed();
	assert.deepEqual(typesOf(records), ['SPAWNED', 'APPLIED', 'RELEASED', 'SPAWN_FAILED', 'SEALED']);
	assert.deepEqual([records[3].json.step, records[3].json.errno], ['exec', 2]);
});

test('a boundary that cannot be made is told with its step, and nothing runs', async (t) => {
	const s = await boxed(t, ['touch', 'ran'], { words: { cwd: '/no/such/folder' } }).ready();
	const records = await s.sealed();
	assert.deepEqual(typesOf(records), ['SPAWNED', 'SPAWN_FAILED', 'SEALED']);
	assert.equal(records[1].json.step, 'cwd');
	assert.ok(!exists(join(s.workspace, 'ran')));
});

test('without GO nothing runs', async (t) => {
	const s = await boxed(t, ['touch', 'ran'], { shim: { barrier_ms: 300 } }).ready();
	const records = await s.sealed();
	assert.deepEqual(typesOf(records), ['SPAWNED', 'APPLIED', 'SPAWN_FAILED', 'SEALED']);
	assert.ok(!exists(join(s.workspace, 'ran')));
});

const spread = (mark) =>
	sh(`i=0; while [ $i -lt 41 ]; do (setsid sh -c 'trap "" TERM INT HUP; (setsid sleep ${mark} &)' &); i=$((i+1)); done; sleep 300`);

test('41 descendants in sessions of their own die on END, and with a killed shim', async (t) => {
	for (const isKilled of [false, true]) {
		const mark = marker();
		const s = await boxed(t, spread(mark)).go();
		await until('all run', () => pidsWith(mark).length === 41);
		if (isKilled)
			process.kill(s.pid, 'SIGKILL');
		else
			s.connection.send('end {"by":"user","reason":"","graceMs":0}');
		await until('all are dead', () => pidsWith(mark).length === 0);
		if (isKilled) {
			await s.connection.line('closed');
			assert.ok(!typesOf(s.records()).some((x) => x === 'EXIT' || x === 'SEALED'));
			continue;
		}
		const records = await sealed(s);
		assert.ok(records.find((r) => r.type === 'LEFTOVERS').json.count >= 41);
		assert.equal(exitOf(records).by, 'user');
	}
});

test('leftovers are counted as they are seen from outside', async (t) => {
	const mark = marker();
	const s = await boxed(t, sh(`sleep ${mark} & (setsid sleep ${mark} &); echo done`)).go();
	const records = await sealed(s);
	assert.equal(records.find((r) => r.type === 'LEFTOVERS').json.count, 2);
	assert.deepEqual(pidsWith(mark), []);
});

test('signals: what ignores them is killed, what is stopped too, its time is kept', async (t) => {
	const s = await boxed(t, sh('trap "" INT TERM; echo up; kill -STOP $$; sleep 300'), { shim: { timeout_ms: 400 } }).go();
	const records = await sealed(s);
	assert.deepEqual(records.filter((r) => r.type === 'SIGNALLED').map((r) => r.json.signal), ['SIGINT', 'SIGTERM', 'SIGKILL']);
	assert.deepEqual([exitOf(records).signal, exitOf(records).by], ['SIGKILL', 'timeout']);
	const gentle = await boxed(t, sh('trap "echo bye; exit 3" INT; echo up; while :; do sleep 0.05; done')).go();
	await gentle.has('stdout', 'up');
	gentle.connection.send('end {"by":"parent_cancellation","reason":"","graceMs":5000}');
	const told = await sealed(gentle);
	assert.deepEqual([exitOf(told).code, exitOf(told).by], [3, 'parent_cancellation']);
});

test('a terminal of its own: size, signals to its foreground group, end of file', async (t) => {
	const s = await boxed(t, sh('tty; stty size; trap "echo got" INT; while read -r line; do echo "<$line>"; stty size; done; echo over'), { words: { tty: 'yes' } }).go();
	await s.has('tty', '24 80');
	assert.match(outputOf(s.records(), 'tty').toString(), /^\/dev\/pts\/\d+\r\n/);
	s.connection.send('resize 40 100');
	await s.record('RESIZED');
	assert.equal(await s.connection.input(1, 'hello\n'), 'ok');
	await s.has('tty', '<hello>');
	await s.has('tty', '40 100');
	assert.equal(await s.connection.input(2, '', true), 'ok');
	await s.has('tty', 'over');
	await sealed(s);
	const other = await boxed(t, sh('trap "echo got; exit 0" INT; echo up; sleep 300 & wait'), { words: { tty: 'yes' } }).go();
	await other.has('tty', 'up');
	other.connection.send('signal {"signal":"SIGINT","by":"user","reason":"ctrl-c"}');
	await other.has('tty', 'got');
	await sealed(other);
});

test('inputs reach it once each; a given input is its standard input', async (t) => {
	const s = await boxed(t, ['cat'], { words: { keeps_stdin: 'yes' } }).go();
	assert.equal(await s.connection.input(1, 'one\n'), 'ok');
	assert.equal(await s.connection.input(1, 'one\n'), 'before');
	assert.equal(await s.connection.input(2, 'two\n', true), 'ok');
	assert.equal(outputOf(await sealed(s), 'stdout').toString(), 'one\ntwo\n');
	const input = join(s.workspace, 'input');
	writeFileSync(input, 'given\n');
	const given = await boxed(t, ['cat'], { words: { stdin_is_given: 'yes' }, input }).go();
	assert.equal(outputOf(await sealed(given), 'stdout').toString(), 'given\n');
	const none = await boxed(t, ['cat'], { input }).go();
	assert.equal(outputOf(await sealed(none), 'stdout').length, 0);
});

test('a file beyond its limit ends it by that limit', async (t) => {
	const s = await boxed(t, ['dd', 'if=/dev/zero', 'of=big', 'bs=1000', 'count=100'], { words: { file_bytes: 5000 } }).go();
	const records = await sealed(s);
	assert.deepEqual([exitOf(records).signal, exitOf(records).by, exitOf(records).limit], ['SIGXFSZ', 'limit', 'file_size']);
	assert.equal(records.find((r) => r.type === 'LIMIT').json.kind, 'file_size');
});

function cgroup(t, hierarchy, limits) {
	const folder = `/sys/fs/cgroup/${hierarchy}/ar-shim-test-${process.pid}`;
	mkdirSync(folder);
	t.after(() => until('the cgroup is empty', () => {
		try {
			rmdirSync(folder);
			return true;
		} catch {
			return false;
		}
	}));
	for (const [file, value] of Object.entries(limits))
		writeFileSync(join(folder, file), value);
	return folder;
}

const canUse = (hierarchy) => isRoot && spawnSync('sh', ['-c', `d=/sys/fs/cgroup/${hierarchy}/ar-shim-probe-$$; mkdir $d && rmdir $d`]).status === 0;

test('killed for memory: by a limit, because the kernel counted it; killed otherwise: not', { skip: !canUse('memory') && 'needs a memory cgroup' }, async (t) => {
	const folder = cgroup(t, 'memory', { 'memory.limit_in_bytes': String(64 << 20) });
	const hog = ['python3', '-c', 'x=bytearray(300000000)'];
	const s = await boxed(t, hog, { words: { cgroup: folder }, shim: { cgroup: folder } }).go();
	const records = await sealed(s);
	assert.deepEqual([exitOf(records).signal, exitOf(records).by, exitOf(records).limit], ['SIGKILL', 'limit', 'memory']);
	const limit = records.find((r) => r.type === 'LIMIT').json;
	assert.deepEqual([limit.kind, limit.evidence], ['memory', 'kernel-limit']);
	const plain = await boxed(t, sh('kill -KILL $$'), { words: { cgroup: folder }, shim: { cgroup: folder } }).go();
	const told = await sealed(plain);
	assert.deepEqual([exitOf(told).signal, exitOf(told).by], ['SIGKILL', 'itself']);
	assert.ok(!typesOf(told).includes('LIMIT'));
});

test('cgroup.kill empties the cgroup', { skip: !canUse('unified') && 'needs a version 2 cgroup' }, async (t) => {
	const folder = cgroup(t, 'unified', {});
	const mark = marker();
	const s = await boxed(t, spread(mark), { words: { cgroup: folder }, shim: { cgroup: folder } }).go();
	await until('all run', () => pidsWith(mark).length === 41);
	s.connection.send('end {"by":"user","reason":"","graceMs":0}');
	await sealed(s);
	assert.equal(readFileSync(join(folder, 'cgroup.procs'), 'utf8'), '');
});

// socket(AF_VSOCK) to the listener, everything else allowed.
const vsockFilter = [[0x20, 0, 0, 0], [0x15, 0, 3, 41], [0x20, 0, 0, 16], [0x15, 0, 1, 40], [0x06, 0, 0, 0x7fc00000], [0x06, 0, 0, 0x7fff0000]].map(([code, jt, jf, k]) => {
	const b = Buffer.alloc(8);
	b.writeUInt16LE(code, 0);
	b.writeUInt8(jt, 2);
	b.writeUInt8(jf, 3);
	b.writeUInt32LE(k, 4);
	return b.toString('hex');
}).join('');

test('a refused system call is a violation with its exact count', async (t) => {
	const script = 'import socket,sys\nfor i in range(500):\n try: socket.socket(40, 1)\n except PermissionError: pass\n else: sys.exit(1)\n';
	const s = await boxed(t, ['python3', '-c', script], { words: { filter: vsockFilter, notifies: 'yes' } }).go();
	const records = await sealed(s);
	assert.equal(exitOf(records).code, 0, outputOf(records, 'stderr').toString());
	assert.deepEqual(records.filter((r) => r.type === 'VIOLATION').map((r) => [r.json.boundary, r.json.count, r.json.isLast]),
		[['network', 1, false], ['network', 500, true]]);
});
