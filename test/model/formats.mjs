// What the tests of the provider need to know about each wire format: where it is asked, what the request looks like, and
// where formats differ in what may be missing.
import assert from 'node:assert/strict';
import { COMPLETED } from './probe.mjs';

const CUT = { outcome: 'cut', category: 'network', retryable: true };
const SCHEMA = { type: 'object' };
const bearer = (key) => ({ authorization: `Bearer ${key}` });
const OPENAI_LIMITS = { limits: { requests: [60, 59, 1000], tokens: [1000, 0, 120_000] }, exhaustedMs: 120_000 };

// base: the address without its origin; path: of a request. headers(key), body, checkTools, checkResult, checkEcho: the
// request. missing: what a stream without a part of it comes to. stream, whole(text): answers for servers made by hand.
const chat = {
	name: 'openai-chat', base: '/v1', path: '/v1/chat/completions', keyHeader: 'authorization', headers: bearer,
	body: {
		model: 'test-model', messages: [{ role: 'user', content: 'hi' }], stream: true,
		stream_options: { include_usage: true }, temperature: 0.5, max_tokens: 9,
	},
	checkTools(body) {
		assert.deepEqual(body.tools, [{ type: 'function', function: { name: 'add', description: 'adds', parameters: SCHEMA } }]);
		assert.deepEqual(body.response_format, { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } });
	},
	checkResult: (body) => assert.deepEqual(body.messages[2], { role: 'tool', content: '42', tool_call_id: 'call_1' }),
	checkEcho: (body) => assert.deepEqual(Object.keys(body.messages[1]), ['role', 'content', 'tool_calls']),
	missing: { '[[no-done]]': COMPLETED, '[[no-finish]]': { ...COMPLETED, stopReason: undefined } },
	stream: 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
	whole: (content) => JSON.stringify({ choices: [{ message: { content } }] }),
	...OPENAI_LIMITS,
};

const anthropic = {
	name: 'anthropic', base: '', path: '/v1/messages', keyHeader: 'x-api-key',
	headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
	body: {
		model: 'test-model', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
		temperature: 0.5, max_tokens: 9, stream: true,
	},
	checkTools(body) {
		assert.deepEqual(body.tools, [{ name: 'add', description: 'adds', input_schema: SCHEMA }]);
		assert.deepEqual(body.output_config, { format: { type: 'json_schema', schema: SCHEMA } });
	},
	checkResult: (body) => assert.deepEqual(body.messages[2], {
		role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: '42' }] }],
	}),
	checkEcho: (body) => assert.deepEqual(body.messages[1].content, [
		{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }, { type: 'tool_use', id: 'call_1', name: 'add', input: { a: 1 } },
	]),
	missing: { '[[no-done]]': COMPLETED, '[[no-finish]]': { ...COMPLETED, stopReason: undefined } },
	stream: 'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n' +
		'event: message_stop\ndata: {"type":"message_stop"}\n\n',
	whole: (text) => JSON.stringify({ type: 'message', content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
	limits: Object.fromEntries(['requests', 'tokens', 'inputTokens', 'outputTokens'].map((kind) =>
		[kind, [100, kind === 'inputTokens' ? 0 : 9, 600_000]])),
	exhaustedMs: 600_000,
};

const responses = {
	name: 'openai-responses', base: '/v1', path: '/v1/responses', keyHeader: 'authorization', headers: bearer,
	body: {
		model: 'test-model', input: [{ type: 'message', role: 'user', content: 'hi' }], temperature: 0.5, max_output_tokens: 9,
		store: false, stream: true,
	},
	checkTools(body) {
		assert.deepEqual(body.tools, [{ type: 'function', name: 'add', description: 'adds', parameters: SCHEMA, strict: false }]);
		assert.deepEqual(body.text, { format: { type: 'json_schema', name: 'answer', schema: SCHEMA } });
	},
	checkResult: (body) => assert.deepEqual(body.input[2], { type: 'function_call_output', call_id: 'call_1', output: '42' }),
	checkEcho: (body) => assert.deepEqual(body.input.slice(1, 3).map((i) => [i.type, i.encrypted_content]),
		[['reasoning', 'ZZ'], ['function_call', undefined]]),
	missing: { '[[no-done]]': CUT, '[[no-finish]]': CUT },
	stream: 'event: response.completed\ndata: {"type":"response.completed","response":{"status":"completed"}}\n\n',
	whole: (text) => JSON.stringify({ output: [{ type: 'message', content: [{ type: 'output_text', text }] }] }),
	...OPENAI_LIMITS,
};

const gemini = {
	name: 'gemini', base: '', path: '/v1beta/models/test-model:streamGenerateContent?alt=sse', keyHeader: 'x-goog-api-key',
	headers: (key) => ({ 'x-goog-api-key': key }),
	body: {
		contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { temperature: 0.5, maxOutputTokens: 9 },
	},
	checkTools(body) {
		const add = { name: 'add', description: 'adds', parametersJsonSchema: SCHEMA };
		assert.deepEqual(body.tools, [{ functionDeclarations: [add] }]);
		assert.deepEqual(body.generationConfig, { responseMimeType: 'application/json', responseJsonSchema: SCHEMA });
	},
	checkResult: (body) => assert.deepEqual(body.contents[2], {
		role: 'user', parts: [{ functionResponse: { id: 'call_1', name: 'add', response: { result: '42' } } }],
	}),
	checkEcho: (body) => assert.equal(body.contents[1].parts[0].thoughtSignature, 'c2ln'),
	missing: { '[[no-finish]]': CUT },
	stream: 'data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}\r\n\r\n',
	whole: (text) => JSON.stringify({ candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] }),
	limits: {}, exhaustedMs: 0,
};

export const FORMATS = [chat, anthropic, responses, gemini];
