// `agentctl inbox` and `agentctl top` used by keys: the pages at three sizes, what each key asks the daemon for, and both at a real daemon in tmux.
//   AR_SCREENS=write node --test test/term/lists.test.mjs     writes the screens anew; read them before they are committed
// ci: release only
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, afterEach, before, test } from "node:test";
import { startFake } from "../ctl/fake.mjs";
import { bin, Place, sleep } from "../ctl/place.mjs";
import { Tmux } from "./tmux.mjs";
import { Vterm } from "./vterm.mjs";

const CTL = join(bin, "agentctl");
const folder = fileURLToPath(new URL("screens/lists", import.meta.url));
const SIZES = [[40, 12], [80, 24], [120, 40]];
const core = "01m0fd2e7wp4z9k3s5b8t6v1cx";
const session = `sess_${core}`;
const id = (n) => `action_${core}_${n}`;
const from = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

const push = () => ({ actionId: id(1), sessionId: session, sessionTitle: "Discount test", actionType: "tool_permission", status: "pending", toolName: "shell", destructive: true,
	title: "This cannot be undone. It is asked because it looks like publish_deploy (git push). May the tool 'shell' run with {\"command\":\"git push origin fix-discount\"}?",
	decisions: ["allow", "allow_session", "deny"], createdAt: from(-190), expiresAt: from(28.9 * 60), approvals: { needed: 2, given: 1, by: [{ person: "person:bob" }] } });
const write = (n = 2) => ({ actionId: id(n), sessionId: session, sessionTitle: "tidy\u001b[31m up\u202e", actionType: "tool_permission", status: "pending", toolName: "write_file", destructive: false,
	title: `May the tool 'write_file' run with {"path":"${n}\u001b[2J.txt"}?\nIt writes.`, decisions: ["allow", "allow_session", "deny"], createdAt: from(-190), expiresAt: from(3.5 * 3600) });
const form = () => ({ actionId: id(3), sessionId: session, actionType: "structured_input", status: "pending", title: "Which environment?", destructive: false, decisions: ["accept", "decline", "cancel"], createdAt: from(-190) });
const unsure = () => ({ actionId: id(4), sessionId: session, sessionTitle: "Nightly triage", actionType: "completion_override", status: "pending", title: "Did the call happen?", destructive: false,
	decisions: ["retry", "skip", "mark_done"], createdAt: from(-190) });
const WHOLE = `May the tool 'shell' run with ${"x".repeat(2990)}; rm -rf old?`;
const long = () => ({ ...push(), actionId: id(5), title: `May the tool 'shell' run with ${"x".repeat(60)}[... 2,900 bytes not shown ...]x; rm -rf old?`, isTruncated: true, promptRef: "whole" });

let place, real;
const open = new Set();
before(async () => { place = await Place.make({ withModel: false }); });
afterEach(async () => {
	for (const one of open) await one();
	open.clear();
});
after(async () => {
	await place.end();
	await real?.end();
});

/** A daemon that lists what `actions` holds at that moment. */
async function serve({ actions = [], sessions = [], answer } = {}) {
	const state = { actions };
	const socket = join(place.dir, `${Math.random().toString(36).slice(2)}.sock`);
	const metrics = "agentd_turns_running 1\nagentd_turns_queued 3\nagentd_actions_pending 2\nprocess_resident_memory_bytes 61000000\n";
	const fake = await startFake(socket, { replies: {
		"/metrics": { text: metrics },
		"/v1/list_actions": () => ({ json: { actions: state.actions } }),
		"/v1/list_sessions": ({ status }) => ({ json: { sessions: status ? [] : sessions } }),
		"/v1/read_output": { json: { content: WHOLE, encoding: "utf-8", sizeBytes: WHOLE.length, offset: 0 } },
		"/v1/explain": { json: { id: id(1), kind: "action", summary: "rule look-first asks", reasons: [{ sequence: 17, type: "permission.evaluated", text: "nothing allows it\u001b[2J" }] } },
		"/v1/interrupt_turn": { json: { result: "accepted", affected: {} } },
		"/v1/respond_action": answer ?? (({ actionId, decision }) => {
			state.actions = state.actions.filter((a) => a.actionId !== actionId);
			return { json: { actionId, decision, decisionSource: "human" } };
		}),
	} });
	open.add(() => fake.close());
	const asked = (path) => fake.asked.filter((a) => a.path === path).map((a) => JSON.parse(a.body));
	return { state, socket, answers: () => asked("/v1/respond_action").map(({ actor, ...rest }) => rest), asked };
}
function show(daemon, words, [cols, rows] = [80, 24]) {
	const t = new Vterm({ env: place.env, cwd: place.work, cols, rows }, CTL, "--socket", daemon.socket, ...words);
	open.add(() => t.end());
	return t;
}
/** A key for a question that is seen: it is none within half a second after the question appeared. */
async function press(t, key, effect) {
	await sleep(600);
	t.type(key);
	return t.until(effect);
}

/* ---- the pages ---- */

const row = (n, more) => ({ sessionId: `sess_01m0fd2e7wp4z9k3s5b8t6v1${n}`, status: "idle", turns: 3, tokens: 12400, updatedAt: from(-125), ...more });
const ROWS = () => [row("aa", { title: "Discount test", cost: 0.07, currency: "USD" }), row("bb", { title: "Port parser\u001b[2J", status: "running", turns: 12, tokens: 210000, queuedTurns: 2 }), row("cx", { title: "Nightly triage", status: "blocked" })];
const PAGES = {
	inbox: { actions: () => [push(), write(), form(), unsure()], words: ["inbox"], seen: /4 questions wait/ },
	inbox_decisions: { actions: () => [write(), unsure()], words: ["inbox"], seen: /2 questions wait/, then: (t) => press(t, "j", /^› {2}2 /m) },
	inbox_long: { actions: () => [long()], words: ["inbox"], seen: /1 question waits/ },
	inbox_empty: { actions: () => [], words: ["inbox"], seen: /nothing waits/ },
	inbox_reason: { actions: () => [push()], words: ["inbox"], seen: /1 question waits/, then: async (t) => {
		await press(t, "r", /why not:/);
		t.type("use the staging remote, this one is for releases only");
		await t.until(/releases only|this one is/);
	} },
	top: { actions: () => [{ ...push(), sessionId: row("cx").sessionId }], words: ["top"], seen: /Nightly/ },
	top_interrupt: { actions: () => [], words: ["top"], seen: /Port parser/, then: (t) => press(t, "i", /Stop what runs/) },
};

for (const [name, page] of Object.entries(PAGES)) {
	test(`the page of ${name}`, async () => {
		const drawn = await Promise.all(SIZES.map(async ([cols, rows]) => {
			const t = show(await serve({ actions: page.actions(), sessions: ROWS() }), page.words, [cols, rows]);
			await t.until(page.seen);
			await page.then?.(t);
			const { text, styles } = await t.steady();
			return `${cols}x${rows}\n${"=".repeat(cols)}\n${text.trimEnd()}\n${"-".repeat(cols)}\n${styles.trimEnd()}\n`;
		}));
		const file = join(folder, `${name}.txt`);
		if (process.env.AR_SCREENS === "write") writeFileSync(file, drawn.join("\n"));
		assert.equal(drawn.join("\n"), readFileSync(file, "utf8"), `${file} differs`);
	});
}

/* ---- keys ---- */

test("a question that has only just appeared is not answered; j, k and the arrows choose, and a new one does not take the place of the chosen one", async () => {
	const daemon = await serve({ actions: [write(1), write(2)] });
	const t = show(daemon, ["inbox"]);
	await t.until(/^› {2}1 /m);
	t.type("\x1b[By"); // at once: the second question is chosen and was not read
	await t.until(/^› {2}2 [^]*has only just appeared; press the key again/m);
	t.type("k");
	await t.until(/^› {2}1 /m);
	t.type("j");
	await t.until(/^› {2}2 /m);
	daemon.state.actions = [write(7), write(1), write(8), write(2)];
	await t.until(/4 questions[^]*^› {2}4 /m);
	t.type("\x1b[200~y\x1b[201~"); // a paste is no answer, nor is a word
	t.type("yes");
	await sleep(600);
	assert.deepEqual(daemon.answers(), []);
	await press(t, "y", /answered: allow/);
	assert.deepEqual(daemon.answers(), [{ actionId: id(2), decision: "allow" }]);
	await t.until(/3 questions[^]*^› {2}3 /m);
});

test("n, r and the numbers answer; a form has no yes; what is refused is told in the daemon's words", async () => {
	const daemon = await serve({ actions: [write(2), push(), unsure(), form()] });
	const t = show(daemon, ["inbox", "--session", session]);
	await t.until(/4 questions/);
	await press(t, "n", /answered: deny/);
	await t.until(/3 questions/);
	await press(t, "r", /why not:/);
	t.key("Escape");
	await t.until((seen) => !/why not:/.test(seen));
	await press(t, "r", /why not:/);
	t.key("Enter"); // nothing is no reason
	t.type("use \"staging\"");
	await t.until(/^› use "staging"$/m);
	t.key("Enter");
	await t.until(/2 questions wait/);
	await t.until(/Did the call happen/);
	await press(t, "3", /answered: mark_done/);
	await t.until(/1 question/);
	await press(t, "y", /has no such answer; o opens its session/);
	assert.deepEqual(daemon.answers(), [{ actionId: id(2), decision: "deny" }, { actionId: id(1), decision: "deny", payload: { reason: "use \"staging\"" } }, { actionId: id(4), decision: "mark_done" }]);
	assert.equal(daemon.asked("/v1/list_actions")[0].sessionId, session);

	const late = await serve({ actions: [push()], answer: { status: 409, json: { error: { code: "already_resolved", message: "it was settled as 'deny' (human, by bob)", next: "Nothing is left." } } } });
	const other = show(late, ["inbox"]);
	await other.until(/1 question/);
	await press(other, "y", /settled as 'deny' \(human, by bob\) next: Nothing is left\./);
});

test("a question that is not all on the page is shown whole before a yes, and a no needs none of it", async () => {
	const small = { ...push(), title: `Run this? ${"a line\n".repeat(12)}rm -rf old` };
	for (const [action, page, digest] of [[long(), [80, 24], createHash("sha256").update(`${id(5)}\n${WHOLE}`).digest("hex")], [small, [60, 12], undefined]]) {
		const daemon = await serve({ actions: [action] });
		const t = show(daemon, ["inbox"], page);
		await t.until(/1 question/);
		for (const [word, outcome] of [["n", /nothing was answered; the question still waits/], ["y", /answered: allow/]]) {
			await sleep(600);
			t.type("y");
			for (let seen = ""; !/Approve it/.test(seen);) {
				if (seen) t.key("Enter");
				const before = seen;
				seen = await t.until((now) => now !== before && /(Enter shows them --|y\/N)\s*$/.test(now));
			}
			assert.match((await t.look()).text, /rm -rf old/);
			assert.deepEqual(daemon.answers(), []);
			t.type(`${word}\r`);
			await t.until(outcome);
		}
		assert.deepEqual(daemon.answers(), [{ actionId: action.actionId, decision: "allow", ...(digest ? { promptDigest: digest } : {}) }]);
	}
	const daemon = await serve({ actions: [long()] });
	const t = show(daemon, ["inbox"]);
	await t.until(/1 question/);
	await press(t, "n", /answered: deny/);
	assert.deepEqual(daemon.answers(), [{ actionId: id(5), decision: "deny" }]);
});

test("e explains and v shows all of it, and neither answers", async () => {
	const daemon = await serve({ actions: [long()] });
	const t = show(daemon, ["inbox"]);
	await t.until(/1 question/);
	t.type("e");
	await t.until(/rule look-first asks[^]*17 {2}permission\.evaluated +nothing allows it\\u\{1B\}\[2J[^]*Enter comes back/);
	t.key("Enter");
	await t.until(/1 question/);
	t.type("v");
	await t.until(/Enter shows them/);
	t.key("Enter");
	await t.until(/; rm -rf old\?[^]*Enter comes back/);
	t.key("Enter");
	await t.until(/1 question/);
	assert.deepEqual(daemon.answers(), []);
});

test("at a real daemon: top chooses, opens, answers and interrupts; inbox answers; whatever ends them, the terminal is as before", async () => {
	real = await Place.make({ env: { USER: "ada" } });
	const tools = [{ name: "set_value", description: "Sets something.", inputSchema: { type: "object" } }];
	assert.equal((await real.ctl("run", "starts the daemon [[say up]]")).code, 0);
	const submit = (text, title) => real.json("call", "submit_turn", JSON.stringify({ text, createPolicy: { title }, options: { tools } }));
	const status = async ({ sessionId }) => (await real.json("call", "get_session", JSON.stringify({ sessionId }))).status;
	await submit('[[tool set_value {"q":"1"}]]', "asks first");
	const hangs = await submit("[[hang]]", "hangs on");
	const t = new Tmux({ env: real.env, cwd: real.work });
	open.add(() => t.end());
	const alternate = () => t.tmux("display-message", "-p", "#{alternate_on}").trim();
	t.run(CTL, "top", "--interval", "0.3");
	await t.until(/^› \S+ asks .*asks first$[^]*^ {2}\S+ running .*hangs on$[^]*^ {2}\S+ idle .*starts the daemon/m);
	assert.equal(alternate(), "1");
	t.key("Down");
	await t.until(/^› \S+ running .*hangs on$/m);
	t.type("i");
	await t.until(/^Stop what runs in hangs on\? y stops it, any other key does not$/m);
	t.type("n");
	await t.until((seen) => !/Stop what runs/.test(seen));
	assert.equal(await status(hangs), "running");
	t.type("i");
	await t.until(/^Stop what runs in hangs on/m);
	t.type("y");
	await t.until(/^› \S+ (idle|failed|cancelled) .*hangs on$/m);
	assert.notEqual(await status(hangs), "running");
	t.type("k");
	await t.until(/^› \S+ asks .*asks first$/m);
	t.type("a");
	await t.until(/1 question waits for you/);
	t.type("q");
	await t.until(/^› \S+ asks .*asks first$/m);
	t.key("Enter");
	await t.until(/why am I asked[^]*\/keys$/m);
	t.key("C-d");
	await t.until(/^› \S+ asks .*asks first$[^]*sorted by activity/m);
	t.type("q");
	assert.equal(await t.ended(), 0);
	assert.equal(alternate(), "0");

	t.run(CTL, "inbox");
	await t.until(/1 question waits for you[^]*asks first · set_value/);
	t.key("C-z");
	await t.until((seen) => /Stopped/i.test(seen) && alternate() === "0");
	t.type("fg");
	t.key("Enter");
	await t.until(/1 question waits for you/);
	await sleep(600); // longer than a key is no answer
	t.type("y");
	await t.until(/nothing waits for an answer/);
	const { actions } = await real.json("inbox", "--all");
	assert.deepEqual(actions.map((a) => [a.decision, a.resolvedBy?.name]), [["allow", "ada"]]);
	for (const signal of ["KILL", "TERM", "INT"]) {
		const [pid] = t.tmux("list-panes", "-F", "#{pane_pid}").trim().split("\n");
		t.tmux("run-shell", `kill -${signal} $(pgrep -P ${pid} agentctl)`);
		await t.until((seen) => /^ended \d+/m.test(seen) && alternate() === "0");
		t.run("stty", "-a");
		await t.until(/ icanon [^]* echo [^]*^ended 0$/m);
		t.run(CTL, "inbox");
		await t.until(/nothing waits for an answer/);
	}
	t.key("C-c");
	assert.equal(await t.ended(), 0);
});

test("without a terminal, with --plain and with --all inbox prints its list", async () => {
	const daemon = await serve({ actions: [write(2)] });
	const { code, out } = await place.ctl("--socket", daemon.socket, "inbox");
	assert.deepEqual([code, out.split("\n").length], [0, 3]);
	for (const word of ["--plain", "--all"]) {
		await show(daemon, ["inbox", word], [120, 24]).until(/^ACTION +ASKED +STATE[^]*^action_\S+_2 /m);
	}
});
