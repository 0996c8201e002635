// Damage to a store behind its daemon's back, for tests: the same names for SQLite and PostgreSQL. Only while no daemon runs on it. What
// is damaged is the oldest session of the store.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { storeOf } from './runtime.mjs';

const PYTHON = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
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

/** What the log has: rows and newest sequence, as text. */
export function extent(dataDir) {
	return sql(dataDir, [`SELECT count(*), max(last_seq) FROM log WHERE session = ${session}`]);
}
