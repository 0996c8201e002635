// The whole cluster of a run: network, PostgreSQL pair, model, nodes, clients. It knows how everything is made and taken down, and
// what is up now; what happens to it is decided elsewhere.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, waitFor, within } from '../lib/runtime.mjs';
import { Pki } from '../transport/pki.mjs';
import { Actor } from './actor.mjs';
import { AgentdNode } from './machines/agentd_node.mjs';
import { Clock } from './machines/clock.mjs';
import { History } from './history.mjs';
import { ModelHost } from './machines/model_host.mjs';
import { Network } from './machines/netns.mjs';
import { PgPair } from './machines/pg_pair.mjs';
import { PgServer } from './machines/pg_server.mjs';
import { Takeovers } from './takeover.mjs';

const LEASE_MS = 2000;
const SIGHT_MS = 1000;
const SIGHT = `SELECT pg_snapshot_xmax(pg_current_snapshot()), (SELECT json_object_agg(id, epoch) FROM node),
	(SELECT string_agg(node || ' ' || epoch || ' ' || xmin, ',' ORDER BY id) FROM partition)`;
export const EPOCHS = 1000000; // that a node can have before it would look like the next one

const SETTINGS = {
	listen: 'off',
	'cluster.lease_ms': LEASE_MS,
	'recovery.max_restarts': 10000,
	'model.max_attempts': 50,
	'model.backoff_ms': 50,
	'session.snapshot_every': 60,
	'context.max_messages': 8,
	'context.compact_at': 0,
	'log.level': 'info',
};

export class World {
	/** `program`: the agentd of the nodes, if it is not the one under test. */
	constructor({ nodes: count, sessions, seed, program }) {
		Object.assign(this, { count, seed, program, leaseMs: LEASE_MS, isOver: false, isBroken: false, nodes: [], live: new Set() });
		this.sessions = new Map(); // session -> its actor
		this.sides = new Map(); // session that was made by key alone -> the key
		this.sightings = []; // who was who when: { xmax, epochs, owners }
		this.folder = mkdtempSync(join(tmpdir(), `ar-cluster-${process.pid}-`));
		chmodSync(this.folder, 0o755); // the servers run as another user
		this.history = new History(join(this.folder, 'history.ndjson'));
		this.takeovers = new Takeovers(this);
		this.network = new Network();
		this.actors = Array.from({ length: sessions }, (_, n) => new Actor(this, n, seed));
	}

	async start() {
		this.clearAtExit = () => this.clear();
		process.once('exit', this.clearAtExit);
		for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => process.exit(1));
		await this.startPostgres();
		await this.startModel();
		await this.startNodes();
		this.watching = this.watch();
	}

	newServer(n, clock) {
		const [name, address] = [`pg${n}`, `10.99.1.${n}`];
		this.network.join(name, address);
		return new PgServer({ name, address, clock, folder: this.folder, network: this.network });
	}

	async startPostgres() {
		const clock = new Clock(join(this.folder, 'pg.clock'));
		this.pair = new PgPair(this.newServer(1, clock), this.newServer(2, clock));
		await this.pair.create();
	}

	async startModel() {
		const [name, address] = ['model', '10.99.2.1'];
		this.network.join(name, address);
		this.model = new ModelHost({ name, address, folder: this.folder, network: this.network });
		await this.model.start();
	}

	async startNodes() {
		const yesterday = new Clock(join(this.folder, 'pki.clock')); // certificates stay good when the clock of a node goes back
		yesterday.step(-24 * 3600);
		this.pki = new Pki(this.folder, yesterday.before()).root('ca');
		for (let n = 1; n <= this.count; n++) this.nodes.push(this.newNode(n));
		await this.nodes[0].up(); // makes the tables
		await this.nodes[0].terminate();
		await this.setEpochs();
		for (const node of this.nodes) await node.up();
	}

	// Rows of the log say the epoch of their writer, and each node counts its own: from far apart they tell the nodes apart.
	async setEpochs() {
		for (const [i, { name }] of this.nodes.entries())
			await this.pair.primary.sql(`INSERT INTO node (id, epoch, connection) VALUES ('${name}', ${(i + 1) * EPOCHS}, 1)
				ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch`);
	}

	newNode(n) {
		const [name, address] = [`n${n}`, `10.99.0.${n}`];
		this.network.join(name, address);
		const settings = { ...SETTINGS, store: this.pair.connection(), 'model.base_url': this.model.url };
		if (this.count > 1) Object.assign(settings, { 'cluster.listen': `${address}:7718`, ...this.pki.issue(name, 'ca', { names: `IP:${address}` }).clusterSettings(name) });
		const clock = new Clock(join(this.folder, `${name}.clock`));
		const note = (text) => this.history.problem(text);
		return Object.assign(new AgentdNode({ name, clock, settings, note, folder: this.folder, network: this.network, program: this.program }), { address });
	}

	/** A reader of the session was given a fact. */
	moved(session) {
		this.takeovers.moved(session);
	}

	// What is seen in one look had been so before any transaction with a number from xmax on.
	async watch() {
		while (!this.isOver) {
			const [row] = await this.pair.primary.sql(SIGHT).catch(() => []);
			if (row) this.sightings.push({ xmax: Number(row[0]), epochs: JSON.parse(row[1]), owners: row[2].split(',') });
			await sleep(SIGHT_MS);
		}
	}

	startLoad() {
		for (const actor of this.actors)
			actor.life = actor.live().catch((error) => this.history.problem(`${actor.name} fell over: ${error.stack}`));
	}

	/** No new turns; waits until every acknowledged one has ended for every reader, or the time is over. Tells whether. */
	async settle(ms) {
		this.isOver = true;
		const calm = Promise.all(this.actors.map((actor) => actor.life)).then(() =>
			waitFor(() => this.actors.every((actor) => actor.isQuiet()), 'quiet', ms));
		const isQuiet = Boolean(await within(calm.then(() => true, () => false), ms));
		this.isBroken = true;
		for (const actor of this.actors) actor.stop();
		return isQuiet;
	}

	/** Ends everything; `keep` leaves the folder with history and logs. */
	async stop({ keep }) {
		this.isOver = this.isBroken = true;
		for (const actor of this.actors) actor.stop();
		for (const node of this.nodes) await node.terminate();
		this.model?.stop();
		await this.pair?.remove();
		this.clear();
		process.off('exit', this.clearAtExit);
		await this.history.close();
		if (!keep) rmSync(this.folder, { recursive: true, force: true });
	}

	clear() {
		this.network.remove();
		for (const server of this.pair?.servers ?? []) server.remove();
	}
}
