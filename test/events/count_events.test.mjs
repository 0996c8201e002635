// count_events: the parts of a span hold every fact once, where its time says; a long log is not read for it; what is refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, follow, newFolder, ok, readLog, refused, startAgentd, startModel, storeOf, submit } from '../lib/runtime.mjs';
import { ask, homeOf, tenants } from '../tenant/tenants.mjs';
import { Place } from '../ctl/place.mjs';

let model, rt, sessionId, log, made;

before(async () => {
	const dataDir = newFolder();
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	const store = storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db');
	made = JSON.parse(execFileSync(join(bin, 'ar-make-session'), ['--store', store, '--facts', '20000'], { encoding: 'utf8' }));
	model = await startModel();
	rt = await startAgentd({ dataDir, model });
	({ sessionId } = await ok(rt, 'create_session', {}));
	const follower = await follow(rt, sessionId);
	for (let i = 0; i < 5; i++) await follower.ended((await submit(rt, `turn ${i}`, { sessionId })).turnId);
	follower.stop();
	log = (await readLog(rt, sessionId)).map((f) => f.event);
});

const sum = (buckets) => buckets.reduce((n, b) => n + b.count, 0);

/** Parts follow each other, and each has the facts from its first one on. */
function checkParts({ buckets, count, since }, head) {
	assert.equal(sum(buckets), count);
	assert.equal(buckets[0].from, since);
	let next;
	for (const [i, b] of buckets.entries()) {
		if (i) assert.ok(b.from >= buckets[i - 1].from);
		assert.equal(b.firstSequence === undefined, b.count === 0);
		if (b.count === 0) continue;
		if (next !== undefined) assert.equal(b.firstSequence, next);
		next = b.firstSequence + b.count;
		assert.ok(next <= head + 1);
	}
}

test('every fact is in one part, and each part begins with the fact that it says', async () => {
	for (const n of [1, 2, 7, 60, 240]) {
		const answer = await ok(rt, 'count_events', { sessionId, buckets: n });
		assert.equal(answer.buckets.length, n);
		assert.deepEqual([answer.count, answer.asOfSequence], [log.length, log.length]);
		checkParts(answer, log.length);
		assert.equal(answer.buckets.find((b) => b.count).firstSequence, 1);
	}
	assert.equal((await ok(rt, 'count_events', { sessionId })).buckets.length, 60);
});

test('the parts are those of the times of the facts', async () => {
	// A fact is stored at its time, or a moment later, with others of one decision: between two turns the times are apart.
	const starts = log.filter((e) => e.type === 'turn.submitted').map((e) => e.sequence);
	for (const first of starts.slice(1)) {
		const at = log[first - 1].timestamp;
		const before = await ok(rt, 'count_events', { sessionId, until: at, buckets: 3 });
		assert.deepEqual([before.count, before.until], [first - 1, at]);
		checkParts(before, log.length);
		const after = await ok(rt, 'count_events', { sessionId, since: at, buckets: 3 });
		assert.equal(after.count, log.length - first + 1);
		assert.equal(after.buckets.find((b) => b.count).firstSequence, first);
		checkParts(after, log.length);
	}
	const long = await ok(rt, 'count_events', { sessionId, since: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z', buckets: 80 });
	assert.deepEqual(long.buckets.filter((b) => b.count).map((b) => b.count), [log.length], 'a day is one part of eighty years');
	for (const span of [{ until: '2020-01-01T00:00:00Z', since: '2019-01-01T00:00:00Z' }, { since: '2099-01-01T00:00:00Z' }])
		assert.equal((await ok(rt, 'count_events', { sessionId, ...span })).count, 0);
});

test('a long log is found its way through, not read', async () => {
	const reads = async () => Number(/^agentd_store_operations_total\{[^}]*read[^}]*\} (\d+)$/m.exec(await metrics())?.[1] ?? NaN);
	const metrics = async () => (await fetch(`${rt.url}/metrics`)).text();
	const start = await reads();
	const answer = await ok(rt, 'count_events', { sessionId: made.sessionId, buckets: 20 });
	assert.equal(answer.count, made.facts);
	checkParts(answer, made.facts);
	const looks = (await reads()) - start;
	assert.ok(looks <= 22 * 15, `${looks} reads of the store`);
});

test('what is refused', async () => {
	await refused(rt, 'session_not_found', 'count_events', { sessionId: `sess_${'0'.repeat(26)}` });
	await refused(rt, 'invalid_input', 'count_events', { sessionId, since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' });
	await refused(rt, 'invalid_input', 'count_events', { sessionId, buckets: 241 }, { loose: true });
	const w = await tenants();
	assert.equal((await ask(w.rt, w.zeta.tokens.read, 'count_events', { sessionId: homeOf('zeta') })).body.error.code, 'not_authorized');
	assert.equal((await ask(w.rt, w.acme.tokens.admin, 'count_events', { sessionId: w.zeta.ids.sessionId })).body.error.code, 'session_not_found');
	await w.rt.stop();
});

test('agentctl events --density', async (t) => {
	const place = await Place.make({ withModel: false });
	t.after(() => place.end());
	const ctl = (...args) => place.ctl('--socket', rt.socket, 'events', sessionId, '--density', ...args);
	const { code, out, err } = await ctl('5');
	assert.equal(code, 0, err);
	const rows = out.trim().split('\n').map((line) => /^\S+ +(\d+) ?(#*)$/.exec(line.trimEnd().replace(/ +(#*)$/, ' $1')));
	assert.equal(rows.length, 5);
	assert.equal(rows.reduce((n, r) => n + Number(r[1]), 0), log.length);
	assert.equal(Math.max(...rows.map((r) => r[2].length)), 40);
	assert.equal(JSON.parse((await ctl('5', '--json')).out).count, log.length);
	assert.equal((await ctl('241')).code, 2);
});
