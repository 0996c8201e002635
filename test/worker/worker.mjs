// Real workers beside a real daemon: each is `agentd worker` in a folder of its own.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, realpathSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { bin, newFolder, ok, waitFor, within } from '../lib/runtime.mjs';

const running = new Set();
const relays = new Set();

after(async () => {
	for (const worker of running) worker.child.kill('SIGKILL');
	await Promise.all([...running].map((worker) => worker.gone));
	for (const relay of relays) relay.close();
});

/** A folder that only this user has, as a worker wants it. */
export function privateFolder() {
	const folder = realpathSync(newFolder());
	chmodSync(folder, 0o700);
	return folder;
}

/** A process that runs or has ended: `gone` resolves with { code, signal }, `ready` with its line on stdout or null. */
export class Worker {
	constructor(args, { dir = privateFolder(), env = {} } = {}) {
		this.dir = dir;
		this.stderr = this.stdout = '';
		this.child = spawn(join(bin, 'agentd'), ['worker', '--dir', dir, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
		this.pid = this.child.pid;
		running.add(this);
		this.gone = new Promise((done) => this.child.on('close', (code, signal) => {
			running.delete(this);
			this.isGone = true;
			done({ code, signal });
		}));
		this.ready = new Promise((done) => {
			this.child.stdout.on('data', (text) => {
				this.stdout += text;
				if (this.stdout.includes('\n')) done(JSON.parse(this.stdout.slice(0, this.stdout.indexOf('\n'))));
			});
			this.child.stdout.on('close', () => done(null));
		});
		this.child.stderr.on('data', (text) => (this.stderr += text));
	}

	/** How it ended, after a signal if one is named. */
	async end(signal, ms = 20000) {
		if (signal) this.child.kill(signal);
		const end = await within(this.gone, ms);
		assert.ok(end, `the worker is still there ${ms} ms after ${signal}:\n${this.stderr}`);
		return end;
	}

	async joined() {
		const line = await within(this.ready, 30000);
		assert.ok(line?.ready, `the worker did not join:\n${this.stderr}`);
		return this;
	}
}

/** The file of an enrolment token, readable by its user alone. */
export function tokenFile(token) {
	const path = join(privateFolder(), 'token');
	writeFileSync(path, `${token}\n`, { mode: 0o600 });
	return path;
}

/** Creates a worker at the daemon and starts its process; resolves when the daemon has greeted it. */
export async function startWorker(rt, { name = 'box', url = rt.url, args = [], env, create = (input) => ok(rt, 'create_worker', input, { via: 'socket' }) } = {}) {
	const { worker, enrolmentToken } = await create({ name });
	const process = new Worker(['--join', url, '--token-file', tokenFile(enrolmentToken), ...args], { env });
	process.workerId = worker.workerId;
	return process.joined();
}

/** The same worker again: it has its token by now. */
export const again = (worker, url, args = []) => Object.assign(new Worker(['--join', url, ...args], { dir: worker.dir }), { workerId: worker.workerId }).joined();

/** Waits until the daemon sees it so. */
export function stateOf(rt, workerId, state) {
	let live;
	return waitFor(async () => ({ live } = await ok(rt, 'get_worker', { workerId }, { via: 'socket' })).live.state === state && live, () => `${state}, not ${JSON.stringify(live)}`);
}

/** A way to the daemon that can be cut, and lead to another port later. */
export async function startRelay(port) {
	const sockets = new Set();
	const relay = { port, isDown: false };
	const server = net.createServer((near) => {
		const far = net.connect(relay.port, '127.0.0.1');
		for (const [one, other] of [[near, far], [far, near]]) {
			sockets.add(one);
			one.on('error', () => {}).on('close', () => { sockets.delete(one); other.destroy(); });
			one.pipe(other);
		}
		if (relay.isDown) near.destroy();
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	relay.url = `http://127.0.0.1:${server.address().port}`;
	/** Ends every connection; while `isDown`, new ones end as they come. */
	relay.cut = (isDown = false) => {
		relay.isDown = isDown;
		for (const socket of sockets) socket.destroy();
	};
	relay.close = () => { relay.cut(true); server.close(); };
	relays.add(relay); // of the file: a hook set here would be the running test's
	return relay;
}
