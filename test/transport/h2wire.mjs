// HTTP/2 in raw frames, for clients that do not behave. Header blocks are literal: nothing is compressed unless a test does it.
import net from "node:net";
import { onEnd } from "./probe.mjs";

export const TYPE = { DATA: 0, HEADERS: 1, PRIORITY: 2, RST: 3, SETTINGS: 4, PUSH: 5, PING: 6, GOAWAY: 7, WINDOW: 8, CONTINUATION: 9 };
export const FLAG = { END_STREAM: 1, ACK: 1, END_HEADERS: 4 };
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
	const head = Buffer.alloc(9);
	head.writeUIntBE(payload.length, 0, 3);
	head.writeUInt8(type, 3);
	head.writeUInt8(flags, 4);
	head.writeUInt32BE(stream, 5);
	return Buffer.concat([head, payload]);
}
export const u32 = (...values) => Buffer.concat(values.map((v) => { const b = Buffer.alloc(4); b.writeUInt32BE(v >>> 0); return b; }));
const string = (text) => { const b = Buffer.from(text, "latin1"); if (b.length > 126) throw new Error("too long"); return Buffer.concat([Buffer.from([b.length]), b]); };
// A field that is not to be indexed, by name.
export const field = (name, value) => Buffer.concat([Buffer.from([0]), string(name), string(value)]);
export const request = (path, method = "GET", more = method === "POST" ? [field("content-type", "application/json")] : []) =>
	Buffer.concat([field(":method", method), field(":scheme", "http"), field(":path", path), field(":authority", "localhost"), ...more]);

export class H2Wire {
	constructor(port, { greet = true } = {}) {
		this.frames = [];
		this.closed = false;
		this.rest = Buffer.alloc(0);
		this.socket = net.connect(port, "127.0.0.1");
		onEnd(() => this.socket.destroy());
		this.socket.setMaxListeners(0).on("data", (bytes) => this.read(bytes));
		for (const event of ["error", "end", "close"]) this.socket.on(event, () => { this.closed = true; });
		if (greet) this.send(PREFACE, frame(TYPE.SETTINGS, 0, 0));
	}
	read(bytes) {
		this.rest = Buffer.concat([this.rest, bytes]);
		while (this.rest.length >= 9) {
			const length = this.rest.readUIntBE(0, 3);
			if (this.rest.length < 9 + length) return;
			this.frames.push({ type: this.rest[3], flags: this.rest[4], stream: this.rest.readUInt32BE(5), payload: this.rest.subarray(9, 9 + length) });
			this.rest = this.rest.subarray(9 + length);
		}
	}
	send(...parts) {
		if (!this.socket.destroyed && this.socket.writable) return this.socket.write(Buffer.concat(parts));
		return false;
	}
	ask(stream, path, { method = "GET", more, end = true } = {}) {
		this.send(frame(TYPE.HEADERS, FLAG.END_HEADERS | (end ? FLAG.END_STREAM : 0), stream, request(path, method, more)));
		return this;
	}
	of(type, stream) { return this.frames.filter((f) => f.type === type && (stream === undefined || f.stream === stream)); }
	data(stream) { return Buffer.concat(this.of(TYPE.DATA, stream).map((f) => f.payload)).toString("latin1"); }
	// The error code of the GOAWAY, if one came.
	get goaway() { return this.of(TYPE.GOAWAY).at(-1)?.payload.readUInt32BE(4); }
	async until(condition, ms = 30000) {
		for (const end = Date.now() + ms; !condition(this);) {
			if (Date.now() > end) throw new Error(`nothing came in ${ms} ms; have ${this.frames.map((f) => `${f.type}/${f.stream}`).slice(-20)}`);
			await new Promise((resolve) => {
				const wake = () => { clearTimeout(timer); this.socket.off("data", wake); resolve(); };
				const timer = setTimeout(wake, 5);
				this.socket.on("data", wake);
			});
		}
		return this;
	}
	close() { this.socket.destroy(); }
}
