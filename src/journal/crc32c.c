/* CRC-32C (Castagnoli) with the processor's own instruction where it has one, by a table of 16 entries
 * elsewhere. Owns no state; any thread. */
#include "journal.h"

#include <string.h>

/* One entry per nibble: small enough for a helper whose memory is counted in pages. */
static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		crc = (crc >> 4) ^ nibbles[crc & 15];
		crc = (crc >> 4) ^ nibbles[crc & 15];
	}
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const unsigned char *p,
								 size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; len > 0; p++, len--)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}
#endif

uint32_t ar_crc32c(uint32_t before, const void *bytes, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~before, bytes, len);
#endif
	return ~by_table(~before, bytes, len);
}
