// Which model answers: the only one, the next one when the first is at its limit, none; and what a turn may use.
import assert from 'node:assert/strict';

const entry = (play, name, more = {}) => ({ name, provider: 'openai-chat', model: `${name}-wire`, base_url: play.model.url, ...more });

export default [
	{
		name: 'AC-14 AC-23 one model',
		config: (play) => ({ models: [entry(play, 'only')] }),
		steps: [{ submit: 'a', text: 'hello' }],
		takeover: { when: 'routing.single_candidate' },
		expects: { ends: { a: 'turn.completed' }, always: ['routing.single_candidate', 'cost.recorded'], never: ['routing.fallback.applied'] },
		check: async (play) => {
			const { modelRouting, limitState, costState } = await play.thread();
			assert.deepEqual([modelRouting.singleCandidate, modelRouting.candidateCount, modelRouting.selectedModel, modelRouting.capabilityGap], [true, 1, 'only', 'none']);
			assert.deepEqual([modelRouting.decisionReason, limitState.state, costState.amount], ['the only one that can answer', 'ok', 'unknown']);
		},
	},
	{
		name: 'AC-15 AC-23 a model at its limit, and the one that steps in',
		config: (play) => ({ models: [entry(play, 'first'), entry(play, 'second')], 'model.max_attempts': 4 }),
		steps: [{ submit: 'a', text: '[[fail-times 1 http 429 retry-after=1]] hello' }],
		takeover: { when: 'rate_limit.hit' },
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^You said: hello$/ }, always: ['routing.decided', 'cost.recorded'],
			facts: { 'rate_limit.hit': 1, 'routing.fallback.applied': 1, 'model.failed': 1 },
		},
		check: (play) => {
			for (const hit of play.facts('rate_limit.hit')) {
				const failed = play.facts('model.failed').find((e) => e.modelRequestId === hit.modelRequestId);
				assert.ok(failed && hit.payload.requestId, 'the limit names the call that met it');
				assert.ok(play.model.log(hit.turnId).length > 0);
			}
			for (const hop of play.facts('routing.fallback.applied')) assert.deepEqual([hop.payload.from.model, hop.payload.to.model], ['first', 'second']);
		},
	},
	{
		name: 'AC-23 no model that can',
		config: (play) => ({ models: [entry(play, 'blind', { capabilities: ['tools'] })] }),
		steps: [{ submit: 'a', input: [{ type: 'text', text: 'what is this?' }, { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }] }],
		expects: { ends: { a: 'turn.failed' }, always: ['routing.not_possible'], never: ['model.requested'] },
		check: async (play) => {
			const { summary } = await play.must('explain', { id: play.id('a'), sessionId: play.sessionId });
			assert.match(summary, /no model|no_candidate/);
		},
	},
	{
		name: 'AC-15 a turn that calls for ever, and its budget',
		config: { 'permission.mode': 'bypass' },
		tools: { look: { read_only: true } },
		steps: [{ submit: 'a', text: '[[tool look {"q":"$n"}]][[loop]]', options: { budget: { toolCalls: 2 } } }, { answer: 'stop' }],
		takeover: { when: 'quota.blocked' },
		expects: { ends: { a: 'turn.failed' }, facts: { 'quota.blocked': 1, 'tool.result': 2 }, always: ['quota.blocked'] },
		check: (play) => {
			const done = new Set(play.facts('model.completed').map((e) => e.stepId));
			const told = play.model.log().filter((c) => done.has(c.step)).reduce((n, c) => n + c.usage.input + c.usage.output, 0);
			const recorded = play.facts('cost.recorded').reduce((n, e) => n + e.payload.inputTokens + e.payload.outputTokens, 0);
			assert.equal(recorded, told, 'the cost is exact, to the token');
			assert.ok(play.service.requests.length <= 2, 'what is tried again is counted too');
			assert.equal(play.follower.end(play.id('a')).payload.error.category, 'budget_exhausted');
		},
	},
];
