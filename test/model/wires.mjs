// How a model server says things, one class for each wire format. The scripted server decides what is said and how it goes
// wrong; a class here only writes it down: read() a request, begin(), piece() and end() a stream, failure() inside one,
// whole() without a stream, refusal() instead of an answer.
const sse = (object, end = '\n\n') => `data: ${typeof object === 'string' ? object : JSON.stringify(object)}${end}`;
const named = (object) => `event: ${object.type}\n${sse(object)}`;
const textOf = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? ''));
const wordsOf = (text) => (text.match(/\S+/g) ?? []).length;
const count = (messages) => messages.reduce((n, m) => n + wordsOf(m.text), 0);

// What a script needs to know: the last words of the user, the result of a tool when one came after them, and how often results came since.
function conversation(messages) {
	const last = messages.at(-1);
	const since = messages.slice(messages.findLastIndex((m) => m.role === 'user') + 1);
	return {
		rounds: since.filter((m, i) => m.role === 'tool' && since[i + 1]?.role !== 'tool').length,
		text: messages.findLast((m) => m.role === 'user')?.text ?? '',
		toolResult: last?.role === 'tool' ? last.text : undefined,
		promptTokens: count(messages),
		promptBytes: messages.reduce((n, m) => n + Buffer.byteLength(m.text), 0),
	};
}

class Wire {
	constructor(script, n, model) {
		Object.assign(this, { script, n, model });
	}

	static idHeader = 'x-request-id';

	static keyOf(headers) {
		return headers.authorization;
	}

	static limits = {
		'x-ratelimit-limit-requests': '60', 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '1s',
		'x-ratelimit-limit-tokens': '1000', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '2m0s',
	};

	static refusal(status, message, { type, code }) {
		return { error: { message, type: type ?? null, param: null, code: code ?? null } };
	}
}

export class OpenAiChat extends Wire {
	static path = /^\/v1\/chat\/completions$/;

	static read(body) {
		const messages = (body.messages ?? []).map((m) => ({ role: m.role, text: textOf(m.content) }));
		return { ...conversation(messages), stream: body.stream, model: body.model, maxTokens: body.max_tokens };
	}

	chunk(choices, more) {
		const base = { id: `chatcmpl-${this.n}`, created: 1, model: this.model };
		return sse({ ...base, object: 'chat.completion.chunk', choices, ...more });
	}

	say(delta, finish = null) {
		return this.chunk([{ index: 0, delta, finish_reason: finish }]);
	}

	begin() {
		return this.say({ role: 'assistant', content: '' });
	}

	piece({ text, reasoning, tool, args, index }) {
		if (tool) return this.say({ tool_calls: [{ index, id: tool.id, type: 'function', function: { name: tool.name, arguments: '' } }] });
		if (args !== undefined) return this.say({ tool_calls: [{ index, function: { arguments: args } }] });
		return this.say(reasoning === undefined ? { content: text } : { reasoning_content: reasoning });
	}

	failure() {
		return sse({ error: { message: 'the model fell over', type: 'server_error', code: null } });
	}

	usage() {
		const { input, output } = this.script.usage();
		return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, prompt_tokens_details: { cached_tokens: 0 } };
	}

	finish() {
		return this.script.calls.length > 0 ? 'tool_calls' : 'stop';
	}

	end() {
		const chunks = [];
		if (!this.script.has('no-finish')) chunks.push(this.say({}, this.finish()));
		if (!this.script.has('no-usage')) chunks.push(this.chunk([], { usage: this.usage() }));
		if (!this.script.has('no-done')) chunks.push(sse('[DONE]'));
		return chunks;
	}

	whole() {
		const { calls, reasoning, words } = this.script;
		const message = { role: 'assistant', content: calls.length ? null : words.join('') };
		if (reasoning) message.reasoning_content = reasoning;
		if (calls.length)
			message.tool_calls = calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: args } }));
		const choices = [{ index: 0, message, finish_reason: this.finish() }];
		return { id: `chatcmpl-${this.n}`, object: 'chat.completion', created: 1, model: this.model, choices, usage: this.usage() };
	}
}

const ANTHROPIC_ERRORS = {
	400: 'invalid_request_error', 401: 'authentication_error', 402: 'billing_error', 403: 'permission_error', 404: 'not_found_error',
	409: 'conflict_error', 413: 'request_too_large', 429: 'rate_limit_error', 504: 'timeout_error', 529: 'overloaded_error',
};

export class Anthropic extends Wire {
	static path = /^\/v1\/messages$/;
	static idHeader = 'request-id';
	index = -1;

	static keyOf(headers) {
		return headers['x-api-key'];
	}

	// The date is that of the answer.
	static get limits() {
		return Object.fromEntries(['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((kind) => [
			[`anthropic-ratelimit-${kind}-limit`, '100'],
			[`anthropic-ratelimit-${kind}-remaining`, kind === 'input-tokens' ? '0' : '9'],
			[`anthropic-ratelimit-${kind}-reset`, new Date(Date.now() + 600_000).toISOString()],
		]));
	}

	static read(body) {
		const messages = (body.messages ?? []).flatMap(({ role, content }) => {
			const results = content.filter((b) => b.type === 'tool_result').map((b) => ({ role: 'tool', text: textOf(b.content) }));
			const text = textOf(content);
			return text || results.length === 0 ? [...results, { role, text }] : results;
		});
		return { ...conversation(messages), stream: body.stream, model: body.model };
	}

	static refusal(status, message, { type, code }) {
		const name = type ?? code ?? ANTHROPIC_ERRORS[status] ?? 'api_error';
		return { type: 'error', error: { type: name, message }, request_id: null };
	}

	usage(names) {
		if (this.script.has('no-usage')) return {};
		const { input, output } = this.script.usage();
		const all = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: output };
		return { usage: Object.fromEntries(names.map((name) => [name, all[name]])) };
	}

	message(more) {
		return { id: `msg_${this.n}`, type: 'message', role: 'assistant', model: this.model, stop_sequence: null, ...more };
	}

	begin() {
		const usage = this.usage(['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']);
		const message = this.message({ content: [], stop_reason: null, ...usage });
		return named({ type: 'message_start', message }) + named({ type: 'ping' });
	}

	// Reasoning is signed before its block ends.
	close() {
		const signature = this.kind === 'thinking' ? this.delta({ type: 'signature_delta', signature: 'c2ln' }) : '';
		return this.kind ? signature + named({ type: 'content_block_stop', index: this.index }) : '';
	}

	// Opens a block where the kind changes; every tool has its own.
	open(kind, content_block) {
		if (this.kind === kind && kind !== 'tool') return '';
		const text = this.close() + named({ type: 'content_block_start', index: this.index + 1, content_block });
		this.index++;
		this.kind = kind;
		return text;
	}

	delta(delta) {
		return named({ type: 'content_block_delta', index: this.index, delta });
	}

	piece({ text, reasoning, tool, args }) {
		if (tool) return this.open('tool', { type: 'tool_use', id: tool.id, name: tool.name, input: {} });
		// An empty object is what this format says nothing for.
		if (args !== undefined) return this.delta({ type: 'input_json_delta', partial_json: args === '{}' ? '' : args });
		if (reasoning !== undefined)
			return this.open('thinking', { type: 'thinking', thinking: '', signature: '' }) +
				this.delta({ type: 'thinking_delta', thinking: reasoning });
		return this.open('text', { type: 'text', text: '' }) + this.delta({ type: 'text_delta', text });
	}

	failure() {
		return named({ type: 'error', error: { type: 'api_error', message: 'the model fell over' }, request_id: null });
	}

	finish() {
		if (this.script.has('no-finish')) return null;
		return this.script.calls.length > 0 ? 'tool_use' : 'end_turn';
	}

	end() {
		const delta = { stop_reason: this.finish(), stop_sequence: null };
		const chunks = [this.close() + named({ type: 'message_delta', delta, ...this.usage(['output_tokens']) })];
		if (!this.script.has('no-done')) chunks.push(named({ type: 'message_stop' }));
		return chunks;
	}

	whole() {
		const { calls, reasoning, words } = this.script;
		const content = reasoning ? [{ type: 'thinking', thinking: reasoning, signature: 'c2ln' }] : [];
		content.push(...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) })));
		if (calls.length === 0) content.push({ type: 'text', text: words.join('') });
		return this.message({ content, stop_reason: this.finish(), ...this.usage(['input_tokens', 'output_tokens']) });
	}
}

const PARTS = {
	reasoning_summary_part: { summary_index: 0, part: { type: 'summary_text', text: '' } },
	content_part: { content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
};

export class OpenAiResponses extends Wire {
	static path = /^\/v1\/responses$/;
	sequence = 0;
	items = [];

	static read(body) {
		const messages = (body.input ?? []).flatMap((item) => {
			if (item.type === 'function_call_output') return [{ role: 'tool', text: textOf(item.output) }];
			return item.type === 'message' ? [{ role: item.role, text: textOf(item.content) }] : [];
		});
		return { ...conversation(messages), stream: body.stream, model: body.model };
	}

	event(type, more) {
		return named({ type: `response.${type}`, sequence_number: this.sequence++, ...more });
	}

	response(more) {
		return { id: `resp_${this.n}`, object: 'response', created_at: 1, model: this.model, error: null, incomplete_details: null, ...more };
	}

	begin() {
		const response = this.response({ status: 'in_progress', output: [], usage: null });
		return this.event('created', { response }) + this.event('in_progress', { response });
	}

	at(more) {
		return { item_id: this.items.at(-1).id, output_index: this.items.length - 1, ...more };
	}

	// Opens an item where the kind changes; every tool has its own. `part` is what the item is filled through.
	open(kind, item, part = '') {
		if (this.items.at(-1)?.type === kind && kind !== 'function_call') return '';
		const text = this.close();
		this.items.push({ id: `item_${this.n}_${this.items.length}`, type: kind, ...item });
		const added = this.event('output_item.added', { output_index: this.items.length - 1, item: this.items.at(-1) });
		return text + added + (part && this.event(`${part}.added`, this.at(PARTS[part])));
	}

	close() {
		const item = this.items.at(-1);
		return item ? this.event('output_item.done', { output_index: this.items.length - 1, item }) : '';
	}

	piece({ text, reasoning, tool, args }) {
		if (tool) return this.open('function_call', { call_id: tool.id, name: tool.name, arguments: '' });
		if (args !== undefined) {
			this.items.at(-1).arguments += args;
			return this.event('function_call_arguments.delta', this.at({ delta: args }));
		}
		if (reasoning !== undefined)
			return this.open('reasoning', { summary: [], encrypted_content: 'ZZ' }, 'reasoning_summary_part') +
				this.event('reasoning_summary_text.delta', this.at({ summary_index: 0, delta: reasoning }));
		const opened = this.open('message', { role: 'assistant', content: [] }, 'content_part');
		const item = this.items.at(-1);
		item.content = [{ type: 'output_text', text: textOf(item.content) + text, annotations: [] }];
		return opened + this.event('output_text.delta', this.at({ content_index: 0, delta: text, logprobs: [] }));
	}

	failure() {
		const error = { code: 'server_error', message: 'the model fell over' };
		return this.event('failed', { response: this.response({ status: 'failed', output: [], error }) });
	}

	usage() {
		if (this.script.has('no-usage')) return null;
		const { input, output } = this.script.usage();
		return {
			input_tokens: input, input_tokens_details: { cached_tokens: 0 },
			output_tokens: output, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: input + output,
		};
	}

	// One event is stop reason, usage and end mark together.
	end() {
		if (this.script.has('no-finish') || this.script.has('no-done')) return [this.close()];
		const response = this.response({ status: 'completed', output: this.items, usage: this.usage() });
		return [this.close() + this.event('completed', { response })];
	}

	whole() {
		const { calls, reasoning, words } = this.script;
		const output = reasoning ? [{ type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: reasoning }] }] : [];
		output.push(...calls.map(({ id, name, args }) => ({ type: 'function_call', call_id: id, name, arguments: args })));
		if (calls.length === 0)
			output.push({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words.join(''), annotations: [] }] });
		return this.response({ status: 'completed', output, usage: this.usage() });
	}
}

const GOOGLE_ERRORS = {
	400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 429: 'RESOURCE_EXHAUSTED',
	500: 'INTERNAL', 503: 'UNAVAILABLE', 504: 'DEADLINE_EXCEEDED',
};

export class Gemini extends Wire {
	static path = /^\/v1beta\/models\/[^/]+:streamGenerateContent$/;
	static idHeader = undefined;
	static limits = {};

	static keyOf(headers) {
		return headers['x-goog-api-key'];
	}

	static read(body, url) {
		const messages = (body.contents ?? []).flatMap(({ role, parts }) => {
			const results = parts.filter((p) => p.functionResponse).map((p) => ({ role: 'tool', text: p.functionResponse.response.result }));
			const text = textOf(parts);
			return text || results.length === 0 ? [...results, { role, text }] : results;
		});
		const [, model] = /models\/([^/]+):/.exec(url.pathname);
		return { ...conversation(messages), stream: url.searchParams.get('alt') === 'sse', model };
	}

	static refusal(status, message, { code }) {
		const details = code ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code }] : [];
		return { error: { code: status, message, status: GOOGLE_ERRORS[status] ?? 'UNKNOWN', details } };
	}

	response(candidate, more) {
		return { candidates: [{ index: 0, ...candidate }], modelVersion: this.model, responseId: `req_${this.n}`, ...more };
	}

	say(parts) {
		return sse(this.response({ content: { role: 'model', parts } }), '\r\n\r\n');
	}

	static part({ text, reasoning, tool }) {
		if (tool) return { functionCall: { id: tool.id, name: tool.name, args: JSON.parse(tool.args) }, thoughtSignature: 'c2ln' };
		return reasoning === undefined ? { text } : { text: reasoning, thought: true };
	}

	begin() {
		return this.say([{ text: '' }]);
	}

	// A call comes whole, with its arguments.
	piece(piece) {
		return piece.args === undefined ? this.say([Gemini.part(piece)]) : '';
	}

	failure() {
		return sse({ error: { code: 500, message: 'the model fell over', status: 'INTERNAL' } }, '\r\n\r\n');
	}

	usage() {
		if (this.script.has('no-usage')) return {};
		const { input, output } = this.script.usage();
		return { usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output } };
	}

	end() {
		const finish = this.script.has('no-finish') ? {} : { finishReason: 'STOP' };
		return [sse(this.response(finish, this.usage()), '\r\n\r\n')];
	}

	whole() {
		const { calls, reasoning, words } = this.script;
		const parts = reasoning ? [Gemini.part({ reasoning })] : [];
		parts.push(...(calls.length ? calls.map((tool) => Gemini.part({ tool })) : [Gemini.part({ text: words.join('') })]));
		return this.response({ content: { role: 'model', parts }, finishReason: 'STOP' }, this.usage());
	}
}

export const WIRES = [OpenAiChat, Anthropic, OpenAiResponses, Gemini];
