// A daemon that was started with a settings file and is lost: agentctl starts it with the same file or not at all, and never behind the
// back of a client that only reconnects.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { bin, lines, Place, Running } from "./place.mjs";

let place, settings, memory;
beforeEach(async () => {
	place = await Place.make();
	settings = join(place.dir, "rules.yaml");
	memory = join(place.data, "start.json");
	mkdirSync(join(place.dir, "work"));
	writeFileSync(settings, `tools: { workspace: "${join(place.dir, "work")}" }\npermission_rules:\n  - { name: no-lists, effect: deny, tool: list_files }\n`, { mode: 0o600 });
});
afterEach(() => place.end());

async function startConfigured(args = ["--config", settings]) {
	const daemon = new Running(join(bin, "agentd"), ["--listen", "off", ...args], { env: place.env, cwd: place.dir });
	await daemon.until((r) => r.out.includes("\n"));
	return daemon;
}

async function killHard(daemon) {
	daemon.signal("SIGKILL");
	await daemon.done;
}

const isAlive = (pid) => existsSync(`/proc/${pid}`);
const denied = async () => {
	const { out } = await place.ctl("run", "--json", "[[tool list_files {}]]");
	const types = lines(out).map((line) => JSON.parse(line).type);
	return out.includes('"no-lists"') && types.includes("tool.failed") && !types.includes("tool.result");
};

for (const [how, args] of [["an absolute path", undefined], ["a relative path", ["--config", "rules.yaml"]]]) {
	test(`a deny rule holds after kill -9 and agentctl run: ${how}`, async () => {
		const daemon = await startConfigured(args);
		assert.ok(await denied(), "the rule is in force at first");
		assert.equal(statSync(memory).mode & 0o777, 0o600);
		const { stopMs, ...kept } = JSON.parse(readFileSync(memory, "utf8"));
		assert.match(stopMs, /^\d+$/);
		assert.deepEqual(kept, { config: settings, listen: "off", socket: join(place.data, "agentd.sock"),
			workspace: join(place.dir, "work"), model: "", provider: "auto" });
		await killHard(daemon);
		assert.ok(await denied(), "and after the automatic start");
		assert.notEqual(place.pid, daemon.child.pid);
		process.kill(place.pid, "SIGKILL");
		assert.ok(await denied(), "and after a second one");
	});
}

test("a settings file that is gone or unreadable is a refusal, not a start without it", async () => {
	await killHard(await startConfigured());
	renameSync(settings, `${settings}.away`);
	const { code, out, err } = await place.ctl("run", "x");
	assert.deepEqual([code, out], [3, ""]);
	assert.match(err, new RegExp(`^agentctl: the daemon is not started, because it ran with the settings file ${settings}, which cannot be read: No such file or directory\nnext: restore the file, or start the daemon with other settings: agentd --data-dir ${place.data}\n$`));
	assert.ok(!existsSync(join(place.data, "agentd.log")), "nothing was started");
	renameSync(`${settings}.away`, settings);
	assert.ok(await denied());
});

test("a memory that others could have written, or that is damaged, is not believed", async () => {
	await killHard(await startConfigured());
	const text = readFileSync(memory, "utf8");
	const damages = [
		["can be written by others", () => chmodSync(memory, 0o666)],
		["cannot be read", () => { rmSync(memory); writeFileSync(`${memory}.x`, text, { mode: 0o600 }); symlinkSync(`${memory}.x`, memory); }],
		["belongs to another user|can be written", () => { rmSync(memory); mkdirSync(memory); }],
		["is damaged", () => { rmSync(memory, { recursive: true }); writeFileSync(memory, "[]", { mode: 0o600 }); }],
		["is damaged", () => writeFileSync(memory, '{"config":"relative"}')],
		["is damaged", () => writeFileSync(memory, '{"config":7}')],
		["is damaged", () => writeFileSync(memory, "")],
		["is damaged", () => writeFileSync(memory, "{".repeat(100000))],
	];
	for (const [why, damage] of damages) {
		damage();
		const { code, err } = await place.ctl("run", "x");
		assert.equal(code, 3, err);
		assert.match(err, new RegExp(`its settings file is not known: ${memory} .*(${why})`));
		assert.match(err, /\nnext: start it yourself: agentd --config FILE --data-dir /);
	}
	assert.ok(!existsSync(join(place.data, "agentd.log")), "nothing was started");
});

test("a client that is cut off only reconnects, and says how to start the daemon", async () => {
	const daemon = await startConfigured();
	const run = place.start("run", "[[tokens 9]] [[hang-after 2]]");
	await run.until((r) => r.out.length > 0);
	await killHard(daemon);
	const { code, err } = await run.within();
	assert.equal(code, 3);
	assert.match(err, new RegExp(`\nnext: start the daemon \\(agentd --data-dir ${place.data} --config ${settings}\\), then: agentctl tail sess_\\w+ --after \\S+\n$`));
	assert.ok(!isAlive(place.pid) && !existsSync(join(place.data, "agentd.log")), "nothing was started");
});

test("a daemon that is started without a settings file has none to remember", async () => {
	await killHard(await startConfigured());
	await killHard(await startConfigured([]));
	assert.equal(JSON.parse(readFileSync(memory, "utf8")).config, undefined);
	assert.equal((await place.ctl("run", "[[say plain]]")).out, "plain\n");
});

test("a second daemon that does not get the store changes nothing", async () => {
	const daemon = await startConfigured();
	const second = new Running(join(bin, "agentd"), ["--listen", "off"], { env: place.env });
	assert.notEqual((await second.within()).code, 0);
	assert.equal(JSON.parse(readFileSync(memory, "utf8")).config, settings);
	await killHard(daemon);
});
