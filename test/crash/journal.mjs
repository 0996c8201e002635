// What clients were told, written down beside the store as they hear it, and the check of the store against it by check_store.py, which shares no code
// with the runtime. For stores in a file of SQLite.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checker = join(dirname(fileURLToPath(import.meta.url)), 'check_store.py');
const SHOWN = 10; // violations that a failure names

export class Journal {
	constructor(path) {
		Object.assign(this, { path, checks: 0, seen: new Map() });
		writeFileSync(path, '');
	}

	/** Before a turn is submitted, each time. */
	sent(turnId) {
		appendFileSync(this.path, `${JSON.stringify({ sent: turnId })}\n`);
	}

	/** The answer was that it is not taken. */
	refused(turnId) {
		appendFileSync(this.path, `${JSON.stringify({ refused: turnId })}\n`);
	}

	/** The text of a receipt, as it came. */
	receipt(text) {
		appendFileSync(this.path, `{"receipt":${text}}\n`);
	}

	/** What a follower was given since the last call. */
	facts(follower) {
		const from = this.seen.get(follower) ?? 0;
		appendFileSync(this.path, follower.facts.slice(from).map(({ data }) => `{"fact":${data}}\n`).join(''));
		this.seen.set(follower, follower.facts.length);
	}

	/** Holds the store of a process that is gone against all of it; what was counted. With `isFinal` all work was done. */
	check(dataDir, { isFinal = false } = {}) {
		const args = [checker, join(dataDir, 'data', 'agentd.db'), this.path, ...(isFinal ? ['--final'] : [])];
		const { violations, ...counts } = JSON.parse(execFileSync('python3', args, { encoding: 'utf8', maxBuffer: 1 << 28 }));
		assert.equal(violations.length, 0, `${violations.length} violations after ${this.checks} checks\n${violations.slice(0, SHOWN).join('\n')}`);
		this.checks++;
		return counts;
	}
}
