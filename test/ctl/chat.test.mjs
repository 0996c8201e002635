// agentctl chat against a real agentd with a scripted model: on a terminal (util-linux script gives it one) and in a pipe. Streams that
// are cut come from a daemon that misbehaves on purpose.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { newFolder, ok, waitFor, within, world } from "../lib/runtime.mjs";
import { completed, frame, receipt, startFake, text } from "./fake.mjs";
import { bin, lines, Place, Running, sleep } from "./place.mjs";

const PROMPT = /> $/;
const READ = '[[tool read_file {"path":"a.txt"}]]';
let free, asks, place;
const open = new Set();

before(async () => {
	const workspace = newFolder();
	writeFileSync(join(workspace, "a.txt"), "hello file\n");
	place = await Place.make({ withModel: false });
	free = await world({ config: { "tools.workspace": workspace } });
	asks = await world({ config: { "tools.workspace": workspace, permission_rules: [{ name: "look-first", effect: "ask", tool: "read_file" }] } });
});
afterEach(async () => {
	for (const chat of open) {
		chat.child.kill("SIGKILL");
		await chat.done;
	}
	open.clear();
});
after(() => place.end());

/** A chat on a terminal of its own, with what is typed and what is shown. */
function terminal(socket, args = [], env = {}) {
	const where = socket ? ["--socket", socket] : [];
	const command = [join(bin, "agentctl"), ...where, "chat", ...args].map((word) => `'${word}'`).join(" ");
	const chat = new Running("script", ["-qefc", command, "/dev/null"], { env: { ...place.env, ...env, TERM: env.TERM ?? "dumb", USER: "ada" }, input: null });
	open.add(chat);
	return chat;
}
const plain = (chat) => chat.out.replaceAll("\r", "");
const shows = (chat, what) => chat.until((c) => what.test(plain(c)));
/** Types a line at the prompt, waits for what is shown after it. */
async function say(chat, line, what) {
	const before = chat.out.length;
	chat.type(`${line}\n`);
	await chat.until((c) => what.test(c.out.slice(before).replaceAll("\r", "")));
	return chat.out.slice(before).replaceAll("\r", "");
}
const leave = async (chat) => {
	chat.type("\x04");
	return gone(chat);
};
/** The exit of a chat that is about to leave. */
async function gone(chat) {
	const end = await within(chat.done, 10000);
	assert.ok(end, `it did not leave: ${chat.out}`);
	open.delete(chat);
	return end.code;
}
const sessionOf = (chat) => /chat --session (sess_\w+)/.exec(chat.out)?.[1];
const turnsOf = async (w, sessionId) => (await ok(w.rt, "get_session", { sessionId })).threads.map((t) => t.turns.map((x) => x.inputPreview));

test("a turn on the terminal: the answer as it comes, what it used, and the prompt again; Ctrl-D leaves", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	const shown = await say(chat, "[[reasoning let me see]] [[say Good morning.]]", /tools\n> $/);
	assert.match(shown, /let me see\n\nGood morning\.\n\d+ in, \d+ out, \d+ cached; cost unknown; \d+\.\d s; 0 tools\n> $/);
	await say(chat, "[[say And again.]]", /And again\.\n.*tools\n> $/);
	assert.equal(await leave(chat), 0);
	assert.doesNotMatch(chat.out, /from agentctl/, "what was typed here is not told again");
	assert.deepEqual((await turnsOf(free, sessionOf(chat)))[0].length, 2, "one session for all lines");
});

test("a tool is a line when it starts and one when it ends, well or not", async () => {
	const chat = terminal(free.rt.socket, ["--plain"], { TERM: "xterm" });
	await shows(chat, />/);
	const shown = await say(chat, `${READ} [[tool read_file {"path":"nowhere"}]]`, /2 tools/);
	const bare = shown.replace(/\x1b\[\d+m/g, "");
	assert.match(bare, /^▸ read_file path: a\.txt$/m);
	assert.match(bare, /^ {2}ok read_file: 1 hello file \(\d+ ms\)$/m);
	assert.match(bare, /^ {2}failed read_file: not_found\. Look for it with find_files/m);
	assert.match(bare, /^ {4}the model reads: .*nowhere/m, "the sentence that the model got");
	assert.match(shown, /\x1b\[31m {2}failed/, "in red");
	await leave(chat);
});

test("a question is answered by the next line: e says why, y lets it run, n does not", async () => {
	const chat = terminal(asks.rt.socket);
	await shows(chat, PROMPT);
	const asked = await say(chat, READ, /why it is asked\? $/);
	assert.match(asked, /\? It is asked because rule 'look-first' asks for it\. May the tool 'read_file' run with \{"path":"a\.txt"\}\?/);
	assert.match(asked, /action_\w+_1, 23 h left\ny yes, n no, a always in this session, e why it is asked\? $/);
	assert.match(await say(chat, "what?", /asked\? $/), /that is not an answer/);
	assert.match(await say(chat, "e", /asked\? $/), /permission\.evaluated +ask: rule 'look-first' asks for it/);
	assert.match(await say(chat, "y", /tool\n> $/), /▸ read_file[^]* ok read_file: 1 hello file/);
	await say(chat, READ, /asked\? $/);
	assert.match(await say(chat, "n", /tool\n> $/), /^ {2}denied read_file: permission_denied/m);
	await say(chat, READ, /asked\? $/);
	await say(chat, "a", / ok read_file[^]*> $/);
	const free = await say(chat, READ, /tool\n> $/);
	assert.doesNotMatch(free, /why it is asked/, "allowed for the session");
	await leave(chat);
	const { actions } = await ok(asks.rt, "list_actions", { sessionId: sessionOf(chat), status: "all" });
	assert.deepEqual(actions.map((a) => a.decision), ["allow", "deny", "allow_session"]);
});

test("without a terminal a question ends chat as it ends run, and stays open", async () => {
	const at = ["--socket", asks.rt.socket, "chat"];
	const asked = /the turn waits for a decision on (action_\w+): .*May the tool .+\nnext: agentctl approve \1 .*agentctl chat --session sess_\w+;/;
	for (const how of [[], ["--on-question=fail"], ["--json"]]) {
		const { code, err } = await place.ctl(...at, ...how, { input: `${READ}\nnext\n` });
		assert.equal(code, 4, err);
		assert.match(err, asked);
		assert.equal((await place.ctl("--socket", asks.rt.socket, "approve", asked.exec(err)[1])).code, 0, "it was open");
	}
	const wrong = await place.ctl(...at, "--on-question=ask", { input: "" });
	assert.deepEqual([wrong.code, /must be fail or wait, not 'ask'/.test(wrong.err)], [2, true]);
});

test("who was faster elsewhere is told, and a question that waits is shown to who joins", async () => {
	const chat = terminal(asks.rt.socket);
	await shows(chat, PROMPT);
	await say(chat, READ, /asked\? $/);
	const action = (await ok(asks.rt, "list_actions", {})).actions.at(-1);
	const second = terminal(asks.rt.socket, ["--session", action.sessionId]);
	await shows(second, /May the tool 'read_file' run[^]*asked\? $/);
	await ok(asks.rt, "respond_action", { actionId: action.actionId, decision: "deny", actor: { name: "bob" } });
	for (const each of [chat, second]) await shows(each, /settled elsewhere: deny \(human, by bob\)\n[^]*denied read_file[^]*> $/);
});

test("lines that come while a turn runs wait, and are told and listed", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	chat.type("[[delay 150]] [[tokens 12]]\n");
	await shows(chat, /w1 /);
	await say(chat, "[[say second]]", /queued \(1 waiting\)/);
	await say(chat, "[[say third]]", /queued \(2 waiting\)/);
	assert.match(await say(chat, "/queue", /third/), / 1 {2}\[\[say second\]\]\n {2}2 {2}\[\[say third\]\]/);
	await shows(chat, /second\n[^]*third\n.*tools\n> $/);
	await leave(chat);
});

test("Ctrl-C stops the running turn; at the prompt twice leaves", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	chat.type("[[delay 100]] [[tokens 500]]\n");
	await shows(chat, /w2 /);
	chat.type("\x03");
	await shows(chat, /interrupting\n[^]*the turn was cancelled[^]*> $/);
	chat.type("\x03");
	await shows(chat, /once more to leave[^]*> $/);
	chat.type("\x03");
	assert.equal(await gone(chat), 130);
	const { threads } = await ok(free.rt, "get_session", { sessionId: sessionOf(chat) });
	assert.equal(threads[0].turns[0].status, "cancelled");
});

test("the commands of the conversation", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	assert.match(await say(chat, "/help", /> $/), /\/explain \[last\|ID\][^]*\/exit/);
	assert.match(await say(chat, "/rollback", /> $/), /there is no turn yet/);
	assert.match(await say(chat, "/nonsense", /> $/), /no such command/);
	await say(chat, "[[say one]]", /tools\n> $/);
	await say(chat, "[[say two]]", /tools\n> $/);
	assert.match(await say(chat, "/rollback", /> $/), /taken back: \[\[say two\]\]/);
	assert.match(await say(chat, "/fork", /> $/), /now in the branch thread_\w+_2/);
	await say(chat, "//[[say in the branch]]", /in the branch\n[^]*> $/);
	assert.match(await say(chat, "/cost", /> $/), /3 turns seen here: \d+ in/);
	assert.match(await say(chat, "/explain", /> $/), /turn\.completed/);
	assert.match(await say(chat, "/compact", /> $/), /too short to be compacted/);
	assert.match(await say(chat, "/mode plan", /> $/), /mode of the next turns: plan/);
	await say(chat, "[[say planned]]", /planned\n.*tools\n> $/);
	const session = sessionOf(chat) ?? (await ok(free.rt, "list_sessions", { limit: 1 })).sessions[0].sessionId;
	await say(chat, "/new", /> $/);
	await say(chat, "[[say afresh]]", /afresh\n.*tools\n> $/);
	chat.type("/exit\n");
	assert.equal(await gone(chat), 0);
	assert.notEqual(sessionOf(chat), session);
	assert.deepEqual(await turnsOf(free, session), [["[[say one]]"], ["/[[say in the branch]]", "[[say planned]]"]]);
	assert.deepEqual(await turnsOf(free, sessionOf(chat)), [["[[say afresh]]"]]);
});

test("a long conversation is shortened on demand, and goes on", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	for (let i = 0; i < 4; i++) await say(chat, "[[tokens 300]]", /tools\n> $/);
	const shown = await say(chat, "/compact", /shortened[^]*tools\n> $/);
	assert.match(shown, /· shortening the conversation: manual, \d+\n[^]*· shortened to tokens: \d+, Summary: they talked\./);
	assert.equal(shown.match(/Summary: they talked/g).length, 1, "the summary is not shown as an answer");
	await say(chat, "[[say still here]]", /still here\n.*tools\n> $/);
	await leave(chat);
});

test("what a model says cannot reach the terminal's controls", async () => {
	const chat = terminal(free.rt.socket);
	await shows(chat, PROMPT);
	const before = chat.out.length;
	const shown = await say(chat, "[[utf8]]", /tools\n> $/);
	assert.match(shown, /日本語/);
	const hostile = await ok(free.rt, "submit_turn", { createPolicy: {}, text: "[[say a\u001b]0;owned\u0007b\u009b31mc]]" });
	await waitFor(async () => (await ok(free.rt, "get_session", { sessionId: hostile.sessionId })).threads[0].turns[0].status === "completed", "its end");
	const other = terminal(free.rt.socket, ["--session", hostile.sessionId]);
	await shows(other, PROMPT);
	await ok(free.rt, "submit_turn", { sessionId: hostile.sessionId, text: "[[say a\u001b]0;owned\u0007b\u009b31mc]]" });
	await shows(other, /tools\n> $/);
	assert.match(plain(other), /^from api: \[\[say a/m, "what others say here is told");
	assert.match(plain(other), /^a\\u\{1B\}\]0;owned\\u\{7\}b\\u\{9B\}31mc$/m);
	assert.doesNotMatch(other.out + chat.out.slice(before), /[\x1b\x07\x9b]/);
});

test("in a pipe each line is a turn that is waited for; the words alone are on standard output", async () => {
	const { code, out, err } = await place.ctl("--socket", free.rt.socket, "chat", { input: `[[say one]]\n\n${READ}\n[[say three]]` });
	assert.equal(code, 0, err);
	assert.match(out, /^one\nThe tool said: +1\thello file\n.*\nthree\n$/);
	assert.match(err, /^▸ read_file/m);
	const { sessions } = await ok(free.rt, "list_sessions", { limit: 1 });
	assert.deepEqual((await turnsOf(free, sessions[0].sessionId))[0].length, 3);
	const more = await place.ctl("--socket", free.rt.socket, "chat", "--continue", "--quiet", { input: "[[say four]]\n" });
	assert.deepEqual([more.code, more.out, more.err], [0, "four\n", ""]);
	assert.deepEqual((await turnsOf(free, sessions[0].sessionId))[0].length, 4);
});

test("in a pipe a failed turn is the exit, and --json prints the events", async () => {
	const bad = await place.ctl("--socket", free.rt.socket, "chat", { input: "[[http 400]]\n[[say after]]\n" });
	assert.equal(bad.code, 1);
	assert.match(bad.out, /after\n$/);
	assert.match(bad.err, /the turn failed/);
	const { code, out } = await place.ctl("--socket", free.rt.socket, "chat", "--json", { input: "[[say x]]\n[[say y]]\n" });
	assert.equal(code, 0);
	const types = lines(out).map((line) => JSON.parse(line).type);
	assert.equal(types.filter((type) => type === "turn.completed").length, 2);
	assert.ok(types.includes("model.delta"));
});

test("in a pipe a question is answered from elsewhere", async () => {
	const run = place.start("--socket", asks.rt.socket, "chat", "--on-question=wait", { input: `${READ}\n` });
	await run.until((r) => /an answer is needed: It is asked because [^]*May the tool[^]*agentctl approve action_/.test(r.err));
	await place.ctl("--socket", asks.rt.socket, "approve", /approve (action_\w+)/.exec(run.err)[1]);
	const { code, out } = await run.done;
	assert.equal(code, 0);
	assert.match(out, /hello file/);
});

test("a stream that is cut is joined again with nothing lost or doubled", async (t) => {
	const home = await Place.make({ withModel: false });
	let fake;
	t.after(async () => {
		await fake?.close();
		await home.end();
	});
	mkdirSync(home.data, { mode: 0o700 });
	const started = frame(4, { type: "turn.started", sequence: 4, payload: {} });
	fake = await startFake(join(home.data, "agentd.sock"), { replies: receipt, streams: [
		[started, text(5, 0, "one "), text(5, 4, "two ")],
		[started, text(5, 4, "two th"), text(5, 10, "ree"), completed(6)],
	] });
	const { code, out } = await home.ctl("chat", { input: "x\n" });
	assert.deepEqual([code, out], [0, "one two three\n"]);
	assert.deepEqual(fake.asked.filter((a) => a.path.endsWith("/events")).map((a) => a.after), ["0", "5.1:8"]);
});

test("a daemon that is killed and started again goes on with the conversation", async (t) => {
	const home = await Place.make();
	t.after(() => home.end());
	const { TERM: _, ...env } = home.env;
	const chat = terminal(undefined, [], env);
	await shows(chat, PROMPT);
	chat.type("[[delay 60]] [[tokens 30]]\n");
	await shows(chat, /w3 /);
	await home.kill();
	new Running(join(bin, "agentd"), ["--listen", "off"], { env: home.env });
	await shows(chat, /· resumed: [^]*w28 w29\s+.*tools\n> $/);
	assert.match(await say(chat, "[[say after]]", /after\n.*tools\n> $/), /after/);
	assert.equal(await leave(chat), 0);
});

test("a form is asked for field by field", async (t) => {
	const home = await Place.make({ withModel: false });
	let fake;
	t.after(async () => {
		await fake?.close();
		await home.end();
	});
	mkdirSync(home.data, { mode: 0o700 });
	const schema = { type: "object", required: ["where", "count"], properties: { where: { type: "string", enum: ["here", "there"], description: "Which place?" },
		count: { type: "integer" }, sure: { type: "boolean", default: true }, note: { type: "string" }, tags: { type: "array" } } };
	const question = frame(6, { type: "action.required", sequence: 6, actionId: "action_x_1",
		payload: { actionType: "structured_input", prompt: "Where to?", schema, decisions: ["accept", "decline", "cancel"], scope: {} } });
	fake = await startFake(join(home.data, "agentd.sock"), { streams: Array.from({ length: 8 }, () => [question]),
		replies: { ...receipt, "/v1/respond_action": { json: { actionId: "action_x_1", decision: "accept", decisionSource: "human" } } } });
	const chat = terminal(join(home.data, "agentd.sock"));
	await shows(chat, PROMPT);
	await say(chat, "go", /\? Where to\?\n[^]*Which place\?\nwhere one of \["here","there"\] \(\/decline\): $/);
	await say(chat, "there", /count \(\/decline\): $/);
	await say(chat, "many", /not a valid value[^]*count \(\/decline\): $/);
	await say(chat, "3", /sure, else true, optional \(y or n, \/decline\): $/);
	await say(chat, "", /note, optional/);
	await say(chat, "", /tags, optional/);
	chat.type('["a"]\n');
	const body = await waitFor(() => fake.asked.find((a) => a.path === "/v1/respond_action")?.body, "the answer");
	assert.deepEqual(JSON.parse(body), { actionId: "action_x_1", decision: "accept", actor: { name: "ada", client: "agentctl" },
		payload: { where: "there", count: 3, sure: true, tags: ["a"] } });
	await sleep(10);
	chat.child.kill("SIGKILL");
	await chat.done;
	open.delete(chat);
});
