// A real model behind the same API: OpenAI Chat Completions, streaming only, over llama.cpp (npm @fugood/llama.node).
//
//   node test/model/llama.mjs MODEL.gguf [--port 0] [--slots 4] [--context 512]
//
// First line on stdout: {"port":N}. SIGTERM or SIGINT ends it. A client that goes away stops its generation.
import http from 'node:http';
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const DEFAULT_TOKENS = 64;
const CALL_TOKENS = 400; // of a call: it ends by its grammar

// Where the tiny model lies when nobody says otherwise; undefined when there is none on this machine.
export function findModel() {
	const beside = fileURLToPath(new URL('../../../shared/peers/model/stories260K.gguf', import.meta.url));
	return [process.env.AR_LLAMA_GGUF, beside].find((path) => path && existsSync(path));
}

function textOf(content) {
	if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('');
	return content ?? '';
}

function sendError(res, status, message) {
	res.writeHead(status, { 'content-type': 'application/json' });
	res.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }));
}

// A model this small calls no tool by itself: the grammar of "one of these calls" leaves it no other word. The answer to a call is said freely.
function callSchema(body) {
	if (!body.tools?.length || body.tool_choice === 'none' || body.messages.at(-1)?.role === 'tool') return undefined;
	const call = ({ function: { name, parameters } }) => ({
		type: 'object',
		properties: { name: { const: name }, arguments: parameters ?? { type: 'object' } },
		required: ['name', 'arguments'],
		additionalProperties: false,
	});
	return { anyOf: body.tools.map(call) };
}

async function optionsOf(model, body, schema) {
	const messages = body.messages.map((m) => ({ role: m.role === 'tool' ? 'user' : m.role, content: textOf(m.content) }));
	const form = schema && { response_format: { type: 'json_schema', json_schema: { strict: true, schema } } };
	const { prompt, grammar } = await model.getFormattedChat(messages, undefined, { jinja: true, ...form });
	if (schema && !grammar) throw new Error('this build of llama.cpp makes no grammar of a schema');
	const options = {
		prompt,
		grammar: schema && grammar,
		grammar_lazy: schema && false,
		n_predict: schema ? CALL_TOKENS : (body.max_completion_tokens ?? body.max_tokens ?? DEFAULT_TOKENS),
		temperature: body.temperature ?? 0.8,
		top_p: body.top_p,
		seed: body.seed,
		stop: body.stop === undefined ? undefined : [].concat(body.stop),
	};
	// The native side takes an absent option for a wrong one.
	return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

// As servers do it: the name first, then the arguments piece by piece.
function sayCall(say, { name, arguments: args }, n) {
	say({ tool_calls: [{ index: 0, id: `call_${n}`, type: 'function', function: { name, arguments: '' } }] });
	for (const piece of JSON.stringify(args).match(/.{1,6}/gs)) say({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
}

async function complete(model, body, res, n) {
	const base = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: Math.floor(Date.now() / 1000), model: body.model };
	const send = (object) => res.destroyed || res.write(`data: ${JSON.stringify({ ...base, ...object })}\n\n`);
	const say = (delta, finish = null) => send({ choices: [{ index: 0, delta, finish_reason: finish }] });
	const schema = callSchema(body);
	const options = await optionsOf(model, body, schema);
	const promptTokens = (await model.tokenize(options.prompt)).tokens.length;

	res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
	say({ role: 'assistant', content: '' });
	const { promise, stop } = await model.parallel.completion(options, (_, piece) => {
		if (piece.token && !schema) say({ content: piece.token });
	});
	res.on('close', () => res.writableFinished || stop?.());
	const result = await promise;
	if (schema) {
		sayCall(say, JSON.parse(result.text.slice(result.text.indexOf('{'))), n);
		say({}, 'tool_calls');
	} else say({}, result.stopped_limit || result.stopped_limited || result.context_full ? 'length' : 'stop');
	const made = result.tokens_predicted;
	send({ choices: [], usage: { prompt_tokens: promptTokens, completion_tokens: made, total_tokens: promptTokens + made } });
	res.end('data: [DONE]\n\n');
}

async function readJson(req) {
	const pieces = [];
	for await (const piece of req) pieces.push(piece);
	return JSON.parse(Buffer.concat(pieces).toString('utf8'));
}

async function handle(model, req, res, n) {
	if (req.url !== '/v1/chat/completions' || req.method !== 'POST') return sendError(res, 404, 'no such path');
	try {
		await complete(model, await readJson(req), res, n);
	} catch (error) {
		if (res.headersSent) res.destroy();
		else sendError(res, 400, String(error));
	}
}

export async function start(file, { port = 0, slots = 4, context = 512 } = {}) {
	const { loadModel } = await import('@fugood/llama.node');
	const model = await loadModel({ model: file, n_ctx: context * slots, n_parallel: slots, n_threads: 2, n_gpu_layers: 0 });
	model.parallel.enable({ n_parallel: slots, n_batch: 512 });
	let n = 0;
	const server = http.createServer((req, res) => handle(model, req, res, ++n));
	await new Promise((done, fail) => server.once('error', fail).listen(port, '127.0.0.1', done));
	return { port: server.address().port };
}

function option(name, otherwise) {
	const at = process.argv.indexOf(`--${name}`);
	return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
	for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
	const file = process.argv[2] ?? findModel();
	const { port } = await start(file, { port: option('port', 0), slots: option('slots', 4), context: option('context', 512) });
	process.stdout.write(`${JSON.stringify({ port })}\n`);
}
