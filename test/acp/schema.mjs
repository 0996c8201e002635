// The published schema of the Agent Client Protocol, version 1: what the agent writes has to fit the type of its method.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { makeAjv, validatorOf } from '../lib/validators.mjs';

const path = createRequire(import.meta.url).resolve('@agentclientprotocol/sdk/schema/v1/schema.json');
const text = readFileSync(path, 'utf8');
const { $defs } = JSON.parse(text);

// Each type of a message names its method and the side that handles it.
const typeOf = (method, side, ending) => Object.keys($defs).find((name) => $defs[name]['x-method'] === method && $defs[name]['x-side'] === side && name.endsWith(ending));

function validatorFor(name) {
	return validatorOf(['acp', name, text], () => {
		const ajv = makeAjv({ strict: false, validateFormats: false });
		return [ajv, ajv.compile({ $ref: `#/$defs/${name}`, $defs })];
	});
}

const validators = new Map();

function check(name, value, line) {
	assert.ok(name, `no type for ${line}`);
	if (!validators.has(name)) validators.set(name, validatorFor(name));
	const validate = validators.get(name);
	assert.ok(validate(value), `${name}: ${JSON.stringify(validate.errors)} in ${line}`);
}

/** Checks a line of the agent; `asked` has the methods of the requests that it may answer, by the id as JSON. */
export function checkLine(line, asked) {
	const message = JSON.parse(line);
	const { jsonrpc, id, method, params, result, error, ...rest } = message;
	assert.equal(jsonrpc, '2.0', line);
	assert.deepEqual(rest, {}, line);
	if (method === '$/cancel_request') check('CancelRequestNotification', params, line);
	else if (method !== undefined) check(typeOf(method, 'client', id === undefined ? 'Notification' : 'Request'), params, line);
	else if (error !== undefined) check('Error', error, line);
	else check(typeOf(asked.get(JSON.stringify(id)), 'agent', 'Response'), result, line);
	return message;
}
