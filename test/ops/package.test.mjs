// ci: release only
// The Debian package: built by CPack, installed by dpkg on a copy of this machine, used to a first answer, upgraded, removed and purged. And the
// container file, as far as it can be judged without building it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, startModel } from '../lib/runtime.mjs';
import { has } from './scrape.mjs';
import { stopwatch } from './stopwatch.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const canCopy = process.getuid() === 0 && has('unshare');
let folder, deb, newer, model, machine;

/** A shell on a copy of this machine; do() runs one line there and resolves { code, out }. */
class Machine {
	constructor() {
		this.child = spawn(join(root, 'test/ops/private-root'), ['bash'], { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: process.env.PATH, LC_ALL: 'C' } });
		this.text = '';
		this.child.stdin.on('error', () => {});
		for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (piece) => this.take(piece));
		this.gone = new Promise((done) => this.child.on('close', (code) => { this.take(''); done(code); }));
	}
	take(piece) {
		this.text += piece;
		const end = /<done (\d+)>\n/.exec(this.text);
		if (!end || !this.resolve) return;
		this.resolve({ code: Number(end[1]), out: this.text.slice(0, end.index) });
		this.text = this.text.slice(end.index + end[0].length);
		this.resolve = null;
	}
	do(line) {
		return new Promise((done) => {
			this.resolve = done;
			this.child.stdin.write(`( ${line} ) </dev/null 2>&1; echo "<done $?>"\n`);
		});
	}
	async ok(line) {
		const { code, out } = await this.do(line);
		assert.equal(code, 0, `${line}\n${out}`);
		return out;
	}
}

/** The same package under another version, with another default of its settings. */
function repack(from, version) {
	const tree = join(folder, version);
	execFileSync('dpkg-deb', ['-R', from, tree]);
	const control = join(tree, 'DEBIAN/control');
	writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}`));
	const settings = join(tree, 'etc/agentd/agentd.yaml');
	writeFileSync(settings, `${readFileSync(settings, 'utf8')}# of the new version\n`);
	const made = join(folder, `agentd_${version}.deb`);
	execFileSync('dpkg-deb', ['--root-owner-group', '-b', tree, made], { stdio: 'ignore' });
	return made;
}

before(async () => {
	folder = newFolder();
	execFileSync('cpack', ['--config', join(dirname(bin), 'CPackConfig.cmake'), '-B', folder], { stdio: 'pipe' });
	deb = join(folder, readdirSync(folder).find((name) => name.endsWith('.deb')));
	newer = repack(deb, '0.1.1');
	model = await startModel();
	if (canCopy) machine = new Machine();
});

after(async () => {
	machine?.child.stdin.end();
	await machine?.gone;
});

test('it says what it needs, and nothing in it is writable or foreign', () => {
	const depends = execFileSync('dpkg-deb', ['-f', deb, 'Depends'], { encoding: 'utf8' });
	for (const name of ['adduser', 'libc6', 'libuv1', 'libcurl4', 'libsqlite3-0', 'libpq5', 'libsodium23', 'libzstd1', 'libpcre2-8-0', 'libseccomp2', 'libmd4c0', 'libutf8proc2'])
		assert.match(depends, new RegExp(`(^|[ ,])${name}( |,|$)`, 'm'));
	const listed = execFileSync('dpkg-deb', ['-c', deb], { encoding: 'utf8' }).trim().split('\n');
	for (const line of listed) assert.match(line, /^([d-]rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) root\/root /, line);
	const paths = listed.map((line) => line.split(/\s+/)[5]);
	for (const helper of ['agent-init', 'agent-shim', 'agent-audit', 'agent-files', 'agent-proxy', 'agentd', 'agentctl'])
		assert.ok(paths.includes(`./usr/lib/agentd/${helper}`), helper);
	for (const path of ['systemd/system/agentd.service', 'systemd/system/agentd.socket', 'systemd/system/agentd-worker.service', 'systemd/user/agentd.service', 'systemd/user/agentd.socket'])
		assert.ok(paths.includes(`./usr/lib/${path}`), path);
	assert.equal(execFileSync('dpkg-deb', ['-I', deb, 'conffiles'], { encoding: 'utf8' }), '/etc/agentd/agentd.yaml\n');
});

test('no program tells in which folder it was built', () => {
	const tree = join(folder, 'programs');
	execFileSync('dpkg-deb', ['-x', deb, tree]);
	const programs = [join(tree, 'usr/lib/agentd'), bin].flatMap((where) => readdirSync(where).filter((name) => /^agent/.test(name)).map((name) => join(where, name)));
	assert.ok(programs.length >= 14, programs.join(' '));
	for (const program of programs) assert.equal(readFileSync(program).indexOf(root), -1, program);
});

// Images of Debian leave out what nobody reads there.
const whole = "--path-include='/usr/share/man/*' --path-include='/usr/share/doc/*' --no-triggers";
const packageOnly = { skip: canCopy ? false : 'needs root' };

test('dpkg installs it: user, folders, links, pages; nothing is enabled', packageOnly, async () => {
	await machine.ok(`dpkg ${whole} -i ${deb}`);
	assert.match(await machine.ok('getent passwd agentd'), /^agentd:.*:\/var\/lib\/agentd:\/usr\/sbin\/nologin/);
	assert.match(await machine.ok('stat -c "%U %a" /var/lib/agentd'), /^agentd 700/);
	assert.equal((await machine.ok('dpkg -V agentd')).trim(), '');
	assert.match(await machine.ok('agentd --version; agentctl version'), /agentd \d.*\nagentctl \d/);
	if (has('man')) assert.match(await machine.ok('man -w agentd agentctl agentd.yaml'), /agentd\.1\.gz\n.*agentctl\.1\.gz\n.*agentd\.yaml\.5\.gz/);
	assert.equal((await machine.do('ls /etc/systemd/system/*/agentd.* 2>/dev/null')).out.trim(), '');
});

test('the installed programs come to a first answer, and its helpers are found', packageOnly, async () => {
	const as = 'runuser -u agentd -- env HOME=/var/lib/agentd';
	const said = await machine.ok(`${as} OPENAI_BASE_URL=${model.url} agentctl run '[[say hello from the package]]'`);
	assert.match(said, /hello from the package/);
	assert.match(await machine.ok(`readlink /proc/$(cat /var/lib/agentd/.local/state/agentd/agentd.pid)/exe`), /^\/usr\/lib\/agentd\/agentd/);
	const sandbox = (await machine.do(`${as} agentd sandbox`)).out;
	assert.match(sandbox, /landlock/, sandbox);
	assert.doesNotMatch(sandbox, /put agent-init and agent-shim next to agentd/);
	await machine.ok(`${as} agentctl stop`);
});

test('the settings that it brings are good ones', packageOnly, async () => {
	const line = await machine.ok(`runuser -u agentd -- sh -c 'timeout 20 agentd --config /etc/agentd/agentd.yaml --data-dir /var/lib/agentd --listen off & ` +
		`while ! test -S /var/lib/agentd/agentd.sock; do sleep 0.1; done; agentctl --data-dir /var/lib/agentd stop'`);
	assert.match(line, /"ready":true/);
});

test('systemd takes the units as they are installed', { skip: canCopy && has('systemd-analyze') ? false : 'needs root and systemd-analyze' }, async () => {
	const { out } = await machine.do('systemd-analyze --man=no verify /usr/lib/systemd/system/agentd.service /usr/lib/systemd/system/agentd.socket');
	assert.deepEqual(out.split('\n').filter((line) => /agentd/.test(line)), [], out);
});

test('bash finds the completion', packageOnly, async () => {
	const line = `bash -c 'source /usr/share/bash-completion/completions/agentctl; COMP_WORDS=(agentctl doc); COMP_CWORD=1; _agentctl; echo "\${COMPREPLY[@]}"'`;
	assert.equal((await machine.ok(line)).trim(), 'doctor');
});

stopwatch(() => deb);

test('an upgrade keeps settings that were changed, the user and the sessions', packageOnly, async () => {
	await machine.ok('echo "log: { requests: all }" >> /etc/agentd/agentd.yaml');
	await machine.ok(`dpkg ${whole} --force-confold -i ${newer}`);
	assert.match(await machine.ok("dpkg-query -W -f '${Version}' agentd"), /^0\.1\.1/);
	assert.match(await machine.ok('cat /etc/agentd/agentd.yaml'), /log: \{ requests: all \}/);
	assert.match(await machine.ok('cat /etc/agentd/agentd.yaml.dpkg-dist'), /of the new version/);
	const as = `runuser -u agentd -- env HOME=/var/lib/agentd OPENAI_BASE_URL=${model.url}`;
	assert.match(await machine.ok(`${as} agentctl run --continue again >/dev/null && ${as} agentctl sessions`), /hello from the package/);
	await machine.ok(`${as} agentctl stop`);
});

test('a removal keeps what was made, a purge does not', packageOnly, async () => {
	await machine.ok('dpkg -r agentd');
	assert.equal((await machine.do('command -v agentd')).code, 1);
	await machine.ok('test -f /etc/agentd/agentd.yaml && test -d /var/lib/agentd && getent passwd agentd');
	await machine.ok('dpkg -P agentd');
	assert.equal((await machine.do('ls -d /var/lib/agentd /etc/agentd /usr/lib/agentd 2>/dev/null')).out.trim(), '');
	assert.equal((await machine.do('getent passwd agentd')).code, 2);
});

test('the container file names packages that exist, files that are there, and the options of agentd', () => {
	const text = readFileSync(join(root, 'packaging/Containerfile'), 'utf8').replace(/\\\n/g, ' ');
	const orders = text.split('\n').filter((line) => line.trim() && !line.startsWith('#'));
	for (const order of orders)
		assert.match(order, /^(FROM|RUN|COPY|WORKDIR|USER|VOLUME|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD) /, order);
	assert.deepEqual(orders.filter((o) => o.startsWith('FROM')), ['FROM debian:12-slim AS build', 'FROM debian:12-slim']);
	for (const order of orders.filter((o) => /^(VOLUME|ENTRYPOINT|CMD)/.test(o))) JSON.parse(order.slice(order.indexOf('[')));
	for (const order of orders.filter((o) => o.startsWith('RUN'))) execFileSync('sh', ['-nc', order.slice(4)]);
	const needed = /packages=\(([^)]*)\)/.exec(readFileSync(join(root, '.ci/run'), 'utf8'))[1].split(/\s+/);
	const named = /--no-install-recommends ([a-z0-9+.\s-]*?)\s+&&/.exec(orders.find((o) => o.includes('build-essential')))[1].split(/\s+/);
	for (const name of named) assert.ok(needed.includes(name), `${name} is not among the packages that the build is tested with`);
	for (const library of needed.filter((n) => n.endsWith('-dev') && !/cmocka|clang|vterm/.test(n))) assert.ok(named.includes(library), `${library} is missing in the container's build`);
	const help = execFileSync(join(bin, 'agentd'), ['--help'], { encoding: 'utf8' });
	const cmd = JSON.parse(orders.at(-1).slice(4));
	for (const option of cmd.filter((word) => word.startsWith('--'))) assert.ok(help.includes(option), option);
});

test('man formats the pages without a complaint, and they have every command and setting', { skip: !has('man') }, () => {
	const folderOf = join(dirname(bin), 'packaging/man');
	const read = (page) => execFileSync('sh', ['-c', 'MANWIDTH=200 man --warnings=w -l "$1" 2>&1', 'sh', join(folderOf, page)], { encoding: 'utf8' });
	const ctl = read('man1/agentctl.1.gz');
	for (const [, name] of execFileSync(join(bin, 'agentctl'), ['help'], { encoding: 'utf8' }).matchAll(/^ {2}([a-z]+) {3,}/gm))
		assert.match(ctl, new RegExp(`^   ${name}( |$)`, 'm'));
	assert.match(read('man1/agentd.1.gz'), /--data-dir DIR/);
	const yaml = read('man5/agentd.yaml.5.gz');
	for (const [, key] of readFileSync(join(root, 'catalog/config.cat'), 'utf8').matchAll(/^config (\S+)/gm)) assert.ok(yaml.includes(`${key} (`), key);
	for (const text of [ctl, yaml]) assert.doesNotMatch(text, /^(man|troff|groff|<standard input>|[^ ]*roff):/m);
});
