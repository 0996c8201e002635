// A session with everything in it, exported: a failed call, a rewritten one, a question, a process, a refused system call, a compaction, a budget, a child agent. The pack is
// checked where there is nothing but openssl, sha256sum and cmp, by another implementation of DSSE, by agentctl without a daemon, and by folding its facts again.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { dsse, crypto } from '@sigstore/core';
import { bin, newFolder, ok, readLog, startModel, submit, waitFor, world } from '../lib/runtime.mjs';
import { isOfficialType, validateOfficialEvent } from '../lib/schemas.mjs';
import { STRANGER, check, download, jsonOf, linesOf } from './packs.mjs';

const WRITTEN = 'what the artifact has in it';
const isRoot = process.getuid() === 0;
const shell = (command) => `[[tool shell ${JSON.stringify({ command })}]]`;
let w, folder, sessionId, threadId, failed, before_, facts;

const ctl = (...args) => spawnSync(join(bin, 'agentctl'), args, { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
const logOf = async () => (await readLog(w.rt, sessionId)).map((f) => f.event);
const of = (type) => facts.filter((e) => e.type === type);

/** A turn to its end; questions are answered on the way. */
async function turn(text, more = {}) {
	const receipt = await submit(w.rt, text, { ...(sessionId ? { sessionId } : { createPolicy: { workspaceId: more.workspaceId } }), ...(more.options ? { options: more.options } : {}) });
	sessionId ??= receipt.sessionId;
	await waitFor(async () => {
		const log = await logOf();
		const open = log.filter((e) => e.type === 'action.required' && !log.some((r) => r.type === 'action.resolved' && r.actionId === e.actionId));
		for (const e of open) await ok(w.rt, 'respond_action', { actionId: e.actionId, decision: e.payload.decisions.find((d) => /allow_once|stop|accept/.test(d)) ?? e.payload.decisions[0] }).catch(() => {});
		return log.some((e) => e.turnId === receipt.turnId && /^turn\.(completed|failed)$/.test(e.type)) && log.at(-1).type === 'thread.updated';
	}, 'the end of the turn');
	return receipt;
}

before(async () => {
	const root = realpathSync(newFolder()), hook = join(newFolder(), 'hook');
	writeFileSync(join(root, 'note.txt'), 'a note\n');
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', root]);
	writeFileSync(hook, 'input=$(cat)\ncase $input in *rewrite-me*) echo \'{"updatedInput":{"command":"echo rewritten"}}\';; esac\n');
	const model = await startModel();
	w = await world({ model, config: { 'permission.mode': 'default', 'subagents.tools': true, 'workspaces.dir': realpathSync(newFolder()), 'model.backoff_ms': 5, hooks: [{ name: 'pre', point: 'pre_tool_use', command: `sh ${hook}`, timeout_ms: 20000 }] } });
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	({ threadId } = await turn('hello', { workspaceId: workspace.workspaceId }));
	await turn(shell('cat note.txt; unshare -U true; echo over'));
	await turn(shell('echo rewrite-me'));
	await turn(shell('exit 3'));
	await turn(`[[tool write_file {"path":"made.txt","content":"${WRITTEN}"}]]`);
	await turn('[[tool no_such_tool {"a":1}]]');
	await turn('[[fail-times 1 http 429 retry-after=0]] after the limit');
	failed = await turn('[[tool find_files {"pattern":"$n"}]] [[loop]]', { options: { budget: { toolCalls: 2 } } });
	await turn('[[tool spawn_agent {"objective":"look around"}]]');
	await waitFor(async () => (await logOf()).some((e) => /^subagent\.(completed|failed)$/.test(e.type)), 'the end of the child');
	await ok(w.rt, 'compact_thread', { sessionId, threadId, reason: 'long' });
	await waitFor(async () => (await logOf()).some((e) => /^context\.compaction\.(completed|failed)$/.test(e.type)), 'the compaction');
	before_ = await waitFor(async () => {
		const read = await ok(w.rt, 'get_session', { sessionId });
		return read.status === 'idle' && read;
	}, 'rest');
	const made = await ok(w.rt, 'export_evidence', { sessionId, sequence: before_.asOfSequence });
	w.made = made;
	folder = await download(w.rt, made.packRef);
	facts = linesOf(folder, 'events.ndjson');
});

test('EX-02 AC-09 EV-29 the pack has the parts of all that happened, each by the id of its fact', async () => {
	const { signals } = jsonOf(folder, 'summary.json');
	assert.deepEqual(['tools', 'artifacts', 'context', 'routing', 'models', 'permission', 'sandbox', 'hooks', 'processes', 'limits', 'costs', 'subagents', 'tasks', 'turns', 'requestLog', 'contents'].filter((s) => signals[s] !== 'exported'), []);
	for (const type of ['tool.failed', 'artifact.changed', 'action.required', 'action.resolved', 'process.started', 'sandbox.applied', 'sandbox.violation', 'rate_limit.hit', 'subagent.spawned', 'context.compaction.completed', 'hook.completed', 'permission.evaluated'])
		assert.ok(of(type).length > 0, type);
	const ids = new Set((await logOf()).map((e) => e.eventId)), timeline = linesOf(folder, 'timeline.ndjson');
	assert.deepEqual(timeline.map((l) => l.eventId), facts.map((e) => e.eventId));
	assert.ok(timeline.every((l) => ids.has(l.eventId)));
	assert.ok(jsonOf(folder, 'summary.json').counts.failedToolCalls >= of('tool.failed').length);
});

test('EX-01 EX-11 the facts of the pack, folded again, give its read model, which is get_session at that sequence', async () => {
	const { historyCursor, ...read } = before_;
	assert.deepEqual(jsonOf(folder, 'read_model.json'), read);
	assert.deepEqual(JSON.parse(execFileSync(join(bin, 'ar-refold'), [join(folder, 'events.ndjson')], { encoding: 'utf8', maxBuffer: 1 << 26 })), read);
	const after = await ok(w.rt, 'get_thread_read', { sessionId, threadId });
	const pack = jsonOf(await download(w.rt, (await ok(w.rt, 'export_evidence', { sessionId, threadId })).packRef), 'read_model.json');
	assert.deepEqual(pack, after);
});

test('AN-08 HK-12 AN-12 OU-06 both inputs of a rewrite and every ref that is shown resolve from the pack', async () => {
	const rewrite = of('hook.completed').find((e) => e.payload.updatedInputRef);
	assert.ok(rewrite, 'a handler rewrote a call');
	const blob = (ref) => readFileSync(join(folder, 'blobs', linesOf(folder, 'manifest.ndjson').find((l) => l.ref === ref).sha256), 'utf8');
	const [was, is] = [blob(rewrite.payload.originalInputRef), blob(rewrite.payload.updatedInputRef)];
	assert.ok(was.includes('rewrite-me') && is.includes('rewritten') && was !== is);
	const shown = new Set(JSON.stringify(before_).match(/"blob_[a-z0-9_]+"/g).map((r) => r.slice(1, -1))), listed = new Set(linesOf(folder, 'manifest.ndjson').map((l) => l.ref));
	assert.ok(shown.size > 10);
	assert.deepEqual([...shown].filter((r) => !listed.has(r)), []);
	assert.ok(linesOf(folder, 'manifest.ndjson').every((l) => l.state === 'included'), 'nothing is missing');
	assert.deepEqual(w.made.knownGaps, []);
});

test('HK-05 SB-02 AN-02 hook runs, rules and boundaries are in the pack: every sandboxed act names a sandbox.applied, every answer its question', () => {
	assert.ok(of('hook.started').length > 0);
	assert.deepEqual(of('hook.completed').length + of('hook.failed').length, of('hook.started').length);
	const applied = new Set(of('sandbox.applied').map((e) => e.eventId));
	const acts = [...of('process.started'), ...of('tool.result'), ...of('tool.failed')].filter((e) => e.payload.sandboxRef);
	assert.ok(acts.length > 4);
	assert.deepEqual(acts.filter((e) => !applied.has(e.payload.sandboxRef)), []);
	for (const answer of of('permission.resolved')) {
		const asked = of('permission.evaluated').find((e) => e.toolCallId === answer.toolCallId && e.payload.approvalActionId === answer.actionId);
		assert.ok(Array.isArray(asked?.payload.ruleRefs) && asked.payload.decisionSource, answer.eventId);
		assert.ok(of('sandbox.applied').some((e) => e.toolCallId === answer.toolCallId), `${answer.toolCallId} ran in a sandbox`);
	}
});

test('LI-03 LI-05 LI-10 AC-15 a missing price is unknown; the limit of a provider and a budget are joined to their turn by the ids of the request log', () => {
	assert.ok(of('cost.recorded').every((e) => e.payload.amount === 'unknown'));
	assert.equal(jsonOf(folder, 'read_model.json').threads[0].costState.amount, 'unknown');
	const [hit] = of('rate_limit.hit'), request = of('model.failed').find((e) => e.payload.status === 429);
	assert.ok(hit.requestId && hit.turnId);
	assert.deepEqual([request.requestId, request.modelRequestId, request.turnId], [hit.requestId, hit.modelRequestId, hit.turnId]);
	assert.deepEqual(of('quota.blocked').map((e) => e.turnId), [failed.turnId]);
});

test('ID-11 facts have refs of artifacts, not their content; the refs resolve', () => {
	const [artifact] = of('artifact.changed');
	assert.ok(!JSON.stringify(artifact).includes(WRITTEN));
	const { sha256 } = linesOf(folder, 'manifest.ndjson').find((l) => l.ref === artifact.payload.readRef);
	assert.equal(readFileSync(join(folder, 'blobs', sha256), 'utf8'), WRITTEN);
	for (const e of facts.filter((f) => f.type.startsWith('artifact.') || f.type.startsWith('evidence.'))) assert.ok(!('content' in e.payload), e.type);
});

test('AC-09 a failed turn alone: timeline, failures and summary are in its pack', async () => {
	const [end] = facts.filter((e) => e.turnId === failed.turnId && /^turn\.(failed|cancelled)$/.test(e.type));
	assert.equal(end?.type, 'turn.failed');
	const mine = await download(w.rt, (await ok(w.rt, 'export_evidence', { turnId: failed.turnId })).packRef);
	check(mine);
	assert.ok(linesOf(mine, 'events.ndjson').every((e) => e.turnId === failed.turnId));
	assert.deepEqual(linesOf(mine, 'timeline.ndjson').map((l) => l.eventId), linesOf(mine, 'events.ndjson').map((e) => e.eventId));
	assert.equal(jsonOf(mine, 'summary.json').runtimeCorrelation.turnId, failed.turnId);
});

test('PF-09 facts of questions, children and evidence are refused without their id', async () => {
	const log = await logOf();
	for (const [family, id] of [[/^action\./, 'actionId'], [/^subagent\./, 'subagentId'], [/^evidence\.changed$/, 'evidenceId']]) {
		const mine = log.filter((e) => family.test(e.type) && isOfficialType(e.type));
		assert.ok(mine.length > 0, String(family));
		for (const fact of mine) {
			validateOfficialEvent(fact);
			const { [id]: _, ...without } = fact;
			assert.throws(() => validateOfficialEvent(without), new RegExp(id), fact.type);
		}
	}
});

test('PF-22 other words of the model change nothing of what needs attention', () => {
	const file = join(newFolder(), 'events.ndjson'), end = facts.findIndex((e) => e.type === 'turn.failed' && e.turnId === failed.turnId);
	const fold = (list) => {
		writeFileSync(file, `${list.map((e) => JSON.stringify(e)).join('\n')}\n`);
		return JSON.parse(execFileSync(join(bin, 'ar-refold'), [file], { encoding: 'utf8', maxBuffer: 1 << 26 })).threads.map((t) => t.diagnostics);
	};
	const others = (list) => list.map((e) => (e.type === 'model.completed' ? { ...e, payload: { ...e.payload, preview: 'All is well, nothing failed.' } } : e));
	const upTo = facts.slice(0, end + 1), kinds = fold(upTo)[0].findings.map((f) => [f.kind, f.turnId]);
	assert.ok(kinds.some(([kind, turnId]) => kind === 'failed_turn' && turnId === failed.turnId), JSON.stringify(kinds));
	assert.notDeepEqual(others(upTo), upTo);
	assert.deepEqual(fold(others(upTo)), fold(upTo));
	assert.deepEqual(fold(others(facts)), fold(facts));
});

test('RM-02 AC-06 CX-02 the session shows its scope, threads, tasks, child, artifact and evidence; evidence outlives a compaction and kill -9', async () => {
	const { packRef } = w.made;
	await ok(w.rt, 'update_session', { sessionId, pinnedThreadIds: [threadId] });
	await ok(w.rt, 'compact_thread', { sessionId, threadId, reason: 'again' });
	const count = of('context.compaction.completed').length;
	await waitFor(async () => (await logOf()).filter((e) => e.type === 'context.compaction.completed').length > count, 'another boundary');
	const look = async () => {
		const read = await ok(w.rt, 'get_session', { sessionId });
		assert.ok(read.workspaceId && read.accountRef);
		assert.deepEqual([read.pinnedThreadIds, read.activeThreadIds], [[threadId], []]);
		assert.ok(read.threadSummary && read.taskSummary.terminal > 5 && read.taskGraph && read.historySummary);
		assert.deepEqual([read.subagentJobSummary.count, read.subagentJobSummary.truncated, read.artifactSummary.count], [1, false, 1]);
		assert.ok(read.evidenceRefs.includes(packRef));
		assert.ok(read.threads[0].evidenceSummary.evidenceRefs.includes(packRef));
	};
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).status === 'idle', 'rest');
	await look();
	await w.rt.kill9();
	w.rt = await w.again();
	await look();
});

test('CX-03 a compaction says what it left as it was: an open question, failures, artifacts and evidence, with the sizes before and after', async () => {
	const long = await turn('more to say [[tokens 250]]');
	await turn('and more [[tokens 250]]');
	const asked = await submit(w.rt, shell('echo elsewhere'), { sessionId, createPolicy: { thread: 'new' } });
	const question = await waitFor(async () => (await ok(w.rt, 'list_actions', { sessionId })).actions[0], 'the question');
	const { turnId, boundaryRef } = await ok(w.rt, 'compact_thread', { sessionId, threadId, reason: 'over again' });
	const own = async (type) => (await logOf()).find((e) => e.turnId === turnId && e.type === `context.compaction.${type}`)?.payload;
	const completed = await waitFor(() => own('completed'), 'the boundary'), started = await own('started');
	const { artifactRefs, evidenceRefs, incidentIds, actionIds } = completed.preserved;
	const log = await logOf(), mine = log.filter((e) => e.threadId === threadId), ids = (type, name) => [...new Set(mine.filter((e) => e.type === type).map((e) => e[name]))];
	assert.deepEqual([actionIds, artifactRefs], [[question.actionId], ids('artifact.changed', 'artifactId')]);
	assert.ok(evidenceRefs.includes(w.made.packRef));
	assert.deepEqual(incidentIds, (await ok(w.rt, 'get_thread_read', { sessionId, threadId })).threads[0].incidents.map((i) => i.incidentId));
	assert.ok(incidentIds.length > 0);
	assert.deepEqual([started.trigger, completed.trigger, started.boundaryRef], ['manual', 'manual', boundaryRef]);
	assert.ok(completed.affectedTurnIds.includes(long.turnId) && completed.tokensBefore === started.tokensBefore && completed.tokensAfter > 0);
	assert.ok(completed.summaryRef && completed.replacementHistoryRef);
	await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: 'deny' });
	await waitFor(async () => (await logOf()).some((e) => e.turnId === asked.turnId && /^turn\.(completed|failed)$/.test(e.type)), 'the end of the turn');
});

test('a stranger checks the pack where there is nothing but a shell, openssl, sha256sum and cmp', { skip: !isRoot && 'needs root for chroot' }, () => {
	const root = newFolder(), programs = ['sh', 'openssl', 'sha256sum', 'cmp', 'tail', 'wc', 'cat'];
	for (const name of programs) {
		const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
		const libraries = execFileSync('ldd', [path], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
		for (const file of [path, ...libraries]) {
			mkdirSync(join(root, dirname(file)), { recursive: true });
			if (!existsSync(join(root, file))) copyFileSync(realpathSync(file), join(root, file));
		}
	}
	cpSync(folder, join(root, 'pack'), { recursive: true });
	const run = () => spawnSync('/usr/sbin/chroot', [root, execFileSync('sh', ['-c', 'command -v sh'], { encoding: 'utf8' }).trim(), '-c', `cd /pack\n${STRANGER}`], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin:/usr/local/bin' } });
	const first = run();
	assert.equal(first.status, 0, first.stderr + first.stdout);
	writeFileSync(join(root, 'pack/events.ndjson'), readFileSync(join(root, 'pack/events.ndjson'), 'utf8').replace('hello', 'hullo'));
	assert.notEqual(run().status, 0);
});

test('another implementation of DSSE accepts the envelope', () => {
	const envelope = jsonOf(folder, 'statement.dsse.json'), payload = Buffer.from(envelope.payload, 'base64');
	const signed = dsse.preAuthEncoding(envelope.payloadType, payload);
	assert.ok(signed.equals(readFileSync(join(folder, 'statement.pae'))));
	assert.ok(payload.equals(readFileSync(join(folder, 'statement.json'))));
	const key = crypto.createPublicKey(readFileSync(join(folder, 'key.pem'), 'utf8'));
	assert.equal(crypto.verify(signed, key, Buffer.from(envelope.signatures[0].sig, 'base64')), true);
	signed[signed.length - 3] ^= 1;
	assert.equal(crypto.verify(signed, key, Buffer.from(envelope.signatures[0].sig, 'base64')), false);
});

test('one flipped bit in any file is found, without a daemon', () => {
	assert.equal(ctl('verify-pack', folder).status, 0, ctl('verify-pack', folder).stderr);
	const files = readdirSync(folder).filter((f) => f !== 'blobs').concat(readdirSync(join(folder, 'blobs')).slice(0, 3).map((f) => `blobs/${f}`));
	assert.ok(files.length > 12, files.join(' '));
	for (const name of files) {
		const path = join(folder, name), whole = readFileSync(path);
		for (const at of [whole.length >> 1, whole.length - 1]) {
			const bad = Buffer.from(whole);
			bad[at] ^= 1;
			writeFileSync(path, bad);
			assert.equal(ctl('verify-pack', folder).status, 1, `${name} at ${at}`);
		}
		writeFileSync(path, whole);
		renameSync(path, `${path}.away`);
		assert.equal(ctl('verify-pack', folder).status, 1, `${name} is missing`);
		renameSync(`${path}.away`, path);
	}
	check(folder);
	assert.equal(ctl('verify-pack', folder).status, 0);
});

test('agentctl pack downloads the same files, also after a cut; two packs of one session are consistent, and another key is not ours', async () => {
	const out = join(newFolder(), 'pack'), place = ['--socket', w.rt.socket];
	const run = () => ctl(...place, 'pack', sessionId, '--out', out, '--sequence', String(before_.asOfSequence));
	const first = run();
	assert.deepEqual([first.status, first.stdout], [0, `${out}\n`], first.stderr);
	const same = () => { for (const name of [...readdirSync(folder).filter((f) => f !== 'blobs'), ...readdirSync(join(folder, 'blobs')).map((f) => `blobs/${f}`)]) assert.ok(readFileSync(join(out, name)).equals(readFileSync(join(folder, name))), name); };
	same();
	writeFileSync(join(out, '.events.ndjson.part'), 'cut');
	rmSync(join(out, 'events.ndjson'));
	rmSync(join(out, 'blobs', readdirSync(join(out, 'blobs'))[0]));
	assert.equal(run().status, 0);
	same();
	const later = join(newFolder(), 'later');
	assert.equal(ctl(...place, 'pack', sessionId, '--out', later).status, 0);
	const both = ctl('verify-pack', later, out, '--key', join(w.rt.dataDir, 'data/evidence.pem'));
	assert.equal(both.status, 0, both.stderr);
	assert.match(both.stdout, /^ok: \d+ facts and \d+ files of sess_/);
	assert.equal(ctl('verify-pack', out, later).status, 1, 'the later one is no beginning');
	const other = join(newFolder(), 'other.pem');
	execFileSync('sh', ['-c', `openssl genpkey -algorithm ed25519 | openssl pkey -pubout > ${other}`]);
	const foreign = ctl('verify-pack', out, '--key', other);
	assert.equal(foreign.status, 1);
	assert.match(foreign.stderr, /another key/);
});
