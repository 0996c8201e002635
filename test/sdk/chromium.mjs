// A headless Chromium that is driven over its debugging pipe: open a page, evaluate in it. It is ended with the test file.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

const FLAGS = ['--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
	'--disable-background-networking', '--disable-component-update', '--disable-default-apps', '--disable-sync', '--no-proxy-server'];

class Browser {
	constructor(flags) {
		this.profile = mkdtempSync(join(tmpdir(), 'ar-chromium-'));
		this.child = spawn(chromium, [...FLAGS, ...flags, `--user-data-dir=${this.profile}`], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true, env: { PATH: process.env.PATH, HOME: this.profile } });
		this.gone = new Promise((done) => this.child.on('close', done));
		this.waiting = new Map();
		this.last = 0;
		let rest = '';
		this.child.stdio[4].setEncoding('utf8').on('data', (text) => {
			const messages = (rest + text).split('\0');
			rest = messages.pop();
			for (const message of messages) this.take(JSON.parse(message));
		});
	}

	take({ id, result, error }) {
		const [done, fail] = this.waiting.get(id) ?? [];
		this.waiting.delete(id);
		if (error) fail?.(new Error(error.message));
		else done?.(result);
	}

	send(method, params = {}, sessionId) {
		const id = ++this.last;
		this.child.stdio[3].write(`${JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) })}\0`);
		return new Promise((done, fail) => this.waiting.set(id, [done, fail]));
	}

	/** A page; `evaluate(text)` gives the value that the expression, or its promise, has there. */
	async open(url) {
		const { targetId } = await this.send('Target.createTarget', { url });
		const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
		const evaluate = async (expression) => {
			const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId);
			if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
			return result.value;
		};
		return { evaluate };
	}

	async end() {
		process.kill(-this.child.pid, 'SIGKILL');
		await this.gone;
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** `flags`: more of the command line. */
export function launch(...flags) {
	const browser = new Browser(flags);
	after(() => browser.end());
	return browser;
}
