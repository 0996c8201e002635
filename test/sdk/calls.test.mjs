// Calls of the client: what is sent again and what is not, and what errors say.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test as plain } from 'node:test';
import { AgentRuntime, ConnectionError, DeadlineError, RefusedError } from '../../sdk/typescript/dist/index.js';
import { folder } from './sdk.mjs';
import { json, refuse, serve } from './server.mjs';

/** Waiting for ever is what most of them would do when the client is wrong. */
const test = (name, run) => plain(name, { timeout: 20000 }, run);

const connect = (servers, options = {}) => new AgentRuntime({ url: [servers].flat().map(({ url }) => url), ...options });

test('a write that was lost on its way is sent again with the key it had', async () => {
	const server = await serve((call, res, n) => (n < 3 ? res.destroy() : json(res, 202, { sessionId: 's' })));
	assert.deepEqual(await connect(server).submitTurn({ createPolicy: {}, text: 'x' }), { sessionId: 's' });
	const keys = server.calls.map(({ input }) => input.idempotencyKey);
	assert.equal(keys.length, 3);
	assert.match(keys[0], /^[0-9a-f]{32}$/);
	assert.equal(new Set(keys).size, 1);
	await connect(server).submitTurn({ createPolicy: {}, text: 'x' });
	assert.notEqual(server.calls[3].input.idempotencyKey, keys[0]);
});

test('an id or a key that the caller chose is the key', async () => {
	const server = await serve((call, res, n) => (n % 2 ? res.destroy() : json(res, 202, {})));
	await connect(server).submitTurn({ createPolicy: {}, text: 'x', turnId: 'mine' });
	await connect(server).submitTurn({ createPolicy: {}, text: 'x', idempotencyKey: 'k' });
	assert.deepEqual(server.calls.map(({ input }) => input.idempotencyKey), [undefined, undefined, 'k', 'k']);
});

test('a write that has no key is sent once', async () => {
	const server = await serve((call, res) => res.destroy());
	await assert.rejects(connect(server).finishBenchmarkTrial({ trialId: 't', outcome: 'x' }), ConnectionError);
	assert.equal(server.calls.length, 1);
});

test('an answer that breaks off in the middle is as good as none', async () => {
	const server = await serve((call, res, n) => {
		if (n > 1) return json(res, 200, { sessions: [] });
		res.writeHead(200, { 'content-length': 100 });
		res.write('{"sess', () => res.destroy());
	});
	assert.deepEqual(await connect(server).listSessions(), { sessions: [] });
});

test('what is refused for now is asked again, not before Retry-After', async () => {
	const server = await serve((call, res, n) => (n === 1 ? refuse(res, 503, 'overloaded', { retryable: true }, { 'retry-after': '1' }) : json(res, 200, {})));
	await connect(server).listSessions();
	assert.ok(server.calls[1].at - server.calls[0].at >= 990, `${server.calls[1].at - server.calls[0].at} ms`);
});

test('a refusal says all that the server said, and a state is for the caller to judge', async () => {
	const server = await serve((call, res) => refuse(res, 409, 'thread_busy_rejected', { retryable: true, turnId: 'turn_1' }, { 'retry-after': '2' }));
	const error = await connect(server).submitTurn({ createPolicy: {}, text: 'x' }).catch((e) => e);
	assert.ok(error instanceof RefusedError);
	const { code, status, retryable, next, retryAfterMs, message, details } = error;
	assert.deepEqual([code, status, retryable, next, retryAfterMs, message, details.turnId],
		['thread_busy_rejected', 409, true, 'Do something else.', 2000, 'thread_busy_rejected happened', 'turn_1']);
	assert.equal(server.calls.length, 1);
});

test('a proxy without an answer of ours counts as a lost connection', async () => {
	const server = await serve((call, res, n) => (n === 1 ? res.writeHead(502).end('<html>') : json(res, 200, { ok: 1 })));
	assert.deepEqual(await connect(server).listSessions(), { ok: 1 });
});

test('the deadline ends it: while waiting for an answer, and instead of a pause that goes beyond it', async () => {
	const silent = await serve(() => {});
	const at = performance.now();
	await assert.rejects(connect(silent).listSessions({}, { deadline: Date.now() + 300 }), DeadlineError);
	assert.ok(performance.now() - at < 20000);
	const busy = await serve((call, res) => refuse(res, 503, 'overloaded', { retryable: true }, { 'retry-after': '60' }));
	const error = await connect(busy).listSessions({}, { timeoutMs: 50000 }).catch((e) => e);
	assert.ok(error instanceof DeadlineError && error.cause.code === 'overloaded');
	assert.ok(performance.now() - at < 40000);
});

test('an abort ends it with its reason, in an attempt and in a pause', async () => {
	const silent = await serve(() => {});
	const reason = new Error('enough');
	await assert.rejects(connect(silent).listSessions({}, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' });
	const busy = await serve((call, res) => refuse(res, 503, 'overloaded', { retryable: true }, { 'retry-after': '60' }));
	const controller = new AbortController();
	setTimeout(() => controller.abort(reason), 100);
	await assert.rejects(connect(busy, { timeoutMs: 120000 }).listSessions({}, { signal: controller.signal }), reason);
	await assert.rejects(connect(busy).listSessions({}, { signal: AbortSignal.abort(reason) }), reason);
	assert.equal(busy.calls.length, 1);
});

test('a node that hangs or is gone is left for the next, which is kept', async () => {
	const silent = await serve(() => {});
	const good = await serve((call, res) => json(res, 200, {}));
	const client = connect([{ url: 'http://127.0.0.1:1' }, silent, good], { attemptMs: 200 });
	await client.listSessions();
	await client.listSessions();
	assert.deepEqual([silent.calls.length, good.calls.length], [1, 2]);
});

test('the token is shown, and asked for each time when it is a function', async () => {
	const server = await serve((call, res) => json(res, 200, {}));
	let n = 0;
	const client = connect(server, { token: async () => `t${++n}` });
	await client.listSessions();
	await client.listSessions();
	assert.deepEqual(server.calls.map(({ headers }) => headers.authorization), ['Bearer t1', 'Bearer t2']);
});

test('what a page loads has nothing of node in it', () => {
	const seen = new Set();
	const visit = (file) => {
		if (seen.has(file)) return;
		seen.add(file);
		for (const [, name] of readFileSync(`${folder}dist/${file}`, 'utf8').matchAll(/(?:from|import) "([^"]+)"/g)) {
			assert.match(name, /^\.\.?\//, `${file} imports ${name}`);
			visit(new URL(name, `file:///${file}`).pathname.slice(1));
		}
	};
	visit('index.js');
	assert.ok(seen.has('gen/commands.js') && seen.has('stream.js') && !seen.has('node.js'));
});
