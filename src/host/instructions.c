/* See instructions.h. Who writes the workspace may be hostile (a cloned repository, a sandboxed
 * command), and this process can read what they cannot: so nothing but a regular file with one name,
 * reached from the workspace without a link, is read. The text passes the redactor; a file that is not
 * used is recorded as an omission with its reason. */
#include "instructions.h"
#include "beneath.h"
#include "mem.h"
#include "secrets.h"
#include "workspace/read_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 500

struct ar_instruction_file {
	uv_timer_t timer;
	struct ar_policy *policy;
	const struct ar_redactor *redactor;
	struct ar_arena arena; /* workspace and name */
	struct ar_arena text; /* what was read last */
	struct ar_str workspace, name;
	struct stat seen; /* the file as it was read last; all zero: there was none */
};

/* Of the file itself, never of what a link points to. */
static int open_beneath(const struct ar_instruction_file *f, int flags)
{
	int root = open(f->workspace.p, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, error;

	if (root < 0)
		return -1;
	fd = ar_beneath_open(root, f->name.p, flags, false);
	error = errno;
	close(root);
	errno = error;
	return fd;
}

static void reread_file(struct ar_instruction_file *f)
{
	struct ar_buf bytes = { 0 };
	int root = open(f->workspace.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *trouble = ar_read_text(root, f->name.p, &bytes);

	if (root >= 0)
		close(root);
	ar_arena_reset(&f->text);
	ar_buf_addc(&bytes, 0);
	f->policy->instructions = trouble ? AR_STR_NONE : ar_secrets_mask(f->redactor, bytes.p, &f->text);
	f->policy->instructions_trouble = trouble ? ar_str_from(trouble) : AR_STR_NONE;
	ar_buf_fini(&bytes);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
	       a->st_nlink == b->st_nlink && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool has_changed(struct ar_instruction_file *f)
{
	int fd = open_beneath(f, O_PATH | O_NOFOLLOW);
	struct stat before = f->seen;

	if (fd < 0 || fstat(fd, &f->seen) != 0)
		f->seen = (struct stat){ .st_ino = 0 };
	if (fd >= 0)
		close(fd);
	return !is_same(&before, &f->seen);
}

static void on_time(uv_timer_t *handle)
{
	struct ar_instruction_file *f = handle->data;

	if (has_changed(f))
		reread_file(f);
}

/* It is protected in the sandbox under this name too. */
static enum ar_status check_name(struct ar_str name, struct ar_error *err)
{
	struct ar_str rest = name, part;
	bool is_inside = !memchr(name.p, ':', name.len) && !memchr(name.p, '\n', name.len);

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, '/', &part);
		is_inside = is_inside && part.len > 0 && !ar_str_is(part, ".") && !ar_str_is(part, "..");
	}
	if (is_inside)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"context.instructions '%.100s' is not the name of a file inside the workspace; write it "
		"without a leading '/', '.', '..' or ':'",
		name.p);
}

enum ar_status ar_instruction_file_open(uv_loop_t *loop, const struct ar_config *c,
					const struct ar_redactor *redactor, struct ar_policy *policy,
					struct ar_instruction_file **ret, struct ar_error *err)
{
	struct ar_instruction_file *f;

	if (!*c->tools.workspace || !*c->context.instructions)
		return AR_OK;
	if (check_name(ar_str_from(c->context.instructions), err) != AR_OK)
		return err->status;
	f = ar_new0(sizeof(*f));
	f->policy = policy;
	f->redactor = redactor;
	f->workspace = ar_arena_str(&f->arena, ar_str_from(c->tools.workspace));
	f->name = ar_arena_str(&f->arena, ar_str_from(c->context.instructions));
	policy->instructions_file = f->name;
	has_changed(f); /* before it is read: a change while it is read is seen the next time */
	reread_file(f);
	uv_timer_init(loop, &f->timer);
	f->timer.data = f;
	uv_timer_start(&f->timer, on_time, LOOK_MS, LOOK_MS);
	*ret = f;
	return AR_OK;
}

void ar_instruction_file_close(struct ar_instruction_file *f)
{
	if (f)
		uv_close((uv_handle_t *)&f->timer, NULL);
}

void ar_instruction_file_free(struct ar_instruction_file *f)
{
	if (!f)
		return;
	ar_arena_fini(&f->arena);
	ar_arena_fini(&f->text);
	ar_free(f);
}
