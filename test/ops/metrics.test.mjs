// GET /metrics: counts move with what happens, the text passes promtool, and a real Prometheus scrapes and answers queries with it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../lib/port.mjs';
import { call, follow, newFolder, ok, request, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { has, moved, scrape, scrapeText } from './scrape.mjs';

let model, rt;
const started = [];

before(async () => {
	model = await startModel();
	const entry = { name: 'priced', provider: 'openai-chat', base_url: model.url, model: 'm', input_price: '1', output_price: '2000000' };
	const order = { name: 'order', description: 'Orders.', url: 'http://127.0.0.1:1/' };
	rt = await startAgentd({ config: { models: [entry], http_tools: [order], 'model.backoff_ms': 10, 'model.max_attempts': 1 } });
});

after(async () => {
	for (const child of started) {
		if (child.exitCode === null) process.kill(child.pid, 'SIGKILL');
		await child.gone;
	}
});

async function completeTurn(text) {
	const { sessionId } = await submit(rt, text);
	const follower = await follow(rt, sessionId);
	const end = await follower.until(() => follower.of('turn.completed')[0] ?? follower.of('turn.failed')[0], 'the end of the turn');
	follower.stop();
	return { sessionId, end };
}

test('a turn is seen in the metrics of every part that took part in it', async () => {
	const before = await scrape(rt);
	const { sessionId } = await completeTurn('[[say one two three]]');
	const after = await scrape(rt);
	const change = moved(before, after);
	for (const [series, by] of [
		['agentd_sessions_created_total', 1], ['agentd_turns_submitted_total', 1], ['agentd_turns_started_total', 1],
		['agentd_turns_ended_total{outcome="completed"}', 1], ['agentd_turn_duration_seconds_count', 1],
		['agentd_turn_duration_seconds_bucket{le="+Inf"}', 1], ['agentd_commands_total{command="submit_turn",code="ok"}', 1],
		['agentd_command_duration_seconds_count{command="submit_turn"}', 1], ['agentd_subscribers_opened_total', 1],
	]) assert.equal(change[series], by, series);
	const facts = (await ok(rt, 'get_session', { sessionId })).asOfSequence;
	assert.equal(change.agentd_events_appended_total, facts);
	assert.equal(change.agentd_commit_facts_sum, facts);
	assert.ok(change.agentd_event_bytes_total > facts * 50);
	assert.equal(change.agentd_commit_duration_seconds_count, change.agentd_commit_facts_count);
	assert.ok(change['agentd_store_operations_total{operation="append",outcome="ok"}'] >= change.agentd_commit_facts_count);
	assert.ok(change.agentd_frames_sent_total >= facts);
	assert.equal(after.agentd_turns_running, 0);
	assert.equal(after.agentd_cluster_partitions, 1024);
});

test('tokens and cost are those that the provider told and the settings price', async () => {
	const before = await scrape(rt);
	const { sessionId } = await completeTurn('[[tokens 7]]');
	const usage = model.log().at(-1).usage;
	const change = moved(before, await scrape(rt));
	assert.equal(change['agentd_model_tokens_total{direction="output"}'], usage.output);
	assert.equal(change['agentd_model_tokens_total{direction="input"}'], usage.input);
	const want = usage.input * 1e-6 + usage.output * 2;
	assert.ok(Math.abs(change['agentd_cost_total{currency="USD"}'] - want) < 1e-9, JSON.stringify(change));
	const provider = Object.keys(change).find((k) => k.startsWith('agentd_model_requests_total{'));
	assert.equal(change[provider], 1);
	assert.equal(change[provider.replace('requests', 'ended').replace('}', ',outcome="completed"}')], 1);
	assert.ok(sessionId);
});

test('failures and refusals have their own series', async () => {
	const before = await scrape(rt);
	await completeTurn('[[http 400]]');
	await call(rt, 'get_session', { sessionId: 'sess_00000000000000000000000000' });
	await request(rt, { method: 'GET', path: '/nothing' });
	const change = moved(before, await scrape(rt));
	assert.equal(change['agentd_turns_ended_total{outcome="failed"}'], 1);
	assert.equal(change['agentd_commands_total{command="get_session",code="session_not_found"}'], 1);
	assert.ok(Object.keys(change).some((k) => k.startsWith('agentd_model_ended_total{') && !k.includes('completed')));
});

test('what runs and what is open now are gauges that come back down', async () => {
	const { sessionId, turnId } = await submit(rt, '[[hang]]');
	await submit(rt, 'I wait', { sessionId });
	await waitFor(() => model.log(turnId)[0], 'the model call');
	const follower = await follow(rt, sessionId);
	const busy = await scrape(rt);
	assert.deepEqual([busy.agentd_turns_running, busy.agentd_turns_queued, busy.agentd_calls_open, busy.agentd_subscribers_open],
		[1, 1, 1, 1]);
	await ok(rt, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
	await follower.until(() => follower.of('turn.completed')[0], 'the queued turn');
	follower.stop();
	await waitFor(async () => (await scrape(rt)).agentd_subscribers_open === 0, 'the stream to be gone');
	const rest = await scrape(rt);
	assert.deepEqual([rest.agentd_turns_running, rest.agentd_turns_queued, rest.agentd_calls_open], [0, 0, 0]);
	assert.equal(rest['agentd_turns_ended_total{outcome="cancelled"}'], 1);
});

test('a turn that waits for a person is waiting, not running', async () => {
	const { sessionId, turnId } = await submit(rt, '[[tool order {}]]');
	const { actionId } = await waitFor(async () => (await ok(rt, 'list_actions', { sessionId })).actions[0], 'the question');
	const asked = await scrape(rt);
	assert.deepEqual([asked.agentd_turns_running, asked.agentd_turns_waiting], [0, 1]);
	await ok(rt, 'respond_action', { actionId, decision: 'deny' });
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	follower.stop();
	const rest = await scrape(rt);
	assert.deepEqual([rest.agentd_turns_running, rest.agentd_turns_waiting], [0, 0]);
});

test('of the process it says what the kernel says', async () => {
	const values = await scrape(rt);
	const status = readFileSync(`/proc/${rt.pid}/status`, 'utf8');
	const rss = Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
	assert.ok(Math.abs(values.process_resident_memory_bytes - rss) < rss / 2, `${values.process_resident_memory_bytes} for ${rss}`);
	assert.equal(values.process_max_fds, Number(/Max open files\s+(\d+)/.exec(readFileSync(`/proc/${rt.pid}/limits`, 'utf8'))[1]));
	assert.equal(values.process_threads, Number(/Threads:\s+(\d+)/.exec(status)[1]));
	const age = Date.now() / 1000 - values.process_start_time_seconds;
	assert.ok(age > 0 && age < 300, `started ${age} s ago`);
	assert.ok(values.process_open_fds > 5 && values.process_open_fds < 200);
});

test('no id of anything becomes a label', async () => {
	const { sessionId, end } = await completeTurn('labels');
	const text = await scrapeText(rt, 'socket');
	assert.ok(!text.includes(sessionId.slice(5)) && !text.includes(end.turnId ?? 'turn_'), 'an id in the metrics');
});

test('promtool finds nothing to say', { skip: !has('promtool') }, async () => {
	const text = await scrapeText(rt);
	const said = execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
	assert.equal(said, '');
});

async function startPrometheus(target) {
	const folder = newFolder();
	const port = await freePort();
	const file = join(folder, 'prometheus.yml');
	writeFileSync(file, `global: { scrape_interval: 200ms, scrape_timeout: 200ms }
scrape_configs: [{ job_name: agentd, static_configs: [{ targets: ["${target}"] }] }]\n`);
	const child = spawn('prometheus', [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`,
		`--web.listen-address=127.0.0.1:${port}`, '--log.level=error'], { stdio: 'ignore' });
	child.gone = new Promise((done) => child.on('close', done));
	started.push(child);
	return async (query) => {
		const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`).catch(() => null);
		return answer?.ok ? (await answer.json()).data.result.map((r) => Number(r.value[1])) : [];
	};
}

test('a real Prometheus scrapes it and answers with what happened', { skip: !has('prometheus') }, async () => {
	const query = await startPrometheus(`${rt.host}:${rt.port}`);
	await waitFor(async () => (await query('up{job="agentd"}'))[0] === 1, 'the first scrape', 30000);
	const [count] = await query('agentd_turns_ended_total{outcome="completed"}');
	for (let i = 0; i < 5; i++) await completeTurn(`turn ${i}`);
	await waitFor(async () => (await query('agentd_turns_ended_total{outcome="completed"}'))[0] === count + 5, 'five more turns', 10000);
	const [p50] = await query('histogram_quantile(0.5, agentd_commit_duration_seconds_bucket)');
	assert.ok(p50 > 0 && p50 < 5, `median of the commits: ${p50}`);
	assert.ok((await query('sum by (command) (agentd_commands_total{code="ok"})')).length >= 2);
	assert.deepEqual(await query('agentd_build{version!=""}'), [1]);
});
