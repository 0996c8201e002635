// What agentctl shows of questions that several people have to approve: who approved, how many are missing, and why an answer does not count.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { newFolder, ok, world } from "../lib/runtime.mjs";
import { bin, Place, Running } from "./place.mjs";

const READ = '[[tool read_file {"path":"a.txt"}]]';
let place, w;

before(async () => {
	const workspace = newFolder();
	writeFileSync(join(workspace, "a.txt"), "hello file\n");
	place = await Place.make({ withModel: false });
	w = await world({ config: { "tools.workspace": workspace, permission_rules: [{ name: "two-keys", effect: "ask", tool: "read_file", approvals: 2 }] } });
});
after(() => place.end());

const ctl = (...words) => place.ctl("--socket", w.rt.socket, ...words);

/** agentctl as somebody else, who shows a token. */
const as = (token, ...words) => place.ctl("--url", w.rt.url, ...words, { env: { AGENTCTL_TOKEN: token } });

async function tokenOf(name) {
	const { code, out, err } = await ctl("token", "create", name, "--scopes", "read,submit,decide", "--owner", name);
	assert.equal(code, 0, err);
	assert.match(err, new RegExp(`owner person:${name}`));
	return out.trim();
}

test("inbox, approve and run say who approved and how many are missing", async () => {
	const [bob, eve] = [await tokenOf("bob"), await tokenOf("eve")];
	const run = place.start("--socket", w.rt.socket, "run", "--on-question=wait", READ);
	await run.until((r) => /agentctl approve action_\w+/.test(r.err));
	assert.match(run.err, /2 people have to approve who did not give the work/);
	const [id] = /action_\w+/.exec(run.err);
	assert.match((await ctl("inbox")).out, /  0 of 2 approvals/);
	const own = await ctl("approve", id);
	assert.equal(own.code, 1);
	assert.match(own.err, /another person must approve/);
	const first = await as(bob, "approve", id);
	assert.deepEqual([first.code, first.out], [0, `${id}  pending  1 of 2 approvals\n`], first.err);
	assert.match((await as(bob, "approve", id)).err, /person:bob approved .* already/);
	assert.match((await ctl("inbox")).out, /  1 of 2 approvals \(person:bob\)/);
	assert.match((await ctl("inbox", "show", id)).out, /\n1 of 2 approvals \(person:bob\)\n/);
	assert.equal((await as(eve, "approve", id)).out, `${id}  allow  2 of 2 approvals\n`);
	const { code, err } = await run.done;
	assert.equal(code, 0, err);
	assert.match(err, /1 of 2 approvals: person:bob\n[^]*2 of 2 approvals: person:eve/);
	assert.match((await ctl("inbox", "--all")).out, /2 of 2 approvals \(person:bob, person:eve\)/);
});

test("chat tells who approved elsewhere, and that the one who asked cannot", async () => {
	const [dan, zoe] = [await tokenOf("dan"), await tokenOf("zoe")];
	const chat = new Running("script", ["-qefc", `${join(bin, "agentctl")} --socket ${w.rt.socket} chat`, "/dev/null"], { env: { ...place.env, TERM: "dumb" }, input: null });
	const shows = (what) => chat.until((c) => what.test(c.out.replaceAll("\r", "")));
	await shows(/> $/);
	chat.type(`${READ}\n`);
	await shows(/y yes, n no, e why it is asked\? $/);
	chat.type("y\n");
	await shows(/another person must approve/);
	const { actions: [{ actionId }] } = await ok(w.rt, "list_actions");
	await as(dan, "approve", actionId);
	await shows(/approved: 1 of 2 approvals, person:dan/);
	await as(zoe, "approve", actionId);
	await shows(/ ok read_file[^]*> $/);
	chat.type("\x04");
	assert.equal((await chat.done).code, 0);
});
