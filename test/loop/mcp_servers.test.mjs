// Tools of MCP servers in a real agentd: offered, called by a model, asked about, lost with their server, and gone with the daemon.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder, ok, readLog, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';
import { ECHO_SCHEMA } from '../tool/echo_schema.mjs';
import { OFFICIAL, processesWith } from '../tool/mcp.mjs';

const ask = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const facts = async (rt, sessionId, ...types) => (await readLog(rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const ended = (rt, sessionId) =>
	waitFor(async () => (await facts(rt, sessionId, 'turn.completed', 'turn.failed', 'turn.canceled'))[0], 'the end of the turn');
const ALLOW = { permission_rules: [{ name: 'all', effect: 'allow', tool: '*' }] };

async function turn(rt, text, more) {
	const { sessionId, turnId } = await submit(rt, text, more);
	const end = await ended(rt, sessionId);
	return { sessionId, turnId, end, results: await facts(rt, sessionId, 'tool.result'), failed: await facts(rt, sessionId, 'tool.failed') };
}

const server = (mark, ...args) => ({ name: 'srv', ...OFFICIAL.scripted('--mark', mark, ...args) });
let marks = 0;
const newMark = () => `ar-agentd-mcp-${process.pid}-${++marks}-`;

test('TL-12 OW-04 a model calls a tool of a server: it runs there once, its schema is shown as it is', async () => {
	const mark = newMark();
	const log = join(newFolder(), 'log');
	const w = await world({ config: { mcp_servers: [server(mark, '--log', log)], ...ALLOW } });
	const { sessionId, end, results } = await turn(w.rt, ask('srv_echo', { text: 'from the server' }));
	assert.equal(end.type, 'turn.completed');
	const started = await facts(w.rt, sessionId, 'tool.started');
	assert.deepEqual(started.map(({ payload: p }) => [p.toolName, p.runtimeOwner, p.isReadOnly]), [['srv_echo', 'mcp_server', false]]);
	assert.deepEqual(results.map((r) => r.payload.preview), ['from the server']);
	const calls = readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((m) => m.method === 'tools/call');
	assert.deepEqual(calls.map((m) => [m.params.name, m.params.arguments]), [['echo', { text: 'from the server' }]]);
	const { tools } = await ok(w.rt, 'get_tool_inventory', { sessionId });
	assert.ok(JSON.stringify(tools).includes(JSON.stringify(ECHO_SCHEMA)), JSON.stringify(tools[0]));
	assert.equal(processesWith(mark).length, 1);
	await w.rt.stop();
	assert.deepEqual(processesWith(mark), []);
});

test('OPEN-39 a server that dies in a call: nobody knows how it ended, a person decides, the turn goes on', async () => {
	const w = await world({ config: { mcp_servers: [server(newMark())], ...ALLOW } });
	const { sessionId } = await submit(w.rt, ask('srv_complain_and_die', {}));
	const asked = await waitFor(async () => (await ok(w.rt, 'list_actions', { sessionId })).actions[0], 'the question');
	assert.equal(asked.actionType, 'completion_override');
	const facts = (type) => readLog(w.rt, sessionId).then((log) => log.filter((f) => f.type === type).map((f) => f.event));
	assert.deepEqual((await facts('tool.failed')).map((f) => [f.payload.errorCategory, f.payload.retryable]), [['unknown_outcome', false]]);
	await ok(w.rt, 'respond_action', { actionId: asked.actionId, decision: 'skip' });
	await waitFor(async () => (await facts('turn.completed'))[0], 'the end of the turn');
	assert.equal((await facts('tool.started')).length, 1);
	const again = await turn(w.rt, ask('srv_echo', { text: 'again' }));
	assert.equal(again.results[0].payload.preview, 'again');
	await w.rt.stop();
});

test('a server that cannot start: agentd starts, and its log says why', async () => {
	const rt = await startAgentd({ config: { mcp_servers: [server(newMark(), '--fail-start'), { name: 'b', url: 'http://127.0.0.1:9/mcp' }] } });
	await waitFor(() => /tools are missing.*no such setting: cheese/.test(rt.stderr), 'the reason in the log');
	await rt.stop();
});

test('an entry that cannot work is refused at the start', async () => {
	const dataDir = newFolder();
	for (const entry of [{ name: 'x' }, { name: 'x', command: 'a', url: 'http://b' }, { name: 'x', url: 'ftp://b' }]) {
		const rt = await startAgentd({ dataDir, config: { mcp_servers: [entry] }, mayDie: true });
		assert.equal((await rt.gone).code, 1);
		assert.match(rt.stderr, /mcp_servers\[0\] \(x\)/);
	}
});

test('kill -9 of agentd: no server is left', async () => {
	const mark = newMark();
	const w = await world({ config: { mcp_servers: [server(mark, '--stubborn', '--grandchild')], ...ALLOW } });
	await turn(w.rt, ask('srv_echo', { text: 'x' }));
	assert.equal(processesWith(mark).length, 2);
	await w.rt.kill9();
	await waitFor(() => processesWith(mark).length === 0, 'the servers are gone');
});
