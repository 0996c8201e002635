// The event iterator of the client: its place, its patience, and what it makes of a stream that repeats, swallows or hangs.
// ci: release only
import assert from 'node:assert/strict';
import { test as plain } from 'node:test';
import { AgentRuntime, ConnectionError, RefusedError } from '../../sdk/typescript/dist/index.js';
import { sleep } from '../lib/follower.mjs';
import { delta, fact, refuse, serve, stream, take } from './server.mjs';

/** Waiting for ever is what most of them would do when the client is wrong. */
const test = (name, run) => plain(name, { timeout: 20000 }, run);

const S = 'sess_00000000000000000000000001';
const connect = (servers, options = {}) => new AgentRuntime({ url: [servers].flat().map(({ url }) => url), ...options });

test('EV-22 a repeated frame is dropped, a swallowed one is asked for again', async () => {
	const server = await serve((call, res, n) => {
		stream(res);
		if (n === 1) res.write([fact(1), fact(2), fact(1), fact(2), delta(2, 0, 'ab'), delta(2, 0, 'ab'), fact(4)].join(''));
		if (n === 2) res.write([fact(3), delta(3, 2, 'cd'), delta(3, 6, 'gh')].join(''));
		if (n === 3) res.write([delta(3, 4, 'ef'), delta(3, 6, 'gh'), delta(2, 0, 'ab'), fact(4)].join(''));
	});
	assert.deepEqual(await take(connect(server).events({ sessionId: S }), 8), [1, 2, 'ab', 3, 'cd', 'ef', 'gh', 4]);
	assert.deepEqual(server.calls.map(({ input }) => input.after), [undefined, '2.1:2', '3.1:4']);
});

test('a hole that stays is the server\'s word', async () => {
	const server = await serve((call, res, n) => stream(res).write(n === 1 ? fact(1) + fact(5) : fact(5) + fact(6)));
	assert.deepEqual(await take(connect(server).events({ sessionId: S }), 3), [1, 5, 6]);
	assert.equal(server.calls.length, 2);
});

test('all sessions: each has its own numbers, and the cursor is taken as it comes', async () => {
	const of = (session, sequence, cursor) => fact(sequence, 'runtime.warning', { sessionId: `sess_${session}` }).replace(/^id: .*/, `id: ${cursor}`);
	const server = await serve((call, res, n) => {
		stream(res);
		if (n === 1) res.write([of('a', 7, 't1:1'), of('b', 1, 't1:2'), of('a', 8, 't1:3'), of('b', 1, 't1:2'), of('b', 3, 't1:5')].join(''));
		if (n === 2) res.write([of('b', 2, 't1:4'), of('b', 3, 't1:5'), of('c', 1, 't1:6')].join(''));
	});
	assert.deepEqual(await take(connect(server).events(), 6), [7, 1, 8, 2, 3, 1]);
	assert.deepEqual(server.calls.map(({ input }) => input), [{ view: 'extended' }, { view: 'extended', after: 't1:3' }]);
});

test('where types are chosen, numbers have holes', async () => {
	const server = await serve((call, res) => stream(res).write(fact(1) + fact(5) + fact(9)));
	assert.deepEqual(await take(connect(server).events({ sessionId: S, types: ['runtime.warning'], deltas: false }), 3), [1, 5, 9]);
	assert.deepEqual(server.calls[0].input, { sessionId: S, view: 'extended', types: ['runtime.warning'], deltas: false });
});

test('the cursor is the place after what was handed out, and a new stream goes on there', async () => {
	const server = await serve((call, res, n) => stream(res).write(n === 1 ? fact(1) + fact(2) + fact(3) : fact(2) + fact(3)));
	const first = connect(server).events({ sessionId: S });
	await first.next();
	assert.equal(first.cursor, '1');
	await first.return();
	const second = connect(server).events({ sessionId: S, after: first.cursor });
	assert.deepEqual(await take(second, 2), [2, 3]);
	assert.equal(server.calls[1].input.after, '1');
});

test('silence is noticed; a heartbeat is no silence', async () => {
	const server = await serve((call, res, n) => {
		stream(res).write(n === 1 ? fact(1) : '');
		if (n > 1) setTimeout(() => res.write(fact(2)), 900);
		if (n > 1) res.timer = setInterval(() => res.write(':\n\n'), 100);
		res.on('close', () => clearInterval(res.timer));
	});
	const told = [];
	const events = connect(server).events({ sessionId: S, silenceMs: 400, onInterrupted: (error) => told.push(error) });
	assert.deepEqual(await take(events, 2), [1, 2]);
	assert.equal(server.calls.length, 2);
	assert.match(told[0].message, /nothing came for 400 ms/);
});

test('while the consumer does not ask, nothing is read', async () => {
	let written = 0;
	const big = 'x'.repeat(64 * 1024);
	const server = await serve((call, res) => {
		stream(res);
		let n = 0;
		const go = () => {
			while (n < 1000) {
				n++;
				written += big.length;
				if (!res.write(fact(n, 'runtime.warning', { payload: { big } }))) return;
			}
		};
		res.on('drain', go);
		go();
	});
	const events = connect(server).events({ sessionId: S });
	await events.next();
	await sleep(500);
	const atRest = written;
	await sleep(500);
	assert.equal(written, atRest);
	assert.ok(atRest < 16 * 1024 * 1024, `${atRest} bytes were taken`);
	assert.deepEqual((await take(events, 400)).at(-1), 401);
});

test('an abort ends the iteration, also while it waits or reconnects', async () => {
	const silent = await serve((call, res) => stream(res).write(fact(1)));
	const stop = new AbortController();
	const seen = [];
	setTimeout(() => stop.abort(), 200);
	for await (const event of connect(silent).events({ sessionId: S, signal: stop.signal })) seen.push(event.sequence);
	assert.deepEqual(seen, [1]);
	const away = connect({ url: 'http://127.0.0.1:1' }).events({ sessionId: S, signal: AbortSignal.timeout(300) });
	assert.deepEqual(await away.next(), { done: true, value: undefined });
	const waiting = connect(silent).events({ sessionId: S, after: 1 });
	setTimeout(() => waiting.return(), 100);
	assert.equal((await waiting.next()).done, true);
});

test('close() ends the streams of the client, also between two connections; others can be opened after it', async () => {
	const silent = await serve((call, res) => stream(res).write(fact(1)));
	const [client, lost] = [connect(silent), connect({ url: 'http://127.0.0.1:1' })];
	const [read, away] = [client.events({ sessionId: S, after: 1 }), lost.events({ sessionId: S })];
	const over = Promise.all([read.next(), away.next()]);
	setTimeout(() => [client, lost].forEach((it) => it.close()), 200);
	assert.deepEqual((await over).map(({ done }) => done), [true, true]);
	assert.deepEqual(await take(client.events({ sessionId: S }), 1), [1]);
});

test('leaving the loop closes the connection', async () => {
	let closed;
	const gone = new Promise((done) => (closed = done));
	const server = await serve((call, res) => stream(res).on('close', closed).write(fact(1) + fact(2)));
	await take(connect(server).events({ sessionId: S }), 1);
	await gone;
});

test('nodes are tried in turn, with pauses that grow, until patience ends', async () => {
	const busy = await serve((call, res) => refuse(res, 503, 'owner_unreachable', { retryable: true }));
	const good = await serve((call, res) => stream(res).write(fact(1)));
	assert.deepEqual(await take(connect([{ url: 'http://127.0.0.1:1' }, busy, good]).events({ sessionId: S }), 1), [1]);
	const tries = [];
	const lost = connect([{ url: 'http://127.0.0.1:1' }, busy]).events({ sessionId: S, patienceMs: 700, onInterrupted: () => tries.push(performance.now()) });
	const error = await lost.next().catch((e) => e);
	assert.ok(error instanceof ConnectionError || error.code === 'owner_unreachable');
	assert.ok(tries.length >= 3 && tries.length < 12, `${tries.length} tries`);
});

test('a node that takes the connection and says nothing is left', async () => {
	const silent = await serve(() => {});
	const good = await serve((call, res) => stream(res).write(fact(1)));
	assert.deepEqual(await take(connect([silent, good], { attemptMs: 200 }).events({ sessionId: S }), 1), [1]);
});

test('what no connection mends is thrown', async () => {
	const server = await serve((call, res) => refuse(res, 410, 'cursor_too_old'));
	const error = await connect(server).events({ sessionId: S, after: '3' }).next().catch((e) => e);
	assert.ok(error instanceof RefusedError);
	assert.equal(error.code, 'cursor_too_old');
	assert.equal(server.calls.length, 1);
});

test('several next() at once are answered in order', async () => {
	const server = await serve((call, res) => stream(res).write(fact(1) + fact(2) + fact(3)));
	const events = connect(server).events({ sessionId: S });
	const seen = await Promise.all([events.next(), events.next(), events.next()]);
	assert.deepEqual(seen.map(({ value }) => value.sequence), [1, 2, 3]);
	await events.return();
});
