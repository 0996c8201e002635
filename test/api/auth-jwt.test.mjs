// Bearers that an issuer signed: a real issuer on loopback, real signatures, and tokens that should not get in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Issuer, makeHs256, makeJwt, newKey } from '../lib/issuer.mjs';
import { checkError, request, sleep, startAgentd, waitFor } from '../lib/runtime.mjs';

let issuer, rt, keys;

const config = (more = {}) => ({
	'auth.required': true, 'auth.jwt_issuer': issuer.url, 'auth.jwt_audience': 'agents', 'auth.jwt_leeway_s': 1, ...more,
});

before(async () => {
	issuer = await Issuer.start();
	keys = { rsa: newKey('RS256', 'r1'), ec: newKey('ES256', 'e1'), ed: newKey('EdDSA', 'd1') };
	issuer.keys = Object.values(keys);
	rt = await startAgentd({ config: config() });
});

after(() => issuer.close());

async function ask(token, { server = rt, command = 'list_sessions', input = {} } = {}) {
	const { status, text } = await request(server, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } });
	const body = JSON.parse(text);
	if (status >= 300) checkError(status, body);
	return { status, body, message: body.error?.message };
}

test('signatures of every kind are taken, with and without a kid', async () => {
	for (const key of issuer.keys) {
		assert.equal((await ask(makeJwt(key, issuer.claims()))).status, 200, key.alg);
		assert.equal((await ask(makeJwt(key, issuer.claims(), { kid: undefined }))).status, 200, `${key.alg} without kid`);
	}
	assert.equal((await ask(makeJwt(keys.rsa, issuer.claims({ aud: ['other', 'agents'] })))).status, 200);
	assert.equal((await ask(makeJwt(keys.rsa, issuer.claims({ exp: Math.floor(Date.now() / 1000) + 60.5, nbf: 0 })))).status, 200);
});

test('scopes come from the claim; what is not one of ours gives nothing', async () => {
	const create = (scope) => ask(makeJwt(keys.ed, issuer.claims({ scope })), { command: 'create_session' });
	assert.equal((await create('read profile')).body.error.code, 'not_authorized');
	assert.equal((await create('profile')).body.error.code, 'not_authorized');
	assert.equal((await create(['openid', 'submit'])).status, 200);
	assert.equal((await create('admin')).status, 200);
	assert.equal((await create(undefined)).body.error.code, 'not_authorized');
});

test('a token that is not for us, not for now or of nobody is refused, and told why', async () => {
	const now = Math.floor(Date.now() / 1000);
	const cases = [
		[{ iss: 'https://elsewhere.example' }, /iss/],
		[{ iss: `${issuer.url}/` }, /iss/],
		[{ aud: 'others' }, /aud/],
		[{ aud: [] }, /aud/],
		[{ aud: { agents: true } }, /aud/],
		[{ aud: undefined }, /aud/],
		[{ exp: now - 60 }, /expired/],
		[{ exp: undefined }, /exp/],
		[{ exp: '2999-01-01' }, /exp/],
		[{ exp: -1 }, /exp/],
		[{ exp: 1e300 }, /exp/],
		[{ nbf: now + 600 }, /nbf/],
		[{ nbf: 'soon' }, /nbf/],
		[{ sub: undefined }, /sub/],
		[{ sub: '' }, /sub/],
		[{ sub: 's'.repeat(129) }, /sub/],
		...['ada\0admin', 'ada\nadmin', '\x1b[31mada', 'ada\x7f', 'ada\u009b31m', '\0'].map((sub) => [{ sub }, /sub/]),
	];
	for (const [claims, why] of cases) {
		const { status, message } = await ask(makeJwt(keys.ec, issuer.claims(claims)));
		assert.equal(status, 401, JSON.stringify(claims));
		assert.match(message, why);
	}
});

test('hostile tokens do not get in', async () => {
	const claims = issuer.claims({ scope: 'admin' });
	const good = makeJwt(keys.rsa, claims);
	const [head, body, tail] = good.split('.');
	const b64 = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
	const stranger = newKey('RS256', 'r1');
	const pem = keys.rsa.publicKey.export({ type: 'spki', format: 'pem' });
	const der = keys.rsa.publicKey.export({ type: 'spki', format: 'der' });
	const hostile = {
		'alg none': `${b64({ alg: 'none' })}.${body}.`,
		'alg none with a signature': `${b64({ alg: 'none' })}.${body}.${tail}`,
		'alg None': `${b64({ alg: 'None', kid: 'r1' })}.${body}.${tail}`,
		'HS256 with the public key as PEM': makeHs256(pem, claims, { kid: 'r1' }),
		'HS256 with the public key as DER': makeHs256(der, claims, { kid: 'r1' }),
		'HS256 with the modulus': makeHs256(Buffer.from(keys.rsa.jwk.n, 'base64url'), claims, { kid: 'r1' }),
		'another key under the same kid': makeJwt(stranger, claims),
		'its own key in the header': makeJwt(stranger, claims, { jwk: stranger.jwk }),
		'the address of its own keys': makeJwt(stranger, claims, { kid: 'x', jku: `${issuer.url}/evil` }),
		'alg of another kind': makeJwt({ ...keys.rsa, alg: 'RS256' }, claims, { alg: 'ES256' }),
		'kid of another kind': makeJwt(keys.rsa, claims, { kid: 'e1' }),
		'kid as a path': makeJwt(keys.rsa, claims, { kid: '../../../dev/null' }),
		'kid as SQL': makeJwt(keys.rsa, claims, { kid: "r1' OR '1'='1" }),
		'kid that is no text': makeJwt(keys.rsa, claims, { kid: { $ne: null } }),
		'kid that is huge': makeJwt(keys.rsa, claims, { kid: 'k'.repeat(3000) }),
		'crit': makeJwt(keys.rsa, claims, { crit: ['exp'] }),
		'nested': makeJwt(keys.rsa, good, { cty: 'JWT' }),
		'claims that are a token': makeJwt(keys.rsa, good),
		'claims that are an array': makeJwt(keys.rsa, [claims]),
		'claims twice': makeJwt(keys.rsa, JSON.stringify(claims).replace('{', '{"aud":"others",')),
		'alg twice': makeJwt(keys.rsa, claims, `{"alg":"none","alg":"RS256","kid":"r1"}`),
		'changed claims': `${head}.${b64({ ...claims, sub: 'eve' })}.${tail}`,
		'changed header': `${b64({ alg: 'RS256', kid: 'r1' })}.${body}.${tail}`,
		'cut signature': good.slice(0, -8),
		'no signature': `${head}.${body}.`,
		'two parts': `${head}.${body}`,
		'four parts': `${good}.${tail}`,
		'five parts': `${good}.${tail}.${tail}`,
		'empty parts': '..',
		'padding': `${head}=.${body}.${tail}`,
		'standard base64': good.replace(/[-_]/g, '+'),
		'blanks': good.replace('.', ' .'),
		'an ECDSA signature in DER': (() => {
			const parts = makeJwt({ ...keys.ec, alg: 'RS256' }, claims, { alg: 'ES256', kid: 'e1' });
			return parts;
		})(),
		'an ECDSA signature of zeros': `${b64({ alg: 'ES256', kid: 'e1' })}.${body}.${Buffer.alloc(64).toString('base64url')}`,
		'huge': makeJwt(keys.rsa, { ...claims, pad: 'x'.repeat(8000) }),
		'deep': makeJwt(keys.rsa, `${'['.repeat(2000)}${']'.repeat(2000)}`),
		'not JSON': `${b64('{')}.${b64('}')}.${tail}`,
		'not UTF-8': `${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${body}.${tail}`,
	};
	for (const [name, token] of Object.entries(hostile)) {
		const { status } = await ask(token);
		assert.ok(status === 401 || (status === 431 && name === 'huge'), `${name}: ${status}`);
	}
	assert.equal(issuer.counts.other, 0, 'nothing was fetched from an address that a token named');
	assert.equal((await ask(good)).status, 200);
});

test('keys that come and go: an unknown kid costs one fetch, old keys go, weak ones are never taken', async () => {
	const own = await Issuer.start();
	own.keys = [newKey('RS256', 'old'), newKey('weak', 'weak'), newKey('ES256', 'enc', { use: 'enc' })];
	const server = await startAgentd({ config: { ...config(), 'auth.jwt_issuer': own.url, 'auth.jwt_refresh_s': 10 } });
	const as = (key) => ask(makeJwt(key, own.claims()), { server });
	assert.equal((await as(own.keys[0])).status, 200);
	assert.equal((await as(own.keys[1])).status, 401, 'RSA of 1024 bits');
	assert.equal((await as(own.keys[2])).status, 401, 'a key for encryption');
	const before = own.counts.keys;
	const flood = await Promise.all(Array.from({ length: 50 }, (_, i) => as(newKey('EdDSA', `unknown${i}`))));
	assert.ok(flood.every((a) => a.status === 401));
	assert.ok(own.counts.keys - before <= 1, `${own.counts.keys - before} fetches for 50 unknown keys`);
	const fresh = newKey('EdDSA', 'fresh');
	const old = own.keys[0];
	own.keys = [fresh];
	await waitFor(async () => (await as(fresh)).status === 200, 'the new key is found', 15000);
	assert.equal((await as(old)).status, 401, 'a key that the issuer has withdrawn');
	await own.close();
});

test('an issuer that is away shuts nobody out while its keys are not too old; one that never answered lets nobody in', async () => {
	const own = await Issuer.start();
	own.keys = [newKey('EdDSA', 'k')];
	const server = await startAgentd({ config: { ...config(), 'auth.jwt_issuer': own.url, 'auth.jwt_refresh_s': 10 } });
	const token = makeJwt(own.keys[0], own.claims());
	assert.equal((await ask(token, { server })).status, 200);
	own.isBroken = true;
	assert.equal((await ask(makeJwt(newKey('EdDSA', 'other'), own.claims()), { server })).status, 401);
	assert.equal((await ask(token, { server })).status, 200);
	const late = await startAgentd({ config: { ...config(), 'auth.jwt_issuer': own.url } });
	const { status, body } = await ask(token, { server: late });
	assert.equal(status, 503);
	assert.equal(body.error.retryable, true);
	own.isBroken = false;
	await waitFor(async () => (await ask(token, { server: late })).status === 200, 'the keys are fetched again', 15000);
	await own.close();
});

test('the tenant comes from a claim, the keys from an address of their own; a document of another issuer is not believed', async () => {
	const own = await Issuer.start();
	own.keys = [newKey('ES256', 'k')];
	own.claimed = 'https://another.example';
	const believed = await startAgentd({ config: { ...config(), 'auth.jwt_issuer': own.url } });
	assert.equal((await ask(makeJwt(own.keys[0], own.claims()), { server: believed })).status, 503);
	const server = await startAgentd({ config: {
		...config(), 'auth.jwt_issuer': own.url, 'auth.jwt_keys_url': `${own.url}/keys`, 'auth.jwt_tenant_claim': 'https://example.com/tenant',
		'auth.jwt_scope_claim': 'permissions', 'auth.jwt_scope_prefix': 'agents:',
	} });
	const as = (claims, options) => ask(makeJwt(own.keys[0], own.claims(claims)), { server, ...options });
	const member = { 'https://example.com/tenant': 'acme', permissions: ['agents:admin', 'read'] };
	const made = await as(member, { command: 'create_token', input: { name: 'x', scopes: ['read'] } });
	assert.equal(made.body.record?.tenant, 'acme', JSON.stringify(made.body));
	assert.equal((await as({ ...member, permissions: ['admin'] })).body.error.code, 'not_authorized');
	assert.equal((await as({})).status, 401);
	assert.equal((await as({ ...member, 'https://example.com/tenant': 'a b' })).status, 401);
	await own.close();
});

test('the tenant local is the server\'s own: a claim may not name it unless a setting says so', async () => {
	const as = (server, tenant) => ask(makeJwt(keys.ed, issuer.claims({ org: tenant, scope: 'admin' })), { server });
	const strict = await startAgentd({ config: config({ 'auth.jwt_tenant_claim': 'org' }) });
	const refused = await as(strict, 'local');
	assert.equal(refused.status, 401);
	assert.match(refused.message, /auth\.jwt_local/);
	assert.equal((await as(strict, 'acme')).status, 200);
	for (const odd of ['acme\0', 'a\ncme', 'local\0']) assert.equal((await as(strict, odd)).status, 401, JSON.stringify(odd));
	const open = await startAgentd({ config: config({ 'auth.jwt_tenant_claim': 'org', 'auth.jwt_local': true }) });
	assert.equal((await as(open, 'local')).status, 200);
});

test('a token that a JWT makes ends with it, and cannot be worth more than it by a detour', async () => {
	const exp = Math.floor(Date.now() / 1000) + 300;
	const admin = makeJwt(keys.ed, issuer.claims({ scope: 'admin', exp }));
	const as = (bearer, command, input, server = rt) => ask(bearer, { server, command, input });
	const latest = (exp + 1) * 1000; // with the leeway
	const first = await as(admin, 'create_token', { name: 'x', scopes: ['admin'], idempotencyKey: 'k1' });
	assert.ok(Date.parse(first.body.record.expiresAt) <= latest, JSON.stringify(first.body));
	const again = await as(makeJwt(keys.ed, issuer.claims({ scope: 'admin', exp: exp + 60 })), 'create_token', { name: 'x', scopes: ['admin'], idempotencyKey: 'k1' });
	assert.equal(again.body.record.tokenId, first.body.record.tokenId, 'a repeat with a newer JWT is a repeat');
	const later = new Date((exp + 3600) * 1000).toISOString();
	const sooner = new Date((exp - 60) * 1000).toISOString();
	assert.equal((await as(admin, 'create_token', { name: 'x', scopes: ['read'], expiresAt: later })).body.error.code, 'not_authorized');
	assert.equal((await as(admin, 'create_token', { name: 'x', scopes: ['read'], expiresAt: sooner })).body.record.expiresAt.slice(0, 19), sooner.slice(0, 19));
	const second = await as(first.body.token, 'create_token', { name: 'y', scopes: ['admin'] });
	assert.ok(Date.parse(second.body.record.expiresAt) <= latest, 'a token that was made by a token');
	const endless = JSON.parse((await request(rt, { path: '/v1/create_token', via: 'socket', body: JSON.stringify({ name: 'z', scopes: ['admin'] }) })).text);
	assert.equal(endless.record.expiresAt, undefined);
	for (const bearer of [admin, first.body.token])
		assert.equal((await as(bearer, 'rotate_token', { tokenId: endless.record.tokenId })).body.error.code, 'not_authorized', 'the secret of an endless one');
	assert.equal((await as(admin, 'rotate_token', { tokenId: first.body.record.tokenId })).status, 200);
	const aged = await startAgentd({ config: config({ 'auth.jwt_token_age_s': 7200 }) });
	const made = await as(admin, 'create_token', { name: 'x', scopes: ['read'] }, aged);
	const left = Date.parse(made.body.record.expiresAt) - Date.now();
	assert.ok(left > 3600000 && left <= 7200000, `${left}`);
	assert.equal((await as(admin, 'create_token', { name: 'x', scopes: ['read'], expiresAt: later }, aged)).status, 200);
});

test('a stream ends with its token', async () => {
	const admin = makeJwt(keys.ed, issuer.claims({ scope: 'admin' }));
	const { body } = await ask(admin, { command: 'create_session' });
	const brief = makeJwt(keys.ed, issuer.claims({ exp: Math.floor(Date.now() / 1000) + 1 }));
	const response = await fetch(`${rt.url}/v1/subscribe_events`, {
		method: 'POST', body: JSON.stringify({ sessionId: body.sessionId }), headers: { 'content-type': 'application/json', authorization: `Bearer ${brief}` },
	});
	assert.equal(response.status, 200);
	const end = await Promise.race([response.text().then(() => 'ended'), sleep(6000).then(() => 'open')]);
	assert.equal(end, 'ended');
	assert.equal((await ask(brief)).status, 401);
});

test('an issuer without an audience, or over plain http of another machine, is no configuration', async () => {
	for (const bad of [{ 'auth.jwt_audience': '' }, { 'auth.jwt_issuer': 'http://login.example.com' }, { 'auth.jwt_keys_url': 'http://127.0.0.1.example.com/k' },
		{ 'auth.jwt_keys_url': 'http://127.0.0.1:x@login.example.com/k' }, { 'auth.jwt_issuer': 'http://localhost:80@login.example.com' },
		{ 'auth.jwt_keys_url': 'https://user@login.example.com/k' }]) {
		const server = await startAgentd({ config: { ...config(), ...bad }, mayDie: true });
		assert.ok(server.isGone, JSON.stringify(bad));
	}
});
