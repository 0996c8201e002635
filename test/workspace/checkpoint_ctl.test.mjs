// agentctl and checkpoints: undo, rollback --files and diff, against a daemon that says what it is told to.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { frame, startFake } from "../ctl/fake.mjs";
import { Place } from "../ctl/place.mjs";

const SESSION = `sess_${"0".repeat(25)}1`;
const turn = (n) => `turn_${"0".repeat(25)}1_${n}`;
const record = (n, phase, status = "available") => ({ checkpointId: `cp_${n}`, workspaceId: "ws_x", phase, status, sequence: n, createdAt: "2026-01-01T00:00:00Z" });

const base = {
	"/v1/get_session": { json: { sessionId: SESSION, asOfSequence: 9, threads: [{ threadId: "thread_x" }] } },
	"/v1/list_checkpoints": { json: { checkpoints: [record(2, "end"), record(1, "start")], asOfSequence: 9 } },
	"/v1/restore_checkpoint": { status: 202, json: { checkpointId: "cp_3", targetId: "cp_1", sequence: 9 } },
	"/v1/rollback_thread": { json: { removedTurnIds: [turn(2), turn(3)] } },
};
const fact = (sequence, type, payload) => frame(sequence, { type, sequence, sessionId: SESSION, payload });
const other = fact(10, "checkpoint.restored", { checkpointId: "cp_9", targetId: "cp_1", before: "t", files: 1 });
const restored = fact(11, "checkpoint.restored", { checkpointId: "cp_3", targetId: "cp_1", before: "t", files: 7 });
const failed = fact(11, "checkpoint.failed", { checkpointId: "cp_3", phase: "restore", category: "error", message: "a.txt is read-only" });

let place, fake;
beforeEach(async () => {
	place = await Place.make({ withModel: false });
	mkdirSync(place.data, { mode: 0o700 });
});
afterEach(async () => {
	await fake?.close();
	await place.end();
});

const serve = async (streams, replies = {}) => { fake = await startFake(join(place.data, "agentd.sock"), { replies: { ...base, ...replies }, streams }); };
const sent = (command) => fake.asked.filter((a) => a.path === `/v1/${command}`).map((a) => JSON.parse(a.body));

test("undo of a turn with a checkpoint restores it and waits for its end", async () => {
	await serve([[other, restored]]);
	const { code, out, err } = await place.ctl("undo", turn(1));
	assert.deepEqual([code, out], [0, "7 files restored\n"]);
	assert.match(err, /the state before is checkpoint cp_3/);
	assert.deepEqual(sent("list_checkpoints"), [{ sessionId: SESSION, turnId: turn(1) }]);
	assert.deepEqual(sent("restore_checkpoint"), [{ sessionId: SESSION, checkpointId: "cp_1", reason: "agentctl undo" }]);
	assert.deepEqual(fake.asked.filter((a) => a.path.endsWith("/events")).map((a) => [a.after, a.view]), [["9", "extended"]]); // its facts are in no other view
});

test("undo says what could not be restored, and exits with 1", async () => {
	await serve([[failed]]);
	const { code, err } = await place.ctl("undo", turn(1));
	assert.equal(code, 1);
	assert.match(err, /not all restored: a\.txt is read-only/);
});

test("a turn whose checkpoint failed, and --tools, are undone by what file tools changed", async () => {
	const facts = [fact(9, "turn.completed", { status: "completed" })];
	await serve([facts, facts], { "/v1/list_checkpoints": { json: { checkpoints: [record(1, "start", "failed")], asOfSequence: 9 } } });
	for (const args of [[turn(1)], [turn(1), "--tools"]]) {
		const { code, err } = await place.ctl("undo", ...args);
		assert.equal(code, 1);
		assert.match(err, /has no turn/);
	}
	assert.deepEqual(sent("restore_checkpoint"), []);
	assert.equal(sent("list_checkpoints").length, 1);
});

test("a refusal is said in the server's words", async () => {
	await serve([], { "/v1/restore_checkpoint": { status: 409, json: { error: { code: "active_turn", message: "turn x runs in the session", retryable: true, next: "wait" } } } });
	const { code, err } = await place.ctl("undo", turn(1));
	assert.equal(code, 1);
	assert.match(err, /turn x runs in the session/);
});

test("rollback --files restores the files of the first removed turn; without it none", async () => {
	await serve([[restored]]);
	const { code, out } = await place.ctl("rollback", SESSION, "--turn", turn(1), "--files");
	assert.deepEqual([code, out], [0, `${turn(2)}  removed\n${turn(3)}  removed\n7 files restored\n`]);
	assert.deepEqual(sent("list_checkpoints").map((b) => b.turnId), [turn(2)]);
	assert.equal((await place.ctl("rollback", SESSION, "--turn", turn(1))).code, 0);
	assert.equal(sent("restore_checkpoint").length, 1);
});

test("diff compares a turn, two turns, or a turn with the files as they are", async () => {
	const answer = { from: "t1", to: "t2", changes: [{ path: "a b.txt", change: "changed" }, { path: "n", change: "added" }], diff: "--- a/a b.txt\n+++ b/a b.txt\n", cut: true };
	await serve([], { "/v1/diff_checkpoints": { json: answer } });
	const one = await place.ctl("diff", turn(1));
	assert.deepEqual([one.code, one.out], [0, answer.diff]);
	assert.match(one.err, /not complete/);
	await place.ctl("diff", `${turn(1)}..${turn(2)}`);
	const names = await place.ctl("diff", "--names", `${turn(1)}..`);
	assert.equal(names.out, "M  a b.txt\nA  n\n");
	assert.deepEqual(sent("diff_checkpoints"), [
		{ sessionId: SESSION, from: turn(1), to: turn(1) }, { sessionId: SESSION, from: turn(1), to: turn(2) }, { sessionId: SESSION, from: turn(1) }]);
});

test("diff alone is the last turn that changed files; one that goes on is compared with the files as they are", async () => {
	const of = (n, phase) => ({ ...record(n, phase), turnId: turn(n) });
	const answer = { from: "t1", changes: [], diff: "--- a/x\n+++ b/x\n-old\n+new\nno newline", cut: false };
	let list = [of(3, "start"), of(2, "end"), of(2, "start")];
	await serve([], { "/v1/diff_checkpoints": { json: answer }, "/v1/list_checkpoints": () => ({ json: { checkpoints: list, asOfSequence: 9 } }) });
	const runs = await place.ctl("diff", "--session", SESSION);
	assert.deepEqual([runs.code, runs.out], [0, `${answer.diff}\n`]);
	list = [{ ...record(4, "restore") }, ...list.slice(1)]; // that before a restore is of no turn
	await place.ctl("diff", "--session", SESSION);
	assert.deepEqual(sent("diff_checkpoints"), [{ sessionId: SESSION, from: turn(3) }, { sessionId: SESSION, from: turn(2), to: turn(2) }]);
	list = [];
	const none = await place.ctl("diff", "--session", SESSION);
	assert.equal(none.code, 1);
	assert.match(none.err, /no turn of the session \w+ changed files/);
});
