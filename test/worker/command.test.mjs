// agentctl worker: makes, lists, shows, drains and removes workers.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { lines, Place } from '../ctl/place.mjs';

let place;

const worker = (...words) => place.ctl('worker', ...words);
async function good(...words) {
	const { code, out, err } = await worker(...words);
	assert.equal(code, 0, err);
	return { out, err };
}

beforeEach(async () => {
	place = await Place.make();
	assert.equal((await place.ctl('run', '--no-workspace', '[[say start]]')).code, 0);
});
afterEach(() => place.end());

test('create prints the enrolment token alone; the worker is listed, shown, drained and removed', async () => {
	assert.match((await good('list')).err, /^agentctl: there are no workers; `agentctl worker create NAME` makes one/);
	const { out, err } = await good('create', 'laptop', '--labels', 'zone=home,gpu=none', '--key', 'k');
	assert.match(out, /^art_[0-9a-z]{16}_[0-9a-z]{52}\n$/);
	const [id] = /wk_\w{26}/.exec(err);
	assert.ok(!err.includes(out.trim()));
	const again = await good('create', 'laptop', '--labels', 'zone=home,gpu=none', '--key', 'k');
	assert.equal(again.out, '');
	assert.match(again.err, new RegExp(`${id} was created by an earlier call`));
	const table = lines((await good('list')).out);
	assert.match(table[0], /^WORKER +NAME +STATE +CHANGED +LABELS$/);
	assert.match(table[1], new RegExp(`^${id}  laptop +not enrolled +\\S.* +\\{"zone":"home","gpu":"none"\\}$`));
	assert.match((await good('show', id)).out, new RegExp(`^worker     ${id}\nname       laptop\n[^]*\nstatus     not enrolled\nnow        (unknown|away)\n`));
	const { token } = await place.json('call', 'create_token', '{"name":"x","scopes":["read"]}');
	assert.ok(token);
	assert.equal((await place.json('worker', 'drain', id)).worker.draining, true);
	assert.equal((await place.json('worker', 'undrain', id)).worker.draining, false);
	assert.match((await good('remove', id, '--reason', 'sold')).out, new RegExp(`^${id} +removed$`, 'm'));
	assert.match((await good('remove', id)).out, /was removed before/);
	assert.equal((await good('list')).out, '');
	assert.match((await good('list', '--all')).out, new RegExp(`^${id}  laptop +removed `, 'm'));
});

test('mistakes are told: no name, no such worker, labels without values', async () => {
	for (const words of [['create'], ['show'], ['list', 'x'], ['paint', 'x'], ['create', 'x', '--labels', 'zone']]) assert.equal((await worker(...words)).code, 2, words.join(' '));
	const { code, err } = await worker('show', 'wk_0000000000mqqqqqqqqqqqqqqq');
	assert.equal(code, 1);
	assert.match(err, /there is no such worker/);
});
