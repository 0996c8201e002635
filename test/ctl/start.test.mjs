// How agentctl finds, starts, checks and stops the daemon, and how it answers to wrong words.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { soon } from "../lib/soon.mjs";
import { bin, Place, Running, sleep } from "./place.mjs";

let place;
beforeEach(async () => { place = await Place.make(); });
afterEach(() => place.end());

const check = (report, name) => report.checks.find((c) => c.name === name);

test("run starts a daemon that stays, in a folder that only the user can enter", async () => {
	assert.equal((await place.ctl("run", "[[say hi]]")).out, "hi\n");
	const { pid } = place;
	assert.equal((await place.ctl("run", "[[say again]]")).out, "again\n");
	assert.equal(place.pid, pid);
	assert.equal(statSync(place.data).mode & 0o777, 0o700);
	assert.equal(statSync(join(place.data, "agentd.sock")).mode & 0o777, 0o600);
	assert.ok(existsSync(join(place.data, "agentd.log")));
	const session = new Running("ps", ["-o", "pid=,sid=,tty=", "-p", String(pid)], { env: process.env });
	assert.match((await session.done).out, new RegExp(`^\\s*${pid}\\s+${pid}\\s+\\?`), "a session of its own, no terminal");
});

test("two that start at once share one daemon", async () => {
	const both = await Promise.all([1, 2, 3, 4].map((i) => place.ctl("run", `[[say from ${i}]]`, { cwd: place.work })));
	both.forEach(({ code, out, err }, i) => assert.deepEqual([code, out, err], [0, `from ${i + 1}\n`, ""]));
	assert.equal((await place.json("sessions")).sessions.length, 4);
});

test("only run starts one: the others exit 3 and say how", async () => {
	for (const args of [["sessions"], ["show", "last"], ["tail", "last"], ["submit", "last", "x"], ["interrupt", "last"],
		["queue", "last"], ["resume", "last"], ["call", "list_sessions"]]) {
		const { code, err } = await place.ctl(...args);
		assert.equal(code, 3, args.join(" "));
		assert.match(err, /^agentctl: no daemon answers at \S+agentd.sock\nnext: start one with `agentd`/);
	}
	assert.equal((await place.ctl("--url", "http://127.0.0.1:9", "run", "x")).code, 3, "not at a given address either");
});

test("--data-dir, --socket and the environment name the same places for both programs", async () => {
	const bare = { env: { AGENTD_DATA_DIR: "", XDG_STATE_HOME: join(place.dir, "xdg") } };
	await place.ctl("run", "x", bare);
	assert.ok(existsSync(join(place.dir, "xdg/agentd/agentd.sock")));
	assert.equal((await place.ctl("stop", bare)).code, 0);
	const home = { env: { AGENTD_DATA_DIR: "" } };
	await place.ctl("run", "x", home);
	assert.ok(existsSync(join(place.dir, ".local/state/agentd/agentd.sock")));
	await place.ctl("stop", home);
	await place.ctl("--data-dir", "relative", "--socket", "s.sock", "run", "x");
	assert.ok(existsSync(join(place.dir, "s.sock")), "relative to where agentctl was called");
	assert.equal((await place.ctl("--socket", join(place.dir, "s.sock"), "sessions")).code, 0);
	assert.equal((await place.ctl("--data-dir", join(place.dir, "relative"), "stop")).code, 0);
	assert.equal((await place.ctl("--socket", "x".repeat(120), "sessions")).code, 2);
	assert.equal((await place.ctl("sessions", { env: { AGENTD_SOCKET: "off" } })).code, 2);
});

test("--url reaches a daemon on TCP, whatever proxy is set", async () => {
	const daemon = new Running(join(bin, "agentd"), ["--listen", "127.0.0.1:0"], { env: place.env });
	await daemon.until((r) => r.out.includes("\n"));
	const url = `http://${JSON.parse(daemon.out).listen}/`;
	const env = { http_proxy: "http://127.0.0.1:9", AGENTD_DATA_DIR: join(place.dir, "other") };
	assert.equal((await place.ctl("--url", url, "run", "[[say over TCP]]", { env })).out, "over TCP\n");
	assert.equal((await place.ctl("sessions", "--url", url, { env })).code, 0);
	assert.equal((await place.ctl("--url", url, "--socket", "x", "sessions")).code, 2);
	daemon.signal("SIGTERM");
	assert.equal((await daemon.done).code, 0);
});

test("a daemon that cannot start shows the end of its log", async () => {
	writeFileSync(join(place.dir, "agentd"), "#!/bin/sh\necho early words >&2\necho the reason >&2\nexit 1\n", { mode: 0o755 });
	copyFileSync(join(bin, "agentctl"), join(place.dir, "agentctl"));
	await soon(3000, async () => {
		const { code, err } = await new Running(join(place.dir, "agentctl"), ["run", "x"], { env: place.env }).done;
		assert.equal(code, 3);
		assert.match(err, /agentd ended right after its start\nnext: read .*agentd.log.*\n  agentd: early words\n  agentd: the reason\n$/);
	}, "it waits for the end of its time:");
});

test("settings of the environment that the running daemon does not have are named, with what to do", async () => {
	const { work } = place;
	assert.equal((await place.ctl("run", "[[say one]]", { cwd: work, env: { AGENTD_MODEL: "m" } })).err, "", "the daemon that is started takes them");
	const env = { AGENTD_WORKSPACE: work, AGENTD_MODEL: "other", AGENTD_PROVIDER: "anthropic" };
	const { code, out, err } = await place.ctl("run", "[[say two]]", { env });
	assert.deepEqual([code, out], [0, "two\n"]);
	assert.equal(err, `agentctl: AGENTD_WORKSPACE is ${work} here, but the running daemon has none\n` +
		"agentctl: AGENTD_MODEL is other here, but the running daemon has m\n" +
		"agentctl: AGENTD_PROVIDER is anthropic here, but the running daemon has auto\n" +
		"agentctl: it keeps its settings until it ends; to use yours: agentctl stop, then run again\n");
	assert.equal((await place.ctl("stop")).code, 0);
	assert.equal((await place.ctl("run", "[[say three]]", { env: { AGENTD_WORKSPACE: work } })).err, "");
	assert.equal((await place.ctl("run", "[[say four]]", { env: { AGENTD_WORKSPACE: join(place.dir, ".", "project", "..", "project") } })).err, "", "the same folder under another path");
});

test("without a model the advice names a command that the user knows", async () => {
	const { code, err } = await place.ctl("run", "x", { env: { OPENAI_BASE_URL: "" } });
	assert.equal(code, 1);
	assert.match(err, /no model is configured\nnext: set OPENAI_BASE_URL .*`agentctl stop`/);
	assert.doesNotMatch(err, /restart agentd/);
	assert.equal((await place.ctl("stop")).code, 0);
	assert.equal((await place.ctl("run", "[[say now]]")).out, "now\n", "what it says works");
});

test("sandbox check names missing helpers first, and does not blame the kernel", async () => {
	for (const name of ["agentctl", "agentd"]) copyFileSync(join(bin, name), join(place.dir, name));
	const check = (...args) => new Running(join(place.dir, "agentctl"), ["sandbox", "check", ...args], { env: place.env }).within();
	const { code, out } = await check();
	assert.equal(code, 1);
	assert.equal(out.split("\n")[0], `agent-init is not installed next to agentd: copy agent-init, agent-shim, agent-files, agent-proxy, agent-audit to ${place.dir} from the directory of the other programs, or set sandbox.helpers to their directory`);
	assert.doesNotMatch(out, /kernel|CAP_SYS_ADMIN|cgroup/);
	for (const name of ["agent-init", "agent-shim", "agent-files", "agent-audit"]) copyFileSync(join(bin, name), join(place.dir, name));
	assert.match((await check()).out, /^agent-proxy is not installed next to agentd: copy agent-proxy to .+\nmechanisms\n/);
	copyFileSync(join(bin, "agent-proxy"), join(place.dir, "agent-proxy"));
	assert.equal(JSON.parse((await check("--json")).out).cause, undefined);
});

test("without agentd beside it and in PATH, run says so", async () => {
	copyFileSync(join(bin, "agentctl"), join(place.dir, "agentctl"));
	const env = { ...place.env, PATH: "/nonexistent" };
	const { code, err } = await new Running(join(place.dir, "agentctl"), ["run", "x"], { env }).done;
	assert.equal(code, 3);
	assert.match(err, /agentd is not found to start one\nnext: put agentd next to agentctl/);
});

test("a data folder that cannot be made is told", async () => {
	writeFileSync(join(place.dir, "file"), "");
	const { code, err } = await place.ctl("--data-dir", join(place.dir, "file/below"), "run", "x");
	assert.equal(code, 3);
	assert.match(err, /cannot be created/);
});

test("stop ends the daemon and is content when there is none", async () => {
	await place.ctl("run", "x");
	const { pid } = place;
	assert.deepEqual(await place.json("stop"), { stopped: true, pid });
	assert.equal((await place.ctl("sessions")).code, 3);
	const { code, err } = await place.ctl("stop");
	assert.equal(code, 0);
	assert.match(err, /no daemon runs/);
	assert.deepEqual(await place.json("stop"), { stopped: false, pid: 0 });
});

test("stop does not touch a process that has not the store", async () => {
	const bystander = new Running("sleep", ["60"], { env: process.env });
	const claim = (pid) => writeFileSync(join(place.data, "agentd.pid"), `${pid}\n`);
	mkdirSync(place.data, { mode: 0o700 });
	claim(bystander.child.pid);
	assert.equal((await place.ctl("stop")).code, 0);
	await place.ctl("run", "x");
	const real = place.pid;
	try {
		claim(bystander.child.pid);
		const { code, err } = await place.ctl("stop");
		assert.equal(code, 1);
		assert.match(err, new RegExp(`process ${real} uses the store, but agentd.pid contains ${bystander.child.pid}`));
		await sleep(100);
		assert.ok(!bystander.ended);
	} finally {
		claim(real);
		bystander.signal("SIGKILL");
		await bystander.done;
	}
});

test("doctor is content with a place that works", async () => {
	await place.ctl("run", "x");
	const { code, out } = await place.ctl("doctor");
	assert.equal(code, 0);
	for (const name of ["folder", "disk", "agentd", "socket", "daemon", "nodes", "model"]) assert.match(out, new RegExp(`^ok    ${name} `, "m"));
	const report = await place.json("doctor");
	assert.equal(report.ok, true);
	assert.ok(report.checks.every((c) => c.status === "ok" && c.next === undefined));
});

test("doctor names what is wrong and what to do", async () => {
	const before = await place.json("doctor");
	assert.equal(check(before, "daemon").status, "warn");
	assert.match(check(before, "daemon").next, /agentctl run/);
	await place.ctl("run", "x");
	chmodSync(join(place.data, "agentd.sock"), 0o666);
	chmodSync(place.data, 0o755);
	const { code, out } = await place.ctl("doctor", "--json",
		{ env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } });
	const report = JSON.parse(out);
	assert.equal(code, 1);
	assert.equal(report.ok, false);
	assert.deepEqual(["folder", "socket", "model"].map((n) => check(report, n).status), ["warn", "fail", "fail"]);
	assert.match(check(report, "socket").next, /^chmod 600 /);
	assert.match(check(report, "model").next, /OPENAI_BASE_URL/);
	const text = await place.ctl("doctor");
	assert.match(text.out, /^fail  socket .*\n {6}next: chmod 600 /m);
});

test("doctor asks the server of the vendor whose key is there", async () => {
	const lists = { "/v1/models": { data: [{ id: "small" }] }, "/v1beta/models": { models: [{ name: "models/small" }] } };
	const seen = [];
	const server = http.createServer((req, res) => {
		seen.push(req.headers);
		res.writeHead(lists[req.url] ? 200 : 404).end(JSON.stringify(lists[req.url] ?? {}));
	});
	await new Promise((go) => server.listen(0, "127.0.0.1", go));
	after(() => server.close());
	const at = `http://127.0.0.1:${server.address().port}`;
	const ask = async (env) => check(JSON.parse((await place.ctl("doctor", "--json",
		{ env: { OPENAI_BASE_URL: "", AGENTD_MODEL: "small", ...env } })).out), "model");
	assert.equal((await ask({ ANTHROPIC_BASE_URL: at, ANTHROPIC_API_KEY: "sk-a" })).status, "ok");
	assert.deepEqual([seen.at(-1)["x-api-key"], seen.at(-1)["anthropic-version"]], ["sk-a", "2023-06-01"]);
	assert.equal((await ask({ ANTHROPIC_BASE_URL: `${at}/v1/` })).status, "ok");
	assert.equal((await ask({ GEMINI_BASE_URL: at, GEMINI_API_KEY: "sk-g" })).status, "ok");
	assert.equal(seen.at(-1)["x-goog-api-key"], "sk-g");
	const chosen = { AGENTD_PROVIDER: "gemini", GEMINI_BASE_URL: at, OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "sk-o" };
	assert.equal((await ask(chosen)).status, "ok");
	assert.equal(seen.at(-1).authorization, undefined);
	assert.match((await ask({ ANTHROPIC_BASE_URL: `${at}/nowhere` })).next, /check ANTHROPIC_BASE_URL/);
	server.closeAllConnections();
	server.close();
});

test("doctor asks the model server itself", async () => {
	let status = 200;
	const server = http.createServer((req, res) => {
		const answer = req.headers.authorization === "Bearer good" ? status : 401;
		res.writeHead(answer).end(JSON.stringify({ data: [{ id: "small" }] }));
	});
	await new Promise((go) => server.listen(0, "127.0.0.1", go));
	after(() => server.close());
	const ask = async (env) => check(JSON.parse((await place.ctl("doctor", "--json",
		{ env: { OPENAI_BASE_URL: `http://127.0.0.1:${server.address().port}/v1/`, ...env } })).out), "model");
	assert.equal((await ask({ OPENAI_API_KEY: "good", AGENTD_MODEL: "small" })).status, "ok");
	assert.match((await ask({ OPENAI_API_KEY: "good", AGENTD_MODEL: "large" })).message, /does not list the model large/);
	assert.match((await ask({ OPENAI_API_KEY: "bad" })).message, /refuses the key/);
	status = 404;
	assert.equal((await ask({ OPENAI_API_KEY: "good" })).status, "warn");
	const none = await place.ctl("doctor", "--json", { env: { OPENAI_BASE_URL: "" } });
	assert.match(check(JSON.parse(none.out), "model").message, /names no model server/);
	server.closeAllConnections();
	server.close();
});

test("help: every command has a page with usage and examples", async () => {
	const { code, out } = await place.ctl("help");
	assert.equal(code, 0);
	const names = [...out.matchAll(/^  ([a-z][a-z0-9-]*) {2,}/gm)].map((m) => m[1]);
	const commands = names.slice(0, names.indexOf("version") + 1);
	assert.deepEqual(commands, ["run", "chat", "sessions", "show", "rename", "archive", "tail", "events", "submit", "steer", "interrupt", "queue", "resume", "fork", "rollback",
		"undo", "diff", "workspace", "worker", "task", "agent", "job", "schedule", "webhook", "inbox", "approve", "deny", "answer", "explain", "ps", "logs", "attach", "kill", "sandbox", "call", "export", "review", "transcript", "replay", "verify", "pack", "verify-pack", "doctor", "config", "top", "node", "token", "quota", "usage", "cost", "audit", "stop", "setup", "demo", "acp", "a2a", "version"]);
	for (const name of commands) {
		const page = await place.ctl(name, "--help");
		assert.equal(page.code, 0);
		assert.match(page.out, new RegExp(`^agentctl ${name} - `));
		assert.match(page.out, new RegExp(`\nUsage\n  agentctl ${name}[^]*\nExamples\n  \\S`));
		assert.equal((await place.ctl("help", name)).out, page.out);
	}
	assert.equal((await place.ctl("--help")).out, out);
});

test("wrong words exit 2 and name the nearest", async () => {
	const near = await place.ctl("sesions");
	assert.deepEqual([near.code, near.err], [2, "agentctl: there is no command 'sesions'\nnext: did you mean `agentctl sessions`?\n"]);
	assert.match((await place.ctl("frobnicate")).err, /next: agentctl help lists the commands/);
	for (const args of [[], ["--nope"], ["run", "--nope", "x"], ["run"], ["show"], ["show", "a", "b"], ["submit", "last"],
		["help", "nope"], ["sessions", "--limit"]])
		assert.equal((await place.ctl(...args)).code, 2, args.join(" "));
});

test("version needs neither home nor daemon", async () => {
	const env = { HOME: "", AGENTD_DATA_DIR: "" };
	const { code, out } = await place.ctl("version", { env });
	assert.equal(code, 0);
	assert.match(out, /^agentctl \d+\.\d+\.\d+\n$/);
	assert.equal((await place.ctl("--version", { env })).out, out);
	assert.match((await place.json("version")).agentctl, /^\d/);
	assert.match((await place.ctl("sessions", { env })).err, /the data directory is not set/);
});
