// The server face of A2A 1.0, driven by the official client over both bindings: a task is sent, followed, cancelled and read; what the client
// sees are facts of our log; what is wrong is refused with its reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { facts } from '../lib/gate.mjs';
import { ok, request, startAgentd, startModel } from '../lib/runtime.mjs';
import { all, answerOf, BINDINGS, client, message, raw, start, taskOf } from './peers.mjs';

for (const binding of BINDINGS) {
	test(`A2-10 A2-03 A2-06 AN-20 ${binding}: a message without a task is a turn with a task of ours; its answer is an artifact, not a message; the same message again is the same task`, async () => {
		const { rt } = await start();
		const c = await client(rt, binding);
		const sent = message('[[say the answer]]');
		const task = taskOf(await c.sendMessage(sent));
		assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
		assert.equal(answerOf(task), 'the answer');
		assert.equal(task.status.message, undefined, 'the status has no output');
		assert.deepEqual([task.history[0].messageId, task.history[0].parts[0].content.value], [sent.message.messageId, '[[say the answer]]']);
		const again = taskOf(await c.sendMessage(sent));
		assert.deepEqual([again.id, again.contextId], [task.id, task.contextId], 'a repeat starts nothing');
		const log = await facts(rt, task.contextId);
		assert.equal(log.filter((e) => e.type === 'turn.submitted').length, 1);
		for (const type of ['channel.connected', 'turn.submitted', 'task.created', 'task.attempt.started', 'task.completed'])
			assert.ok(log.some((e) => e.type === type), `${type} is a fact of ours`);
		const read = await c.getTask({ tenant: '', id: task.id, historyLength: 0 });
		assert.deepEqual([read.id, read.status.state, read.history.length], [task.id, TaskState.TASK_STATE_COMPLETED, 0]);
		const local = await ok(rt, 'get_task', { taskId: task.id });
		assert.deepEqual([local.sessionId, local.status], [task.contextId, 'completed'], 'the ids lead to the same task');
		const second = taskOf(await c.sendMessage(message('and more', { message: { contextId: task.contextId } })));
		assert.deepEqual([second.contextId, second.id === task.id], [task.contextId, false], 'a context holds many tasks');
		await rt.stop();
	});

	test(`A2-08 ${binding}: a stream begins with the task, has each change once and ends with the task; a long answer is whole`, async () => {
		const { rt } = await start();
		const c = await client(rt, binding);
		const events = await all(c.sendMessageStream(message('[[tokens 3000]][[burst]]')));
		assert.equal(events[0].kind, 'task');
		const outputs = [...events[0].artifacts, ...events.filter((e) => e.kind === 'artifactUpdate').map((e) => e.artifact)];
		assert.deepEqual(outputs.map((a) => a.artifactId), ['answer'], 'once, in the task or behind it');
		const { status } = events.at(-1);
		assert.equal(status.state, TaskState.TASK_STATE_COMPLETED, 'the output comes before the end');
		const { value } = outputs[0].parts[0].content;
		assert.ok(value.startsWith('w0 w1') && value.trimEnd().endsWith('w2999'), value.slice(-40));
		await rt.stop();
	});

	test(`A2-03 ${binding}: two messages with one id are two messages, if they say different things`, async () => {
		const { rt } = await start();
		const c = await client(rt, binding);
		const send = async (text) => taskOf(await c.sendMessage(message(text, { message: { messageId: 'used-twice' } })));
		const [one, two, again] = [await send('one'), await send('two'), await send('one')];
		assert.notEqual(one.id, two.id);
		assert.equal(again.id, one.id, 'the same message again is the same task');
		await rt.stop();
	});

	test(`${binding}: a task is cancelled, once; an ended one cannot be, and takes no message`, async () => {
		const { rt } = await start();
		const c = await client(rt, binding);
		const task = taskOf(await c.sendMessage(message('[[hang]]', { configuration: { acceptedOutputModes: [], returnImmediately: true } })));
		assert.ok([TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(task.status.state));
		const ended = await c.cancelTask({ tenant: '', id: task.id, metadata: undefined });
		assert.equal(ended.status.state, TaskState.TASK_STATE_CANCELED);
		assert.equal((await c.cancelTask({ tenant: '', id: task.id, metadata: undefined })).status.state, TaskState.TASK_STATE_CANCELED);
		await assert.rejects(c.sendMessage(message('more', { message: { taskId: task.id } })), /ended/);
		const done = taskOf(await c.sendMessage(message('hello')));
		await assert.rejects(c.cancelTask({ tenant: '', id: done.id, metadata: undefined }), /ended|cancel/i);
		await assert.rejects(c.getTask({ tenant: '', id: 'no-such-task' }), /no such task|not found/i);
		await rt.stop();
	});
}

test('errors carry what a program reads: ErrorInfo for those of A2A, BadRequest for members, in both bindings', async () => {
	const { rt } = await start();
	const missing = await raw(rt, 'GetTask', { id: 'task_00000000000000000000000000_1' });
	assert.deepEqual([missing.status, missing.error.code, missing.error.data[0].reason, missing.error.data[0].domain], [200, -32001, 'TASK_NOT_FOUND', 'a2a-protocol.org']);
	const rest = async (path, body, headers = {}) => {
		const r = await request(rt, { method: body === undefined ? 'GET' : 'POST', path: `/a2a/builder/${path}`, body, headers: { 'a2a-version': '1.0', ...headers } });
		return { status: r.status, type: r.headers['content-type'], ...JSON.parse(r.text) };
	};
	const gone = await rest('tasks/nothing');
	assert.deepEqual([gone.status, gone.error.status, gone.error.details[0].reason], [404, 'NOT_FOUND', 'TASK_NOT_FOUND']);
	const cases = [
		[{}, 'message'], [{ message: 1 }, 'message'], [{ message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'message.messageId'],
		[{ message: { messageId: 'x', role: 'ROLE_AGENT', parts: [{ text: 'x' }] } }, 'message.role'], [{ message: { messageId: 'x', role: 'ROLE_USER', parts: [] } }, 'message.parts'],
		[{ message: { messageId: 'x', role: 'ROLE_USER', parts: [{ text: 'x', url: 'y' }] } }, 'message.parts'], [{ message: { messageId: 'x', role: 'ROLE_USER', parts: [{ raw: '%%%' }] } }, 'message.parts.raw'],
		[{ message: { messageId: 'x', role: 'ROLE_USER', parts: Array.from({ length: 65 }, () => ({ text: 'x' })) } }, 'message.parts'],
		[{ message: { messageId: 'x'.repeat(300), role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'message.messageId'],
		[{ message: { messageId: 'x', role: 'ROLE_USER', parts: [{ text: 'x' }] }, configuration: { historyLength: -1 } }, 'historyLength'],
		[{ message: { messageId: 'x', role: 'ROLE_USER', parts: [{ text: 'x' }], contextId: 'sess_00000000000000000000000000' } }, 'message.contextId'],
		[{ tenant: 'elsewhere', message: { messageId: 'x', role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'tenant'],
	];
	for (const [params, field] of cases) {
		const answer = await raw(rt, 'SendMessage', params);
		assert.deepEqual([answer.error?.code, answer.error?.data?.[0].fieldViolations[0].field], [-32602, field], JSON.stringify(params).slice(0, 100));
		const over = await rest('message:send', JSON.stringify(params));
		assert.deepEqual([over.status, over.error.details[0].fieldViolations[0].field], [400, field]);
	}
	for (const [body, code] of [['{', -32700], ['[]', -32600], ['{"jsonrpc":"2.0","id":1}', -32600], ['{"jsonrpc":"2.0","id":1,"method":"Nothing"}', -32601]])
		assert.equal(JSON.parse((await request(rt, { path: '/a2a/builder/rpc', body, headers: { 'a2a-version': '1.0' } })).text).error.code, code, body);
	assert.equal((await raw(rt, 'GetTask', { id: 'x' }, { headers: { 'a2a-version': '9.9' } })).error.data[0].reason, 'VERSION_NOT_SUPPORTED');
	const file = await raw(rt, 'SendMessage', { message: { messageId: 'f', role: 'ROLE_USER', parts: [{ raw: 'AAEC', mediaType: 'application/zip' }] } });
	assert.equal(file.error.data[0].reason, 'CONTENT_TYPE_NOT_SUPPORTED');
	assert.equal((await rest('tasks/nothing', undefined, { accept: 'application/a2a+json' })).type, 'application/a2a+json', 'only when it is asked for');
	assert.equal(gone.type, 'application/json');
	assert.equal((await request(rt, { path: '/a2a/nobody/rpc', body: '{}' })).status, 404);
	await rt.stop();
});

test('with no published agent there is no path', async () => {
	const rt = await startAgentd({ model: await startModel() });
	assert.equal((await request(rt, { path: '/a2a/builder/rpc', body: '{}' })).status, 404);
	await rt.stop();
});

test('JSON-RPC is served at the address of the card, and with a slash behind it', async () => {
	const { rt } = await start();
	const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'no-such-task' } });
	for (const path of ['/a2a/builder/rpc', '/a2a/builder/rpc/']) {
		const { text } = await request(rt, { path, body, headers: { 'a2a-version': '1.0' } });
		assert.equal(JSON.parse(text).error.code, -32001, path);
	}
	await rt.stop();
});
