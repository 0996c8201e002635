// What the drawn terminal costs while a model streams: CPU time of agentctl for 2,000 tokens, which come in 10 s at 200 a second, and bytes per frame.
// ci: release only
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { newFolder, world } from "../lib/runtime.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";

const TOKENS = 2000, PER_SECOND = 200, CPU = 0.02, FRAME = 4096;
let place, w, t;

before(async () => {
	place = await Place.make({ withModel: false });
	w = await world();
	t = new Tmux({ env: place.env, cwd: place.work, cols: 120, rows: 40 });
});
after(async () => {
	t.end();
	await place.end();
});

/** User and system time of a process in seconds. */
function cpuOf(pid) {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
	return (Number(fields[11]) + Number(fields[12])) / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
}

test("2,000 tokens take at most 2 % of one processor for the 10 s that they last, and a frame at most 4 KB", async (context) => {
	const raw = join(newFolder(), "raw");
	t.run(join(bin, "agentctl"), "--socket", w.rt.socket, "chat", "--no-workspace");
	await t.until(/^›[^]*\/keys$/m);
	const tty = t.tmux("display-message", "-p", "#{pane_tty}").trim().replace("/dev/", "");
	const pid = Number(execFileSync("pgrep", ["-o", "-x", "-t", tty, "agentctl"], { encoding: "utf8" }));
	t.tmux("pipe-pane", "-O", `cat > ${raw}`);
	const begun = cpuOf(pid), at = Date.now();
	t.type(`[[delay ${1000 / PER_SECOND}]] [[tokens ${TOKENS}]]`);
	t.key("Enter");
	await t.until(/^\d+ in, \d+ out/m, { all: true, ms: 120000 });
	const cpu = cpuOf(pid) - begun, seconds = (Date.now() - at) / 1000;
	const frames = readFileSync(raw, "latin1").split("\x1b[?2026h").slice(1).map((frame) => frame.length);
	const most = Math.max(...frames), mean = frames.reduce((a, b) => a + b, 0) / frames.length;
	context.diagnostic(`CPU ${cpu.toFixed(2)} s in ${seconds.toFixed(1)} s (${(cpu * 100 / seconds).toFixed(1)} % at ${(TOKENS / seconds).toFixed(0)} tokens/s); ${frames.length} frames, ${mean.toFixed(0)} bytes each, at most ${most}`);
	assert.ok(frames.length / seconds <= 20.5, `${frames.length} frames in ${seconds} s`);
	assert.ok(most <= FRAME, `a frame of ${most} bytes`);
	assert.ok(cpu <= CPU * Math.max(seconds, TOKENS / PER_SECOND), `${cpu} s of CPU in ${seconds} s`);
	t.key("C-d");
	assert.equal(await t.ended(), 0);
});
