/* See instructions.h. The text passes the redactor like all that comes from outside; a file that cannot be used is said to the model's
 * readers as an omission, never cut silently. */
#include "instructions.h"
#include "buf.h"
#include "mem.h"
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 65536
#define LOOK_MS 500

struct ar_instruction_file {
	uv_fs_poll_t poll;
	struct ar_policy *policy;
	const struct ar_redactor *redactor;
	struct ar_arena arena; /* path and name */
	struct ar_arena text; /* what was read last */
	struct ar_str path;
};

static const char *why_not(int error)
{
	return error == ENOENT || error == ENOTDIR ? "not_found: the workspace has no such file"
						   : "unreadable: the file cannot be read";
}

/* NULL when `out` has the whole text. */
static const char *read_all(int fd, struct ar_buf *out)
{
	char piece[8192];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return "unreadable: it is not a file";
	if (st.st_size > FILE_MAX)
		return "too_large: 64 KiB is allowed";
	while ((n = read(fd, piece, sizeof(piece))) > 0 && out->len <= FILE_MAX)
		ar_buf_add(out, piece, (size_t)n);
	if (n < 0)
		return why_not(errno);
	if (out->len > FILE_MAX)
		return "too_large: 64 KiB is allowed";
	if (!ar_str_is_utf8(ar_buf_str(out)) || (out->len > 0 && memchr(out->p, 0, out->len)))
		return "unreadable: it is not text in UTF-8";
	return NULL;
}

static void look(struct ar_instruction_file *f)
{
	struct ar_buf bytes = { 0 };
	int fd = open(f->path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *trouble = fd < 0 ? why_not(errno) : read_all(fd, &bytes);

	if (fd >= 0)
		close(fd);
	ar_arena_reset(&f->text);
	ar_buf_addc(&bytes, 0);
	f->policy->instructions = trouble ? AR_STR_NONE : ar_secrets_mask(f->redactor, bytes.p, &f->text);
	f->policy->instructions_trouble = trouble ? ar_str_from(trouble) : AR_STR_NONE;
	ar_buf_fini(&bytes);
}

static void on_change(uv_fs_poll_t *handle, int status, const uv_stat_t *before, const uv_stat_t *now)
{
	(void)status;
	(void)before;
	(void)now;
	look(handle->data);
}

struct ar_instruction_file *ar_instruction_file_open(uv_loop_t *loop, const struct ar_config *c,
						     const struct ar_redactor *redactor,
						     struct ar_policy *policy)
{
	struct ar_instruction_file *f;

	if (!*c->tools.workspace || !*c->context.instructions)
		return NULL;
	f = ar_new0(sizeof(*f));
	f->policy = policy;
	f->redactor = redactor;
	f->path = ar_arena_fmt(&f->arena, "%s/%s", c->tools.workspace, c->context.instructions);
	policy->instructions_file = ar_arena_str(&f->arena, ar_str_from(c->context.instructions));
	look(f);
	uv_fs_poll_init(loop, &f->poll);
	f->poll.data = f;
	uv_fs_poll_start(&f->poll, on_change, f->path.p, LOOK_MS);
	return f;
}

void ar_instruction_file_close(struct ar_instruction_file *f)
{
	if (f)
		uv_close((uv_handle_t *)&f->poll, NULL);
}

void ar_instruction_file_free(struct ar_instruction_file *f)
{
	if (!f)
		return;
	ar_arena_fini(&f->arena);
	ar_arena_fini(&f->text);
	ar_free(f);
}
