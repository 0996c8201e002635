// The rules for Prometheus and the dashboard for Grafana that are shipped: promtool accepts the rules, a real Prometheus evaluates them, and every metric that they name exists.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../lib/port.mjs';
import { newFolder, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';
import { has } from '../ops/scrape.mjs';

const file = (name) => fileURLToPath(new URL(`../../packaging/monitoring/${name}`, import.meta.url));
const reference = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
const known = new Set([...reference.matchAll(/^\| `(\w+)` \| (\w+)/gm)].flatMap(([, name, kind]) => (kind === 'histogram' ? [`${name}_bucket`] : [name])).concat('up'));
const dashboard = JSON.parse(readFileSync(file('agentd.dashboard.json'), 'utf8'));
const queries = dashboard.panels.flatMap((p) => (p.targets ?? []).map((t) => t.expr));
const rules = readFileSync(file('agentd.rules.yml'), 'utf8');
const started = [];

after(async () => {
	for (const child of started) {
		if (child.exitCode === null) process.kill(child.pid, 'SIGKILL');
		await child.gone;
	}
});

test('every metric that the rules and the dashboard name is one of the reference', () => {
	const exprs = [...queries, ...[...rules.matchAll(/expr: (.*)$/gm)].map(([, e]) => e)];
	assert.ok(exprs.length > 30);
	for (const expr of exprs) for (const [name] of expr.matchAll(/\b(agentd|process)_\w+|\bup\b(?=\{)/g)) assert.ok(known.has(name), `${name} in ${expr}`);
});

test('promtool accepts the rules', { skip: !has('promtool') }, () => {
	const said = execFileSync('promtool', ['check', 'rules', file('agentd.rules.yml')], { encoding: 'utf8' });
	assert.match(said, /SUCCESS: 12 rules found/);
});

test('a real Prometheus evaluates every rule, and every query of the dashboard', { skip: !has('prometheus') }, async () => {
	const rt = await startAgentd({ model: await startModel() });
	const folder = newFolder(), port = await freePort(), config = join(folder, 'prometheus.yml');
	writeFileSync(config, `global: { scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms }
rule_files: ["${file('agentd.rules.yml')}"]
scrape_configs: [{ job_name: agentd, static_configs: [{ targets: ["${rt.host}:${rt.port}"] }] }]\n`);
	const child = spawn('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'], { stdio: 'ignore' });
	child.gone = new Promise((done) => child.on('close', done));
	started.push(child);
	const get = async (path) => {
		const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => null);
		return answer?.ok ? answer.json() : undefined; // not while it starts
	};
	const evaluated = async () => (await get('rules'))?.data.groups[0]?.rules ?? [];
	await waitFor(async () => (await evaluated()).length === 12 && (await evaluated()).every((r) => r.health === 'ok'), 'all rules to be evaluated');
	for (const expr of queries) {
		const query = expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');
		assert.equal((await get(`query?query=${encodeURIComponent(query)}`))?.status, 'success', expr);
	}
});
