// One client with one session: submits turns, repeats some, interrupts some, reads now and then, makes a few sessions by key
// alone, and has two readers at two different nodes. It never looks at the answers beyond what it needs to go on.
import { sleep } from '../lib/runtime.mjs';
import { dice } from '../crash/world.mjs';
import { Client } from './client.mjs';
import { Reader } from './reader.mjs';

const OPEN_TURNS = 3;
const SIDE_SESSIONS = 3;
const THINK_MS = Number(process.env.AR_CLUSTER_THINK_MS ?? 3000);

// Mostly short answers; some slow, so that takeovers meet open calls; some fail first.
function ask(roll) {
	const kind = roll(12);
	if (kind === 0) return `[[tokens ${8 + roll(6)}]] [[delay 150]]`;
	if (kind === 1) return '[[tokens 3]] [[fail-times 1 http 500]]';
	if (kind === 2) return '[[tokens 4]] [[fail-times 1 cut 2]]';
	return `[[tokens ${1 + roll(5)}]] [[delay ${roll(20)}]]`;
}

export class Actor {
	constructor(world, number, seed) {
		this.world = world;
		this.name = `c${number}`;
		this.roll = dice(seed * 7919 + number * 104729 + 1);
		for (let i = 0; i < 8; i++) this.roll(2); // neighbouring seeds begin alike
		this.client = new Client(world, this.name, this.roll);
		Object.assign(this, { turns: [], tasks: [], receipts: new Map(), inputs: new Map(), sides: 0, interrupts: 0, readers: [] });
	}

	openTurns() {
		return this.turns.filter((turn) => !this.readers.some((reader) => reader.ends.has(turn)));
	}

	/** Whether both readers have seen the end of everything that was acknowledged. */
	isQuiet() {
		return this.turns.every((turn) => this.readers.every((reader) => reader.ends.has(turn)));
	}

	async submit(turnId, where) {
		const input = { turnId, ...where, text: ask(this.roll) };
		this.inputs.set(turnId, input);
		const answer = await this.client.insist({ kind: 'submit', command: 'submit_turn', input, key: turnId, session: where.sessionId });
		if (answer?.status !== 202) return null;
		this.turns.push(turnId);
		this.receipts.set(turnId, answer.body);
		if (answer.body.taskId) this.tasks.push(answer.body.taskId);
		return answer.body;
	}

	async begin() {
		const title = `${this.name}-0`;
		const receipt = await this.submit(title, { createPolicy: { title } });
		if (!receipt) return false;
		this.session = receipt.sessionId;
		this.world.sessions.set(this.session, this);
		for (const n of [0, 1]) this.readers.push(this.newReader(n));
		for (const reader of this.readers) reader.staying = reader.stay();
		return true;
	}

	newReader(n) {
		const { world, session, roll } = this;
		return new Reader({ world, session, name: `${this.name}.r${n}`, roll: dice(roll(1 << 30)), choose: () => this.nodeFor(n) });
	}

	// Never the node where the other reader is, if there is a choice.
	nodeFor(n) {
		const { nodes } = this.world;
		const others = nodes.filter((node) => node !== this.readers[1 - n]?.node);
		const from = others.length ? others : nodes;
		return from[this.roll(from.length)];
	}

	async repeat() {
		const turnId = this.turns[this.roll(this.turns.length)];
		const input = this.inputs.get(turnId);
		await this.client.insist({ kind: 'submit', command: 'submit_turn', input, key: turnId, session: input.sessionId });
	}

	async interrupt() {
		const turnId = this.readers[0].running;
		if (!turnId || this.readers[0].ends.has(turnId)) return;
		const idempotencyKey = `${this.name}-i${this.interrupts++}`;
		const input = { sessionId: this.session, turnId, reason: 'the client changed its mind', idempotencyKey };
		await this.client.insist({ kind: 'interrupt', command: 'interrupt_turn', input, key: idempotencyKey, session: this.session, turn: turnId });
	}

	// By key alone: whether an unanswered one made a session only the key can tell.
	async makeSide() {
		if (this.sides >= SIDE_SESSIONS) return;
		const key = `${this.name}-s${this.sides++}`;
		const input = { idempotencyKey: key, createPolicy: { title: key }, text: ask(this.roll) };
		const call = { kind: 'create', command: 'submit_turn', input, key };
		const answer = await this.client.insist(call);
		if (answer?.status === 202) this.world.sides.set(answer.body.sessionId, key);
		if (this.roll(2) === 0) await this.client.insist(call);
	}

	async readSession() {
		await this.client.once({ kind: 'get_session', command: 'get_session', input: { sessionId: this.session, limit: 5 }, session: this.session });
	}

	async readTask() {
		const taskId = this.tasks[this.roll(this.tasks.length)];
		if (taskId) await this.client.once({ kind: 'get_task', command: 'get_task', input: { taskId }, session: this.session });
	}

	async listSessions() {
		await this.client.once({ kind: 'list_sessions', command: 'list_sessions', input: { limit: 20 } });
	}

	async live() {
		if (!(await this.begin())) return;
		for (let n = 1; !this.world.isOver; n++) {
			await sleep(this.roll(2 * THINK_MS));
			if (this.world.isOver) break;
			if (this.openTurns().length < OPEN_TURNS) await this.submit(`${this.name}-${n}`, { sessionId: this.session });
			await this.extra();
		}
	}

	async extra() {
		const { roll } = this;
		if (roll(2) === 0) await this.readSession();
		if (roll(6) === 0) await this.repeat();
		if (roll(12) === 0) await this.interrupt();
		if (roll(6) === 0) await this.readTask();
		if (roll(20) === 0) await this.listSessions();
		if (roll(30) === 0) await this.makeSide();
	}

	stop() {
		for (const reader of this.readers) reader.stop();
	}
}
