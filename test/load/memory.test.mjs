// ci: own stage
// Want of memory, for real: the data segment of a running agentd is limited from outside, so that an allocation beyond it fails, and clients send
// more than fits. What begins work is refused in a way that says when to come back, what reads or ends work goes on, nothing
// acknowledged is lost, and work is taken again when there is room. Idle sessions leave before anybody is refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { test } from 'node:test';
import { call, checkError, ok, readLog, request, sleep, waitFor, world } from '../lib/runtime.mjs';

const MIB = 1048576;
const ROOM = 96 * MIB; // that agentd may take beside what it has at its start
const BIG = 700000; // bytes of one turn
const CLIENTS = 400; // each with such a turn: far more than fits
const REST_MS = 60000;

function memoryOf(rt, name) {
	return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${rt.pid}/status`, 'utf8'))[1]) * 1024;
}

async function metric(rt, name) {
	const { text } = await request(rt, { method: 'GET', path: '/metrics' });
	return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1]);
}

const limitData = (rt, bytes) => execFileSync('prlimit', ['--pid', String(rt.pid), `--data=${bytes}:`]);

/** A turn on a connection of its own; the model never answers it. undefined: this client was too slow to send on until it saw the refusal. */
function submitBig(rt, n) {
	const body = JSON.stringify({ createPolicy: {}, text: `[[hang]] ${n} ${'x'.repeat(BIG)}` });
	return new Promise((done, fail) => {
		const req = http.request({ ...rt.where(), agent: false, method: 'POST', path: '/v1/submit_turn',
			headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (res) => {
			let text = '';
			res.setEncoding('utf8').on('data', (piece) => (text += piece)).on('error', fail);
			res.on('end', () => done({ status: res.statusCode, headers: res.headers, body: JSON.parse(text) }));
		});
		req.on('error', (error) => (['ECONNRESET', 'EPIPE'].includes(error.code) ? req.res ?? done() : fail(error)));
		req.end(body);
	});
}

function checkRefusal({ status, headers, body }) {
	checkError(status, body);
	assert.equal(body.error.code, 'overloaded');
	assert.equal(body.error.retryable, true);
	assert.match(body.error.message, /memory/);
	assert.ok(Number(headers['retry-after']) >= 1);
}

/** Turns that stay open, one after the other, until there is no room for one more, and stays none, although nothing else is under way. */
async function fill(rt, taken) {
	const refusals = [];
	while (refusals.length < 5) {
		const answer = await submitBig(rt, taken.length);
		if (answer.status >= 300) {
			refusals.push(answer);
			await sleep(300);
			continue;
		}
		refusals.length = 0;
		assert.ok(taken.push(answer.body) < CLIENTS, 'it is full at some time');
	}
	return refusals;
}

test('what does not fit is refused, what was taken stays, and work goes on when there is room', { timeout: 240000 }, async (t) => {
	const w = await world({ config: { 'log.requests': 'off' } });
	const { sessionId: seen } = await ok(w.rt, 'create_session', { title: 'seen' });
	limitData(w.rt, memoryOf(w.rt, 'VmData') + ROOM);

	const answers = (await Promise.all(Array.from({ length: CLIENTS }, (_, n) => submitBig(w.rt, n)))).filter(Boolean);
	const taken = answers.filter((a) => a.status < 300).map((a) => a.body);
	const refusals = answers.filter((a) => a.status >= 300);
	const atOnce = taken.length;
	assert.ok(atOnce > 0 && refusals.length > 0);
	refusals.push(...(await fill(w.rt, taken)));
	refusals.forEach(checkRefusal);
	t.diagnostic(`of ${CLIENTS} turns of ${BIG} bytes at once ${atOnce} were taken, ${taken.length - atOnce} more one by one until it was full`);

	assert.match(w.rt.stderr, /memory is short: new work is refused/);
	assert.equal(await metric(w.rt, 'agentd_memory_short'), 1);
	assert.equal((await ok(w.rt, 'get_session', { sessionId: seen })).title, 'seen');
	for (const { sessionId, turnId } of taken) await ok(w.rt, 'interrupt_turn', { sessionId, turnId, reason: 'no room' });

	await waitFor(async () => (await metric(w.rt, 'agentd_memory_short')) === 0, 'there is room again', REST_MS);
	assert.match(w.rt.stderr, /memory is available again/);
	const later = await submitBig(w.rt, CLIENTS);
	assert.equal(later.status, 202, JSON.stringify(later.body));
	taken.push(later.body);

	await w.rt.kill9();
	const rt = await w.again();
	for (const { sessionId, turnId } of taken) {
		const log = await readLog(rt, sessionId);
		assert.deepEqual(log.filter((f) => f.type === 'turn.submitted').map((f) => f.event.turnId), [turnId]);
	}
	await rt.stop(60000);
});

test('idle sessions leave before anybody is refused', { timeout: 240000 }, async (t) => {
	const MARK = 64 * MIB;
	const COUNT = 12000; // some kilobytes each
	const w = await world({ config: { 'limits.memory_bytes': MARK, 'session.cache': 1000000 } });
	const ids = [];
	let most = 0;
	const make = async () => {
		while (ids.length < COUNT) {
			const n = ids.push(null) - 1;
			ids[n] = (await ok(w.rt, 'create_session', { title: `s${n}` })).sessionId;
			if (n % 500 === 0) most = Math.max(most, memoryOf(w.rt, 'RssAnon'));
		}
	};
	await Promise.all(Array.from({ length: 64 }, make));
	const open = await metric(w.rt, 'agentd_sessions_open');
	t.diagnostic(`${open} of ${COUNT} sessions in memory, at most ${(most / MIB).toFixed(0)} MiB of ${MARK / MIB}`);
	assert.ok(open < COUNT, 'some have left');
	assert.equal(await metric(w.rt, 'agentd_memory_short'), 0);
	for (let n = 0; n < COUNT; n += 1000) assert.equal((await call(w.rt, 'get_session', { sessionId: ids[n] })).body.title, `s${n}`);
	await w.rt.stop();
});
