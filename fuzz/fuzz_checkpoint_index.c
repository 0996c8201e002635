/* Fuzz target: an index of checkpoints that is read can be written, and what is written is read as the same.
 * The sum at its end is made here, so that it is not the sum alone that refuses. */
#include "checkpoint/index.h"

#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void add_sum(struct ar_buf *b)
{
	struct ar_hash sum = ar_hash_of(ar_buf_str(b));

	ar_buf_add(b, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_buf given = { 0 }, once = { 0 }, again = { 0 };
	struct ar_tree_entries first = { 0 }, second = { 0 };
	struct ar_hash tree;

	ar_buf_add(&given, bytes, len);
	add_sum(&given);
	if (ar_index_parse(ar_buf_str(&given), &first, &tree)) {
		ar_index_print(&first, &tree, &once);
		AR_ASSERT(ar_index_parse(ar_buf_str(&once), &second, &tree));
		ar_index_print(&second, &tree, &again);
		AR_ASSERT(ar_str_eq(ar_buf_str(&once), ar_buf_str(&again)));
		for (size_t i = 0; i < first.count; i++)
			AR_ASSERT(ar_tree_entries_find(&first, first.at[i].path) == &first.at[i]);
	}
	ar_tree_entries_fini(&first);
	ar_tree_entries_fini(&second);
	ar_buf_fini(&given);
	ar_buf_fini(&once);
	ar_buf_fini(&again);
	return 0;
}
