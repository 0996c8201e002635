// `agentctl config show`: what is in force and where it came from, of a daemon that runs or of one that would be started; no secret in it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, call, newFolder, ok, request, startAgentd, startModel } from '../lib/runtime.mjs';

let model;
before(async () => {
	model = await startModel();
});

function run(program, args, env = {}) {
	const end = spawnSync(join(bin, program), args, { env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env }, encoding: 'utf8', timeout: 60000, killSignal: 'SIGKILL' });
	assert.equal(end.status, 0, `${program} ${args.join(' ')}: ${end.stderr}`);
	return end;
}

const config = {
	'model.name': 'small',
	'model.first_byte_timeout_ms': '90s',
	'sandbox.env': 'TOKEN=very-secret-value-1',
	mcp_servers: [{ name: 'a', url: 'http://127.0.0.1:1/mcp', headers: ['X-Key: very-secret-value-2'] }],
};
const secret = /very-secret/;
const byKey = (doc) => Object.fromEntries(doc.settings.map((row) => [row.key, row]));

test('a daemon that runs says what is in force, with file and line, variable and option', async () => {
	const dataDir = newFolder();
	const rt = await startAgentd({ dataDir, model, config, env: { OPENAI_API_KEY: 'very-secret-value-3', AGENTD_LOG_LEVEL: 'debug' } });
	const { stdout } = run('agentctl', ['--data-dir', join(dataDir, 'data'), 'config', 'show', '--json']);
	assert.doesNotMatch(stdout, secret);
	const rows = byKey(JSON.parse(stdout));
	const file = join(dataDir, 'agentd.yaml');
	assert.deepEqual(rows['model.name'], { key: 'model.name', value: 'small', origin: 'file', source: `${file}:2` });
	assert.deepEqual(rows['model.first_byte_timeout_ms'], { key: 'model.first_byte_timeout_ms', value: 90000, origin: 'file', source: `${file}:3` });
	assert.deepEqual(rows['log.level'], { key: 'log.level', value: 'debug', origin: 'environment', source: 'AGENTD_LOG_LEVEL' });
	assert.deepEqual(rows['openai.api_key'], { key: 'openai.api_key', value: '***', isSecret: true, origin: 'environment', source: 'OPENAI_API_KEY' });
	assert.deepEqual(rows['data_dir'], { key: 'data_dir', value: join(dataDir, 'data'), origin: 'command_line', source: '--data-dir' });
	assert.deepEqual(rows['model.api_key'], { key: 'model.api_key', value: '', isSecret: true, origin: 'default' });
	assert.equal(rows['node.id'].origin, 'host');
	assert.equal(rows['budget.turn_cost'].value, '');
	assert.deepEqual(rows.mcp_servers.value[0].headers, ['***']);
	assert.deepEqual([rows.hooks.value, rows.hooks.origin], [[], 'default']);
	const text = run('agentctl', ['--data-dir', join(dataDir, 'data'), 'config', 'show']).stdout;
	assert.match(text, new RegExp(`^model\\.name +"small" +file ${file}:2$`, 'm'));
	assert.doesNotMatch(text, secret);
	await rt.stop();
});

test('the command is for the operator', async () => {
	const rt = await startAgentd({ model });
	assert.ok((await ok(rt, 'get_settings', {})).settings.length > 50);
	const { token } = await ok(rt, 'create_token', { name: 'tenant admin', tenant: 'acme', scopes: ['admin'] });
	const refused = await request(rt, { path: '/v1/get_settings', body: '{}', headers: { Authorization: `Bearer ${token}` } });
	assert.deepEqual([refused.status, JSON.parse(refused.text).error.code], [403, 'not_authorized']);
	await rt.stop();
});

test('without a daemon: what one would start with', () => {
	const dataDir = newFolder();
	const { stdout, stderr } = run('agentctl', ['--data-dir', dataDir, 'config', 'show', '--json'], { AGENTD_MODEL: 'large' });
	assert.match(stderr, /no daemon answers; these are the settings that one would start with/);
	const rows = byKey(JSON.parse(stdout));
	assert.deepEqual(rows['model.name'], { key: 'model.name', value: 'large', origin: 'environment', source: 'AGENTD_MODEL' });
	assert.equal(rows['data_dir'].value, dataDir);
});

test('every setting and list of the catalogue is shown', () => {
	const { stdout } = run('agentd', ['settings', '--data-dir', newFolder()]);
	const catalogue = readFileSync(new URL('../../catalog/config.cat', import.meta.url), 'utf8');
	const names = [...catalogue.matchAll(/^(?:config|list) (\S+)/gm)].map((m) => m[1]);
	assert.deepEqual(stdout.trimEnd().split('\n').map((line) => line.split(' ')[0]).toSorted(), names.toSorted());
});
