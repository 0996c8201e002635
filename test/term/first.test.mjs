// `agentctl` alone on a terminal: from nothing to the first word of an answer. The scripted server listens on a port of its own, which a variable names.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { start as startModel } from "../model/scripted.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m;
let model, front, place, t;

/** A server with a list of models, as ollama has; the rest is the scripted model's. */
before(async () => {
	model = await startModel(0);
	front = http.createServer((request, response) => {
		if (request.url === "/v1/models") {
			response.end(JSON.stringify({ object: "list", data: [{ id: "small\u001b[2J" }, { id: "large" }] }));
			return;
		}
		const up = http.request({ port: model.port, host: "127.0.0.1", method: request.method, path: request.url, headers: request.headers }, (reply) => {
			response.writeHead(reply.statusCode, reply.headers);
			reply.pipe(response);
		});
		up.on("error", () => response.destroy());
		request.pipe(up);
	});
	await new Promise((ready) => front.listen(0, "127.0.0.1", ready));
});
after(async () => {
	front.close();
	front.closeAllConnections();
	await model.close();
});
afterEach(async () => {
	t?.end();
	await place?.end();
});

async function begin(env) {
	place = await Place.make({ withModel: false, env });
	t = new Tmux({ env: place.env, cwd: place.work });
	t.run(CTL);
}

test("a server on this machine: one question, then the first answer; the choice is printed", async (context) => {
	const at = Date.now();
	await begin({ AGENTCTL_LOCAL_PORTS: `1,${front.address().port}` });
	await t.until(/a server at 127\.0\.0\.1:\d+ has 2 models\. Nothing leaves this machine\.\n\n {2}1 {2}small\\u\{1B\}\[2J\n {2}2 {2}large\n\nWhich one\? \[1, n for none\]/);
	t.type("2");
	t.key("Enter");
	await t.until(READY);
	assert.match(t.all(), new RegExp(`export OPENAI_BASE_URL=http://127\\.0\\.0\\.1:${front.address().port}/v1[^]*export AGENTD_MODEL=large`));
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
	await t.until(/Enter leaves:/);
	t.type(`http://127.0.0.1:${model.port}/v1`);
	t.key("Enter");
	await t.until(READY);
	t.type("[[say works]]");
	t.key("Enter");
	await t.until(/^works$/m);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
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
