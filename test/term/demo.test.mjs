// `agentctl demo`: tools, a question and undo without a model; whatever the person has set for models does not count, and nothing stays.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

let place, t;
beforeEach(async () => {
	place = await Place.make({ withModel: false, env: { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", ANTHROPIC_API_KEY: "sk-ant-of-the-person", AGENTD_CONFIG: "/nonexistent/agentd.yaml", AGENTD_PERMISSION_MODE: "bypass" } });
	t = new Tmux({ env: place.env, cwd: place.work });
});
afterEach(async () => {
	t.end();
	await place.end();
});

async function begin(...words) {
	t.run(join(bin, "agentctl"), "demo", ...words);
	await t.until(/Ctrl-D leaves/);
	return /^(\/tmp\/agentctl-demo-\w+) and is removed when you leave\.$/m.exec(t.all())[1];
}
async function untilGone(folder) {
	for (const end = Date.now() + 30000; existsSync(folder); await sleep(50)) assert.ok(Date.now() < end, `${folder} stays`);
}
/** One that ended and that nobody waits for does not run. */
function isRunning(pid) {
	try {
		return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
	} catch {
		return false;
	}
}

test("it reads, tests, edits, asks and takes back; then its daemon and its folder are gone", async () => {
	const folder = await begin();
	const price = () => readFileSync(join(folder, "project/price.sh"), "utf8");
	const before = price();
	const pid = Number(readFileSync(join(folder, "state/agentd.pid"), "utf8"));
	t.type("Make the test pass.");
	t.key("Enter");
	await t.until(/^\? .*\$ rm -rf build$[^]*why am I asked/m, { all: true });
	assert.match(t.all(), /^• Read price\.sh[^]*^• \$ sh test\.sh {2}exit 1 [^]*expected 900, got 1000$[^]*^• Edited price\.sh[^]*^• \$ sh test\.sh {2}exit 0 [^]*1 test passed$/m);
	assert.ok(existsSync(join(folder, "project/build")));
	await sleep(600); // keys that come right after a question was drawn are no answer to it
	t.type("y");
	await t.until(/^Done\. price\.sh takes 10 % off/m, { all: true });
	assert.ok(!existsSync(join(folder, "project/build")));
	assert.notEqual(price(), before);
	await t.until(/ s; 5 tools$/m, { all: true }); // the turn is over
	t.type("/diff");
	t.key("Enter");
	await t.until(/^\+\+\+ b\/price\.sh$[^]*^-echo "\$sum"\n\+echo/m, { all: true });
	t.type("/undo");
	t.key("Enter");
	await t.until(/the files are as before the last turn/, { all: true });
	assert.equal(price(), before);
	t.type("thanks");
	t.key("Enter");
	await t.until(/The recorded answers end here/, { all: true });
	t.key("C-d");
	assert.equal(await t.ended(), 0);
	assert.ok(!existsSync(folder) && !isRunning(pid));
});

test("double Esc takes the conversation and its files back", async () => {
	const folder = await begin();
	const price = () => readFileSync(join(folder, "project/price.sh"), "utf8");
	const before = price();
	t.type("Make the test pass.");
	t.key("Enter");
	await t.until(/why am I asked/);
	await sleep(600);
	t.type("y");
	await t.until(/ s; 5 tools$/m, { all: true });
	assert.notEqual(price(), before);
	const asked = () => /3 both/.test(t.screen());
	for (let tries = 0; tries < 5 && !asked(); tries++) { // two that come too far apart are no pair
		t.key("Escape");
		await sleep(150);
		t.key("Escape");
		for (let looks = 0; looks < 100 && !asked(); looks++) await sleep(50);
	}
	t.type("3");
	await t.until(/^taken back: Make the test pass\.$/m, { all: true });
	await t.until(/^› Make the test pass\.$/m);
	assert.equal(price(), before);
	t.key("C-c", "C-d");
	assert.equal(await t.ended(), 0);
});

test("--plain; and killed with -9 nothing of it stays either", async () => {
	const folder = await begin("--plain");
	const pid = Number(readFileSync(join(folder, "state/agentd.pid"), "utf8"));
	t.type("Make the test pass.");
	t.key("Enter");
	await t.until(/rm -rf build/, { all: true });
	assert.doesNotMatch(t.all(), /─────/);
	t.tmux("respawn-pane", "-k", "sh"); // the terminal is gone
	await untilGone(folder);
	assert.ok(!isRunning(pid));
});

test("without a terminal it says so", async () => {
	const { code, err } = await place.ctl("demo");
	assert.equal(code, 2);
	assert.match(err, /somebody has to type in the demo/);
});
