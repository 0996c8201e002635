// Jobs: an instruction over many items, each worked on by a turn in a session of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, ok, waitFor, world } from '../lib/runtime.mjs';
import { checkLaws, COUNTS, eachPage, factsOf, jobFacts, lines } from './laws.mjs';

async function allItems(rt, jobId) {
	const items = [];
	await eachPage(rt, jobId, (page) => items.push(...page), 100);
	return items;
}

async function ended(rt, jobId) {
	return waitFor(async () => {
		const job = await ok(rt, 'get_job', { jobId });
		return job.status !== 'running' && job.status !== 'pending' && job;
	}, 'the end of the job', 60000);
}

const settled = (rt, jobId) => waitFor(async () => {
	const job = await ok(rt, 'get_job', { jobId });
	return job.counts.pending + job.counts.running === 0 && job;
}, 'no item at work', 60000);

async function outputOf(rt, item) {
	const { content } = await ok(rt, 'read_output', { outputRef: item.outputRef });
	return content;
}

test('JB-01 JB-10 JB-11 CP-45 CP-46 CP-47 OPEN-32 a job of five items: every member is there, before and after kill -9, and each item gets one output', async () => {
	const w = await world();
	const made = await ok(w.rt, 'create_job', { instruction: 'Say it.', input: lines('a', 'b', 'c', 'd', 'e'), start: false, maxRuntime: 600000, outputSchema: { type: 'object' }, concurrency: 2 });
	assert.deepEqual([made.status, made.itemCount], ['pending', 5]);
	const before = await ok(w.rt, 'get_job', { jobId: made.jobId });
	assert.deepEqual([before.status, before.counts, before.items.map((i) => i.status)], ['pending', COUNTS(5, 0, 0, 0), Array(5).fill('pending')]);
	for (const member of ['instructionRef', 'inputRefs', 'outputSchemaRef', 'maxRuntime', 'itemCount', 'itemCursor', 'assignedThreadIds', 'concurrency', 'sessionId']) assert.notEqual(before[member], undefined, member);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await ok(w.rt, 'get_job', { jobId: made.jobId }), before, 'the same after kill -9');
	assert.deepEqual((await jobFacts(w.rt, made.sessionId)).map((e) => e.type), ['job.created']);
	assert.equal((await ok(w.rt, 'start_job', { jobId: made.jobId })).status, 'running');
	const at = await ok(w.rt, 'create_job', { sessionId: made.sessionId, instruction: 'Say it.', input: lines('x', 'y') });
	assert.equal(at.sessionId, made.sessionId);
	const job = await ended(w.rt, at.jobId);
	assert.deepEqual([job.status, job.counts], ['completed', COUNTS(0, 0, 2, 0)]);
	assert.deepEqual(await Promise.all(job.items.map((i) => outputOf(w.rt, i))), ['You said: Say it.\n\nx', 'You said: Say it.\n\ny']);
	const { jobs } = await ok(w.rt, 'list_jobs', { sessionId: made.sessionId });
	assert.deepEqual(jobs.map((j) => [j.jobId, j.itemCount]), [[made.jobId, 5], [at.jobId, 2]]);
	await settled(w.rt, made.jobId);
	const facts = await jobFacts(w.rt, made.sessionId);
	const mine = facts.filter((e) => e.jobId === made.jobId).map((e) => e.type);
	assert.deepEqual([mine.filter((t) => t === 'job.started').length, mine.indexOf('job.started') < mine.indexOf('job.item.started')], [1, true]);
	await w.rt.stop();
});

test('JB-03 JB-04 JB-13 JB-15 JB-16 AC-17 AN-44 one of five items fails: the others complete, the job goes on, and only that item is tried again', async () => {
	const w = await world({ config: { 'model.max_attempts': 1 } });
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input: lines('a', 'b', '[[fail-turns 1 http 503]]c', 'd', 'e'), concurrency: 2 });
	const job = await settled(w.rt, jobId);
	assert.deepEqual([job.status, job.counts], ['running', COUNTS(0, 0, 4, 1)], 'not completed while an item may be tried again');
	const bad = job.items[2];
	assert.deepEqual([bad.status, bad.attemptCount, bad.retryable, bad.lastError.retryable], ['failed', 1, true, true], JSON.stringify(bad));
	assert.ok(bad.assignedThreadId && bad.lastError.message);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual((await ok(w.rt, 'get_job', { jobId })).items[2], bad, 'kept over kill -9');
	const again = await ok(w.rt, 'retry_job_item', { jobId, jobItemId: bad.jobItemId, idempotencyKey: 'k1' });
	assert.deepEqual(again, { jobItemId: bad.jobItemId, attemptCount: 2 });
	assert.deepEqual(await ok(w.rt, 'retry_job_item', { jobId, jobItemId: bad.jobItemId, idempotencyKey: 'k1' }), again, 'the same key is the same retry');
	const done = await ended(w.rt, jobId);
	assert.deepEqual([done.status, done.counts], ['completed', COUNTS(0, 0, 5, 0)]);
	assert.deepEqual(done.items.map((i) => i.attemptCount), [1, 1, 2, 1, 1]);
	assert.equal(await outputOf(w.rt, done.items[2]), 'You said: Do it.\n\nc');
	const facts = await jobFacts(w.rt, sessionId);
	assert.equal(checkLaws(facts, 5).size, 5);
	assert.equal(facts.filter((e) => e.type === 'job.item.failed').length, 1, 'the last error is in the log');
	assert.equal(facts.find((e) => e.type === 'job.item.started' && e.payload.attemptCount === 2).jobItemId, bad.jobItemId);
	const refused = await call(w.rt, 'retry_job_item', { jobId, jobItemId: bad.jobItemId });
	assert.equal(refused.status, 409);
	await w.rt.stop();
});

test('maxAttempts: a failed item is tried again by itself; after the last attempt it failed for good and the job ends, also after kill -9', async () => {
	const w = await world({ config: { 'model.max_attempts': 1, 'recovery.max_restarts': 10 } });
	const wrong = '[[say nothing]]', schema = { type: 'object' };
	const input = JSON.stringify(['[[say {}]]', '[[fail-turns 2 http 503]][[say {}]]', '[[fail-turns 9 http 503]]', wrong, '[[hang]]']);
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input, inputFormat: 'json', outputSchema: schema, concurrency: 2, maxAttempts: 3 });
	const hanging = await waitFor(async () => ((item) => item.status === 'running' && item)((await ok(w.rt, 'get_job', { jobId })).items[4]), 'the last item', 60000);
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId })).counts.running === 1, 'the ends of the others', 60000);
	await w.rt.kill9();
	w.rt = await w.again();
	await ok(w.rt, 'interrupt_turn', { sessionId: hanging.sessionId, turnId: hanging.turnId, reason: 'enough' });
	const job = await ended(w.rt, jobId);
	assert.deepEqual([job.status, job.maxAttempts, job.counts], ['completed', 3, COUNTS(0, 0, 2, 3)]);
	assert.deepEqual(job.items.map((i) => [i.status, i.attemptCount, i.retryable, i.lastError?.retryable]), [
		['completed', 1, undefined, undefined], ['completed', 3, undefined, undefined], ['failed', 3, false, true], ['failed', 3, false, true], ['failed', 1, false, true]]);
	assert.equal(checkLaws(await jobFacts(w.rt, sessionId), 5).size, 2);
	assert.equal((await call(w.rt, 'retry_job_item', { jobId, jobItemId: job.items[2].jobItemId })).status, 409);
	assert.equal((await call(w.rt, 'create_job', { instruction: 'x', input: 'x', maxAttempts: 0 })).status, 400);
	await w.rt.stop();
});

test('JB-05 JB-18 CP-48 OPEN-33 cancel at two of five: what is done stays, what runs ends as cancelled, what was not begun stays pending', async () => {
	const w = await world();
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input: lines('a', 'b', '[[hang]]c', 'd', 'e'), concurrency: 1 });
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId })).items[2].status === 'running', 'the third');
	const hanging = (await ok(w.rt, 'get_job', { jobId })).items[2];
	await waitFor(() => w.model.log(hanging.turnId).length > 0, 'its model call');
	const reply = await ok(w.rt, 'cancel_job', { jobId, reason: 'enough' });
	assert.deepEqual(reply, { jobId, status: 'cancelled', counts: COUNTS(2, 0, 2, 1) });
	const job = await ok(w.rt, 'get_job', { jobId });
	assert.deepEqual([job.status, job.reason, job.items.map((i) => i.status)], ['cancelled', 'enough', ['completed', 'completed', 'failed', 'pending', 'pending']]);
	assert.equal(job.items[2].lastError.category, 'cancelled');
	assert.equal(await outputOf(w.rt, job.items[1]), 'You said: Do it.\n\nb');
	await waitFor(async () => (await factsOf(w.rt, hanging.sessionId)).some((e) => e.type === 'turn.reported'), 'the end of its turn');
	const [end] = (await factsOf(w.rt, hanging.sessionId)).filter((e) => e.type === 'turn.failed');
	assert.equal(end.payload.status, 'cancelled', 'its turn was interrupted');
	assert.deepEqual(await ok(w.rt, 'cancel_job', { jobId, reason: 'again' }), reply, 'a repeat says the same');
	assert.equal((await call(w.rt, 'retry_job_item', { jobId, jobItemId: job.items[2].jobItemId })).status, 409);
	const facts = await jobFacts(w.rt, sessionId);
	checkLaws(facts, 5);
	assert.equal(facts.at(-1).type, 'job.cancelled', 'nothing of it starts later');
	await w.rt.stop();
});

test('JB-07 JB-14 OPEN-33 an item that is assigned is reported by a worker, once, and must fit the schema', async () => {
	const w = await world();
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input: lines('[[hang]]a', '[[say {"n":1}]]', '[[say {"n":2}]]'), concurrency: 1, outputSchema: { type: 'object', required: ['n'] } });
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	const threadId = threads[0].threadId;
	const [first, , third] = (await ok(w.rt, 'get_job', { jobId })).items.map((i) => i.jobItemId);
	assert.equal((await call(w.rt, 'assign_job_item', { jobId, jobItemId: first, threadId })).status, 409, 'it runs');
	assert.equal((await call(w.rt, 'report_job_item', { jobId, jobItemId: third, result: { n: 3 } })).status, 409, 'it is pending');
	assert.deepEqual(await ok(w.rt, 'assign_job_item', { jobId, jobItemId: third, threadId, worker: { kind: 'worker', id: 'w-1' } }), { jobItemId: third, assignedThreadId: threadId });
	await ok(w.rt, 'assign_job_item', { jobId, jobItemId: third, threadId });
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await call(w.rt, 'report_job_item', { jobId, jobItemId: third, result: { m: 3 } })).status, 400);
	assert.deepEqual(await ok(w.rt, 'report_job_item', { jobId, jobItemId: third, result: { n: 3 } }), { jobItemId: third, status: 'reported' });
	await ok(w.rt, 'report_job_item', { jobId, jobItemId: third, result: { n: 3 } });
	assert.equal((await call(w.rt, 'report_job_item', { jobId, jobItemId: third, result: { n: 4 } })).status, 409, 'another result');
	await ok(w.rt, 'report_job_item', { jobId, jobItemId: first, result: { n: 0 } });
	const job = await ended(w.rt, jobId);
	assert.deepEqual([job.status, job.counts, job.items.map((i) => i.status)], ['completed', COUNTS(0, 0, 1, 0, 2), ['reported', 'completed', 'reported']]);
	assert.deepEqual(JSON.parse(await outputOf(w.rt, job.items[2])), { n: 3 });
	checkLaws(await jobFacts(w.rt, sessionId), 3);
	await w.rt.stop();
});

test('JB-17 JB-02 maxRuntime passes: the job failed, its items stay as they were, and none starts', async () => {
	const w = await world();
	const { jobId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input: lines('a', '[[hang]]b', 'c'), concurrency: 1, maxRuntime: 1500 });
	const job = await ended(w.rt, jobId);
	assert.deepEqual([job.status, job.error.category, job.counts], ['failed', 'timeout', COUNTS(1, 1, 1, 0)]);
	assert.deepEqual(job.items.map((i) => i.status), ['completed', 'running', 'pending']);
	await waitFor(async () => (await factsOf(w.rt, job.items[1].sessionId)).some((e) => e.type === 'turn.failed'), 'its turn is interrupted');
	assert.deepEqual((await ok(w.rt, 'get_job', { jobId })).items.map((i) => i.status), ['completed', 'running', 'pending']);
	await w.rt.stop();
});

test('JB-14 an answer that does not fit the schema is a failed item, and the right one completes', async () => {
	const w = await world();
	const { jobId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input: JSON.stringify(['[[say {"n":1}]]', { text: '[[say nothing]]' }]), inputFormat: 'json', outputSchema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } });
	const job = await settled(w.rt, jobId);
	assert.deepEqual(job.items.map((i) => [i.status, i.lastError?.category]), [['completed', undefined], ['failed', 'schema_mismatch']]);
	await w.rt.stop();
});

test('CP-45 a key or an id of the caller makes a repeat the same job; lists of three formats; what is no list is refused', async () => {
	const w = await world();
	const input = { instruction: 'Do it.', input: 'name,age\r\n"Ada ""A"", L",36\nBob,7\n', inputFormat: 'csv', idempotencyKey: 'once' };
	const made = await ok(w.rt, 'create_job', input);
	assert.deepEqual(await ok(w.rt, 'create_job', input), made);
	const job = await ended(w.rt, made.jobId);
	assert.deepEqual(await Promise.all(job.items.map((i) => outputOf(w.rt, i))), ['You said: Do it.\n\n{"name":"Ada \\"A\\", L","age":"36"}', 'You said: Do it.\n\n{"name":"Bob","age":"7"}']);
	const { sessionId } = made;
	const jobId = `job_${sessionId.slice(5)}_mine`;
	const own = { sessionId, jobId, instruction: 'Do it.', input: 'a' };
	assert.equal((await ok(w.rt, 'create_job', own)).jobId, jobId);
	assert.equal((await ok(w.rt, 'create_job', own)).jobId, jobId);
	assert.equal((await call(w.rt, 'create_job', { ...own, input: 'b' })).status, 409);
	assert.equal((await ended(w.rt, jobId)).items[0].jobItemId, `${jobId}.0`);
	const ref = (await ended(w.rt, jobId)).instructionRef;
	const byRef = await ok(w.rt, 'create_job', { sessionId, instructionRef: ref, inputRefs: [ref, ref] });
	assert.deepEqual([byRef.itemCount, (await ended(w.rt, byRef.jobId)).inputRefs], [2, [ref, ref]]);
	for (const bad of [{ input: '' }, { input: '{}', inputFormat: 'json' }, { input: 'a,b\n1', inputFormat: 'csv' }, { input: 'a,"b', inputFormat: 'csv' }, { inputRefs: ['blob_x'] }, { input: 'x'.repeat(70000) }, { input: 'a', outputSchema: { type: 7 } }, { input: 'a', jobId: 'job_x' }])
		assert.equal((await call(w.rt, 'create_job', { sessionId, instruction: 'x', ...bad })).status, 400, JSON.stringify(bad).slice(0, 80));
	await w.rt.stop();
});

test('JB-06 JB-12 CP-47 a thousand items, killed with -9 three times on the way: each has exactly one output, pages have no gap while it runs, and the counts are the fold of the facts', async () => {
	const w = await world();
	const input = Array.from({ length: 1000 }, (_, i) => `[[burst]]item ${i}`).join('\n');
	const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: '', input, concurrency: 32 });
	for (const part of [100, 400, 700]) {
		await waitFor(async () => (await ok(w.rt, 'get_job', { jobId, limit: 1 })).counts.completed >= part, `${part} items`, 120000);
		assert.equal((await allItems(w.rt, jobId)).length, 1000);
		await w.rt.kill9();
		w.rt = await w.again();
	}
	const job = await waitFor(async () => {
		const now = await ok(w.rt, 'get_job', { jobId, limit: 1 });
		return now.status !== 'running' && now;
	}, 'the end', 120000);
	assert.deepEqual([job.status, job.counts], ['completed', COUNTS(0, 0, 1000, 0)]);
	const items = await allItems(w.rt, jobId);
	assert.deepEqual(new Set(items.map((i) => i.outputRef)).size, 1000);
	assert.equal(await outputOf(w.rt, items[777]), 'You said: item 777');
	assert.equal(checkLaws(await jobFacts(w.rt, sessionId), 1000).size, 1000);
	await w.rt.stop();
});

test('JB-02 CP-46 five jobs brought to the five states: list_jobs has them, also after kill -9, and by their status', async () => {
	const w = await world();
	const { sessionId, jobId: pending } = await ok(w.rt, 'create_job', { instruction: 'x', input: 'a', start: false });
	const make = async (input, more = {}) => (await ok(w.rt, 'create_job', { sessionId, instruction: 'x', input, ...more })).jobId;
	const running = await make('[[hang]]a');
	const completed = await make('a');
	const failed = await make('[[hang]]b', { maxRuntime: 200 });
	const cancelled = await make('[[hang]]c');
	await ok(w.rt, 'cancel_job', { jobId: cancelled, reason: 'enough' });
	await ended(w.rt, completed);
	await ended(w.rt, failed);
	await w.rt.kill9();
	w.rt = await w.again();
	const { jobs } = await ok(w.rt, 'list_jobs', { sessionId });
	assert.deepEqual(jobs.map((j) => [j.jobId, j.status]), [[pending, 'pending'], [running, 'running'], [completed, 'completed'], [failed, 'failed'], [cancelled, 'cancelled']]);
	for (const { jobId, status } of jobs) assert.deepEqual((await ok(w.rt, 'list_jobs', { sessionId, status })).jobs.map((j) => j.jobId), [jobId]);
	const page = await ok(w.rt, 'list_jobs', { sessionId, limit: 2 });
	assert.deepEqual([page.jobs.length, (await ok(w.rt, 'list_jobs', { sessionId, cursor: page.nextCursor })).jobs.length], [2, 3]);
	await w.rt.stop();
});

test('CP-17 TK-16 cancel_task ends the jobs of the task, after the intent and before the task, also below it; unless they are not meant', async () => {
	const w = await world();
	const { sessionId } = await ok(w.rt, 'create_session', {});
	for (const propagation of [undefined, ['jobs'], []]) {
		const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'whole' });
		await ok(w.rt, 'start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
		const { taskId: part } = await ok(w.rt, 'create_task', { sessionId, objective: 'part', parentTaskId: taskId });
		const [job, below, other] = await Promise.all([taskId, part, undefined].map((id) =>
			ok(w.rt, 'create_job', { sessionId, instruction: '[[hang]]', input: lines('a', 'b', 'c'), concurrency: 2, ...(id ? { taskId: id } : {}) })));
		await waitFor(async () => (await ok(w.rt, 'get_job', { jobId: job.jobId })).counts.running === 2, 'its items at work');
		const { targets } = await ok(w.rt, 'cancel_task', { taskId, reason: 'no more', ...(propagation ? { propagation } : {}) });
		await waitFor(async () => (await ok(w.rt, 'get_task', { taskId })).status === 'cancelled', 'the task');
		const stateOf = async (made) => (await ok(w.rt, 'get_job', { jobId: made.jobId })).status;
		assert.equal(await stateOf(other), 'running', 'another job goes on');
		const facts = await factsOf(w.rt, sessionId);
		const at = (type, id) => facts.find((e) => e.type === type && (e.jobId === id || e.taskId === id))?.sequence;
		const asked = facts.find((e) => e.type === 'task.cancel_requested' && e.taskId === taskId);
		assert.equal(asked.payload.propagation.jobs, propagation?.length !== 0);
		if (propagation?.length === 0) {
			assert.deepEqual([await stateOf(job), await stateOf(below)], ['running', 'running'], 'not meant');
			for (const made of [job, below, other]) await ok(w.rt, 'cancel_job', { jobId: made.jobId, reason: 'end' });
			continue;
		}
		assert.deepEqual(targets.filter((t) => t.kind === 'job').map((t) => t.id), [job.jobId]);
		assert.ok(asked.sequence < at('job.cancelled', job.jobId) && at('job.cancelled', job.jobId) < at('task.cancelled', taskId));
		const { counts, items } = await ok(w.rt, 'get_job', { jobId: job.jobId, limit: 10 });
		assert.deepEqual([counts.pending, counts.running, items.map((i) => i.status)], [1, 0, ['failed', 'failed', 'pending']]);
		assert.deepEqual([await stateOf(job), await stateOf(below)], ['cancelled', propagation ? 'running' : 'cancelled']);
		await w.rt.kill9();
		w.rt = await w.again();
		assert.equal(await stateOf(job), 'cancelled', 'also after kill -9');
		for (const made of propagation ? [below, other] : [other]) await ok(w.rt, 'cancel_job', { jobId: made.jobId, reason: 'end' });
	}
	await w.rt.stop();
});
