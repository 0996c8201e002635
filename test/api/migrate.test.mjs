// `agentd migrate` as an operator sees it. What a migration does to the rows is in test/port/test_store_migration.c.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { bin, newFolder } from '../lib/runtime.mjs';

const server = process.env.AR_TEST_POSTGRES;

function agentd(...args) {
	const env = { PATH: process.env.PATH, HOME: newFolder() };
	return spawnSync(join(bin, 'agentd'), args, { env, encoding: 'utf8', timeout: 20000 });
}

function sql(database, text) {
	execFileSync('psql', ['-q', '-d', `${server} dbname=${database}`, '-c', text]);
}

test('without a PostgreSQL store there is nothing to migrate, and it says so', () => {
	const done = agentd('migrate');
	assert.equal(done.status, 0, done.stderr);
	assert.match(done.stdout, /no PostgreSQL store; an SQLite file needs no migration/);
	assert.match(agentd('--help').stdout, /agentd migrate/);
	assert.match(agentd('migrate', '--help').stdout, /example:/);
	assert.equal(agentd('migrate', 'now').status, 2);
});

test('a store that cannot be reached is an error with advice', () => {
	const config = join(newFolder(), 'settings.yaml');
	writeFileSync(config, 'store: "postgres://nobody@127.0.0.1:1/none"\n');
	const done = agentd('migrate', '--config', config);
	assert.equal(done.status, 1);
	assert.match(done.stderr, /check that the server runs/);
});

test('a store is migrated once, and agentd asks for it', { skip: !server && 'no server' }, () => {
	const config = join(newFolder(), 'settings.yaml');
	sql('postgres', 'CREATE DATABASE migrated');
	writeFileSync(config, `store: "${server} dbname=migrated"\n`);
	const first = agentd('migrate', '--config', config);
	const [, newest] = first.stdout.match(/^schema version 0 -> (\d+)\n$/);
	const steps = Array.from({ length: Number(newest) }, (_, i) => `schema version ${i + 1} of ${newest} ...\n`);
	assert.ok(first.stderr.endsWith(steps.join('')), first.stderr);
	const second = agentd('migrate', '--config', config);
	assert.equal(second.stdout, `schema version ${newest}, nothing to do\n`);
	assert.doesNotMatch(second.stderr, /schema version/);
	sql('migrated', 'DELETE FROM migration WHERE version > 1');
	const refused = agentd('--config', config, '--data-dir', newFolder());
	assert.equal(refused.status, 1);
	assert.ok(refused.stderr.includes(`schema version 1, this program needs ${newest}: run \`agentd migrate\``), refused.stderr);
});
