// Turns in which somebody has a word: people who are asked, rules and modes that refuse, hooks that rewrite and block, a client that runs the tool.
import assert from 'node:assert/strict';

const call = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;
/** The call that did not run: why is told by `explain`, and named in what is read of the thread. */
async function refusal(play, words) {
	const [failed] = play.facts('tool.failed');
	const { summary, reasons } = await play.must('explain', { id: failed.toolCallId });
	assert.match([summary, ...reasons.map((r) => r.text)].join('\n'), words);
	const { toolCalls, permissionState } = await play.thread();
	const mine = (e) => e.toolCallId === failed.toolCallId;
	return { status: toolCalls.find(mine).status, category: toolCalls.find(mine).errorCategory, judged: permissionState.decisions.find(mine) };
}

export default [
	{
		name: 'AC-04 AC-21 an approval that is given',
		tools: { order: {} },
		steps: [{ submit: 'a', text: call('order', 1) }, { answer: 'allow', of: 'order' }],
		takeover: { when: 'action.required' },
		expects: { ends: { a: 'turn.completed' }, effects: { order: 1 }, facts: { 'tool.result': 1 }, always: ['permission.requested'] },
		check: (play) => {
			const [required, ...more] = play.questions();
			const [resolved] = play.facts('permission.resolved');
			assert.equal(more.length, 0, 'it is asked once');
			assert.equal(play.facts('action.resolved')[0].actionId, required.actionId);
			for (const e of play.facts('tool.started')) assert.equal(e.payload.permissionRef, resolved.eventId);
		},
	},
	{
		name: 'AC-04 AC-21 an approval that is refused',
		tools: { order: {} },
		steps: [{ submit: 'a', text: call('order', 1) }, { answer: 'deny', of: 'order' }],
		takeover: { when: 'action.required' },
		expects: { ends: { a: 'turn.completed' }, effects: { order: 0 }, facts: { 'action.required': 1 }, always: ['permission.resolved'], never: ['tool.result'] },
		check: async (play) => assert.equal((await refusal(play, /den/)).status, 'denied'),
	},
	{
		name: 'AC-11 a write that a rule forbids',
		config: { 'permission.mode': 'bypass', permission_rules: [{ name: 'no-orders', effect: 'deny', tool: 'order' }] },
		tools: { order: {}, look: { read_only: true } },
		steps: [{ submit: 'a', text: call('order', 1) + call('look', 2) }],
		expects: { ends: { a: 'turn.completed' }, effects: { order: 0, look: 1 }, facts: { 'tool.result': 1, 'tool.failed': 1 }, never: ['action.required'] },
		check: async (play) => {
			const { status, judged } = await refusal(play, /no-orders/);
			assert.deepEqual([status, judged.decision, judged.decisionSource, judged.ruleRefs], ['denied', 'deny', 'host_policy', ['no-orders']]);
		},
	},
	{
		name: 'AC-11 a write in a mode that only plans',
		config: { 'permission.mode': 'plan' },
		tools: { order: {} },
		steps: [{ submit: 'a', text: call('order', 1) }],
		expects: { ends: { a: 'turn.completed' }, effects: { order: 0 }, facts: { 'tool.failed': 1 }, never: ['tool.result', 'action.required'] },
		check: async (play) => {
			const { status, judged } = await refusal(play, /plan/);
			assert.deepEqual([status, judged.decision, judged.decisionSource, judged.mode], ['denied', 'deny', 'mode', 'plan']);
		},
	},
	{
		name: 'AC-12 a hook that rewrites',
		config: { 'permission.mode': 'bypass' },
		tools: { put: { method: 'PUT', idempotent: true } },
		hooks: [{ name: 'rewrite', point: 'pre_tool_use', says: { updatedInput: { q: 'rewritten' } } }, { name: 'tell', point: 'post_tool_use' }],
		steps: [{ submit: 'a', text: call('put', 'original') }],
		takeover: { hold: 'put' },
		expects: { ends: { a: 'turn.completed' }, effects: { put: 1 }, facts: { 'hook.started': 2, 'hook.completed': 2 }, always: ['tool.result'] },
		check: async (play) => {
			const run = play.facts('hook.completed').find((e) => e.payload.updatedInputRef);
			const [result] = play.facts('tool.result');
			for (const { body } of play.service.requests) assert.deepEqual(JSON.parse(body), { q: 'rewritten' });
			assert.deepEqual(await Promise.all([run.payload.originalInputRef, run.payload.updatedInputRef].map((ref) => play.bytes(ref))),
				['{"q":"original"}', '{"q":"rewritten"}']);
			assert.ok(result.payload.hookRunRefs.includes(run.payload.hookRunRef), 'the result names the run');
		},
	},
	{
		name: 'AC-11 AC-12 a hook that blocks',
		config: { 'permission.mode': 'bypass' },
		tools: { order: {} },
		hooks: [{ name: 'freeze', point: 'pre_tool_use', match: 'order', says: { decision: 'block', reason: 'orders are frozen' } }],
		steps: [{ submit: 'a', text: call('order', 1) }],
		expects: { ends: { a: 'turn.completed' }, effects: { order: 0 }, says: { a: /orders are frozen/ }, always: ['hook.completed'], never: ['tool.result'] },
		check: async (play) => {
			const { status, category } = await refusal(play, /frozen|freeze/);
			assert.deepEqual([status, category], ['blocked', 'blocked_by_hook']);
		},
	},
	{
		name: 'a tool that the client runs',
		config: { 'permission.mode': 'bypass' },
		steps: [
			{ submit: 'a', text: call('mine', 1), options: { tools: [{ name: 'mine', description: 'Does it.', inputSchema: { type: 'object' } }] } },
			{ report: 'mine', output: 'done by me' },
		],
		takeover: { when: 'tool.started' },
		expects: { ends: { a: 'turn.completed' }, says: { a: /done by me/ }, always: ['tool.result'], facts: { 'tool.started': 1 }, never: ['tool.failed'] },
	},
];
