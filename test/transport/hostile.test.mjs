// Requests that must not get through, and requests that must, against the HTTP server with a fake core behind it.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { ask, get, json, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const start = `POST /v1/submit_turn HTTP/1.1\r\n${json}`;
const host = "Host: localhost\r\n";
const chunked = `${start}${host}Transfer-Encoding: chunked\r\n\r\n`;
const counted = (headers, body = "abcde") => `${start}${host}${headers}\r\n\r\n${body}`;

const mustReject = {
	"TE and CL": counted("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\nXXXXX"),
	"two different CL": counted("Content-Length: 5\r\nContent-Length: 6", "abcdef"),
	"CL +5": counted("Content-Length: +5"),
	"CL overflow": counted("Content-Length: 18446744073709551621"),
	"space before the colon of CL": counted("Content-Length : 5"),
	"space before the colon of TE": counted("Transfer-Encoding : chunked", "0\r\n\r\n"),
	"TE xchunked": counted("Transfer-Encoding: xchunked", "0\r\n\r\n"),
	"TE chunked, identity": counted("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
	"TE \\x0bchunked": counted("Transfer-Encoding: \x0bchunked", "0\r\n\r\n"),
	"TE twice": counted("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
	"chunk size overflow": `${chunked}fffffffffffffffff5\r\nabcde\r\n0\r\n\r\n`,
	"chunk 0x5": `${chunked}0x5\r\nabcde\r\n0\r\n\r\n`,
	"chunk -5": `${chunked}-5\r\nabcde\r\n0\r\n\r\n`,
	"chunk without its line end": `${chunked}5\r\nabcdeXX0\r\n\r\n`,
	"folded header": counted("X-A: 1\r\n 2\r\nContent-Length: 5"),
	"bare LF": "POST /v1/submit_turn HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nabcde",
	"bare CR": counted("X-A: 1\rX-B: 2\r\nContent-Length: 5"),
	"NUL": counted("X-A: a\0b\r\nContent-Length: 5"),
	"no Host": `${start}Content-Length: 5\r\n\r\nabcde`,
	"two Hosts": counted("Host: localhost\r\nContent-Length: 5"),
	"space in a name": counted("X A: 1\r\nContent-Length: 5"),
	"no colon": counted("XA\r\nContent-Length: 5"),
	"HTTP/2.7": `POST /v1/submit_turn HTTP/2.7\r\n${host}Content-Length: 5\r\n\r\nabcde`,
	// Beyond the measured 23.
	"two equal CL": counted("Content-Length: 5\r\nContent-Length: 5"),
	"CL 5,5": counted("Content-Length: 5,5"),
	"trailer fields": `${chunked}0\r\nX-A: 1\r\n\r\n`,
	"last chunk with bare LF": `${chunked}0\r\n\n`,
	"last chunk with CR and a byte": `${chunked}0\r\n\rX`,
	"TLS on the plain port": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"empty first line": `\r\n${counted("Content-Length: 5")}`,
	"authority as target": `CONNECT localhost:80 HTTP/1.1\r\n${host}\r\n`,
};

scenario("every ambiguous request is refused, answered once and the connection closed", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	for (const [name, bytes] of Object.entries(mustReject)) {
		const wire = await ask(probe.port, bytes);
		await wire.until((w) => w.closed);
		assert.deepEqual(wire.statuses, [name === "HTTP/2.7" ? 505 : 400], name);
		assert.match(wire.text, /"error":\{"code":/, name);
	}
	const counters = await probe.stop();
	assert.equal(counters.refused, Object.keys(mustReject).length);
	assert.equal(counters.requests, 0);
});

scenario("the sizes that a peer chooses are capped", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--body", "100000");
	const cases = {
		"header of 64 KiB": [counted(`X-A: ${"a".repeat(65536)}\r\nContent-Length: 5`), 431],
		"5000 headers": [counted("a: 1\r\n".repeat(5000) + "Content-Length: 5"), 431],
		"target of 32 KiB": [get(`/v1/sessions?${"a".repeat(32768)}`), 431],
		"header of 12 KiB": [counted(`X-A: ${"a".repeat(12000)}\r\nContent-Length: 2`, "{}"), 200],
		"declared body": [counted("Content-Length: 100001"), 413],
		"chunked body": [chunked + `4000\r\n${"a".repeat(0x4000)}\r\n`.repeat(8) + "0\r\n\r\n", 413],
		"body at the cap": [post(`"${"a".repeat(99998)}"`), 200],
	};
	for (const [name, [bytes, status]] of Object.entries(cases)) {
		const wire = await ask(probe.port, bytes);
		assert.deepEqual(wire.statuses, [status], name);
		wire.close();
	}
	await probe.stop();
});

scenario("a client that is refused in the middle of its body reads the answer, not a reset", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--body", "1000");
	const wire = new Wire(probe.port).send(counted("Content-Length: 8000000", "a".repeat(4000000)));
	await wire.until((w) => w.closed);
	assert.deepEqual(wire.statuses, [413]);
	await sleep(100);
	assert.equal(wire.error, undefined);
	wire.close();
	await probe.stop();
});

scenario("slow requests end at an absolute deadline however they drip", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--header-ms", "700", "--body-ms", "700", "--keepalive-ms", "700");
	const drip = async (prefix, byte, expected) => {
		const wire = new Wire(probe.port), began = Date.now();
		if (prefix) wire.send(prefix);
		while (!wire.closed && Date.now() - began < 30000) {
			if (byte && !wire.socket.destroyed && wire.socket.writable) wire.send(byte);
			await sleep(100);
		}
		const took = Date.now() - began;
		assert.ok(wire.closed && took >= 600, `took ${took} ms`);
		assert.deepEqual(wire.statuses, expected);
		wire.close();
	};
	await Promise.all([
		drip(`${start}${host}X-A: `, "a", [408]),
		drip(counted("Content-Length: 50000", ""), "a", [408]),
		drip("", "", []),
		drip(get("/health"), "", [200]),
	]);
	assert.equal((await probe.stop()).connections, 0);
});

scenario("nobody is ended for a pause of the server: what came meanwhile is read first", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--header-ms", "5000");
	const wire = new Wire(probe.port);
	wire.send(`GET /health HTTP/1.1\r\n`);
	await ask(probe.port, get("/health"));
	probe.signal("SIGSTOP");
	wire.send(`${host}\r\n`);
	await sleep(6500);
	probe.signal("SIGCONT");
	await wire.until((w) => w.statuses.length === 1);
	assert.deepEqual(wire.statuses, [200]);
	wire.close();
	assert.equal((await probe.stop()).timeouts, 0);
});

scenario("requests that must work do", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const body = '{"input":[]}', echoed = `{"command":"submit_turn","input":${body}}`;
	const plain = await ask(probe.port, post(body) + post(body) + post(body), 3);
	assert.deepEqual(plain.statuses, [200, 200, 200]);
	assert.equal(plain.text.split(echoed).length, 4);
	assert.equal(plain.closed, false);
	plain.send(get("/health"));
	await plain.until((w) => w.statuses.length === 4 && w.text.endsWith('{"status":"ok"}'));
	plain.close();

	const old = await ask(probe.port, `POST /v1/submit_turn HTTP/1.0\r\n${json}Content-Length: ${body.length}\r\n\r\n${body}`);
	await old.until((w) => w.closed);
	assert.match(old.text, /^HTTP\/1\.1 200 .*Connection: close\r\n/s);

	const pieces = await ask(probe.port, `${chunked}5;x=y\r\n{"inp\r\n7\r\nut":[]}\r\n0\r\n\r\n`);
	assert.ok(pieces.text.endsWith(echoed));

	const absolute = await ask(probe.port, `GET http://127.0.0.1:${probe.port}/v1/sessions?limit=3 HTTP/1.1\r\n${host}\r\n`);
	assert.ok(absolute.text.endsWith('{"command":"list_sessions","input":{"limit":3}}'));

	const patient = new Wire(probe.port).send(`${start}${host}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
	await patient.until((w) => w.text === "HTTP/1.1 100 Continue\r\n\r\n");
	await patient.send("{}").until((w) => w.statuses.length === 2);
	assert.deepEqual(patient.statuses, [100, 200]);
	assert.deepEqual((await ask(probe.port, counted("Expect: miracles\r\nContent-Length: 5"))).statuses, [417]);

	const upgrade = await ask(probe.port, get("/ready", "Connection: Upgrade\r\nUpgrade: h2c\r\n"));
	assert.ok(upgrade.text.endsWith('{"status":"ready"}'));
	for (const wire of [pieces, absolute, patient, upgrade]) wire.close();
	await probe.stop();
});

scenario("unknown paths, wrong methods and wrong types are answered in words and keep the connection", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const wire = new Wire(probe.port);
	const cases = [
		[get("/nope"), 404, /"code":"not_found"/],
		[post("{}", { path: "/v1/nope" }), 404, /"code":"not_found"/],
		[get("/v1/submit_turn"), 405, /\r\nAllow: POST\r\n/],
		[post("{}", { path: "/health" }), 405, /\r\nAllow: GET\r\n/],
		[get("/v1/sessions?limit=x"), 400, /parameter 'limit' is of the wrong type/],
		[get("/v1/sessions?nope=x"), 400, /parameter 'nope' is unknown/],
		[`HEAD /health HTTP/1.1\r\n${host}\r\n`, 405, /Content-Length: 0\r\n[^{]*\r\n\r\n$/],
		[post("{}", { type: "Content-Type: application/json ;charset=utf-8\r\n" }), 200, /./],
	];
	for (const [bytes, status, pattern] of cases) {
		wire.text = "";
		await wire.send(bytes).until((w) => w.statuses.length === 1);
		assert.equal(wire.statuses[0], status, bytes);
		assert.match(wire.text, pattern);
	}
	wire.close();
	for (const type of ["", "Content-Type: text/plain\r\n", "Content-Type:\r\n", "Content-Type: application/json-x\r\n", "Content-Type: text/plain; a=application/json\r\n"])
		for (const [path, body] of [["/v1/submit_turn", "{}"], ["/v1/nodes/drain", ""]]) {
			const form = await ask(probe.port, post(body, { path, type }));
			assert.deepEqual(form.statuses, [415], type);
			assert.match(form.text, /Content-Type: application\/json/);
			form.close();
		}
	await probe.stop();
});

scenario("a page from elsewhere does not reach a loopback server", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const request = (name, more = "", target = "/health") => `GET ${target} HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`;
	const cases = [
		[request("localhost:7717"), 200],
		[request("127.0.0.1"), 200],
		[request("[::1]:1"), 200],
		[request("evil.example"), 403],
		[request("127.0.0.1.nip.io"), 403],
		[request(""), 403],
		[request("localhost", "", "http://evil.example/health"), 403],
		[request("localhost", "Origin: http://localhost:3000\r\n"), 401],
		[request("localhost", "Origin: http://localhost:3000\r\nAuthorization: Bearer x\r\n"), 200], // whether it is good, the door judges
		[request("localhost", "Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\nAuthorization: Bearer x\r\n"), 403],
		[request("localhost", "Sec-Fetch-Site: cross-site\r\n"), 403],
		[request("localhost", "Sec-Fetch-Site: same-site\r\nAuthorization: Bearer x\r\n"), 403],
		[request("localhost", "Sec-Fetch-Site: none\r\n"), 200],
		[request("localhost", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"), 400],
		[request("localhost", "Origin: https://evil.example\r\n"), 403],
		[request("localhost", "Origin: null\r\n"), 403],
		[request("localhost", "Origin: null\r\nAuthorization: Bearer x\r\n"), 403],
	];
	for (const [bytes, status] of cases) {
		const wire = await ask(probe.port, bytes);
		assert.deepEqual(wire.statuses, [status], bytes);
		wire.close();
	}
	await probe.stop();
});

scenario("pipelined requests are answered in order while calls take their time", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const delays = [60, 0, 30, 0, 0, 10];
	const bytes = delays.map((delay, i) => post(`{"n":"<${i}>","delayMs":${delay}}`)).join("");
	const wire = await ask(probe.port, bytes, delays.length);
	assert.deepEqual([...wire.text.matchAll(/<(\d)>/g)].map((m) => Number(m[1])), [0, 1, 2, 3, 4, 5]);
	wire.close();
	const many = await ask(probe.port, post("{}").repeat(2000), 2000);
	assert.equal(many.statuses.length, 2000);
	many.close();
	await probe.stop();
});

scenario("a head that comes again and again is answered by what stands behind it", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const say = (n) => post(`{"n":"<${n}>"}`);
	const wire = new Wire(probe.port);
	const answers = (w) => [...w.text.matchAll(/<(\d+)>/g)].map((m) => Number(m[1]));
	const answered = (count) => wire.until((w) => answers(w).length === count);
	for (let n = 10; n < 20; n++) {
		wire.send(say(n));
		await answered(n - 9);
	}
	// The same bytes in two portions, cut wherever they can be; whole and cut ones take turns.
	const bytes = say(20);
	for (let at = 1; at < bytes.length; at++) {
		const n = 20 + (at % 70);
		wire.send(say(n).slice(0, at));
		await sleep(1);
		wire.send(say(n).slice(at) + say(n));
		await answered(10 + 2 * at);
	}
	assert.equal(answers(wire).at(-1), 20 + ((bytes.length - 1) % 70));
	// Behind each other, with calls that take their time, other heads in between, and a longer body.
	wire.text = "";
	wire.send(post('{"n":"<1>","delayMs":40}') + say(22) + post('{"n":"<3333333>"}') + say(44) + say(55) + post('{"n":"<6>"}', { headers: "X-Other: 1\r\n" }));
	await answered(6);
	assert.deepEqual(answers(wire), [1, 22, 3333333, 44, 55, 6]);
	wire.close();
	const counters = await probe.stop();
	assert.equal(counters.refused, 0);
});

scenario("a known head gives no right to what follows it", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const wire = new Wire(probe.port);
	const good = post('{"n":"<1>"}');
	for (let n = 1; n <= 5; n++) {
		wire.send(good);
		await wire.until((w) => w.text.split("<1>").length === n + 1);
	}
	wire.text = "";
	wire.send(`${good}GARBAGE \x01\r\n\r\n`);
	await wire.until((w) => w.closed);
	assert.equal(wire.text.split("<1>").length, 2);
	assert.match(wire.text, /HTTP\/1.1 400 /);
	// And another connection is read from its first byte on.
	const other = await ask(probe.port, good.replace("Host: localhost", "Host: elsewhere.example"), 1);
	assert.match(other.text, /HTTP\/1.1 4\d\d /);
	await probe.stop();
});

scenario("a client that has said all it has to say still gets its answer", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const wire = new Wire(net.connect({ port: probe.port, host: "127.0.0.1", allowHalfOpen: true }));
	wire.send(post('{"n":"<7>","delayMs":120}'));
	wire.socket.end();
	await wire.until((w) => w.closed);
	assert.match(wire.text, /^HTTP\/1.1 200 OK[^]*<7>/);
	await probe.stop();
});

scenario("a client that leaves while its call is in flight costs nothing", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	for (let i = 0; i < 20; i++) {
		const wire = new Wire(probe.port).send(post('{"delayMs":150}') + post('{"delayMs":1}'));
		await sleep(10);
		if (i % 2) wire.socket.resetAndDestroy(); else wire.close();
	}
	(await ask(probe.port, post('{"delayMs":300}'))).close(); // began after all of them and takes longer
	await probe.connections(0);
	const late = new Wire(probe.port).send(post('{"delayMs":300}'));
	await probe.connections(1);
	const counters = await probe.stop();
	late.close();
	assert.ok(counters.connections <= 1, `${counters.connections} connections are left`);
});

scenario("a big reply reaches a slow reader whole, a reader that stops is cut", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "700");
	const wire = new Wire(probe.port);
	wire.send(post('{"replyBytes":20000000}'));
	await wire.until((w) => w.text.length > 20000000, 60000);
	wire.send(get("/health"));
	await wire.until((w) => w.text.endsWith('{"status":"ok"}'));
	assert.equal(wire.text.indexOf("HTTP/1.1 200", 1) - wire.text.indexOf("\r\n\r\n"), 20000004);
	wire.close();
	const stuck = new Wire(probe.port);
	stuck.socket.pause();
	stuck.send(post('{"replyBytes":20000000}'));
	await probe.connections(1);
	await probe.connections(0);
	const counters = await probe.stop();
	stuck.close();
	assert.equal(counters.timeouts, 1);
	assert.equal(counters.connections, 0);
});

scenario("connections over the cap are turned away, and so are those without a descriptor", async () => {
	const capped = await startProbe("--listen", "127.0.0.1:0", "--connections", "3");
	const held = [];
	for (let i = 0; i < 3; i++) held.push(await ask(capped.port, get("/health")));
	assert.deepEqual((await ask(capped.port, get("/health"))).statuses, [503]);
	held[0].close();
	await capped.connections(2);
	assert.deepEqual((await ask(capped.port, get("/health"))).statuses, [200]);
	held.forEach((wire) => wire.close());
	assert.equal((await capped.stop()).turnedAway, 1);

	const poor = await startProbe("--listen", "127.0.0.1:0", "--descriptors", "40");
	const wires = Array.from({ length: 60 }, () => new Wire(poor.port).send(get("/health")));
	for (const wire of wires) await wire.until((w) => w.closed || w.statuses.length);
	const answered = wires.filter((w) => w.statuses[0] === 200).length;
	assert.ok(answered > 10 && answered < 40, `${answered} answered`);
	assert.equal(wires.filter((w) => w.statuses.length === 0 && !w.closed).length, 0);
	wires.forEach((wire) => wire.close());
	await poor.connections(0);
	assert.deepEqual((await ask(poor.port, get("/health", "Connection: close\r\n"))).statuses, [200]);
	await poor.stop();
});

scenario("only loopback addresses are served", async () => {
	for (const address of ["0.0.0.0:0", "[::]:0", "192.168.1.1:80", "example.com:80", "127.0.0.1", "nonsense"]) {
		const probe = await startProbe("--listen", address);
		assert.ok(probe.failed, address);
		assert.equal(probe.code, 1);
		assert.ok(probe.complaint.includes(address), probe.complaint);
	}
	const six = await startProbe("--listen", "[::1]:0");
	assert.ok(six.port > 0);
	const taken = await startProbe("--listen", `[::1]:${six.port}`);
	assert.match(taken.complaint, /cannot listen on .*already in use/);
	await six.stop();
});

scenario("the unix socket is ours alone, replaces a dead one and respects a live one", async (t) => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), "transport-"));
	t.after(() => fs.rmSync(dir, { recursive: true }));
	const at = path.join(dir, "run", "agentd.sock");
	let probe = await startProbe("--socket", at);
	assert.equal(probe.port, 0);
	assert.equal(fs.statSync(at).mode & 0o777, 0o600);
	assert.equal(fs.statSync(path.dirname(at)).mode & 0o777, 0o700);
	const wire = await ask(at, "GET /health HTTP/1.1\r\nHost: anything\r\n\r\n");
	assert.deepEqual(wire.statuses, [200]);
	wire.close();
	const second = await startProbe("--socket", at);
	assert.ok(second.failed);
	assert.ok(second.complaint.includes(at) && /running process/.test(second.complaint), second.complaint);
	probe.signal("SIGKILL");
	await probe.ended;
	assert.ok(fs.existsSync(at));
	probe = await startProbe("--socket", at);
	assert.deepEqual((await ask(at, "GET /health HTTP/1.0\r\n\r\n")).statuses, [200]);
	await probe.stop();
	assert.ok(!fs.existsSync(at));
	fs.writeFileSync(at, "");
	assert.match((await startProbe("--socket", at)).complaint, /is not a socket/);
	fs.chmodSync(path.dirname(at), 0o755);
	assert.match((await startProbe("--socket", at)).complaint, /mode 0700/);
	assert.match((await startProbe("--socket", path.join(dir, "x".repeat(120)))).complaint, /longer than/);
});
