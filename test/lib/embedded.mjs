// A runtime inside another program: ar-embed (test/tools/embed.c) calls it through the public library, without listener or socket; this speaks to that program over its stdin and stdout. What it gives behaves like an agentd of runtime.mjs for calls and followers.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// The library gives errors without a status of HTTP: the catalogue has it.
const errors = readFileSync(new URL('../../catalog/errors.cat', import.meta.url), 'utf8');
const statusOf = (text) => Number(new RegExp(`^error \\d+ ${JSON.parse(text).error.code}\\s+http=(\\d+)`, 'm').exec(errors)[1]);

/** Whether this build has the program. */
export const hasEmbedded = (bin) => existsSync(join(bin, 'ar-embed'));

export class Embedded {
	constructor(child) {
		Object.assign(this, { child, pid: child.pid, gone: child.gone, isGone: false, stderr: '', n: 0, waiting: new Map(), port: 1 });
		this.gone.then(() => this.over());
		child.stderr.on('data', (text) => (this.stderr = (this.stderr + text).slice(-65536)));
		child.stdin.on('error', () => {});
		this.ready = new Promise((done) => {
			this.gone.then(() => done(false));
			createInterface({ input: child.stdout }).on('line', (line) => (line === 'ready' ? done(true) : this.line(line)));
		});
	}

	over() {
		this.isGone = true;
		for (const take of this.waiting.values()) take(null);
		this.waiting.clear();
	}

	line(line) {
		const [n, kind] = line.split(' ', 2);
		this.waiting.get(Number(n))?.({ kind, rest: line.slice(n.length + kind.length + 2) });
	}

	send(command, body, take) {
		const n = ++this.n;
		this.waiting.set(n, take);
		this.child.stdin.write(`${n} ${command} ${body}\n`);
		return n;
	}

	/** One command, as an HTTP exchange would answer it. */
	exchange({ path, body = '{}' }) {
		return new Promise((done, fail) => {
			if (this.isGone) return fail(new Error('the program has ended'));
			const n = this.send(path.replace('/v1/', ''), body, (answer) => {
				this.waiting.delete(n);
				if (!answer) return fail(new Error('the program ended before it answered'));
				done({ status: answer.kind === '200' ? 200 : statusOf(answer.rest), headers: {}, text: answer.rest });
			});
		});
	}

	/** Follows a session: frames as server-sent events are, until the end. */
	stream({ sessionId, cursor, view }, take, closed) {
		return new Promise((done, fail) => {
			if (this.isGone) return fail(new Error('the program has ended'));
			const input = { sessionId, view, ...(cursor ? { after: cursor } : {}) };
			const n = this.send('subscribe_events', JSON.stringify(input), (message) => {
				const [id, ...json] = message?.rest.split(' ') ?? [];
				if (message?.kind === 'opened') return done();
				if (message?.kind === 'frame') return take(`id: ${id}\ndata: ${json.join(' ')}`);
				this.waiting.delete(n);
				fail(new Error(message?.rest ?? 'the program ended'));
				closed();
			});
		});
	}

	async end(signal, ms) {
		if (!this.isGone) process.kill(this.pid, signal);
		let timer;
		const end = await Promise.race([this.gone, new Promise((done) => (timer = setTimeout(done, ms)))]);
		clearTimeout(timer);
		if (!end) throw new Error(`ar-embed ${this.pid} is still there ${ms} ms after ${signal}`);
		return end;
	}
}

/** Starts the program; `environment` is that of an agentd. */
export function spawnEmbedded(bin, dataDir, config, environment) {
	return spawn(join(bin, 'ar-embed'), [join(dataDir, 'data'), ...(config ? [config] : [])], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
}
