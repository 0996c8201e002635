// The example page in a headless Chromium against three nodes, of which the one that works for it is killed in the middle.
// ci: own stage
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder, ok, sleep, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { chromium } from './chromium.mjs';
import { ask } from './page.mjs';
import { servePage } from './sdk.mjs';

const skip = (!chromium && 'there is no Chromium here') || (!process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL');

/** Asks in the page while the node that works for it is killed. */
async function killedMeanwhile(base, nodes, model) {
	const { fold } = await ask(base, '[[delay 30]][[tokens 100]]', nodes[1], async () => {
		await waitFor(() => model.log()[0], 'the model call');
		await sleep(700);
		await nodes[0].kill9();
	});
	assert.equal(fold.facts.filter(({ type }) => type === 'turn.submitted').length, 1);
	assert.ok(fold.facts.some(({ type }) => type === 'model.failed'), 'the kill came in the middle');
}

async function cluster(more = {}) {
	const model = await startModel();
	const env = storeOf(newFolder());
	const start = (name) => startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { 'cluster.lease_ms': 1500, 'model.backoff_ms': 10, ...more } });
	return { model, nodes: [await start('a'), await start('b'), await start('c')] };
}

test('EV-22 the page goes on when the node that works for it is killed', { skip }, async () => {
	const { model, nodes } = await cluster();
	await killedMeanwhile(await servePage(nodes.map(({ url }) => url)), nodes, model);
});

for (const [how, more] of [['', ''], ['over WebSocket', '&ws']]) {
	test(`a page of another origin that is let in asks the nodes itself ${how}`, { skip }, async () => {
		const page = await servePage([]);
		const { model, nodes } = await cluster({ 'http.origins': new URL(page).origin });
		const { token } = await ok(nodes[0], 'create_token', { name: 'page', scopes: ['read', 'submit'] });
		await killedMeanwhile(`${page}?url=${nodes.map(({ url }) => url).join(',')}&token=${token}${more}`, nodes, model);
	});
}
