// `agentctl token` against a real daemon that wants tokens: the first one is made over the socket, the others with it over TCP.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, startAgentd } from '../lib/runtime.mjs';

let rt;

before(async () => {
	rt = await startAgentd({ config: { 'auth.required': true } });
});

/** Runs agentctl; { code, out, err }. */
function ctl(args, { token, isLocal = false } = {}) {
	const place = isLocal ? ['--socket', rt.socket] : ['--url', rt.url];
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', ...(token ? { AGENTCTL_TOKEN: token } : {}) };
	return new Promise((done) => {
		execFile(join(bin, 'agentctl'), [...place, ...args], { env }, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
	});
}

test('the operator makes the first token; it is the only thing on standard output', async () => {
	const none = await ctl(['sessions']);
	assert.equal(none.code, 1);
	assert.match(none.err, /send a token|send one/);
	const made = await ctl(['token', 'create', 'root', '--scopes', 'admin'], { isLocal: true });
	assert.equal(made.code, 0, made.err);
	assert.match(made.out, /^art_\w+\n$/);
	assert.match(made.err, /tok_\w{16} of tenant local/);
	const token = made.out.trim();
	assert.equal((await ctl(['sessions'], { token })).code, 0);
	assert.equal((await ctl(['--token', token, 'sessions'])).code, 0);
	const wrong = await ctl(['sessions'], { token: token.replace(/.(?=.{20}$)/, (c) => (c === '0' ? '1' : '0')) });
	assert.equal(wrong.code, 1);
	assert.match(wrong.err, /the token is unknown/);
});

test('list, rotate and revoke', async () => {
	const admin = (await ctl(['token', 'create', 'admin', '--scopes', 'admin'], { isLocal: true })).out.trim();
	const ci = (await ctl(['token', 'create', 'ci', '--scopes', 'read,submit', '--expires', '30d'], { token: admin })).out.trim();
	const id = `tok_${ci.split('_')[1]}`;
	const list = await ctl(['token', 'list'], { token: admin });
	const row = list.out.split('\n').find((line) => line.startsWith(id));
	assert.match(row, /^tok_\w{16} +ci +local +read,submit +never +(719|720) h left/);
	const next = (await ctl(['token', 'rotate', id, '--grace', '0s'], { token: admin })).out.trim();
	assert.equal((await ctl(['sessions'], { token: ci })).code, 1);
	assert.equal((await ctl(['sessions'], { token: next })).code, 0);
	assert.match((await ctl(['token', 'revoke', id], { token: admin })).err, /is revoked/);
	assert.match((await ctl(['token', 'revoke', id], { token: admin })).err, /revoked before/);
	assert.equal((await ctl(['sessions'], { token: next })).code, 1);
	assert.ok(!(await ctl(['token', 'list'], { token: admin })).out.includes(id));
	assert.match((await ctl(['token', 'list', '--all'], { token: admin })).out, new RegExp(`${id} .*revoked`));
	const foreign = await ctl(['token', 'create', 'x', '--tenant', 'acme'], { token: admin });
	assert.match(foreign.err, /operator/);
});

test('what cannot be meant is said before anything is asked', async () => {
	for (const args of [['token', 'make'], ['token', 'create'], ['token', 'create', 'x', '--expires', 'soon'], ['token', 'rotate', 'tok_x', '--grace', '1w']])
		assert.equal((await ctl(args, { isLocal: true })).code, 2, args.join(' '));
	const unknown = await ctl(['token', 'revoke', 'tok_0000000000000000'], { isLocal: true });
	assert.equal(unknown.code, 1);
	assert.match(unknown.err, /there is no token/);
	assert.match((await ctl(['token', '--help'], { isLocal: true })).out, /agentctl token create deploy/);
});
