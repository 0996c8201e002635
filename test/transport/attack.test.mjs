// Clients of HTTP/2 that want to cost more than they pay. Each is cut off or held to a bound, and a client that behaves is asked how
// long it had to wait meanwhile; figures are printed.
import assert from "node:assert/strict";
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { field, FLAG, frame, H2Wire, request, TYPE, u32 } from "./h2wire.mjs";
import { scenario, startProbe } from "./probe.mjs";

const CALM = 11; // ENHANCE_YOUR_CALM
const slow = process.env.AR_BIN?.includes("asan") ? 4 : 1;

// Milliseconds of processor time of a process, and its memory in MiB.
function usage(pid) {
	const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ");
	const rss = /VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "latin1"))[1];
	return { cpu: (Number(stat[11]) + Number(stat[12])) * 10, rss: Number(rss) / 1024 };
}

// Asks for something small again and again while `attack` goes on.
async function beside(probe, attack) {
	const waits = [], wire = new H2Wire(probe.port), before = usage(probe.pid);
	let id = 1, isOver = false;
	const attacking = attack().finally(() => { isOver = true; });
	for (const began = Date.now(); !isOver || waits.length < 50; id += 2) {
		const at = performance.now();
		wire.ask(id, "/health");
		await wire.until((w) => w.of(TYPE.DATA, id).length, 5000 * slow);
		waits.push(performance.now() - at);
		wire.frames.length = 0;
		assert.ok(Date.now() - began < 60000, "the attack does not end");
		await sleep(2);
	}
	await attacking;
	wire.close();
	const after = usage(probe.pid);
	waits.sort((a, b) => a - b);
	return { p50: waits[waits.length >> 1], p99: waits[Math.floor(waits.length * 0.99)], cpu: after.cpu - before.cpu, rss: after.rss - before.rss };
}

// The attacker has a thread of its own: what the others wait for is the server.
function attack(name, { bytes, check, cpu = 1500, rss = 24 }) {
	if (isMainThread) {
		scenario(name, (t) => judge(t, name, cpu, rss));
	} else if (workerData.name === name) {
		attackFiveTimes(bytes, check).then((seen) => parentPort.postMessage(seen));
	}
}

async function attackFiveTimes(bytes, check) {
	const seen = [];
	for (let round = 0; round < 5; round++) {
		const wire = new H2Wire(workerData.port);
		await bytes(wire);
		seen.push(await check(wire));
		wire.close();
	}
	return seen;
}

async function judge(t, name, cpu, rss) {
	const probe = await startProbe("--listen", "127.0.0.1:0", "--write-ms", "1000");
	const worker = new Worker(new URL(import.meta.url), { workerData: { name, port: probe.port } });
	let seen;
	const cost = await beside(probe, () => new Promise((resolve, reject) => {
		worker.on("message", (message) => { seen = message; resolve(); });
		worker.on("error", reject);
	}));
	await worker.terminate();
	t.diagnostic(`${[...new Set(seen)].join(", ")}; beside it p50 ${cost.p50.toFixed(1)} ms, p99 ${cost.p99.toFixed(1)} ms; ` +
		`server ${cost.cpu} ms of CPU, ${cost.rss.toFixed(1)} MiB more`);
	assert.ok(cost.cpu < cpu * slow, `${cost.cpu} ms of CPU for five connections`);
	if (slow === 1) assert.ok(cost.rss < rss, `${cost.rss} MiB`);
	assert.ok(cost.p50 < 50 * slow, `others waited ${cost.p50} ms`);
	await probe.connections(0);
	assert.equal((await probe.stop()).connections, 0);
}

// Sends `part(i)` until the server has had enough or `count` are out; respects the socket so that the memory here stays small.
async function pour(wire, count, part, batch = 200) {
	for (let i = 0; i < count && !wire.closed; i += batch) {
		const parts = [];
		for (let k = i; k < i + batch && k < count; k++) parts.push(part(k));
		if (!wire.send(...parts)) await Promise.race([new Promise((resolve) => wire.socket.once("drain", resolve)), sleep(200)]);
	}
}
const calmed = async (wire) => {
	await wire.until((w) => w.closed || w.goaway !== undefined, 8000 * slow);
	assert.ok(wire.goaway === CALM || wire.goaway === undefined, `GOAWAY ${wire.goaway}`);
	return `GOAWAY ${wire.goaway ?? "lost with the connection"}`;
};

const head = request("/v1/sessions/s/events");
attack("rapid reset", {
	bytes: (wire) => pour(wire, 20000, (i) => Buffer.concat([frame(TYPE.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 2 * i + 1, head), frame(TYPE.RST, 0, 2 * i + 1, u32(8))])),
	check: calmed,
});

attack("resets that we are made to send", {
	// A window update of zero is a stream error: the server resets what it has begun.
	bytes: (wire) => pour(wire, 20000, (i) => Buffer.concat([frame(TYPE.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 2 * i + 1, head), frame(TYPE.WINDOW, 0, 2 * i + 1, u32(0))])),
	check: async (wire) => {
		await wire.until((w) => w.closed || w.goaway !== undefined || w.of(TYPE.RST).length >= 15000, 20000 * slow);
		return wire.goaway === undefined ? `${wire.of(TYPE.RST).length} resets` : `GOAWAY ${wire.goaway}`;
	},
	cpu: 4000,
});

const floods = {
	PING: frame(TYPE.PING, 0, 0, Buffer.alloc(8)),
	SETTINGS: frame(TYPE.SETTINGS, 0, 0),
	PRIORITY: frame(TYPE.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 1])),
	"window updates": frame(TYPE.WINDOW, 0, 0, u32(1)),
};
for (const [name, bytes] of Object.entries(floods))
	attack(`a flood of ${name}`, { bytes: (wire) => pour(wire, 60000, () => bytes, 1000), check: calmed });

// Nothing in them is looked at: they cost what their bytes cost.
attack("unknown frames", {
	bytes: (wire) => pour(wire, 200000, () => frame(0x42, 0, 0), 2000),
	check: async (wire) => {
		wire.ask(1, "/health");
		await wire.until((w) => w.data(1), 8000 * slow);
		return "ignored";
	},
});

attack("empty DATA without end", {
	bytes: async (wire) => {
		wire.ask(1, "/v1/submit_turn", { method: "POST", end: false });
		await pour(wire, 50000, () => frame(TYPE.DATA, 0, 1), 1000);
	},
	check: calmed,
});

attack("a CONTINUATION flood", {
	bytes: async (wire) => {
		wire.send(frame(TYPE.HEADERS, 0, 1, request("/health")));
		await pour(wire, 5000, (i) => frame(TYPE.CONTINUATION, 0, 1, Buffer.concat(Array.from({ length: 20 }, () => field(`x-${i}`, "y".repeat(100))))), 20);
	},
	check: async (wire) => {
		await wire.until((w) => w.closed || w.goaway !== undefined, 8000 * slow);
		return `GOAWAY ${wire.goaway}`;
	},
});

const integer = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...integer(n >> 7)]);
attack("a header block that unpacks to megabytes", {
	// One entry of 4 KB goes into the table, then each byte means it again.
	bytes: async (wire) => {
		const value = Buffer.alloc(3900, 97), name = Buffer.from("x-bomb");
		const length = Buffer.from([0x7f, ...integer(value.length - 127)]);
		const entry = Buffer.concat([Buffer.from([0x40, name.length]), name, length, value]);
		for (let i = 0; i < 30; i++) {
			const bomb = Buffer.concat([request("/health"), i ? Buffer.alloc(0) : entry, Buffer.alloc(i ? 16000 : 11000, 0xbe)]);
			wire.send(frame(TYPE.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 2 * i + 1, bomb));
		}
	},
	check: async (wire) => {
		await wire.until((w) => w.closed || w.goaway !== undefined || w.of(TYPE.RST).length === 30, 8000 * slow);
		return `${wire.of(TYPE.RST).length} reset`;
	},
});
attack("windows that stay shut", {
	bytes: async (wire) => {
		wire.send(frame(TYPE.SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), u32(0)])));
		for (let i = 0; i < 120; i++) wire.ask(2 * i + 1, "/v1/sessions/s/tasks?limit=5");
	},
	check: async (wire) => {
		await wire.until((w) => w.closed || w.of(TYPE.RST).length === 120, 8000 * slow);
		return `${wire.of(TYPE.RST).length} cut`;
	},
});

attack("more streams than allowed, and bodies that never end", {
	bytes: async (wire) => {
		for (let i = 0; i < 300; i++) wire.ask(2 * i + 1, "/v1/submit_turn", { method: "POST", end: false });
		for (let round = 0; round < 20; round++) {
			for (let i = 0; i < 128; i++) wire.send(frame(TYPE.DATA, 0, 2 * i + 1, Buffer.alloc(400, 97)));
			await sleep(1);
		}
	},
	check: async (wire) => {
		await wire.until((w) => w.closed || w.of(TYPE.RST).length >= 100, 8000 * slow);
		return `${wire.of(TYPE.RST).length} refused${wire.goaway === undefined ? "" : `, GOAWAY ${wire.goaway}`}`;
	},
});
