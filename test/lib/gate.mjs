// What tests about permission and questions share: tools that the client runs, and a look at one session's facts.
import { createHash } from 'node:crypto';
import { ok, readLog, submit, waitFor } from './runtime.mjs';

const inputSchema = { type: 'object', properties: { q: { type: 'string' } } };

/** One that reads, one that writes, one whose effect cannot be undone; the last two may run beside others. */
export const tools = {
	look: { name: 'look', description: 'Looks.', inputSchema, isReadOnly: true },
	write: { name: 'write', description: 'Writes.', inputSchema, isConcurrencySafe: true },
	drop: { name: 'drop', description: 'Drops.', inputSchema, isDestructive: true, isConcurrencySafe: true },
};

/** The promptDigest of a question, from the whole of its text. */
export const digestOf = (actionId, text) => createHash('sha256').update(`${actionId}\n${text}`).digest('hex');

export const wants = (name, q = 'x') => `[[tool ${name} {"q":"${q}"}]]`;

/** A turn whose model calls these tools, in a new session unless one is named. */
export function ask(rt, names, { options = {}, ...more } = {}) {
	return submit(rt, names.map((name) => wants(name)).join(''), { ...more, options: { tools: Object.values(tools), ...options } });
}

export async function facts(rt, sessionId, ...types) {
	const log = (await readLog(rt, sessionId)).map((f) => f.event);
	return types.length ? log.filter((e) => types.includes(e.type)) : log;
}

/** The open questions of a session, once there are that many. */
export function pending(rt, sessionId, count = 1) {
	return waitFor(async () => {
		const { threads } = await ok(rt, 'get_session', { sessionId });
		const open = threads.flatMap((t) => t.pendingRequests);
		return open.length >= count && open;
	}, `${count} open questions`);
}

/** The facts of this type, once there are that many. */
export function seen(rt, sessionId, type, count = 1) {
	return waitFor(async () => {
		const found = await facts(rt, sessionId, type);
		return found.length >= count && found;
	}, `${count} ${type}`);
}

export function ended(rt, sessionId, turnId) {
	return waitFor(async () => {
		const ends = await facts(rt, sessionId, 'turn.completed', 'turn.failed');
		return ends.find((e) => !turnId || e.turnId === turnId);
	}, 'the end of the turn');
}

/** Reports a result for every client call that runs, until the turn has ended. */
export async function serve(rt, sessionId, turnId) {
	const done = new Set();
	return waitFor(async () => {
		const log = await facts(rt, sessionId);
		for (const e of log.filter((f) => f.type === 'tool.started' && f.payload.runtimeOwner === 'client' && !done.has(f.toolCallId))) {
			done.add(e.toolCallId);
			if (!log.some((f) => f.toolCallId === e.toolCallId && ['tool.result', 'tool.failed'].includes(f.type)))
				await ok(rt, 'report_tool_result', { toolCallId: e.toolCallId, output: 'done' });
		}
		return log.find((f) => ['turn.completed', 'turn.failed'].includes(f.type) && (!turnId || f.turnId === turnId));
	}, 'the end of the turn');
}
