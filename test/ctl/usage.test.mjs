// Command lines that are wrong: each is refused before anything is asked of a daemon, names the option or word, and says what to do.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, test } from "node:test";
import { Place } from "./place.mjs";

let place;
before(async () => { place = await Place.make({ withModel: false }); });
after(() => place.end());

// words, what the complaint names, what the next step says
const wrong = [
	["run --mod plan x", "run has no option --mod", "did you mean --mode?"],
	["run --mdoe plan x", "run has no option --mdoe", "did you mean --mode?"],
	["run --model-w x", "run has no option --model-w", "did you mean --model-wait?"],
	["run --sess last x", "run has no option --sess", "did you mean --session?"],
	["run --frobnicate x", "run has no option --frobnicate", "usage: agentctl run [OPTIONS] TEXT..."],
	["run -m x", "run has no option -m", "usage: agentctl run [OPTIONS] TEXT..."],
	["run x --mode", "--mode needs a value", "--mode MODE"],
	["run --mode --json x", "--mode needs a value", "--mode MODE"],
	["run --no-wait=yes x", "--no-wait has no value, but got 'yes'", "usage: agentctl run"],
	["run", "run needs TEXT...", "usage: agentctl run TEXT..."],
	["run --timeout soon x", "--timeout 'soon'", "90s, 10m or 2h"],
	["run --timeout 0s x", "--timeout '0s'", "90s, 10m or 2h"],
	["run --on-question=ask x", "--on-question must be fail or wait, not 'ask'", "--on-question=fail or --on-question=wait"],
	["run --continue --session last x", "--continue and --session", "leave one of them out"],
	["run --no-wait --timeout 1m x", "--no-wait and --timeout", "leave one of them out"],
	["chat hello", "chat has no argument 'hello'", "usage: agentctl chat"],
	["show", "show needs SESSION", "usage: agentctl show SESSION"],
	["show last again", "show has no argument 'again'", "usage: agentctl show SESSION"],
	["sessions --limt 3", "sessions has no option --limt", "did you mean --limit?"],
	["sessions --limit", "--limit needs a value", "--limit N"],
	["tail last --no-folow", "tail has no option --no-folow", "did you mean --no-follow?"],
	["--dat-dir /tmp sessions", "agentctl has no option --dat-dir", "did you mean --data-dir?"],
	["--sock x sessions", "agentctl has no option --sock", "did you mean --socket?"],
	["--verbose sessions", "agentctl has no option --verbose", "usage: agentctl [GLOBAL OPTIONS] COMMAND"],
	["sesions", "there is no command 'sesions'", "did you mean `agentctl sessions`?"],
	["frobnicate", "there is no command 'frobnicate'", "agentctl help lists the commands"],
	["call list_session", "there is no command 'list_session'", "did you mean list_sessions?"],
	["sandbox chek", "sandbox has no 'chek'", "agentctl sandbox check"],
	["approve x --resaon y", "approve has no option --resaon", "did you mean --reason?"],
];

for (const [line, named, next] of wrong) {
	test(`refused: agentctl ${line}`, async () => {
		const { code, out, err } = await place.ctl(...line.split(" "));
		assert.equal(code, 2, err);
		assert.equal(out, "");
		assert.ok(err.split("\n")[0].startsWith("agentctl: ") && err.split("\n")[0].includes(named), err);
		assert.match(err, /\nnext: .+\n$/);
		assert.ok(err.includes(next), err);
		assert.ok(!existsSync(place.data), "nothing was started");
	});
}

test("options stand anywhere, with a space or =, until --", async () => {
	const page = await place.ctl("run", "--help");
	for (const args of [["--help", "run"], ["run", "x", "--help"], ["run", "--mode=plan", "-h"], ["run", "--session", "-x", "--help"]])
		assert.equal((await place.ctl(...args)).out, page.out, args.join(" "));
	const { code, err } = await place.ctl("sessions", "--limit=0");
	assert.deepEqual([code, /--limit|limit/.test(err)], [2, true]);
	assert.match((await place.ctl("show", "--", "--help", "b")).err, /has no argument 'b'/);
});
