// The client and its examples against three nodes on one PostgreSQL while nodes are killed: no event is missed or doubled, no turn is submitted
// twice, and every answer is what the runtime has stored.
// ci: own stage
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { AgentRuntime } from '../../sdk/typescript/dist/index.js';
import { newFolder, ok, sleep, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { Fold, follow, storedText } from './fold.mjs';
import { dice } from '../lib/proxy.mjs';
import { example } from './sdk.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
const KILLS = Number(process.env.AR_SDK_KILLS ?? 20);
const SEED = Number(process.env.AR_SEED ?? 1);
const roll = dice(SEED);

let nodes;
let model;
let env;

/** A node keeps its port, so that the addresses of a client are good again when it comes back. */
const start = (i) =>
	startAgentd({ model, listen: `127.0.0.1:${nodes[i]?.port ?? 0}`, env: { ...env, AGENTD_NODE: `n${i}` }, config: { 'cluster.lease_ms': 1500, 'model.backoff_ms': 10 } });

before(async () => {
	if (skip) return;
	model = await startModel();
	env = storeOf(newFolder());
	nodes = [];
	for (const i of [0, 1, 2]) nodes.push(await start(i));
});

const urls = () => nodes.map(({ url }) => url);
const alive = () => nodes.find((node) => !node.isGone);

/** Kills the node in the middle of what is going on, and starts it again a little later. */
async function kill(i) {
	await nodes[i].kill9();
	await sleep(200 + roll() * 1500);
	nodes[i] = await start(i);
}

const WORDS = Array.from({ length: 60 }, (_, i) => `w${i} `).join('');

/** The examples as they are run in a round, with what each has to print in the end. */
const rounds = [
	['first-answer', ['[[delay 25]][[tokens 60]]'], {}, new RegExp(`^${WORDS}\n$`)],
	['streaming', ['[[delay 25]][[tokens 60]]'], {}, new RegExp(`(^|trying again\\]\n)${WORDS}\n$`)],
	['approvals', ['[[delay 25]][[tool delete_logs {"days":30}]][[then]][[delay 25]][[tokens 60]]'], { ANSWER: 'allow' }, new RegExp(`\n${WORDS}\n$`)],
	['client-tool', ['[[delay 25]][[tool local_time {"zone":"UTC"}]][[then]][[delay 25]][[tokens 60]]'], {}, new RegExp(`\n${WORDS}\n$`)],
	['many-sessions', ['[[delay 25]][[tokens 60]] 1', '[[delay 25]][[tokens 60]] 2', '[[delay 25]][[tokens 60]] 3'], {}, new RegExp(`(.* -> ${WORDS}\n){3}\\d+ facts\n$`)],
];

test(`EV-22 ${KILLS} nodes killed while the client streams and the examples run`, { skip, timeout: 600000 }, async (t) => {
	const client = new AgentRuntime({ url: urls() });
	const { sessionId } = await client.createSession({ title: 'kills' });
	const fold = new Fold();
	const stop = new AbortController();
	const lost = [];
	const reading = follow(client, sessionId, fold, stop, { onInterrupted: (error) => lost.push(error.message) });
	const heads = new Map(); // of all sessions, as one stream tells them
	const holes = [];
	const readingAll = (async () => {
		for await (const event of client.events({ signal: stop.signal })) {
			const last = heads.get(event.sessionId) ?? 0;
			if (event.sequence !== last + 1) holes.push(`${event.sessionId}: ${event.sequence} after ${last}`);
			heads.set(event.sessionId, event.sequence);
		}
	})();
	for (let i = 0; i < KILLS; i++) {
		const [name, args, more, wanted] = rounds[i % rounds.length];
		const turn = client.run('[[delay 25]][[tokens 60]]', { sessionId }).result();
		const ran = example(name, args, { AGENT_URL: urls().join(','), ...more });
		await sleep(100 + roll() * 1400);
		await kill(Math.floor(roll() * 3));
		const result = await turn;
		assert.deepEqual([result.status, result.text], ['completed', WORDS]);
		assert.equal(result.text, await storedText(alive(), result));
		const { code, out, err } = await ran;
		assert.ok(code === 0 && wanted.test(out), `${name} ended with ${code}:\n${out}\n${err}`);
	}
	const { asOfSequence } = await ok(alive(), 'get_session', { sessionId });
	await waitFor(() => fold.facts.length >= asOfSequence, 'the last fact', 30000);
	const { sessions } = await ok(alive(), 'list_sessions', { limit: 200 });
	for (const { sessionId: id } of sessions) {
		const head = (await ok(alive(), 'get_session', { sessionId: id })).asOfSequence;
		await waitFor(() => (heads.get(id) ?? 0) >= head, `${head} facts of ${id} on the stream of all`, 30000);
	}
	stop.abort();
	await Promise.all([reading, readingAll]);
	assert.deepEqual(holes, []);
	assert.equal(fold.facts.filter(({ type }) => type === 'turn.submitted').length, KILLS, 'no turn was submitted twice');
	const whole = await fold.check(alive(), sessionId);
	const takeovers = fold.facts.filter(({ type, payload }) => type === 'runtime.warning' && payload.code === 'taken_over').length;
	t.diagnostic(`seed ${SEED}: ${KILLS} kills, ${lost.length} connections lost, ${takeovers} takeovers of the session, ${fold.facts.length} facts, ${whole} answers streamed to their end`);
	assert.ok(lost.length > 0);
});
