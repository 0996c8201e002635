// Requests for a session that another node owns: passed on to it and its answer back, untouched, and never sent twice.
import assert from "node:assert/strict";
import fs from "node:fs";
import { soon } from "../lib/soon.mjs";
import { json, startPeer, streamHead } from "./peer.mjs";
import { ask, get, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const key = "0123456789abcdef";
const operator = `Agentruntime-Principal: ${Buffer.from('{"tenant":"local","actor":"local","rights":31}').toString("base64")}\r\n`;
const start = (...args) => startProbe("--listen", "127.0.0.1:0", "--cluster", "127.0.0.1:0", "--key", key, ...args);
const at = (peer, more = "") => `{"sessionId":"peer:${peer.address}"${more}}`;
const bodyOf = (wire) => wire.text.slice(wire.text.indexOf("\r\n\r\n") + 4);
const follow = (peer, query = "", headers = "") => get(`/v1/sessions/peer:${peer.address}/events${query}`, headers);
const frame = (id, bytes = 10) => `id: ${id}\ndata: ${"x".repeat(bytes)}\n\n`;
const codeOf = (wire) => JSON.parse(bodyOf(wire)).error.code;

async function until(condition, ms = 30000) {
	for (const end = Date.now() + ms; !condition();) {
		assert.ok(Date.now() < end, `not within ${ms} ms: ${condition}`);
		await sleep(10);
	}
}

scenario("status and body of the owner come back exactly, whatever they are", async () => {
	const probe = await start();
	const replies = [[200, '{"a":1}'], [202, '{"turnId":"turn_1"}'], [404, '{"error":{"code":"task_not_found"}}'],
		[409, '{"error":{"code":"thread_busy","message":"ä"}}'], [500, '{"error":{"code":"internal"}}'], [503, "{}"]];
	const peer = await startPeer((request, socket, count) => json(replies[count - 1][0], Buffer.from(replies[count - 1][1]).toString("latin1")));
	const wire = new Wire(probe.port);
	for (const [i, [status, body]] of replies.entries()) {
		const before = wire.text.length;
		await wire.send(post(at(peer, `,"n":${i}`))).until((w) => w.statuses.length === i + 1);
		const text = wire.text.slice(before);
		assert.equal(wire.statuses[i], status);
		assert.equal(text.slice(text.indexOf("\r\n\r\n") + 4), Buffer.from(body).toString("latin1"));
		assert.equal(/\r\nRetry-After: 1\r\n/.test(text), status === 503);
		assert.deepEqual([peer.requests[i].method, peer.requests[i].path, peer.requests[i].body],
			["POST", "/v1/submit_turn", at(peer, `,"n":${i}`)]);
		assert.equal(peer.requests[i].headers.authorization, `Bearer ${key}`);
		assert.equal(peer.requests[i].headers["content-type"], "application/json");
	}
	assert.equal(peer.connections, 1, "one connection carries one request after the other");
	wire.close();
	assert.equal((await probe.stop()).forwarded, replies.length);
});

scenario("a GET becomes the command with the input made of it", async () => {
	const probe = await start();
	const peer = await startPeer(() => json(200, "{}"));
	(await ask(probe.port, get(`/v1/sessions/peer:${peer.address}/tasks?limit=5&status=a,b`))).close();
	assert.equal(peer.requests[0].path, "/v1/list_tasks");
	assert.equal(peer.requests[0].method, "POST");
	assert.match(peer.requests[0].body, new RegExp(`"sessionId":"peer:${peer.address}".*"limit":5`));
	await probe.stop();
});

scenario("an event stream is relayed byte for byte from the cursor that the client names", async () => {
	const probe = await start();
	let socket;
	const peer = await startPeer((request, s) => { socket = s; return streamHead; });
	const reader = await new Wire(probe.port).send(follow(peer, "?after=1", "Last-Event-ID: 41\r\n")).until((w) => w.text.includes("\r\n\r\n"));
	assert.match(reader.text, /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\nCache-Control: no-store\r\n/);
	assert.equal(peer.requests[0].path, "/v1/subscribe_events");
	assert.equal(JSON.parse(peer.requests[0].body).after, "41");
	const sent = frame(42) + ":\n\n" + frame(43, 100000) + "event: ä\ndata: 1\n\n";
	for (let i = 0; i < sent.length; i += 4999) { socket.write(sent.slice(i, i + 4999), "latin1"); await sleep(1); }
	await reader.until((w) => bodyOf(w).length === sent.length);
	assert.equal(bodyOf(reader), sent);
	reader.close();
	await until(() => peer.closed === 1);
	const counters = await probe.stop();
	assert.deepEqual([counters.subscribers, counters.forwarded, counters.streams], [0, 1, 1]);
});

scenario("nodes pass on to each other, and a request that was passed on is not passed on again", async () => {
	const owner = await start(), other = await start();
	const here = { address: `127.0.0.1:${owner.cluster}` };
	const wire = await ask(other.port, post(at(here)));
	assert.deepEqual(JSON.parse(bodyOf(wire)), { command: "submit_turn", input: JSON.parse(at(here)) });
	const reader = await new Wire(other.port).send(follow(here)).until((w) => w.text.includes("\r\n\r\n"));
	(await ask(owner.port, post('{"publish":3,"bytes":10}'))).close();
	await reader.until((w) => bodyOf(w) === frame(1) + frame(2) + frame(3));
	reader.close();

	const third = await startPeer(() => json(200, "{}"));
	const bearer = { headers: `Authorization: Bearer ${key}\r\n${operator}` };
	for (const path of ["/v1/submit_turn", "/v1/subscribe_events"]) {
		const refused = await ask(owner.cluster, post(at(third), { path, ...bearer }));
		assert.deepEqual([refused.statuses[0], codeOf(refused)], [421, "not_owner"], path);
		refused.close();
	}
	assert.equal(third.requests.length, 0);
	wire.close();
	await other.stop();
	await owner.stop();
});

scenario("the address for peers answers nobody without the key", async () => {
	const probe = await start("--ops");
	const peer = await startPeer(() => json(200, "{}"));
	const tries = {
		"no key": "", "another key": "Authorization: Bearer 0123456789abcdeX\r\n", "part of it": "Authorization: Bearer 0123\r\n",
		"an empty key": "Authorization: Bearer \r\n", "no scheme": `Authorization: ${key}\r\n`, "another scheme": `Authorization: Basic ${key}\r\n`,
		"a longer key": `Authorization: Bearer ${key}${key}\r\n`,
	};
	for (const [name, headers] of Object.entries(tries)) {
		for (const request of [post(at(peer), { headers }), post("{}", { headers }), get("/health", headers), get("/ready", headers),
			get("/v1/nodes", headers), get("/none", headers), post("{}", { path: "/v1/nodes/drain", headers })]) {
			const wire = await ask(probe.cluster, request);
			await wire.until((w) => w.closed);
			assert.deepEqual([wire.statuses, codeOf(wire)], [[401], "auth_failed"], `${name}: ${request.slice(0, 30)}`);
			wire.close();
		}
	}
	const body = "x".repeat(1000000);
	const early = new Wire(probe.cluster).send(`POST /v1/submit_turn HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
	await early.until((w) => w.statuses[0] === 401);
	early.close();
	for (const junk of ["\x16\x03\x01\x02", "GET /health\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n", `X${"a".repeat(70000)}`,
		`POST /v1/submit_turn HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer ${key}\r\n\r\n`]) {
		const wire = await ask(probe.cluster, junk);
		await wire.until((w) => w.closed);
		assert.ok([400, 401, 431].includes(wire.statuses[0]), `${wire.statuses}`);
		wire.close();
	}
	assert.equal(peer.requests.length, 0);
	assert.equal((await probe.stop()).requests, 0);
});

scenario("peers may command and ask how it goes, and nothing else", async () => {
	const probe = await start("--ops");
	const headers = `Host: node-2.example:7718\r\nOrigin: http://example.com\r\nAuthorization: bearer ${key}\r\nContent-Type: application/json\r\n${operator}`;
	const send = async (line, body = "") => {
		const wire = await ask(probe.cluster, `${line} HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);
		wire.close();
		return wire.statuses[0];
	};
	assert.equal(await send("POST /v1/submit_turn", "{}"), 200);
	assert.equal(await send("GET /health"), 200);
	assert.equal(await send("GET /ready"), 200);
	assert.equal(await send("GET /v1/sessions"), 405);
	assert.equal(await send("GET /v1/nodes"), 404);
	assert.equal(await send("POST /v1/nodes/drain"), 404);
	assert.equal(await send("GET /ready"), 200, "the drain has not been done");
	await probe.stop();
});

scenario("when nobody can know the owner because the store is away, that is the code", async () => {
	const probe = await start("--ops", "--settle-ms", "50");
	const code = async (text) => {
		const wire = await ask(probe.port, post(text));
		wire.close();
		return [wire.statuses[0], codeOf(wire)];
	};
	assert.deepEqual(await code('{"a":"unsettled:1000"}'), [503, "owner_unreachable"]);
	(await ask(probe.port, post("", { path: "/v1/nodes/drain" }))).close();
	assert.deepEqual(await code('{"b":"unsettled:1000"}'), [503, "storage_unavailable"]);
	await probe.stop();
});

scenario("the host answers for the nodes, the drain and its readiness", async () => {
	const probe = await start("--ops"), alone = await startProbe("--listen", "127.0.0.1:0");
	const answer = async (server, request) => {
		const wire = await ask(server.port, request);
		wire.close();
		return [wire.statuses[0], bodyOf(wire)];
	};
	assert.deepEqual(await answer(probe, get("/v1/nodes")), [200, '{"nodes":[]}']);
	assert.deepEqual(await answer(probe, get("/ready")), [200, '{"status":"ready"}']);
	assert.deepEqual(await answer(probe, post("", { path: "/v1/nodes/drain" })), [202, '{"status":"draining"}']);
	assert.deepEqual(await answer(probe, get("/ready")), [503, '{"status":"not_ready","reason":"the node is draining"}']);
	assert.equal((await answer(probe, get("/v1/nodes/drain")))[0], 405);
	assert.equal((await answer(alone, get("/v1/nodes")))[0], 404);
	assert.equal((await answer(alone, post("", { path: "/v1/nodes/drain" })))[0], 404);
	assert.deepEqual(await answer(alone, get("/ready")), [200, '{"status":"ready"}']);
	await probe.stop();
	await alone.stop();
	assert.match((await startProbe("--listen", "127.0.0.1:0", "--cluster", "127.0.0.1:0")).complaint, /needs a key/);
	assert.match((await startProbe("--listen", "127.0.0.1:0", "--cluster", "nowhere:1", "--key", key)).complaint, /not address:port/);
});

scenario("an owner that cannot be reached is said to be, and the call may be repeated", async () => {
	const probe = await start("--reply-ms", "600", "--connect-ms", "500");
	const expect = async (request, name) => {
		const began = Date.now(), wire = await ask(probe.port, request);
		assert.deepEqual([wire.statuses[0], codeOf(wire)], [503, "owner_unreachable"], name);
		assert.match(wire.text, /\r\nRetry-After: 1\r\n/);
		wire.close();
		return Date.now() - began;
	};
	const gone = await startPeer();
	gone.close();
	await expect(post(at(gone)), "connection refused");
	await expect(follow(gone), "connection refused to a stream");
	await expect(post('{"sessionId":"peer:no.such.name.invalid:7718"}'), "a name that does not resolve");
	await expect(post('{"sessionId":"peer:nonsense"}'), "no address");
	const mute = await startPeer();
	assert.ok(await expect(post(at(mute)), "no answer") < 3000);
	await expect(follow(mute), "no head of a stream");
	const dying = await startPeer((request, socket) => { socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\""); });
	await expect(post(at(dying)), "died in the middle");
	const silent = await startPeer((request, socket) => { socket.destroy(); });
	await expect(post(at(silent)), "died before the answer");
	const junk = await startPeer(() => "SSH-2.0-OpenSSH\r\n");
	await expect(post(at(junk)), "not HTTP");
	const talkative = await startPeer(() => `HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(20000)}`);
	await expect(post(at(talkative)), "a head without end");
	const huge = await startPeer(() => "HTTP/1.1 200 OK\r\nContent-Length: 70000000\r\n\r\n{");
	await expect(post(at(huge)), "a huge answer");
	const interim = await startPeer(() => "HTTP/1.1 100 Continue\r\n\r\n");
	await expect(post(at(interim)), "an answer that is none");
	const counters = await probe.stop();
	assert.equal(counters.forwardFailed, 12);
	assert.equal(counters.forwarded, 0);
});

scenario("an answer without a length is capped as well", async () => {
	const probe = await start();
	const chunk = `100000\r\n${"a".repeat(1 << 20)}\r\n`;
	const peer = await startPeer((request, socket) => {
		socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		for (let i = 0; i < 70; i++) socket.write(chunk, "latin1");
	});
	const wire = await new Wire(probe.port).send(post(at(peer))).until((w) => w.statuses.length);
	assert.deepEqual([wire.statuses[0], codeOf(wire)], [503, "owner_unreachable"]);
	wire.close();
	await probe.stop();
});

scenario("an old connection is not trusted with a write twice, a read is asked for again", async () => {
	const probe = await start();
	let sockets = [];
	const peer = await startPeer((request, socket, count) => {
		sockets.push(socket);
		return request.body.includes("die") ? void socket.end() : json(200, `{"count":${count}}`);
	});
	const send = async (request) => {
		const wire = await ask(probe.port, request);
		wire.close();
		return wire.statuses[0];
	};
	assert.equal(await send(post(at(peer))), 200);
	assert.equal(await send(post(at(peer, ',"a":"die"'))), 503);
	assert.equal(peer.requests.length, 2, "a write that may have been taken is not sent again");
	assert.equal(await send(post(at(peer))), 200);
	assert.equal(await send(post(at(peer, ',"a":"die"'), { path: "/v1/get_session" })), 503);
	assert.equal(peer.requests.length, 5, "a read is sent once more, on a new connection");
	// One that the peer closed while it was idle is noticed in time.
	assert.equal(await send(post(at(peer))), 200);
	for (const socket of peer.sockets) socket.end();
	await until(() => peer.sockets.size === 0);
	assert.equal(await send(post(at(peer))), 200);
	// Many at once take many connections, which are used again.
	const before = peer.connections;
	await Promise.all(Array.from({ length: 20 }, () => send(post(at(peer)))));
	const after = peer.connections;
	await Promise.all(Array.from({ length: 20 }, () => send(post(at(peer)))));
	assert.ok(after - before <= 20 && peer.connections - after <= 5, `${before} ${after} ${peer.connections}`);
	await probe.stop();
	await until(() => peer.sockets.size === 0);
});

scenario("a request waits for its session to have an owner, and not for ever", async () => {
	const probe = await start("--settle-ms", "1000");
	const send = async (request) => {
		const began = Date.now(), wire = await ask(probe.port, request);
		wire.close();
		return [wire.statuses[0], Date.now() - began, wire];
	};
	let status, took;
	await soon(900, async () => {
		(await ask(probe.port, post("{}"))).close(); // the fake counts its tries anew
		[status, took] = await send(post('{"a":"unsettled:3"}'));
		assert.ok(status === 200 && took >= 250, `${status} after ${took} ms`);
		return took;
	});
	const peer = await startPeer((request, socket, count) => count < 3 ? json(421, '{"error":{"code":"not_owner"}}') : json(202, "{}"));
	[status, took] = await send(post(at(peer, ',"a":"unsettled:2"')));
	assert.ok(status === 202 && peer.requests.length === 3, `${status}`);
	const stream = new Wire(probe.port).send(get("/v1/sessions/unsettled:3/events"));
	await stream.until((w) => w.text.includes("text/event-stream"));
	stream.close();
	for (const request of [post('{"a":"unsettled:1000"}'), get("/v1/sessions/unsettled:1000/events")]) {
		let wire;
		[status, took, wire] = await send(request);
		assert.deepEqual([status, codeOf(wire)], [503, "owner_unreachable"]);
		assert.match(wire.text, /\r\nRetry-After: 1\r\n/);
		assert.ok(took >= 900, `${took} ms`);
		// The fake counts its tries; the next one starts anew.
		(await ask(probe.port, post("{}"))).close();
	}
	const refused = await ask(probe.cluster, post('{"a":"unsettled:5"}', { headers: `Authorization: Bearer ${key}\r\n${operator}` }));
	assert.equal(refused.statuses[0], 421, "peers do not wait");
	refused.close();
	await probe.stop();
});

scenario("those who wait are answered when the server stops, and those who leave are forgotten", async () => {
	const probe = await start("--settle-ms", "60000");
	const waiting = Array.from({ length: 5 }, () => new Wire(probe.port).send(post('{"a":"unsettled:100000"}')));
	await probe.connections(5);
	await sleep(150);
	waiting[0].close();
	await probe.connections(4);
	const counters = await probe.stop("SIGTERM");
	for (const wire of waiting.slice(1)) {
		assert.equal(wire.statuses[0], 503);
		wire.close();
	}
	assert.deepEqual([counters.settling, counters.connections], [0, 0]);
});

scenario("a stream whose owner is lost ends at once, and says when to come back", async () => {
	const probe = await start("--heartbeat-ms", "200");
	const ends = {
		"between two events": [(socket) => socket.end(), frame(1), "retry: 500\n\n"],
		"reset": [(socket) => socket.resetAndDestroy(), frame(1), "retry: 500\n\n"],
		"in the middle of an event": [(socket) => socket.end(), `${frame(1)}id: 2\ndata: x`, ""],
		"after its own good-bye": [(socket) => socket.end(), `${frame(1)}retry: 1000\n\n`, ""],
		"silence": [() => {}, frame(1), "retry: 500\n\n"],
		"before anything": [(socket) => socket.end(), "", "retry: 500\n\n"],
	};
	for (const [name, [end, sent, farewell]] of Object.entries(ends)) {
		let socket;
		const peer = await startPeer((request, s) => { socket = s; return streamHead + sent; });
		const reader = await new Wire(probe.port).send(follow(peer)).until((w) => w.text.includes("\r\n\r\n") && bodyOf(w).length >= sent.length);
		end(socket);
		await reader.until((w) => w.closed);
		assert.equal(bodyOf(reader), sent + farewell, name);
		reader.close();
	}
	// As long as the owner sends its comments the stream stays.
	let beat;
	const alive = await startPeer((request, socket) => { beat = setInterval(() => socket.write(":\n\n"), 100); return streamHead; });
	const reader = new Wire(probe.port).send(follow(alive));
	await sleep(1500);
	assert.equal(reader.closed, false);
	clearInterval(beat);
	reader.close();
	await probe.stop();
});

scenario("a slow client holds the owner back, is cut in time, and costs little memory", async () => {
	const probe = await start("--write-ms", "1500");
	let sent = 0, socket;
	const peer = await startPeer((request, s) => { socket = s; return streamHead; });
	const slow = await new Wire(probe.port).send(follow(peer)).until((w) => w.text.includes("\r\n\r\n"));
	const memory = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${probe.pid}/status`, "utf8"))[1]);
	slow.socket.pause();
	const before = memory(), part = frame(1, 65000);
	for (let i = 0; i < 30 && sent < 200e6; i++) {
		while (socket.writableLength < 1e6 && sent < 200e6) { socket.write(part); sent += part.length; }
		await sleep(10);
	}
	const held = sent - socket.writableLength;
	assert.ok(held < 16e6, `the owner could send ${held} bytes`);
	assert.ok(memory() - before < 4096, `grew by ${memory() - before} KiB`);
	// It reads on in time: all comes, in order.
	slow.socket.resume();
	await slow.until((w) => bodyOf(w).length === sent);
	assert.equal(bodyOf(slow), part.repeat(sent / part.length));
	// It stops reading for good: its stream is cut, and the owner sees it leave.
	slow.socket.pause();
	for (let i = 0; i < 20; i++) { socket.write(part.repeat(20)); await sleep(5); }
	await until(() => peer.closed === 1);
	const counters = await probe.stop();
	slow.close();
	assert.deepEqual([counters.streamsCut, counters.subscribers], [1, 0]);
});

scenario("a stream that the owner refuses is its JSON answer; relayed streams count under the cap", async () => {
	const probe = await start("--subscribers", "1");
	const refusing = await startPeer(() => json(404, '{"error":{"code":"session_not_found"}}'));
	const wire = await ask(probe.port, follow(refusing));
	assert.deepEqual([wire.statuses[0], codeOf(wire)], [404, "session_not_found"]);
	const peer = await startPeer(() => streamHead);
	const first = await new Wire(probe.port).send(follow(peer)).until((w) => w.text.includes("\r\n\r\n"));
	await wire.send(follow(peer)).until((w) => w.statuses.length === 2);
	assert.equal(wire.statuses[1], 503);
	first.close();
	await until(() => peer.closed === 1);
	wire.close();
	await probe.stop();
});

scenario("drain ends relayed streams with a retry line and finishes what the owner works on", async () => {
	const probe = await start();
	const peer = await startPeer((request, socket) => {
		if (request.path === "/v1/subscribe_events") return streamHead + frame(1);
		setTimeout(() => socket.write(json(202, "{}")), 400);
	});
	const reader = await new Wire(probe.port).send(follow(peer)).until((w) => w.text.endsWith("x\n\n"));
	const mute = await startPeer(), unopened = new Wire(probe.port).send(follow(mute));
	const busy = new Wire(probe.port).send(post(at(peer)));
	await until(() => peer.requests.length === 2 && mute.requests.length === 1);
	const stopped = probe.stop("SIGTERM");
	await reader.until((w) => w.closed);
	assert.equal(bodyOf(reader), `${frame(1)}retry: 1000\n\n`);
	await busy.until((w) => w.closed);
	assert.equal(busy.statuses[0], 202);
	await unopened.until((w) => w.closed);
	assert.equal(unopened.statuses[0], 503);
	for (const wire of [reader, busy, unopened]) wire.close();
	assert.equal((await stopped).connections, 0);
});

scenario("a server that ends at once leaves nothing of what is under way", async () => {
	const probe = await start();
	const mute = await startPeer(), streams = await startPeer(() => streamHead), kept = await startPeer(() => json(200, "{}"));
	(await ask(probe.port, post(at(kept)))).close();
	const wires = [post(at(mute)), follow(mute), follow(streams), post('{"a":"unsettled:100000"}'),
		post('{"sessionId":"peer:some.name.invalid:7718"}')].map((request) => new Wire(probe.port).send(request));
	await until(() => mute.requests.length === 2 && streams.requests.length === 1);
	assert.equal(kept.sockets.size, 1);
	await probe.stop();
	wires.forEach((wire) => wire.close());
	await until(() => kept.sockets.size === 0);
});
