// Event streams: nothing missed, nobody held up by another, every end noticed.
import assert from "node:assert/strict";
import { ask, get, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const events = (session = "s", query = "") => get(`/v1/sessions/${session}/events${query}`);
const opened = (w) => w.text.includes("\r\n\r\n");
const ids = (w) => [...w.text.matchAll(/^id: (\d+)$/gm)].map((m) => Number(m[1]));
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function publish(port, count, bytes = 10) {
	const wire = await ask(port, post(`{"publish":${count},"bytes":${bytes}}`));
	wire.close();
}

async function follow(port, request = events()) {
	return new Wire(port).send(request).until(opened);
}

scenario("a stream starts at its cursor and goes on live; Last-Event-ID wins", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	await publish(probe.port, 5);
	const all = await follow(probe.port);
	assert.match(all.text, /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n/);
	assert.match(all.text, /\r\nConnection: close\r\n/);
	const later = await follow(probe.port, events("s", "?after=3"));
	const resumed = await follow(probe.port, get("/v1/sessions/s/events?after=1", "Last-Event-ID: 4\r\n"));
	const posted = await follow(probe.port, post('{"sessionId":"s","after":"1"}',
		{ path: "/v1/subscribe_events", headers: "Last-Event-ID: 2\r\n" }));
	await publish(probe.port, 3);
	for (const [wire, first] of [[all, 1], [later, 4], [resumed, 5], [posted, 3]]) {
		await wire.until((w) => ids(w).length >= 9 - first);
		assert.deepEqual(ids(wire), range(first, 8));
		wire.close();
	}
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.subscribers, 0);
	assert.equal(counters.streams, 4);
});

scenario("a refused stream is a JSON answer and the connection goes on", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--subscribers", "1");
	const wire = new Wire(probe.port).send(events("none") + events("s", "?after=bad") + get("/health"));
	await wire.until((w) => w.statuses.length === 3);
	assert.deepEqual(wire.statuses, [404, 400, 200]);
	assert.match(wire.text, /session_not_found.*invalid_cursor/s);
	const first = await follow(probe.port);
	await wire.send(events()).until((w) => w.statuses.length === 4);
	assert.equal(wire.statuses[3], 503);
	first.close();
	wire.close();
	await probe.stop();
});

scenario("a thousand readers get every event", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const readers = Array.from({ length: 1000 }, () => new Wire(probe.port).send(events()));
	for (const reader of readers) await reader.until(opened);
	for (let i = 0; i < 10; i++) await publish(probe.port, 20, 100);
	const expected = range(1, 200);
	for (const reader of readers) {
		await reader.until((w) => ids(w).length >= 200, 30000);
		assert.deepEqual(ids(reader), expected);
		reader.close();
	}
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.frames, 200000);
	assert.equal(counters.subscribers, 0);
});

scenario("a stuck reader is cut, the others do not notice", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "1000");
	const healthy = await follow(probe.port), stuck = await follow(probe.port);
	stuck.socket.pause();
	for (let i = 0; i < 20; i++) {
		await publish(probe.port, 100, 2000);
		await healthy.until((w) => ids(w).length >= (i + 1) * 100);
	}
	await probe.connections(1);
	await publish(probe.port, 1);
	await healthy.until((w) => ids(w).length === 2001);
	healthy.close();
	await probe.connections(0);
	const counters = await probe.stop();
	stuck.close();
	assert.equal(counters.streamsCut, 1);
	assert.equal(counters.connections, 0);
});

scenario("a reader that the ring laps is ended and can resume", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "20000");
	const lapped = await follow(probe.port);
	lapped.socket.pause();
	for (let i = 0; i < 60; i++) await publish(probe.port, 100, 2000);
	lapped.socket.resume();
	await lapped.until((w) => w.closed);
	const got = ids(lapped), frame = (id) => `id: ${id}\ndata: ${"x".repeat(2000)}\n\n`;
	assert.equal(lapped.text.split("\r\n\r\n")[1], range(1, got.length).map(frame).join(""));
	assert.ok(got.length < 6000);
	const again = await follow(probe.port, get("/v1/sessions/s/events", "Last-Event-ID: 5990\r\n"));
	await again.until((w) => ids(w).length === 10);
	again.close();
	lapped.close();
	await probe.stop();
});

scenario("silent streams get a heartbeat, and their leaving is seen at once", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--heartbeat-ms", "300");
	const reader = await follow(probe.port);
	await reader.until((w) => w.text.split("\n\n:\n\n").length > 1 || w.text.endsWith(":\n\n:\n\n"));
	reader.close();
	await probe.connections(0);
	assert.equal((await probe.stop()).connections, 0);
});

scenario("drain ends streams with a retry line, closes the idle and finishes what is under way", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const reader = await follow(probe.port);
	const idle = await ask(probe.port, get("/health"));
	const busy = new Wire(probe.port).send(post('{"delayMs":400}'));
	const half = new Wire(probe.port).send("GET /ready HTTP/1.1\r\nHost: local");
	await sleep(100);
	const stopped = probe.stop("SIGTERM");
	await reader.until((w) => w.closed);
	assert.ok(reader.text.endsWith("retry: 1000\n\n"), reader.text);
	await idle.until((w) => w.closed);
	half.send("host\r\n\r\n");
	await half.until((w) => w.closed);
	assert.deepEqual(half.statuses, [503]);
	await busy.until((w) => w.closed);
	assert.match(busy.text, /^HTTP\/1\.1 200 .*Connection: close\r\n/s);
	for (const wire of [reader, idle, busy, half]) wire.close();
	assert.equal((await stopped).connections, 0);
});
