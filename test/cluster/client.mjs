// Calls of one client, to any node. A write is repeated, each time to a node chosen at random, until there is an answer: a broken
// connection, silence and the errors that say "again" are none. Every try is in the history.
import { request, sleep } from '../lib/runtime.mjs';
import { validateCommandResult } from '../lib/schemas.mjs';

const TRY_MS = 5000;
const AGAIN = new Set([421, 502, 503]);

// Of a read only what tells how old it is: whole sessions would fill the memory.
const KEPT = {
	get_session: ({ sessionId, asOfSequence }) => ({ sessionId, asOfSequence }),
	get_task: ({ sessionId, taskId, asOfSequence }) => ({ sessionId, taskId, asOfSequence }),
	list_sessions: ({ sessions }) => ({ sessions: sessions.map(KEPT.get_session) }),
};

function kept(kind, { status, body, text }) {
	return status < 300 && body && KEPT[kind] ? JSON.stringify(KEPT[kind](body)) : text;
}

export class Client {
	constructor(world, name, roll) {
		Object.assign(this, { world, name, roll });
	}

	anyNode() {
		const { nodes } = this.world;
		return nodes[this.roll(nodes.length)];
	}

	/** One try. What it means: { isAnswer, status, body, text }. */
	async once({ kind, command, input, key, session, turn }, node = this.anyNode()) {
		const { history } = this.world;
		const record = { kind, client: this.name, key, session, turn, node: node.name, start: history.now() };
		const result = await request(node, { path: `/v1/${command}`, body: JSON.stringify(input), ms: TRY_MS }).catch((error) => ({ error }));
		record.end = history.now();
		const answer = this.judge(command, result, node);
		if (result.error) record.error = result.error.code ?? result.error.message;
		else Object.assign(record, { status: result.status, isAnswer: answer.isAnswer, answer: kept(kind, answer) });
		history.call(record);
		return answer;
	}

	// An answer that breaks the contract is a fault of its own, and none that anybody can go on with.
	judge(command, { status, text, error }, node) {
		if (error) return { isAnswer: false };
		try {
			const body = JSON.parse(text);
			if (status < 300) validateCommandResult(command, body);
			const isAnswer = status < 300 || !(body.error?.retryable === true || AGAIN.has(status));
			return { isAnswer, status, body, text };
		} catch (fault) {
			this.world.history.problem(`${command} at ${node.name} was answered with ${status} ${text}: ${fault.message}`);
			return { isAnswer: false, status, text };
		}
	}

	/** Tries until there is an answer; null when the world gave up meanwhile. */
	async insist(call) {
		for (let pause = 20; !this.world.isBroken; pause = Math.min(pause * 2, 500)) {
			const answer = await this.once(call);
			if (answer.isAnswer) return answer;
			await sleep(pause + this.roll(pause));
		}
		return null;
	}
}
