// The disk fails below the store: reads, writes and syncs with errors that a preloaded library injects. Every answer has to be true of what
// the store has after the next start, and of every outage there is a line in the log. AR_DISK_FAULTS says how many faults come under load.
// ci: release only (a sanitizer wants to be the first library)
// ci: alone any
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, call, checkError, newFolder, ok, readLog, startAgentd, startModel, submit, waitFor, within } from '../lib/runtime.mjs';
import { AtWork, OUTAGE } from './at_work.mjs';

const onSqlite = { skip: process.env.AR_TEST_POSTGRES ? 'the file is another program\'s' : false };
const model = await startModel();

const FAULTS = Number(process.env.AR_DISK_FAULTS ?? 4);

/** What a daemon has to be started with for its disk to fail as `set` says. */
function failing(dataDir) {
	const control = join(dataDir, 'fault');
	writeFileSync(control, '-');
	const env = { LD_PRELOAD: join(bin, 'ar-disk-faults.so'), AR_DISK_FAULT: control, AR_DISK_FILE: 'agentd.db' };
	return { dataDir, env, set: (kind) => writeFileSync(control, kind, { flag: 'r+' }) };
}

/** A daemon whose disk fails as `set` says. */
async function onDisk(dataDir = newFolder()) {
	const { env, set } = failing(dataDir);
	const rt = await startAgentd({ dataDir, model, env });
	return { dataDir, rt, set };
}

test('a receipt that cannot be read now refuses nothing for good: every keyed command is storage_unavailable, then gets its receipt', onSqlite, async () => {
	const first = await onDisk();
	const { sessionId, threadId } = await submit(first.rt, '[[hang]]', { turnId: 'running' });
	const commands = [
		['submit_turn', { sessionId, turnId: 'again', text: 'hello' }],
		['create_task', { sessionId, taskId: `${sessionId.replace('sess', 'task')}_again`, objective: 'to be done' }],
		['steer_turn', { sessionId, threadId, turnId: 'running', input: [{ type: 'text', text: 'on' }], idempotencyKey: 'steer-again' }],
	];
	const receipts = [];
	for (const [command, input] of commands) receipts.push(await ok(first.rt, command, input));
	await first.rt.stop();

	const { rt, set } = await onDisk(first.dataDir);
	await ok(rt, 'get_session', { sessionId });
	set('r');
	for (const [command, input] of commands) {
		const { status, body } = await call(rt, command, input);
		checkError(status, body);
		assert.deepEqual([command, status, body.error.code, body.error.retryable], [command, 503, 'storage_unavailable', true]);
	}
	await waitFor(() => OUTAGE.test(rt.stderr), 'the line in the log');
	set('-');
	for (const [i, [command, input]] of commands.entries()) assert.deepEqual(await ok(rt, command, input), receipts[i], command);
	await rt.stop();
});

for (const [kind, what] of [['s', 'sync'], ['w', 'write'], ['f', 'full disk']]) {
	test(`an answer under a failed ${what} is true of what the next start finds`, onSqlite, async () => {
		const { dataDir, rt, set } = await onDisk();
		const { sessionId } = await ok(rt, 'create_session', {});
		set(kind);
		const input = { sessionId, turnId: 'in-doubt', text: 'hello' };
		const answer = await call(rt, 'submit_turn', input).catch(() => undefined);
		if (kind === 's') {
			assert.equal(answer, undefined, 'nobody is answered');
			assert.deepEqual(await rt.gone, { code: 1, signal: null });
			assert.match(rt.stderr, /the disk failed in the middle of a commit/);
		} else {
			assert.equal(answer.body.error.code, 'storage_unavailable');
			await waitFor(() => OUTAGE.test(rt.stderr), 'the line in the log');
			await rt.kill9();
		}
		const next = await onDisk(dataDir);
		const submitted = (await readLog(next.rt, sessionId)).filter((f) => f.type === 'turn.submitted');
		if (kind !== 's') assert.equal(submitted.length, 0, 'nothing was recorded, as was said');
		await ok(next.rt, 'submit_turn', input);
		assert.equal((await readLog(next.rt, sessionId)).filter((f) => f.type === 'turn.submitted').length, 1, 'a repeat with the same id records it once');
		await next.rt.stop();
	});
}

test(`${FAULTS} times syncs, writes and reads fail under load, and every answer is true of what the next start finds`, onSqlite, async (t) => {
	const [work, { dataDir, env, set }] = [new AtWork(), failing(newFolder())];
	const told = { s: 0, w: 0, f: 0, r: 0 };
	try {
		await work.begin(1, { dataDir, env });
		for (let i = 0; i < FAULTS; i++) {
			const { rt } = work.world;
			const kind = 'swfr'[i % 4];
			await work.accept(5);
			set(kind);
			if (kind !== 'r') await work.notice();
			else await within(waitFor(() => rt.isGone || rt.refusals >= 3, 'an outage').catch(() => {}), 3000); // what is in memory is answered without a read
			if (i % 8 < 4) set('-'); // else it dies while the disk fails
			const { refusals, isEnded } = await work.kill();
			told[kind] += refusals + isEnded;
			set('-');
			await work.resume();
		}
		t.diagnostic(`${await work.end()}; refusals and ends by kind: ${JSON.stringify(told)}`);
	} finally {
		work.giveUp();
	}
});
