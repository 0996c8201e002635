// What `agentctl` says of the sandbox and the permission mode before the first turn, and that it is so: where the sandbox is proven commands inside it run without
// a question, what reaches further asks; where it is not, nothing runs; a setting of the person comes first.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

const READY = /^›[^]*\/keys$/m;
let place, t;
afterEach(async () => {
	t?.end();
	await place?.end();
});

async function begin(mode, programs = bin) {
	place = await Place.make({ env: { AGENTD_PERMISSION_MODE: mode } });
	t = new Tmux({ env: place.env, cwd: place.work, cols: 160 });
	if (programs !== bin) {
		programs = join(place.dir, programs);
		mkdirSync(programs);
		for (const name of ["agentctl", "agentd"]) copyFileSync(join(bin, name), join(programs, name));
	}
	t.run(join(programs, "agentctl"));
	return (await t.until(READY)) && t.all();
}
function submit(command, said) {
	t.type(`[[tool shell {"command":"${command}"}]] [[then]] [[say ${said}]]`);
	t.key("Enter");
}
/** Keys that come right after a question was drawn are no answer to it. */
async function answer(key) {
	await t.until(/why am I asked/);
	await sleep(600);
	t.type(key);
}
async function leave() {
	t.key("C-d");
	assert.equal(await t.ended(), 0);
}

test("where the sandbox is proven: said first, a command in it runs without a question, what cannot be undone asks", async () => {
	const seen = await begin("");
	assert.match(seen, /^sandbox: workspace_write, tested now: files by \w+, network none, system calls filtered$/m);
	assert.match(seen, /^permission mode: on_request: commands in the sandbox run without a question, what reaches further asks$/m);
	submit("echo made > made.txt", "first done");
	await t.until(/^first done$/m);
	assert.doesNotMatch(t.all(), /^\? /m);
	assert.ok(existsSync(join(place.work, "made.txt")));
	submit("rm -rf made.txt", "second done");
	await t.until(/^\? [^]*recursive_delete/m);
	await answer("n");
	await t.until(/^second done$/m);
	assert.ok(existsSync(join(place.work, "made.txt")));
	await leave();
});

test("where it is not: said with the reason, and nothing runs", async () => {
	const seen = await begin("", "alone");
	assert.match(seen, /^sandbox: workspace_write cannot be enforced here: .*agentctl sandbox check tells what to do$/m);
	assert.match(seen, /^permission mode: on_request; commands and edits do not run without the sandbox$/m);
	submit("echo made > made.txt", "it is over");
	await t.until(/^it is over$/m);
	assert.doesNotMatch(t.all(), /^\? /m);
	assert.ok(!existsSync(join(place.work, "made.txt")));
	await leave();
});

test("a setting of the person comes first: mode default asks about the same command", async () => {
	const seen = await begin("default");
	assert.match(seen, /^permission mode: default: everything that does more than read asks$/m);
	submit("echo made > made.txt", "done");
	await t.until(/^\? /m);
	assert.ok(!existsSync(join(place.work, "made.txt")));
	await answer("y");
	await t.until(/^done$/m);
	assert.ok(existsSync(join(place.work, "made.txt")));
	await leave();
});
