// A real agentd that delegates to a scripted peer, whose tasks are what the test says.
import { randomUUID } from 'node:crypto';
import { facts } from '../lib/gate.mjs';
import { lossyProxy } from '../lib/proxy.mjs';
import { ok, waitFor, world } from '../lib/runtime.mjs';
import { cardOf, json, openStream, result, rpcError, startStub } from './wire.mjs';

export const ALLOW = [{ name: 'peers', effect: 'allow', tool: 'delegate_to_peer' }];
export const STATE = (word) => `TASK_STATE_${word.toUpperCase().replaceAll('-', '_')}`;

/** A2A 1.0 over JSON-RPC with the tasks in memory. `sent(message, task)` says what becomes of a message. */
export class Peer {
	constructor({ streaming = true, pushing = false, sent = () => {}, rpc, card = {} } = {}) {
		Object.assign(this, { streaming, pushing, sent, rpc, more: card, spelled: STATE, tasks: new Map(), messages: [], asked: [], streams: new Set(), isAway: false, isMute: false });
		Object.assign(this, { hooks: new Map(), posted: Promise.resolve(), answers: [] });
	}

	async start(t) {
		this.stub = await startStub(t, {
			card: (q, res, origin) => (this.isAway ? res.destroy() : json(res, cardOf(origin, { capabilities: { streaming: this.streaming, pushNotifications: this.pushing }, skills: [{ id: 'review', name: 'Review', description: 'Reads.', tags: [] }], ...this.more }))),
			rpc: (q, res, m) => (this.isAway ? res.destroy() : this.handle(q, res, m)),
		});
		this.origin = this.stub.origin;
		return this;
	}

	get task() {
		return [...this.tasks.values()].at(-1);
	}

	count(method) {
		return this.asked.filter((m) => m === method).length;
	}

	handle(q, res, m) {
		this.asked.push(m.method);
		if (this.rpc?.(q, res, m)) return;
		const task = this.tasks.get(m.params.id);
		if (m.method === 'SendMessage') return this.send(res, m);
		if (m.method === 'ListTasks') return json(res, result(m, { tasks: [...this.tasks.values()].filter((x) => x.contextId === m.params.contextId), nextPageToken: '', pageSize: 50, totalSize: 1 }));
		if (!task) return json(res, rpcError(m, -32001, 'no such task'));
		if (m.method === 'GetTask') return json(res, result(m, task));
		if (m.method === 'CancelTask') {
			this.set('canceled');
			return json(res, result(m, task));
		}
		if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(task.status.state)) return json(res, rpcError(m, -32004, 'it has ended'));
		const say = openStream(res);
		say(result(m, { task }));
		const stream = { task, say: (v) => say(result(m, v)), end: () => res.end(), cut: () => res.destroy() };
		this.streams.add(stream);
		res.on('close', () => this.streams.delete(stream));
	}

	send(res, m) {
		const { message } = m.params;
		this.messages.push(message);
		let task = this.tasks.get(message.taskId);
		if (!task) {
			task = { id: `remote-${randomUUID()}`, contextId: message.contextId ?? `ctx-${randomUUID()}`, status: { state: STATE('submitted'), timestamp: new Date().toISOString() }, artifacts: [] };
			this.tasks.set(task.id, task);
			const hook = m.params.configuration?.taskPushNotificationConfig;
			if (hook) this.hooks.set(task.id, hook);
			this.post({ task: structuredClone(task) }, task);
		}
		const answer = this.sent(message, task, res);
		if (answer === 'cut') return res.destroy();
		if (answer === 'hold') return undefined;
		return json(res, result(m, answer ?? { task }));
	}

	/** The task is in that state now, and its streams say so. */
	set(state, text, task = this.task) {
		const message = text === undefined ? undefined : { messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] };
		task.status = { state: this.spelled(state), timestamp: new Date().toISOString(), message };
		const isEnd = /completed|failed|canceled|rejected|input-required/.test(state);
		for (const s of this.of(task)) {
			s.say({ statusUpdate: { taskId: task.id, contextId: task.contextId, status: task.status } });
			if (isEnd) s.end();
		}
		this.post({ statusUpdate: { taskId: task.id, contextId: task.contextId, status: task.status } }, task);
	}

	/** A piece of an artifact. */
	give(id, parts, { append = false, last = true, task = this.task, name = id } = {}) {
		const known = task.artifacts.find((a) => a.artifactId === id);
		if (known && append) known.parts.push(...parts);
		else task.artifacts.push({ artifactId: id, name, parts: [...parts] });
		for (const s of this.of(task)) s.say({ artifactUpdate: { taskId: task.id, contextId: task.contextId, artifact: { artifactId: id, name, parts }, append, lastChunk: last } });
		this.post({ artifactUpdate: { taskId: task.id, contextId: task.contextId, artifact: { artifactId: id, name, parts }, append, lastChunk: last } }, task);
	}

	/** Posts what has become of a task, one notification after another, where the message that began it said. */
	post(body, task = this.task) {
		const hook = this.hooks.get(task.id);
		if (!hook || this.isMute || this.isAway) return;
		this.posted = this.posted.then(() => push(hook, body)).then((a) => this.answers.push(a.status), () => this.answers.push('cut'));
	}

	end(text = 'the work') {
		this.give('result', [{ text }]);
		this.set('completed');
	}

	of(task) {
		return [...this.streams].filter((s) => s.task === task);
	}

	cut() {
		for (const s of this.streams) s.cut();
	}
}

/** What a peer posts; `shown` replaces the headers with the token. */
export async function push({ url, token }, body, { shown = { 'x-a2a-notification-token': token }, type = 'application/a2a+json' } = {}) {
	const answer = await fetch(url, { method: 'POST', headers: { 'content-type': type, ...shown }, body: typeof body === 'string' ? body : JSON.stringify(body) });
	return { status: answer.status, text: await answer.text() };
}

const KEY = 'a key of more than sixteen bytes';

/** A way to reach agentd by one address, on whatever port it was started last. */
export async function front() {
	const gate = await lossyProxy({ host: '127.0.0.1', port: 1 });
	gate.isCutting = false;
	return { config: { 'a2a.url': gate.url, 'a2a.push_key': KEY }, to: ({ host, port }) => (gate.target = { host, port }) };
}

export async function start(t, options = {}, more = {}) {
	const isPush = more.peer?.mechanism === 'push';
	const peer = await new Peer({ pushing: isPush, ...options }).start(t);
	const gate = isPush ? await front() : undefined;
	const config = { ...gate?.config, peers: [{ name: 'far', url: peer.origin, poll_ms: 20, timeout_ms: 10000, lost_ms: 60000, ...more.peer }], permission_rules: ALLOW, ...more.config };
	const w = await world({ config, ...more.world });
	const { again } = w;
	gate?.to(w.rt);
	return Object.assign(w, { peer, config, again: async (changes) => {
		const rt = await again(changes);
		gate?.to(rt);
		return rt;
	} });
}

/** A declared task that is with the peer. */
export async function delegate(w, more = {}) {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'Review the change', ...more });
	await ok(w.rt, 'delegate_task', { taskId, peer: 'far' });
	return { sessionId, taskId };
}

export const taskOf = (w, taskId) => ok(w.rt, 'get_task', { taskId });

export function until(w, taskId, check, label = 'the task') {
	let seen;
	return waitFor(async () => {
		seen = await taskOf(w, taskId);
		return check(seen) && seen;
	}, () => `${label}: ${JSON.stringify({ status: seen.status, reason: seen.statusReason, remote: seen.remoteTask })}`);
}

export const status = (w, taskId, word) => until(w, taskId, (x) => x.status === word, word);
export const native = (w, taskId, word) => until(w, taskId, (x) => x.remoteTask?.nativeStatus === word, word);
export const kinds = async (w, sessionId, ...types) => (await facts(w.rt, sessionId, ...types)).map((e) => e.payload);
