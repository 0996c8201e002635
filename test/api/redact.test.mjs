// Secrets are masked before anything durable or visible: planted ones are looked for in every file, row, answer and frame.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { planted } from '../lib/planted.mjs';
import { follow, newFolder, ok, refused, sleep, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const KEY = 'corp7f3kQ9xLw2Zp0aVbN';
const TOKEN = 'dep/"l0y+Tok~en:v4lue';
const LITERAL = 'quiet-literal-77';
const SHAPE = `ghp_${'0aB1cD2eF3'.repeat(4)}`;
const PLANTED = [KEY, TOKEN, LITERAL, SHAPE];
const ENV = { OPENAI_API_KEY: KEY, DEPLOY_TOKEN: TOKEN };
const CONFIG = { 'redact.literals': `other-literal-1, ${LITERAL}`, 'model.backoff_ms': 20, 'model.max_attempts': 2 };

const backwards = (text) => [...text].reverse().join('');

const { assertClean, scanDisk } = planted(PLANTED);

// Every content that a text names, and those that they name in turn.
async function scanRefs(rt, text, seen = new Set()) {
	for (const [outputRef] of text.matchAll(/blob_[a-z0-9]+_[a-z0-9]+/g)) {
		if (seen.has(outputRef)) continue;
		seen.add(outputRef);
		const { content } = await ok(rt, 'read_output', { outputRef, length: 1 << 20 });
		assertClean(content, outputRef);
		await scanRefs(rt, content, seen);
	}
	return seen;
}

async function scanSession(rt, follower) {
	const { sessionId } = follower;
	const { threads } = await ok(rt, 'get_session', { sessionId });
	const said = [...follower.outputs.values()].map(({ pieces }) => Buffer.concat(pieces));
	const answers = [
		await ok(rt, 'get_session', { sessionId }), await ok(rt, 'list_sessions', {}), await ok(rt, 'list_tasks', { sessionId }),
		await ok(rt, 'get_thread_read', { sessionId, threadId: threads[0].threadId }),
	].map((answer) => JSON.stringify(answer));
	const facts = follower.facts.map((f) => f.data);
	[...said, ...answers, ...facts].forEach((text) => assertClean(text, 'an answer or a frame'));
	const seen = await scanRefs(rt, [...facts, ...answers].join('\n'));
	assert.ok(seen.size > 2, 'contents were looked into');
	assertClean(rt.stderr, 'stderr');
	scanDisk(rt.dataDir);
}

async function run(rt, text, more = {}) {
	const receipt = await submit(rt, text, more);
	const follower = await follow(rt, receipt.sessionId);
	follower.turn = await follower.ended(receipt.turnId);
	await follower.until(() => follower.facts.at(-1).event.payload.status === 'idle', 'an idle thread');
	follower.check();
	follower.stop();
	return follower;
}

const redactions = (follower) => follower.of('output.redacted').map((e) => e.payload.redaction);

let model, rt;

before(async () => {
	model = await startModel();
	rt = await startAgentd({ model, env: ENV, config: CONFIG });
});

test('OU-09 OPEN-50 a model that says secrets, a few characters at a time: masked in frames, facts, contents and on disk', async () => {
	for (const n of [1, 3, 7]) {
		const said = PLANTED.map((s) => `<${s}>`).join(' ');
		const f = await run(rt, `[[say ${backwards(said)}]] [[reasoning ${backwards(`hm ${KEY} hm`)}]] [[backwards ${n}]]`);
		const [completed] = f.of('model.completed');
		const want = '<[redacted:secret]> <[redacted:secret]> <[redacted:secret]> <[redacted:github_token]>';
		assert.equal(f.text(completed.stepId), want);
		assert.equal(f.text(completed.stepId, 'reasoning.delta'), 'hm [redacted:secret] hm');
		assert.equal((await ok(rt, 'read_output', { outputRef: completed.payload.outputRef })).content, want);
		assert.deepEqual(redactions(f), [{ kind: 'secret', ruleRefs: ['secret', 'github_token'], count: 5 }]);
		const [{ outputRef, stepId, turnId }] = f.of('output.redacted');
		assert.deepEqual([outputRef, stepId, turnId], [completed.payload.outputRef, completed.stepId, completed.turnId]);
		await scanSession(rt, f);
	}
});

test('OU-09 secrets in the arguments of a tool call', async () => {
	const args = JSON.stringify({ a: TOKEN, b: `x ${SHAPE}` });
	const f = await run(rt, `[[tool look ${backwards(args)}]] [[backwards 5]]`);
	const [completed] = f.of('model.completed');
	const { content } = await ok(rt, 'read_output', { outputRef: completed.payload.toolCalls[0].ref });
	assert.deepEqual(JSON.parse(content), { a: '[redacted:secret]', b: 'x [redacted:github_token]' });
	assert.equal(redactions(f)[0].count, 2);
	await scanSession(rt, f);
});

test('OPEN-50 secrets in what a caller sends: text, parts, metadata, title; the model gets the masked text', async () => {
	const more = { turnId: 'asks', metadata: { note: `a\n${TOKEN}`, [LITERAL]: 1 }, createPolicy: { title: `about ${KEY}` } };
	const f = await run(rt, `is ${SHAPE} or postgres://me:hunter2@db mine?`, more);
	const [{ inputRef }] = f.of('turn.submitted').map((e) => e.payload);
	assert.deepEqual(redactions(f), [{ kind: 'secret', ruleRefs: ['secret', 'github_token', 'url_password'], count: 5 }]);
	assert.equal(f.of('output.redacted')[0].outputRef, inputRef);
	assert.deepEqual(f.of('turn.submitted')[0].payload.metadata, { note: 'a\n[redacted:secret]', '[redacted:secret]': 1 });
	assert.match(JSON.stringify(model.log('asks')[0].body), /is \[redacted:github_token\] or postgres:\/\/me:\[redacted:url_password\]@db mine/);
	await scanSession(rt, f);
	const parts = await ok(rt, 'submit_turn', { createPolicy: {}, input: [{ type: 'text', text: `"${TOKEN}"` }] });
	const g = await follow(rt, parts.sessionId);
	await g.ended(parts.turnId);
	g.stop();
	assert.equal(redactions(g)[0].count, 1);
	await scanSession(rt, g);
});

test('OPEN-50 a session without a turn says what was masked too', async () => {
	const { sessionId } = await ok(rt, 'create_session', { title: `for ${LITERAL}` });
	const f = await follow(rt, sessionId);
	await f.until(() => f.of('output.redacted').length === 1, 'the fact');
	f.stop();
	f.check();
	assert.match((await ok(rt, 'read_output', { outputRef: f.of('output.redacted')[0].outputRef })).content, /for \[redacted:secret\]/);
	assert.equal((await ok(rt, 'get_session', { sessionId })).title, 'for [redacted:secret]');
	scanDisk(rt.dataDir);
});

test('OPEN-50 secrets inside objects of a command: in declared members, in others, in their names', async () => {
	const { sessionId } = await run(rt, 'hello');
	const { taskId } = await ok(rt, 'create_task', { sessionId, objective: 'fails' });
	const error = { category: 'broken', message: `no \0 ${KEY}`, hint: { deep: [`x ${SHAPE}`] } };
	await ok(rt, 'fail_task', { taskId, error });
	const { lastError } = await ok(rt, 'get_task', { taskId });
	assert.deepEqual(lastError, { category: 'broken', message: 'no \0 [redacted:secret]', hint: { deep: ['x [redacted:github_token]'] } });
	const other = await ok(rt, 'create_task', { sessionId, objective: 'fails too' });
	await ok(rt, 'fail_task', { taskId: other.taskId, error: { category: 'broken', message: 'm', [LITERAL]: 1 } });
	assertClean(JSON.stringify(await ok(rt, 'get_task', { taskId: other.taskId })), 'a record');
	scanDisk(rt.dataDir);
});

test('OPEN-50 an id or a key that contains a secret is refused, and so is one that is no text', async () => {
	const text = 'hello';
	for (const more of [{ turnId: KEY }, { idempotencyKey: `again-${LITERAL}` }, { metadata: { n: 1234567890123 } }]) {
		const at = more.metadata ? await startAgentd({ model, config: { 'redact.literals': '1234567890123' } }) : rt;
		const error = await refused(at, 'invalid_input', 'submit_turn', { createPolicy: {}, text, ...more });
		assert.match(error.message, /contains a secret/);
		assertClean(JSON.stringify(error), 'the error');
		if (at !== rt) await at.stop();
	}
	scanDisk(rt.dataDir);
});

test('OPEN-50 secrets in the answers of a provider that fails', async () => {
	const f = await run(rt, `[[http 400 echo-auth message=${backwards(`:${TOKEN}:${LITERAL}`)}]] [[backwards 9]]`);
	const [{ error }] = f.of('model.failed').map((e) => e.payload);
	assert.match(error.message, /:\[redacted:secret\]:\[redacted:secret\]$/);
	assert.equal(f.turn.type, 'turn.failed');
	assert.equal(redactions(f).length, 1);
	await scanSession(rt, f);
});

test('OPEN-50 kill -9 in the middle of an answer: nothing on disk, and the count is told after the restart', async () => {
	const dataDir = newFolder();
	const options = { dataDir, model, env: ENV, config: CONFIG };
	const first = await startAgentd(options);
	const said = `${KEY} ${'and more '.repeat(12)}`;
	const receipt = await submit(first, `[[say ${backwards(said)}]] [[backwards 4]] [[delay 40]] [[hang-after 30]]`);
	const f = await follow(first, receipt.sessionId);
	const text = () => [...f.outputs.values()].map(({ pieces }) => Buffer.concat(pieces).toString()).join('');
	await f.until(() => text().length > 90, 'most of the answer');
	await sleep(300);
	await first.kill9();
	f.stop();
	assert.ok(text().startsWith('[redacted:secret] and more'));
	scanDisk(dataDir);
	const again = await startAgentd({ ...options, config: { ...CONFIG, 'recovery.auto_resume': false } });
	const g = await follow(again, receipt.sessionId);
	await waitFor(() => g.of('output.redacted').length > 0, 'the count');
	g.stop();
	assert.deepEqual(redactions(g), [{ kind: 'secret', ruleRefs: ['secret'], count: 1 }]);
	await scanSession(again, g);
	await again.stop();
});

test('redact.inputs and redact.patterns: callers are left alone, shapes too, what is known is not said', async () => {
	const at = await startAgentd({ model, env: ENV, config: { ...CONFIG, 'redact.inputs': false, 'redact.patterns': false } });
	const f = await run(at, `[[say ${SHAPE} ${KEY}]]`);
	const [{ inputPreview }] = f.of('turn.submitted').map((e) => e.payload);
	assert.equal(inputPreview, `[[say ${SHAPE} ${KEY}]]`);
	assert.equal(f.text(f.of('model.completed')[0].stepId), `${SHAPE} [redacted:secret]`);
	await at.stop();
});

test('redact.literals: an entry too short to be a secret keeps agentd from starting, and says so', async () => {
	const at = await startAgentd({ env: { AGENTD_REDACT_LITERALS: 'long-enough-1,abc' }, mayDie: true });
	assert.ok(at.isGone);
	assert.match(at.stderr, /redact\.literals: an entry has 3 bytes; at least 8 are needed/);
});

test('a connection string that cannot be used is told without its password', async () => {
	const password = 'Pa55-w0rd-of-the-db';
	const at = await startAgentd({ env: { AGENTD_STORE: `postgres://me:${password}` }, mayDie: true });
	assert.ok(at.isGone);
	assert.match(at.stderr, /\[redacted:secret\]/);
	assert.ok(!at.stderr.includes(password), at.stderr);
});
