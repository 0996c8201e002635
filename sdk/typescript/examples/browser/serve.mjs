// Serves the page, the package, and the API of a server under one origin:  AGENT_URL=http://127.0.0.1:7717 node serve.mjs [PORT]
// Requests to /v1/ go to the first of those servers that takes the connection. Loopback only.
import { createReadStream, existsSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

const targets = (process.env.AGENT_URL ?? 'http://127.0.0.1:7717').split(',');
const places = [['/agentruntime/', new URL('../../dist/', import.meta.url)], ['/', new URL('./', import.meta.url)]];
const TYPES = { html: 'text/html', js: 'text/javascript' };

function pass(req, res, body, left = targets) {
	if (left.length === 0) return res.writeHead(502).end();
	const { hostname, port } = new URL(left[0]);
	const { host: _, origin: __, ...headers } = req.headers;
	const out = http.request({ hostname, port, path: req.url, method: req.method, headers }, (answer) => {
		res.writeHead(answer.statusCode, answer.headers);
		answer.pipe(res);
		answer.on('error', () => res.destroy());
	});
	res.on('close', () => out.destroy());
	// What was refused at the door was not taken by anybody; what broke later may have been, and the client repeats it by its key.
	out.on('error', (error) => (error.code === 'ECONNREFUSED' ? pass(req, res, body, left.slice(1)) : res.destroy()));
	out.end(body);
}

function file(req, res) {
	const path = new URL(req.url, 'http://x').pathname;
	const [prefix, folder] = places.find(([start]) => path.startsWith(start));
	const at = fileURLToPath(new URL(path.slice(prefix.length) || 'index.html', folder));
	if (!at.startsWith(fileURLToPath(folder)) || !existsSync(at)) return res.writeHead(404).end();
	res.writeHead(200, { 'content-type': TYPES[at.split('.').pop()] ?? 'application/octet-stream' });
	createReadStream(at).pipe(res);
}

const server = http.createServer(async (req, res) => {
	if (!req.url.startsWith('/v1/')) return file(req, res);
	const pieces = [];
	for await (const piece of req) pieces.push(piece);
	pass(req, res, Buffer.concat(pieces));
});
server.listen(Number(process.argv[2] ?? 7718), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
