// Few descriptors and many clients: newcomers are turned away with 503, those who are there are served on, turns run, the log and the metrics say
// so, and when clients go all is as before. AR_SLOW_TURNS and AR_SLOW_DESCRIPTORS set how many slow turns there are under which limit. On SQLite
// the store is held against what clients were told, by a checker that shares no code with the runtime.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Journal } from '../crash/journal.mjs';
import { bin, call, checkError, follow, newFolder, ok, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { scrape } from './scrape.mjs';

const LIMIT = 96;

/** A client that connects and waits: what it was told, and whether it was closed. */
function connect(rt) {
	return new Promise((done) => {
		const socket = net.connect(rt.port, rt.host);
		const client = { socket, text: '', isClosed: false };
		socket.on('data', (text) => (client.text += text));
		socket.on('error', () => {});
		socket.on('close', () => (client.isClosed = true));
		socket.on('connect', () => done(client));
	});
}

const open = (rt) => readdirSync(`/proc/${rt.pid}/fd`).length;
const messages = (rt) => rt.stderr.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l).message);

test('with few descriptors left newcomers are refused and everybody else is served', async () => {
	const { rt } = await world();
	const { sessionId } = await submit(rt, 'before');
	const reader = await follow(rt, sessionId);
	await reader.until(() => reader.of('turn.completed')[0], 'the first turn');
	execFileSync('prlimit', ['--pid', String(rt.pid), `--nofile=${LIMIT}:${LIMIT}`]);
	await sleep(400); // it looks at the limit a few times a second

	const clients = [];
	for (let i = 0; i < 3 * LIMIT; i++) clients.push(await connect(rt));
	await waitFor(() => clients.filter((c) => c.isClosed).length > LIMIT, 'clients to be turned away');
	const refused = clients.filter((c) => c.text.startsWith('HTTP/1.1 503'));
	assert.ok(refused.length > LIMIT, `${refused.length} were told 503`);
	assert.ok(refused.every((c) => /Retry-After: 1/.test(c.text)));
	for (const { text } of refused) checkError(503, JSON.parse(text.split('\r\n\r\n')[1]));
	assert.ok(open(rt) < LIMIT - 8, `${open(rt)} descriptors are open`);

	// Who is there is served: a request on a connection that was open, the stream, and a turn with its model call.
	assert.equal((await ok(rt, 'get_session', { sessionId })).status, 'idle');
	await submit(rt, 'in the crowd', { sessionId });
	await reader.until(() => reader.of('turn.completed')[1], 'a turn in the crowd');

	await waitFor(() => messages(rt).some((m) => m.startsWith('few file descriptors are left')), 'the warning');
	assert.equal(messages(rt).filter((m) => m.startsWith('few file descriptors are left')).length, 1, 'said once');
	const counted = (await scrape(rt))['agentd_connections_refused_total{reason="descriptors"}'];
	assert.ok(counted >= refused.length, `${counted} counted, ${refused.length} seen`);

	for (const client of clients) client.socket.destroy();
	await waitFor(() => messages(rt).includes('new connections are accepted again'), 'the end of it', 8000);
	const newcomer = await connect(rt);
	newcomer.socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
	await waitFor(() => newcomer.text.startsWith('HTTP/1.1 200'), 'an answer to a newcomer');
	newcomer.socket.destroy();
	reader.stop();
	await rt.stop();
});

test('when not one is left the loop neither spins nor ends, and it comes back', async () => {
	const { rt } = await world();
	await ok(rt, 'list_sessions', {});
	execFileSync('prlimit', ['--pid', String(rt.pid), `--nofile=${open(rt) - 2}:${LIMIT}`]); // below what it has already
	const clients = [];
	for (let i = 0; i < 50; i++) clients.push(await connect(rt));
	await waitFor(() => clients.every((c) => c.isClosed), 'all of them to be closed');
	const ticks = () => Number(execFileSync('awk', ['{print $14 + $15}', `/proc/${rt.pid}/stat`], { encoding: 'utf8' }));
	const before = ticks();
	await sleep(1000);
	assert.ok(ticks() - before < 20, `${ticks() - before} hundredths of a second of work while nothing was asked`);
	assert.deepEqual((await ok(rt, 'list_sessions', {})).sessions, []);
	execFileSync('prlimit', ['--pid', String(rt.pid), `--nofile=${LIMIT}:${LIMIT}`]);
	await sleep(400);
	const newcomer = await connect(rt);
	newcomer.socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
	await waitFor(() => newcomer.text.startsWith('HTTP/1.1 200'), 'an answer');
	newcomer.socket.destroy();
	await rt.stop();
});

/** agentd under a limit of file descriptors. */
function limited(limits) {
	const program = join(newFolder(), 'agentd-with-few');
	writeFileSync(program, `#!/bin/sh\n${limits}\nexec '${join(bin, 'agentd')}' "$@"\n`);
	chmodSync(program, 0o755);
	return program;
}

const maxFiles = (rt) => execFileSync('prlimit', ['--pid', String(rt.pid), '--nofile', '--output=SOFT', '--noheadings', '--raw'], { encoding: 'utf8' }).trim();

/** A model that answers when it is let go, each call on a connection of its own. */
async function heldModel() {
	const held = [];
	let isFree = false;
	const model = { calls: 0, most: 0, open: 0 };
	const answer = (res) => {
		model.open--;
		res.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
		res.end('data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
	};
	const server = http.createServer((req, res) => {
		model.calls++;
		model.most = Math.max(model.most, ++model.open);
		req.resume().on('end', () => (isFree ? answer(res) : held.push(res)));
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	after(() => server.close());
	return Object.assign(model, {
		url: `http://127.0.0.1:${server.address().port}/v1`,
		letGo() {
			isFree = true;
			held.splice(0).forEach(answer);
		},
	});
}

/** A world whose answers to submit_turn are written down, for the check at its end. */
async function noted(options) {
	const { rt, dataDir } = await world(options);
	const journal = new Journal(join(newFolder(), 'journal.ndjson'));
	const take = async (text) => {
		const turnId = `turn-${++take.count}`;
		journal.sent(turnId);
		const answer = await call(rt, 'submit_turn', { turnId, text, createPolicy: {} });
		if (answer.status === 202) journal.receipt(answer.text);
		else journal.refused(turnId);
		return answer;
	};
	take.count = 0;
	const check = async () => {
		await rt.kill9();
		return process.env.AR_TEST_POSTGRES ? undefined : journal.check(dataDir, { isFinal: true });
	};
	return { rt, take, check };
}

const ended = async (rt, outcome) => (await scrape(rt))[`agentd_turns_ended_total{outcome="${outcome}"}`];

const TURNS = Number(process.env.AR_SLOW_TURNS ?? 200);
const FEW = Number(process.env.AR_SLOW_DESCRIPTORS ?? 128);

test(`${TURNS} slow turns with ${FEW} descriptors: calls wait for a place, and none of them fails`, async (t) => {
	const PLACES = FEW / 8;
	const model = await heldModel();
	const { rt, take, check } = await noted({ model, program: limited(`ulimit -Sn 64; ulimit -Hn ${FEW}`) });
	assert.equal(maxFiles(rt), String(FEW), 'the soft limit is raised to the hard one');
	let last;
	for (let i = 0; i < TURNS; i++) {
		last = await take('slow');
		assert.equal(last.status, 202, last.text);
	}
	await waitFor(() => model.open === PLACES, () => `${model.open} of ${PLACES} calls are under way`);
	const seen = await scrape(rt);
	assert.equal(seen.agentd_model_calls_waiting, TURNS - PLACES);
	assert.equal(seen.agentd_calls_open, PLACES);
	const { sessionId, turnId } = last.body;
	await ok(rt, 'interrupt_turn', { sessionId, turnId, reason: 'a test' }); // one that waits
	await waitFor(async () => (await ended(rt, 'cancelled')) === 1, 'the end of the interrupted one');
	model.letGo();
	await waitFor(async () => (await ended(rt, 'completed')) === TURNS - 1, 'all turns to complete', 300000);
	assert.equal((await scrape(rt)).agentd_model_calls_waiting, 0);
	assert.deepEqual([model.calls, model.most], [TURNS - 1, PLACES], 'each is called once, so many at a time');
	t.diagnostic(JSON.stringify(await check()));
});

test('with 64 descriptors and a crowd at the door no turn that was accepted is lost or fails', async (t) => {
	const SOME = 60;
	const model = await heldModel();
	const { rt, take, check } = await noted({ model, config: { 'model.max_calls': 4, 'model.max_attempts': 1 } });
	await take('before');
	execFileSync('prlimit', ['--pid', String(rt.pid), '--nofile=64:64']);
	await sleep(400); // it looks at the limit a few times a second
	const crowd = [];
	for (let i = 0; i < 100; i++) crowd.push(await connect(rt));
	await waitFor(() => messages(rt).some((m) => m.startsWith('few file descriptors are left')), 'the line in the log');
	const answers = [];
	for (let i = 1; i < SOME; i++) answers.push(await take('slow'));
	const accepted = 1 + answers.filter((a) => a.status === 202).length;
	assert.equal(accepted, SOME, 'who was connected before is served');
	model.letGo();
	await waitFor(async () => (await ended(rt, 'completed')) === accepted, 'all turns to complete');
	assert.equal((await ended(rt, 'failed')) ?? 0, 0);
	for (const client of crowd) client.socket.destroy();
	t.diagnostic(JSON.stringify(await check()));
});

test('a call that finds no descriptor says that, and not that the server is away', async () => {
	const model = await heldModel();
	model.letGo();
	const { rt } = await world({ model, config: { 'model.max_attempts': 1 } });
	const { sessionId } = await submit(rt, 'before');
	const reader = await follow(rt, sessionId);
	await reader.until(() => reader.of('turn.completed')[0], 'the first turn');
	await waitFor(() => open(rt) < 60, 'the connection to the model to be closed');
	const numbers = new Set(readdirSync(`/proc/${rt.pid}/fd`).map(Number));
	let free = 0;
	while (numbers.has(free)) free++;
	execFileSync('prlimit', ['--pid', String(rt.pid), `--nofile=${free}:`]);
	await submit(rt, 'without a descriptor', { sessionId });
	const failure = await reader.until(() => reader.of('turn.failed')[0], 'the end of the turn');
	assert.match(JSON.stringify(failure), /no file descriptor left.*LimitNOFILE/);
	assert.doesNotMatch(JSON.stringify(failure), /could not be reached/);
	reader.stop();
	execFileSync('prlimit', ['--pid', String(rt.pid), `--nofile=1024:`]);
	await rt.stop();
});

test('with too few descriptors it does not start, and says how many it needs', () => {
	const { status, stderr } = spawnSync(limited('ulimit -n 64'), ['--data-dir', join(newFolder(), 'data'), '--listen', '127.0.0.1:0'], { encoding: 'utf8', timeout: 60000 });
	assert.equal(status, 1, stderr);
	assert.match(stderr, /this process may have 64 file descriptors, and needs at least \d+; raise the limit/);
});
