// A JSON-RPC 2.0 client for tests, over a WebSocket or over the pipes of `agentd stdio`. It trusts nothing: an answer without a question, a second
// answer, an event of a subscription that is not open are noted in `faults`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import WebSocket from 'ws';
import { DEADLINE, Follower } from './follower.mjs';
import { bin, newFolder, storeOf, within, writeConfig } from './runtime.mjs';

const peers = new Set();

after(() => {
	for (const peer of peers) peer.destroy();
});

/** An error response: `code` is the number, `data` the error object of HTTP. */
export class RpcError extends Error {
	constructor({ code, message, data }) {
		super(`${code} ${message}`);
		Object.assign(this, { code, data });
	}
}

/** One connection. A wire gives `write(text)` and `destroy()`, and calls `take(text)` and `over(how)`. */
export class Peer {
	constructor() {
		Object.assign(this, { faults: [], isOver: false, last: 0 });
		this.waiting = new Map(); // id -> what to do with the answer
		this.streams = new Map(); // subscriptionId -> who gets its events
		this.closed = new Promise((done) => (this.onClosed = done));
		peers.add(this);
	}

	take(text) {
		const message = JSON.parse(text);
		for (const part of Array.isArray(message) ? message : [message]) this.part(part, text);
	}

	part(message, text) {
		assert.equal(message.jsonrpc, '2.0', text);
		if (message.method === 'event') this.event(message.params, text);
		else if (message.method === 'subscription.ended') this.ended(message.params);
		else if (message.method) this.faults.push(`nobody knows ${text}`);
		else this.answer(message, text);
	}

	event({ subscriptionId, cursor }, text) {
		const stream = this.streams.get(subscriptionId);
		if (!stream) return this.faults.push(`an event of ${subscriptionId}, which is not open`);
		// The event as it was written: what comes behind `"event":` but for the two braces that end the message.
		stream.event(cursor, text.slice(text.indexOf('"event":') + 8, -2));
	}

	ended({ subscriptionId, cursor, error }) {
		const stream = this.streams.get(subscriptionId);
		if (!stream) return this.faults.push(`the end of ${subscriptionId}, which is not open`);
		this.streams.delete(subscriptionId);
		stream.ended({ cursor, error });
	}

	answer(message, text) {
		const settle = this.waiting.get(message.id);
		if (!settle) return this.faults.push(`an answer that nobody waits for: ${text}`);
		this.waiting.delete(message.id);
		settle(message);
	}

	over(how) {
		this.isOver = true;
		peers.delete(this);
		for (const settle of this.waiting.values()) settle(null);
		for (const stream of this.streams.values()) stream.lost();
		this.onClosed(how);
	}

	request(method, params) {
		const id = ++this.last;
		const answer = new Promise((done) => this.waiting.set(id, done));
		return { message: { jsonrpc: '2.0', id, method, params }, answer };
	}

	async settled(answer, method) {
		const message = await within(answer, DEADLINE);
		if (message === undefined) throw new Error(`${method}: no answer within ${DEADLINE} ms`);
		if (message === null) throw new Error(`${method}: the connection is gone`);
		if (message.error) throw new RpcError(message.error);
		return message.result;
	}

	/** The result; throws RpcError. */
	call(method, params) {
		const { message, answer } = this.request(method, params);
		this.write(JSON.stringify(message));
		return this.settled(answer, method);
	}

	/** Several calls in one message: settled results in their order. */
	batch(...calls) {
		const requests = calls.map(([method, params]) => this.request(method, params));
		this.write(JSON.stringify(requests.map((r) => r.message)));
		return Promise.allSettled(requests.map((r, i) => this.settled(r.answer, calls[i][0])));
	}

	notify(method, params) {
		this.write(JSON.stringify({ jsonrpc: '2.0', method, params }));
	}

	/** Subscribes; `stream` gets event(cursor, json), ended({ cursor, error }) and lost(). Its events cannot come before it is known. */
	async subscribe(params, stream) {
		const { message, answer } = this.request('subscribe_events', params);
		const settle = this.waiting.get(message.id);
		this.waiting.set(message.id, (reply) => {
			if (reply?.result) this.streams.set(reply.result.subscriptionId, stream);
			settle(reply);
		});
		this.write(JSON.stringify(message));
		const { subscriptionId, asOfSequence } = await this.settled(answer, 'subscribe_events');
		stream.asOfSequence = asOfSequence;
		return subscriptionId;
	}

	/** What a correct peer never does was not done. */
	check() {
		assert.deepEqual(this.faults, []);
	}
}

// ---- wires ----

class WsPeer extends Peer {
	constructor(socket) {
		super();
		this.socket = socket;
		socket.on('message', (bytes, isBinary) => (isBinary ? this.faults.push('binary') : this.take(bytes.toString())));
		socket.on('close', (code, reason) => this.over({ code, reason: reason.toString() }));
		socket.on('error', () => {});
	}

	write(text) {
		this.socket.send(text);
	}

	destroy() {
		this.socket.terminate();
	}
}

/** Opens a WebSocket at `url` (http://host:port); rejects with the status of a refusal. */
export function connectWs(url, { protocols = ['agentruntime.v1'], ...options } = {}) {
	return new Promise((done, fail) => {
		const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/rpc`, protocols, { perMessageDeflate: false, ...options });
		socket.once('open', () => done(new WsPeer(socket)));
		socket.once('error', fail);
		socket.once('close', () => fail(new Error('closed before it was open')));
		socket.once('unexpected-response', (request, response) => {
			fail(Object.assign(new Error(`status ${response.statusCode}`), { status: response.statusCode }));
			request.destroy();
		});
	});
}

class StdioPeer extends Peer {
	constructor(child, dataDir) {
		super();
		Object.assign(this, { child, dataDir, stderr: '', pid: child.pid });
		createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => this.take(line));
		child.stderr.on('data', (text) => (this.stderr = (this.stderr + text).slice(-65536)));
		child.stdin.on('error', () => {});
		child.on('close', (code, signal) => this.over({ code, signal }));
	}

	write(text) {
		this.child.stdin.write(`${text}\n`);
	}

	destroy() {
		this.child.kill('SIGKILL');
	}

	/** Says all; how the process ended. */
	async end(ms = 10000) {
		this.child.stdin.end();
		const how = await within(this.closed, ms);
		if (!how) throw new Error(`agentd stdio is still there ${ms} ms after the end of its input:\n${this.stderr}`);
		return how;
	}
}

export function startStdio({ dataDir = newFolder(), model, env = {}, config, args = [] } = {}) {
	const words = ['stdio', '--data-dir', join(dataDir, 'data'), ...args];
	if (config) words.push('--config', writeConfig(dataDir, config));
	const all = { PATH: process.env.PATH, HOME: '/nonexistent', AGENTD_SYSTEM_PROMPT: 'none', ...storeOf(dataDir), ...env };
	for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS']) if (process.env[name]) all[name] = process.env[name];
	if (model) all.OPENAI_BASE_URL = model.url;
	return new StdioPeer(spawn(join(bin, 'agentd'), words, { env: all, stdio: ['pipe', 'pipe', 'pipe'] }), dataDir);
}

// ---- following ----

/** The same reader, whatever it reads, with frames that come as notifications: `open()` subscribes at the peer that `connect()` gives. */
export const overRpc = (Reader) =>
	class extends Reader {
		params() {
			return { sessionId: this.sessionId, view: this.view };
		}

		async open() {
			this.peer = await this.connect();
			const params = this.params();
			if (this.cursor) params.after = this.cursor;
			await this.peer.subscribe(params, {
				event: (cursor, json) => this.take(`id: ${cursor}\ndata: ${json}\n\n`),
				ended: (how) => {
					this.how = how;
					this.closed();
				},
				lost: () => this.closed(),
			});
			this.isOpen = true;
			this.connections++;
			return this;
		}

		cut() {
			this.peer?.destroy();
		}
	};

/** A follower of one session over JSON-RPC. */
export class RpcFollower extends overRpc(Follower) {
	constructor(connect, sessionId, options) {
		super(null, sessionId, options);
		this.connect = connect;
	}
}
