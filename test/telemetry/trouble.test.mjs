// A collector that is down, slow, asks to wait or refuses: turns do not notice, what is dropped is counted, and what it asked to repeat arrives later, once.
// AR_TELEMETRY_SOAK: how many turns each trouble lasts.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { freePort } from '../lib/port.mjs';
import { ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';
import { collector } from './otlp.mjs';

const TURNS = Number(process.env.AR_TELEMETRY_SOAK ?? 8);
const ended = (rt, { sessionId }) => waitFor(async () => (await readLog(rt, sessionId)).find((f) => f.type === 'turn.completed'), 'the end of the turn');
const settings = (url, more = {}) => ({ 'telemetry.endpoint': url, 'telemetry.metrics_endpoint': 'off', 'telemetry.logs_endpoint': 'off', 'telemetry.interval_ms': 10, 'telemetry.timeout_ms': 500, ...more });
const dropped = (counts, reason) => counts[`agentd_telemetry_dropped_total{signal="traces",reason="${reason}"}`] ?? 0;
const requests = (counts, outcome) => counts[`agentd_telemetry_requests_total{signal="traces",outcome="${outcome}"}`] ?? 0;
const SPANS = /^(turn\.completed|task\.attempt\.completed|context\.resolved|model\.completed)$/; // facts of a plain turn that end one
let model;

before(async () => {
	model = await startModel();
});

async function turns(rt, count = TURNS) {
	for (let i = 0; i < count; i++) await ended(rt, await submit(rt, 'hello'));
}

test('nobody listens: turns complete, the queue is full, the rest is dropped and counted, and the log says why once', async () => {
	const rt = await startAgentd({ model, config: settings(`http://127.0.0.1:${await freePort()}`, { 'telemetry.queue': 5 }) });
	await turns(rt);
	const counts = await scrape(rt);
	assert.ok(dropped(counts, 'queue') >= 3 * TURNS - 5, JSON.stringify(dropped(counts, 'queue')));
	assert.equal(counts['agentd_telemetry_queued{signal="traces"}'], 5);
	await waitFor(async () => requests(await scrape(rt), 'retried') > 0, 'a second try');
	const said = rt.stderr.split('\n').filter((line) => line.includes('"telemetry"'));
	assert.equal(said.length, 1, said.join('\n'));
	const before = performance.now();
	await rt.stop();
	assert.ok(performance.now() - before < 15000, 'a stop does not wait for it');
});

test('a collector that does not answer in time: turns complete, and each batch is tried again', async () => {
	const to = await collector({ answer: () => ({ delay: 60000 }) });
	const rt = await startAgentd({ model, config: settings(to.url) });
	await turns(rt);
	await waitFor(async () => requests(await scrape(rt), 'retried') > 0, 'a time-out');
	to.answer = () => undefined;
	await waitFor(() => to.traces.filter((s) => s.name.startsWith('invoke_agent')).length >= TURNS, 'all turns');
	assert.equal(dropped(await scrape(rt), 'queue'), 0);
});

test('429, 502, 503 and 504: what was sent is repeated and arrives once', async () => {
	let answers = [];
	const to = await collector({ answer: () => answers.shift() });
	const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.timeout_ms': 60000 }) });
	for (const [i, status] of [429, 502, 503, 504].entries()) {
		answers = [{ status, headers: { 'retry-after': '0' } }];
		await turns(rt, 1);
		await waitFor(() => to.traces.filter((s) => s.name.startsWith('invoke_agent')).length === i + 1, `the turn after ${status}`);
	}
	const ids = to.traces.map((s) => s.spanId);
	assert.equal(new Set(ids).size, ids.length, 'no span twice');
	assert.equal(requests(await scrape(rt), 'retried'), 4);
	assert.deepEqual(to.bad, []);
});

test('Retry-After is obeyed', async () => {
	const to = await collector({ answer: (signal, n) => (n === 0 ? { status: 503, headers: { 'retry-after': '2' } } : undefined) });
	const rt = await startAgentd({ model, config: settings(to.url) });
	await turns(rt, 1);
	const [first, second] = await waitFor(() => to.requests.length >= 2 && to.requests, 'the second request');
	assert.ok(second.at - first.at > 1900, `${second.at - first.at} ms`);
});

test('400, 401 and 500: the batch is dropped and counted, and the next one is sent', async () => {
	const to = await collector();
	const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.timeout_ms': 60000 }) });
	for (const status of [400, 401, 500]) {
		const before = dropped(await scrape(rt), 'refused');
		to.answer = () => ({ status });
		await turns(rt, 1);
		await waitFor(async () => dropped(await scrape(rt), 'refused') > before, 'the drop');
	}
	to.answer = () => undefined;
	await turns(rt, 1);
	await waitFor(() => to.traces.length > 0, 'a later batch');
	const counts = await scrape(rt);
	assert.ok(requests(counts, 'failed') >= 3);
	assert.equal(requests(counts, 'retried'), 0);
});

test('spans that a collector rejects out of a request that it accepts are counted as dropped', async () => {
	const partial = (rejected) => Buffer.from([0x0a, 0x07, 0x08, rejected, 0x12, 0x03, 0x62, 0x61, 0x64]); // partial_success { rejected_spans, error_message: "bad" }
	const to = await collector({ answer: () => ({ headers: { 'content-type': 'application/x-protobuf' }, body: partial(1) }) });
	const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.timeout_ms': 60000 }) });
	let made = 0;
	const run = async () => {
		const { sessionId } = await submit(rt, 'hello');
		await ended(rt, { sessionId });
		await waitFor(async () => (await ok(rt, 'get_session', { sessionId })).status === 'idle', 'rest');
		made += (await readLog(rt, sessionId)).filter((f) => SPANS.test(f.type)).length;
		await waitFor(async () => to.traces.length === made && (await scrape(rt))['agentd_telemetry_queued{signal="traces"}'] === 0, 'all spans, and an empty queue');
		return scrape(rt);
	};
	const counts = await run();
	assert.ok(to.requests.length > 0);
	assert.deepEqual([dropped(counts, 'rejected'), counts['agentd_telemetry_exported_total{signal="traces"}']], [to.requests.length, to.traces.length - to.requests.length]);
	// More than were sent, and what is no answer at all: never more than the batch, and never an end.
	for (const [body, all] of [[partial(127), true], [Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x08]), false], [Buffer.alloc(100000, 0xff), false]]) {
		const before = await scrape(rt), sent = to.traces.length;
		to.answer = () => ({ body });
		const after = await run();
		assert.equal(dropped(after, 'rejected') - dropped(before, 'rejected'), all ? to.traces.length - sent : 0);
	}
});

test('every span is exported, queued or dropped: nothing is lost in between', async () => {
	let n = 0;
	const to = await collector({ answer: () => ({ status: [200, 500, 200, 429][n++ % 4], headers: { 'retry-after': '0' } }) });
	const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.timeout_ms': 60000 }) });
	await turns(rt);
	const made = (await Promise.all((await ok(rt, 'list_sessions', { limit: 200 })).sessions.map(async ({ sessionId }) => (await readLog(rt, sessionId)).filter((f) => SPANS.test(f.type)).length))).reduce((a, b) => a + b, 0);
	await waitFor(async () => (await scrape(rt))['agentd_telemetry_queued{signal="traces"}'] === 0, 'an empty queue');
	const counts = await scrape(rt);
	assert.equal(counts['agentd_telemetry_exported_total{signal="traces"}'] + dropped(counts, 'refused') + dropped(counts, 'queue') + dropped(counts, 'expired'), made);
	assert.equal(counts['agentd_telemetry_exported_total{signal="traces"}'], to.traces.length);
});

test('settings that cannot be used are named before the start', async () => {
	for (const [name, value] of [['telemetry.endpoint', 'ftp://h/'], ['telemetry.traces_endpoint', 'nowhere'], ['telemetry.headers', 'a=%0d%0ab: c'], ['telemetry.resource', 'x=%']]) {
		const rt = await startAgentd({ model, config: { [name]: value }, mayDie: true });
		const { code } = await rt.gone;
		assert.notEqual(code, 0, name);
		assert.match(rt.stderr, /telemetry/);
	}
});

test('OTEL_SDK_DISABLED switches everything off', async () => {
	const to = await collector();
	const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.metrics_endpoint': '' }), env: { OTEL_SDK_DISABLED: 'true' } });
	const { sessionId } = await submit(rt, 'hello');
	await ended(rt, { sessionId });
	for (const { event } of await readLog(rt, sessionId)) assert.ok(!('traceId' in event));
	await rt.stop();
	assert.equal(to.requests.length, 0);
});

test('the service has the name of its setting, else that of the resource, else agentd', async () => {
	for (const [env, service, other] of [
		[{ OTEL_RESOURCE_ATTRIBUTES: 'x.service.name=mine' }, 'agentd', 'mine'],
		[{ OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }, 'shop'],
		[{ OTEL_SERVICE_NAME: 'till', OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }, 'till'],
	]) {
		const to = await collector();
		const rt = await startAgentd({ model, config: settings(to.url, { 'telemetry.metrics_endpoint': '', 'telemetry.metrics_interval_ms': 10 }), env });
		const { resource } = await waitFor(() => to.metrics[0], 'a metric');
		assert.deepEqual([resource['service.name'], resource['x.service.name']], [service, other]);
		await rt.stop();
	}
});
