// What is done to the cluster. Each fault is done, held and undone by one function, which notes when it began and ended. A node
// suffers one fault at a time, and so does the PostgreSQL pair; different ones may overlap.
import { sleep } from '../lib/runtime.mjs';

const HOUR = 3600;

export const KINDS = ['kill9', 'stop', 'cutFromPostgres', 'cutBetween', 'failover', 'restartPostgres', 'killBackend', 'terminateBackends', 'fillDisk', 'stepClock',
	'stepDatabaseClock', 'rollingRestart'];

// Keeps things for one user at a time, in the order of asking.
class Locks {
	constructor() {
		this.ends = new Map();
	}

	async hold(things, work) {
		const before = things.map((thing) => this.ends.get(thing));
		let free;
		const end = new Promise((done) => (free = done));
		for (const thing of things) this.ends.set(thing, end);
		await Promise.all(before);
		try {
			return await work();
		} finally {
			free();
		}
	}
}

export class Faults {
	constructor(world, roll) {
		Object.assign(this, { world, roll, locks: new Locks() });
	}

	anyNode() {
		return this.world.nodes[this.roll(this.world.nodes.length)];
	}

	between(least, most) {
		return least + this.roll(Math.round(most - least));
	}

	/** Does one of KINDS to whatever the dice choose; resolves when it is undone. */
	async do(kind) {
		await this[kind]();
	}

	async noted(kind, on, work) {
		const { history } = this.world;
		const record = { fault: kind, on, start: history.now() };
		const live = this.world.live;
		live.add(record);
		try {
			record.detail = await work(record);
		} finally {
			record.end = history.now();
			live.delete(record);
			history.fault(record);
		}
	}

	async kill9(node = this.anyNode()) {
		const pause = this.roll(3000);
		await this.locks.hold([node], () => this.noted('kill9', node.name, async (record) => {
			await this.world.takeovers.expect(record, node);
			await node.end('SIGKILL');
			await sleep(pause);
			await node.up();
		}));
	}

	async stop(node = this.anyNode()) {
		const ms = this.between(1.5 * this.world.leaseMs, 3 * this.world.leaseMs);
		await this.locks.hold([node], () => this.noted('stop', node.name, async (record) => {
			await this.world.takeovers.expect(record, node);
			node.signal('SIGSTOP');
			await sleep(ms);
			node.signal('SIGCONT');
			return `${ms} ms`;
		}));
	}

	async cutFromPostgres(node = this.anyNode()) {
		const ms = this.between(1000, 4 * this.world.leaseMs);
		const away = this.world.pair.servers.map((server) => server.address);
		await this.locks.hold([node], () => this.noted('cutFromPostgres', node.name, () => this.cut(node, away, ms)));
	}

	async cut(node, addresses, ms) {
		await this.world.network.cut(node.name, addresses);
		await sleep(ms);
		await this.world.network.mend(node.name, addresses);
		return `${ms} ms`;
	}

	async cutBetween() {
		const { nodes } = this.world;
		if (nodes.length < 2) return;
		const a = this.anyNode();
		const others = nodes.filter((node) => node !== a);
		const b = others[this.roll(others.length)];
		const ms = this.between(1000, 4 * this.world.leaseMs);
		await this.locks.hold([a, b], () => this.noted('cutBetween', `${a.name} ${b.name}`, () => this.cut(a, [b.address], ms)));
	}

	async failover() {
		const { pair } = this.world;
		await this.locks.hold([pair], () => this.noted('failover', pair.primary.name, async (record) => {
			await pair.failover();
			const ms = Math.round(this.world.history.now() - record.start);
			await pair.rebuilding;
			return `writes again after ${ms} ms`;
		}));
	}

	async restartPostgres() {
		const { pair } = this.world;
		const signal = this.roll(2) ? 'SIGINT' : 'SIGQUIT'; // fast, immediate
		await this.locks.hold([pair], () => this.noted('restartPostgres', pair.primary.name, async () => {
			await pair.restart(signal);
			return signal;
		}));
	}

	async killBackend() {
		const { pair } = this.world;
		await this.locks.hold([pair], () => this.noted('killBackend', pair.primary.name, () => pair.killBackend(this.roll)));
	}

	async terminateBackends() {
		const { pair } = this.world;
		await this.locks.hold([pair], () => this.noted('terminateBackends', pair.primary.name, async () => `${await pair.terminateBackends()} connections`));
	}

	async fillDisk() {
		const { pair } = this.world;
		const ms = this.between(1000, 4000);
		await this.locks.hold([pair], () => this.noted('fillDisk', pair.primary.name, async () => {
			const isDown = await pair.fillDisk(ms);
			return `${ms} ms${isDown ? ', the server went down' : ''}`;
		}));
	}

	async stepClock(node = this.anyNode()) {
		await this.locks.hold([node], () => this.noted('stepClock', node.name, () => this.step(node.clock)));
	}

	async stepDatabaseClock() {
		const { pair } = this.world;
		await this.locks.hold([pair], () => this.noted('stepDatabaseClock', 'both servers', () => this.step(pair.primary.clock)));
	}

	async step(clock) {
		const seconds = this.roll(2) ? HOUR : -HOUR;
		clock.step(seconds);
		await sleep(this.between(2000, 6000));
		clock.step(0);
		return `${seconds} s and back`;
	}

	async rollingRestart() {
		const { nodes } = this.world;
		await this.locks.hold([...nodes], () => this.noted('rollingRestart', 'all', async () => {
			for (const node of nodes) {
				await node.terminate();
				await node.up();
			}
		}));
	}
}
