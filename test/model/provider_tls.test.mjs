// The OpenAI provider over TLS and HTTP/2.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertEnd, portsOf, probe, rawServer } from './probe.mjs';
import { start } from './scripted.mjs';
import { soon } from '../lib/soon.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

let dir;
function certificate() {
	dir ??= mkdtempSync(path.join(os.tmpdir(), 'ar-provider-'));
	const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
	if (!existsSync(cert))
		execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
			'-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
	return { caFile: cert, key: readFileSync(key), cert: readFileSync(cert) };
}
after(() => dir && rmSync(dir, { recursive: true }));

async function tlsServer(t, create) {
	const { caFile, key, cert } = certificate();
	const tls = await start(0, { createServer: (listener) => create({ key, cert, allowHTTP1: true }, listener) });
	t.after(() => tls.close());
	return { tls, caFile, baseUrl: `https://127.0.0.1:${tls.port}/v1` };
}

const PATIENT = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 }; // hundreds at once are slow on a machine that has other work

// How many of the calls were being answered at one time.
function mostAtOnce(peer, run) {
	const calls = peer.log().filter((e) => e.turn.startsWith(`${run.turn}-`));
	return Math.max(...calls.map(({ startedAt }) => calls.filter((e) => e.startedAt <= startedAt && e.endedAt > startedAt).length));
}

test('HTTP/2: many streams share one connection, hundreds a few', async (t) => {
	const { tls, caFile, baseUrl } = await tlsServer(t, http2.createSecureServer);
	const some = await probe('[[tokens 10]] [[delay 20]]', { baseUrl, caFile, calls: 90, ...PATIENT });
	assert.equal(some.lines.filter((l) => l.outcome === 'completed').length, 90);
	assert.equal(portsOf(tls, some).size, 1);
	const many = await probe('[[tokens 10]] [[delay 20]]', { baseUrl, caFile, calls: 400, ...PATIENT });
	assert.equal(many.lines.filter((l) => l.outcome === 'completed').length, 400);
	assert.ok(portsOf(tls, many).size <= 10, `${portsOf(tls, many).size} connections`);
	assert.ok(tls.log().every((e) => e.httpVersion === '2.0'));
	const cut = await probe('[[cut 4]] [[tokens 10]]', { baseUrl, caFile });
	assertEnd(cut, { outcome: 'cut' });
	assertEnd(await probe('[[hang]]', { baseUrl, caFile, cancelAtMs: 300 }), { outcome: 'cancelled' });
});

test('HTTP/2: a server that allows few streams gets a few connections and no request twice', async (t) => {
	const settings = { maxConcurrentStreams: 4 };
	const { tls, caFile, baseUrl } = await tlsServer(t, (o, listener) => http2.createSecureServer({ ...o, settings }, listener));
	const run = await probe('[[tokens 10]] [[delay 20]]', { baseUrl, caFile, calls: 100 });
	const ends = run.lines.filter((l) => l.on === 'done');
	const completed = ends.filter((l) => l.outcome === 'completed').length;
	// Refused streams were not read; the runtime may try them again.
	assert.ok(ends.every((l) => l.outcome === 'completed' || (l.outcome === 'cut' && l.retryable)));
	assert.equal(tls.count().total, completed);
	// Ten at a time; one that refused is given up for another.
	assert.ok(portsOf(tls, run).size < 20, `${portsOf(tls, run).size} connections`);
});

test('HTTP/1.1 over TLS does not queue behind ten connections', async (t) => {
	const { tls, caFile, baseUrl } = await tlsServer(t, https.createServer);
	const run = await probe('[[tokens 20]] [[delay 100]]', { baseUrl, caFile, calls: 64, ...PATIENT });
	const ends = run.lines.filter((l) => l.on === 'done');
	assert.ok(ends.every((l) => l.outcome === 'completed'));
	assert.ok(mostAtOnce(tls, run) > 32, `at most ${mostAtOnce(tls, run)} of 64 at once`);
});

test('a certificate that nobody vouches for is refused', async (t) => {
	const { tls, baseUrl } = await tlsServer(t, https.createServer);
	const run = await probe('x', { baseUrl });
	assertEnd(run, { outcome: 'unreachable' });
	assert.match(run.done.message, /certificate/i);
	assert.equal(tls.count().total, 0);
});

test('a TLS handshake that is never answered ends at the connect time', async (t) => {
	const at = await rawServer(t, (socket) => socket.resume());
	await soon(2000, async () => {
		const run = await probe('x', { baseUrl: `https://${at}`, connectMs: 200 });
		assertEnd(run, { outcome: 'timeout', category: 'timeout', retryable: true });
		assert.ok(run.done.latencyMs >= 195, String(run.done.latencyMs));
		return run.done.latencyMs;
	});
});
