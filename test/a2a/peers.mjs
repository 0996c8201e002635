// What tests of the A2A server share: agentd with published agents, and the official client for each binding.
import { Role } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { newFolder, request, startAgentd, startModel } from '../lib/runtime.mjs';

export const BINDINGS = ['JSONRPC', 'HTTP+JSON'];
export const AGENTS = [{ name: 'builder', description: 'Builds things.' }, { name: 'other', description: 'Does other things.' }];
let count = 0;

export const textPart = (value) => ({ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' });
export const dataPart = (value) => ({ content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: '' });

export function message(parts, more = {}) {
	return {
		tenant: '', metadata: undefined, configuration: more.configuration,
		message: { messageId: `m-${++count}`, contextId: '', taskId: '', role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [], parts: (typeof parts === 'string' ? [textPart(parts)] : parts), ...more.message },
	};
}

/** agentd with two published agents; its address is on the card, so it is known before the start. */
export async function start({ config = {}, dataDir = newFolder(), model, listen = '127.0.0.1:0', url = 'http://127.0.0.1' } = {}) {
	model ??= await startModel();
	const settings = { 'a2a.url': url, a2a_agents: AGENTS, ...config };
	return { rt: await startAgentd({ dataDir, model, listen, config: settings }), model, dataDir, settings };
}

/** A client of the SDK for one binding, made from the card that the agent publishes; the address on it is that of a real server, here it is this one. */
export async function client(rt, binding, { token, agent = 'builder' } = {}) {
	const fetchImpl = (url, init = {}) => fetch(url, { ...init, headers: { ...init.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) } });
	const fetchCard = async (url, init) => new Response((await (await fetchImpl(url, init)).text()).replaceAll('http://127.0.0.1/', `${rt.url}/`), { headers: { 'content-type': 'application/json' } });
	const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })], preferredTransports: [binding], cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetchCard }) });
	return factory.createFromUrl(rt.url, `/a2a/${agent}/.well-known/agent-card.json`);
}

export const taskOf = (r) => r.payload?.value ?? r.task ?? r;
export const answerOf = (task) => task.artifacts.find((a) => a.artifactId === 'answer')?.parts[0].content.value;

/** The events of a stream, by kind. */
export async function all(stream, each = () => {}) {
	const events = [];
	for await (const e of stream) {
		events.push({ kind: e.payload.$case, ...e.payload.value });
		await each(events.at(-1), events);
	}
	return events;
}

/** One request without the SDK, over JSON-RPC. */
export async function raw(rt, method, params, { token, agent = 'builder', headers = {} } = {}) {
	const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
	const { status, text } = await request(rt, { path: `/a2a/${agent}/rpc`, body, headers: { 'a2a-version': '1.0', ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers } });
	return { status, ...JSON.parse(text) };
}

