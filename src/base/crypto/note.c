/* See note.h. */
#include "crypto/note.h"
#include "base64.h"
#include "buf.h"

#include <string.h>

#define KEY_HASH 4
#define ALGORITHM "\x01" /* Ed25519 */
#define DASH "\xe2\x80\x94 "

static void key_hash(struct ar_str name, const uint8_t public[AR_SIGN_PUBLIC], uint8_t out[KEY_HASH])
{
	struct ar_buf text = { 0 };
	struct ar_hash hash;

	ar_buf_adds(&text, name);
	ar_buf_adds(&text, AR_STR("\n" ALGORITHM));
	ar_buf_add(&text, (const char *)public, AR_SIGN_PUBLIC);
	hash = ar_hash_of(ar_buf_str(&text));
	memcpy(out, hash.b, KEY_HASH);
	ar_buf_fini(&text);
}

struct ar_str ar_note_sign(struct ar_arena *a, const struct ar_sign_key *k, struct ar_str name,
			   struct ar_str text)
{
	uint8_t bytes[KEY_HASH + AR_SIGNATURE];

	key_hash(name, k->public, bytes);
	ar_sign(k, text, bytes + KEY_HASH);
	return ar_arena_fmt(a, "%.*s\n" DASH "%.*s %.*s\n", AR_STR_ARG(text), AR_STR_ARG(name),
			    AR_STR_ARG(ar_base64(a, (struct ar_str){ (char *)bytes, sizeof(bytes) })));
}

bool ar_note_open(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC], struct ar_str note,
		  struct ar_str *ret_text)
{
	const char *gap = note.len ? memmem(note.p, note.len, "\n\n", 2) : NULL;
	struct ar_str text, name, rest, bytes;
	uint8_t wanted[KEY_HASH];

	if (!gap)
		return false;
	text = (struct ar_str){ note.p, (size_t)(gap - note.p) + 1 };
	ar_str_split(text, '\n', &name);
	rest = ar_str_sub(note, text.len + 1, note.len);
	if (!ar_str_starts(rest, AR_STR(DASH)))
		return false;
	rest = ar_str_sub(rest, sizeof(DASH) - 1, rest.len);
	if (!ar_str_starts(rest, name))
		return false;
	rest = ar_str_sub(rest, name.len, rest.len);
	if (rest.len < 2 || rest.p[0] != ' ' || rest.p[rest.len - 1] != '\n' ||
	    !ar_base64_decode(a, ar_str_sub(rest, 1, rest.len - 2), &bytes) ||
	    bytes.len != KEY_HASH + AR_SIGNATURE)
		return false;
	key_hash(name, public, wanted);
	if (memcmp(bytes.p, wanted, KEY_HASH) != 0 ||
	    !ar_sign_is_valid(public, text, (const uint8_t *)bytes.p + KEY_HASH))
		return false;
	*ret_text = text;
	return true;
}
