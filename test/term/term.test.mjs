// agentctl chat as it is drawn, in tmux, with a real agentd and a scripted model: what a person sees at each point, and the terminal afterwards.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chownSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { newFolder, ok, waitFor, world } from "../lib/runtime.mjs";
import { frame, receipt, startFake } from "../ctl/fake.mjs";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›[^]*\/keys$/m;
let free, asks, place, work;
const open = new Set();

before(async () => {
	work = realpathSync(newFolder());
	chownSync(work, 1000, 1000);
	writeFileSync(join(work, "a.txt"), "hello file\nline two\nline three\n");
	chownSync(join(work, "a.txt"), 1000, 1000);
	place = await Place.make({ withModel: false });
	free = await world({ config: { "tools.workspace": work, "permission.mode": "bypass" } });
	asks = await world({ config: { "tools.workspace": work } });
});
afterEach(() => {
	for (const t of open) t.end();
	open.clear();
});
after(() => place.end());

function terminal(size = {}) {
	const t = new Tmux({ env: { ...place.env, ...size.env }, cwd: size.cwd ?? place.work, ...size });
	open.add(t);
	return t;
}
/** A chat that waits for the first text. */
async function chat(w, { args = [], ready = READY, ...size } = {}) {
	const t = terminal(size);
	t.run(CTL, "--socket", w.rt.socket, "chat", "--no-workspace", ...args);
	await t.until(ready);
	return t;
}
/** Enters a text and waits for the end of its turn. */
async function say(t, text) {
	const ends = (seen) => (seen.match(/^\d+ in, \d+ out/gm) ?? []).length;
	const had = ends(t.all());
	t.type(text);
	t.key("Enter");
	await t.until((seen) => ends(seen) > had, { all: true });
	return t.all();
}
const leave = async (t) => {
	t.key("C-d");
	return t.ended();
};
const count = (text, what) => text.split(what).length - 1;
const modeOf = (t) => execFileSync("stty", ["-a", "-F", t.tmux("display-message", "-p", "#{pane_tty}").trim()], { encoding: "utf8" });
const titleOf = (t) => t.tmux("display-message", "-p", "#{pane_title}").trim();
const pidOf = (t) => Number(execFileSync("pgrep", ["-o", "-x", "-t", t.tmux("display-message", "-p", "#{pane_tty}").trim().replace("/dev/", ""), "agentctl"], { encoding: "utf8" }));

test("a turn: the text, the answer as Markdown, what it used, the status below; the terminal is as before", async () => {
	const t = terminal();
	const mode = modeOf(t);
	t.run(CTL, "--socket", free.rt.socket, "chat", "--no-workspace");
	await t.until(READY);
	assert.notEqual(modeOf(t), mode);
	t.paste("[[say ## Result\n\nIt is **done**, see `a.c`:\n\n- one\n- two\n");
	const seen = await say(t, "]]");
	assert.match(seen, /^› \[\[say ## Result$/m);
	assert.match(seen, /^Result\n\nIt is done, see a\.c:\n\n• one\n• two\n+\d+ in, \d+ out/m);
	assert.match(t.screen(), /^─+\n› *\n {2}default · bypass · ctx 0 % · project · \/keys$/m);
	assert.equal(await leave(t), 0);
	assert.equal(modeOf(t), mode);
	assert.doesNotMatch(t.screen(), /\/keys/, "the live region is gone");
	assert.match(t.all(), /continue with: agentctl chat --session sess_/);
});

test("cards: reads are one line, a command has its exit and first lines, an edit its difference, a failure its sentence", async () => {
	const t = await chat(free, { cols: 80, rows: 40 });
	const seen = await say(t, '[[tool read_file {"path":"a.txt"}]] [[tool search_files {"pattern":"line"}]] [[tool shell {"command":"seq 1 12; exit 3"}]] '
		+ '[[tool edit_file {"path":"a.txt","oldText":"line two","newText":"line 2\\nand more"}]] [[tool write_file {"path":"b.txt","content":"x\\ny\\n"}]] '
		+ '[[tool read_file {"path":"nowhere"}]] [[tool nonsense {"size":1}]]');
	assert.match(seen, /^• Read a\.txt, 1 search {2}\d+\.\d s$/m);
	// In a build with a leak checker the sandbox blocks what that does at the end, and says so first.
	assert.match(seen, /^• \$ seq 1 12; exit 3 {2}exit 3 · \d+\.\d s · workspace_write\n(?: {2}│ the sandbox blocked[^]*?\n {2}│ \n)? {2}│ 1\n {2}│ 2\n {2}│ 3\n(?: {2}│ 4\n {2}│ 5\n)? {2}└ … [79] lines more \(\/output shows all\)$/m);
	assert.match(seen, /^• Edited a\.txt {2}\+2 -1\n {4}2 - line two\n {4}2 \+ line 2\n {4}3 \+ and more$/m);
	assert.match(seen, /^• Wrote b\.txt {2}\+2\n {4}1 \+ x\n {4}2 \+ y$/m);
	assert.match(seen, /^✗ Read nowhere {2}failed\n {2}│ 'nowhere' does not exist in the workspace\./m);
	assert.match(seen, /^✗ nonsense size: 1 {2}failed\n {2}│ .*there is no tool 'nonsense'/m);
	const shown = seen.slice(seen.lastIndexOf("nonsense {"));
	assert.doesNotMatch(shown.slice(shown.indexOf("\n")), /\{"/, "nobody reads JSON");
	t.type("/output");
	t.key("Enter");
	await t.until(/│ 12$/m, { all: true });
	await leave(t);
});

test("a question: what it is about in full, numbered answers; what is typed as a text is no answer", async () => {
	const t = await chat(asks);
	t.type('[[tool shell {"command":"echo a secret\\necho second line","cwd":"."}]]');
	t.key("Enter");
	await t.until(/why am I asked/);
	const seen = t.all();
	assert.match(seen, /^\? \$ echo a secret …\n {2}asked because mode default asks for it: .* · sandbox: workspace_write\n {2}command:\n {4}echo a secret\n {4}echo second line\n {2}cwd: \.$/m);
	assert.match(seen, /^ {2}› 1 {2}yes, once \(y\)\n {4}2 {2}yes, always in this session \(a\)\n {4}3 {2}no \(n\)\n {4}e {2}why am I asked · 23 h left · also in: agentctl inbox$/m);
	await sleep(600);
	t.type("e");
	await t.until(/permission\.evaluated +ask:/, { all: true });
	t.type("x");
	t.type("y"); // a text is being typed
	await t.until(/^› xy/m);
	assert.equal((await ok(asks.rt, "list_actions", {})).actions.length, 1);
	t.key("BSpace", "BSpace");
	await t.until(/^› *$/m);
	t.type("1");
	await t.until(/^✓ You answered: yes, once \(\d\d:\d\d\)$/m, { all: true });
	await t.until(/│ second line/, { all: true });
	await say(t, "[[say fine]]");
	t.type('[[tool shell {"command":"echo again"}]]');
	t.key("Enter");
	await t.until(/^\? \$ echo again$/m, { all: true });
	await sleep(600);
	t.key("Down", "Down", "Enter");
	await t.until(/^✗ You said no/m, { all: true });
	await t.until(/^✗ \$ echo again {2}denied$/m, { all: true });
	await leave(t);
});

test("every line once, whatever the size becomes meanwhile", async () => {
	const t = await chat(free, { cols: 134, rows: 40 });
	const lines = Array.from({ length: 80 }, (_, i) => `- item ${i} ${"x".repeat(30)} ${"y".repeat(30)} ${"z".repeat(30)} [${i}]`);
	t.type("[[delay 5]] [[say ");
	t.paste(`${lines.join("\n")}\n`);
	t.type("]]");
	t.key("Enter");
	for (const cols of [100, 60, 134, 45, 120]) {
		await sleep(300); // so that some of them come while it streams; which does not matter
		t.resize(cols, 40);
	}
	await t.until(/^\d+ in, .* tools?$/m, { all: true });
	for (const [cols, rows] of [[134, 30], [134, 24], [134, 50], [134, 36], [70, 20], [134, 40]]) {
		t.resize(cols, rows);
		await t.until((seen) => READY.test(seen) && seen.split("\n").some((line) => line.length === cols - 1 && /^─+$/.test(line)));
		const isRight = (seen) => count(seen, "/keys") === 1 && lines.every((_, i) => count(seen, `[${i}]`) === (i < 12 ? 2 : 1));
		await t.until(isRight, { all: true }); // it may be drawn in between
		await sleep(300);
		assert.ok(isRight(t.all()), `it stays right at ${cols}x${rows}:\n${t.all()}`);
	}
	await leave(t);
});

test("a paste of 2,000 lines is one turn, with brackets and without", async () => {
	const text = Array.from({ length: 2000 }, (_, i) => `pasted line ${i}`).join("\n");
	for (const bracketed of [true, false]) {
		const t = await chat(free);
		t.paste(text, { bracketed });
		await t.until(/^› \[Pasted text #1, 2000 lines\]$/m);
		t.key("Enter");
		await t.until(/^\d+ in, .* tools?$/m, { all: true });
		assert.match(t.all(), /^› pasted line 0\n {2}pasted line 1\n[^]*^ {2}… 1988 lines more$/m);
		await leave(t);
		const id = /--session (sess_\w+)/.exec(t.all())[1];
		const { threads } = await ok(free.rt, "get_session", { sessionId: id });
		assert.equal(threads[0].turns.length, 1);
		const { content } = await ok(free.rt, "read_output", { outputRef: threads[0].turns[0].inputRef });
		assert.ok(content.includes(text) || JSON.stringify(text).slice(1, -1) === content || content.includes(JSON.stringify(text).slice(1, -1)), content.slice(0, 200));
	}
});

test("hostile output: no sequence passes but those of the renderer", async () => {
	const t = terminal();
	const raw = join(newFolder(), "raw");
	t.tmux("pipe-pane", "-O", `cat > ${raw}`);
	t.run(CTL, "--socket", free.rt.socket, "chat", "--no-workspace");
	await t.until(READY);
	const { sessionId } = await ok(free.rt, "submit_turn", { createPolicy: {}, text: "[[say first]]" });
	await waitFor(async () => (await ok(free.rt, "get_session", { sessionId })).threads[0].turns[0].status === "completed", "its end");
	await leave(t);
	t.run(CTL, "--socket", free.rt.socket, "chat", "--session", sessionId);
	await t.until(READY);
	await ok(free.rt, "submit_turn", { sessionId, text: "[[say a\u001b]0;owned\u0007b\u009b31m\u001b[2J\u001b[?1049h\u202ec\u000e\u0013d]]" });
	await t.until(/^a\\u\{1B\}\]0;owned\\u\{7\}b\\u\{9B\}31m\\u\{1B\}\[2J\\u\{1B\}\[\?1049h\\u\{202E\}c\\u\{E\}\\u\{13\}d$/m, { all: true });
	const any = Uint8Array.from({ length: 4000 }, (_, i) => createHash("sha256").update(`byte ${i}`).digest()[0]); // what is no UTF-8 becomes U+FFFD
	const { turnId } = await ok(free.rt, "submit_turn", { sessionId, text: `[[say ${new TextDecoder().decode(any).replaceAll("]", "")}]]` });
	await waitFor(async () => (await ok(free.rt, "get_session", { sessionId })).threads[0].turns.find((turn) => turn.turnId === turnId)?.status === "completed", "the end of random bytes");
	await say(t, "[[say after all]]");
	await leave(t);
	const bytes = readFileSync(raw, "latin1");
	const ours = bytes.slice(bytes.indexOf("\x1b[?2004h"), bytes.lastIndexOf("\x1b[?2004l"));
	const kinds = new Set([...ours.matchAll(/\x1b(\[[?\d;]*[A-Za-z]|\][^\x07]*\x07|.)/g)].map((m) => m[1].replace(/^\[\d*(?=[ACJ]$)/, "[").replace(/^\[\d+m$/, "[m")));
	for (const kind of ["[?2026h", "[?2026l", "[A", "[C", "[J", "[m", "[?2004h", "[?2004l", "[?1004h", "[?1004l", "[?25h", "[22;2t", "[23;2t", "]0;agentctl: project\x07", "]0;working: project\x07", "[H", "[3J", "[6n"]) kinds.delete(kind);
	assert.deepEqual([...kinds], []);
});

test("the title says what it does, and who looks elsewhere gets a bell or a message; then the title is as before", async () => {
	for (const [way, wanted] of [["", /\x07/], ["message", /\x1b\]9;agentctl needs you: project\x07/], ["off", null]]) {
		const t = terminal({ env: way ? { AGENTCTL_NOTIFY: way } : {} });
		const raw = join(newFolder(), "raw");
		const title = (what) => waitFor(() => titleOf(t) === what, `the title ${what}`);
		t.tmux("select-pane", "-T", "mine");
		t.tmux("pipe-pane", "-O", `cat > ${raw}`);
		t.run(CTL, "--socket", asks.rt.socket, "chat", "--no-workspace");
		await t.until(READY);
		await title("agentctl: project");
		t.tmux("send-keys", "-H", "1b", "5b", "4f"); // the focus is elsewhere
		t.type('[[hang]]');
		t.key("Enter");
		await title("working: project");
		t.key("Escape");
		await title("agentctl: project");
		t.type('[[tool shell {"command":"rm -rf nothing"}]]');
		t.key("Enter");
		await title("needs you: project");
		const sent = readFileSync(raw, "latin1").replace(/\x1b\]0;[^\x07]*\x07/g, "");
		if (wanted) assert.match(sent, wanted);
		else assert.doesNotMatch(sent, /\x07/);
		t.key("C-c", "C-d");
		await t.until(/^ended \d+$/m);
		await title("mine");
	}
});

test("whatever ends it, the terminal is as before; Ctrl-Z gives it back and fg takes it again", async () => {
	for (const signal of ["SIGTERM", "SIGKILL", "SIGHUP"]) {
		const t = terminal();
		const mode = modeOf(t);
		t.tmux("select-pane", "-T", "mine");
		t.run(CTL, "--socket", free.rt.socket, "chat", "--no-workspace");
		await t.until(READY);
		process.kill(pidOf(t), signal);
		await t.until(/^ended \d+/m); // after SIGKILL the rest of that row may still be ours
		await waitFor(() => modeOf(t) === mode, `the mode after ${signal}`);
		await waitFor(() => titleOf(t) === "mine", `the title after ${signal}`);
	}
	const t = terminal();
	t.tmux("send-keys", "-l", "exec bash --norc");
	t.key("Enter");
	await t.until(/bash-[\d.]+[#$]\s*$/);
	t.run(CTL, "--socket", free.rt.socket, "chat", "--no-workspace");
	await t.until(READY);
	const raw = modeOf(t);
	t.type("half a line");
	await t.until(/half a line/);
	t.key("C-z");
	await t.until(/Stopped/);
	t.type("echo stopped-$(stty -a | grep -c -- ' icanon')");
	t.key("Enter");
	await t.until(/^stopped-1$/m);
	t.type("fg");
	t.key("Enter");
	await t.until(/^› half a line/m);
	assert.equal(modeOf(t), raw);
	t.key("C-c", "C-d");
	await t.until(/#\s*$|\$\s*$/);
	t.type("echo left-$(stty -a | grep -c -- ' icanon')");
	t.key("Enter");
	await t.until(/^left-1$/m);
});

test("while a turn runs: texts wait and are taken back, Tab steers, Esc interrupts", async () => {
	const t = await chat(free);
	t.type("[[delay 200]] [[tokens 500]]");
	t.key("Enter");
	await t.until(/w3/);
	await t.until(/^• Working \(\d+ s · Esc interrupts\)$/m);
	t.type("[[say second]]");
	t.key("Enter");
	await t.until(/^ {2}waits: \[\[say second\]\] {2}\(Up takes it back\)$/m);
	t.key("Up");
	await t.until((seen) => /^› \[\[say second\]\]/m.test(seen) && !/waits:/.test(seen));
	t.key("Tab");
	await t.until(/given to the running turn/, { all: true });
	t.key("Escape");
	await t.until(/the turn was cancelled/, { all: true });
	await t.until((seen) => !/Working|Interrupting \(/.test(seen) && READY.test(seen));
	await leave(t);
	const id = /--session (sess_\w+)/.exec(t.all())[1];
	const { threads } = await ok(free.rt, "get_session", { sessionId: id });
	assert.deepEqual(threads[0].turns.map((turn) => [turn.status, turn.inputPreview]), [["cancelled", "[[delay 200]] [[tokens 500]]"], ["cancelled", "[[say second]]"]]);
	assert.doesNotMatch(t.all(), /^second$/m, "what was taken back did not run");
});

test("the editor: history, search, files, commands, a shell, modes", async () => {
	const cwd = realpathSync(newFolder());
	mkdirSync(join(cwd, "src"));
	mkdirSync(join(cwd, ".git"));
	writeFileSync(join(cwd, ".git/HEAD"), "ref: refs/heads/fix-discount\n");
	writeFileSync(join(cwd, "src/price.c"), "");
	writeFileSync(join(cwd, "price.o"), "");
	writeFileSync(join(cwd, ".gitignore"), "*.o\n");
	symlinkSync("/etc", join(cwd, "outside"));
	const t = await chat(free, { cwd });
	assert.match(t.screen(), /\(fix-discount\) · \/keys$/m);
	await say(t, "[[say alpha one]]");
	await say(t, "[[say beta two]]");
	t.key("Up", "Up");
	await t.until(/^› \[\[say alpha one\]\]$/m);
	t.key("C-u", "C-r");
	t.type("bet");
	await t.until((seen) => /search: bet/.test(seen) && seen.match(/^› \[\[say beta two\]\]$/gm).length === 2);
	t.key("Escape"); // alone: with the next key in the same read it would be Alt and that key
	await t.until((seen) => !/search:/.test(seen) && /^› *$/m.test(seen));
	t.type("see @pri");
	await t.until(/^ {2}› @src\/price\.c/m);
	assert.doesNotMatch(t.screen(), /price\.o/);
	t.key("Tab");
	await t.until(/^› see @src\/price\.c *$/m);
	t.key("C-u");
	t.type("@host");
	await sleep(300);
	assert.doesNotMatch(t.screen(), /hosts/, "no link is followed");
	t.key("C-u");
	t.type("one\\");
	t.key("Enter");
	t.type("two");
	t.key("M-Enter");
	t.type("three");
	await t.until(/^› one\n {2}two\n {2}three$/m);
	t.key("C-c");
	t.type("/co");
	await t.until(/^ {2}› \/cost .*\n {4}\/compact /m);
	t.key("Enter");
	await t.until(/^› \/cost *$/m);
	t.key("Enter");
	await t.until(/^2 turns seen here: /m, { all: true });
	t.type("!echo from-$((40+2))");
	t.key("Enter");
	await t.until(/^from-42$/m, { all: true });
	await t.until(READY);
	t.key("BTab");
	await t.until(/ · plan · /);
	t.key("BTab", "BTab", "BTab");
	await t.until(/ · bypass · /);
	await leave(t);
});

/** Two keys of their own, less than a second apart: on a busy machine not at the first try. */
async function escTwice(t, shown) {
	for (let tries = 0; tries < 5; tries++) {
		t.key("Escape");
		await sleep(150);
		t.key("Escape");
		for (let looks = 0; looks < 100; looks++) {
			if (shown.test(t.screen())) return;
			await sleep(50);
		}
	}
	assert.fail(`two Esc did not bring ${shown}`);
}

test("double Esc takes the last turn back: the conversation, and its text is there to be changed", async () => {
	const t = await chat(free);
	await say(t, "[[say first]]");
	await say(t, "[[say wrong]]");
	await escTwice(t, /Take back the last turn: 1 conversation · 2 files · 3 both/);
	t.type("1");
	await t.until(/^taken back: \[\[say wrong\]\]$/m, { all: true });
	await t.until(/^› \[\[say wrong\]\]$/m);
	t.key("C-c");
	await leave(t);
	const { threads } = await ok(free.rt, "get_session", { sessionId: /--session (sess_\w+)/.exec(t.all())[1] });
	assert.deepEqual(threads[0].turns.map((turn) => turn.inputPreview), ["[[say first]]"]);
});

test("40 columns, no colours, plain: all of it can be read", async () => {
	const narrow = await chat(free, { cols: 40, rows: 12, env: { NO_COLOR: "1" }, ready: /^› *\n {2}model/m });
	const raw = join(newFolder(), "raw");
	narrow.tmux("pipe-pane", "-O", `cat > ${raw}`);
	await say(narrow, "[[say A sentence that does not fit into one row of this terminal.]]");
	assert.match(narrow.all(), /^A sentence that does not fit into one\nrow of this terminal\.$/m);
	assert.doesNotMatch(readFileSync(raw, "latin1"), /\x1b\[[\d;]*m/);
	await leave(narrow);
});

test("--plain is for who listens: no sequence and no line that is written anew, also around a question", async () => {
	const t = terminal({ env: { NO_COLOR: "1" } });
	const raw = join(newFolder(), "raw");
	t.tmux("pipe-pane", "-O", `cat > ${raw}`);
	t.run(CTL, "--socket", asks.rt.socket, "chat", "--no-workspace", "--plain");
	await t.until(/^>$/m);
	t.type("[[say **as it is**]]");
	t.key("Enter");
	await t.until(/^\*\*as it is\*\*$/m);
	t.type('[[tool shell {"command":"echo hello"}]] [[say after it]]');
	t.key("Enter");
	await t.until(/y\/n|why it is asked/);
	t.type("n");
	t.key("Enter");
	await t.until(/^after it$/m);
	t.key("C-d");
	await t.until(/^ended 0$/m);
	const all = readFileSync(raw, "latin1");
	const bytes = all.slice(all.indexOf("[[say **as"), all.indexOf("after it\r")); // without the shell's own
	assert.doesNotMatch(bytes, /\x1b|\r(?!\r*\n)|\x08/);
	assert.match(bytes, /echo hello/);
});

test("a form is asked for field by field, in the live region", async (context) => {
	const home = await Place.make({ withModel: false });
	let fake;
	context.after(async () => {
		await fake?.close();
		await home.end();
	});
	mkdirSync(home.data, { mode: 0o700 });
	const schema = { type: "object", required: ["where", "count"], properties: { where: { type: "string", description: "Which place?" }, count: { type: "integer" }, note: { type: "string" } } };
	const question = frame(6, { type: "action.required", sequence: 6, actionId: "action_x_1",
		payload: { actionType: "structured_input", prompt: "Where to?", schema, decisions: ["accept", "decline", "cancel"], scope: {} } });
	fake = await startFake(join(home.data, "agentd.sock"), { streams: Array.from({ length: 8 }, () => [question]),
		replies: { ...receipt, "/v1/respond_action": { json: { actionId: "action_x_1", decision: "accept", decisionSource: "human" } } } });
	const t = terminal();
	t.run(CTL, "--socket", join(home.data, "agentd.sock"), "chat", "--no-workspace");
	await t.until(READY);
	for (const [text, next] of [["go", /^\? Some values are needed\n {2}Where to\?\n[^]*^Which place\?\n[^]*^ {2}where \(\/decline\):/m], ["there", /^ {2}count \(\/decline\):/m],
		["many", /that is not a valid value/], ["3", /^ {2}note, optional \(\/decline\):/m]]) {
		t.type(text);
		t.key("Enter");
		await t.until(next, { all: true });
	}
	t.key("Enter");
	const body = await waitFor(() => fake.asked.find((a) => a.path === "/v1/respond_action")?.body, "the answer");
	assert.deepEqual(JSON.parse(body).payload, { where: "there", count: 3 });
	assert.equal(count(t.all(), "Which place?"), 1, "what explains a field is written once");
});
