/* Signed notes (C2SP signed-note, Ed25519): a text of lines, an empty line, and a line with the name of the
 * key and its signature over the text:
 *
 *   text\n
 *   \n
 *   <em dash> <name> <base64 of 4 bytes of the key's hash and 64 bytes of signature>\n */
#ifndef AR_BASE_CRYPTO_NOTE_H
#define AR_BASE_CRYPTO_NOTE_H

#include "crypto/sign.h"

/* `text` ends with a line end and has no empty line; `name` has no blank and no plus sign. */
struct ar_str ar_note_sign(struct ar_arena *a, const struct ar_sign_key *k, struct ar_str name,
			   struct ar_str text);

/* The text of a note with exactly one signature, which is valid and by this key under the name that is the
 * first line of the text. False: it is none. */
bool ar_note_open(struct ar_arena *a, const uint8_t public[AR_SIGN_PUBLIC], struct ar_str note,
		  struct ar_str *ret_text);

#endif
