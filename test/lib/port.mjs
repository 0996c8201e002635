// A port for a server that is told its port. It lies below those that the kernel gives to connections and to servers on port 0,
// so nothing takes it between the look and the start but another test that draws the same of ten thousand.
import { createServer } from 'node:net';

const FIRST = 20_000, COUNT = 10_000; // the kernel's begin at 32,768

const isFree = (port) => new Promise((done) => {
	const probe = createServer().on('error', () => done(false)).listen(port, '127.0.0.1', () => probe.close(() => done(true)));
});

export async function freePort() {
	for (;;) {
		const port = FIRST + Math.floor(Math.random() * COUNT);
		if (await isFree(port)) return port;
	}
}
