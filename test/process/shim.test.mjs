// agent-shim with an agent-init that has no boundary: what a reader of the journal is promised about output, input and the end.
// ci: first
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exitOf, isAlive, isMeasured, marker, outputOf, pidsWith, readStatus, sh, shim, sleep, typesOf, until } from './shim.mjs';

test('output is kept byte by byte, and the end is the last to be told', async (t) => {
	const s = await shim(t, sh("printf 'a\\000b\\303'; sleep 0.1; printf '\\251\\377'; echo oops >&2; exit 3")).go();
	const records = await s.sealed();
	assert.deepEqual(outputOf(records, 'stdout'), Buffer.from([0x61, 0, 0x62, 0xc3, 0xa9, 0xff]));
	assert.equal(outputOf(records, 'stderr').toString(), 'oops\n');
	assert.deepEqual(typesOf(records).filter((x) => x !== 'OUTPUT'),
		['SPAWNED', 'APPLIED', 'RELEASED', 'STARTED', 'OUTPUT_END', 'EXIT', 'SEALED']);
	assert.equal(exitOf(records).code, 3);
	assert.equal(exitOf(records).by, 'itself');
	assert.deepEqual(records.find((r) => r.type === 'OUTPUT_END').json, { stdout: 6, stderr: 5, tty: 0 });
	assert.equal(records[0].json.shimPid, s.pid);
	assert.equal(records[0].json.bootId, readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
	assert.ok(!existsSync(join(s.folder, 'plan')), 'the plan is removed');
});

test('an end by a signal is told as one', async (t) => {
	const s = await shim(t, sh('kill -SEGV $$')).go();
	const exit = exitOf(await s.sealed());
	assert.equal(exit.signal, 'SIGSEGV');
	assert.equal(exit.by, 'itself');
	assert.ok(!('code' in exit));
});

test('both streams stay in the order in which they were written', async (t) => {
	const s = await shim(t, sh('for i in 1 2 3 4 5 6 7 8 9; do echo o$i; sleep 0.03; echo e$i >&2; sleep 0.03; done')).go();
	const records = await s.sealed();
	const seen = records.filter((r) => r.type === 'OUTPUT').map((r) => r.payload.toString()).join('');
	assert.equal(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `o${i}\ne${i}\n`).join(''));
});

// What is kept from the start, what is missing, what is kept of the end: together all that was written.
function checkRanges(records, stream, head, total) {
	const at = records.findIndex((r) => r.type === 'TRUNCATED' && r.json.stream === stream);
	const { from, to } = records[at].json;
	assert.equal(records.filter((r) => r.type === 'TRUNCATED' && r.json.stream === stream).length, 1);
	assert.equal(outputOf(records.slice(0, at), stream).length, head);
	assert.equal(from, head);
	assert.equal(total - to, outputOf(records.slice(at), stream).length);
	assert.equal(records.find((r) => r.type === 'OUTPUT_END').json[stream], total);
	return outputOf(records.slice(at), stream);
}

test('a line of hundreds of megabytes costs no memory, and what is missing is told exactly', async (t) => {
	const total = Number(process.env.AR_LINE_BYTES ?? 300_000_000);
	const s = await shim(t, sh(`head -c ${total - 4} /dev/zero | tr '\\0' x; printf 'end\\n'`), { shim: { output_bytes: 1_000_000 } }).go();
	let peak = 0;
	await until('its end', () => {
		peak = Math.max(peak, s.peak());
		return !isAlive(s.pid);
	}, 120000);
	const records = await s.sealed();
	const tail = checkRanges(records, 'stdout', 1_000_000, total);
	assert.equal(tail.length, 262144);
	assert.equal(tail.toString(), `${'x'.repeat(262144 - 4)}end\n`);
	assert.ok(peak > 0 && (peak <= 1024 || !isMeasured), `at most 1 MB of memory, was ${peak} kB`);
	t.diagnostic(`peak ${peak} kB`);
});

test('a program that never stops writing is ended by its time; both streams fit together', async (t) => {
	const seconds = Number(process.env.AR_YES_SECONDS ?? 3);
	const s = await shim(t, sh('yes err >&2 & exec yes'), { shim: { output_bytes: 500_000, timeout_ms: seconds * 1000 } }).go();
	const records = await s.sealed(seconds * 1000 + 20000);
	const sums = records.find((r) => r.type === 'OUTPUT_END').json;
	const kept = { stdout: 0, stderr: 0 };
	let kept_in_all = 0;
	for (const stream of ['stdout', 'stderr']) {
		const at = records.findIndex((r) => r.type === 'TRUNCATED' && r.json.stream === stream);
		const head = outputOf(records.slice(0, at), stream).length;
		const tail = checkRanges(records, stream, head, sums[stream]);
		const line = stream === 'stdout' ? 'y\n' : 'err\n';
		const shift = records[at].json.to % line.length;
		assert.equal(tail.toString(), line.repeat(tail.length / line.length + 2).slice(shift, shift + tail.length));
		kept[stream] = head;
		kept_in_all += tail.length;
	}
	assert.equal(kept.stdout + kept.stderr, 500_000);
	assert.ok(kept_in_all <= 262144 && kept_in_all > 200_000, `${kept_in_all} bytes of the end`);
	assert.equal(exitOf(records).by, 'timeout');
	assert.deepEqual(records.find((r) => r.type === 'LIMIT').json, { kind: 'timeout', count: 1 });
});

test('inputs are numbered: each is written once, in order, and closed by its end', async (t) => {
	const s = await shim(t, ['cat'], { plan: ['keeps_stdin'] }).go();
	const c = s.connection;
	assert.equal(await c.input(1, 'one\n'), 'ok');
	assert.equal(await c.input(1, 'one\n'), 'before');
	assert.equal(await c.input(3, 'three\n'), 'busy');
	assert.equal(await c.input(2, 'two\0\n'), 'ok');
	await s.has('stdout', 'two\0\n');
	assert.equal(await c.input(3, 'three', true), 'ok');
	const records = await s.sealed();
	assert.equal(outputOf(records, 'stdout').toString(), 'one\ntwo\0\nthree');
	assert.deepEqual(records.filter((r) => r.type === 'INPUT_ACCEPTED').map((r) => r.json),
		[{ number: 1, bytes: 4, eof: false }, { number: 2, bytes: 5, eof: false }, { number: 3, bytes: 5, eof: true }]);
	assert.deepEqual(records.filter((r) => r.type === 'INPUT_WRITTEN').map((r) => r.json.number), [1, 2, 3]);
	assert.equal(exitOf(records).code, 0);
});

test('input that nobody reads waits up to its bound, then is refused, and goes on later', async (t) => {
	const s = await shim(t, sh('read line; while [ ! -e go ]; do sleep 0.05; done; wc -c; sleep 1'), { plan: ['keeps_stdin'] }).go();
	const c = s.connection;
	const piece = 'x'.repeat(30000);
	let number = 1;
	assert.equal(await c.input(number, '\n'), 'ok');
	let verdict;
	do
		verdict = await c.input(++number, piece);
	while (verdict === 'ok');
	assert.equal(verdict, 'busy');
	assert.ok(number > 3 && number < 9, `${number} pieces fit into pipe and queue`);
	writeFileSync(join(s.folder, 'go'), '');
	await until('room again', async () => await c.input(number, piece) === 'ok');
	assert.equal(await c.input(number + 1, '', true), 'ok');
	assert.equal(await c.input(number + 2, 'more'), 'closed');
	const records = await s.sealed();
	assert.equal(Number(outputOf(records, 'stdout')), (number - 1) * piece.length);
});

test('a process without input refuses it', async (t) => {
	const s = await shim(t, ['sleep', '5']).go();
	assert.equal(await s.connection.input(1, 'x'), 'closed');
});

test('a terminal: its size, input with echo, its own end of file', async (t) => {
	const s = await shim(t, sh('stty size; while read -r line; do echo "<$line>"; stty size; done; echo over'),
		{ plan: ['tty'] }).go();
	await s.has('tty', '24 80');
	s.connection.send('resize 50 132');
	await s.record('RESIZED');
	assert.equal(await s.connection.input(1, 'hello\n'), 'ok');
	await s.has('tty', '<hello>');
	await s.has('tty', '50 132');
	assert.equal(await s.connection.input(2, '', true), 'ok');
	const records = await s.sealed();
	assert.match(outputOf(records, 'tty').toString(), /over\r\n$/);
	assert.deepEqual(records.find((r) => r.type === 'RESIZED').json, { rows: 50, columns: 132 });
	assert.equal(outputOf(records, 'stdout').length, 0);
});

test('a terminal: an unfinished line and the end of file reach the reader', async (t) => {
	const s = await shim(t, sh('cat; echo over'), { plan: ['tty'] }).go();
	await s.record('STARTED');
	assert.equal(await s.connection.input(1, 'half', true), 'ok');
	assert.match(outputOf(await s.sealed(), 'tty').toString(), /over\r\n$/);
});

test('a terminal that is not read does not stop the shim', async (t) => {
	const s = await shim(t, sh('stty raw -echo; echo up; sleep 300'), { plan: ['tty'] }).go();
	await s.has('tty', 'up');
	let number = 0;
	while (await s.connection.input(++number, 'y'.repeat(50000)) === 'ok')
		;
	const before = Number(readFileSync(`/proc/${s.pid}/stat`, 'utf8').split(' ')[13]);
	await sleep(1000);
	const spent = Number(readFileSync(`/proc/${s.pid}/stat`, 'utf8').split(' ')[13]) - before;
	assert.ok(spent < 20, `${spent} hundredths of a second spent waiting`);
	s.connection.send('end {"by":"user","reason":"enough","graceMs":100}');
	assert.equal(exitOf(await s.sealed()).by, 'user');
});

test('a signal reaches the foreground group once and is on record', async (t) => {
	for (const plan of [[], ['tty']]) {
		const s = await shim(t, sh('trap "echo got" INT; echo up; while :; do sleep 0.05; done'), { plan }).go();
		const stream = plan.length ? 'tty' : 'stdout';
		await s.has(stream, 'up');
		s.connection.send('signal {"signal":"SIGINT","by":"user","reason":"say \\"so\\""}');
		await s.has(stream, 'got');
		assert.deepEqual((await s.record('SIGNALLED')).json, { signal: 'SIGINT', by: 'user', reason: 'say "so"' });
		s.connection.send('end {"by":"policy","reason":"","graceMs":0}');
		const exit = exitOf(await s.sealed());
		assert.deepEqual([exit.signal, exit.by], ['SIGKILL', 'policy']);
	}
});

test('the end is asked for gently first; an answer counts as the one who asked', async (t) => {
	const s = await shim(t, sh('trap "echo bye; exit 7" INT; echo up; while :; do sleep 0.05; done')).go();
	await s.has('stdout', 'up');
	s.connection.send('end {"by":"parent_cancellation","reason":"over","graceMs":5000}');
	const records = await s.sealed();
	assert.equal(outputOf(records, 'stdout').toString(), 'up\nbye\n');
	assert.equal(exitOf(records).code, 7);
	assert.equal(exitOf(records).by, 'parent_cancellation');
	assert.deepEqual(records.filter((r) => r.type === 'SIGNALLED').map((r) => r.json.signal), ['SIGINT']);
});

test('what ignores every signal, and what is stopped, is killed', async (t) => {
	for (const script of ['trap "" INT TERM HUP QUIT; echo up; while :; do sleep 0.05; done', 'trap "" INT TERM; echo up; kill -STOP $$; sleep 300']) {
		const s = await shim(t, sh(script)).go();
		await s.has('stdout', 'up');
		s.connection.send('end {"by":"user","reason":"stop","graceMs":60000}');
		s.connection.send('end {"by":"policy","reason":"a shorter grace shortens","graceMs":200}');
		const records = await s.sealed();
		assert.deepEqual(records.filter((r) => r.type === 'SIGNALLED').map((r) => [r.json.signal, r.json.by]),
			[['SIGINT', 'user'], ['SIGTERM', 'user'], ['SIGKILL', 'user']]);
		assert.equal(exitOf(records).signal, 'SIGKILL');
		assert.equal(exitOf(records).by, 'user');
	}
});

test('what is stopped goes on to hear that it has to end', async (t) => {
	const s = await shim(t, sh('trap "" INT; trap "echo bye; exit 6" TERM; echo up; kill -STOP $$; sleep 300')).go();
	await s.has('stdout', 'up');
	s.connection.send('end {"by":"user","reason":"","graceMs":400}');
	const records = await s.sealed();
	assert.deepEqual([exitOf(records).code, exitOf(records).by], [6, 'user']);
	assert.equal(outputOf(records, 'stdout').toString(), 'up\nbye\n');
});

test('its time is counted without a daemon too', async (t) => {
	const s = await shim(t, sh('trap "" INT TERM; sleep 300; sleep 300'), { shim: { timeout_ms: 500 } }).go();
	await s.record('RELEASED');
	await s.connection.kill();
	const records = await s.sealed();
	const exit = exitOf(records);
	assert.equal(exit.by, 'timeout');
	assert.equal(exit.signal, 'SIGKILL');
	assert.ok(exit.durationMs >= 500 && exit.durationMs < 6000, `${exit.durationMs} ms`);
});

test('leftovers are killed and counted, and what they held open ends', async (t) => {
	const mark = marker();
	const s = await shim(t, sh(`sleep ${mark} & sleep ${mark} & (setsid sleep ${mark} &); echo done`)).go();
	const records = await s.sealed();
	assert.equal(records.find((r) => r.type === 'LEFTOVERS').json.count, 3);
	assert.equal(exitOf(records).code, 0);
	assert.equal(exitOf(records).by, 'itself');
	assert.deepEqual(pidsWith(mark), []);
});

test('leftovers that are kept are waited for; their output belongs to it', async (t) => {
	const s = await shim(t, sh('(sleep 0.6; echo late) & echo early; exit 4'), { shim: { leftovers: 'keep' } }).go();
	await s.has('stdout', 'early');
	await sleep(250);
	assert.ok(isAlive(s.pid));
	const records = await s.sealed();
	assert.equal(outputOf(records, 'stdout').toString(), 'early\nlate\n');
	assert.equal(exitOf(records).code, 4);
	assert.ok(!records.some((r) => r.type === 'LEFTOVERS'));
});

test('leftovers that are kept end when they are told to', async (t) => {
	const mark = marker();
	const s = await shim(t, sh(`sleep ${mark} & exit 4`), { shim: { leftovers: 'keep' } }).go();
	await until('the child runs', () => pidsWith(mark).length === 1);
	await sleep(100);
	s.connection.send('end {"by":"user","reason":"","graceMs":50}');
	const records = await s.sealed();
	assert.deepEqual([exitOf(records).code, exitOf(records).by], [4, 'itself']);
	assert.deepEqual(pidsWith(mark), []);
});

test('41 descendants in sessions of their own die with it', async (t) => {
	const mark = marker();
	const s = await shim(t, sh(`i=0; while [ $i -lt 41 ]; do (setsid sh -c 'trap "" TERM INT; (setsid sleep ${mark} &)' &); i=$((i+1)); done; sleep 300`)).go();
	await until('all run', () => pidsWith(mark).length === 41);
	s.connection.send('end {"by":"user","reason":"","graceMs":0}');
	const records = await s.sealed();
	assert.deepEqual(pidsWith(mark), []);
	assert.ok(records.find((r) => r.type === 'LEFTOVERS').json.count >= 41);
});

test('ten thousand orphans leave no zombie', async (t) => {
	const s = await shim(t, sh('i=0; while [ $i -lt 10000 ]; do (: &); i=$((i+1)); done; echo made; read line'), { plan: ['keeps_stdin'] }).go();
	await s.has('stdout', 'made', 120000);
	const parents = [s.pid, (await s.record('APPLIED')).json.pid];
	await until('no zombie', () => zombiesOf(parents) === 0);
	await s.connection.input(1, '', true);
	assert.ok(!(await s.sealed()).some((r) => r.type === 'LEFTOVERS'));
});

function zombiesOf(parents) {
	return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
		const status = readStatus(pid);
		return /^State:\s+Z/m.test(status) && parents.includes(Number(/^PPid:\s+(\d+)/m.exec(status)[1]));
	}).length;
}
