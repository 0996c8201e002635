// ci: release only
// A session of a million facts beside one of a thousand: opening, reading, paging and subscribing must cost the same, the
// memory of agentd must not follow the history, and a replay from the first fact must bring every sequence once.
// AR_BIG_FACTS sets the size of the big one.
// ci: alone scale
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { validateEvent, validateSnapshot } from '../lib/schemas.mjs';
import { bin, newFolder, request, startAgentd, storeOf } from '../lib/runtime.mjs';

const BIG = Number(process.env.AR_BIG_FACTS ?? 1_000_000);
const ROUNDS = 25;
const RATIO_MAX = 1.5;
const RSS_MAX_KB = 64 * 1024;

const dataDir = newFolder();
let small;
let big;
let peakKb = 0;

function make(facts) {
	const store = storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db');
	const line = execFileSync(join(bin, 'ar-make-session'), ['--store', store, '--facts', String(facts)], { encoding: 'utf8' });
	return JSON.parse(line);
}

before(() => {
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	small = make(1000);
	big = make(BIG);
	assert.ok(big.facts >= BIG);
});

function noteMemory(rt) {
	peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${rt.pid}/status`, 'utf8'))[1]));
	assert.ok(peakKb < RSS_MAX_KB, `agentd took ${peakKb} kB`);
}

async function post(rt, command, input) {
	const { status, text } = await request(rt, { path: `/v1/${command}`, body: JSON.stringify(input) });
	assert.equal(status, 200, text.slice(0, 500));
	return text;
}

const floors = []; // what a request takes that asks for nothing

// The time of `work`, beside that of an empty request in the same moment.
async function timed(rt, work) {
	const before = performance.now();
	await request(rt, { method: 'GET', path: '/health' });
	const start = performance.now();
	const value = await work();
	floors.push(start - before);
	return { ms: performance.now() - start, value };
}

// Alternates between the two sessions. The least of all rounds counts, because a cost that follows the history is in every one of them and what the machine does
// beside is not. Half as much again is alike, and so is a difference that an empty request has not room for.
async function compare(t, measure) {
	const times = { small: [], big: [] };
	floors.length = 0;
	for (let round = 0; round < ROUNDS; round++) {
		times.small.push(await measure(small));
		times.big.push(await measure(big));
	}
	const [ours, theirs, floor] = [times.big, times.small, floors].map((list) => Math.min(...list));
	t.diagnostic(`${big.facts} facts ${ours.toFixed(2)} ms, ${small.facts} facts ${theirs.toFixed(2)} ms, no fact ${floor.toFixed(2)} ms, peak ${peakKb} kB`);
	assert.ok(ours <= RATIO_MAX * theirs || ours - theirs < floor, `${ours} ms against ${theirs} ms, where nothing takes ${floor} ms`);
}

// Resolves with the first event that `wanted` accepts; the stream is cut then.
function firstEvent(rt, sessionId, headers, query, wanted) {
	return new Promise((done, fail) => {
		const path = `/v1/sessions/${sessionId}/events?${query}`;
		const req = http.get({ host: rt.host, port: rt.port, path, headers, agent: false }, (res) => {
			if (!wanted) {
				done(res.statusCode);
				return req.destroy();
			}
			let text = '';
			res.setEncoding('utf8').on('error', () => {}).on('data', (piece) => {
				text += piece;
				const frame = /data: (.*)\n\n/.exec(text);
				if (!frame) return;
				req.destroy();
				done(JSON.parse(frame[1]));
			});
		});
		req.on('error', (error) => (error.code === 'ECONNRESET' ? undefined : fail(error)));
	});
}

const FIRST_MAX = 256 * 1024; // bytes of the first look

test('the first look at a session after a start does not depend on its history: not its time, not its size', async (t) => {
	const sizes = new Map();
	await compare(t, async ({ sessionId, facts }) => {
		const rt = await startAgentd({ dataDir });
		await request(rt, { method: 'GET', path: '/health' });
		const { ms, value } = await timed(rt, () => post(rt, 'get_session', { sessionId }));
		sizes.set(sessionId, Buffer.byteLength(value));
		const snapshot = JSON.parse(value);
		assert.equal(snapshot.asOfSequence ?? snapshot.sequence, facts);
		validateSnapshot(snapshot);
		noteMemory(rt);
		await rt.stop();
		return ms;
	});
	const [ours, theirs] = [big, small].map(({ sessionId }) => sizes.get(sessionId));
	t.diagnostic(`${ours} bytes against ${theirs}`);
	assert.ok(ours < FIRST_MAX && ours <= 1.1 * theirs, `${ours} bytes against ${theirs}`);
});

test('reading the thread, the newest window and the pages before it', async (t) => {
	const rt = await startAgentd({ dataDir });
	const read = ({ sessionId, threadId }) => timed(rt, () => post(rt, 'get_thread_read', { sessionId, threadId })).then((r) => r.ms);
	const newest = async ({ sessionId, facts }) => {
		const { ms, value } = await timed(rt, () => post(rt, 'get_session', { sessionId, limit: 50 }));
		const { events } = JSON.parse(value).history;
		assert.deepEqual([events.length, events[0].sequence, events.at(-1).sequence], [50, facts - 49, facts]);
		return ms;
	};
	const pages = async ({ sessionId, facts }) => {
		let below = facts + 1;
		const { ms } = await timed(rt, async () => {
			for (let page = 0, cursor; page < 5; page++) {
				const { history } = JSON.parse(await post(rt, 'get_session', { sessionId, limit: 50, ...(cursor && { cursor }) }));
				assert.equal(history.events.at(-1).sequence, below - 1);
				below = history.events[0].sequence;
				cursor = history.cursor;
			}
		});
		assert.equal(below, facts - 249);
		return ms;
	};
	for (const [name, measure] of Object.entries({ read, newest, pages }))
		await t.test(name, (inner) => compare(inner, measure));
	noteMemory(rt);
	await rt.stop();
});

test('paging back from the middle of the history and reading its first page', async (t) => {
	const rt = await startAgentd({ dataDir });
	const at = async ({ sessionId }, cursor) => {
		const { ms, value } = await timed(rt, () => post(rt, 'get_session', { sessionId, limit: 50, cursor: String(cursor) }));
		assert.equal(JSON.parse(value).history.events.at(-1).sequence, cursor - 1);
		return ms;
	};
	await t.test('middle', (inner) => compare(inner, (s) => at(s, Math.floor(s.facts / 2))));
	await t.test('first page', (inner) => compare(inner, (s) => at(s, 51)));
	noteMemory(rt);
	await rt.stop();
});

test('subscribing at the newest cursor, now, and a few facts before the end', async (t) => {
	const rt = await startAgentd({ dataDir });
	const open = (query, headers) => (s) =>
		timed(rt, () => firstEvent(rt, s.sessionId, headers(s), query, false)).then(({ ms, value }) => {
			assert.equal(value, 200);
			return ms;
		});
	const tail = async (s) => {
		const { ms, value } = await timed(rt, () => firstEvent(rt, s.sessionId, { 'last-event-id': String(s.facts - 3) }, '', true));
		assert.equal(value.sequence, s.facts - 2);
		validateEvent(value);
		return ms;
	};
	await t.test('newest cursor', (inner) => compare(inner, open('', (s) => ({ 'last-event-id': String(s.facts) }))));
	await t.test('now', (inner) => compare(inner, open('after=now', () => ({}))));
	await t.test('tail', (inner) => compare(inner, tail));
	noteMemory(rt);
	await rt.stop();
});

const FACT_ID = /^id: (\d+)$/;

// Counts the facts of a replay by the ids of their frames; JSON is looked at now and then only.
class Replay {
	constructor() {
		Object.assign(this, { last: 0, deltas: 0, bytes: 0, rest: '' });
	}

	take(text) {
		this.bytes += text.length;
		const frames = (this.rest + text).split('\n\n');
		this.rest = frames.pop();
		for (const frame of frames) this.frame(frame);
	}

	frame(frame) {
		const line = frame.slice(0, frame.indexOf('\n'));
		const id = FACT_ID.exec(line);
		if (!id) {
			if (line.startsWith('id: ')) this.deltas++;
			return;
		}
		assert.equal(Number(id[1]), this.last + 1, `fact ${id[1]} came after ${this.last}`);
		this.last++;
		if (this.last % 1000 !== 1) return;
		const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 6));
		assert.equal(event.sequence, this.last);
		validateEvent(event);
	}
}

test('a replay from the first fact brings every sequence once, in bounded memory', async (t) => {
	const rt = await startAgentd({ dataDir });
	const replay = new Replay();
	const start = performance.now();
	await new Promise((done, fail) => {
		const path = `/v1/sessions/${big.sessionId}/events`;
		const req = http.get({ host: rt.host, port: rt.port, path, agent: false }, (res) => {
			res.setEncoding('latin1');
			res.on('data', (text) => {
				try {
					replay.take(text);
				} catch (error) {
					fail(error);
				}
				if (replay.last < big.facts) return;
				req.destroy();
				done();
			});
			res.on('close', () => fail(new Error(`the stream ended after ${replay.last}`)));
		});
	});
	noteMemory(rt);
	const seconds = (performance.now() - start) / 1000;
	t.diagnostic(`${big.facts} facts, ${replay.deltas} deltas, ${(replay.bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, peak ${peakKb} kB`);
	assert.equal(replay.deltas, big.turns);
	await rt.stop();
});
