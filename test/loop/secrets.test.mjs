// One secret that comes in by every door of the execution loop: the key of the provider, the arguments and the output of tools, the output of
// hooks, the error of a provider, the answer of a person. It is then looked for in every file, every row, every fact and every content.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { newFolder, ok, startAgentd, startModel, storeOf, submit, waitFor } from '../lib/runtime.mjs';
import { ended, facts, pending } from '../lib/gate.mjs';
import { Service, stopServices } from './scenarios/service.mjs';

const SECRET = 'planted7Kq2/wX+9vB~tR4s';
const forms = [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64').slice(0, -4)];
const needles = [...forms, ...forms.map((form) => Buffer.from(form).toString('hex'))].map((form) => Buffer.from(form));
const backwards = (text) => [...text].reverse().join('');

const tools = {
	leak: { read_only: true, says: `the key is ${SECRET}, keep it` },
	broken: { read_only: true, status: 503, says: `no: ${SECRET}` },
	order: {},
};
const hooks = [
	{ name: 'prompt', point: 'user_prompt_submit', says: { additionalContext: `by the way: ${SECRET}` } },
	{ name: 'before', point: 'pre_tool_use', match: 'order', says: { updatedInput: { q: `with ${SECRET}` }, reason: `because ${SECRET}` } },
	{ name: 'after', point: 'post_tool_use', says: { additionalContext: `${SECRET} again`, auditRefs: [`ref-${SECRET}`] } },
];
const mine = { name: 'mine', description: 'Does it.', inputSchema: { type: 'object' }, isReadOnly: true };

after(stopServices);

function assertClean(bytes, where) {
	const hit = needles.find((needle) => Buffer.from(bytes).includes(needle));
	assert.ok(!hit, `${where} holds '${hit}'`);
}

function scanDisk(dataDir) {
	const folder = join(dataDir, 'data');
	const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((path) => statSync(path).isFile());
	assert.ok(files.length > 0);
	for (const file of files) assertClean(readFileSync(file), file);
	const { AGENTD_STORE } = storeOf(dataDir);
	if (AGENTD_STORE) assertClean(execFileSync('pg_dump', ['-d', AGENTD_STORE], { maxBuffer: 1 << 28 }), 'the database');
}

/** Contents may be packed on disk: every one that a text names is read through the API, and those that they name. */
async function scanContents(rt, text, seen = new Set()) {
	assertClean(text, 'a fact or an answer');
	for (const [outputRef] of text.matchAll(/blob_[a-z0-9]+_[a-z0-9]+/g)) {
		if (seen.has(outputRef)) continue;
		seen.add(outputRef);
		const { content } = await ok(rt, 'read_output', { outputRef, length: 1 << 20 });
		await scanContents(rt, content, seen);
	}
	return seen;
}

async function scanSession(rt, sessionId) {
	const reads = [['get_session', { sessionId }], ['list_actions', { sessionId }], ['list_tasks', { sessionId }], ['explain', { id: sessionId }]];
	const answers = await Promise.all(reads.map(([command, input]) => ok(rt, command, input)));
	const seen = await scanContents(rt, JSON.stringify([await facts(rt, sessionId), answers]));
	assert.ok(seen.size > 5, `${seen.size} contents`);
}

/** A turn whose call a person allows with an answer that holds the secret. */
async function approved(rt) {
	const { sessionId, turnId } = await submit(rt, '[[tool order {"q":"1"}]]');
	const [{ actionId }] = await pending(rt, sessionId);
	await ok(rt, 'respond_action', { actionId, decision: 'allow', actor: { name: `me, ${SECRET}` }, payload: { note: `use ${SECRET}` } });
	await ended(rt, sessionId, turnId);
	return sessionId;
}

/** A turn whose call a host refuses for a reason that holds the secret. */
async function denied(rt) {
	const { sessionId, turnId } = await submit(rt, '[[tool order {"q":"1"}]]');
	const [{ actionId }] = await pending(rt, sessionId);
	await ok(rt, 'resolve_permission', { actionId, decision: 'denied', reason: `not with ${SECRET}` });
	await ended(rt, sessionId, turnId);
	return sessionId;
}

/** A tool of the client, which reports the secret. */
async function reported(rt) {
	const { sessionId, turnId } = await submit(rt, '[[tool mine {"q":"1"}]]', { options: { tools: [mine] } });
	const started = await waitFor(async () => (await facts(rt, sessionId, 'tool.started'))[0], 'the call');
	await ok(rt, 'report_tool_result', { toolCallId: started.toolCallId, output: `${SECRET} is what I found` });
	await ended(rt, sessionId, turnId);
	return sessionId;
}

async function plain(rt, text) {
	const { sessionId, turnId } = await submit(rt, text);
	await ended(rt, sessionId, turnId);
	return sessionId;
}

test('a planted secret is in no file, no row, no fact and no content, also after kill -9', async () => {
	const model = await startModel();
	const service = await new Service({ tools, hooks }).start();
	const dataDir = newFolder();
	const options = { dataDir, model, env: { OPENAI_API_KEY: SECRET }, config: { 'model.backoff_ms': 20, 'model.max_attempts': 2, ...service.settings() } };
	const first = await startAgentd(options);
	const args = backwards(JSON.stringify({ q: SECRET }));
	const sessions = await Promise.all([
		plain(first, '[[tool leak {"q":"1"}]][[tool broken {"q":"2"}]]'), plain(first, `[[tool leak ${args}]] [[backwards 3]]`),
		plain(first, `[[http 400 echo-auth message=${backwards(`:${SECRET}`)}]] [[backwards 5]]`), plain(first, `is ${SECRET} mine?`),
		approved(first), denied(first), reported(first),
	]);
	assert.ok(service.requests.length > 3 && service.hookRuns.length > 5, 'the doors were used');
	assertClean(first.stderr, 'stderr');
	await first.kill9();
	scanDisk(dataDir);
	const rt = await startAgentd(options);
	for (const sessionId of sessions) {
		await scanSession(rt, sessionId);
		const log = await facts(rt, sessionId);
		const masked = log.filter((e) => e.type === 'output.redacted');
		assert.ok(masked.length > 0 && masked.every((e) => e.payload.redaction.count > 0),
			`that something was masked is a fact, with how often: ${JSON.stringify(log.map((e) => [e.type, e.payload.error ?? e.payload.reason ?? '']))}`);
	}
	assertClean(JSON.stringify(await ok(rt, 'list_actions', {})), 'the inbox');
	await rt.stop();
	scanDisk(dataDir);
});
