// One agentd on a machine of its own. Clients reach it over its unix socket, which no cut of the network touches. Like a
// supervisor it starts agentd again until it is ready; an end that nobody asked for is noted.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { bin, sleep, within, writeConfig } from '../../lib/runtime.mjs';

const READY_MS = 15000;
const UP_MS = 90000;

export class AgentdNode {
	/** note(text) hears of an end that nobody asked for. `program` may be changed between two starts. */
	constructor({ name, folder, network, clock, settings, note, program = join(bin, 'agentd') }) {
		const home = join(folder, name);
		Object.assign(this, { name, network, clock, note, program, child: null, isReady: false, isAwaited: false, starts: 0 });
		mkdirSync(home, { mode: 0o700 });
		this.socket = join(home, 'a.sock');
		this.log = join(home, 'log');
		this.config = writeConfig(home, { ...settings, data_dir: join(home, 'data'), socket: this.socket, 'node.id': name });
		this.agent = new http.Agent({ keepAlive: true, maxSockets: 2000 });
	}

	/** How a request finds it. */
	where() {
		return { socketPath: this.socket };
	}

	/** Starts it, again and again while it ends before it is ready: its database may be away. */
	async up() {
		this.isWanted = true;
		for (const end = Date.now() + UP_MS; this.isWanted && !this.isReady; ) {
			await this.start();
			if (this.isReady) return;
			if (Date.now() > end) throw new Error(`${this.name} is not ready after ${UP_MS} ms of starts; see ${this.log}`);
			await sleep(300);
		}
	}

	async start() {
		const [command, ...args] = [...this.network.on(this.name), ...this.clock.before(), this.program, '--config', this.config];
		const log = openSync(this.log, 'a');
		const child = spawn(command, args, { stdio: ['ignore', 'pipe', log], env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
		closeSync(log);
		this.child = child;
		this.starts++;
		child.gone = new Promise((done) => child.once('exit', (code, signal) => done(this.ended(child, { code, signal }))));
		const said = await within(Promise.race([child.gone, new Promise((done) => child.stdout.once('data', () => done('ready')))]), READY_MS);
		this.isReady = said === 'ready' && this.child === child;
		if (said === undefined) await this.end('SIGKILL');
	}

	ended(child, end) {
		if (this.child !== child) return end;
		if (this.isReady && !this.isAwaited) {
			this.note(`${this.name} ended by itself (${end.code ?? end.signal}); see ${this.log}`);
			setTimeout(() => this.isWanted && this.up(), 300);
		}
		Object.assign(this, { child: null, isReady: false });
		return end;
	}

	signal(name) {
		if (this.child) process.kill(this.child.pid, name);
	}

	/** Ends it with a signal; resolves with how it ended, or undefined when it was not there. */
	async end(signal, ms = 20000) {
		const { child } = this;
		this.isWanted = false;
		if (!child) return undefined;
		this.isAwaited = true;
		process.kill(child.pid, signal);
		let end = await within(child.gone, ms);
		if (!end) {
			this.note(`${this.name} is still there ${ms} ms after ${signal}`);
			process.kill(child.pid, 'SIGKILL');
			end = await child.gone;
		}
		this.isAwaited = false;
		return end;
	}

	/** SIGTERM; anything but a clean end is noted. */
	async terminate() {
		const wasReady = this.isReady;
		const end = await this.end('SIGTERM');
		if (end && wasReady && end.code !== 0 && end.signal !== 'SIGKILL') this.note(`${this.name} ended with ${end.code ?? end.signal} after SIGTERM; see ${this.log}`);
	}
}
