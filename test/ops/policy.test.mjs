// The policy of the host comes from the settings. What of it is another than in the run before is a fact of the runtime's own session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { homeOf } from '../lib/home.mjs';
import { newFolder, ok, readLog, startAgentd, waitFor } from '../lib/runtime.mjs';

const home = homeOf('local');
const dataDir = newFolder();
const rules = [{ name: 'no-push', effect: 'deny', tool: 'shell', command: 'git push' }];

/** The facts of a run with these settings, once there are `count`; nothing is told after them: the next run would show it. */
async function run(config, count, end = 'stop') {
	const rt = await startAgentd({ dataDir, config });
	const log = () => readLog(rt, home).catch((error) => (assert.match(error.message, /session_not_found/), [])); // its first fact is on its way
	const facts = async () => (await log()).map((f) => f.event).filter((e) => e.type === 'policy.changed');
	const told = count && (await waitFor(() => facts().then((all) => all.length >= count && all), `${count} facts`));
	const contents = told && (await Promise.all(told.map(async ({ payload }) => JSON.parse((await ok(rt, 'read_output', { outputRef: payload.policyRef })).content))));
	await rt[end]();
	return { told, contents };
}

test('OPEN-13 HK-16 settings that differ from those of the run before are one policy.changed of the host, in the runtime\'s own session', async () => {
	await run({}, 0);
	await run({ permission_rules: rules, 'permission.mode': 'never' }, 1, 'kill9');
	await run({ permission_rules: rules, 'permission.mode': 'never' }, 1);
	await run({ permission_rules: rules, 'permission.mode': 'never', 'queue.max_turns': 7 }, 1);
	const { told, contents } = await run({ 'budget.turn_tokens': 5000 }, 2);
	const { told: [first, second, third], contents: [, , preset] } = await run({}, 3);
	assert.deepEqual(contents, [{ 'permission.mode': 'never', permission_rules: rules }, { 'budget.turn_tokens': 5000 }]);
	assert.deepEqual(told.map((e) => e.eventId), [first.eventId, second.eventId], 'runs with the same policy told nothing');
	assert.deepEqual(preset, {});
	assert.deepEqual([first, second, third].map((e) => [e.sessionId, e.payload.scope, e.payload.previousPolicyRef, e.payload.changedBy]), [third.payload.policyRef, first.payload.policyRef, second.payload.policyRef].map((before) => [home, 'host', before, { accountRef: 'system', reason: 'the settings of a start' }]));
});
