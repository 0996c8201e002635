// Drives agent-shim for tests: starts it through the small program that is the daemon's end of its connection, reads its journal, ends all it started.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = resolve(import.meta.dirname, '../..');
export const bin = resolve(process.env.AR_BIN ?? join(root, 'build/release/bin'));

// Memory is measured where it is what will run.
export const isMeasured = !/\/build\/(a|t)san\//.test(bin);

const TYPES = [
	'', 'SPAWNED', 'APPLIED', 'RELEASED', 'STARTED', 'OUTPUT', 'INPUT_ACCEPTED', 'INPUT_WRITTEN', 'RESIZED', 'SIGNALLED', 'VIOLATION', 'LIMIT',
	'TRUNCATED', 'SPAWN_FAILED', 'EXIT', 'LEFTOVERS', 'OUTPUT_END', 'SEALED',
];
const STREAMS = ['', 'stdout', 'stderr', 'tty'];
const HEAD = 32;
const MAGIC = 0x314a5241;

const table = Uint32Array.from({ length: 256 }, (_, i) => {
	let c = i;
	for (let k = 0; k < 8; k++)
		c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
	return c >>> 0;
});

function crc32c(crc, bytes) {
	crc = ~crc;
	for (const b of bytes)
		crc = table[(crc ^ b) & 255] ^ (crc >>> 8);
	return ~crc >>> 0;
}

// The whole records of a journal's bytes; each is checked, their numbers have no gap.
export function parseJournal(bytes) {
	const records = [];
	let at = 0;
	while (at + HEAD <= bytes.length) {
		const head = Buffer.from(bytes.subarray(at, at + HEAD));
		const len = head.readUInt32LE(8);
		if (at + HEAD + len > bytes.length)
			break;
		const payload = bytes.subarray(at + HEAD, at + HEAD + len);
		const crc = head.readUInt32LE(4);
		assert.equal(head.readUInt32LE(0), MAGIC);
		head.writeUInt32LE(0, 4);
		assert.equal(crc32c(crc32c(0, head), payload), crc, `checksum of record ${records.length + 1}`);
		assert.equal(head.readBigUInt64LE(16), BigInt(records.length + 1), 'numbers without a gap');
		const type = TYPES[head.readUInt16LE(12)];
		const json = type === 'OUTPUT' ? undefined : JSON.parse(payload.toString());
		records.push({ type, stream: STREAMS[head.readUInt16LE(14)], payload, json, at: Number(head.readBigUInt64LE(24)) });
		at += HEAD + len;
	}
	return { records, rest: bytes.length - at };
}

export const outputOf = (records, stream) =>
	Buffer.concat(records.filter((r) => r.type === 'OUTPUT' && r.stream === stream).map((r) => r.payload));
export const typesOf = (records) => records.map((r) => r.type);

export async function until(what, check, limit = 60000) {
	const end = Date.now() + limit;
	for (;;) {
		const got = await check();
		if (got)
			return got;
		assert.ok(Date.now() < end, `in time: ${what}`);
		await sleep(10);
	}
}

export const isAlive = (pid) => existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(readStatus(pid));
export const readStatus = (pid) => {
	try {
		return readFileSync(`/proc/${pid}/status`, 'utf8');
	} catch {
		return '';
	}
};

// Processes whose command line has this word.
export function pidsWith(word) {
	return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word) && isAlive(pid);
		} catch {
			return false;
		}
	});
}

// One connection to a shim.
class Connection {
	constructor(args, launcher = []) {
		const [file, ...rest] = [...launcher, join(bin, 'shim-drive'), ...args];
		this.lines = [];
		this.child = spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
		this.child.stdin.on('error', () => {});
		this.pid = this.child.pid;
		let text = '';
		this.child.stdout.on('data', (bytes) => {
			text += bytes;
			const lines = text.split('\n');
			text = lines.pop();
			for (const line of lines)
				this.onLine(line);
		});
		this.ended = new Promise((done) => this.child.on('close', done));
	}

	onLine(line) {
		this.lines.push(line);
		if (line === 'poke')
			this.send('looked');
	}

	send(line) {
		this.child.stdin.write(`${line}\n`);
	}

	line(start, limit) {
		return until(`line ${start}`, () => this.lines.find((l) => l.startsWith(start)), limit);
	}

	// Numbers an input and waits for the verdict: ok, before, busy, closed.
	async input(number, bytes, isEof = false) {
		const before = this.lines.length;
		this.send(`input ${number} ${isEof ? 1 : 0} ${Buffer.from(bytes).toString('hex')}`);
		const line = await until(`answer to input ${number}`, () => this.lines.slice(before).find((l) => l.startsWith(`taken ${number} `)));
		return ['', 'ok', 'before', 'busy', 'closed'][Number(line.split(' ')[2])];
	}

	kill() {
		this.child.kill('SIGKILL');
		return this.ended;
	}
}

export class Shim {
	// options: plan (lines of the plan beside argv) or planText, shim (lines of the options), input (file as fd 0), launcher (what runs the driver)
	constructor(argv, options = {}) {
		this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'ar-shim-'));
		this.words = { init: join(bin, 'shim-fake_init'), barrier_ms: 10000, ...options.shim };
		const plan = options.planText ?? [...(options.plan ?? []), ...argv.map((a) => `arg ${a}`), ''].join('\n');
		writeFileSync(join(this.folder, 'plan'), plan);
		writeFileSync(join(this.folder, 'shim'), this.optionLines());
		this.view = this.folder;
		this.connection = new Connection(['start', join(bin, 'agent-shim'), this.folder, ...(options.input ? [options.input] : [])], options.launcher);
		this.connections = [this.connection];
	}

	optionLines() {
		return Object.entries(this.words).map(([word, value]) => [value].flat().map((v) => `${word} ${v}\n`).join('')).join('');
	}

	async ready() {
		this.pid = Number((await this.connection.line('shim ')).split(' ')[1]);
		await this.connection.line('hello ');
		return this;
	}

	async go() {
		await this.ready();
		this.connection.send('go');
		return this;
	}

	async attach(launcher) {
		this.connection = new Connection(['attach', this.folder], launcher);
		this.connections.push(this.connection);
		return this.connection;
	}

	journal() {
		return parseJournal(readFileSync(join(this.view, 'journal')));
	}

	records() {
		return this.journal().records;
	}

	record(type, limit) {
		return until(`record ${type}`, () => this.records().find((r) => r.type === type), limit);
	}

	has(stream, text, limit) {
		return until(`${text} on ${stream}`, () => outputOf(this.records(), stream).includes(text), limit);
	}

	// The journal is sealed and the shim is gone.
	async sealed(limit) {
		await this.record('SEALED', limit);
		await until('the shim ends', () => !isAlive(this.pid));
		return this.records();
	}

	rss() {
		return Number(/^VmRSS:\s+(\d+)/m.exec(readStatus(this.pid))?.[1] ?? 0);
	}

	peak() {
		return Number(/^VmHWM:\s+(\d+)/m.exec(readStatus(this.pid))?.[1] ?? 0);
	}

	async close() {
		if (this.pid && isAlive(this.pid) && readStatus(this.pid).startsWith('Name:\tagent-shim'))
			process.kill(this.pid, 'SIGKILL');
		for (const c of this.connections)
			await c.kill();
		rmSync(this.folder, { recursive: true, force: true });
	}
}

// A shim that is ended with the test.
export function shim(t, argv, options) {
	const s = new Shim(argv, options);
	t.after(() => s.close());
	return s;
}

export const marker = () => `300.${process.pid}${Math.floor(Math.random() * 1e6)}`;
export const exitOf = (records) => records.find((r) => r.type === 'EXIT')?.json;
export const sh = (script) => ['sh', '-c', script];
export { sleep };
