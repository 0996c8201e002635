// agentctl in a terminal that is drawn by libvterm (test/tools/terminal.c): what a person sees, with the style of each column.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { bin, sleep } from "../ctl/place.mjs";

const KEYS = { Enter: "\r", Escape: "\x1b", Up: "\x1b[A", Down: "\x1b[B", Tab: "\t", "C-d": "\x04", "C-c": "\x03", "C-u": "\x15" };

export class Vterm {
	/** Milliseconds of `delay` that bytes take in either direction. */
	constructor({ env, cwd, cols = 80, rows = 24, delay = 0 }, ...words) {
		this.child = spawn(join(bin, "ar-terminal"), [cols, rows, delay, ...words].map(String),
			{ env: { ...env, TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", VTE_VERSION: "", TMUX: "", STY: "" }, cwd, stdio: ["pipe", "pipe", "inherit"] });
		this.child.stdin.on("error", () => {});
		this.answers = [];
		let text = "";
		this.child.stdout.setEncoding("utf8").on("data", (piece) => {
			text += piece;
			for (let end; (end = /^\.\n/m.exec(text)); text = text.slice(end.index + 2)) this.answers.shift()?.(text.slice(0, end.index));
		});
		this.gone = new Promise((done) => this.child.once("close", done));
	}
	command(line) { this.child.stdin.write(`${line}\n`); }
	ask(line) {
		const answer = new Promise((got) => this.answers.push(got));
		this.command(line);
		return answer;
	}
	type(text) { this.command(`type ${Buffer.from(text).toString("hex")}`); }
	key(...names) { for (const name of names) this.type(KEYS[name]); }
	resize(cols, rows) { this.command(`size ${cols} ${rows}`); }
	/** The rows in sight, or with those that scrolled off: { text, styles }. */
	async look(all = false) {
		const [text, styles] = (await this.ask(all ? "all" : "show")).split(/^--\n/m);
		return { text, styles };
	}
	async until(what, { all = false, ms = 30000 } = {}) {
		const end = Date.now() + ms;
		for (;;) {
			const { text } = await this.look(all);
			if (typeof what === "function" ? what(text) : what.test(text)) return text;
			assert.ok(Date.now() < end, `it did not come to ${what}; the terminal shows\n${text}`);
			await sleep(20);
		}
	}
	/** The same screen twice in a row: nothing is on its way. */
	async steady(all) {
		for (let before = ""; ;) {
			const seen = await this.look(all);
			if (JSON.stringify(seen) === before) return seen;
			before = JSON.stringify(seen);
			await sleep(120);
		}
	}
	end() {
		this.child.stdin.end();
		return this.gone;
	}
}
