// The MCP client over Streamable HTTP against a server of the test's own: sessions that are forgotten, streams that break, statuses, garbage.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { probe, sleep, waitFor } from './mcp.mjs';

const TOOLS = [{ name: 'do', inputSchema: { type: 'object' } }];

// A legacy server; `onCall(res, message, server)` answers tools/call.
class Legacy {
	requests = [];
	sessions = new Set();
	made = 0;
	calls = 0;

	constructor(onCall, more = {}) {
		this.onCall = onCall;
		this.more = more;
		this.server = http.createServer((req, res) => {
			let body = '';
			req.on('data', (bytes) => (body += bytes));
			req.on('end', () => this.#take(req, res, body ? JSON.parse(body) : undefined));
			res.on('error', () => {});
		});
	}

	async start(t) {
		await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
		t.after(() => {
			this.server.close();
			this.server.closeAllConnections();
		});
		this.url = `http://127.0.0.1:${this.server.address().port}/mcp`;
		return this;
	}

	json(res, message, status = 200, headers = {}) {
		res.writeHead(status, { 'content-type': 'application/json', ...headers });
		res.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
	}

	events(res, headers = {}) {
		res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
		res.flushHeaders();
		return (message, id, more = '') => res.write(`${more}${id ? `id: ${id}\n` : ''}data: ${message ? JSON.stringify({ jsonrpc: '2.0', ...message }) : ''}\n\n`);
	}

	#take(req, res, message) {
		this.requests.push({ method: req.method, rpc: message?.method, headers: req.headers, id: message?.id, message });
		const session = req.headers['mcp-session-id'];
		if (this.more.before?.(req, res, message, this)) return;
		if (req.method === 'DELETE') {
			this.sessions.delete(session);
			res.writeHead(200).end();
		} else if (req.method === 'GET') {
			this.#get(req, res);
		} else if (message.method === 'initialize') {
			const id = `session-${++this.made}`;
			this.sessions.add(id);
			this.json(res, { id: message.id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} } }, 200, { 'Mcp-Session-Id': id });
		} else if (!this.sessions.has(session)) {
			this.json(res, { id: null, error: { code: -32001, message: 'Session not found' } }, this.more.forgotten ?? 404);
		} else if (message.id === undefined || !message.method) {
			res.writeHead(202).end();
		} else if (message.method === 'tools/list') {
			this.json(res, { id: message.id, result: { tools: TOOLS } });
		} else {
			this.calls++;
			this.onCall(res, message, this);
		}
	}

	#get(req, res) {
		if (this.more.onGet) this.more.onGet(req, res, this);
		else res.writeHead(405).end();
	}
}

async function serve(t, onCall, more, options = {}) {
	const server = await new Legacy(onCall, more).start(t);
	const p = probe(t, { url: server.url, ...options });
	await p.ready();
	return { server, p };
}

const answer = (res, message, server) => server.json(res, { id: message.id, result: { content: [{ type: 'text', text: 'did' }] } });

test('headers, session, DELETE at the end', async (t) => {
	const { server, p } = await serve(t, answer, {}, { headers: ['Authorization: Bearer tok', 'X-Evil: a\r\nInjected: yes'] });
	assert.equal((await p.call('s_do')).text, 'did');
	await p.close();
	const of = (rpc) => server.requests.find((r) => r.rpc === rpc).headers;
	assert.equal(of('initialize')['mcp-session-id'], undefined);
	assert.equal(of('initialize')['mcp-protocol-version'], undefined);
	for (const rpc of ['notifications/initialized', 'tools/list', 'tools/call']) {
		assert.equal(of(rpc)['mcp-session-id'], 'session-1');
		assert.equal(of(rpc)['mcp-protocol-version'], '2025-11-25');
		assert.equal(of(rpc)['mcp-method'], undefined);
		assert.match(of(rpc).accept, /application\/json, text\/event-stream/);
	}
	for (const { headers } of server.requests) {
		assert.equal(headers.authorization, 'Bearer tok');
		assert.equal(headers.injected, undefined);
		assert.equal(headers.expect, undefined);
	}
	assert.equal(server.requests.at(-1).method, 'DELETE');
	assert.equal(server.sessions.size, 0);
});

for (const forgotten of [404, 400]) {
	test(`a session that is forgotten (${forgotten}): a new one, and the call is made once`, async (t) => {
		const { server, p } = await serve(t, answer, { forgotten });
		server.sessions.clear();
		assert.equal((await p.call('s_do')).text, 'did');
		assert.equal(server.calls, 1);
		assert.equal(server.made, 2);
		await p.close();
	});
}

test('a server that forgets every session: the call says that it did not run', async (t) => {
	const { server, p } = await serve(t, answer, { before: (req, res, message, s) => message?.method === 'tools/call' && s.sessions.clear() });
	const end = await p.call('s_do');
	assert.equal(end.outcome, 'not_run');
	assert.equal(server.calls, 0);
	await p.close();
});

// How each breaking point of a call's answer reads.
const BREAKS = {
	'cut before any byte': [(res) => res.socket.destroy(), 'lost'],
	'cut after the headers': [(res, m, s) => (s.events(res), setTimeout(() => res.socket.destroy(), 30)), 'lost'],
	'cut in the middle of a JSON body': [(res) => (res.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }), res.write('{"jsonrpc"'), setTimeout(() => res.socket.destroy(), 30)), 'lost'],
	'a stream that ends without an answer and without ids': [(res, m, s) => (s.events(res)({ method: 'notifications/message', params: {} }), res.end()), 'lost'],
	'half an event': [(res, m, s) => (s.events(res), res.write('data: {"jsonrpc":"2.0","id"'), setTimeout(() => res.end(), 30)), 'lost'],
	'a body that is no JSON': [(res) => res.writeHead(200, { 'content-type': 'application/json' }).end('<html>'), 'lost'],
	'an answer to something else': [(res, m, s) => s.json(res, { id: 4711, result: {} }), 'lost'],
	'202 without an answer': [(res) => res.writeHead(202).end(), 'lost'],
	'500': [(res) => res.writeHead(500).end('oops'), 'lost'],
	'502': [(res) => res.writeHead(502).end(), 'lost'],
	'401': [(res) => res.writeHead(401, { 'www-authenticate': 'Bearer' }).end(), 'not_run', 'auth'],
	'403': [(res) => res.writeHead(403).end(), 'not_run', 'auth'],
	'429': [(res) => res.writeHead(429).end(), 'not_run', 'overloaded'],
	'503': [(res) => res.writeHead(503).end(), 'not_run', 'overloaded'],
	'a redirect is not followed': [(res) => res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(), 'not_run'],
	'an error with status 200': [(res, m, s) => s.json(res, { id: m.id, error: { code: -32602, message: 'no such tool' } }), 'not_run'],
	'an error with status 422': [(res, m, s) => s.json(res, { id: null, error: { code: -32602, message: 'no such tool' } }, 422), 'not_run'],
	'an answer over the cap': [(res, m, s) => s.json(res, { id: m.id, result: { content: [{ type: 'text', text: 'x'.repeat(9 << 20) }] } }), 'lost'],
	'an event over the cap': [(res, m, s) => (s.events(res)({ id: m.id, result: { content: [{ type: 'text', text: 'x'.repeat(9 << 20) }] } }), res.end()), 'lost'],
};

for (const [name, [onCall, outcome, category]] of Object.entries(BREAKS)) {
	test(name, async (t) => {
		const { server, p } = await serve(t, onCall);
		const end = await p.call('s_do');
		assert.equal(end.outcome, outcome, JSON.stringify(end));
		if (category) assert.equal(end.category, category);
		assert.ok(end.message.startsWith("MCP server 's'") || outcome === 'not_run', end.message);
		assert.equal(server.calls, 1, 'never sent twice');
		// The connection is as good as before.
		server.onCall = answer;
		assert.equal((await p.call('s_do')).text, 'did');
		await p.close();
	});
}

test('a broken stream is gone on with where it broke, and the call is made once', async (t) => {
	let message;
	const seen = [];
	const onGet = (req, res, s) => {
		const last = req.headers['last-event-id'];
		if (!last) return res.writeHead(405).end();
		seen.push(last);
		const send = s.events(res);
		if (seen.length < 3) {
			send({ method: 'notifications/progress', params: { progressToken: message.id, progress: seen.length, total: 4 } }, `e${seen.length + 1}`);
			return setTimeout(() => res.socket.destroy(), 20);
		}
		send({ id: message.id, result: { content: [{ type: 'text', text: 'at last' }] } });
		return res.end();
	};
	const onCall = (res, m, s) => {
		message = m;
		s.events(res)(undefined, 'e1', 'retry: 20\n');
		setTimeout(() => res.socket.destroy(), 20);
	};
	const { server, p } = await serve(t, onCall, { onGet });
	const n = p.start('s_do');
	assert.equal((await p.done(n)).text, 'at last');
	assert.deepEqual(seen, ['e1', 'e2', 'e3']);
	assert.deepEqual(p.lines.filter((l) => l.on === 'progress').map((l) => l.percent), [25, 50]);
	assert.equal(server.calls, 1);
	await p.close();
});

test('what the server says on the standing stream: a change, a question, an answer', async (t) => {
	let send;
	const onGet = (req, res, s) => (send = s.events(res));
	const { server, p } = await serve(t, () => {}, { onGet });
	await waitFor(() => send, 'the standing stream');
	const n = p.start('s_do');
	await waitFor(() => server.calls === 1, 'the call');
	send({ id: 77, method: 'elicitation/create', params: { mode: 'form', message: 'sure?', requestedSchema: { type: 'object', properties: {} } } });
	const q = await p.question(n);
	p.do({ do: 'answer', n, question: q.id, kind: 'decline' });
	const said = await waitFor(() => server.requests.find((r) => r.message?.id === 77), 'the answer');
	assert.deepEqual(said.message.result, { action: 'decline' });
	const { id } = server.requests.find((r) => r.rpc === 'tools/call');
	send({ id, result: { content: [{ type: 'text', text: 'over there' }] } });
	assert.equal((await p.done(n)).text, 'over there');
	TOOLS.push({ name: 'more', inputSchema: { type: 'object' } });
	t.after(() => TOOLS.pop());
	send({ method: 'notifications/tools/list_changed' });
	await p.until((l) => l.on === 'changed' && l.tools.length === 2);
	await p.close();
});

test('cancel: the server is told, its stream is closed', async (t) => {
	let closed = false;
	const { server, p } = await serve(t, (res, m, s) => {
		s.events(res);
		res.on('close', () => (closed = true));
	});
	const n = p.start('s_do');
	await waitFor(() => server.calls === 1, 'the call');
	p.do({ do: 'cancel', n });
	assert.equal((await p.done(n)).outcome, 'cancelled');
	await waitFor(() => closed, 'the stream is closed');
	const told = await waitFor(() => server.requests.find((r) => r.rpc === 'notifications/cancelled'), 'the server is told');
	assert.equal(told.message.params.requestId, server.requests.find((r) => r.rpc === 'tools/call').id);
	await p.close();
});

test('nobody there any more: it did not run; back again: it does', async (t) => {
	const { server, p } = await serve(t, answer);
	const { port } = server.server.address();
	server.server.closeAllConnections();
	await new Promise((done) => server.server.close(done));
	const end = await p.call('s_do');
	assert.deepEqual([end.outcome, end.category, end.retryable], ['not_run', 'network', true]);
	await new Promise((done) => server.server.listen(port, '127.0.0.1', done));
	server.sessions.clear();
	assert.equal((await p.call('s_do')).text, 'did');
	await p.close();
});

test('a login is asked for at the beginning: the trouble says what to do', async (t) => {
	const server = await new Legacy(answer, { before: (req, res) => res.writeHead(401).end() }).start(t);
	const p = probe(t, { url: server.url });
	assert.match((await p.ready()).trouble, /set a header with a token/);
	await sleep(50);
	await p.close();
});

// A server of the modern era, byte by byte; `onCall(res, message)` answers tools/call.
async function serveModern(t, onCall) {
	const requests = [];
	const results = {
		'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
		'tools/list': { tools: [{ name: 'grüße', inputSchema: { type: 'object' } }] },
	};
	const server = http.createServer((req, res) => {
		let body = '';
		req.on('data', (bytes) => (body += bytes));
		req.on('end', () => {
			const message = body ? JSON.parse(body) : undefined;
			requests.push({ method: req.method, headers: req.headers, message });
			if (message?.method === 'tools/call') return onCall(res, message);
			res.writeHead(results[message?.method] ? 200 : 404, { 'content-type': 'application/json' });
			return res.end(JSON.stringify({ jsonrpc: '2.0', id: message?.id, result: { resultType: 'complete', ...results[message?.method] } }));
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	t.after(() => {
		server.close();
		server.closeAllConnections();
	});
	const p = probe(t, { url: `http://127.0.0.1:${server.address().port}/mcp` });
	await p.ready();
	return { p, requests };
}

test('modern: headers repeat what the message says; no session, no GET, no DELETE', async (t) => {
	const { p, requests } = await serveModern(t, (res, m) => {
		res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'none of that' });
		res.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { content: [] } }));
	});
	assert.equal((await p.call('s_gr__e')).outcome, 'not_run');
	const { name } = p.tools()[0];
	assert.equal((await p.call(name)).outcome, 'ok');
	await p.close();
	for (const { method, headers, message } of requests) {
		assert.equal(method, 'POST');
		assert.equal(headers['mcp-method'], message.method);
		assert.equal(headers['mcp-protocol-version'], '2026-07-28');
		assert.equal(headers['mcp-session-id'], undefined);
		assert.equal(message.params._meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
	}
	const call = requests.find(({ message }) => message.method === 'tools/call');
	assert.equal(call.headers['mcp-name'], `=?base64?${Buffer.from('grüße').toString('base64')}?=`);
});

test('modern: a stream that breaks is not gone on with, and a result of an unknown kind is an error', async (t) => {
	let broken = true;
	const { p, requests } = await serveModern(t, (res, m) => {
		res.writeHead(200, { 'content-type': 'text/event-stream' });
		if (!broken) return res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { resultType: 'hologram' } })}\n\n`);
		res.write('id: 7\nretry: 1\ndata: \n\n');
		return setTimeout(() => res.socket.destroy(), 30);
	});
	const { name } = p.tools()[0];
	assert.equal((await p.call(name)).outcome, 'lost');
	await sleep(100);
	assert.ok(requests.every(({ method }) => method === 'POST'));
	broken = false;
	const end = await p.call(name);
	assert.deepEqual([end.outcome, end.category], ['error', 'protocol']);
	await p.close();
});
