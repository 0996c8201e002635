// What tracing costs, and what a collector in trouble costs on top: processor time of a turn, interleaved with a daemon that traces nothing. Times by the clock are not compared.
// AR_TELEMETRY_SOAK: turns of each daemon; without it a few run, and only what is dropped is checked. The daemon with a healthy collector sends as often as
// the settings are by themselves, the others more often, so that their queues fill.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { before, test } from 'node:test';
import { freePort } from '../lib/port.mjs';
import { follow, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';
import { collector } from './otlp.mjs';

const SOAK = Number(process.env.AR_TELEMETRY_SOAK ?? 0), TURNS = SOAK || 8, AT_ONCE = 8;
const settings = (url) => ({ 'telemetry.endpoint': url, 'telemetry.metrics_endpoint': 'off', 'telemetry.interval_ms': 200, 'telemetry.timeout_ms': 1000, 'telemetry.queue': SOAK ? 64 : 16 });
const daemons = {};

before(async () => {
	const model = await startModel();
	const statuses = [429, 500, 503], bad = await collector({ answer: (signal, n) => ({ status: statuses[n % 3] }) });
	const config = { off: {}, on: { 'telemetry.endpoint': (await collector()).url, 'telemetry.metrics_endpoint': 'off' }, down: settings(`http://127.0.0.1:${await freePort()}`), slow: settings((await collector({ answer: () => ({ delay: 60000 }) })).url), refusing: settings(bad.url) };
	for (const [name, more] of Object.entries(config)) daemons[name] = await startAgentd({ model, config: more });
});

/** Seconds of all threads; the kernel's accounting is finer than the ticks of the metric. */
const cpu = ({ pid }) => readdirSync(`/proc/${pid}/task`).reduce((sum, id) => sum + Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]), 0) / 1e9;

async function turn(rt) {
	const { sessionId } = await submit(rt, 'hello');
	const f = await follow(rt, sessionId);
	await f.until(() => f.facts.some(({ type }) => type === 'turn.completed'), 'the end of the turn');
	f.stop();
}

/** Processor time of each daemon for as many turns, in rounds that take them one after the other. */
async function measure(count) {
	const spent = Object.fromEntries(Object.keys(daemons).map((name) => [name, []]));
	for (let done = 0; done < count; done += AT_ONCE) {
		for (const [name, rt] of Object.entries(daemons)) {
			const from = cpu(rt);
			await Promise.all(Array.from({ length: AT_ONCE }, () => turn(rt)));
			spent[name].push(cpu(rt) - from);
		}
	}
	return spent;
}

test('turns go on while a collector is down, slow or refuses, and what is dropped is counted', async () => {
	if (SOAK) await measure(AT_ONCE * 4); // warm
	const spent = await measure(TURNS), sum = (list) => list.reduce((a, b) => a + b, 0);
	const share = (name) => sum(spent[name]) / sum(spent.off) - 1;
	const text = Object.keys(spent).map((name) => `${name} ${((sum(spent[name]) / TURNS) * 1e6).toFixed(0)} us per turn (${(100 * share(name)).toFixed(1)} %)`).join(', ');
	if (SOAK) console.error(text);
	for (const name of ['down', 'slow']) await waitFor(async () => Object.entries(await scrape(daemons[name])).some(([k, v]) => k.startsWith('agentd_telemetry_dropped_total{signal="traces"') && v > 0) || (await measure(AT_ONCE), false), `drops of ${name}`);
	await waitFor(async () => (await scrape(daemons.refusing))['agentd_telemetry_dropped_total{signal="traces",reason="refused"}'] > 0, 'refused batches');
	if (SOAK) for (const name of ['down', 'slow', 'refusing']) assert.ok(share(name) - share('on') < 0.03, text);
});
