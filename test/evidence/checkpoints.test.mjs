// Checkpoints of logs, kept elsewhere: whoever changes the stored log, or its order, or its end, is found by them, and the first fact that differs is named.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { cpSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { execute, rewrite, rowsOf } from '../lib/damage.mjs';
import { bin, newFolder, ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';
import { download, leafOf, rootOf } from './packs.mjs';

const folder = newFolder(), file = join(folder, 'checkpoints.ndjson'), socket = join(folder, 'log'), received = join(folder, 'received');
let w, first, second, key, stored;

const run = (...args) => runAt(w.rt, ...args);
const runAt = (rt, ...args) => spawnSync(join(bin, 'agentctl'), ['--socket', rt.socket, 'verify', '--checkpoints', file, '--key', key, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
const lines = (path = file) => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l)) : []);
const note = ({ checkpoint }) => { const [origin, size, root] = checkpoint.split('\n'); return { sessionId: origin.replace('agentruntime/', ''), size: Number(size), root: Buffer.from(root, 'base64').toString('hex') }; };
const idle = async (sessionId) => waitFor(async () => { const read = await ok(w.rt, 'get_session', { sessionId }); return read.status === 'idle' && read.asOfSequence; }, 'rest');

/** The head of the session, once there is a checkpoint of it. */
async function covered(sessionId) {
	const head = await idle(sessionId);
	await waitFor(() => lines().map(note).some((n) => n.sessionId === sessionId && n.size === head), 'a checkpoint of the newest fact');
	return head;
}

/** What agentctl says of a copy of the stopped store after `change`. */
async function damaged(change) {
	const dataDir = newFolder();
	cpSync(join(w.dataDir, 'data'), join(dataDir, 'data'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
	change(dataDir);
	const rt = await w.again({ dataDir, config: {} }), said = runAt(rt, first);
	await rt.kill9();
	return said;
}

before(async () => {
	const listener = spawn('python3', ['-c', `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('ready', flush=True)
out = open(sys.argv[2], 'ab', buffering=0)
while True: out.write(s.recv(1 << 20) + b'\\n')`, socket, received], { stdio: ['ignore', 'pipe', 'inherit'] });
	process.on('exit', () => listener.kill());
	await new Promise((done) => listener.stdout.once('data', done));
	listener.unref();
	listener.stdout.unref();
	w = await world({ config: { 'evidence.checkpoint_file': file, 'evidence.checkpoint_syslog': socket, 'evidence.checkpoint_interval_ms': 20, 'session.snapshot_every': 1000000 } });
	key = join(w.rt.dataDir, 'data/evidence.pem');
	first = (await submit(w.rt, 'one')).sessionId;
	await covered(first);
	await submit(w.rt, 'two', { sessionId: first });
	await covered(first);
	second = (await submit(w.rt, 'other')).sessionId;
	await covered(second);
	await ok(w.rt, 'record_evidence', { sessionId: first, kind: 'review', source: 'Ada', note: 'seen' });
	await submit(w.rt, 'three', { sessionId: first });
	await covered(first);
	const last = await download(w.rt, (await ok(w.rt, 'export_evidence', { sessionId: first })).packRef);
	stored = readFileSync(join(last, 'events.ndjson'), 'utf8').split('\n').filter(Boolean);
	await covered(first);
});

test('a checkpoint is a signed note that others can check: origin, size, root, time; the root is the one of the pack', async () => {
	const mine = lines().filter((l) => note(l).sessionId === first), facts = (await readLog(w.rt, first)).length;
	assert.ok(mine.length >= 3);
	const der = createPublicKey(readFileSync(key)).export({ type: 'spki', format: 'der' });
	for (const { checkpoint } of lines()) {
		const [text, signature] = checkpoint.split('\n\n'), [, name, base64] = /^— (\S+) (\S+)\n$/.exec(signature), bytes = Buffer.from(base64, 'base64');
		assert.match(text, /^agentruntime\/sess_\w+\n\d+\n[\w+/]{43}=\ntime 20\d\d-[-\d:.T]+Z$/);
		assert.ok(text.startsWith(`${name}\n`));
		assert.equal(bytes.subarray(0, 4).toString('hex'), createHash('sha256').update(Buffer.concat([Buffer.from(`${name}\n\x01`), der.subarray(-32)])).digest('hex').slice(0, 8));
		assert.equal(verify(null, Buffer.from(`${text}\n`), createPublicKey(readFileSync(key)), bytes.subarray(4)), true);
	}
	for (const { size, root } of mine.map(note).filter((n) => n.size <= stored.length)) assert.equal(root, rootOf(stored.slice(0, size).map(leafOf)).toString('hex'));
	assert.equal(note(mine.at(-1)).size, facts);
	const leaves = mine.map((l) => l.leaves).join('').match(/.{16}/g);
	assert.equal(leaves.length, facts, 'each fact has its hash once');
	assert.deepEqual(leaves.slice(0, stored.length), stored.map((l) => leafOf(l).toString('hex').slice(0, 16)));
});

test('the system log gets the same notes', async () => {
	const last = note(lines().at(-1));
	const sent = await waitFor(() => { const all = existsSync(received) ? readFileSync(received, 'utf8').split('\n').filter(Boolean) : []; return all.some((l) => note(JSON.parse(l.replace('<86>agentd: ', ''))).root === last.root) && all; }, 'the message');
	assert.deepEqual(sent.map((l) => JSON.parse(l.slice('<86>agentd: '.length)).checkpoint), lines().map((l) => l.checkpoint));
});

test('what is as it was is ok, for one session and for all, also after kill -9', async () => {
	const one = run(first);
	assert.deepEqual([one.status, one.stderr], [0, ''], one.stdout);
	assert.match(one.stdout, new RegExp(`^${first}  ok  \\d+ checkpoints, ${await idle(first)} facts\n1 sessions, \\d+ checkpoints: 1 ok, 0 with findings\n$`));
	await w.rt.kill9();
	w.rt = await w.again();
	await submit(w.rt, 'after', { sessionId: first });
	await covered(first);
	const all = run();
	assert.equal(all.status, 0, all.stdout + all.stderr);
	assert.match(all.stdout, /2 sessions, \d+ checkpoints: 2 ok, 0 with findings\n$/);
});

test('AN-18 a changed, dropped, reordered or cut log is found, and the first fact that differs is named', { skip: process.env.AR_TEST_POSTGRES && 'copies a folder with its SQLite file' }, async () => {
	const at = stored.findIndex((l) => JSON.parse(l).type === 'turn.completed');
	const facts = () => stored.map((l) => JSON.parse(l)), numbered = (list) => list.map((f, i) => JSON.stringify({ ...f, sequence: i + 1 }));
	assert.deepEqual(numbered(facts()), stored);

	await w.rt.stop();
	const rows = rowsOf(w.dataDir), later = facts();
	later[at].timestamp = '2020-01-01T00:00:00.000000Z';
	const changed = await damaged((copy) => rewrite(copy, rows, numbered(later)));
	assert.equal(changed.status, 1);
	assert.match(changed.stdout, new RegExp(`^${first}  differs  fact ${at + 1} is not the one that was there at 20[-\\d:.T]+Z\n1 sessions, \\d+ checkpoints: 0 ok, 1 with findings\n`), changed.stdout + changed.stderr);

	const resealed = await damaged((copy) => rewrite(copy, rows, numbered(later), true));
	assert.deepEqual([resealed.status, resealed.stdout], [1, changed.stdout], 'AN-18: also with the checksum of its place, which anybody can compute');

	const swapped = facts();
	[swapped[at - 1], swapped[at]] = [swapped[at], swapped[at - 1]];
	const reordered = await damaged((copy) => rewrite(copy, rows, numbered(swapped)));
	assert.match(reordered.stdout, new RegExp(`differs  fact ${at} is not`), reordered.stdout + reordered.stderr);

	const said = facts().findIndex((f) => f.type === 'evidence.changed');
	const dropped = await damaged((copy) => rewrite(copy, rows, numbered([...facts().toSpliced(said, 1), facts()[said]])));
	assert.match(dropped.stdout, new RegExp(`differs  fact ${said + 1} is not`), dropped.stdout + dropped.stderr);

	const end = await damaged((copy) => execute(copy, 'log-end'));
	assert.equal(end.status, 1);
	assert.match(end.stdout, /differs  facts \d+ to \d+ are gone, which were there at|unknown  the log cannot be read beyond fact/, end.stdout + end.stderr);

	const gap = await damaged((copy) => execute(copy, 'log-gap'));
	assert.equal(gap.status, 1);
	assert.match(gap.stdout, /unknown  the log cannot be read beyond fact \d+; \d+ were there/, gap.stdout + gap.stderr);
	assert.equal((await damaged(() => {})).status, 0, 'a copy alone differs in nothing');

	/* Without hashes of single facts: the range between two checkpoints. */
	const whole = readFileSync(file, 'utf8');
	writeFileSync(file, whole.replaceAll(/,"leaves":"\w+"/g, ''));
	const range = await damaged((copy) => rewrite(copy, rows, numbered(later)));
	writeFileSync(file, whole);
	const sizes = lines().map(note).filter((n) => n.sessionId === first).map((n) => n.size);
	assert.match(range.stdout, new RegExp(`differs  facts ${Math.max(0, ...sizes.filter((s) => s <= at)) + 1} to ${Math.min(...sizes.filter((s) => s > at))} are not those`), range.stdout);
	w.rt = await w.again();
});

test('a pack of a log that was changed is whole and signed; checkpoints tell which of its facts was another', { skip: process.env.AR_TEST_POSTGRES && 'copies a folder with its SQLite file' }, async () => {
	const verifyPack = (path, ...args) => spawnSync(join(bin, 'agentctl'), ['verify-pack', path, '--key', key, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
	const packOf = async (rt, more = {}) => download(rt, (await ok(rt, 'export_evidence', { sessionId: first, ...more })).packRef);
	const good = await packOf(w.rt), turn = JSON.parse(stored.find((l) => JSON.parse(l).type === 'turn.completed')).turnId, part = await packOf(w.rt, { turnId: turn });
	for (const path of [good, part]) {
		const said = verifyPack(path, '--checkpoints', file);
		assert.deepEqual([said.status, said.stderr.replaceAll(/.*of later facts than the pack has\n/g, '')], [0, ''], said.stdout + said.stderr);
		assert.match(said.stdout, new RegExp(`^${first}  ok  \\d+ checkpoints, \\d+ facts\nok: `));
	}
	assert.equal(JSON.parse(verifyPack(good, '--checkpoints', file, '--json').stdout).sessionId, first);

	await w.rt.stop();
	const at = stored.findIndex((l) => JSON.parse(l).type === 'turn.completed'), rows = rowsOf(w.dataDir), facts = stored.map((l) => JSON.parse(l));
	facts[at].timestamp = '2020-01-01T00:00:00.000000Z';
	const dataDir = newFolder();
	cpSync(join(w.dataDir, 'data'), join(dataDir, 'data'), { recursive: true, filter: (path) => !path.endsWith('.sock') });
	rewrite(dataDir, rows, facts.map((f) => JSON.stringify(f)));
	const rt = await w.again({ dataDir, config: {} }), bad = await packOf(rt);
	await rt.kill9();
	w.rt = await w.again();
	assert.equal(verifyPack(bad).status, 0, 'its key signed what was stored');
	const found = verifyPack(bad, '--checkpoints', file);
	assert.equal(found.status, 1);
	assert.match(found.stdout, new RegExp(`^${first}  differs  fact ${at + 1} is not the one that was there at `), found.stdout + found.stderr);
	const empty = join(newFolder(), 'none');
	writeFileSync(empty, '');
	assert.deepEqual([verifyPack(good, '--checkpoints', empty).status, spawnSync(join(bin, 'agentctl'), ['verify-pack', good, '--checkpoints', file]).status], [1, 2], 'no checkpoint is no proof, no key neither');
});

test('a checkpoint that somebody else made is no proof: another key, another root, a line of another session; a cut line is left out', async () => {
	const whole = readFileSync(file, 'utf8'), of = (text) => { writeFileSync(file, text); const said = run(); writeFileSync(file, whole); return said; };
	const forged = of(`${whole}${whole.split('\n').find(Boolean).replace(/\\n\d+\\n/, '\\n1\\n')}\n`);
	assert.deepEqual([forged.status, /line \d+: this key has not signed it/.test(forged.stdout)], [1, true], forged.stdout);
	const moved = of(whole.replaceAll(first, second));
	assert.equal(moved.status, 1);
	assert.ok(moved.stdout.includes('this key has not signed it'));
	const half = of(`${whole}{"checkpoint":"agentrun`);
	assert.deepEqual([half.status, /is not whole and is left out/.test(half.stderr)], [0, true], half.stdout + half.stderr);
	const other = join(newFolder(), 'other.pem');
	spawnSync('sh', ['-c', `openssl genpkey -algorithm ed25519 | openssl pkey -pubout > ${other}`]);
	assert.equal(run('--key', other).status, 1);
	const gone = of(whole), unknown = spawnSync(join(bin, 'agentctl'), ['--socket', join(folder, 'nobody'), 'verify', '--checkpoints', file, '--key', key], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
	assert.equal(gone.status, 0);
	assert.notEqual(unknown.status, 0);
	assert.ok(!unknown.stdout.includes('gone'), 'a daemon that cannot be asked is no proof either');
	assert.match(spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'verify', '--checkpoints', file], { encoding: 'utf8' }).stderr, /needs --key/);
});

test('a file that cannot be written is told once, and what was missed is written when it can be again', async () => {
	await w.rt.stop();
	const place = join(newFolder(), 'later', 'checkpoints.ndjson');
	w.rt = await w.again({ config: { 'evidence.checkpoint_file': place, 'evidence.checkpoint_interval_ms': 20 } });
	await submit(w.rt, 'unseen', { sessionId: second });
	const head = await idle(second);
	await waitFor(() => w.rt.stderr.includes('checkpoints of logs cannot be written'), 'the complaint');
	const ready = newFolder();
	writeFileSync(join(ready, 'checkpoints.ndjson'), '{"checkpoint":"cut by a crash');
	renameSync(ready, dirname(place));
	await waitFor(() => existsSync(place) && readFileSync(place, 'utf8').includes(`${second}\\n${head}\\n`), 'the checkpoint');
	assert.equal(w.rt.stderr.match(/checkpoints of logs cannot be written/g).length, 1);
	const [cut, ...rest] = readFileSync(place, 'utf8').split('\n').filter(Boolean);
	assert.equal(cut, '{"checkpoint":"cut by a crash');
	for (const line of rest) JSON.parse(line);
});
