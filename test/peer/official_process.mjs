// The server of the official SDK as a process that can be killed: `node official_process.mjs FILE ORIGIN` tells its port on the first line of stdout.
// Three agents, /far (JSON-RPC), /rest (HTTP+JSON) and /old (0.3), work on tasks that say how long: `[[work MS]] OBJECTIVE`. FILE is its memory, a line of
// JSON each, on disk before anybody hears of it: {begun: objective}, {said: state} and {did: objective} of a task, {saved: task}. What was open when it was
// killed is settled before it listens again: completed if it had been done; otherwise done now, or failed, as the id of the task says.
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import express from 'express';
import { cardOf, mount, part } from './official.mjs';
import { readRows } from './rows.mjs';

const [file, origin] = process.argv.slice(2);
const { TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED } = TaskState;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const old = readRows(file);
const fd = openSync(file, 'a');
const begun = new Map(old.filter((r) => r.begun).map((r) => [r.taskId, r.begun]));
const did = new Set(old.filter((r) => r.did).map((r) => r.taskId));

function note(row) {
	writeSync(fd, `\n${JSON.stringify({ at: Date.now(), ...row })}\n`); // what a kill cut off spoils no other line
	fsyncSync(fd);
}

const status = (taskId, state) => {
	note({ said: TaskState[state], taskId });
	return { state, timestamp: new Date().toISOString(), message: undefined };
};

function work(taskId) {
	if (did.has(taskId)) return;
	did.add(taskId);
	note({ did: begun.get(taskId), taskId });
}

const artifactOf = (taskId) => ({ artifactId: 'a1', name: 'out', description: '', parts: [part(`${begun.get(taskId)} is done`)], metadata: undefined, extensions: [] });

class Store extends InMemoryTaskStore {
	known = new Map(old.filter((r) => r.saved).map((r) => [r.saved.id, r.saved]));

	async save(task, context) {
		await this.fill(context);
		note({ saved: task });
		this.known.set(task.id, task);
		return super.save(task, context);
	}

	/** From before the kill. The SDK keeps tasks by their caller; there is one here, known with its first request. */
	async fill(context) {
		if (this.isFilled) return;
		this.isFilled = true;
		for (const task of this.known.values()) await super.save(task, context);
	}

	async load(id, context) {
		await this.fill(context);
		return super.load(id, context);
	}

	async list(params, context) {
		await this.fill(context);
		return super.list(params, context);
	}

	settle() {
		for (const task of this.known.values()) {
			if (![TASK_STATE_SUBMITTED, TASK_STATE_WORKING].includes(task.status.state)) continue;
			const isGood = did.has(task.id) || parseInt(task.id.at(-1), 16) % 2;
			if (isGood) {
				work(task.id);
				task.artifacts = [artifactOf(task.id)];
			}
			task.status = status(task.id, isGood ? TASK_STATE_COMPLETED : TASK_STATE_FAILED);
			note({ saved: task });
		}
	}
}

const store = new Store();

const executor = {
	async cancelTask(taskId, bus) {
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId: store.known.get(taskId).contextId, status: status(taskId, TASK_STATE_CANCELED), metadata: undefined }));
		bus.finished();
	},
	async execute({ taskId, contextId, userMessage }, bus) {
		const say = (state) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(taskId, state), metadata: undefined }));
		const [, ms, objective] = /^\[\[work (\d+)\]\] (.*)$/s.exec(userMessage.parts[0].content.value);
		begun.set(taskId, objective);
		note({ begun: objective, taskId });
		bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(taskId, TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata: undefined }));
		while (!store.known.has(taskId)) await sleep(1); // work that nobody would know of is not begun
		say(TASK_STATE_WORKING);
		await sleep(Number(ms));
		work(taskId);
		bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact: artifactOf(taskId), append: false, lastChunk: true, metadata: undefined }));
		say(TASK_STATE_COMPLETED);
		bus.finished();
	},
};

store.settle();
const app = express();
for (const [path, tail, binding, version] of [['/far', '/rpc', 'JSONRPC', '1.0'], ['/rest', '/rest', 'HTTP+JSON', '1.0'], ['/old', '/rpc', 'JSONRPC', '0.3']])
	mount(app, path, new DefaultRequestHandler(cardOf(origin, path + tail, binding, version), store, executor));
const server = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
