// Two tenants on one server, each with a session at work, and everything that a caller could name of them: for the tests of the wall.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { newFolder, ok, request, waitFor, world } from '../lib/runtime.mjs';

const gen = new URL('../../catalog/gen/', import.meta.url);
const openapi = JSON.parse(readFileSync(new URL('openapi.json', gen), 'utf8'));

export const SCOPES = ['read', 'submit', 'decide', 'worker', 'admin'];

/** Name, scope and input schema of every command of the catalogue. */
export const commands = readdirSync(new URL('schema/commands/', gen))
	.filter((file) => file.endsWith('.input.schema.json'))
	.map((file) => file.split('.')[0])
	.map((name) => ({
		name,
		scope: openapi.paths[`/v1/${name}`].post['x-scope'],
		built: openapi.paths[`/v1/${name}`].post['x-built'],
		input: JSON.parse(readFileSync(new URL(`schema/commands/${name}.input.schema.json`, gen), 'utf8')),
	}));

const unlimited = Object.fromEntries(['token_rate', 'tenant_rate', 'token_commands', 'tenant_commands', 'token_streams', 'tenant_streams'].map((k) => [`limits.${k}`, 0]));

/** One call with a token (none: the operator). The text is the whole answer. */
export async function ask(rt, token, name, input) {
	const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), 'x-request-id': 'wall' };
	const { status, headers: got, text } = await request(rt, { path: `/v1/${name}`, body: JSON.stringify(input), headers });
	delete got.date;
	return { status, text, headers: got, body: JSON.parse(text) };
}

export async function must(rt, token, name, input) {
	const { status, body } = await ask(rt, token, name, input);
	assert.ok(status < 300, `${name}: ${status} ${JSON.stringify(body)}`);
	return body;
}

/** The 26 characters inside an id. */
export const coreOf = (id) => /_([0-9a-z]{26})/.exec(id)[1];

const tool = { name: 'set_value', description: 'Sets something.', inputSchema: { type: 'object' } };

/** Facts of a session, all of them, oldest first. */
export async function factsOf(rt, token, sessionId) {
	const first = await must(rt, token, 'get_session', { sessionId, limit: 500 });
	return first.history.events;
}

/** A session that waits for an answer, with a turn behind it; its ids. */
async function makeSession(rt, token, tenant) {
	const text = `[[tool set_value {"q":"${tenant}"}]]`;
	const { sessionId, threadId, turnId, taskId } = await must(rt, token, 'submit_turn', { createPolicy: {}, text, options: { tools: [tool] } });
	const queued = await must(rt, token, 'submit_turn', { sessionId, text: 'later', busyPolicy: 'queue' });
	const asked = await waitFor(async () => (await factsOf(rt, token, sessionId)).find((f) => f.type === 'action.required'), 'a question');
	const facts = await factsOf(rt, token, sessionId);
	const { workspace } = await must(rt, token, 'create_workspace', { name: tenant });
	const { worker } = await must(rt, token, 'create_worker', { name: tenant });
	const { schedule } = await must(rt, token, 'create_schedule', { name: tenant, spec: '@yearly', start: { text: tenant } });
	const outputRef = facts.find((f) => f.payload.inputRef)?.payload.inputRef;
	assert.ok(outputRef);
	return { sessionId, threadId, turnId, taskId, queuedTurnId: queued.queuedTurnId, actionId: asked.actionId, outputRef, core: coreOf(sessionId), workspaceId: workspace.workspaceId, workerId: worker.workerId, scheduleId: schedule.scheduleId };
}

/** agentd with tenants acme and zeta: { rt, acme, zeta }, a tenant being { tokens by scope, ids }. */
export async function tenants(options = {}) {
	const w = await world({ ...options, config: { ...unlimited, 'workspaces.dir': newFolder(), ...options.config } });
	const made = { ...w };
	for (const tenant of ['acme', 'zeta']) {
		const tokens = {};
		let tokenId;
		for (const scope of SCOPES) {
			const { token, record } = await ok(w.rt, 'create_token', { tenant, name: `${tenant} ${scope}`, scopes: [scope] });
			tokens[scope] = token;
			tokenId = record.tokenId;
		}
		made[tenant] = { tokens, ids: { ...(await makeSession(w.rt, tokens.admin, tenant)), tokenId } };
	}
	return made;
}

/** The same ids of a session that does not exist: another random part, of the same form. */
export function unknownIds(ids) {
	const core = ids.core.slice(0, 12) + [...ids.core.slice(12)].map((c) => (c === 'q' ? 'r' : 'q')).join('');
	const tokenId = ids.tokenId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	const workspaceId = ids.workspaceId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	const workerId = ids.workerId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	const scheduleId = ids.scheduleId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	return { ...Object.fromEntries(Object.entries(ids).map(([k, v]) => [k, v.replaceAll(ids.core, core)])), tokenId, workspaceId, workerId, scheduleId };
}

/** The home session of a tenant, as docs/tenants.md says how to find it. */
export function homeOf(tenant) {
	const b = createHash('sha256').update(`home${tenant}`).digest().subarray(0, 16);
	b.fill(0, 0, 6);
	b[6] = 0x70 | (b[6] & 0x0f);
	b[8] = 0x80 | (b[8] & 0x3f);
	let n = BigInt(`0x${b.toString('hex')}`), text = '';
	for (let i = 0; i < 26; i++, n >>= 5n) text = '0123456789abcdefghjkmnpqrstvwxyz'[Number(n & 31n)] + text;
	return `sess_${text}`;
}
