// Over every boundary go the ids that a receiver needs to join what it saw to the log: providers, services, MCP servers, hooks, webhooks, commands here and on a worker.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { OFFICIAL } from '../tool/mcp.mjs';
import { entry, receiver } from '../webhook/receiver.mjs';
import { startWorker } from '../worker/worker.mjs';
import { collector } from './otlp.mjs';

const isRoot = process.getuid() === 0;
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const eventsOf = async (rt, sessionId) => (await readLog(rt, sessionId)).map((f) => f.event);
const ended = (rt, { sessionId, turnId }) => waitFor(async () => (await eventsOf(rt, sessionId)).find((e) => e.turnId === turnId && /^turn\.(completed|failed)$/.test(e.type)), 'the end of the turn');
const split = (traceparent) => /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(traceparent)?.slice(1) ?? assert.fail(`'${traceparent}' is no traceparent`);

function workspace() {
	const folder = realpathSync(newFolder());
	if (isRoot) execFileSync('chown', ['1000:1000', folder]);
	return folder;
}

/** What a service, a hook or a tool, was sent. */
async function service(answer) {
	const seen = [];
	const server = createServer((req, res) => {
		let body = '';
		req.on('data', (piece) => (body += piece)).on('end', () => {
			seen.push({ headers: req.headers, body });
			res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	server.unref();
	return { seen, url: `http://127.0.0.1:${server.address().port}/` };
}

const HOOK = `printf '%s %s %s\\n' "$TRACEPARENT" "$AGENTRUNTIME_TURN_ID" "$AGENTRUNTIME_TOOL_CALL_ID"`;
let rt, model, turn, events, order, hookUrl, hooked, mcpLog, webhook, to;

async function start(more = {}) {
	hooked = join(newFolder(), 'hook');
	mcpLog = join(newFolder(), 'mcp');
	return startAgentd({
		model,
		config: {
			'permission.mode': 'bypass', 'tools.workspace': workspace(), 'workspaces.dir': realpathSync(newFolder()),
			http_tools: [{ name: 'order', description: 'Orders.', url: order.url, method: 'POST' }],
			mcp_servers: [{ name: 'srv', ...OFFICIAL.scripted('--log', mcpLog) }],
			hooks: [
				{ name: 'watch', point: 'pre_tool_use', match: 'order', command: `${HOOK} >>${hooked}; echo '{"decision":"continue"}'` },
				{ name: 'post', point: 'post_tool_use', match: 'order', url: hookUrl.url },
			],
			webhooks: [entry('out', webhook, { events: ['tool.started', 'model.completed', 'session.created'] })],
			...more,
		},
	});
}

const text = `${call('order', { q: 1 })}${call('srv_echo', { text: 'x' })}${call('shell', { command: 'echo "<$TRACEPARENT>"' })}`;

before(async () => {
	[to, model, order, hookUrl, webhook] = await Promise.all([collector(), startModel(), service({ ok: true }), service({ decision: 'continue' }), receiver()]);
	rt = await start({ 'telemetry.endpoint': to.url, 'telemetry.interval_ms': 20, 'telemetry.commands': true });
	turn = await submit(rt, text);
	await ended(rt, turn);
	events = await eventsOf(rt, turn.sessionId);
});

const toolCall = (name) => events.find((e) => e.type === 'tool.started' && e.payload.toolName === name) ?? assert.fail(`no call of ${name}: ${events.filter((e) => e.type === 'tool.started').map((e) => JSON.stringify(e.payload))}`);
const joins = (traceparent, event, what) => assert.deepEqual(split(traceparent), [event.traceId, event.spanId], what);

test('ID-13 TE-09 the provider, the service, the MCP server, the hooks and the command get ids that are those of an event', async () => {
	for (const { headers } of model.log(turn.turnId)) {
		const event = events.find((e) => e.type === 'model.completed' && e.modelRequestId === headers['x-request-id']);
		assert.deepEqual([headers['x-ar-session'], headers['x-ar-turn'], headers['x-ar-step']], [turn.sessionId, turn.turnId, event.stepId]);
		joins(headers.traceparent, event, 'the provider');
	}
	const ordered = toolCall('order'), [{ headers }] = order.seen;
	assert.deepEqual(['session', 'turn', 'tool-call'].map((w) => headers[`x-agentruntime-${w}`]), [turn.sessionId, turn.turnId, ordered.toolCallId]);
	joins(headers.traceparent, ordered, 'the service');
	const asked = readFileSync(mcpLog, 'utf8').trim().split('\n').map(JSON.parse).filter((m) => m.method === 'tools/call');
	assert.equal(asked.length, 1);
	joins(asked[0].params._meta.traceparent, toolCall('srv_echo'), 'the MCP server over stdio');
	const [traceparent, turnId, toolCallId] = readFileSync(hooked, 'utf8').trim().split(' ');
	assert.deepEqual([turnId, toolCallId], [turn.turnId, ordered.toolCallId]);
	const hooks = Object.fromEntries(events.filter((e) => e.type === 'hook.started').map((e) => [e.payload.handlerRef, e]));
	joins(traceparent, hooks.watch, 'the command of a hook');
	joins(hookUrl.seen[0].headers.traceparent, hooks.post, 'the endpoint of a hook');
	assert.equal(JSON.parse(hookUrl.seen[0].body).toolCallId, ordered.toolCallId);
	const said = JSON.stringify(model.log(turn.turnId).at(-1).body.messages);
	joins(/<(00-[0-9a-f-]+)>/.exec(said)?.[1], toolCall('shell'), 'the command');
	const spans = await waitFor(() => [...Object.values(hooks), toolCall('shell'), ordered].every((e) => to.traces.some((s) => s.spanId === e.spanId)) && to.traces, 'their spans');
	assert.equal(spans.find((s) => s.spanId === hooks.watch.spanId).attributes['agentd.hook.handler'], 'watch');
});

test('ID-13 a webhook gets the trace of its event; an event in no trace has no header', async () => {
	const want = events.filter((e) => ['tool.started', 'model.completed', 'session.created'].includes(e.type));
	await waitFor(() => want.every((e) => webhook.got.some((r) => r.event.eventId === e.eventId)), 'the events');
	for (const e of want) {
		const { headers } = webhook.got.find((r) => r.event.eventId === e.eventId);
		if (e.traceId) joins(headers.traceparent, e, e.type);
		else assert.equal(headers.traceparent, undefined, e.type);
	}
	assert.ok(want.some((e) => e.traceId) && want.some((e) => !e.traceId));
	assert.deepEqual(webhook.bad, []);
});

test('ID-13 a command on a worker finds the traceparent of its call', async () => {
	const worker = await startWorker(rt);
	const { workspace: far } = await ok(rt, 'create_workspace', { name: 'far', worker: worker.workerId, environment: [{ name: 'TRACEPARENT', value: 'of-the-tenant' }] });
	const there = await submit(rt, call('shell', { command: 'echo "<$TRACEPARENT>"' }), { createPolicy: { workspaceId: far.workspaceId } });
	await ended(rt, there);
	const started = (await eventsOf(rt, there.sessionId)).find((e) => e.type === 'tool.started');
	joins(/<(00-[0-9a-f-]+)>/.exec(JSON.stringify(model.log(there.turnId).at(-1).body.messages))?.[1], started, 'the command on the worker');
});

test('ID-13 EV-08 without an address nobody gets a traceparent', async () => {
	order.seen.length = hookUrl.seen.length = webhook.got.length = 0;
	rt = await start({ 'telemetry.commands': true });
	turn = await submit(rt, text);
	await ended(rt, turn);
	await waitFor(() => webhook.got.some((r) => r.event.sessionId === turn.sessionId && r.event.type === 'model.completed'), 'an event');
	for (const { headers } of [...model.log(turn.turnId), ...order.seen, ...hookUrl.seen, ...webhook.got]) assert.equal(headers.traceparent, undefined);
	assert.ok(existsSync(mcpLog) && !readFileSync(mcpLog, 'utf8').includes('traceparent'));
	assert.ok(readFileSync(hooked, 'utf8').startsWith(' '));
	assert.ok(JSON.stringify(model.log(turn.turnId).at(-1).body.messages).includes('<>'));
});
