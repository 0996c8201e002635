// A remote agent that does what a test says, and the driver of the client (bin/ar-peer) against it.
import { execFile } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { bin } from '../lib/runtime.mjs';

export const json = (res, body, status = 200, headers = {}) => {
	const text = typeof body === 'string' ? body : JSON.stringify(body);
	res.writeHead(status, { 'content-type': 'application/json', ...headers });
	res.end(text);
};

export const task = (id, state, more = {}) => ({ id, contextId: 'C', status: { state }, ...more });

export function cardOf(origin, more = {}) {
	return {
		name: 'stub', description: 'a stub', version: '1', defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
		capabilities: { streaming: true }, skills: [],
		supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
		...more,
	};
}

// handlers: { card(req, res, origin), rpc(req, res, message), ...path: (req, res, body) }
export async function startStub(t, handlers) {
	const requests = [];
	const sockets = new Set();
	const server = http.createServer((req, res) => {
		const chunks = [];
		req.on('data', (c) => chunks.push(c));
		req.on('end', () => {
			const body = Buffer.concat(chunks).toString();
			const url = new URL(req.url, 'http://x');
			requests.push({ method: req.method, path: req.url, headers: req.headers, body });
			if (url.pathname === '/.well-known/agent-card.json')
				return handlers.card ? handlers.card(req, res, stub.origin) : json(res, cardOf(stub.origin, handlers.cardMore));
			if (url.pathname === '/rpc' && handlers.rpc) return handlers.rpc(req, res, JSON.parse(body));
			if (handlers.http) return handlers.http(req, res, body);
			return json(res, {}, 404);
		});
	});
	server.on('connection', (s) => {
		sockets.add(s);
		s.on('close', () => sockets.delete(s));
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	const stub = { origin: `http://127.0.0.1:${server.address().port}`, requests, server };
	t.after(() => new Promise((done) => {
		for (const s of sockets) s.destroy();
		server.close(done);
	}));
	return stub;
}

// Runs one operation; gives the updates, the troubles and the end.
export function drive(op, url, options = {}) {
	const args = [op, url, ...Object.entries(options).map(([k, v]) => `${k}=${v}`)];
	return new Promise((done, fail) => {
		execFile(path.join(bin, 'ar-peer'), args, { timeout: 18000, maxBuffer: 1 << 26 }, (err, stdout, stderr) => {
			if (err) return fail(new Error(`ar-peer ${op}: ${err.message} ${stderr}`));
			const lines = stdout.trim().split('\n').map((l) => JSON.parse(l));
			done({
				updates: lines.filter((l) => l.update).map((l) => l.update),
				troubles: lines.filter((l) => l.trouble),
				end: lines.find((l) => l.error),
			});
		});
	});
}

export const result = (message, value) => ({ jsonrpc: '2.0', id: message.id, result: value });
export const rpcError = (message, code, text = 'no') => ({ jsonrpc: '2.0', id: message.id, error: { code, message: text } });

export function openStream(res) {
	res.writeHead(200, { 'content-type': 'text/event-stream' });
	return (value) => res.write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
}
