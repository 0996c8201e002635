// ci: release only
// A store with a million sessions beside an empty one: a start must not look at what is at rest, and a session that went idle must
// leave nothing in memory but what the caches are allowed to keep. AR_MANY_SESSIONS sets the number.
// ci: alone scale
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sql } from '../lib/damage.mjs';
import { newFolder, ok, request, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';

const MANY = Number(process.env.AR_MANY_SESSIONS ?? 1_000_000);
const ROUNDS = 7;
const RATIO_MAX = 2;
const SMALL_CHANGE_MS = 10; // two medians this close are alike whatever their ratio
const WARM = 130_000; // sessions until every bounded cache is full: newest sequences of 65536 sessions, pages, contents
const MORE = 30_000;
const BYTES_MAX = 16; // per further session: a page of the allocator now and then, far below what a session in memory takes

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

// Rows as a session of one turn leaves them, with keys of our own and short bodies: a start reads none of them.
function fill(dataDir) {
	const pg = Boolean(storeOf(dataDir).AGENTD_STORE);
	const numbers = pg ? `generate_series(1, ${MANY}) AS n(i)`
		: `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY}) SELECT i FROM n) AS n`;
	const key = pg ? "lpad(to_hex(n.i), 32, '0')::uuid" : "CAST(printf('%016d', n.i) AS BLOB)";
	const epoch = pg ? ['epoch, size,', 'l.epoch, 1,'] : ['', ''];
	const body = pg ? "'\\x00'::bytea" : "X'00'";
	sql(dataDir, [
		`INSERT INTO session (session, created, updated, active, workspace, account, status, shell)
			SELECT ${key}, s.created, s.updated, s.active, s.workspace, s.account, s.status, s.shell FROM session AS s, ${numbers}`,
		`INSERT INTO task (session, n, task, status, internal, record)
			SELECT ${key}, t.n, t.task, t.status, t.internal, ${body} FROM task AS t, ${numbers}`,
		`INSERT INTO log (session, first_seq, last_seq, at, ${epoch[0]} body)
			SELECT ${key}, l.first_seq, l.last_seq, l.at, ${epoch[1]} ${body} FROM log AS l, ${numbers} WHERE l.first_seq = 1`,
		...(pg ? ['ANALYZE'] : []),
		'SELECT count(*) FROM session',
	]);
}

async function withOneTurn(dataDir) {
	const model = await startModel();
	const rt = await startAgentd({ dataDir, model });
	const { sessionId } = await submit(rt, 'hello');
	await waitFor(async () => (await ok(rt, 'get_session', { sessionId })).status === 'idle', 'the turn ends');
	await rt.stop();
}

test('a start takes no longer with a million sessions at rest', async (t) => {
	const few = newFolder();
	const many = newFolder();
	for (const dataDir of [few, many]) await withOneTurn(dataDir);
	fill(many);
	const times = { few: [], many: [] };
	for (let round = 0; round < ROUNDS; round++) {
		for (const [name, dataDir] of Object.entries({ few, many })) {
			const rt = await startAgentd({ dataDir });
			times[name].push(rt.readyMs);
			await rt.stop();
		}
	}
	const [ours, theirs] = [median(times.many), median(times.few)];
	t.diagnostic(`${MANY} sessions ${ours.toFixed(1)} ms, one session ${theirs.toFixed(1)} ms`);
	assert.ok(ours <= RATIO_MAX * theirs || ours - theirs < SMALL_CHANGE_MS, `${ours} ms against ${theirs} ms`);
});

function residentBytes(rt) {
	return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${rt.pid}/status`, 'utf8'))[1]);
}

async function createSessions(rt, count) {
	let left = count;
	const one = async () => {
		while (left-- > 0) {
			const { status, text } = await request(rt, { path: '/v1/create_session', body: '{}' });
			assert.ok(status < 300, text);
		}
	};
	await Promise.all(Array.from({ length: 64 }, one));
}

test('a session that is idle takes no memory', async (t) => {
	const rt = await startAgentd({ dataDir: newFolder(), config: { 'session.cache': 100 } });
	await createSessions(rt, WARM);
	const before = residentBytes(rt);
	await createSessions(rt, MORE);
	const each = (residentBytes(rt) - before) / MORE;
	t.diagnostic(`${WARM} sessions ${(before / 2 ** 20).toFixed(1)} MB, ${MORE} more: ${each.toFixed(1)} bytes each`);
	assert.ok(each < BYTES_MAX, `${each} bytes per session`);
	await rt.stop();
});
