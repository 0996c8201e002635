// What the settings may say of remote agents; the rest is refused before anything runs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder } from '../lib/runtime.mjs';

function check(entry) {
	const folder = newFolder();
	const file = join(folder, 'agentd.yaml');
	writeFileSync(file, JSON.stringify({ peers: [{ name: 'far', url: 'https://agents.example.com', ...entry }] }), { mode: 0o600 });
	return spawnSync(join(bin, 'agentd'), ['check', '--config', file, '--data-dir', join(folder, 'data')], { encoding: 'utf8' });
}

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
