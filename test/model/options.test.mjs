// What a turn may say in `options`: the members that the catalogue declares, words that are known, models that are configured. The rest is
// refused before the turn exists, with the name of what is wrong.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, follow, ok, refused, startAgentd, startModel, submit } from '../lib/runtime.mjs';

let model, rt, plain;
before(async () => {
	model = await startModel();
	const entry = (name) => ({ name, provider: 'openai-chat', model: `${name}-wire`, base_url: model.url });
	rt = await startAgentd({ config: { models: [entry('small'), entry('large'), ...Array.from({ length: 40 }, (_, i) => entry(`spare-${i}`))] } });
	plain = await startAgentd({ model });
});

const refuse = async (options, at = rt) => (await refused(at, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'hello', options }, { loose: true })).message;
const sessions = async () => (await ok(rt, 'list_sessions', {})).sessions.length;

test('a model that is not configured is refused with those that are', async () => {
	const before = await sessions();
	assert.equal(await refuse({ model: 'nope' }), "no model 'nope' is configured; configured are: small, large, spare-0, spare-1, spare-2, spare-3, spare-4, spare-5, spare-6 and 33 more");
	assert.match(await refuse({ model: 'smal' }), /^no model 'smal' is configured; did you mean 'small'\? configured are: small, /);
	assert.match(await refuse({ model: 'x'.repeat(5000) }), /^options: 'model' has 5000 bytes and may have at most 1024$/);
	assert.equal(await sessions(), before, 'no turn and no session was made');
	assert.equal(model.log().length, 0, 'no model was asked');
});

test('a configured model, also by the name of its server, answers', async () => {
	for (const name of ['large', 'large-wire', '']) {
		const { sessionId, turnId } = await submit(rt, 'hello', { options: { model: name } });
		const f = await follow(rt, sessionId);
		await f.until(() => f.of('turn.completed').length, 'the answer');
		f.stop();
		assert.equal(model.log(turnId)[0].body.model, name ? 'large-wire' : 'small-wire');
	}
});

test('where one server is configured without a list, it is asked for any model', async () => {
	const { sessionId, turnId } = await submit(plain, 'hello', { options: { model: 'anything' } });
	const f = await follow(plain, sessionId);
	await f.until(() => f.of('turn.completed').length, 'the answer');
	f.stop();
	assert.equal(model.log(turnId)[0].body.model, 'anything');
});

for (const [options, said] of [
	[{ modell: 'small' }, "options has no member 'modell'; did you mean 'model'?"],
	[{ outputSchemas: {} }, "options has no member 'outputSchemas'; did you mean 'outputSchema'?"],
	[{ frobnicate: 1 }, "options has no member 'frobnicate'"],
	[{ model: 7 }, "'options.model' must be a string"],
	[{ mode: ['plan'] }, "'options.mode' must be one of: default, untrusted, on_request, on_failure, never, plan, bypass, auto"],
	[{ sandbox: { name: 'read_only' } }, "'options.sandbox' must be one of: read_only, workspace_write, no_network, allowlisted_network, danger_full_access"],
	[{ tools: 'read_file' }, "'options.tools' must be an array"],
	[{ budget: 5 }, "'options.budget' must be an object"],
	[{ temperature: '1' }, "'options.temperature' must be a number"],
	[{ maxOutputTokens: 1.5 }, "'options.maxOutputTokens' must be an integer"],
	[{ fallback: 'dney' }, "'options.fallback' has no 'dney'; use one of: allow, deny, ask, local_only, host_only"],
	[{ latency: 'soon' }, "'options.latency' has no 'soon'; use one of: interactive, background, batch"],
	[{ budgetClass: 'tiny' }, "'options.budgetClass' has no 'tiny'; use one of: low, medium, high, fixed, unknown"],
]) {
	test(`refused: options ${JSON.stringify(options)}`, async () => {
		assert.equal(await refuse(options), said);
	});
}

test('every declared member is taken', async () => {
	const options = { model: 'small', mode: 'plan', sandbox: 'read_only', tools: [], outputSchema: { type: 'object' }, budget: { tokens: 100000 }, fallback: 'deny',
		budgetClass: 'low', latency: 'batch', temperature: 1, topP: 0.5, maxOutputTokens: 50, stop: ['x'], seed: 7, reasoningEffort: 'low' };
	const { status, body } = await call(rt, 'submit_turn', { createPolicy: {}, text: 'hello', options });
	assert.equal(status, 202, JSON.stringify(body));
});
