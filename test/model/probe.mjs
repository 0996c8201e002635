// Runs provider-probe of the build in AR_BIN, which prints each callback as a line of JSON and aborts when the provider
// breaks its contract; and what the tests of the provider share.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PROBE = path.join(process.env.AR_BIN ?? fileURLToPath(new URL('../../build/release/bin', import.meta.url)), 'provider-probe');
let turns = 0;

// Runs the probe and gives its lines; `done` is the end of the first call. `more` needs a baseUrl.
export async function probe(prompt, more) {
	assert.ok(existsSync(PROBE), `${PROBE} is not built; set AR_BIN to the bin folder of a build`);
	const turn = more.turn ?? `turn${++turns}`;
	const config = { prompt, turn, ...more };
	const child = spawn(PROBE, [JSON.stringify(config)], { stdio: ['ignore', 'pipe', 'pipe'] });
	let out = '';
	let errors = '';
	child.stdout.on('data', (bytes) => (out += bytes));
	child.stderr.on('data', (bytes) => (errors += bytes));
	const code = await new Promise((ended) => child.on('close', (c, signal) => ended(c ?? signal)));
	assert.equal(code, 0, `probe ended with ${code}: ${errors}`);
	const lines = out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
	const of = (kind) => lines.filter((l) => l.on === kind).map((l) => l.bytes).join('');
	return { turn, lines, done: lines.find((l) => l.on === 'done'), text: of('text'), reasoning: of('reasoning'), of };
}

export function assertEnd({ done }, expected) {
	for (const [name, value] of Object.entries(expected)) assert.equal(done[name], value, `${name}: ${JSON.stringify(done)}`);
}

// The client's ports: one for each connection.
export function portsOf(peer, run) {
	return new Set(peer.log().filter((e) => e.turn.startsWith(`${run.turn}-`)).map((e) => e.clientPort));
}

// A server of plain sockets that the test closes, also when it fails.
export async function rawServer(t, onSocket) {
	const sockets = new Set();
	const raw = net.createServer((socket) => {
		sockets.add(socket.on('error', () => {}));
		onSocket(socket);
	});
	await new Promise((done) => raw.listen(0, '127.0.0.1', done));
	t.after(() => {
		raw.close();
		for (const socket of sockets) socket.destroy();
	});
	return `127.0.0.1:${raw.address().port}/v1`;
}

export const COMPLETED = { outcome: 'completed', http: 200, stopReason: 'stop', retryable: false };
