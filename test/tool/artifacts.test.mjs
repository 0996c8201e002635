// Artifacts of a real agentd: files that tools change, by id and version; what is stored of them, what is not, and who may read it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { bin, follow, newFolder, ok, readLog, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateOfficialEvent, validateSnapshot } from '../lib/schemas.mjs';
import { OFFICIAL } from './mcp.mjs';

const SECRET = `sk-ant-api03-${'Ab3'.repeat(24)}`;
const KINDS = { 'turn.completed': 1, 'turn.failed': 1, 'turn.canceled': 1 };
let w, workspace;

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

function put(path, bytes) {
	mkdirSync(dirname(join(workspace, path)), { recursive: true });
	writeFileSync(join(workspace, path), bytes);
	if (process.getuid() === 0) execFileSync('chown', ['-hR', '1000:1000', workspace]);
}

/** One turn, to its end; its facts. */
async function turn(text, more = {}) {
	const { sessionId, turnId } = await submit(w.rt, text, more);
	const own = async () => (await readLog(w.rt, sessionId)).map((f) => f.event).filter((e) => e.turnId === turnId);
	await waitFor(async () => (await own()).some((e) => KINDS[e.type]), 'the end of the turn');
	return { sessionId, turnId, events: await own() };
}

const changed = (events) => events.filter((e) => e.type === 'artifact.changed');
const read = async (outputRef) => (await ok(w.rt, 'read_output', { outputRef, length: 1048576 })).content;

before(async () => {
	workspace = newFolder();
	if (process.getuid() === 0) chownSync(workspace, 1000, 1000);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass' } });
});

test('EX-12 EV-25 EV-43 a file that is written twice is one artifact with two versions, and every ref can be read', async () => {
	const first = await turn(call('write_file', { path: 'a.txt', content: 'one\ntwo\n' }));
	const second = await turn(call('edit_file', { path: 'a.txt', oldText: 'two', newText: 'three' }), { sessionId: first.sessionId });
	const [one] = changed(first.events), [two] = changed(second.events);
	assert.equal(one.artifactId, two.artifactId);
	assert.match(one.artifactId, new RegExp(`^artifact_${first.sessionId.slice(5)}_[0-9a-f]{32}$`));
	assert.deepEqual([one.payload.versionId, two.payload.versionId], [sha256('one\ntwo\n'), sha256('one\nthree\n')]);
	assert.deepEqual([one.payload.change, two.payload.change, two.payload.kind, two.payload.path, two.payload.state], ['produced', 'updated', 'file', 'a.txt', 'available']);
	assert.equal(two.payload.producer.id, two.toolCallId);
	for (const e of [one, two]) assert.ok(!JSON.stringify(e).includes('three') && !JSON.stringify(e).includes('one\\n'), 'no bytes in the fact');
	assert.equal(await read(one.payload.readRef), 'one\ntwo\n');
	assert.equal(await read(two.payload.readRef), 'one\nthree\n');
	assert.equal(await read(two.payload.previewRef), 'one\nthree\n');
	assert.equal(await read(two.payload.diffRef), '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n');
	assert.equal(await read(one.payload.diffRef), '--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n');
	for (const { events } of [first, second]) {
		const at = (type) => events.findIndex((e) => e.type === type);
		assert.ok(at('artifact.changed') < at('tool.result') && at('tool.result') < at('turn.completed'));
		for (const type of ['tool.result', 'turn.completed']) assert.deepEqual(events[at(type)].payload.artifactRefs, [one.artifactId], type);
		for (const e of changed(events)) validateOfficialEvent(e);
	}
	const { artifact, versions } = await ok(w.rt, 'get_artifact', { artifactId: one.artifactId });
	assert.deepEqual([artifact.versionId, artifact.versions, versions.map((v) => v.versionId)], [two.payload.versionId, 2, [two.payload.versionId, one.payload.versionId]]);
	const { artifacts } = await ok(w.rt, 'list_artifacts', { sessionId: first.sessionId, turnId: first.turnId });
	assert.deepEqual(artifacts, [artifact], 'the first turn changed it too');
	await refused(w.rt, 'turn_not_found', 'list_artifacts', { sessionId: first.sessionId, turnId: 'turn_none' });
	await refused(w.rt, 'invalid_cursor', 'list_artifacts', { sessionId: first.sessionId, cursor: 'x' });
	await refused(w.rt, 'artifact_not_found', 'get_artifact', { artifactId: one.artifactId.slice(0, -1) + 'x' });
	await refused(w.rt, 'artifact_not_found', 'get_artifact', { artifactId: 'report' });
});

test('a secret in a file is masked in all that is stored of it; the version is still that of the file', async () => {
	put('conf', `key=${SECRET}\nport=1\n`);
	const { sessionId, events } = await turn(call('edit_file', { path: 'conf', oldText: 'port=1', newText: 'port=2' }));
	const [e] = changed(events);
	const whole = readFileSync(join(workspace, 'conf'), 'utf8');
	assert.ok(whole.includes(SECRET));
	assert.equal(e.payload.versionId, sha256(whole));
	for (const ref of [e.payload.readRef, e.payload.previewRef, e.payload.diffRef]) assert.match(await read(ref), /key=\[redacted:anthropic_key\]/);
	assert.ok(!JSON.stringify(await ok(w.rt, 'get_session', { sessionId })).includes(SECRET));
});

test('what is not kept is called so: a large file, a deleted one; a binary one has no preview and no diff', async () => {
	put('large', 'x'.repeat(2 << 20) + '\nend\n');
	put('gone', 'bye\n');
	const large = await turn(call('edit_file', { path: 'large', oldText: 'end', newText: 'END' }));
	const [l] = changed(large.events);
	assert.deepEqual([l.payload.state, l.payload.readRef, l.payload.previewRef, l.payload.diffRef], ['unavailable', l.artifactId, undefined, undefined]);
	assert.equal(l.payload.versionId, sha256(readFileSync(join(workspace, 'large'))));
	await refused(w.rt, 'ref_not_found', 'read_output', { outputRef: l.payload.readRef });
	const gone = await turn(call('apply_patch', { patch: '*** Begin Patch\n*** Delete File: gone\n*** End Patch\n' }), { sessionId: large.sessionId });
	const [g] = changed(gone.events);
	assert.deepEqual([g.payload.state, g.payload.versionId, g.payload.readRef], ['deleted', 'deleted', g.artifactId]);
	assert.match(await read(g.payload.diffRef), /^--- a\/gone\n\+\+\+ \/dev\/null\n/);
	put('bin', Buffer.from('ff00fe0a656e640a', 'hex'));
	const binary = await turn(call('edit_file', { path: 'bin', oldText: 'end', newText: 'END' }), { sessionId: large.sessionId });
	const [b] = changed(binary.events);
	assert.deepEqual([b.payload.state, b.payload.previewRef, b.payload.diffRef, b.payload.sizeBytes], ['available', undefined, undefined, 8]);
	assert.deepEqual(await ok(w.rt, 'read_output', { outputRef: b.payload.readRef }).then((o) => [o.encoding, o.content]),
		['base64', Buffer.from('ff00fe0a454e440a', 'hex').toString('base64')]);
	const { artifactSummary } = await ok(w.rt, 'get_session', { sessionId: large.sessionId });
	assert.deepEqual([artifactSummary.count, artifactSummary.unavailable], [3, 1]);
});

test('paths of any bytes: a line break, no UTF-8, 4,000 bytes; each is an artifact of its own', async () => {
	const long = Array(19).fill('d'.repeat(200)).join('/') + '/f';
	const paths = ['a\nb', '"bad\\xff"', long, '; rm -rf x', '"]}'];
	let sessionId;
	const seen = new Map();
	for (const path of paths) {
		const t = await turn(call('write_file', { path, content: 'x', createDirs: true }), sessionId ? { sessionId } : {});
		({ sessionId } = t);
		const [e] = changed(t.events);
		assert.ok(e, `${path}: ${JSON.stringify(t.events.find((f) => f.type === 'tool.failed')?.payload)}`);
		validateOfficialEvent(e);
		seen.set(e.artifactId, e.payload.path);
		assert.equal((await ok(w.rt, 'get_artifact', { artifactId: e.artifactId })).artifact.path, e.payload.path);
	}
	assert.equal(seen.size, paths.length);
	assert.deepEqual([...seen.values()].slice(0, 3), ['"a\\nb"', '"bad\\xff"', long]);
});

test('500 artifacts are paged exactly once, newest first, and are the same after a kill -9', async () => {
	let sessionId;
	for (let k = 0; k < 5; k++) {
		const files = Array.from({ length: 100 }, (_, i) => `*** Add File: many/${k}/${i}\n+${i}\n`).join('');
		({ sessionId } = await turn(call('apply_patch', { patch: `*** Begin Patch\n${files}*** End Patch\n` }), sessionId ? { sessionId } : {}));
	}
	const page = async () => {
		const all = [];
		for (let cursor; ;) {
			const { artifacts, nextCursor } = await ok(w.rt, 'list_artifacts', { sessionId, limit: 37, ...(cursor ? { cursor } : {}) });
			assert.ok(artifacts.length <= 37);
			all.push(...artifacts);
			if (!nextCursor) return all;
			cursor = nextCursor;
		}
	};
	const all = await page();
	assert.equal(all.length, 500);
	assert.equal(new Set(all.map((a) => a.path)).size, 500);
	assert.ok(all.every((a, i) => i === 0 || a.sequence < all[i - 1].sequence), 'newest first');
	assert.equal(await read(all.at(-1).readRef), '0\n');
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await page(), all);
	validateSnapshot(await ok(w.rt, 'get_session', { sessionId }));
});

test('RM-17 OW-06 a session shows versions, preview, diff and faults of an artifact of another service, as they were given', async () => {
	const { sessionId, threadId } = await ok(w.rt, 'create_session', { title: 'artifacts' });
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, threadId, objective: 'report', acceptance: [] });
	await ok(w.rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	const artifacts = [{ ref: 'report-1', versionId: 'v1', kind: 'report' },
		{ ref: 'report-1', versionId: 'v2', kind: 'report', previewRef: 'report-1-preview', diffRef: 'report-1-diff', validationIssueCount: 3 }];
	await ok(w.rt, 'complete_task', { taskId, acceptance: [], artifacts });
	const { artifactSummary } = await ok(w.rt, 'get_session', { sessionId });
	const [{ versions, ...artifact }] = artifactSummary.artifacts;
	assert.deepEqual([artifactSummary.validationIssueCount, artifact], [3, { artifactId: 'report-1', kind: 'report', versionCount: 2 }]);
	assert.deepEqual(versions.map((v) => [v.versionId, v.readRef, v.previewRef, v.diffRef, v.validationIssueCount, v.state]),
		[['v2', 'report-1', 'report-1-preview', 'report-1-diff', 3, 'unknown'], ['v1', 'report-1', undefined, undefined, undefined, 'unknown']]);
	assert.equal((await ok(w.rt, 'get_artifact', { artifactId: 'report-1', sessionId })).versions.length, 2);
});

test('RM-06 a thread counts its calls, artifacts and evidence, with their refs', async () => {
	const { sessionId, events } = await turn(call('write_file', { path: 't', content: '1' }) + call('read_file', { path: 'none' }) + call('read_file', { path: 't' }));
	const { packRef } = await ok(w.rt, 'export_evidence', { turnId: events[0].turnId });
	const [{ artifactSummary, toolCalls, evidenceSummary }] = (await ok(w.rt, 'get_thread_read', { sessionId, threadId: events[0].threadId })).threads;
	assert.deepEqual(evidenceSummary.evidenceRefs, [packRef]);
	assert.deepEqual(toolCalls.map((c) => c.toolCallId), [...new Set(events.filter((e) => e.type === 'tool.started').map((e) => e.toolCallId))]);
	assert.deepEqual([artifactSummary.count, artifactSummary.artifactRefs], [1, changed(events).map((e) => e.artifactId)]);
	assert.deepEqual(toolCalls.map((c) => c.status).sort(), ['failed', 'ok', 'ok']);
});

/** A turn whose call runs behind hooks and once a person allows it; while it waits, a review of the call is recorded. `during` is what happens while it runs. */
async function allowed(config, text, during = () => {}) {
	const hooks = ['pre_tool_use', 'post_tool_use'].map((point) => ({ name: point, point, command: 'cat >/dev/null', timeout_ms: 5000 }));
	const { rt } = await world({ config: { ...config, 'permission.mode': 'untrusted', hooks } });
	const { sessionId, turnId } = await submit(rt, text);
	const { actionId } = await waitFor(async () => (await ok(rt, 'list_actions', { sessionId })).actions[0], 'the question');
	const log = async () => (await readLog(rt, sessionId)).map((f) => f.event).filter((e) => e.turnId === turnId);
	const { toolCallId } = (await log()).find((e) => e.type === 'action.required');
	assert.ok(!(await log()).some((e) => ['artifact.changed', 'tool.result'].includes(e.type) || KINDS[e.type]), 'nothing while it waits');
	const { evidence } = await ok(rt, 'record_evidence', { sessionId, toolCallId, kind: 'review', source: 'Ada', note: 'this may be done' });
	assert.deepEqual([evidence.scope.toolCallId, evidence.scope.turnId], [toolCallId, turnId]);
	const reader = await follow(rt, sessionId);
	await ok(rt, 'respond_action', { actionId, decision: 'allow' });
	await during(reader);
	await reader.until(() => reader.facts.some((f) => KINDS[f.type]), 'the end of the turn');
	reader.stop();
	const own = (await log()).filter((e) => e.toolCallId === toolCallId);
	return { rt, own, result: own.find((e) => e.type === 'tool.result'), evidence };
}

/** The decision, the hooks and the evidence that the result names are facts of the same call. */
function expectJoined({ own, result, evidence }) {
	const is = (ref, type) => assert.equal(own.find((e) => e.eventId === ref)?.type, type);
	is(result.payload.permissionRef, 'permission.resolved');
	assert.ok(result.payload.hookRunRefs.length >= 1);
	for (const ref of result.payload.hookRunRefs) is(ref, 'hook.started');
	assert.ok(own.some((e) => e.type === 'action.resolved') && own.some((e) => e.type === 'permission.resolved'));
	assert.deepEqual(result.payload.evidenceRefs, [evidence.ref]);
	assert.deepEqual(own.filter((e) => e.type === 'evidence.changed').map((e) => [e.evidenceId, e.payload.reviewRef]), [[evidence.evidenceId, evidence.ref]]);
	for (const e of own) validateOfficialEvent(e);
	return is;
}

test('TL-06 a call with a hook, an approval, a sandbox, an artifact and evidence: each is reached from the facts of the call', async () => {
	const one = await allowed({ 'tools.workspace': workspace }, call('write_file', { path: 'asked', content: 'x' }));
	const is = expectJoined(one);
	is(one.result.payload.sandboxRef, 'sandbox.applied');
	const [artifact, ...more] = one.own.filter((e) => e.type === 'artifact.changed');
	assert.deepEqual([more, one.result.payload.artifactRefs], [[], [artifact.artifactId]]);
	const { note } = JSON.parse((await ok(one.rt, 'read_output', { outputRef: one.evidence.ref })).content);
	assert.equal(note, 'this may be done');
	const { evidence: late } = await ok(one.rt, 'record_evidence', { turnId: one.result.turnId, toolCallId: one.result.toolCallId, kind: 'review', source: 'Ada', note: 'it is well done' });
	const said = (await readLog(one.rt, one.result.sessionId)).map((f) => f.event).at(-1);
	assert.deepEqual([said.toolCallId, said.evidenceId], [one.result.toolCallId, late.evidenceId], 'what is recorded later names the call');
	await refused(one.rt, 'scope_not_found', 'record_evidence', { sessionId: one.result.sessionId, toolCallId: `tool_${'0'.repeat(26)}_1`, kind: 'review', source: 'x', note: 'y' });
	await one.rt.stop();
});

test('TL-06 a call that tells how far it is and brings an image: the frames, the image and the evidence are those of the call', async () => {
	const until = join(newFolder(), 'go'), progress = [];
	const one = await allowed({ mcp_servers: [{ name: 'srv', ...OFFICIAL.scripted() }] }, call('srv_photo', { until }), async (reader) => {
		const take = reader.frame.bind(reader);
		reader.frame = (text) => {
			const data = text.split('\n').find((line) => line.startsWith('data:'));
			const event = data && JSON.parse(data.slice('data:'.length));
			if (event?.type === 'tool.progress') progress.push(event);
			take(text);
		};
		await reader.until(() => progress.length >= 2, 'two frames');
		writeFileSync(until, '');
	});
	expectJoined(one);
	assert.deepEqual([...new Set(progress.map((e) => e.toolCallId))], [one.result.toolCallId]);
	assert.ok(progress.every((e) => /^look \d+$/.test(e.payload.preview)), JSON.stringify(progress[0]));
	assert.equal(one.result.payload.images.length, 1);
	const image = JSON.parse((await ok(one.rt, 'read_output', { outputRef: one.result.payload.images[0] })).content);
	assert.deepEqual(image, { mimeType: 'image/png', data: 'iVBORw0KGgo=' });
	await one.rt.stop();
});

test('verify finds all of it in the log, and every content stored', async () => {
	const found = [];
	for (const session of (await ok(w.rt, 'list_sessions', { limit: 200 })).sessions) {
		const out = spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'verify', session.sessionId], { encoding: 'utf8' });
		found.push([out.status, out.stderr]);
	}
	assert.ok(found.length >= 7);
	assert.deepEqual(found.filter(([status]) => status !== 0), []);
	await w.rt.stop();
});
