// A place to run agentctl in: a data folder of its own, a scripted model, and a way to call the program and see what it
// printed when. end() stops every daemon that was started there, whatever the test did.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitFor } from "../lib/runtime.mjs";
import { start as startModel } from "../model/scripted.mjs";
import { isAlive } from "../process/shim.mjs";

export const bin = process.env.AR_BIN ?? fileURLToPath(new URL("../../build/release/bin", import.meta.url));
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// What a user of this machine has set must not reach the tests.
const OURS = /^(AGENTD_|AGENTCTL_|OPENAI_|ANTHROPIC_|GEMINI_|XDG_STATE_HOME$|XDG_CONFIG_HOME$|NO_COLOR$|http_proxy$|HTTP_PROXY$)/;
const cleanEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.test(name)));

/** A program on its way: out and err grow, done resolves to the exit. */
export class Running {
	constructor(program, args, { env, input = "", cwd } = {}) {
		this.out = this.err = "";
		this.wakers = new Set();
		this.child = spawn(program, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
		this.child.stdin.on("error", () => {});
		if (input !== null) this.child.stdin.end(input);
		for (const name of ["stdout", "stderr"]) this.child[name].setEncoding("utf8");
		this.child.stdout.on("data", (text) => { this.out += text; this.wake(); });
		this.child.stderr.on("data", (text) => { this.err += text; this.wake(); });
		this.done = new Promise((finish, fail) => {
			this.child.on("error", fail);
			this.child.on("close", (code, signal) => {
				this.ended = true;
				this.wake();
				finish({ code, signal, out: this.out, err: this.err });
			});
		});
	}
	wake() { for (const waker of this.wakers) waker(); }
	/** Waits until the condition holds, or fails with what was printed. */
	async until(condition, ms = 60000) {
		const end = Date.now() + ms;
		while (!condition(this)) {
			const left = end - Date.now();
			assert.ok(left > 0 && !this.ended, `it did not come to that; stdout ${JSON.stringify(this.out)}, stderr ${this.err}`);
			await new Promise((go) => {
				const waker = () => { clearTimeout(timer); this.wakers.delete(waker); go(); };
				const timer = setTimeout(waker, left);
				this.wakers.add(waker);
			});
		}
		return this;
	}
	/** The exit, or a failure with what was printed until then. */
	async within(ms = 120000) {
		let timer;
		const late = new Promise((_, fail) => { timer = setTimeout(() => { this.child.kill("SIGKILL"); fail(new Error(`not ended within ${ms} ms; stdout ${JSON.stringify(this.out)}, stderr ${this.err}`)); }, ms); });
		return Promise.race([this.done, late]).finally(() => clearTimeout(timer));
	}
	signal(name) { this.child.kill(name); }
	/** Types, where the input was left open with null. */
	type(text) { this.child.stdin.write(text); }
}

export class Place {
	running = [];
	static async make({ withModel = true, env = {} } = {}) {
		const place = new Place();
		place.dir = mkdtempSync(join(tmpdir(), "arctl-"));
		place.data = join(place.dir, "state");
		place.cwd = place.dir; // holds the data, so it cannot be a workspace
		place.work = join(place.dir, "project"); // and this one can
		mkdirSync(place.work);
		if (process.getuid() === 0) chownSync(place.work, 1000, 1000);
		place.model = withModel ? await startModel(0) : undefined;
		place.env = { ...cleanEnv, HOME: place.dir, AGENTD_DATA_DIR: place.data, AGENTD_SHUTDOWN_GRACE_MS: "0", ...env };
		if (place.model) place.env.OPENAI_BASE_URL = `http://127.0.0.1:${place.model.port}/v1`;
		return place;
	}
	start(...args) {
		const last = typeof args.at(-1) === "object" ? args.pop() : {};
		return this.launch(join(bin, "agentctl"), args, { cwd: this.cwd, ...last, env: { AGENTD_PERMISSION_MODE: "default", ...this.env, ...last.env } }); // test/term/boundary has the mode of daemons that agentctl starts
	}
	/** A program that end() ends, if a test that failed has left it running: it would keep the file from its end. */
	launch(...args) {
		const run = new Running(...args);
		this.running.push(run);
		return run;
	}
	/** Runs to the end: { code, out, err }. */
	ctl(...args) { return this.start(...args).within(); }
	/** Runs, expects exit 0, and reads the output as JSON. */
	async json(...args) {
		const { code, out, err } = await this.ctl(...args, "--json");
		assert.equal(code, 0, err);
		return JSON.parse(out);
	}
	get pid() {
		const file = join(this.data, "agentd.pid");
		return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
	}
	/** kill -9 of the daemon; its lock on the folder is free then. */
	async kill() {
		const { pid } = this;
		process.kill(pid, "SIGKILL");
		await waitFor(() => !isAlive(pid), `the end of ${pid}`);
	}
	async end() {
		for (const run of this.running) if (!run.ended) run.signal("SIGKILL");
		for (const file of readdirSync(this.dir, { recursive: true }).filter((name) => name.endsWith("agentd.pid")))
			await this.ctl("--data-dir", dirname(join(this.dir, file)), "stop");
		await this.model?.close();
		rmSync(this.dir, { recursive: true, force: true });
	}
}

export const lines = (text) => text.split("\n").filter(Boolean);
