// The client behind a connection that breaks at random bytes, hundreds of times: what it folded is what the server has.
// ci: release only
import assert from 'node:assert/strict';
import { test } from 'node:test';
import WebSocket from 'ws';
import { AgentRuntime, WebSocketTransport } from '../../sdk/typescript/dist/index.js';
import { ok, waitFor, world } from '../lib/runtime.mjs';
import { Fold, follow, storedText } from './fold.mjs';
import { lossyProxy } from '../lib/proxy.mjs';

const CUTS = Number(process.env.AR_SDK_CUTS ?? 150);
const SEED = Number(process.env.AR_SEED ?? 1);

test(`EV-22 ${CUTS} cuts at random bytes: each event once, the folded answer equals get_thread_read`, (t) => cut(t, {}));

test('EV-22 as many cuts of WebSockets', (t) => cut(t, { transport: new WebSocketTransport({ WebSocket }) }));

async function cut(t, options) {
	const { rt } = await world();
	const proxy = await lossyProxy(rt, { seed: SEED });
	const client = new AgentRuntime({ url: proxy.url, ...options });
	const { sessionId } = await client.createSession({ title: 'cuts' });
	const fold = new Fold();
	const stop = new AbortController();
	const reading = follow(client, sessionId, fold, stop);
	let turns = 0;
	while (proxy.cuts < CUTS) {
		const turn = await client.run(`[[delay 4]][[tokens 120]] ${turns}`, { sessionId }).result();
		assert.equal(turn.status, 'completed');
		assert.equal(turn.text, await storedText(rt, turn));
		turns++;
	}
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId });
	await waitFor(() => fold.facts.length >= asOfSequence, 'the last fact', 30000);
	stop.abort();
	await reading;
	client.close();
	assert.equal(fold.facts.filter(({ type }) => type === 'turn.submitted').length, turns, 'no turn was submitted twice');
	const whole = await fold.check(rt, sessionId);
	t.diagnostic(`seed ${SEED}: ${proxy.cuts} cuts, ${turns} turns, ${fold.facts.length} facts, ${whole} answers streamed to their end`);
	assert.ok(whole > 0);
}
