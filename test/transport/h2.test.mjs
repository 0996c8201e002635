// HTTP/2: the same commands and streams as HTTP/1, many on one connection, with curl and node as peers.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import http2 from "node:http2";
import { promisify } from "node:util";
import { field, frame, FLAG, H2Wire, PREFACE, TYPE, u32 } from "./h2wire.mjs";
import { startPeer, streamHead } from "./peer.mjs";
import { Pki } from "./pki.mjs";
import { ask, get, onEnd, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const run = promisify(execFile);

class Client {
	constructor(port, url = `http://127.0.0.1:${port}`, options = {}) {
		this.session = http2.connect(url, options);
		this.session.on("error", (error) => { this.error = error; });
		this.session.on("goaway", (code) => { this.goaway = code; });
		this.session.on("close", () => { this.closed = true; });
		onEnd(() => this.session.destroy());
	}
	// An open stream: {headers, text, ended, code} grow as it goes.
	open(headers, body) {
		const stream = this.session.request(headers, { endStream: body === undefined });
		const seen = { stream, text: "", done: new Promise((resolve) => stream.on("close", resolve)) };
		stream.setEncoding("latin1");
		stream.on("response", (head) => { seen.headers = head; seen.status = head[":status"]; });
		stream.on("data", (text) => { seen.text += text; });
		stream.on("end", () => { seen.ended = true; });
		stream.on("error", (error) => { seen.error = error; });
		if (body !== undefined) stream.end(body);
		return seen;
	}
	async ask(headers, body) {
		const seen = this.open(headers, body);
		await seen.done;
		return seen;
	}
	command(body, name = "submit_turn") {
		return this.ask({ ":method": "POST", ":path": `/v1/${name}`, "content-type": "application/json" }, body);
	}
	events(more = {}) { return this.open({ ":path": "/v1/sessions/s/events", ...more }); }
	close() { this.session.destroy(); }
}

const until = async (condition, ms = 30000) => {
	for (const end = Date.now() + ms; !condition(); await sleep(5)) assert.ok(Date.now() < end, `not within ${ms} ms: ${condition}`);
};
const ids = (seen) => [...seen.text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1]));
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

scenario("curl speaks it, known beforehand and agreed under TLS", async () => {
	const plain = await startProbe("--listen", "127.0.0.1:0");
	const curl = async (...args) => (await run("curl", ["-sS", "-w", "|%{http_version} %{http_code}", ...args])).stdout;
	assert.equal(await curl("--http2-prior-knowledge", `http://127.0.0.1:${plain.port}/health`), '{"status":"ok"}|2 200');
	assert.equal(await curl("--http2-prior-knowledge", "-H", "content-type: application/json", "-d", '{"input":[]}', `http://127.0.0.1:${plain.port}/v1/submit_turn`),
		'{"command":"submit_turn","input":{"input":[]}}|2 200');
	assert.equal(await curl(`http://127.0.0.1:${plain.port}/health`), '{"status":"ok"}|1.1 200');
	assert.equal((await plain.stop()).requests, 3);
	const pki = new Pki().root("server");
	const sealed = await startProbe("--listen", "127.0.0.1:0", ...pki.flags());
	const at = [`https://localhost:${sealed.port}/health`, `https://localhost:${sealed.port}/ready`];
	assert.equal(await curl("--cacert", pki.at("server.pem"), ...at), '{"status":"ok"}|2 200{"status":"ready"}|2 200');
	assert.equal(await curl("--http1.1", "--cacert", pki.at("server.pem"), at[0]), '{"status":"ok"}|1.1 200');
	assert.equal((await sealed.stop()).accepted, 2);
});

scenario("a hundred calls at once on one connection are answered as each is done", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const client = new Client(probe.port);
	const began = Date.now();
	const all = await Promise.all(range(1, 100).map((n) => client.command(`{"n":"<${n}>","delayMs":${n % 2 ? 300 : 0}}`)));
	assert.deepEqual(all.map((seen, i) => [seen.status, seen.text.includes(`<${i + 1}>`)]), all.map(() => [200, true]));
	assert.ok(Date.now() - began < 12000, "they waited for each other");
	const [big, small] = await Promise.all([client.command('{"replyBytes":20000000}'), client.ask({ ":path": "/health" })]);
	assert.equal(big.text.length, 20000000);
	assert.equal(small.text, '{"status":"ok"}');
	const body = `"${"b".repeat(3000000)}"`;
	assert.ok((await client.command(body)).text.endsWith(`${body}}`));
	client.close();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.requests, 103);
	assert.equal(counters.accepted, 1);
	assert.equal(counters.connections, 0);
});

scenario("what is refused is refused in the same words, and the connection goes on", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--body", "100000", "--origins", "https://console.example");
	const client = new Client(probe.port);
	const json = { ":method": "POST", ":path": "/v1/submit_turn", "content-type": "application/json" };
	const cases = [
		[{ ":path": "/nope" }, undefined, 404, /not_found/],
		[{ ":path": "/v1/submit_turn" }, undefined, 405, /method_not_allowed/],
		[{ ":path": "/v1/sessions?limit=x" }, undefined, 400, /parameter 'limit'/],
		[{ ":path": "/health", ":authority": "evil.example" }, undefined, 403, /http\.hosts/],
		[{ ":path": "/health", origin: "https://evil.example" }, undefined, 403, /http\.origins/],
		[{ ...json, "content-type": "text/plain" }, "{}", 415, /application\/json/],
		[json, "a".repeat(100001), 413, /payload_too_large/],
		[{ ...json, "content-length": "100001" }, "a".repeat(100001), 413, /payload_too_large/],
		[{ ":path": "/health", "x-big": "a".repeat(17000) }, undefined, 431, /header_too_large/],
		[{ ":path": "/health", "last-event-id": ["1", "2"] }, undefined, 400, /sent twice/],
		[{ ":path": "/health", host: "evil.example" }, undefined, 403, /http\.hosts/],
		[{ ":path": "/health#x" }, undefined, 400, /percent-encoded/],
		[{ ...json, expect: "miracles" }, "{}", 417, /100-continue/],
		[{ ":path": "/v1/rpc" }, undefined, 0, /./],
	];
	for (const [headers, body, status, pattern] of cases) {
		const seen = await client.ask(headers, body);
		if (status) assert.equal(seen.status, status, JSON.stringify(headers).slice(0, 100));
		else assert.ok(seen.status >= 400, `/v1/rpc: ${seen.status}`);
		assert.match(seen.text, pattern);
	}
	const shared = await client.ask({ ":path": "/health", origin: "https://console.example" });
	assert.equal(shared.headers["access-control-allow-origin"], "https://console.example");
	const allowed = await client.ask({ ":path": "/v1/submit_turn" });
	assert.equal(allowed.headers.allow, "POST");
	const patient = client.open({ ...json, expect: "100-continue" }, undefined);
	await patient.done;
	client.close();
	assert.equal((await probe.stop()).accepted, 1);
});

scenario("a refusal that comes before the end of the body is no failure of the stream: the rest is let come, and only who never ends is told to stop", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--body", "20000");
	const wire = new H2Wire(probe.port);
	const answered = (id) => wire.until((w) => w.of(TYPE.DATA, id).some((f) => f.flags & FLAG.END_STREAM));
	const begin = (id) => wire.ask(id, "/v1/submit_turn", { method: "POST", more: [field("content-type", "text/plain")], end: false });
	for (const [id, size] of [[1, 2], [5, 16000]]) {
		begin(id);
		await answered(id);
		assert.match(wire.data(id), /unsupported_media_type/);
		wire.send(frame(TYPE.DATA, 0, id, Buffer.alloc(size)), frame(TYPE.DATA, FLAG.END_STREAM, id));
		wire.ask(id + 2, "/health");
		await wire.until((w) => w.data(id + 2) === '{"status":"ok"}');
		assert.equal(wire.of(TYPE.RST, id).length, 0);
	}
	begin(301);
	await answered(301);
	for (let i = 0; i < 2; i++) wire.send(frame(TYPE.DATA, 0, 301, Buffer.alloc(13000))); // more than any body, within the window
	begin(303);
	await answered(303);
	for (const id of [301, 303]) {
		await wire.until((w) => w.of(TYPE.RST, id).length);
		assert.equal(wire.of(TYPE.RST, id)[0].payload.readUInt32BE(0), 0, "NO_ERROR");
	}
	wire.ask(305, "/health");
	await wire.until((w) => w.data(305) === '{"status":"ok"}');
	wire.close();
	await probe.stop();
});

scenario("an expectation is answered before the body", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const client = new Client(probe.port);
	const stream = client.session.request({ ":method": "POST", ":path": "/v1/submit_turn", "content-type": "application/json", expect: "100-continue" });
	let text = "";
	stream.setEncoding("latin1").on("data", (part) => { text += part; });
	await new Promise((resolve) => stream.on("continue", resolve));
	stream.end('{"late":1}');
	await new Promise((resolve) => stream.on("close", resolve));
	assert.equal(text, '{"command":"submit_turn","input":{"late":1}}');
	client.close();
	await probe.stop();
});

scenario("streams beside each other get every event, from the cursor that they name", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const client = new Client(probe.port);
	await client.command('{"publish":5,"bytes":20}');
	const all = range(1, 60).map(() => client.events()), later = client.events({ "last-event-id": "3" });
	await until(() => later.status && all.every((seen) => seen.status === 200));
	assert.equal(later.headers["content-type"], "text/event-stream");
	for (let i = 0; i < 10; i++) await client.command('{"publish":50,"bytes":1000}');
	await until(() => all.every((seen) => ids(seen).length >= 505));
	for (const seen of all) assert.deepEqual(ids(seen), range(1, 505));
	assert.deepEqual(ids(later), range(4, 505));
	for (const seen of all.slice(0, 30)) seen.stream.close(http2.constants.NGHTTP2_CANCEL);
	await client.command('{"publish":1,"bytes":10}');
	await until(() => all.slice(30).every((seen) => ids(seen).length === 506));
	client.close();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.streams, 61);
	assert.equal(counters.subscribers, 0);
});

scenario("a refused stream is a JSON answer; too many streams are told to wait", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--subscribers", "2");
	const client = new Client(probe.port);
	assert.equal((await client.ask({ ":path": "/v1/sessions/none/events" })).status, 404);
	assert.equal((await client.ask({ ":path": "/v1/sessions/s/events?after=bad" })).status, 400);
	const open = [client.events(), client.events()];
	await until(() => open.every((seen) => seen.status));
	const third = await client.ask({ ":path": "/v1/sessions/s/events" });
	assert.equal(third.status, 503);
	assert.equal(third.headers["retry-after"], "1");
	client.close();
	await probe.stop();
});

scenario("a stream whose window stays shut is cut, its neighbours on the connection go on", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "800");
	const wire = new H2Wire(probe.port);
	// The connection may take all, each stream 64 KiB; the second one gets more as it reads.
	wire.send(frame(TYPE.WINDOW, 0, 0, u32(0x7f000000)));
	wire.ask(1, "/v1/sessions/s/events").ask(3, "/v1/sessions/s/events");
	wire.send(frame(TYPE.WINDOW, 0, 3, u32(0x7f000000)));
	await wire.until((w) => w.of(TYPE.HEADERS).length === 2);
	const publisher = new Wire(probe.port);
	for (let i = 0; i < 10; i++) {
		publisher.text = "";
		await publisher.send(post('{"publish":20,"bytes":1000}')).until((w) => w.statuses.length === 1);
	}
	await wire.until((w) => ids({ text: w.data(3) }).length === 200);
	assert.equal(wire.data(1).length, 65535);
	await wire.until((w) => w.of(TYPE.RST, 1).length === 1);
	publisher.text = "";
	await publisher.send(post('{"publish":1,"bytes":10}')).until((w) => w.statuses.length === 1);
	await wire.until((w) => ids({ text: w.data(3) }).length === 201);
	wire.close();
	publisher.close();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.streamsCut, 1);
	assert.equal(counters.subscribers, 0);
});

scenario("a connection that is not read is cut with all its streams, other connections do not notice", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "800");
	const stuck = new H2Wire(probe.port);
	stuck.send(frame(TYPE.SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), u32(0x7fffffff)])), frame(TYPE.WINDOW, 0, 0, u32(0x7f000000)));
	for (let id = 1; id < 40; id += 2) stuck.ask(id, "/v1/sessions/s/events");
	await stuck.until((w) => w.of(TYPE.HEADERS).length === 20);
	stuck.socket.pause();
	const healthy = new Client(probe.port), events = healthy.events();
	await until(() => events.status);
	for (let i = 0; i < 20; i++) {
		await healthy.command('{"publish":100,"bytes":2000}');
		await until(() => ids(events).length === (i + 1) * 100);
	}
	await probe.connections(1);
	healthy.close();
	await probe.connections(0);
	const counters = await probe.stop();
	stuck.close();
	assert.equal(counters.subscribers, 0);
	assert.equal(counters.connections, 0);
	assert.ok(counters.timeouts >= 1);
});

scenario("silent streams get a heartbeat", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--heartbeat-ms", "300");
	const client = new Client(probe.port), events = client.events();
	await until(() => events.text.startsWith(":\n\n:\n\n"));
	client.close();
	await probe.stop();
});

scenario("drain says goodbye: streams end with a retry line, calls under way are answered, nothing new begins", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const client = new Client(probe.port), idle = new Client(probe.port);
	const events = client.events(), busy = client.command('{"delayMs":400}');
	await idle.ask({ ":path": "/health" });
	await client.command('{"publish":3,"bytes":10}');
	await until(() => ids(events).length === 3);
	const stopped = probe.stop("SIGTERM");
	await events.done;
	assert.ok(events.text.endsWith("x\n\nretry: 1000\n\n"), events.text);
	assert.equal((await busy).status, 200);
	await until(() => client.closed && idle.closed);
	assert.equal(client.goaway, 0);
	assert.equal((await stopped).connections, 0);
});

scenario("a peer's stream and a peer's answer come through", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--cluster", "127.0.0.1:0", "--key", "0123456789abcdef");
	let socket;
	const peer = await startPeer((req, s) => { socket = s; return streamHead; });
	const client = new Client(probe.port), events = client.open({ ":path": `/v1/sessions/peer:${peer.address}/events` });
	await until(() => events.status === 200 && socket);
	const text = Array.from({ length: 300 }, (_, i) => `id: ${i}\ndata: ${"x".repeat(1000)}\n\n`).join("");
	socket.write(text, "latin1");
	await until(() => events.text === text);
	socket.end();
	await events.done;
	assert.equal(events.text, `${text}retry: 500\n\n`);
	client.close();
	await probe.stop();
});

scenario("slow and silent connections end at their deadlines", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--header-ms", "600", "--body-ms", "600", "--keepalive-ms", "600");
	const half = new H2Wire(probe.port, { greet: false });
	half.send(PREFACE.subarray(0, 10));
	const greeted = new H2Wire(probe.port);
	const headless = new H2Wire(probe.port);
	headless.send(frame(TYPE.HEADERS, 0, 1, field(":method", "GET"))); // its end never comes
	const bodiless = new H2Wire(probe.port).ask(1, "/v1/submit_turn", { method: "POST", end: false });
	const asked = new H2Wire(probe.port).ask(1, "/health");
	const pinging = new H2Wire(probe.port);
	const pings = setInterval(() => pinging.send(frame(TYPE.PING, 0, 0, Buffer.alloc(8))), 50);
	onEnd(() => clearInterval(pings));
	await bodiless.until((w) => w.data(1).includes("did not arrive in time"));
	for (const wire of [half, greeted, asked, pinging]) await wire.until((w) => w.closed);
	assert.equal(greeted.goaway, 0);
	await headless.until((w) => w.of(TYPE.RST, 1).length || w.of(TYPE.HEADERS, 1).length || w.closed);
	for (const wire of [headless, bodiless]) wire.close();
	await probe.stop();
});

scenario("the preface may come in any portions, and a request that only begins like it is HTTP/1", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const wire = new H2Wire(probe.port, { greet: false });
	for (const byte of Buffer.concat([PREFACE, frame(TYPE.SETTINGS, 0, 0)])) {
		wire.send(Buffer.from([byte]));
		await sleep(2);
	}
	wire.ask(1, "/health");
	await wire.until((w) => w.data(1) === '{"status":"ok"}');
	wire.close();
	const one = new Wire(probe.port);
	for (const part of ["P", "O", "ST /v1/submit_turn HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"]) {
		one.send(part);
		await sleep(10);
	}
	await one.until((w) => w.statuses[0] === 200);
	one.close();
	const wrong = await ask(probe.port, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
	assert.deepEqual(wrong.statuses, [505]);
	assert.deepEqual((await ask(probe.port, get("/health"))).statuses, [200]);
	await probe.stop();
});
