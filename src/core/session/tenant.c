/* See the header. */
#include "tenant.h"
#include "base32.h"
#include "hash.h"

#include <string.h>

#define UUID 16
#define TIME_BYTES 6
#define NO_TIME 10 /* characters of an id without a time */
#define VERSION_BYTE 6 /* its upper half */
#define VARIANT_BYTE 8
#define NAMED_VERSION 8

const char ar_tenant_homes_end[AR_SESSION_KEY_LEN + 1] = "0000000000zzzzzzzzzzzzzzzz";

bool ar_tenant_is_local(struct ar_str tenant)
{
	return ar_str_absent(tenant) || ar_str_is(tenant, AR_TENANT_LOCAL);
}

struct ar_str ar_tenant_told(struct ar_str tenant)
{
	return ar_tenant_is_local(tenant) ? AR_STR_NONE : tenant;
}

static void set_version(uint8_t uuid[UUID], unsigned version)
{
	uuid[VERSION_BYTE] = (uint8_t)(version << 4 | (uuid[VERSION_BYTE] & 0xf));
}

static bool decode(struct ar_str session_key, uint8_t uuid[UUID])
{
	return session_key.len == AR_SESSION_KEY_LEN && ar_base32_decode(session_key, uuid, UUID);
}

void ar_tenant_mint(struct ar_str tenant, char out[AR_SESSION_KEY_LEN])
{
	uint8_t uuid[UUID];

	ar_id_mint(out);
	if (ar_tenant_is_local(tenant))
		return;
	AR_ASSERT(decode((struct ar_str){ out, AR_SESSION_KEY_LEN }, uuid));
	set_version(uuid, NAMED_VERSION);
	ar_id_encode(uuid, out);
}

void ar_tenant_home(struct ar_str tenant, char out[AR_SESSION_KEY_LEN])
{
	struct ar_arena a = { 0 };
	struct ar_hash h = ar_hash_of(ar_arena_fmt(&a, "home%.*s", AR_STR_ARG(tenant)));
	uint8_t uuid[UUID];

	ar_arena_fini(&a);
	memcpy(uuid, h.b, UUID);
	memset(uuid, 0, TIME_BYTES);
	set_version(uuid, 7);
	uuid[VARIANT_BYTE] = (uint8_t)(0x80 | (uuid[VARIANT_BYTE] & 0x3f));
	ar_id_encode(uuid, out);
}

bool ar_tenant_is_a_home(struct ar_str session_key)
{
	return memcmp(session_key.p, ar_tenant_homes_end, NO_TIME) == 0;
}

bool ar_tenant_is_home(struct ar_str tenant, struct ar_str session_key)
{
	char home[AR_SESSION_KEY_LEN];

	if (!ar_tenant_is_a_home(session_key))
		return false; /* every call asks, and almost all at once */
	ar_tenant_home(tenant, home);
	return ar_str_eq(session_key, (struct ar_str){ home, AR_SESSION_KEY_LEN });
}

bool ar_tenant_may_name(struct ar_str tenant, struct ar_str session_key)
{
	static const uint8_t no_time[TIME_BYTES];
	char home[AR_SESSION_KEY_LEN];
	uint8_t uuid[UUID];
	bool is_named;

	if (!decode(session_key, uuid) || memcmp(uuid, no_time, TIME_BYTES) == 0)
		return false;
	is_named = uuid[VERSION_BYTE] >> 4 == NAMED_VERSION;
	if (ar_tenant_is_local(tenant) || !is_named)
		return ar_tenant_is_local(tenant) && !is_named;
	ar_tenant_home(tenant, home);
	return memcmp(session_key.p + AR_SESSION_KEY_LEN - AR_TENANT_MARK,
		      home + AR_SESSION_KEY_LEN - AR_TENANT_MARK, AR_TENANT_MARK) == 0;
}
