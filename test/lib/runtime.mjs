// What node tests need to drive a real agentd: start and kill it, call its commands, follow its events, and a scripted
// model beside it. Everything that is started here is ended after the last test of the file, by process id; data folders
// are removed. Commands and events are checked against the schemas on the way, so every test is a conformance test too.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { start as startScripted } from '../model/scripted.mjs';
import { Embedded, spawnEmbedded } from './embedded.mjs';
import { DEADLINE, Follower, sleep, stopFollowers } from './follower.mjs';
import { checkContract } from './contract.mjs';
import { validateCommandInput, validateCommandResult, validateSnapshot } from './schemas.mjs';

export { DELTAS, Follower, sleep, TERMINAL } from './follower.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Folder of the binaries under test. */
export const bin = resolve(process.env.AR_BIN ?? join(root, 'build/release/bin'));

const STDERR_MAX = 65536;

const folders = new Set();
const running = new Set();
const models = new Set();

after(async () => {
	stopFollowers();
	for (const child of running) process.kill(child.pid, 'SIGKILL');
	await Promise.all([...running].map((child) => child.gone));
	await Promise.all([...models].map((model) => model.close()));
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

// Not a hook: one that fails keeps the hooks of the file from running, and what they would have closed keeps the process alive.
process.on('exit', checkContract);

/** The promise's value, or undefined when it takes longer than that. */
export function within(promise, ms) {
	let timer;
	const late = new Promise((done) => (timer = setTimeout(done, ms)));
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export function newFolder() {
	const folder = mkdtempSync(join(tmpdir(), 'ar-test-'));
	folders.add(folder);
	return folder;
}

/** Asks again until `check` gives something true; throws at the deadline. */
export async function waitFor(check, label, ms = DEADLINE) {
	const deadline = Date.now() + ms;
	for (;;) {
		const value = await check();
		if (value) return value;
		if (Date.now() > deadline) throw new Error(`${typeof label === 'function' ? label() : label}: not within ${ms} ms`);
		await sleep(5);
	}
}

export async function startModel() {
	const model = await startScripted(0);
	models.add(model);
	return model;
}

// ---- agentd ----

function environment(given, fault, config) {
	// Tests of what a stop leaves open do not wait for it; test/ops/stop does. Requests of the model have what the test says; test/model/system_prompt has the standard prompt.
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', AGENTD_SHUTDOWN_GRACE_MS: '0', ...given };
	if (config?.['model.system_prompt'] === undefined) env.AGENTD_SYSTEM_PROMPT ??= 'none';
	for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS', 'LSAN_OPTIONS'])
		if (process.env[name]) env[name] = process.env[name];
	if (fault) env.AGENTD_FAULT = fault;
	return env;
}

/** Settings by dotted key as a YAML file of that user's own; returns its path. */
export function writeConfig(dataDir, settings, uid = process.getuid()) {
	const sections = new Map();
	for (const [key, value] of Object.entries(settings)) {
		const [section, name] = key.includes('.') ? key.split('.') : ['', key];
		if (!sections.has(section)) sections.set(section, []);
		sections.get(section).push(`${section ? '  ' : ''}${name}: ${JSON.stringify(value)}`);
	}
	const text = [...sections].map(([name, lines]) => [...(name ? [`${name}:`] : []), ...lines].join('\n')).join('\n');
	const path = join(dataDir, 'agentd.yaml');
	writeFileSync(path, `${text}\n`, { mode: 0o600 });
	chownSync(path, uid, process.getgid());
	return path;
}

/** A running agentd. `gone` resolves with how it ended: { code, signal }. */
class Agentd {
	constructor(child, dataDir, startedAt) {
		Object.assign(this, { child, dataDir, startedAt, pid: child.pid, gone: child.gone, isGone: false, stderr: '' });
		this.agent = new http.Agent({ keepAlive: true, maxSockets: 1000 });
		this.gone.then(({ code, signal }) => {
			this.isGone = true;
			this.agent.destroy();
			if (code !== 0 && signal !== 'SIGKILL') process.stderr.write(`agentd ended (${code ?? signal}):\n${this.stderr}`);
		});
		child.stderr.on('data', (text) => (this.stderr = (this.stderr + text).slice(-STDERR_MAX)));
	}

	ready(line) {
		const { listen, socket } = JSON.parse(line);
		this.readyMs = performance.now() - this.startedAt;
		this.socket = socket;
		this.url = `http://${listen}`;
		[this.host, this.port] = [listen.split(':')[0], Number(listen.split(':')[1])];
	}

	/** How a request finds it: TCP, or the unix socket. */
	where(via) {
		return via === 'socket' ? { socketPath: this.socket } : { host: this.host, port: this.port };
	}

	async end(signal, ms) {
		if (!this.isGone) process.kill(this.pid, signal);
		const end = await within(this.gone, ms);
		if (!end) throw new Error(`agentd ${this.pid} is still there ${ms} ms after ${signal}`);
		return end;
	}

	/** SIGTERM; anything but a clean end is an error. */
	async stop(ms = 10000) {
		const end = await this.end('SIGTERM', ms);
		assert.deepEqual(end, { code: 0, signal: null }, `agentd ended so:\n${this.stderr}`);
	}

	async kill9() {
		const end = await this.end('SIGKILL', 10000);
		assert.equal(end.signal, 'SIGKILL', `agentd had ended before:\n${this.stderr}`);
	}
}

function firstLine(stream) {
	return new Promise((done) => {
		let text = '';
		stream.on('data', (piece) => {
			text += piece;
			if (text.includes('\n')) done(text.slice(0, text.indexOf('\n')));
		});
		stream.on('close', () => done(null));
	});
}

// Under test/lib/postgres every data folder has a database of its own, and agentd keeps its facts there.
const databases = new Map();

export function storeOf(dataDir) {
	const server = process.env.AR_TEST_POSTGRES;
	if (!server) return {};
	if (!databases.has(dataDir)) {
		const name = `d${process.pid}_${databases.size}`;
		execFileSync('psql', ['-q', '-d', `${server} dbname=postgres`, '-c', `CREATE DATABASE ${name}`]);
		databases.set(dataDir, name);
	}
	return { AGENTD_STORE: `${server} dbname=${databases.get(dataDir)}` };
}

/** Starts agentd. With `mayDie` an end before it is ready is no error: `isGone` says so. `uid`: as somebody else, who can read `program`. */
export async function startAgentd({ dataDir = newFolder(), listen = '127.0.0.1:0', env = {}, fault, config, model, mayDie = false, program = join(bin, 'agentd'), uid } = {}) {
	const args = ['--data-dir', join(dataDir, 'data'), '--listen', listen];
	if (config) args.push('--config', writeConfig(dataDir, config, uid));
	if (model) env = { OPENAI_BASE_URL: model.url, ...env };
	const startedAt = performance.now();
	const child = spawn(program, args, { env: environment({ ...storeOf(dataDir), ...env }, fault, config), stdio: ['ignore', 'pipe', 'pipe'], uid, gid: uid });
	child.gone = new Promise((done, fail) => {
		child.on('error', fail);
		child.on('close', (code, signal) => {
			running.delete(child);
			done({ code, signal });
		});
	});
	running.add(child);
	const agentd = new Agentd(child, dataDir, startedAt);
	const line = await within(firstLine(child.stdout), DEADLINE);
	if (line) agentd.ready(line);
	else if (line === undefined) throw new Error(`agentd says nothing:\n${agentd.stderr}`);
	else await agentd.gone;
	if (!line && !mayDie) throw new Error(`agentd ended at start:\n${agentd.stderr}`);
	return agentd;
}

/** The same inside another program, without any transport; see embedded.mjs. */
export async function startEmbedded({ dataDir, env = {}, fault, config, model, mayDie = false }) {
	if (model) env = { OPENAI_BASE_URL: model.url, ...env };
	const child = spawnEmbedded(bin, dataDir, config && writeConfig(dataDir, config), environment({ ...storeOf(dataDir), ...env }, fault, config));
	child.gone = new Promise((done) => child.on('close', (code, signal) => (running.delete(child), done({ code, signal }))));
	running.add(child);
	const rt = new Embedded(child);
	if (!(await within(rt.ready, DEADLINE)) && !mayDie) throw new Error(`ar-embed ended at start:\n${rt.stderr}`);
	return rt;
}

// ---- commands ----

const httpOf = new Map(
	readFileSync(join(root, 'catalog/errors.cat'), 'utf8').split('\n')
		.map((line) => /^error \d+ (\w+)\s+http=(\d+)/.exec(line)).filter(Boolean).map(([, code, status]) => [code, Number(status)]),
);

/** One HTTP exchange. Resolves { status, headers, text }; rejects when the connection broke first. */
export function request(rt, { method = 'POST', path, body, headers = {}, via, ms = DEADLINE }) {
	if (rt.exchange) return rt.exchange({ path, body });
	return new Promise((done, fail) => {
		const options = { ...rt.where(via), agent: rt.agent, method, path, headers: { ...headers } };
		if (body !== undefined) {
			options.headers['content-type'] ??= 'application/json';
			options.headers['content-length'] = Buffer.byteLength(body);
		}
		const req = http.request(options, (res) => {
			const pieces = [];
			res.on('data', (piece) => pieces.push(piece)).on('error', fail);
			res.on('end', () => {
				clearTimeout(timer);
				done({ status: res.statusCode, headers: res.headers, text: Buffer.concat(pieces).toString('utf8') });
			});
		});
		const timer = setTimeout(() => req.destroy(new Error(`${method} ${path}: no answer within ${ms} ms`)), ms);
		req.on('error', (error) => {
			clearTimeout(timer);
			fail(error);
		});
		req.end(body);
	});
}

/** Every failure has the one form, and the status that the catalogue gives its code. */
export function checkError(status, body) {
	assert.deepEqual(Object.keys(body), ['error'], `a failure is {error}: ${JSON.stringify(body)}`);
	const { code, message, retryable, next } = body.error;
	assert.equal(httpOf.get(code), status, `${code} came with status ${status}`);
	for (const text of [message, next]) assert.ok(typeof text === 'string' && text.length > 0, JSON.stringify(body));
	assert.equal(typeof retryable, 'boolean');
}

function toSnake(input) {
	return Object.fromEntries(Object.entries(input).map(([k, v]) => [k.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), v]));
}

// Whatever state a test brings a session to, what is read of it fits the standard's schemas.
const SNAPSHOTS = new Set(['get_session', 'get_thread_read']);

/** POST /v1/<command>. Checks input (unless `loose`) and answer by schema; { status, body, text }. */
export async function call(rt, command, input = {}, { loose = false, snake = false, via } = {}) {
	if (!loose) validateCommandInput(command, input);
	const body = JSON.stringify(snake ? toSnake(input) : input);
	const { status, text } = await request(rt, { path: `/v1/${command}`, body, via });
	const answer = JSON.parse(text);
	if (status < 300) validateCommandResult(command, answer);
	else checkError(status, answer);
	if (status < 300 && SNAPSHOTS.has(command)) validateSnapshot(answer);
	return { status, body: answer, text };
}

/** A call that has to succeed; its result. */
export async function ok(rt, command, input, options) {
	const { status, body } = await call(rt, command, input, options);
	assert.ok(status < 300, `${command}: ${status} ${JSON.stringify(body)}`);
	return body;
}

/** A call that has to fail with this code; the error object. What is invalid need not fit the schema. */
export async function refused(rt, code, command, input, options) {
	const { body } = await call(rt, command, input, { loose: code === 'invalid_input', ...options });
	assert.equal(body.error?.code, code, `${command} ${JSON.stringify(input)}: ${JSON.stringify(body)}`);
	return body.error;
}

/** Submits into a new session (or a given one) and returns the receipt. */
export function submit(rt, text, more = {}) {
	const where = more.sessionId ? {} : { createPolicy: {} };
	return ok(rt, 'submit_turn', { ...where, text, ...more });
}

// ---- events ----

export function follow(rt, sessionId, options) {
	return new Follower(rt, sessionId, options).open();
}

/** The whole log of a session as it is now, from its beginning. */
export async function readLog(rt, sessionId) {
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId });
	const follower = await follow(rt, sessionId);
	await follower.until(() => follower.last >= asOfSequence, `${asOfSequence} facts of ${sessionId}`);
	follower.stop();
	follower.check();
	return follower.facts;
}

/** agentd with a scripted model, for tests of one process at a time. */
export async function world(options = {}) {
	const model = options.model ?? (await startModel());
	const dataDir = options.dataDir ?? newFolder();
	const again = async (more = {}) => startAgentd({ dataDir, model, ...options, ...more });
	const rt = await again();
	return { model, dataDir, rt, again };
}
