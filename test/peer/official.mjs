// The server of the official SDK as a peer, with a task that is worked on until the test says go.
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';

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

export async function startServer(t, binding, version) {
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
