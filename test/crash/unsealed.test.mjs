// A store as a version without checksums left it: after the upgrade every row of the log gets one in the background, and one bit that turns over later
// is noticed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flip, sql, streamed } from '../lib/damage.mjs';
import { follow, newFolder, readLog, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';

const SEAL = 12; // bytes at the end of a stored value
const dataDir = newFolder();
const model = await startModel();
const again = () => startAgentd({ dataDir, model });

test('rows of an older version get a checksum after the upgrade', async () => {
	let rt = await again();
	const { sessionId, turnId } = await submit(rt, 'hello');
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	follower.stop();
	const log = await readLog(rt, sessionId);
	await rt.stop();
	const isPostgres = Boolean(storeOf(dataDir).AGENTD_STORE);
	const bare = isPostgres ? `substring(body FOR length(body) - ${SEAL})` : `substr(body, 1, length(body) - ${SEAL})`;
	sql(dataDir, [`UPDATE log SET body = ${bare}`, "DELETE FROM meta WHERE key = 'seal_walk'"]);
	const rows = Number(sql(dataDir, ['SELECT count(*) FROM log']));

	rt = await again();
	assert.deepEqual(await readLog(rt, sessionId), log, 'they are read as they are');
	const counted = await waitFor(async () => (await scrape(rt)).agentd_log_rows_sealed_total ?? 0, 'sealed rows');
	assert.equal(counted, rows);
	assert.deepEqual(await readLog(rt, sessionId), log, 'and say what they said');
	await rt.stop();

	sql(dataDir, [flip(dataDir, 'log', 0, 0.5, 0.5)]);
	rt = await again();
	const { error } = await streamed(rt, `/v1/sessions/${sessionId}/events`);
	assert.deepEqual([error.code, error.retryable], ['storage_corrupt', false]);
	await rt.stop();
});
