// MCP servers of the editor: their tools are offered to the model, called under the permission of the daemon, cancelled with the turn, and gone with the
// session. A server that misbehaves costs its own tools and nothing else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { openEditor } from './editor.mjs';

const script = fileURLToPath(new URL('../tool/scripted_server.mjs', import.meta.url));
const server = (name, args = [], env = []) => ({ name, command: process.execPath, args: [script, ...args], env });
const tool = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, root, editor;

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	root = realpathSync(newFolder());
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', root]);
	editor = await openEditor(w.rt);
});

const open = async (mcpServers, e = editor) => (await e.call('session/new', { cwd: root, mcpServers })).sessionId;
const question = (sessionId, n = 1) => editor.until(() => editor.questions.filter((q) => q.sessionId === sessionId)[n - 1], `question ${n}`);
const offered = (request) => request.body.tools.map((t) => t.function.name);
const lives = (pid) => existsSync(`/proc/${pid}`) && !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

test('tools of a server are offered beside those of the runtime, asked about, called with their arguments and environment, and told to the editor', async () => {
	const sessionId = await open([server('my tools', [], [{ name: 'OF_EDITOR', value: 'given' }])]);
	const turn = editor.prompt(sessionId, tool('my_tools__echo', { text: 'from the server' }));
	const asked = await question(sessionId);
	assert.deepEqual([asked.toolCall.name, asked.toolCall.rawInput], ['my_tools__echo', { text: 'from the server' }]);
	asked.choose('allow');
	assert.deepEqual(await turn, { stopReason: 'end_turn' });
	const names = offered(w.model.log().at(-1));
	for (const name of ['my_tools__echo', 'read_file', 'shell']) assert.ok(names.includes(name), names.join(' '));
	assert.equal(editor.texts(sessionId, 'agent_message_chunk').at(-1), 'The tool said: from the server');
	const [ended] = editor.of(sessionId, 'tool_call_update');
	assert.deepEqual([ended.status, ended.content[0].content.text], ['completed', 'from the server']);
	const second = editor.prompt(sessionId, tool('my_tools__env', {}));
	(await question(sessionId, 2)).choose('allow');
	await second;
	assert.match(editor.texts(sessionId, 'agent_message_chunk').at(-1), /"OF_EDITOR":"given"/);
});

test('a server that dies, one that prints nonsense and one that ends at once: the call fails with a sentence, the turn and the session go on', async () => {
	const sessionId = await open([server('a', ['--garbage']), { name: 'b', command: '/bin/true', args: [], env: [] }]);
	const dying = editor.prompt(sessionId, tool('a__die', {}));
	(await question(sessionId)).choose('allow');
	assert.deepEqual(await dying, { stopReason: 'end_turn' });
	assert.match(editor.texts(sessionId, 'agent_message_chunk').at(-1), /has ended/);
	assert.equal(editor.of(sessionId, 'tool_call_update').at(-1).status, 'failed');
	assert.deepEqual(await editor.prompt(sessionId, 'still there'), { stopReason: 'end_turn' });
	assert.ok(!offered(w.model.log().at(-1)).some((name) => name.startsWith('a__')));
});

test('a server that describes a tool as nobody can use it costs the turn its tools, not the turn', async () => {
	const more = join(newFolder(), 'more.json');
	writeFileSync(more, JSON.stringify([{ name: 'odd', inputSchema: { type: 'object', properties: { a: { $ref: '#/none' } } } }, { name: 'x'.repeat(80), inputSchema: {} }, { name: 'bare' }]));
	const sessionId = await open([server('s', ['--more', more])]);
	assert.deepEqual(await editor.prompt(sessionId, 'hello'), { stopReason: 'end_turn' });
	const names = offered(w.model.log().at(-1));
	assert.ok(names.includes('read_file') && !names.some((name) => name.startsWith('s__')), names.join(' '));
});

test('cancelling the turn cancels the call; closing the session ends the server and what it started', async () => {
	const log = join(newFolder(), 'log');
	const sessionId = await open([server('s', ['--log', log, '--stubborn'])]);
	const find = editor.prompt(sessionId, tool('s__pid', {}));
	(await question(sessionId)).choose('allow');
	await find;
	const [, pid] = /The tool said: (\d+)/.exec(editor.texts(sessionId, 'agent_message_chunk').at(-1));
	const hanging = editor.prompt(sessionId, tool('s__hang', {}));
	(await question(sessionId, 2)).choose('allow');
	await editor.until(() => editor.of(sessionId, 'tool_call').length === 2, 'the call');
	await editor.notify('session/cancel', { sessionId });
	assert.deepEqual(await hanging, { stopReason: 'cancelled' });
	await waitFor(() => readFileSync(log, 'utf8').includes('notifications/cancelled'), 'the server is told');
	assert.ok(lives(pid));
	await editor.call('session/close', { sessionId });
	await waitFor(() => !lives(pid), 'the server is gone');
});

test('two editors with the same server: the call is made by the one whose turn it is, once', async () => {
	const logs = [join(newFolder(), 'a'), join(newFolder(), 'b')];
	const sessionId = await open([server('s', ['--log', logs[0]])]);
	const other = await openEditor(w.rt);
	await other.call('session/load', { sessionId, cwd: root, mcpServers: [server('s', ['--log', logs[1]])] });
	const hasListed = (log) => existsSync(log) && readFileSync(log, 'utf8').includes('tools/list');
	await waitFor(() => logs.every(hasListed), 'both servers run');
	const turn = editor.prompt(sessionId, tool('s__echo', { text: 'once' }));
	(await question(sessionId)).choose('allow');
	await turn;
	await other.until(() => other.of(sessionId, 'tool_call_update').length, 'the end of the call in the other');
	assert.deepEqual(logs.map((log) => (readFileSync(log, 'utf8').match(/tools\/call/g) ?? []).length), [1, 0]);
	assert.deepEqual(await other.close(), { code: 0, signal: null });
	assert.deepEqual((await ok(w.rt, 'list_actions', { sessionId })).actions, []);
});
