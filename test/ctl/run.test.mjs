// agentctl run against a real daemon and the scripted model: text, exit codes, streaming, Ctrl-C, crashes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { newFolder, world } from "../lib/runtime.mjs";
import { validateEvent } from "../lib/schemas.mjs";
import { bin, lines, Place, Running } from "./place.mjs";

let place;
before(async () => {
	place = await Place.make();
	place.cwd = place.work;
});
after(() => place.end());

test("run prints exactly the answer and exits 0", async () => {
	const { code, out, err } = await place.ctl("run", "[[say Hello   there]]");
	assert.deepEqual({ code, out, err }, { code: 0, out: "Hello   there\n", err: "" });
});

test("run joins its words, and reads standard input for -", async () => {
	assert.equal((await place.ctl("run", "one", "two")).out, "You said: one two\n");
	assert.equal((await place.ctl("run", "-", { input: "from a pipe\n" })).out, "You said: from a pipe\n");
	const { code, err } = await place.ctl("run", "-", { input: "" });
	assert.equal(code, 2);
	assert.match(err, /empty/);
});

test("every byte of difficult text arrives, however the provider cuts it", async () => {
	const { out } = await place.ctl("run", "[[utf8]] [[split]]");
	assert.equal(out, "héllo 日本語 👩‍👩‍👧‍👦 e\u0301 🇨🇭 مرحبا 😀\n");
});

test("the answer arrives as it is made", async () => {
	const run = place.start("run", "[[tokens 20]] [[delay 60]]");
	await run.until((r) => r.out.includes("w1 "));
	assert.ok(!run.out.includes("w10 "), run.out);
	const { code, out } = await run.done;
	assert.equal(code, 0);
	assert.equal(out, `${Array.from({ length: 20 }, (_, i) => `w${i} `).join("")}\n`);
});

test("run --json prints the events of the turn, each valid", async () => {
	const { code, out } = await place.ctl("run", "--json", "[[reasoning hm]] [[say yes]]");
	const events = lines(out).map((line) => JSON.parse(line));
	events.forEach(validateEvent);
	assert.equal(code, 0);
	assert.equal(events[0].type, "turn.submitted");
	assert.equal(events.at(-1).type, "turn.completed");
	assert.deepEqual(new Set(events.map((e) => e.turnId)).size, 1);
	const joined = (type) => events.filter((e) => e.type === type).map((e) => e.payload.delta).join("");
	assert.equal(joined("model.delta"), "yes");
	assert.equal(joined("reasoning.delta").trim(), "hm");
});

test("reasoning is hidden in a pipe unless asked for", async () => {
	assert.equal((await place.ctl("run", "[[reasoning deep]] [[say flat]]")).out, "flat\n");
	assert.match((await place.ctl("run", "--reasoning", "[[reasoning deep]] [[say flat]]")).out, /^deep\s*\n\nflat\n$/);
});

test("a failed turn exits 1 with the reason and what to do", async () => {
	const { code, out, err } = await place.ctl("run", "[[http 400]]");
	assert.equal(code, 1);
	assert.equal(out, "");
	assert.match(err, /^agentctl: the turn failed: .*400.*\nnext: .+\n$/);
});

test("a retry is one line on standard error, and --quiet leaves it out", async () => {
	const prompt = "[[fail-times 1 http 503]] [[say at last]]";
	const loud = await place.ctl("run", prompt);
	assert.deepEqual([loud.code, loud.out], [0, "at last\n"]);
	assert.match(loud.err, /^agentctl: Attempt 1 failed, trying again: .*503.*\n$/);
	const quiet = await place.ctl("run", "--quiet", prompt);
	assert.deepEqual([quiet.code, quiet.out, quiet.err], [0, "at last\n", ""]);
});

test("an answer that is begun anew stands on a line of its own", async () => {
	const { code, out, err } = await place.ctl("run", "[[fail-times 1 cut 2]] [[say the whole]]");
	assert.equal(code, 0);
	assert.equal(lines(out).at(-1), "the whole");
	assert.match(err, /the answer starts again/);
});

test("--continue and --session go on in a session", async () => {
	await place.ctl("run", "first of two");
	const { sessions: [newest] } = await place.json("sessions");
	assert.equal((await place.ctl("run", "--continue", "second")).out, "You said: second\n");
	assert.equal((await place.ctl("run", "--session", newest.sessionId.slice(-8), "third")).out, "You said: third\n");
	const { threads: [thread] } = await place.json("show", newest.sessionId);
	assert.deepEqual(thread.turns.map((t) => t.inputPreview), ["first of two", "second", "third"]);
	assert.equal((await place.ctl("run", "--continue", "--session", "last", "x")).code, 2);
	const lost = await place.ctl("run", "--session", "nowhere", "x");
	assert.equal(lost.code, 1);
	assert.match(lost.err, /no session matches 'nowhere'\nnext: /);
});

test("run in a busy session waits for its turn and shows only its own answer", async () => {
	const first = place.start("run", "[[tokens 12]] [[delay 50]]");
	await first.until((r) => r.out.length > 0);
	const second = await place.ctl("run", "--continue", "[[say mine]]");
	assert.deepEqual([second.code, second.out], [0, "mine\n"]);
	assert.match(second.err, /waits at place 1/);
	assert.equal((await first.done).code, 0);
});

test("Ctrl-C interrupts the turn and keeps what it said", async () => {
	const run = place.start("run", "[[tokens 500]] [[delay 30]]");
	await run.until((r) => r.out.includes("w2 "));
	run.signal("SIGINT");
	const { code, out, err } = await run.done;
	assert.equal(code, 130);
	assert.match(out, /^w0 w1 w2 /);
	assert.match(err, /interrupting/);
	assert.match(err, /the turn was cancelled/);
	const { threads: [{ turns: [turn] }] } = await place.json("show", "last");
	assert.equal(turn.status, "cancelled");
});

test("Ctrl-C takes a waiting turn out of the queue", async () => {
	const first = place.start("run", "[[tokens 100]] [[delay 40]]");
	await first.until((r) => r.out.length > 0);
	const second = place.start("run", "--continue", "never said");
	await second.until((r) => r.err.includes("waits at place"));
	second.signal("SIGINT");
	assert.equal((await second.done).code, 130);
	assert.ok(!first.ended, "the running turn is left alone");
	first.signal("SIGINT");
	await first.done;
});

test("a second Ctrl-C leaves at once, even when the daemon does not answer", async () => {
	const run = place.start("run", "[[tokens 9]] [[hang-after 2]]");
	await run.until((r) => r.out.length > 0);
	process.kill(place.pid, "SIGSTOP");
	try {
		run.signal("SIGINT");
		await run.until((r) => r.err.includes("interrupting"));
		run.signal("SIGINT");
		await run.until((r) => r.ended);
	} finally {
		process.kill(place.pid, "SIGCONT");
	}
	const { code, err } = await run.done;
	assert.equal(code, 130);
	const [, session] = /next: agentctl tail (sess_\S+) --after \S+\n$/.exec(err);
	await place.ctl("interrupt", session);
});

test("a daemon that is killed in mid-answer and started again completes the turn, and run sees it", async () => {
	const run = place.start("run", "[[tokens 25]] [[delay 40]]");
	await run.until((r) => r.out.includes("w5 "));
	await place.kill();
	const supervised = new Running(join(bin, "agentd"), ["--listen", "off"], { env: { ...place.env, AGENTD_WORKSPACES_DIR: `${place.data}-workspaces` } });
	const { code, out, err } = await run.done;
	assert.equal(code, 0, err);
	assert.equal(lines(out).at(-1), Array.from({ length: 25 }, (_, i) => `w${i} `).join(""));
	assert.match(err, /reconnecting/);
	assert.match(err, /resumes the turn/);
	assert.equal(place.pid, supervised.child.pid);
});

test("without a model the turn fails at once and says what to set", async () => {
	const bare = await Place.make({ withModel: false });
	try {
		const { code, err } = await bare.ctl("run", "anyone?");
		assert.equal(code, 1);
		assert.match(err, /no model is configured\nnext: set OPENAI_BASE_URL/);
		const again = await bare.ctl("run", "--continue", "anyone now?");
		assert.equal(again.code, 1, "in a session that exists the failure is seen too");
	} finally {
		await bare.end();
	}
});

test("--model-wait submits once the model server answers", async () => {
	const { code, out, err } = await place.ctl("run", "--model-wait", "[[say here]]");
	assert.deepEqual([code, out, err], [0, "here\n", ""]);
	const bare = await Place.make({ withModel: false });
	try {
		assert.equal((await bare.ctl("run", "--model-wait", "x")).code, 2);
	} finally {
		await bare.end();
	}
});

test("on a terminal escapes in the answer are shown, not obeyed", async () => {
	const prompt = "[[say a\x1b[31mred\x07 \u009b2J]]";
	const command = `${bin}/agentctl run "$PROMPT"`;
	const term = new Running("script", ["-qec", command, "/dev/null"],
		{ cwd: place.work, env: { ...place.env, PROMPT: prompt, TERM: "xterm", NO_COLOR: "1" } });
	const { code, out } = await term.done;
	assert.equal(code, 0);
	assert.equal(out.replaceAll("\r", ""), "a\\u{1B}[31mred\\u{7} \\u{9B}2J\n");
	assert.equal((await place.ctl("run", prompt)).out, "a\x1b[31mred\x07 \u009b2J\n", "a pipe gets it raw");
});

test("colours only on a terminal that wants them", async () => {
	const command = `${bin}/agentctl sessions --limit 1`;
	const seen = async (env) => (await new Running("script", ["-qec", command, "/dev/null"], { env }).done).out;
	assert.match(await seen({ ...place.env, TERM: "xterm" }), /\x1b\[1m/);
	assert.doesNotMatch(await seen({ ...place.env, TERM: "xterm", NO_COLOR: "1" }), /\x1b/);
	assert.doesNotMatch(await seen({ ...place.env, TERM: "dumb" }), /\x1b/);
	assert.doesNotMatch((await place.ctl("sessions", { env: { TERM: "xterm" } })).out, /\x1b/);
});

test("without a terminal a question ends run with status 4, and its answer is not lost", async () => {
	const asking = await world({ config: { "tools.workspace": newFolder(), permission_rules: [{ name: "ask", effect: "ask", tool: "list_files" }] } });
	const at = ["--socket", asking.rt.socket];
	for (const how of [[], ["--on-question=fail"], ["--quiet"]]) {
		const { code, out, err } = await place.ctl(...at, "run", "--no-workspace", ...how, "[[tool list_files {}]]");
		assert.deepEqual([code, out], [4, ""], err);
		const found = /^agentctl: the turn waits for a decision on (action_\w+): .*May the tool .+\nnext: agentctl approve (action_\w+) .*agentctl tail (sess_\w+) --after (\S+);/.exec(err);
		assert.ok(found, err);
		assert.equal(found[1], found[2]);
		assert.equal((await place.ctl(...at, "approve", found[1])).code, 0);
		const tail = place.start(...at, "tail", found[3], "--after", found[4]);
		await tail.until((r) => r.out.includes(" turn.completed"));
		tail.signal("SIGINT");
		await tail.done;
	}
	await asking.rt.stop();
});

test("a turn that asks a person says where to answer, and goes on when it is answered", async () => {
	const asking = await world({ config: { "tools.workspace": newFolder(), permission_rules: [{ name: "ask", effect: "ask", tool: "list_files" }] } });
	const run = place.start("--socket", asking.rt.socket, "run", "--on-question=wait", "[[tool list_files {}]]");
	await run.until((r) => /agentctl approve action_\w+/.test(r.err));
	const [id] = /action_\w+/.exec(run.err);
	assert.equal((await place.ctl("--socket", asking.rt.socket, "approve", id)).code, 0);
	const { code, out } = await run.done;
	assert.equal(code, 0);
	assert.match(out, /^The tool said: /);
	await asking.rt.stop();
});

test("on a terminal run waits for the answer by itself", async () => {
	const asking = await world({ config: { "tools.workspace": newFolder(), permission_rules: [{ name: "ask", effect: "ask", tool: "list_files" }] } });
	const term = new Running("script", ["-qec", `${bin}/agentctl --socket ${asking.rt.socket} run '[[tool list_files {}]]'`, "/dev/null"],
		{ env: { ...place.env, TERM: "dumb" }, input: null });
	await term.until((r) => /agentctl approve action_\w+/.test(r.out));
	const [id] = /action_\w+/.exec(term.out);
	assert.equal((await place.ctl("--socket", asking.rt.socket, "approve", id)).code, 0);
	assert.equal((await term.within()).code, 0);
	await asking.rt.stop();
});

test("--timeout interrupts the turn and exits 124", async () => {
	const { code, err } = await place.ctl("run", "--timeout", "1s", "[[tokens 9]] [[hang-after 2]]");
	assert.equal(code, 124, err);
	assert.match(err, /the turn did not end within 1s and was cancelled\n$/);
	const { threads: [{ turns: [turn] }] } = await place.json("show", "last");
	assert.equal(turn.status, "cancelled");
	assert.equal((await place.ctl("run", "--timeout", "1h", "[[say in time]]")).out, "in time\n");
});

test("--no-wait prints the ids and leaves the turn to itself", async () => {
	const { code, out } = await place.ctl("run", "--no-wait", "[[tokens 9]] [[hang-after 2]]");
	assert.equal(code, 0);
	const [, session, turn] = /^(sess_\w+)  (turn_\w+)  accepted\n$/.exec(out);
	assert.equal((await place.json("show", session)).threads[0].turns[0].turnId, turn);
	await place.ctl("interrupt", session);
	const receipt = await place.json("run", "--no-wait", "x");
	assert.match(receipt.turnId, /^turn_/);
});

test("a mode and a sandbox that the daemon does not know are refused", async () => {
	for (const [option, value] of [["--mode", "fast"], ["--sandbox", "none"]]) {
		const { code, out, err } = await place.ctl("run", option, value, "x");
		assert.deepEqual([code, out], [1, ""], err);
		assert.match(err, new RegExp(`^agentctl: .*'${value}'.*\nnext: `));
	}
});
