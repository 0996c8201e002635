// The OpenAI provider against a real model.
// ci: own stage (it waits for a model library of others)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertEnd, probe } from './probe.mjs';
import { startLlama } from './start_llama.mjs';

test('a real model writes, stops at its limit and can be cancelled', async (t) => {
	const { baseUrl, stop } = await startLlama();
	t.after(stop);
	const options = '{"maxOutputTokens":48,"temperature":0,"seed":1}';
	const runs = await Promise.all([1, 2].map(() => probe('Once upon a time', { baseUrl, options })));
	for (const run of runs) {
		assert.equal(run.done.outcome, 'completed', JSON.stringify(run.done));
		assert.ok(run.text.trim().split(/\s+/).length > 8, run.text);
		assert.ok(run.done.hasUsage && run.done.outputTokens > 0 && run.done.outputTokens <= 48);
		assert.ok(run.lines.length > 10, 'streamed in pieces');
	}
	const cut = await probe('Once upon a time', { baseUrl, options: '{"maxOutputTokens":400}', cancelAfter: 5 });
	assertEnd(cut, { outcome: 'cancelled' });
});
