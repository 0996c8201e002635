// A task of A2A over more than one message: questions and their answers, more input, cuts of the stream, crashes of the server, and the walls
// between callers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TaskState } from '@a2a-js/sdk';
import { check, download, linesOf } from '../evidence/packs.mjs';
import { facts, seen } from '../lib/gate.mjs';
import { ok, request, startAgentd, waitFor } from '../lib/runtime.mjs';
import { all, answerOf, BINDINGS, client, dataPart, message, raw, start, taskOf } from './peers.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const forms = { permission_rules: [{ name: 'forms', effect: 'allow', tool: 'm_ask' }], mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }] };
const CURSOR = 'urn:agentruntime:a2a:cursor:v1';
const now = { configuration: { acceptedOutputModes: [], returnImmediately: true } };

async function withForms() {
	const w = await start({ config: forms });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_ask'), 'the tools of the server');
	return w;
}

for (const binding of BINDINGS) {
	test(`A2-01 A2-03 ${binding}: a task that asks for input is INPUT_REQUIRED and ends its stream; the next message answers that question and no other`, async () => {
		const { rt } = await withForms();
		const c = await client(rt, binding);
		const events = await all(c.sendMessageStream(message('[[tool m_ask {}]][[then]][[say thanks]]')));
		const { taskId, contextId, status } = events.at(-1);
		assert.equal(status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
		assert.equal(status.message.parts[0].content.value, 'name?', 'the question');
		const { actionId } = status.message.parts[1].content.value;
		await assert.rejects(c.sendMessage(message([dataPart({ actionId: `${actionId}0`, decision: 'accept', payload: { name: 'Ann' } })], { message: { taskId } })), /question/);
		await assert.rejects(c.sendMessage(message('Ann', { message: { taskId, contextId: 'sess_00000000000000000000000000' } })), /context/);
		const task = taskOf(await c.sendMessage(message('Ann', { message: { taskId, contextId } })));
		assert.deepEqual([task.id, task.status.state, answerOf(task)], [taskId, TaskState.TASK_STATE_COMPLETED, 'thanks']);
		const log = await facts(rt, contextId);
		assert.deepEqual(log.filter((e) => e.type === 'action.resolved').map((e) => [e.actionId, e.payload.decision, e.payload.decisionSource]), [[actionId, 'accept', 'remote']]);
		assert.equal(log.filter((e) => e.type === 'turn.submitted').length, 1, 'the answer is no turn');
		const local = ['task.created', 'task.attempt.started', 'permission.evaluated', 'tool.started', 'tool.result', 'task.attempt.completed'];
		const ofTask = (events) => local.filter((type) => events.some((e) => e.type === type && e.taskId === taskId));
		assert.deepEqual(ofTask(log), local, 'the work is facts of ours');
		assert.equal(log.filter((e) => e.type === 'channel.message').length, 1, 'AN-18: and it is a fact of its channel');
		const { packRef, evidenceId } = await ok(rt, 'export_evidence', { taskId });
		const pack = await download(rt, packRef);
		check(pack);
		const exported = linesOf(pack, 'events.ndjson');
		assert.deepEqual(ofTask(exported), local, 'the evidence of the task has them');
		assert.ok(exported.every((e) => e.taskId === taskId), 'and nothing else');
		const [evidence] = await facts(rt, contextId, 'evidence.changed');
		assert.deepEqual([evidence.taskId, evidence.evidenceId, evidence.payload.packRef, evidence.payload.scope], [taskId, evidenceId, packRef, { sessionId: contextId, taskId }]);
		await rt.stop();
	});
}

test('A2-09 CH-01 a task that needs a permission is AUTH_REQUIRED: the four facts share the action, and its stream stays open while somebody decides', async () => {
	const { rt } = await withForms();
	const c = await client(rt, 'JSONRPC');
	let asked;
	const events = await all(c.sendMessageStream(message('[[tool m_slow {"n":1}]][[then]][[say so]]')), async (e) => {
		if (e.status?.state !== TaskState.TASK_STATE_AUTH_REQUIRED) return;
		asked = e;
		const { actionId, decisions } = e.status.message.parts[1].content.value;
		assert.ok(decisions.includes('deny'));
		await ok(rt, 'respond_action', { actionId, decision: 'deny' });
	});
	assert.equal(events.at(-1).status.state, TaskState.TASK_STATE_COMPLETED, 'the same stream has the end');
	const { actionId } = asked.status.message.parts[1].content.value;
	const log = await facts(rt, asked.contextId);
	for (const type of ['action.required', 'permission.requested', 'channel.permission_forwarded', 'channel.permission_returned'])
		assert.deepEqual(log.filter((e) => e.type === type).map((e) => e.actionId), [actionId], type);
	const [channel] = (await ok(rt, 'get_session', { sessionId: asked.contextId })).channelSummary.channels;
	assert.deepEqual([channel.transport, channel.peerRole, channel.nativeProtocol, channel.accountRef], ['json_rpc', 'peer_agent', 'a2a', 'local']);
	assert.ok(channel.channelId && channel.lastSeenAt && channel.capabilities.includes('task_delegation'));
	await rt.stop();
});

test('A2-03 by its scope a message begins a session with a task, or a further task of its context, or is more input for the task at work', async () => {
	const { rt } = await start();
	const c = await client(rt, 'HTTP+JSON');
	const send = async (text, where) => taskOf(await c.sendMessage(message(text, { message: where, ...now })));
	const first = await send('[[hang]]');
	const { contextId } = first;
	await seen(rt, contextId, 'model.requested');
	const further = await send('[[hang]]', { contextId });
	const same = await send('and this', { taskId: first.id });
	assert.deepEqual([further.contextId, further.id !== first.id, same.id, same.history.at(-1).parts[0].content.value], [contextId, true, first.id, 'and this']);
	const log = await facts(rt, contextId);
	const tasks = (type) => log.filter((e) => e.type === type).map((e) => e.taskId);
	assert.deepEqual(log.filter((e) => ['session.created', 'channel.connected', 'turn.submitted'].includes(e.type)).map((e) => e.type), ['session.created', 'channel.connected', 'turn.submitted', 'turn.submitted']);
	assert.deepEqual([tasks('task.created'), tasks('task.started')], [[first.id, further.id], [first.id]], 'the further one waits');
	assert.deepEqual(log.filter((e) => e.type === 'run.status' && e.payload.phase === 'steered').map((e) => e.taskId), [first.id]);
	assert.equal(log.filter((e) => e.type === 'channel.message').length, 1, 'of what is no turn');
	const [{ channelId }] = log.filter((e) => e.type === 'channel.connected');
	const through = { kind: 'channel', id: channelId };
	assert.deepEqual(log.filter((e) => e.type === 'task.created').map((e) => [e.channelId, e.payload.requestedBy]), [[channelId, through], [channelId, through]], 'a new task says who asks');
	const progress = log.filter((e) => e.type === 'task.progress');
	assert.deepEqual(progress.map((e) => [e.taskId, e.channelId, e.payload.phase, e.payload.currentStep, e.payload.summary]), [[first.id, channelId, 'working', 'input_added', 'and this']], 'what is added is progress of the task at work');
	const messageId = 'again';
	const added = [];
	for (let i = 0; i < 2; i++) added.push(taskOf(await c.sendMessage(message('once', { message: { taskId: first.id, messageId }, ...now }))).history.filter((m) => m.parts[0].content.value === 'once').length);
	assert.deepEqual([added, (await facts(rt, contextId, 'task.progress')).length, (await facts(rt, contextId, 'task.created')).length], [[1, 1], 2, 2], 'the same message again adds nothing');
	for (const id of [further.id, first.id]) await c.cancelTask({ tenant: '', id, metadata: undefined });
	await rt.stop();
});

/** The events of one stream without the SDK, until it ends or `enough` of them came. */
async function stream(rt, params, { headers = {}, enough = Infinity, method = 'SendStreamingMessage' } = {}) {
	const aborter = new AbortController();
	const answer = await fetch(`${rt.url}/a2a/builder/rpc`, { method: 'POST', signal: aborter.signal, headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) });
	if (!answer.headers.get('content-type').startsWith('text/event-stream')) return { error: (await answer.json()).error };
	const events = [];
	let text = '';
	for await (const piece of answer.body) {
		text += Buffer.from(piece).toString();
		for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
			const data = /^data: (.*)$/m.exec(text.slice(0, end));
			if (data) events.push({ id: /^id: (.*)$/m.exec(text.slice(0, end))?.[1], ...JSON.parse(data[1]).result });
		}
		if (events.length >= enough) break;
	}
	aborter.abort();
	return { events };
}

test('A2-08 a stream that is cut goes on: a subscription begins with the task as it is; with our extension it has exactly what came after the cursor, also after kill -9', async () => {
	const w = await withForms();
	const sent = message('[[tool m_slow {"n":1}]][[then]][[say so]]').message;
	const params = { message: { messageId: sent.messageId, role: 'ROLE_USER', parts: [{ text: sent.parts[0].content.value }] } };
	const headers = { 'a2a-extensions': CURSOR };
	const isAsked = (e) => e.statusUpdate?.status.state === 'TASK_STATE_AUTH_REQUIRED';
	const first = await stream(w.rt, params, { headers, enough: 1 });
	const { id, contextId } = first.events[0].task;
	assert.equal(first.events[0].id, first.events[0].task.metadata[CURSOR]);
	await waitFor(async () => (await raw(w.rt, 'GetTask', { id })).result.status.state === 'TASK_STATE_AUTH_REQUIRED', 'the question');
	await w.rt.kill9();
	w.rt = await startAgentd({ dataDir: w.dataDir, model: w.model, config: w.settings });
	const rest = stream(w.rt, { id }, { method: 'SubscribeToTask', headers: { ...headers, 'last-event-id': first.events[0].id } });
	const whole = stream(w.rt, { id }, { method: 'SubscribeToTask' });
	const [action] = (await ok(w.rt, 'list_actions', { sessionId: contextId })).actions;
	await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'deny' });
	const [after, snapshot] = [(await rest).events, (await whole).events];
	assert.ok(!after.some((e) => e.task) && after.filter(isAsked).length === 1, 'what was missed, once');
	const ids = after.map((e) => Number(e.id));
	assert.ok(ids.every((n, i) => n > Number(first.events[0].id) && (i === 0 || n >= ids[i - 1])));
	assert.equal(after.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');
	assert.ok(snapshot[0].task.id === id && snapshot[0].id === undefined, 'without the extension: the task first, no cursors');
	assert.equal(snapshot.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');
	assert.equal((await stream(w.rt, { id }, { method: 'SubscribeToTask' })).error.data[0].reason, 'UNSUPPORTED_OPERATION', 'an ended one has no stream');
	const again = await raw(w.rt, 'SendMessage', params);
	assert.equal(again.result.task.id, id, 'the same message after the crash is the same task');
	await w.rt.stop();
});

test('tasks are listed for their caller alone, newest status first, by the page; other tenants, callers and agents learn nothing', async () => {
	const { rt } = await start({ config: { 'auth.required': true, a2a_agents: [{ name: 'builder', description: 'Builds.', tenants: ['*'] }, { name: 'other', description: 'x', tenants: ['acme'] }] } });
	const tokens = await Promise.all([['acme', 'ann'], ['acme', 'bob'], ['globex', 'gus']].map(async ([tenant, name]) => (await ok(rt, 'create_token', { tenant, name, scopes: ['read', 'submit', 'decide'] }, { via: 'socket' })).token));
	const [ann, bob, gus] = tokens;
	const c = await client(rt, 'HTTP+JSON', { token: ann });
	const made = [];
	for (const text of ['one', 'two', 'three']) made.push(taskOf(await c.sendMessage(message(text))));
	const ids = async (who, params = {}) => (await raw(rt, 'ListTasks', params, { token: who })).result;
	const page = await ids(ann);
	assert.deepEqual([page.tasks.map((t) => t.id), page.nextPageToken, page.pageSize, page.totalSize], [made.map((t) => t.id).reverse(), '', 50, 3]);
	assert.ok(page.tasks.every((t) => !t.artifacts));
	const first = await ids(ann, { pageSize: 2, includeArtifacts: true });
	assert.equal(first.tasks[0].artifacts[0].artifactId, 'answer');
	const second = await ids(ann, { pageSize: 2, pageToken: first.nextPageToken });
	assert.deepEqual([[...first.tasks, ...second.tasks].map((t) => t.id), second.nextPageToken], [page.tasks.map((t) => t.id), '']);
	assert.deepEqual((await ids(ann, { contextId: made[1].contextId })).tasks.map((t) => t.id), [made[1].id]);
	assert.deepEqual((await ids(ann, { status: 'TASK_STATE_FAILED' })).tasks, []);
	assert.deepEqual((await ids(ann, { statusTimestampAfter: page.tasks[0].status.timestamp })).tasks.map((t) => t.id), [page.tasks[0].id]);
	const listed = await c.listTasks({ tenant: '', contextId: '', status: 0, pageToken: '' });
	assert.equal(listed.tasks.length, 3, 'the official client reads it');
	for (const who of [bob, gus]) {
		assert.deepEqual((await ids(who)).tasks, []);
		for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) assert.equal((await raw(rt, method, { id: made[0].id }, { token: who })).error.data[0].reason, 'TASK_NOT_FOUND', method);
		const into = { messageId: 'x', role: 'ROLE_USER', parts: [{ text: 'x' }] };
		assert.equal((await raw(rt, 'SendMessage', { message: { ...into, taskId: made[0].id } }, { token: who })).error.code, -32001);
		assert.equal((await raw(rt, 'SendMessage', { message: { ...into, contextId: made[0].contextId } }, { token: who })).error.code, -32602);
	}
	assert.equal((await raw(rt, 'GetTask', { id: made[0].id }, { token: ann, agent: 'other' })).error.code, -32001, 'nor by another agent');
	const shut = await request(rt, { path: '/a2a/other/rpc', body: '{}', headers: { authorization: `Bearer ${gus}` } });
	assert.equal(shut.status, 404, 'an agent of another tenant is not there');
	assert.equal((await request(rt, { path: '/a2a/builder/rpc', body: '{}' })).status, 401, 'nobody without a token');
	await rt.stop();
});
