// Images in a chat: a file that the text names with @, or that is dropped on the terminal, reaches a model that sees, byte for byte; nothing else does.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { startAgentd, startModel } from "../lib/runtime.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

const CTL = join(bin, "agentctl");
const READY = /^›\s*$[^]*\/keys$/m;
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(3000, 7)]);
let place, model, rt, t;

before(async () => {
	place = await Place.make({ withModel: false });
	model = await startModel();
	const sees = (provider, base_url) => ({ name: provider, provider, base_url, model: "eyes", api_key: "k", capabilities: ["vision", "tools", "json"] });
	rt = await startAgentd({ config: { models: [sees("openai-chat", model.url), sees("openai-responses", model.url), sees("anthropic", model.origin), sees("gemini", model.origin),
		{ name: "blind", provider: "openai-chat", base_url: model.url, model: "blind" }] } });
	writeFileSync(join(place.work, "shot.png"), PNG);
	writeFileSync(join(place.work, "Screen Shot.JPG"), JPEG);
	writeFileSync(join(place.work, "fake.png"), "#!/bin/sh\n");
	writeFileSync(join(place.work, "huge.png"), Buffer.concat([PNG, Buffer.alloc(700 * 1024)]));
	mkdirSync(join(place.dir, "private"));
	writeFileSync(join(place.dir, "private/secret.png"), PNG);
	symlinkSync(join(place.dir, "private/secret.png"), join(place.work, "link.png"));
	symlinkSync(join(place.dir, "private"), join(place.work, "pictures"));
	execFileSync("mkfifo", [join(place.work, "pipe.png")]);
});
afterEach(() => t?.end());
after(() => place.end());

async function chat(name, daemon = rt) {
	t = new Vterm({ env: place.env, cwd: place.work, cols: 100 }, CTL, "--socket", daemon.socket, "chat", "--no-workspace", "--model", name);
	await t.until(READY);
}
async function enter(text, seen) {
	t.type(`${text} `); // the blank closes the menu of files
	await t.until(new RegExp(`^› ${text.replace(/[^\w ]/g, ".")}`, "m"));
	t.key("Enter");
	return t.until(seen, { all: true });
}
const images = {
	"openai-chat": (b) => b.messages.flatMap((m) => Array.isArray(m.content) ? m.content : []).filter((p) => p.type === "image_url").map((p) => p.image_url.url),
	"openai-responses": (b) => b.input.flatMap((m) => Array.isArray(m.content) ? m.content : []).filter((p) => p.type === "input_image").map((p) => p.image_url),
	anthropic: (b) => b.messages.flatMap((m) => m.content).filter((p) => p.type === "image").map((p) => `data:${p.source.media_type};base64,${p.source.data}`),
	gemini: (b) => b.contents.flatMap((m) => m.parts).filter((p) => p.inlineData).map((p) => `data:${p.inlineData.mimeType};base64,${p.inlineData.data}`),
};
const url = (type, bytes) => `data:image/${type};base64,${bytes.toString("base64")}`;
const newest = () => model.log().at(-1).body;

for (const name of Object.keys(images))
	test(`@shot.png reaches the model as it is: ${name}`, async () => {
		await chat(name);
		await enter("look at @shot.png, please [[say I see]]", /^ {2}with shot\.png \(png, 1 KB\)$[^]*^I see$/m);
		assert.deepEqual(images[name](newest()), [url("png", PNG)]);
		assert.match(JSON.stringify(newest()), /look at @shot\.png, please/);
	});

test("a file that is dropped is named and sent, whatever its name; its type is what its bytes say", async () => {
	await chat("openai-chat");
	const path = join(place.work, "Screen Shot.JPG");
	for (const dropped of [`'${path}'`, path.replaceAll(" ", "\\ "), `file://${path.replaceAll(" ", "%20")}`, `\x1b[200~${path}\x1b[201~`]) {
		t.type(dropped);
		await t.until((seen) => seen.replaceAll(/\n */g, "").includes(`› @"${path}"`.replaceAll(/\n */g, "")) || seen.includes('Screen Shot.JPG"'));
		t.key("C-u");
		await t.until(/^›\s*$/m);
	}
	await enter('[[say both]] @"Screen Shot.JPG" (@shot.png)', /^ {2}with Screen Shot\.JPG \(jpeg, 3 KB\), shot\.png \(png, 1 KB\)$[^]*^both$/m);
	assert.deepEqual(images["openai-chat"](newest()), [url("jpeg", JPEG), url("png", PNG)]);
});

test("what is no image, too large, missing, a pipe or behind a link is not sent, and neither is the text", async () => {
	await chat("openai-chat");
	const before = model.log().length;
	for (const [name, why] of [["fake.png", "its content is none that models can see"], ["huge.png", "images of one turn can have 690 KB together"], ["none.png", "No such file or directory"],
		["pipe.png", "it is no file"], ["link.png", "its path has a symbolic link in it"], ["pictures/secret.png", "its path has a symbolic link in it"]])
		await enter(`see @${name}`, new RegExp(`the image '${name}' is not sent: ${why}`));
	assert.equal(model.log().length, before);
	await enter("write to me@shot.png and @notes.txt [[say only text]]", /^only text$/m);
	assert.deepEqual(images["openai-chat"](newest()), []);
});

test("where no model sees images the turn fails and says so; nothing is sent", async () => {
	const blind = await startAgentd({ config: { models: [{ name: "blind", provider: "openai-chat", base_url: model.url, model: "blind", capabilities: ["tools"] }] } });
	await chat("blind", blind);
	const before = model.log().length;
	await enter("what is on @shot.png", /vision/);
	assert.equal(model.log().length, before);
});

test("in lines of a pipe @ is text", async () => {
	const { code } = await place.ctl("--socket", rt.socket, "chat", "--no-workspace", "--model", "openai-chat", { input: "see @shot.png [[say piped]]\n", cwd: place.work });
	assert.equal(code, 0);
	assert.deepEqual(images["openai-chat"](newest()), []);
});
