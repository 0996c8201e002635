// The source of each fact is taken away in turn. What was read from it becomes one of the words for not knowing, or is refused by name; it is never a word of success.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { before, test } from 'node:test';
import { execute, sql } from '../lib/damage.mjs';
import { ended } from '../lib/gate.mjs';
import { foldersOf, kill9, newWorkspace, configOf, recordsIn, shell, shimOf } from '../process/place.mjs';
import { call, ok, startModel, submit, waitFor, world } from '../lib/runtime.mjs';

let model;

before(async () => {
	model = await startModel();
});

const priced = (more = {}) => [{ name: 'priced', provider: 'openai-chat', model: 'wire', base_url: model.url, input_price: '3', output_price: '15', ...more }];

/** What a read says: the word, the code of its refusal, or that it is not there. */
async function word(rt, command, input, pick) {
	const { status, body } = await call(rt, command, input);
	return status >= 300 ? body.error.code : String(pick(body) ?? 'absent');
}

const statusOf = (rt, s) => word(rt, 'get_session', { sessionId: s.sessionId }, (b) => b.threads[0].turns.at(-1).status);
const listed = (rt, s) => word(rt, 'list_sessions', {}, (b) => b.sessions.find((x) => x.sessionId === s.sessionId)?.status);
const taskOf = (rt, s) => word(rt, 'get_task', { taskId: s.taskId }, (b) => b.status);
const found = (rt, s) => word(rt, 'find_tasks', { withEnded: true, withInternal: true }, (b) => b.tasks.find((t) => t.taskId === s.taskId)?.status);
const outputOf = (rt, s) => word(rt, 'read_output', { outputRef: s.outputRef }, (b) => b.content);

/** A session with an ended turn. */
async function turn(rt, text = '[[say one]]', more = {}) {
	const s = await submit(rt, text, more);
	await ended(rt, s.sessionId, s.turnId);
	const read = await ok(rt, 'get_session', { sessionId: s.sessionId });
	return { ...s, taskId: read.tasks[0].taskId, outputRef: read.threads[0].turns[0].outputRef };
}

const LOST = { statusOf: 'storage_corrupt', listed: 'unknown', taskOf: 'unknown', found: 'unknown' };
const reads = { statusOf, listed, taskOf, found, outputOf };

// What is taken out of the store while nobody works on it; what each read says then. Its answer before is another.
const stored = [
	['the first facts', 'log-first', LOST],
	['facts in the middle', 'log-gap', LOST],
	['the bytes of some facts', 'log-broken', LOST],
	['the last facts', 'log-end', LOST],
	['all facts', 'log-all', LOST],
	['the bytes of the snapshot', 'snapshot-garbage', LOST, { 'session.snapshot_every': 5 }],
	['the row of the session', 'session-gone', { listed: 'absent', found: 'absent' }],
	['the rows of its tasks', 'tasks', { taskOf: 'task_not_found', found: 'absent' }],
	['the contents', 'blob-gone', { outputOf: 'ref_not_found' }],
];

async function takeAway([source, damage, expected, config = {}]) {
	const w = await world({ model, config });
	const s = await turn(w.rt);
	for (const text of ['two', 'three']) await turn(w.rt, text, { sessionId: s.sessionId });
	const all = async () => Object.fromEntries(await Promise.all(Object.keys(expected).map(async (name) => [name, await reads[name](w.rt, s)])));
	for (const [name, said] of Object.entries(await all())) assert.ok(['completed', 'idle', 'one'].includes(said), `${source}: ${name}: ${said}`);
	await w.rt.stop();
	if (damage === 'tasks') sql(w.dataDir, ['DELETE FROM task']);
	else execute(w.dataDir, damage);
	w.rt = await w.again();
	if (expected === LOST) await call(w.rt, 'get_session', { sessionId: s.sessionId }); // somebody looks
	assert.deepEqual(await all(), expected, source);
	await w.rt.stop();
}

test('RM-25 facts are taken away in turn: the first, the last, some, all, their bytes; no answer is a success', async () => {
	for (const row of stored.filter(([, damage]) => damage.startsWith('log'))) await takeAway(row);
});

test('RM-25 what is stored beside the facts is taken away in turn: snapshot, rows, contents; no answer is a success', async () => {
	for (const row of stored.filter(([, damage]) => !damage.startsWith('log'))) await takeAway(row);
});

// What is taken away of that which the runtime asks: who knows a number, a person, a peer, a program.
const asked = {
	'the token counts of the model': async () => {
		const w = await world({ model, config: { models: priced() } });
		const amount = async (text) => (await ok(w.rt, 'get_session', { sessionId: (await turn(w.rt, text)).sessionId })).threads[0].costState;
		const [known, not] = [await amount('[[say x]]'), await amount('[[no-usage]][[say x]]')];
		return [w, [known.state, typeof known.amount], [not.state, not.amount], ['recorded', 'number'], ['unknown', 'unknown']];
	},
	'the price of the model': async () => {
		const w = await world({ model, config: { models: [...priced(), { name: 'bare', provider: 'openai-chat', model: 'wire', base_url: model.url }] } });
		const cost = async (of) => {
			const { costState, modelRouting } = (await ok(w.rt, 'get_session', { sessionId: (await turn(w.rt, '[[say x]]', { options: { model: of } })).sessionId })).threads[0];
			assert.equal(modelRouting.selectedModel, of);
			return [costState.state, typeof costState.amount === 'number' ? 'number' : costState.amount];
		};
		return [w, await cost('priced'), await cost('bare'), ['recorded', 'number'], ['unknown', 'unknown']];
	},
	'the model': async () => {
		const w = await world({ model, config: { 'model.max_attempts': 1 } });
		const status = async (text) => statusOf(w.rt, await turn(w.rt, text));
		return [w, await status('[[say x]]'), await status('[[fail-times 9 http 500]]'), 'completed', 'failed'];
	},
	'the settings of the model that a turn names': async () => {
		const w = await world({ model, config: { models: priced() } });
		const asks = () => word(w.rt, 'submit_turn', { createPolicy: {}, text: '[[say x]]', options: { model: 'priced' } }, (b) => b.status ?? 'accepted');
		const known = await asks();
		await w.rt.stop();
		w.rt = await w.again({ config: { models: priced({ name: 'other' }) } });
		return [w, known, await asks(), 'accepted', 'invalid_input'];
	},
	'the peer of a channel': async () => {
		const w = await world({ model });
		const s = await turn(w.rt);
		await ok(w.rt, 'connect_channel', { transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming', 'resume'], sessionId: s.sessionId });
		const status = () => word(w.rt, 'get_session', { sessionId: s.sessionId }, (b) => b.channelSummary.channels[0].status);
		const known = await status();
		await w.rt.kill9();
		w.rt = await w.again();
		return [w, known, await status(), 'connected', 'disconnected'];
	},
	'the folder of the workspace': async () => {
		const workspace = newWorkspace();
		const w = await world({ model, config: configOf(workspace) });
		const runs = async () => {
			const s = await turn(w.rt, shell('true'));
			return word(w.rt, 'get_session', { sessionId: s.sessionId }, (b) => b.threads[0].toolCalls[0].status);
		};
		const known = await runs();
		rmSync(workspace, { recursive: true });
		return [w, known, await runs(), 'ok', 'failed'];
	},
	'the supervisor of a process': async () => {
		const workspace = newWorkspace();
		const w = await world({ model, config: configOf(workspace) });
		const s = await submit(w.rt, shell('echo begun; sleep 97; exit 0'));
		const folder = await waitFor(() => foldersOf(w.dataDir).find((f) => recordsIn(f) > 4), 'the process');
		const status = () => word(w.rt, 'find_processes', { withEnded: true }, (b) => `${b.processes[0].status} ${b.processes[0].exitCode === 0 ? 'with 0' : 'without 0'}`);
		const known = await waitFor(async () => (await status()).startsWith('running') && status(), 'the process in the list');
		kill9(shimOf(folder));
		await ended(w.rt, s.sessionId, s.turnId);
		return [w, known, await status(), 'running without 0', 'failed without 0'];
	},
};

test('RM-25 each source that the runtime asks is taken away in turn: model, counts, price, settings, peer, folder, supervisor; no answer is a success', async () => {
	for (const [source, run] of Object.entries(asked)) {
		const [w, known, not, expected, honest] = await run();
		await w.rt.stop();
		assert.deepEqual([known, not], [expected, honest], source);
	}
});
