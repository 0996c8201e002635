// Who is let in without a token on a machine with several users: the server's own user and root, as the kernel tells it, over loopback TCP as over the
// unix socket; and the server's own group where the settings say so.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, startAgentd, waitFor } from '../lib/runtime.mjs';

const skip = process.getuid() !== 0 && 'needs root';
const OWN = 1000, OTHER = 65534;

const as = (uid, groups, program, ...args) => execFileSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, groups.length ? `--groups=${groups}` : '--clear-groups', program, ...args],
	{ encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });

/** POSTs list_sessions as that user; { status, error }. */
function ask(uid, url, { groups = [], options = [] } = {}) {
	const out = as(uid, groups, 'curl', '-sg', '-w', '\n%{http_code}', '-H', 'content-type: application/json', '-H', 'host: localhost', '-d', '{}', ...options, `${url}/v1/list_sessions`);
	const [body, status] = [out.slice(0, out.lastIndexOf('\n')), Number(out.slice(out.lastIndexOf('\n') + 1))];
	return { status, error: JSON.parse(body).error };
}

function refused({ status, error }) {
	assert.equal(status, 401);
	assert.equal(error.code, 'auth_failed');
	assert.match(error.message, /send one: Authorization: Bearer art_.*agentctl token create/);
}

test('over loopback TCP another user of the machine needs a token', { skip }, async () => {
	const rt = await startAgentd();
	refused(ask(OTHER, rt.url));
	refused(ask(OTHER, `http://[::ffff:127.0.0.1]:${rt.port}`));
	assert.equal(ask(0, rt.url).status, 200);
	const { token } = await ok(rt, 'create_token', { name: 'other', scopes: ['read'] });
	assert.equal(ask(OTHER, rt.url, { options: ['-H', `authorization: Bearer ${token}`] }).status, 200);
	assert.equal(ask(OTHER, rt.url, { options: ['-H', 'authorization: Bearer art_no'] }).status, 401);
});

test('the same over IPv6', { skip }, async () => {
	const rt = await startAgentd({ listen: '[::1]:0' });
	refused(ask(OTHER, rt.url));
	assert.equal(ask(0, rt.url).status, 200);
});

/** agentd as user OWN, with programs and a folder that it can use; always on a file, for the server of a test is another user's. */
async function startAsOwn(config) {
	const home = newFolder(), programs = join(home, 'bin');
	chmodSync(home, 0o755);
	mkdirSync(programs, { mode: 0o755 });
	copyFileSync(join(bin, 'agentd'), join(programs, 'agentd'));
	const dataDir = join(home, 'own');
	mkdirSync(dataDir);
	chownSync(dataDir, OWN, OWN);
	return startAgentd({ dataDir, program: join(programs, 'agentd'), uid: OWN, config, env: { AGENTD_STORE: '' } });
}

test('a daemon of an ordinary user lets in that user and root, and nobody else', { skip }, async () => {
	const rt = await startAsOwn();
	assert.equal(ask(OWN, rt.url).status, 200);
	assert.equal(ask(0, rt.url).status, 200);
	refused(ask(OTHER, rt.url));
	refused(ask(OTHER, rt.url, { groups: [OWN] }));
});

test('who closes the connection before it is looked at is not taken for root', { skip }, async () => {
	const rt = await startAgentd();
	process.kill(rt.pid, 'SIGSTOP');
	const text = 'POST /v1/create_session HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}';
	as(OTHER, [], 'bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${rt.port}; printf '${text}' >&3`);
	process.kill(rt.pid, 'SIGCONT');
	await waitFor(() => /"command":"create_session"|"path":"\/v1\/create_session"/.test(rt.stderr), 'the request is in the log');
	assert.match(rt.stderr, /"status":401/);
	assert.deepEqual((await ok(rt, 'list_sessions')).sessions, []);
});

test('over the unix socket the server\'s own group is let in where auth.socket says so', { skip }, async () => {
	const open = (rt) => {
		for (const path of [rt.dataDir, dirname(rt.socket)]) chmodSync(path, 0o755);
		chmodSync(rt.socket, 0o666);
		return { url: 'http://localhost', options: ['--unix-socket', rt.socket] };
	};
	const group = await startAsOwn({ 'auth.socket': 'group' });
	const { url, options } = open(group);
	const many = [...Array.from({ length: 100 }, (_, i) => 20000 + i), OWN];
	assert.equal(ask(OTHER, url, { options, groups: [7, OWN] }).status, 200, 'a member');
	assert.equal(ask(OTHER, url, { options, groups: many }).status, 200, 'a member of very many groups');
	assert.equal(ask(OWN, url, { options }).status, 200);
	const stranger = ask(OTHER, url, { options, groups: [7, 8] });
	assert.equal(stranger.status, 401);
	assert.match(stranger.error.message, /auth\.socket.*agentctl token create/);
	refused(ask(OTHER, group.url, { groups: [OWN] }));
	const owner = await startAsOwn();
	assert.equal(ask(OTHER, url, { options: open(owner).options, groups: [OWN] }).status, 401);
});

test('doctor is content with a socket of another user that can be opened, and says what to do about one that cannot', { skip }, async () => {
	const rt = await startAsOwn({ 'auth.socket': 'group' });
	for (const path of [rt.dataDir, dirname(rt.socket)]) chmodSync(path, 0o755);
	chmodSync(rt.socket, 0o660);
	const program = join(dirname(dirname(rt.socket)), 'agentctl');
	copyFileSync(join(bin, 'agentctl'), program);
	const look = (groups) => {
		const { checks } = JSON.parse(as(OTHER, groups, 'sh', '-c', `${program} --socket ${rt.socket} --data-dir /tmp/none doctor --json || true`));
		return Object.fromEntries(checks.map((c) => [c.name, c]));
	};
	const member = look([OWN]);
	assert.equal(member.socket.status, 'ok', JSON.stringify(member.socket));
	assert.equal(member.daemon.status, 'ok', JSON.stringify(member.daemon));
	const stranger = look([]);
	assert.equal(stranger.socket.status, 'fail');
	assert.match(stranger.socket.next, /group/);
	assert.doesNotMatch(stranger.socket.next, /remove/);
});
