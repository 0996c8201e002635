// kill -9 of `agentctl acp` and of agentd in the middle of a turn: the turn goes on or is taken up again, and session/load tells everything once.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { before, test } from 'node:test';
import { follow, newFolder, ok, readLog, waitFor, world } from '../lib/runtime.mjs';
import { openEditor } from './editor.mjs';

let w, root;

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()), 'model.backoff_ms': 20 } });
	root = realpathSync(newFolder());
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', root]);
});

const open = async (e) => (await e.call('session/new', { cwd: root, mcpServers: [] })).sessionId;

// What the log says of a session: the words of people and of the model, in order.
async function said(sessionId) {
	const texts = [];
	for (const { event } of await readLog(w.rt, sessionId)) {
		const read = async (outputRef) => (await ok(w.rt, 'read_output', { outputRef, length: 1 << 20 })).content;
		if (event.type === 'turn.submitted') texts.push(JSON.parse(await read(event.payload.inputRef)).map((p) => p.text).join(''));
		if (event.type === 'model.completed' && event.payload.outputBytes) texts.push(await read(event.payload.outputRef));
	}
	return texts;
}

// The same as an editor shows it after a load.
async function shown(sessionId) {
	const e = await openEditor(w.rt);
	await e.call('session/load', { sessionId, cwd: root, mcpServers: [] });
	const messages = new Map();
	for (const { update } of e.updates.filter((u) => /^(user|agent)_message_chunk$/.test(u.update.sessionUpdate)))
		messages.set(update.messageId, (messages.get(update.messageId) ?? '') + update.content.text);
	const calls = e.of(sessionId, 'tool_call').map((c) => c.toolCallId);
	assert.deepEqual(calls, [...new Set(calls)]);
	await e.close();
	return [...messages.values()];
}

test('kill -9 of agentctl acp in the middle of an answer: the turn ends without it, and a load tells everything once', async () => {
	const e = await openEditor(w.rt);
	const sessionId = await open(e);
	const live = await follow(w.rt, sessionId);
	e.prompt(sessionId, '[[delay 5]][[tokens 100]]').catch(() => {});
	await e.until(() => e.of(sessionId, 'agent_message_chunk').length > 2, 'words');
	await e.kill9();
	const joined = await openEditor(w.rt);
	await joined.call('session/load', { sessionId, cwd: root, mcpServers: [] });
	await live.until(() => live.of('turn.completed').length, 'the end of the turn');
	live.stop();
	const whole = Array.from({ length: 100 }, (_, i) => `w${i} `).join('');
	await joined.until(() => joined.texts(sessionId, 'agent_message_chunk')[0]?.length >= whole.length, 'the rest of the answer');
	assert.deepEqual(joined.texts(sessionId, 'agent_message_chunk'), [whole]);
	assert.deepEqual(await shown(sessionId), ['[[delay 5]][[tokens 100]]', whole]);
	await joined.close();
});

test('kill -9 of agentd in the middle of an answer: the prompt is answered by the daemon that comes back, and a load tells everything once', async () => {
	const e = await openEditor(w.rt);
	const sessionId = await open(e);
	assert.deepEqual(await e.prompt(sessionId, 'before'), { stopReason: 'end_turn' });
	const turn = e.prompt(sessionId, '[[fail-times 1 hang-after 3]][[tokens 20]]');
	await e.until(() => e.texts(sessionId, 'agent_message_chunk').length > 1, 'words of the second turn');
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await turn, { stopReason: 'end_turn' });
	const facts = await said(sessionId);
	assert.deepEqual(await shown(sessionId), facts);
	assert.deepEqual(await e.prompt(sessionId, 'after'), { stopReason: 'end_turn' });
	assert.equal(e.texts(sessionId, 'agent_message_chunk').at(-1), 'You said: after');
	assert.deepEqual((await shown(sessionId)).slice(0, 2), ['before', 'You said: before']);
	assert.deepEqual(await e.close(), { code: 0, signal: null });
});

test('closing the editor ends nothing: the question waits in the inbox, and the next editor is asked', async () => {
	const e = await openEditor(w.rt);
	const sessionId = await open(e);
	e.prompt(sessionId, '[[tool shell {"command":"echo said"}]]').catch(() => {});
	await e.until(() => e.questions.length, 'the question');
	await e.close();
	const [{ actionId, status }] = (await ok(w.rt, 'list_actions', { sessionId })).actions;
	assert.equal(status, 'pending');
	const next = await openEditor(w.rt);
	await next.call('session/resume', { sessionId, cwd: root, mcpServers: [] });
	(await next.until(() => next.questions[0], 'the question again')).choose('allow');
	await waitFor(async () => (await ok(w.rt, 'list_actions', { sessionId, status: 'resolved' })).actions.some((a) => a.actionId === actionId), 'the answer');
	await next.until(() => /The tool said/.test(next.texts(sessionId, 'agent_message_chunk').at(-1) ?? ''), 'the end of the turn');
	await next.close();
});
