// A real model behind the Chat provider: it talks, and it calls a tool. A grammar made of the tool's schema leaves it only calls that fit; the
// runtime checks the arguments itself, runs the tool and gives the model its answer.
// ci: own stage (it waits for a model library of others)
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { ok, readLog, startAgentd, submit, waitFor } from '../lib/runtime.mjs';
import { findModel } from './llama.mjs';
import { startLlama } from './start_llama.mjs';

const schema = {
	type: 'object',
	properties: { city: { enum: ['Oslo', 'Rome', 'Lima'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
	required: ['city', 'days'],
	additionalProperties: false,
};
const skip = findModel() ? false : 'no model file here: set AR_LLAMA_GGUF to a small .gguf';
const asked = [];
let llama, rt, service;

before(async () => {
	if (skip) return;
	service = http.createServer((request, response) => {
		asked.push(new URL(request.url, 'http://x'));
		response.writeHead(200, { 'content-type': 'application/json' }).end('{"sky":"clear"}');
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	llama = await startLlama();
	const url = `http://127.0.0.1:${service.address().port}/weather/{city}`;
	rt = await startAgentd({
		env: { OPENAI_BASE_URL: llama.baseUrl },
		config: { 'permission.mode': 'bypass', http_tools: [{ name: 'weather', description: 'Tells the weather.', method: 'GET', url, schema: JSON.stringify(schema), read_only: true }] },
	});
});

after(async () => {
	service?.closeAllConnections();
	service?.close();
	await llama?.stop();
});

const ended = (sessionId) => waitFor(async () => (await readLog(rt, sessionId)).map((f) => f.event).filter((e) => /^turn\.(completed|failed)$/.test(e.type)).at(-1), 'the end', 60000);

test('a real model calls a tool under the grammar of its schema; the call fits, runs, and the model goes on with the answer', { skip }, async () => {
	const { sessionId } = await submit(rt, 'What is the weather?');
	assert.equal((await ended(sessionId)).type, 'turn.completed');
	const log = (await readLog(rt, sessionId)).map((f) => f.event);
	const [started] = log.filter((e) => e.type === 'tool.started');
	const args = JSON.parse((await ok(rt, 'read_output', { outputRef: started.payload.inputRef })).content);
	assert.equal(started.payload.toolName, 'weather');
	assert.ok(schema.properties.city.enum.includes(args.city) && Number.isInteger(args.days) && args.days >= 1 && args.days <= 9, JSON.stringify(args));
	const [result] = log.filter((e) => e.type === 'tool.result');
	assert.equal(result.toolCallId, started.toolCallId);
	assert.deepEqual(asked.map((u) => [u.pathname, u.searchParams.get('days')]), [[`/weather/${args.city}`, String(args.days)]], 'it ran once, with these arguments');
	const calls = log.filter((e) => e.type === 'model.completed');
	assert.equal(calls.length, 2, 'the call, and the answer after it');
	const { threads: [{ turns: [turn] }] } = await ok(rt, 'get_session', { sessionId });
	assert.ok((await ok(rt, 'read_output', { outputRef: turn.outputRef })).content.trim().length > 0, 'it said something');
	assert.ok(turn.usage.outputTokens > 0);
});

test('a real model that is offered no tool only talks', { skip }, async () => {
	const { sessionId } = await submit(rt, 'Once upon a time', { options: { tools: [] } });
	assert.equal((await ended(sessionId)).type, 'turn.completed');
	const log = (await readLog(rt, sessionId)).map((f) => f.event);
	assert.equal(log.filter((e) => e.type === 'tool.started').length, 0);
	const { threads: [{ turns: [turn] }] } = await ok(rt, 'get_session', { sessionId });
	assert.ok((await ok(rt, 'read_output', { outputRef: turn.outputRef })).content.trim().split(/\s+/).length > 8);
});
