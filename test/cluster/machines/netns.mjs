// The network of a run: a bridge in a namespace of its own and one namespace per machine, joined by veth pairs. What a cut
// drops is dropped silently, inside the namespace that it is made for. Names carry our process id; everything is removed
// at the end of the process, whatever ends it, and test/cluster/clean removes what a killed process left.
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const CUT_TABLE = `table inet cut {
	set away { type ipv4_addr; }
	chain in { type filter hook input priority 0; ip saddr @away drop; }
	chain out { type filter hook output priority 0; ip daddr @away drop; }
}
`;

/** Why namespaces cannot be made here, or null. */
export function whyNoNetwork() {
	if (process.getuid() !== 0) return 'network namespaces need root';
	try {
		execFileSync('nft', ['--version'], { stdio: 'pipe' });
		execFileSync('ip', ['netns', 'add', `ar${process.pid}-probe`], { stdio: 'pipe' });
		execFileSync('ip', ['netns', 'del', `ar${process.pid}-probe`], { stdio: 'pipe' });
	} catch (error) {
		return `no network namespaces here: ${String(error.stderr ?? error.message).trim()}`;
	}
	return null;
}

export class Network {
	constructor() {
		this.tag = `ar${process.pid}`;
		this.machines = new Map(); // name -> { namespace, address, away: address -> how many cuts drop it }
		this.bridge = this.add('switch');
		ip('-n', this.bridge, 'link', 'add', 'br0', 'type', 'bridge');
		ip('-n', this.bridge, 'link', 'set', 'br0', 'up');
	}

	add(name) {
		const namespace = `${this.tag}-${name}`;
		ip('netns', 'add', namespace);
		this.machines.set(name, { namespace, address: null, away: new Map() });
		return namespace;
	}

	/** A machine on the bridge. */
	join(name, address) {
		const namespace = this.add(name);
		ip('-n', this.bridge, 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
		ip('-n', this.bridge, 'link', 'set', name, 'master', 'br0', 'up');
		ip('-n', namespace, 'addr', 'add', `${address}/16`, 'dev', 'eth0');
		for (const device of ['lo', 'eth0']) ip('-n', namespace, 'link', 'set', device, 'up');
		execFileSync('nsenter', [`--net=/run/netns/${namespace}`, 'nft', '-f', '-'], { input: CUT_TABLE });
		this.machines.get(name).address = address;
	}

	/** The words before a command that make it run on a machine. */
	on(name) {
		return ['nsenter', `--net=/run/netns/${this.machines.get(name).namespace}`];
	}

	/** Ids of all processes on a machine. */
	pids(name) {
		const text = execFileSync('ip', ['netns', 'pids', this.machines.get(name).namespace]).toString();
		return text.split('\n').filter(Boolean).map(Number);
	}

	/** Drops all packets between a machine and the addresses, both ways, until mend(). Cuts add up. */
	async cut(name, addresses) {
		const { away } = this.machines.get(name);
		for (const address of addresses) {
			away.set(address, (away.get(address) ?? 0) + 1);
			if (away.get(address) === 1) await this.element('add', name, address);
		}
	}

	async mend(name, addresses) {
		const { away } = this.machines.get(name);
		for (const address of addresses) {
			away.set(address, away.get(address) - 1);
			if (away.get(address) === 0) await this.element('delete', name, address);
		}
	}

	async element(verb, name, address) {
		const [command, ...args] = this.on(name);
		await run(command, [...args, 'nft', verb, 'element', 'inet', 'cut', 'away', `{ ${address} }`]);
	}

	/** Ends every process in our namespaces and removes them. May be called twice, and at exit. */
	remove() {
		for (const [name, { namespace }] of this.machines) {
			try {
				for (const pid of this.pids(name)) tryKill(pid);
				ip('netns', 'del', namespace);
			} catch {
				// it was never made, or is gone
			}
		}
		this.machines.clear();
	}
}

function ip(...args) {
	execFileSync('ip', args, { stdio: 'pipe' });
}

function tryKill(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch {
		// it ended by itself
	}
}
