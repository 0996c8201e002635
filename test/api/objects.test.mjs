// Large content in an S3-compatible storage beside PostgreSQL: put before it is named, read back and checked, refused while the
// storage is away or does not know us, and removed when nothing names it. Needs --store postgres.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { startS3, startStrictS3 } from '../lib/s3.mjs';
import { call, follow, newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const skip = process.env.AR_TEST_POSTGRES ? false : 'needs PostgreSQL';
const LARGE = randomBytes(60000).toString('hex');
const config = { 'blob.s3_min_bytes': 4096 };
const servers = [];
after(() => Promise.all(servers.map((s3) => s3.stop().catch(() => {}))));

async function storage() {
	const s3 = await startS3(newFolder());
	servers.push(s3);
	return s3;
}

/** SQL in the database that was made last. */
function sql(text) {
	const psql = (db, query) => execFileSync('psql', ['-qXAt', '-d', `${process.env.AR_TEST_POSTGRES} dbname=${db}`, '-c', query], { encoding: 'utf8' });
	const name = psql('postgres', `SELECT datname FROM pg_database WHERE datname LIKE 'd${process.pid}\\_%' ORDER BY oid DESC LIMIT 1`).trim();
	return psql(name, text);
}

/** A turn with large content; the ref of what was asked. */
async function ask(rt, text) {
	const receipt = await submit(rt, text);
	const follower = await follow(rt, receipt.sessionId);
	await follower.ended(receipt.turnId);
	follower.stop();
	const [ref] = JSON.stringify(follower.facts).match(/blob_[0-9a-z]+_[0-9a-z]+/);
	return { ...receipt, ref };
}

test('large content goes to the storage and comes back, whole and in part', { skip }, async () => {
	const s3 = await storage();
	const w = await world({ env: s3.settings, config });
	const { ref } = await ask(w.rt, LARGE);
	assert.ok(s3.count() >= 1, 'there is an object');
	await w.rt.stop();
	w.rt = await w.again(); // nothing is in memory
	const whole = await ok(w.rt, 'read_output', { outputRef: ref });
	assert.ok(whole.content.includes(LARGE));
	const at = whole.content.indexOf(LARGE);
	assert.equal((await ok(w.rt, 'read_output', { outputRef: ref, offset: at + 1000, length: 50 })).content, LARGE.slice(1000, 1050));
	s3.damage();
	const { status, body } = await call(w.rt, 'read_output', { outputRef: ref });
	assert.ok(status >= 500, `damaged content is an error: ${JSON.stringify(body).slice(0, 200)}`);
	await w.rt.stop();
});

test('nothing is accepted while the storage is away, and all is well when it is back', { skip }, async () => {
	const s3 = await storage();
	const w = await world({ env: s3.settings, config });
	const { sessionId } = await ask(w.rt, 'small');
	const before = (await ok(w.rt, 'get_session', { sessionId })).asOfSequence;
	await s3.stop();
	await refused(w.rt, 'storage_unavailable', 'submit_turn', { sessionId, text: LARGE });
	assert.equal((await ok(w.rt, 'get_session', { sessionId })).asOfSequence, before, 'nothing was written');
	await ask(w.rt, 'small ones go on');
	await s3.again();
	const { ref } = await ask(w.rt, LARGE);
	assert.ok((await ok(w.rt, 'read_output', { outputRef: ref })).content.includes(LARGE));
	await w.rt.stop();
});

test('a key that is not known is refused, with what to check', { skip }, async () => {
	const s3 = await storage();
	const w = await world({ env: { ...s3.settings, AWS_ACCESS_KEY_ID: 'nobody' }, config });
	const error = await refused(w.rt, 'storage_unavailable', 'submit_turn', { createPolicy: {}, text: LARGE });
	assert.match(error.message, /s3_access_key/);
	assert.equal(s3.count(), 0);
	await w.rt.stop();
});

test('requests are signed, and a wrong secret is refused', { skip }, async () => {
	const s3 = await startStrictS3('a secret/with+signs');
	servers.push(s3);
	const w = await world({ env: s3.settings, config });
	const { ref } = await ask(w.rt, LARGE);
	assert.ok(s3.objects.size >= 1);
	await w.rt.stop();
	w.rt = await w.again();
	assert.ok((await ok(w.rt, 'read_output', { outputRef: ref })).content.includes(LARGE));
	await w.rt.stop();
	w.rt = await w.again({ env: { ...s3.settings, AWS_SECRET_ACCESS_KEY: 'wrong' } });
	const { status, body } = await call(w.rt, 'submit_turn', { createPolicy: {}, text: `${LARGE}!` });
	assert.equal(status, 503);
	assert.match(body.error.message, /s3_secret_key/);
	await w.rt.stop();
});

test('objects are removed when nothing names them any more', { skip }, async () => {
	const s3 = await storage();
	const w = await world({ env: s3.settings, config });
	await ask(w.rt, LARGE);
	assert.ok(s3.count() >= 1);
	await w.rt.stop();
	// What the removal of its session leaves behind; the age of a session cannot be made up here, requests are signed with the time.
	sql('DELETE FROM log; DELETE FROM session; INSERT INTO blob_doomed SELECT hash, 1 FROM blob');
	w.rt = await w.again();
	await waitFor(() => s3.count() === 0, 'the objects go');
	await waitFor(() => sql('SELECT (SELECT count(*) FROM object) + (SELECT count(*) FROM object_gone)').trim() === '0', 'their names go');
	await w.rt.stop();
});

test('the storage needs a PostgreSQL store', { skip: !skip && 'has one' }, async () => {
	const w = await world({ env: { AGENTD_S3_URL: 'http://127.0.0.1:1/bucket' }, mayDie: true });
	assert.ok(w.rt.isGone);
	assert.match(w.rt.stderr, /needs a PostgreSQL store/);
});
