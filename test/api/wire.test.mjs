// Turns over every wire format, through the daemon: what the settings and the environment choose, and that answers, tool calls
// and failures mean the same whichever it is.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, newFolder, ok, startAgentd, startModel, submit } from '../lib/runtime.mjs';

const FAST = { 'model.backoff_ms': 20 };
let model;
before(async () => {
	model = await startModel();
});

// What a user sets, and what the server then sees.
const PLACES = [
	{ provider: 'openai-chat', env: () => ({ OPENAI_BASE_URL: model.url }), path: '/v1/chat/completions', name: 'default' },
	{
		provider: 'openai-responses', env: () => ({ OPENAI_BASE_URL: model.url, AGENTD_PROVIDER: 'openai-responses' }),
		path: '/v1/responses', name: 'default',
	},
	{
		provider: 'anthropic', env: () => ({ ANTHROPIC_API_KEY: 'sk-planted-secret', ANTHROPIC_BASE_URL: model.origin }),
		path: '/v1/messages', name: 'claude-sonnet-5', key: 'x-api-key',
	},
	{
		provider: 'gemini', env: () => ({ GEMINI_API_KEY: 'sk-planted-secret', GEMINI_BASE_URL: model.origin }),
		path: '/v1beta/models/gemini-flash-latest:streamGenerateContent?alt=sse', name: 'gemini-flash-latest', key: 'x-goog-api-key',
	},
];

async function run(at, text, more = {}) {
	const { sessionId, turnId } = await submit(at, text, more);
	const f = await follow(at, sessionId);
	f.turn = await f.ended(turnId);
	f.check();
	f.stop();
	return f;
}

const textOf = (f) => f.text(f.of('model.requested').at(-1).stepId);

for (const { provider, env, path, name, key } of PLACES) {
	test(`${provider}: a turn, a schema for the answer, a tool call with its result, failures`, async () => {
		const rt = await startAgentd({ env: env(), config: FAST });
		const plain = await run(rt, '[[reasoning hm]] hello', { turnId: `plain-${provider}` });
		assert.equal(textOf(plain), 'You said: hello');
		assert.deepEqual([plain.of('model.requested')[0].payload.provider, plain.of('model.requested')[0].payload.model], [provider, name]);
		assert.deepEqual([plain.turn.payload.status, plain.turn.payload.stopReason], ['completed', 'stop']);
		const [entry] = model.log(`plain-${provider}`);
		assert.equal(entry.url, path);
		if (key) assert.equal(entry.headers[key], 'sk-planted-secret');

		const options = { outputSchema: { title: 'Answer', type: 'object' } };
		const shaped = await run(rt, '[[say shaped]]', { options, turnId: `shaped-${provider}` });
		assert.equal(textOf(shaped), 'shaped');
		assert.match(JSON.stringify(model.log(`shaped-${provider}`)[0].body), /"title":"Answer"/);

		const tool = await run(rt, '[[tool nothing {"a":1}]]', { turnId: `tool-${provider}` });
		assert.equal(model.log(`tool-${provider}`).length, 2);
		assert.match(textOf(tool), /^The tool said: ./);
		assert.equal(tool.turn.payload.status, 'completed');

		const failed = await run(rt, '[[http 401 echo-auth]]', { turnId: `refused-${provider}` });
		const raw = await ok(rt, 'read_output', { outputRef: failed.of('model.failed')[0].payload.rawProviderRef });
		assert.match(raw.content, /scripted 401/);
		assert.ok(!raw.content.includes('planted-secret'));
		assert.equal(failed.of('model.failed')[0].payload.error.category, 'auth');
		assert.ok(!failed.facts.some(({ data }) => data.includes('planted-secret')));
		const cut = await run(rt, '[[fail-times 1 error-in-stream]] hello', { turnId: `again-${provider}` });
		assert.deepEqual([cut.of('model.failed').length, cut.turn.payload.status], [1, 'completed']);
		await rt.stop();
	});
}

test('several vendors: openai unless another is asked for, and a key goes only to its own vendor', async () => {
	const all = {
		OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-openai', ANTHROPIC_BASE_URL: model.origin, ANTHROPIC_API_KEY: 'sk-anthropic',
	};
	const first = await startAgentd({ env: all });
	await run(first, 'hello', { turnId: 'several' });
	assert.equal(model.log('several')[0].headers.authorization, 'Bearer sk-openai');
	await first.stop();
	const asked = await startAgentd({ env: all, config: { 'model.provider': 'anthropic', 'model.api_version': '2026-10-21' } });
	await run(asked, 'hello', { turnId: 'asked' });
	const { headers } = model.log('asked')[0];
	assert.deepEqual([headers['x-api-key'], headers.authorization, headers['anthropic-version']], ['sk-anthropic', undefined, '2026-10-21']);
	await asked.stop();
	const none = await startAgentd({ env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-openai', AGENTD_PROVIDER: 'gemini' } });
	const f = await run(none, 'hello');
	assert.equal(f.turn.payload.error.category, 'no_model_configured');
	assert.match(f.turn.payload.error.recoveryAdvice, /GEMINI_API_KEY/);
	await none.stop();
});

test('model.base_url and model.api_key are those of the provider that is asked for', async () => {
	const config = { 'model.provider': 'gemini', 'model.base_url': model.origin, 'model.api_key': 'sk-file', 'model.name': 'small' };
	const rt = await startAgentd({ config });
	await run(rt, 'hello', { turnId: 'from-file' });
	const [entry] = model.log('from-file');
	assert.match(entry.url, /models\/small:stream/);
	assert.equal(entry.headers['x-goog-api-key'], 'sk-file');
	await rt.stop();
});

test('a provider that there is not: the error names those that there are', async () => {
	const rt = await startAgentd({ dataDir: newFolder(), env: { AGENTD_PROVIDER: 'abacus' }, mayDie: true });
	assert.ok(rt.isGone);
	assert.match(rt.stderr, /AGENTD_PROVIDER.*model\.provider.*auto, openai-chat, openai-responses, anthropic, gemini/);
});

test('anthropic: reasoning that was signed goes back with the answer to the call, also after kill -9, and to no other kind of server', async () => {
	const at = { dataDir: newFolder(), config: FAST };
	let rt = await startAgentd({ ...at, env: PLACES[2].env() });
	const first = await run(rt, '[[reasoning hm]][[tool nothing {"a":1}]]', { turnId: 'signed' });
	const [, second] = model.log('signed');
	assert.deepEqual(second.body.messages[1].content.map((part) => part.type), ['thinking', 'tool_use']);
	assert.deepEqual(second.body.messages[1].content[0], { type: 'thinking', thinking: 'hm', signature: 'c2ln' });
	await rt.kill9();
	rt = await startAgentd({ ...at, env: PLACES[2].env() });
	await run(rt, 'go on', { sessionId: first.sessionId, turnId: 'signed-again' });
	assert.equal(model.log('signed-again')[0].body.messages[1].content[0].signature, 'c2ln');
	await rt.kill9();
	rt = await startAgentd({ ...at, env: PLACES[0].env() });
	await run(rt, 'and now?', { sessionId: first.sessionId, turnId: 'unsigned' });
	assert.ok(!JSON.stringify(model.log('unsigned')[0].body).includes('c2ln'));
	await rt.stop();
});
