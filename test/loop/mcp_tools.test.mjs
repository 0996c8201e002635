// Tools of MCP servers in a real agentd: named in the settings, offered and called like any other, there again after kill -9, and ended with it.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder, ok, readLog, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';
import { OFFICIAL, processesWith } from '../tool/mcp.mjs';

const ask = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const facts = async (rt, sessionId, ...types) => (await readLog(rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const ended = (rt, sessionId) => waitFor(async () => (await facts(rt, sessionId, 'turn.completed', 'turn.failed'))[0], 'the end of the turn');
const bytes = async (rt, outputRef) => (await ok(rt, 'read_output', { outputRef })).content;

test('TL-04 TL-12 a tool of a server is offered beside local ones and runs there', async () => {
	const workspace = newFolder();
	writeFileSync(join(workspace, 'a.txt'), 'one\n');
	const config = { 'tools.workspace': workspace, mcp_servers: [{ name: 'ev', ...OFFICIAL.everything, trust_annotations: true }] };
	const w = await world({ config });
	const text = `${ask('ev_echo', { message: 'hello there' })}${ask('read_file', { path: 'a.txt' })}`;
	const { sessionId } = await submit(w.rt, text);
	assert.equal((await ended(w.rt, sessionId)).type, 'turn.completed');
	const started = await facts(w.rt, sessionId, 'tool.started');
	assert.deepEqual(started.map((e) => [e.payload.toolName, e.payload.runtimeOwner]).sort(), [['ev_echo', 'mcp_server'], ['read_file', 'local']]);
	const said = await Promise.all((await facts(w.rt, sessionId, 'tool.result')).map((e) => bytes(w.rt, e.payload.outputRef)));
	assert.ok(said.some((s) => /hello there/.test(s)), said.join());
	const { tools } = await ok(w.rt, 'get_tool_inventory', { sessionId });
	const echo = tools.find((t) => t.toolName === 'ev_echo');
	assert.deepEqual([echo.runtimeOwner, echo.metadata.origin], ['mcp_server', 'ev']);
	assert.deepEqual(tools.map((t) => t.toolName), tools.map((t) => t.toolName).sort());
	await w.rt.stop();
});

test('after kill -9 in the middle of a read the server is there before the read is tried again', async () => {
	const folder = join(newFolder(), 'mcp-files');
	mkdirSync(folder);
	writeFileSync(join(folder, 'note.txt'), 'kept\n');
	const config = { mcp_servers: [{ name: 'fs', ...OFFICIAL.filesystem(folder), trust_annotations: true }] };
	const w = await world({ config, fault: 'engine.before_tool:1' });
	const { sessionId } = await submit(w.rt, ask('fs_read_text_file', { path: join(folder, 'note.txt') }));
	await waitFor(() => w.rt.isGone, 'the end of agentd');
	const rt = await w.again({ fault: undefined });
	assert.equal((await ended(rt, sessionId)).type, 'turn.completed');
	const [result] = await facts(rt, sessionId, 'tool.result');
	assert.match(await bytes(rt, result.payload.outputRef), /kept/);
	await rt.stop();
	assert.deepEqual(processesWith(folder), [], 'its server ends with agentd, also with one that was killed');
});
