/* The hash tree over the facts of a pack: from its facts if it has all of them, else from the list of their
 * hashes, of which those of its own facts must be right. */
#include "pack/check.h"
#include "pack/lines.h"

#include <string.h>

static bool parse_hex(struct ar_str text, struct ar_hash *ret)
{
	if (!ar_pack_is_digest(text))
		return false;
	for (size_t i = 0; i < AR_HASH_LEN; i++) {
		unsigned high = (unsigned)(text.p[2 * i] & 15) + (text.p[2 * i] > '9' ? 9 : 0);
		unsigned low = (unsigned)(text.p[2 * i + 1] & 15) + (text.p[2 * i + 1] > '9' ? 9 : 0);

		ret->b[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* The next fact of the pack and its place in the log; 0: there is none. */
static uint64_t next_fact(struct ar_pack_lines *events, struct ar_json_parser *json, struct ar_str *ret)
{
	struct ar_json v;
	int64_t sequence = 0;

	if (!ar_pack_lines_next(events, ret) || ar_json_parse(json, *ret, &v, NULL) != AR_OK ||
	    !ar_json_i64(ar_json_get(v, "sequence"), &sequence) || sequence < 1)
		return 0;
	return (uint64_t)sequence;
}

static void add(struct ar_merkle *m, const struct ar_hash *leaf, const struct ar_pack_watch *watch)
{
	ar_merkle_add(m, leaf);
	if (watch)
		watch->grown(watch->arg, m, leaf);
}

/* Each fact of the pack has the hash that stands at its place. */
static bool add_listed(struct ar_merkle *m, struct ar_pack_lines *leaves, struct ar_pack_lines *events,
		       uint64_t size, const struct ar_pack_watch *watch)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_str line, fact;
	uint64_t next = next_fact(events, json, &fact);
	bool ok = true;
	struct ar_hash leaf, own;

	while (ok && (size == 0 || m->size < size) && ar_pack_lines_next(leaves, &line)) {
		ok = parse_hex(line, &leaf);
		if (ok && m->size + 1 == next) {
			own = ar_merkle_leaf(m, fact);
			ok = memcmp(own.b, leaf.b, AR_HASH_LEN) == 0;
			next = next_fact(events, json, &fact);
		}
		if (ok)
			add(m, &leaf, watch);
	}
	ar_json_parser_free(json);
	return ok && (size > 0 || next == 0);
}

static bool add_facts(struct ar_merkle *m, struct ar_pack_lines *events, uint64_t size,
		      const struct ar_pack_watch *watch)
{
	struct ar_hash leaf;
	struct ar_str line;

	while ((size == 0 || m->size < size) && ar_pack_lines_next(events, &line)) {
		leaf = ar_merkle_leaf(m, line);
		add(m, &leaf, watch);
	}
	return true;
}

bool ar_pack_tree(int folder, uint64_t size, const struct ar_pack_watch *watch, char ret_root[AR_HASH_HEX],
		  uint64_t *ret_size)
{
	struct ar_pack_lines events, leaves;
	struct ar_merkle m = { 0 };
	struct ar_hash root;
	bool ok = ar_pack_lines_open(&events, folder, "events.ndjson");

	if (ar_pack_lines_open(&leaves, folder, "leaves.txt"))
		ok = ok && add_listed(&m, &leaves, &events, size, watch);
	else
		ok = ok && add_facts(&m, &events, size, watch);
	*ret_size = m.size;
	root = ar_merkle_root(&m);
	ar_hash_hex(&root, ret_root);
	ar_merkle_fini(&m);
	ar_pack_lines_close(&events);
	ar_pack_lines_close(&leaves);
	return ok && (size == 0 || *ret_size == size);
}
