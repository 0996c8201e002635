/* See index.h. Numbers are in the byte order of the machine: an index of another one is no index. */
#include "checkpoint/index.h"

#include <string.h>

static const char magic[8] = { 'A', 'R', 'I', 'N', 'D', 'E', 'X', '1' };

struct head {
	char magic[8];
	uint64_t order; /* of bytes */
	uint64_t count;
	struct ar_hash tree;
};

struct row {
	uint32_t mode, is_racy, path_len, unused;
	int64_t size, mtime, ctime;
	uint64_t inode;
	struct ar_hash object;
};

#define ORDER 0x0102030405060708u

static bool read_part(struct ar_str *from, void *to, size_t len)
{
	if (from->len < len)
		return false;
	memcpy(to, from->p, len);
	*from = ar_str_sub(*from, len, from->len);
	return true;
}

static bool is_mode(uint32_t mode)
{
	return mode == AR_TREE_ENTRY_FILE || mode == AR_TREE_ENTRY_PROGRAM || mode == AR_TREE_ENTRY_LINK;
}

static bool read_row(struct ar_str *from, struct ar_tree_entry *ret)
{
	struct row r;

	if (!read_part(from, &r, sizeof(r)) || r.path_len > from->len)
		return false;
	*ret = (struct ar_tree_entry){ .path = ar_str_sub(*from, 0, r.path_len),
				       .mode = r.mode,
				       .is_racy = r.is_racy != 0,
				       .size = r.size,
				       .mtime = r.mtime,
				       .ctime = r.ctime,
				       .inode = r.inode,
				       .object = r.object };
	*from = ar_str_sub(*from, r.path_len, from->len);
	return is_mode(r.mode) && r.size >= 0 && r.size <= AR_TREE_ENTRY_BYTES_MAX &&
	       ar_tree_entry_is_path(ret->path);
}

static bool is_whole(struct ar_str *bytes)
{
	struct ar_hash sum;

	if (bytes->len < sizeof(sum))
		return false;
	bytes->len -= sizeof(sum);
	sum = ar_hash_of(*bytes);
	return memcmp(bytes->p + bytes->len, &sum, sizeof(sum)) == 0;
}

static bool read_rows(struct ar_str from, uint64_t count, struct ar_tree_entries *ret)
{
	struct ar_tree_entry e;

	for (uint64_t i = 0; i < count; i++) {
		if (!read_row(&from, &e) ||
		    (i > 0 && ar_tree_entry_compare(ret->at[ret->count - 1].path, e.path) >= 0))
			return false;
		ar_tree_entries_add(ret, &e);
	}
	return from.len == 0;
}

bool ar_index_parse(struct ar_str bytes, struct ar_tree_entries *ret, struct ar_hash *ret_tree)
{
	struct head h;

	if (!is_whole(&bytes) || !read_part(&bytes, &h, sizeof(h)) ||
	    memcmp(h.magic, magic, sizeof(magic)) != 0 || h.order != ORDER || h.count > AR_TREE_ENTRIES_MAX)
		return false;
	if (!read_rows(bytes, h.count, ret)) {
		ar_tree_entries_fini(ret);
		return false;
	}
	*ret_tree = h.tree;
	return true;
}

void ar_index_print(const struct ar_tree_entries *l, const struct ar_hash *tree, struct ar_buf *out)
{
	struct head h = { .order = ORDER, .count = l->count, .tree = *tree };
	struct ar_hash sum;

	memcpy(h.magic, magic, sizeof(magic));
	ar_buf_add(out, &h, sizeof(h));
	for (size_t i = 0; i < l->count; i++) {
		const struct ar_tree_entry *e = &l->at[i];
		struct row r = { .mode = e->mode,
				 .is_racy = e->is_racy,
				 .path_len = (uint32_t)e->path.len,
				 .size = e->size,
				 .mtime = e->mtime,
				 .ctime = e->ctime,
				 .inode = e->inode,
				 .object = e->object };

		ar_buf_add(out, &r, sizeof(r));
		ar_buf_adds(out, e->path);
	}
	sum = ar_hash_of(ar_buf_str(out));
	ar_buf_add(out, &sum, sizeof(sum));
}
