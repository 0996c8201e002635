// Who asks is found out by the head of a request: a stranger is refused before its body is sent, over HTTP/1.1 and HTTP/2, and while that is
// being found out no more of the body is taken than fits into the first window.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import { Issuer, makeJwt, newKey } from '../lib/issuer.mjs';
import { sleep, waitFor, world } from '../lib/runtime.mjs';

const WINDOW = 65535;
const body = (bytes) => JSON.stringify({ text: 'x'.repeat(bytes), createPolicy: {} });

/** agentd with an issuer that answers nothing before open() is called: until then who sent a signed token is not known. */
async function start(t) {
	const issuer = await Issuer.start();
	const key = newKey('ES256', 'e1');
	let open;
	const opened = new Promise((done) => { open = done; });
	issuer.keys = [key];
	issuer.answer = (req, res) => opened.then(() => Issuer.prototype.answer.call(issuer, req, res));
	t.after(() => issuer.close());
	const { rt } = await world({ config: { 'auth.jwt_issuer': issuer.url, 'auth.jwt_audience': 'agents', 'auth.jwt_tenant': 'jota' } });
	const jwt = (by) => makeJwt(by, issuer.claims({ sub: 'ada', scope: 'admin' }));
	return { port: rt.port, open, good: jwt(key), bad: jwt(newKey('ES256', 'e1')), t };
}

const headers = (bearer, length) => ({ authorization: `Bearer ${bearer}`, 'content-type': 'application/json', 'content-length': length });

/** Sends the head of a POST over HTTP/1.1. */
function overH1({ port, t }, bearer, length) {
	const socket = net.connect(port, '127.0.0.1');
	t.after(() => socket.destroy());
	const r = { text: '', isEnded: false };
	socket.on('data', (bytes) => { r.text += bytes; }).on('end', () => { r.isEnded = true; }).on('error', () => {});
	const lines = Object.entries({ Host: `127.0.0.1:${port}`, Expect: '100-continue', ...headers(bearer, length) });
	socket.write(`POST /v1/submit_turn HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
	r.send = (bytes) => socket.write(bytes);
	r.close = () => socket.destroy();
	r.isAsked = () => r.text.startsWith('HTTP/1.1 100');
	r.status = () => Number(/^HTTP\/1\.1 (?!100)(\d+)/m.exec(r.text)?.[1] ?? 0);
	return r;
}

/** The same over HTTP/2. */
function overH2({ port, t }, bearer, length) {
	const session = http2.connect(`http://127.0.0.1:${port}`);
	t.after(() => session.destroy());
	const stream = session.request({ ':method': 'POST', ':path': '/v1/submit_turn', expect: '100-continue', ...headers(bearer, length) }, { endStream: false });
	const r = { code: 0, asked: false };
	session.on('error', () => {});
	stream.on('response', (head) => { r.code = head[':status']; }).on('continue', () => { r.asked = true; }).on('error', () => {}).resume();
	r.send = (bytes) => (bytes.length < length ? stream.write(bytes) : stream.end(bytes));
	r.unsent = () => stream.writableLength;
	r.close = () => session.destroy();
	r.isAsked = () => r.asked;
	r.status = () => r.code;
	return r;
}

const statusOf = (r) => waitFor(() => r.status() || null, 'an answer', 10000);

for (const [name, send] of [['HTTP/1.1', overH1], ['HTTP/2', overH2]]) {
	test(`${name}: a stranger is refused by the head alone`, async (t) => {
		const s = await start(t);
		for (const bearer of ['art_wrong', 'nonsense']) {
			const r = send(s, bearer, 1024 * 1024);
			assert.equal(await statusOf(r), 401, bearer);
			assert.equal(r.isAsked(), false, 'its body is not asked for');
			if (r.text) await waitFor(() => r.isEnded, 'the end of the connection', 10000);
			r.close();
		}
	});

	test(`${name}: so is one whose token takes a while to be checked`, async (t) => {
		const s = await start(t);
		const r = send(s, s.bad, 1024 * 1024);
		await sleep(200);
		assert.deepEqual([r.status(), r.isAsked()], [0, false]);
		s.open();
		assert.equal(await statusOf(r), 401);
		assert.equal(r.isAsked(), false);
		r.close();
	});

	test(`${name}: the body is asked for when the caller is known`, async (t) => {
		const s = await start(t);
		const text = body(3 * WINDOW);
		const r = send(s, s.good, text.length);
		await sleep(200);
		assert.deepEqual([r.status(), r.isAsked()], [0, false]);
		s.open();
		await waitFor(() => r.isAsked(), '100 Continue', 10000);
		r.send(text);
		assert.equal(await statusOf(r), 202);
		r.close();
	});

	test(`${name}: a body that comes unasked waits, and is not lost`, async (t) => {
		const s = await start(t);
		const text = body(3 * WINDOW);
		const r = send(s, s.good, text.length);
		r.send(text);
		await sleep(200);
		assert.equal(r.status(), 0);
		if (r.unsent) assert.ok(r.unsent() > 0, 'the window stays shut');
		s.open();
		assert.equal(await statusOf(r), 202);
		r.close();
	});

	test(`${name}: a small body that is whole before the caller is known`, async (t) => {
		const s = await start(t);
		const r = send(s, s.good, body(10).length);
		r.send(body(10));
		await sleep(200);
		s.open();
		assert.equal(await statusOf(r), 202);
		r.close();
	});

	test(`${name}: a client that leaves meanwhile does no harm`, async (t) => {
		const s = await start(t);
		const r = send(s, s.good, 1024 * 1024);
		r.send('x'.repeat(1000));
		await sleep(200);
		r.close();
		await sleep(100);
		s.open();
		const next = send(s, s.good, body(10).length);
		next.send(body(10));
		assert.equal(await statusOf(next), 202);
		next.close();
	});
}
