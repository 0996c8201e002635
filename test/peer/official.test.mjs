// The A2A client against the server of the official SDK: each binding and version, from the card to the end of a task.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { drive } from './wire.mjs';

const part = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });

// Works on a task until the test says go.
class Executor {
	constructor() {
		this.go = new Promise((done) => { this.release = done; });
	}

	async cancelTask(taskId, bus) {
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId: 'C', status: { state: TaskState.TASK_STATE_CANCELED, timestamp: new Date().toISOString(), message: undefined }, metadata: undefined }));
		bus.finished();
	}

	async execute({ taskId, contextId, userMessage }, bus) {
		const status = (state) => ({ state, timestamp: new Date().toISOString(), message: undefined });
		const artifact = (value, append) => bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact: { artifactId: 'a1', name: 'out', description: '', parts: [part(value)], metadata: undefined, extensions: [] }, append, lastChunk: append, metadata: undefined }));
		bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata: undefined }));
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_WORKING), metadata: undefined }));
		await this.go;
		artifact('one ', false);
		artifact('two', true);
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_COMPLETED), metadata: undefined }));
		bus.finished();
	}
}

async function startServer(t, binding, version) {
	const app = express();
	const server = await new Promise((done) => { const s = app.listen(0, '127.0.0.1', () => done(s)); });
	const origin = `http://127.0.0.1:${server.address().port}`;
	const path = binding === 'JSONRPC' ? '/rpc' : '/rest';
	const card = {
		name: 'official', description: 'a peer', version: '1.0.0', provider: { organization: 'x', url: origin }, signatures: [], securitySchemes: {}, securityRequirements: [],
		supportedInterfaces: [{ url: origin + path, protocolBinding: binding, tenant: '', protocolVersion: version }],
		capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
		defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [],
	};
	const executor = new Executor();
	const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
	const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } };
	app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: { enabled: true } }));
	app.use('/rpc', jsonRpcHandler(options));
	app.use('/rest', restHandler(options));
	t.after(() => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
	return { origin, executor };
}

for (const [binding, version] of [['JSONRPC', '1.0'], ['HTTP+JSON', '1.0'], ['JSONRPC', '0.3']]) {
	test(`the official server, ${binding} ${version}: card, send, get, list, follow, cancel`, async (t) => {
		const { origin, executor } = await startServer(t, binding, version);
		const card = (await drive('card', origin)).end;
		assert.equal(card.error, 'ok', card.reason);
		assert.equal(card.card.binding, binding);
		const context = randomUUID();
		const sent = (await drive('send', origin, { message: randomUUID(), text: 'work', context })).end;
		assert.equal(sent.error, 'ok', sent.reason);
		const id = sent.tasks[0].task;
		assert.ok(id);
		assert.equal(sent.tasks[0].context, context);
		const listed = (await drive('list', origin, { context })).end;
		if (version === '0.3') assert.equal(listed.error, 'unsupported');
		else assert.deepEqual(listed.tasks.map((u) => u.task), [id]);
		const following = drive('follow', origin, { task: id });
		executor.release();
		const { end, updates } = await following;
		assert.equal(end.error, 'ok', end.reason);
		assert.equal(end.tasks[0].state, 6, 'completed');
		assert.ok(updates.some((u) => u.artifacts.some((a) => a.id === 'a1')), 'the artifact came');
		const got = (await drive('get', origin, { task: id })).end;
		assert.equal(got.tasks[0].artifacts[0].bytes, 'one two'.length);
		assert.equal((await drive('get', origin, { task: 'unknown' })).end.error, 'not_found');
		const late = (await drive('cancel', origin, { task: id })).end;
		assert.equal(late.error, 'refused');
		assert.equal(late.code, -32002);
	});
}
