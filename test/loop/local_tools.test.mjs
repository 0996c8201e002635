// The tools of the workspace, in a real agentd and its sandbox: offered, called by a model in every wire format, answered by ref, run side by side,
// fenced in, interrupted and cut by kill -9.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, refused, startAgentd, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

let w;
let workspace;

function put(path, text) {
	const full = join(workspace, path);
	mkdirSync(dirname(full), { recursive: true });
	writeFileSync(full, text);
}

before(async () => {
	workspace = newFolder();
	put('src/main.c', 'int main(void)\n{\n\treturn 42;\n}\n');
	put('README.md', 'Answers to everything.\n');
	symlinkSync('/etc', join(workspace, 'out'));
	w = await world({ config: { 'tools.workspace': workspace } });
});

const writing = ['apply_patch', 'edit_file', 'write_file'];
const running = ['process_read', 'process_stop', 'process_write', 'shell', 'terminal_open'];
const local = ['apply_patch', 'edit_file', 'find_files', 'git_diff', 'git_status', 'list_files', 'read_file', 'search_files', 'write_file', ...running].sort();

const ask = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const facts = async (rt, sessionId, ...types) => (await readLog(rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const ended = (rt, sessionId) =>
	waitFor(async () => (await facts(rt, sessionId, 'turn.completed', 'turn.failed', 'turn.canceled'))[0], 'the end of the turn');

async function bytes(rt, outputRef) {
	let text = '';
	for (;;) {
		const { content, sizeBytes } = await ok(rt, 'read_output', { outputRef, offset: text.length, length: 1048576 });
		text += content;
		if (text.length >= sizeBytes) return text;
	}
}

async function turn(rt, text, more) {
	const { sessionId, turnId } = await submit(rt, text, more);
	const end = await ended(rt, sessionId);
	return { sessionId, turnId, end, results: await facts(rt, sessionId, 'tool.result'), failed: await facts(rt, sessionId, 'tool.failed') };
}

test('a model reads a file of the workspace and goes on with what it says', async () => {
	const { end, results, sessionId } = await turn(w.rt, ask('read_file', { path: 'src/main.c', offset: 3, limit: 1 }));
	assert.equal(end.type, 'turn.completed');
	const [started] = await facts(w.rt, sessionId, 'tool.started');
	assert.deepEqual([started.payload.toolName, started.payload.runtimeOwner, started.payload.isReadOnly], ['read_file', 'local', true]);
	assert.equal(await bytes(w.rt, results[0].payload.outputRef), '     3\t\treturn 42;\n(the file continues; call read_file with offset=4 for more)');
	assert.match(await bytes(w.rt, end.payload.outputRef), /The tool said: +3\s+return 42;/);
});

for (const provider of ['openai-chat', 'openai-responses', 'anthropic', 'gemini'])
	test(`tool calls and their answers in the format ${provider}`, async () => {
		const model = await startModel();
		const base = provider.startsWith('openai') ? model.url : model.origin;
		const config = { 'tools.workspace': workspace, 'model.provider': provider, 'model.base_url': base, 'model.api_key': 'k', 'model.name': 'm' };
		const rt = await startAgentd({ config });
		const text = `${ask('find_files', { pattern: '*.c' })}${ask('search_files', { pattern: 'everything' })}`;
		const { end, results } = await turn(rt, text);
		assert.equal(end.type, 'turn.completed');
		const said = await Promise.all(results.map((r) => bytes(rt, r.payload.outputRef)));
		assert.deepEqual(said.sort(), ['README.md\n1:Answers to everything.\n(1 match in 1 of 2 files)', 'src/main.c\n(1 file, newest first)'].sort());
		const [first, second] = model.log();
		for (const name of ['read_file', 'list_files', 'find_files', 'search_files']) assert.ok(JSON.stringify(first.body).includes(`"${name}"`), name);
		assert.ok(JSON.stringify(second.body).includes('1 file, newest first'));
		await rt.stop();
	});

test('AC-03 TL-07 TL-17 a large result: the fact has a preview and a ref, and the ref has every byte after kill -9', async () => {
	const line = (i) => `${String(i).padStart(6)} ${'x'.repeat(90)}`;
	put('large.txt', Array.from({ length: 52000 }, (_, i) => `${line(i)}\n`).join(''));
	const big = await world({ config: { 'tools.workspace': workspace, 'tools.max_result_bytes': 16777216, 'context.max_bytes': 33554432, 'context.window_tokens': 0 } });
	const { sessionId, end } = await turn(big.rt, `${ask('read_file', { path: 'large.txt', limit: 100000 })}[[say done]]`);
	assert.equal(end.type, 'turn.completed');
	const fact = (await readLog(big.rt, sessionId)).find((f) => f.type === 'tool.result');
	assert.ok(JSON.stringify(fact.event).length < 8192, 'the fact is small');
	assert.ok(fact.event.payload.preview.startsWith('     1\t     0 xxx'));
	assert.equal(await bytes(big.rt, end.payload.outputRef), 'done');
	await big.rt.kill9();
	const rt = await big.again();
	const text = await bytes(rt, fact.event.payload.outputRef);
	assert.ok(text.length > 5e6);
	assert.ok(text.endsWith(`${String(52000).padStart(6)}\t${line(51999)}\n(end of file, 52000 lines)`));
	await rt.stop();
});

test('TL-08 reads of one answer run together, unless only one may', async () => {
	const text = ['src', '.', 'src', '.'].map((path) => ask('list_files', { path })).join('');
	const order = async (rt) => (await facts(rt, (await turn(rt, text)).sessionId, 'tool.started', 'tool.result')).map((e) => e.type.slice(5));
	assert.deepEqual((await order(w.rt)).slice(0, 4), ['started', 'started', 'started', 'started']);
	const narrow = await world({ config: { 'tools.workspace': workspace, 'tools.max_parallel': 1 } });
	assert.deepEqual((await order(narrow.rt)).slice(0, 4), ['started', 'result', 'started', 'result']);
	await narrow.rt.stop();
});

test('TL-18 what leads out of the workspace is refused with advice that the model reads', async () => {
	const paths = ['out/passwd', '../../etc/passwd', '/etc/passwd'];
	const { end, failed } = await turn(w.rt, paths.map((path) => ask('read_file', { path })).join(''));
	assert.equal(end.type, 'turn.completed');
	assert.deepEqual(failed.map((f) => f.payload.errorCategory), paths.map(() => 'sandbox'));
	for (const f of failed) assert.match(f.payload.recoveryAdvice, /inside the workspace/);
	assert.match(await bytes(w.rt, end.payload.outputRef), /The tool said: .* leads out of the workspace/);
});

test('TL-10 a search that takes long is interrupted, and says so', async () => {
	for (let i = 0; i < 40; i++) put(`slow/${i}`, `${`${'a'.repeat(60)}!\n`.repeat(2000)}`);
	const { sessionId } = await submit(w.rt, ask('search_files', { pattern: '^(a|aa)+(b|\\1c)$', path: 'slow' }));
	await waitFor(async () => (await facts(w.rt, sessionId, 'tool.started')).length, 'the start of the search');
	const at = Date.now();
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	const end = await ended(w.rt, sessionId);
	assert.ok(Date.now() - at < 20000);
	assert.equal(end.payload.status, 'cancelled');
	const [failed] = await facts(w.rt, sessionId, 'tool.failed');
	assert.ok(['cancelled', 'interrupted'].includes(failed.payload.status));
});

test('TL-11 kill -9 around a call: the cut call has its end, the read is tried again, the turn completes', async () => {
	for (const point of ['engine.before_tool', 'engine.tool_end']) {
		const cut = await world({ config: { 'tools.workspace': workspace }, fault: `${point}:1` });
		const { sessionId } = await submit(cut.rt, ask('read_file', { path: 'README.md' }));
		await waitFor(() => cut.rt.isGone, 'the end of agentd');
		const rt = await cut.again({ fault: undefined });
		assert.equal((await ended(rt, sessionId)).type, 'turn.completed');
		const calls = await facts(rt, sessionId, 'tool.started', 'tool.failed', 'tool.result');
		assert.deepEqual(calls.map((e) => e.type), ['tool.started', 'tool.failed', 'tool.started', 'tool.result'], point);
		assert.equal(calls[1].payload.status, 'interrupted');
		assert.equal(calls[1].toolCallId, calls[0].toolCallId);
		assert.notEqual(calls[2].toolCallId, calls[0].toolCallId);
		await rt.stop();
	}
});

test('TL-03 TL-13 the inventory has the word of the policy, and calls go by it', async () => {
	const permission_rules = [{ name: 'no-search', effect: 'deny', tool: 'search_*' }, { name: 'look-twice', effect: 'ask', tool: 'list_files' }];
	const strict = await world({ config: { 'tools.workspace': workspace, permission_rules } });
	const writers = { apply_patch: 'ask', edit_file: 'ask', write_file: 'ask', process_stop: 'ask', process_write: 'ask', shell: 'ask', terminal_open: 'ask' };
	const words = { ...writers, process_read: 'allowed', find_files: 'allowed', git_diff: 'allowed', git_status: 'allowed', list_files: 'ask', read_file: 'allowed', search_files: 'denied' };
	const mine = { name: 'write_it', description: 'Writes.', inputSchema: { type: 'object' } };
	const asWords = (tools) => Object.fromEntries(tools.map((t) => [t.toolName, t.policy]));
	const { sessionId, turnId } = await submit(strict.rt, ['search_files {"pattern":"x"}', 'list_files {}', 'read_file {"path":"README.md"}'].map((c) => `[[tool ${c}]]`).join(''),
		{ options: { tools: [mine] } });
	const [asked] = await waitFor(async () => {
		const found = await facts(strict.rt, sessionId, 'action.required');
		return found.length && found;
	}, 'the question');
	const [resolved] = await facts(strict.rt, sessionId, 'tool.catalog.resolved');
	const offered = JSON.parse(await bytes(strict.rt, resolved.payload.catalogRef));
	assert.deepEqual(asWords(offered), { ...words, write_it: 'ask' });
	assert.deepEqual((await ok(strict.rt, 'get_tool_inventory', { sessionId, turnId })).tools, offered);
	assert.deepEqual(asWords((await ok(strict.rt, 'get_tool_inventory', { sessionId })).tools), words);
	const planned = await ok(strict.rt, 'get_tool_inventory', { sessionId, turnId, mode: 'plan' });
	const denied = Object.fromEntries(Object.keys(writers).map((name) => [name, 'denied']));
	assert.deepEqual(asWords(planned.tools), { ...words, ...denied, write_it: 'denied', propose_plan: 'ask' });
	await refused(strict.rt, 'invalid_input', 'get_tool_inventory', { sessionId, mode: 'whatever' });
	await ok(strict.rt, 'respond_action', { actionId: asked.actionId, decision: 'allow' });
	assert.equal((await ended(strict.rt, sessionId)).type, 'turn.completed');
	const ends = await facts(strict.rt, sessionId, 'tool.result', 'tool.failed');
	const started = await facts(strict.rt, sessionId, 'tool.started');
	const nameOf = (e) => started.find((x) => x.toolCallId === e.toolCallId).payload.toolName;
	assert.deepEqual(Object.fromEntries(ends.map((e) => [nameOf(e), e.payload.status])), { search_files: 'denied', list_files: 'ok', read_file: 'ok' });
	const relaxed = await ok(w.rt, 'get_tool_inventory', { sessionId: (await turn(w.rt, 'hello')).sessionId });
	assert.ok(relaxed.tools.every((t) => t.policy === (t.isReadOnly ? 'allowed' : 'ask')));
	await strict.rt.stop();
});

test('TL-01 TL-02 TL-05 TL-13 the inventory is what the turn was offered, with flags and schemas', async () => {
	const tools = [{ name: 'mine', description: 'Mine.', inputSchema: { type: 'object' }, isDestructive: true }];
	const { sessionId, turnId } = await turn(w.rt, 'hello', { options: { tools } });
	const [resolved] = await facts(w.rt, sessionId, 'tool.catalog.resolved');
	const offered = JSON.parse(await bytes(w.rt, resolved.payload.catalogRef));
	const inventory = await ok(w.rt, 'get_tool_inventory', { sessionId, turnId });
	assert.deepEqual(inventory.tools, offered);
	assert.deepEqual(offered.map((t) => t.toolName), [...local, 'mine']);
	for (const tool of offered) {
		assert.ok(tool.description.length > 0 && tool.capabilities.length > 0, tool.toolName);
		assert.deepEqual([tool.isReadOnly, tool.isConcurrencySafe, tool.isDestructive].map((flag) => typeof flag), ['boolean', 'boolean', 'boolean'], tool.toolName);
		assert.match(tool.interruptBehavior, /^(cancel|block)$/);
	}
	for (const tool of offered.slice(0, local.length)) {
		assert.equal(tool.inputSchema.type, 'object');
		assert.ok(Object.values(tool.inputSchema.properties).every((p) => p.description.length > 10));
		if (running.includes(tool.toolName)) continue;
		const writes = writing.includes(tool.toolName);
		assert.deepEqual(tool.capabilities, writes ? ['write', 'filesystem', 'artifact'] : ['read', 'filesystem']);
		assert.deepEqual([tool.runtimeOwner, tool.isReadOnly, tool.isConcurrencySafe, tool.isDestructive, tool.interruptBehavior],
			['local', !writes, !writes, false, 'cancel']);
	}
	assert.deepEqual([offered.at(-1).runtimeOwner, offered.at(-1).isDestructive], ['client', true]);
	const general = await ok(w.rt, 'get_tool_inventory', { sessionId });
	assert.deepEqual(general.tools, offered.slice(0, local.length));
	const one = await turn(w.rt, 'hello', { sessionId, options: { tools: ['read_file'] } });
	const narrow = await ok(w.rt, 'get_tool_inventory', { sessionId, turnId: one.turnId });
	assert.deepEqual(narrow.tools.map((t) => t.toolName), ['read_file']);
	await refused(w.rt, 'invalid_scope', 'get_tool_inventory', { sessionId, turnId: `${turnId}9` });
	await refused(w.rt, 'invalid_input', 'get_tool_inventory', { sessionId, policy: 'other' });
	await refused(w.rt, 'session_not_found', 'get_tool_inventory', { sessionId: 'sess_00000000000000000000000000' });
});

test('PM-03 PM-07 untrusted lets what is known to be safe run and asks about a write; plan denies the write, and no file changes', async () => {
	const text = [ask('list_files', {}), ask('read_file', { path: 'README.md' }), ask('write_file', { path: 'new.txt', content: 'x' })].join('');
	const wary = await submit(w.rt, text, { options: { mode: 'untrusted' } });
	const [asked] = await waitFor(async () => {
		const found = await facts(w.rt, wary.sessionId, 'action.required');
		return found.length && found;
	}, 'the question');
	assert.equal(asked.payload.toolName, 'write_file');
	await ok(w.rt, 'respond_action', { actionId: asked.actionId, decision: 'deny' });
	const plan = await turn(w.rt, text, { options: { mode: 'plan' } });
	await ended(w.rt, wary.sessionId);
	for (const [{ sessionId }, decision, source] of [[wary, 'ask', 'mode'], [plan, 'deny', 'mode']]) {
		const judged = (await facts(w.rt, sessionId, 'permission.evaluated')).map(({ payload }) => [payload.decision, payload.decisionSource]);
		assert.deepEqual(judged, [['allow', 'mode'], ['allow', 'mode'], [decision, source]]);
		assert.equal((await facts(w.rt, sessionId, 'tool.result')).length, 2, 'both reads ran');
		assert.deepEqual((await facts(w.rt, sessionId, 'tool.failed')).map((e) => e.payload.status), ['denied']);
	}
	assert.equal(existsSync(join(workspace, 'new.txt')), false);
});

test('a workspace that is no folder keeps agentd from starting, and it says so', async () => {
	for (const [path, why] of [['/nowhere/at/all', /tools\.workspace .*cannot be opened/], [join(workspace, 'README.md'), /tools\.workspace .*is not a directory/]]) {
		const rt = await startAgentd({ config: { 'tools.workspace': path }, mayDie: true });
		assert.ok(rt.isGone);
		assert.match(rt.stderr, why);
	}
});
