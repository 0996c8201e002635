// The world outside of the runtime in a scenario: one HTTP server that is every tool (/tool/NAME) and every hook handler (/hook/NAME). It
// counts what arrives, so that a test can tell what happened from what the runtime says happened.
import http from 'node:http';

const servers = new Set();

/** Ends every service of this test file. */
export function stopServices() {
	for (const server of servers) {
		server.closeAllConnections();
		server.close();
	}
}

export class Service {
	constructor({ tools = {}, hooks = [] }) {
		Object.assign(this, { tools, hooks, requests: [], hookRuns: [], held: new Set() });
	}

	async start() {
		const server = http.createServer((req, res) => this.take(req, res));
		await new Promise((done) => server.listen(0, '127.0.0.1', done));
		servers.add(server);
		this.origin = `http://127.0.0.1:${server.address().port}`;
		return this;
	}

	async take(req, res) {
		let body = '';
		for await (const part of req) body += part;
		const [, kind, name] = new URL(req.url, this.origin).pathname.split('/');
		if (kind === 'hook') return this.hook(name, JSON.parse(body), res);
		const { headers } = req;
		this.requests.push({ name, body, key: headers['idempotency-key'], call: headers['x-agentruntime-tool-call'] });
		if (this.held.delete(name)) return; // this one is never answered
		const { says = `did ${name}`, status = 200, takesMs = 0 } = this.tools[name];
		if (takesMs) await new Promise((done) => setTimeout(done, takesMs));
		res.writeHead(status, { 'content-type': 'text/plain' }).end(says);
	}

	hook(name, document, res) {
		this.hookRuns.push({ name, document });
		const { says } = this.hooks.find((h) => h.name === name);
		res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(says ?? {}));
	}

	of(name) {
		return this.requests.filter((r) => r.name === name);
	}

	/** The settings that make the runtime use it. */
	settings() {
		const settings = {};
		const schema = JSON.stringify({ type: 'object', properties: { q: { type: 'string' } } });
		const tools = Object.entries(this.tools).map(([name, { says, status, takesMs, ...more }]) =>
			({ name, description: `Does ${name}.`, url: `${this.origin}/tool/${name}`, schema, ...more }));
		const hooks = this.hooks.map(({ says, ...more }) => ({ url: `${this.origin}/hook/${more.name}`, timeout_ms: 60000, ...more }));
		if (tools.length) settings.http_tools = tools;
		if (hooks.length) settings.hooks = hooks;
		return settings;
	}
}
