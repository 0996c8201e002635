// ci: release only
// A stream or a call that is aborted ends, also when Node has collected the request behind it as garbage and its own fetch has forgotten the signal.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AgentRuntime } from '../../sdk/typescript/dist/index.js';
import { sleep, within } from '../lib/runtime.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');

// An event stream that goes on and on, and an answer whose end never comes.
const open = new Set();
const server = http.createServer((req, res) => {
	open.add(res);
	res.on('close', () => open.delete(res));
	const isStream = req.url.endsWith('/subscribe_events');
	res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
	res.write(isStream ? ': open\n\n' : '{"sessions":');
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
after(() => {
	server.closeAllConnections();
	server.close();
});
const client = new AgentRuntime({ url: `http://127.0.0.1:${server.address().port}` });

async function collectGarbage() {
	for (let i = 0; i < 5; i++) {
		await sleep(50);
		gc();
	}
}

const reads = {
	'a stream': async (signal) => {
		for await (const event of client.events({ signal })) assert.fail(event.type);
		return 'ended';
	},
	'a call': (signal) => client.listSessions({}, { signal }).catch((error) => error.name),
};

for (const [what, read] of Object.entries(reads)) {
	test(`${what} that is aborted ends, whatever was collected before`, async () => {
		const stop = new AbortController();
		const reading = read(stop.signal);
		await collectGarbage();
		stop.abort();
		assert.equal(await within(reading, 20000), what === 'a stream' ? 'ended' : 'AbortError');
	});
}
