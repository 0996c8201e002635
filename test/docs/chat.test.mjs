// The conversation of the README, as it stands.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBlock } from './block.mjs';

test('README: a conversation in a pipe', async (t) => {
	const { out, home, ctl } = await runBlock(t, 'chat');
	assert.equal(out, 'You said: Name a colour.\nYou said: And another.\nYou said: And a third.\n');
	const events = readFileSync(join(home, 'events.ndjson'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
	assert.equal(events.at(-1).type, 'turn.completed');
	assert.equal(JSON.parse(ctl('sessions', '--json')).sessions.length, 2, 'the third line went on with the first session');
});
