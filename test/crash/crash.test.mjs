// ci: release only
// kill -9 of agentd, hundreds of times, under 32 sessions that are at work: at random moments and at every named fault
// point. Afterwards the log is held against everything that any client was told, and on SQLite, now and then between two kills as well, the file by
// a checker that shares no code with the runtime. AR_CRASH_KILLS sets the number, AR_CRASH_SESSIONS the sessions, AR_CRASH_SEED the moments;
// AR_CRASH_AT=random leaves the fault points out, for many kills in little time.
// ci: alone any
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, call, newFolder, readLog, startModel, waitFor } from '../lib/runtime.mjs';
import { Journal } from './journal.mjs';
import { Actor, dice, World } from './world.mjs';

const KILLS = Number(process.env.AR_CRASH_KILLS ?? 500);
const SEED = Number(process.env.AR_CRASH_SEED ?? 1);
const SESSIONS = Number(process.env.AR_CRASH_SESSIONS ?? 32);
const CHECK_EVERY = 100; // kills
const AT_RANDOM = process.env.AR_CRASH_AT === 'random';
const PER_POINT = AT_RANDOM ? 0 : Math.min(5, Math.floor(KILLS / 30)); // kills that each fault point has to have
const SETTLE_MS = 120000;

const src = resolve(dirname(fileURLToPath(import.meta.url)), '../../src');

// The points of the store that is not in use are never passed, nor those of tools, hooks, processes and checkpoints, which no session here has: test/loop/acceptance
// and test/process/kills kill at them.
const onPostgres = Boolean(process.env.AR_TEST_POSTGRES);
const unused = onPostgres ? 'store_sqlite' : 'store_postgres';

function faultPoints() {
	const names = new Set();
	for (const file of readdirSync(src, { recursive: true }).filter((f) => /\.(c|h|cc)$/.test(f) && !f.includes(unused)))
		for (const [, name] of readFileSync(join(src, file), 'utf8').matchAll(/\bAR_FAULT(?:_ERROR)?\("([^"]+)"\)/g))
			names.add(name);
	return [...names].filter((name) => !/tool|hook|process|before_go|checkpoint/.test(name)).sort();
}

const CONFIG = {
	'recovery.max_restarts': 10000,
	'model.max_attempts': 50,
	'model.backoff_ms': 5,
	'session.snapshot_every': 25,
	'context.max_messages': 12,
	'context.compact_at': 0,
	'log.level': 'error',
};

const points = faultPoints();
const seen = { calls: [], logs: new Map(), atRest: new Map() };
let world, actors, model;

const killsAt = (point) => world.kills.filter((k) => k.point === point).length;
const leastKilled = () => Math.min(...points.map(killsAt));

// Whichever point was reached least comes next; every third kill is at a random moment.
function nextCrash(i, roll) {
	if (AT_RANDOM) return { ms: i % 10 === 9 ? 700 : roll(100) }; // a slow turn needs a life that lasts now and then
	const ms = 30 + roll(120);
	if (i % 3 === 2) return { ms };
	const point = points.toSorted((a, b) => killsAt(a) - killsAt(b))[roll(3)];
	const rare = point === 'store.chunk' || point === 'engine.recover';
	return { fault: `${point}:${1 + roll(rare ? 6 : 25)}`, ms: rare ? 1200 : 600 };
}

function takeModelLog() {
	for (const { turn, step, aborted } of model.log()) seen.calls.push({ turn, step, aborted });
	model.reset();
}

async function settle() {
	world.isOver = true;
	await world.start();
	await Promise.all(actors.map((actor) => actor.life));
	for (const actor of actors)
		await waitFor(() => actor.openTurns() === 0, () => `${actor.openTurns()} turns of ${actor.sessionId}`, SETTLE_MS);
}

const getSession = async (sessionId) => (await call(world.rt, 'get_session', { sessionId })).text;

// When the set-up fails, the clients must not wait for a daemon that nobody starts any more.
function giveUp(error) {
	world.isBroken = world.isOver = true;
	for (const actor of actors) {
		actor.life.catch(() => {});
		actor.follower?.stop();
	}
	throw error;
}

/** The file against what clients were told so far; while no process has it. */
function checkFile(isFinal = false) {
	if (onPostgres) return;
	for (const { follower } of actors) if (follower) world.journal.facts(follower);
	world.checked = world.journal.check(world.options.dataDir, { isFinal });
}

async function killAgainAndAgain() {
	const roll = dice(SEED);
	const startedAt = Date.now();
	for (let i = 0; i < KILLS || (i < 2 * KILLS && leastKilled() < PER_POINT); i++) {
		await Promise.race([world.crash(nextCrash(i, roll)), ...actors.map((a) => a.life.then(() => assert.fail('a client left')))]);
		takeModelLog();
		if (i % CHECK_EVERY === CHECK_EVERY - 1) checkFile();
	}
	world.tookMs = Date.now() - startedAt;
	await settle();
	for (const actor of actors) seen.logs.set(actor.sessionId, await readLog(world.rt, actor.sessionId));
	for (const actor of actors) actor.follower.stop();
	takeModelLog();
}

before(async () => {
	model = await startModel();
	const dataDir = newFolder();
	world = new World({ dataDir, model, config: CONFIG }, new Journal(join(dataDir, 'journal.ndjson')));
	actors = Array.from({ length: SESSIONS }, (_, i) => new Actor(world, i, SEED));
	for (const actor of actors) actor.life = actor.live();
	await killAgainAndAgain().catch(giveUp);
});

const facts = (actor) => seen.logs.get(actor.sessionId);
const ofType = (actor, ...types) => facts(actor).filter((f) => types.includes(f.type)).map((f) => f.event);
const everyActor = (check) => actors.forEach((actor) => check(actor));

function countBy(list, key) {
	const counts = new Map();
	for (const item of list) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
	return counts;
}

test('kill -9 was done often enough, at every fault point', (t) => {
	const byPoint = countBy(world.kills, (k) => k.point);
	const ms = world.readyMs.toSorted((a, b) => a - b);
	const turns = actors.reduce((n, a) => n + a.acks.size, 0);
	const total = actors.reduce((n, a) => n + facts(a).length, 0);
	t.diagnostic(`${world.kills.length} kills in ${world.tookMs} ms, ${SESSIONS} sessions, ${turns} turns, ${total} facts`);
	t.diagnostic(`${seen.calls.length} model calls, ${actors.reduce((n, a) => n + a.repeats, 0)} repeated submits, ` +
		`${actors.reduce((n, a) => n + a.follower.connections, 0)} event streams`);
	t.diagnostic(`by point: ${[...byPoint].map(([point, n]) => `${point} ${n}`).join(', ')}`);
	t.diagnostic(`start to ready: p50 ${ms[ms.length >> 1].toFixed(0)} ms, p95 ${ms[Math.floor(ms.length * 0.95)].toFixed(0)} ms, ` +
		`max ${ms.at(-1).toFixed(0)} ms`);
	assert.ok(world.kills.length >= KILLS);
	assert.ok(points.length >= 12);
	for (const point of points) assert.ok(killsAt(point) >= PER_POINT, `${point}: ${killsAt(point)} kills`);
});

test('OPEN-58 ID-04 no acknowledged submit is lost, and none has two ends', () => {
	everyActor((actor) => {
		const submitted = countBy(ofType(actor, 'turn.submitted'), (e) => e.turnId);
		const ended = countBy(ofType(actor, 'turn.completed', 'turn.failed'), (e) => e.turnId);
		for (const turnId of actor.acks.keys()) {
			assert.equal(submitted.get(turnId), 1, `${turnId} submitted`);
			assert.equal(ended.get(turnId), 1, `${turnId} ended`);
		}
		assert.equal(submitted.size, actor.acks.size);
		assert.deepEqual(ofType(actor, 'turn.failed').map((e) => e.payload.error), []);
	});
});

test('CP-08 one turnId is one turn over any number of crashes: a repeat gets the first receipt', () => {
	everyActor((actor) => assert.deepEqual(actor.problems, []));
	assert.ok(actors.some((actor) => actor.repeats > 0) || KILLS < 20);
});

test('EV-45 no turn is worked on twice: every model call is a requested step, and no step is called twice', () => {
	const requested = new Map();
	everyActor((actor) => ofType(actor, 'model.requested').forEach((e) => requested.set(e.stepId, e.turnId)));
	const called = countBy(seen.calls, (c) => c.step);
	for (const { turn, step } of seen.calls) assert.equal(requested.get(step), turn, `call of ${step}`);
	for (const [step, n] of called) assert.equal(n, 1, `${step} was called ${n} times`);
	everyActor((actor) => {
		for (const e of ofType(actor, 'model.completed')) assert.ok(called.has(e.stepId), `${e.stepId} ended without a call`);
	});
});

test('EV-35 what any client saw before a crash is in the log, byte for byte', () => {
	everyActor((actor) => {
		actor.follower.check();
		const log = facts(actor);
		for (const { sequence, data } of actor.follower.facts) assert.equal(data, log[sequence - 1].data);
		assert.equal(actor.follower.facts.length, log.length);
	});
});

test('OPEN-04 EV-04 sequences are gap-free over restarts', () => {
	everyActor((actor) => assert.deepEqual(facts(actor).map((f) => f.sequence), facts(actor).map((_, i) => i + 1)));
});

test('EV-02 ID-03 no two events share an id, no thread has two sessions, no turn two threads', () => {
	const ids = actors.flatMap((actor) => facts(actor).map((f) => f.event.eventId));
	assert.equal(new Set(ids).size, ids.length);
	for (const [child, parent] of [['threadId', 'sessionId'], ['turnId', 'threadId']]) {
		const parents = new Map();
		for (const { event } of actors.flatMap(facts).filter((f) => f.event[child])) {
			assert.equal(parents.get(event[child]) ?? event[parent], event[parent], event[child]);
			parents.set(event[child], event[parent]);
		}
	}
});

test('EV-42 turns start in the order in which they were submitted, one at a time', () => {
	everyActor((actor) => {
		const started = ofType(actor, 'turn.started').map((e) => e.turnId);
		assert.deepEqual(started, ofType(actor, 'turn.submitted').map((e) => e.turnId));
		let open = null;
		for (const e of ofType(actor, 'turn.started', 'turn.completed', 'turn.failed')) {
			assert.equal(e.type === 'turn.started' ? open : e.turnId, e.type === 'turn.started' ? null : open);
			open = e.type === 'turn.started' ? e.turnId : null;
		}
	});
});

test('EV-46 text that was streamed is what was stored: nothing missing, nothing twice', () => {
	everyActor((actor) => {
		for (const e of ofType(actor, 'model.completed')) {
			const streamed = actor.follower.text(e.stepId);
			const whole = Array.from({ length: streamed.split(' ').length - 1 }, (_, i) => `w${i} `).join('');
			assert.equal(streamed, whole, e.stepId);
			assert.ok(Buffer.byteLength(streamed) <= e.payload.outputBytes);
			assert.ok(streamed.startsWith(e.payload.preview) || e.payload.preview.startsWith(streamed));
		}
	});
});

test('ID-01 the runtime keeps its id over every restart', () => {
	const ids = new Set(actors.flatMap((actor) => facts(actor).map((f) => f.event.runtimeId)));
	assert.equal(ids.size, 1);
});

test('ID-06 OPEN-40 every attempt that was lost is a recorded failure, followed by another attempt of the same task', () => {
	everyActor((actor) => {
		const tasks = new Map();
		for (const e of ofType(actor, 'task.attempt.started', 'task.attempt.failed', 'task.attempt.completed')) {
			assert.equal(e.attemptId, e.runId.replace('run', 'attempt'));
			assert.equal(tasks.get(e.runId) ?? e.taskId, e.taskId, `${e.runId} has two tasks`);
			tasks.set(e.runId, e.taskId);
		}
		for (const e of ofType(actor, 'task.attempt.failed')) assert.equal(e.payload.status, 'lost');
		const attempts = (type) => ofType(actor, type).length;
		assert.equal(attempts('task.attempt.started'), attempts('task.attempt.failed') + attempts('task.attempt.completed'));
	});
});

test('HI-01 CP-29 replay equals live: the same answer before and after a restart, and from the log alone', async (t) => {
	for (const { sessionId } of actors) seen.atRest.set(sessionId, await getSession(sessionId));
	await world.rt.stop();
	await world.start();
	for (const { sessionId } of actors) assert.equal(await getSession(sessionId), seen.atRest.get(sessionId));
	await world.rt.kill9();
	await world.start();
	const bare = (text) => text.replace(/,"historyCursor":\{"before":\d+\}/, '');
	for (const { sessionId } of actors) {
		assert.equal(await getSession(sessionId), seen.atRest.get(sessionId));
		const { threadId } = JSON.parse(seen.atRest.get(sessionId)).threads[0];
		const { text } = await call(world.rt, 'get_thread_read', { sessionId, threadId });
		assert.equal(text, bare(seen.atRest.get(sessionId)));
	}
	await world.rt.stop();
	if (onPostgres) return; // the rest is about the file of SQLite
	checkFile(true);
	const { checks } = world.journal;
	t.diagnostic(`the file was checked ${checks} times: ${Object.entries(world.checked).map(([what, n]) => `${n} ${what}`).join(', ')}, 0 violations`);

	const copy = join(newFolder(), 'data');
	cpSync(join(world.options.dataDir, 'data'), copy, { recursive: true, filter: (f) => !f.endsWith('.sock') });
	const lines = execFileSync(join(bin, 'ar-refold'), [join(copy, 'agentd.db')], { maxBuffer: 1 << 28 }).toString().trim().split('\n');
	const folded = new Map(lines.map((line) => [JSON.parse(line).sessionId, line]));
	assert.equal(folded.size, SESSIONS);
	for (const [sessionId, text] of seen.atRest)
		assert.equal(folded.get(sessionId), bare(text));
});
