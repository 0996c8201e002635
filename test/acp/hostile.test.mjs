// A hostile editor: lines that are no JSON, no JSON-RPC or too long, ids of nobody, methods before their time. Each is refused, nothing is lost, and
// what comes behind it works.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { before, test } from 'node:test';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { spawnAcp } from './editor.mjs';
import { checkLine } from './schema.mjs';

const LINE_MAX = 8 << 20;
let w, root;

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	root = realpathSync(newFolder());
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', root]);
});

/** The program with its lines, without a client between. */
class Raw {
	constructor(args) {
		this.child = spawnAcp(w.rt, args);
		this.messages = [];
		this.asked = new Map();
		let rest = '';
		this.child.stdout.setEncoding('utf8').on('data', (text) => {
			const lines = (rest + text).split('\n');
			rest = lines.pop();
			this.messages.push(...lines.map((line) => checkLine(line, this.asked)));
		});
	}

	send(message) {
		if (message.id !== undefined && message.method) this.asked.set(JSON.stringify(message.id), message.method);
		this.child.stdin.write(typeof message === 'string' ? message : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
	}

	answer(id) {
		return waitFor(() => this.messages.find((m) => !m.method && m.id === id), () => `the answer to ${id}; ${JSON.stringify(this.messages).slice(-500)} ${this.child.err}`);
	}

	async call(id, method, params) {
		this.send({ id, method, params });
		return this.answer(id);
	}

	/** How many messages without an id refuse something so. */
	refusals(code) {
		return this.messages.filter((m) => m.id === null && m.error?.code === code).length;
	}

	async close() {
		this.child.stdin.end();
		return this.child.gone;
	}
}

const hello = { protocolVersion: 1 };

test('what is no message is refused by its code, and the next line is read as if nothing was', async () => {
	const raw = new Raw();
	const cases = [['not json\n', -32700], ['{"jsonrpc":"2.0","id":1,"method":"initialize"\n', -32700], ['\xff\xfe{}\n', -32700], ['[]\n', -32600], ['[{"jsonrpc":"2.0","id":1,"method":"initialize"}]\n', -32600], ['7\n', -32600], ['"x"\n', -32600], ['{}\n', -32600], ['{"jsonrpc":"1.0","method":"initialize"}\n', -32600], ['{"jsonrpc":"2.0","id":{},"method":"initialize"}\n', -32600], ['{"jsonrpc":"2.0","id":1.5,"method":"initialize"}\n', -32600], [`${'['.repeat(10000)}\n`, -32700], ['{"a":1,"a":2}\n', -32700]];
	for (const [line] of cases) raw.send(line);
	raw.send('\n  \n\r\n');
	assert.equal((await raw.call('first', 'session/new', { cwd: root, mcpServers: [] })).error.code, -32600, 'before initialize');
	for (const code of [-32700, -32600]) assert.equal(raw.refusals(code), cases.filter((c) => c[1] === code).length, `refusals ${code}: ${JSON.stringify(raw.messages)}`);
	assert.equal((await raw.call(1, 'initialize', {})).error.code, -32602);
	assert.equal((await raw.call(2, 'initialize', { protocolVersion: 99 })).result.protocolVersion, 1);
	assert.equal((await raw.call(3, 'no/such', {})).error.code, -32601);
	assert.equal((await raw.call(4, 'session/cancel', { sessionId: 'x' })).error.code, -32600, 'a notification is no request');
	assert.equal((await raw.call(5, 'session/prompt', [])).error.code, -32602);
	raw.send({ method: 'session/prompt', params: { sessionId: 'x', prompt: [] } });
	raw.send({ method: 'session/cancel', params: { sessionId: 'x' } });
	for (const id of [0, 1, -1, 99, 'x', null, 2 ** 40]) raw.send({ id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
	raw.send({ id: 3, error: { code: 1, message: 'x' } });
	const before = raw.messages.length;
	raw.send({ id: null, method: 'authenticate', params: { methodId: 'agentd' } });
	await waitFor(() => raw.messages.find((m) => m.id === null && m.result), 'an id may be null');
	assert.equal(raw.messages.length, before + 1, 'answers to nothing are dropped');
	assert.deepEqual(await raw.close(), { code: 0, signal: null });
});

test('a line has a limit; one over it costs no memory and is refused once, however it is cut', async () => {
	const raw = new Raw();
	raw.send({ id: 1, method: 'initialize', params: hello });
	await raw.answer(1);
	const piece = 'x'.repeat(1 << 20);
	for (let i = 0; i < 40; i++) raw.send(piece);
	raw.send('\n');
	await waitFor(() => raw.refusals(-32600) === 1, 'the refusal');
	const kilobytes = Number(/VmHWM:\s+(\d+)/.exec(execFileSync('cat', [`/proc/${raw.child.pid}/status`], { encoding: 'utf8' }))[1]);
	if (!/[at]san/.test(bin)) assert.ok(kilobytes < 80 * 1024, `${kilobytes} KiB at most`);
	const longest = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'authenticate', params: { methodId: 'agentd', pad: '' } });
	raw.asked.set('2', 'authenticate');
	raw.send(`${longest.replace('"pad":""', `"pad":"${'x'.repeat(LINE_MAX - longest.length)}"`)}\n`);
	assert.ok((await raw.answer(2)).result, 'one that is as long as may be is read');
	assert.equal(raw.refusals(-32600), 1);
	assert.deepEqual(await raw.close(), { code: 0, signal: null });
});

test('sessions: ids of nobody, folders that are none, servers and folders beside it are refused with a reason', async () => {
	const raw = new Raw();
	await raw.call(1, 'initialize', hello);
	const refusals = [
		['session/new', { mcpServers: [] }, -32602, /absolute/], ['session/new', { cwd: 'x', mcpServers: [] }, -32602, /absolute/], ['session/new', { cwd: `${root}\0/x`, mcpServers: [] }, -32602, /absolute/],
		['session/new', { cwd: `${root}/none`, mcpServers: [] }, -32602, /cannot be used/], ['session/new', { cwd: '/', mcpServers: [] }, undefined, /./],
		['session/new', { cwd: root, mcpServers: [], additionalDirectories: ['/etc'] }, -32602, /one folder/],
		['session/new', { cwd: root, mcpServers: [{ type: 'http', name: 'm', url: 'http://127.0.0.1:1', headers: [] }] }, -32602, /standard input/],
		['session/new', { cwd: root, mcpServers: [{ name: 'm', command: '/no/such', args: [], env: [] }] }, -32602, /No such file/],
		['session/new', { cwd: root, mcpServers: Array(9).fill({ name: 'm', command: '/bin/true', args: [], env: [] }) }, -32602, /at most 8/],
		['session/new', { cwd: root, mcpServers: [{ name: 'm', command: '/bin/true\0', args: [], env: [] }] }, -32602, /NUL/],
		['session/new', { cwd: root, mcpServers: [{ name: 'm', command: '/bin/true', args: [7], env: [{ name: 'a=b', value: 'x' }] }] }, -32602, /needed/],
		['session/load', { sessionId: 'sess_none', cwd: root, mcpServers: [] }, undefined, /./], ['session/load', { sessionId: '../x', cwd: root, mcpServers: [] }, undefined, /./], ['session/load', { cwd: root, mcpServers: [] }, undefined, /./],
		['session/resume', { sessionId: 'sess_01m7qcqzefe8ya88qyppvq4sms', cwd: root }, -32002, /./], ['session/close', { sessionId: 'x' }, -32002, /./],
		['session/prompt', { sessionId: 'x', prompt: [{ type: 'text', text: 'x' }] }, -32002, /./], ['session/set_mode', { sessionId: 'x', modeId: 'plan' }, -32002, /./],
		['session/set_config_option', { sessionId: 'x', configId: 'mode', value: 'plan' }, -32002, /./], ['session/list', { cursor: 'x' }, undefined, /./],
	];
	for (const [i, [method, params, code, reason]] of refusals.entries()) {
		const { error } = await raw.call(100 + i, method, params);
		assert.ok(error && reason.test(error.message), `${method} ${JSON.stringify(params)}: ${JSON.stringify(error)}`);
		if (code) assert.equal(error.code, code, `${method} ${JSON.stringify(params)}: ${JSON.stringify(error)}`);
	}
	assert.deepEqual((await ok(w.rt, 'list_sessions', {})).sessions, [], 'nothing was made');
	assert.deepEqual(await raw.close(), { code: 0, signal: null });
});

test('prompts: blocks of a wrong shape, an answer that was not offered, and more prompts than are kept', async () => {
	const raw = new Raw(['--ignore-mcp-servers']);
	await raw.call(1, 'initialize', { ...hello, clientCapabilities: { fs: 'yes', auth: 7 } });
	const { sessionId } = (await raw.call(2, 'session/new', { cwd: root, mcpServers: [{ name: 'm', command: '/bin/true', args: [], env: [] }] })).result;
	const bad = [undefined, [], {}, 'x', [{}], [{ type: 'text' }], [{ type: 'text', text: 7 }], [{ type: 'image', data: 'x', mimeType: 'text/html' }], [{ type: 'resource_link' }], [{ type: 'resource', resource: { uri: 'x', blob: 'x' } }], Array(300).fill({ type: 'text', text: 'x' })];
	for (const [i, prompt] of bad.entries()) assert.equal((await raw.call(10 + i, 'session/prompt', { sessionId, prompt })).error?.code, -32602, JSON.stringify(prompt)?.slice(0, 100));
	const ask = (id) => raw.send({ id, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text: '[[tool shell {"command":"true"}]]' }] } });
	for (let i = 0; i < 17; i++) ask(50 + i);
	assert.match((await raw.answer(66)).error.message, /wait/);
	const question = await waitFor(() => raw.messages.find((m) => m.method === 'session/request_permission'), 'the question');
	raw.send({ id: question.id, result: { outcome: { outcome: 'selected', optionId: 'allow_for_ever' } } });
	raw.send({ id: question.id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
	await raw.call(70, 'authenticate', { methodId: 'agentd' });
	const { actions } = await ok(w.rt, 'list_actions', { sessionId });
	assert.deepEqual(actions.map((a) => a.status), ['pending'], 'a word that was not offered is no answer, and one answer is all there is');
	raw.send({ method: '$/cancel_request', params: { requestId: 50 } });
	for (let i = 0; i < 16; i++) assert.deepEqual((await raw.answer(50 + i)).result, { stopReason: 'cancelled' });
	assert.deepEqual(await raw.close(), { code: 0, signal: null });
});
