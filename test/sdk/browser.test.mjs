// The example page in a headless Chromium: the same client, the same facts. With a node killed in the middle: cluster_page.test.mjs.
// ci: release only
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { world } from '../lib/runtime.mjs';
import { chromium } from './chromium.mjs';
import { ask } from './page.mjs';
import { servePage } from './sdk.mjs';

const skip = !chromium && 'there is no Chromium here';

test('the page shows the answer as it is stored, and its client has every fact', { skip }, async () => {
	const { rt } = await world();
	const { shown } = await ask(await servePage([rt.url]), '[[delay 5]][[utf8]]', rt);
	assert.equal(shown.text, 'héllo 日本語 👩‍👩‍👧‍👦 e\u0301 🇨🇭 مرحبا 😀');
});
