// How long sessions stand still when their node is killed or stopped: from the fault to the first new fact that any reader of the
// session is given. Only sessions with open work at that node count, and only faults that no other one overlaps are
// held against the lease.
import { createHash } from 'node:crypto';

const OWNERS = 'SELECT p.id, p.node FROM partition p JOIN node n ON n.id = p.node AND n.epoch = p.epoch';
const GRACE_MS = 50; // what was on its way when the node fell silent
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** The partition of an id's 16 bytes: the first ten bits of their hash. */
export function partitionOfBytes(bytes) {
	const digest = createHash('sha256').update(bytes).digest();
	return (digest[0] * 256 + digest[1]) >> 6;
}

export function partitionOf(sessionId) {
	let number = 0n;
	for (const letter of sessionId.slice(sessionId.indexOf('_') + 1)) number = number * 32n + BigInt(ALPHABET.indexOf(letter));
	return partitionOfBytes(Buffer.from(number.toString(16).padStart(32, '0'), 'hex'));
}

export class Takeovers {
	constructor(world) {
		Object.assign(this, { world, waiting: new Map(), samples: [], owner: new Map() });
	}

	/** Who owns which partition now; when the database does not answer, who did when it last did. */
	async look() {
		const rows = await this.world.pair.primary.sql(OWNERS).catch(() => null);
		if (rows) this.owner = new Map(rows.map(([id, node]) => [Number(id), node]));
	}

	isAt(session, node) {
		return this.owner.get(partitionOf(session)) === node.name;
	}

	/** A fault is about to silence a node: its sessions with open work are watched. */
	async expect(record, node) {
		await this.look();
		record.start = this.world.history.now();
		const sessions = [...this.world.sessions].filter(([session, actor]) => this.isAt(session, node) && actor.openTurns().length > 0);
		setTimeout(() => {
			for (const [session, actor] of sessions)
				if (actor.openTurns().length > 0) this.waiting.set(session, record);
		}, GRACE_MS);
	}

	/** A reader was given a fact. */
	moved(session) {
		const record = this.waiting.get(session);
		if (!record) return;
		this.waiting.delete(session);
		const ms = this.world.history.now() - record.start;
		this.samples.push({ record, session, ms });
		this.world.history.write('takeover', { session, fault: record.fault, on: record.on, start: record.start, ms });
	}

	/** Times of faults of a kind, shortest first; only of those that stood alone. */
	times(kind, faults) {
		const isAlone = ({ record, ms }) => !faults.some((other) => other !== record && !other.fault.startsWith('step') &&
			other.start < record.start + ms && other.end > record.start);
		return this.samples.filter((s) => s.record.fault === kind && isAlone(s)).map((s) => s.ms).toSorted((a, b) => a - b);
	}
}
