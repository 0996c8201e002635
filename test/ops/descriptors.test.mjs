// Few descriptors and many clients: newcomers are turned away with 503, those who are there are served on, turns run, the log and the metrics say
// so, and when clients go all is as before.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';
import { follow, ok, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
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
	await waitFor(() => messages(rt).includes('new connections are taken again'), 'the end of it', 8000);
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
