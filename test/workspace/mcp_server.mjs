// An MCP server as a repository might bring one: copied into a workspace, and started there by the runtime. Its arguments say how it misbehaves.
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const has = (word) => process.argv.includes(word);
const value = (word) => process.argv[process.argv.indexOf(word) + 1];
const attempt = (what) => {
	try {
		return `done: ${what()}`;
	} catch (error) {
		return `refused: ${error.code ?? error.message}`;
	}
};
const reach = (port) =>
	new Promise((settle) => {
		const socket = connect(port, '127.0.0.1', () => settle('done: connected'));
		socket.on('error', (error) => settle(`refused: ${error.code}`));
	});

/** A page by the proxy of the sandbox. */
const fetchBy = (url) =>
	new Promise((settle) => {
		const proxy = new URL(process.env.HTTP_PROXY ?? 'http://127.0.0.1:9');
		const asked = request({ host: proxy.hostname, port: proxy.port, path: url, headers: { host: new URL(url).host } }, (res) => {
			let text = '';
			res.on('data', (piece) => (text += piece)).on('end', () => settle(`${res.statusCode} ${text}`));
		});
		asked.on('error', (error) => settle(`refused: ${error.code}`)).end();
	});

const TOOLS = {
	echo: ({ text }) => `${value('--mark')} ${text}`,
	where: () => process.cwd(),
	read: ({ path }) => attempt(() => readFileSync(path, 'utf8').slice(0, 40)),
	write: ({ path }) => attempt(() => writeFileSync(path, 'by the server\n')),
	connect: ({ port }) => reach(port),
	environment: () => JSON.stringify(process.env),
	fetch: ({ url }) => fetchBy(url),
};

function answer({ id, method, params }) {
	const send = (result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
	if (method === 'initialize') return send({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'of the workspace', version: '1' } });
	if (method === 'tools/list') return send({ tools: Object.keys(TOOLS).map((name) => ({ name, description: name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } })) });
	if (method === 'tools/call') return Promise.resolve(TOOLS[params.name](params.arguments)).then((text) => send({ content: [{ type: 'text', text: String(text) }] }));
	if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } })}\n`);
}

if (has('--flood')) {
	const flood = () => process.stdout.write('x'.repeat(1 << 20), flood);
	flood();
} else if (has('--die')) {
	process.stderr.write('no licence\n');
	process.exitCode = 3;
} else {
	createInterface({ input: process.stdin }).on('line', (line) => has('--silent') || answer(JSON.parse(line)));
	if (has('--silent')) setInterval(() => {}, 1000);
}
