// Images that a tool brings: the model that can see gets them in its next request, in each wire format's own way; the others are told.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const HUGE = 6 << 20;
let model, rt, service, config;

before(async () => {
	service = http.createServer((request, response) => {
		const bytes = request.url === '/huge' ? Buffer.alloc(HUGE, 7) : Buffer.from(PNG, 'base64');
		response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	model = await startModel();
	const sees = (provider, base_url) => ({ name: provider, provider, base_url, model: 'eyes', api_key: 'k', capabilities: ['vision', 'tools', 'json'] });
	const origin = `http://127.0.0.1:${service.address().port}`;
	config = {
		'permission.mode': 'bypass',
		models: [
			sees('openai-chat', model.url), sees('openai-responses', model.url), sees('anthropic', model.origin), sees('gemini', model.origin),
			{ name: 'blind', provider: 'openai-chat', base_url: model.url, model: 'blind' },
		],
		http_tools: ['photo', 'huge'].map((name) => ({ name, description: 'Takes a photo.', method: 'GET', url: `${origin}/${name}`, read_only: true })),
	};
	rt = await startAgentd({ config });
});

after(() => service.close());

// The bodies of all requests of a turn.
async function bodies(text, name, more) {
	const { sessionId, turnId } = await submit(rt, text, { options: { model: name, fallback: 'deny' }, ...more });
	const log = await waitFor(async () => {
		const facts = (await readLog(rt, sessionId)).map((f) => f.event);
		return facts.some((e) => e.turnId === turnId && ['turn.completed', 'turn.failed'].includes(e.type)) && facts;
	}, `the end of ${name}`);
	assert.equal(log.at(-1).type === 'turn.failed', false, JSON.stringify(log.at(-1)));
	return { sessionId, facts: log, sent: model.log(turnId).map((entry) => entry.body) };
}

const dataUrl = `data:image/png;base64,${PNG}`;
const found = {
	anthropic: (body) => body.messages.at(-1).content.find((b) => b.type === 'tool_result').content
		.filter((b) => b.type === 'image').map((b) => [b.source.type, b.source.media_type, b.source.data]),
	'openai-responses': (body) => body.input.find((i) => i.type === 'function_call_output').output
		.filter((p) => p.type === 'input_image').map((p) => p.image_url),
	'openai-chat': (body) => body.messages.at(-1).content.filter((p) => p.type === 'image_url').map((p) => p.image_url.url),
	gemini: (body) => body.contents.at(-1).parts.filter((p) => p.inlineData).map((p) => [p.inlineData.mimeType, p.inlineData.data]),
};
const expected = { anthropic: [['base64', 'image/png', PNG]], 'openai-responses': [dataUrl], 'openai-chat': [dataUrl], gemini: [['image/png', PNG]] };

for (const name of Object.keys(found))
	test(`an image of a tool reaches a model that sees: ${name}`, async () => {
		const { facts, sent } = await bodies('[[tool photo {}]]', name);
		assert.equal(facts.find((e) => e.type === 'tool.result').payload.images.length, 1);
		assert.equal(sent.length, 2);
		assert.equal(JSON.stringify(sent[0]).includes(PNG), false);
		assert.deepEqual(found[name](sent[1]), expected[name]);
	});

test('Chat Completions: two results of one answer stay together, their images follow in one message', async () => {
	const { sent } = await bodies('[[tool photo {}]][[tool photo {}]]', 'openai-chat');
	assert.deepEqual(sent[1].messages.map((m) => m.role), ['user', 'assistant', 'tool', 'tool', 'user']);
	assert.deepEqual(found['openai-chat'](sent[1]), [dataUrl, dataUrl]);
	assert.ok(sent[1].messages.slice(2, 4).every((m) => typeof m.content === 'string'));
});

test('a model without vision, and an image that is too large: a sentence says how many are left out', async () => {
	const { sent } = await bodies('[[tool photo {}]]', 'blind');
	const { content } = sent[1].messages.at(-1);
	assert.match(content, /\[1 image of this result is left out: this model takes none\]/);
	assert.equal(JSON.stringify(sent[1]).includes(PNG), false);
	const huge = await bodies('[[tool huge {}]]', 'anthropic');
	assert.match(JSON.stringify(huge.sent[1]), /1 image of this result is left out/);
	assert.ok(JSON.stringify(huge.sent[1]).length < HUGE);
});

test('the image is still there in the next turn, and after kill -9', async () => {
	const { sessionId } = await bodies('[[tool photo {}]]', 'anthropic');
	await rt.kill9();
	rt = await startAgentd({ dataDir: rt.dataDir, config });
	const { sent } = await bodies('and now?', 'anthropic', { sessionId });
	assert.ok(JSON.stringify(sent[0]).includes(PNG));
});
