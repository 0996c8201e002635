// What tests of jobs share: inputs, facts, and what must hold in every log of a job.
import assert from 'node:assert/strict';
import { readLog } from '../lib/runtime.mjs';

export const lines = (...items) => items.join('\n');
export const factsOf = async (rt, sessionId) => (await readLog(rt, sessionId)).map((f) => f.event);
export const jobFacts = async (rt, sessionId) => (await factsOf(rt, sessionId)).filter((e) => e.type.startsWith('job.'));
const sum = (c) => c.pending + c.running + c.completed + c.failed + c.reported;

export const COUNTS = (pending, running, completed, failed, reported = 0) => ({ pending, running, completed, failed, reported });

/** What must hold in every log of a job: counts add up, one completed fact per item, one start before each end. */
export function checkLaws(facts, itemCount) {
	const open = new Map();
	const done = new Set();
	const fold = { running: 0, completed: 0, failed: 0, reported: 0 };
	for (const { type, jobItemId: item, payload } of facts) {
		if (type === 'job.item.started') {
			assert.equal(open.has(item), false, `${item} is not begun twice`);
			open.set(item, payload.attemptCount);
			if (payload.attemptCount > 1) fold.failed--;
			fold.running++;
		} else if (type === 'job.item.completed' || type === 'job.item.failed') {
			assert.equal(open.get(item), payload.attemptCount, item);
			open.delete(item);
			fold.running--;
			fold[type === 'job.item.failed' ? 'failed' : payload.status]++;
			if (type === 'job.item.completed') assert.equal(done.has(item), false, `${item} has one output`);
			if (type === 'job.item.completed') done.add(item);
		} else if (payload.counts) {
			assert.equal(sum(payload.counts), itemCount, `${type} adds up`);
			assert.deepEqual(payload.counts, { pending: itemCount - fold.running - fold.completed - fold.failed - fold.reported, ...fold }, `${type} is the fold of the facts`);
		}
	}
	return done;
}
