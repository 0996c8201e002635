// `agentctl acp` for the client of the official SDK: turns with tools, questions, plans and differences, cancelling, loading and resuming, modes and
// choices, unsaved text. Every line fits the published schema (editor.mjs checks it).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { openEditor } from './editor.mjs';

const isRoot = process.getuid() === 0;
const tool = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, root, editor;

function newRoot() {
	const folder = realpathSync(newFolder());
	writeFileSync(join(folder, 'note.txt'), 'one\ntwo\n');
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', folder]);
	return folder;
}

const models = (url) => ['large', 'small'].map((name) => ({ name, provider: 'openai-chat', model: name, base_url: url, api_key: 'k' }));
const open = async (e = editor, cwd = root) => (await e.call('session/new', { cwd, mcpServers: [] })).sessionId;
const load = (e, sessionId, method = 'session/load') => e.call(method, { sessionId, cwd: root, mcpServers: [] });

before(async () => {
	const { startModel } = await import('../lib/runtime.mjs');
	const model = await startModel();
	w = await world({ model, config: { models: models(model.url), 'workspaces.dir': realpathSync(newFolder()) } });
	root = newRoot();
	editor = await openEditor(w.rt);
});

test('initialize promises what there is: version 1, sessions that are loaded, listed, resumed and closed', async () => {
	assert.equal(editor.hello.protocolVersion, 1);
	const { loadSession, promptCapabilities, sessionCapabilities } = editor.hello.agentCapabilities;
	assert.deepEqual([loadSession, promptCapabilities, Object.keys(sessionCapabilities).sort()], [true, { image: true, audio: false, embeddedContext: true }, ['close', 'list', 'resume']]);
	assert.deepEqual(editor.hello.authMethods.map((m) => [m.type, m.id]), [[undefined, 'agentd']], 'an editor that runs no terminal for it is offered none');
	await editor.call('authenticate', { methodId: 'agentd' });
	await assert.rejects(editor.call('authenticate', { methodId: 'setup' }), { code: -32602 });
	const able = await openEditor(w.rt, {}, { auth: { terminal: true } });
	const terminal = able.hello.authMethods.find((m) => m.type === 'terminal');
	assert.deepEqual([terminal.id, terminal.args], ['setup', ['--setup']]);
	assert.deepEqual(await able.close(), { code: 0, signal: null });
});

test('a turn: thoughts and words stream, a question is answered in the editor, an edit is a difference', async () => {
	const sessionId = await open();
	await editor.until(() => editor.of(sessionId, 'available_commands_update').length, 'commands');
	assert.deepEqual(editor.of(sessionId, 'available_commands_update')[0].availableCommands.map((c) => c.name), ['compact', 'explain']);
	const turn = editor.prompt(sessionId, `[[reasoning because]]${tool('edit_file', { path: 'note.txt', oldText: 'two', newText: 'three' })}${tool('shell', { command: 'true' })}`);
	const edit = await editor.until(() => editor.questions.find((q) => q.sessionId === sessionId && q.toolCall.name === 'edit_file'), 'the question about the edit');
	assert.deepEqual(edit.options.map((o) => [o.optionId, o.kind]), [['allow', 'allow_once'], ['allow_session', 'allow_always'], ['deny', 'reject_once']]);
	assert.deepEqual([edit.toolCall.kind, edit.toolCall.locations, edit.toolCall.rawInput.newText], ['edit', [{ path: join(root, 'note.txt') }], 'three']);
	edit.choose('allow');
	const command = await editor.until(() => editor.questions.find((q) => q.sessionId === sessionId && q.toolCall.name === 'shell'), 'the question about the command');
	command.choose('deny');
	assert.deepEqual(await turn, { stopReason: 'end_turn' });
	assert.equal(readFileSync(join(root, 'note.txt'), 'utf8'), 'one\nthree\n');
	const calls = editor.of(sessionId, 'tool_call'), changes = editor.of(sessionId, 'tool_call_update');
	const changed = changes.find((c) => c.toolCallId === edit.toolCall.toolCallId);
	assert.equal(calls.filter((c) => c.toolCallId === edit.toolCall.toolCallId).length, 1);
	assert.deepEqual([changed.status, changed.content], ['completed', [{ type: 'diff', path: join(root, 'note.txt'), oldText: 'one\ntwo\n', newText: 'one\nthree\n' }]]);
	assert.equal(changes.find((c) => c.toolCallId === command.toolCall.toolCallId).status, 'failed');
	assert.deepEqual([...new Set(editor.texts(sessionId, 'agent_thought_chunk'))], ['because']);
	assert.match(editor.texts(sessionId, 'agent_message_chunk').at(-1), /The tool said/);
	assert.deepEqual(editor.of(sessionId, 'user_message_chunk'), [], 'the editor has shown its own text');
	assert.ok(!editor.lines.some((l) => l.includes('"terminal/') || l.includes('fs/')), 'nothing of the editor is used that it did not offer');
});

test('session/load tells every item once and in order, session/resume nothing, session/list has the session with its folder', async () => {
	const sessionId = await open();
	await editor.prompt(sessionId, `[[reasoning hm]]first ${tool('read_file', { path: 'note.txt' })}`);
	await editor.prompt(sessionId, '[[tokens 200]]second');
	const live = (kind) => editor.texts(sessionId, kind);
	const other = await openEditor(w.rt);
	await load(other, sessionId);
	const loaded = other.updates.filter((u) => u.update.sessionUpdate !== 'available_commands_update');
	assert.deepEqual(other.texts(sessionId, 'user_message_chunk').map((t) => t.replace(/\[\[.*?\]\]\]?/g, '').trim()), ['first', 'second']);
	for (const kind of ['agent_message_chunk', 'agent_thought_chunk']) assert.deepEqual(other.texts(sessionId, kind), live(kind), kind);
	assert.deepEqual(other.of(sessionId, 'tool_call'), editor.of(sessionId, 'tool_call'));
	assert.deepEqual(other.of(sessionId, 'tool_call_update'), editor.of(sessionId, 'tool_call_update'));
	assert.equal(loaded.at(-1).update.sessionUpdate, 'agent_message_chunk');
	assert.ok(other.lines.findIndex((l) => /"id":\d+,"result":\{"modes"/.test(l)) > other.lines.findLastIndex((l) => l.includes('_chunk')), 'all of it before the answer');
	const third = await openEditor(w.rt);
	await load(third, sessionId, 'session/resume');
	assert.deepEqual(third.updates.filter((u) => u.update.sessionUpdate !== 'available_commands_update'), []);
	assert.deepEqual(await third.prompt(sessionId, 'again'), { stopReason: 'end_turn' });
	assert.deepEqual(third.texts(sessionId, 'agent_message_chunk'), ['You said: again']);
	const { sessions } = await third.call('session/list', { cwd: root });
	assert.deepEqual([sessions.find((s) => s.sessionId === sessionId).cwd, sessions.every((s) => s.cwd === root)], [root, true]);
	assert.deepEqual((await third.call('session/list', { cwd: newRoot() })).sessions, []);
	assert.ok((await third.call('session/list', {})).sessions.some((s) => s.sessionId === sessionId));
	await assert.rejects(third.call('session/load', { sessionId, cwd: newRoot(), mcpServers: [] }), /another folder/);
	await third.call('session/close', { sessionId });
	await assert.rejects(third.prompt(sessionId, 'x'), { code: -32002 });
	assert.deepEqual(await third.prompt(await open(third), 'it goes on'), { stopReason: 'end_turn' });
	await Promise.all([other.close(), third.close()]);
});

test('a turn that was taken back is not told by session/load, also when its call was asked about; what follows it is', async () => {
	const sessionId = await open();
	await editor.prompt(sessionId, 'kept');
	const { threads: [{ threadId, turns }] } = await ok(w.rt, 'get_session', { sessionId });
	const turn = editor.prompt(sessionId, `taken back ${tool('shell', { command: 'true' })}`);
	(await editor.until(() => editor.questions.find((q) => q.sessionId === sessionId), 'the question')).choose('deny');
	await turn;
	await ok(w.rt, 'rollback_thread', { sessionId, threadId, target: { turnId: turns.at(-1).turnId } });
	await editor.prompt(sessionId, 'after it');
	const other = await openEditor(w.rt);
	await load(other, sessionId);
	assert.deepEqual(other.texts(sessionId, 'user_message_chunk'), ['kept', 'after it']);
	assert.deepEqual(other.texts(sessionId, 'agent_message_chunk'), ['You said: kept', 'You said: after it']);
	assert.deepEqual([other.of(sessionId, 'tool_call'), other.of(sessionId, 'tool_call_update'), other.questions], [[], [], []]);
	await other.close();
});

test('session/cancel ends the prompt with cancelled, whether it runs, asks or waits behind another', async () => {
	const sessionId = await open();
	const first = editor.prompt(sessionId, tool('shell', { command: 'true' }));
	const question = await editor.until(() => editor.questions.find((q) => q.sessionId === sessionId), 'the question');
	const second = editor.prompt(sessionId, 'behind it');
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).threads[0].queuedTurns?.length, 'the second waits');
	await editor.notify('session/cancel', { sessionId });
	question.choose();
	assert.deepEqual(await Promise.all([first, second]), [{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }]);
	assert.ok(!editor.texts(sessionId, 'agent_message_chunk').some((t) => t.includes('behind it')), 'what waits does not start when the other is stopped');
	const streaming = editor.prompt(sessionId, '[[delay 20]][[tokens 100000]]');
	await editor.until(() => editor.texts(sessionId, 'agent_message_chunk').length, 'words');
	await editor.notify('session/cancel', { sessionId });
	assert.deepEqual(await streaming, { stopReason: 'cancelled' });
	const at = editor.lines.length;
	assert.deepEqual(await editor.prompt(sessionId, 'next'), { stopReason: 'end_turn' });
	assert.ok(!editor.lines.slice(at).some((l) => l.includes(' w1 ')), 'nothing of the cancelled turn comes behind its answer');
	const other = await openEditor(w.rt);
	await load(other, sessionId);
	assert.deepEqual(other.texts(sessionId, 'agent_message_chunk'), editor.texts(sessionId, 'agent_message_chunk'), 'what was said before it was cancelled is there');
	await other.close();
});

test('stop reasons come from the facts; a failure is an error in the words of the runtime', async () => {
	const sessionId = await open();
	await assert.rejects(editor.prompt(sessionId, '[[http 400 message=no-such-thing]]'), (e) => e.code === -32603 && /no-such-thing/.test(e.message));
	await assert.rejects(editor.prompt(sessionId, [{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' }]), { code: -32602 });
	const keyless = await world({ model: w.model, config: { models: [{ name: 'm', provider: 'anthropic', model: 'm' }], 'workspaces.dir': realpathSync(newFolder()) }, env: { ANTHROPIC_API_KEY: '' } });
	const without = await openEditor(keyless.rt);
	await assert.rejects(without.prompt(await open(without), 'hello'), { code: -32000 }, 'the editor may offer to choose a model');
	await without.close();
	assert.deepEqual(await editor.prompt(sessionId, '/explain'), { stopReason: 'end_turn' });
	assert.match(editor.texts(sessionId, 'agent_message_chunk').at(-1), /^- /);
});

test('modes and choices: what the daemon would refuse is not offered, and what is chosen goes with the next turns and is there after a load', async () => {
	const made = await editor.call('session/new', { cwd: root, mcpServers: [] });
	const { sessionId } = made;
	assert.deepEqual([made.modes.currentModeId, made.modes.availableModes.map((m) => m.id)], ['daemon', ['daemon', 'plan', 'never', 'untrusted', 'default', 'on_request', 'on_failure', 'auto']]);
	assert.deepEqual(made.configOptions.map((o) => [o.id, o.category, o.currentValue]), [['mode', 'mode', 'daemon'], ['model', 'model', 'daemon'], ['effort', 'thought_level', 'daemon']]);
	assert.deepEqual(made.configOptions[1].options.map((o) => o.value), ['daemon', 'large', 'small']);
	await editor.call('session/set_mode', { sessionId, modeId: 'plan' });
	await editor.until(() => editor.of(sessionId, 'config_option_update').at(-1)?.configOptions[0].currentValue === 'plan', 'the option follows the mode');
	const { configOptions } = await editor.call('session/set_config_option', { sessionId, configId: 'model', value: 'small' });
	assert.equal(configOptions[1].currentValue, 'small');
	for (const bad of [{ modeId: 'bypass' }, { modeId: 'x' }]) await assert.rejects(editor.call('session/set_mode', { sessionId, ...bad }), { code: -32602 });
	await assert.rejects(editor.call('session/set_config_option', { sessionId, configId: 'model', value: 'other' }), { code: -32602 });
	await editor.prompt(sessionId, tool('edit_file', { path: 'note.txt', oldText: 'one', newText: 'x' }));
	assert.equal(editor.of(sessionId, 'tool_call_update').at(-1).status, 'failed', 'mode plan denies it');
	assert.ok(!editor.questions.some((q) => q.sessionId === sessionId));
	const other = await openEditor(w.rt);
	const { modes, configOptions: kept } = await load(other, sessionId);
	assert.deepEqual([modes.currentModeId, kept[1].currentValue], ['plan', 'small']);
	await other.call('session/set_config_option', { sessionId, configId: 'mode', value: 'daemon' });
	await other.until(() => other.of(sessionId, 'current_mode_update').at(-1)?.currentModeId === 'daemon', 'the mode follows the option');
	await other.close();
});

test('two editors: both see what the other asks, the first answer stands and the other question is withdrawn', async () => {
	const sessionId = await open();
	const other = await openEditor(w.rt);
	await load(other, sessionId);
	const withdrawn = editor.withdrawn.length;
	const turn = editor.prompt(sessionId, `hello ${tool('shell', { command: 'echo said' })}`);
	const [mine, theirs] = await Promise.all([editor, other].map((e) => e.until(() => e.questions.find((q) => q.sessionId === sessionId), 'the question')));
	assert.equal(mine.toolCall.toolCallId, theirs.toolCall.toolCallId);
	theirs.choose('allow');
	assert.deepEqual(await turn, { stopReason: 'end_turn' });
	await editor.until(() => editor.withdrawn.length === withdrawn + 1, 'ours is withdrawn');
	mine.choose('deny');
	await other.until(() => /The tool said/.test(other.texts(sessionId, 'agent_message_chunk').at(-1)), 'the answer in both');
	assert.match(other.texts(sessionId, 'user_message_chunk')[0], /^hello/);
	assert.deepEqual(other.withdrawn, []);
	assert.deepEqual([...new Set(editor.of(sessionId, 'tool_call_update').map((u) => u.status))], ['completed']);
	const late = await openEditor(w.rt);
	const asking = editor.prompt(sessionId, tool('shell', { command: 'echo again' }));
	await editor.until(() => editor.questions.filter((q) => q.sessionId === sessionId).length === 2, 'the second question');
	await load(late, sessionId);
	const asked = await late.until(() => late.questions[0], 'an editor that comes later is asked too');
	await ok(w.rt, 'respond_action', { actionId: (await ok(w.rt, 'list_actions', { sessionId })).actions[0].actionId, decision: 'deny' });
	assert.deepEqual(await asking, { stopReason: 'end_turn' });
	await late.until(() => late.withdrawn.length === 1, 'and its question is withdrawn by the answer in the inbox');
	asked.choose('allow');
	await other.notify('session/cancel', { sessionId });
	await Promise.all([other.close(), late.close()]);
});

test('a list of steps is the plan, also in a turn of another client', async () => {
	const sessionId = await open();
	const todos = [{ content: 'first', status: 'done' }, { content: 'second', status: 'in_progress' }, { content: 'third', status: 'pending' }];
	const tools = [{ name: 'todo_write', description: 'Keeps steps.', inputSchema: { type: 'object' }, isReadOnly: true }];
	await ok(w.rt, 'submit_turn', { sessionId, text: `go ${tool('todo_write', { todos })}`, options: { tools } });
	const [call] = await editor.until(() => editor.of(sessionId, 'tool_call').length && editor.of(sessionId, 'tool_call'), 'the call');
	await editor.until(() => editor.of(sessionId, 'plan').length, 'the plan');
	await ok(w.rt, 'report_tool_result', { toolCallId: call.toolCallId, output: 'kept' });
	await editor.until(() => editor.texts(sessionId, 'agent_message_chunk').at(-1) === 'The tool said: kept', 'the end');
	assert.deepEqual(editor.of(sessionId, 'plan').map((p) => p.entries.map((e) => [e.content, e.status])), [[['first', 'completed'], ['second', 'in_progress'], ['third', 'pending']]]);
	assert.match(editor.texts(sessionId, 'user_message_chunk')[0], /^go/);
});

test('text that is not saved comes from the editor, only for files of the folder that the prompt names, and only as context', async () => {
	const path = join(root, 'note.txt'), away = join(newRoot(), 'note.txt');
	const e = await openEditor(w.rt, { buffers: { [path]: 'not saved yet', [away]: 'not yours' } }, { fs: { readTextFile: true } });
	const sessionId = await open(e);
	const link = (p) => ({ type: 'resource_link', uri: `file://${p}`, name: 'note.txt' });
	await e.prompt(sessionId, [{ type: 'text', text: 'Look at' }, link(path), link(away), link(`${root}/../x`), { type: 'resource', resource: { uri: 'file:///y', text: 'with it' } }]);
	assert.deepEqual(e.reads, [path]);
	const sent = JSON.stringify(w.model.log().at(-1).body.messages.at(-1));
	assert.ok(sent.includes('not saved yet') && sent.includes('with it') && sent.includes(away) && !sent.includes('not yours'), sent);
	await e.prompt(sessionId, [link(join(root, 'other.txt'))]);
	assert.equal(e.reads.length, 2, 'one that the editor does not have goes without');
	await e.close();
});
