// The client that the official conformance tool runs, as `node conformance_client.mjs URL` with MCP_CONFORMANCE_SCENARIO set: mcp-probe, told to
// list the tools and to call them as the scenario wants.
import { Probe, sleep } from './mcp.mjs';

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');
const modern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28';

const p = new Probe({ name: 'c', url: process.argv[2], era: modern ? 'modern' : 'auto' });
const { trouble } = await p.ready();
if (trouble) console.error(trouble);

// A value for each property that must be there.
function argumentsFor(schema) {
	const samples = { string: 'x', number: 3, integer: 3, boolean: true, array: [], object: {} };
	const properties = Object.entries(schema.properties ?? {});
	return Object.fromEntries(properties.map(([name, { type }]) => [name, samples[type] ?? 'x']));
}

async function call(tool, args) {
	const n = p.start(tool.name, args ?? argumentsFor(tool.schema));
	p.until((l) => l.on === 'question' && l.n === n).then(
		(q) => p.do({ do: 'answer', n, question: q.id, kind: 'accept', content: scenario === 'elicitation-sep1034-client-defaults' ? {} : { confirmed: true } }),
		() => {},
	);
	const end = await p.done(n);
	console.error(JSON.stringify(end));
}

const find = (name) => p.tools().find((tool) => tool.name === `c_${name}`);
if (scenario === 'json-schema-2020-12-preservation') {
	// What the server sent as a schema, given back to it as it came out of the port.
	await call(find('json_schema_echo'), { schema: find('json_schema_2020_12_tool').schema });
} else if (context.toolCalls) {
	for (const { name, arguments: args } of context.toolCalls) await call(find(name), args);
} else if (scenario !== 'json-schema-ref-no-deref') {
	for (const tool of p.tools()) await call(tool);
}
await sleep(200);
await p.close();
process.exit(0);
