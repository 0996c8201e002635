// What was refused and what was administered is on record in the tenant's home session; a flood costs a bounded number of facts. And who is
// at the other end of the unix socket is the kernel's word.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { homeOf } from '../lib/home.mjs';
import { newFolder, ok, request, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

async function as(rt, token, command, input = {}) {
	const { status, text } = await request(rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: token ? { authorization: `Bearer ${token}` } : {} });
	return { status, body: JSON.parse(text) };
}

const create = (rt, input) => ok(rt, 'create_token', { name: 'test', scopes: ['read'], ...input }, { via: 'socket' });

/** The facts of a home that are of that type; [] while there is no home. */
async function facts(rt, type, { tenant = 'local', token } = {}) {
	const { status, body } = await as(rt, token, 'get_session', { sessionId: homeOf(tenant), limit: 500 });
	return status === 200 ? body.history.events.filter((event) => event.type === type).map((event) => event.payload) : [];
}

test('refusals and administrative acts are facts of the tenant that they are about', async () => {
	const rt = await startAgentd({ config: { 'limits.token_rate': 20, 'limits.token_burst': 30 } });
	const admin = await create(rt, { scopes: ['admin'], tenant: 'acme', name: 'boss' });
	const reader = await create(rt, { tenant: 'acme', name: 'eye' });
	assert.equal((await as(rt, reader.token, 'create_session')).status, 403);
	const almost = reader.token.replace(/.(?=.{20}$)/, (c) => (c === '0' ? '1' : '0'));
	assert.equal((await as(rt, almost, 'list_sessions')).status, 401);
	await Promise.all(Array.from({ length: 60 }, () => as(rt, reader.token, 'list_sessions')));
	await as(rt, admin.token, 'rotate_token', { tokenId: reader.record.tokenId, graceSeconds: 60 });
	await as(rt, admin.token, 'revoke_token', { tokenId: reader.record.tokenId });
	assert.equal((await as(rt, reader.token, 'list_sessions')).status, 401);

	const seen = await waitFor(async () => {
		const list = await facts(rt, 'access.changed', { tenant: 'acme', token: admin.token });
		return list.length === 4 && list;
	}, 'four acts');
	assert.deepEqual(seen.map((f) => [f.actor, f.command, f.subject]), [
		['local', 'create_token', admin.record.tokenId], ['local', 'create_token', reader.record.tokenId],
		[`token:${admin.record.tokenId}`, 'rotate_token', reader.record.tokenId], [`token:${admin.record.tokenId}`, 'revoke_token', reader.record.tokenId],
	]);
	const refusals = await facts(rt, 'access.refused', { tenant: 'acme', token: admin.token });
	const actor = `token:${reader.record.tokenId}`;
	assert.deepEqual(refusals.map((f) => [f.code, f.actor]).sort(), [['auth_failed', actor], ['not_authorized', actor], ['rate_limited', actor]]);
	assert.equal(refusals.find((f) => f.code === 'not_authorized').command, 'create_session');
	const strangers = await facts(rt, 'access.refused');
	assert.deepEqual(strangers.map((f) => [f.code, f.actor, f.count]), [['auth_failed', 'unknown', 1]]);
	assert.ok(!JSON.stringify([seen, refusals, strangers]).includes(reader.token.split('_')[2]), 'a secret is in a fact');
});

test('a flood of strangers costs one fact a minute', async () => {
	const rt = await startAgentd({ config: { 'auth.required': true } });
	for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 100 }, () => as(rt, `art_${'0'.repeat(16)}_${'0'.repeat(52)}`, 'list_sessions')));
	const { token } = await create(rt, { scopes: ['admin'] });
	const list = await waitFor(async () => {
		const found = await facts(rt, 'access.refused', { token });
		return found.length && found;
	}, 'the first');
	assert.equal(list.length, 1, `${list.length} facts of 1000 refusals`);
});

test('the unix socket knows its user: another one is not the operator, unless the configuration says so', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
	const ask = (rt) => {
		for (const path of [rt.dataDir, dirname(rt.socket)]) chmodSync(path, 0o755);
		chmodSync(rt.socket, 0o666);
		return execFileSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'curl', '-s', '--unix-socket', rt.socket, '-d', '{}', '-H',
			'content-type: application/json', 'http://localhost/v1/list_sessions'], { encoding: 'utf8' });
	};
	const strict = await startAgentd();
	assert.equal(JSON.parse(ask(strict)).error.code, 'auth_failed');
	const open = await startAgentd({ config: { 'auth.socket': 'anyone' } });
	assert.deepEqual(JSON.parse(ask(open)).sessions, []);
});

test('in a cluster every node takes a token, loses it within seconds, and asks the owner as who it is', { skip }, async () => {
	const env = storeOf(newFolder());
	const start = (name) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config: { 'auth.required': true, 'cluster.lease_ms': 1500 } });
	const [a, b] = [await start('a'), await start('b')];
	const admin = await create(a, { scopes: ['admin'], tenant: 'acme' });
	const reader = await create(a, { tenant: 'acme' });
	assert.equal((await as(b, reader.token, 'list_sessions')).status, 200, 'at once, on the other node');
	const sessions = [];
	for (const node of [a, b, a, b]) sessions.push((await as(node, admin.token, 'create_session')).body.sessionId);
	for (const sessionId of sessions)
		for (const node of [a, b]) {
			assert.equal((await as(node, reader.token, 'get_session', { sessionId })).status, 200);
			assert.equal((await as(node, reader.token, 'interrupt_turn', { sessionId, reason: 'x' })).status, 403, 'rights go along');
		}
	const streams = await Promise.all(sessions.map((sessionId) => fetch(`${b.url}/v1/subscribe_events`, {
		method: 'POST', body: JSON.stringify({ sessionId }), headers: { 'content-type': 'application/json', authorization: `Bearer ${reader.token}` },
	})));
	assert.deepEqual(streams.map((s) => s.status), [200, 200, 200, 200]);
	const revoked = Date.now();
	assert.equal((await as(a, admin.token, 'revoke_token', { tokenId: reader.record.tokenId })).status, 200);
	await Promise.all(streams.map((s) => s.text()));
	assert.ok(Date.now() - revoked < 20000, `streams of a revoked token lived for ${Date.now() - revoked} ms`);
	// A stream may also end because its owner changed: that is not yet the other node's knowing.
	await waitFor(async () => (await as(b, reader.token, 'list_sessions')).status === 401, 'the other node refuses it');
	for (const node of [a, b])
		await waitFor(async () => (await facts(node, 'access.changed', { tenant: 'acme', token: admin.token })).length === 3, 'the acts are on record');
	await a.stop();
	await b.stop();
});
