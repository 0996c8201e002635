/* See merge_text.h. git merge-file works on files: three of the store's own, under its lock. */
#include "isolation/merge_text.h"

#include "checkpoint/entries.h"
#include "io/descriptor.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = { "merge.session", "merge.base", "merge.workspace" };

static bool write_version(struct ar_store *s, struct ar_objects *objects, struct ar_str object,
			  const char *name)
{
	struct ar_str content;
	int code = ar_objects_read(objects, object, &content);
	AR_AUTO(ar_workspace_closep)
	int fd = openat(s->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (code == 0 && (fd < 0 || !ar_fd_write_all(fd, content)))
		code = errno;
	if (code == 0)
		return true;
	ar_files_fail(s->work, code == ENOSPC || code == EDQUOT ? "no_space" : "store", "Try again.",
		      "A version of a file cannot be read for a merge: %s.", strerror(code));
	return false;
}

/* Its status is the number of conflicts, or an error, such as that of a file that is no text: in both cases
 * it is a question for a person. */
static enum ar_merge_outcome run_merge(struct ar_store *s, struct ar_buf *ret)
{
	const char *const args[] = { "merge-file", "-p", "-q", names[0], names[1], names[2], NULL };
	struct ar_git_child c;
	bool is_ok, is_late;

	if (!ar_store_git_open(s, args, &c))
		return AR_MERGE_FAILED;
	ar_git_child_drain(&c, ret);
	is_ok = ar_git_child_close(&c);
	is_late = c.is_late;
	ar_git_child_fini(&c);
	if (is_late) {
		ar_files_fail(s->work, "timeout", "Try again.", "git took too long to merge a file.");
		return AR_MERGE_FAILED;
	}
	return is_ok && !ret->failed ? AR_MERGE_CLEAN : AR_MERGE_CONFLICT;
}

enum ar_merge_outcome ar_merge_text(struct ar_store *s, struct ar_objects *objects,
				    const struct ar_merge_texts *t, struct ar_buf *ret)
{
	enum ar_merge_outcome outcome = AR_MERGE_FAILED;

	ar_buf_clear(ret);
	ret->cap = (size_t)AR_TREE_ENTRY_BYTES_MAX;
	if (write_version(s, objects, t->session, names[0]) && write_version(s, objects, t->base, names[1]) &&
	    write_version(s, objects, t->workspace, names[2]))
		outcome = run_merge(s, ret);
	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++)
		(void)unlinkat(s->fd, names[i], 0);
	return outcome;
}
