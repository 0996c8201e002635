// What a person at agentctl sees of a question before answering it: the danger and the reason first, the end of a long command, the count of
// what is left out, and no character that hides or turns others. Against a real agentd with real shells; nothing runs before an answer.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { facts, pending } from "../lib/gate.mjs";
import { newFolder, ok, submit, waitFor, world } from "../lib/runtime.mjs";
import { bin, lines, Place, Running } from "./place.mjs";

const LONG = `echo ${"x".repeat(4000)}; rm -rf old`;
const shell = (command) => `[[tool shell ${JSON.stringify({ command })}]]`;
const DANGER_FIRST = /This cannot be undone\. It is asked because it looks like recursive_delete \(rm -rf\)[^]*May the tool 'shell' run with/;
const CUT = /x\[\.\.\. [0-9],[0-9]{3} bytes not shown \.\.\.\]x+; rm -rf old"\}\?/;
const UNSEEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/u;

let w, place;
const open = new Set();

before(async () => {
	place = await Place.make({ withModel: false });
	w = await world({ config: { "tools.workspace": newFolder(), "permission.mode": "default" } });
});
afterEach(async () => {
	for (const program of open) {
		program.child.kill("SIGKILL");
		await program.done;
	}
	open.clear();
});
after(() => place.end());

const ctl = (...args) => place.ctl("--socket", w.rt.socket, ...args);
function start(...args) {
	const program = place.start("--socket", w.rt.socket, ...args);
	open.add(program);
	return program;
}
/** The same on a terminal, where it is typed at. */
function terminal(...args) {
	const command = [join(bin, "agentctl"), "--socket", w.rt.socket, ...args].map((word) => `'${word}'`).join(" ");
	const program = new Running("script", ["-qefc", `stty cols 80 rows 24; ${command}`, "/dev/null"], { env: { ...place.env, TERM: "dumb" }, input: null });
	open.add(program);
	return program;
}
async function asked(command) {
	const { sessionId } = await submit(w.rt, shell(command));
	const [{ actionId }] = await pending(w.rt, sessionId);
	return { sessionId, actionId };
}
const decided = async ({ sessionId }) => (await facts(w.rt, sessionId, "action.resolved")).map((e) => e.payload.decision);

test("run shows the danger, the reason and the end of the command, and how to see all of it", async () => {
	const run = start("run", shell(LONG));
	await run.until((r) => /agentctl approve action_\w+/.test(r.err));
	assert.match(run.err, DANGER_FIRST);
	assert.match(run.err, CUT);
	assert.match(run.err, /agentctl inbox show action_\w+/);
});

test("the line of the inbox shows the same, and inbox show prints every byte", async () => {
	const { actionId } = await asked(LONG);
	const row = lines((await ctl("inbox")).out).find((line) => line.startsWith(actionId));
	assert.match(row, DANGER_FIRST);
	assert.match(row, CUT);
	const { code, out } = await ctl("inbox", "show", actionId);
	assert.equal(code, 0);
	assert.ok(out.includes(LONG), out);
	assert.equal((await ctl("inbox", "show")).code, 2);
});

test("approve prints the whole of it before it answers", async () => {
	const q = await asked(LONG);
	const { code, out, err } = await ctl("approve", q.actionId);
	assert.deepEqual([code, out], [0, `${q.actionId}  allow\n`]);
	assert.ok(err.includes(LONG), err);
	assert.deepEqual(await decided(q), ["allow"]);
});

test("approve on a terminal shows it page by page and waits for a yes", async () => {
	for (const [word, exit, outcome] of [["n", 1, []], ["y", 0, ["allow"]]]) {
		const q = await asked(LONG);
		const program = terminal("approve", q.actionId);
		for (let page = 1; page <= 2; page++) {
			await program.until((p) => p.out.split("Enter shows them").length > page);
			program.type("\n");
		}
		await program.until((p) => /; rm -rf old"\}\?\r?\nThat is all of it\. Approve it\? y\/N $/.test(p.out));
		assert.deepEqual(await decided(q), [], "nothing was answered yet");
		program.type(`${word}\n`);
		assert.equal((await program.within()).code, exit, program.out);
		assert.deepEqual(await decided(q), outcome);
	}
});

test("chat shows the whole question, and y approves it", async () => {
	const chat = terminal("chat");
	await chat.until((c) => /> $/.test(c.out));
	const { sessionId } = await submit(w.rt, "[[say begun]]");
	const other = terminal("chat", "--session", sessionId);
	await other.until((c) => /> $/.test(c.out));
	await submit(w.rt, shell(LONG), { sessionId });
	await other.until((c) => /why it is asked\? $/.test(c.out));
	const shown = other.out.replaceAll("\r", "");
	assert.match(shown, DANGER_FIRST);
	assert.ok(shown.includes(LONG), shown);
	other.type("y\n");
	await waitFor(async () => (await decided({ sessionId }))[0] === "allow", "the answer");
});

test("always is not offered for what destroys, and refused by the daemon", async () => {
	const q = await asked("rm -rf old");
	const { code, err } = await ctl("approve", q.actionId, "--scope", "session");
	assert.equal(code, 1, err);
	assert.match(err, /allow_session|session/);
	assert.deepEqual(await decided(q), []);
	const chat = terminal("chat", "--session", q.sessionId);
	await chat.until((c) => /why it is asked\? $/.test(c.out));
	assert.match(chat.out, /y yes, n no, e why/);
});

test("characters that hide or turn others are written out, wherever a person reads", async () => {
	const tricky = "echo \u202e\u2066fr- mr\u2069\u200b\u200d\u2060\ufeff\u00ad\u061c\u{e0041}\u0085 done";
	const { sessionId, actionId } = await asked(tricky);
	const run = start("run", shell(tricky));
	await run.until((r) => /agentctl approve action_\w+/.test(r.err));
	const chat = terminal("chat", "--session", sessionId);
	await chat.until((c) => /why it is asked\? $/.test(c.out));
	const shown = {
		run: run.err, chat: chat.out.replaceAll("\r", ""), inbox: (await ctl("inbox")).out, "inbox show": (await ctl("inbox", "show", actionId)).out,
		tail: (await ctl("tail", sessionId, "--no-follow")).out,
	};
	for (const [where, text] of Object.entries(shown)) {
		assert.match(text, /echo \\u\{202E\}\\u\{2066\}fr- mr\\u\{2069\}\\u\{200B\}\\u\{200D\}\\u\{2060\}\\u\{FEFF\}\\u\{AD\}\\u\{61C\}\\u\{E0041\}\\u\{85\} done/, where);
		assert.doesNotMatch(text, UNSEEN, where);
	}
	for (const word of ["show", "explain"]) assert.doesNotMatch((await ctl(word, sessionId)).out, UNSEEN, word);
	const { actions } = JSON.parse((await ctl("inbox", "--session", sessionId, "--json")).out);
	assert.ok(actions[0].title.includes(tricky), "programs get it as it is");
});

test("a tool that fails shows the sentence that the model got", async () => {
	const { code, out, err } = await ctl("run", '[[tool read_file {"path":"no/such/file"}]]');
	assert.equal(code, 0, err);
	const [, sentence] = /^The tool said: (.*)$/m.exec(out);
	assert.match(sentence, /no\/such\/file/);
	assert.ok(err.includes(sentence), `${err} has not: ${sentence}`);
	assert.match(err, /read_file failed \(not_found\): /);
});
