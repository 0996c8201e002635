// Random schemas and values from a seed. Names and numbers are few, so that schemas and values meet.

/** mulberry32: the same numbers for the same seed. */
export function random(seed) {
	let a = seed >>> 0;
	const next = () => {
		a = (a + 0x6d2b79f5) >>> 0;
		let t = Math.imul(a ^ (a >>> 15), a | 1);
		t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (n) => Math.floor(next() * n);

	return { below, pick: (list) => list[below(list.length)], chance: (p) => next() < p };
}

const names = ['a', 'b', 'c', 'foo', 'x-1'];
const numbers = [0, 1, 2, 3, -1, 1.5, 2.0, 10, 0.25];
const texts = ['', 'a', 'b', 'foo', 'aé', '😀', '12', 'x-1'];
const patterns = ['^a', 'o+$', '^[0-9]+$', '^x-', '^.{1,2}$', '\\d', '[^a-c]'];
const types = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

export function value(r, depth = 3) {
	const kind = r.below(depth > 0 ? 8 : 5);

	if (kind === 0) return null;
	if (kind === 1) return r.chance(0.5);
	if (kind <= 3) return r.pick(numbers);
	if (kind === 4) return r.pick(texts);
	if (kind <= 6) return object(r, () => value(r, depth - 1));
	return Array.from({ length: r.below(4) }, () => value(r, depth - 1));
}

function object(r, make) {
	return Object.fromEntries(names.filter(() => r.chance(0.4)).map((name) => [name, make()]));
}

const some = (r, list) => list.filter(() => r.chance(0.4));
const list = (r, make, least = 1) => Array.from({ length: least + r.below(2) }, make);

const keywords = {
	type: (r) => (r.chance(0.7) ? r.pick(types) : [...new Set([r.pick(types), r.pick(types)])]),
	enum: (r) => Array.from(new Set(list(r, () => JSON.stringify(value(r, 1))))).map((t) => JSON.parse(t)),
	const: (r) => value(r, 1),
	minimum: (r) => r.pick(numbers),
	maximum: (r) => r.pick(numbers),
	exclusiveMinimum: (r) => r.pick(numbers),
	exclusiveMaximum: (r) => r.pick(numbers),
	multipleOf: (r) => r.pick([1, 2, 0.5, 0.25]),
	minLength: (r) => r.below(3),
	maxLength: (r) => r.below(3),
	pattern: (r) => r.pick(patterns),
	minItems: (r) => r.below(3),
	maxItems: (r) => r.below(3),
	uniqueItems: () => true,
	required: (r) => some(r, names),
	dependentRequired: (r) => object(r, () => some(r, names)),
	minProperties: (r) => r.below(3),
	maxProperties: (r) => r.below(3),
	properties: (r, s) => object(r, s),
	additionalProperties: (r, s) => s(),
	patternProperties: (r, s) => ({ [r.pick(patterns)]: s() }),
	propertyNames: (r, s) => s(),
	dependentSchemas: (r, s) => object(r, s),
	items: (r, s) => s(),
	prefixItems: (r, s) => list(r, s),
	contains: (r, s) => s(),
	allOf: (r, s) => list(r, s),
	anyOf: (r, s) => list(r, s, 2),
	oneOf: (r, s) => list(r, s, 2),
	not: (r, s) => s(),
	if: (r, s) => s(),
	unevaluatedProperties: (r, s) => s(),
	unevaluatedItems: (r, s) => s(),
};

/** `rest` says whether unevaluated* may occur: not below then and else, where the oracle lets them see what `if` saw. */
export function schema(r, depth = 3, rest = true) {
	if (r.chance(depth > 0 ? 0.06 : 0.2)) return r.chance(0.7);
	if (r.chance(0.05)) return { $ref: r.pick(['#/$defs/leaf', '#leaf']) };
	const made = {};
	const inner = () => schema(r, depth - 1, rest);
	const branch = () => schema(r, depth - 1, false);
	const all = Object.keys(keywords).slice(0, depth > 0 ? (rest ? undefined : -2) : 18);

	for (let left = 1 + r.below(3); left > 0; left--) {
		const word = r.pick(all);

		made[word] = keywords[word](r, inner);
		if (word === 'if') Object.assign(made, { then: branch(), else: branch() });
		if (word === 'contains' && r.chance(0.5)) Object.assign(made, { minContains: r.below(2), maxContains: 1 + r.below(2) });
	}
	return made;
}

/** A schema with the one definition that its references name. */
export function document(r) {
	const made = schema(r);
	const leaf = { $anchor: 'leaf', ...keywordsOnly(r) };

	return typeof made === 'boolean' ? { allOf: [made], $defs: { leaf } } : { ...made, $defs: { leaf } };
}

function keywordsOnly(r) {
	const word = r.pick(Object.keys(keywords).slice(0, 11));

	return { [word]: keywords[word](r) };
}
