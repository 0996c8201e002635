// What waits for a person and how it is answered: against a daemon that answers as the test says, which request goes out and what people
// see; and the whole way through a real one.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { startFake } from "./fake.mjs";
import { lines, Place } from "./place.mjs";

const core = "01m0fd2e7wp4z9k3s5b8t6v1cx";
const session = `sess_${core}`;
const id = (n) => `action_${core}_${n}`;
const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();

const permission = { actionId: id(1), sessionId: session, sessionTitle: "tidy\u001b[31m up", actionType: "tool_permission", status: "pending",
	title: "May the tool 'write_file' run?\nIt writes.", toolName: "write_file", destructive: true,
	decisions: ["allow", "allow_session", "deny"], createdAt: ago(180), expiresAt: ago(-90.5) };
const form = { actionId: id(12), sessionId: session, actionType: "structured_input", status: "pending", title: "Which environment?",
	decisions: ["accept", "decline", "cancel"], createdAt: ago(5) };
const unsure = { actionId: id(3), sessionId: session, actionType: "completion_override", status: "pending", title: "Did it happen?",
	decisions: ["retry", "skip", "mark_done"], createdAt: ago(5) };

let place, fake;
beforeEach(async () => {
	place = await Place.make({ withModel: false, env: { USER: "ada" } });
	mkdirSync(place.data, { mode: 0o700 });
});
afterEach(async () => {
	await fake?.close();
	await place.end();
});

async function serve(actions, { answer = {}, more } = {}) {
	fake = await startFake(join(place.data, "agentd.sock"), { replies: {
		"/v1/list_actions": { json: { actions, ...(more ? { nextCursor: more } : {}) } },
		"/v1/respond_action": { json: { actionId: id(1), decision: "allow", decisionSource: "human", resolvedAt: ago(0) }, ...answer },
	} });
}
const asked = (path) => fake.asked.filter((a) => a.path === path).map((a) => JSON.parse(a.body));
const answers = () => asked("/v1/respond_action");

test("inbox shows one line each: id, age, time left, tool, question, session", async () => {
	await serve([permission, form]);
	const { code, out } = await place.ctl("inbox");
	assert.equal(code, 0);
	const rows = lines(out);
	assert.equal(rows.length, 3);
	assert.match(rows[0], /^ACTION +ASKED +STATE +TOOL +WHAT \[SESSION\]$/);
	assert.match(rows[1], /^action_\S+_1 +3 min ago +(90|89) s left +write_file +May the tool 'write_file' run\? It writes\.  \[tidy\\u\{1B\}\[31m up\]$/);
	assert.match(rows[2], /^action_\S+_12 +5 s ago +waits +structured_input +Which environment\?$/);
	assert.deepEqual(asked("/v1/list_actions"), [{ status: "pending", limit: 50 }]);
});

test("inbox asks for what the options say, and prints JSON as it came", async () => {
	const settled = { ...permission, status: "resolved", decision: "deny", decisionSource: "timeout", resolvedAt: ago(1) };
	await serve([settled], { more: "1.x" });
	const { out, err } = await place.ctl("inbox", "--session", session, "--all", "--limit", "7");
	assert.match(lines(out)[1], / deny \(timeout\) +write_file/);
	assert.match(err, /there are more/);
	assert.deepEqual(asked("/v1/list_actions"), [{ sessionId: session, status: "all", limit: 7 }]);
	assert.deepEqual((await place.json("inbox")).actions, [settled]);
	for (const limit of ["0", "201", "x"]) assert.equal((await place.ctl("inbox", "--limit", limit)).code, 2, limit);
});

test("an empty inbox says so", async () => {
	await serve([]);
	const { code, out, err } = await place.ctl("inbox");
	assert.deepEqual([code, out], [0, ""]);
	assert.match(err, /nothing waits for an answer/);
});

test("approve and deny say the word that the action offers, with scope, reason and who", async () => {
	await serve([permission]);
	const { code, out } = await place.ctl("approve", id(1));
	assert.deepEqual([code, out], [0, `${id(1)}  allow\n`]);
	await place.ctl("approve", id(1), "--scope", "session", "--reason", "reads only");
	await place.ctl("deny", id(1), "--reason", "not \"here\"");
	const actor = { name: "ada", client: "agentctl" };
	assert.deepEqual(answers(), [
		{ actionId: id(1), decision: "allow", actor },
		{ actionId: id(1), decision: "allow", payload: { scope: "session", reason: "reads only" }, actor },
		{ actionId: id(1), decision: "deny", payload: { reason: "not \"here\"" }, actor },
	]);
	assert.equal((await place.json("approve", id(1))).decisionSource, "human");
});

test("part of an id is enough when only one fits", async () => {
	await serve([permission, form, unsure]);
	assert.equal((await place.ctl("deny", "cx_12")).code, 0);
	assert.equal((await place.ctl("approve", "_1")).code, 0);
	assert.deepEqual(answers().map((a) => [a.actionId, a.decision]), [[id(12), "decline"], [id(1), "allow"]]);
	const both = await place.ctl("approve", "action_01m0");
	assert.equal(both.code, 2);
	assert.match(both.err, /could be action_\S+ or action_\S+/);
	const none = await place.ctl("approve", "zz");
	assert.equal(none.code, 1);
	assert.match(none.err, /no action matches 'zz'[^]*agentctl inbox/);
	assert.equal((await place.ctl("approve", "a b")).code, 2);
	assert.equal(answers().length, 2);
});

test("what has no yes or no is not guessed", async () => {
	await serve([unsure]);
	for (const verb of ["approve", "deny"]) {
		const { code, err } = await place.ctl(verb, id(3));
		assert.equal(code, 2);
		assert.match(err, /offers \["retry","skip","mark_done"\][^]*agentctl answer \S+ --decision WORD/);
	}
	assert.equal((await place.ctl("approve", id(3), "--scope", "workspace")).code, 2);
	assert.deepEqual(answers(), []);
	assert.equal((await place.ctl("answer", id(3), "--decision", "skip")).code, 0);
	assert.equal(answers()[0].decision, "skip");
	assert.equal("payload" in answers()[0], false);
});

test("answer brings an object, from a word or from standard input", async () => {
	await serve([form]);
	assert.equal((await place.ctl("answer", id(12), '{"environment":"staging"}')).code, 0);
	assert.equal((await place.ctl("answer", "_12", "-", { input: '{"n":1}\n' })).code, 0);
	assert.equal((await place.ctl("answer", id(12), "{}", "--decision", "decline")).code, 0);
	assert.deepEqual(answers().map((a) => [a.decision, a.payload]),
		[["accept", { environment: "staging" }], ["accept", { n: 1 }], ["decline", {}]]);
	for (const bad of ["[1]", "{", "yes"]) {
		const { code, err } = await place.ctl("answer", id(12), bad);
		assert.equal(code, 2, bad);
		assert.match(err, /not a JSON object/);
	}
	assert.equal((await place.ctl("answer", id(12))).code, 2);
	assert.equal(answers().length, 3);
});

test("who comes second is told who was first, in the daemon's words", async () => {
	await serve([], { answer: { status: 409, json: { error: { code: "already_resolved", retryable: false,
		message: "action x was settled as 'deny' (human, by bob) at 2026-01-01T00:00:00Z", next: "Nothing is left to decide." } } } });
	const { code, err } = await place.ctl("approve", id(1));
	assert.equal(code, 1);
	assert.match(err, /settled as 'deny' \(human, by bob\) at 2026/);
	assert.deepEqual(answers().map((a) => a.decision), ["allow"], "what does not wait is the daemon's to judge");
});

test("a question of a real session is seen, answered by the end of its id, and whoever is late is told who and when", async () => {
	const real = await Place.make({ env: { USER: "ada" } });
	const tools = [{ name: "set_value", description: "Sets something.", inputSchema: { type: "object" } }];
	try {
		assert.equal((await real.ctl("run", "starts the daemon")).code, 0);
		const turn = (text) => real.json("call", "submit_turn", JSON.stringify({ text, createPolicy: { title: "values" }, options: { tools } }));
		await turn('[[tool set_value {"q":"1"}]]');
		await turn('[[tool set_value {"q":"2"}]]');
		let rows = [];
		for (let i = 0; rows.length < 3 && i < 200; i++) rows = lines((await real.ctl("inbox")).out);
		assert.equal(rows.length, 3);
		for (const row of rows.slice(1)) assert.match(row, /^action_\S+_1 +(now|\d+ s ago) +2[34] h left +set_value +It is asked because .* May the tool 'set_value' run with .*\[values\]$/);
		const [one, two] = rows.slice(1).map((row) => row.split(" ")[0]);
		const short = one.slice(-6);
		assert.deepEqual(await real.ctl("approve", short, "--reason", "fine"), { code: 0, signal: null, out: `${one}  allow\n`, err: "" });
		const late = await real.ctl("deny", one);
		assert.equal(late.code, 1);
		assert.match(late.err, /settled as 'allow' \(human, by ada\) at \d{4}-/);
		assert.equal((await real.ctl("deny", two)).out, `${two}  deny\n`);
		assert.match((await real.ctl("inbox")).err, /nothing waits/);
		const { actions } = await real.json("inbox", "--all");
		assert.deepEqual(actions.map((a) => [a.actionId, a.decision]), [[one, "allow"], [two, "deny"]]);
	} finally {
		await real.end();
	}
});
