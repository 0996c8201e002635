// The official JSON-Schema-Test-Suite, required files of draft 7 and draft 2020-12. AR_JSON_SCHEMA_SUITE names a checkout of
// github.com/json-schema-org/JSON-Schema-Test-Suite; it is on no package registry, so without it this is skipped and the oracle stands alone.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { check } from './checker.mjs';

const suite = process.env.AR_JSON_SCHEMA_SUITE;

// What is refused when it is compiled, and why. Anything else must compile and agree.
const unsupported = [
	[/points outside the schema/, 'nothing is fetched: a tool server must not make the runtime call other servers'],
	[/^\$dynamicRef is not supported/, 'no tool needs it; refused rather than half understood'],
];
// What compiles and is judged differently.
const different = new Map([
	['schema that uses custom metaschema with with no validation vocabulary', '$schema chooses the draft only: vocabularies live in documents elsewhere'],
]);

function groups(draft) {
	const folder = path.join(suite, 'tests', draft);
	const files = fs.readdirSync(folder).filter((name) => name.endsWith('.json'));

	return files.flatMap((file) => JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')).map((group) => ({ file, ...group })));
}

// Draft 7 is not the default: its files do not say which draft they are of.
function spelled(draft, schema) {
	if (draft !== 'draft7' || typeof schema !== 'object' || schema.$schema) return schema;
	return { $schema: 'http://json-schema.org/draft-07/schema#', ...schema };
}

for (const draft of ['draft7', 'draft2020-12']) {
	test(`agrees with the official suite of ${draft}`, { skip: !suite && 'AR_JSON_SCHEMA_SUITE is not set' }, (t) => {
		const all = groups(draft);
		const answers = check(all.map((g) => ({ schema: spelled(draft, g.schema), values: g.tests.map((one) => one.data) })));
		const refused = new Map();
		let agreed = 0;

		for (const [i, group] of all.entries()) {
			const { error, results } = answers[i];

			if (error) {
				const why = unsupported.find(([pattern]) => pattern.test(error));

				assert.ok(why, `${group.file}: ${group.description}: ${error}`);
				refused.set(why[1], (refused.get(why[1]) ?? 0) + group.tests.length);
				continue;
			}
			if (different.has(group.description)) continue;
			for (const [j, one] of group.tests.entries()) {
				assert.equal(results[j] === null, one.valid, `${group.file}: ${group.description}: ${one.description}`);
				agreed++;
			}
		}
		t.diagnostic(`${agreed} agree`);
		for (const [why, count] of refused) t.diagnostic(`${count} not supported: ${why}`);
		assert.ok(agreed > 800);
	});
}
