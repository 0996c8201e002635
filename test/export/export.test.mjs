// agentctl export: a session as a trajectory (ATIF) and as a line of predictions (SWE-bench), read by readers that know nothing of us.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok } from '../lib/runtime.mjs';
import { checkAtif } from './atif.mjs';
import { ctl, facts, HOSTILE, must, place, richSession, turn } from './session.mjs';

let w, rich, log;

before(async () => {
	w = await place();
	rich = await richSession(w);
	log = await facts(w, rich.sessionId);
});

const trajectory = async (sessionId = rich.sessionId) => JSON.parse(await must(w, 'export', sessionId, '--format', 'atif'));
const calls = (doc) => doc.steps.flatMap((s) => s.tool_calls ?? []);
const results = (doc) => doc.steps.flatMap((s) => s.observation?.results ?? []);

test('the trajectory of a session keeps the rules of ATIF 1.7, child agents included', async () => {
	const doc = await trajectory();
	checkAtif(doc);
	assert.deepEqual([doc.schema_version, doc.session_id, doc.agent.name], ['ATIF-v1.7', rich.sessionId, 'agentruntime']);
	assert.ok(doc.agent.tool_definitions.some((t) => t.function.name === 'shell'));
	const [first, second] = doc.steps;
	assert.deepEqual([first.source, second.source, second.message, second.reasoning_content], ['user', 'agent', HOSTILE, 'I think <b>hard</b>']);
	assert.equal(doc.steps.filter((s) => s.source === 'user').length, rich.turns.length);
	const [child] = doc.subagent_trajectories;
	assert.deepEqual(child.steps.map((s) => [s.source, s.message]), [['user', '[[say I am the child]]'], ['agent', 'I am the child']]);
	const spawned = calls(doc).find((c) => c.function_name === 'spawn_agent');
	const [ref] = results(doc).find((r) => r.source_call_id === spawned.tool_call_id).subagent_trajectory_ref;
	assert.equal(ref.trajectory_id, child.trajectory_id);
	const notes = doc.steps.filter((s) => s.source === 'system').map((s) => s.message);
	assert.ok(notes.some((m) => m.includes('Summary: they talked.')) && notes.some((m) => m.includes('The turn ended as failed') && m.includes('<b>refused</b>')), notes.join('\n'));
});

test('AN-33 each call, result, action and process of the log is in the trajectory with its id; tokens add up', async () => {
	const doc = await trajectory(), whole = JSON.stringify(doc);
	for (const fact of log.filter((f) => /^(tool\.(result|failed)|action\.|permission\.resolved|process\.(started|completed)|sandbox\.violation|artifact\.changed|model\.(completed|failed))/.test(f.type))) {
		if (fact.type === 'model.completed' && log.some((f) => f.type === 'model.requested' && f.modelRequestId === fact.modelRequestId && f.payload.purpose === 'compaction')) continue;
		assert.ok(whole.includes(`"${fact.eventId}"`), `${fact.type} ${fact.eventId}`);
		for (const name of ['toolCallId', 'actionId', 'processId']) if (fact[name]) assert.ok(whole.includes(`"${fact[name]}"`), `${name} ${fact[name]}`);
	}
	const asked = log.filter((f) => f.type === 'model.completed').flatMap((f) => f.payload.toolCalls ?? []);
	assert.deepEqual(calls(doc).map((c) => c.tool_call_id), asked.map((c) => c.toolCallId));
	assert.deepEqual(calls(doc).find((c) => c.function_name === 'edit_file').arguments, { path: 'note.txt', oldText: 'two', newText: 'TWO & <2>' });
	assert.match(results(doc)[1].content, /exit code 3[^]*out <i>put<\/i>/);
	const costs = log.filter((f) => f.type === 'cost.recorded' && f.threadId === rich.threadId);
	assert.equal(doc.final_metrics.total_prompt_tokens, costs.reduce((sum, f) => sum + f.payload.inputTokens, 0));
	assert.ok(!('total_cost_usd' in doc.final_metrics), 'the price is not known');
});

test('two exports at one sequence are equal; a call whose arguments are no object is kept as text', async () => {
	assert.equal(await must(w, 'export', rich.sessionId, '--format', 'atif'), await must(w, 'export', rich.sessionId, '--format', 'atif'));
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: w.workspaceId });
	await turn(w, sessionId, '[[tool read_file ["no","object"]]][[then]][[say Done.]]');
	const doc = await trajectory(sessionId);
	checkAtif(doc);
	assert.deepEqual([calls(doc)[0].arguments, JSON.parse(calls(doc)[0].extra.arguments_text)], [{}, ['no', 'object']]);
});

test('a line for SWE-bench: its patch makes the files of before those of after', async () => {
	const line = await must(w, 'export', rich.sessionId, '--format', 'swebench', '--instance', 'a__b-1');
	const prediction = JSON.parse(line);
	assert.equal(line, `${JSON.stringify(prediction)}\n`);
	assert.deepEqual(Object.keys(prediction), ['instance_id', 'model_name_or_path', 'model_patch']);
	assert.deepEqual([prediction.instance_id, prediction.model_name_or_path], ['a__b-1', 'default']);
	const repo = newFolder();
	mkdirSync(repo, { recursive: true });
	writeFileSync(join(repo, 'note.txt'), 'one\ntwo\nthree\n');
	execFileSync('git', ['init', '-q', repo]);
	execFileSync('git', ['-C', repo, 'apply', '-'], { input: prediction.model_patch });
	assert.equal(readFileSync(join(repo, 'note.txt'), 'utf8'), readFileSync(join(w.root, 'note.txt'), 'utf8'));
});

test('what cannot be exported is said: another format, no format, an empty session, no such session', async () => {
	for (const [args, words] of [[[rich.sessionId, '--format', 'pdf'], /no format 'pdf'/], [[rich.sessionId], /a format is needed/]]) {
		const { code, err } = await ctl(w, 'export', ...args);
		assert.equal(code, 2);
		assert.match(err, words);
	}
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const empty = await ctl(w, 'export', sessionId, '--format', 'atif');
	assert.deepEqual([empty.code, empty.out.length], [1, 0]);
	assert.match(empty.err, /nothing to export/);
	const unknown = await ctl(w, 'export', 'sess_01m7pzrmyveqd9h785a8s2hatf', '--format', 'atif');
	assert.deepEqual([unknown.code, unknown.out.length], [1, 0]);
});
