// Every answer of agentd that comes to this process over node's own HTTP client is held against the published contract
// (catalog/gen/openapi.json): the status is declared for the route, the content is of the declared type, and a JSON body fits
// its schema, with an error code that is declared for that status. node tells us of each answer (diagnostics_channel), so no
// test can go round it. What does not agree is collected, and
// runtime.mjs fails the file for it after the last test.
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { digestOf, makeAjv, validatorOf } from './validators.mjs';

const source = readFileSync(fileURLToPath(new URL('../../catalog/gen/openapi.json', import.meta.url)), 'utf8');
const document = JSON.parse(source);
const digest = digestOf(source);
let ajv; // only where a schema is not compiled yet

const routes = Object.entries(document.paths).map(([path, item]) => ({
	path, item, pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));
// A path without a parameter goes before one with.
routes.sort((a, b) => a.path.includes('{') - b.path.includes('{'));

const escape = (part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
const compiled = new Map();

function compile(place) {
	ajv ??= makeAjv({ strict: false, validateSchema: false }).addSchema(document, 'openapi');
	return [ajv, ajv.getSchema(place)];
}

/** The schema at this place of the document, compiled once. */
function schemaAt(...parts) {
	const place = `openapi#/${parts.map(escape).join('/')}`;
	if (!compiled.has(place)) compiled.set(place, validatorOf([place, digest], () => compile(place)));
	return compiled.get(place);
}

const faultsOf = ({ errors }) => errors.map((e) => `${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`).join(', ');

function fit(schema, text, label) {
	let value;
	try {
		value = JSON.parse(text);
	} catch (error) {
		throw new Error(`${label}: ${error.message}: ${text}`);
	}
	if (!schema(value)) assert.fail(`${label}: ${faultsOf(schema)} in ${JSON.stringify(value)?.slice(0, 2000)}`);
}

/** Statuses of what is no operation: no such path, another method, HTTP that is broken. */
const NO_OPERATION = [400, 401, 403, 404, 405, 408, 413, 415, 417, 431, 501, 503, 505];
const BROKEN_HTTP = [417, 505];

function checkError(text, label) {
	fit(schemaAt('components', 'schemas', 'Error'), text, label);
}

function checkOperation(route, method, { status, type, text }, label) {
	const declared = route.item[method].responses[status];
	if (!declared && BROKEN_HTTP.includes(status)) return checkError(text, label);
	assert.ok(declared, `${label}: the status is not declared`);
	const at = declared.$ref ? declared.$ref.slice(2).split('/') : ['paths', route.path, method, 'responses', String(status)];
	const content = at.reduce((value, part) => value[part], document).content;
	if (!content) return assert.equal(text ?? '', '', `${label}: it has content, and none is declared`);
	assert.ok(content[type], `${label}: content of type ${type} is not declared`);
	if (type === 'application/json' && text !== undefined) fit(schemaAt(...at, 'content', type, 'schema'), text, label);
}

/** Throws where an answer is not what the contract says. `text` is left out where the body was not read. */
export function checkAnswer({ method, path, status, type, text }) {
	const pathname = path.replace(/^http:\/\/[^/]*/, '').replace(/[?#].*$/s, '');
	const label = `${method} ${pathname}: ${status}`;
	if (/^\/a2a\/[^/]+\/(?!\.well-known\/)/.test(pathname)) return; // A2A has a contract of its own, which its official client holds answers against
	const route = routes.find(({ pattern }) => pattern.test(pathname));
	const answer = { status, type: type?.replace(/;.*$/, ''), text };
	if (route?.item[method.toLowerCase()]) return checkOperation(route, method.toLowerCase(), answer, label);
	if (method === 'OPTIONS' && status === 200) return;
	assert.ok(NO_OPERATION.includes(status), `${label}: this is no operation of the contract`);
	if (text && method !== 'HEAD') checkError(text, label);
}

// ---- every answer of this process ----

const faults = [];
let checked = 0;

function check(answer) {
	checked++;
	try {
		checkAnswer(answer);
	} catch (error) {
		faults.push(error.message);
	}
}

// agentd says this with every answer; stub models, proxies and other servers of tests do not.
const isOurs = (headers) => /^no-(store|cache)$/.test(headers['cache-control'] ?? '') && headers['x-content-type-options'] === 'nosniff';

const answerOf = (request, response) => ({ method: request.method, path: request.path, status: response.statusCode, type: response.headers['content-type'] });

/** The body, unless its reader left before its end. */
const whole = ({ headers }, bytes) => (bytes.length === Number(headers['content-length'] ?? bytes.length) ? bytes.toString('utf8') : undefined);

/** Reads along: what is pushed into the response is what its reader gets. */
function readAlong(request, response) {
	const pieces = [];
	const push = response.push;
	response.push = function (piece, encoding) {
		if (piece !== null) pieces.push(typeof piece === 'string' ? Buffer.from(piece, encoding) : piece);
		else if (response.complete) check({ ...answerOf(request, response), text: whole(response, Buffer.concat(pieces)) });
		return push.call(this, piece, encoding);
	};
}

subscribe('http.client.response.finish', ({ request, response }) => {
	if (!isOurs(response.headers)) return;
	if (response.headers['content-type'] === 'text/event-stream')
		check(answerOf(request, response));
	else readAlong(request, response);
});

// fetch: the body is not seen here.
subscribe('undici:request:headers', ({ request, response }) => {
	const headers = {};
	for (let i = 0; i < response.headers.length; i += 2) headers[String(response.headers[i]).toLowerCase()] = String(response.headers[i + 1]);
	if (isOurs(headers)) check({ method: request.method, path: request.path, status: response.statusCode, type: headers['content-type'] });
});

/** How many answers were held against the contract so far. */
export const checkedAnswers = () => checked;

/** Fails if one of them was not as declared. */
export const checkContract = () => assert.deepEqual([...new Set(faults)], [], 'answers that the contract does not declare');
