// What messages and answers of A2A hold, and in which words a client may ask: files and data as artifacts, files and contexts of the client's own, names
// and content types that others would take, and a server that speaks 1.0 alone.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TaskState } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { facts } from '../lib/gate.mjs';
import { newFolder, ok, request, startAgentd, waitFor } from '../lib/runtime.mjs';
import { all, answerOf, BINDINGS, client, dataPart, message, raw, start, taskOf } from './peers.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const KIB = 1024;
let w, workspace;

before(async () => {
	workspace = newFolder();
	for (const folder of ['sub-0', 'sub-1', 'many', '.']) {
		mkdirSync(join(workspace, folder), { recursive: true });
		if (process.getuid() === 0) chownSync(join(workspace, folder), 1000, 1000);
	}
	w = await start({ config: {
		'tools.workspace': workspace,
		permission_rules: [{ name: 'files', effect: 'allow', tool: 'write_file' }, { name: 'forms', effect: 'allow', tool: 'm_ask' }],
		mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }],
	} });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_ask'), 'the tools of the server');
});

const write = (path, content) => `[[tool write_file ${JSON.stringify({ path, content })}]]`;
const partOf = (task, name) => task.artifacts.find((a) => a.name === name)?.parts[0] ?? assert.fail(`no ${name} among ${task.artifacts.map((a) => a.name)}`);

for (const [i, binding] of BINDINGS.entries()) {
	test(`A2-10 ${binding}: a file that the turn wrote is an artifact: its bytes with name and type if it is small, otherwise its address`, async () => {
		const c = await client(w.rt, binding);
		const small = `${binding} héllo\n`, large = 'x'.repeat(32 * KIB + 1 + i);
		const names = [`small-${i}.txt`, `sub-${i}/large.md`, `no-type-${i}`];
		const text = `${write(names[0], small)}${write(names[1], large)}${write(names[2], 'z')}[[then]][[say done]]`;
		const events = await all(c.sendMessageStream(message(text)));
		const task = await c.getTask({ tenant: '', id: events[0].id });
		const [bytes, address, plain] = names.map((n) => partOf(task, n));
		assert.deepEqual([bytes.content.$case, bytes.content.value.toString(), bytes.filename, bytes.mediaType], ['raw', small, names[0], 'text/plain']);
		assert.deepEqual([address.content.$case, address.filename, address.mediaType], ['url', names[1], 'text/markdown']);
		assert.deepEqual([plain.content.value.toString(), plain.mediaType], ['z', ''], 'a type that the name does not say is not guessed');
		const { content } = await ok(w.rt, 'read_output', { outputRef: address.content.value.split('/').at(-1), length: 64 * KIB });
		assert.equal(content, large, 'the address leads to it');
		assert.deepEqual(events.filter((e) => e.kind === 'artifactUpdate').map((e) => [e.artifact.name, e.artifact.parts[0].content.$case]).slice(0, 3), [[names[0], 'raw'], [names[1], 'url'], [names[2], 'raw']], 'and so they come in the stream');
		assert.equal(answerOf(task), 'done');
	});

	test(`A2-10 ${binding}: an answer that is one object of JSON is a data part, unless the client takes text alone`, async () => {
		const c = await client(w.rt, binding);
		const json = '{"key": "value", "count": 42, "deep": {"a": [1, null]}}';
		const ask = async (modes, answer = json) => {
			const sent = await c.sendMessage(message(`[[say ${answer}]]`, { configuration: modes && { acceptedOutputModes: modes } }));
			return (await c.getTask({ tenant: '', id: taskOf(sent).id })).artifacts[0].parts[0];
		};
		for (const modes of [undefined, ['application/json'], ['text/plain', 'application/json']]) {
			const part = await ask(modes);
			assert.deepEqual([part.content.$case, part.content.value, part.mediaType], ['data', JSON.parse(json), 'application/json']);
		}
		const text = await ask(['text/plain']);
		assert.deepEqual([text.content.$case, text.content.value, text.mediaType], ['text', json, 'text/plain']);
		for (const other of ['Here it is: {"key": 1}', '{"key": 1} {"key": 2}', '[1, 2]', '{"key": 1', '42'])
			assert.deepEqual((await ask(undefined, other)).content, { $case: 'text', value: other }, 'nothing else is taken for data');
	});

	test(`A2-10 ${binding}: a file whose bytes are text is taken under any type, other bytes are not`, async () => {
		const c = await client(w.rt, binding);
		const file = (bytes, mediaType) => ({ content: { $case: 'raw', value: Buffer.from(bytes) }, metadata: undefined, filename: 'f', mediaType });
		const task = taskOf(await c.sendMessage(message([file('[[say it was read]]', 'application/x-anything')])));
		assert.equal(answerOf(task), 'it was read');
		await assert.rejects(c.sendMessage(message([file([0, 1, 2, 255], 'application/x-anything')])), ContentTypeNotSupportedError);
	});

	test(`A2-10 ${binding}: a context may be named by the client: its messages share a session, and other callers have none of it`, async () => {
		const c = await client(w.rt, binding), contextId = `my-context.${i}`;
		const one = taskOf(await c.sendMessage(message('[[say one]]', { message: { contextId } })));
		const two = taskOf(await c.sendMessage(message('[[say two]]', { message: { contextId } })));
		assert.deepEqual([one.contextId, two.contextId, one.history[0].contextId], [contextId, contextId, contextId]);
		const sessions = await Promise.all([one, two].map(async (t) => (await ok(w.rt, 'get_task', { taskId: t.id })).sessionId));
		assert.equal(sessions[0], sessions[1], 'one session');
		assert.equal((await facts(w.rt, sessions[0])).filter((e) => e.type === 'session.created').length, 1);
		const list = async (id) => (await c.listTasks({ tenant: '', contextId: id, status: 0, pageToken: '', statusTimestampAfter: undefined })).tasks.map((t) => t.id).sort();
		assert.deepEqual(await list(contextId), [one.id, two.id].sort());
		assert.deepEqual(await list('my-context.none'), []);
		const elsewhere = taskOf(await (await client(w.rt, binding, { agent: 'other' })).sendMessage(message('[[say three]]', { message: { contextId } })));
		assert.notEqual((await ok(w.rt, 'get_task', { taskId: elsewhere.id })).sessionId, sessions[0], 'the context of another agent is another');
		await assert.rejects(c.sendMessage(message('x', { message: { contextId: 'no good id' } })), /contextId/);
		await assert.rejects(c.sendMessage(message('x', { message: { contextId: 'x'.repeat(129) } })), /contextId/);
		const asked = taskOf(await c.sendMessage(message('[[tool m_ask {}]][[then]][[say thanks]]', { message: { contextId } })));
		await assert.rejects(c.sendMessage(message('Ann', { message: { taskId: asked.id, contextId: 'my-context.none' } })), /context/);
		assert.equal(answerOf(taskOf(await c.sendMessage(message('Ann', { message: { taskId: asked.id, contextId } })))), 'thanks');
	});

	test(`A2-08 ${binding}: a subscription to a task that waits for input goes on until the task ends; the history has the answers as they were sent`, async () => {
		const c = await client(w.rt, binding);
		const { id } = taskOf(await c.sendMessage(message('[[tool m_ask {}]][[then]][[say thanks]]')));
		const events = await all(c.resubscribeTask({ tenant: '', id }), async (e, so_far) => {
			if (so_far.length === 1)
				await c.sendMessage(message('My name is Ann', { message: { taskId: id } }));
		});
		assert.deepEqual([events[0].status.state, events.at(-1).status.state], [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_COMPLETED]);
		const { history, contextId } = await c.getTask({ tenant: '', id });
		assert.deepEqual(history.slice(1).map((m) => m.parts[0].content.value), ['name?', 'My name is Ann']);
		assert.deepEqual((await facts(w.rt, contextId, 'action.resolved')).map((e) => [e.payload.decision, e.payload.comment]), [['accept', 'My name is Ann']]);
		const again = taskOf(await c.sendMessage(message('[[tool m_ask {}]][[then]][[say thanks]]')));
		const answer = { actionId: again.status.message.parts[1].content.value.actionId, decision: 'decline' };
		const told = taskOf(await c.sendMessage(message([dataPart(answer)], { message: { taskId: again.id } })));
		assert.ok(told.history.at(-1).parts[0].content.value.includes('decline'));
	});

	test(`${binding}: a body of another content type is refused in the words of A2A`, async () => {
		const as_text = (url, init = {}) => fetch(String(url).replace(/^http:\/\/127\.0\.0\.1\//, `${w.rt.url}/`), { ...init, headers: { ...init.headers, ...(init.body ? { 'content-type': 'text/plain' } : {}) } });
		const fetchCard = async (url, init) => as_text(url, init);
		const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl: as_text }), new RestTransportFactory({ fetchImpl: as_text })], preferredTransports: [binding], cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetchCard }) });
		const c = await factory.createFromUrl(w.rt.url, '/a2a/builder/.well-known/agent-card.json');
		await assert.rejects(c.sendMessage(message('x')), ContentTypeNotSupportedError);
		const [path, status] = binding === 'JSONRPC' ? ['rpc', 200] : ['message:send', 400];
		const answer = await request(w.rt, { path: `/a2a/builder/${path}`, body: '{}', headers: { 'content-type': 'text/plain', 'a2a-version': '1.0' } });
		const { error, id } = JSON.parse(answer.text);
		assert.equal(answer.status, status);
		assert.deepEqual([error.code, (error.data ?? error.details)[0].reason, id], [binding === 'JSONRPC' ? -32005 : 400, 'CONTENT_TYPE_NOT_SUPPORTED', binding === 'JSONRPC' ? null : undefined]);
	});
}

test('files are shown by their bytes up to 256 KiB of a task, those behind it by their addresses; a new version takes the place of the old', async () => {
	const content = (n) => createHash('sha256').update(String(n)).digest('hex').repeat(500); // 32,000 bytes
	const calls = Array.from({ length: 9 }, (_, n) => write(`many/${n}.txt`, content(n))).join('');
	const first = taskOf(await (await client(w.rt, 'JSONRPC')).sendMessage(message(`${calls}[[then]][[say done]]`)));
	assert.deepEqual(Array.from({ length: 9 }, (_, n) => partOf(first, `many/${n}.txt`).content.$case), [...Array(8).fill('raw'), 'url']);
	const twice = `${write('many/one.txt', 'old')}[[then]]${write('many/one.txt', 'new')}[[then]][[say done]]`;
	const { result } = await raw(w.rt, 'SendMessage', { message: { messageId: 'twice', role: 'ROLE_USER', parts: [{ text: twice }] } });
	const files = result.task.artifacts.filter((a) => a.name === 'many/one.txt');
	assert.deepEqual(files.map((a) => Buffer.from(a.parts[0].raw, 'base64').toString()), ['new']);
});

test('members may have the names of the protocol buffers, as ProtoJSON demands of readers', async () => {
	const parts = [{ text: '[[say x]]' }];
	const { result } = await raw(w.rt, 'SendMessage', { message: { message_id: 'snake', role: 'ROLE_USER', parts, context_id: 'snake-context' }, configuration: { history_length: 0 } });
	assert.deepEqual([result.task.contextId, result.task.history], ['snake-context', undefined]);
	const listed = await raw(w.rt, 'ListTasks', { context_id: 'snake-context', page_size: 1, include_artifacts: true });
	assert.deepEqual(listed.result.tasks.map((t) => [t.id, t.artifacts.length]), [[result.task.id, 1]]);
	const immediate = await raw(w.rt, 'SendMessage', { message: { message_id: 'snake-2', role: 'ROLE_USER', parts: [{ text: '[[hang]]' }] }, configuration: { return_immediately: true } });
	assert.ok(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(immediate.result.task.status.state));
	await raw(w.rt, 'CancelTask', { id: immediate.result.task.id });
});

test('a named context is found again after kill -9', async () => {
	const u = await start();
	const say = async (rt, text) => taskOf(await (await client(rt, 'JSONRPC')).sendMessage(message(text, { message: { contextId: 'mine' } })));
	const one = await say(u.rt, '[[say one]]');
	await u.rt.kill9();
	const rt = await startAgentd({ dataDir: u.dataDir, model: u.model, config: u.settings });
	const two = await say(rt, '[[say two]]');
	assert.equal((await ok(rt, 'get_task', { taskId: one.id })).sessionId, (await ok(rt, 'get_task', { taskId: two.id })).sessionId);
	await rt.stop();
});
