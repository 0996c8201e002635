// Wrong settings are refused before anything starts: each with its line, its key, and what to do. Also the command line of agentd itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder } from '../lib/runtime.mjs';

const folder = newFolder();
const file = join(folder, 'agentd.yaml');

/** Runs agentd to its end. A daemon that starts instead is killed, and fails the test. */
function agentd(args, env = {}) {
	const end = spawnSync(join(bin, 'agentd'), args, { env: { PATH: process.env.PATH, HOME: folder, ...env }, encoding: 'utf8', timeout: 60000, killSignal: 'SIGKILL' });
	assert.equal(end.signal, null, `agentd ${args.join(' ')} did not end`);
	return { ...end, errors: end.stderr.split('\n').filter((line) => line.startsWith('error: ')) };
}

function check(text, env) {
	writeFileSync(file, text);
	return agentd(['check', '--config', file, '--data-dir', join(folder, 'data')], env);
}

// [what is wrong, the file, the line, the key, what the sentence says]
const WRONG = [
	['a misspelt boolean', 'sandbox:\n  allow_danger: flase\n', 2, 'sandbox.allow_danger', "'flase' is not a boolean; write true or false; did you mean 'false'?"],
	['a word for a boolean', 'listen: off\nauth: { required: maybe }\n', 2, 'auth.required', 'write true or false'],
	['yes for a boolean', 'auth:\n\n  required: yes\n', 3, 'auth.required', "did you mean 'true'?"],
	['a number for a boolean', 'auth: { required: 1 }\n', 1, 'auth.required', "did you mean 'true'?"],
	['an unknown unit', 'model:\n  first_byte_timeout_ms: 1sec\n', 2, 'model.first_byte_timeout_ms', "'1sec' is not a duration; write a whole number of milliseconds"],
	['a fraction', 'model:\n  idle_timeout_ms: 1.5s\n', 2, 'model.idle_timeout_ms', 'is not a duration'],
	['a blank before the unit', 'model: { idle_timeout_ms: 5 s }\n', 1, 'model.idle_timeout_ms', 'is not a duration'],
	['a leading zero', 'queue:\n  max_turns: 010\n', 2, 'queue.max_turns', "'010' is not a whole number; write decimal digits only"],
	['a hexadecimal number', 'session: { cache: 0x10 }\n', 1, 'session.cache', "'0x10' is not a whole number"],
	['a hexadecimal size', 'sandbox: { memory_bytes: 0x10G }\n', 1, 'sandbox.memory_bytes', "'0x10G' is not a size; write a whole number of bytes"],
	['a size with an ambiguous unit', 'sandbox: { memory_bytes: 2G }\n', 1, 'sandbox.memory_bytes', '2GiB'],
	['a percentage of a count', 'session: { cache: 80% }\n', 1, 'session.cache', "'80%' is not a whole number"],
	['a percentage beyond the range', 'context: { compact_at: 120% }\n', 1, 'context.compact_at', "'120%' is out of range; 0 to 100 % is allowed"],
	['a negative number', 'model: { max_attempts: -1 }\n', 1, 'model.max_attempts', "'-1' is not a whole number"],
	['a number with a plus', 'model: { max_attempts: +3 }\n', 1, 'model.max_attempts', 'is not a whole number'],
	['a number beyond 64 bits', 'session: { cache: 99999999999999999999 }\n', 1, 'session.cache', 'is not a whole number'],
	['a unit that overflows', 'sandbox: { memory_bytes: 9999999999999TiB }\n', 1, 'sandbox.memory_bytes', 'is not a size'],
	['a number out of range', '# settings\n\ncluster:\n  lease_ms: 5\n', 4, 'cluster.lease_ms', "'5' is out of range; 500 to 600000 ms is allowed"],
	['a duration out of range', 'cluster: { lease_ms: 2h }\n', 1, 'cluster.lease_ms', '500 to 600000 ms is allowed'],
	['milliseconds for whole seconds', 'auth: { jwt_leeway_s: 1500ms }\n', 1, 'auth.jwt_leeway_s', 'whole seconds'],
	['no value for a number', 'model:\n  max_attempts:\n  name: x\n', 2, 'model.max_attempts', 'is not a whole number'],
	['null', 'model:\n  name: null\n', 2, 'model.name', 'remove the key to take the default'],
	['an amount with an exponent', 'budget: { turn_cost: 1e3 }\n', 1, 'budget.turn_cost', "'1e3' is not an amount; write a decimal"],
	['an unknown word of a choice', 'log:\n  level: loud\n', 2, 'log.level', 'choose one of error, warning, info, debug'],
	['a misspelt word of a choice', 'model: { provider: antropic }\n', 1, 'model.provider', "did you mean 'anthropic'?"],
	['agents for others without an address', "a2a_agents:\n  - { name: a, description: b }\n", 1, 'a2a_agents', 'set a2a.url to the address at which others reach this server'],
	['an address for others in the clear', 'a2a:\n  url: http://agents.example.com\n', 2, 'a2a.url', 'is not an https address'],
	['a standard agent that is not published', 'a2a:\n  standard_agent: nobody\n', 2, 'a2a.standard_agent', "a2a_agents has no agent 'nobody'"],
	['a key of cards that is not there', 'a2a:\n  card_key: /nowhere/card.pem\n', 2, 'a2a.card_key', 'cannot be opened'],
	['a key of cards that others can read', 'a2a:\n  card_key: /etc/passwd\n', 2, 'a2a.card_key', 'mode 0600'],
	['a published agent with a name for no address', "a2a: { url: 'https://a.example' }\na2a_agents:\n  - { name: a/b, description: c }\n", 2, 'a2a_agents', "the name 'a/b' is not"],
	['a skill that is no definition', "a2a: { url: 'https://a.example' }\na2a_agents:\n  - { name: a, description: c, skills: [x] }\n", 2, 'a2a_agents', "skills names 'x', which is no agent definition"],
	['a misspelt key', 'listen: off\nmodel:\n  nmae: x\n', 3, 'model.nmae', "there is no such setting; did you mean 'name'?"],
	['a misspelt section', `${'# comment\n'.repeat(33)}budgets:\n  turn_ms: 5\n`, 34, 'budgets', "did you mean 'budget'?"],
	['a key at the wrong level', 'max_attempts: 3\n', 1, 'max_attempts', 'did you mean model.max_attempts? Write `max_attempts:` below `model:`'],
	['a dotted key', 'model.name: x\n', 1, 'model.name', 'Write `name:` below `model:`'],
	['a key given twice', 'listen: off\nmodel: { name: a }\nlisten: 127.0.0.1:1\n', 3, 'listen', 'given twice, first in line 1; remove one'],
	['a section given twice', 'model:\n  name: a\nlog: { level: info }\nmodel:\n  max_rounds: 5\n', 4, 'model', 'given twice, first in line 1'],
	['a field given twice', 'models:\n  - name: a\n    provider: gemini\n    name: b\n', 4, 'models[0].name', 'given twice, first in line 2'],
	['a value where a section is needed', 'model: gpt\n', 1, 'model', 'settings are needed below it'],
	['a list where a value is needed', 'listen: [a, b]\n', 1, 'listen', 'a single value is needed, but this is a list'],
	['a mapping where a list is needed', 'models:\n  name: a\n', 2, 'models', 'a list is needed, each entry beginning with `- `'],
	['a text where an entry is needed', 'hooks:\n  - notify\n', 2, 'hooks[0]', 'fields are needed, such as `- name: x`'],
	['a text where texts are needed', 'mcp_servers:\n  - name: a\n    command: npx\n    args: -y server\n', 4, 'mcp_servers[0].args', 'a list of texts is needed, such as [a, b]'],
	['an unknown field', 'hooks:\n  - name: a\n    point: stop\n    timout_ms: 5\n', 4, 'hooks[0].timout_ms', "did you mean 'timeout_ms'?"],
	['a required field that is missing', 'models:\n  - name: a\n', 2, 'models[0].provider', 'it is required; add provider: ...'],
	['the same name twice', 'models:\n  - {name: a, provider: gemini}\n  - {name: a, provider: gemini}\n', 3, 'models[1].name', 'models[0] has the same value; choose another'],
	['a variable that is not set', 'models:\n  - {name: a, provider: gemini, api_key: "env:NOT_SET_HERE"}\n', 2, 'models[0].api_key', 'NOT_SET_HERE that it names is not set; set it'],
	['an anchor and an alias', 'model: &m { name: a }\nlog: *m\n', 1, null, 'anchors (&), aliases (*) and tags (!) are not supported; write the value itself'],
	['a bomb of aliases', `a: &a [x,x]\n${[...'bcdefgh'].map((c, i) => `${c}: &${c} [*${'abcdefgh'[i]},*${'abcdefgh'[i]}]`).join('\n')}\n`, 1, null, 'aliases (*) and tags (!) are not supported'],
	['a tag', 'listen: !!str off\n', 1, null, 'tags (!) are not supported'],
	['a tab', 'model:\n\tname: x\n', 2, null, 'a tab is used for indentation; indent with spaces'],
	['a second document', 'listen: off\n---\nlisten: 127.0.0.1:1\n', 2, null, 'a second document begins here; keep all settings in one'],
	['no YAML', 'model: { name: x\nlisten: off\n', 2, null, 'not valid YAML'],
	['a text alone', 'hello\n', 1, null, 'settings are needed, each as `key: value`'],
	['a list alone', '- listen: off\n', 1, null, 'settings are needed'],
	['deep nesting', `listen: ${'['.repeat(200)}${']'.repeat(200)}\n`, 1, null, 'nested too deeply'],
	['a NUL in a text', 'model: { name: "a\\0b" }\n', 1, null, 'has a NUL character; remove it'],
	['bytes that are no UTF-8', Buffer.from('listen: off\nmodel: { name: "\xff\xfe" }\n', 'latin1'), 2, null, 'save the file as UTF-8'],
	['a file that is too large', `# ${'x'.repeat(1 << 20)}\n`, 0, null, 'the file is larger than 1 MiB'],
	// Values that are well formed, and cannot work.
	['a certificate without a key', 'listen: off\ntls: { certificate: /nonexistent.pem }\n', 2, 'tls.certificate', 'go together; set both'],
	['a certificate that is not there', 'listen: off\ntls: { certificate: /nonexistent.pem, key: /nonexistent.pem }\n', 2, 'tls.certificate', "'/nonexistent.pem' cannot be read: No such file or directory; check the path"],
	['a workspace that is not there', 'tools:\n  workspace: /nonexistent/place\n', 2, 'tools.workspace', 'make it, or name another'],
	['an address without a port', 'listen: 127.0.0.1\n', 1, 'listen', 'write one such as 127.0.0.1:7717'],
	['an address beyond this machine, unguarded', 'listen: 0.0.0.0:7717\n', 1, 'listen', 'set tls.certificate, tls.key and auth.required'],
	['object storage without PostgreSQL', 'blob:\n  s3_url: http://127.0.0.1:9000/b\n', 2, 'blob.s3_url', 'set `store` too'],
	['an issuer without an audience', 'auth: { jwt_issuer: "https://i.example" }\n', 1, 'auth.jwt_issuer', 'needs auth.jwt_audience'],
	['a hook that does nothing', 'listen: off\nhooks:\n  - {name: a, point: stop}\n', 2, null, 'hooks[0] (a): it needs a command or a url'],
	['two currencies', 'models:\n  - {name: a, provider: gemini, base_url: "http://127.0.0.1:1"}\n  - {name: b, provider: gemini, currency: EUR}\n', 1, null, 'models[1].currency: USD is needed'],
];

for (const [what, text, line, key, sentence] of WRONG)
	test(`refused: ${what}`, () => {
		const { status, stdout, stderr, errors } = check(text);
		const place = `error: ${file}${line ? `:${line}` : ''}: ${key ? `${key}: ` : ''}`;
		assert.equal(status, 1, stderr);
		assert.ok(errors.some((e) => e.startsWith(place) && e.includes(sentence)), `expected ${place}...${sentence}\nbut it says\n${stderr}`);
		assert.equal(stdout, '');
	});

test('good settings pass, and units are read', () => {
	const { status, stdout, stderr } = check('listen: off\ntls:\n# all of it is commented out\nmodel: { name: "", first_byte_timeout_ms: 5s, max_output_bytes: 2MiB }\n'
		+ 'context: { compact_at: 80% }\nretention: { days: 30d }\nauth: { required: true, jwt_leeway_s: 2m }\nmodels:\n  - {name: a, provider: gemini, input_price: 0.25}\n');
	assert.deepEqual([status, stdout, stderr], [0, 'the settings are correct\n', '']);
	assert.equal(check('').status, 0);
});

test('all mistakes are listed at once', () => {
	const { errors, stderr } = check('lisen: off\nmodel:\n  max_attempts: many\n  provider: bard\nhooks: 5\n');
	assert.deepEqual(errors.map((e) => e.slice(`error: ${file}:`.length).split(': ').slice(0, 2)), [['1', 'lisen'], ['3', 'model.max_attempts'], ['4', 'model.provider'], ['5', 'hooks']]);
	assert.match(stderr, /4 mistakes found; agentd would not start/);
});

test('secrets are not shown', () => {
	const { status, stderr } = check('openai: { api_key: [sk-very-secret-1] }\nmcp_servers:\n  - {name: a, command: x, env: "TOKEN=sk-very-secret-2"}\n');
	assert.equal(status, 1);
	assert.ok(!stderr.includes('sk-very-secret'), stderr);
});

test('the environment is read by the same rules, and misspelt variables are found', () => {
	assert.match(check('', { AGENTD_AUTH_REQUIRED: 'flase' }).stderr, /^error: environment AGENTD_AUTH_REQUIRED: auth\.required: 'flase' is not a boolean/);
	assert.match(check('', { AGENTD_RETENTION_DAYS: '010' }).stderr, /'010' is not a duration in whole days/);
	const near = check('', { AGENTD_AUTH_REQUIERD: 'true' });
	assert.equal(near.status, 1);
	assert.match(near.stderr, /AGENTD_AUTH_REQUIERD: there is no such variable; did you mean AGENTD_AUTH_REQUIRED\?/);
	assert.equal(check('', { AGENTD_HOME: '/srv' }).status, 0); // two of four letters differ from AGENTD_NODE
	const far = check('', { AGENTD_FAVOURITE_COLOUR: 'blue', AGENTD_SERVICE_HOST: '10.0.0.1', AGENTD_PORT_7717_TCP: 'tcp://10.0.0.1:7717' });
	assert.equal(far.status, 0);
	assert.equal(far.stderr, 'warning: environment AGENTD_FAVOURITE_COLOUR: no setting has this variable and it is ignored; docs/reference/config.md lists them\n');
});

test('a file that cannot be read is an error', () => {
	const { status, stderr } = agentd(['check', '--config', join(folder, 'absent.yaml')]);
	assert.equal(status, 1);
	assert.match(stderr, /absent\.yaml: cannot be read: No such file or directory; check the path/);
});

// ---- the command line ----

for (const [args, sentence] of [
	[['frobnicate'], "unknown command 'frobnicate'"],
	[['chekc', '--config', file], "unknown command 'chekc'; did you mean 'check'?"],
	[['--confg', file], "unknown option '--confg'; did you mean '--config'?"],
	[['--conf', file], "unknown option '--conf'; did you mean '--config'?"],
	[['--config'], "a value is needed after '--config'"],
	[['--listen', 'off', 'now'], "unexpected word 'now'"],
	[['-x'], "unknown option '-x'"],
	[['migrate', '--jsno'], "agentd migrate: unknown option '--jsno'"],
	[['sandbox', '--js'], "unknown option '--js'; did you mean '--json'?"],
	[['sandbox', '--json=yes'], "no value belongs to '--json'"],
	[['check', 'it'], "unexpected word 'it'"],
])
	test(`refused: agentd ${args.join(' ').replace(file, 'F')}`, () => {
		const { status, stdout, stderr } = agentd(args);
		assert.equal(status, 2, stderr);
		assert.ok(stderr.includes(sentence) && /Try: agentd.* --help/.test(stderr), stderr);
		assert.equal(stdout, '');
	});

test('a start that fails says why once', () => {
	writeFileSync(file, 'model: { max_attempts: many }\n');
	for (const args of [['--config', file], ['--data-dir', '/proc/nowhere', '--listen', 'off']]) {
		const { status, stderr } = agentd(args);
		assert.equal(status, 1);
		const lines = stderr.trimEnd().split('\n');
		assert.equal(lines.length, 1, stderr);
		assert.deepEqual([JSON.parse(lines[0]).level, JSON.parse(lines[0]).message], ['error', 'cannot start']);
	}
});
