/* See tree.h. */
#include "isolation/tree.h"

#include <string.h>

bool ar_tree_take(struct ar_import *m, const struct ar_difference *d, enum ar_tree_side side)
{
	uint32_t mode = side == AR_TREE_OLD ? d->was : d->is;

	if (!mode)
		return ar_import_delete(m, d->path);
	return ar_import_set(m, d->path, mode, side == AR_TREE_OLD ? d->old_object : d->object);
}

/* What is deleted goes first: a file may stand where a folder has to be. */
static bool take_all(struct ar_import *m, const struct ar_tree_change *c)
{
	const struct ar_differences *d = c->differences;

	for (int sets = 0; sets < 2; sets++) {
		for (size_t i = 0; i < d->count; i++) {
			bool is_set = (c->side == AR_TREE_OLD ? d->at[i].was : d->at[i].is) != 0;

			if (is_set == (sets == 1) && (!c->is_wanted || c->is_wanted[i]) &&
			    !ar_tree_take(m, &d->at[i], c->side))
				return false;
		}
	}
	return true;
}

bool ar_tree_with(struct ar_store *s, const struct ar_hash *base, const struct ar_tree_change *c, bool keeps,
		  struct ar_hash *ret)
{
	struct ar_import m;

	if (!ar_import_open(&m, s, base))
		return false;
	(void)take_all(&m, c); /* one that has ended is noticed at the close */
	return ar_import_close(&m, keeps, ret);
}

static int compare_paths(struct ar_str a, struct ar_str b)
{
	int order = memcmp(a.p, b.p, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* git lists them in the order of their bytes. */
const struct ar_difference *ar_tree_difference(const struct ar_differences *d, struct ar_str path)
{
	size_t low = 0, high = d->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_paths(d->at[middle].path, path);

		if (order == 0)
			return &d->at[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
