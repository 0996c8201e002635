// Calls of one client, to any node. A write is repeated, each time to a node chosen at random, until there is an answer: a broken
// connection, silence and the errors that say "again" are none. Every try is in the history.
import { request, sleep } from '../lib/runtime.mjs';

const TRY_MS = 5000;
const AGAIN = new Set([421, 502, 503]);

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
		const answer = this.judge(result);
		if (result.error) record.error = result.error.code ?? result.error.message;
		else Object.assign(record, { status: result.status, isAnswer: answer.isAnswer, answer: result.text });
		history.call(record);
		return answer;
	}

	judge({ status, text, error }) {
		if (error) return { isAnswer: false };
		let body;
		try {
			body = JSON.parse(text);
		} catch {
			return { isAnswer: true, status, body: null, text };
		}
		const isAnswer = status < 300 || !(body.error?.retryable === true || AGAIN.has(status));
		return { isAnswer, status, body, text };
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
