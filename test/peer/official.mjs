// The servers of the official SDKs, of 1.x and of 0.3, as peers with a task that is worked on until the test says go.
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import * as v03 from 'a2a-js-sdk-03/server';
import * as v03express from 'a2a-js-sdk-03/server/express';
import express from 'express';

export const part = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' });

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

async function listen(t) {
	const app = express();
	const server = await new Promise((done) => { const s = app.listen(0, '127.0.0.1', () => done(s)); });
	t.after(() => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
	return { app, origin: `http://127.0.0.1:${server.address().port}` };
}

/** A card with one interface. */
export const cardOf = (origin, path, binding, version, pushNotifications = false) => ({
	name: 'official', description: 'a peer', version: '1.0.0', provider: { organization: 'x', url: origin }, signatures: [], securitySchemes: {}, securityRequirements: [],
	supportedInterfaces: [{ url: origin + path, protocolBinding: binding, tenant: '', protocolVersion: version }],
	capabilities: { streaming: true, pushNotifications, extensions: [], extendedAgentCard: false },
	defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [],
});

/** Serves a card and its operations below a path. */
export function mount(app, path, requestHandler) {
	const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat: { enabled: true } };
	app.use(`${path}/.well-known/agent-card.json`, agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: { enabled: true } }));
	app.use(`${path}/rpc`, jsonRpcHandler(options));
	app.use(`${path}/rest`, restHandler(options));
}

export async function startServer(t, binding, version) {
	const { app, origin } = await listen(t);
	const executor = new Executor();
	mount(app, '', new DefaultRequestHandler(cardOf(origin, binding === 'JSONRPC' ? '/rpc' : '/rest', binding, version, true), new InMemoryTaskStore(), executor));
	return { origin, executor };
}

class OldExecutor {
	constructor() {
		this.go = new Promise((done) => { this.release = done; });
	}

	async cancelTask() {}

	async execute({ taskId, contextId, userMessage }, bus) {
		const status = (state) => ({ state, timestamp: new Date().toISOString() });
		const artifact = (text, append) => bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: { artifactId: 'a1', name: 'out', parts: [{ kind: 'text', text }] }, append, lastChunk: append });
		bus.publish({ kind: 'task', id: taskId, contextId, status: status('submitted'), artifacts: [], history: [userMessage] });
		bus.publish({ kind: 'status-update', taskId, contextId, status: status('working'), final: false });
		await this.go;
		artifact('one ', false);
		artifact('two', true);
		bus.publish({ kind: 'status-update', taskId, contextId, status: status('completed'), final: true });
		bus.finished();
	}
}

/** The server of the SDK 0.3 itself. */
export async function startOldServer(t) {
	const { app, origin } = await listen(t);
	const card = {
		name: 'official', description: 'a peer', version: '1.0.0', protocolVersion: '0.3.0', url: `${origin}/rpc`, preferredTransport: 'JSONRPC',
		capabilities: { streaming: true, pushNotifications: true }, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [],
	};
	const executor = new OldExecutor();
	const requestHandler = new v03.DefaultRequestHandler(card, new v03.InMemoryTaskStore(), executor);
	app.use('/.well-known/agent-card.json', v03express.agentCardHandler({ agentCardProvider: requestHandler }));
	app.use('/rpc', v03express.jsonRpcHandler({ requestHandler, userBuilder: v03express.UserBuilder.noAuthentication }));
	return { origin, executor };
}
