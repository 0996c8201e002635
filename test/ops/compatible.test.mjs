// A store that a newer program has migrated: this one starts on it when the schema says that it can, and refuses in one sentence otherwise.
import assert from 'node:assert/strict';
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '../lib/damage.mjs';
import { ok, submit, waitFor, world } from '../lib/runtime.mjs';

const isPostgres = Boolean(process.env.AR_TEST_POSTGRES);
const version = (dataDir) => Number(sql(dataDir, [isPostgres ? 'SELECT max(version) FROM migration' : 'PRAGMA user_version']));
const keep = (least) => `INSERT INTO meta (key, value) VALUES ('least_version', '${least}') ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

test('after a migration that only adds, a program from before it starts again; after one that changes more it does not', async () => {
	const { rt, dataDir, again } = await world();
	const { sessionId } = await submit(rt, 'before');
	await rt.stop();
	const known = version(dataDir);
	const newer = isPostgres ? `INSERT INTO migration (version, application) VALUES (${known + 1}, 'agentruntime')` : `PRAGMA user_version = ${known + 1}`;
	sql(dataDir, ['ALTER TABLE session ADD COLUMN added_later int', newer, keep(known)]);

	const older = await again();
	await waitFor(async () => (await ok(older, 'get_session', { sessionId })).status === 'idle', 'the turn from before');
	await submit(older, 'after', { sessionId });
	await ok(older, 'create_session', {});
	await older.stop();
	assert.equal(version(dataDir), known + 1, 'and leaves the schema as it is');

	sql(dataDir, [keep(known + 1)]);
	const refused = await again({ mayDie: true });
	assert.equal((await refused.gone).code, 1);
	assert.match(refused.stderr, new RegExp(`has schema version ${known + 1}, this program knows up to ${known}: run the newer version that wrote it`));
});

test('a database file that was emptied is no new store: it is refused until it is removed', { skip: isPostgres }, async () => {
	const { rt, dataDir, again } = await world();
	await submit(rt, 'before');
	await rt.stop();
	const file = join(dataDir, 'data', 'agentd.db');
	truncateSync(file);
	const refused = await again({ mayDie: true });
	assert.equal((await refused.gone).code, 1);
	assert.match(refused.stderr, /is empty, but this data directory was in use: restore a backup, or remove the file/);
	rmSync(file);
	const fresh = await again();
	assert.deepEqual((await ok(fresh, 'list_sessions', {})).sessions, []);
	await fresh.stop();
});
