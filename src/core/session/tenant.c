/* See the header. */
#include "tenant.h"
#include "base32.h"
#include "buf.h"
#include "hash.h"

#include <string.h>

#define UUID 16
#define TIME_BYTES 6
#define NO_TIME 10 /* characters of an id without a time */
#define VERSION_BYTE 6 /* its upper half */
#define VARIANT_BYTE 8
#define HOME_VERSION 7
#define NAMED_VERSION 8
#define WORKSPACE_VERSION 9
#define WORKER_VERSION 10
#define SCHEDULE_VERSION 11

const char ar_tenant_homes_end[AR_SESSION_KEY_LEN + 1] = "0000000000zzzzzzzzzzzzzzzz";
const char ar_tenant_homes_below[AR_SESSION_KEY_LEN + 1] = "0000000000g000000000000000";
const char ar_workspaces_above[AR_SESSION_KEY_LEN + 1] = "0000000000hzzzzzzzzzzzzzzz";
const char ar_workspaces_below[AR_SESSION_KEY_LEN + 1] = "0000000000m000000000000000";
const char ar_workers_above[AR_SESSION_KEY_LEN + 1] = "0000000000kzzzzzzzzzzzzzzz";
const char ar_workers_below[AR_SESSION_KEY_LEN + 1] = "0000000000p000000000000000";
const char ar_schedules_above[AR_SESSION_KEY_LEN + 1] = "0000000000nzzzzzzzzzzzzzzz";
const char ar_schedules_below[AR_SESSION_KEY_LEN + 1] = "0000000000r000000000000000";

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

/* A key without a time: the rest is of the uuid. */
static void encode_reserved(uint8_t uuid[UUID], unsigned version, char out[AR_SESSION_KEY_LEN])
{
	memset(uuid, 0, TIME_BYTES);
	set_version(uuid, version);
	uuid[VARIANT_BYTE] = (uint8_t)(0x80 | (uuid[VARIANT_BYTE] & 0x3f));
	ar_id_encode(uuid, out);
}

/* The version of a key without a time; 0: it has one. */
static unsigned reserved_version(struct ar_str session_key)
{
	uint8_t uuid[UUID];

	if (session_key.len != AR_SESSION_KEY_LEN || memcmp(session_key.p, ar_tenant_homes_end, NO_TIME) != 0)
		return 0; /* every call asks, and almost all at once */
	return decode(session_key, uuid) ? uuid[VERSION_BYTE] >> 4 : 0;
}

void ar_tenant_home(struct ar_str tenant, char out[AR_SESSION_KEY_LEN])
{
	struct ar_arena a = { 0 };
	struct ar_hash h = ar_hash_of(ar_arena_fmt(&a, "home%.*s", AR_STR_ARG(tenant)));
	uint8_t uuid[UUID];

	ar_arena_fini(&a);
	memcpy(uuid, h.b, UUID);
	encode_reserved(uuid, HOME_VERSION, out);
}

bool ar_tenant_is_a_home(struct ar_str session_key)
{
	return reserved_version(session_key) == HOME_VERSION;
}

bool ar_key_is_reserved(struct ar_str session_key)
{
	unsigned version = reserved_version(session_key);

	return version == WORKSPACE_VERSION || version == WORKER_VERSION || version == SCHEDULE_VERSION;
}

bool ar_key_is_worker(struct ar_str session_key)
{
	return reserved_version(session_key) == WORKER_VERSION;
}

bool ar_key_is_schedule(struct ar_str session_key)
{
	return reserved_version(session_key) == SCHEDULE_VERSION;
}

/* Of what a key is the log: the words that it is made from, the version that it has. */
struct key_kind {
	const char *text;
	unsigned version;
};

/* No name of a tenant has a line end in it, so no two pairs give one text. */
static void hash_key(struct key_kind kind, struct ar_str tenant, struct ar_str value,
		     char out[AR_SESSION_KEY_LEN])
{
	struct ar_buf text = { 0 };
	struct ar_hash h;
	uint8_t uuid[UUID];

	ar_buf_addf(&text, "%s\n%.*s\n\n", kind.text, AR_STR_ARG(tenant));
	ar_buf_adds(&text, value);
	h = ar_hash_of(ar_buf_str(&text));
	ar_buf_fini(&text);
	memcpy(uuid, h.b, UUID);
	encode_reserved(uuid, kind.version, out);
}

static void mint(struct key_kind kind, struct ar_str tenant, struct ar_str idempotency_key,
		 char out[AR_SESSION_KEY_LEN])
{
	uint8_t uuid[UUID];

	if (!ar_str_absent(idempotency_key)) {
		hash_key(kind, tenant, idempotency_key, out);
		return;
	}
	ar_hash_draw(uuid, sizeof(uuid));
	encode_reserved(uuid, kind.version, out);
}

static struct ar_str key_in(struct ar_str id, struct ar_str prefix, unsigned version)
{
	struct ar_str key = ar_id_session_key(id);

	if (ar_str_absent(key) || !ar_str_starts(id, prefix) || id.len != AR_SESSION_KEY_LEN + prefix.len)
		return AR_STR_NONE;
	return reserved_version(key) == version ? key : AR_STR_NONE;
}

void ar_workspace_key(struct ar_str tenant, struct ar_str root, char out[AR_SESSION_KEY_LEN])
{
	hash_key((struct key_kind){ "workspace", WORKSPACE_VERSION }, tenant, root, out);
}

void ar_workspace_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN])
{
	mint((struct key_kind){ "workspace by key", WORKSPACE_VERSION }, tenant, idempotency_key, out);
}

struct ar_str ar_workspace_key_in(struct ar_str id)
{
	return key_in(id, AR_STR("ws_"), WORKSPACE_VERSION);
}

void ar_worker_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN])
{
	mint((struct key_kind){ "worker by key", WORKER_VERSION }, tenant, idempotency_key, out);
}

struct ar_str ar_worker_key_in(struct ar_str id)
{
	return key_in(id, AR_STR("wk_"), WORKER_VERSION);
}

void ar_schedule_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN])
{
	mint((struct key_kind){ "schedule by key", SCHEDULE_VERSION }, tenant, idempotency_key, out);
}

struct ar_str ar_schedule_key_in(struct ar_str id)
{
	return key_in(id, AR_STR("sched_"), SCHEDULE_VERSION);
}

/* The time is that of an ordinary id to the minute, so that lists are in the order of time. The last 40 bits
 * of a named tenant's key are its mark: a million texts of one minute have to differ in 50 bits of hash. */
#define DERIVED_TIME_BYTES 4
void ar_tenant_derive(struct ar_str tenant, ar_usec at, struct ar_str text, char out[AR_SESSION_KEY_LEN])
{
	struct ar_hash h = ar_hash_of(text);
	uint64_t ms = at > 1000 ? (uint64_t)at / 1000 : 1;
	bool is_local = ar_tenant_is_local(tenant);
	char home[AR_SESSION_KEY_LEN];
	uint8_t uuid[UUID];

	memcpy(uuid, h.b, UUID);
	for (unsigned i = 0; i < DERIVED_TIME_BYTES; i++)
		uuid[i] = (uint8_t)(ms >> (8 * (TIME_BYTES - 1 - i)));
	set_version(uuid, is_local ? 7 : NAMED_VERSION);
	uuid[VARIANT_BYTE] = (uint8_t)(0x80 | (uuid[VARIANT_BYTE] & 0x3f));
	ar_id_encode(uuid, out);
	if (is_local)
		return;
	ar_tenant_home(tenant, home);
	memcpy(out + AR_SESSION_KEY_LEN - AR_TENANT_MARK, home + AR_SESSION_KEY_LEN - AR_TENANT_MARK,
	       AR_TENANT_MARK);
}

bool ar_pool_is_name(struct ar_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_letter && !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
			return false;
	}
	return name.len > 0 && name.len <= 64 && !ar_str_starts(name, AR_STR("wk_"));
}

bool ar_tenant_is_home(struct ar_str tenant, struct ar_str session_key)
{
	char home[AR_SESSION_KEY_LEN];

	if (!ar_tenant_is_a_home(session_key))
		return false;
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
