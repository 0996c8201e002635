// Completion in a real bash: the shell is given a line and a place in it, and asked for what it would offer. zsh where it is installed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { soon } from "../lib/soon.mjs";
import { bin, lines, Place } from "../ctl/place.mjs";
import { has } from "./scrape.mjs";

const scripts = fileURLToPath(new URL("../../packaging/completion", import.meta.url));
let place;

before(async () => {
	place = await Place.make();
	assert.equal((await place.ctl("run", "a first session")).code, 0);
});
after(() => place.end());

/** What bash offers for the last word of the line. */
function offered(...words) {
	const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"; printf '%s\\n' "\${COMPREPLY[@]}"`;
	const env = { ...place.env, PATH: `${bin}:${process.env.PATH}` };
	return lines(execFileSync("bash", ["--norc", "-c", script, "bash", `${scripts}/agentctl.bash`, ...words], { env, encoding: "utf8" }));
}

test("commands, and those that begin so", () => {
	assert.ok(["run", "top", "help", "sessions"].every((name) => offered("agentctl", "").includes(name)));
	assert.deepEqual(offered("agentctl", "sho"), ["show"]);
	assert.deepEqual(offered("agentctl", "help", "int"), ["interrupt"]);
	assert.deepEqual(offered("agentctl", "nothing-like-it"), []);
});

test("options of the command and those of all", () => {
	assert.deepEqual(offered("agentctl", "top", "--so"), ["--sort", "--socket"]);
	assert.ok(offered("agentctl", "submit", "--").includes("--queue"));
	assert.ok(!offered("agentctl", "--").includes("--queue"));
});

test("sessions by the end of their ids, behind global options too", async () => {
	const { sessions } = await place.json("sessions");
	const end = sessions[0].sessionId.slice(-6);
	assert.deepEqual(offered("agentctl", "show", ""), ["last", end]);
	assert.deepEqual(offered("agentctl", "show", end.slice(0, 3)), [end]);
	assert.deepEqual(offered("agentctl", "--data-dir", place.data, "tail", "la"), ["last"]);
	assert.deepEqual(offered("agentctl", "show", "sess_"), [sessions[0].sessionId]);
	assert.deepEqual(offered("agentctl", "inbox", "--session", "las"), ["last"]);
});

test("fixed words and names of the API", () => {
	assert.deepEqual(offered("agentctl", "node", ""), ["list", "drain"]);
	assert.deepEqual(offered("agentctl", "queue", "last", "p"), ["promote"]);
	assert.ok(offered("agentctl", "call", "list_").includes("list_sessions"));
});

test("without a daemon there is less to offer, soon, and nothing is started", async () => {
	await soon(2000, () => {
		assert.deepEqual(offered("agentctl", "--data-dir", `${place.dir}/none`, "show", ""), ["last"]);
	});
});

test("agentd's options come from its help", () => {
	assert.deepEqual(offered("agentd", "--da"), ["--data-dir"]);
	assert.deepEqual(offered("agentd", "mig"), ["migrate"]);
});

test("zsh reads its script", { skip: !has("zsh") }, () => {
	const env = { ...place.env, PATH: `${bin}:${process.env.PATH}` };
	execFileSync("zsh", ["-f", "-n", `${scripts}/_agentctl`], { env });
	const script = `words=(agentctl sho); CURRENT=2; _describe() { print -l -- "\${(@P)2}"; }; _files() { :; }; source "$1"`;
	assert.equal(execFileSync("zsh", ["-f", "-c", script, "zsh", `${scripts}/_agentctl`], { env, encoding: "utf8" }).trim(),
		"show:a session with its turns and answers");
});
