// Every card as it looks at three sizes, with its styles, compared with test/term/screens/*.txt. The facts come from a daemon that says what it is told to.
//   AR_SCREENS=write node --test test/term/screens.test.mjs     writes the files anew; read them before they are committed
// ci: release only
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { frame, receipt, startFake, text as words } from "../ctl/fake.mjs";
import { bin, Place } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

const CTL = join(bin, "agentctl");
const folder = fileURLToPath(new URL("screens", import.meta.url));
const SIZES = [[40, 12], [80, 24], [120, 40]];
let place;

before(async () => {
	place = await Place.make({ withModel: false });
	mkdirSync(folder, { recursive: true });
});
after(() => place.end());

/** Facts in the order of a stream, with the content that they point to. */
class Story {
	constructor() {
		this.frames = [];
		this.stored = { docs: "The page on discounts says 10 % now.\nNothing else changed.\n" };
		this.sequence = 5;
		this.calls = 0;
		this.add("turn.started", {});
		this.add("routing.single_candidate", { selectedModel: "claude-sonnet" });
		this.add("context.resolved", { tokenEstimate: 18000, policyFacts: [{ fact: "contextWindow", tokens: 200000 }, { fact: "permissionMode", mode: "default" }] });
	}
	add(type, payload, more = {}) {
		this.frames.push(frame(++this.sequence, { type, sequence: this.sequence, payload, ...more }));
		return this;
	}
	say(text) {
		this.frames.push(words(++this.sequence, 0, text));
		return this;
	}
	begin(toolName, args, more = {}) {
		const id = `tool_x_${++this.calls}`;
		this.stored[`in_${this.calls}`] = JSON.stringify(args);
		return this.add("tool.started", { toolName, inputRef: `in_${this.calls}`, isReadOnly: false, ...more }, { toolCallId: id });
	}
	result(preview, more = {}) {
		this.stored[`out_${this.calls}`] = preview;
		return this.add("tool.result", { status: "ok", preview: preview.slice(0, 200), outputRef: `out_${this.calls}`, durationMs: 1234, ...more }, { toolCallId: `tool_x_${this.calls}` });
	}
	call(toolName, args, preview, more = {}) { return this.begin(toolName, args, more).result(preview); }
	read(toolName, args) { return this.call(toolName, args, "…", { isReadOnly: true }); }
	fail(sentence, more = {}) {
		this.stored[`err_${this.calls}`] = sentence;
		return this.add("tool.failed", { status: "failed", errorCategory: "not_found", retryable: false, recoveryAdvice: "look again", errorRef: `err_${this.calls}`, ...more }, { toolCallId: `tool_x_${this.calls}` });
	}
	ask(toolName, args, more = {}) {
		this.stored.in_asked = JSON.stringify(args);
		return this.add("action.required", { actionType: "permission", title: "t", prompt: "the question", decisions: ["allow", "allow_session", "deny"], toolName, scope: { inputRef: "in_asked" },
			policy: { reason: "mode default asks for it: the tool may change something", sandboxProfile: "workspace_write" }, ...more }, { actionId: "action_x_1" });
	}
	end() {
		return this.add("cost.recorded", { inputTokens: 12400, outputTokens: 612, cachedTokens: 9100, amount: 0.031, currency: "USD" })
			.add("turn.completed", { status: "completed", outcome: {}, durationMs: 41000 });
	}
}

const run = { sandboxProfile: "workspace_write" };
const numbers = (n) => Array.from({ length: n }, (_, i) => `line ${i + 1} of the output`).join("\n");
const agent = { subagentId: "sub_x_1" };
const spawned = { parentSessionId: "sess_x", parentThreadId: "thread_x", parentTurnId: "turn_x", childThreadId: "thread_y", role: "reviewer", nickname: "tests", isolation: {}, modelPolicy: {}, status: "queued" };
const child = { processId: "proc_x_1", toolCallId: "tool_x_1" };
const started = { safeCommand: "npm run dev -- --port 5173", parsedSubcommands: [], cwd: "/w", sandboxRef: null, tty: false, destructive: false, permissionRef: null, pathValidation: {}, networkDecision: "restricted", justification: "" };

/** What the screens show, and the mark of the last thing that comes; `then` presses keys after it. */
const CARDS = {
	answer: { story: () => new Story().say("## Result\n\nThe discount was **never** subtracted; `src/price.c` now takes 10 % off, see [the ticket](https://example.com/t/17).\n\n- one\n- two\n  - nested 日本語 👍\n\n| file | lines |\n|---|--:|\n| src/price.c | 3 |\n\n```c\nint total = 900; /* cents */\n```\n").end() },
	reads: { story: () => new Story().read("read_file", { path: "src/price.c" }).read("read_file", { path: "test/very/deep/folder/with/a/long/name/price_test.c" }).read("search_files", { pattern: "discount" })
		.read("find_files", { pattern: "*.c" }).read("list_files", { path: "." }).say("I have read them.").end() },
	command: { story: () => new Story().call("shell", { command: "make -C test price" }, "exit code 0, after 1.2 s\n\n1 test passed\n", run).end() },
	command_failed: { story: () => new Story().call("shell", { argv: ["make", "-C", "test", "price"] }, "exit code 2, after 3.1 s\n\nprice_test.c:41: expected 900, got 1000\n\tin \u001b[31mtest_discount\u001b[0m\nmake: *** [price] Error 1\n", run).end() },
	command_long: { story: () => new Story().call("shell", { command: "for i in $(seq 1 43); do echo \"line $i of the output, and a word\"; done\necho ready" }, `exit code 0, after 1.2 s\n\n${numbers(43)}\n`, run).end() },
	command_runs: { story: () => new Story().begin("shell", { command: "make -j8 all" }, run), last: /\$ make -j8 all {2}\d+ s/ },
	edit: { story: () => new Story().call("edit_file", { path: "src/price.c", oldText: "\tint total = sum(items);\n\treturn total;\n", newText: "\tint total = sum(items);\n\tif (has_discount(cart))\n\t\ttotal -= total / 10;\n\treturn total;\n" }, "Changed src/price.c at line 39 (1 place).")
		.call("write_file", { path: "docs/discount.md", content: "# Discount\n\nTen per cent, always.\n" }, "Wrote docs/discount.md.").call("apply_patch", { patch: "--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n" }, "Changed 1 file: x.c").end() },
	question: { story: () => new Story().ask("shell", { command: "git push origin fix-discount" }), last: /why am I asked/ },
	question_dangerous: { story: () => new Story().ask("shell", { command: "rm -rf build\nrm -rf ~/.cache", cwd: "." }, { destructive: true, impactScope: "files outside of version control" }), last: /why am I asked/ },
	question_edit: { story: () => new Story().ask("edit_file", { path: "src/price.c", oldText: "return total;", newText: "return total - discount;" }), last: /why am I asked/ },
	failure: { story: () => new Story().begin("read_file", { path: "src/prize.c" }, { isReadOnly: true }).fail("'src/prize.c' does not exist in the workspace. There is src/price.c.").begin("shell", { command: "git push" }, run)
		.fail("A person said no: use a branch of your own.", { status: "denied", errorCategory: "denied" })
		.add("turn.failed", { status: "failed", error: { category: "provider_unavailable", message: "the model server answers 503", recoveryAdvice: "try again in a minute" } }) },
	plan: { story: () => new Story().call("update_plan", { explanation: "First the cause.", plan: [{ step: "Find where the total is computed", status: "completed" }, { step: "Subtract the discount", status: "in_progress" }, { step: "Run all tests of the shop,\u001b[2J also \u202ethose that take long", status: "pending" }] }, "Plan updated.")
		.call("todo_write", { todos: [{ content: "Write a changelog entry", status: "pending", activeForm: "Writing" }, { content: "Drop the old flag", status: "cancelled" }] }, "{\"ok\":true,\"todos\":2}")
		.call("search_tickets", { query: { state: "open, limit: 9", labels: ["bug", "shop"] }, limit: 5 }, "{\"tickets\":[{\"id\":17,\"title\":\"Discount\"}],\"next\":null}").end() },
	subagent: { story: () => new Story().begin("spawn_agent", { objective: "Review the change in src/price.c and run the tests of the shop.", nickname: "tests", background: true }, { isReadOnly: true })
		.add("subagent.spawned", spawned, agent).result("[sub_x_1] is running").add("subagent.status", { status: "running", reason: "started", lastMessageRef: null }, agent)
		.add("subagent.spawned", { ...spawned, nickname: "docs\u001b[31m", role: "writer" }, { subagentId: "sub_x_2" }).add("subagent.completed", { resultRef: "docs", lastMessageRef: "docs", usage: { inputTokens: 900, outputTokens: 80 } }, { subagentId: "sub_x_2" }), last: /completed/ },
	background: { story: () => new Story().begin("shell", { command: "npm run dev -- --port 5173", background: true }, run).add("process.started", started, child)
		.result("proc_x_1 runs; bytes 0 to 24 of its output:\n\nready on localhost:5173\n").say("The server runs.").end() },
	background_ended: { story: () => new Story().begin("shell", { command: "npm run dev -- --port 5173", background: true }, run).add("process.started", started, child)
		.result("It runs in the background as proc_x_1. Read what it writes with process_read, stop it with process_stop.").end().add("process.completed", { exitCode: 1, durationMs: 61000, status: "exited", outputRefs: [] }, child), last: /exit 1/ },
	queue: { story: () => new Story().say("I begin.\n\n"), then: async (t) => {
		t.type("also update the README");
		t.key("Enter");
		await t.until(/waits: also update/);
		t.type("and the changelog, with a sentence that is longer than the window is wide when it has forty columns");
		t.key("Enter");
		await t.until(/waits: and the/);
	} },
	compaction_runs: { story: () => new Story().add("context.compaction.started", { trigger: "automatic", affectedTurnIds: [], tokensBefore: 181000 }), last: /Summarising/ },
	plan_runs: { story: () => new Story().call("update_plan", { plan: [{ step: "Find the cause", status: "completed" }, { step: "Subtract the discount", status: "in_progress" }] }, "ok").begin("shell", { command: "make" }, run), last: /\$ make {2}/ },
	compaction: { story: () => new Story().add("context.compaction.started", { trigger: "automatic", affectedTurnIds: [], tokensBefore: 181000 })
		.add("context.compaction.completed", { trigger: "automatic", affectedTurnIds: [], summaryRef: "s", summaryPreview: "They want a discount of 10 %.\nThe test is in test/price_test.c.", tokensBefore: 181000, tokensAfter: 9200, preserved: {} })
		.add("context.resolved", { tokenEstimate: 9200, policyFacts: [{ fact: "contextWindow", tokens: 200000 }, { fact: "permissionMode", mode: "default" }] }).say("On we go.").end() },
};

/** Times are what is left out: they are the machine's. */
const still = (text) => text.replace(/(?<= \(| {2})\d+ s(?= · Esc|$)/gm, "N s").replace(/\(\d\d:\d\d\)/g, "(HH:MM)");

async function draw({ story, last = /^12400 in|the turn failed|I begin\./m, then }, [cols, rows], name) {
	const told = story();
	const socket = join(place.dir, `${name}-${cols}.sock`);
	const output = ({ outputRef }) => ({ json: { content: told.stored[outputRef] ?? "", encoding: "utf-8", totalBytes: 1, offset: 0 } });
	let turns = 0;
	const submit = () => ({ status: 202, json: { ...receipt["/v1/submit_turn"].json, ...(turns++ ? { turnId: `turn_x_${turns}`, status: "queued", position: turns - 1 } : {}) } });
	const fake = await startFake(socket, { streams: [(res) => res.write(told.frames.join(""))], replies: { "/v1/submit_turn": submit, "/v1/read_output": output } });
	const t = new Vterm({ env: place.env, cwd: place.work, cols, rows }, CTL, "--socket", socket, "chat", "--no-workspace");
	try {
		await t.until(/^›[^]*·/m);
		t.type("go");
		t.key("Enter");
		await t.until((seen) => last.test(seen) && /^›\s*$/m.test(seen), { all: true });
		await then?.(t);
		const { text, styles } = await t.steady(true);
		return `${cols}x${rows}\n${"=".repeat(cols)}\n${still(text).trimEnd()}\n${"-".repeat(cols)}\n${styles.trimEnd()}\n`;
	} finally {
		await t.end();
		await fake.close();
	}
}

for (const [name, card] of Object.entries(CARDS)) {
	test(`the screens of ${name}`, async () => {
		const drawn = (await Promise.all(SIZES.map((size) => draw(card, size, name)))).join("\n");
		const file = join(folder, `${name}.txt`);
		if (process.env.AR_SCREENS === "write") writeFileSync(file, drawn);
		assert.equal(drawn, readFileSync(file, "utf8"), `${file} differs`);
	});
}
