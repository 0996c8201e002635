// The pages of docs/ as they stand: every shell block carries a mark `<!-- run: NAME -->` and is run by a test, those of small pages here; every
// block of settings is taken by agentd. Only addresses, ids, and programs from elsewhere are replaced.
// ci: release only
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, ok, startAgentd, startModel, waitFor, world } from '../lib/runtime.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const pages = ['README.md', 'sdk/typescript/README.md', ...['docs', 'docs/guide'].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`))];
const textOf = (page) => readFileSync(join(root, page), 'utf8');
const blocksOf = (page, language) => [...textOf(page).matchAll(new RegExp(`(?:<!-- run: (\\S+) -->\\n)?\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, name, text]) => ({ name, text }));
const block = (page, name) => blocksOf(page, 'sh').find((it) => it.name === name).text;

/** What a script prints; the model answers meanwhile. */
async function bash(script, env) {
	const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { env: { PATH: `${bin}:${process.env.PATH}`, LANG: 'C.UTF-8', ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
	let out = '';
	child.stdout.on('data', (text) => (out += text));
	assert.equal(await new Promise((done) => child.on('close', done)), 0, script);
	return out;
}

test('every shell block is run by a test', () => {
	// The first one of the client: what tools/run-tests does before test/sdk.
	const others = ['sdk/typescript/README.md'];
	const tests = ['test/docs', 'test/sdk', 'test/embed'].flatMap((folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith('.test.mjs')).map((name) => textOf(`${folder}/${name}`))).join('\n');
	for (const page of pages) {
		const blocks = blocksOf(page, 'sh').slice(others.includes(page) ? 1 : 0);
		for (const { name, text } of blocks) {
			assert.ok(name, `${page} has a block without a mark:\n${text}`);
			assert.ok(tests.includes(`'${name}'`), `${page}: no test runs '${name}'`);
		}
	}
});

test('the README names every word of agentctl', () => {
	const readme = textOf('README.md');
	const words = execFileSync(join(bin, 'agentctl'), ['help'], { encoding: 'utf8' }).split('Global options')[0].matchAll(/^ {2}([a-z]+) {3,}/gm);
	for (const [, word] of words) assert.match(readme, new RegExp(`^\\|.*\`${word}[ \`].*\\|`, 'm'), word);
});

test('network.md: the OpenAPI document, over the unix socket', async () => {
	const [rt, folder] = [await startAgentd(), newFolder()];
	await bash(`cd ${folder}\n${block('docs/network.md', 'openapi').replace('~/.local/state/agentd/agentd.sock', rt.socket)}`);
	assert.equal(readFileSync(join(folder, 'openapi.json'), 'utf8'), textOf('catalog/gen/openapi.json'));
});

test('a2a-cards.md: a key for cards', async () => {
	const folder = newFolder();
	const shown = await bash(`cd ${folder}\n${block('docs/a2a-cards.md', 'card-key')}`);
	assert.match(shown, /^-----BEGIN PUBLIC KEY-----/m);
	writeFileSync(join(folder, 'agentd.yaml'), `a2a: { card_key: ${join(folder, 'card.pem')} }\n`);
	assert.match(await bash(`agentd check --config ${folder}/agentd.yaml --data-dir ${folder}/data`), /the settings are correct/);
});

/** What stands in the way of settings as they are written: addresses of others, programs from a registry, files of another machine. */
const elsewhere = (text, folder) => text
	.replace(/https:\/\/[a-z]+\.example\.(com|org)/g, 'http://127.0.0.1:1').replace('0.0.0.0:7717', '127.0.0.1:0').replace('command: npx', 'command: "true"')
	.replace('/home/me/project', folder).replace('/srv/agentd-workspaces', join(folder, 'workspaces')).replaceAll('/etc/agentd/secrets', folder).replaceAll(/\/etc\/agentd\/(skills|agents)/g, folder).replace('value: ...\n    commands', 'value: secret-of-deploy\n    commands').replace('value: ...', 'value: secret-of-service');

test('every block of settings is taken', async (t) => {
	for (const page of pages)
		for (const [i, { text }] of blocksOf(page, 'yaml').entries()) {
			if (text.startsWith('scrape_configs:')) continue; // Prometheus's
			await t.test(`${page} ${i + 1}`, () => {
				const folder = newFolder();
				const file = join(folder, 'agentd.yaml');
				writeFileSync(file, elsewhere(text, folder), { mode: 0o600 });
				for (const name of ['openai-key', 'vault-token', 'db-password']) writeFileSync(join(folder, name), 'secret-of-a-test', { mode: 0o600 });
				// A database of another machine is not there to be connected to.
				const word = text.startsWith('store:') ? 'check' : 'stdio'; // nor are commands run, or stores asked
				const { status, stderr } = spawnSync(join(bin, 'agentd'), [word, '--config', file, '--data-dir', join(folder, 'data')],
					{ env: { PATH: process.env.PATH, HOME: folder, ANTHROPIC_API_KEY: 'key-of-a-test', CI_WEBHOOK_SECRET: 'secret-of-a-test', GITHUB_WEBHOOK_SECRET: 'secret-of-a-test', A2A_PUSH_KEY: 'secret-of-a-test', CREDENTIALS_DIRECTORY: folder }, input: '', encoding: 'utf8', timeout: 20000 });
				// The certificates of that page are the operator's.
				if (text.includes('/etc/agentd/tls/')) assert.match(stderr, /\/etc\/agentd\/tls\/fullchain\.pem/);
				else assert.equal(status, 0, stderr);
			});
		}
});

test('docs/security.md: the life of a token', async (t) => {
	const rt = await startAgentd({ config: { 'auth.required': true } });
	t.after(() => rt.stop());
	const [first, second, third, ...rest] = block('docs/security.md', 'tokens').replace('https://agents.example.com:7717', rt.url).trim().split('\n');
	const env = { HOME: '/nonexistent', AGENTD_SOCKET: rt.socket };
	const { token } = JSON.parse(await bash(first.replace('agentctl', 'agentctl --json'), env));
	assert.match(token, /^art_/);
	assert.equal(second, 'export AGENTCTL_TOKEN=art_...');
	const made = JSON.parse(await bash(third.replace('agentctl', 'agentctl --json'), { ...env, AGENTCTL_TOKEN: token }));
	const said = await bash(rest.join('\n').replace(/tok_9f2k4c7m1x8q0w3e/g, made.record.tokenId), { ...env, AGENTCTL_TOKEN: token });
	assert.match(said, new RegExp(made.record.tokenId));
	const { tokens } = await ok(rt, 'list_tokens', { includeEnded: true }, { via: 'socket' });
	assert.ok(tokens.find(({ tokenId }) => tokenId === made.record.tokenId).revokedAt);
});

test('docs/security.md: the audit trail', async (t) => {
	const rt = await startAgentd();
	t.after(() => rt.stop());
	await ok(rt, 'create_session', {}, { via: 'socket' });
	const folder = newFolder();
	const said = await bash(`cd ${folder}; ${block('docs/security.md', 'audit')}`, { HOME: '/nonexistent', AGENTD_SOCKET: rt.socket });
	assert.match(said, /1 entries verified, 0 faults/);
	assert.equal(JSON.parse(readFileSync(`${folder}/audit.ndjson`, 'utf8')).command, 'create_session');
});

/** Runs a block that ends with a stream, until that has told of something: all that was printed. */
async function streams(t, rt, script, told) {
	const here = script.replaceAll('localhost:7717', `${rt.host}:${rt.port}`).trim().replace(/\ncurl -N/, '\nexec curl -sN');
	const child = spawn('bash', ['-euc', `${here}\n`], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] });
	t.after(() => (process.kill(child.pid, 'SIGKILL'), rt.stop()));
	let out = '';
	child.stdout.on('data', (text) => (out += text));
	await waitFor(() => out.includes(told), 'the stream');
	return out;
}

test('docs/channels.md: a channel enrols and follows', async (t) => {
	const { rt } = await world();
	const { sessionId } = await ok(rt, 'create_session', {});
	const out = await streams(t, rt, block('docs/channels.md', 'channel').replaceAll('sess_...', sessionId), 'channel.connected');
	assert.match(out, /^\{.*"resumeToken":"rt_/);
});

test('docs/channels.md: a channel over all sessions enrols, acknowledges, comes back and follows', async (t) => {
	const { rt } = await world();
	await ok(rt, 'create_session', {});
	const out = await streams(t, rt, block('docs/channels.md', 'channel_all').replace('t1:42', 't1:1'), 'channel.resumed');
	const answers = out.split(/(?<=\})\n?(?=\{)/).slice(0, 3).map((text) => JSON.parse(text.split('\n')[0].replace(/id:.*$/, '')));
	assert.match(answers[0].resumeToken, /^rt_/);
	assert.equal(answers[1].cursor, 't1:1');
	assert.deepEqual([answers[2].replayMode, answers[2].snapshot.sessions.length], ['replay', 1]);
});

test('docs/workspaces.md: a workspace is trusted', { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' }, async (t) => {
	const [home, folder] = [newFolder(), newFolder()];
	const rt = await startAgentd({ config: { 'workspaces.dir': newFolder() } });
	t.after(() => rt.stop());
	mkdirSync(join(home, 'project'));
	writeFileSync(join(home, 'project/AGENTS.md'), 'Be brief.');
	const life = block('docs/workspaces.md', 'workspaces').split('\n').slice(0, 3).join('\n');
	const out = await bash(`cd ${folder}\n${life}\n${block('docs/workspaces.md', 'workspace-trust')}`, { HOME: home, AGENTD_SOCKET: rt.socket });
	assert.equal(JSON.parse(readFileSync(join(folder, 'items.json'), 'utf8')).items[0].path, 'AGENTS.md');
	assert.match(out, /"trust":"trusted","trustedBy":"local"/);
	assert.match(out, /"trust":"untrusted","version":3/);
});

test('docs/workspaces.md: its environment', async (t) => {
	const home = newFolder();
	mkdirSync(join(home, 'project'));
	const rt = await startAgentd({ config: { 'workspaces.dir': newFolder() }, model: await startModel() });
	t.after(() => rt.stop());
	const life = block('docs/workspaces.md', 'workspaces').split('\n').slice(0, 2).join('\n');
	const out = await bash(`cd ${newFolder()}\n${life}\n${block('docs/workspaces.md', 'workspace-environment')}`, { HOME: home, AGENTD_SOCKET: rt.socket });
	assert.equal(out, 'STAGE=test\nREGION=eu\nSTAGE=test\n');
});

test('docs/permission.md: the policy of a workspace', async (t) => {
	const rt = await startAgentd({ config: { 'workspaces.dir': newFolder() } });
	t.after(() => rt.stop());
	const out = await bash(block('docs/permission.md', 'workspace-policy'), { HOME: newFolder(), AGENTD_SOCKET: rt.socket });
	const [set, { workspace }, cleared] = out.trim().split('\n').map((line) => JSON.parse(line));
	assert.deepEqual([workspace.policy.budget, workspace.policy.rules[0].name, workspace.policyAuthor.reason], [{ tokens: 200000 }, 'no-push', 'an incident']);
	assert.notEqual(set.policyRef, cleared.policyRef);
});

test('docs/workspaces.md: from the terminal', async (t) => {
	const model = await startModel();
	const home = newFolder();
	for (const name of ['project', 'other']) mkdirSync(join(home, name));
	writeFileSync(join(home, 'project/AGENTS.md'), 'Be brief.');
	const env = { HOME: home, OPENAI_BASE_URL: model.url };
	t.after(() => bash('agentctl stop', env));
	const out = await bash(block('docs/workspaces.md', 'from-the-terminal'), env);
	assert.match(out, /^You said: What does this project do\?\nYou said: And how is it tested\?\nYou said: What is in here\?\nworkspace /);
	assert.match(out, /^trust {6}untrusted$[^]*AGENTS\.md$[^]*^trust {6}trusted$/m);
	assert.match(out, /^ws_\w+ +project +trusted .*\/project$/m);
	const { sessions } = JSON.parse(await bash('agentctl sessions --json', env));
	assert.deepEqual(sessions.map((one) => one.turns).sort(), [1, 2]);
});

test('docs/workspaces.md: isolation', { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' }, async (t) => {
	const model = await startModel();
	const home = newFolder();
	mkdirSync(join(home, 'project'));
	writeFileSync(join(home, 'project/a.txt'), 'a');
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', join(home, 'project')]);
	const rt = await startAgentd({ model, config: { 'permission.mode': 'bypass', 'workspaces.dir': newFolder() } });
	t.after(() => rt.stop());
	const env = { HOME: home, AGENTD_SOCKET: rt.socket };
	const write = (content) => `[[tool write_file ${JSON.stringify({ path: 'b.txt', content })}]]`;
	const script = block('docs/workspaces.md', 'isolation').replace('Rename the module.', write('one').replaceAll('"', '\\"')).replace('Now the documentation.', write('two').replaceAll('"', '\\"'));
	const out = await bash(script, env);
	assert.match(out, /\+one\n[^]*1 file applied\n[^]*1 file restored\n$/);
	assert.equal(readFileSync(join(home, 'project/b.txt'), 'utf8'), 'one');
});

test('docs/workspaces.md: the life of a workspace', { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' }, async (t) => {
	const [home, folder] = [newFolder(), newFolder()];
	const rt = await startAgentd({ config: { 'workspaces.dir': newFolder() } });
	t.after(() => rt.stop());
	const out = await bash(`cd ${folder}\n${block('docs/workspaces.md', 'workspaces')}`, { HOME: home, AGENTD_SOCKET: rt.socket });
	const { workspace } = JSON.parse(readFileSync(join(folder, 'workspace.json'), 'utf8'));
	assert.equal(workspace.name, 'project');
	assert.match(out, /"name":"The project"/);
	assert.match(out, /"result":"archived"/);
});

test('docs/workers.md: a worker from its token to its end', async (t) => {
	const [home, folder] = [newFolder(), newFolder()];
	const model = await startModel();
	const rt = await startAgentd({ config: { 'workspaces.dir': newFolder() }, model });
	t.after(() => rt.stop());
	// The terminal waits where a person would: until the worker has joined.
	const script = block('docs/workers.md', 'workers').replace('http://127.0.0.1:7717', rt.url)
		.replace('--label zone=a &', '--label zone=a > joined 2> log & until [ -s joined ]; do kill -0 $!; sleep 0.05; done');
	const out = await bash(`cd ${folder}\n${script}\nwait $! || test $? = 1`, { HOME: home, AGENTD_SOCKET: rt.socket });
	const { workspace } = JSON.parse(readFileSync(join(folder, 'workspace.json'), 'utf8'));
	assert.ok(workspace.root.startsWith(join(realpathSync(home), 'worker/workspaces/')), workspace.root);
	assert.match(out, /You said: What is in here\?/);
	assert.match(readFileSync(join(folder, 'log'), 'utf8'), /does not accept the token of this worker/);
});

test('docs/schedules.md: a schedule from its creation to its end', async (t) => {
	const { rt } = await world();
	t.after(() => rt.stop());
	const out = await bash(block('docs/schedules.md', 'schedules'), { HOME: newFolder(), AGENTD_SOCKET: rt.socket });
	assert.match(out, /every weekday at 09:00 Europe\/Berlin/);
	assert.match(out, /^next +\d{4}-/m);
	assert.match(out, /; paused\n/);
	assert.equal(out.match(/every weekday at 08:30 Europe\/Berlin; next: \d{4}-\d\d-\d\dT0[67]:30:00Z\n/g)?.length, 2, out); // changed, and resumed
	assert.match(out, /sched_\S+ {2}ended/);
});

test('docs/schedules.md: a schedule of a job from a file', async (t) => {
	const { rt } = await world();
	t.after(() => rt.stop());
	const out = await bash(`cd "$HOME"\n${block('docs/schedules.md', 'schedule-job')}`, { HOME: newFolder(), AGENTD_SOCKET: rt.socket });
	assert.match(out, /^job +What happened in this city\?$/m);
	assert.match(out, /^run .* job_\w+_sched-\S+$/m);
});

test('docs/tenants.md: the facts of all sessions', async (t) => {
	const { rt } = await world();
	const script = block('docs/tenants.md', 'all-sessions').replace('localhost:7717', `${rt.host}:${rt.port}`);
	const child = spawn('bash', ['-euc', script.replace('curl -N', 'exec curl -sNi')], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] });
	t.after(() => (process.kill(child.pid, 'SIGKILL'), rt.stop()));
	let out = '';
	child.stdout.on('data', (text) => (out += text));
	await waitFor(() => out.includes('\r\n\r\n'), 'the head of the stream');
	const { sessionId } = await ok(rt, 'submit_turn', { createPolicy: {}, text: 'hello' });
	await waitFor(() => out.includes('turn.completed'), 'the end of the turn');
	assert.match(out, new RegExp(`"turn.submitted".*"${sessionId}"`));
	assert.doesNotMatch(out, /"type":"session.created"/);
});

test('docs/tenants.md: the quotas of the tenant', async (t) => {
	const { rt } = await world({ config: { tenants: [{ name: '*', turns: 2 }] } });
	t.after(() => rt.stop());
	const out = await bash(block('docs/tenants.md', 'quota'), { HOME: newFolder(), AGENTD_SOCKET: rt.socket });
	assert.match(out, /^tenant local$[^]*^turns +2 +0 {2}turns that have begun/m);
	assert.match(out, /^tokens_per_day +none +- .*; resets at \d{4}-\d\d-\d\dT00:00:00/m);
	assert.match(out, /"quota": ?"cost_per_day"/);
});

test('docs/subagents.md: the child agents of the newest session', async (t) => {
	const { rt } = await world({ config: { 'subagents.tools': true } });
	t.after(() => rt.stop());
	const env = { HOME: newFolder(), AGENTD_SOCKET: rt.socket };
	await bash(`agentctl run '[[tool spawn_agent {"objective":"look","nickname":"Ada"}]]'`, env);
	const out = await bash(block('docs/subagents.md', 'agents'), env);
	assert.match(out, /^AGENT +STATUS +CHANGED +NAME$\n^sub_\w+_1 +completed .*Ada$[^]*^sub_\w+_1 +completed/m);
	const [id] = /sub_\w+_1/.exec(out);
	assert.match(await bash(`agentctl agent show ${id}`, env), /^status +completed$[^]*^tool +inherit$[^]*^said +You said: look/m);
	assert.match(await bash(`agentctl agent send ${id} 'more' && agentctl agent close ${id} --reason done`, env), /accepted\n[^]*closed/);
});

test('docs/subagents.md: a worktree of its own', { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' }, async (t) => {
	const home = newFolder();
	mkdirSync(join(home, 'project'));
	execFileSync('sh', ['-ec', 'git init -q .; echo a > a; git -c user.name=n -c user.email=e@x add .; git -c user.name=n -c user.email=e@x commit -qm first'], { cwd: join(home, 'project'), env: { ...process.env, HOME: home } });
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', join(home, 'project')]);
	const rt = await startAgentd({ model: await startModel(), config: { 'permission.mode': 'bypass', 'workspaces.dir': newFolder(), 'subagents.tools': true } });
	t.after(() => rt.stop());
	const write = JSON.stringify(`[[tool write_file ${JSON.stringify({ path: 'NOTES', content: 'noted' })}]]`).replaceAll(']', '\\u005d');
	const script = block('docs/subagents.md', 'agent-worktrees').replace('"Let an agent with a worktree of its own write the notes."', `'[[tool spawn_agent {"objective":${write},"worktree":"own"}]]'`);
	const out = await bash(script, { HOME: home, AGENTD_SOCKET: rt.socket });
	assert.match(out, /\+noted\n[^]*1 file applied\n[^]*closed\n$/);
	assert.equal(readFileSync(join(home, 'project/NOTES'), 'utf8'), 'noted');
});

test('docs/guide/tools.md: a workspace, and what a turn has', async (t) => {
	const model = await startModel();
	const home = newFolder();
	mkdirSync(join(home, 'project'));
	const env = { HOME: home, OPENAI_BASE_URL: model.url, AGENTD_LISTEN: 'off' };
	t.after(() => bash('agentctl stop', env));
	assert.equal(await bash(block('docs/guide/tools.md', 'files'), env), 'You said: Which files of this project mention a licence?\n');
	assert.equal(await bash(block('docs/guide/tools.md', 'commands'), env), 'You said: Run the tests and tell me what fails.\n');
	const [{ sessionId }] = JSON.parse(await bash('agentctl sessions --json', env)).sessions;
	const said = await bash(block('docs/guide/tools.md', 'inventory').replace('sess_...', sessionId), env);
	for (const name of ['read_file', 'apply_patch', 'shell']) assert.match(said, new RegExp(`"${name}"`));
});

test('docs/hooks.md: a command that blocks, and lets pass', () => {
	const file = join(newFolder(), 'hook');
	writeFileSync(file, block('docs/hooks.md', 'weekend'));
	chmodSync(file, 0o755);
	const asked = (input) => spawnSync(file, [], { input: JSON.stringify({ hookPoint: 'pre_tool_use', tool: { name: 'fetch', input } }), encoding: 'utf8' });
	const blocked = asked({ url: 'https://prod.example.com/x' });
	assert.deepEqual([blocked.status, blocked.stderr], [2, 'production is closed on weekends\n']);
	assert.equal(asked({ url: 'https://test.example.com/x' }).status, 0);
});

test('docs/editors.md and the registry: what an editor starts answers initialize', () => {
	const version = /project\(agentruntime VERSION (\S+)/.exec(textOf('CMakeLists.txt'))[1];
	const entry = JSON.parse(textOf('packaging/acp/agent.json'));
	const { archive, cmd, args } = entry.distribution.binary['linux-x86_64'];
	assert.deepEqual([entry.version, archive.includes(`-${version}-`), cmd], [version, true, './bin/agentctl']);
	const started = blocksOf('docs/editors.md', 'json').map(({ text }) => JSON.parse(text).agent_servers.agentd);
	assert.equal(started.length, 2);
	for (const { command, args: words } of [...started, { command: 'agentctl', args }]) {
		const { stdout, status } = spawnSync(join(bin, command), words, { env: { HOME: newFolder() }, input: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n', encoding: 'utf8' });
		assert.deepEqual([status, JSON.parse(stdout).result.agentInfo.version], [0, version]);
	}
});
