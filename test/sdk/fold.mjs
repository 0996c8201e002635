// What a consumer of the client's iterator has, checked against the server's own words: every fact once and in order, and of each output exactly
// the stored bytes, as far as they were streamed.
import assert from 'node:assert/strict';
import { ok, readLog } from '../lib/runtime.mjs';

export class Fold {
	constructor() {
		this.facts = [];
		this.outputs = new Map(); // stepId -> text as it arrived, by place
	}

	take(event) {
		if (event.type === 'model.delta') return this.delta(event);
		if (['reasoning.delta', 'tool.args', 'tool.progress', 'process.output'].includes(event.type)) return;
		assert.equal(event.sequence, (this.facts.at(-1)?.sequence ?? 0) + 1, 'facts come once and without a gap');
		this.facts.push(event);
	}

	delta({ stepId, payload }) {
		const had = this.outputs.get(stepId) ?? '';
		assert.equal(payload.offset, Buffer.byteLength(had), `${stepId} goes on where it was`);
		this.outputs.set(stepId, had + payload.delta);
	}

	/** The same facts as the log has, and no other word than is stored. Returns how many steps were streamed to their end. */
	async check(rt, sessionId) {
		const log = await readLog(rt, sessionId);
		assert.deepEqual(this.facts, log.map((f) => f.event));
		let whole = 0;
		for (const { stepId, payload } of this.facts.filter(({ type }) => type === 'model.completed')) {
			const { content } = await ok(rt, 'read_output', { outputRef: payload.outputRef });
			const streamed = this.outputs.get(stepId) ?? '';
			assert.ok(content.startsWith(streamed), `${stepId}: '${streamed}' was streamed of '${content}'`);
			whole += streamed === content;
		}
		return whole;
	}
}

/** Reads a session into a fold until `stop.abort()`. */
export async function follow(client, sessionId, fold, stop, options = {}) {
	for await (const event of client.events({ sessionId, signal: stop.signal, ...options })) fold.take(event);
}

/** The answer of a turn as get_thread_read leads to it. */
export async function storedText(rt, { sessionId, threadId, turnId }) {
	const { threads } = await ok(rt, 'get_thread_read', { sessionId, threadId });
	const { outputRef } = threads[0].turns.find((turn) => turn.turnId === turnId);
	return (await ok(rt, 'read_output', { outputRef })).content;
}
