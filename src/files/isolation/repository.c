/* A repository of the session's own: the objects of the origin's HEAD, packed there, a branch there, and
 * nothing else of the origin's repository, no configuration, hook, filter or remote. Objects are copied, not
 * borrowed: a repository that borrows breaks when the origin's is packed, and the session would have to see
 * it. The files are there already; the index is that of HEAD, so what was not committed is not staged. */
#include "isolation/fill.h"

#include "beneath.h"
#include "io/descriptor.h"
#include "shown.h"
#include "workspace.h"
#include "write/lines.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SHALLOW_MAX 65536

struct making {
	struct ar_store *store;
	const struct ar_fill *how;
	const char *origin, *target; /* "--git-dir=..." */
};

static void fail_with(struct making *m, const struct ar_git_child *c)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_str line;

	ar_str_split(ar_buf_str(&c->said), '\n', &line);
	ar_shown_add_text(&text, line);
	if (c->is_late)
		ar_files_fail(m->store->work, "timeout", "Try again.",
			      "git took too long to copy the repository.");
	else
		ar_files_fail(m->store->work, "not_a_repository",
			      "Use another isolation, or make the workspace a git repository.",
			      "The repository of the workspace cannot be copied: %.*s",
			      AR_STR_ARG(ar_buf_str(&text)));
}

static bool run_git(struct making *m, const char *const *args, struct ar_buf *ret)
{
	struct ar_git_child c;
	bool is_ok;

	if (!ar_git_child_open(m->store->work, m->how->target_path, args, &c))
		return false;
	ar_git_child_drain(&c, ret);
	is_ok = ar_git_child_close(&c);
	if (!is_ok)
		fail_with(m, &c);
	ar_git_child_fini(&c);
	return is_ok;
}

/* One line of git's answer in the arena; NULL with the failure in the work. */
static const char *ask_origin(struct making *m, const char *const *args)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { .cap = 1024 };

	if (!run_git(m, args, &out))
		return NULL;
	return ar_arena_str(&m->store->work->arena, ar_line_trimmed(ar_buf_str(&out))).p;
}

static bool init_target(struct making *m)
{
	const char *const ask[] = { m->origin, "rev-parse", "--show-object-format", NULL };
	const char *format = ask_origin(m, ask);
	const char *args[] = { "init", "--quiet", "--template=", NULL, NULL, m->how->target_path, NULL };

	if (!format)
		return false;
	args[3] = strcmp(format, "sha256") == 0 ? "--object-format=sha256" : "--object-format=sha1";
	args[4] = ar_arena_fmt(&m->store->work->arena, "--initial-branch=%s", m->how->branch).p;
	return run_git(m, args, NULL);
}

static bool is_hex_lines(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!memchr("0123456789abcdef\n", text.p[i], 17))
			return false;
	}
	return text.len > 0;
}

/* Where the history of the origin ends, that of the copy must, too. Without it git in the copy says what is
 * missing. */
static void copy_shallow(struct making *m)
{
	char text[SHALLOW_MAX];
	AR_AUTO(ar_workspace_closep)
	int from = ar_beneath_open(m->how->origin, ".git/shallow", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, false);
	ssize_t n = from < 0 ? 0 : read(from, text, sizeof(text));
	AR_AUTO(ar_workspace_closep)
	int git = n <= 0 ? -1 : ar_beneath_open(m->how->target, ".git", O_RDONLY | O_DIRECTORY, false);
	AR_AUTO(ar_workspace_closep)
	int to = git < 0 ? -1
			 : openat(git, "shallow", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (to >= 0 && is_hex_lines((struct ar_str){ text, (size_t)n }))
		(void)!ar_fd_write_all(to, (struct ar_str){ text, (size_t)n });
}

/* ---- history ---- */

/* The objects of the origin, for as long as the copy packs its own. */
static bool borrow_objects(struct making *m)
{
	const char *const ask[] = { m->origin,	  "rev-parse", "--path-format=absolute",
				    "--git-path", "objects",   NULL };
	const char *path = ask_origin(m, ask);
	AR_AUTO(ar_workspace_closep)
	int info = ar_beneath_open(m->how->target, ".git/objects/info", O_RDONLY | O_DIRECTORY, false);
	AR_AUTO(ar_workspace_closep)
	int fd = info < 0 ? -1
			  : openat(info, "alternates", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   0600);

	if (!path)
		return false;
	if (fd >= 0 && path[0] == '/' && !strchr(path, '\n') &&
	    ar_fd_write_all(fd, ar_arena_fmt(&m->store->work->arena, "%s\n", path)))
		return true;
	ar_files_fail(m->store->work, "io", "Use another isolation.",
		      "The objects of the repository cannot be copied.");
	return false;
}

static bool return_objects(struct making *m)
{
	AR_AUTO(ar_workspace_closep)
	int info = ar_beneath_open(m->how->target, ".git/objects/info", O_RDONLY | O_DIRECTORY, false);

	return info >= 0 && unlinkat(info, "alternates", 0) == 0;
}

static bool copy_history(struct making *m, const char *commit)
{
	const char *ref = ar_arena_fmt(&m->store->work->arena, "refs/heads/%s", m->how->branch).p;
	const char *const update[] = { m->target, "update-ref", ref, commit, NULL };
	const char *const repack[] = { m->target, "repack", "-a", "-d", "-q", NULL };
	const char *const index[] = { m->target, "read-tree", commit, NULL };

	copy_shallow(m);
	return borrow_objects(m) && run_git(m, update, NULL) && run_git(m, repack, NULL) &&
	       return_objects(m) && run_git(m, index, NULL);
}

bool ar_fill_repository(struct ar_store *s, const struct ar_fill *f)
{
	struct ar_arena *a = &s->work->arena;
	struct making m = { .store = s, .how = f };
	const char *head;

	m.origin = ar_arena_fmt(a, "--git-dir=%s/.git", f->origin_path).p;
	m.target = ar_arena_fmt(a, "--git-dir=%s/.git", f->target_path).p;
	const char *const unborn[] = { m.origin, "rev-list", "-n1", "--all", NULL };
	const char *const ask[] = { m.origin, "rev-parse", "--verify", "HEAD^{commit}", NULL };

	if (!init_target(&m))
		return false;
	head = ask_origin(&m, unborn);
	if (!head || *head == '\0')
		return head != NULL; /* it has no commit yet, and neither has the copy */
	head = ask_origin(&m, ask);
	return head && copy_history(&m, head);
}
