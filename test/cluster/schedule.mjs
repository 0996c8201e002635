// Which fault comes when. A deck with every kind as often as it must come is shuffled by the seed and dealt over the run;
// when it is used up before the time is, another is. Most faults are over before the next; some overlap it.
import { sleep } from '../lib/runtime.mjs';

const LATE = 2; // a run may last this many times its seconds until every kind came often enough

function shuffled(list, roll) {
	const deck = [...list];
	for (let i = deck.length - 1; i > 0; i--) {
		const j = roll(i + 1);
		[deck[i], deck[j]] = [deck[j], deck[i]];
	}
	return deck;
}

export class Schedule {
	constructor({ kinds, each, seconds, roll }) {
		Object.assign(this, { kinds, each, seconds, roll, done: new Map(kinds.map((kind) => [kind, 0])) });
	}

	/** Deals until the time is over and every kind came often enough. do(kind) resolves when the fault is undone. */
	async run(doFault) {
		const startedAt = Date.now();
		const over = () => (Date.now() - startedAt) / 1000;
		const isEnough = () => [...this.done.values()].every((n) => n >= this.each);
		const open = new Set();
		let failure = null;
		const gap = Math.max(300, (this.seconds * 1000) / (this.kinds.length * this.each) / 3);
		while (!failure && (over() < this.seconds || (!isEnough() && over() < LATE * this.seconds))) {
			const round = isEnough() ? this.kinds : this.kinds.flatMap((kind) => Array(Math.max(0, this.each - this.done.get(kind))).fill(kind));
			for (const kind of shuffled(round, this.roll)) {
				if (failure || (over() >= this.seconds && isEnough()) || over() >= LATE * this.seconds) break;
				const fault = doFault(kind).then(() => this.done.set(kind, this.done.get(kind) + 1), (error) => (failure = error));
				open.add(fault);
				fault.then(() => open.delete(fault));
				if (this.roll(4) > 0) await fault;
				await sleep(this.roll(2 * gap));
			}
			if (open.size > 0 && over() >= this.seconds) await Promise.all(open);
		}
		await Promise.all(open);
		if (failure) throw failure;
	}
}
