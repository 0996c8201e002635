// What waits behind a turn, and what a conversation keeps when it is shortened.
import assert from 'node:assert/strict';

const call = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;

export default [
	{
		name: 'AC-05 AC-21 a queue that is put in another order',
		tools: { order: {} },
		steps: [
			{ submit: 'a', text: call('order', 1) },
			{ until: 'action.required' },
			{ refused: 'thread_busy_rejected', send: 'submit_turn', input: { text: 'now', busyPolicy: 'reject' } },
			{ submit: 'b', text: 'second' }, { submit: 'c', text: 'third' }, { submit: 'd', text: 'fourth' },
			{ send: 'promote_queued_turn', input: (play) => ({ queuedTurnId: play.id('d') }) },
			{ answer: 'allow', of: 'order' },
		],
		lost: 'mark_done',
		takeover: { when: 'queue.changed' },
		expects: { ends: { a: 'turn.completed', b: 'turn.completed', c: 'turn.completed', d: 'turn.completed' }, effects: { order: 1 }, always: ['queue.changed'] },
		check: (play) => {
			const begun = [...new Set(play.facts('turn.started').map((e) => e.turnId))];
			assert.deepEqual(begun, ['a', 'd', 'b', 'c'].map((name) => play.id(name)));
		},
	},
	{
		name: 'AC-06 CX-02 a conversation that is shortened while a question is open',
		config: { 'context.window_tokens': 1000 },
		tools: { order: {} },
		steps: [
			{ submit: 'a', text: 'my name is Ada [[tokens 250]]' }, { ended: 'a' },
			{ submit: 'b', text: 'I live in Bern [[tokens 250]]' }, { ended: 'b' },
			{ submit: 'c', in: 'new thread', text: call('order', 1) }, { until: 'action.required' },
			{ send: 'compact_thread', input: (play) => ({ threadId: play.names.get('a').threadId }), gives: 'shorter' },
			{ until: 'context.compaction.completed' },
			{ answer: 'allow', of: 'order' },
			{ ended: 'c' },
			{ submit: 'd', text: 'who am I?', in: 'a' },
		],
		takeover: { when: 'context.compaction.started' },
		expects: { ends: { c: 'turn.completed', d: 'turn.completed', shorter: 'turn.completed' }, effects: { order: 1 }, facts: { 'context.compaction.started': 1 } },
		check: async (play) => {
			const [completed, ...more] = play.facts('context.compaction.completed');
			const [question, ...others] = play.questions();
			assert.deepEqual([more.length, others.length], [0, 0]);
			assert.deepEqual(completed.payload.preserved.actionIds, [question.actionId]);
			const asked = play.model.log(play.id('d')).at(-1).body.messages.map((m) => m.content?.[0]?.text ?? m.content);
			assert.ok(asked.some((text) => text.includes('Summary: they talked.')) && !asked.some((text) => text.includes('Ada')));
			assert.equal((await play.thread('a')).contextBoundary.state, 'compacted');
		},
	},
];
