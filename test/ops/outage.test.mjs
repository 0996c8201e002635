// A store that does not work is told of: one line in the log when it begins and one when it ends, /ready, agentctl doctor. Triggers in the
// database stand in for a full disk.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '../lib/damage.mjs';
import { bin, call, ok, request, waitFor, world } from '../lib/runtime.mjs';

const TABLES = ['log', 'meta'];
const lines = (rt) => rt.stderr.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
const said = (rt, text) => lines(rt).filter((l) => l.message.startsWith(text));
const ready = (rt) => request(rt, { method: 'GET', path: '/ready' });

test('a store that takes no writes is told of in the log, /ready and doctor, and so is its end', { skip: Boolean(process.env.AR_TEST_POSTGRES) }, async () => {
	const { rt, dataDir } = await world();
	assert.equal((await ready(rt)).status, 200);
	sql(dataDir, TABLES.map((t) => `CREATE TRIGGER full_${t} BEFORE INSERT ON ${t} BEGIN SELECT RAISE(ABORT, 'no room, says a test'); END`));
	for (let i = 0; i < 5; i++) {
		const { status, body } = await call(rt, 'create_session', {});
		assert.deepEqual([status, body.error?.code], [503, 'storage_unavailable']);
	}
	const { status, text } = await ready(rt);
	assert.equal(status, 503);
	assert.match(JSON.parse(text).reason, /^the store is unavailable/);
	const [line, ...more] = await waitFor(() => said(rt, 'the store is unavailable').length && said(rt, 'the store is unavailable'), 'the line');
	assert.deepEqual(more, [], 'one line, however much fails');
	assert.equal(line.level, 'error');
	assert.match(line.detail, /no room, says a test/);
	const doctor = spawnSync(join(bin, 'agentctl'), ['--data-dir', join(dataDir, 'data'), '--json', 'doctor'], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dataDir } });
	const daemon = JSON.parse(doctor.stdout).checks.find((c) => c.name === 'daemon');
	assert.equal(daemon.status, 'fail');
	assert.match(daemon.message, /not ready: the store is unavailable/);

	sql(dataDir, TABLES.map((t) => `DROP TRIGGER full_${t}`));
	const [end] = await waitFor(() => said(rt, 'the store is available again').length && said(rt, 'the store is available again'), 'the end, found without a request');
	const [, count] = /^it was unavailable for \d+\.\d s; (\d+) operations failed$/.exec(end.detail) ?? assert.fail(end.detail);
	assert.ok(Number(count) >= 5, end.detail);
	assert.equal((await ready(rt)).status, 200);
	assert.equal(said(rt, 'the store is unavailable').length, 1);
	await ok(rt, 'create_session', {});
	await rt.stop();
});
