// agentctl verify against a real daemon: clean, with findings, repaired; and its exit status.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lines, Place } from "./place.mjs";

let place;
before(async () => {
	place = await Place.make();
	for (let i = 0; i < 25; i++) assert.equal((await place.ctl("run", `[[say number ${i}]]`)).code, 0);
});
after(() => place.end());

// Changes the store while no daemon runs on it; the next command that needs one starts it.
async function damage(statement) {
	assert.equal((await place.ctl("stop")).code, 0);
	const script = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\ndb.execute(sys.argv[2])\ndb.commit()\n";
	execFileSync("python3", ["-c", script, join(place.data, "agentd.db"), statement]);
	assert.equal((await place.ctl("run", "and on")).code, 0);
}

test("verify --all goes through all pages and is content with a healthy store", async () => {
	const { code, out, err } = await place.ctl("verify", "--all");
	assert.equal(code, 0, err);
	assert.match(out, /^25 verified, \d+ facts: 25 ok, 0 repaired, 0 with findings\n$/);
	const one = await place.json("verify", "last");
	assert.deepEqual([one.sessions.length, one.sessions[0].status], [1, "ok"]);
	assert.match((await place.ctl("doctor")).err, /agentctl verify --all/);
});

test("a finding is a line, and exit 1; --repair writes it again, and then all is well", async () => {
	await damage("UPDATE session SET status = 'blocked' WHERE session = (SELECT session FROM session ORDER BY session LIMIT 1)");
	const { code, out, err } = await place.ctl("verify", "--all");
	assert.equal(code, 1);
	assert.match(lines(out)[0], /^sess_[0-9a-z]{26}  differs   session\.status  stored: blocked  log says: idle$/);
	assert.match(lines(out)[1], /^26 verified, .* 25 ok, 0 repaired, 1 with findings$/);
	assert.match(err, /next: agentctl verify --repair/);
	const repaired = await place.ctl("verify", "--all", "--repair");
	assert.equal(repaired.code, 0, repaired.err);
	assert.match(lines(repaired.out)[0], /^sess_\S+  repaired  session\.status /);
	assert.equal((await place.ctl("verify", "--all")).code, 0);
});

test("a gap in the log is named with its sequence, and no repair hides it", async () => {
	const oldest = "(SELECT session FROM session ORDER BY session LIMIT 1)";
	await damage(`DELETE FROM log WHERE session = ${oldest} AND first_seq = (SELECT first_seq FROM log WHERE session = ${oldest} ORDER BY first_seq LIMIT 1 OFFSET 1)`);
	for (const args of [["--all"], ["--all", "--repair"]]) {
		const { code, out } = await place.ctl("verify", ...args);
		assert.equal(code, 1);
		assert.match(lines(out)[0], /^sess_\S+  corrupt   log  at fact \d+  fact \d+ is missing/);
	}
});

test("what verify does not take is said, with what it does", async () => {
	for (const args of [[], ["--all", "last"], ["--fix"]]) assert.equal((await place.ctl("verify", ...args)).code, 2, args.join(" "));
	const help = await place.ctl("verify", "--help");
	assert.equal(help.code, 0);
	for (const word of ["--all", "--repair", "Examples", "agentctl verify --all --repair"]) assert.ok(help.out.includes(word), word);
	assert.equal((await place.ctl("verify", "sess_00000000000000000000000000")).code, 1);
});
