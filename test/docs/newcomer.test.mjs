// ci: release only
// README.md and docs/operate.md as a new user of a new machine runs them: from the top to the bottom, each page in one shell. The machine has Debian's
// essential packages, the Debian package with what it depends on, and the programs that the pages say they need; no build, no source, no compiler, no node.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder } from '../lib/runtime.mjs';
import { has } from '../ops/scrape.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const skip = process.getuid() === 0 && has('unshare') && has('ip') ? false : 'needs root, unshare and ip';
const pages = { 'README.md': 'ada', 'docs/operate.md': 'grace' };

// What the package does instead. test/docs/readme.test.mjs and test/docs/operate.test.mjs run these from a clone.
const instead = { 'README.md': ['build'], 'docs/operate.md': ['install'] };

// Before the page: what it says that it expects. The server is the user's own, as a base backup is started by the user that runs the server.
const expected = {
	'README.md': '',
	'docs/operate.md': `
		export DATA=~/data BACKUP=~/backup RESTORED=~/restored NODE_A=127.0.0.1:7718 NODE_B=127.0.0.1:7719 OPENAI_BASE_URL=http://127.0.0.1:11434/v1
		export SERVER="host=$HOME user=grace" STORE="host=$HOME user=grace dbname=agentd"
		mkdir "$BACKUP"
		server=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
		"$server/initdb" --pgdata=server --auth=trust --no-sync --no-instructions >/dev/null
		printf "unix_socket_directories = '%s'\\nlisten_addresses = ''\\nfsync = off\\n" "$HOME" >>server/postgresql.conf
		"$server/pg_ctl" --pgdata=server --log=server.log --wait start >/dev/null
	`,
};

const blocksOf = (page) => [...readFileSync(join(root, page), 'utf8').matchAll(/<!-- run: (\S+) -->\n```sh\n([\s\S]*?)```/g)].map(([, name, text]) => ({ name, text }));

/** A page as one script that says which block it is at. */
function scriptOf(page) {
	const blocks = blocksOf(page).filter(({ name }) => !instead[page].includes(name));
	return `cd ~\n${expected[page].replace(/^\t+/gm, '')}\n${blocks.map(({ name, text }) => `echo "<at ${name}>"\n${text}`).join('\n')}\necho "<at the end>"\n`;
}

let machine, said;

before(() => {
	if (skip) return;
	const folder = newFolder();
	machine = join(folder, 'root');
	execFileSync('cpack', ['--config', join(dirname(bin), 'CPackConfig.cmake'), '-B', folder], { stdio: 'pipe' });
	const deb = join(folder, readdirSync(folder).find((name) => name.endsWith('.deb')));
	execFileSync(join(root, 'test/docs/clean_root.py'), [machine, deb, 'mount', 'openssl', 'sqlite3', 'postgresql'], { stdio: ['ignore', 'ignore', 'inherit'] });
	copyFileSync(deb, join(machine, 'tmp/agentd.deb'));
	const lines = ['set -e', 'dpkg --no-triggers -i /tmp/agentd.deb >/dev/null 2>&1 || dpkg --no-triggers -i /tmp/agentd.deb'];
	for (const [page, user] of Object.entries(pages)) {
		writeFileSync(join(machine, `tmp/${user}.sh`), scriptOf(page));
		lines.push(`useradd --create-home --shell /bin/bash ${user}`);
		lines.push(`setpriv --reuid ${user} --regid ${user} --init-groups env -i HOME=/home/${user} USER=${user} LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin bash -euo pipefail /tmp/${user}.sh </dev/null 2>&1 || echo "<failed ${page}>"`);
	}
	said = spawnSync(join(root, 'test/docs/enter-root'), [machine, join(root, 'test/model/scripted.mjs'), 'bash', '-c', lines.join('\n')],
		{ encoding: 'utf8', env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } });
});

after(() => machine && rmSync(machine, { recursive: true, force: true }));

for (const page of Object.keys(pages)) {
	test(`${page}: every block works, in one shell from the top, for a new user who has the package alone`, { skip }, () => {
		assert.equal(said.status, 0, said.stdout + said.stderr);
		assert.doesNotMatch(said.stdout, new RegExp(`<failed ${page}>`), said.stdout);
		const at = [...said.stdout.matchAll(/^<at (.*)>$/gm)].map((m) => m[1]);
		const names = blocksOf(page).map(({ name }) => name);
		const done = names.filter((name) => at.includes(name));
		assert.deepEqual(names.filter((name) => !done.includes(name)), instead[page]);
	});
}

test('no block of these pages is without a mark, and examples are few', () => {
	const count = (page, language) => [...readFileSync(join(root, page), 'utf8').matchAll(new RegExp(`^\`\`\`${language}$`, 'gm'))].length;
	for (const page of Object.keys(pages)) assert.equal(blocksOf(page).length, count(page, 'sh'), page);
	// What is marked as a console is an example, not run here: a wrong file and what is said of it, and the package (test/ops/package).
	assert.deepEqual(Object.keys(pages).map((page) => count(page, 'console')), [0, 2]);
});

test('the answers are there', { skip }, () => {
	assert.match(said.stdout, /<at first>\n(.*\n)*?You said: Say hello in five words\./);
	assert.match(said.stdout, /<at workspace>\n(.*\n)*?You said: Run the tests and tell me what fails\./);
	assert.match(said.stdout, /<at nodes>\n(.*\n)*?.*node-a/);
	assert.equal(said.stdout.match(/<at the end>/g).length, 2);
});
