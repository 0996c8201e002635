// The verdicts of ar_schema_check beside those of @cfworker/json-schema, over generated pairs of schema and value. AR_SCHEMA_SEED chooses others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import { check } from './checker.mjs';
import { document, random, value } from './generate.mjs';

const schemas = Number(process.env.AR_SCHEMAS ?? 3000);
const seed = Number(process.env.AR_SCHEMA_SEED ?? 1);

test(`agrees with another validator about generated schemas (AR_SCHEMA_SEED=${seed})`, () => {
	const r = random(seed);
	const asks = Array.from({ length: schemas }, () => ({ schema: document(r), values: Array.from({ length: 8 }, () => value(r)) }));
	const answers = check(asks);
	let valid = 0;

	for (const [i, { schema, values }] of asks.entries()) {
		assert.equal(answers[i].error, undefined, JSON.stringify(schema));
		const oracle = new Validator(schema, '2020-12');

		for (const [j, v] of values.entries()) {
			const got = answers[i].results[j];

			assert.equal(got === null, oracle.validate(v).valid, `${JSON.stringify(v)} by ${JSON.stringify(schema)}: ${got?.message ?? 'valid'}`);
			valid += got === null;
			if (got) assert.ok(got.message.length > 10 && got.message.includes(got.pointer), JSON.stringify(got));
		}
	}
	assert.ok(valid > schemas && valid < schemas * 7, `${valid} of ${schemas * 8} are valid: the generator asks nothing`);
});
