// Evidence has one source, the log: what is changed there changes in read model and pack alike, and what is gone is said to be gone, never to be well.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rewrite, rowsOf, sql } from '../lib/damage.mjs';
import { newFolder, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { download, jsonOf, linesOf } from './packs.mjs';

const SQLITE = { skip: process.env.AR_TEST_POSTGRES && 'changes the file of SQLite' };

const resting = (rt, sessionId) => waitFor(async () => { const read = await ok(rt, 'get_session', { sessionId }); return read.status === 'idle' && read; }, 'rest');

/** The read model as it is served and as it is in a pack of the same fact. */
async function both(rt, sessionId) {
	const { historyCursor, ...read } = await resting(rt, sessionId);
	const made = await ok(rt, 'export_evidence', { sessionId, sequence: read.asOfSequence }), folder = await download(rt, made.packRef);
	return { read, made, folder, packed: jsonOf(folder, 'read_model.json') };
}

test('EX-11 a copy in which nothing but the log is altered: read model and pack change alike', SQLITE, async () => {
	const w = await world({ config: { 'session.snapshot_every': 1000000 } });
	const { sessionId } = await submit(w.rt, 'hello');
	await resting(w.rt, sessionId);
	await ok(w.rt, 'update_session', { sessionId, title: 'as it was' });
	await ok(w.rt, 'record_evidence', { sessionId, kind: 'review', source: 'Ada', note: 'looked at it' });
	const first = await both(w.rt, sessionId);
	assert.deepEqual(first.packed, first.read);
	await w.rt.stop();
	const lines = readFileSync(join(first.folder, 'events.ndjson'), 'utf8').split('\n').filter(Boolean);
	const altered = lines.map((line) => {
		const fact = JSON.parse(line.replace('"as it was"', '"as it is not"'));
		if (fact.payload.note) fact.payload.note = 'did not look';
		if (fact.type === 'cost.recorded') fact.payload.inputTokens += 4000;
		return JSON.stringify(fact);
	});
	assert.equal(altered.filter((l, i) => l !== lines[i]).length, 3);
	rewrite(w.dataDir, rowsOf(w.dataDir), altered);
	w.rt = await w.again();
	const then = await both(w.rt, sessionId);
	assert.deepEqual(linesOf(then.folder, 'events.ndjson').slice(0, altered.length), altered.map((l) => JSON.parse(l)));
	assert.deepEqual(then.packed, then.read);
	for (const model of [then.read, then.packed]) {
		assert.equal(model.title, 'as it is not');
		assert.deepEqual(model.threads[0].evidenceSummary.auditNotes.map((n) => n.note), ['did not look']);
		assert.equal(model.threads[0].costState.inputTokens, first.read.threads[0].costState.inputTokens + 4000);
	}
	await w.rt.stop();
});

test('AC-25 EX-07 PF-16 sources are removed one by one: telemetry, price, channel, the content of an output; read model and pack say so, never success', SQLITE, async () => {
	const root = realpathSync(newFolder());
	writeFileSync(join(root, 'note.txt'), 'n'.repeat(300));
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
	const w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) } });
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	const { sessionId } = await submit(w.rt, '[[tool read_file {"path":"note.txt"}]][[then]][[say Done.]]', { createPolicy: { workspaceId: workspace.workspaceId } });
	await resting(w.rt, sessionId);
	const { channelId } = await ok(w.rt, 'connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming'] });
	const whole = await both(w.rt, sessionId);
	const [channel] = whole.read.channelSummary.channels;
	assert.deepEqual([channel.status, whole.made.knownGaps, whole.made.signalStatus.contents], ['connected', [], 'exported']);

	/* No collector and no price: known from the start. */
	assert.equal(whole.made.signalStatus.traces, 'not_recorded');
	for (const model of [whole.read, whole.packed]) assert.deepEqual([model.threads[0].costState.state, model.threads[0].costState.amount], ['unknown', 'unknown']);
	assert.ok(linesOf(whole.folder, 'events.ndjson').filter((e) => e.type === 'cost.recorded').every((e) => e.payload.amount === 'unknown'));

	/* The peer is gone with its connection, the content behind our back. */
	const { outputRef } = (await readLog(w.rt, sessionId)).map((f) => f.event).find((e) => e.type === 'tool.result').payload;
	const { sha256 } = linesOf(whole.folder, 'manifest.ndjson').find((l) => l.ref === outputRef);
	await w.rt.kill9();
	sql(w.dataDir, [`DELETE FROM blob_ref WHERE hash = X'${sha256}'`, `DELETE FROM blob WHERE hash = X'${sha256}'`]);
	w.rt = await w.again();
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).channelSummary.channels[0].status !== 'connected', 'the peer is missed');
	const less = await both(w.rt, sessionId);
	for (const model of [less.read, less.packed]) assert.deepEqual(model.channelSummary.channels.map((c) => [c.channelId, c.status]), [[channelId, 'disconnected']]);
	assert.deepEqual(less.packed, less.read);
	assert.deepEqual(less.made.knownGaps, [{ part: outputRef, reason: 'the content is not stored any more' }], 'exactly that gap');
	const { evidenceSummary } = (await ok(w.rt, 'get_session', { sessionId })).threads[0];
	assert.deepEqual(evidenceSummary.knownGaps, [{ ...less.made.knownGaps[0], evidenceId: less.made.evidenceId }], 'in the read model as well, by the export that said so');
	assert.deepEqual(linesOf(less.folder, 'manifest.ndjson').filter((l) => l.state !== 'included').map((l) => [l.ref, l.state, l.size]), [[outputRef, 'missing', undefined]]);
	assert.deepEqual(jsonOf(less.folder, 'statement.json').predicate.knownGaps, less.made.knownGaps, 'the gap is signed, too');
	await refused(w.rt, 'ref_not_found', 'read_output', { outputRef });
	await refused(w.rt, 'unavailable_refs', 'export_evidence', { sessionId, include: ['contents'] });
	await w.rt.stop();
});
