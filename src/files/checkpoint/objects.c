/* See objects.h. */
#include "checkpoint/objects.h"

#include "checkpoint/entries.h"

#include <errno.h>

bool ar_objects_open(struct ar_objects *o, struct ar_store *s)
{
	static const char *const args[] = { "cat-file", "--batch", NULL };

	return ar_store_git_open(s, args, &o->git);
}

static bool read_one(struct ar_objects *o, struct ar_str object, struct ar_str *ret)
{
	struct ar_str line, size, rest;
	uint64_t len;

	if (!ar_git_child_write(&o->git, object) || !ar_git_child_write(&o->git, AR_STR("\n")) ||
	    !ar_git_child_flush(&o->git) || !ar_git_child_line(&o->git, &line))
		return false;
	rest = ar_str_sub(line, AR_STORE_ID, line.len);
	if (!ar_str_starts(line, object) || !ar_str_starts(rest, AR_STR(" blob ")))
		return false;
	size = ar_str_sub(rest, 6, rest.len);
	if (!ar_str_to_u64(size, &len) || len > (uint64_t)AR_TREE_ENTRY_BYTES_MAX ||
	    !ar_git_child_bytes(&o->git, (size_t)len + 1, ret))
		return false;
	ret->len--;
	return true;
}

int ar_objects_read(struct ar_objects *o, struct ar_str object, struct ar_str *ret)
{
	if (read_one(o, object, ret))
		return 0;
	return o->git.is_late ? ETIME : EIO;
}

void ar_objects_close(struct ar_objects *o)
{
	(void)ar_git_child_close(&o->git);
	ar_git_child_fini(&o->git);
}
