// ci: release only
// The disk below SQLite fails as disks do: its power is cut (AR_POWER_CUTS times), it is full, it turns read-only. Clients are at work all the time.
// After each fault the store is held against every answer, by a checker that shares no code with the runtime, and the log has a line for each outage.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleep, waitFor, within } from '../lib/runtime.mjs';
import { AtWork } from './at_work.mjs';
import { LoopDisk, whyNoDisk } from './loop_disk.mjs';
import { dice } from './world.mjs';

const CUTS = Number(process.env.AR_POWER_CUTS ?? 4);
const SEED = Number(process.env.AR_POWER_SEED ?? 1);

const skip = process.env.AR_TEST_POSTGRES ? 'the file is another program\'s' : (whyNoDisk() ?? false);
const roll = dice(SEED);

/** Clients at work on a daemon whose data is on a disk of its own; `torment` does something to it. */
async function onDisk(t, torment) {
	const [work, disk] = [new AtWork(), new LoopDisk(64 + CUTS)];
	disk.mount();
	try {
		await work.begin(SEED, { dataDir: disk.place });
		await torment(work, disk);
		t.diagnostic(await work.end());
	} finally {
		work.giveUp();
	}
	await disk.unmount();
}

test('OPEN-58 after a power cut that drops what was not synced every answer is true of the store', { skip }, (t) => onDisk(t, async (work, disk) => {
	let refusals = 0, ended = 0;
	for (let cut = 0; cut < CUTS; cut++) {
		await work.accept(3 + roll(10));
		await sleep(roll(100));
		disk.cutPower();
		await within(work.world.rt.gone, roll(2) ? 0 : roll(300)); // the machine is not gone at once: what is said meanwhile has to be true as well
		const end = await work.kill();
		refusals += end.refusals;
		ended += end.isEnded;
		await disk.unmount();
		disk.mount();
		await work.resume();
	}
	t.diagnostic(`seed ${SEED}, ${CUTS} cuts; ${refusals} turns were refused before the end, ${ended} times the process ended itself`);
}));

test('on a full disk every answer is true of the store, and work goes on when there is room', { skip }, (t) => onDisk(t, async (work, disk) => {
	await work.accept(10);
	const { rt } = work.world;
	disk.fill();
	await work.notice();
	disk.relieve();
	await waitFor(() => /the store is available again/.test(rt.stderr), 'the end of the outage');
	await work.accept(10);
	assert.equal(rt.stderr.match(/"the store is unavailable/g).length, 1, 'one line for one outage');

	disk.fill();
	await waitFor(() => rt.stderr.match(/"the store is unavailable/g).length === 2, 'a line for the second outage');
	await work.kill();
	disk.relieve();
	await disk.unmount();
	disk.mount();
	await work.resume();
}));

test('on a disk that turned read-only every answer is true of the store', { skip }, (t) => onDisk(t, async (work, disk) => {
	await work.accept(10);
	if (!disk.turnReadOnly()) return t.diagnostic('this kernel cannot be told to find an error');
	await work.notice();
	await work.kill();
	await disk.unmount();
	disk.repair();
	disk.mount();
	await work.resume();
}));
