// A real S3 server on loopback for tests: buckets in a folder of its own, the keys S3RVER/S3RVER. It can be stopped and started
// again on the same port and folder. s3rver does not check signatures of version 4, so there is a strict one beside it that
// does nothing else.
import { createHash, createHmac } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import S3rver from 's3rver';
import { freePort } from './port.mjs';

const BUCKET = 'content';

export async function startS3(folder) {
	const port = await freePort();
	const make = () => new S3rver({ port, address: '127.0.0.1', silent: true, directory: folder, configureBuckets: [{ name: BUCKET }] });
	let server = make();
	await server.run();
	const files = () => readdirSync(join(folder, BUCKET), { recursive: true }).filter((name) => name.endsWith('_object'));
	return {
		settings: {
			AGENTD_S3_URL: `http://127.0.0.1:${port}/${BUCKET}`,
			AWS_ACCESS_KEY_ID: 'S3RVER',
			AWS_SECRET_ACCESS_KEY: 'S3RVER',
		},
		count: () => files().length,
		/** Every object gets another last byte. */
		damage() {
			for (const name of files()) {
				const path = join(folder, BUCKET, name);
				const bytes = readFileSync(path);
				bytes[bytes.length - 1] ^= 1;
				writeFileSync(path, bytes);
			}
		},
		stop: () => server.close(),
		async again() {
			server = make();
			await server.run();
		},
	};
}

const sha256 = (data) => createHash('sha256').update(data).digest('hex');
const hmac = (key, data) => createHmac('sha256', key).update(data).digest();

/** Whether the request carries the signature (version 4) that this secret gives it, over a body that is what it says. */
function isSigned(req, body, secret) {
	const [, scope, signed, signature] = /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(req.headers.authorization ?? '') ?? [];
	if (!scope || req.headers['x-amz-content-sha256'] !== sha256(body)) return false;
	const headers = signed.split(';').map((name) => `${name}:${req.headers[name].trim()}\n`).join('');
	const canonical = [req.method, req.url, '', headers, signed, sha256(body)].join('\n');
	const text = ['AWS4-HMAC-SHA256', req.headers['x-amz-date'], scope, sha256(canonical)].join('\n');
	const key = scope.split('/').reduce(hmac, `AWS4${secret}`);
	return hmac(key, text).toString('hex') === signature;
}

/** A storage that keeps what is signed with the secret, in memory, and refuses the rest as S3 does. */
export async function startStrictS3(secret) {
	const objects = new Map();
	const server = http.createServer(async (req, res) => {
		const pieces = [];
		for await (const piece of req) pieces.push(piece);
		const body = Buffer.concat(pieces);
		if (!isSigned(req, body, secret)) return res.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
		if (req.method === 'PUT') objects.set(req.url, body);
		if (req.method === 'GET' && !objects.has(req.url)) return res.writeHead(404).end();
		return res.writeHead(200).end(req.method === 'GET' ? objects.get(req.url) : '');
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return {
		settings: { AGENTD_S3_URL: `http://127.0.0.1:${server.address().port}/bucket`, AWS_ACCESS_KEY_ID: 'somebody', AWS_SECRET_ACCESS_KEY: secret },
		objects,
		stop: async () => {
			server.closeAllConnections();
			server.close();
		},
	};
}
