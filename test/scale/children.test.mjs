// What a child agent costs does not grow with the children that a session has: CPU of the daemon, and facts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageOf } from '../job/laws.mjs';
import { ok, sleep, submit, world } from '../lib/runtime.mjs';

const EACH = 100, BETWEEN = 400;

test(`a child after ${BETWEEN} others costs at most twice and a half of what one of the first does, and each leaves as many facts`, async (context) => {
	const w = await world();
	const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]');
	let sequence = 0;

	/** How many children ended since the last look, page by page. */
	async function ends() {
		let count = 0;
		for (let page; !page || page.events.length;) {
			page = await ok(w.rt, 'read_events', { sessionId, fromSequence: sequence + 1, limit: 500 });
			count += page.events.filter(({ type }) => type === 'subagent.completed').length;
			sequence = page.events.at(-1)?.sequence ?? sequence;
		}
		return count;
	}
	async function children(count) {
		await ends();
		const before = { cpu: usageOf(w.rt).cpu, sequence };
		for (let i = 0; i < count; i++) await ok(w.rt, 'spawn_subagent', { sessionId, threadId, turnId, objective: 'hello' });
		for (let left = count - (await ends()); left > 0; left -= await ends()) await sleep(100);
		return { cpu: (usageOf(w.rt).cpu - before.cpu) / count, facts: (sequence - before.sequence) / count };
	}
	const first = await children(EACH);
	await children(BETWEEN - EACH);
	const last = await children(EACH);
	const said = `${(first.cpu * 1e3).toFixed(2)} ms of CPU and ${first.facts} facts for one of the first, ${(last.cpu * 1e3).toFixed(2)} ms and ${last.facts} facts after ${BETWEEN}`;
	context.diagnostic(said);
	assert.ok(last.cpu < first.cpu * 2.5, said);
	assert.ok(Math.abs(last.facts - first.facts) < 0.5 && last.facts < 30, said);
});
