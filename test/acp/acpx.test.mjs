// `agentctl acp` for acpx, a client that is not the official SDK's and offers everything, a terminal too: turns with a tool and a question, one that is
// denied, a session over several processes, and one that is cancelled from another process.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { checkLine } from './schema.mjs';

const cli = fileURLToPath(new URL('../node_modules/acpx/dist/cli.js', import.meta.url));
const OF_AGENT = /^(session\/(update|request_permission)|fs\/|terminal\/|\$\/)/;
const EDIT = '[[tool edit_file {"path":"note.txt","oldText":"two","newText":"three"}]]';
let w, root, home;

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	[root, home] = [newFolder(), newFolder()].map((f) => realpathSync(f));
	writeFileSync(join(root, 'note.txt'), 'one\ntwo\n');
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
});

function acpx(...args) {
	const env = { PATH: process.env.PATH, HOME: home };
	for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS', 'LSAN_OPTIONS']) if (process.env[name]) env[name] = process.env[name];
	const child = spawn(process.execPath, [cli, '--cwd', root, '--agent', `${join(bin, 'agentctl')} --socket ${w.rt.socket} acp`, '--ttl', '120', ...args], { env, cwd: root });
	let out = '', err = '';
	child.stdout.on('data', (text) => (out += text));
	child.stderr.on('data', (text) => (err += text));
	return new Promise((done) => child.on('close', (code) => done({ code, out, err })));
}

/** The messages of both directions; those of the agent fit the schema. */
function messagesOf({ code, out, err }, exit = 0) {
	assert.equal(code, exit, `${out}\n${err}`);
	const asked = new Map();
	return out.split('\n').filter(Boolean).map((line) => {
		const message = JSON.parse(line);
		const id = JSON.stringify(message.id);
		if (message.method && !OF_AGENT.test(message.method)) asked.set(id, message.method);
		else if (message.method) checkLine(line, asked);
		else if (asked.has(id) && !message.result?.outcome) asked.delete(checkLine(line, asked) && id); // both sides count their ids
		return message;
	});
}

test('acpx runs a turn with a tool that is approved, and one that is denied; its terminal and files are left alone', async () => {
	const approved = messagesOf(await acpx('--approve-all', '--format', 'json', 'exec', EDIT));
	assert.equal(readFileSync(join(root, 'note.txt'), 'utf8'), 'one\nthree\n');
	assert.equal(approved.at(-1).result.stopReason, 'end_turn');
	const denied = messagesOf(await acpx('--deny-all', '--format', 'json', 'exec', '[[tool shell {"command":"touch made"}]]'), 5); // as acpx ends when nothing was approved
	assert.ok(denied.some((m) => m.params?.update?.status === 'failed'));
	for (const messages of [approved, denied]) {
		assert.equal(messages.filter((m) => m.method === 'session/request_permission').length, 1);
		assert.ok(!messages.some((m) => /^(terminal|fs)\//.test(m.method ?? '')));
	}
});

test('a session of acpx is loaded by each of its processes, and cancelled from another', async () => {
	const made = await acpx('sessions', 'new');
	assert.equal(made.code, 0, made.err);
	const sessionId = made.out.trim();
	const said = await acpx('prompt', 'hello');
	assert.match(said.out, /You said: hello[\s\S]*end_turn/, said.err);
	assert.match((await acpx('set-mode', 'plan')).out, /mode set: plan/);
	const hanging = acpx('prompt', '[[hang]]');
	const running = async () => (await ok(w.rt, 'get_session', { sessionId })).threads[0].activeTurnId;
	await waitFor(running, 'the turn runs');
	await waitFor(async () => (await acpx('cancel')).out.includes('cancel requested'), 'the request to cancel');
	assert.match((await hanging).out, /cancelled/);
	assert.equal(await running(), undefined);
	// The process of its queue would stay; with a shorter life it may end just when the next prompt comes.
	assert.equal((await acpx('sessions', 'close')).code, 0);
});
