/* See objects.h. */
#include "checkpoint/objects.h"

#include "checkpoint/entries.h"

bool ar_objects_open(struct ar_store *s, struct ar_object_reader *ret)
{
	static const char *const args[] = { "cat-file", "--batch", NULL };

	return ar_store_git_open(s, args, &ret->git);
}

void ar_objects_close(struct ar_object_reader *r)
{
	(void)ar_git_child_close(&r->git);
	ar_git_child_fini(&r->git);
}

bool ar_objects_read(struct ar_object_reader *r, struct ar_str id, struct ar_str *ret)
{
	struct ar_str line, size, rest;
	uint64_t len;

	if (!ar_git_child_write(&r->git, id) || !ar_git_child_write(&r->git, AR_STR("\n")) ||
	    !ar_git_child_flush(&r->git) || !ar_git_child_line(&r->git, &line))
		return false;
	rest = ar_str_sub(line, AR_STORE_ID, line.len);
	if (!ar_str_starts(line, id) || !ar_str_starts(rest, AR_STR(" blob ")))
		return false;
	size = ar_str_sub(rest, 6, rest.len);
	if (!ar_str_to_u64(size, &len) || len > (uint64_t)AR_TREE_ENTRY_BYTES_MAX ||
	    !ar_git_child_bytes(&r->git, (size_t)len + 1, ret))
		return false;
	ret->len--;
	return true;
}
