// `agentctl job` against a real daemon.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';

function ctl(rt, args) {
	return new Promise((done) => {
		execFile(join(bin, 'agentctl'), ['--url', rt.url, ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent' } }, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
	});
}

test('a table becomes a job that is watched to its end; its results are lines of JSON and a table', async () => {
	const w = await world();
	const file = join(newFolder(), 'cities.csv');
	writeFileSync(file, 'city,said\nBerlin,"[[say a ""quoted"" word]]"\nParis,[[say two\u001b[31m words]]\n');
	const made = await ctl(w.rt, ['job', 'create', '--input', file, '--watch', 'Say', 'it.']);
	assert.equal(made.code, 0, made.err);
	const [jobId, ...shown] = made.out.trim().split('\n');
	assert.match(jobId, /^job_\w+_1$/);
	assert.match(shown.at(-1), /^\[#{24}\] 2 of 2, 0 running, 0 failed.*cost/);
	assert.match(made.err, /the job is completed/);
	const lines = (await ctl(w.rt, ['job', 'results', jobId])).out.trim().split('\n').map((line) => JSON.parse(line));
	assert.deepEqual(lines.map((l) => [l.number, l.status]), [[0, 'completed'], [1, 'completed']]);
	const table = await ctl(w.rt, ['job', 'results', jobId, '--csv']);
	assert.equal(table.out.split('\n')[0], 'number,status,output');
	assert.equal(table.out.trim().split('\n').length, 3);
	const { sessionId } = await ok(w.rt, 'get_job', { jobId });
	assert.match((await ctl(w.rt, ['job', 'list', sessionId])).out, new RegExp(`${jobId} +completed +2 items: 0 pending`));
	assert.match((await ctl(w.rt, ['job', 'show', jobId])).out, /completed/);
	await w.rt.stop();
});

test('a job that is held is started and cancelled; a failed item is tried again; wrong words are refused', async () => {
	const w = await world({ config: { 'model.max_attempts': 1 } });
	const file = join(newFolder(), 'items.txt');
	writeFileSync(file, '[[fail-turns 1 http 503]]a\n[[hang]]b\n');
	const made = await ctl(w.rt, ['job', 'create', '--input', file, '--hold', 'Do it.']);
	const jobId = made.out.trim();
	assert.equal((await ok(w.rt, 'get_job', { jobId })).status, 'pending');
	assert.match((await ctl(w.rt, ['job', 'start', jobId])).out, /running/);
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId })).items[0].status === 'failed', 'the failure');
	assert.match((await ctl(w.rt, ['job', 'show', jobId])).out, new RegExp(`${jobId}\\.0`));
	assert.match((await ctl(w.rt, ['job', 'retry', `${jobId}.0`])).out, /attempt 2/);
	await waitFor(async () => (await ok(w.rt, 'get_job', { jobId })).items[0].status === 'completed', 'the second attempt');
	assert.match((await ctl(w.rt, ['job', 'cancel', jobId, '--reason', 'enough'])).out, /cancelled/);
	assert.equal((await ctl(w.rt, ['job', 'watch', jobId])).code, 1);
	for (const words of [['job', 'create', 'x'], ['job', 'retry', 'nothing'], ['job', 'fly']]) assert.equal((await ctl(w.rt, words)).code, 2, words.join(' '));
	assert.equal((await ctl(w.rt, ['job', 'show', 'job_x'])).code, 1);
	await w.rt.stop();
});
