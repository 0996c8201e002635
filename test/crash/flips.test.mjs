// One bit of what is stored turns over, as on a bad disk: the read that touches it refuses with storage_corrupt, whatever it had served before is
// true, and verify names it. AR_FLIPS says how many of each kind, AR_SEED which.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flip, sql, streamed } from '../lib/damage.mjs';
import { call, DELTAS, follow, newFolder, ok, readLog, request, startAgentd, startModel, submit } from '../lib/runtime.mjs';

const FLIPS = Number(process.env.AR_FLIPS ?? 40);
const seed = Number(process.env.AR_SEED ?? Date.now() % 1000000);
let state = seed;
function random() {
	state = (state * 48271 + 11) % 2147483647;
	return state / 2147483647;
}

const dataDir = newFolder();
const model = await startModel();
const again = () => startAgentd({ dataDir, model, config: { 'session.snapshot_every': 1 } });

async function finished(rt, text) {
	const { sessionId, turnId } = await submit(rt, text);
	const follower = await follow(rt, sessionId);
	const { payload } = await follower.ended(turnId);
	follower.stop();
	return { sessionId, ref: payload.outputRef };
}

async function verdicts(rt) {
	const all = new Map();
	for (let cursor, more = true; more;) {
		const { text } = await request(rt, { path: '/v1/verify', body: JSON.stringify({ cursor, limit: 20 }), ms: 120000 });
		const page = JSON.parse(text);
		for (const s of page.sessions) all.set(s.sessionId, s);
		cursor = page.nextCursor;
		more = cursor !== undefined;
	}
	return all;
}

test(`of ${FLIPS} bits each of log, snapshot and content none passes (seed ${seed})`, async () => {
	let rt = await again();
	const made = [];
	while (made.length < 3 * FLIPS) made.push(...(await Promise.all(Array.from({ length: 10 }, (_, i) => finished(rt, `[[say answer ${made.length + i} of many]]`)))));
	const sessions = made.sort((a, b) => (a.sessionId < b.sessionId ? -1 : 1)).slice(0, 3 * FLIPS);
	for (const s of sessions.slice(0, FLIPS)) s.log = new Set((await readLog(rt, s.sessionId)).map((f) => JSON.stringify(f.event)));
	await rt.stop();
	const kind = (n) => ['log', 'snapshot', 'blob'][Math.floor(n / FLIPS)];
	sql(dataDir, sessions.map((_, n) => flip(dataDir, kind(n), n, random(), random())));

	rt = await again();
	let served = 0;
	for (const [n, s] of sessions.entries()) {
		if (kind(n) === 'log') {
			const { facts: all, error } = await streamed(rt, `/v1/sessions/${s.sessionId}/events`);
			const facts = all.filter((f) => f.sequence && !DELTAS.has(f.type));
			assert.deepEqual([error.code, error.retryable], ['storage_corrupt', false]);
			assert.ok(error.message.includes(`agentctl verify ${s.sessionId}`), error.message);
			for (const fact of facts) assert.ok(s.log.has(JSON.stringify(fact)), JSON.stringify(fact));
			served += facts.length;
		} else {
			const [command, input] = kind(n) === 'blob' ? ['read_output', { outputRef: s.ref }] : ['get_session', { sessionId: s.sessionId }];
			const { status, body } = await call(rt, command, input);
			assert.deepEqual([status, body.error?.code, body.error?.retryable], [500, 'storage_corrupt', false], `${n} ${kind(n)} ${JSON.stringify(body)}`);
		}
	}
	assert.ok(served > 0, 'what stands before the damage is served');
	const found = await verdicts(rt);
	const named = { log: 'log', snapshot: 'snapshot', blob: 'content' };
	for (const [n, s] of sessions.entries()) assert.ok(found.get(s.sessionId).findings.some((f) => f.what === named[kind(n)]), `${n} ${kind(n)} ${JSON.stringify(found.get(s.sessionId))}`);
	await ok(rt, 'list_sessions', {});
	await rt.stop();
});
