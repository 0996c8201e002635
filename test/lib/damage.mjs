// Damage to a store behind its daemon's back, for tests: the same names for SQLite and PostgreSQL. Only while no daemon runs on it. What
// is damaged is the oldest session of the store.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { request, storeOf } from './runtime.mjs';

const PYTHON = `
import sqlite3, sys
def flip(body, where):
    bits = bytearray(body)
    n = int(where * len(bits) * 8)
    bits[n // 8] ^= 1 << n % 8
    return bytes(bits)
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.create_function('flip', 2, flip)
for statement in sys.argv[2:]:
    rows = db.execute(statement).fetchall()
print('|'.join(str(v) for v in rows[0]) if rows else '')
db.close()
`;

/** Runs SQL statements; what the last one gives, its first row with columns split by |. */
export function sql(dataDir, statements) {
	const { AGENTD_STORE: database } = storeOf(dataDir);
	const args = database ? ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-d', database, ...statements.flatMap((s) => ['-c', s])]
		: ['-c', PYTHON, join(dataDir, 'data', 'agentd.db'), ...statements];
	const out = execFileSync(database ? 'psql' : 'python3', args, { encoding: 'utf8' });
	return out.trimEnd().split('\n').at(-1);
}

const session = '(SELECT session FROM log ORDER BY session LIMIT 1)';

/** A stored value of these bytes, not compressed. */
function raw(isPostgres, text) {
	const hex = `00${Buffer.from(text).toString('hex')}`;
	return isPostgres ? `'\\x${hex}'` : `X'${hex}'`;
}

const rowAt = (order, offset) =>
	`(SELECT first_seq FROM log WHERE session = ${session} ORDER BY first_seq ${order} LIMIT 1 OFFSET ${offset})`;

const taskAt = (offset) => `session = ${session} AND n = (SELECT n FROM task WHERE session = ${session} ORDER BY n LIMIT 1 OFFSET ${offset})`;

const damages = {
	'keep-snapshot': () => ['CREATE TABLE kept AS SELECT * FROM snapshot'],
	'snapshot-older': () => [`UPDATE snapshot SET body = (SELECT body FROM kept WHERE session = ${session}) WHERE session = ${session}`],
	'snapshot-other': () => [`UPDATE snapshot SET body = (SELECT body FROM snapshot ORDER BY session DESC LIMIT 1) WHERE session = ${session}`],
	'snapshot-garbage': (pg) => [`UPDATE snapshot SET body = ${pg ? "'\\x05ffff'" : "X'05ffff'"} WHERE session = ${session}`],
	'session-status': (pg) => [`UPDATE session SET status = 'running', active = ${pg ? 'true' : 1} WHERE session = ${session}`],
	'session-shell': (pg) => [`UPDATE session SET shell = ${raw(pg, '{"title":"other"}')} WHERE session = ${session}`],
	'session-gone': () => [`DELETE FROM session WHERE session = ${session}`],
	tasks: (pg) => [`UPDATE task SET status = 'failed' WHERE ${taskAt(1)}`,
		`UPDATE task SET record = ${raw(pg, '{}')} WHERE ${taskAt(28)}`,
		`DELETE FROM task WHERE ${taskAt(2)}`],
	'blob-gone': () => ['DELETE FROM blob_ref', 'DELETE FROM blob'],
	'log-gap': () => [`DELETE FROM log WHERE session = ${session} AND first_seq = ${rowAt('', 2)}`],
	'log-broken': (pg) => [`UPDATE log SET body = ${raw(pg, 'no fact')} WHERE session = ${session} AND first_seq = ${rowAt('', 2)}`],
	'log-first': () => [`DELETE FROM log WHERE session = ${session} AND first_seq = 1`],
	'log-all': () => [`DELETE FROM log WHERE session = ${session}`],
	'log-end': () => [`DELETE FROM log WHERE session = ${session} AND first_seq = ${rowAt('DESC', 0)}`],
};

const bad = { 'log-gap': ['', 2], 'log-broken': ['', 2], 'log-end': ['DESC', 0] };

/** Does one of these; for damage to the log, the first sequence that is lost. */
export function execute(dataDir, what) {
	const isPostgres = Boolean(storeOf(dataDir).AGENTD_STORE);
	const sequence = bad[what] && Number(sql(dataDir, [`SELECT ${rowAt(...bad[what])}`]));
	sql(dataDir, damages[what](isPostgres));
	return sequence;
}

/** The rows of the log of the oldest session: the first fact of each, and the last. */
export const rowsOf = (dataDir) => sql(dataDir, [`SELECT group_concat(first_seq || '-' || last_seq, ' ') FROM (SELECT * FROM log WHERE session = ${session} ORDER BY first_seq)`]).split(' ').map((r) => r.split('-').map(Number));

function crc32c(parts) {
	let sum = ~0;
	for (const byte of Buffer.concat(parts)) {
		sum ^= byte;
		for (let i = 0; i < 8; i++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
	}
	return ~sum >>> 0;
}

const little = (number, bytes) => {
	const b = Buffer.alloc(8);
	b.writeBigUInt64LE(BigInt(number));
	return b.subarray(0, bytes);
};

/** A stored value of the log with the checksum of its place, as agentd writes it: src/edge/store/pack.c. Less than 64 KiB, not compressed. */
export function sealed(key, first, last, text) {
	const value = Buffer.from(text), isShort = value.length < 256;
	const head = [Buffer.from('0128b52ffd', 'hex'), Buffer.from([isShort ? 0x20 : 0x60]), isShort ? little(value.length, 1) : little(value.length - 256, 2)];
	const body = Buffer.concat([...head, little((value.length << 3) | 1, 3), value]);
	const sum = crc32c([little(3, 8), Buffer.from('log'), little(key.length, 8), key, little(first, 8), little(last, 8), body]);
	return Buffer.concat([body, Buffer.from('5a2a4d1804000000', 'hex'), little(sum, 4)]);
}

/** Puts other facts into these rows: one line of JSON for each fact, from the first on. Without a checksum, or with one if `isSealed`. SQLite alone. */
export function rewrite(dataDir, rows, lines, isSealed = false) {
	const key = Buffer.from(sql(dataDir, [`SELECT hex(${session})`]), 'hex');
	const valueOf = ([from, last]) => {
		const text = lines.slice(from - 1, last).join('\n');
		return isSealed ? `X'${sealed(key, from, last, text).toString('hex')}'` : raw(false, text);
	};
	sql(dataDir, rows.filter(([, last]) => last <= lines.length).map((row) => `UPDATE log SET body = ${valueOf(row)} WHERE session = ${session} AND first_seq = ${row[0]}`));
}

const nth = (n) => `(SELECT session FROM session ORDER BY session LIMIT 1 OFFSET ${n})`;

/** Turns over one bit of a stored value: of a row of the log (`row`: how far into it, 0 to 1), of the snapshot, or one of every content of the
 * n-th session. `where`: how far into the value, 0 to 1. A statement. */
export function flip(dataDir, table, n, row, where) {
	const isPostgres = Boolean(storeOf(dataDir).AGENTD_STORE);
	const floor = (number) => (isPostgres ? `floor(${number})::int` : `CAST(${number} AS int)`);
	const bit = floor(`${where} * length(body) * 8`);
	const turned = isPostgres ? `set_bit(body, ${bit}, 1 - get_bit(body, ${bit}))` : `flip(body, ${where})`;
	const place = floor(`${row} * (SELECT count(*) FROM log WHERE session = ${nth(n)})`);
	const which = table === 'log' ? ` AND first_seq = (SELECT first_seq FROM log WHERE session = ${nth(n)} ORDER BY first_seq LIMIT 1 OFFSET ${place})` : '';
	return `UPDATE ${table} SET body = ${turned} WHERE session = ${nth(n)}${which}`;
}

/** What a stream of a damaged store serves, and why it went no further: it ends before the damage, and who comes back by its cursor is told. */
export async function streamed(rt, path) {
	const read = (cursor) => request(rt, { method: 'GET', path, headers: cursor ? { 'last-event-id': cursor } : {} });
	const first = await read();
	const cursor = [...first.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
	const { error } = JSON.parse((cursor ? await read(cursor) : first).text);
	return { facts: [...first.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json)), error };
}

/** What the log has: rows and newest sequence, as text. */
export function extent(dataDir) {
	return sql(dataDir, [`SELECT count(*), max(last_seq) FROM log WHERE session = ${session}`]);
}
