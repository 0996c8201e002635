// Outputs that are too long to be shown: what is told of them, the policy that a caller can read, its limits, how long they are kept, and what
// becomes of bytes that should not have been stored.
import assert from 'node:assert/strict';
import { chownSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bytesOf, download, linesOf } from '../evidence/packs.mjs';
import { sql } from '../lib/damage.mjs';
import { ended, facts } from '../lib/gate.mjs';
import { call, checkError, newFolder, ok, readLog, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { configOf, newWorkspace, shell } from '../process/place.mjs';

const LIMIT = 4096, STREAM = 65536, DAY = 86400;
const BIG = { rows: Array.from({ length: 60000 }, (_, n) => ({ n, text: `row ${n} ${'x'.repeat(64)}` })) };
const BODY = JSON.stringify(BIG);
const SECRET = 'wk-later-4711';
const hook = join(newFolder(), 'hook');
const tools = [{ name: 'put', description: 'Puts.', inputSchema: { type: 'object', properties: {} } }];
let w, service;

/** The hook answers with this many bytes, all of them JSON; 0: with nothing. */
const hookSays = (size) => writeFileSync(`${hook}.said`, size ? JSON.stringify({ reason: '' }).padEnd(size) : '');

before(async () => {
	service = http.createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(BODY));
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	hookSays(0);
	writeFileSync(hook, `#!/bin/sh\nexec cat '${hook}.said'\n`);
	chmodSync(hook, 0o755);
	if (process.getuid() === 0) for (const file of [hook, `${hook}.said`]) chownSync(file, 1000, 1000);
	w = await world({
		config: configOf(newWorkspace(), {
			'tools.max_result_bytes': LIMIT, 'process.max_output_bytes': STREAM, 'retention.outputs_s': DAY,
			hooks: [{ name: 'talks', point: 'user_prompt_submit', command: hook }],
			http_tools: [{ name: 'report', description: 'Reports.', method: 'GET', url: `http://127.0.0.1:${service.address().port}/`, read_only: true }],
		}),
	});
});

after(() => {
	service.closeAllConnections();
	service.close();
});

async function run(text, more) {
	const turn = await submit(w.rt, text, more);
	await ended(w.rt, turn.sessionId, turn.turnId);
	return turn;
}

/** A turn whose tool is the client: it returns `output`. */
async function withResult(output, more) {
	const turn = await submit(w.rt, '[[tool put {}]]', { options: { tools }, ...more });
	const [{ toolCallId }] = await waitFor(async () => {
		const started = (await facts(w.rt, turn.sessionId, 'tool.started')).filter((e) => e.turnId === turn.turnId);
		return started.length > 0 && started;
	}, 'the call');
	await ok(w.rt, 'report_tool_result', { toolCallId, output });
	await ended(w.rt, turn.sessionId, turn.turnId);
	const of = async (type) => (await facts(w.rt, turn.sessionId, type)).find((e) => e.toolCallId === toolCallId);
	return { ...turn, toolCallId, result: await of('tool.result'), spilled: await of('output.spilled'), cut: await of('output.truncated') };
}

async function unavailable(outputRef, code) {
	const { status, body } = await call(w.rt, 'read_output', { outputRef });
	checkError(status, body);
	assert.deepEqual([status, body.error.code], [410, code]);
	assert.match(body.error.message, /unavailable/);
	assert.equal(body.content, undefined);
}

const verdict = async (sessionId) => JSON.parse((await request(w.rt, { path: '/v1/verify', body: JSON.stringify({ sessionId }) })).text).sessions[0];
const outputsOf = async (sessionId) => (await ok(w.rt, 'get_session', { sessionId })).threads[0].outputs.filter((o) => o.owner === 'tool');

test('OU-01 OU-04 OU-07 5 MB of JSON: eight members in the fact and in the list, every byte behind the ref, parts apart; also after kill -9 and from a pack', async () => {
	const { sessionId } = await run('[[tool report {}]]');
	const [{ outputRef, payload, timestamp }] = await facts(w.rt, sessionId, 'output.spilled');
	const expiresAt = payload.expiresAt;
	assert.deepEqual([payload.owner, payload.mediaType, payload.encoding, payload.sizeBytes, payload.truncation, payload.redaction],
		['tool', 'application/json', 'utf-8', BODY.length, 'none', { count: 0 }]);
	assert.ok(BODY.length > 5e6 && BODY.startsWith(payload.preview) && payload.preview.length > 0);
	assert.equal(Date.parse(expiresAt) - Date.parse(timestamp), DAY * 1000);
	const [listed] = await outputsOf(sessionId);
	for (const member of ['owner', 'mediaType', 'encoding', 'sizeBytes', 'truncation', 'preview', 'redaction', 'expiresAt'])
		assert.deepEqual(listed[member], payload[member], member);
	assert.deepEqual([listed.outputRef, listed.state], [outputRef, 'available']);

	const [{ payload: result }] = await facts(w.rt, sessionId, 'tool.result');
	assert.deepEqual(JSON.parse(await bytesOf(w.rt, result.structuredContentRef)), BIG, 'for machines');
	assert.equal(result.displayPreview, BODY.slice(0, 1024), 'for people');
	assert.equal(result.rawOutputRef, outputRef);
	assert.deepEqual(result.artifactRefs ?? [], []);

	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await bytesOf(w.rt, outputRef)).toString(), BODY);
	const { packRef } = await ok(w.rt, 'export_evidence', { sessionId });
	const folder = await download(w.rt, packRef);
	const line = linesOf(folder, 'manifest.ndjson').find((l) => l.ref === outputRef);
	assert.equal(line.state, 'included');
	assert.equal(readFileSync(join(folder, 'blobs', line.sha256), 'utf8'), BODY);
});

test('OU-04 a call that fails has its text behind a ref of its own, and no structured part', async () => {
	const { sessionId } = await run('[[tool read_file {"path":"none"}]]');
	const ends = await facts(w.rt, sessionId, 'tool.failed', 'tool.result');
	const failed = ends.find((e) => e.type === 'tool.failed');
	assert.ok(failed, JSON.stringify(ends.map((e) => e.payload)));
	assert.ok((await bytesOf(w.rt, failed.payload.errorRef)).length > 0);
	assert.equal(failed.payload.structuredContentRef, undefined);
});

test('OU-02 outputs of a tool, a process, a hook and a model, cut by each policy: words of the standard, and sizes of what was made', async () => {
	const made = STREAM * 8;
	const { sessionId } = await run(shell(`head -c ${made} /dev/zero | tr '\\0' x`));
	hookSays(262145);
	const hooked = await run('[[say ok]]');
	hookSays(0);
	const binary = await run(shell('head -c 20000 /dev/urandom'));
	const said = await run(`[[say ${'y'.repeat(LIMIT + 1)}]]`);
	const told = async (id, type, owner) => (await facts(w.rt, id, type)).find((e) => !owner || e.payload.owner === owner);

	const stream = await told(sessionId, 'output.spilled', 'process');
	assert.deepEqual([stream.payload.encoding, stream.payload.truncation, stream.payload.sizeBytes], ['utf-8', 'head_tail', made]);
	assert.equal(stream.payload.furtherRefs.length, 1, 'the tail');
	const cut = (await facts(w.rt, sessionId, 'output.truncated')).find((e) => e.processId);
	assert.deepEqual([cut.payload.truncation, cut.payload.originalSize], ['head_tail', made]);
	assert.equal((await told(sessionId, 'output.spilled', 'tool')).payload.truncation, 'none', 'what the tool gave is stored whole');

	const answer = await told(hooked.sessionId, 'output.truncated');
	assert.deepEqual([answer.payload.truncation, answer.payload.originalSize, answer.payload.keptSize], ['head', 262145, 262144]);
	const bytes = await told(binary.sessionId, 'output.spilled', 'process');
	assert.deepEqual([bytes.payload.encoding, bytes.payload.mediaType, bytes.payload.sizeBytes, bytes.payload.preview], ['binary', 'application/octet-stream', 20000, '']);
	const spoken = await told(said.sessionId, 'output.spilled', 'model');
	assert.deepEqual([spoken.payload.encoding, spoken.payload.truncation, spoken.payload.sizeBytes, spoken.payload.expiresAt], ['utf-8', 'none', LIMIT + 1, undefined]);
});

test('OU-03 the policy can be read, and each limit holds at the limit and one beyond', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { outputPolicy: p } = await ok(w.rt, 'get_execution_environment', { sessionId });
	assert.deepEqual(p, {
		evidence: 'copy', inlinesBinary: false, toolResultBytes: LIMIT, toolResultKeeps: 'head_tail', hookOutputBytes: 262144, hookKeeps: 'head',
		streamBytes: STREAM, streamTailBytes: STREAM / 4, streamKeeps: 'head_tail', previewBytes: 1024, eventBytes: 131072, lifetimeSeconds: DAY, lifetimeOutputs: 1024,
	});

	const whole = await withResult('r'.repeat(p.toolResultBytes));
	assert.deepEqual([whole.spilled, whole.cut, whole.result.payload.answerRef], [undefined, undefined, undefined]);
	const beyond = await withResult('r'.repeat(p.toolResultBytes + 1));
	assert.deepEqual([beyond.spilled.payload.sizeBytes, beyond.spilled.payload.thresholdBytes], [LIMIT + 1, LIMIT]);
	assert.equal(beyond.cut.payload.truncation, p.toolResultKeeps);

	assert.equal((await withResult('p'.repeat(p.previewBytes))).result.payload.preview.length, p.previewBytes);
	assert.equal((await withResult('p'.repeat(p.previewBytes + 1))).result.payload.preview.length, p.previewBytes);

	const hooks = [];
	for (const size of [p.hookOutputBytes, p.hookOutputBytes + 1]) {
		hookSays(size);
		const { sessionId: id } = await run('[[say ok]]');
		hooks.push((await facts(w.rt, id, 'hook.completed', 'hook.failed', 'output.truncated')).map((e) => e.type));
	}
	hookSays(0);
	assert.deepEqual(hooks, [['hook.completed'], ['output.truncated', 'hook.failed']]);

	const streams = [];
	for (const size of [p.streamBytes, p.streamBytes + 1]) {
		const { sessionId: id } = await run(shell(`head -c ${size} /dev/zero | tr '\\0' x`));
		const [{ payload: { outputs } }] = await facts(w.rt, id, 'process.completed');
		const cut = (await facts(w.rt, id, 'output.truncated')).find((e) => e.processId);
		streams.push([outputs.map((o) => o.length), cut?.payload.truncation]);
	}
	assert.deepEqual(streams, [[[STREAM], undefined], [[STREAM - p.streamTailBytes, p.streamTailBytes], p.streamKeeps]]);

	const title = (length) => call(w.rt, 'update_session', { sessionId, title: 't'.repeat(length) }, { loose: true });
	assert.deepEqual([(await title(256)).status, (await title(257)).body.error.code], [200, 'invalid_input'], 'what would be in a fact has a limit of its own');
	for (const id of [sessionId, beyond.sessionId])
		for (const f of await readLog(w.rt, id)) assert.ok(f.data.length < p.eventBytes, f.type);
});

test('OU-10 OPEN-51 an output that passed its lifetime is gone with a fact, unavailable for readers, and nobody else loses anything', async () => {
	const text = `${'row '.repeat(3000)}end`;
	const [{ sessionId }, other, kept] = [await ok(w.rt, 'create_session', {}), await withResult(text), await ok(w.rt, 'create_session', {})];
	for (const scopeId of [sessionId, kept.sessionId]) await ok(w.rt, 'set_policy', { scope: 'session', scopeId, policy: { outputSeconds: 1 } });
	assert.equal((await ok(w.rt, 'get_execution_environment', { sessionId })).outputPolicy.lifetimeSeconds, 1);
	const exported = await submit(w.rt, '[[tool report {}]]', { sessionId: kept.sessionId });
	const short = await withResult(text, { sessionId });
	const { outputRef } = short.spilled;

	const [gone] = await waitFor(async () => {
		const all = await facts(w.rt, sessionId, 'output.expired');
		return all.length > 0 && all;
	}, 'the fact');
	assert.equal(gone.outputRef, outputRef);
	assert.equal(gone.payload.expiresAt, short.spilled.payload.expiresAt);
	assert.ok(Date.parse(gone.payload.expiredAt) >= Date.parse(gone.payload.expiresAt));
	await ended(w.rt, exported.sessionId, exported.turnId);
	const check = async () => {
		await unavailable(outputRef, 'expired');
		const [listed] = await outputsOf(sessionId);
		assert.deepEqual([listed.state, listed.expiresAt, listed.removedAt], ['expired', gone.payload.expiresAt, gone.payload.expiredAt]);
		assert.equal((await bytesOf(w.rt, other.spilled.outputRef)).toString(), text, 'another session has the same bytes');
		assert.equal((await bytesOf(w.rt, short.result.payload.answerRef)).length, short.cut.payload.keptSize, 'what the model reads stays');
		assert.equal((await verdict(sessionId)).status, 'ok');
	};
	await check();
	await w.rt.kill9();
	w.rt = await w.again();
	await check();
	await run('[[say and on]]', { sessionId });
	assert.equal((await facts(w.rt, sessionId, 'output.expired')).length, 1);
});

test('OPEN-51 what an export of evidence names does not expire', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { outputSeconds: 2 } });
	const { spilled } = await withResult('kept '.repeat(2000), { sessionId });
	await ok(w.rt, 'export_evidence', { sessionId });
	const later = await withResult('short '.repeat(2000), { sessionId });
	await waitFor(async () => (await facts(w.rt, sessionId, 'output.expired')).length > 0, 'the end of the later one');
	assert.deepEqual((await facts(w.rt, sessionId, 'output.expired')).map((e) => e.outputRef), [later.spilled.outputRef]);
	assert.equal((await bytesOf(w.rt, spilled.outputRef)).toString(), 'kept '.repeat(2000));
	assert.deepEqual((await outputsOf(sessionId)).map((o) => [o.state, o.expiresAt === undefined]), [['available', true], ['expired', false]]);
});

test('OPEN-50 later redaction: the bytes go, the ref stays, the model reads what is left, and a tombstone says so; also after kill -9', async () => {
	const text = `${'a'.repeat(9000)}${SECRET}${'b'.repeat(9000)}`;
	const { sessionId, spilled: { outputRef }, result } = await withResult(text);
	const answer = await run(`[[say the key is ${SECRET}]]`, { sessionId });
	const [{ payload: { outputRef: answerRef } }] = (await facts(w.rt, sessionId, 'turn.completed')).filter((e) => e.turnId === answer.turnId);
	const redact = (more) => call(w.rt, 'redact_output', { sessionId, ...more });
	const range = { offset: 9000, length: SECRET.length };

	const { body: done, status } = await redact({ outputRef, ranges: [range], reason: 'a key', idempotencyKey: 'k' });
	assert.deepEqual([status, done.redactedBytes], [200, SECRET.length], JSON.stringify(done));
	assert.deepEqual((await redact({ outputRef, ranges: [range], reason: 'a key', idempotencyKey: 'k' })).body, done, 'a repeat');
	assert.equal((await redact({ outputRef: answerRef })).status, 200);
	const asked = (await facts(w.rt, sessionId, 'turn.submitted')).find((e) => e.turnId === answer.turnId).payload.inputRef;
	assert.equal((await redact({ outputRef: asked })).status, 200);
	const told = (await facts(w.rt, sessionId, 'output.redacted')).filter((e) => e.payload.replacementRef);
	assert.deepEqual(told.map((e) => [e.outputRef, e.payload.redaction, e.payload.whole, e.payload.reason]).slice(0, 2),
		[[outputRef, { kind: 'request', count: 1 }, false, 'a key'], [answerRef, { kind: 'request', count: 1 }, true, undefined]]);

	const check = async () => {
		assert.equal((await bytesOf(w.rt, outputRef)).toString(), text.replace(SECRET, '[redacted]'), 'the same ref');
		await unavailable(answerRef, 'redacted');
		assert.equal((await verdict(sessionId)).status, 'ok');
		const [listed] = await outputsOf(sessionId);
		assert.deepEqual([listed.outputRef, listed.state, listed.preview], [outputRef, 'redacted', '[redacted]']);
	};
	await check();
	const next = await run('[[say next]]', { sessionId });
	const sent = JSON.stringify(w.model.log(next.turnId).map((l) => l.body));
	assert.ok(!sent.includes(SECRET) && sent.includes('[redacted]'), 'the conversation');
	assert.equal(await bytesOf(w.rt, result.payload.outputRef).then(String), text.replace(SECRET, '[redacted]'));

	for (const [code, more] of [
		['redacted', { outputRef: answerRef }], ['redacted', { outputRef, ranges: [range] }],
		['ref_not_found', { outputRef: 'blob_none' }], ['ref_not_found', { outputRef: outputRef.replace(/.$/, (c) => (c === '0' ? '1' : '0')) }],
		['invalid_input', { outputRef: done.replacementRef, ranges: [{ offset: text.length, length: 1 }] }],
		['invalid_input', { outputRef: done.replacementRef, ranges: [{ offset: 4, length: 2 }, { offset: 5, length: 2 }] }],
		['invalid_input', { outputRef: done.replacementRef, ranges: [{ offset: 4, length: 0 }] }],
	]) {
		const { body } = await redact(more);
		assert.equal(body.error?.code, code, JSON.stringify([more, body]));
	}
	const [{ payload: { inputRef } }] = await facts(w.rt, sessionId, 'tool.started');
	assert.equal((await redact({ outputRef: inputRef })).body.error.code, 'conflict', 'arguments that the conversation has');
	const said = (await facts(w.rt, sessionId, 'turn.submitted')).find((e) => e.turnId === next.turnId).payload.inputRef;
	assert.equal((await redact({ outputRef: said, ranges: [{ offset: 0, length: 3 }] })).body.error.code, 'invalid_input', 'what a person said stays JSON');
	const foreign = await withResult('foreign');
	assert.equal((await redact({ outputRef: foreign.result.payload.outputRef })).body.error.code, 'ref_not_found', 'of another session');

	await w.rt.kill9();
	w.rt = await w.again();
	await check();
	await waitFor(() => sql(w.dataDir, [`SELECT count(*) FROM blob WHERE size = ${text.length}`]) === '0', 'the bytes are gone from the store');
	await check();
});
