// ci: release only
// Commands that write without end, through the whole stack: what agentd holds of it is bounded, what is kept is exactly what the facts say, and the
// model reads the two ends.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { follow, ok, readLog, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { configOf, endOf, newWorkspace, shell, startOf, whole } from './place.mjs';
import { isMeasured } from './shim.mjs';

const KEPT = 4 * 1024 * 1024; // of all streams together
const RSS_MAX_KB = 128 * 1024;
const LINE = Number(process.env.AR_PROCESS_LINE ?? 300_000_000);
const YES_MS = Number(process.env.AR_PROCESS_YES_MS ?? 4000);
let w;

before(async () => {
	w = await world({ config: configOf(newWorkspace(), { 'process.max_output_bytes': KEPT }) });
});

const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${w.rt.pid}/status`, 'utf8'))[1]);

/** Runs it to its end: the end, and what was said to be cut. */
async function run(command, more) {
	const turn = await submit(w.rt, shell(command, { timeoutMs: 600000, ...more }));
	const end = await endOf(w.rt, turn);
	await ended(w.rt, turn.sessionId, turn.turnId);
	const [cut] = await facts(w.rt, turn.sessionId, 'output.truncated');
	const [told] = await facts(w.rt, turn.sessionId, 'tool.result', 'tool.failed');
	return { ...turn, end, cut, told };
}

/** The ranges that were kept lie apart, the last one ends where the stream does, and each holds what was written there. */
async function isExact({ end, cut }, written, at) {
	const { outputs } = end.payload;
	assert.deepEqual(outputs.map((o) => o.stream), ['stdout', 'stdout']);
	assert.deepEqual([outputs[0].offset, outputs[1].offset + outputs[1].length], [0, written]);
	assert.ok(outputs[0].length < outputs[1].offset);
	const kept = outputs[0].length + outputs[1].length;
	assert.deepEqual([cut.payload.truncation, cut.payload.originalSize, cut.payload.keptSize], ['head_tail', written, kept]);
	assert.ok(kept <= KEPT + 256 * 1024 && kept >= KEPT / 2, `${kept} bytes are kept`);
	for (const { offset, length, ref } of outputs) assert.ok((await whole(w.rt, ref)).equals(at(offset, length)), `the bytes at ${offset}`);
	return kept;
}

// The stream of `seq 100000000 ...` with blanks: ten bytes for each number.
function numbers(offset, length) {
	const first = Math.floor(offset / 10), last = Math.ceil((offset + length) / 10);
	const words = Array.from({ length: last - first }, (_, i) => `${100_000_000 + first + i} `).join('');
	return Buffer.from(words.slice(offset - first * 10, offset - first * 10 + length));
}

test('OU-08 a line of hundreds of megabytes: bounded memory, the exact range that is left out, the two ends for the model', async (t) => {
	const before = peakKb();
	const got = await run(`seq 100000000 ${100_000_000 + LINE / 10 - 1} | tr '\\n' ' '`);
	assert.deepEqual([got.end.type, got.end.payload.exitCode], ['process.completed', 0]);
	const kept = await isExact(got, LINE, numbers);
	t.diagnostic(`${LINE} bytes in ${got.end.payload.durationMs} ms, ${kept} kept; agentd's memory ${before} KiB, at most ${peakKb()} KiB`);
	if (isMeasured) assert.ok(peakKb() < RSS_MAX_KB, `agentd had ${peakKb()} KiB`);
	assert.ok(got.told.payload.preview.length < 65536);
	const read = await whole(w.rt, got.told.payload.outputRef);
	assert.ok(read.length < 100_000, `the model reads ${read.length} bytes`);
	assert.match(read.toString(), /^exit code 0,[^]*\n\n100000000 [^]*bytes are left out[^]* $/);
	assert.ok(read.toString().endsWith(`${100_000_000 + LINE / 10 - 1} `));
});

test('`yes` until its time is over: stopped, bounded, and exact to the byte', async (t) => {
	const got = await run('yes', { timeoutMs: YES_MS });
	assert.deepEqual([got.end.type, got.end.payload.failureKind], ['process.failed', 'timeout']);
	const written = got.cut.payload.originalSize;
	const kept = await isExact(got, written, (offset, length) => Buffer.from('y\n'.repeat(length / 2 + 1)).subarray(offset % 2, (offset % 2) + length));
	t.diagnostic(`yes wrote ${written} bytes in ${got.end.payload.durationMs} ms, ${kept} kept; agentd's memory at most ${peakKb()} KiB`);
	assert.ok(written > 16 * KEPT, `${written} bytes`);
	if (isMeasured) assert.ok(peakKb() < RSS_MAX_KB, `agentd had ${peakKb()} KiB`);
	assert.equal(got.told.payload.status, 'timed_out');
});

test('AC-13 OU-07 10 MB after what was typed: process.input, output.spilled, and the ref returns every byte, also after kill -9', async () => {
	await w.rt.stop();
	w.rt = await w.again({ config: configOf(newWorkspace()) });
	const turn = await submit(w.rt, shell('read -r n; seq 100000000 $n', { background: true }));
	const { processId } = await startOf(w.rt, turn);
	await ok(w.rt, 'write_process_stdin', { processId, input: '100999999\n' });
	const end = await endOf(w.rt, turn);
	const [typed] = await facts(w.rt, turn.sessionId, 'process.input');
	assert.equal(typed.payload.bytes, 10);
	assert.equal(end.payload.outputs.length, 1);
	const [{ outputRef, payload: spilled, processId: whose }] = await facts(w.rt, turn.sessionId, 'output.spilled');
	assert.deepEqual([whose, outputRef], [processId, end.payload.outputRefs[0]]);
	assert.deepEqual([spilled.owner, spilled.sizeBytes, spilled.truncation, spilled.encoding], ['process', 10_000_000, 'none', 'utf-8']);
	assert.ok(spilled.preview.startsWith('100000000\n'));
	await w.rt.kill9();
	w.rt = await w.again({ config: configOf(newWorkspace()) });
	const { threads: [{ outputs: [listed] }] } = await ok(w.rt, 'get_session', { sessionId: turn.sessionId });
	assert.deepEqual([listed.outputRef, listed.processId, listed.sizeBytes, listed.mediaType, listed.redaction], [outputRef, processId, 10_000_000, 'text/plain', { count: 0 }]);
	const bytes = await whole(w.rt, outputRef);
	assert.ok(bytes.toString().replaceAll('\n', ' ') === numbers(0, 10_000_000).toString());
});

test('AN-10 a reader that is cut while 50 MB are written: no event is large, and it ends with the facts of the log', async () => {
	const workspace = newWorkspace();
	await w.rt.stop();
	w.rt = await w.again({ config: configOf(workspace, { 'process.max_output_bytes': KEPT }) });
	// Each part is written when the reader was cut after the one before, however slow either is.
	const turn = await submit(w.rt, shell('for i in 1 2 3 4 5 6 7 8 9 10; do while [ ! -e go$i ]; do sleep 0.02; done; seq 100000000 100499999; touch done$i; done', { timeoutMs: 600000 }));
	const reader = await follow(w.rt, turn.sessionId);
	for (let i = 1; i <= 10; i++) {
		writeFileSync(join(workspace, `go${i}`), '');
		await reader.resume();
		await waitFor(() => existsSync(join(workspace, `done${i}`)), `part ${i}`);
	}
	while (!reader.end(turn.turnId)) {
		await sleep(50);
		await reader.resume();
	}
	reader.check();
	assert.deepEqual(reader.facts.map((f) => f.data), (await readLog(w.rt, turn.sessionId)).map((f) => f.data));
	for (const f of reader.facts) assert.ok(f.data.length < 16384, `${f.type} has ${f.data.length} bytes`);
	const [spilled] = await facts(w.rt, turn.sessionId, 'output.spilled');
	assert.deepEqual([spilled.payload.sizeBytes, spilled.payload.truncation], [50_000_000, 'head_tail']);
});
