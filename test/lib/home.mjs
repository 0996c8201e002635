// The home session of a tenant, as any node computes its id: the hash of the name, without a time, as a UUIDv7.
import { createHash } from 'node:crypto';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

export function homeOf(tenant) {
	const bytes = createHash('sha256').update(`home${tenant}`).digest().subarray(0, 16);
	bytes.fill(0, 0, 6);
	bytes[6] = 0x70 | (bytes[6] & 0x0f);
	bytes[8] = 0x80 | (bytes[8] & 0x3f);
	let value = BigInt(`0x${bytes.toString('hex')}`);
	let text = '';
	for (let i = 0; i < 26; i++, value >>= 5n) text = DIGITS[Number(value & 31n)] + text;
	return `sess_${text}`;
}
