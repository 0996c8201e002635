// The attempts on files, again, where the kernel's audit is heard: what Landlock or a mount refused is on record with the kernel's own evidence and exact counts, and nothing else is.
// Audit knows processes by their numbers on the machine, so these run outside of isolate.mjs: only those that meet the two layers, none of which signals anybody.
// ci: alone
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALWAYS, attackedRuntime, attempts, BY_AUDIT, judge } from './evidence.mjs';
import { backends, isRoot } from './world.mjs';

const SIGNALLING = /race|signal|kill|limit|victim|priority/;

for (const profile of ['workspace_write', 'read_only', 'no_network', 'allowlisted_network']) {
	const names = attempts.filter((row) => /EROFS|EBUSY|EACCES/.test(row.expected[profile]) && !SIGNALLING.test(row.name)).map((row) => row.name);
	test(`SB-07 what the kernel itself says of ${names.length} attempts on ${profile}`, { skip: !isRoot && 'audit is root\'s' }, async (t) => {
		const where = await attackedRuntime(backends[0], profile, { 'sandbox.audit': true });
		const wrong = await judge(where, names, profile, [...BY_AUDIT, ...ALWAYS]);
		for (const sentence of wrong.slice(0, 9)) t.diagnostic(`rule ${sentence}`);
		assert.deepEqual(wrong, []);
		await where.rt.stop();
		await where.world.victim.end();
	});
}
