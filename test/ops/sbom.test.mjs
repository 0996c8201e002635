// ci: release only
// The bill of materials of the Debian package: SPDX 2.3, of the programs that are in it and of everything that is linked to them; and the package itself,
// which is the same bytes whoever packs the same programs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { bin, newFolder } from '../lib/runtime.mjs';

const hash = (algorithm, bytes) => createHash(algorithm).update(bytes).digest('hex');
let folder, name, tree, sbom, programs;

/** The .deb that cpack makes in a folder of its own, as another person on another day would. */
function pack(where, umask, env) {
	execFileSync('sh', ['-c', `umask ${umask} && exec cpack --config "$1" -B "$2"`, 'sh', join(dirname(bin), 'CPackConfig.cmake'), where], { stdio: 'pipe', env: { ...process.env, ...env } });
	return join(where, readdirSync(where).find((file) => file.endsWith('.deb')));
}

const filesIn = (where) => readdirSync(where, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));

before(() => {
	folder = newFolder();
	const deb = pack(join(folder, 'one'), '022', { TZ: 'UTC' });
	tree = join(folder, 'tree');
	execFileSync('dpkg-deb', ['-x', deb, tree]);
	name = readdirSync(join(folder, 'one')).find((file) => /^agentd_[0-9.]+\.spdx\.json$/.test(file));
	sbom = JSON.parse(readFileSync(join(folder, 'one', name), 'utf8'));
	programs = readdirSync(join(tree, 'usr/lib/agentd')).map((program) => join(tree, 'usr/lib/agentd', program));
});

test('the same programs make the same package and the same bill, wherever and whenever', () => {
	const again = pack(join(folder, 'two'), '022', { TZ: 'Asia/Tokyo', LC_ALL: 'C' });
	for (const file of [name, basename(again)])
		assert.equal(hash('sha256', readFileSync(join(folder, 'two', file))), hash('sha256', readFileSync(join(folder, 'one', file))), file);
});

test('a private umask makes no private folders in the package', () => {
	const content = (deb) => hash('sha256', execFileSync('dpkg-deb', ['--fsys-tarfile', deb], { maxBuffer: 1 << 26 }));
	const strict = pack(join(folder, 'three'), '077', {});
	assert.equal(content(strict), content(join(folder, 'one', basename(strict))));
});

test('the package brings the bill that lies beside it', () => {
	assert.ok(readFileSync(join(tree, 'usr/share/doc/agentd', name)).equals(readFileSync(join(folder, 'one', name))));
});

// What the schema of SPDX 2.3 demands of the parts that are used here: name, what it must look like, whether it may be absent.
const id = /^SPDXRef-[A-Za-z0-9.-]+$/;
const said = /\S/;
const supplier = /^(Person|Organization): .+|^NOASSERTION$/;
const rules = {
	document: { SPDXID: /^SPDXRef-DOCUMENT$/, spdxVersion: /^SPDX-2\.3$/, dataLicense: /^CC0-1\.0$/, name: said, documentNamespace: /^[a-z]+:[^#]+$/ },
	creation: { created: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ },
	package: { SPDXID: id, name: said, versionInfo: said, downloadLocation: said, supplier, licenseConcluded: said, licenseDeclared: said, copyrightText: said, primaryPackagePurpose: /^(APPLICATION|LIBRARY)$/ },
	file: { SPDXID: id, fileName: /^\.\/[^/].*/, licenseConcluded: said, copyrightText: said },
	checksum: { algorithm: /^SHA(1|256)$/, checksumValue: /^[0-9a-f]+$/ },
	reference: { referenceCategory: /^PACKAGE-MANAGER$/, referenceType: /^purl$/, referenceLocator: /^pkg:deb\/[a-z]+\/[^@\s]+@[^?\s+]+\?arch=\w+$/ },
	relation: { spdxElementId: id, relatedSpdxElement: id, relationshipType: /^(DESCRIBES|CONTAINS|DYNAMIC_LINK|STATIC_LINK)$/ },
};

function obeys(kind, object) {
	for (const [member, form] of Object.entries(rules[kind])) assert.match(object[member] ?? '', form, `${kind} ${object.SPDXID ?? ''} ${member}`);
}

test('it has the form of SPDX 2.3', () => {
	obeys('document', sbom);
	obeys('creation', sbom.creationInfo);
	assert.match(sbom.creationInfo.creators.join(), /^Tool: /);
	for (const it of sbom.packages) {
		obeys('package', it);
		for (const reference of it.externalRefs ?? []) obeys('reference', reference);
		assert.equal(it.filesAnalyzed, 'packageVerificationCode' in it);
	}
	for (const it of sbom.files) {
		obeys('file', it);
		for (const sum of it.checksums) obeys('checksum', sum);
		assert.ok(it.checksums.some((sum) => sum.algorithm === 'SHA1'), 'which it demands of every file');
	}
	const ids = [sbom.SPDXID, ...[...sbom.packages, ...sbom.files].map((it) => it.SPDXID)];
	assert.equal(new Set(ids).size, ids.length, 'no id twice');
	for (const it of sbom.relationships) {
		obeys('relation', it);
		for (const end of [it.spdxElementId, it.relatedSpdxElement]) assert.ok(ids.includes(end), end);
	}
	assert.deepEqual(sbom.relationships.filter((it) => it.relationshipType === 'DESCRIBES').map((it) => it.relatedSpdxElement), ['SPDXRef-Package-agentd']);
});

test('it lists every file of the package with its checksums', () => {
	const packed = filesIn(tree).filter((path) => !path.endsWith(name));
	const sums = (path) => Object.fromEntries(['SHA1', 'SHA256'].map((algorithm) => [algorithm, hash(algorithm, readFileSync(path))]));
	assert.deepEqual(Object.fromEntries(sbom.files.map((it) => [it.fileName, Object.fromEntries(it.checksums.map((sum) => [sum.algorithm, sum.checksumValue]))])),
		Object.fromEntries(packed.map((path) => [`.${path.slice(tree.length)}`, sums(path)])));
	const code = hash('sha1', packed.map((path) => sums(path).SHA1).toSorted().join(''));
	assert.equal(sbom.packages[0].packageVerificationCode.packageVerificationCodeValue, code);
	assert.equal(programs.length, 7);
	for (const path of programs) assert.deepEqual(sbom.files.find((it) => it.fileName.endsWith(path.slice(tree.length))).fileTypes, ['BINARY']);
});

const linksOf = (program, kind) => sbom.relationships.filter((it) => it.relationshipType === kind && it.spdxElementId === `SPDXRef-File-usr-lib-agentd-${basename(program)}`)
	.map((it) => sbom.packages.find((one) => one.SPDXID === it.relatedSpdxElement).name).toSorted();

/** The packages of files, by dpkg's lists: they may have one without the /usr before it. */
function ownersOf(paths) {
	const names = paths.map((path) => realpathSync(path)).flatMap((path) => [path, path.replace(/^\/usr/, '')]);
	const { stdout } = spawnSync('dpkg', ['-S', ...names], { encoding: 'utf8' });
	return (path) => stdout.split('\n').find((line) => [': ', ': /usr'].some((head) => line.endsWith(head + realpathSync(path).replace(/^\/usr/, '')))).split(':')[0];
}

test('the libraries are those that the loader finds', () => {
	const pathsOf = (program) => {
		const needed = [...execFileSync('objdump', ['-p', program], { encoding: 'utf8' }).matchAll(/NEEDED\s+(\S+)/g)].map((m) => m[1]);
		const loaded = needed.length ? execFileSync('ldd', [program], { encoding: 'utf8' }) : '';
		return needed.map((soname) => loaded.split('\n').find((line) => line.trim().startsWith(`${soname} =>`)).split(/\s+/)[3]);
	};
	const ownerOf = ownersOf([...new Set(programs.flatMap(pathsOf))]);
	for (const program of programs) assert.deepEqual(linksOf(program, 'DYNAMIC_LINK'), [...new Set(pathsOf(program).map(ownerOf))].toSorted(), program);
	const installed = execFileSync('dpkg-query', ['-W', '-f', '${Package} ${Version}\n', ...sbom.packages.slice(1).map((it) => it.name)], { encoding: 'utf8' }).split('\n');
	for (const it of sbom.packages.slice(1)) assert.ok(installed.includes(`${it.name} ${it.versionInfo}`), it.name);
});

test('what is inside of the programs is named too', () => {
	const agentd = programs.find((path) => path.endsWith('/agentd'));
	assert.ok(linksOf(agentd, 'STATIC_LINK').includes('node-llhttp'), 'compiled from the source of that package');
	for (const helper of programs.filter((path) => linksOf(path, 'DYNAMIC_LINK').length === 0)) assert.ok(linksOf(helper, 'STATIC_LINK').includes('libc6-dev'), helper);
	assert.equal(sbom.packages.find((it) => it.name === 'libuv1').licenseDeclared, 'MIT', 'which Debian calls Expat');
});

test('where the official schema is, the bill is held against it', { skip: process.env.AR_SPDX_SCHEMA ? false : 'AR_SPDX_SCHEMA=spdx-schema.json asks for it; needs python3-jsonschema' }, () => {
	execFileSync('python3', ['-c', 'import json, jsonschema, sys; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))', join(folder, 'one', name), process.env.AR_SPDX_SCHEMA]);
});
