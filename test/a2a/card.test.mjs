// Agent Cards of published agents: what is on them, who gets which, and that nobody can change one unseen.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { flattenedVerify, importJWK } from 'jose';
import { bin, newFolder, request, startAgentd, startModel } from '../lib/runtime.mjs';

const URL = 'https://agents.example.com/base';
const WELL_KNOWN = '/.well-known/agent-card.json';
let w;

function newKey() {
	const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
	const file = join(newFolder(), 'card.pem');
	writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
	return { file, jwk: publicKey.export({ format: 'jwk' }) };
}

function newDefinitions() {
	const dir = newFolder();
	writeFileSync(join(dir, 'reviewer.md'), '---\nname: reviewer\ndescription: Reviews a change.\n---\nRead the diff.\n');
	writeFileSync(join(dir, 'secretive.md'), '---\nname: secretive\ndescription: Known to callers only.\n---\nDo it.\n');
	return dir;
}

before(async () => {
	const key = newKey();
	const config = {
		'a2a.url': URL,
		'a2a.card_key': key.file,
		'a2a.standard_agent': 'second',
		agents: [{ dir: newDefinitions() }],
		a2a_agents: [
			{ name: 'builder', description: 'Builds “things”.\nAnd more.', skills: ['reviewer'] },
			{ name: 'second', title: 'The second', description: 'Answers.', version: '2.1' },
		],
	};
	w = { key, config, rt: await startAgentd({ dataDir: newFolder(), model: await startModel(), config }) };
});

async function get(path, headers = {}) {
	const a = await request(w.rt, { method: 'GET', path, headers });
	return { status: a.status, headers: a.headers, text: a.text, body: a.text ? JSON.parse(a.text) : null };
}

const pure = { 'a2a-version': '1.0' };
const verifies = (card, jwk = w.key.jwk) => verifyAgentCardSignature(async () => importJWK(jwk, 'ES256'))(card);

/** RFC 8785 by JavaScript itself, over all that is in the card but its signatures. */
function canonical(v) {
	if (v === null || typeof v !== 'object')
		return JSON.stringify(v);
	if (Array.isArray(v))
		return `[${v.map(canonical).join(',')}]`;
	return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`).join(',')}}`;
}

async function joseVerifies(card, signature) {
	const { signatures, ...rest } = card;
	const payload = Buffer.from(canonical(rest)).toString('base64url');
	return flattenedVerify({ ...signature, payload }, await importJWK(w.key.jwk, 'ES256'));
}

test('A2-10 the card of the standard agent has what A2A 1.0 asks for, and nothing else for 1.0', async () => {
	const { status, headers, body } = await get(WELL_KNOWN, pure);
	assert.equal(status, 200);
	const { signatures, ...card } = body;
	assert.equal(signatures.length, 1);
	assert.deepEqual(card, {
		name: 'The second',
		description: 'Answers.',
		supportedInterfaces: [
			{ url: `${URL}/a2a/second/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
			{ url: `${URL}/a2a/second`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
			{ url: `${URL}/a2a/second/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
		],
		version: '2.1',
		capabilities: { streaming: true, pushNotifications: card.capabilities.pushNotifications, extensions: [{ uri: 'urn:agentruntime:a2a:cursor:v1', description: card.capabilities.extensions[0].description }, { uri: 'urn:agentruntime:a2a:message-id:v1', description: 'A message that is sent again with its id is answered with the same task.' }], extendedAgentCard: true },
		securitySchemes: { bearer: { httpAuthSecurityScheme: { description: 'A token of this server, or one that it accepts.', scheme: 'Bearer' } } },
		defaultInputModes: ['text/plain', 'application/json'],
		defaultOutputModes: ['text/plain', 'application/json'],
		skills: [{ id: 'second', name: 'The second', description: 'Answers.', tags: ['agent'] }],
	});
	assert.match(headers['cache-control'], /max-age=\d+/);
	assert.match(headers.vary, /A2A-Version/);
	assert.ok(Number.isFinite(Date.parse(headers['last-modified'])), headers['last-modified']);
	assert.match(headers['last-modified'], /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d GMT$/);
	const again = await get(WELL_KNOWN, { ...pure, 'if-none-match': headers.etag });
	assert.equal(again.status, 304);
	assert.equal((await get(WELL_KNOWN, { ...pure, 'if-none-match': '"another"' })).status, 200);
});

test('the card of a named agent has its definitions as skills; those that were not named are for callers', async () => {
	const { body } = await get(`/a2a/builder${WELL_KNOWN}`, pure);
	assert.equal(body.description, 'Builds “things”.\nAnd more.');
	assert.deepEqual(body.skills.map((s) => [s.id, s.description]), [['builder', body.description], ['reviewer', 'Reviews a change.']]);
	assert.equal((await get(`/a2a/nobody${WELL_KNOWN}`)).status, 404);
	assert.equal((await request(w.rt, { path: WELL_KNOWN, body: '{}' })).status, 405);
});

test('a caller that does not say 1.0 gets a card that clients of 0.3 and of 1.0 read', async () => {
	const { headers, body } = await get(`/a2a/builder${WELL_KNOWN}`);
	assert.equal(body.protocolVersion, '0.3.0');
	assert.equal(body.url, `${URL}/a2a/builder/rpc`);
	assert.equal(body.preferredTransport, 'JSONRPC');
	assert.equal(body.supportsAuthenticatedExtendedCard, true);
	assert.equal(body.securitySchemes.bearer.type, 'http');
	assert.equal(body.supportedInterfaces.length, 3);
	assert.notEqual(headers.etag, (await get(`/a2a/builder${WELL_KNOWN}`, pure)).headers.etag);
});

test('A2-10 both cards are verified by the official SDK and by jose', async () => {
	for (const headers of [pure, {}]) {
		const { body } = await get(`/a2a/builder${WELL_KNOWN}`, headers);
		await verifies(body);
		const { protectedHeader } = await joseVerifies(body, body.signatures.at(-1));
		assert.equal(protectedHeader.alg, 'ES256');
		assert.equal(protectedHeader.typ, 'JOSE');
		assert.ok(protectedHeader.kid);
		if (headers === pure) {
			const { signatures, ...card } = body;
			assert.equal(canonicalizeAgentCard(body), canonical(card), 'the payload of the SDK is the card as it was sent');
		}
	}
});

test('a card that was changed is refused by both, whatever was changed', async () => {
	const { body } = await get(`/a2a/builder${WELL_KNOWN}`, pure);
	const changes = [
		(c) => { c.supportedInterfaces[0].url = 'https://evil.example.com/rpc'; },
		(c) => { c.capabilities.streaming = !c.capabilities.streaming; },
		(c) => { c.skills.pop(); },
		(c) => { c.securitySchemes = {}; },
		(c) => { c.name += ' '; },
		(c) => { c.signatures[0].signature = Buffer.alloc(64, 1).toString('base64url'); },
	];
	for (const change of changes) {
		const card = structuredClone(body);
		change(card);
		await assert.rejects(verifies(card), /No valid signatures/, change.toString());
		await assert.rejects(joseVerifies(card, card.signatures[0]), /signature verification failed/, change.toString());
	}
	await assert.rejects(verifies(body, newKey().jwk), /No valid signatures/);
});

test('agentctl a2a card prints what others get', async () => {
	const ctl = (...args) => new Promise((done) => {
		execFile(join(bin, 'agentctl'), ['--url', w.rt.url, 'a2a', ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent' } }, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
	});
	assert.deepEqual(JSON.parse((await ctl('card')).out), (await get(WELL_KNOWN, pure)).body);
	assert.deepEqual(JSON.parse((await ctl('card', 'builder', '--old')).out), (await get(`/a2a/builder${WELL_KNOWN}`)).body);
	const nobody = await ctl('card', 'nobody');
	assert.deepEqual([nobody.code, /publishes no agent of that name/.test(nobody.err)], [1, true]);
	assert.equal((await ctl('card', '../v1/nodes')).code, 2);
	assert.equal((await ctl('cards')).code, 2);
});

test('without published agents there is no card', async () => {
	const rt = await startAgentd({ dataDir: newFolder(), model: w.rt.model, config: {} });
	for (const path of [WELL_KNOWN, `/a2a/builder${WELL_KNOWN}`])
		assert.equal((await request(rt, { method: 'GET', path })).status, 404);
	await rt.stop();
});
