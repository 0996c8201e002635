// Nodes of one database, a worker that all of them reach, and what is done to them: kill -9 of a node, of PostgreSQL, of the worker.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { call, newFolder, ok, request, sleep, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';
import { usageOf } from './laws.mjs';
import { again, privateFolder, startRelay, startWorker } from '../worker/worker.mjs';

const run = promisify(execFile);
const CONFIG = { 'cluster.lease_ms': 1500, 'model.max_attempts': 5, 'model.backoff_ms': 20, 'recovery.max_restarts': 50, 'limits.max_body_bytes': 134217728,
	'permission.mode': 'bypass', 'workers.node_url': 'http://127.0.0.1:{node}', 'workers.heartbeat_ms': 200, 'workers.lease_ms': 3000 };

export const table = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes;

/** One call at a node that may be about to die, or that has no owner for it yet. */
export const tried = async (node, command, input) => (await call(node, command, input).catch(() => ({}))).body;

/** As waitFor, for what takes minutes: the nodes have other work than to answer. */
export async function waitSlowly(check, label, ms) {
	let pause = 5;
	return waitFor(async () => {
		const value = await check();
		if (!value) await sleep((pause = Math.min(500, pause * 2)));
		return value;
	}, label, ms);
}

/** kill -9 of the server and all its processes; started again after `down` milliseconds. */
export async function killPostgres(down = 0) {
	await run(process.env.AR_TEST_POSTGRES_CTL, ['crash']);
	await sleep(down);
	await run(process.env.AR_TEST_POSTGRES_CTL, ['start']);
}

export class Cluster {
	constructor(model, config = {}) {
		Object.assign(this, { model, config, env: storeOf(newFolder()), nodes: new Map(), relays: new Map(), folders: new Map(), worker: null, cpuOfKilled: 0 });
	}

	/** Starts one, or starts it again with the variables of its first start. The name of a node is the port of its relay, so that workers.node_url leads there. */
	async start(name, { env = {}, ...more } = {}) {
		const relay = this.relays.get(name) ?? (await startRelay(0));
		const folders = this.folders.get(name) ?? { dataDir: newFolder(), workspaces: privateFolder(), env };
		this.relays.set(name, relay);
		this.folders.set(name, folders);
		const node = await startAgentd({ model: this.model, dataDir: folders.dataDir, env: { ...folders.env, ...this.env, AGENTD_NODE: new URL(relay.url).port },
			config: { ...CONFIG, 'workspaces.dir': folders.workspaces, ...this.config }, ...more });
		relay.port = node.port;
		this.nodes.set(name, node);
		return node;
	}

	/** Every node that is there has a share. */
	shared() {
		return waitFor(async () => {
			for (const node of this.nodes.values()) {
				const rows = await table(node).catch(() => []);
				if (rows.length !== this.nodes.size || rows.some((row) => row.partitions < 100)) return false;
			}
			return true;
		}, 'a share for each node', 60000);
	}

	live(nth) {
		const all = [...this.nodes.values()].filter((node) => !node.isGone);
		return all[nth % all.length];
	}

	async killNode(name) {
		this.cpuOfKilled += usageOf(this.nodes.get(name)).cpu;
		await this.nodes.get(name).kill9();
		await this.start(name);
	}

	/** Seconds of CPU that the nodes used, those included that killNode() killed. */
	get cpu() {
		return [...this.nodes.values()].reduce((sum, node) => sum + usageOf(node).cpu, this.cpuOfKilled);
	}

	/** A worker that all nodes reach; returns a workspace of it. */
	async startWorker() {
		const [[name, relay]] = this.relays;
		this.worker = await startWorker(this.nodes.get(name), { url: relay.url });
		return (await ok(this.nodes.get(name), 'create_workspace', { name: 'far', worker: this.worker.workerId })).workspace;
	}

	async killWorker() {
		const [, relay] = [...this.relays][0];
		await this.worker.end('SIGKILL');
		this.worker = await again(this.worker, relay.url);
	}

	async stop() {
		await this.worker?.end('SIGKILL');
		await Promise.all([...this.nodes.values()].map((node) => node.stop().catch(() => {})));
	}
}
