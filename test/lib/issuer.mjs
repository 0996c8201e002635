// An issuer of signed tokens for tests: a real HTTP server with a discovery document and keys, and real signatures. What it serves can be
// changed, broken and counted.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import http from 'node:http';

const b64 = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

const KINDS = {
	RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
	ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
	EdDSA: () => generateKeyPairSync('ed25519'),
	weak: () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
};

/** A key pair with its public JWK. */
export function newKey(alg, kid, more = {}) {
	const { publicKey, privateKey } = KINDS[alg]();
	return { alg: alg === 'weak' ? 'RS256' : alg, kid, publicKey, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', ...more } };
}

function signature(key, input) {
	if (key.alg === 'EdDSA') return sign(null, input, key.privateKey);
	return sign('sha256', input, key.alg === 'ES256' ? { key: key.privateKey, dsaEncoding: 'ieee-p1363' } : key.privateKey);
}

/** A compact token. `header` and `claims` may be text, to be taken as it is. */
export function makeJwt(key, claims, header = {}) {
	const head = typeof header === 'string' ? header : JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header });
	const input = `${b64(head)}.${b64(claims)}`;
	return `${input}.${signature(key, Buffer.from(input)).toString('base64url')}`;
}

/** The same, signed with a shared secret: what a verifier takes that lets the token choose the algorithm. */
export function makeHs256(secret, claims, header) {
	const input = `${b64({ alg: 'HS256', typ: 'JWT', ...header })}.${b64(claims)}`;
	return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

export class Issuer {
	constructor(server) {
		this.server = server;
		this.url = `http://127.0.0.1:${server.address().port}`;
		this.keys = [];
		this.counts = { discovery: 0, keys: 0, other: 0 };
		this.isBroken = false;
		server.on('request', (req, res) => this.answer(req, res));
	}

	static async start() {
		const server = http.createServer();
		await new Promise((done) => server.listen(0, '127.0.0.1', done));
		return new Issuer(server);
	}

	answer(req, res) {
		const documents = {
			'/.well-known/openid-configuration': ['discovery', () => ({ issuer: this.claimed ?? this.url, jwks_uri: `${this.url}/keys` })],
			'/keys': ['keys', () => ({ keys: this.keys.map((key) => key.jwk) })],
		};
		const [name, make] = documents[req.url] ?? ['other', () => null];
		this.counts[name]++;
		if (this.isBroken || name === 'other') res.writeHead(500).end();
		else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(make()));
	}

	/** Claims that are good for ten minutes. */
	claims(more = {}) {
		const now = Math.floor(Date.now() / 1000);
		return { iss: this.url, aud: 'agents', sub: 'ada', iat: now, exp: now + 600, scope: 'openid read', ...more };
	}

	close() {
		this.server.closeAllConnections();
		return new Promise((done) => this.server.close(done));
	}
}
