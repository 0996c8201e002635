// A daemon that says to its workers what the test wants, over a WebSocket of its own.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { waitFor } from '../lib/runtime.mjs';

/** A message of a link: texts are pieces of the bytes behind the head. */
export function message(op, members = {}, texts = {}) {
	const head = { op, ...members };
	let bytes = '';
	for (const [name, text] of Object.entries(texts)) {
		head[name] = [bytes.length, text.length];
		bytes += text;
	}
	if (bytes) head.size = bytes.length;
	const json = Buffer.from(JSON.stringify(head)), length = Buffer.alloc(4);
	length.writeUInt32BE(json.length);
	return Buffer.concat([length, json, Buffer.from(bytes)]);
}

function frame(bytes, first = 0x82) {
	const n = bytes.length;
	const head = n < 126 ? Buffer.from([first, n]) : n < 65536 ? Buffer.from([first, 126, n >> 8, n & 255]) : Buffer.concat([Buffer.from([first, 127, 0, 0, 0, 0]), Buffer.from(n.toString(16).padStart(8, '0'), 'hex')]);
	return Buffer.concat([head, bytes]);
}

/** Answers enrolment and upgrades as a daemon does; what workers say is in `said`. */
export class LyingDaemon {
	/** `node`: the address that it says it has; `nodes`: those that it names. */
	constructor({ node, nodes } = {}) {
		Object.assign(this, { node, nodes, said: [], links: 0, refs: 0, isDenying: false });
		this.server = http.createServer((req, res) => {
			req.resume().on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ workerId: 'wk_lied', token: 'art_of_the_worker' })));
		});
		this.server.on('upgrade', (req, socket) => this.take(req, socket));
	}

	async listen() {
		await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
		this.url = `http://127.0.0.1:${this.server.address().port}`;
		return this;
	}

	close() {
		this.socket?.destroy();
		this.server.closeAllConnections();
		this.server.close();
	}

	take(req, socket) {
		this.authorization = req.headers.authorization;
		if (this.isDenying) return socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		const accept = createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
		this.links++;
		this.socket = socket;
		const node = this.node ? `Agent-Runtime-Node: ${this.node}\r\n` : '';
		socket.on('error', () => {}).write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: agentruntime.worker.1\r\n${node}\r\n`);
		let rest = Buffer.alloc(0);
		socket.on('data', (piece) => { rest = this.read(Buffer.concat([rest, piece])); });
	}

	/** Masked frames of a client, which may be cut anywhere. */
	read(rest) {
		while (rest.length >= 2) {
			const short = rest[1] & 127, at = short < 126 ? 2 : short === 126 ? 4 : 10;
			if (rest.length < at + 4) break;
			const n = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
			if (rest.length < at + 4 + n) break;
			assert.ok(rest[1] & 128, 'a client masks');
			const mask = rest.subarray(at, at + 4), bytes = Buffer.from(rest.subarray(at + 4, at + 4 + n).map((b, i) => b ^ mask[i % 4]));
			if ((rest[0] & 15) === 2) this.hear(bytes);
			rest = rest.subarray(at + 4 + n);
		}
		return rest;
	}

	hear(bytes) {
		const length = bytes.readUInt32BE(0), head = JSON.parse(bytes.subarray(4, 4 + length)), text = bytes.subarray(4 + length).toString('latin1');
		for (const [name, value] of Object.entries(head)) if (Array.isArray(value) && value.length === 2 && name !== 'images') head[name] = text.substr(value[0], value[1]);
		this.said.push(head);
		if (head.op === 'hello') this.send(message('welcome', { leaseMs: 60000, heartbeatMs: 200, daemonId: 'd1', generation: 1, ...(this.nodes && { nodes: this.nodes }) }));
		if (head.op === 'ping') this.send(message('pong', { n: head.n }));
	}

	send(bytes, first) { this.socket.write(frame(bytes, first)); }

	/** The result of a call. */
	async call(kind, members, texts, isKept = false) {
		const ref = `ref${++this.refs}`;
		this.send(message('call', { ref, kind, leftMs: 20000, ...members }, texts));
		const done = await waitFor(() => this.said.find((m) => m.ref === ref && !['began', 'progress'].includes(m.op)), () => `${ref}: ${JSON.stringify(this.said.slice(-3))}`, 30000);
		if (!isKept) this.send(message('ack', { ref }));
		return done;
	}
}
