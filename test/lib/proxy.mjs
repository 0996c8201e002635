// A TCP proxy on loopback that breaks connections at random bytes of what the server sends, after random delays. A seed says which.
import net from 'node:net';
import { after } from 'node:test';

const open = new Set();

after(() => {
	for (const thing of open) thing.destroy?.() ?? thing.close();
});

/** Numbers in [0, 1) that follow from the seed. */
export function dice(seed) {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

class Line {
	constructor(proxy, client) {
		const { roll, target } = proxy;
		this.proxy = proxy;
		this.client = client;
		this.left = proxy.isCutting ? Math.floor(roll() ** 2 * proxy.maxBytes) : Infinity;
		this.server = net.connect(target.port, target.host);
		open.add(client).add(this.server);
		client.on('data', (bytes) => this.server.write(bytes)).on('error', () => {}).on('close', () => this.end());
		this.server.on('data', (bytes) => this.pass(bytes)).on('error', () => {}).on('close', () => this.end());
	}

	async pass(bytes) {
		const { proxy } = this;
		this.server.pause();
		if (proxy.roll() < 0.1) await new Promise((done) => setTimeout(done, proxy.roll() * proxy.maxDelayMs));
		if (bytes.length < this.left) {
			this.left -= bytes.length;
			if (!this.client.write(bytes)) await new Promise((done) => this.client.once('drain', done).once('close', done));
			this.server.resume();
			return;
		}
		proxy.cuts++;
		this.client.write(bytes.subarray(0, this.left), () => this.end());
	}

	end() {
		for (const socket of [this.client, this.server]) {
			socket.resetAndDestroy();
			open.delete(socket);
		}
	}
}

/** { url, cuts, isCutting }: everything goes to `target` { host, port }. */
export async function lossyProxy(target, { seed = 1, maxBytes = 8000, maxDelayMs = 20 } = {}) {
	const proxy = { target, roll: dice(seed), cuts: 0, isCutting: true, maxBytes, maxDelayMs };
	const server = net.createServer((client) => new Line(proxy, client));
	open.add(server);
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	proxy.url = `http://127.0.0.1:${server.address().port}`;
	return proxy;
}
