// JSON Schema validators, compiled once for all test files: compiling takes a second or two of every file's processor time, loading what was
// compiled some milliseconds. They are kept beside the packages, so a new installation starts without them; the name of each is a
// digest of everything that it is made from.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../node_modules', import.meta.url));
const folder = join(packages, '.cache', 'validators');
const require = createRequire(import.meta.url);
const version = readFileSync(join(packages, 'ajv', 'package.json'), 'utf8').match(/"version": "([^"]*)"/)[1];

/** A compiler of its own options that can write out what it compiled. */
export function makeAjv(options) {
	const ajv = new (require('ajv/dist/2020.js'))({ allErrors: true, ...options, code: { source: true } });
	require('ajv-formats')(ajv);
	return ajv;
}

export const digestOf = (...texts) => createHash('sha256').update(texts.join('\0')).digest('hex');

/** Another process may write the same file at the same time: each has a whole one of its own until it is renamed. */
function keep(file, text) {
	const own = `${file}.${process.pid}`;
	try {
		mkdirSync(folder, { recursive: true });
		writeFileSync(own, text);
		renameSync(own, file);
	} catch (error) {
		if (!['EACCES', 'EROFS', 'EPERM', 'ENOENT'].includes(error.code)) throw error; // a tree that we may only read
	}
}

/** The validator that `make` compiles ([ajv, validate]), or the kept one that was compiled from the same texts. */
export function validatorOf(texts, make) {
	const file = join(folder, `${digestOf(version, ...texts)}.cjs`);
	if (existsSync(file)) return require(file);
	const [ajv, validate] = make();
	keep(file, require('ajv/dist/standalone').default(ajv, validate));
	return validate;
}
