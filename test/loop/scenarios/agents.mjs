// Turns whose model has children: each is spawned once and ends once, whatever is killed in between.
import assert from 'node:assert/strict';

/** A directive inside the arguments of another one. */
const inner = (text) => JSON.stringify(text).replaceAll(']', '\\u005d').slice(1, -1);
const spawn = (objective, more = '') => `[[tool spawn_agent {"objective":"${inner(objective)}"${more}}]]`;

function checkChildren(play) {
	const spawned = play.facts('subagent.spawned');
	const ends = play.facts('subagent.completed', 'subagent.failed');
	assert.equal(new Set(spawned.map((e) => e.payload.toolCallId)).size, spawned.length, 'one child per call');
	for (const { subagentId, payload, sequence } of spawned) {
		assert.equal(ends.filter((e) => e.subagentId === subagentId).length, 1, `${subagentId} ends once`);
		assert.ok(play.facts('task.delegated').some((e) => e.payload.targetId === subagentId), 'AN-28 it is in the graph');
		const started = play.facts('turn.started').find((e) => e.threadId === payload.childThreadId);
		assert.ok(started.sequence > sequence, 'it runs after it is on record');
	}
}

export default [
	{
		name: 'AC-07 two children of a model: one completes, one fails',
		config: { 'subagents.tools': true, 'model.max_attempts': 1 },
		tools: {},
		steps: [{ submit: 'a', text: `${spawn('[[say good]]')}${spawn('[[http 400]]')}[[then]][[say all ended]]` }],
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^all ended$/ },
			facts: { 'subagent.spawned': 2, 'subagent.completed': 1, 'subagent.failed': 1, 'subagent.input': 2, 'tool.result': 2, 'tool.failed': 0 },
			always: ['subagent.spawned', 'subagent.completed', 'tool.result'], never: ['action.required', 'subagent.closed'],
		},
		check: (play) => {
			checkChildren(play);
			assert.equal(play.facts('subagent.spawned').length, 2);
			assert.equal(play.facts('tool.result').length, 2, 'no call is answered twice');
		},
	},
	{
		name: 'AC-07 a child that has a child of its own',
		config: { 'subagents.tools': true },
		tools: {},
		steps: [{ submit: 'a', text: `${spawn('[[tool spawn_agent {"objective":"leaf"}]][[say top]]')}[[then]][[say done]]` }],
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^done$/ },
			facts: { 'subagent.spawned': 2, 'subagent.completed': 2, 'tool.result': 2 }, always: ['subagent.completed'], never: ['subagent.failed'],
		},
		check: checkChildren,
	},
];
