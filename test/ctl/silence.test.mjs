// A stream on which nothing happens but heartbeats is alive; one without any byte is dead. The programs see a clock that this test
// moves: only after a heartbeat lies in the socket does time go on, so how busy the machine is does not matter.
// ci: release only (the shifted clock is preloaded)
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Clock } from "../cluster/machines/clock.mjs";
import { completed, frame, receipt, startFake } from "./fake.mjs";
import { Place, sleep } from "./place.mjs";

const HEARTBEAT_S = 15;
const action = "action_01m0fd2e7wp4z9k3s5b8t6v1cx_1";
const question = frame(6, { type: "action.required", actionId: action, sequence: 6,
	payload: { actionType: "tool_permission", title: "May it?", prompt: "May it?", decisions: ["allow", "deny"] } });

let place, fake, clock;
beforeEach(async () => {
	place = await Place.make({ withModel: false });
	mkdirSync(place.data, { mode: 0o700 });
	clock = new Clock(join(place.dir, "clock"));
});
afterEach(async () => {
	await fake?.close();
	await place.end();
});

// A stream that asks, is silent for that long but for heartbeats, and ends the turn when it was answered.
function silentStream(minutes) {
	let ended, answer;
	const isSilent = new Promise((done) => { ended = done; });
	const isAnswered = new Promise((done) => { answer = done; });
	const write = async (res) => {
		const send = (text) => new Promise((done) => res.write(text, done));
		await send(question);
		for (let at = HEARTBEAT_S; at <= minutes * 60; at += HEARTBEAT_S) {
			await send(":\n\n");
			clock.step(at);
			await sleep(10); // for a program that is wrong: it gets the time to see this moment
		}
		ended();
		await isAnswered;
		await send(completed(7));
	};
	return { write, isSilent, answer };
}

const serve = async (streams) => {
	fake = await startFake(join(place.data, "agentd.sock"), { streams, replies: { ...receipt,
		"/v1/get_session": { json: { sessionId: "sess_x", asOfSequence: 5 } },
		"/v1/list_sessions": { json: { sessions: [{ sessionId: "sess_x" }] } },
		"/v1/respond_action": { json: { actionId: action, decision: "allow", decisionSource: "human", resolvedAt: "2026-01-01T00:00:00Z" } } } });
};
const streamsAsked = () => fake.asked.filter((a) => a.path.endsWith("/events")).length;

for (const { args, input, code, signal } of [
	{ args: ["run", "--on-question=wait", "x"], code: 0 },
	{ args: ["chat", "--on-question=wait"], input: "x\n", code: 0 },
	{ args: ["tail", "last"], code: 130, signal: "SIGINT" },
]) {
	test(`${args[0]} waits an hour for an answer on one stream, and sees the end`, async () => {
		const stream = silentStream(60);
		await serve([stream.write]);
		const run = place.start(...args, { env: clock.env, input });
		await Promise.race([stream.isSilent, run.done]);
		assert.ok(!run.ended, run.err);
		assert.equal((await place.ctl("approve", action)).code, 0);
		stream.answer();
		if (signal) {
			await run.until((r) => r.out.includes("turn.completed"));
			run.signal(signal);
		}
		assert.equal((await run.within()).code, code, run.err);
		assert.equal(streamsAsked(), 1, "it was never cut");
	});
}

test("a stream without any byte is cut and joined again", async () => {
	await serve([(res) => res.write(question), [completed(7)]]);
	const run = place.start("run", "--on-question=wait", "x", { env: clock.env });
	await run.until((r) => r.err.includes("waits for a decision"));
	clock.step(600);
	const { code, err } = await run.within();
	assert.equal(code, 0, err);
	assert.match(err, /the event stream was cut; reconnecting/);
	assert.equal(streamsAsked(), 2);
});
