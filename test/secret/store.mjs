// A secret store over HTTP, as Vault's KV answers: GET with a token, JSON back. `answer(req, res)` may be replaced to misbehave.
import http from 'node:http';

export async function startStore(secrets, token) {
	const store = { seen: [], secrets, token };
	store.answer = (req, res) => {
		if (req.headers['x-vault-token'] !== store.token) return res.writeHead(403).end('{"errors":["permission denied"]}');
		res.end(JSON.stringify({ data: { data: store.secrets, metadata: { version: 1 } } }));
	};
	const server = http.createServer((req, res) => {
		store.seen.push({ url: req.url, headers: req.headers });
		store.answer(req, res);
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	store.origin = `http://127.0.0.1:${server.address().port}`;
	server.unref(); // goes with the tests
	return store;
}
