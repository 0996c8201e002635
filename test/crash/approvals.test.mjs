// An approval storm: many questions over many sessions, answered by eight clients that race, with kill -9 in between. Every question has
// exactly one outcome, and no call runs before its own was allowed. AR_STORM sets the number of questions.
// ci: alone any
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { ask, facts } from '../lib/gate.mjs';
import { call, ok, waitFor, world } from '../lib/runtime.mjs';

const STORM = Number(process.env.AR_STORM ?? 600);
const CALLS = 10; // questions of one session, from one answer of the model
const CLIENTS = 8;
const KILLS = 3;

let w;

before(async () => {
	w = await world({ config: { 'session.snapshot_every': 20, 'session.cache': 50, 'log.level': 'error' } });
});

/** Does it for every item, so many at a time. */
async function spread(items, width, work) {
	const rest = [...items];
	await Promise.all(Array.from({ length: width }, async () => {
		for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
	}));
}

/** A call that a dying server may leave without an answer: repeated until there is one. */
async function stubborn(command, input) {
	return waitFor(async () => call(w.rt, command, input).catch(() => undefined), `an answer to ${command}`);
}

async function everyQuestion() {
	const found = [];
	let cursor;
	do {
		const page = await ok(w.rt, 'list_actions', { status: 'pending', limit: 200, ...(cursor ? { cursor } : {}) });
		found.push(...page.actions);
		cursor = page.nextCursor;
	} while (cursor);
	return found;
}

const shuffled = (list) => list.map((item) => [Math.random(), item]).sort(([a], [b]) => a - b).map(([, item]) => item);

test(`P20 P28 ${STORM} questions, ${CLIENTS} clients that race, kill -9 between: one outcome each, nothing runs before its allow`, async () => {
	const sessions = [];
	await spread(Array(Math.ceil(STORM / CALLS)).keys(), 16, async () => sessions.push((await ask(w.rt, Array(CALLS).fill('write'))).sessionId));
	const questions = await waitFor(async () => {
		const found = await everyQuestion();
		return found.length === sessions.length * CALLS && found;
	}, 'all questions', 120000);

	const told = new Map(questions.map((q) => [q.actionId, new Set()]));
	let answered = 0, killing = Promise.resolve(), kills = 0;
	const client = async (n) => {
		for (const { actionId } of shuffled(questions)) {
			await killing;
			const { body } = await stubborn('respond_action', { actionId, decision: Math.random() < 0.5 ? 'allow' : 'deny', actor: { name: `c${n}` } });
			if (body.error) assert.equal(body.error.code, 'already_resolved', JSON.stringify(body));
			else told.get(actionId).add(body.decision);
			if (++answered % Math.ceil((questions.length * CLIENTS) / (KILLS + 1)) === 0 && kills < KILLS) {
				kills++;
				killing = (async () => {
					await w.rt.kill9();
					w.rt = await w.again();
				})();
			}
		}
	};
	await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
	assert.equal(kills, KILLS);
	assert.equal((await everyQuestion()).length, 0);

	let allowed = 0;
	await spread(sessions, 4, async (sessionId) => {
		const log = await facts(w.rt, sessionId);
		const asked = log.filter((e) => e.type === 'action.required');
		assert.equal(asked.length, CALLS);
		for (const { actionId, toolCallId } of asked) {
			const ends = log.filter((e) => e.type === 'action.resolved' && e.actionId === actionId);
			const permissions = log.filter((e) => e.type === 'permission.resolved' && e.actionId === actionId);
			assert.deepEqual([ends.length, permissions.length], [1, 1], actionId);
			assert.deepEqual([...told.get(actionId)], [ends[0].payload.decision], 'every client was told the one outcome');
			const ran = log.filter((e) => e.type === 'tool.started' && e.toolCallId === toolCallId && e.payload.runtimeOwner);
			const isAllowed = ends[0].payload.decision === 'allow';
			allowed += isAllowed;
			assert.ok(ran.length <= (isAllowed ? 1 : 0), `${actionId}: ${ends[0].payload.decision}, ran ${ran.length} times`);
			for (const e of ran) assert.ok(e.sequence > permissions[0].sequence && e.payload.permissionRef === permissions[0].eventId);
		}
		assert.equal(log.filter((e) => e.type === 'task.attempt.started').length, 1);
	});
	console.log(`${questions.length} questions, ${allowed} allowed, ${answered} answers, ${kills} kills`);
});
