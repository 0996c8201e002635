// A receiver of webhooks that checks every signature with somebody else's code, and answers as the test says.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { after } from 'node:test';
import { Webhook } from 'standardwebhooks';

export const SECRET = `whsec_${Buffer.from('a key of exactly 32 bytes, yes!!').toString('base64')}`;

const servers = new Set();
after(() => {
	for (const server of servers) {
		server.closeAllConnections();
		server.close();
	}
});

/** What Standard Webhooks says the signature is. */
export function signatureOf(secret, id, timestamp, body) {
	const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
	return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** By the library of the Standard Webhooks project, which has its own SHA-256. */
function checkSignature(secret, headers, body) {
	new Webhook(secret, secret.startsWith('whsec_') ? {} : { format: 'raw' }).verify(body, headers);
	assert.ok(Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) < 60, 'the timestamp is not now');
}

/** Requests in `got` as { id, event, body }, their signatures checked unless the secret is null; `answer(request)` is a status, { status, headers }, 'hang' or 'cut', or a promise of one. */
export async function receiver({ secret = SECRET, answer = () => 204 } = {}) {
	const got = [], bad = [];
	const server = createServer((req, res) => {
		let body = '';
		req.setEncoding('utf8');
		req.on('data', (piece) => (body += piece));
		req.on('end', async () => {
			const request = { id: req.headers['webhook-id'], body, headers: req.headers, method: req.method, path: req.url };
			try {
				if (secret !== null) checkSignature(secret, req.headers, body);
				request.event = JSON.parse(body);
			} catch (err) {
				bad.push(err);
			}
			got.push(request);
			const what = await self.answer(request);
			if (what === 'hang') return;
			if (what === 'cut') req.socket.destroy();
			else res.writeHead(what.status ?? what, what.headers).end();
		});
	});
	const self = { got, bad, answer, ids: () => new Set(got.map((r) => r.id)) };
	servers.add(server);
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	self.url = `http://127.0.0.1:${server.address().port}/hook`;
	return self;
}

/** One entry of the settings, with times that a test can wait for. */
export function entry(name, to, more = {}) {
	return { name, url: to.url, secret: SECRET, timeout_ms: 300, backoff_ms: 20, max_attempts: 50, ...more };
}
