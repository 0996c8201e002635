/* Minting and taking apart of ids. The mint is one per process, behind a mutex: a UUIDv7 whose random part
 * grows by a random step within a millisecond (RFC 9562, monotonic random), so ids rise in the order of
 * minting over all threads and also when the wall clock steps back. Any thread may call anything here. */
#include "id.h"
#include "base32.h"
#include "clock.h"
#include "hash.h"
#include "status.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define UUID_BYTES ((size_t)16)
#define TAIL_BITS 62 /* random bits behind the variant */
#define MID_BITS 12 /* random bits behind the version */

/* getrandom() gives up to 256 bytes in one uninterrupted piece. */
struct mint {
	pthread_mutex_t lock;
	uint8_t pool[256];
	size_t left; /* unused bytes at the end of the pool */
	uint64_t head; /* milliseconds and the MID_BITS below them */
	uint64_t tail;
};

static struct mint the_mint = { .lock = PTHREAD_MUTEX_INITIALIZER };
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

/* A child must not mint what its parent will: it starts with an empty pool and no past. */
static void forget_in_child(void)
{
	the_mint = (struct mint){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

static void watch_forks(void)
{
	AR_ASSERT(pthread_atfork(NULL, NULL, forget_in_child) == 0);
}

static uint64_t draw_random(struct mint *m, size_t bytes)
{
	uint64_t v = 0;

	if (m->left < bytes) {
		AR_ASSERT(getrandom(m->pool, sizeof m->pool, 0) == (ssize_t)sizeof m->pool);
		m->left = sizeof m->pool;
	}
	memcpy(&v, m->pool + sizeof m->pool - m->left, bytes);
	m->left -= bytes;
	return v;
}

static void advance(struct mint *m, uint64_t now_ms)
{
	if (now_ms > m->head >> MID_BITS) {
		m->head = now_ms << MID_BITS | draw_random(m, 2) >> (16 - MID_BITS);
		m->tail = draw_random(m, 8) >> (64 - TAIL_BITS);
		return;
	}
	m->tail += draw_random(m, 4) + 1;
	m->head += m->tail >> TAIL_BITS; /* overflow runs into the milliseconds: still rising */
	m->tail &= (UINT64_C(1) << TAIL_BITS) - 1;
}

static void put_be(uint8_t *out, uint64_t v, size_t bytes)
{
	for (size_t i = bytes; i > 0; v >>= 8)
		out[--i] = (uint8_t)v;
}

void ar_id_mint(char out[AR_SESSION_KEY_LEN])
{
	struct ar_clock *clock = ar_clock_system();
	struct mint *m = &the_mint;
	uint8_t uuid[16];

	pthread_once(&fork_watch, watch_forks);
	pthread_mutex_lock(&m->lock);
	advance(m, (uint64_t)(clock->wall(clock) / 1000));
	put_be(uuid, m->head >> MID_BITS, 6);
	put_be(uuid + 6, 0x7000 | (m->head & 0xFFF), 2);
	put_be(uuid + 8, UINT64_C(2) << TAIL_BITS | m->tail, 8);
	pthread_mutex_unlock(&m->lock);
	ar_id_encode(uuid, out);
}

void ar_id_encode(const uint8_t uuid[16], char out[AR_SESSION_KEY_LEN])
{
	_Static_assert(AR_BASE32_LEN(16) == AR_SESSION_KEY_LEN, "an id core is one UUID");
	ar_base32_encode(uuid, 16, out);
}

struct ar_str ar_id_root(struct ar_arena *a, const char *prefix, struct ar_str session_key)
{
	const struct ar_str parts[] = { ar_str_from(prefix), AR_STR("_"), session_key };

	return ar_arena_join(a, parts, AR_ARRAY_LEN(parts));
}

struct ar_str ar_id_inner(struct ar_arena *a, const char *prefix, struct ar_str session_key, uint64_t n)
{
	char digits[20], *at = digits + sizeof digits;
	struct ar_str parts[] = { ar_str_from(prefix), AR_STR("_"), session_key, AR_STR("_"), AR_STR_NONE };

	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	parts[4] = (struct ar_str){ at, (size_t)(digits + sizeof digits - at) };
	return ar_arena_join(a, parts, AR_ARRAY_LEN(parts));
}

static bool is_prefix(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < 'a' || s.p[i] > 'z')
			return false;
	}
	return s.len > 0;
}

/* The counter has one spelling, so 07 is not an id of ours. */
static bool read_counter(struct ar_str text, uint64_t *ret)
{
	if (text.len > 1 && text.p[0] == '0')
		return false;
	return ar_str_to_u64(text, ret);
}

/* The session key, or absent; *ret_n is set when *ret_counted. */
static struct ar_str split_id(struct ar_str id, bool *ret_counted, uint64_t *ret_n)
{
	struct ar_str prefix, session_key, counter;

	counter = ar_str_split(ar_str_split(id, '_', &prefix), '_', &session_key);
	*ret_counted = !ar_str_absent(counter);
	if (!is_prefix(prefix) || !ar_base32_fits(session_key, UUID_BYTES))
		return AR_STR_NONE;
	if (*ret_counted && !read_counter(counter, ret_n))
		return AR_STR_NONE;
	return session_key;
}

struct ar_str ar_id_owner(struct ar_str id)
{
	struct ar_str prefix, session_key;

	if (!ar_id_acceptable(id) ||
	    ar_str_empty(ar_str_split(ar_str_split(id, '_', &prefix), '_', &session_key)))
		return ar_id_session_key(id);
	return is_prefix(prefix) && ar_base32_fits(session_key, UUID_BYTES) ? session_key : AR_STR_NONE;
}

struct ar_str ar_id_session_key(struct ar_str id)
{
	bool counted;
	uint64_t n;

	return split_id(id, &counted, &n);
}

bool ar_id_counter(struct ar_str id, uint64_t *ret)
{
	bool counted;
	uint64_t n = 0;

	if (ar_str_absent(split_id(id, &counted, &n)) || !counted)
		return false;
	*ret = n;
	return true;
}

/* Letters, digits and ._:- as one bit each, 64 characters a word. */
static bool is_id_byte(char c)
{
	static const uint64_t set[4] = { 0x07FF600000000000u, 0x07FFFFFE87FFFFFEu };
	unsigned char u = (unsigned char)c;

	return set[u >> 6] >> (u & 63) & 1;
}

unsigned ar_id_partition(struct ar_str session_key)
{
	uint8_t uuid[16];
	struct ar_hash h;

	AR_ASSERT(ar_base32_decode(session_key, uuid, sizeof uuid));
	h = ar_hash_of((struct ar_str){ (const char *)uuid, sizeof uuid });
	return (unsigned)(h.b[0] << 8 | h.b[1]) >> 6;
}

bool ar_id_acceptable(struct ar_str id)
{
	if (id.len == 0 || id.len > AR_ID_MAX)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		if (!is_id_byte(id.p[i]))
			return false;
	}
	return true;
}
