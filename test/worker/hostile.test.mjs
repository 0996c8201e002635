// A worker whose daemon lies: it makes no folder but those of workspaces, runs nothing outside them, and a message that breaks the rules costs the link and nothing else.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sleep, waitFor } from '../lib/runtime.mjs';
import { tokenFile, Worker } from './worker.mjs';

const HOME = 'a'.repeat(26), KEY = 'b'.repeat(26);
let daemon, worker;

/** A message of a link: texts are pieces of the bytes behind the head. */
function message(op, members = {}, texts = {}) {
	const head = { op, ...members };
	let bytes = '';
	for (const [name, text] of Object.entries(texts)) {
		head[name] = [bytes.length, text.length];
		bytes += text;
	}
	if (bytes) head.size = bytes.length;
	const json = Buffer.from(JSON.stringify(head)), length = Buffer.alloc(4);
	length.writeUInt32BE(json.length);
	return Buffer.concat([length, json, Buffer.from(bytes)]);
}

function frame(bytes, first = 0x82) {
	const n = bytes.length;
	const head = n < 126 ? Buffer.from([first, n]) : n < 65536 ? Buffer.from([first, 126, n >> 8, n & 255]) : Buffer.concat([Buffer.from([first, 127, 0, 0, 0, 0]), Buffer.from(n.toString(16).padStart(8, '0'), 'hex')]);
	return Buffer.concat([head, bytes]);
}

/** Answers enrolment and upgrades as a daemon does; what workers say is in `said`. */
class LyingDaemon {
	constructor() {
		Object.assign(this, { said: [], links: 0, refs: 0 });
		this.server = http.createServer((req, res) => {
			req.resume().on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ workerId: 'wk_lied', token: 'art_of_the_worker' })));
		});
		this.server.on('upgrade', (req, socket) => this.take(req, socket));
	}

	take(req, socket) {
		const accept = createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
		this.links++;
		this.socket = socket;
		this.authorization = req.headers.authorization;
		socket.on('error', () => {}).write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: agentruntime.worker.1\r\n\r\n`);
		let rest = Buffer.alloc(0);
		socket.on('data', (piece) => { rest = this.read(Buffer.concat([rest, piece])); });
	}

	/** Masked frames of a client, which may be cut anywhere. */
	read(rest) {
		while (rest.length >= 2) {
			const short = rest[1] & 127, at = short < 126 ? 2 : short === 126 ? 4 : 10;
			if (rest.length < at + 4) break;
			const n = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
			if (rest.length < at + 4 + n) break;
			assert.ok(rest[1] & 128, 'a client masks');
			const mask = rest.subarray(at, at + 4), bytes = Buffer.from(rest.subarray(at + 4, at + 4 + n).map((b, i) => b ^ mask[i % 4]));
			if ((rest[0] & 15) === 2) this.hear(bytes);
			rest = rest.subarray(at + 4 + n);
		}
		return rest;
	}

	hear(bytes) {
		const length = bytes.readUInt32BE(0), head = JSON.parse(bytes.subarray(4, 4 + length)), text = bytes.subarray(4 + length).toString('latin1');
		for (const [name, value] of Object.entries(head)) if (Array.isArray(value) && value.length === 2 && name !== 'images') head[name] = text.substr(value[0], value[1]);
		this.said.push(head);
		if (head.op === 'hello') this.send(message('welcome', { leaseMs: 60000, heartbeatMs: 200, daemonId: 'd1', generation: 1 }));
		if (head.op === 'ping') this.send(message('pong', { n: head.n }));
	}

	send(bytes, first) { this.socket.write(frame(bytes, first)); }

	/** The result of a call. */
	async call(kind, members, texts, isKept = false) {
		const ref = `ref${++this.refs}`;
		this.send(message('call', { ref, kind, leftMs: 20000, ...members }, texts));
		const done = await waitFor(() => this.said.find((m) => m.ref === ref && !['began', 'progress'].includes(m.op)), () => `${ref}: ${JSON.stringify(this.said.slice(-3))}\n${worker.stderr}`, 30000);
		if (!isKept) this.send(message('ack', { ref }));
		return done;
	}
}

before(async () => {
	daemon = new LyingDaemon();
	await new Promise((done) => daemon.server.listen(0, '127.0.0.1', done));
	worker = await new Worker(['--join', `http://127.0.0.1:${daemon.server.address().port}`, '--token-file', tokenFile('art_x')]).joined();
	assert.equal(daemon.authorization, 'Bearer art_of_the_worker');
});
after(() => { daemon.server.closeAllConnections(); daemon.server.close(); });

test('a folder is made for keys alone, below the directory of workspaces', async () => {
	for (const [home, key] of [['..', '..'], [HOME, '../../../../../../tmp/of-a-liar'.padEnd(26, 'x').slice(0, 26)], ['a'.repeat(25), KEY], [HOME, `${'b'.repeat(25)}/`], [HOME, `${'b'.repeat(25)}B`], [`${'a'.repeat(25)}\0`, KEY], ['/'.padEnd(26, 'a'), KEY]])
		assert.notEqual((await daemon.call('folder', {}, { home, key })).folder?.startsWith?.('/'), true, `${home} ${key}`);
	assert.deepEqual(readdirSync(join(worker.dir, 'workspaces')), []);
	assert.ok(!existsSync(join(worker.dir, 'files')) && !existsSync(join(worker.dir, '../files')));
	const made = await daemon.call('folder', {}, { home: HOME, key: KEY });
	assert.equal(made.folder, join(worker.dir, 'workspaces', HOME, KEY, 'files'));
	assert.ok(existsSync(made.folder));
});

test('nothing runs in a folder that is not below it', async () => {
	const own = join(worker.dir, 'workspaces', HOME, KEY, 'files');
	const tool = (workspace, args = { path: 'x' }) => daemon.call('tool', { profile: 2 }, { tool: 'read_file', session: 'sess_1', thread: 't', turn: 'u', call: 'c', operation: 'o', workspace, args: JSON.stringify(args) });
	for (const folder of ['/etc', '/', worker.dir, join(worker.dir, 'state'), join(worker.dir, 'workspaces'), `${own}/../../../../state`, 'relative']) {
		for (const answer of [await tool(folder, { path: 'passwd' }), await daemon.call('checkpoint', { what: 1, ids: [] }, { tenant: 'local', workspaceId: `ws_${KEY}`, folder, session: 's' }), await daemon.call('inspect', {}, { folder })])
			assert.match(JSON.stringify(answer), /does not have that folder/, `${folder}: ${JSON.stringify(answer)}`);
	}
	const state = await tool(own, { path: join(worker.dir, 'state/worker.json') });
	assert.ok(!JSON.stringify(state).includes('art_of_the_worker'), JSON.stringify(state));
});

test('a message that breaks the rules costs the link, and the worker comes back', async () => {
	const long = Buffer.alloc(1024 * 1024 + 1);
	for (const [bytes, first] of [[long, 0x82], [Buffer.from('text'), 0x81], [Buffer.from([255, 255, 255, 255, 1]), 0x82], [Buffer.from([0, 0, 0, 3, 123, 34, 58]), 0x82]]) {
		const before = daemon.links;
		daemon.send(bytes, first);
		await waitFor(() => daemon.links > before, () => `${first}: ${worker.stderr}`);
		await waitFor(() => daemon.said.filter((m) => m.op === 'hello').length === daemon.links, 'the greeting');
	}
	assert.ok(!worker.isGone);
	daemon.send(message('nobody_knows', { ref: 'x' })); // of a later version
	assert.ok((await daemon.call('folder', {}, { home: HOME, key: KEY })).folder);
});

test('SIGTERM waits for a result that the daemon does not take; a second one ends at once', async () => {
	await daemon.call('folder', {}, { home: HOME, key: KEY });
	const own = join(worker.dir, 'workspaces', HOME, KEY, 'files');
	await daemon.call('tool', { profile: 2 }, { tool: 'list_files', session: 'sess_1', thread: 't', turn: 'u', call: 'c2', operation: 'o2', workspace: own, args: '{}' }, true);
	worker.child.kill('SIGTERM');
	await waitFor(() => daemon.said.some((m) => m.op === 'drain'), 'the drain');
	await sleep(300);
	assert.ok(!worker.isGone, 'it waits');
	const late = await daemon.call('folder', {}, { home: HOME, key: KEY });
	assert.match(JSON.stringify(late), /takes no new calls/);
	assert.deepEqual(await worker.end('SIGTERM', 5000), { code: 0, signal: null });
});
