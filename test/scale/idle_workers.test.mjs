// Workers that have nothing to do: what each costs the daemon in memory, and what their heartbeats cost in CPU. Links of one process, with the messages of a real worker.
// 100 in the gate; AR_WORKERS=1000 AR_SECONDS=60 is what docs/workers.md states.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync, realpathSync } from 'node:fs';
import net from 'node:net';
import { after, test } from 'node:test';
import { newFolder, ok, request, sleep, waitFor, world } from '../lib/runtime.mjs';

const COUNT = Number(process.env.AR_WORKERS ?? 100), SECONDS = Number(process.env.AR_SECONDS ?? 3);
const HEARTBEAT_MS = SECONDS > 10 ? 5000 : 500;
const CAPABILITIES = JSON.stringify({ kernel: '6.1.0', profiles: { workspace_write: { isAvailable: true } }, ladder: Array(20).fill({ mechanism: 'user_namespaces', isWorking: true, detail: 'as a real one has it' }) });
const links = [];
after(() => links.forEach((link) => { clearInterval(link.beat); link.socket.destroy(); }));

const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
const cpuMs = (pid) => { const parts = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' '); return (Number(parts[11]) + Number(parts[12])) * 10; };

/** One masked binary frame with a message of the link: the length of its head, the head, and bytes. */
function frame(head, bytes = '') {
	const text = Buffer.from(JSON.stringify({ ...head, ...(bytes ? { size: bytes.length } : {}) })), length4 = Buffer.alloc(4);
	length4.writeUInt32BE(text.length);
	const message = Buffer.concat([length4, text, Buffer.from(bytes)]);
	const length = message.length < 126 ? Buffer.from([0x82, 0x80 | message.length]) : Buffer.from([0x82, 0xfe, message.length >> 8, message.length & 255]);
	return Buffer.concat([length, Buffer.alloc(4), message]);
}

/** A worker as the daemon sees it: enrolled, greeted, with a ping at each heartbeat. */
async function join(rt, i) {
	const { enrolmentToken } = await ok(rt, 'create_worker', { name: `w${i}` });
	const { text } = await request(rt, { path: '/v1/enrol_worker', body: '{}', headers: { authorization: `Bearer ${enrolmentToken}` } });
	const link = { socket: net.connect(rt.port, '127.0.0.1'), pongs: 0, isWelcome: false, n: 0 };
	links.push(link);
	link.socket.on('error', () => {}).on('close', () => (link.isClosed = true));
	link.socket.on('data', (bytes) => {
		const said = bytes.toString('latin1');
		if (said.includes('101 Switching')) link.socket.write(frame({ op: 'hello', version: [0, 5], capabilities: [5, CAPABILITIES.length], begun: 0, isDraining: false }, `0.1.0${CAPABILITIES}`));
		link.isWelcome ||= said.includes('"welcome"');
		link.pongs += said.split('"pong"').length - 1;
		if (bytes[0] === 0x89) link.socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0])); // a ping of the WebSocket
	});
	link.socket.write(`GET /v1/worker HTTP/1.1\r\nHost: 127.0.0.1:${rt.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`
		+ `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: agentruntime.worker.1\r\nAuthorization: Bearer ${JSON.parse(text).token}\r\n\r\n`);
	await waitFor(() => link.isWelcome || link.isClosed, 'the greeting');
	assert.ok(link.isWelcome, `link ${i} was closed`);
	return link;
}

test(`${COUNT} idle workers cost little memory and CPU`, async () => {
	const { rt } = await world({ config: { 'workspaces.dir': realpathSync(newFolder()), 'workers.heartbeat_ms': HEARTBEAT_MS, 'session.cache': 1 } });
	for (let i = 0; i < 10; i++) await join(rt, i); // what the first ones bring for all
	await sleep(500);
	const before = rss(rt.pid);
	for (let i = 10; i < COUNT; i += 10) await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((j) => join(rt, i + j)));
	for (const link of links) setTimeout(() => (link.beat = setInterval(() => link.socket.write(frame({ op: 'ping', n: ++link.n })), HEARTBEAT_MS)), Math.random() * HEARTBEAT_MS);
	await sleep(1000);
	const each = (rss(rt.pid) - before) / (COUNT - 10), cpu = cpuMs(rt.pid), began = performance.now();
	await sleep(SECONDS * 1000);
	const share = (cpuMs(rt.pid) - cpu) / (performance.now() - began);
	assert.equal(links.filter((link) => link.isClosed).length, 0);
	const { workers } = await ok(rt, 'list_workers', { limit: 200 });
	assert.ok(workers.length >= Math.min(COUNT, 100));
	const pongs = links.reduce((sum, link) => sum + link.pongs, 0);
	console.log(`${COUNT} workers: ${(each / 1024).toFixed(1)} KiB each, ${(share * 100).toFixed(1)} % of a core, ${pongs} answers`);
	assert.ok(pongs >= COUNT, `${pongs} answers`);
	assert.ok(each < 40 * 1024, `${each} bytes of each worker`);
	assert.ok(share < 0.25, `${share} of a core`);
});
