// agentctl top against a real daemon: one look, as a table and as JSON; live on a terminal of its own (util-linux script gives it one), with
// keys, a narrow window and the end.
// ci: release only
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { bin, lines, Place, sleep } from "./place.mjs";

let place;
before(async () => {
	place = await Place.make();
	await good("run", "one two three");
	await good("run", "[[tokens 40]] another");
});
after(() => place.end());

/** Runs it to its end, which has to be a good one. */
async function good(...args) {
	const end = await place.ctl(...args);
	assert.equal(end.code, 0, end.err);
	return end;
}

/** Runs it on a terminal of that size; keys are typed. */
function onTerminal(args, { columns = 100, rows = 20 } = {}) {
	const command = `stty cols ${columns} rows ${rows}; exec ${join(bin, "agentctl")} ${args.join(" ")}`;
	return place.launch("script", ["-qefc", command, "/dev/null"], { env: { ...place.env, TERM: "xterm" }, input: null });
}

/** What stands on the screen after the newest drawing. */
const page = (run) => run.out.slice(run.out.lastIndexOf("\x1b[H") + 3).replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").split(/\r*\n/);

test("top --once is a table of sessions under totals and rates", async () => {
	const { out } = await good("top", "--once");
	const [now, rates, heads, ...rows] = lines(out);
	assert.match(now, /running 0 +queued 0 +asking 0 +in memory 2 +streams 0 +lag 0/);
	assert.match(rates, /turns\/s 0 .*commit ms .*MB \d+/);
	assert.match(heads, /^ID +STATUS +WAIT +QUE +TURNS +TOKENS +COST +AGE +TITLE|^ID +STATUS/);
	assert.equal(rows.length, 2);
	assert.match(rows[0], /^\S{6} idle .*another$/);
	assert.match(rows[1], /^\S{6} idle .*one two three$/);
});

test("its ids are taken by other commands", async () => {
	const id = lines((await good("top", "--once")).out)[3].split(" ")[0];
	assert.match((await good("show", id)).out, /another/);
});

test("top --once --json says the same to programs", async () => {
	const { out } = await good("--json", "top", "--once");
	const { now, perSecond, sessions } = JSON.parse(out);
	assert.deepEqual([now.turnsRunning, now.sessionsOpen, perSecond.turns], [0, 2, 0]);
	assert.ok(now.memoryBytes > 1e6 && now.openFiles > 3);
	assert.deepEqual(sessions.map((s) => s.title), ["[[tokens 40]] another", "one two three"]);
	assert.ok(sessions[0].tokens >= 40, `tokens of the session: ${sessions[0].tokens}`);
});

test("sorting, and what cannot be sorted by", async () => {
	const titles = async (by) => JSON.parse((await good("--json", "top", "--once", "--sort", by)).out).sessions.map((s) => s.title);
	assert.deepEqual(await titles("title"), ["[[tokens 40]] another", "one two three"]);
	assert.deepEqual(await titles("tokens"), ["[[tokens 40]] another", "one two three"]);
	const { code, err } = await place.ctl("top", "--sort", "colour");
	assert.equal(code, 2);
	assert.match(err, /there is no order 'colour'\nnext: activity, updated/);
	assert.equal((await place.ctl("top", "--interval", "never")).code, 2);
});

test("no line is wider than a narrow terminal, and none is lost from a wide one", async () => {
	for (const columns of [20, 33, 48, 60, 80, 132]) {
		const run = await good("top", "--once", { env: { COLUMNS: String(columns) } });
		for (const line of lines(run.out)) assert.ok(line.trimEnd().length <= columns, `${line.length} of ${columns}: ${line}`);
		assert.equal(lines(run.out).length, 5);
		assert.equal(/TOKENS/.test(run.out), columns >= 66);
	}
});

test("live on a terminal: draws again, shows a turn that runs, changes the order by key, puts the terminal back", async () => {
	const top = onTerminal(["top", "--interval", "0.2"]);
	await top.until(() => /running 0/.test(top.out));
	assert.ok(top.out.startsWith("\x1b[?1049h\x1b[?25l"), "it takes the other screen");
	const work = place.start("run", "[[hang]] long work");
	await top.until(() => page(top).some((line) => /running 1 /.test(line)) && page(top).some((line) => /^› \S{6} running .*long work/.test(line)));
	assert.match(page(top)[3], /long work/, "what runs stands first");
	top.type("s");
	await top.until(() => page(top).some((line) => /sorted by updated/.test(line)));
	await good("interrupt", "last");
	await work.done;
	await top.until(() => page(top).some((line) => /running 0 /.test(line)));
	top.type("q");
	assert.equal((await top.done).code, 0);
	assert.ok(/\x1b\[\?25h.*\x1b\[\?1049l/.test(top.out), "it gives the screen back");
});

test("a page is not longer than the terminal", async () => {
	const top = onTerminal(["top", "--interval", "0.2"], { columns: 40, rows: 6 });
	await top.until(() => /sorted by/.test(top.out));
	await sleep(300);
	assert.ok(page(top).length <= 6, page(top).join("\n"));
	for (const line of page(top)) assert.ok(line.length <= 40, line);
	top.type("q");
	await top.done;
});

test("Ctrl-C ends it well, in a pipe too", async () => {
	const top = place.start("top", "--interval", "0.1");
	await top.until(() => top.out.split("TITLE").length > 3);
	top.signal("SIGINT");
	assert.equal((await top.done).code, 0);
	assert.ok(!top.out.includes("\x1b"), "no orders for terminals where there is none");
});

test("without a daemon it says so", async () => {
	const none = await Place.make({ withModel: false });
	const { code, err } = await none.ctl("top", "--once");
	await none.end();
	assert.equal(code, 3);
	assert.match(err, /next: /);
});
