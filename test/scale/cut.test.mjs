// Subscribers whose connection is cut again and again, at any byte, while several threads stream at once: resumed by the
// id of the last whole frame each must end with the very facts and the very text of a subscriber that was never cut.
// AR_CUTS sets how many cuts in all, AR_SEED which ones.
// ci: alone scale
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { validateEvent } from '../lib/schemas.mjs';
import { DELTAS, TERMINAL, submit, waitFor, world } from '../lib/runtime.mjs';

const CUTS = Number(process.env.AR_CUTS ?? 1000);
const SEED = Number(process.env.AR_SEED ?? Math.floor(Math.random() * 2 ** 31));
const READERS = 4;
const THREADS = 3;
const CUT_MAX = 3000; // bytes, the head of the answer among them
const DEADLINE_MS = 240000;

// What the threads say in turn: slow and fast, byte by byte, wide characters, reasoning, a tool call.
const SCRIPTS = [
	'[[utf8]] [[delay 2]]',
	'[[reasoning first I think about it, then I think again]] [[tokens 40]] [[delay 1]]',
	'[[split]] [[say Grüße aus Zürich: 你好, 世界! 👋🏽 e\u0301]]',
	'[[tool lookup {"query":"何か","limit":3}]] [[delay 1]]',
	'[[reasoning 考える 考える]] [[utf8]] [[split]]',
	'[[tokens 80]]',
	'[[tokens 60]] [[delay 10]]', // long enough that two threads stream at once, however slow the store is
];

function randomOf(seed) {
	let state = seed >>> 0;
	return (below) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) % below;
	};
}

const isInsideCharacter = (byte) => (byte & 0xc0) === 0x80;

// Where a connection ends: after `bytes`, or with `inCharacter` at the first place from there on that splits a character.
// Returns how many bytes of the piece still count, or -1 for all of them and no end.
function cutIn(plan, piece, taken) {
	const at = plan.bytes - taken;
	if (at >= piece.length) return -1;
	if (!plan.inCharacter) return Math.max(at, 0);
	for (let i = Math.max(at, 1); i < piece.length; i++) if (isInsideCharacter(piece[i])) return i;
	return -1;
}

class Subscriber {
	constructor(rt, sessionId, counts) {
		Object.assign(this, { rt, sessionId, counts, cursor: '', facts: [], outputs: new Map(), ended: new Set() });
	}

	get last() {
		return this.facts.length;
	}

	/** One connection until the plan ends it (true) or the server does (false). Only whole frames count. */
	connect(plan) {
		return new Promise((done, fail) => {
			let taken = 0;
			let rest = Buffer.alloc(0);
			let hasHead = false;
			const socket = net.connect(this.rt.port, this.rt.host, () => {
				const resume = this.cursor ? `Last-Event-ID: ${this.cursor}\r\n` : '';
				socket.write(`GET /v1/sessions/${this.sessionId}/events?view=extended HTTP/1.1\r\nHost: localhost\r\n${resume}\r\n`);
			});
			this.socket = socket;
			socket.on('data', (piece) => {
				const end = cutIn(plan, piece, taken);
				const kept = end < 0 ? piece : piece.subarray(0, end);
				taken += kept.length;
				if (end >= 0) this.noteCut(piece, end);
				rest = Buffer.concat([rest, kept]);
				try {
					if (!hasHead) [hasHead, rest] = this.head(rest);
					if (hasHead) rest = this.frames(rest);
				} catch (error) {
					socket.destroy();
					return fail(error);
				}
				if (end < 0) return;
				if (hasHead && rest.length > 0) this.counts.inFrame++;
				socket.destroy();
				done(true);
			});
			socket.on('error', fail).on('close', () => done(false));
		});
	}

	noteCut(piece, end) {
		this.counts.cuts++;
		if (isInsideCharacter(piece[end])) this.counts.inCharacter++;
		if (this.cursor.includes('.')) this.counts.inStep++;
		if (this.cursor.includes(',')) this.counts.inTwoSteps++;
	}

	head(bytes) {
		const end = bytes.indexOf('\r\n\r\n');
		if (end < 0) return [false, bytes];
		assert.match(bytes.toString('latin1'), /^HTTP\/1\.1 200 /, bytes.toString('utf8'));
		return [true, bytes.subarray(end + 4)];
	}

	frames(bytes) {
		for (let end; (end = bytes.indexOf('\n\n')) >= 0; bytes = bytes.subarray(end + 2)) this.frame(bytes.toString('utf8', 0, end));
		return bytes;
	}

	frame(text) {
		const [, id] = /^id: (.*)$/m.exec(text) ?? [];
		const [, data] = /^data: (.*)$/m.exec(text) ?? [];
		if (data === undefined) return; // a heartbeat, or advice on when to come back
		const event = JSON.parse(data);
		validateEvent(event);
		this.cursor = id;
		if (DELTAS.has(event.type)) event.payload.complete || this.delta(event);
		else this.fact(event, data);
	}

	fact(event, data) {
		assert.equal(event.sequence, this.last + 1, `fact ${event.sequence} after ${this.last}`);
		this.facts.push(data);
		if (TERMINAL.has(event.type)) this.ended.add(event.turnId);
	}

	delta({ type, stepId, payload }) {
		const key = `${stepId} ${type} ${payload.contentIndex ?? payload.index ?? 0}`;
		const have = this.outputs.get(key) ?? '';
		if (type !== 'tool.args') assert.equal(payload.offset, Buffer.byteLength(have), `${key} at ${payload.offset}`);
		this.outputs.set(key, have + (payload.delta ?? payload.argsDelta));
	}
}

const NEVER = { bytes: Infinity };
const KINDS = ['inFrame', 'inCharacter', 'inStep', 'inTwoSteps'];

// How often two threads stream at the moment of a cut is up to the machine: cut on until each kind was met, within bounds.
const isCutEnough = (counts) => counts.cuts >= CUTS && (counts.cuts >= 20 * CUTS || KINDS.every((kind) => counts[kind] > 0));

async function cutAgainAndAgain(subscriber, random) {
	while (!isCutEnough(subscriber.counts))
		await subscriber.connect({ bytes: 1 + random(CUT_MAX), inCharacter: random(4) === 0 });
}

// Keeps one thread busy until the cutting is over.
async function talk(rt, reference, { sessionId, threadId, turnId }, first, isOver) {
	for (let i = first; !isOver(); i++) {
		await waitFor(() => reference.ended.has(turnId), `the end of ${turnId}`, DEADLINE_MS);
		({ turnId } = await submit(rt, `${SCRIPTS[i % SCRIPTS.length]} turn ${i}`, { sessionId, threadId }));
	}
	await waitFor(() => reference.ended.has(turnId), `the end of ${turnId}`, DEADLINE_MS);
}

async function openThreads(rt) {
	const receipts = [await submit(rt, SCRIPTS[0])];
	const { sessionId } = receipts[0];
	while (receipts.length < THREADS)
		receipts.push(await submit(rt, SCRIPTS[1], { sessionId, createPolicy: { thread: 'new' } }));
	return receipts;
}

// Lets a subscriber read on until it has as many facts as the reference, then ends its connection.
async function catchUp(subscriber, reference) {
	const over = subscriber.connect(NEVER);
	await waitFor(() => subscriber.last >= reference.last, 'the last facts', DEADLINE_MS);
	subscriber.socket.destroy();
	await over;
}

test(`${CUTS} cuts at any byte lose nothing and double nothing (seed ${SEED})`, async (t) => {
	const { rt } = await world();
	const counts = { cuts: 0, inFrame: 0, inCharacter: 0, inStep: 0, inTwoSteps: 0 };
	const receipts = await openThreads(rt);
	const { sessionId } = receipts[0];
	const reference = new Subscriber(rt, sessionId, counts);
	const whole = reference.connect(NEVER);
	const subscribers = Array.from({ length: READERS }, () => new Subscriber(rt, sessionId, counts));
	let isOver = false;
	const talking = receipts.map((receipt, i) => talk(rt, reference, receipt, i, () => isOver));
	const cutting = subscribers.map((s, i) => cutAgainAndAgain(s, randomOf(SEED + i)));
	await Promise.race([Promise.all(cutting), Promise.all(talking), whole]);
	isOver = true;
	await Promise.all([...talking, ...cutting]);
	const { asOfSequence } = JSON.parse((await (await fetch(`${rt.url}/v1/sessions/${sessionId}`)).text()));
	await waitFor(() => reference.last >= asOfSequence, `${asOfSequence} facts`);
	for (const subscriber of subscribers) await catchUp(subscriber, reference);

	for (const { facts, outputs } of subscribers) {
		assert.deepEqual(facts, reference.facts);
		assert.deepEqual([...outputs].sort(), [...reference.outputs].sort());
	}
	t.diagnostic(`${reference.last} facts, ${reference.outputs.size} outputs, ${JSON.stringify(counts)}`);
	assert.ok(counts.cuts >= CUTS);
	for (const kind of KINDS) assert.ok(counts[kind] > 0, `no cut was ${kind}`);
	reference.socket.destroy();
	await whole;
	await rt.stop();
});
