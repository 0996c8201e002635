// agentctl in a terminal of a size of its own: tmux with a server that only this test knows. What is seen is what a person sees.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { sleep } from "../ctl/place.mjs";

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

export class Tmux {
	/** A shell that runs what run() gives it and then says "ended" with the exit. */
	constructor({ env, cwd, cols = 100, rows = 30 }) {
		this.name = `ar-${process.pid}-${randomBytes(4).toString("hex")}`;
		this.env = { ...env, TERM: "xterm-256color", ENV: "", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
		delete this.env.TMUX;
		this.tmux("-f", "/dev/null", "new-session", "-d", "-x", String(cols), "-y", String(rows), "-c", cwd, "sh");
		this.tmux("set-option", "-g", "history-limit", "20000");
		this.tmux("set-option", "-g", "default-terminal", "tmux-256color");
		this.tmux("set-option", "-g", "focus-events", "on");
	}
	tmux(...args) {
		return execFileSync("tmux", ["-L", this.name, ...args], { encoding: "utf8", env: this.env, maxBuffer: 1 << 26 });
	}
	type(text) { this.tmux("send-keys", "-l", "--", text); }
	/** Names of tmux: Enter, Escape, C-c, Up, BTab ... */
	key(...names) { this.tmux("send-keys", ...names); }
	run(...words) { this.type(`clear; ${words.map(quoted).join(" ")}; echo ended $?`); this.key("Enter"); }
	/** The exit of what was run. */
	async ended() { return Number(/^ended (\d+)$/m.exec(await this.until(/^ended \d+$/m))[1]); }
	paste(text, { bracketed = true } = {}) {
		execFileSync("tmux", ["-L", this.name, "load-buffer", "-"], { input: text, env: this.env });
		this.tmux("paste-buffer", "-d", ...(bracketed ? ["-p"] : []));
	}
	resize(cols, rows) { this.tmux("resize-window", "-x", String(cols), "-y", String(rows)); }
	/** The rows that are in sight. */
	screen() { return this.tmux("capture-pane", "-p").replace(/\n+$/, "\n"); }
	/** With all that scrolled off, rows that tmux broke joined. */
	all() { return this.tmux("capture-pane", "-p", "-J", "-S", "-", "-E", "-"); }
	/** Waits until what is in sight is so. */
	async until(what, { all = false, ms = 30000 } = {}) {
		const end = Date.now() + ms;
		for (;;) {
			const seen = all ? this.all() : this.screen();
			if (typeof what === "function" ? what(seen) : what.test(seen)) return seen;
			assert.ok(Date.now() < end, `it did not come to ${what}; the terminal shows\n${this.all()}`);
			await sleep(50);
		}
	}
	end() { spawnSync("tmux", ["-L", this.name, "kill-server"], { env: this.env }); }
}
