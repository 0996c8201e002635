// What the settings may say of remote agents; the rest is refused before anything runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder } from '../lib/runtime.mjs';

function agentd(how, entry, more = {}) {
	const folder = newFolder();
	const file = join(folder, 'agentd.yaml');
	writeFileSync(file, JSON.stringify({ ...more, peers: [{ name: 'far', url: 'https://agents.example.com', ...entry }] }), { mode: 0o600 });
	return spawnSync(join(bin, 'agentd'), [...how, '--config', file, '--data-dir', join(folder, 'data')], { encoding: 'utf8', timeout: 20000 });
}

const check = (entry, more) => agentd(['check'], entry, more);

function keyFile(text) {
	const file = join(newFolder(), 'keys.json');
	writeFileSync(file, text);
	return file;
}

test('a peer of the settings is taken, with a key or a set of keys', () => {
	const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
	for (const entry of [{}, { keys_file: keyFile(JSON.stringify(jwk)) }, { keys_file: keyFile(JSON.stringify({ keys: [jwk] })), mechanism: 'poll', tenants: ['*'] }]) {
		const said = check(entry);
		assert.equal(said.status, 0, said.stderr + said.stdout);
	}
});

for (const [name, entry, words] of [
	['a name that is no name', { name: 'a b' }, /peers.*name/],
	['an address that others can read on the way', { url: 'http://agents.example.com' }, /neither https nor an address of this machine/],
	['an address with a user name', { url: 'https://agents.example.com@evil.example' }, /neither https/],
	['a file of keys that is not there', { keys_file: '/nonexistent/keys' }, /cannot be read/],
	['a file without a key', { keys_file: keyFile('{"keys":[]}') }, /no key that can be used/],
	['a file that is no JSON', { keys_file: keyFile('hello') }, /no JSON/],
	['an empty tenant', { tenants: [''] }, /tenants/],
	['another mechanism', { mechanism: 'telepathy' }, /mechanism/],
]) {
	test(`a peer with ${name} is refused`, () => {
		const said = check(entry);
		assert.notEqual(said.status, 0);
		assert.match(said.stderr + said.stdout, words);
	});
}

test('a peer that pushes needs the address of this server and a key', () => {
	const url = 'https://us.example.com', push_key = 'a key of more than sixteen bytes';
	const words = { url: /a2a\.url/, push_key: /a2a\.push_key/, bad: /a2a\.url.*neither|a2a\.url.*not an https/, short: /16 bytes/ };
	for (const key of [push_key, { command: ['/bin/echo', push_key] }]) assert.equal(check({ mechanism: 'push' }, { a2a: { url, push_key: key } }).status, 0, 'one that is not there yet, too');
	for (const [a2a, want] of [[{ push_key }, words.url], [{ url }, words.push_key], [{ url: 'http://us.example.com', push_key }, words.bad], [{ url, push_key: 'short' }, words.short]]) {
		for (const how of [['check'], ['--listen', '127.0.0.1:0']]) {
			const said = agentd(how, { mechanism: 'push' }, { a2a });
			assert.ok(said.status > 0, `${how[0]}: ${JSON.stringify(a2a)}`);
			assert.match(said.stderr + said.stdout, want);
		}
	}
});
