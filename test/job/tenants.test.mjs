// Jobs of two tenants on one server: each runs in sessions of its own tenant, and nothing of it shows to the other.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { waitFor, world } from '../lib/runtime.mjs';
import { ask, must } from '../tenant/tenants.mjs';

test('JB-01 a job of a named tenant runs in sessions of that tenant; another tenant sees none of it and changes nothing', async () => {
	const w = await world();
	const tokenOf = async (tenant) => (await must(w.rt, undefined, 'create_token', { tenant, name: tenant, scopes: ['admin'] })).token;
	const acme = await tokenOf('acme'), zeta = await tokenOf('zeta');
	const { jobId, sessionId } = await must(w.rt, acme, 'create_job', { instruction: 'Do it.', input: Array.from({ length: 20 }, (_, i) => `n${i}`).join('\n') });
	const job = await waitFor(async () => {
		const now = await must(w.rt, acme, 'get_job', { jobId });
		return now.status === 'completed' && now;
	}, 'the end of the job', 30000);
	assert.equal(new Set(job.items.map((i) => i.sessionId)).size, 20, 'each has a session of its own');
	const [item] = job.items;
	assert.match((await must(w.rt, acme, 'read_output', { outputRef: item.outputRef })).content, /n0$/);
	for (const [name, input] of [['get_job', { jobId }], ['list_jobs', { sessionId }], ['cancel_job', { jobId, reason: 'x' }], ['start_job', { jobId }], ['get_session', { sessionId: item.sessionId }],
		['retry_job_item', { jobId, jobItemId: item.jobItemId }], ['report_job_item', { jobId, jobItemId: item.jobItemId, result: 1 }], ['create_job', { sessionId, instruction: 'x', input: 'a' }], ['read_output', { outputRef: item.outputRef }]])
		assert.equal((await ask(w.rt, zeta, name, input)).status, 404, name);
	// A content of another tenant is no item, nor an instruction.
	const own = (await must(w.rt, zeta, 'create_session', {})).sessionId;
	for (const more of [{ input: 'a', instructionRef: job.instructionRef }, { instruction: 'x', inputRefs: [item.outputRef] }])
		assert.equal((await ask(w.rt, zeta, 'create_job', { sessionId: own, ...more })).body.error.code, 'invalid_input');
	// Nobody but the runtime says how a turn ended.
	const forged = await ask(w.rt, acme, 'report_turn', { to: item.jobItemId, turnId: item.turnId, sessionId: item.sessionId, status: 'completed' });
	assert.equal(forged.body.error.code, 'not_authorized');
	assert.deepEqual(await must(w.rt, acme, 'get_job', { jobId }), job);
	await w.rt.stop();
});

test('refs to one large content, ten thousand times: refused by its limit, without reading them all', async () => {
	const w = await world();
	const { sessionId } = await must(w.rt, undefined, 'create_job', { instruction: 'x', input: 'a', start: false });
	const { jobId } = await must(w.rt, undefined, 'create_job', { sessionId, instruction: 'y'.repeat(60000), input: 'a', start: false });
	const { instructionRef } = await must(w.rt, undefined, 'get_job', { jobId });
	const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${w.rt.pid}/status`, 'utf8'))[1]) / 1024;
	const before = peak();
	const answer = await ask(w.rt, undefined, 'create_job', { sessionId, instruction: 'x', inputRefs: Array(9000).fill(instructionRef) });
	assert.deepEqual([answer.body.error?.code, /67108864 bytes/.test(answer.text)], ['invalid_input', true], answer.text.slice(0, 200));
	assert.ok(peak() - before < 250, `${before} to ${peak()} MB`);
	await w.rt.stop();
});
