// An editor for tests: `agentctl acp` as a child, driven by the client of the official SDK. Every line of the agent is
// checked by the published schema, whoever asked for it.
import * as acp from '@agentclientprotocol/sdk';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after } from 'node:test';
import { bin, waitFor } from '../lib/runtime.mjs';
import { checkLine } from './schema.mjs';

const running = new Set();

after(() => {
	for (const child of running) process.kill(child.pid, 'SIGKILL');
});

/** Starts `agentctl acp`; it talks to the daemon by its socket and starts none. */
export function spawnAcp(rt, args = []) {
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', USER: 'tester' };
	for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS']) if (process.env[name]) env[name] = process.env[name];
	const child = spawn(join(bin, 'agentctl'), ['--socket', rt.socket, 'acp', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
	running.add(child);
	child.stdin.on('error', () => {});
	child.err = '';
	child.stderr.on('data', (text) => (child.err += text));
	child.gone = new Promise((done) => child.on('close', (code, signal) => (running.delete(child), done({ code, signal }))));
	return child;
}

export class Editor {
	constructor(rt, { args, buffers } = {}) {
		Object.assign(this, { lines: [], asked: new Map(), updates: [], questions: [], withdrawn: [], reads: [], errors: [], buffers });
		this.child = spawnAcp(rt, args);
	}

	/** The bytes as they come, each line checked on the way. */
	input() {
		let rest = '';
		return new ReadableStream({
			start: (to) => {
				this.child.stdout.setEncoding('utf8').on('data', (text) => {
					const lines = (rest + text).split('\n');
					rest = lines.pop();
					for (const line of lines) this.take(line);
					to.enqueue(new TextEncoder().encode(text));
				});
				this.child.stdout.on('close', () => { try { to.close(); } catch { /* the client has left */ } });
			},
		});
	}

	output() {
		return new WritableStream({
			write: (bytes) => {
				for (const line of new TextDecoder().decode(bytes).split('\n').filter(Boolean)) {
					const { id, method } = JSON.parse(line);
					if (id !== undefined && method) this.asked.set(JSON.stringify(id), method);
				}
				this.child.stdin.write(bytes);
			},
		});
	}

	take(line) {
		this.lines.push(line);
		try {
			const message = checkLine(line, this.asked);
			if (message.method === 'session/update') this.updates.push(message.params);
			if (message.method === '$/cancel_request') this.withdrawn.push(message.params.requestId);
		} catch (error) {
			this.errors.push(error);
		}
	}

	async open(capabilities = {}) {
		const app = acp.client({ name: 'test' })
			.onRequest('session/request_permission', ({ params }) => new Promise((done) => this.questions.push({ ...params, choose: (optionId) => done({ outcome: optionId ? { outcome: 'selected', optionId } : { outcome: 'cancelled' } }) })))
			.onRequest('fs/read_text_file', ({ params }) => {
				this.reads.push(params.path);
				if (!this.buffers?.[params.path]) throw new acp.RequestError(-32002, 'not open');
				return { content: this.buffers[params.path] };
			})
			.onNotification('session/update', () => {});
		const stream = acp.ndJsonStream(this.output(), this.input());
		this.agent = await new Promise((ready, fail) => {
			app.connectWith(stream, (agent) => { ready(agent); return this.child.gone; }).catch(fail);
		});
		this.hello = await this.call('initialize', { protocolVersion: 1, clientCapabilities: capabilities, clientInfo: { name: 'test', version: '1' } });
		return this;
	}

	call(method, params) {
		return this.agent.request(method, params);
	}

	notify(method, params) {
		return this.agent.notify(method, params);
	}

	prompt(sessionId, text) {
		return this.call('session/prompt', { sessionId, prompt: typeof text === 'string' ? [{ type: 'text', text }] : text });
	}

	/** Updates of a session of that kind. */
	of(sessionId, kind) {
		return this.updates.filter((u) => u.sessionId === sessionId && u.update.sessionUpdate === kind).map((u) => u.update);
	}

	/** The text that was told so, message by message. */
	texts(sessionId, kind) {
		const messages = new Map();
		for (const { content, messageId } of this.of(sessionId, kind)) messages.set(messageId, (messages.get(messageId) ?? '') + content.text);
		return [...messages.values()];
	}

	until(check, label) {
		return waitFor(() => {
			this.check();
			return check(this);
		}, () => `${label}; the lines: ${this.lines.slice(-8).join('\n')}; ${this.child.err}`);
	}

	check() {
		if (this.errors.length) throw this.errors[0];
	}

	async close() {
		this.check();
		this.child.stdin.end();
		return this.child.gone;
	}

	async kill9() {
		process.kill(this.child.pid, 'SIGKILL');
		await this.child.gone;
	}
}

export const openEditor = (rt, options, capabilities) => new Editor(rt, options).open(capabilities);
