// The crash test's world: clients that never stop submitting and following, and a killer that never lets agentd live long.
// The clients write down what they were told; crash.test.mjs holds the surviving log against it.
import { call, Follower, sleep, startAgentd, within } from '../lib/runtime.mjs';

const OPEN_TURNS = 4; // that a client keeps going in its session

/** What is up now, for everybody. */
export class World {
	constructor(options, journal) {
		Object.assign(this, { options, journal, rt: null, isOver: false, readyMs: [], kills: [], runtimeIds: new Set() });
	}

	async start(fault) {
		const rt = await startAgentd({ ...this.options, fault, mayDie: Boolean(fault) });
		this.rt = rt;
		if (rt.readyMs !== undefined) this.readyMs.push(rt.readyMs);
		return rt;
	}

	/** Starts agentd and lets it die: at the fault point, or (without one, or when it is not reached) after `ms`. */
	async crash({ fault, ms }) {
		const rt = await this.start(fault);
		const end = await within(rt.gone, ms);
		if (!end) await rt.end('SIGKILL', 10000);
		const { signal } = await rt.gone;
		if (signal !== 'SIGKILL') throw new Error(`agentd ended by ${signal} with fault ${fault}:\n${rt.stderr}`);
		this.kills.push({ point: end ? fault.split(':')[0] : 'random' });
	}
}

/** Small numbers that look random and can be had again. */
export function dice(seed) {
	let state = seed >>> 0;
	return (sides) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * sides);
	};
}

// What a turn asks of the model: mostly short answers; some slow or large enough that chunks are saved.
function ask(roll) {
	const kind = roll(20);
	if (kind === 0) return '[[tokens 2500]]';
	if (kind < 3) return `[[tokens 10]] [[delay ${30 + roll(20)}]]`;
	return `[[tokens ${1 + roll(8)}]] [[delay ${roll(6)}]]`;
}

/** One client with one session. */
export class Actor {
	constructor(world, number, seed) {
		Object.assign(this, { world, number, roll: dice(seed + number * 7919), via: number % 2 ? 'socket' : undefined });
		Object.assign(this, { acks: new Map(), inputs: new Map(), repeats: 0, problems: [] });
	}

	// Sends until there is an answer; whether an unanswered one was recorded is not known, so it keeps its id.
	async insist(input) {
		while (!this.world.isBroken) {
			const { rt } = this.world;
			if (rt && !rt.isGone && rt.port) {
				this.world.journal.sent(input.turnId);
				const answer = await call(rt, 'submit_turn', input, { via: this.via }).catch((error) => ({ error }));
				if (answer.status === 202) return answer.text;
				if (answer.status) this.refused(rt, input.turnId);
				if (answer.status && answer.body.error.retryable !== true) throw new Error(`submit: ${answer.text}`);
				if (answer.error && !answer.error.code) throw answer.error;
			}
			await sleep(5 + this.roll(10));
		}
		throw new Error('the world broke');
	}

	refused(rt, turnId) {
		this.world.journal.refused(turnId);
		rt.refusals = (rt.refusals ?? 0) + 1;
	}

	async submit(input) {
		const text = await this.insist(input);
		this.world.journal.receipt(text);
		this.acks.set(input.turnId, { text, receipt: JSON.parse(text) });
		this.inputs.set(input.turnId, input);
		return JSON.parse(text);
	}

	async begin() {
		const turnId = `c${this.number}-0`;
		const { sessionId } = await this.submit({ turnId, createPolicy: { title: turnId }, text: ask(this.roll) });
		this.sessionId = sessionId;
		this.follower = new Follower(null, sessionId, { via: this.via });
		this.staying = this.follower.stay(() => this.world.rt);
	}

	// The same id again, perhaps to another process: the same answer to the byte.
	async repeat() {
		const ids = [...this.acks.keys()];
		const turnId = ids[this.roll(ids.length)];
		const text = await this.insist(this.inputs.get(turnId));
		if (text !== this.acks.get(turnId).text) this.problems.push(`repeat of ${turnId} said ${text}`);
		this.repeats++;
	}

	openTurns() {
		return [...this.acks.keys()].filter((id) => !this.follower.end(id)).length;
	}

	async live() {
		await this.begin();
		for (let n = 1; !this.world.isOver; n++) {
			while (this.openTurns() >= OPEN_TURNS && !this.world.isOver) await sleep(5);
			if (this.world.isOver) break;
			await this.submit({ turnId: `c${this.number}-${n}`, sessionId: this.sessionId, text: ask(this.roll) });
			if (this.roll(4) === 0) await this.repeat();
		}
	}
}
