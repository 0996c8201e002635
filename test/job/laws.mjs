// What tests of jobs share: inputs, facts, and what must hold in every log of a job.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { follow, ok, readLog, sleep } from '../lib/runtime.mjs';

export const lines = (...items) => items.join('\n');
export const factsOf = async (rt, sessionId) => (await readLog(rt, sessionId)).map((f) => f.event);
export const jobFacts = async (rt, sessionId) => (await factsOf(rt, sessionId)).filter((e) => e.type.startsWith('job.'));
const sum = (c) => c.pending + c.running + c.completed + c.failed + c.reported;

export const COUNTS = (pending, running, completed, failed, reported = 0) => ({ pending, running, completed, failed, reported });

/** What must hold in every log of a job: counts add up, one completed fact per item, one start before each end. Facts may come in parts. */
export class JobLaws {
	open = new Map();
	done = new Set();
	fold = { running: 0, completed: 0, failed: 0, reported: 0 };

	constructor(itemCount) {
		this.itemCount = itemCount;
	}

	see(facts) {
		for (const fact of facts) this.one(fact);
		return this;
	}

	one({ type, jobItemId: item, payload }) {
		const { open, done, fold, itemCount } = this;
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
}

/** The whole log at once; returns the items that completed. */
export const checkLaws = (facts, itemCount) => new JobLaws(itemCount).see(facts).done;

/** The same for a log that is too long to be held; the laws that saw it. `see` is given each fact of the job. */
export async function readLaws(rt, sessionId, itemCount, see = () => {}) {
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId, limit: 1 });
	const follower = await follow(rt, sessionId);
	const laws = new JobLaws(itemCount);
	for (let last = -1; follower.last < asOfSequence || follower.facts.length > 0; await sleep(20)) {
		const facts = follower.facts.splice(0).map((f) => f.event).filter((e) => e.type.startsWith('job.'));
		laws.see(facts);
		facts.forEach(see);
		if (!follower.isOpen && follower.last < asOfSequence) {
			assert.ok(follower.last > last, `the stream ended at ${follower.last} of ${asOfSequence}`);
			last = follower.last;
			await follower.open();
		}
	}
	follower.stop();
	follower.check();
	return laws;
}

/** What the process has used so far: seconds of CPU, and memory now and at its highest, in MB. */
export function usageOf(rt) {
	const [utime, stime] = readFileSync(`/proc/${rt.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
	const status = readFileSync(`/proc/${rt.pid}/status`, 'utf8');
	const mb = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
	return { cpu: (utime + stime) / 100, rss: mb('VmRSS'), peak: mb('VmHWM') };
}

/** All items of a job, page by page; no number twice, none left out. */
export async function eachPage(rt, jobId, see, limit = 1000) {
	let next = 0;
	for (let cursor; ;) {
		const page = await ok(rt, 'get_job', { jobId, limit, ...(cursor ? { cursor } : {}) });
		for (const item of page.items) assert.equal(item.number, next++, 'no gap, no overlap');
		see(page.items);
		if (!page.nextCursor) return next;
		cursor = page.nextCursor;
	}
}
