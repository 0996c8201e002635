// GET /v1/worker: who gets a link of a worker, what it carries, and that a peer which breaks its rules ends its own link only.
import assert from "node:assert/strict";
import { get, onEnd, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const start = (...args) => startProbe("--listen", "127.0.0.1:0", "--workers", ...args);
const MESSAGE_MAX = 1024 * 1024;

const handshake = (more = "Authorization: Bearer worker:wk_1\r\n", { protocol = "agentruntime.worker.1", host = "localhost" } = {}) =>
	`GET /v1/worker HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
	`Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${protocol}\r\n${more}\r\n`;

const frame = (payload, first = 0x82, length = payload.length) => {
	const bytes = Buffer.from(payload, "latin1");
	const head = length < 126 ? Buffer.from([first, 0x80 | length])
		: length < 65536 ? Buffer.from([first, 0x80 | 126, length >> 8, length & 255])
			: Buffer.concat([Buffer.from([first, 0x80 | 127]), Buffer.from(length.toString(16).padStart(16, "0"), "hex")]);
	return Buffer.concat([head, Buffer.alloc(4), bytes]).toString("latin1"); // a mask of zeroes
};

// Unmasked frames of the server behind the head of its answer.
function frames(text) {
	const all = [];
	for (let bytes = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1"); bytes.length >= 2;) {
		const short = bytes[1];
		const [at, length] = short < 126 ? [2, short] : short === 126 ? [4, bytes.readUInt16BE(2)] : [10, Number(bytes.readBigUInt64BE(2))];
		if (bytes.length < at + length) break;
		all.push({ op: bytes[0] & 15, payload: bytes.subarray(at, at + length).toString("latin1") });
		bytes = bytes.subarray(at + length);
	}
	return all;
}
const messages = (wire) => frames(wire.text).filter((f) => f.op === 2).map((f) => f.payload);
const closeCode = (wire) => {
	const close = frames(wire.text).find((f) => f.op === 8);
	return close && Buffer.from(close.payload.slice(0, 2), "latin1").readUInt16BE(0);
};

// Waits for a word of the owner of the links.
async function noticed(probe, pattern) {
	for (const end = Date.now() + 30000; !probe.notices.some((n) => pattern.test(n.notice)); await sleep(5))
		assert.ok(Date.now() < end, `${pattern} is not among ${JSON.stringify(probe.notices)}`);
}

async function open(probe, more) {
	const wire = new Wire(probe.port).send(handshake(more));
	onEnd(() => wire.close());
	await wire.until((w) => w.closed || w.text.includes("\r\n\r\n"));
	assert.deepEqual(wire.statuses, [101], wire.text);
	return wire;
}

scenario("a worker's token opens a link, which carries bytes both ways in order", async () => {
	const probe = await start();
	const wire = await open(probe);
	assert.match(wire.text, /Sec-WebSocket-Protocol: agentruntime\.worker\.1\r\n/);
	assert.equal((await probe.notice(1)).notice, "opened wk_1: acme");
	const sent = ["a", "\xff\x00\x01", "x".repeat(200), "y".repeat(70000), "z".repeat(MESSAGE_MAX)];
	wire.send(sent.map((s) => frame(s)).join(""));
	await wire.until((w) => messages(w).length === sent.length);
	assert.deepEqual(messages(wire), sent);
	wire.close();
	assert.match((await probe.notice(2)).notice, /^closed wk_1: /);
	await probe.stop();
});

scenario("nobody else gets one: a user, an enrolment token, no token, a token in the subprotocol, a page", async () => {
	const probe = await start("--origins", "https://app.example");
	const token = "Authorization: Bearer worker:wk_1\r\n";
	for (const [more, status, options] of [
		["Authorization: Bearer user\r\n", 403], ["Authorization: Bearer enrol:wk_1\r\n", 403], ["", 401], ["Authorization: Bearer x\r\n", 401],
		["", 403, { protocol: "agentruntime.worker.1, bearer.worker:wk_1" }],
		[`${token}Origin: https://app.example\r\n`, 403], [`${token}Origin: https://evil.example\r\n`, 403],
		[`${token}Origin: null\r\n`, 403], [token, 403, { host: "rebound.example" }],
		[token, 400, { protocol: "agentruntime.worker.2" }], [token, 400, { protocol: "agentruntime.v1" }],
	]) {
		const wire = await new Wire(probe.port).send(handshake(more, options)).until((w) => w.statuses.length > 0);
		assert.deepEqual(wire.statuses, [status], `${more}${JSON.stringify(options)}: ${wire.text}`);
		wire.close();
	}
	const plain = await new Wire(probe.port).send(get("/v1/worker", token)).until((w) => w.statuses.length > 0);
	assert.deepEqual(plain.statuses, [426]);
	assert.deepEqual(probe.notices, []);
	await probe.stop();
});

scenario("a server that takes no workers has no such path", async () => {
	const probe = await startProbe("--listen", "127.0.0.1:0");
	const wire = await new Wire(probe.port).send(handshake("")).until((w) => w.statuses.length > 0);
	assert.deepEqual(wire.statuses, [404]);
	await probe.stop();
});

scenario("a peer that breaks the rules loses its link and nothing else", async () => {
	const probe = await start();
	const other = await open(probe, "Authorization: Bearer worker:wk_other\r\n");
	for (const [at, [bytes, code]] of [
		[frame("x", 0x82, MESSAGE_MAX + 1), 1009], [frame("x".repeat(600000), 0x02) + frame("x".repeat(600000), 0x80), 1009],
		[frame("text", 0x81), 1003], ["\x82\x01x", 1002], [frame("", 0x83), 1002], [frame("\x03\xe8", 0x88), 1000],
	].entries()) {
		const wire = await open(probe, `Authorization: Bearer worker:wk_${at}\r\n`);
		wire.send(bytes);
		await wire.until((w) => closeCode(w) !== undefined);
		assert.equal(closeCode(wire), code);
		await noticed(probe, new RegExp(`^closed wk_${at}: `));
		wire.close();
	}
	other.send(frame("still here"));
	await other.until((w) => messages(w).includes("still here"));
	await probe.stop();
});

scenario("the owner closes it, and is not called again", async () => {
	const probe = await start();
	const wire = await open(probe);
	wire.send(frame("close") + frame("more"));
	await wire.until((w) => w.closed);
	assert.equal(closeCode(wire), 1000);
	assert.deepEqual(messages(wire), []);
	await probe.connections(0);
	assert.deepEqual(probe.notices.map((n) => n.notice), ["opened wk_1: acme"]);
	await probe.stop();
});

scenario("credentials that end close the link within seconds", async () => {
	const probe = await start();
	const wire = await open(probe);
	wire.send(frame("revoke"));
	await wire.until((w) => closeCode(w) !== undefined);
	assert.equal(closeCode(wire), 4401);
	assert.equal((await probe.notice(2)).notice, "closed wk_1: auth_failed");
	await probe.stop();
});

scenario("a reader that does not read is bounded: the queue has a limit, and a write a deadline", async () => {
	const probe = await start("--write-ms", "700");
	const wire = await open(probe);
	wire.socket.pause();
	wire.send(frame("flood 64")); // 16 MiB: more than may wait
	assert.equal((await probe.notice(2)).notice, "flooded wk_1: limit");
	assert.equal((await probe.notice(3)).notice, "closed wk_1: more waits than the worker reads");
	const slow = await open(probe, "Authorization: Bearer worker:wk_slow\r\n");
	slow.socket.pause();
	slow.send(frame("flood 24")); // 6 MiB: may wait, but not for ever
	assert.equal((await probe.notice(5)).notice, "flooded wk_slow: all");
	assert.equal((await probe.notice(6)).notice, "closed wk_slow: the worker does not read");
	await probe.stop();
});

scenario("what waits arrives whole as the reader reads, piece by piece", async () => {
	const probe = await start();
	const wire = await open(probe);
	wire.socket.pause();
	wire.send(frame("flood 24") + frame("", 0x89)); // a ping: its answer stands between whole frames
	await probe.notice(2);
	await sleep(50);
	wire.socket.resume();
	await wire.until((w) => w.text.length > 24 * 256 * 1024 && frames(w.text).length === 25);
	assert.equal(messages(wire).filter((m) => m.length === 256 * 1024).length, 24);
	await probe.stop();
});

scenario("a silent peer is cut by the ping that it does not answer", async () => {
	const probe = await start("--heartbeat-ms", "200", "--pong-ms", "300");
	const wire = await open(probe);
	await wire.until((w) => frames(w.text).some((f) => f.op === 9));
	assert.equal((await probe.notice(2)).notice, "closed wk_1: the worker does not answer");
	await probe.stop();
});

scenario("a server that stops says so", async () => {
	const probe = await start();
	const wire = await open(probe);
	probe.signal("SIGTERM");
	await wire.until((w) => w.closed);
	assert.equal(closeCode(wire), 1001);
	assert.equal((await probe.notice(2)).notice, "closed wk_1: the server is stopping");
	assert.equal(await probe.ended, 0);
});
