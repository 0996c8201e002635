// What a person sets for the terminal: the keys of vi, and the parts of the last row.
// ci: release only
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startFake } from "../ctl/fake.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

let place;
before(async () => { place = await Place.make({ withModel: false }); });
after(() => place.end());

async function chat(name, env, work) {
	const socket = join(place.dir, `${name}.sock`);
	const fake = await startFake(socket, {});
	const t = new Vterm({ env: { ...place.env, ...env }, cwd: place.work, cols: 90 }, join(bin, "agentctl"), "--socket", socket, "chat", "--no-workspace");
	try {
		await t.until(/^›/m);
		await work(t);
	} finally {
		await t.end();
		await fake.close();
	}
}

test("keys of vi: Esc makes keys commands, the last row says so; /keys changes them", () =>
	chat("vi", { AGENTCTL_KEYS: "vi" }, async (t) => {
		await t.until(/ · vi insert$/m);
		t.type("one two three");
		await t.until(/^› one two three$/m);
		t.key("Escape");
		await t.until(/ · vi normal$/m);
		t.type("bbdw");
		await t.until(/^› one three$/m);
		t.type("Afour");
		await t.until((seen) => /^› one threefour$/m.test(seen) && / · vi insert$/m.test(seen));
		t.key("C-u");
		t.type("/keys emacs");
		await t.until(/^› \/keys emacs$/m);
		t.key("Enter");
		await t.until((seen) => /keys of emacs; AGENTCTL_KEYS=emacs keeps that/.test(seen) && / · \/keys$/m.test(seen));
	}));

test("the last row has the parts that were named, in their order, and none that says nothing", () =>
	chat("status", { AGENTCTL_STATUS: "folder,cost,mode,mine" }, async (t) => {
		const { text } = await t.steady();
		assert.equal(text.trimEnd().split("\n").at(-1), "  project · mode of agentd · mine");
	}));
