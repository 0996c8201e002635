// From the Debian package to the first word of an answer: on a copy of this machine, a user who has nothing starts `agentctl` in a terminal. The network is a
// namespace with nothing in it but the server that a case starts. With AR_STOPWATCH=1 the time counts too: 5 seconds. Part of package.test.mjs, which has the package.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../lib/runtime.mjs';
import { Vterm } from '../term/vterm.mjs';
import { has } from './scrape.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const options = { skip: process.getuid() === 0 && has('unshare') && has('ip') ? false : 'needs root and network namespaces' };
const READY = /^›[^]*\/keys$/m;

/** Installs, does `setup`, starts a server, and starts agentctl as a new user when Enter is pressed. */
const prepare = (deb, setup, server, variables) => `set -e
ip link set lo up
dpkg --no-triggers -i ${deb} >/dev/null
useradd --create-home person
${setup}
{ ${process.execPath} ${join(root, 'test/term/front.mjs')} ${server} & } | head -n 1
echo installed
read -r _
cd /home/person
exec runuser -u person -- env -i HOME=/home/person PATH=/usr/bin:/bin TERM=$TERM LANG=C.UTF-8 ${variables} agentctl
`;

/** The screen of agentctl on such a machine, from the moment it starts. */
async function onNewMachine(context, deb, { setup = '', server, variables = '' }, answer) {
	const script = join(newFolder(), 'prepare');
	writeFileSync(script, prepare(deb, setup, server, variables));
	const t = new Vterm({ env: { PATH: process.env.PATH }, cwd: '/', cols: 80, rows: 30 }, join(root, 'test/ops/private-root'), 'unshare', '--net', 'bash', script);
	try {
		await t.until(/^installed$/m, { ms: 120000 });
		const at = Date.now();
		t.key('Enter');
		await answer(t);
		await t.until(READY);
		t.type('[[say the first word]]');
		t.key('Enter');
		await t.until(/^the first word$/m);
		const ms = Date.now() - at;
		context.diagnostic(`from agentctl to the first word: ${ms} ms`);
		if (process.env.AR_STOPWATCH) assert.ok(ms <= 5000, `${ms} ms`);
	} finally {
		await t.end();
	}
}

// The name of the provider leads to this machine, which has a certificate of its own for it.
const asProvider = `echo '127.0.0.1 api.openai.com' >>/etc/hosts
mkdir /root/tls
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /root/tls/key.pem -out /root/tls/cert.pem -days 2 -subj /CN=api.openai.com -addext subjectAltName=DNS:api.openai.com 2>/dev/null
cat /root/tls/cert.pem >>/etc/ssl/certs/ca-certificates.crt`;

export function stopwatch(deb) {
	test('a server on the port of ollama: one key press to the chat', options, (context) =>
		onNewMachine(context, deb(), { server: '--port 11434' }, async (t) => {
			await t.until(/Which one\? \[1, n for none\]/);
			t.key('Enter');
		}));

	test('only a key: no key press to the chat', options, (context) =>
		onNewMachine(context, deb(), { setup: asProvider, server: '--port 443 --tls /root/tls', variables: 'OPENAI_API_KEY=sk-mine' }, async () => {}));

	test('nothing: an address is asked for, and the chat works', options, (context) =>
		onNewMachine(context, deb(), { server: '--port 4999' }, async (t) => {
			await t.until(/There is no model yet\.[^]*Enter leaves:/);
			t.type('http://127.0.0.1:4999/v1');
			t.key('Enter');
		}));
}
