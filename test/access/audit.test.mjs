// The audit trail: every act is there once, with who did it; what was refused is; nobody sees another tenant's; what was acknowledged is there
// after kill -9; a changed or removed entry is found.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '../lib/damage.mjs';
import { tools, wants } from '../lib/gate.mjs';
import { Issuer, makeJwt, newKey } from '../lib/issuer.mjs';
import { connectWs } from '../lib/rpc.mjs';
import { bin, request, storeOf, waitFor, world } from '../lib/runtime.mjs';

let issuer, key, w, config;

before(async () => {
	issuer = await Issuer.start();
	key = newKey('ES256', 'e1');
	issuer.keys = [key];
	config = { 'permission.mode': 'default', 'auth.jwt_issuer': issuer.url, 'auth.jwt_audience': 'agents', 'auth.jwt_tenant': 'jota' };
	w = await world({ config });
});

after(() => issuer.close());

/** Calls as one principal: the operator over the unix socket, or who shows a bearer over TCP. */
function as(bearer, more = {}) {
	const headers = { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...more };
	const send = (options) => request(w.rt, { via: bearer ? 'tcp' : 'socket', ...options, headers: { ...headers, ...options.headers } });
	const call = async (name, input = {}) => {
		const { status, text } = await send({ path: `/v1/${name}`, body: JSON.stringify(input) });
		return { ...JSON.parse(text), http: status };
	};
	const must = async (name, input) => {
		const reply = await call(name, input);
		assert.ok(reply.http < 300, `${name}: ${JSON.stringify(reply)}`);
		return reply;
	};
	return { call, must, send };
}

const entriesOf = async (who, input = {}) => (await who.must('list_audit', { oldestFirst: true, limit: 200, ...input })).entries;
const brief = (entries) => entries.map((e) => `${e.command} ${e.outcome}`);

/** The acts of the list, one after the other, as one principal. */
async function doAll(who) {
	const { sessionId } = await who.must('create_session', { idempotencyKey: 'one' });
	await who.must('create_session', { idempotencyKey: 'one' });
	await who.must('set_policy', { scope: 'session', scopeId: sessionId, rules: [] });
	const { channelId } = await who.must('connect_channel', { sessionId, transport: 'sse', peerRole: 'client', credential: 'mine', capabilities: ['streaming'] });
	await who.must('submit_turn', { sessionId, text: wants('drop'), options: { tools: Object.values(tools) } });
	const [action] = await waitFor(async () => {
		const { threads } = await who.must('get_session', { sessionId });
		const open = threads.flatMap((t) => t.pendingRequests);
		return open.length > 0 && open;
	}, 'a question');
	await who.must('respond_action', { actionId: action.actionId, decision: 'deny' });
	const { record, token } = await who.must('create_token', { name: 'ci', scopes: ['read'] });
	const rotated = await who.must('rotate_token', { tokenId: record.tokenId });
	await who.must('revoke_token', { tokenId: record.tokenId });
	await who.must('revoke_token', { tokenId: record.tokenId });
	const exported = await who.send({ method: 'GET', path: '/v1/audit?format=ndjson' });
	assert.equal(exported.status, 200);
	return { sessionId, channelId, actionId: action.actionId, tokenId: record.tokenId, secrets: [token, rotated.token] };
}

const ACTS = ['create_session', 'set_policy', 'connect_channel', 'submit_turn', 'respond_action', 'create_token', 'rotate_token', 'revoke_token', 'export_audit']
	.map((name) => `${name} allowed`);

test('every act is there once, with who did it: over the unix socket, with a token, with a JWT', async () => {
	const operator = as();
	const { token, record } = await operator.must('create_token', { name: 'root', scopes: ['admin'], tenant: 'acme' });
	const jwt = makeJwt(key, issuer.claims({ sub: 'ada', scope: 'admin' }));
	const rows = [
		[operator, { actor: 'local', credential: 'operator', via: 'unix', uid: process.getuid(), tenant: 'local' }],
		[as(token, { 'x-request-id': 'req-7' }), { actor: `token:${record.tokenId}`, credential: 'token', via: 'tcp', address: '127.0.0.1', tenant: 'acme', requestId: 'req-7' }],
		[as(jwt), { actor: 'jwt:ada', credential: 'jwt', via: 'tcp', address: '127.0.0.1', tenant: 'jota' }],
	];
	for (const [who, expected] of rows) {
		const since = new Date().toISOString();
		const ids = await doAll(who);
		const entries = await entriesOf(who, { since, tenant: expected.tenant });
		assert.deepEqual(brief(entries), ACTS, expected.actor);
		for (const e of entries) for (const [name, value] of Object.entries(expected)) assert.equal(e[name], value, `${e.command}: ${name}`);
		const [created, policy, channel, submitted, answered, made] = entries;
		assert.equal(created.keyDigest, createHash('sha256').update('one').digest('hex'));
		for (const e of [created, policy, submitted]) assert.equal(e.sessionId, ids.sessionId);
		assert.equal(policy.target.scopeId, ids.sessionId);
		assert.equal(channel.sessionId, ids.sessionId);
		assert.deepEqual([answered.target.actionId, made.target.tokenId], [ids.actionId, ids.tokenId]);
		const history = await who.must('get_session', { sessionId: ids.sessionId, limit: 200 });
		assert.equal(history.history.events.find((f) => f.sequence === submitted.sequence).type, 'turn.submitted');
		for (const secret of ids.secrets) assert.ok(!JSON.stringify(entries).includes(secret.split('_')[2]), 'no secret');
	}
});

test('a refusal says who, what and why; without the scope nobody reads the trail', async () => {
	const operator = as();
	const { token, record } = await operator.must('create_token', { name: 'reader', scopes: ['read'], tenant: 'acme' });
	const reader = as(token);
	assert.equal((await reader.call('create_session')).error.code, 'not_authorized');
	assert.equal((await reader.call('list_audit')).error.code, 'not_authorized');
	assert.equal((await as('art_nobody_xxxx').call('list_sessions')).error.code, 'auth_failed');
	const refused = (actor) => entriesOf(operator, { outcome: 'refused', actor });
	const [first] = await waitFor(async () => {
		const found = await refused(`token:${record.tokenId}`);
		return found.length > 0 && found;
	}, 'the refusal');
	assert.deepEqual([first.command, first.code, first.tenant, first.address, first.credential], ['create_session', 'not_authorized', 'acme', '127.0.0.1', 'token']);
	assert.match(first.reason, /needs the scope 'submit'/);
	const [unknown] = await waitFor(async () => (await refused('unknown')).length > 0 && refused('unknown'), 'the stranger');
	assert.deepEqual([unknown.code, unknown.tenant, unknown.credential, unknown.address], ['auth_failed', 'local', 'none', '127.0.0.1']);
});

test('a tenant sees its own entries and no others; filters are exact', async () => {
	const operator = as();
	const { token } = await operator.must('create_token', { name: 'z', scopes: ['admin'], tenant: 'zeta' });
	const { sessionId } = await operator.must('create_session');
	const zeta = as(token);
	for (const input of [{}, { tenant: 'acme' }, { tenant: 'local' }, { actor: 'local' }])
		for (const e of await entriesOf(zeta, input)) assert.equal(e.tenant, 'zeta');
	assert.deepEqual(await entriesOf(zeta, { sessionId }), []);
	assert.deepEqual(brief(await entriesOf(operator, { sessionId })), ['create_session allowed']);
	assert.deepEqual(await entriesOf(operator, { sessionId, command: 'submit_turn' }), []);
	assert.deepEqual(await entriesOf(operator, { until: '2020-01-01T00:00:00Z' }), []);
	assert.equal((await zeta.call('list_audit', { cursor: 'x' })).error.code, 'invalid_cursor');
	const all = await entriesOf(operator), pages = [];
	for (let cursor; ; ) {
		const page = await operator.must('list_audit', { limit: 3, cursor });
		pages.push(...page.entries);
		if (!(cursor = page.nextCursor)) break;
	}
	assert.deepEqual(pages.map((e) => e.entryId).reverse(), all.map((e) => e.entryId));
});

test('NDJSON: each line is an entry as in the list; the header says where to go on', async () => {
	const operator = as();
	const before = await entriesOf(operator), lines = [];
	for (let cursor = ''; ; ) {
		const { headers, text } = await operator.send({
			method: 'GET', path: `/v1/audit?oldestFirst=true&limit=4${cursor && `&cursor=${cursor}`}`, headers: { accept: 'application/x-ndjson' },
		});
		assert.equal(headers['content-type'], 'application/x-ndjson');
		lines.push(...text.split('\n').filter(Boolean).map((line) => JSON.parse(line)));
		if (!(cursor = headers['x-next-cursor'] ?? '') || lines.length >= before.length) break;
	}
	assert.deepEqual(lines.slice(0, before.length), before);
	const ws = await connectWs(w.rt.url);
	assert.equal((await ws.call('list_audit', { limit: 1 })).entries.length, 1);
	await assert.rejects(ws.call('list_audit', { format: 'ndjson' }), ({ data }) => data.code === 'invalid_input');
	ws.destroy();
});

test('neither a token nor another secret is in the trail, or in the store behind it', async () => {
	const operator = as(), secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
	const { token } = await operator.must('create_token', { name: 'shown', scopes: ['admin'], tenant: 'acme' });
	await as(token, { 'x-request-id': secret }).must('create_session');
	const [entry] = await entriesOf(as(token), { command: 'create_session', oldestFirst: false, limit: 1 });
	assert.match(entry.requestId, /^\[redacted:/);
	if (storeOf(w.dataDir).AGENTD_STORE) return;
	for (const file of readdirSync(join(w.dataDir, 'data')).filter((name) => name.startsWith('agentd.db'))) {
		const bytes = readFileSync(join(w.dataDir, 'data', file));
		for (const text of [secret, token, token.split('_')[2]]) assert.ok(!bytes.includes(text), `${file} has it`);
	}
});

test('what was acknowledged is on record after kill -9; a reload and a stop are too', async () => {
	const made = await Promise.all(Array.from({ length: 8 }, () => as().must('create_session')));
	await w.rt.kill9();
	w.rt = await w.again();
	for (const { sessionId } of made) assert.deepEqual(brief(await entriesOf(as(), { sessionId })), ['create_session allowed']);
	process.kill(w.rt.pid, 'SIGHUP');
	await waitFor(async () => (await entriesOf(as(), { command: 'reload_settings' })).length === 1, 'the reload');
	await w.rt.stop();
	w.rt = await w.again();
	const [stopped] = await entriesOf(as(), { command: 'stop_runtime' });
	assert.deepEqual([stopped.actor, stopped.credential, stopped.tenant], ['signal:SIGTERM', 'signal', 'local']);
});

const ctl = (...words) => spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'audit', ...words], { encoding: 'utf8' });

function found(line) {
	const { status, stdout } = ctl('verify');
	assert.deepEqual([status, stdout.split('\n')[0]], [1, line]);
}

test('agentctl audit shows it, and verify finds a changed and a removed entry', async () => {
	const table = ctl('--command', 'create_session', '--limit', '2').stdout.split('\n');
	assert.match(table[0], /WHEN.*WHO.*FROM.*WHAT.*OUTCOME.*TARGET/);
	assert.match(table[1], /^\d{4}-\d\d-\d\dT.*local +uid \d+ +create_session +allowed +sess_/);
	const lines = ctl('--json', '--oldest-first', '--limit', '1000').stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
	assert.deepEqual(lines.map((e) => e.entryId), (await entriesOf(as(), { limit: 200 })).map((e) => e.entryId));
	assert.match(ctl('verify').stdout, /^\d+ entries verified, 0 faults\n$/);
	const at = sql(w.dataDir, ['SELECT at FROM audit WHERE n = 3']);
	sql(w.dataDir, ['UPDATE audit SET at = at + 1 WHERE n = 3']);
	found('entry 3 of writer 1: is not what was written');
	sql(w.dataDir, [`UPDATE audit SET at = ${at} WHERE n = 3`]);
	assert.equal(ctl('verify').status, 0);
	sql(w.dataDir, ['DELETE FROM audit WHERE n = 5']);
	found('entry 6 of writer 1: entries before it are missing');
});

test('entries older than retention.audit_days go', async () => {
	await w.rt.stop();
	sql(w.dataDir, [`UPDATE audit SET at = at - ${2 * 86400 * 1e6} WHERE n <= 10`]);
	w.rt = await w.again({ config: { ...config, 'retention.audit_days': 1 } });
	await waitFor(() => sql(w.dataDir, ['SELECT min(n) FROM audit']) === '11', 'the old ones are gone');
	assert.ok((await entriesOf(as())).length > 10);
});

test('a drain is on record before it is answered', { skip: !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL' }, async () => {
	assert.equal((await as().send({ path: '/v1/nodes/drain', body: '{}' })).status, 202);
	const [drained] = await entriesOf(as(), { command: 'drain_node' });
	assert.deepEqual([drained.actor, drained.via, drained.outcome], ['local', 'unix', 'allowed']);
});
