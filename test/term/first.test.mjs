// `agentctl` alone on a terminal: from nothing to the first word of an answer. The scripted server listens on a port of its own, which a variable names.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { bin, Place } from "../ctl/place.mjs";
import { startFront } from "./front.mjs";
import { Tmux } from "./tmux.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m;
let model, front, place, t;
let tries; // the request of the trial: answered here, with a call or without

before(async () => {
	tries = {};
	front = await startFront(0, tries);
	model = front.model;
});
after(() => front.close());
afterEach(async () => {
	t?.end();
	await place?.end();
});

beforeEach(() => Object.assign(tries, { done: false, calls: true }));
const kept = () => join(place.dir, ".config/agentd/environment");

async function begin(env) {
	place = await Place.make({ withModel: false, env });
	t = new Tmux({ env: place.env, cwd: place.work });
	t.run(CTL);
}

test("a server on this machine: one question, then the first answer; the choice is printed", async (context) => {
	const at = Date.now();
	await begin({ AGENTCTL_LOCAL_PORTS: `1,${front.port}` });
	await t.until(/a server at 127\.0\.0\.1:\d+ has 2 models\. Nothing leaves this machine\.\n\n {2}1 {2}small\\u\{1B\}\[2J\n {2}2 {2}large\n\nWhich one\? \[1, n for none\]/);
	t.type("2");
	t.key("Enter");
	await t.until(READY);
	const answers = `OPENAI_BASE_URL=http://127.0.0.1:${front.port}/v1\nAGENTD_MODEL=large\n`;
	for (const line of answers.trim().split("\n")) assert.ok(t.all().includes(line), line);
	assert.match(t.all(), /trying the model large\n.*it answers in \d+\.\d s; tools work/);
	assert.equal(readFileSync(kept(), "utf8"), answers);
	assert.equal(statSync(kept()).mode & 0o777, 0o600);
	t.type("[[say the first word]]");
	t.key("Enter");
	await t.until(/^the first word$/m);
	context.diagnostic(`from agentctl to the first word: ${Date.now() - at} ms`);
	assert.match(t.screen(), /^ {2}large · /m);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
});

test("nothing at all: an address is asked for and ends in a chat; nothing is no model", async () => {
	await begin({ AGENTCTL_LOCAL_PORTS: "1" });
	await t.until(/There is no model yet\.[^]*Enter leaves:/);
	t.key("Enter");
	assert.equal(await t.ended(), 2);
	assert.match(t.all(), /there is no model to work with/);
	t.run(CTL);
	await t.until((seen) => /Enter leaves:/.test(seen) && !/^ended/m.test(seen));
	t.type(`http://127.0.0.1:${model.port}/v1`);
	t.key("Enter");
	await t.until(READY);
	t.type("[[say works]]");
	t.key("Enter");
	await t.until(/^works$/m);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
});

test("what was answered is kept: the next daemon has it without a question; a file that others can read is not used", async () => {
	tries.calls = false;
	await begin({ AGENTCTL_LOCAL_PORTS: String(front.port) });
	await t.until(/Which one\?/);
	t.key("Enter");
	await t.until(READY);
	assert.match(t.all(), /did not call the tool that it was asked to: chat only/);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
	assert.equal((await place.ctl("stop")).code, 0);
	const { code, out, err } = await place.ctl("run", "--no-workspace", "[[say from the kept server]]");
	assert.equal(code, 0, err);
	assert.match(out, /from the kept server/);
	assert.equal((await place.ctl("stop")).code, 0);
	chmodSync(kept(), 0o644);
	const again = await place.ctl("run", "--no-workspace", "[[say no]]");
	assert.notEqual(again.code, 0);
	assert.match(again.err, /environment is not used, others can read or change it: chmod 600/);
	assert.equal((await place.ctl("setup", "--forget")).code, 0);
	assert.equal(existsSync(kept()), false);
});

test("setup: a key that is refused is not kept; a variable of the environment comes first; without a terminal it says so", async () => {
	const url = `http://127.0.0.1:${front.port}/v1`;
	place = await Place.make({ withModel: false, env: { AGENTCTL_LOCAL_PORTS: "1" } });
	t = new Tmux({ env: place.env, cwd: place.work });
	t.run(CTL, "setup");
	await t.until(/Enter leaves:/);
	t.type("http://127.0.0.1:1/v1");
	t.key("Enter");
	assert.equal(await t.ended(), 1);
	assert.match(t.all(), /127\.0\.0\.1:1\/v1 does not answer/);
	assert.equal(existsSync(kept()), false);
	const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: "sk-wrong", AGENTD_MODEL: "large" };
	const wrong = await place.start("setup", { env }).within();
	assert.equal(wrong.code, 1);
	assert.match(wrong.err, /OPENAI_BASE_URL comes from the environment[^]*refuses the key \(HTTP 401\)[^]*set OPENAI_API_KEY/);
	assert.doesNotMatch(wrong.err, /sk-wrong/);
	const piped = await place.ctl("setup");
	assert.equal(piped.code, 2);
	assert.match(piped.err, /setup asks questions/);
});

test("a variable that names a model is enough: no question", async () => {
	await begin({ OPENAI_BASE_URL: `http://127.0.0.1:${model.port}/v1` });
	await t.until(READY);
	assert.doesNotMatch(t.all(), /Which one|no model yet/);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
});

test("a server of another ordinary user is not offered", { skip: process.getuid() !== 0 && "needs root" }, async () => {
	const script = 'require("http").createServer((q, r) => r.end(JSON.stringify({ data: [{ id: "trap" }] }))).listen(0, "127.0.0.1", function () { console.log(this.address().port); });';
	const other = spawn(process.execPath, ["-e", script], { uid: 1500, gid: 1500, cwd: "/", stdio: ["ignore", "pipe", "inherit"] });
	try {
		const port = await new Promise((got, fail) => { other.stdout.once("data", (text) => got(Number(text))); other.once("exit", fail); });
		await begin({ AGENTCTL_LOCAL_PORTS: String(port) });
		await t.until(/There is no model yet\./);
		assert.doesNotMatch(t.all(), /trap/);
		t.key("Enter");
		assert.equal(await t.ended(), 2);
		mkdirSync(dirname(kept()), { recursive: true });
		writeFileSync(kept(), `OPENAI_BASE_URL=http://127.0.0.1:${port}/v1\n`, { mode: 0o600 });
		const { code, err } = await place.ctl("run", "--no-workspace", "hello");
		assert.notEqual(code, 0);
		assert.match(err, /environment is not used, another user listens on the port/);
	} finally {
		other.kill("SIGKILL");
	}
});

test("without a terminal agentctl alone is wrong usage, as before", async () => {
	place = await Place.make({ withModel: false });
	t = undefined;
	const { code, err } = await place.ctl();
	assert.equal(code, 2);
	assert.match(err, /chat +chat with the agent/);
});
