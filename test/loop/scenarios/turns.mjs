// Turns without people: words only, tools that read and tools that write, a result that is large.
const call = (name, q) => `[[tool ${name} {"q":"${q}"}]]`;
const LARGE = 'x'.repeat(2 * 1024 * 1024);

export default [
	{
		name: 'a plain turn',
		steps: [{ submit: 'a', text: 'good morning' }],
		takeover: { when: 'model.requested' },
		expects: { ends: { a: 'turn.completed' }, says: { a: /^You said: good morning$/ }, facts: { 'model.requested': 1, 'tool.started': 0 } },
	},
	{
		name: 'a long answer',
		steps: [{ submit: 'a', text: '[[tokens 3000]]' }],
		takeover: { when: 'model.requested' },
		expects: { ends: { a: 'turn.completed' }, says: { a: /^w0 w1 .* w2999 $/ }, facts: { 'model.requested': 1 } },
	},
	{
		name: 'AC-20 two reads, a write and a write that may be repeated',
		config: { 'permission.mode': 'bypass' },
		tools: { look: { read_only: true }, see: { read_only: true }, order: {}, put: { method: 'PUT', idempotent: true } },
		steps: [{ submit: 'a', text: call('look', 1) + call('see', 2) + call('order', 3) + call('put', 4) }],
		takeover: { hold: 'order' },
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^The tool said: did put$/ }, effects: { look: 1, see: 1, order: 1, put: 1 },
			facts: { 'tool.result': 4, 'tool.failed': 0, 'model.requested': 2 },
		},
	},
	{
		name: 'AC-03 a large result',
		config: { 'permission.mode': 'bypass', 'tools.max_result_bytes': 16777216, 'context.max_bytes': 33554432, 'context.window_tokens': 0 },
		tools: { fetch_all: { read_only: true, says: LARGE } },
		steps: [{ submit: 'a', text: `${call('fetch_all', 1)}[[say done]]` }],
		takeover: { hold: 'fetch_all' },
		expects: { ends: { a: 'turn.completed' }, says: { a: /^done$/ }, effects: { fetch_all: 1 }, facts: { 'tool.result': 1 } },
		check: async (play) => {
			const [{ payload }] = play.facts('tool.result');
			if (JSON.stringify(payload).length > 8192 || !LARGE.startsWith(payload.preview)) throw new Error('the fact has a short preview');
			if ((await play.bytes(payload.outputRef)) !== LARGE) throw new Error('the ref has every byte');
		},
	},
];
