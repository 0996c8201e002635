// ci: release only (the shifted clock is preloaded)
// Sessions that nobody touched for longer than `retention.days` are removed with what they said; others, and those whose
// work is open, stay. Their age is made with a wall clock that is weeks behind.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, call, follow, newFolder, ok, readLog, refused, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { TenantFollower } from '../tenant/follow_all.mjs';
import { homeOf } from '../tenant/tenants.mjs';

const DAY = 86400;

/** The environment of a process whose wall clock is that many days behind. */
function behind(days) {
	const path = join(newFolder(), 'offset');
	const seconds = Buffer.alloc(8);
	seconds.writeBigInt64LE(BigInt(-days * DAY));
	writeFileSync(path, seconds);
	return { LD_PRELOAD: join(bin, 'ar-clock-offset.so'), AR_CLOCK_OFFSET: path };
}

async function finish(rt, text) {
	const receipt = await submit(rt, text);
	const follower = await follow(rt, receipt.sessionId);
	const { payload } = await follower.ended(receipt.turnId);
	follower.stop();
	return { ...receipt, ref: payload.outputRef };
}

const listed = async (rt) => (await ok(rt, 'list_sessions', {})).sessions.map((s) => s.sessionId);

test('old sessions are removed, young and open ones stay', async () => {
	const w = await world({ env: behind(40) });
	const old = await finish(w.rt, 'said long ago');
	const open = await submit(w.rt, '[[hang]]');
	await ok(w.rt, 'read_output', { outputRef: old.ref });
	await w.rt.stop();

	w.rt = await w.again({ env: behind(20) });
	const young = await finish(w.rt, 'said since');
	await w.rt.stop();

	w.rt = await w.again({ env: {} });
	await sleep(2500);
	assert.equal((await listed(w.rt)).length, 3, 'without the setting everything is kept');
	await w.rt.stop();

	w.rt = await w.again({ env: { AGENTD_RETENTION_DAYS: '30' } });
	await ok(w.rt, 'get_session', { sessionId: old.sessionId }); // in memory when it goes
	const reader = await follow(w.rt, old.sessionId);
	await waitFor(async () => !(await listed(w.rt)).includes(old.sessionId), 'the old session goes');
	assert.deepEqual((await listed(w.rt)).sort(), [open.sessionId, young.sessionId].sort());
	// The list is the store's; memory follows as soon as the store has said so.
	await waitFor(async () => (await call(w.rt, 'get_session', { sessionId: old.sessionId })).status === 404, 'it leaves memory');
	await refused(w.rt, 'session_not_found', 'get_session', { sessionId: old.sessionId });
	await refused(w.rt, 'session_not_found', 'submit_turn', { sessionId: old.sessionId, text: 'still there?' });
	await refused(w.rt, 'ref_not_found', 'read_output', { outputRef: old.ref });
	const { status } = await call(w.rt, 'get_task', { taskId: old.taskId });
	assert.equal(status, 404);
	await ok(w.rt, 'get_session', { sessionId: young.sessionId });
	reader.stop();
	await w.rt.stop();
});

test('CH-07 CH-13 HI-13 AC-16 EV-34 OPEN-30 CP-49 a peer that comes back after sessions were removed is told what is missing, and goes on behind it', async () => {
	const peer = { transport: 'sse', peerRole: 'client', credential: 'mine' };
	const w = await world({ env: behind(40) });
	const { channelId } = await ok(w.rt, 'connect_channel', { ...peer, channelId: 'away' });
	const old = await finish(w.rt, 'said long ago');
	await w.rt.stop();

	w.rt = await w.again({ env: behind(20) });
	const young = await finish(w.rt, 'said since');
	await ok(w.rt, 'connect_channel', { ...peer, channelId: 'another' }); // the home is not old
	const before = await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: 0 });
	assert.deepEqual([before.replayMode, before.gap], ['replay', undefined], 'nothing was removed yet');
	assert.deepEqual(new Set(before.snapshot.sessions.map((s) => s.sessionId)), new Set([old.sessionId, young.sessionId]));
	await w.rt.stop();

	w.rt = await w.again({ env: { AGENTD_RETENTION_DAYS: '30' } });
	await waitFor(async () => !(await listed(w.rt)).includes(old.sessionId), 'the old session goes');
	const back = await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: 0 });
	assert.equal(back.replayMode, 'partial');
	assert.deepEqual([back.gap.from, back.gap.reason], ['', 'retention']);
	assert.match(back.gap.to, /^t\d+:\d+$/);
	assert.deepEqual(back.snapshot.sessions.map((s) => s.sessionId), [young.sessionId]);
	const told = (await readLog(w.rt, homeOf('local'))).slice(-3).map((f) => f.event);
	assert.deepEqual(told.map((e) => [e.type, e.channelId]), [['channel.resumed', channelId], ['snapshot.repaired', channelId], ['snapshot.updated', channelId]]);
	assert.deepEqual([told[0].payload.replayMode, told[0].payload.gap], ['partial', back.gap]);
	const { fromSequence, toSequence, repairedFields, unavailable } = told[1].payload;
	assert.deepEqual([fromSequence, toSequence, repairedFields, unavailable], [1, Number(back.gap.to.split(':')[1]), ['sessions'], ['events']]);
	const { snapshotKind, snapshotRef, asOfSequence, recoveryMode, reason } = told[2].payload;
	assert.deepEqual([snapshotKind, asOfSequence, recoveryMode, reason], ['sessions', toSequence, 'snapshot_only', 'retention']);
	assert.deepEqual(JSON.parse((await ok(w.rt, 'read_output', { outputRef: snapshotRef })).content), { command: 'list_sessions', cursor: back.gap.to });
	const stream = await new TenantFollower(w.rt, { query: `view=extended&channelId=${channelId}` }).open();
	const live = await submit(w.rt, 'said now');
	await stream.until(() => stream.facts.some((f) => f.event.turnId === live.turnId), 'the live turn');
	stream.stop();
	const order = stream.facts.map((f) => f.event).filter((e) => e.sessionId === live.sessionId || e.type.startsWith('snapshot.')).map((e) => e.type);
	assert.deepEqual(order.slice(0, 3), ['snapshot.repaired', 'snapshot.updated', 'session.created']);

	await ok(w.rt, 'ack_events', { channelId, cursor: back.cursor });
	const again = await ok(w.rt, 'reconnect_channel', { channelId, lastAckedSequence: 0 });
	assert.deepEqual([again.replayMode, again.gap], ['replay', undefined], 'it has the snapshot now');
	await w.rt.stop();
});
