// Mutual TLS between nodes: each proves by a certificate of the cluster's authority that it is a node, and nobody else is answered.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { after } from "node:test";
import tls from "node:tls";
import { json } from "./peer.mjs";
import { Pki } from "./pki.mjs";
import { ask, get, post, scenario, sleep, startProbe, Wire } from "./probe.mjs";

const key = "0123456789abcdef";
const at = (address) => `{"sessionId":"peer:${address}"}`;
const bodyOf = (wire) => wire.text.slice(wire.text.indexOf("\r\n\r\n") + 4);
const errorOf = (wire) => JSON.parse(bodyOf(wire)).error;
const operator = Buffer.from('{"tenant":"local","actor":"local","rights":31}').toString("base64");
const principal = `Agentruntime-Principal: ${operator}\r\n`;
const pki = new Pki(fs.mkdtempSync(path.join(os.tmpdir(), "pki-")));
after(() => fs.rmSync(pki.dir, { recursive: true, force: true }));
const local = { names: "IP:127.0.0.1" };
pki.root("ca").issue("node", "ca", local).issue("node2", "ca", local).issue("elsewhere", "ca", { names: "IP:127.0.0.9,DNS:localhost" })
	.issue("named", "ca", { names: "DNS:nodes.example" }).issue("wild", "ca", { names: "DNS:*.example" })
	.root("evil").issue("foreign", "evil", local).root("alone", local);
const listen = ["--listen", "127.0.0.1:0", "--cluster", "127.0.0.1:0", "--key", key];
const node = (name = "node", ...args) => startProbe(...listen, ...pki.clusterFlags(name), ...args);
const as = (name) => ({ ca: pki.read("ca.pem"), cert: pki.read(`${name}.pem`), key: pki.read(`${name}.key`), checkServerIdentity: () => undefined });

// One request over TLS as a node would send it; { statuses, text } or the error that ended it.
async function askAs(port, options, request) {
	const wire = new Wire(tls.connect({ port, host: "127.0.0.1", ...options })).send(request);
	await wire.until((w) => w.closed || w.statuses.length > 0);
	wire.close();
	return wire;
}

scenario("two nodes with certificates of one authority pass requests and streams on", async () => {
	const owner = await node("node"), other = await node("node2");
	const here = `127.0.0.1:${owner.cluster}`;
	const wire = await ask(other.port, post(at(here)));
	assert.deepEqual([wire.statuses[0], JSON.parse(bodyOf(wire))], [200, { command: "submit_turn", input: JSON.parse(at(here)) }]);
	wire.close();
	const big = `{"sessionId":"peer:${here}","text":"${"b".repeat(2000000)}"}`;
	const large = await new Wire(other.port).send(post(big)).until((w) => w.text.endsWith("}}"));
	assert.equal(JSON.parse(bodyOf(large)).input.text.length, 2000000);
	large.close();
	const reader = await new Wire(other.port).send(get(`/v1/sessions/peer:${here}/events`)).until((w) => w.text.includes("\r\n\r\n"));
	(await ask(owner.port, post('{"publish":50,"bytes":10000}'))).close();
	await reader.until((w) => [...w.text.matchAll(/^id: \d+$/gm)].length === 50);
	reader.close();
	assert.equal((await other.stop()).forwardFailed, 0);
	assert.equal((await owner.stop()).tlsFailed, 0);
});

scenario("who has no certificate of the authority for its address is not answered", async () => {
	const probe = await node("node", "--ops");
	const bearer = `Authorization: Bearer ${key}\r\n${principal}`;
	const requests = [post("{}", { headers: bearer }), get("/health", bearer), post("{}", { path: "/v1/audit", headers: bearer })];
	const good = await askAs(probe.cluster, as("node"), requests[0]);
	assert.equal(good.statuses[0], 200, "a node is answered");
	const strangers = { "no certificate": { ca: pki.read("ca.pem") }, "of another authority": as("foreign"), "signed by itself": as("alone"),
		"of another address": as("elsewhere"), "of a name": as("named"), "TLS 1.2": { ...as("node"), maxVersion: "TLSv1.2" } };
	for (const [name, options] of Object.entries(strangers)) {
		for (const request of requests) assert.deepEqual((await askAs(probe.cluster, options, request)).statuses, [], `${name}: ${request.slice(0, 20)}`);
	}
	for (const request of requests) {
		const plain = await ask(probe.cluster, request);
		assert.equal(plain.statuses[0], 400, "plain HTTP with the key");
		assert.match(plain.text, /this address requires https/);
		plain.close();
	}
	const counters = await probe.stop();
	assert.equal(counters.requests, 1);
});

scenario("a name that all nodes have in common is asked for instead of the address", async () => {
	const probe = await node("named", "--cluster-name", "nodes.example"), second = await node("named", "--cluster-name", "nodes.example");
	const wire = await ask(second.port, post(at(`127.0.0.1:${probe.cluster}`)));
	assert.equal(wire.statuses[0], 200);
	wire.close();
	for (const name of ["node", "wild"])
		assert.deepEqual((await askAs(probe.cluster, as(name), post("{}", { headers: principal }))).statuses, [], name);
	await second.stop();
	assert.equal((await probe.stop()).requests, 1);
});

// A TLS server in the place of the owner, which notes what it is sent.
async function startImpostor(name) {
	const got = [];
	const server = tls.createServer({ cert: pki.read(`${name}.pem`), key: pki.read(`${name}.key`), ca: pki.read("ca.pem"), requestCert: true, rejectUnauthorized: false },
		(socket) => socket.on("data", (bytes) => got.push(bytes)).on("error", () => {}));
	server.on("tlsClientError", () => {});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return { got, address: `127.0.0.1:${server.address().port}`, close: () => server.close() };
}

scenario("an address where no node of the cluster answers is sent nothing", async () => {
	const probe = await node();
	for (const [name, why] of [["foreign", /TLS with it failed: .*(issuer|self-signed)/], ["elsewhere", /TLS with it failed: IP address mismatch/]]) {
		const impostor = await startImpostor(name);
		const wire = await ask(probe.port, post(at(impostor.address)));
		assert.deepEqual([wire.statuses[0], errorOf(wire).code], [503, "owner_unreachable"], name);
		assert.match(errorOf(wire).message, why);
		wire.close();
		assert.deepEqual(impostor.got, [], name);
		impostor.close();
	}
	const said = [];
	const plain = net.createServer((socket) => socket.on("error", () => {}).on("data", (bytes) => { said.push(bytes); socket.end(json(200, "{}")); }));
	await new Promise((resolve) => plain.listen(0, "127.0.0.1", resolve));
	const wire = await ask(probe.port, post(at(`127.0.0.1:${plain.address().port}`)));
	assert.equal(errorOf(wire).code, "owner_unreachable");
	assert.equal(Buffer.concat(said).includes("POST"), false);
	wire.close();
	plain.close();
	await probe.stop();
});

scenario("a node says who asks, and sends no key", async () => {
	const probe = await node();
	const owner = await startImpostor("node");
	const wire = new Wire(probe.port).send(post(at(owner.address)));
	while (!Buffer.concat(owner.got).includes("\r\n\r\n")) await sleep(5);
	const request = Buffer.concat(owner.got).toString("latin1");
	assert.doesNotMatch(request, /authorization/i);
	assert.doesNotMatch(request, new RegExp(key));
	const said = JSON.parse(Buffer.from(/^Agentruntime-Principal: (\S+)/im.exec(request)[1], "base64"));
	assert.deepEqual([said.tenant, said.actor, said.rights], ["local", "local", 31]);
	wire.close();
	owner.close();
	await probe.stop("SIGINT");
});

for (const kind of ["with the key on loopback", "with a certificate"]) {
	scenario(`a node that does not say who asks is refused, ${kind}`, async () => {
		const probe = await (kind.includes("key") ? startProbe(...listen) : node());
		for (const headers of ["", "Agentruntime-Principal: \r\n", "Agentruntime-Principal: e30=\r\n"]) {
			const request = post("{}", { headers: `Authorization: Bearer ${key}\r\n${headers}` });
			const wire = kind.includes("key") ? await ask(probe.cluster, request) : await askAs(probe.cluster, as("node"), request);
			assert.deepEqual([wire.statuses[0], errorOf(wire).code], [401, "auth_failed"], headers);
			wire.close();
		}
		await probe.stop();
	});
}

scenario("an address that is not loopback needs certificates, and those have to fit", async () => {
	const refuse = async (pattern, ...args) => {
		const { complaint } = await startProbe("--listen", "127.0.0.1:0", "--key", key, ...args);
		assert.match(complaint ?? "it started", pattern, args.join(" "));
	};
	const tlsNeeded = /is not loopback, and nodes on a network need TLS between them: set cluster\.tls_certificate/;
	await refuse(tlsNeeded, "--cluster", "0.0.0.0:0");
	await refuse(tlsNeeded, "--cluster", "[::]:0");
	await refuse(tlsNeeded, "--cluster", "127.0.0.1:0", "--advertise", "10.0.0.1:7718");
	await refuse(tlsNeeded, "--cluster", "127.0.0.1:0", "--advertise", "node-1.example:7718");
	const loopback = ["--cluster", "127.0.0.1:0"];
	await refuse(/go together/, ...loopback, "--cluster-ca", pki.at("ca.pem"));
	await refuse(/go together/, ...loopback, "--cluster-name", "nodes.example");
	await refuse(/cluster\.tls_ca .*cannot be used/, ...loopback, ...pki.clusterFlags("node", "none"));
	await refuse(/would be refused by other nodes: IP address mismatch.*'127\.0\.0\.1' in its subjectAltName/, ...loopback, ...pki.clusterFlags("elsewhere"));
	await refuse(/would be refused by other nodes: hostname mismatch/i, ...loopback, ...pki.clusterFlags("node"), "--cluster-name", "nodes.example");
	await refuse(/would be refused by other nodes: unable to get/, ...loopback, ...pki.clusterFlags("foreign"));
	await refuse(/is a name: set cluster\.tls_name/, ...loopback, ...pki.clusterFlags("node"), "--advertise", "node-1.example:7718");
	const started = await node("named", "--cluster", "0.0.0.0:0", "--cluster-name", "nodes.example");
	assert.ok(started.cluster);
	await started.stop();
});

scenario("without certificates nothing is sent to another machine", async () => {
	const probe = await startProbe(...listen);
	const wire = await ask(probe.port, post(at("192.0.2.1:7718")));
	assert.equal(errorOf(wire).code, "owner_unreachable");
	assert.match(errorOf(wire).message, /it is on another machine, which needs cluster\.tls_certificate/);
	wire.close();
	await probe.stop();
});

scenario("certificates, keys and the authority are replaced under load, and no request fails", async () => {
	pki.root("ca1").root("ca2").issue("first", "ca1", local).issue("second", "ca1", local).issue("third", "ca2", local);
	const authority = (...which) => {
		fs.writeFileSync(pki.at("new"), which.map((name) => pki.read(`${name}.pem`)).join(""));
		fs.renameSync(pki.at("new"), pki.at("authority.pem"));
	};
	authority("ca1");
	pki.deploy("first", "live");
	const flags = pki.clusterFlags("live", "authority");
	const nodes = [await startProbe(...listen, ...flags), await startProbe(...listen, ...flags)];
	const statuses = new Map();
	let isOver = false;
	const client = async (from, to) => {
		const wire = new Wire(from.port);
		while (!isOver) {
			wire.text = "";
			wire.send(post(at(`127.0.0.1:${to.cluster}`)));
			await wire.until((w) => bodyOf(w).endsWith("}}") || w.closed);
			statuses.set(wire.statuses[0], (statuses.get(wire.statuses[0]) ?? 0) + 1);
		}
		wire.close();
	};
	const load = [0, 1, 2, 3].map((i) => client(nodes[i % 2], nodes[1 - (i % 2)]));
	const reader = await new Wire(nodes[0].port).send(get(`/v1/sessions/peer:127.0.0.1:${nodes[1].cluster}/events`)).until((w) => w.text.includes("\r\n\r\n"));
	const taken = (probe) => probe.notices.filter((n) => !n.bad).length;
	const replace = async (change) => {
		const before = nodes.map(taken);
		change();
		for (const probe of nodes) process.kill(probe.pid, "SIGHUP");
		while (nodes.some((probe, i) => taken(probe) === before[i])) await sleep(5);
		await sleep(100); // some requests with what was read
	};
	await replace(() => pki.deploy("second", "live"));
	await replace(() => authority("ca1", "ca2"));
	await replace(() => pki.deploy("third", "live"));
	await replace(() => authority("ca2"));
	isOver = true;
	await Promise.all(load);
	(await ask(nodes[1].port, post('{"publish":3,"bytes":10}'))).close();
	await reader.until((w) => [...w.text.matchAll(/^id: \d+$/gm)].length === 3);
	reader.close();
	assert.deepEqual([...statuses.keys()], [200], JSON.stringify([...statuses]));
	// Files that do not fit together are not taken: what was read before goes on.
	pki.deploy("first", "live");
	for (const probe of nodes) process.kill(probe.pid, "SIGHUP");
	while (!nodes.every((probe) => probe.notices.some((n) => n.bad && /would be refused by other nodes/.test(n.notice)))) await sleep(5);
	const wire = await ask(nodes[0].port, post(at(`127.0.0.1:${nodes[1].cluster}`)));
	assert.equal(wire.statuses[0], 200);
	wire.close();
	const old = await askAs(nodes[0].cluster, { ...as("second"), ca: pki.read("ca2.pem") }, post("{}", { headers: principal }));
	assert.deepEqual(old.statuses, [], "a certificate of the authority that was taken away");
	for (const probe of nodes) assert.equal((await probe.stop()).forwardFailed, 0);
});
