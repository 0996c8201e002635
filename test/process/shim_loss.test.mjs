// agent-shim when something is lost or never was: the daemon, agent-init, the shim itself, the start; and what the kernel refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
	chmodSync, closeSync, existsSync, fstatSync, mkdirSync, mkdtempSync, openSync, readFileSync, readSync, rmdirSync, rmSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitOf, isAlive, isMeasured, marker, outputOf, parseJournal, pidsWith, sh, shim, sleep, typesOf, until } from './shim.mjs';

test('a daemon that is killed and comes back at any record reads the same records', async (t) => {
	let want;
	for (let kill_at = 99; kill_at >= 3; kill_at = Math.min(kill_at - 1, 23)) {
		const s = await shim(t, sh('for i in 1 2 3 4 5 6; do read -r line; echo "$line"; done; echo over >&2; read -r line; exit 9'),
			{ plan: ['keeps_stdin'] }).go();
		const records = await driveWithKill(s, kill_at);
		const told = records.slice(2).map((r) => [r.type, r.stream, r.type === 'EXIT' ? r.json.code : r.payload.toString()]);
		told.find((r) => r[0] === 'STARTED')[2] = '';
		want ??= told;
		assert.deepEqual(told, want, `killed at record ${kill_at}`);
		await s.close();
	}
	assert.equal(want.length, 26);
});

// Gives six lines, each after the answer to the one before; the daemon is killed -9 once the journal has so many records, and comes back.
async function driveWithKill(s, kill_at) {
	const perhaps = async () => {
		if (s.connections.length > 1 || s.records().length < kill_at)
			return;
		await s.connection.kill();
		await (await s.attach()).line('hello ');
	};
	const wait = (what, check) => until(what, async () => {
		await perhaps();
		return check(s.records());
	});
	await wait('its start', (records) => records.some((r) => r.type === 'STARTED'));
	for (let i = 1; i <= 6; i++) {
		await s.connection.input(i, `line ${i}\n`);
		await wait(`answer ${i}`, (records) => outputOf(records, 'stdout').includes(`line ${i}\n`));
		// The verdict may have been lost with the one who asked: the number makes it safe to ask again.
		assert.equal(await s.connection.input(i, `line ${i}\n`), 'before');
	}
	await wait('its last word', (records) => outputOf(records, 'stderr').includes('over'));
	await s.connection.input(7, '', true);
	return s.sealed();
}

test('the newest connection drives, an older one is closed', async (t) => {
	const s = await shim(t, ['cat'], { plan: ['keeps_stdin'] }).go();
	const first = s.connection;
	await s.record('STARTED');
	assert.equal(await first.input(1, 'a'), 'ok');
	const second = await s.attach();
	assert.equal(await second.line('hello '), 'hello 1 1 1 0');
	await first.line('closed');
	assert.equal(await second.input(1, 'a'), 'before');
	assert.equal(await second.input(2, 'b', true), 'ok');
	assert.equal(outputOf(await s.sealed(), 'stdout').toString(), 'ab');
});

test('somebody else does not drive', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
	const s = await shim(t, ['sleep', '300']).go();
	await s.record('STARTED');
	chmodSync(s.folder, 0o755);
	chmodSync(join(s.folder, 'sock'), 0o777);
	const first = s.connection;
	const other = await s.attach(['setpriv', '--reuid', '65534', '--clear-groups', '--inh-caps=-all']);
	await other.line('closed');
	assert.ok(!other.lines.some((l) => l.startsWith('hello')));
	assert.ok(!first.lines.includes('closed'));
});

test('a client that never reads does not stop the output', async (t) => {
	const s = await shim(t, sh('head -c 20000000 /dev/zero; read line'), { plan: ['keeps_stdin'] }).go();
	await s.record('STARTED');
	process.kill(s.connection.pid, 'SIGSTOP');
	await until('all output', () => outputOf(s.records(), 'stdout').length === 20_000_000, 60000);
	process.kill(s.connection.pid, 'SIGCONT');
	await s.connection.input(1, '', true);
	await s.sealed();
});

test('without GO nothing runs', async (t) => {
	const s = await shim(t, ['touch', 'ran'], { shim: { barrier_ms: 300 } }).ready();
	await s.connection.kill();
	const records = await s.sealed();
	assert.deepEqual(typesOf(records), ['SPAWNED', 'APPLIED', 'SPAWN_FAILED', 'SEALED']);
	assert.equal(records[2].json.step, 'barrier');
	assert.ok(!existsSync(join(s.folder, 'ran')));
	const other = await shim(t, ['touch', 'ran']).ready();
	other.connection.send('end {"by":"user","reason":"changed my mind","graceMs":100}');
	assert.equal((await other.sealed())[2].json.step, 'barrier');
	assert.ok(!existsSync(join(other.folder, 'ran')));
});

test('a daemon that comes back before GO lets it go', async (t) => {
	const s = await shim(t, sh('echo ran')).ready();
	await s.connection.kill();
	const c = await s.attach();
	assert.equal(await c.line('hello '), 'hello 1 0 0 0');
	c.send('go');
	c.send('go');
	const records = await s.sealed();
	assert.equal(outputOf(records, 'stdout').toString(), 'ran\n');
	assert.equal(typesOf(records).filter((x) => x === 'RELEASED').length, 1);
});

test('what could not be started is told with the step', async (t) => {
	const missing = await (await shim(t, ['no-such-program']).go()).sealed();
	assert.deepEqual(typesOf(missing), ['SPAWNED', 'APPLIED', 'RELEASED', 'SPAWN_FAILED', 'SEALED']);
	assert.deepEqual([missing[3].json.step, missing[3].json.errno], ['exec', 2]);
	const failures = [
		[{ plan: ['fake fail_setup'] }, 'landlock'],
		[{ plan: ['fake silent'], shim: { barrier_ms: 200 } }, 'setup'],
		[{ plan: ['fake die_ready'] }, 'init'],
		[{ shim: { init: '/no/such/agent-init' } }, 'init'],
		[{ shim: { init: '/bin/true' } }, 'init'],
		[{ shim: { nonsense: 1 } }, 'options'],
	];
	for (const [options, step] of failures) {
		const s = await shim(t, ['touch', 'ran'], options).ready();
		const records = await s.sealed();
		assert.equal(records.at(-2).type, 'SPAWN_FAILED');
		assert.equal(records.at(-2).json.step, step);
		assert.ok(!existsSync(join(s.folder, 'ran')));
	}
});

test('a killed shim takes its process along and leaves no end that it did not see', async (t) => {
	const mark = marker();
	const s = await shim(t, ['sleep', mark]).go();
	await until('it runs', () => pidsWith(mark).length === 1);
	await s.record('STARTED');
	process.kill(s.pid, 'SIGKILL');
	await until('all are dead', () => pidsWith(mark).length === 0);
	await s.connection.line('closed');
	assert.deepEqual(typesOf(s.records()), ['SPAWNED', 'APPLIED', 'RELEASED', 'STARTED']);
});

test('an agent-init that is killed leaves neither a descendant nor an exit status behind', async (t) => {
	const mark = marker();
	const s = await shim(t, sh(`(setsid sleep ${mark} &); sleep ${mark}`)).go();
	await until('both run', () => pidsWith(mark).length === 2);
	process.kill((await s.record('APPLIED')).json.pid, 'SIGKILL');
	await s.connection.line('closed');
	assert.ok(!typesOf(s.records()).some((x) => x === 'EXIT' || x === 'SEALED'));
	assert.deepEqual(pidsWith(mark), []);
});

test('SIGTERM to the shim is a shutdown of its process', async (t) => {
	const s = await shim(t, ['sleep', '300']).go();
	await s.record('STARTED');
	process.kill(s.pid, 'SIGTERM');
	assert.equal(exitOf(await s.sealed()).by, 'shutdown');
});

test('the shim holds its lock, keeps nothing it inherited, cannot be dumped', async (t) => {
	const s = await shim(t, ['sleep', '300']).go();
	await s.record('STARTED');
	const locked = () => spawnSync('flock', ['-n', join(s.folder, 'lock'), 'true']).status !== 0;
	assert.ok(locked());
	assert.match(readFileSync(`/proc/${s.pid}/limits`, 'utf8'), /Max core file size\s+0\s+0/);
	const stat = readFileSync(`/proc/${s.pid}/stat`, 'utf8').split(' ');
	assert.equal(Number(stat[5]), s.pid, 'a session of its own');
	// Whoever has its uid may not look into it.
	if (process.getuid() !== 0)
		assert.throws(() => readFileSync(`/proc/${s.pid}/environ`), { code: 'EACCES' });
	else
		assert.equal(readFileSync(`/proc/${s.pid}/environ`, 'utf8'), '');
	t.diagnostic(`${s.rss()} kB`);
	assert.ok(s.rss() <= 1024 || !isMeasured);
	process.kill(s.pid, 'SIGHUP');
	await sleep(50);
	assert.ok(isAlive(s.pid));
	s.connection.send('end {"by":"user","reason":"","graceMs":0}');
	await s.sealed();
	assert.ok(!locked());
});

test('refused system calls are told: the first at once, the exact count at the end', async (t) => {
	const s = await shim(t, ['python3', '-c', 'exec("import socket,sys\\nfor i in range(20000):\\n try: socket.socket(40, 1)\\n except PermissionError: pass\\n else: sys.exit(1)\\nprint(sys.stdin.read())")'],
		{ plan: ['notifies', 'keeps_stdin'] }).go();
	const first = (await s.record('VIOLATION')).json;
	await s.connection.input(1, '', true);
	const records = await s.sealed(60000);
	const base = { boundary: 'network', attempted: 'socket(AF_VSOCK, SOCK_STREAM, 0)', effect: 'blocked', evidence: 'seccomp-notify', errno: 1 };
	assert.deepEqual(first, { ...base, count: 1, isLast: false });
	assert.deepEqual(records.filter((r) => r.type === 'VIOLATION').map((r) => r.json), [first, { ...base, count: 20000, isLast: true }]);
	assert.equal(exitOf(records).code, 0, outputOf(records, 'stderr').toString());
});

// The folder on a disk of its own, seen through the one who mounted it. Leaves about 600 kB for the journal.
function onSmallDisk(t, argv) {
	const mounts = 'mkdir "$1/.at" && mount -t tmpfs -o size=4m,mode=700 tmpfs "$1/.at" && cp "$1/plan" "$1/shim" "$1/.at/" && ' +
		'mount --move "$1/.at" "$1" && head -c 3500000 /dev/zero > "$1/filler"; shift; exec "$@"';
	const folder = mkdtempSync(join(tmpdir(), 'ar-shim-small-'));
	const s = shim(t, argv, { folder, launcher: ['unshare', '--mount', 'sh', '-c', mounts, 'sh', folder] });
	s.view = `/proc/${s.connection.pid}/root${folder}`;
	// Open for as long as the test lasts: the disk goes with its last user.
	let fd;
	s.journal = () => {
		fd ??= openSync(join(s.view, 'journal'));
		const bytes = Buffer.alloc(fstatSync(fd).size);
		return parseJournal(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)));
	};
	t.after(() => fd && closeSync(fd));
	return s;
}

const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0;
const lines = Array.from({ length: 300000 }, (_, i) => `${i + 1}\n`).join('');

test('a full disk stops the process, not the record of it; with room again nothing is missing', { skip: !canMount && 'needs to mount' }, async (t) => {
	const s = await onSmallDisk(t, sh('seq 300000; echo over >&2')).go();
	await s.record('STARTED');
	const size = await standsStill(s);
	assert.ok(size > 100_000 && size < lines.length, `${size} bytes`);
	assert.ok(isAlive(s.pid) && !typesOf(s.records()).includes('EXIT'));
	rmSync(join(s.view, 'filler'));
	await s.record('EXIT');
	const records = s.records();
	assert.equal(outputOf(records, 'stdout').toString(), lines);
	assert.equal(outputOf(records, 'stderr').toString(), 'over\n');
	assert.equal(exitOf(records).by, 'itself');
});

test('on a full disk the end is still on record, with the range that is missing', { skip: !canMount && 'needs to mount' }, async (t) => {
	const s = await onSmallDisk(t, sh('seq 300000')).go();
	await standsStill(s);
	assert.throws(() => writeFileSync(join(s.view, 'more'), Buffer.alloc(4_000_000)), { code: 'ENOSPC' }, 'nothing is left for anybody');
	for (let i = 0; i < 100; i++)
		s.connection.send(`signal {"signal":"SIGCONT","by":"user","reason":"${'x'.repeat(200)}"}`);
	s.connection.send('end {"by":"user","reason":"full","graceMs":0}');
	await s.record('EXIT', 30000);
	const records = s.records();
	assert.equal(records.filter((r) => r.type === 'SIGNALLED').length, 101);
	assert.deepEqual([exitOf(records).signal, exitOf(records).by], ['SIGKILL', 'user']);
	const sum = records.find((r) => r.type === 'OUTPUT_END').json.stdout;
	const kept = outputOf(records, 'stdout');
	const missing = records.filter((r) => r.type === 'TRUNCATED').reduce((n, r) => n + r.json.to - r.json.from, 0);
	assert.ok(missing > 0);
	assert.equal(kept.length + missing, sum);
	assert.ok(lines.startsWith(kept.toString()));
});

async function standsStill(s) {
	let before = -1;
	await until('the journal stands still', async () => {
		const now = outputOf(s.records(), 'stdout').length;
		const is_still = now > 0 && now === before;
		before = now;
		await sleep(400);
		return is_still;
	});
	return before;
}

const pidsCgroups = '/sys/fs/cgroup/pids';
test('a limit of processes is told with the kernel\'s own count; the cgroup is emptied', { skip: !canMakeCgroup() && 'needs a pids cgroup' }, async (t) => {
	const folder = `${pidsCgroups}/ar-shim-test-${process.pid}`;
	mkdirSync(folder);
	t.after(() => until('the cgroup is empty', () => {
		try {
			rmdirSync(folder);
			return true;
		} catch {
			return false;
		}
	}));
	writeFileSync(`${folder}/pids.max`, '12');
	const mark = marker();
	const s = await shim(t, sh(`i=0; while [ $i -lt 10 ]; do setsid sleep ${mark} & i=$((i+1)); done; sleep 0.2; (:); (:); read line`),
		{ plan: ['keeps_stdin', `cgroup ${folder}`], shim: { cgroup: folder } }).go();
	const limit = (await s.record('LIMIT')).json;
	assert.equal(limit.kind, 'processes');
	assert.equal(limit.evidence, 'kernel-limit');
	s.connection.send('end {"by":"user","reason":"","graceMs":0}');
	const records = await s.sealed();
	assert.deepEqual(pidsWith(mark), []);
	const counted = Number(/max (\d+)/.exec(readFileSync(`${folder}/pids.events`, 'utf8'))[1]);
	assert.equal(records.filter((r) => r.type === 'LIMIT').at(-1).json.count, counted);
});

function canMakeCgroup() {
	try {
		mkdirSync(`${pidsCgroups}/ar-shim-probe-${process.pid}`);
		rmdirSync(`${pidsCgroups}/ar-shim-probe-${process.pid}`);
		return true;
	} catch {
		return false;
	}
}
