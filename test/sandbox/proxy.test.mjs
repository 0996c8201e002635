// The way out of a sandbox: a real agent-proxy, real sockets. What is listed passes, everything else is refused in words and reported, whichever way it is asked for.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, waitFor } from '../lib/runtime.mjs';

const gatePy = fileURLToPath(new URL('gate.py', import.meta.url));
const reports = [];
let origin, echo, gate, port, pid;

const listen = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));

before(async () => {
	origin = http.createServer((req, res) => {
		let body = '';
		req.on('data', (piece) => (body += piece)).on('end', () => res.end(JSON.stringify({ url: req.url, headers: req.headers, body })));
	});
	echo = net.createServer((socket) => socket.pipe(socket).on('error', () => {}));
	const [web, raw] = [await listen(origin), await listen(echo)];
	gate = spawn('python3', [gatePy, `${bin}/agent-proxy`, `web.test:${web}@127.0.0.1`, `raw.test:${raw}@127.0.0.1`, `localhost:${web}`], { stdio: ['pipe', 'pipe', 'inherit'] });
	await new Promise((ready) =>
		createInterface({ input: gate.stdout }).on('line', (line) => {
			const said = JSON.parse(line);
			if ('pid' in said) ({ port, pid } = said), ready();
			else reports.push(said);
		}),
	);
	Object.assign(before, { web, raw });
});

after(async () => {
	gate.stdin.end();
	await new Promise((done) => gate.on('exit', done));
	origin.close();
	echo.close();
});

// Sends bytes to the proxy; everything it says until the connection ends, or `enough` does.
function talk(bytes, enough = () => false) {
	return new Promise((done, fail) => {
		let text = '';
		const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
		const end = () => (socket.destroy(), done(text));
		socket.on('data', (piece) => ((text += piece.toString('latin1')), enough(text, socket) && end()));
		socket.on('end', end).on('error', fail).setTimeout(20000, () => fail(new Error(`silence after ${text}`)));
	});
}

const lastOf = (host) => waitFor(() => reports.findLast((r) => r.verdict && r.host === host), `a report about ${host}`);

test('a listed host: CONNECT is opened, bytes go both ways and are counted', async () => {
	const { raw } = before;
	const text = await talk(`CONNECT raw.test:${raw} HTTP/1.1\r\nHost: raw.test:${raw}\r\n\r\n`, (t, socket) => {
		if (t.endsWith('Connected\r\n\r\n')) socket.write('hello through');
		return t.endsWith('hello through');
	});
	assert.match(text, /^HTTP\/1\.1 200 /);
	assert.equal((await lastOf('raw.test')).verdict, 'allowed');
	const passed = await waitFor(() => reports.find((r) => r.host === 'raw.test' && 'up' in r), 'the count');
	assert.deepEqual([passed.up, passed.down], [13, 13]);
});

test('a listed host: a plain request reaches it as one request, without what was meant for the proxy', async () => {
	const { web } = before;
	const text = await talk(`POST http://web.test:${web}/a?b HTTP/1.1\r\nHost: web.test:${web}\r\nProxy-Authorization: secret\r\nContent-Length: 3\r\n\r\nabcGET /smuggled HTTP/1.1\r\n\r\n`);
	const seen = JSON.parse(text.slice(text.indexOf('{')));
	assert.deepEqual([seen.url, seen.body, seen.headers['proxy-authorization'], seen.headers.connection], ['/a?b', 'abc', undefined, 'close']);
});

test('what is not listed is refused in words and reported, by CONNECT and by request', async () => {
	const { web, raw } = before;
	const denied = [
		[`CONNECT evil.test:443 HTTP/1.1\r\n\r\n`, 'evil.test'],
		[`CONNECT raw.test:22 HTTP/1.1\r\n\r\n`, 'raw.test'],
		[`CONNECT 127.0.0.1:${raw} HTTP/1.1\r\n\r\n`, '127.0.0.1'],
		[`GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`, 'evil.test'],
		[`CONNECT sub.web.test:${web} HTTP/1.1\r\n\r\n`, 'sub.web.test'],
	];
	for (const [head, host] of denied) {
		const text = await talk(head);
		assert.match(text, /^HTTP\/1\.1 403 [\s\S]*sandbox\.allow_hosts/, head);
		assert.equal((await waitFor(() => reports.findLast((r) => r.verdict === 'denied' && r.host === host), host)).verdict, 'denied');
	}
});

test('what two readers could read in two ways is refused', async () => {
	const { web } = before;
	for (const head of [
		`GET http://web.test:${web}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`,
		`GET http://web.test@evil.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n`,
		`CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n`,
		`GET / HTTP/1.1\r\nHost: web.test\r\n\r\n`,
		`POST http://web.test:${web}/ HTTP/1.1\r\nHost: web.test:${web}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
	])
		assert.match(await talk(head), /^HTTP\/1\.1 400 /, head);
});

test('a listed name that stands for this machine is not dialled', async () => {
	const text = await talk(`CONNECT localhost:${before.web} HTTP/1.1\r\n\r\n`);
	assert.match(text, /^HTTP\/1\.1 403 [\s\S]*a sandbox may not reach/);
	assert.equal((await lastOf('localhost')).verdict, 'denied');
});

test('a head that never ends is cut by its size; a hundred clients at once are served', async () => {
	assert.match(await talk(`CONNECT raw.test:1 HTTP/1.1\r\nX: ${'a'.repeat(40000)}`), /^HTTP\/1\.1 431 /);
	const { raw } = before;
	const open = (t, socket) => {
		if (t.endsWith('Connected\r\n\r\n')) socket.write('x'.repeat(100000));
		return t.length > 100000;
	};
	const all = await Promise.all(Array.from({ length: 100 }, () => talk(`CONNECT raw.test:${raw} HTTP/1.1\r\n\r\n`, open)));
	assert.ok(all.every((t) => t.endsWith('xxx')));
});

test('it has no right that could be misused, and its memory stays small', () => {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	const field = (name) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)[1];
	assert.equal(field('CapEff'), '0000000000000000');
	assert.equal(field('NoNewPrivs'), '1');
	assert.equal(field('Seccomp'), '2');
	if (process.getuid() === 0) assert.equal(field('Uid'), '65534');
	assert.ok(Number(field('VmRSS')) < (process.env.AR_BIN?.match(/san/) ? 400000 : 60000), `${field('VmRSS')} kB`);
});

test('its own boundary holds, for a daemon of root and of another user: no file, no unix socket, no child, no signal; names are still looked up', () => {
	for (const who of process.getuid() === 0 ? [{}, { uid: 1000, gid: 1000 }] : [{}]) {
		const { stdout, signal, status } = spawnSync(`${bin}/agent-proxy`, ['--probe'], { encoding: 'utf8', ...who });
		const found = Object.fromEntries(stdout.trim().split('\n').map((line) => line.split(' ')));
		const open = ['resolver', 'tcp_socket', 'netlink_socket'];
		const closed = ['read_passwd', 'list_root', 'read_memory', 'write_tmp', 'make_folder', 'change_mode', 'unix_socket', 'raw_socket', 'fork', 'signal_parent'];
		assert.deepEqual(found, Object.fromEntries([...open.map((n) => [n, 'open']), ...closed.map((n) => [n, 'refused'])]));
		assert.deepEqual([signal, status], ['SIGSYS', null], 'to run a program ends it');
	}
});
