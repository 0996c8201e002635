// JSON-RPC over WebSocket: the same commands and events as over HTTP, and a peer that misbehaves harms nobody but itself.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import { connectWs } from "../lib/rpc.mjs";
import { json, startPeer, streamHead } from "./peer.mjs";
import { Pki } from "./pki.mjs";
import { ask, get, onEnd, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const key = "0123456789abcdef";
const isSanitized = /[at]san/.test(process.env.AR_BIN ?? ""); // memory is not what it would be
const times = isSanitized ? 8 : 1;
const start = (...args) => startProbe("--listen", "127.0.0.1:0", ...args);
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

async function connect(probe, options) {
	const peer = await connectWs(`http://127.0.0.1:${probe.port}`, options);
	onEnd(() => peer.destroy());
	return peer;
}

// A reader that gathers what it gets.
class Stream {
	constructor() { Object.assign(this, { cursors: [], isLost: false }); }
	event(cursor) { this.cursors.push(Number(cursor)); this.end?.(); }
	ended(how) { this.how = how; this.end?.(); }
	lost() { this.isLost = true; this.end?.(); }
	async until(condition, ms = 30000) {
		for (const end = Date.now() + ms; !condition(this);) {
			assert.ok(Date.now() < end, `not within ${ms} ms: ${condition}; has ${this.cursors.length} events, ${JSON.stringify(this.how)}`);
			await sleep(5);
		}
		return this;
	}
}

async function follow(peer, params = { sessionId: "s" }) {
	const stream = new Stream();
	stream.id = await peer.subscribe(params, stream);
	return stream;
}

const publish = (peer, count, bytes = 10) => peer.call("submit_turn", { publish: count, bytes });
const codeOf = async (promise) => {
	const error = await promise.then(() => null, (e) => e);
	return [error?.code, error?.data?.code];
};

// ---- raw frames ----

const handshake = (more = "", { host = "localhost", path = "/v1/rpc" } = {}) =>
	`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
	`Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: agentruntime.v1\r\n${more}\r\n`;

const frame = (payload, { first = 0x81, isMasked = true, length = payload.length } = {}) => {
	const bytes = Buffer.from(payload, "latin1");
	const size = length < 126 ? Buffer.from([length]) : length < 65536 ? Buffer.from([126, length >> 8, length & 255])
		: Buffer.concat([Buffer.from([127]), (() => { const b = Buffer.alloc(8); b.writeBigUInt64BE(BigInt(length)); return b; })()]);
	if (isMasked) size[0] |= 0x80;
	return Buffer.concat([Buffer.from([first]), size, isMasked ? Buffer.alloc(4) : Buffer.alloc(0), bytes]).toString("latin1");
};

async function upgraded(probe) {
	const wire = await new Wire(probe.port).send(handshake()).until((w) => w.text.includes("\r\n\r\n"));
	assert.equal(wire.statuses[0], 101, wire.text);
	wire.text = "";
	return wire;
}

const closeCode = (wire) => {
	const at = wire.text.lastIndexOf("\x88");
	return at < 0 ? 0 : wire.text.charCodeAt(at + 2) << 8 | wire.text.charCodeAt(at + 3);
};

// ---- what it does ----

scenario("only a WebSocket of version 13 with our subprotocol, from this machine, is opened", async () => {
	const probe = await start();
	const cases = [
		[get("/v1/rpc"), 426], [handshake().replace("13", "12"), 426], [handshake().replace("Upgrade: websocket\r\n", "Upgrade: h2c\r\n"), 426],
		[handshake().replace("dGhlIHNhbXBsZSBub25jZQ==", "dGhl"), 400], [handshake().replace("agentruntime.v1", "chat"), 400],
		[handshake("", { host: "evil.example" }), 403], [handshake("Origin: https://evil.example\r\n"), 403], [handshake("Origin: null\r\n"), 403],
		[handshake("Origin: http://localhost:3000\r\n"), 401], [handshake("Sec-Fetch-Site: cross-site\r\n"), 403],
		[post("{}", { path: "/v1/rpc" }), 405],
	];
	for (const [text, status] of cases) {
		const wire = await ask(probe.port, text);
		assert.deepEqual(wire.statuses, [status], text);
		if (status === 426) assert.match(wire.text, /\r\nupgrade: websocket\r\n/i);
		if (status === 426) assert.match(wire.text, /\r\nsec-websocket-version: 13\r\n/i);
		wire.close();
	}
	const page = await ask(probe.port, handshake("Origin: http://localhost:3000\r\n").replace("agentruntime.v1", "agentruntime.v1, bearer.x"));
	assert.match(page.text, /^HTTP\/1\.1 101 .*\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\nSec-WebSocket-Protocol: agentruntime\.v1\r\n\r\n$/s);
	page.close();
	// What follows the request in the same segment is the first message.
	const eager = await new Wire(probe.port).send(handshake() + frame('{"jsonrpc":"2.0","id":1,"method":"get_session"}')).until((w) => w.text.includes('"id":1,"result"'));
	eager.close();
	await probe.stop();
});

scenario("calls, errors, notifications and batches", async () => {
	const probe = await start();
	const peer = await connect(probe);
	assert.deepEqual(await peer.call("get_session", { sessionId: "s" }), { command: "get_session", input: { sessionId: "s" } });
	assert.deepEqual(await peer.call("list_sessions"), { command: "list_sessions", input: {} });
	assert.deepEqual(await codeOf(peer.call("no_such", {})), [-32601, "not_found"]);
	assert.deepEqual(await codeOf(peer.call("list_sessions", [1])), [-32602, "invalid_input"]);
	assert.deepEqual(await codeOf(peer.call("subscribe_events", { sessionId: "none" })), [-32002, "session_not_found"]);
	assert.deepEqual(await codeOf(peer.call("subscribe_events", { sessionId: "s", after: "bad" })), [-32602, "invalid_cursor"]);
	assert.deepEqual(await codeOf(peer.call("unsubscribe", { subscriptionId: "subscription_9" })), [-32002, "scope_not_found"]);
	assert.deepEqual(await codeOf(peer.call("unsubscribe", { subscriptionId: "subscription_9", x: 1 })), [-32602, "invalid_input"]);
	peer.notify("submit_turn", { publish: 1 });
	peer.notify("no_such", {});
	const [slow, quick, missing] = await peer.batch(["get_session", { delayMs: 50 }], ["list_sessions"], ["nope"]);
	assert.deepEqual([slow.value.input, quick.value.input, missing.reason.code], [{ delayMs: 50 }, {}, -32601]);
	for (const [text, code] of [["{", -32700], ["[]", -32600], ["7", -32600], [`${"[".repeat(2000)}`, -32700], [`[${"[".repeat(100)}${"]".repeat(100)}]`, -32700]]) {
		const answer = new Promise((done) => peer.waiting.set(null, done));
		peer.write(text);
		assert.equal((await answer).error.code, code, text);
	}
	const stream = await follow(peer);
	await stream.until((s) => s.cursors.length === 1); // the event of the notification
	peer.check();
	peer.destroy();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.equal(counters.subscribers, 0);
});

scenario("many subscriptions of one connection, each from its cursor, each ended once", async () => {
	const probe = await start();
	const peer = await connect(probe);
	await publish(peer, 5);
	const all = await follow(peer), later = await follow(peer, { sessionId: "s", after: "3" });
	await publish(peer, 3);
	await all.until((s) => s.cursors.length === 8);
	await later.until((s) => s.cursors.length === 5);
	assert.deepEqual(all.cursors, range(1, 8));
	assert.deepEqual(later.cursors, range(4, 8));
	assert.deepEqual(await peer.call("unsubscribe", { subscriptionId: all.id }), { subscriptionId: all.id, cursor: "8" });
	assert.deepEqual(all.how, { cursor: "8", error: undefined });
	await publish(peer, 1);
	await later.until((s) => s.cursors.length === 6);
	assert.equal(all.cursors.length, 8);
	assert.equal((await codeOf(peer.call("unsubscribe", { subscriptionId: all.id })))[1], "scope_not_found");
	// A batch names its subscription before the first event of it comes, also when another call of it takes long.
	const held = new Stream();
	const number = (await follow(peer)).id.split("_")[1];
	peer.streams.set(`subscription_${Number(number) + 1}`, held);
	const order = [], take = peer.take.bind(peer);
	peer.take = (text) => { order.push(text.startsWith("[") ? "answers" : "event"); take(text); };
	const [first] = await peer.batch(["subscribe_events", { sessionId: "s" }], ["get_session", { delayMs: 100 }]);
	assert.equal(first.value.subscriptionId, `subscription_${Number(number) + 1}`);
	await held.until((s) => s.cursors.length === 9);
	assert.deepEqual(order, ["answers", ...Array(9).fill("event")]);
	peer.check();
	// The cap, and room again after one ended.
	const many = [];
	while (peer.streams.size < 256) many.push(await follow(peer));
	assert.deepEqual(await codeOf(peer.call("subscribe_events", { sessionId: "s" })), [-32005, "overloaded"]);
	await peer.call("unsubscribe", { subscriptionId: many[0].id });
	await follow(peer);
	await publish(peer, 2);
	for (const stream of many.slice(1)) await stream.until((s) => s.cursors.at(-1) === 11);
	peer.check();
	peer.destroy();
	await probe.connections(0);
	assert.equal((await probe.stop()).subscribers, 0);
});

scenario("large messages, in fragments and whole, both ways", async () => {
	const probe = await start();
	const peer = await connect(probe);
	const text = "x".repeat(3_000_000);
	assert.equal((await peer.call("submit_turn", { text })).input.text.length, text.length);
	assert.equal((await peer.call("submit_turn", { replyBytes: 5_000_000 })).length, 4_999_998);
	const message = JSON.stringify({ jsonrpc: "2.0", id: "f", method: "submit_turn", params: { text: "ä".repeat(100000) } });
	const answer = new Promise((done) => peer.waiting.set("f", done));
	for (let i = 0; i < message.length; i += 50001) {
		peer.socket.send(message.slice(i, i + 50001), { fin: i + 50001 >= message.length });
		peer.socket.ping("now");
	}
	assert.equal((await answer).result.input.text.length, 100000);
	assert.equal((await peer.call("list_sessions")).command, "list_sessions");
	peer.check();
	peer.destroy();
	await probe.stop();
});

scenario("a server that stops ends subscriptions with their cursor, answers what is under way, and says so", async () => {
	const probe = await start();
	const peer = await connect(probe);
	const stream = await follow(peer);
	await publish(peer, 3);
	await stream.until((s) => s.cursors.length === 3);
	const slow = peer.call("get_session", { delayMs: 300 });
	await sleep(50);
	const stopped = probe.stop("SIGTERM");
	assert.equal((await slow).command, "get_session");
	assert.deepEqual(await peer.closed, { code: 1001, reason: "the server is stopping" });
	assert.equal(stream.how.cursor, "3");
	assert.equal(stream.how.error.code, "overloaded");
	assert.equal((await stopped).connections, 0);
	peer.check();
});

scenario("over TLS as in the clear: large both ways, a stuck reader cut, idle at its price", async (t) => {
	const pki = new Pki().root("server");
	const probe = await start(...pki.flags(), "--write-ms", "1500");
	const open = async () => {
		const peer = await connectWs(`https://localhost:${probe.port}`, { ca: pki.read("server.pem") });
		onEnd(() => peer.destroy());
		return peer;
	};
	const peer = await open(), stuck = await open();
	const text = "x".repeat(3_000_000);
	assert.equal((await peer.call("submit_turn", { text })).input.text.length, text.length);
	assert.equal((await peer.call("submit_turn", { replyBytes: 5_000_000 })).length, 4_999_998);
	const stream = await follow(peer), lost = await follow(stuck);
	stuck.socket.pause();
	for (let i = 0; i < 20; i++) {
		await publish(peer, 100, 2000);
		await stream.until((s) => s.cursors.length >= (i + 1) * 100);
	}
	assert.deepEqual(stream.cursors, range(1, 2000));
	await probe.connections(1);
	stuck.socket.resume();
	await lost.until((s) => s.isLost);
	const before = rss(probe.pid), idle = [];
	for (let i = 0; i < 100; i++) idle.push(await open());
	for (const one of idle) await follow(one, { sessionId: "s", after: "2000" });
	const each = (rss(probe.pid) - before) / idle.length;
	t.diagnostic(`${each.toFixed(0)} bytes for an idle WebSocket under TLS with one subscription`);
	await publish(peer, 1);
	for (const one of [...idle, peer]) one.check();
	for (const one of [...idle, peer]) one.destroy();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.deepEqual([counters.streamsCut, counters.subscribers], [1, 0]);
});

// ---- sessions of other nodes ----

scenario("what another node owns is passed on, also its events, and its loss is told with the cursor", async () => {
	const probe = await start("--cluster", "127.0.0.1:0", "--key", key);
	let socket;
	const node = await startPeer((request, s) => {
		if (request.path !== "/v1/subscribe_events") return request.body.includes("fails") ? json(404, '{"error":{"code":"task_not_found","message":"no"}}') : json(202, '{"turnId":"turn_1"}');
		socket = s;
		return streamHead;
	});
	const peer = await connect(probe);
	const sessionId = `peer:${node.address}`;
	assert.deepEqual(await peer.call("submit_turn", { sessionId, text: "x" }), { turnId: "turn_1" });
	assert.deepEqual(await codeOf(peer.call("submit_turn", { sessionId, text: "fails" })), [-32002, "task_not_found"]);
	assert.equal(node.requests[0].headers.authorization, `Bearer ${key}`);
	const stream = await follow(peer, { sessionId, after: "6" });
	assert.deepEqual(JSON.parse(node.requests.at(-1).body), { sessionId, after: "6" });
	assert.equal(stream.asOfSequence, undefined, "an owner that does not tell where the session is");
	socket.write(':\n\nid: 7\ndata: {"a":1}\n\nid: 8\nda');
	await stream.until((s) => s.cursors.length === 1);
	socket.write('ta: {"a":2}\n\nid: 9\ndata: {"cut');
	await stream.until((s) => s.cursors.length === 2);
	socket.destroy();
	await stream.until((s) => s.how);
	assert.deepEqual([stream.cursors, stream.how.cursor, stream.how.error.code], [[7, 8], "8", "owner_unreachable"]);
	assert.equal((await peer.call("get_session", { unsettled: "unsettled:3" })).command, "get_session");
	node.close();
	assert.deepEqual(await codeOf(peer.call("submit_turn", { sessionId, text: "x" })), [-32005, "owner_unreachable"]);
	assert.deepEqual(await codeOf(peer.call("subscribe_events", { sessionId })), [-32005, "owner_unreachable"]);
	peer.check();
	peer.destroy();
	await sleep(50);
	assert.equal((await probe.stop()).subscribers, 0);
});

scenario("where a session of another node was comes from its owner; what is no sequence is not passed on", async () => {
	const probe = await start("--cluster", "127.0.0.1:0", "--key", key);
	const cases = [["17", 17], ["", undefined], ["0", undefined], ["-3", undefined], ["1e3", undefined], ["9".repeat(40), undefined]];
	const node = await startPeer((request, socket, count) => streamHead.replace("\r\n\r\n", `\r\nAgentruntime-As-Of: ${cases[count - 1][0]}\r\n\r\n`));
	const peer = await connect(probe);
	for (const [said, asOfSequence] of cases) assert.equal((await follow(peer, { sessionId: `peer:${node.address}` })).asOfSequence, asOfSequence, said);
	peer.check();
	peer.destroy();
	node.close();
	await probe.stop();
});

scenario("a stream of another node is not read faster than its reader reads", async () => {
	const probe = await start("--cluster", "127.0.0.1:0", "--key", key);
	let socket, sent = 0;
	const node = await startPeer((request, s) => { socket = s; return streamHead; });
	const peer = await connect(probe);
	const before = rss(probe.pid);
	const stream = await follow(peer, { sessionId: `peer:${node.address}` });
	peer.socket.pause();
	for (let i = 1; i <= 4000 && (socket.writableLength < 8_000_000 || i < 100); i++) {
		socket.write(`id: ${i}\ndata: ${JSON.stringify("y".repeat(8000))}\n\n`);
		sent = i;
		if (i % 100 === 0) await sleep(5);
	}
	await sleep(300);
	assert.ok(socket.writableLength > 1_000_000, "the owner is held back");
	assert.ok(rss(probe.pid) - before < 8_000_000 * times, `${rss(probe.pid) - before} bytes are held for a reader that does not read`);
	peer.socket.resume();
	await stream.until((s) => s.cursors.length === sent);
	assert.deepEqual(stream.cursors, range(1, sent));
	peer.destroy();
	node.close();
	await probe.stop();
});

// ---- hostile ----

scenario("each broken frame ends the connection with its code, and nobody else's", async () => {
	const probe = await start("--body", "100000");
	const witness = await connect(probe);
	const cases = [
		[frame("{}", { isMasked: false }), 1002], [frame("{}", { first: 0xc1 }), 1002], [frame("x", { first: 0x83 }), 1002],
		[frame("x", { first: 0x82 }), 1003], [frame("\xff\xfe"), 1007], [frame("\xed\xa0\x80"), 1007], [frame("\xf4\x90\x80\x80"), 1007],
		[frame("x".repeat(100001)), 1009], [frame("x", { length: 2 ** 40 }), 1009], [frame("x", { length: 100001 }), 1009],
		[frame("x".repeat(60000), { first: 0x01 }) + frame("x".repeat(60000), { first: 0x80 }), 1009],
		[frame("\x03\xe8bye", { first: 0x88 }), 1000], [frame("x".repeat(126), { first: 0x89 }), 1002],
	];
	for (const [bytes, code] of cases) {
		const wire = await upgraded(probe);
		await wire.send(bytes).until((w) => w.closed);
		assert.equal(closeCode(wire), code, JSON.stringify(bytes.slice(0, 20)));
		wire.close();
	}
	assert.equal((await witness.call("list_sessions")).command, "list_sessions");
	witness.destroy();
	await probe.stop();
});

scenario("pings without end are answered within bounds, and others are served meanwhile", async () => {
	const probe = await start("--write-ms", "1000");
	const witness = await connect(probe);
	const before = rss(probe.pid);
	const flood = await upgraded(probe);
	flood.socket.pause();
	const pings = Buffer.from(frame("p".repeat(100), { first: 0x89 }).repeat(5000), "latin1");
	let isOpen = true;
	flood.socket.on("close", () => (isOpen = false));
	flood.socket.on("error", () => (isOpen = false));
	let worst = 0;
	for (const end = Date.now() + 2500; Date.now() < end && isOpen;) {
		if (flood.socket.writableLength < 4_000_000) flood.socket.write(pings);
		const asked = performance.now();
		await witness.call("list_sessions");
		worst = Math.max(worst, performance.now() - asked);
		await sleep(10);
	}
	assert.ok(rss(probe.pid) - before < 8_000_000 * times, `${rss(probe.pid) - before} bytes`);
	assert.ok(worst < 500, `a call beside the flood took ${worst} ms`);
	flood.close();
	witness.destroy();
	assert.ok((await probe.stop()).timeouts >= 1, "who does not read its pongs is cut");
});

scenario("ten thousand calls whose answers nobody reads: bounded, cut, and nobody else notices", async () => {
	const probe = await start("--write-ms", "1500");
	const witness = await connect(probe);
	const flood = await upgraded(probe);
	const before = rss(probe.pid);
	flood.socket.pause();
	for (let i = 0; i < 10000; i++) flood.send(frame(`{"jsonrpc":"2.0","id":${i},"method":"get_session","params":{"replyBytes":5000}}`));
	let most = 0;
	for (const end = Date.now() + 3000; Date.now() < end;) {
		most = Math.max(most, rss(probe.pid) - before);
		assert.equal((await witness.call("list_sessions")).command, "list_sessions");
		await sleep(20);
	}
	assert.ok(most < 6_000_000 * times, `${most} bytes for answers that nobody reads`);
	flood.close();
	witness.destroy();
	const counters = await probe.stop();
	assert.ok(counters.requests < 5000, `${counters.requests} calls were taken from a peer that reads no answer`);
	assert.equal(counters.streamsCut, 1);
});

scenario("ten thousand calls of one who reads are all answered", async () => {
	const probe = await start();
	const peer = await connect(probe);
	const answers = await Promise.all(range(1, 10000).map((n) => peer.call("get_session", { n, replyBytes: n % 100 ? 0 : 20000 })));
	assert.equal(answers.length, 10000);
	assert.deepEqual(answers[6].input.n, 7);
	peer.check();
	peer.destroy();
	await probe.stop();
});

scenario("a batch has a bounded answer", async () => {
	const probe = await start();
	const peer = await connect(probe);
	const before = rss(probe.pid);
	const results = await peer.batch(...range(1, 64).map(() => ["get_session", { replyBytes: 2_000_000 }]));
	const good = results.filter((r) => r.status === "fulfilled").length;
	assert.ok(good >= 1 && good <= 8, `${good} of 64 answers of 2 MB fit`);
	for (const { reason } of results.filter((r) => r.status === "rejected")) assert.equal(reason.data.code, "payload_too_large");
	if (!isSanitized) assert.ok(rss(probe.pid) - before < 80_000_000, `${rss(probe.pid) - before} bytes`);
	const over = new Promise((done) => peer.waiting.set(null, done));
	peer.write(JSON.stringify(range(1, 65).map((id) => ({ jsonrpc: "2.0", id, method: "list_sessions" }))));
	assert.equal((await over).error.code, -32600);
	peer.check();
	peer.destroy();
	await probe.stop();
});

scenario("a stuck reader is cut, the others do not notice, and it goes on by its cursor", async () => {
	const probe = await start("--write-ms", "1000");
	const healthy = await connect(probe), stuck = await connect(probe);
	const good = await follow(healthy), bad = await follow(stuck);
	stuck.socket.pause();
	for (let i = 0; i < 20; i++) {
		await publish(healthy, 100, 2000);
		await good.until((s) => s.cursors.length >= (i + 1) * 100);
	}
	await probe.connections(1);
	stuck.socket.resume();
	await bad.until((s) => s.isLost);
	const again = await connect(probe);
	const rest = await follow(again, { sessionId: "s", after: String(bad.cursors.at(-1) ?? 0) });
	await rest.until((s) => s.cursors.at(-1) === 2000);
	assert.deepEqual([...bad.cursors, ...rest.cursors], range(1, 2000));
	for (const peer of [healthy, again]) peer.destroy();
	await probe.connections(0);
	const counters = await probe.stop();
	assert.deepEqual([counters.streamsCut, counters.subscribers], [1, 0]);
});

scenario("of many subscriptions behind a slow reader none starves", async () => {
	const probe = await start();
	const writer = await connect(probe), peer = await connect(probe);
	const streams = [];
	for (let i = 0; i < 20; i++) streams.push(await follow(peer));
	peer.socket.pause();
	for (let i = 0; i < 10; i++) await publish(writer, 100, 2000);
	await sleep(100);
	peer.socket.resume();
	await streams[0].until((s) => s.cursors.length >= 300);
	peer.socket.pause();
	const counts = streams.map((s) => s.cursors.length);
	assert.ok(Math.min(...counts) * 4 >= Math.max(...counts), `every one has had its turn: ${counts}`);
	peer.socket.resume();
	for (const stream of streams) await stream.until((s) => s.cursors.length === 1000);
	for (const stream of streams) assert.deepEqual(stream.cursors, range(1, 1000));
	writer.destroy();
	peer.destroy();
	await probe.stop();
});

scenario("who does not answer a ping is gone by its deadline; who does, stays", async () => {
	const probe = await start("--heartbeat-ms", "300", "--pong-ms", "700");
	const alive = await connect(probe), talking = await connect(probe);
	const mute = await upgraded(probe);
	const chatty = await upgraded(probe); // says much, but no pong: the deadline is absolute
	const timer = setInterval(() => chatty.send(frame('{"jsonrpc":"2.0","method":"list_sessions"}')), 50);
	const began = Date.now();
	await mute.until((w) => w.closed);
	await chatty.until((w) => w.closed);
	clearInterval(timer);
	assert.ok(Date.now() - began > 800, `${Date.now() - began} ms`);
	assert.ok(mute.text.includes("\x89"), "it was asked");
	await sleep(1500); // as long as the others would have been given
	assert.equal((await alive.call("list_sessions")).command, "list_sessions");
	alive.destroy();
	talking.destroy();
	assert.equal((await probe.stop()).timeouts, 2);
});

scenario("a message that does not end is cut by its deadline, however it trickles", async () => {
	const probe = await start("--body-ms", "800");
	const slow = await upgraded(probe);
	slow.send(frame("x", { length: 1000 }));
	const timer = setInterval(() => slow.send("y"), 100);
	await slow.until((w) => w.closed);
	clearInterval(timer);
	assert.equal(closeCode(slow), 1008);
	const fragments = await upgraded(probe);
	fragments.send(frame("x", { first: 0x01 }));
	const more = setInterval(() => fragments.send(frame("y", { first: 0x00 })), 100);
	await fragments.until((w) => w.closed);
	clearInterval(more);
	assert.equal(closeCode(fragments), 1008);
	await probe.stop();
});

scenario("what an idle connection costs", async (t) => {
	const probe = await start();
	const count = 1000;
	const open = async () => {
		const socket = net.connect(probe.port, "127.0.0.1");
		onEnd(() => socket.destroy());
		socket.write(handshake() + frame('{"jsonrpc":"2.0","id":1,"method":"subscribe_events","params":{"sessionId":"s"}}'), "latin1");
		let text = "";
		await new Promise((done) => socket.on("data", (bytes) => { text += bytes; if (text.includes("subscriptionId")) done(); }));
	};
	for (let i = 0; i < 200; i++) await open();
	await sleep(100);
	const before = rss(probe.pid);
	for (let i = 0; i < count; i++) await open();
	await sleep(200);
	const each = (rss(probe.pid) - before) / count;
	t.diagnostic(`${each.toFixed(0)} bytes for an idle WebSocket with one subscription`);
	if (!isSanitized) assert.ok(each < 4096, `${each} bytes each`);
	await probe.stop();
});
