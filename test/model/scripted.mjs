// A model server whose behaviour the test chooses, in every wire format of wires.mjs (streaming and not; the path says
// which) on loopback, node's own library only. The LAST user message carries directives; without any the server answers
// "You said: <text>".
//
//   node test/model/scripted.mjs [--port 0] [--host 127.0.0.1] [--calls FILE]
//                                               first line on stdout: {"port":N}; SIGTERM or SIGINT ends it; a line of JSON per
//                                               call is added to FILE when the call arrives
//   import { start } from './scripted.mjs'      const s = await start(0); s.url, s.origin, s.port, s.log(), s.reset(), s.close()
//
// What to say (combined in this order; a message after a tool result never calls a tool again):
//   [[reasoning text]]       reasoning in words before the answer
//   [[tool name {"a":1}]]    a tool call; several directives make several calls; no "]]" inside
//   [[then]]                 what follows is for the answer after the results; as many as wanted, each answer has its part
//   [[loop]]                 it does call again, for ever; $n in the arguments is another number in each call
//   [[say text]] [[tokens N]] (w0 w1 ...) [[utf8]] (emoji, combining and wide characters)
// How to say it:
//   [[delay ms]] between chunks        [[first ms]] before the first byte (headers included)
//   [[split]] one write per byte       [[burst]] all in one write
//   [[dup]] every chunk twice          [[json]] one JSON object although "stream" was asked
//   [[backwards N]] words are said from their end to their beginning, N characters at a time: what the runtime must not see before
//   [[no-done]] [[no-finish]] [[no-usage]] leave that part out           [[lie-usage]] absurd token counts
//   [[greedy]] tells the highest counts that can be: a token for each byte of what was sent, and all that the request allows (openai-chat)
//   [[junk-after-done]] sends nonsense after the end mark and keeps the connection open
//   [[limits]] headers about limits with the answer
// How to go wrong:
//   [[http 429 retry-after=1 code=x type=y echo-auth message=x]]  an error answer; retry-after-ms= and x-should-retry= work too,
//                                                       echo-auth repeats the header of the key in the message
//   [[cut N]] drops the connection after N chunks       [[hang]] never answers   [[hang-after N]] falls silent after N chunks
//   [[endless]] keep-alives without end before the first word
//   [[error-in-stream]]  [[garbage]] a chunk that is no JSON   [[text]] an HTML page with status 200
//   [[fail-turns N directive]] the same for all calls of the first N turns that say this text
//   [[fail-times N directive]] the first N calls of a turn (header X-AR-Turn) do what the directive says, the others succeed
//
// Asked for the summary of a conversation (compaction) it answers "Summary: they talked."; the last [[summary directive]] in that
// conversation says something else: [[summary say x]], [[summary http 500]], [[summary fail-times 1 hang]].
//
// GET /_log[?turn=id] gives every request with times, the usage that was told and how it ended; GET /_count the number per turn; POST /_reset forgets.
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import { pathToFileURL } from 'node:url';
import { WIRES } from './wires.mjs';

const LOG_MAX = 20000;
const SUMMARY_WANTED = 'Write its summary now.';
const UTF8_WORDS = ['héllo ', '日本語 ', '👩‍👩‍👧‍👦 ', 'e\u0301 ', '🇨🇭 ', 'مرحبا ', '😀'];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// "[[a x]] [[b]]" becomes { a: ['x'], b: [''] }: every directive keeps all its occurrences.
export function directivesOf(text) {
	const found = {};
	for (const [, name, rest] of text.matchAll(/\[\[([a-z][a-z0-9-]*)(?:\s+([\s\S]*?))?\]\](?!\])/g))
		(found[name] ??= []).push(rest ?? '');
	return found;
}

const words = (text) => text.match(/\S+\s*/g) ?? (text ? [text] : []);

class Script {
	constructor({ text: whole, toolResult, rounds, promptTokens, promptBytes, maxTokens }, n) {
		const parts = whole.endsWith(SUMMARY_WANTED) ? [whole] : whole.split('[[then]]'); // a conversation may hold some
		const hasPart = parts.length > 1 && rounds < parts.length;
		const text = hasPart ? parts[rounds] : whole;

		Object.assign(this, { text, toolResult: hasPart && rounds > 0 ? undefined : toolResult, promptTokens, promptBytes, maxTokens, n });
		this.isSummary = text.endsWith(SUMMARY_WANTED);
		this.does = directivesOf(text);
		if (this.isSummary) this.does = directivesOf(`[[${this.does.summary?.at(-1) ?? 'say Summary: they talked.'}]]`);
	}

	has(name) {
		return name in this.does;
	}

	value(name) {
		return this.does[name]?.[0];
	}

	number(name) {
		return this.has(name) ? Number(this.value(name)) : undefined;
	}

	// Replaces the directives by the failing one while the turn has failures left.
	failFirst(calls) {
		const [, times, rest] = /^(\d+)\s+([\s\S]+)$/.exec(this.value('fail-times') ?? '') ?? [];
		if (times !== undefined && calls <= Number(times)) this.does = directivesOf(`[[${rest}]]`);
	}

	// The same for whole turns: `turns` are those that said this text, the newest last.
	failTurns(turns, turn) {
		const [, times, rest] = /^(\d+)\s+([\s\S]+)$/.exec(this.value('fail-turns') ?? '') ?? [];
		if (times !== undefined && turns.indexOf(turn) < Number(times)) this.does = directivesOf(`[[${rest}]]`);
	}

	// A text in the pieces that it is streamed in.
	cut(text) {
		if (!this.has('backwards')) return words(text);
		return [...text].reverse().join('').match(new RegExp(`[^]{1,${this.number('backwards')}}`, 'g')) ?? [];
	}

	get words() {
		if (this.has('utf8')) return UTF8_WORDS;
		if (this.has('tokens')) return Array.from({ length: this.number('tokens') }, (_, i) => `w${i} `);
		if (this.has('say')) return this.cut(this.value('say'));
		if (this.isSummary) return words('Summary: they talked.');
		if (this.toolResult !== undefined) return words(`The tool said: ${this.toolResult}`);
		return words(`You said: ${this.text.replace(/\[\[[\s\S]*?\]\](?!\])/g, '').trim()}`);
	}

	get reasoning() {
		return this.value('reasoning') ?? '';
	}

	get calls() {
		if ((this.toolResult !== undefined && !this.has('loop')) || !this.has('tool')) return [];
		return this.does.tool.map((spec, i) => {
			const [, name, args] = /^(\S+)\s*([\s\S]*)$/.exec(spec) ?? [];
			return { id: `call_${this.n}_${i}`, name, args: this.has('loop') ? args.replaceAll('$n', this.n) : this.has('backwards') ? this.cut(args).join('') : args || '{}' };
		});
	}

	usage() {
		if (this.has('greedy')) return { input: this.promptBytes, output: this.maxTokens ?? 100000 };
		return this.has('lie-usage') ? { input: -7, output: 9e15 } : { input: this.promptTokens, output: this.pieces().length };
	}

	// What is said, piece by piece: reasoning, then tool calls or words.
	pieces() {
		const thoughts = this.cut(this.reasoning).map((reasoning) => ({ reasoning }));
		const calls = this.calls.flatMap((tool, index) =>
			[{ tool, index }, ...tool.args.match(/[\s\S]{1,8}/g).map((args) => ({ args, index }))]);
		return thoughts.concat(calls.length > 0 ? calls : this.words.map((text) => ({ text })));
	}
}

// Everything the stream will say, as text of server-sent events; the end mark included.
function framesOf(script, wire) {
	const frames = [wire.begin()];
	for (const piece of script.pieces()) {
		const first = frames.length >= 2;
		if (script.has('error-in-stream') && first) return [...frames, wire.failure()];
		if (script.has('garbage') && first) return [...frames, 'data: {"choices":[{"delta":\n\n'];
		frames.push(wire.piece(piece));
	}
	const end = wire.end();
	if (!script.has('dup')) return [...frames, ...end];
	return [...frames, ...end.slice(0, -1)].flatMap((f) => [f, f]).concat(end.slice(-1));
}

function drop(res) {
	if (res.stream) res.stream.destroy();
	else res.socket?.destroy();
}

// Returns when the bytes have left for the client (so that a cut comes after them) or the client has gone.
async function write(res, bytes) {
	if (!res.destroyed) await Promise.race([res.gone, new Promise((go) => res.write(bytes, go))]);
}

async function writeFrame(res, frame, split) {
	if (!split) return write(res, frame);
	for (const byte of Buffer.from(frame)) await write(res, Buffer.of(byte));
}

function sendJson(res, status, object, headers = {}) {
	res.writeHead(status, { 'content-type': 'application/json', ...headers });
	res.end(JSON.stringify(object));
}

function sendError(req, res, script, Wire) {
	const [status, ...rest] = script.value('http').split(/\s+/);
	const given = Object.fromEntries(rest.map((item) => item.split('=')));
	const headers = {};
	for (const name of ['retry-after', 'retry-after-ms', 'x-should-retry', 'location'])
		if (given[name]) headers[name] = given[name].replaceAll('_', ' ');
	const secret = 'echo-auth' in given ? ` ${Wire.keyOf(req.headers)}` : '';
	sendJson(res, Number(status), Wire.refusal(Number(status), `scripted ${status}${secret}${script.cut(given.message ?? '').join('')}`, given), headers);
}

async function sendStream(res, script, wire, entry) {
	const cutAt = script.number('cut') ?? Infinity;
	const hangAt = script.number('hang-after') ?? Infinity;
	res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
	while (script.has('endless') && !res.destroyed) await write(res, ': still there\n\n'.repeat(4096));
	const frames = framesOf(script, wire);
	let last = performance.now();
	for (const frame of script.has('burst') ? [frames.join('')] : frames) {
		if (entry.chunks >= hangAt || res.destroyed) return;
		if (entry.chunks >= cutAt) return drop(res);
		await writeFrame(res, frame, script.has('split'));
		entry.chunks++;
		entry.longestGapMs = Math.max(entry.longestGapMs ?? 0, performance.now() - last);
		last = performance.now();
		if (script.has('delay')) await sleep(script.number('delay'));
	}
	if (script.has('junk-after-done')) return write(res, 'data: not json\n\n\u0000\u0001junk');
	res.end();
}

const turnsByText = new Map(); // text -> turns that said it, oldest first

function turnsSaying(text, turn) {
	const turns = turnsByText.get(text) ?? [];
	if (!turns.includes(turn)) turns.push(turn);
	turnsByText.set(text, turns);
	return turns;
}

async function complete(req, res, asked, entry, calls) {
	const { Wire } = asked;
	const script = new Script(asked, entry.n);
	script.failFirst(calls);
	if (script.has('fail-turns')) script.failTurns(turnsSaying(asked.text, entry.turn), entry.turn);
	const wire = new Wire(script, entry.n, asked.model ?? 'scripted');
	if (Wire.idHeader) res.setHeader(Wire.idHeader, `req_${entry.n}`);
	if (script.has('limits')) for (const [name, value] of Object.entries(Wire.limits)) res.setHeader(name, value);
	if (script.has('hang')) return;
	if (script.has('first')) await sleep(script.number('first'));
	if (res.destroyed) return;
	if (script.has('http')) return sendError(req, res, script, Wire);
	if (script.has('text')) return res.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>');
	if (script.number('cut') === 0) return drop(res);
	entry.usage = script.has('no-usage') ? null : script.usage();
	if (script.has('json') || !asked.stream) return sendJson(res, 200, wire.whole());
	await sendStream(res, script, wire, entry);
}

class Log {
	constructor(note = () => {}) {
		this.note = note;
		this.reset();
	}

	reset() {
		this.entries = [];
		this.perTurn = new Map();
		this.n = 0;
	}

	// Returns the entry and which call of its turn this is, from 1.
	add(req, body) {
		const turn = req.headers['x-ar-turn'] ?? '';
		const calls = (this.perTurn.get(turn) ?? 0) + 1;
		this.perTurn.set(turn, calls);
		const entry = {
			n: ++this.n, turn, session: req.headers['x-ar-session'], step: req.headers['x-ar-step'],
			requestId: req.headers['x-request-id'], method: req.method, url: req.url, headers: { ...req.headers }, body,
			httpVersion: req.httpVersion, clientPort: req.socket.remotePort,
			startedAt: Date.now(), endedAt: null, status: null, chunks: 0, aborted: null,
		};
		this.entries.push(entry);
		this.note(entry);
		if (this.entries.length > LOG_MAX) this.entries.shift();
		return { entry, calls };
	}

	list(turn) {
		return turn === null ? this.entries : this.entries.filter((e) => e.turn === turn);
	}

	count() {
		return { total: this.n, turns: Object.fromEntries(this.perTurn) };
	}
}

async function readBody(req) {
	const pieces = [];
	for await (const piece of req) pieces.push(piece);
	return Buffer.concat(pieces).toString('utf8');
}

async function handle(log, req, res) {
	const url = new URL(req.url, 'http://localhost');
	const text = await readBody(req);
	if (url.pathname === '/_log') return sendJson(res, 200, { requests: log.list(url.searchParams.get('turn')) });
	if (url.pathname === '/_count') return sendJson(res, 200, log.count());
	if (url.pathname === '/_reset' && req.method === 'POST') return sendJson(res, 200, log.reset() ?? {});
	if (url.pathname === '/v1/models')
		return sendJson(res, 200, { object: 'list', data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'test' }] });
	const Wire = WIRES.find((w) => w.path.test(url.pathname));
	if (!Wire || req.method !== 'POST')
		return sendJson(res, 404, { error: { message: 'no such path', type: 'invalid_request_error', param: null, code: null } });
	let body;
	try {
		body = JSON.parse(text);
	} catch (error) {
		return sendJson(res, 400, { error: { message: String(error), type: 'invalid_request_error', param: null, code: null } });
	}
	const { entry, calls } = log.add(req, body);
	res.gone = new Promise((go) => res.once('close', go));
	res.on('close', () => {
		entry.endedAt = Date.now();
		entry.status = res.headersSent ? res.statusCode : null;
		entry.aborted = !res.writableFinished;
	});
	await complete(req, res, { Wire, ...Wire.read(body, url) }, entry, calls);
}

// options.createServer(listener) lets a test bring TLS or HTTP/2; options.note(entry) hears of every call as it arrives.
export async function start(port = 0, { createServer = http.createServer, host = '127.0.0.1', note } = {}) {
	const log = new Log(note);
	const server = createServer((req, res) => {
		res.socket?.setNoDelay?.(true);
		handle(log, req, res).catch((error) => {
			process.stderr.write(`scripted model: ${error.stack}\n`);
			drop(res);
		});
	});
	const sockets = new Set();
	server.on('connection', (socket) => {
		sockets.add(socket);
		socket.on('close', () => sockets.delete(socket)).on('error', () => {});
	});
	await new Promise((done, fail) => server.once('error', fail).listen(port, host, done));
	const bound = server.address().port;
	const close = () => new Promise((done) => {
		server.close(done);
		for (const socket of sockets) socket.destroy();
	});
	return {
		port: bound, origin: `http://${host}:${bound}`, url: `http://${host}:${bound}/v1`, close,
		log: (turn = null) => log.list(turn), count: () => log.count(), reset: () => log.reset(),
	};
}

function argument(name) {
	const at = process.argv.indexOf(name);
	return at < 0 ? undefined : process.argv[at + 1];
}

function noteInto(file) {
	if (!file) return undefined;
	return ({ turn, session, step, startedAt }) => appendFileSync(file, `${JSON.stringify({ turn, session, step, startedAt })}\n`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
	const options = { host: argument('--host'), note: noteInto(argument('--calls')) };
	const server = await start(Number(argument('--port') ?? 0), options);
	process.stdout.write(`${JSON.stringify({ port: server.port })}\n`);
	for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => server.close().then(() => process.exit(0)));
}
