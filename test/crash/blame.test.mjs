// Which turn is blamed when the process dies again and again: the one that was being worked on. The others go on, and about that one a person is
// asked. AGENTD_FAULT=engine.output:1 ends the process at the first word that a model says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, follow, newFolder, ok, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';

const model = await startModel();
const isPostgres = Boolean(process.env.AR_TEST_POSTGRES);
const FAULT = 'engine.output:1';
const thread = async (rt, sessionId) => (await ok(rt, 'get_session', { sessionId })).threads[0];
const asked = async (rt) => (await ok(rt, 'list_actions', {})).actions;

/** A session whose model never answers, and one whose model's first word ends the process, until that one is blocked. */
async function blocked(maxRestarts) {
	const dataDir = newFolder();
	const again = (more) => startAgentd({ dataDir, model, config: { 'recovery.max_restarts': maxRestarts }, ...more });
	const first = await again({ fault: FAULT });
	const bystander = await submit(first, '[[hang]] nothing', { turnId: `bystander-${maxRestarts}` });
	await waitFor(() => model.log(bystander.turnId).length === 1, 'its call');
	const culprit = await submit(first, 'words', { turnId: `culprit-${maxRestarts}` });
	await first.gone;
	for (let i = 1; i <= maxRestarts; i++) {
		const rt = await again({ fault: FAULT, mayDie: true });
		await rt.gone;
	}
	const rt = await again();
	await waitFor(async () => (await thread(rt, culprit.sessionId)).status === 'blocked', 'a blocked thread');
	return { rt, dataDir, bystander, culprit };
}

test('the turn that the process died at is blocked and asked about; a bystander goes on, and --all-blocked resumes', { skip: isPostgres }, async () => {
	const { rt, dataDir, bystander, culprit } = await blocked(2);
	const other = await thread(rt, bystander.sessionId);
	assert.deepEqual([other.status, other.turns[0].restarts], ['running', 0]);
	const held = await thread(rt, culprit.sessionId);
	assert.deepEqual([held.statusReason, held.activeTurnId, held.turns[0].restarts], ['crash_loop', culprit.turnId, 2]);
	const { agentd_turns_running: running, agentd_turns_waiting: waiting } = await scrape(rt);
	assert.deepEqual([running, waiting], [1, 1], 'a blocked turn waits');

	const [question, ...more] = await asked(rt);
	assert.deepEqual([question.actionType, question.sessionId, question.decisions, more], ['recovery', culprit.sessionId, ['resume', 'interrupt'], []]);
	assert.match(question.title, /died 3 times/);
	const lines = rt.stderr.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
	assert.match(lines.find((l) => l.message.startsWith('a turn is blocked')).detail, new RegExp(culprit.sessionId));

	const reader = await follow(rt, culprit.sessionId);
	const ctl = spawnSync(join(bin, 'agentctl'), ['--data-dir', join(dataDir, 'data'), 'resume', '--all-blocked'], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: dataDir } });
	assert.deepEqual([ctl.status, ctl.stdout], [0, `${culprit.sessionId}  resumed\n`], ctl.stderr);
	assert.equal((await reader.ended(culprit.turnId)).type, 'turn.completed');
	const [, second] = reader.of('task.attempt.started');
	assert.notEqual(second.payload.isBystander, true);
	reader.check();
	const beside = await follow(rt, bystander.sessionId);
	await beside.until(() => beside.of('task.attempt.started').length === 4, 'its attempts');
	assert.ok(beside.of('task.attempt.started').slice(1).every((e) => e.payload.isBystander), 'none of its restarts counts');
	await ok(rt, 'interrupt_turn', { sessionId: bystander.sessionId, reason: 'the end of the test' });
	await rt.stop();
});

test('a blocked turn is ended by the answer interrupt', { skip: isPostgres }, async () => {
	const { rt, bystander, culprit } = await blocked(1);
	const [{ actionId }] = await asked(rt);
	assert.equal((await ok(rt, 'respond_action', { actionId, decision: 'interrupt' })).decision, 'interrupt');
	const reader = await follow(rt, culprit.sessionId);
	assert.equal((await reader.ended(culprit.turnId)).payload.status, 'cancelled');
	assert.deepEqual([(await thread(rt, culprit.sessionId)).status, await asked(rt)], ['idle', []]);
	reader.check();
	await ok(rt, 'interrupt_turn', { sessionId: bystander.sessionId, reason: 'the end of the test' });
	await rt.stop();
});
