// Coming back: the list of sessions to choose from, and the texts of earlier conversations.
import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { newFolder, ok, waitFor, world } from "../lib/runtime.mjs";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m;
let place, w, state, t;

before(async () => {
	place = await Place.make({ withModel: false });
	w = await world();
});
beforeEach(() => {
	state = newFolder();
	t = undefined;
});
afterEach(() => t?.end());
after(() => place.end());

/** Another chat, once the one before has ended. */
async function chat(args = [], { ready = READY, ...size } = {}) {
	await t?.end();
	t = new Vterm({ env: { ...place.env, XDG_STATE_HOME: state }, cwd: place.work, ...size }, CTL, "--socket", w.rt.socket, "chat", "--no-workspace", ...args);
	await t.until(ready);
}
async function enter(text, seen) {
	t.type(text);
	await t.until((shown) => shown.includes(`› ${text}`));
	t.key("Enter");
	if (seen) await t.until(seen, { all: true });
}
/** A session with these turns, made without a terminal. */
async function session(...texts) {
	let sessionId;
	for (const [i, text] of texts.entries()) {
		({ sessionId } = await ok(w.rt, "submit_turn", { ...(sessionId ? { sessionId } : { createPolicy: {} }), text }));
		await waitFor(async () => (await ok(w.rt, "get_session", { sessionId })).threads[0].turns[i]?.status === "completed", "its end");
	}
	return sessionId;
}
const kept = () => join(state, "agentctl/history");

test("the list: newest first, a preview, filtered by what is typed; Enter opens and the next text goes there", async () => {
	const old = await session("Fix the discount [[say first]]", "Once more [[say it was the rounding\nand nothing else]]");
	await session("Port the parser \u001b[2J [[say ported]]");
	await session("Write the docs [[say written]]");
	await chat(["--resume"], { ready: /3 of 3 sessions/ });
	const rows = (await t.until(/^ {4} {2}written$/m)).split("\n");
	const at = rows.findIndex((row) => row.includes("3 of 3"));
	assert.match(rows[at + 1], /^ {2}› (now|\d+ s ago|\d+ min ago) +Write the docs .* 1 turn$/);
	assert.match(rows[at + 2], /^ {4}\S.* Port the parser \\u\{1B\}\[2J/);
	assert.match(rows[at + 3], /^ {4}\S.* Fix the discount .* 2 turns$/);
	assert.match(rows[at + 4], /^ {4}› Write the docs/);
	t.key("Down", "Down");
	await t.until(/^ {4}› Once more[^]*^ {6}it was the rounding\n {6}and nothing else$/m);
	t.key("Down");
	await t.until(/^ {2}› .*Write the docs/m);
	t.type("DISC fix");
	await t.until(/1 of 3 sessions[^]*^ {2}› .*Fix the discount/m);
	t.key("Enter");
	await t.until(/^1 turn before[^]*^> Once more[^]*^ {2}it was the rounding$/m, { all: true });
	await t.until((seen) => READY.test(seen) && !/sessions · type/.test(seen));
	await enter("and now [[say here I am]]", /^here I am$/m);
	await waitFor(async () => (await ok(w.rt, "get_session", { sessionId: old })).threads[0].turns.length === 3, "the turn in the chosen session");
});

test("Esc leaves the list for a new session; /resume opens it in a chat; without a terminal it says what to do", async () => {
	await session("Only one [[say one]]");
	await chat(["--resume"], { ready: /Only one/, cols: 40, rows: 12 });
	t.type("zzz");
	await t.until(/ 0 of \d+ sessions/);
	t.key("Enter");
	t.key("Escape");
	await t.until((seen) => READY.test(seen.replaceAll("…", "/keys")) && !/sessions/.test(seen) && /^›\s*$/m.test(seen));
	await enter("[[say a new one]]", /^a new one$/m);
	await t.until(/^\d+ in, /m, { all: true });
	await enter("/resume", /Only one/);
	t.type("only one");
	await t.until(/ 1 of \d+ sessions/);
	t.key("Enter");
	await t.until(/^> Only one/m, { all: true });
	const { code, err } = await place.ctl("--socket", w.rt.socket, "chat", "--resume");
	assert.equal(code, 2);
	assert.match(err, /needs a terminal[^]*agentctl chat --session/);
});

test("what is typed into the list answers no question that waits meanwhile", async () => {
	const work = realpathSync(newFolder());
	chownSync(work, 1000, 1000);
	const asks = await world({ config: { "tools.workspace": work } });
	const { sessionId } = await ok(asks.rt, "submit_turn", { createPolicy: {}, text: "Yesterday [[say y]]" });
	await waitFor(async () => (await ok(asks.rt, "get_session", { sessionId })).status === "idle", "its end");
	t = new Vterm({ env: { ...place.env, XDG_STATE_HOME: state }, cwd: place.work }, CTL, "--socket", asks.rt.socket, "chat", "--no-workspace");
	await t.until(READY);
	await enter('[[tool shell {"command":"echo no"}]]', /why am I asked/);
	await sleep(600); // from now on a key would be an answer
	await enter("/resume", /1 of 1 sessions/);
	t.type("y");
	await t.until(/^› y\s*$/m);
	assert.equal((await ok(asks.rt, "list_actions", {})).actions.length, 1);
	t.key("Escape");
	await t.until(/why am I asked/);
	t.type("n");
	await t.until(/^✗ You said no/m, { all: true });
});

test("texts are there again in the next conversation, in a file that only the user can read; not those that begin with a blank", async () => {
	await chat();
	await enter("[[say alpha]]", /^alpha$/m);
	t.type(" [[say secret]]");
	t.key("Enter");
	await t.until(/^secret$/m, { all: true });
	await t.until((seen) => (seen.match(/^\d+ in, /gm) ?? []).length === 2, { all: true });
	t.type("two\\");
	t.key("Enter");
	await t.until(/^› two\n\s*\n/m);
	t.type("back\\slash");
	t.key("Enter");
	await t.until((seen) => (seen.match(/^\d+ in, /gm) ?? []).length === 3, { all: true });
	assert.equal(readFileSync(kept(), "utf8"), "[[say alpha]]\ntwo\\nback\\\\slash\n");
	assert.equal(statSync(kept()).mode & 0o777, 0o600);
	assert.equal(statSync(dirname(kept())).mode & 0o777, 0o700);
	await chat();
	t.key("Up");
	await t.until(/^› two\n {2}back\\slash$/m);
	t.key("Up", "Up");
	await t.until(/^› \[\[say alpha\]\]$/m);
});

test("a file that others can read, or a link, is not used; one that has grown is shortened", async () => {
	mkdirSync(dirname(kept()), { mode: 0o700 });
	writeFileSync(kept(), "planted\n");
	chmodSync(kept(), 0o644);
	await chat();
	await enter("[[say open]]", /^open$/m);
	assert.equal(readFileSync(kept(), "utf8"), "planted\n");
	rmSync(kept());
	const other = join(newFolder(), "other");
	symlinkSync(other, kept());
	await enter("[[say linked]]", /^linked$/m);
	assert.equal(existsSync(other), false);
	rmSync(kept());
	writeFileSync(kept(), Array.from({ length: 40000 }, (_, i) => `text number ${i}\n`).join("") + "\u001b[2Jlast\n", { mode: 0o600 });
	await chat();
	t.key("Up");
	await t.until(/^› \[2Jlast$/m);
	const lines = readFileSync(kept(), "utf8").trimEnd().split("\n");
	assert.equal(lines.length, 500);
	assert.equal(lines.at(-2), "text number 39999");
});
