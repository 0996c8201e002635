// TLS in front of the HTTP server, with OpenSSL, curl and node as peers.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { promisify } from "node:util";
import { Pki } from "./pki.mjs";
import { ask, binary, get, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const run = promisify(execFile);

// A raw connection under TLS; everything else as Wire has it.
class TlsWire extends Wire {
	constructor(port, options) {
		super(tls.connect({ port, host: "127.0.0.1", servername: "localhost", ...options }));
	}
}

const askTls = async (port, options, bytes, count = 1) => {
	const wire = new TlsWire(port, options).send(bytes);
	await wire.until((w) => w.closed || w.statuses.length >= count);
	return wire;
};
const serial = (wire) => wire.socket.getPeerCertificate().serialNumber;
const ids = (w) => [...w.text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1]));

scenario("curl and node speak to it, small and large, kept alive and pipelined", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const curl = await run("curl", ["-sS", "--http1.1", "--cacert", pki.at("server.pem"), `https://localhost:${probe.port}/health`,
		`https://localhost:${probe.port}/ready`, "-w", "[%{num_connects}]"]);
	assert.equal(curl.stdout, '{"status":"ok"}[1]{"status":"ready"}[0]');
	const ca = pki.read("server.pem");
	const wire = await askTls(probe.port, { ca }, post('{"n":"<0>","delayMs":40}') + post('{"n":"<1>"}') + post('{"n":"<2>"}'), 3);
	assert.deepEqual([...wire.text.matchAll(/<(\d)>/g)].map((m) => Number(m[1])), [0, 1, 2]);
	assert.equal(wire.socket.getProtocol(), "TLSv1.3");
	wire.text = "";
	wire.send(post('{"replyBytes":20000000}'));
	await wire.until((w) => w.text.length > 20000000);
	wire.text = "";
	const big = `"${"b".repeat(900000)}"`;
	wire.send(post(big));
	await wire.until((w) => w.text.endsWith(`${big}}`));
	wire.close();
	assert.equal((await probe.stop()).tlsFailed, 0);
});

scenario("an older TLS, an unknown protocol, plain HTTP and garbage get no further than the handshake", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const old = await run("openssl", ["s_client", "-connect", `127.0.0.1:${probe.port}`, "-tls1_2"]).catch((e) => e);
	assert.match(old.stderr, /alert protocol version/);
	const alpn = await run("openssl", ["s_client", "-connect", `127.0.0.1:${probe.port}`, "-alpn", "smtp"]).catch((e) => e);
	assert.match(alpn.stderr, /no application protocol/);
	const plain = await ask(probe.port, get("/health"));
	assert.deepEqual(plain.statuses, [400]);
	assert.match(plain.text, /this address requires https/);
	const garbage = new Wire(probe.port).send("\x16\x03\x01\xff\xff" + "A".repeat(70000));
	await garbage.until((w) => w.closed);
	const counters = await probe.stop();
	assert.equal(counters.tlsFailed, 4);
	assert.equal(counters.requests, 0);
});

scenario("a handshake that is slow, cut or never begun ends at its deadline and holds nobody up", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", "--header-ms", "1500", ...pki.flags());
	const hello = await clientHello(probe.port);
	let dripped = 0;
	const silent = new Wire(probe.port), half = new Wire(probe.port).send(hello.slice(0, 100)), drip = new Wire(probe.port);
	const dripping = (async () => {
		for (; dripped < hello.length && !drip.closed; dripped++) {
			drip.send(hello[dripped]);
			await sleep(50);
		}
	})();
	const cut = new Wire(probe.port).send(hello.slice(0, 200));
	await sleep(50);
	cut.socket.resetAndDestroy();
	const healthy = await askTls(probe.port, { ca: pki.read("server.pem") }, get("/health"));
	assert.deepEqual(healthy.statuses, [200]);
	assert.ok(![silent, half, drip].some((w) => w.closed), "a healthy client waited for the others");
	for (const wire of [silent, half, drip]) await wire.until((w) => w.closed);
	await dripping;
	assert.ok(dripped < hello.length / 2, `${dripped} of ${hello.length} bytes were waited for`);
	healthy.close();
	assert.equal((await probe.stop()).timeouts, 3);
});

// What a client says first, as bytes.
async function clientHello(port) {
	let bytes = "";
	const server = net.createServer((socket) => socket.setEncoding("latin1").on("data", (text) => { bytes += text; }));
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	const client = tls.connect({ port: server.address().port, host: "127.0.0.1" });
	client.on("error", () => {});
	while (!bytes) await sleep(5);
	client.destroy();
	server.close();
	return bytes;
}

scenario("certificates are replaced under living connections, by signal and by looking", async () => {
	const pki = new Pki().root("one").root("two").deploy("one");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const trust = { ca: [pki.read("one.pem"), pki.read("two.pem")] };
	const stream = new TlsWire(probe.port, trust).send(get("/v1/sessions/s/events"));
	await stream.until((w) => w.text.includes("\r\n\r\n"));
	const kept = await askTls(probe.port, trust, get("/health"));
	const first = serial(kept);
	pki.deploy("two");
	probe.signal("SIGHUP");
	await probe.notice(1);
	const second = await askTls(probe.port, trust, get("/health"));
	assert.notEqual(serial(second), first);
	await kept.send(post('{"publish":2,"bytes":10}')).until((w) => w.statuses.length === 2);
	await stream.until((w) => ids(w).length === 2);

	// Half a deployment: the key of another certificate. What was there stays, and it is said.
	fs.copyFileSync(pki.at("one.key"), pki.at("server.key"));
	assert.match(JSON.stringify(await probe.notice(2)), /tls\.key.*"bad":true/);
	assert.equal(serial(await askTls(probe.port, trust, get("/health"))), serial(second));
	pki.deploy("one");
	await probe.notice(3);
	assert.equal(serial(await askTls(probe.port, trust, get("/health"))), first);
	await kept.send(post('{"publish":1,"bytes":10}')).until((w) => w.statuses.length === 3);
	await stream.until((w) => ids(w).length === 3);
	assert.equal(stream.closed, false);
	stream.close();
	kept.close();
	const counters = await probe.stop();
	assert.ok(counters.tlsReloads >= 2);
});

scenario("a client certificate is asked for, and one that nobody signed is refused", async () => {
	const pki = new Pki().root("server").root("ca").root("elsewhere").issue("alice", "ca").issue("mallory", "elsewhere");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags(), "--client-ca", pki.at("ca.pem"));
	const ca = pki.read("server.pem");
	const as = (name) => ({ ca, cert: pki.read(`${name}.pem`), key: pki.read(`${name}.key`) });
	assert.deepEqual((await askTls(probe.port, as("alice"), get("/health"))).statuses, [200]);
	assert.deepEqual((await askTls(probe.port, { ca }, get("/health"))).statuses, [200]);
	const stranger = await askTls(probe.port, as("mallory"), get("/health"));
	assert.deepEqual(stranger.statuses, []);
	assert.ok(stranger.closed);
	assert.equal((await probe.stop()).tlsFailed, 1);
});

scenario("a session is resumed by its ticket, and not with another server's", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const other = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const ca = pki.read("server.pem");
	const first = new TlsWire(probe.port, { ca });
	const session = new Promise((resolve) => first.socket.once("session", resolve));
	await first.send(get("/health")).until((w) => w.statuses.length === 1);
	const again = await askTls(probe.port, { ca, session: await session }, get("/health"));
	assert.equal(again.socket.isSessionReused(), true);
	const elsewhere = await askTls(other.port, { ca, session: await session }, get("/health"));
	assert.equal(elsewhere.socket.isSessionReused(), false);
	assert.deepEqual(elsewhere.statuses, [200]);
	for (const wire of [first, again, elsewhere]) wire.close();
	await probe.stop();
	await other.stop();
});

scenario("a reader that stops is cut under TLS too, the others get everything", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "1000", ...pki.flags());
	const ca = pki.read("server.pem");
	const follow = async () => {
		const wire = new TlsWire(probe.port, { ca }).send(get("/v1/sessions/s/events"));
		return wire.until((w) => w.text.includes("\r\n\r\n"));
	};
	const healthy = await follow(), stuck = await follow(), publisher = new TlsWire(probe.port, { ca });
	stuck.socket.pause();
	for (let i = 0; i < 20; i++) {
		publisher.text = "";
		await publisher.send(post('{"publish":100,"bytes":2000}')).until((w) => w.statuses.length === 1);
		await healthy.until((w) => ids(w).length >= (i + 1) * 100);
	}
	await probe.connections(2);
	for (const wire of [healthy, publisher]) wire.close();
	await probe.connections(0);
	const counters = await probe.stop();
	stuck.close();
	assert.equal(counters.streamsCut, 1);
	assert.equal(counters.connections, 0);
});

scenario("drain ends a stream with a retry line and a clean close", async () => {
	const pki = new Pki().root("server");
	const probe = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const reader = new TlsWire(probe.port, { ca: pki.read("server.pem") }).send(get("/v1/sessions/s/events"));
	await reader.until((w) => w.text.includes("\r\n\r\n"));
	const stopped = probe.stop("SIGTERM");
	await reader.until((w) => w.closed);
	assert.ok(reader.text.endsWith("retry: 1000\n\n"));
	assert.equal(reader.error, undefined);
	reader.close();
	await stopped;
});

scenario("an address of the network needs TLS and callers who show who they are", async (t) => {
	const pki = new Pki().root("server", { names: "DNS:agents.example,DNS:localhost" });
	const refused = async (...more) => (await startProbe("--listen", "0.0.0.0:0", ...more)).complaint;
	assert.match(await refused(), /set tls\.certificate, tls\.key and auth\.required/);
	assert.match(await refused("--guarded"), /set tls\.certificate and tls\.key/);
	assert.match(await refused(...pki.flags()), /set auth\.required/);
	assert.match((await startProbe("--listen", "127.0.0.1:0", "--certificate", pki.at("server.pem"))).complaint, /go together/);
	assert.match((await startProbe("--listen", "127.0.0.1:0", "--certificate", "/nonexistent", "--certificate-key", "x")).complaint,
		/tls\.certificate '\/nonexistent' cannot be used/);
	// In a network of its own, whose only address beside loopback is ours.
	const script = `ip link set lo up && ip addr add 192.0.2.7/32 dev lo || exit 77
		"$@" --listen 192.0.2.7:8443 --guarded --hosts alias.example >/dev/null & server=$!
		ask() { curl -sk -o /dev/null -w "%{http_code} " "$@" https://192.0.2.7:8443/health; }
		for try in 1 2 3 4 5 6 7 8 9; do ask | grep -q 200 && break; sleep 0.1; done
		ask; ask -H "Host: agents.example"; ask -H "Host: ALIAS.example:443"; ask -H "Host: evil.example"
		ask -H "Host: agents.example" -H "Origin: https://agents.example"
		ask -H "Host: agents.example" -H "Origin: https://agents.example" -H "Authorization: Bearer x"
		ask -H "Host: agents.example" -H "Origin: http://agents.example"
		ask -H "Host: agents.example" -H "Origin: http://localhost:3000"
		kill $server; wait $server`;
	const seen = await run("unshare", ["--map-root-user", "--net", "sh", "-c", script, "sh", binary, ...pki.flags()]).catch((e) => e);
	if (seen.code === 77 || /unshare/.test(seen.stderr)) return t.skip("no network namespace can be made here");
	assert.equal(seen.stdout, "200 200 200 403 401 200 403 403 ", seen.stderr);
});

scenario("pages of the listed origins may ask and read, no others", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--origins", "https://console.example https://other.example:8443");
	const from = (origin, method = "GET", more = "") => ask(probe.port,
		`${method} /health HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\n${more}\r\n`);
	const listed = await from("https://console.example");
	assert.match(listed.text, /^HTTP\/1\.1 200 .*Access-Control-Allow-Origin: https:\/\/console\.example\r\nVary: Origin\r\n/s);
	assert.deepEqual((await from("https://console.example.evil.example")).statuses, [403]);
	assert.deepEqual((await from("https://other.example")).statuses, [403]);
	const local = await from("http://localhost:3000", "GET", "Authorization: Bearer x\r\n");
	assert.deepEqual(local.statuses, [200]);
	// What a browser says of a page that is listed: it needs a token, and may read that it does.
	const bare = await from("https://console.example", "GET", "Sec-Fetch-Site: cross-site\r\n");
	assert.match(bare.text, /^HTTP\/1\.1 401 .*Access-Control-Allow-Origin: https:\/\/console\.example\r\n.*WWW-Authenticate: Bearer\r\n.*agentctl token create/s);
	const shown = await from("https://console.example", "GET", "Sec-Fetch-Site: cross-site\r\nAuthorization: Bearer x\r\n");
	assert.deepEqual(shown.statuses, [200]);
	assert.doesNotMatch(local.text, /Access-Control/);
	const preflight = await from("https://other.example:8443", "OPTIONS",
		"Sec-Fetch-Site: cross-site\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n");
	assert.match(preflight.text, /^HTTP\/1\.1 200 .*Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Allow-Headers: authorization, /s);
	assert.deepEqual((await from("http://localhost:3000", "OPTIONS", "Access-Control-Request-Method: POST\r\n")).statuses, [401]);
	const stream = await ask(probe.port, `GET /v1/sessions/s/events HTTP/1.1\r\nHost: localhost\r\nOrigin: https://console.example\r\n\r\n`);
	assert.match(stream.text, /text\/event-stream\r\n.*Access-Control-Allow-Origin: https:\/\/console\.example\r\n/s);
	for (const wire of [listed, local, bare, shown, preflight, stream]) wire.close();
	for (const bad of ["console.example", "https://a/b", "ftp://a"])
		assert.match((await startProbe("--listen", "127.0.0.1:0", "--origins", bad)).complaint, /is not an origin/);
	assert.match((await startProbe("--listen", "127.0.0.1:0", "--hosts", "https://a")).complaint, /is not a name/);
	await probe.stop();
});
