// A wall clock that can be set while the process runs (test/tools/clock_offset.c does it inside the process). Monotonic clocks
// stay true, as they do when somebody sets the clock of a real machine. libfaketime was not taken: it opens a
// file at every look at the clock, and its semaphores outlive a process that is killed.
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { bin } from '../../lib/runtime.mjs';

export class Clock {
	constructor(path) {
		Object.assign(this, { path, offset: 0 });
		writeFileSync(path, Buffer.alloc(8), { mode: 0o644 });
	}

	/** The variables that make a program see this clock, and its monotonic clocks too. */
	get env() {
		return { LD_PRELOAD: join(bin, 'ar-clock-offset.so'), AR_CLOCK_OFFSET: this.path, AR_CLOCK_OFFSET_ALL: '1' };
	}

	/** The words before a command that make it see this clock. */
	before() {
		return ['env', `LD_PRELOAD=${join(bin, 'ar-clock-offset.so')}`, `AR_CLOCK_OFFSET=${this.path}`];
	}

	/** The clock shows the true time plus these seconds from now on. */
	step(seconds) {
		const bytes = Buffer.alloc(8);
		bytes.writeBigInt64LE(BigInt(seconds));
		const fd = openSync(this.path, 'r+');
		writeSync(fd, bytes, 0, 8, 0);
		closeSync(fd);
		this.offset = seconds;
	}
}
