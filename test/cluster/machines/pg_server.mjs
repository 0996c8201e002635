// One PostgreSQL server on a machine of its own: data on a small tmpfs, TCP for the nodes, a unix socket for us. It is
// started in the foreground as our child, so that whatever kills it is seen; nothing restarts it but us.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chownSync, closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sleep, waitFor } from '../../lib/runtime.mjs';

const run = promisify(execFile);

export const DATABASE = 'ar';
/** The connections of nodes, in a statement. */
export const OF_NODES = `FROM pg_stat_activity WHERE datname = '${DATABASE}' AND client_addr IS NOT NULL`;
const SIZE_MB = Number(process.env.AR_CLUSTER_PG_MB ?? 1024);

// The newest installed server; Debian keeps one folder per version.
function findBin() {
	const root = '/usr/lib/postgresql';
	const version = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))[0];
	return join(root, version, 'bin');
}

const AS_OWNER = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];

const SETTINGS = `
shared_buffers = 64MB
max_connections = 60
fsync = on
synchronous_commit = on
wal_level = replica
max_wal_senders = 6
wal_keep_size = 96MB
max_wal_size = 192MB
min_wal_size = 32MB
wal_sender_timeout = 5s
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
dynamic_shared_memory_type = mmap
log_min_messages = warning
`;

export class PgServer {
	constructor({ name, address, folder, network, clock }) {
		Object.assign(this, { name, address, network, clock, bin: findBin(), child: null });
		this.mount = join(folder, name);
		this.data = join(this.mount, 'data');
		this.sockets = join(folder, `${name}.sockets`);
		this.log = join(folder, `${name}.log`);
		this.ballast = join(this.mount, 'ballast');
		const [owner, group] = ['-u', '-g'].map((what) => Number(execFileSync('id', [what, 'postgres'])));
		mkdirSync(this.mount);
		mkdirSync(this.sockets);
		execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m`, 'tmpfs', this.mount]);
		this.isMounted = true;
		for (const place of [this.mount, this.sockets]) chownSync(place, owner, group);
		writeFileSync(this.log, '');
	}

	/** A tool of PostgreSQL on this machine, as its owner. */
	async tool(name, args) {
		const [command, ...rest] = [...this.network.on(this.name), ...AS_OWNER, join(this.bin, name), ...args];
		return run(command, rest, { cwd: dirname(this.mount), maxBuffer: 1 << 26 });
	}

	async init() {
		await this.tool('initdb', ['-D', this.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N', '-k', '--wal-segsize=4']);
		appendFileSync(join(this.data, 'pg_hba.conf'), 'host all all 10.99.0.0/16 trust\nhost replication all 10.99.0.0/16 trust\n');
		appendFileSync(join(this.data, 'postgresql.conf'), `${SETTINGS}include = 'ar.conf'\n`);
		this.configure('');
	}

	/** Writes what differs between the servers. It is read at the start and at reload(). */
	configure(synchronousStandbys) {
		const lines = [`listen_addresses = '${this.address}'`, `unix_socket_directories = '${this.sockets}'`,
			`cluster_name = '${this.name}'`, `synchronous_standby_names = '${synchronousStandbys}'`];
		writeFileSync(join(this.data, 'ar.conf'), `${lines.join('\n')}\n`);
	}

	get isUp() {
		return this.child !== null;
	}

	/** Starts it and waits until it takes connections. */
	async start(ms = 60000) {
		const [command, ...args] = [...this.network.on(this.name), 'unshare', '--ipc', ...AS_OWNER,
			...this.clock.before(), join(this.bin, 'postgres'), '-D', this.data];
		const out = openSync(this.log, 'a');
		const child = spawn(command, args, { stdio: ['ignore', out, out], env: { PATH: process.env.PATH, LANG: 'C' }, cwd: '/' });
		closeSync(out);
		this.child = child;
		child.once('exit', () => (this.child = this.child === child ? null : this.child));
		for (const end = Date.now() + ms; ; await sleep(50)) {
			if (await this.answers()) return;
			if (this.child !== child) throw new Error(`${this.name} ended at start; see ${this.log}`);
			if (Date.now() > end) throw new Error(`${this.name} takes no connections; see ${this.log}`);
		}
	}

	async answers() {
		return this.sql('SELECT 1', 'postgres').then(() => true, () => false);
	}

	/** kill -9 of every process on the machine, until none is left. */
	async kill() {
		for (let pids; (pids = this.network.pids(this.name)).length > 0; await sleep(20))
			for (const pid of pids) {
				try {
					process.kill(pid, 'SIGKILL');
				} catch {
					// ended meanwhile
				}
			}
		this.child = null;
	}

	/** Ends it by a signal that the server knows, and waits until it is gone. */
	async stop(signal) {
		if (this.child) process.kill(this.child.pid, signal);
		await waitFor(() => !this.child, `the end of ${this.name} by ${signal}`);
	}

	/** Processes that serve the nodes. */
	async backends() {
		return (await this.sql(`SELECT pid ${OF_NODES}`, 'postgres')).map(([pid]) => Number(pid));
	}

	reload() {
		if (this.child) process.kill(this.child.pid, 'SIGHUP');
	}

	/** Rows of a query, each an array of texts. */
	async sql(text, database = DATABASE) {
		const args = ['-XAtq', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-h', this.sockets, '-U', 'postgres', '-d', database, '-c', text];
		const { stdout } = await run('psql', args, { maxBuffer: 1 << 30, env: { PATH: process.env.PATH, PGCONNECT_TIMEOUT: '2' }, timeout: 60000 });
		return stdout.split('\n').filter(Boolean).map((line) => line.split('\t'));
	}

	/** Ends it and takes its disk away. */
	remove() {
		if (this.isMounted) execFileSync('umount', ['-l', this.mount]);
		this.isMounted = false;
	}
}
