// The vocabulary of errors, catalog/errors.cat: which of them something of the source answers, which of those a test provokes, and that one that is
// provoked is the same over every transport.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import http2 from 'node:http2';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectWs, startStdio } from '../lib/rpc.mjs';
import { call, ok, request, world } from '../lib/runtime.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(`${root}${path}`, 'utf8');
const textOf = (folder, pattern) =>
	readdirSync(`${root}${folder}`, { recursive: true })
		.filter((path) => pattern.test(path) && !path.includes('node_modules') && !path.startsWith('conformance/errors.'))
		.map((path) => read(`${folder}/${path}`)).join('\n');

const errors = [...read('catalog/errors.cat').matchAll(/^error \d+ (\w+) +http=(\d+) rpc=(-\d+)(.*?) "/gm)].map(([, code, status, rpc, flags]) => ({ code, status: Number(status), rpc: Number(rpc), retryable: / retry\b/.test(flags) }));
const codes = errors.map(({ code }) => code);

/** Nothing answers these: their commands are not there yet (benchmarks), or another code says it. The list is exact. */
const UNUSED = ['trial_not_found', 'edge_not_found', 'pending_action', 'blocked_on_action', 'already_exited', 'already_ended', 'dependency_unmet', 'duplicate_edge', 'trial_exists', 'configuration_conflict',
	'reward_conflict', 'invalid_dataset', 'dataset_mismatch', 'verifier_mismatch', 'reward_missing', 'correlation_missing', 'sandbox_unavailable', 'history_unavailable', 'trajectory_failed', 'cursor_too_old'];

/** These are answered, and no test provokes them. The list is exact. */
const UNPROVOKED = ['policy_unavailable', 'busy_rejected', 'cancelling_parent', 'item_not_pending', 'catalog_unavailable', 'export_failed'];

let w, wires, job;

before(async () => {
	w = await world({ config: { 'limits.max_header_bytes': 2048 } });
	job = await ok(w.rt, 'create_job', { instruction: 'Say it.', input: 'a\nb', start: false });
	const ws = await connectWs(w.rt.url);
	wires = { ws, local: await connectWs(`ws+unix://${w.rt.socket}:`) };
});

test('OPEN-54 each error of the list is answered somewhere, but for those named here, and each that is answered is provoked, but for those named here', () => {
	assert.ok(codes.length > 130 && new Set(codes).size === codes.length);
	const source = textOf('src', /\.[ch]$/), tests = textOf('test', /\.(mjs|c)$/);
	const isUsed = (code) => new RegExp(`\\bAR_ERR_${code.toUpperCase()}\\b`).test(source);
	const isProvoked = (code) => new RegExp(`['"\`]${code}['"\`]|\\bAR_ERR_${code.toUpperCase()}\\b`).test(tests) || HERE.includes(code);
	assert.deepEqual(codes.filter((code) => !isUsed(code)), UNUSED);
	assert.deepEqual(codes.filter((code) => isUsed(code) && !isProvoked(code)), UNPROVOKED);
});

/** In this order: what is provoked, and by which call. */
const PROVOKED = [
	{ code: 'invalid_input', command: 'get_session', input: () => ({}) },
	{ code: 'session_not_found', command: 'get_session', input: () => ({ sessionId: 'sess_none' }) },
	{ code: 'task_not_found', command: 'get_task', input: () => ({ taskId: 'task_none' }) },
	{ code: 'action_not_found', command: 'respond_action', input: () => ({ actionId: 'action_none', decision: 'allow' }) },
	{ code: 'process_not_found', command: 'terminate_process', input: () => ({ processId: 'proc_none', reason: 'x' }) },
	{ code: 'ref_not_found', command: 'read_output', input: () => ({ outputRef: 'blob_x' }) },
	{ code: 'invalid_cursor', command: 'list_sessions', input: () => ({ cursor: 'x' }) },
	{ code: 'not_found', command: 'no_such_command', input: () => ({}) },
	{ code: 'unavailable', command: 'start_benchmark_trial', input: () => ({ dataset: { id: 'd', version: '1' }, configurationId: 'c', trialNumber: 1 }) },
	{ code: 'item_not_running', command: 'report_job_item', input: ({ items }) => ({ jobId: job.jobId, jobItemId: items[0].jobItemId, result: 1 }) },
];

const HERE = [...PROVOKED.map(({ code }) => code), 'header_too_large', 'job_cancelled'];

const overHttp2 = (path, body) => new Promise((done, fail) => {
	const session = http2.connect(w.rt.url).on('error', fail);
	const stream = session.request({ ':path': path, ':method': 'POST', 'content-type': 'application/json' });
	let text = '';
	stream.setEncoding('utf8').on('data', (piece) => (text += piece)).on('error', fail).on('end', () => (session.close(), done(text)));
	stream.end(body);
});

const once = { connection: 'close' }; // each on a connection of its own

test('OPEN-54 one code, one status, one retryable and one message over HTTP, HTTP/2, the unix socket and JSON-RPC', async () => {
	const found = await ok(w.rt, 'get_job', { jobId: job.jobId });
	for (const { code, command, input } of PROVOKED) {
		const { status, rpc, retryable } = errors.find((one) => one.code === code);
		const body = JSON.stringify(input(found)), path = `/v1/${command}`;
		const first = await request(w.rt, { path, body, headers: once });
		const { error } = JSON.parse(first.text);
		assert.deepEqual([error.code, first.status, error.retryable], [code, status, retryable], command);
		assert.deepEqual(JSON.parse((await request(w.rt, { path, body, headers: once, via: 'socket' })).text).error, error, `${code} over the unix socket`);
		assert.deepEqual(JSON.parse(await overHttp2(path, body)).error, error, `${code} over HTTP/2`);
		for (const [name, peer] of Object.entries(wires)) {
			const said = await peer.call(command, input(found)).then((v) => assert.fail(JSON.stringify(v)), (e) => e);
			assert.equal(said.code, rpc, `${code} over ${name}`);
			assert.deepEqual([said.data.code, said.data.retryable], [code, retryable], `${code} over ${name}`);
		}
	}
});

test('OPEN-54 over stdio too', async () => {
	const peer = startStdio({ model: w.model });
	for (const { code, command, input } of PROVOKED.filter((one) => !one.code.startsWith('item_'))) {
		const said = await peer.call(command, input({})).then((v) => assert.fail(JSON.stringify(v)), (e) => e);
		assert.deepEqual([said.data?.code, said.code], [code, errors.find((one) => one.code === code).rpc]);
	}
	assert.deepEqual(await peer.end(), { code: 0, signal: null });
});

test('OPEN-54 header_too_large, and job_cancelled', async () => {
	const big = await request(w.rt, { path: '/v1/list_sessions', body: '{}', headers: { 'x-a': 'a'.repeat(4096) } });
	assert.deepEqual([big.status, JSON.parse(big.text).error.code], [431, 'header_too_large']);
	const { items } = await ok(w.rt, 'get_job', { jobId: job.jobId });
	await ok(w.rt, 'cancel_job', { jobId: job.jobId, reason: 'enough' });
	const { status, body } = await call(w.rt, 'retry_job_item', { jobId: job.jobId, jobItemId: items[0].jobItemId });
	assert.deepEqual([status, body.error.code], [409, 'job_cancelled']);
});
