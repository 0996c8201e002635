// ci: own stage
// A thousand sessions at once, each with a reader, turn after turn: no fact is lost or doubled, and memory does not grow with the work done.
// The work comes in rounds: each user has one short conversation in a session of its own, then begins another. After a round nothing runs
// and nobody reads, so what is then on the heap beside the store's caches (bounded; the server says what they have) is what is kept for
// ever: as much after each round, however fast the machine is. What the process has in RAM is bounded by the sessions at work at once.
// AR_LOAD_SECONDS says how long (20 by default, 1200 for a soak; never less than a few rounds), AR_LOAD_SESSIONS how many.
import assert from 'node:assert/strict';
import http from 'node:http';
import { before, test } from 'node:test';
import { readLog, request, sleep, waitFor, world } from '../lib/runtime.mjs';

const SECONDS = Number(process.env.AR_LOAD_SECONDS ?? 20);
const SESSIONS = Number(process.env.AR_LOAD_SESSIONS ?? 1000);
const TURNS = 3; // of one conversation
const ROUNDS = 4; // at least; the first one fills what is made once
const CHECKED = 20; // sessions of a round whose whole log is read
const KEPT = 10; // idle sessions that stay in memory: the others leave it, and come back for their next turn
const MIB = 1048576;
const PATIENCE = 600000; // milliseconds
const HEAP_SLOPE = 64; // bytes per turn: less than the smallest thing that could be forgotten with every turn
const RESIDENT_BASE = 16 * MIB; // the program and its libraries,
const RESIDENT_EACH = 128 * 1024; // and what a session at work takes, holes between them included
const LONG = 24; // rounds from which a slope of what is resident says something: it moves by some MiB from round to round
const RESIDENT_SLOPE = 256; // bytes per turn

let w;

before(async () => {
	w = await world({ config: { 'limits.max_subscribers': SESSIONS + 100, 'limits.max_connections': SESSIONS * 3 + 100, 'session.cache': KEPT,
		// All clients and the model are one process here, which may be slow.
		'limits.header_timeout_ms': PATIENCE, 'limits.body_timeout_ms': PATIENCE, 'limits.write_timeout_ms': PATIENCE,
		'model.connect_timeout_ms': PATIENCE, 'model.first_byte_timeout_ms': PATIENCE, 'model.idle_timeout_ms': PATIENCE } });
});

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;

/** Least squares: how much y grows per x. */
function slope(points) {
	const mean = (k) => points.reduce((sum, p) => sum + p[k], 0) / points.length;
	const [mx, my] = [mean(0), mean(1)];
	const up = points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0);
	return up / points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
}

async function metrics() {
	const { text } = await request(w.rt, { method: 'GET', path: '/metrics' });
	return (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1]);
}

const AT_WORK = ['turns_running', 'turns_queued', 'calls_open', 'commits_in_flight', 'store_waiting', 'subscribers_open'].map((name) => `agentd_${name}`);

/** What is kept when nothing runs and nobody reads: the least of some looks, for connections of the round may still be on their way out. */
async function atRest(turns) {
	const looks = [];
	await waitFor(async () => {
		const get = await metrics();
		const cached = get('agentd_memory_cached_bytes');
		if (!AT_WORK.every((name) => get(name) === 0)) return false;
		looks.push({ turns, heap: get('agentd_memory_heap_bytes') - cached, resident: get('process_resident_memory_bytes') - cached });
		await sleep(50);
		return looks.length === 10;
	}, 'the server comes to rest', PATIENCE);
	return looks.reduce((least, one) => (one.heap < least.heap ? one : least));
}

/** A reader that only looks at sequences and ends: the machine is to be busy with the server. */
class Reader {
	constructor(sessionId) {
		Object.assign(this, { sessionId, last: 0, cursor: '', faults: [], ends: [], rest: '', waiting: null, isStopped: false });
		this.open();
	}

	/** Again when it was cut, from where it is. */
	open() {
		const path = `/v1/sessions/${this.sessionId}/events?view=extended&deltas=false`;
		this.rest = '';
		this.req = http.get({ ...w.rt.where(), path, agent: false, headers: this.cursor ? { 'Last-Event-ID': this.cursor } : {} }, (res) => {
			res.setEncoding('utf8');
			res.on('data', (text) => this.take(text)).on('error', () => {});
		});
		this.req.on('error', () => {}).on('close', () => this.isStopped || setTimeout(() => this.isStopped || this.open(), 100));
	}

	stop() {
		this.isStopped = true;
		this.req.destroy();
	}

	take(text) {
		const frames = (this.rest + text).split('\n\n');
		this.rest = frames.pop();
		for (const frame of frames) {
			const sequence = Number.parseInt(frame.slice(4), 10); // id: <cursor>
			if (!frame.startsWith('id: ')) continue;
			if (sequence !== this.last + 1) this.faults.push(`${sequence} follows ${this.last}`);
			this.last = sequence;
			this.cursor = frame.slice(4, frame.indexOf('\n'));
			const end = /"type":"turn\.(?:completed|failed)".*?"turnId":"([^"]+)"/.exec(frame);
			if (end) this.ends.push(end[1]);
		}
		this.waiting?.();
	}

	async ended(turnId) {
		while (!this.ends.includes(turnId)) await new Promise((done) => (this.waiting = done));
	}
}

async function post(command, input) {
	const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), ms: PATIENCE });
	assert.ok(status < 300, text);
	return JSON.parse(text);
}

/** One user: submits, waits for the end on its own stream, submits again. */
async function converse(state) {
	const { sessionId } = await post('create_session', { title: 'load', workspaceId: 'w' });
	const reader = new Reader(sessionId);
	const turns = [];
	while (turns.length < TURNS) {
		const began = performance.now();
		const { turnId } = await post('submit_turn', { sessionId, text: `turn ${turns.length}` });
		state.acks.push(performance.now() - began);
		turns.push(turnId);
		await reader.ended(turnId);
		state.turns++;
		await sleep(Math.random() * 400);
	}
	reader.stop();
	return { sessionId, reader, turns };
}

async function checkFacts(users) {
	for (const { reader, turns } of users) {
		assert.deepEqual(reader.faults, []);
		assert.deepEqual(reader.ends, turns, 'each turn ended once, in order');
	}
	for (const { sessionId, turns } of users.slice(0, CHECKED)) {
		const log = await readLog(w.rt, sessionId);
		assert.deepEqual(log.map((f) => f.sequence), log.map((_, i) => i + 1));
		assert.deepEqual(log.filter((f) => f.type === 'turn.submitted').map((f) => f.event.turnId), turns);
		assert.deepEqual(log.filter((f) => f.type === 'turn.completed').map((f) => f.event.turnId), turns);
	}
}

test(`${SESSIONS} sessions for ${SECONDS} s: facts are whole, memory is level`, { timeout: SECONDS * 1000 + 2 * PATIENCE }, async (t) => {
	const state = { acks: [], turns: 0 };
	const began = performance.now();
	const rounds = [];
	while (rounds.length < ROUNDS || performance.now() - began < SECONDS * 1000) {
		const users = await Promise.all(Array.from({ length: SESSIONS }, () => converse(state)));
		rounds.push(await atRest(state.turns));
		await checkFacts(users);
	}
	const seconds = (performance.now() - began) / 1000;
	state.acks.sort((a, b) => a - b);
	const grows = slope(rounds.slice(1).map((r) => [r.turns, r.heap]));
	const later = rounds.slice(rounds.length / 2);
	const spreads = later.length > LONG / 2 ? slope(later.map((r) => [r.turns, r.resident])) : 0;
	const most = Math.max(...rounds.map((r) => r.resident));
	t.diagnostic(`${state.turns} turns in ${rounds.length} rounds, ${(state.turns / seconds).toFixed(0)}/s; `
		+ `ack p50 ${quantile(state.acks, 0.5).toFixed(1)} ms, p99 ${quantile(state.acks, 0.99).toFixed(1)} ms; `
		+ `heap at rest ${rounds.map((r) => (r.heap / MIB).toFixed(2)).join(' ')} MiB: ${grows.toFixed(1)} bytes per turn; `
		+ `resident at most ${(most / MIB).toFixed(0)} MiB beside the caches${later.length > LONG / 2 ? `, ${spreads.toFixed(0)} bytes per turn` : ''}`);
	assert.ok(grows < HEAP_SLOPE, `the heap grows by ${grows} bytes per turn`);
	assert.ok(most < RESIDENT_BASE + RESIDENT_EACH * SESSIONS, `${most} bytes are resident for ${SESSIONS} sessions`);
	assert.ok(spreads < RESIDENT_SLOPE, `what is resident grows by ${spreads} bytes per turn`);
	await w.rt.stop();
});
