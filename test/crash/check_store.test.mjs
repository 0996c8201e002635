// The checker of stores finds what it is there for: a true account of a store passes, and each false one is a violation.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { sql } from '../lib/damage.mjs';
import { call, follow, newFolder, world } from '../lib/runtime.mjs';
import { Journal } from './journal.mjs';

const skip = process.env.AR_TEST_POSTGRES ? 'it reads the file of SQLite' : false;
let dataDir, receipt, facts;

before(async () => {
	if (skip) return;
	const { rt, ...made } = await world();
	dataDir = made.dataDir;
	const { text, body } = await call(rt, 'submit_turn', { createPolicy: {}, turnId: 'one', text: 'hello' });
	const follower = await follow(rt, body.sessionId);
	await follower.ended('one');
	follower.stop();
	[receipt, facts] = [text, follower.facts];
	await rt.kill9();
});

/** A journal that says what happened, but for what is given here. */
function account({ receipt: told = receipt, answer = 'receipt', facts: seen = facts } = {}) {
	const journal = new Journal(join(newFolder(), 'journal.ndjson'));
	journal.sent('one');
	if (answer === 'receipt') journal.receipt(told);
	if (answer === 'refused') journal.refused('one');
	journal.facts({ facts: seen });
	return journal;
}

const changed = (text, from, to) => {
	assert.ok(text.includes(from), text);
	return text.replace(from, to);
};

test('a true account has no violation, and neither has one that waits for an answer', { skip }, () => {
	const { turns, seen } = account().check(dataDir, { isFinal: true });
	assert.deepEqual([turns, seen], [1, facts.length]);
	account({ answer: 'none' }).check(dataDir);
});

for (const [what, lie, violation] of [
	['a receipt of a turn that is not there', () => ({ receipt: changed(receipt, '"turnId":"one"', '"turnId":"other"') }), /acknowledged, and 0 times in the log/],
	['a receipt with another place in the log', () => ({ receipt: changed(receipt, '"sequence":3', '"sequence":4') }), /the receipt says/],
	['a turn that was refused and is there', () => ({ answer: 'refused' }), /nobody was told so/],
	['a fact that was shown and is another', () => ({ facts: facts.map((f) => ({ data: f.data.replace('"source":"api"', '"source":"other"') })) }), /a client saw/],
	['a fact that was shown and is not there', () => ({ facts: [{ data: facts.at(-1).data.replace(/"sequence":\d+/, '"sequence":999') }] }), /the log has null/],
]) {
	test(`a violation: ${what}`, { skip }, () => {
		assert.throws(() => account(lie()).check(dataDir), violation);
	});
}

test('a violation: a turn that nobody was told of when all is done', { skip }, () => {
	assert.throws(() => account({ answer: 'none' }).check(dataDir, { isFinal: true }), /nobody was told so/);
});

test('a violation: the end of a log that is lost, and a gap in it', { skip }, () => {
	sql(dataDir, ['DELETE FROM log WHERE last_seq = (SELECT max(last_seq) FROM log)']);
	assert.throws(() => account({ facts: [] }).check(dataDir, { isFinal: true }), /0 ends/);
	sql(dataDir, ['UPDATE log SET first_seq = 2']);
	assert.throws(() => account({ facts: [] }).check(dataDir), /where 1 is due/);
});
