// agentctl run with a real model at the other end: what is streamed is what is stored, and the conversation goes on.
// ci: own stage (it waits for a model library of others)
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startLlama } from "../model/start_llama.mjs";
import { Place } from "./place.mjs";

let place, llama;
before(async () => {
	llama = await startLlama();
	place = await Place.make({ withModel: false, env: { OPENAI_BASE_URL: llama.baseUrl, AGENTD_SYSTEM_PROMPT: "none" } }); // it writes stories, and reads 256 tokens
});
after(async () => {
	await place?.end();
	await llama?.stop();
});

test("a real llama answers agentctl run, streamed and stored alike, twice in one session", async () => {
	const run = place.start("run", "Once upon a time");
	await run.until((r) => r.out.length > 0, 60000);
	const { code, out, err } = await run.within();
	assert.equal(code, 0, err);
	assert.ok(out.trim().split(/\s+/).length > 8, out);
	const [session] = (await place.json("sessions")).sessions;
	const { threads: [{ turns: [turn] }] } = await place.json("show", session.sessionId);
	const stored = JSON.parse((await place.ctl("call", "read_output", JSON.stringify({ outputRef: turn.outputRef }))).out);
	assert.equal(out, stored.content.endsWith("\n") ? stored.content : `${stored.content}\n`);
	assert.ok(turn.usage.outputTokens > 0);
	const again = await place.ctl("run", "--continue", "And then");
	assert.equal(again.code, 0, again.err);
	assert.equal((await place.json("show", session.sessionId)).threads[0].turns.length, 2);
});
