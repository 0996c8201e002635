// A primary and its synchronous standby. A failover kills the primary for good and promotes the standby; the dead one is built
// anew as the standby of the new primary. Between two failovers the pair must be whole again, or acknowledged
// commits could be on one disk only.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { sleep, waitFor } from '../../lib/runtime.mjs';
import { DATABASE, OF_NODES } from './pg_server.mjs';

const run = promisify(execFile);
const READY_MS = 90000;

function killProcess(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch {
		// ended meanwhile
	}
}

export class PgPair {
	constructor(first, second) {
		Object.assign(this, { primary: first, standby: second, rebuilding: Promise.resolve(), isOver: false });
	}

	get servers() {
		return [this.primary, this.standby];
	}

	async create() {
		await this.primary.init();
		await this.primary.start();
		await this.primary.sql(`CREATE DATABASE ${DATABASE}`, 'postgres');
		await this.rebuild();
	}

	/** What agentd connects with. */
	connection() {
		const hosts = this.servers.map((s) => s.address).toSorted().join(',');
		return `host=${hosts} target_session_attrs=read-write user=postgres dbname=${DATABASE} connect_timeout=2`;
	}

	// The old one must be dead. Until the copy streams, commits do not wait for it.
	async rebuild() {
		const { primary, standby } = this;
		rmSync(standby.data, { recursive: true, force: true });
		await standby.tool('pg_basebackup', ['-D', standby.data, '-h', primary.address, '-U', 'postgres', '-R', '-X', 'stream', '-c', 'fast']);
		standby.configure('');
		await standby.start();
		await this.whole(async () => {
			const [row] = await primary.sql("SELECT state FROM pg_stat_replication WHERE application_name <> 'pg_basebackup'", 'postgres');
			return row?.[0] === 'streaming';
		});
		primary.configure('*');
		primary.reload();
		await this.ready();
	}

	/** Waits until every commit so far is on both disks, and each further one will be. */
	async ready() {
		const sent = "SELECT pg_current_wal_flush_lsn()";
		const [[lsn]] = await this.patient(() => this.primary.sql(sent, 'postgres'));
		const there = `SELECT sync_state = 'sync' AND flush_lsn >= '${lsn}' FROM pg_stat_replication`;
		await this.whole(async () => (await this.primary.sql(there, 'postgres'))[0]?.[0] === 't');
	}

	whole(check) {
		return waitFor(() => this.isOver || check().catch(() => false), 'the PostgreSQL pair to be whole', READY_MS);
	}

	async patient(ask) {
		let rows;
		await waitFor(async () => (rows = await ask().catch(() => null)), 'an answer of the primary', READY_MS);
		return rows;
	}

	/** Kills the primary, promotes the standby; resolves when that takes writes. rebuilding is done when the pair is whole. */
	async failover() {
		await this.rebuilding;
		await this.ready();
		[this.primary, this.standby] = [this.standby, this.primary];
		await this.standby.kill();
		this.primary.configure('');
		this.primary.reload();
		await this.primary.sql('SELECT pg_promote(true, 60)', 'postgres');
		this.rebuilding = this.rebuildPatiently();
	}

	async rebuildPatiently() {
		for (let tries = 1; !this.isOver; tries++) {
			try {
				return await this.rebuild();
			} catch (error) {
				if (tries === 5) throw error;
				await this.standby.kill();
				await sleep(500);
			}
		}
	}

	/** Stops the primary with that signal and starts it again. */
	async restart(signal) {
		await this.rebuilding;
		await this.primary.stop(signal);
		await this.primary.start();
		await this.ready();
	}

	/** kill -9 of one backend of a node: the server ends all of them, and recovers as after a crash. */
	async killBackend(roll) {
		await this.rebuilding;
		const backends = await this.patient(() => this.primary.backends());
		if (backends.length > 0) killProcess(backends[roll(backends.length)]);
		await this.patient(() => this.primary.sql('SELECT 1', 'postgres'));
		await this.ready();
		return `one of ${backends.length}`;
	}

	/** Ends every connection of the nodes, as an administrator does; how many. */
	async terminateBackends() {
		await this.rebuilding;
		const [[n]] = await this.patient(() => this.primary.sql(`SELECT count(pg_terminate_backend(pid)) ${OF_NODES}`, 'postgres'));
		return n;
	}

	/** Fills the primary's disk to the last byte for a while; afterwards it is started again if it went down. Tells whether. */
	async fillDisk(ms) {
		await this.rebuilding;
		const { primary } = this;
		await run('dd', ['if=/dev/zero', `of=${primary.ballast}`, 'bs=1M']).catch(() => {}); // ends with "no space left"
		await run('dd', ['if=/dev/zero', `of=${primary.ballast}`, 'bs=4k', 'oflag=append', 'conv=notrunc']).catch(() => {});
		await sleep(ms);
		rmSync(primary.ballast, { force: true });
		const isDown = !(await waitFor(() => primary.answers(), 'the primary', 3000).catch(() => false));
		if (isDown) {
			await primary.kill();
			await primary.start();
		}
		await this.ready();
		return isDown;
	}

	async remove() {
		this.isOver = true;
		await this.rebuilding.catch(() => {});
		for (const server of this.servers) {
			await server.kill();
			server.remove();
		}
	}
}
