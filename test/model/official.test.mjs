// The providers' own clients as the reference: what our scripted server says is what they read, and what the runtime asks is what their
// type definitions allow, compiled by the compiler of the TypeScript client.
// ci: release only (nothing of this depends on the build)
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { FORMATS } from './formats.mjs';
import { probe } from './probe.mjs';
import { start } from './scripted.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const TSC = path.join(here, '../../sdk/typescript/node_modules/typescript/bin/tsc');
const SAID = '[[say three small words]]';
const CALLED = '[[tool add {"a":1,"b":"zwei"}]]';
let server;

before(async () => {
	server = await start(0);
});
after(() => server.close());

// Each gives what its client made of the answer: { text, calls: [[name, arguments]], stop, usage: [in, out] }.
const READERS = {
	async 'openai-chat'(prompt) {
		const client = new OpenAI({ apiKey: 'x', baseURL: `${server.origin}/v1` });
		const stream = client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: prompt }], stream_options: { include_usage: true } });
		const { choices: [{ message, finish_reason: stop }], usage } = await stream.finalChatCompletion();
		const calls = (message.tool_calls ?? []).map((c) => [c.function.name, JSON.parse(c.function.arguments)]);
		return { text: message.content ?? '', calls, stop, usage: [usage.prompt_tokens, usage.completion_tokens] };
	},
	async anthropic(prompt) {
		const client = new Anthropic({ apiKey: 'x', baseURL: server.origin });
		const m = await client.messages.stream({ model: 'm', max_tokens: 99, messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] }).finalMessage();
		const calls = m.content.filter((b) => b.type === 'tool_use').map((b) => [b.name, b.input]);
		return { text: m.content.map((b) => b.text ?? '').join(''), calls, stop: m.stop_reason, usage: [m.usage.input_tokens, m.usage.output_tokens] };
	},
	async 'openai-responses'(prompt) {
		const client = new OpenAI({ apiKey: 'x', baseURL: `${server.origin}/v1` });
		const r = await client.responses.stream({ model: 'm', input: [{ type: 'message', role: 'user', content: prompt }] }).finalResponse();
		const calls = r.output.filter((o) => o.type === 'function_call').map((o) => [o.name, JSON.parse(o.arguments)]);
		return { text: r.output_text ?? '', calls, stop: r.status, usage: [r.usage.input_tokens, r.usage.output_tokens] };
	},
	async gemini(prompt) {
		const client = new GoogleGenAI({ apiKey: 'x', httpOptions: { baseUrl: server.origin } });
		const all = { text: '', calls: [], stop: undefined, usage: undefined };
		for await (const piece of await client.models.generateContentStream({ model: 'm', contents: prompt })) {
			const [candidate] = piece.candidates ?? [];
			for (const part of candidate?.content?.parts ?? []) all.text += part.text ?? '';
			all.calls.push(...(piece.functionCalls ?? []).map((c) => [c.name, c.args]));
			all.stop = candidate?.finishReason ?? all.stop;
			all.usage = piece.usageMetadata ? [piece.usageMetadata.promptTokenCount, piece.usageMetadata.candidatesTokenCount] : all.usage;
		}
		return all;
	},
};

const STOPS = { 'openai-chat': ['stop', 'tool_calls'], anthropic: ['end_turn', 'tool_use'], 'openai-responses': ['completed', 'completed'], gemini: ['STOP', 'STOP'] };

for (const [name, read] of Object.entries(READERS)) {
	test(`${name}: the official client reads what our server says`, async () => {
		const said = await read(SAID);
		assert.deepEqual([said.text.trim(), said.calls, said.stop], ['three small words', [], STOPS[name][0]]);
		assert.ok(said.usage.every((n) => n > 0), String(said.usage));
		const called = await read(CALLED);
		assert.deepEqual([called.calls, called.stop], [[['add', { a: 1, b: 'zwei' }]], STOPS[name][1]]);
	});
}

// What the types are called that a request, or a part of it, has to have.
const TYPES = {
	'openai-chat': { '': "import('openai').OpenAI.ChatCompletionCreateParamsStreaming" },
	anthropic: { '': "import('@anthropic-ai/sdk').Anthropic.MessageCreateParamsStreaming" },
	'openai-responses': { '': "import('openai').OpenAI.Responses.ResponseCreateParamsStreaming" },
	gemini: {
		contents: "import('@google/genai').Content[]", tools: "import('@google/genai').Tool[]",
		generationConfig: "import('@google/genai').GenerationConfig", systemInstruction: "import('@google/genai').Content",
	},
};

async function requestsOf({ name, base }) {
	const at = { baseUrl: server.origin + base, format: name, ...(name === 'anthropic' && { version: '2026-10-21' }) }; // its types are the newest API's
	const options = '{"temperature":0.5,"maxOutputTokens":9,"outputSchema":{"type":"object"}}';
	const first = await probe('[[reasoning hm]] [[tool add {"a":1}]]', { ...at, tools: true, options });
	const then = await probe('[[tool add {"a":1}]]', { ...at, toolResult: '42', echo: first.done.echo });
	const plain = await probe('hi', { ...at, options: '{"temperature":0.5,"maxOutputTokens":9}' });
	return [first, then, plain].map((run) => server.log(run.turn)[0].body);
}

// A variable with the value as a literal for each: a member that the type does not know is an error, as is one of another kind.
function statements(name, body, n) {
	return Object.entries(TYPES[name]).flatMap(([member, type], k) => {
		const value = member ? body[member] : body;
		return value === undefined ? [] : [`export const v${n}_${k}: ${type} = ${JSON.stringify(value)};`];
	});
}

test('what the runtime asks is what the official types allow', { skip: !existsSync(TSC) && 'the TypeScript client is not built here' }, async (t) => {
	const folder = mkdtempSync(path.join(here, '../node_modules/.ar-official-')); // where the types are found
	t.after(() => rmSync(folder, { recursive: true }));
	const lines = [];
	for (const format of FORMATS)
		for (const body of await requestsOf(format)) lines.push(...statements(format.name, body, lines.length));
	assert.ok(lines.length >= 15, `${lines.length} values`);
	const wrong = (name) => lines.find((line) => line.includes(TYPES[name]['']) && line.includes('max')).replace(/v\d+_/, `wrong_${name.replace('-', '_')}_`).replace(/"max/, '"mx');
	for (const name of ['openai-chat', 'anthropic', 'openai-responses']) lines.push('// @ts-expect-error it would be noticed', wrong(name));
	const file = path.join(folder, 'asked.ts');
	writeFileSync(file, lines.join('\n'));
	const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext'];
	const said = await promisify(execFile)(process.execPath, [TSC, ...options, file]).then(() => '', (error) => error.stdout + error.stderr);
	assert.equal(said, '');
});
