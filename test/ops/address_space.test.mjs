// ci: release only (a sanitizer reserves more than any such limit)
// A limit on the address space (ulimit -v): one in which agentd cannot work is refused at the start, with how much it needs; with that much it works.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, follow, newFolder, request, submit, world } from '../lib/runtime.mjs';

/** A program that starts agentd with so many KiB. */
function limited(kib) {
	const program = join(newFolder(), 'agentd');
	writeFileSync(program, `#!/bin/sh\nulimit -v ${kib}\nexec ${join(bin, 'agentd')} "$@"\n`, { mode: 0o755 });
	return program;
}

test('too small an address space is refused with a sentence, and what the sentence says is enough', async () => {
	const { rt: refused, model } = await world({ program: limited(64 * 1024), mayDie: true });
	assert.equal((await refused.gone).code, 1);
	const [, kept, needed] = /the address space of the process \(ulimit -v, LimitAS=\) is limited to (\d+) MiB, and agentd needs at least (\d+) MiB/.exec(refused.stderr);
	assert.equal(Number(kept), 64);

	const { rt } = await world({ program: limited((Number(needed) + 4) * 1024), model });
	const made = await Promise.all(Array.from({ length: 20 }, (_, i) => submit(rt, `turn ${i}`)));
	for (const { sessionId, turnId } of made) {
		const follower = await follow(rt, sessionId);
		assert.equal((await follower.ended(turnId)).type, 'turn.completed');
		follower.stop();
	}
	assert.equal((await request(rt, { method: 'GET', path: '/ready' })).status, 200);
	assert.doesNotMatch(rt.stderr, /memory is short/);
	await rt.stop();
});
