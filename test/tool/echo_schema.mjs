// Of the scripted server's tool echo: a schema with something in it that a careless reader would change.
export const ECHO_SCHEMA = {
	$schema: 'https://json-schema.org/draft/2020-12/schema',
	type: 'object',
	properties: { text: { description: 'ü "q" \\ \u0001' }, n: { type: 'number', maximum: 1e21, multipleOf: 0.1 } },
	$defs: { unused: { $anchor: 'here' } },
};
