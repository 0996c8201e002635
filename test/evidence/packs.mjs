// Evidence packs for tests: downloaded with nothing but read_output, and checked as a stranger would, with openssl, sha256sum and cmp.
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, ok } from '../lib/runtime.mjs';

export async function bytesOf(rt, outputRef) {
	const parts = [];
	for (let offset = 0, size = 1; offset < size;) {
		const { content, encoding, sizeBytes } = await ok(rt, 'read_output', { outputRef, offset, length: 1048576 });
		const bytes = Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8');
		parts.push(bytes);
		offset += bytes.length;
		size = sizeBytes;
		if (bytes.length === 0) break;
	}
	return Buffer.concat(parts);
}

export const documentOf = async (rt, ref) => JSON.parse(await bytesOf(rt, ref));

/** Writes the pack behind the ref into a new folder and gives its path. */
export async function download(rt, packRef) {
	const folder = newFolder(), pack = await documentOf(rt, packRef);
	mkdirSync(join(folder, 'blobs'));
	for (const file of pack.files) {
		const parts = [];
		for (const part of file.parts) parts.push(await bytesOf(rt, part.ref));
		writeFileSync(join(folder, file.name), Buffer.concat(parts));
	}
	for (const line of linesOf(folder, 'manifest.ndjson').filter((l) => l.state === 'included')) writeFileSync(join(folder, 'blobs', line.sha256), await bytesOf(rt, line.ref));
	return folder;
}

export const linesOf = (folder, name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
export const jsonOf = (folder, name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));

/** What a stranger types (docs/evidence.md); throws when something is wrong. */
export const STRANGER = `set -e
openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in statement.pae -sigfile statement.sig
tail -c "$(wc -c < statement.json)" statement.pae | cmp - statement.json
sha256sum --quiet --strict -c SHA256SUMS
digest=$(sha256sum SHA256SUMS); digest=\${digest%% *}
case $(cat statement.json) in *'"subject":[{"name":"SHA256SUMS","digest":{"sha256":"'"$digest"'"}}'*) ;; *) echo "SHA256SUMS is not the one that was signed"; exit 1;; esac`;

export const check = (folder) => execFileSync('sh', ['-c', STRANGER], { cwd: folder, stdio: 'pipe' });

const sha = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
export const leafOf = (line) => sha(Buffer.from([0]), Buffer.from(line));

/** The root of RFC 6962, by its definition. */
export function rootOf(leaves) {
	if (leaves.length === 1) return leaves[0];
	let k = 1;
	while (k * 2 < leaves.length) k *= 2;
	return sha(Buffer.from([1]), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

const { publicKey, privateKey } = generateKeyPairSync('ed25519');

/** A copy of a pack with these facts instead of its own, whole and signed, by another key. */
export function signed(pack, lines) {
	const folder = newFolder(), path = (name) => join(folder, name), write = (name, text) => writeFileSync(path(name), text);
	cpSync(pack, folder, { recursive: true });
	write('events.ndjson', lines.map((l) => `${l}\n`).join(''));
	let leaves = lines.map(leafOf);
	if (existsSync(path('leaves.txt'))) {
		leaves = readFileSync(path('leaves.txt'), 'utf8').split('\n').filter(Boolean).map((hex) => Buffer.from(hex, 'hex'));
		for (const line of lines) leaves[JSON.parse(line).sequence - 1] = leafOf(line);
		write('leaves.txt', leaves.map((l) => `${l.toString('hex')}\n`).join(''));
	}
	const digest = (name) => sha(readFileSync(path(name))).toString('hex'), statement = jsonOf(folder, 'statement.json');
	write('SHA256SUMS', readFileSync(path('SHA256SUMS'), 'utf8').replaceAll(/^.{64}  (?!blobs)(.*)$/gm, (_, name) => `${digest(name)}  ${name}`));
	for (const subject of statement.subject) subject.digest.sha256 = digest(subject.name);
	statement.predicate.facts.count = lines.length;
	Object.assign(statement.predicate.tree, { size: leaves.length, root: rootOf(leaves).toString('hex') });
	const payload = JSON.stringify(statement), { payloadType } = jsonOf(folder, 'statement.dsse.json');
	const pae = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${Buffer.byteLength(payload)} ${payload}`), signature = sign(null, pae, privateKey);
	const keyid = sha(publicKey.export({ type: 'spki', format: 'der' })).toString('hex');
	const envelope = { payload: Buffer.from(payload).toString('base64'), payloadType, signatures: [{ keyid, sig: signature.toString('base64') }] };
	for (const [name, text] of Object.entries({ 'statement.json': payload, 'statement.pae': pae, 'statement.sig': signature, 'statement.dsse.json': JSON.stringify(envelope), 'key.pem': publicKey.export({ type: 'spki', format: 'pem' }) })) write(name, text);
	return folder;
}
