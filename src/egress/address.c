/* See address.h. IPv6 forms that carry an IPv4 address are judged by what they carry. */
#include "address.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

struct range4 {
	uint32_t first;
	int bits;
	const char *word;
	bool is_private; /* may be let through */
};

static const struct range4 ranges4[] = {
	{ 0x00000000, 8, "unspecified", false },    { 0x0a000000, 8, "private", true },
	{ 0x64400000, 10, "private", true },	    { 0x7f000000, 8, "loopback", false },
	{ 0xa9fe0000, 16, "link-local", false },    { 0xac100000, 12, "private", true },
	{ 0xc0000000, 24, "reserved", false },	    { 0xc0000200, 24, "documentation", false },
	{ 0xc0a80000, 16, "private", true },	    { 0xc6120000, 15, "benchmark", false },
	{ 0xc6336400, 24, "documentation", false }, { 0xcb007100, 24, "documentation", false },
	{ 0xe0000000, 4, "multicast", false },	    { 0xf0000000, 4, "reserved", false },
};

/* Services that clouds put on addresses of their own. */
static const uint32_t metadata4[] = { 0x646464c8 /* 100.100.100.200 */, 0xa83f8110 /* 168.63.129.16 */ };

static const char *fault4(uint32_t address, bool is_private)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(metadata4); i++) {
		if (address == metadata4[i])
			return "metadata";
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(ranges4); i++) {
		const struct range4 *r = &ranges4[i];

		if (address >> (32 - r->bits) == r->first >> (32 - r->bits) && !(r->is_private && is_private))
			return r->word;
	}
	return NULL;
}

struct range6 {
	unsigned char first[16];
	int bytes, mask; /* whole bytes that have to be equal, then these bits of the next */
	const char *word;
	bool is_private;
	int carries; /* where an IPv4 address is inside; 0: nowhere */
};

static const struct range6 ranges6[] = {
	{ { 0 }, 12, 0, "unspecified", false, 12 }, /* ::, ::1, ::a.b.c.d */
	{ { [10] = 0xff, [11] = 0xff }, 12, 0, "mapped", false, 12 },
	{ { 0x00, 0x64, 0xff, 0x9b }, 12, 0, "NAT64", false, 12 },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 6, 0, "NAT64", false, 0 },
	{ { 0x01 }, 8, 0, "discarded", false, 0 },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 4, 0, "documentation", false, 0 },
	{ { 0x20, 0x01, 0x00, 0x00 }, 4, 0, "Teredo", false, 0 },
	{ { 0x20, 0x02 }, 2, 0, "6to4", false, 2 },
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 4, 0, "metadata", false, 0 },
	{ { 0xfc }, 0, 0xfe, "private", true, 0 },
	{ { 0xfe, 0x80 }, 1, 0xc0, "link-local", false, 0 },
	{ { 0xfe, 0xc0 }, 1, 0xc0, "site-local", false, 0 },
	{ { 0xff }, 1, 0, "multicast", false, 0 },
};

static bool is_in(const struct range6 *r, const unsigned char *address)
{
	return memcmp(r->first, address, (size_t)r->bytes) == 0 &&
	       (address[r->bytes] & r->mask) == (r->first[r->bytes] & r->mask);
}

static const char *fault6(const unsigned char *address, bool is_private)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(ranges6); i++) {
		const struct range6 *r = &ranges6[i];

		if (!is_in(r, address))
			continue;
		if (r->carries) {
			const unsigned char *b = address + r->carries;

			return fault4((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
					      b[3],
				      is_private);
		}
		if (!(r->is_private && is_private))
			return r->word;
	}
	return NULL;
}

const char *ar_egress_address_fault(const struct sockaddr *address, bool is_private)
{
	if (address->sa_family == AF_INET)
		return fault4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr),
			      is_private);
	if (address->sa_family == AF_INET6)
		return fault6(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr,
			      is_private);
	return "of an unknown kind";
}
