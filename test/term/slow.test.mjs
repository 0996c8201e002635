// A long line with 200 ms in each direction, and a terminal that takes nothing for a while: frames do not pile up, and nothing is lost.
// ci: release only
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { ok, waitFor, world } from "../lib/runtime.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m, USAGE = /^\d+ in, \d+ out/m;
const FRAMES = 4, FRAME = 4096; // 20 in a second for 200 ms, each as large as it may be
let place, w, t;

before(async () => {
	place = await Place.make({ withModel: false });
	w = await world();
});
afterEach(() => t?.end());
after(() => place.end());

async function chat(size) {
	t = new Vterm({ env: place.env, cwd: place.work, cols: 100, rows: 30, ...size }, CTL, "--socket", w.rt.socket, "chat", "--no-workspace");
	await t.until(READY);
}
const count = (text, what) => text.split(what).length - 1;
const isAsWide = (cols) => (seen) => READY.test(seen) && seen.split("\n").some((row) => row.length === cols - 1 && /^─+$/.test(row));

test("200 ms in each direction: no backlog of frames, every line once, also when the size changes, and keys do what they say", async (context) => {
	await chat({ delay: 200 });
	const items = Array.from({ length: 120 }, (_, i) => `- item ${i} [${i}]`);
	t.type(`\x1b[200~[[delay 4]] [[say ${items.join("\n")}\n]]\x1b[201~`);
	await t.until(/^› .*Pasted/m);
	t.key("Enter");
	await t.until(/^• item \d/m);
	t.resize(120, 30); // what is under way for another size is still drawn right: it is narrower
	await t.until(USAGE, { all: true });
	await t.until(isAsWide(120));
	t.resize(70, 30);
	await t.until(isAsWide(70));
	const { text } = await t.look(true);
	for (let i = 0; i < items.length; i++) assert.equal(count(text, `• item ${i} [${i}]`), 1, `line ${i}:\n${text}`);
	assert.equal(count(text, "/keys"), 1, text);
	const [wrote, most] = (await t.ask("wrote")).split(" ").map(Number);
	context.diagnostic(`${wrote} bytes, at most ${most} under way at once`);
	assert.ok(most <= FRAMES * FRAME, `${most} bytes were under way at once`);
	t.type("[[delay 100]] [[tokens 500]]");
	t.key("Enter");
	await t.until(/w2/);
	t.key("Escape");
	await t.until(/the turn was cancelled/, { all: true });
});

test("a terminal that takes nothing during a whole turn has all of it afterwards", async () => {
	await chat();
	t.type("[[delay 5]] [[tokens 300]]");
	await t.until(/^› .*tokens 300/m);
	t.command("hold");
	t.key("Enter");
	await waitFor(async () => {
		const { sessions: [newest] } = await ok(w.rt, "list_sessions", { limit: 1 });
		return newest?.title.includes("tokens 300") && newest.status === "idle" && newest.turns === 1;
	}, "the end of the turn");
	t.command("go");
	const text = await t.until(USAGE, { all: true });
	for (const i of [0, 150, 299]) assert.equal(count(text, `w${i} `) + count(text, `w${i}\n`), 1, text);
	await t.until(READY);
});
