// An MCP server over stdio that behaves and misbehaves as its tools and arguments say; no SDK, so that every byte is its own.
//   node scripted_server.mjs [--mark TEXT] [--modern] [--stubborn] [--grandchild] [--cut N] [--die-on METHOD] [--silent METHOD]
//                            [--garbage] [--pages N] [--endless] [--tools N] [--old VERSION] [--log FILE] [--chatter] [--fail-start] [--ends FILE]
//                            [--more FILE]
//   --more FILE    offers the tools of this JSON list too, read again for each tools/list; calls to them answer their name
//   --cut N        exits after N bytes of its output, in the middle of whatever it says
//   --ends FILE    writes there how many bytes it had said at the end of each message
//   --stubborn     ignores the end of its input and SIGTERM;  --grandchild  starts one more process of that kind
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ECHO_SCHEMA } from './echo_schema.mjs';

const args = process.argv.slice(2);
const has = (name) => args.includes(`--${name}`);
const value = (name) => (has(name) ? args[args.indexOf(`--${name}`) + 1] : undefined);
const number = (name, otherwise) => Number(value(name) ?? otherwise);

let left = number('cut', Infinity);
let said = 0;
function write(text) {
	said += Buffer.byteLength(text);
	if (value('ends')) appendFileSync(value('ends'), `${said}\n`);
	if (Buffer.byteLength(text) <= left) {
		left -= Buffer.byteLength(text);
		process.stdout.write(text);
		if (left > 0) return;
	} else {
		process.stdout.write(Buffer.from(text).subarray(0, left));
	}
	process.stdout.write('', () => process.exit(3));
	left = -1;
}
const send = (message) => left >= 0 && write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const log = (entry) => value('log') && appendFileSync(value('log'), `${JSON.stringify(entry)}\n`);
const text = (t) => ({ content: [{ type: 'text', text: t }] });

const waiting = new Map(); // our requests
let asked = 0;
let extra = 0;
function ask(method, params) {
	const id = `ask-${++asked}`;
	send({ id, method, params });
	return new Promise((done) => waiting.set(id, done));
}

const FORM = { message: 'which?', requestedSchema: { type: 'object', properties: { which: { type: 'string' } }, required: ['which'] } };

const TOOLS = {
	echo: ({ text: t }) => text(String(t)),
	env: () => text(JSON.stringify(process.env)),
	pid: () => text(String(process.pid)),
	hang: () => new Promise(() => {}),
	die: () => process.exit(7),
	complain_and_die: () => {
		process.stderr.write('out of cheese\n', () => process.exit(9));
		return new Promise(() => {});
	},
	close_output: () => {
		process.stdout.end();
		return new Promise(() => {});
	},
	refuse: ({ code }) => Promise.reject({ code, message: 'no' }),
	ask: async () => text(JSON.stringify(await ask('elicitation/create', { mode: 'form', ...FORM }))),
	ask_page: async () => text(JSON.stringify(await ask('elicitation/create', { mode: 'url', message: 'log in', url: 'https://example.org/x', elicitationId: 'e1' }))),
	ask_badly: async () => text(JSON.stringify(await ask('elicitation/create', { mode: 'url', message: 'log in', url: 'file:///etc/passwd' }))),
	sample: async () => text(JSON.stringify(await ask('sampling/createMessage', { messages: [], maxTokens: 1 }))),
	roots: async () => text(JSON.stringify(await ask('roots/list', {}))),
	ping: async () => text(JSON.stringify(await ask('ping', {}))),
	page_first: (_, state) => {
		state.visits = (state.visits ?? 0) + 1;
		if (state.visits > 1) return text('let in');
		return Promise.reject({ code: -32042, message: 'first', data: { elicitations: [{ mode: 'url', message: 'log in', url: 'https://example.org/in', elicitationId: 'e2' }] } });
	},
	big: ({ bytes }) => text('x'.repeat(bytes)),
	noise: () => {
		write('this is no JSON\n{"jsonrpc":"2.0"}\n[]\n"x"\n\n{"jsonrpc":"2.0","id":{"a":1},"method":"x"}\n');
		write('{"jsonrpc":"2.0","id":99999,"result":{}}\n{"jsonrpc":"2.0","id":"7","result":{}}\n{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"zz"}}\n');
		return text('after the noise');
	},
	wrong_shape: () => ({ content: [{ type: 'hologram' }, 7, { type: 'text' }, { type: 'image', data: 5 }, { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }] }),
	empty: () => ({}),
	rows: () => ({ content: [], structuredContent: [1, 2] }),
	grow: () => {
		extra++;
		send({ method: 'notifications/tools/list_changed' });
		return text('grown');
	},
	photo: async ({ until }, _, { progressToken }) => {
		for (let progress = 1; !existsSync(until); progress++) {
			send({ method: 'notifications/progress', params: { progressToken, progress, message: `look ${progress}` } });
			await new Promise((done) => setTimeout(done, 50));
		}
		return { content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' }] };
	},
	ask_outside: () => {
		setTimeout(async () => log({ outside: await ask('elicitation/create', { mode: 'form', ...FORM }) }), 50);
		return text('later');
	},
};

const state = {};
const more = () => (value('more') ? JSON.parse(readFileSync(value('more'), 'utf8')) : []);
function list(params) {
	const names = [...Object.keys(TOOLS), ...Array.from({ length: extra }, (_, i) => `extra${i}`), ...Array.from({ length: number('tools', 0) }, (_, i) => `many${i}`)];
	const all = [...names.map((name) => ({ name, inputSchema: name === 'echo' ? ECHO_SCHEMA : { type: 'object' } })), ...more()];
	if (has('endless')) return { tools: [], nextCursor: `${Math.random()}` };
	const pages = number('pages', 1);
	const page = Number(params?.cursor ?? 0);
	const size = Math.ceil(all.length / pages);
	return { tools: all.slice(page * size, (page + 1) * size), ...(page + 1 < pages ? { nextCursor: String(page + 1) } : {}) };
}

const METHODS = {
	initialize: (params) => ({ protocolVersion: value('old') ?? params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'scripted', version: '1' } }),
	'tools/list': list,
	'tools/call': async ({ name, arguments: a, _meta: meta }) => {
		if (name.startsWith('many') || name.startsWith('extra') || more().some((tool) => tool.name === name)) return text(name);
		if (!TOOLS[name]) throw { code: -32602, message: `no tool ${name}` };
		return TOOLS[name](a ?? {}, state, meta ?? {});
	},
};
if (has('modern')) METHODS['server/discover'] = () => ({ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });

async function take(message) {
	log(message);
	if (!message.method) {
		waiting.get(message.id)?.(message.result ?? { error: message.error });
		return;
	}
	if (message.method === value('die-on')) process.exit(5);
	if (message.id === undefined || message.method === value('silent')) return;
	try {
		if (!METHODS[message.method]) throw { code: -32601, message: 'Method not found' };
		send({ id: message.id, result: await METHODS[message.method](message.params) });
	} catch (error) {
		send({ id: message.id, error: { code: error.code ?? -32603, message: error.message ?? 'x', data: error.data } });
	}
}

if (has('fail-start')) {
	process.stderr.write('no such setting: cheese\n');
	process.exit(1);
}
if (has('stubborn')) {
	process.on('SIGTERM', () => {});
	setInterval(() => {}, 1000);
}
if (has('grandchild')) spawn(process.execPath, [process.argv[1], '--stubborn', '--mark', value('mark')], { stdio: 'ignore' });
if (has('chatter')) process.stdout.write('scripted server starts\n');
if (has('garbage')) setInterval(() => write('garbage\n'.repeat(50)), 5);
createInterface({ input: process.stdin })
	.on('line', (line) => take(JSON.parse(line)))
	.on('close', () => has('stubborn') || process.exit(0));
