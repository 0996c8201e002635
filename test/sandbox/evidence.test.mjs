// Every attempt through a real agentd, under every profile, by root and by anybody: it ends as its row says, what the filter, limits and the look at the end prove is on record with its
// class and its exact count, nothing else is, and of what is not on record it is known why.
// ci: alone
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import './isolate.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALWAYS, attackedRuntime, attempts, judge } from './evidence.mjs';
import { backends } from './world.mjs';

const PROFILES = ['workspace_write', 'read_only', 'no_network', 'allowlisted_network', 'danger_full_access'];

for (const backend of backends) {
	for (const profile of PROFILES) {
		const names = attempts.filter((row) => row.expected[profile] !== '-').map((row) => row.name);
		test(`SB-07 ${backend.name}: what is on record of ${names.length} attempts on ${profile}`, async (t) => {
			const where = await attackedRuntime(backend, profile);
			const wrong = await judge(where, names, profile, ALWAYS);
			for (const sentence of wrong.slice(0, 9)) t.diagnostic(`rule ${sentence}`);
			assert.deepEqual(wrong, []);
			await where.rt.stop();
			await where.world.victim.end();
		});
	}
}
