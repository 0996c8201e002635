// The client over the pipes of an `agentd stdio` of its own: the same calls and events, and a child that dies, hangs or cannot start.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test as plain } from 'node:test';
import { connectStdio } from '../../sdk/typescript/dist/node.js';
import { bin, newFolder, startModel, waitFor } from '../lib/runtime.mjs';
import { Fold, follow } from './fold.mjs';
import { example } from './sdk.mjs';

/** Waiting for ever is what most of them would do when the client is wrong. */
const test = (name, run) => plain(name, { timeout: 60000 }, run);

const agentd = join(bin, 'agentd');
const started = [];

after(() => started.forEach(({ client }) => client.close()));

/** A client with a data folder and a scripted model; pid() is that of its child. */
async function own(options = {}) {
	const model = await startModel();
	const dataDir = newFolder();
	const env = { PATH: process.env.PATH, OPENAI_BASE_URL: model.url };
	const log = [];
	const client = connectStdio({ command: agentd, args: ['--data-dir', dataDir], env, onLog: (line) => log.push(line), ...options });
	const pid = () => Number(readFileSync(join(dataDir, 'agentd.pid'), 'utf8'));
	started.push({ client });
	return { client, pid, dataDir, env, log };
}

const isAlive = (pid) => {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
};

test('calls, refusals and turns, over one child', async () => {
	const { client, pid, log } = await own();
	const answers = await Promise.all(['one', 'two', 'three'].map((word) => client.run(`[[delay 2]][[say ${word}]]`).result()));
	assert.deepEqual(answers.map(({ status, text }) => [status, text]), [['completed', 'one'], ['completed', 'two'], ['completed', 'three']]);
	const first = pid();
	await assert.rejects(client.getSession({ sessionId: 'sess_00000000000000000000000001' }), { name: 'RefusedError', code: 'session_not_found', status: 404 });
	assert.equal((await client.listSessions()).sessions.length, 3);
	assert.equal(pid(), first);
	assert.match(log.join('\n'), /"ready"/);
	client.close();
	await waitFor(() => !isAlive(first), 'the end of the child');
	assert.equal((await client.listSessions()).sessions.length, 3, 'a client that was closed begins anew');
});

test('a child that is killed is started again: the turn goes on, and the stream has every fact once', async () => {
	const { client, pid } = await own();
	const { sessionId } = await client.createSession();
	const fold = new Fold();
	const stop = new AbortController();
	const losses = [];
	const reading = follow(client, sessionId, fold, stop, { onInterrupted: ({ message }) => losses.push(message) }).catch((error) => error);
	const turn = client.run('[[delay 20]][[tokens 100]]', { sessionId });
	const pids = [];
	for await (const { type } of turn) {
		if (type !== 'model.delta' || pids.length === 2 || pids.includes(pid())) continue;
		pids.push(pid());
		process.kill(pid(), 'SIGKILL');
	}
	const { status } = await turn.result();
	assert.equal(status, 'completed');
	assert.equal(pids.length, 2);
	const { asOfSequence } = await client.getSession({ sessionId });
	await waitFor(() => fold.facts.at(-1)?.sequence === asOfSequence, 'all facts');
	stop.abort();
	await reading;
	assert.ok(losses.some((message) => /ended with SIGKILL/.test(message)), losses.join('; '));
	assert.equal(fold.facts.filter(({ type }) => type === 'turn.completed').length, 1);
});

test('a child that hangs is ended and started again', async () => {
	const { client, pid } = await own();
	const { sessionId } = await client.createSession();
	const losses = [];
	const { asOfSequence } = await client.getSession({ sessionId });
	const events = client.events({ sessionId, after: asOfSequence - 1, silenceMs: 900, onInterrupted: ({ message }) => losses.push(message) });
	await events.next();
	const hung = pid();
	const next = events.next();
	process.kill(hung, 'SIGSTOP');
	await waitFor(() => losses.length > 0, 'that silence is noticed');
	await client.submitTurn({ sessionId, text: 'hello' });
	assert.equal((await next).value.type, 'turn.submitted');
	assert.match(losses[0], /nothing came for 900 ms/);
	assert.ok(!isAlive(hung));
	await events.return?.();
});

test('what cannot start says why, at once', async () => {
	await assert.rejects((await own({ command: 'agentd-that-is-not-there' })).client.listSessions(), { name: 'StartError', message: /^agentd-that-is-not-there cannot be started: .*ENOENT/ });
	const settings = join(newFolder(), 'agentd.yaml');
	writeFileSync(settings, 'modle: x\n');
	await assert.rejects((await own({ args: ['--config', settings] })).client.listSessions(), { name: 'StartError', message: /ended with status 1: \S+agentd\.yaml:1: modle: there is no such setting; did you mean 'model'\?$/ });
});

test('two at once cannot have one data folder: the second is told', async () => {
	const first = await own();
	await first.client.listSessions();
	const second = connectStdio({ command: agentd, args: ['--data-dir', first.dataDir], env: first.env });
	await assert.rejects(second.listSessions(), { name: 'StartError', message: /is in use by process \d+/ });
});

test('the example', async () => {
	const model = await startModel();
	const env = { AGENTD: agentd, AGENTD_DATA_DIR: newFolder(), OPENAI_BASE_URL: model.url };
	assert.deepEqual(await example('own-runtime', ['[[say all mine]]'], env), { code: 0, out: 'all mine\n', err: '' });
});
