// Starts transport-probe and talks to it in raw bytes. Every test ends the probe and looks at how it went: an exit code
// other than 0 is a leak, a sanitizer report or a handle that stayed open.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

const open = new Set(); // undo of everything that the running scenario has started
export const binary = join(process.env.AR_BIN ?? new URL("../../build/release/bin", import.meta.url).pathname, "transport-probe");

export const onEnd = (undo) => open.add(undo);
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A test that leaves nothing behind, however it ends.
export function scenario(name, run) {
	test(name, { timeout: 120000 }, async (t) => {
		try {
			await run(t);
		} finally {
			for (const undo of open) undo();
			open.clear();
		}
	});
}

// How many sockets a process has open.
function socketsOf(pid) {
	const isSocket = (fd) => {
		try {
			return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("socket:");
		} catch {
			return false; // closed since it was listed
		}
	};
	return readdirSync(`/proc/${pid}/fd`).filter(isSocket).length;
}

export async function startProbe(...args) {
	const child = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
	open.add(() => child.kill("SIGKILL"));
	const lines = createInterface({ input: child.stdout });
	const exited = new Promise((resolve) => child.on("close", resolve));
	let complaint = "", onFirst;
	const output = [];
	const first = new Promise((resolve) => { onFirst = resolve; });
	child.stderr.on("data", (text) => { complaint += text; });
	const notices = [];
	lines.on("line", (line) => {
		if (line.startsWith('{"notice"')) notices.push(JSON.parse(line));
		else output.push(line);
		onFirst();
	});
	await Promise.race([first, exited]);
	if (!output.length) return { failed: true, code: await exited, complaint };
	const own = socketsOf(child.pid);
	return {
		...JSON.parse(output[0]),
		pid: child.pid,
		notices,
		ended: exited,
		signal: (name) => child.kill(name),
		// Waits for the server's n-th word to its log.
		async notice(n, ms = 30000) {
			for (const end = Date.now() + ms; notices.length < n; await sleep(20))
				assert.ok(Date.now() < end, `${notices.length} notices: ${JSON.stringify(notices)}`);
			return notices[n - 1];
		},
		// Waits until the server has exactly so many connections: it knows of those that came and has let go of those that went.
		async connections(n, ms = 30000) {
			for (const end = Date.now() + ms; socketsOf(child.pid) - own !== n; await sleep(5))
				assert.ok(Date.now() < end, `${socketsOf(child.pid) - own} connections, not ${n}, after ${ms} ms`);
		},
		// Ends the probe and returns its counters.
		async stop(signal = "SIGINT") {
			child.kill(signal);
			const code = await exited;
			assert.equal(code, 0, `exit code ${code}: ${complaint}`);
			return JSON.parse(output.at(-1));
		},
	};
}

// A raw connection that gathers what it gets.
export class Wire {
	constructor(at) {
		this.text = "";
		this.closed = false;
		this.wakers = new Set();
		this.socket = at instanceof net.Socket ? at : typeof at === "string" ? net.connect({ path: at }) : net.connect(at, "127.0.0.1");
		open.add(() => this.socket.destroy());
		this.socket.setEncoding("latin1");
		this.socket.on("data", (text) => { this.text += text; this.wake(); });
		this.socket.on("error", (error) => { this.closed = true; this.error = error; this.wake(); });
		this.socket.on("end", () => { this.closed = true; this.wake(); });
		this.socket.on("close", () => { this.closed = true; this.wake(); });
	}
	wake() { for (const waker of this.wakers) waker(); }
	send(text) { this.socket.write(text, "latin1"); return this; }
	async until(condition, ms = 30000) {
		const end = Date.now() + ms;
		while (!condition(this)) {
			const left = end - Date.now();
			if (left <= 0) assert.fail(`nothing came in ${ms} ms; have ${JSON.stringify(this.text.slice(0, 300))}`);
			await new Promise((resolve) => {
				const waker = () => { clearTimeout(timer); this.wakers.delete(waker); resolve(); };
				const timer = setTimeout(waker, left);
				this.wakers.add(waker);
			});
		}
		return this;
	}
	get statuses() { return [...this.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((m) => Number(m[1])); }
	close() { this.socket.destroy(); }
}

// Sends bytes and waits until the server answered `count` times or closed.
export async function ask(at, bytes, count = 1) {
	const wire = new Wire(at).send(bytes);
	await wire.until((w) => w.closed || w.statuses.length >= count);
	return wire;
}

export const json = "Content-Type: application/json\r\n";

export function post(body, { path = "/v1/submit_turn", headers = "", type = json } = {}) {
	return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${type}${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export const get = (path, headers = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
