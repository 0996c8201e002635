// The commands of agentctl that look and act, against a real daemon and the scripted model.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { validateCommandResult, validateEvent, validateSnapshot } from "../lib/schemas.mjs";
import { waitFor } from "../lib/runtime.mjs";
import { lines, Place } from "./place.mjs";

let place;
before(async () => { place = await Place.make(); });
after(() => place.end());

// A session whose thread is busy until end() is called.
async function busySession() {
	const run = place.start("run", "[[tokens 2000]] [[delay 20]]");
	await run.until((r) => r.out.length > 0);
	const { sessions: [{ sessionId }] } = await place.json("sessions");
	return { sessionId, end: async () => { run.signal("SIGINT"); await run.done; } };
}

test("sessions lists them, newest first", async () => {
	const none = await place.ctl("run", "older");
	assert.equal(none.code, 0);
	await place.ctl("run", "newer\nwith a second line");
	const reply = await place.json("sessions");
	validateCommandResult("list_sessions", reply);
	assert.deepEqual(reply.sessions.map((s) => s.title.split("\n")[0]), ["newer", "older"]);
	const { code, out } = await place.ctl("sessions");
	assert.equal(code, 0);
	const rows = lines(out);
	assert.match(rows[0], /^SESSION +STATUS +TURNS +UPDATED +TITLE$/);
	assert.match(rows[1], /^sess_[0-9a-z]{26}  idle +1  (now|\d+ s ago) +newer with a second line$/);
	assert.equal(rows.length, 3);
	assert.equal((await place.json("sessions", "--limit", "1")).sessions.length, 1);
	assert.match((await place.ctl("sessions", "--limit", "1")).err, /there are more/);
	for (const limit of ["0", "-1", "x", "1001"]) assert.equal((await place.ctl("sessions", "--limit", limit)).code, 2, limit);
});

test("show prints input, answer, usage and status", async () => {
	await place.ctl("run", "[[say line one]]");
	await place.ctl("run", "--continue", "[[http 400]]");
	const { code, out } = await place.ctl("show", "last");
	assert.equal(code, 0);
	assert.match(out, /^sess_\S+  idle  updated .*  events \d+$/m);
	assert.match(out, /^    turn_\S+_1  completed  .*took \d+\.\d s  tokens \d+ in, \d+ out$/m);
	assert.match(out, /^    > \[\[say line one\]\]$/m);
	assert.match(out, /^      line one$/m);
	assert.match(out, /^    turn_\S+_2  failed/m);
	assert.match(out, /last turn failed: .*400/);
	const snapshot = await place.json("show", "last");
	validateSnapshot(snapshot);
});

// What stands in a line of `show` about a thread, in the words of the read model.
function linesOf(thread) {
	const { threadId, status, statusDetail, turns = [], queuedTurns = [], incidents = [], lastOutcome } = thread;
	return [
		`  ${threadId}  ${status}${statusDetail ? ` (${statusDetail})` : ""}`,
		...turns.map((t) => `    ${t.turnId}  ${t.status}  `),
		...turns.map((t) => `  tokens ${t.usage?.inputTokens ?? 0} in, ${t.usage?.outputTokens ?? 0} out`),
		...turns.filter((t) => t.inputPreview).map((t) => `    > ${t.inputPreview}`),
		...(lastOutcome?.message ? [`    last turn ${lastOutcome.status}: ${lastOutcome.message}`] : []),
		...queuedTurns.map((t) => `    waits at ${t.position}  ${t.turnId}  ${t.inputPreview}`),
		...incidents.map((n) => `    incident ${n.code}: ${n.message}`),
	];
}

test("RM-12 show has the state from the read model, word for word: at work with a queue, failed, completed", async () => {
	const { sessionId } = await place.json("call", "create_session", "{}"), { sessionId: over } = await place.json("call", "create_session", "{}");
	const turnsOf = async (id) => (await place.json("show", id)).threads[0].turns;
	await place.json("submit", sessionId, "[[hang]]");
	await waitFor(async () => (await turnsOf(sessionId))[0].steps?.length > 0, "the call of the model");
	await place.json("submit", sessionId, "after it", "--queue");
	for (const [i, text] of ["[[say done]]", "[[http 400]]"].entries()) {
		await place.json("submit", over, text);
		await waitFor(async () => (await turnsOf(over))[i].completedAt, `the end of ${text}`);
	}
	for (const id of [sessionId, over]) {
		const session = await place.json("call", "get_session", JSON.stringify({ sessionId: id }));
		const { threads: [thread] } = await place.json("call", "get_thread_read", JSON.stringify({ sessionId: id, threadId: session.threads[0].threadId }));
		assert.deepEqual(session.threads[0], thread);
		assert.deepEqual(await place.json("show", id), session, "show --json is the read model");
		const { out } = await place.ctl("show", id);
		assert.match(out, new RegExp(`^${id}  ${session.status}  updated .*  events ${session.asOfSequence}\n`));
		for (const line of linesOf(thread)) assert.ok(out.includes(line), `${JSON.stringify(line)} in\n${out}`);
	}
	await place.ctl("interrupt", sessionId);
});

test("a session is found by id, beginning, end and last; what is ambiguous is refused", async () => {
	const { sessions } = await place.json("sessions");
	const { sessionId } = sessions[0];
	for (const word of ["last", sessionId, sessionId.slice(5), sessionId.slice(-6)])
		assert.equal((await place.json("show", word)).sessionId, sessionId, word);
	const both = await place.ctl("show", "sess_");
	assert.equal(both.code, 2);
	assert.match(both.err, /could be sess_\S+ or sess_\S+\nnext: /);
	const gone = await place.ctl("show", "sess_00000000000000000000000000");
	assert.equal(gone.code, 1);
	assert.match(gone.err, /^agentctl: .+\nnext: .+\n$/);
	assert.equal((await place.ctl("show", "a b")).code, 2);
});

test("tail prints one line per event; --json prints the events, each valid and in order", async () => {
	await place.ctl("run", "[[say to be seen]]");
	const text = await place.ctl("tail", "last", "--no-follow");
	assert.equal(text.code, 0);
	for (const line of lines(text.out)) assert.match(line, /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+[+ ] [a-z_.]+/);
	assert.match(text.out, /turn\.submitted status="accepted" inputPreview="\[\[say to be seen\]\]"/);
	const { out } = await place.ctl("tail", "last", "--no-follow", "--json");
	const events = lines(out).map((line) => JSON.parse(line));
	events.forEach(validateEvent);
	assert.equal(events.length, lines(text.out).length);
	const facts = events.filter((e) => e.type !== "model.delta").map((e) => e.sequence);
	assert.deepEqual(facts, facts.map((_, i) => i + 1));
});

test("tail goes on after a cursor, and ends at once when there is nothing", async () => {
	const head = (await place.json("show", "last")).asOfSequence;
	const rest = await place.ctl("tail", "last", "--no-follow", "--json", "--after", String(head - 2));
	assert.deepEqual(lines(rest.out).map((line) => JSON.parse(line).sequence), [head - 1, head]);
	const none = await place.ctl("tail", "last", "--no-follow", "--after", String(head));
	assert.deepEqual([none.code, none.out], [0, ""]);
	assert.equal((await place.ctl("tail", "last", "--after", "abc")).code, 2);
});

test("tail all follows every session, and goes on after its cursor", async () => {
	await place.ctl("run", "before");
	const tail = place.start("tail", "all", "--json");
	await tail.until((r) => r.out.includes('"turn.completed"'));
	const { sessionId } = await place.json("show", "last");
	const known = (r) => lines(r.out).filter((line) => line.endsWith("}")).map((line) => JSON.parse(line));
	await place.ctl("run", "[[say another]]");
	const fresh = await place.json("show", "last");
	assert.notEqual(fresh.sessionId, sessionId);
	const isLast = (e) => e.sessionId === fresh.sessionId && e.sequence === fresh.asOfSequence;
	await tail.until((r) => known(r).some(isLast));
	tail.signal("SIGINT");
	const { code, out, err } = await tail.done;
	assert.equal(code, 130);
	const after = /continue with: agentctl tail all --after (t\S+)/.exec(err)[1];
	const events = lines(out).map((line) => JSON.parse(line));
	for (const id of [sessionId, fresh.sessionId]) {
		const sequences = events.filter((e) => e.sessionId === id).map((e) => e.sequence);
		assert.deepEqual(sequences, sequences.map((_, i) => i + 1));
	}
	const rest = place.start("tail", "all", "--after", after);
	await new Promise((go) => setTimeout(go, 300));
	await place.ctl("run", "more");
	await rest.until((r) => r.out.includes(" turn.completed"));
	rest.signal("SIGINT");
	const seen = (await rest.done).out;
	assert.ok(!seen.includes(sessionId) && !seen.includes(fresh.sessionId));
	assert.match(lines(seen)[0], /^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +1  sess_\w+ session\.created/);
	for (const wrong of [["--no-follow"], ["--after", "17"]]) assert.equal((await place.ctl("tail", "all", ...wrong)).code, 2);
});

test("tail follows what happens, until Ctrl-C", async () => {
	await place.ctl("run", "before");
	const tail = place.start("tail", "last", "--after", "now", "--json");
	await new Promise((go) => setTimeout(go, 300));
	await place.ctl("run", "--continue", "[[say while you look]]");
	await tail.until((r) => r.out.includes('"turn.completed"'));
	tail.signal("SIGINT");
	const { code, out, err } = await tail.done;
	assert.equal(code, 130);
	assert.match(err, /continue with: agentctl tail sess_\S+ --after \d+/);
	const events = lines(out).map((line) => JSON.parse(line));
	events.forEach(validateEvent);
	assert.equal(events[0].type, "turn.submitted");
	assert.ok(!out.includes('"before"'));
});

test("submit returns with the receipt; the same turn id is the same turn", async () => {
	await place.ctl("run", "start");
	const receipt = await place.json("submit", "last", "go on");
	validateCommandResult("submit_turn", receipt);
	assert.match((await place.ctl("submit", "last", "and", "on")).out, /^turn_\S+  (accepted|queued at place \d+)\n$/);
	const first = await place.json("submit", "last", "--turn-id", "my-turn", "once");
	const again = await place.json("submit", "last", "--turn-id", "my-turn", "once");
	assert.equal(first.turnId, "my-turn");
	assert.deepEqual(again, first);
	const other = await place.ctl("submit", "last", "--turn-id", "my-turn", "something else");
	assert.equal(other.code, 1);
	assert.match(other.err, /next: /);
	assert.match((await place.ctl("submit", "last", "-", { input: "by pipe" })).out, /^turn_/);
});

test("submit to a busy thread waits or is refused, as asked", async () => {
	const busy = await busySession();
	const waits = await place.json("submit", busy.sessionId, "--queue", "later");
	assert.equal(waits.status, "queued");
	const refused = await place.ctl("submit", busy.sessionId, "--reject", "not now");
	assert.equal(refused.code, 1);
	assert.match(refused.err, /^agentctl: .+\nnext: .+\n$/);
	assert.equal((await place.ctl("submit", busy.sessionId, "--queue", "--reject", "x")).code, 2);
	const next = await place.json("submit", busy.sessionId, "--interrupt", "now");
	assert.deepEqual([next.status, next.position], ["queued", 1]);
	await place.ctl("interrupt", busy.sessionId, "--clear-queue");
	await busy.end();
});

test("steer speaks to the running turn, and says when there is none", async () => {
	const busy = await busySession();
	assert.match((await place.ctl("steer", busy.sessionId, "and", "faster")).out, /^step_\S+  added to the running turn\n$/);
	const { threads: [{ turns: [{ steps }] }] } = await place.json("show", busy.sessionId);
	assert.deepEqual(steps.map((s) => s.preview), [undefined, "and faster"]);
	await place.ctl("interrupt", busy.sessionId);
	await busy.end();
	const late = await place.ctl("steer", busy.sessionId, "more");
	assert.equal(late.code, 1);
	assert.match(late.err, /^agentctl: no turn is running\nnext: .+\n$/);
});

test("fork opens a branch that submit --thread speaks to", async () => {
	await place.ctl("run", "hello");
	const { sessionId } = await place.json("show", "last");
	const { threadId } = await place.json("fork", sessionId);
	assert.match((await place.ctl("fork", sessionId)).out, /^thread_\S+  branches off\n$/);
	assert.equal((await place.json("submit", sessionId, "--thread", threadId, "on the branch")).threadId, threadId);
	assert.equal((await place.ctl("fork", sessionId, "--thread", "nobody")).code, 2);
	assert.equal((await place.ctl("fork", sessionId, "--turn", "nobody")).code, 1);
});

test("rollback names the turns that it removed", async () => {
	await place.ctl("run", "hello");
	const { sessionId, threads: [{ turns: [{ turnId }] }] } = await place.json("show", "last");
	await place.ctl("run", "--continue", "again");
	const { out } = await place.ctl("rollback", sessionId, "--turn", turnId);
	assert.match(out, /^turn_\S+  removed\n$/);
	assert.deepEqual((await place.json("show", sessionId)).threads[0].turns.map((t) => t.turnId), [turnId]);
	assert.deepEqual((await place.json("rollback", sessionId, "--sequence", "0")).removedTurnIds, [turnId]);
	assert.equal((await place.ctl("rollback", sessionId)).code, 2);
	assert.equal((await place.ctl("rollback", sessionId, "--sequence", "x")).code, 2);
	assert.equal((await place.ctl("rollback", sessionId, "--turn", "nobody")).code, 1);
});

test("queue lists, promotes and removes", async () => {
	const busy = await busySession();
	const [a, b, c] = [await place.json("submit", busy.sessionId, "a"), await place.json("submit", busy.sessionId, "b"),
		await place.json("submit", busy.sessionId, "c")].map((r) => r.turnId);
	const order = async () => (await place.json("queue", busy.sessionId)).threads[0].queue.turns.map((t) => t.turnId);
	assert.deepEqual(await order(), [a, b, c]);
	assert.match((await place.ctl("queue", busy.sessionId, "list")).out, new RegExp(`^  1  ${a}  a\n  2  ${b}  b\n  3  ${c}  c\n$`));
	const promoted = await place.ctl("queue", busy.sessionId, "promote", c);
	assert.equal(promoted.out, `  1  ${c}\n  2  ${a}\n  3  ${b}\n`);
	const suffix = a.slice(a.lastIndexOf("_"));
	assert.deepEqual((await place.json("queue", busy.sessionId, "remove", suffix)).order, [c, b]);
	assert.deepEqual(await order(), [c, b]);
	assert.equal((await place.ctl("queue", busy.sessionId, "promote")).code, 2);
	assert.equal((await place.ctl("queue", busy.sessionId, "shuffle")).code, 2);
	assert.equal((await place.ctl("queue", busy.sessionId, "remove", "nothing")).code, 1);
	const stopped = await place.json("interrupt", busy.sessionId, "--clear-queue", "--reason", "enough");
	assert.equal(stopped.result, "accepted");
	await busy.end();
	assert.deepEqual(await order(), []);
});

test("interrupt stops the running turn and says when none runs", async () => {
	const busy = await busySession();
	const { turnId } = (await place.json("show", busy.sessionId)).threads[0].turns[0];
	assert.equal((await place.ctl("interrupt", busy.sessionId, "--turn", turnId)).out, `${turnId}  interrupted\n`);
	await busy.end();
	const { code, err } = await place.ctl("interrupt", busy.sessionId);
	assert.equal(code, 0);
	assert.match(err, /nothing was running/);
});

test("resume says what became of each thread", async () => {
	await place.ctl("run", "all done");
	const { code, out } = await place.ctl("resume", "last");
	assert.equal(code, 0);
	assert.match(out, /^thread_\S+  (nothing_to_resume|already_active)\n$/);
	validateCommandResult("resume_thread", await place.json("resume", "last"));
});

test("call reaches every command and prints the answer, an error too", async () => {
	const { out: list } = await place.ctl("call");
	const catalogue = readFileSync(new URL("../../catalog/commands.cat", import.meta.url), "utf8");
	assert.equal(lines(list).length, catalogue.match(/^command /gm).length);
	const made = await place.ctl("call", "create_session", '{"title":"by call"}');
	validateCommandResult("create_session", JSON.parse(made.out));
	const read = await place.ctl("call", "get_session", "-", { input: made.out.replace(/,"threadId.*/, "}") });
	assert.equal(JSON.parse(read.out).title, "by call");
	const bad = await place.ctl("call", "get_session", '{"sessionId":"sess_00000000000000000000000000"}');
	assert.equal(bad.code, 1);
	assert.equal(JSON.parse(bad.out).error.code, "session_not_found");
	assert.match(bad.err, /^agentctl: .+\nnext: .+\n$/);
	assert.equal((await place.ctl("call", "get_session", "{nonsense")).code, 1);
	assert.equal((await place.ctl("call", "create_job", "{}")).code, 1);
	assert.match((await place.ctl("call", "list_session")).err, /did you mean list_sessions\?/);
	assert.equal((await place.ctl("call", "subscribe_events")).code, 2);
});
