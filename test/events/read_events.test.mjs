// read_events: pages of a log in both directions against the log as it is streamed; filters; a call reads a bounded part of the log; what is refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { execute } from '../lib/damage.mjs';
import { bin, call, follow, newFolder, ok, readLog, refused, request, startAgentd, startModel, storeOf, submit } from '../lib/runtime.mjs';
import { factsOf, homeOf, must, ask, tenants } from '../tenant/tenants.mjs';
import { Place } from '../ctl/place.mjs';

let model, rt, sessionId, log, other;

before(async () => {
	model = await startModel();
	rt = await startAgentd({ model });
	({ sessionId } = await ok(rt, 'create_session', {}));
	const follower = await follow(rt, sessionId);
	for (let i = 0; i < 4; i++) await follower.ended((await submit(rt, `turn ${i}`, { sessionId, turnId: `turn-${i}` })).turnId);
	other = await submit(rt, 'elsewhere', { sessionId, createPolicy: { thread: 'new' } });
	await follower.ended(other.turnId);
	follower.stop();
	log = (await readLog(rt, sessionId)).map((f) => f.event);
});

/** All pages of a walk, as long as there is a cursor. */
async function walk(input, at = rt) {
	const pages = [];
	for (let cursor; ;) {
		const page = await ok(at, 'read_events', { ...input, cursor });
		pages.push(page);
		cursor = page.nextCursor;
		if (cursor === undefined) return pages;
	}
}
const eventsOf = (pages) => pages.flatMap((p) => p.events);

test('pages forward and backward hold every fact once, in order, as the stream has it', async () => {
	for (const limit of [1, 3, 7, 500]) {
		const forward = await walk({ sessionId, limit });
		assert.deepEqual(eventsOf(forward), log);
		assert.ok(forward.slice(0, -1).every((p) => p.events.length === limit));
		assert.ok(forward.every((p) => p.asOfSequence === log.length));
		assert.deepEqual(eventsOf(await walk({ sessionId, limit, newestFirst: true })), [...log].reverse());
	}
	assert.equal((await ok(rt, 'read_events', { sessionId })).events.length, Math.min(50, log.length));
	const tail = await ok(rt, 'read_events', { sessionId, newestFirst: true, limit: 2 });
	assert.deepEqual(tail.events.map((e) => e.sequence), [log.length, log.length - 1]);
	assert.equal(tail.nextCursor, String(log.length - 2));
});

test('a cursor serves both directions, and fromSequence is where a walk begins', async () => {
	const page = await ok(rt, 'read_events', { sessionId, limit: 5 });
	const back = await ok(rt, 'read_events', { sessionId, cursor: page.nextCursor, newestFirst: true, limit: 6 });
	assert.deepEqual(back.events.map((e) => e.sequence), [6, 5, 4, 3, 2, 1]);
	assert.equal(back.nextCursor, undefined);
	assert.deepEqual(eventsOf(await walk({ sessionId, fromSequence: 10 })), log.slice(9));
	assert.deepEqual(eventsOf(await walk({ sessionId, fromSequence: 10, newestFirst: true })), log.slice(0, 10).reverse());
	const beyond = await ok(rt, 'read_events', { sessionId, fromSequence: log.length + 1 });
	assert.deepEqual(beyond, { events: [], asOfSequence: log.length });
	assert.deepEqual(eventsOf(await walk({ sessionId, fromSequence: log.length + 100, newestFirst: true })), [...log].reverse());
});

test('filters by type, family, turn, task and thread, alone and together', async () => {
	const { taskId, threadId, turnId } = other;
	const cases = [
		[{ types: ['turn.completed'] }, (e) => e.type === 'turn.completed'],
		[{ types: ['turn.*', 'session.created'] }, (e) => e.type.startsWith('turn.') || e.type === 'session.created'],
		[{ turnId: 'turn-2' }, (e) => e.turnId === 'turn-2'],
		[{ taskId }, (e) => e.taskId === taskId],
		[{ threadId }, (e) => e.threadId === threadId],
		[{ threadId, turnId, types: ['model.*'] }, (e) => e.threadId === threadId && e.turnId === turnId && e.type.startsWith('model.')],
		[{ turnId: 'turn-1', threadId }, () => false],
		[{ types: [] }, () => false],
	];
	for (const [filter, isWanted] of cases) {
		const wanted = log.filter(isWanted);
		assert.ok(wanted.length > 0 || !isWanted({}), JSON.stringify(filter));
		for (const limit of [2, 500]) {
			assert.deepEqual(eventsOf(await walk({ sessionId, ...filter, limit })), wanted, JSON.stringify(filter));
			assert.deepEqual(eventsOf(await walk({ sessionId, ...filter, limit, newestFirst: true })), [...wanted].reverse());
		}
	}
	assert.deepEqual(eventsOf(await walk({ turnId })), log.filter((e) => e.turnId === turnId), 'an id of the runtime names its session');
	const byGet = await request(rt, { method: 'GET', path: `/v1/sessions/${sessionId}/log?types=turn.*&newestFirst=true&limit=1` });
	assert.equal(JSON.parse(byGet.text).events[0].turnId, turnId);
});

test('what is refused, and with which code', async () => {
	await refused(rt, 'session_not_found', 'read_events', { sessionId: `sess_${'0'.repeat(26)}` });
	await refused(rt, 'session_not_found', 'read_events', { sessionId: 'x' });
	await refused(rt, 'invalid_scope', 'read_events', { turnId: 'turn-1' });
	await refused(rt, 'invalid_scope', 'read_events', {});
	for (const cursor of ['', '0', 'x', '-1', '1.2', String(log.length + 1), '99999999999999999999']) await refused(rt, 'invalid_cursor', 'read_events', { sessionId, cursor });
	for (const more of [{ types: ['no.such'] }, { fromSequence: 0 }, { fromSequence: -5 }]) await refused(rt, 'invalid_input', 'read_events', { sessionId, ...more });
	await refused(rt, 'invalid_input', 'read_events', { sessionId, limit: 501 }, { loose: true });
});

test('the home of a tenant is read by its administrators alone, and a foreign session by nobody', async () => {
	const w = await tenants();
	const home = homeOf('zeta');
	for (const scope of ['read', 'submit', 'decide', 'worker']) assert.equal((await ask(w.rt, w.zeta.tokens[scope], 'read_events', { sessionId: home })).body.error.code, 'not_authorized', scope);
	assert.equal((await must(w.rt, w.zeta.tokens.admin, 'read_events', { sessionId: home })).events[0].type, 'session.created');
	assert.equal((await ask(w.rt, w.acme.tokens.admin, 'read_events', { sessionId: home })).body.error.code, 'session_not_found');
	const own = await must(w.rt, w.zeta.tokens.read, 'read_events', { sessionId: w.zeta.ids.sessionId, limit: 500 });
	assert.deepEqual(own.events, await factsOf(w.rt, w.zeta.tokens.admin, w.zeta.ids.sessionId));
	await w.rt.stop();
});

test('a call reads a bounded part of a long log: it answers with what it has and a cursor', async () => {
	const dataDir = newFolder();
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	const store = storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db');
	const made = JSON.parse(execFileSync(join(bin, 'ar-make-session'), ['--store', store, '--facts', '20000'], { encoding: 'utf8' }));
	const long = await startAgentd({ dataDir, model });
	const rare = await walk({ sessionId: made.sessionId, types: ['session.created'] }, long);
	assert.ok(rare.length >= 3, `${rare.length} pages of ${made.facts} facts`);
	assert.equal(eventsOf(rare).length, 1);
	const places = rare.slice(0, -1).map((p) => Number(p.nextCursor));
	assert.deepEqual(places, [...places].sort((a, b) => a - b));
	const back = await walk({ sessionId: made.sessionId, types: ['session.created'], newestFirst: true }, long);
	assert.deepEqual(back.map((p) => p.events.length), [...back.slice(1).map(() => 0), 1]);
	const middle = await ok(long, 'read_events', { sessionId: made.sessionId, fromSequence: 10000, limit: 500 });
	assert.deepEqual(middle.events.map((e) => e.sequence), Array.from({ length: 500 }, (_, i) => 10000 + i));
	await long.stop();
});

test('of a damaged log what is before the damage is answered, and the page after it names the damage', async () => {
	const dataDir = newFolder();
	const first = await startAgentd({ dataDir, model, config: { 'session.snapshot_every': 1 } });
	const made = await submit(first, 'one');
	const follower = await follow(first, made.sessionId);
	await follower.ended(made.turnId);
	for (let i = 0; i < 2; i++) await follower.ended((await submit(first, `more ${i}`, { sessionId: made.sessionId })).turnId);
	follower.stop();
	await first.stop();
	const lost = execute(dataDir, 'log-gap');
	const again = await startAgentd({ dataDir, model });
	const page = await ok(again, 'read_events', { sessionId: made.sessionId, limit: 500 });
	assert.deepEqual([page.events.at(-1).sequence, page.nextCursor], [lost - 1, String(lost)]);
	const { body } = await call(again, 'read_events', { sessionId: made.sessionId, cursor: page.nextCursor });
	assert.equal(body.error.code, 'storage_corrupt', JSON.stringify(body));
	await again.stop();
});

test('agentctl events: lines and JSON, filters, newest first, and where it goes on', async (t) => {
	const place = await Place.make({ withModel: false });
	t.after(() => place.end());
	const ctl = async (...args) => {
		const { code, out, err } = await place.ctl('--socket', rt.socket, 'events', sessionId, ...args);
		return { code, lines: out.split('\n').filter(Boolean), err };
	};
	const newest = await ctl('--reverse', '--limit', '3');
	assert.equal(newest.code, 0, newest.err);
	assert.deepEqual(newest.lines.map((l) => Number(/^\S+ \S+ +(\d+) /.exec(l)[1])), [log.length, log.length - 1, log.length - 2]);
	assert.match(newest.err, new RegExp(`--from ${log.length - 3} goes on here`));
	const turns = await ctl('--type', 'turn.completed,turn.started', '--json', '--limit', '1000');
	assert.deepEqual(turns.lines.map((l) => JSON.parse(l)), log.filter((e) => ['turn.completed', 'turn.started'].includes(e.type)));
	assert.equal(turns.err, '');
	const turn = await ctl('--turn', 'turn-1', '--json', '--limit', '1000');
	assert.deepEqual(turn.lines.map((l) => JSON.parse(l)), log.filter((e) => e.turnId === 'turn-1'));
	const from = await ctl('--from', '5', '--limit', '2', '--json');
	assert.deepEqual(from.lines.map((l) => JSON.parse(l).sequence), [5, 6]);
	for (const wrong of [['--limit', '0'], ['--from', 'x'], ['--limit', '1e9']]) assert.equal((await ctl(...wrong)).code, 2, wrong.join(' '));
	assert.equal((await ctl('--type', 'no.such')).code, 1);
});
