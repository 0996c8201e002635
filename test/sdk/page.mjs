// The example page in a headless Chromium, asked a question and compared with what the server has.
import assert from 'node:assert/strict';
import { ok, waitFor } from '../lib/runtime.mjs';
import { launch } from './chromium.mjs';
import { Fold, storedText } from './fold.mjs';

const STATUS = "({ ...document.querySelector('#status')?.dataset, text: document.querySelector('#answer')?.textContent })";

/** The state of the page once `isThere` says that it is what is waited for. */
const shownIn = (page, isThere, label) =>
	waitFor(async () => {
		const state = await page.evaluate(STATUS);
		return isThere(state) && state;
	}, label, 60000);

/** Every event of the session until its turn has ended, as an iterator in the page gets them while it happens. */
const collect = (page, sessionId) =>
	page.evaluate(`(async () => {
		const events = [];
		for await (const event of client.events({ sessionId: '${sessionId}' })) {
			events.push(event);
			if (event.type === 'thread.updated' && event.payload.reason === 'turn_ended') break;
		}
		return events;
	})()`);

/** Asks in the page, does what `meanwhile` says, and compares what is shown and what was collected with what the server has. */
export async function ask(base, question, server, meanwhile = async () => {}) {
	const page = await launch().open(`${base}${base.includes('?') ? '&' : '?'}ask=${encodeURIComponent(question)}`);
	const { sessionId } = await shownIn(page, (state) => state.sessionId, 'the receipt in the page');
	const collecting = collect(page, sessionId);
	await meanwhile();
	const shown = await shownIn(page, ({ state, turnId }) => state !== 'running' && turnId, 'the end in the page');
	const { threads } = await ok(server, 'get_session', { sessionId });
	assert.equal(shown.state, 'completed');
	assert.equal(shown.text, await storedText(server, { ...shown, threadId: threads[0].threadId }));
	const fold = new Fold();
	for (const event of await collecting) fold.take(event);
	await fold.check(server, sessionId);
	return { fold, shown };
}
