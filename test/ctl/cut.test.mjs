// Streams and answers that go wrong in ways a real daemon does not show at will: cut, repeated, refused, no JSON.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { completed, frame, receipt, startFake, text } from "./fake.mjs";
import { lines, Place } from "./place.mjs";

let place, fake;
beforeEach(async () => {
	place = await Place.make({ withModel: false });
	mkdirSync(place.data, { mode: 0o700 });
});
afterEach(async () => {
	await fake?.close();
	await place.end();
});

const serve = async (options) => { fake = await startFake(join(place.data, "agentd.sock"), options); };
const streamsAsked = () => fake.asked.filter((a) => a.path.endsWith("/events")).map((a) => a.after);

test("a stream that is cut is joined after the last cursor, and the text is exact", async () => {
	await serve({ replies: receipt, streams: [
		[":\n\n", text(5, 0, "one ")],
		[text(5, 4, "two ").slice(0, -20)], // a half event counts as not seen
		[text(5, 4, "two ")],
		[text(5, 8, "three"), completed(6)],
	] });
	const { code, out, err } = await place.ctl("run", "x");
	assert.deepEqual([code, out], [0, "one two three\n"]);
	assert.deepEqual(streamsAsked(), ["0", "5.1:4", "5.1:4", "5.1:8"]);
	assert.match(err, /^agentctl: the event stream was cut; reconnecting\n/);
});

test("what is sent twice is shown once", async () => {
	await serve({ replies: receipt, streams: [
		[text(5, 0, "one ")],
		[text(5, 0, "one two "), text(5, 4, "two "), text(5, 8, "three"), completed(6), completed(6)],
	] });
	assert.equal((await place.ctl("run", "x")).out, "one two three\n");
});

test("tail drops facts that come again", async () => {
	const fact = (n) => frame(n, { type: "thread.updated", sequence: n, payload: { status: "idle", reason: `r${n}` } });
	await serve({ replies: { "/v1/get_session": { json: { sessionId: "sess_x", asOfSequence: 4 } },
		"/v1/list_sessions": { json: { sessions: [{ sessionId: "sess_x" }] } } },
		streams: [[fact(1), fact(2)], [fact(2), fact(3), fact(4)]] });
	const { code, out } = await place.ctl("tail", "last", "--no-follow", "--json");
	assert.equal(code, 0);
	assert.deepEqual(lines(out).map((line) => JSON.parse(line).sequence), [1, 2, 3, 4]);
});

test("events of other turns are not shown", async () => {
	const other = frame("5.9:3", { type: "model.delta", turnId: "turn_y", stepId: "step_9", sequence: 5,
		payload: { kind: "text", delta: "not mine", offset: 0 } });
	await serve({ replies: receipt, streams: [[other, text(5, 0, "mine"), completed(6)]] });
	assert.equal((await place.ctl("run", "x")).out, "mine\n");
});

test("a refused stream ends with the server's words", async () => {
	await serve({ replies: receipt, streams: [{ status: 400,
		json: { error: { code: "invalid_cursor", message: "no such cursor", next: "start again" } } }] });
	const { code, err } = await place.ctl("run", "x");
	assert.deepEqual([code, err], [1, "agentctl: no such cursor\nnext: start again\n"]);
});

test("an overloaded server is asked again", async () => {
	await serve({ replies: receipt, streams: [{ status: 503, json: { error: { message: "busy" } } },
		[text(5, 0, "after all"), completed(6)]] });
	assert.equal((await place.ctl("run", "x")).out, "after all\n");
});

test("a stream of nonsense is not followed for ever", async () => {
	await serve({ replies: receipt, streams: [["id: 1\ndata: {broken\n\n"]] });
	const { code, err } = await place.ctl("run", "x");
	assert.equal(code, 1);
	assert.match(err, /not an event/);
});

test("a daemon that is gone is not started again, and the end says how to go on", async () => {
	await serve({ replies: receipt, streams: [[text(5, 0, "half "), "retry: 1000\n\n"]] });
	const run = place.start("run", "x");
	await run.until((r) => r.out === "half ");
	await fake.close();
	fake = undefined;
	const { code, err } = await run.done;
	assert.equal(code, 3);
	assert.match(err, /the event stream ended: nothing answers at the socket \S+agentd\.sock\nnext: start the daemon \(agentd --data-dir \S+\), then: agentctl tail sess_x --after 5\.1:5\n$/);
	assert.equal(place.pid, undefined);
});

test("a blocked turn ends the wait and says how to resume", async () => {
	await serve({ replies: receipt, streams: [[frame(6, { type: "thread.updated", sequence: 6,
		payload: { status: "blocked", reason: "crash_loop" } })]] });
	const { code, err } = await place.ctl("run", "x");
	assert.deepEqual([code, err], [1, "agentctl: the turn is blocked: crash_loop\nnext: agentctl resume sess_x\n"]);
});

test("answers that are no JSON or no explanation are told as such", async () => {
	await serve({ replies: { "/v1/list_sessions": { text: "<html>" }, "/v1/get_session": { status: 500, json: {} } } });
	const html = await place.ctl("sessions");
	assert.equal(html.code, 3);
	assert.match(html.err, /not JSON/);
	const mute = await place.ctl("show", "sess_01m7ehmf41fbfb6xxf6ktg6cvq");
	assert.equal(mute.code, 1);
	assert.match(mute.err, /HTTP 500 without an explanation/);
});

test("a submit whose connection broke is repeated under the same key", async () => {
	await serve({ replies: receipt, streams: [[text(5, 0, "once"), completed(6)]] });
	fake.breakNext("/v1/submit_turn");
	const { code, out } = await place.ctl("run", "x");
	assert.deepEqual([code, out], [0, "once\n"]);
	const keys = fake.asked.filter((a) => a.path === "/v1/submit_turn").map((a) => JSON.parse(a.body).idempotencyKey);
	assert.equal(keys.length, 2);
	assert.equal(keys[0], keys[1]);
	assert.equal(keys[0].length, 26);
});

test("--model, --mode and --sandbox go out as options of the turn", async () => {
	await serve({ replies: receipt, streams: [[completed(6)], [completed(6)]] });
	assert.equal((await place.ctl("run", "--mode", "plan", "--model=small", "--sandbox", "read_only", "say", "it")).code, 0);
	assert.equal((await place.ctl("run", "--", "--mode", "plan")).code, 0);
	const bodies = fake.asked.filter((a) => a.path === "/v1/submit_turn").map((a) => JSON.parse(a.body));
	assert.deepEqual(bodies.map((b) => [b.text, b.options]),
		[["say it", { model: "small", mode: "plan", sandbox: "read_only" }], ["--mode plan", undefined]]);
});
