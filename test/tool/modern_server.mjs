// A server of the modern era (revision 2026-07-28) made with the official SDK: `node modern_server.mjs stdio` or `... PORT`.
// Its tool list changes when `grow` is called.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let grown = 0;
let announce = () => {};

function addSimple(server) {
	const numbers = z.object({ a: z.number(), b: z.number() });
	server.registerTool(
		'add',
		{ description: 'adds', inputSchema: numbers, outputSchema: z.object({ sum: z.number() }), annotations: { readOnlyHint: true } },
		async ({ a, b }) => ({ ...text(a + b), structuredContent: { sum: a + b } }),
	);
	server.registerTool('slow', { description: 'takes n steps', inputSchema: z.object({ n: z.number() }) }, async ({ n }, ctx) => {
		const progressToken = ctx?.mcpReq?._meta?.progressToken;
		for (let progress = 1; progress <= n; progress++) {
			await sleep(100);
			if (progressToken !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: n } });
		}
		return text('done');
	});
	server.registerTool('fail', { description: 'fails', inputSchema: z.object({}) }, async () => {
		throw new Error('it cannot be done');
	});
	server.registerTool('grow', { description: 'adds a tool', inputSchema: z.object({}) }, async () => {
		grown++;
		setTimeout(() => announce(), 50);
		return text('grown');
	});
}

function addAsking(server) {
	const form = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer', default: 7 } }, required: ['name'] };
	server.registerTool('ask', { description: 'asks for a name', inputSchema: z.object({}) }, async (_, ctx) => {
		const answer = ctx?.mcpReq?.inputResponses?.q;
		if (answer) return text(JSON.stringify(answer));
		return inputRequired({
			inputRequests: { q: inputRequired.elicit({ mode: 'form', message: 'name?', requestedSchema: form }) },
			requestState: 'state "1"',
		});
	});
}

function make() {
	const server = new McpServer({ name: 'modern-peer', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
	addSimple(server);
	addAsking(server);
	for (let i = 1; i <= grown; i++) server.registerTool(`extra${i}`, { description: 'more', inputSchema: z.object({}) }, async () => text(i));
	return server;
}

if (process.argv[2] === 'stdio') {
	serveStdio(make);
} else {
	const handler = createMcpHandler(make);
	announce = () => handler.notify.toolsChanged();
	createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');
}
