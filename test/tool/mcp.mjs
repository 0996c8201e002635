// What the tests of the MCP client share: mcp-probe as an object (it prints each callback of the port as a line of JSON, and aborts when the
// source breaks its contract), and servers to point it at. Everything that is started here is ended by process id.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const PROBE = path.join(process.env.AR_BIN ?? path.join(here, '../../build/release/bin'), 'mcp-probe');
const DEADLINE = Number(process.env.AR_DEADLINE_MS ?? 60000);

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export function packageFile(name, file) {
	return path.join(here, '../node_modules', name, file);
}

// The programs of the official servers, as options of the probe.
export const OFFICIAL = {
	everything: { command: process.execPath, args: [packageFile('@modelcontextprotocol/server-everything', 'dist/index.js'), 'stdio'] },
	filesystem: (folder) => ({ command: process.execPath, args: [packageFile('@modelcontextprotocol/server-filesystem', 'dist/index.js'), folder] }),
	memory: (file) => ({
		command: process.execPath,
		args: [packageFile('@modelcontextprotocol/server-memory', 'dist/index.js')],
		env: [`MEMORY_FILE_PATH=${file}`],
	}),
	modern: { command: process.execPath, args: [path.join(here, 'modern_server.mjs'), 'stdio'] },
	// A server of the test's own: what it does is in scripted_server.mjs.
	scripted: (...args) => ({ command: process.execPath, args: [path.join(here, 'scripted_server.mjs'), ...args] }),
};

/** One source in one process. */
export class Probe {
	lines = [];
	#waiting = [];
	#calls = 0;

	constructor(options) {
		assert.ok(existsSync(PROBE), `${PROBE} is not built; set AR_BIN to the bin folder of a build`);
		this.child = spawn(PROBE, [JSON.stringify({ name: 's', graceMs: 200, ...options })], { stdio: ['pipe', 'pipe', 'pipe'] });
		this.errors = '';
		this.child.stderr.on('data', (bytes) => (this.errors += bytes));
		this.child.stdin.on('error', () => {});
		this.gone = new Promise((done) => this.child.on('close', (code, signal) => done(code ?? signal)));
		let rest = '';
		this.child.stdout.on('data', (bytes) => {
			const parts = (rest + bytes).split('\n');
			rest = parts.pop();
			for (const line of parts) this.#take(JSON.parse(line));
		});
	}

	#take(line) {
		this.lines.push(line);
		this.#waiting = this.#waiting.filter((w) => !w(line));
	}

	/** The first line, also of those that came before, for which `test` says yes. */
	async until(test, label = test.toString()) {
		const found = this.lines.find(test);
		if (found) return found;
		let timer;
		const late = new Promise((_, no) => {
			timer = setTimeout(() => no(new Error(`${label}: not within ${DEADLINE} ms; got ${JSON.stringify(this.lines.slice(-5)).slice(0, 2000)} ${this.errors}`)), DEADLINE);
		});
		const line = new Promise((yes) => this.#waiting.push((l) => test(l) && (yes(l), true)));
		return Promise.race([line, late]).finally(() => clearTimeout(timer));
	}

	ready() {
		return this.until((l) => l.on === 'changed' && l.ready, 'ready');
	}

	/** The tools as they are now. */
	tools() {
		return this.lines.findLast((l) => l.on === 'changed')?.tools ?? [];
	}

	do(command) {
		this.child.stdin.write(`${JSON.stringify(command)}\n`);
	}

	/** Starts a call; its number. */
	start(tool, args = {}, more = {}) {
		const n = ++this.#calls;
		this.do({ do: 'call', n, tool, args, session: 's1', ...more });
		return n;
	}

	done(n) {
		return this.until((l) => l.on === 'done' && l.n === n, `end of call ${n}`);
	}

	call(tool, args, more) {
		return this.done(this.start(tool, args, more));
	}

	question(n, id) {
		return this.until((l) => l.on === 'question' && l.n === n && (!id || l.id === id), `question of call ${n}`);
	}

	/** Ends it in order; it must end well. */
	async close() {
		this.child.stdin.end();
		const code = await this.gone;
		assert.equal(code, 0, `the probe ended with ${code}: ${this.errors}`);
	}

	async kill() {
		this.child.kill('SIGKILL');
		await this.gone;
	}
}

/** A probe that is gone when the test ends. */
export function probe(t, options) {
	const p = new Probe(options);
	t.after(() => p.kill());
	return p;
}

/** Waits until `check` gives something true. */
export async function waitFor(check, label, ms = DEADLINE) {
	for (const end = Date.now() + ms; Date.now() < end; await sleep(20)) {
		const value = await check();
		if (value) return value;
	}
	throw new Error(`${label}: not within ${ms} ms`);
}

/** Starts a program that serves HTTP on the port it is told; its URL once something listens there. */
export async function httpServer(t, { command, args, env }, port) {
	const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, ...env } });
	t.after(() => child.kill('SIGKILL'));
	await waitFor(
		() =>
			new Promise((done) => {
				const socket = net.connect(port, '127.0.0.1', () => done(socket.destroy() && true));
				socket.on('error', () => done(false));
			}),
		`a server on port ${port}`,
	);
	return { url: `http://127.0.0.1:${port}/mcp`, child };
}

/** Process ids whose command line has this text. */
export function processesWith(text) {
	return readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.filter((pid) => {
			try {
				return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
			} catch {
				return false;
			}
		})
		.map(Number);
}
