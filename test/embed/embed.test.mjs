// ci: release only
// The public library as it is installed: what it exports, and the three programs of docs/guide/embed.md, built against it, killed at random moments and
// started again until they are done. What they did must have happened once.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, startModel } from '../lib/runtime.mjs';
import { writePrograms } from './programs.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PATIENCE = 60000;
const KILLS = 8; // a turn is blocked after ten restarts
let folder, prefix, model, exported;

const blockOf = (name) => new RegExp(`<!-- run: ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readFileSync(join(root, 'docs/guide/embed.md'), 'utf8'))[1];
const sh = (line, env = {}) => execFileSync('sh', ['-euc', line], { cwd: folder, encoding: 'utf8', env: { ...process.env, PKG_CONFIG_PATH: join(prefix, 'lib/pkgconfig'), ...env } });

before(async () => {
	folder = newFolder();
	prefix = join(folder, 'usr');
	execFileSync('cmake', ['--install', dirname(bin), '--prefix', prefix], { stdio: 'pipe', env: { ...process.env, DESTDIR: '' } });
	exported = readFileSync(join(root, 'cmake/agentruntime.map'), 'utf8').match(/\bar_\w+(?=;)/g).toSorted();
	assert.deepEqual(writePrograms(folder), ['agent', 'loop', 'follow']);
	sh(blockOf('embed-build'));
	for (const name of ['agent', 'loop', 'follow']) sh(`cc -std=gnu99 -Wall -Wextra -Werror -o ${name} ${name}.c $(pkg-config --cflags --libs agentruntime)`);
	model = await startModel();
});

/** Runs a program once; killed after `ms` if that is given. Resolves { code, signal, out }. */
function run(words, ms) {
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', LD_LIBRARY_PATH: join(prefix, 'lib'), OPENAI_BASE_URL: model.url, AGENTD_MODEL: 'scripted' };
	const child = spawn(join(folder, words[0]), words.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] });
	let out = '', log = '';
	child.stdout.on('data', (piece) => (out += piece));
	child.stderr.on('data', (piece) => (log += piece));
	const timer = setTimeout(() => child.kill('SIGKILL'), ms ?? PATIENCE);
	return new Promise((done) => child.on('close', (code, signal) => (clearTimeout(timer), done({ code, signal, out, log }))));
}

/** Kills it at random moments, then lets it come to its end; resolves the last run and how often it was killed. */
async function runThroughKills(words, most) {
	let kills = 0;
	for (let i = 0; i < KILLS; i++) {
		const { signal, code, log } = await run(words, 10 + Math.random() * most);
		if (!signal) assert.equal(code, 0, log);
		else kills++;
	}
	const last = await run(words);
	assert.equal(last.code, 0, `${last.out}\n${last.log}`);
	return { ...last, kills };
}

const count = (text, line) => text.split('\n').filter((l) => l === line).length;

test('both libraries export the names of the map and nothing else', () => {
	const names = (text) => text.split('\n').map((l) => l.split(/\s+/)).filter((w) => /^[TDBRVW]$/.test(w[1] ?? '')).map((w) => w[0].replace(/@.*/, '')).toSorted();
	assert.deepEqual(names(sh('nm -D --defined-only -P usr/lib/libagentruntime.so')).filter((n) => n !== 'AGENTRUNTIME_0'), exported);
	assert.deepEqual(names(sh('nm -g --defined-only -P usr/lib/libagentruntime.a')), exported);
	assert.match(sh('readelf -d usr/lib/libagentruntime.so'), /SONAME.*\[libagentruntime\.so\.0\]/);
});

test('the header is C99 and C++, and the static library links', () => {
	writeFileSync(join(folder, 'alone.c'), '#include <agentruntime/agentruntime.h>\nint main(void) { ar_runtime_free(NULL); return 0; }\n');
	sh('cc -std=c99 -pedantic-errors -Wall -Wextra -Werror -o alone alone.c $(pkg-config --cflags --libs agentruntime)');
	sh('c++ -x c++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -o alone alone.c $(pkg-config --cflags --libs agentruntime)');
	sh('cc -o alone-static alone.c $(pkg-config --cflags agentruntime) usr/lib/libagentruntime.a $(pkg-config --static --libs-only-l agentruntime | sed s/-lagentruntime//)');
	assert.doesNotMatch(sh('readelf -d alone-static'), /libagentruntime/);
});

test('an agent with a tool in C: killed again and again, one turn and one deposit', async () => {
	const data = join(folder, 'agent-data');
	mkdirSync(data, { mode: 0o700 });
	const words = ['agent', data, 'key-1', '[[tool deposit {\\"amount\\":5}]] [[delay 20]] [[then]] [[delay 20]] [[say one two three four]]'];
	const { out, kills } = await runThroughKills(words, 400);
	assert.ok(kills > 0);
	for (const type of ['turn.submitted', 'turn.completed', 'tool.result']) assert.equal(count(out, type), 1, `${type}\n${out}`);
	assert.match(readFileSync(join(data, 'ledger'), 'utf8'), /^\S+ 5\n$/);
});

test('a runtime in a foreign epoll loop: killed again and again, done at the end', async () => {
	const data = join(folder, 'loop-data');
	const { out } = await runThroughKills(['loop', data, 'key-1', '[[delay 20]] [[say one two three four]]'], 400);
	assert.match(out, /^done after \d+ ticks\n$/);
	const ticking = await run(['loop', data, 'key-2', '[[first 500]] [[say late]]']);
	assert.ok(Number(/after (\d+) ticks/.exec(ticking.out)[1]) >= 25, `the loop stood still: ${ticking.out}`);
});

test('a subscriber goes on after its cursor: killed again and again, each event once', async () => {
	const data = join(folder, 'follow-data');
	mkdirSync(data, { mode: 0o700 });
	await runThroughKills(['follow', data, '20'], 300);
	const lines = readFileSync(join(data, 'events'), 'utf8').trimEnd().split('\n').map((l) => JSON.parse(l.slice(l.indexOf('\t') + 1)));
	const sessions = new Map(lines.map((e) => [e.sessionId, lines.filter((other) => other.sessionId === e.sessionId)]));
	assert.equal(sessions.size, 20);
	for (const events of sessions.values()) assert.deepEqual(events.map((e) => e.sequence), events.map((_, i) => i + 1));
	assert.equal(lines.filter((e) => e.type === 'turn.completed').length, 20);
});

test('it leaves signals, umask and descriptors of the program alone', async () => {
	writeFileSync(join(folder, 'polite.c'), `#include <agentruntime/agentruntime.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static struct ar_runtime *r;
static void on_ready(void *arg, const char *json, size_t len) { (void)arg; (void)json; (void)len; ar_runtime_stop(r, NULL); }
int main(int argc, char **argv)
{
	char data[4096];
	const char *overrides[] = { data, NULL };
	struct ar_runtime_options o = { .size = sizeof o, .overrides = overrides, .ready = on_ready };
	struct sigaction before[65], after;
	struct ar_runtime_error err;
	sigset_t mask;
	int wrong = 0, left[64] = { 0 };
	(void)argc;
	snprintf(data, sizeof data, "data_dir=%s", argv[1]);
	for (int i = 1; i < 65; i++) sigaction(i, NULL, &before[i]);
	umask(022);
	for (int life = 0; life < 2; life++) {
		if (ar_runtime_new(&o, &r, &err)) { fprintf(stderr, "%s\\n", err.message); return 64; }
		ar_runtime_run(r);
		ar_runtime_free(r);
		/* libuv keeps a pipe for the process: what the first life leaves is all that there ever is. */
		for (int fd = 3; fd < 64; fd++) {
			int is_open = fcntl(fd, F_GETFD) != -1;
			if (is_open && !life) left[fd] = 1;
			if (is_open && !left[fd]) wrong |= 8;
		}
	}
	for (int i = 1; i < 65; i++)
		if (sigaction(i, NULL, &after) == 0 && after.sa_handler != before[i].sa_handler) wrong |= 1;
	if (umask(022) != 022) wrong |= 2;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (sigismember(&mask, SIGPIPE)) wrong |= 4;
	return wrong;
}
`);
	sh('cc -std=gnu99 -o polite polite.c $(pkg-config --cflags --libs agentruntime)');
	const { code, out, log } = await run(['polite', join(folder, 'polite-data')]);
	assert.deepEqual([code, out, log], [0, '', '']);
});
