// Clients at work on a daemon whose disk fails: what they are told goes into a journal, and after each fault the store is held against it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { newFolder, startModel, waitFor, within } from '../lib/runtime.mjs';
import { Journal } from './journal.mjs';
import { Actor, World } from './world.mjs';

const SESSIONS = 8;
export const OUTAGE = /"the store is unavailable/;
const SETTLE_MS = 120000;
const CONFIG = { 'recovery.max_restarts': 10000, 'model.max_attempts': 50, 'model.backoff_ms': 5, 'session.snapshot_every': 25 };

export class AtWork {
	/** `options` are those of startAgentd(). */
	async begin(seed, options) {
		this.world = new World({ model: await startModel(), config: CONFIG, ...options }, new Journal(join(newFolder(), 'journal.ndjson')));
		this.actors = Array.from({ length: SESSIONS }, (_, n) => new Actor(this.world, n, seed));
		await this.world.start();
		for (const actor of this.actors) actor.life = actor.live();
		await waitFor(() => this.actors.every((a) => a.follower), 'every client to be at work');
	}

	get turns() {
		return this.actors.reduce((n, actor) => n + actor.acks.size, 0);
	}

	/** Lets the clients work until so many more turns were accepted. */
	async accept(turns) {
		const goal = this.turns + turns;
		await waitFor(() => this.turns >= goal, () => `${goal} turns, ${this.turns} were accepted`);
	}

	/** Until the disk's failure is known: the process ends, or its log tells of an outage. A client whose turns are all open waits for their ends and is
	 * refused nothing; the others have some time to be told. */
	async notice() {
		const { rt } = this.world;
		await waitFor(() => rt.isGone || OUTAGE.test(rt.stderr), 'an outage');
		await within(waitFor(() => rt.isGone || rt.refusals >= 5, 'refusals').catch(() => {}), 2000);
	}

	/** kill -9, if it has not ended itself. Of every outage that a client was told of there has to be a line in the log. */
	async kill() {
		const { rt } = this.world;
		if (!rt.isGone) await rt.end('SIGKILL', 10000);
		const { code } = await rt.gone;
		if (code !== null) assert.match(rt.stderr, /the disk failed in the middle of a commit/, `it ended by itself (${code})`);
		if (rt.refusals) assert.match(rt.stderr, /the store is unavailable|the disk failed in the middle of a commit/, `${rt.refusals} were refused without a line`);
		return { refusals: rt.refusals ?? 0, isEnded: code !== null };
	}

	check(isFinal) {
		for (const { follower } of this.actors) this.world.journal.facts(follower);
		return this.world.journal.check(this.world.options.dataDir, { isFinal });
	}

	/** The store is checked as the process left it, and all go on. */
	async resume() {
		this.check();
		await this.world.start();
	}

	/** All work is done and held against the store; what was counted. */
	async end() {
		this.world.isOver = true;
		await Promise.all(this.actors.map((actor) => actor.life));
		await waitFor(() => this.actors.every((actor) => actor.openTurns() === 0), 'the end of every turn', SETTLE_MS);
		for (const { follower, problems } of this.actors) {
			follower.stop();
			follower.check();
			assert.deepEqual(problems, []);
		}
		await this.world.rt.stop();
		const counts = this.check(true);
		return Object.entries(counts).map(([what, n]) => `${n} ${what}`).join(', ');
	}

	/** After a failure: nobody waits for a daemon that no one starts any more. */
	giveUp() {
		this.world.isBroken = this.world.isOver = true;
		for (const actor of this.actors) actor.life?.catch(() => {});
	}
}
