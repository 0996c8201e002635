// The examples of the TypeScript client, run as programs against a real agentd with a scripted model.
// ci: release only
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ok, world } from '../lib/runtime.mjs';
import { example } from './sdk.mjs';

let rt;
let env;

before(async () => {
	({ rt } = await world());
	env = { AGENT_URL: rt.url };
});

test('a first answer', async () => {
	assert.deepEqual(await example('first-answer', ['[[say hello there]]'], env), { code: 0, out: 'hello there\n', err: '' });
});

test('a first answer over the unix socket of the user, found like agentctl finds it', async () => {
	const { out, err } = await example('first-answer', ['[[say by socket]]'], { AGENTD_DATA_DIR: `${rt.dataDir}/data`, HOME: '/nonexistent' });
	assert.equal(out, 'by socket\n', err);
});

test('streaming: the pieces are the answer, and the end has its usage', async () => {
	const { code, out, err } = await example('streaming', ['[[delay 5]][[utf8]]'], env);
	assert.equal(code, 0);
	assert.equal(out, 'héllo 日本語 👩‍👩‍👧‍👦 e\u0301 🇨🇭 مرحبا 😀\n');
	assert.match(err, /outputTokens: \d+/);
});

test('streaming: an attempt that broke off is told, and said again', async () => {
	const { out } = await example('streaming', ['[[fail-times 1 cut 3]][[say all of it]]'], env);
	assert.match(out, /\[\w+; trying again\]\nall of it\n$/);
});

test('approvals: yes lets the tool run, no does not', async () => {
	const yes = await example('approvals', ['[[tool delete_logs {"days":30}]]'], { ...env, ANSWER: 'allow' });
	assert.match(yes.out, /\nThe tool said: deleted what is older than 30 days\n$/, yes.err);
	const no = await example('approvals', ['[[tool delete_logs {"days":30}]]'], { ...env, ANSWER: 'deny' });
	assert.doesNotMatch(no.out, /deleted/);
	assert.equal(no.code, 0, no.err);
});

test('a tool that the client runs', async () => {
	const { out, err } = await example('client-tool', ['[[tool local_time {"zone":"Europe/Zurich"}]]'], env);
	assert.match(out, /^\[the model asks for the time in Europe\/Zurich\]\nThe tool said: \d\d:\d\d:\d\d\n$/, err);
});

test('a tool of the client that fails is told to the model', async () => {
	const { out, err } = await example('client-tool', ['[[tool local_time {"zone":"Nowhere/Else"}]]'], env);
	assert.match(out, /The tool said: .*Nowhere\/Else/, err);
});

test('many sessions: each has its answer, every fact is seen', async () => {
	const { out, err } = await example('many-sessions', ['[[say red]] 1', '[[say Rhine]] 2', '[[say three]] 3'], env);
	for (const word of ['red', 'Rhine', 'three']) assert.match(out, new RegExp(`-> ${word}\n`), err);
	const { sessions } = await ok(rt, 'list_sessions', { limit: 3 });
	const facts = await Promise.all(sessions.map(async ({ sessionId }) => (await ok(rt, 'get_session', { sessionId })).asOfSequence));
	assert.match(out, new RegExp(`${facts.reduce((a, b) => a + b)} facts\n$`));
});
