// A working day in tmux, with the daemon that agentctl starts and a scripted model: what a person must see at each point, from the first start to the exit.
// ci: release only
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m;
let place, t, shown = 0;

before(async () => {
	place = await Place.make({ env: { AGENTD_PERMISSION_MODE: "default" } });
	for (const [name, text] of [["price.txt", "items 2\ntotal 1000\n"], ["check.sh", "grep -q 'total 900' price.txt || { echo expected 900, got $(tail -n 1 price.txt); exit 1; }\necho passed\n"]]) {
		writeFileSync(join(place.work, name), text);
		if (process.getuid() === 0) chownSync(join(place.work, name), 1000, 1000);
	}
	t = new Tmux({ env: place.env, cwd: place.work, cols: 100, rows: 30 });
});
after(async () => {
	t?.end();
	await place.end();
});

/** Waits for something above the input, after all that was looked at before: older text of the transcript is no answer. */
async function see(what) {
	let seen;
	await t.until((all) => (seen = what.exec(all.slice(0, all.lastIndexOf("\n────")).slice(shown))) !== null, { all: true });
	shown += seen.index + seen[0].length;
	return seen;
}
async function enter(text) {
	t.type(text);
	t.key("Enter");
	await see(new RegExp(`^› ${text.slice(0, 20).replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "m"));
}
async function answer(question, key) {
	await see(question);
	await t.until(/why am I asked/);
	await sleep(600); // a key within half a second of the question is none of its answers
	t.type(key);
}
const usage = /^\d+ in, \d+ out.*$/m;
const price = () => readFileSync(join(place.work, "price.txt"), "utf8");
const pid = () => Number(execFileSync("pgrep", ["-o", "-x", "-t", t.tmux("display-message", "-p", "#{pane_tty}").trim().replace("/dev/", ""), "agentctl"], { encoding: "utf8" }));
const idle = () => t.until((seen) => READY.test(seen) && !/Working|Interrupting|Waiting for you/.test(seen));

test("a working day: start, edit, failing test, approval, steer, queue, interrupt, kill -9 of both, resume, undo, fork, summary, exit", async () => {
	t.run(CTL);
	await t.until(READY);
	shown = t.all().indexOf("/help lists");

	// An edit and a test that fails: each is put to the person, with all that it is about.
	await enter('Lower the total. [[tool edit_file {"path":"price.txt","oldText":"total 1000","newText":"total 950"}]] [[then]] [[tool shell {"command":"sh check.sh"}]] [[then]] [[say It still **fails**.]]');
	await answer(/^\? Edit price\.txt\n[^]*?- total 1000\n {2}\+ total 950$/m, "y");
	await see(/^✓ You answered: yes, once/m);
	await see(/^• Edited price\.txt {2}\+1 -1\n +2 - total 1000\n +2 \+ total 950$/m);
	await answer(/^\? \$ sh check\.sh$/m, "y");
	await see(/^• \$ sh check\.sh {2}exit 1 · .*\n(?: {2}│ .*\n)*? {2}│ expected 900, got total 950$/m);
	await see(/^It still fails\.$/m);
	await see(usage);
	assert.equal(price(), "items 2\ntotal 950\n");

	// A no, which the model is told.
	await idle();
	await enter('[[tool shell {"command":"echo do not"}]] [[then]] [[say As you wish.]]');
	await answer(/^\? \$ echo do not$/m, "n");
	await see(/^✗ You said no/m);
	await see(/^✗ \$ echo do not {2}denied$/m);
	await see(/^As you wish\.$/m);
	await see(usage);

	// While it works: a text to the running turn, one that waits, an interruption.
	await idle();
	await enter("Count. [[delay 150]] [[tokens 900]]");
	await t.until(/w3/);
	t.type("[[say Steered.]]");
	await t.until(/^› \[\[say Steered\.\]\] *$/m);
	t.key("Tab");
	await see(/^ {2}given to the running turn$/m);
	t.type("[[say The one that waited.]]");
	t.key("Enter");
	await t.until(/^ {2}waits: \[\[say The one that waited\.\]\]/m);
	t.key("Escape");
	await see(/^✗ the turn was cancelled/m);
	await see(usage);

	await see(/^› \[\[say The one that waited\.\]\]\n\nThe one that waited\.$/m);
	await see(usage);

	// Both programs die in the middle of an answer. The terminal is usable, and nothing is lost: the next daemon goes on by itself.
	await idle();
	await enter("Think long. [[fail-times 1 hang]] [[say I came back.]]");
	await t.until(/^• Working/m);
	process.kill(place.pid, "SIGKILL");
	process.kill(pid(), "SIGKILL");
	await t.until(/^ended 137/m);
	t.run(CTL, "chat", "--resume");
	await t.until(/^ {2}› .*Lower the total\./m);
	await t.until(/^ {4}› Think long\./m);
	t.key("Enter");
	await t.until(/^> Think long\./m);
	shown = t.all().indexOf("> Think long.");
	await see(/^(?: {2})?I came back\.$/m); // with its last turn, or while that goes on

	// An edit that was wrong is taken back.
	await idle();
	await enter('[[tool edit_file {"path":"price.txt","oldText":"items 2","newText":"items 3"}]] [[then]] [[say Done.]]');
	await answer(/^\? Edit price\.txt$/m, "y");
	await see(/^Done\.$/m);
	await see(usage);
	assert.equal(price(), "items 3\ntotal 950\n");
	await idle();
	await enter("/undo");
	await see(/^the files are as before the last turn$/m);
	assert.equal(price(), "items 2\ntotal 950\n");

	// A branch, a summary, and home.
	await enter("/fork");
	await see(/^now in the branch thread_/m);
	await enter("[[say In the branch.]]");
	await see(/^In the branch\.$/m);
	await see(usage);
	await idle();
	await enter("/compact");
	await see(/^• Replaced the older part of the conversation by a summary {2}\d+ tokens became \d+\n {2}│ Summary: they talked\.$/m);
	await idle();
	await enter("[[say Good night.]]");
	await see(/^Good night\.$/m);
	await see(usage);
	await idle();
	t.type("/exit");
	t.key("Enter");
	assert.equal(await t.ended(), 0);
	assert.match(t.all(), /^continue with: agentctl chat --session sess_\w+$/m);
	assert.doesNotMatch(t.screen(), /\/keys|Working/, "the live region is gone");
	assert.doesNotMatch(t.all().replaceAll(/^› .*\n(?: {2}.*\n)*|^> .*$|^sess_.*$/gm, ""), /\{"/, "nobody reads JSON");
});
