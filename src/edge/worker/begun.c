/* See begun.h. */
#include "begun.h"

#include "arena.h"
#include "buf.h"
#include "io/descriptor.h"
#include "map.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEWER "begun"
#define OLDER "begun.old"
#define FILE_BYTES ((off_t)16 << 20) /* no file of ours is larger */

struct refs {
	struct ar_map map;
	struct ar_arena arena;
};

/* owner: loop thread */
struct ar_begun {
	uv_loop_t *loop;
	int dir, file;
	struct refs newer, older;
	struct ar_list waiting, syncing; /* struct ar_begun_wait */
	uv_work_t work;
	bool is_syncing, is_closing;
	bool needs_dir; /* the file is new: its name has to be synced, too */
	bool is_synced; /* what the thread found */
	int sync_file, sync_dir; /* of the thread */
};

static void refs_add(struct refs *r, struct ar_str ref)
{
	struct ar_str copy = ar_arena_str(&r->arena, ref);

	ar_map_put(&r->map, copy, (void *)(uintptr_t)copy.p);
}

static void refs_fini(struct refs *r)
{
	ar_map_fini(&r->map);
	ar_arena_fini(&r->arena);
	*r = (struct refs){ 0 };
}

/* ---- opening ---- */

static bool read_file(int fd, struct ar_buf *ret)
{
	struct stat st;
	ssize_t n;
	char *room;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES)
		return false;
	while ((room = ar_buf_room(ret, 65536)) && (n = read(fd, room, 65536)) != 0) {
		if (n < 0 && errno != EINTR)
			return false;
		ret->len += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* A line that is not whole was being written when the machine stopped: its call had not begun, and it is no
 * id of any other. */
static bool load_file(struct ar_begun *b, const char *name, struct refs *ret, bool *ret_is_cut)
{
	AR_AUTO(ar_fd_close) int fd = openat(b->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_str rest, line;

	*ret_is_cut = false;
	if (fd < 0)
		return errno == ENOENT;
	if (!read_file(fd, &text))
		return false;
	rest = ar_buf_str(&text);
	*ret_is_cut = rest.len > 0 && rest.p[rest.len - 1] != '\n';
	while (rest.len > 0) {
		rest = ar_str_split(rest, '\n', &line);
		if (line.len > 0 && !ar_str_absent(rest))
			refs_add(ret, line);
	}
	return true;
}

static bool open_file(struct ar_begun *b, bool is_cut)
{
	b->file = openat(b->dir, NEWER, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	b->needs_dir = true;
	return b->file >= 0 && (!is_cut || ar_fd_write_all(b->file, AR_STR("\n")));
}

static void begun_free(struct ar_begun *b)
{
	refs_fini(&b->newer);
	refs_fini(&b->older);
	ar_fd_close(&b->file);
	ar_fd_close(&b->dir);
	ar_free(b);
}

static enum ar_status open_all(struct ar_begun *b, const char *dir, struct ar_error *err)
{
	bool is_cut, is_older_cut;

	b->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dir < 0)
		return ar_fail(err, AR_E_IO, "folder '%s' cannot be opened: %s", dir, strerror(errno));
	if (flock(b->dir, LOCK_EX | LOCK_NB) != 0)
		return ar_fail(err, AR_E_EXISTS, "folder '%s' is in use by another worker; give each its own",
			       dir);
	if (!load_file(b, OLDER, &b->older, &is_older_cut) || !load_file(b, NEWER, &b->newer, &is_cut))
		return ar_fail(err, AR_E_CORRUPT,
			       "'%s/" NEWER "' cannot be read; enrol this worker again in a new folder", dir);
	if (!open_file(b, is_cut))
		return ar_fail(err, AR_E_IO, "'%s/" NEWER "' cannot be written: %s", dir, strerror(errno));
	return AR_OK;
}

struct ar_begun *ar_begun_open(uv_loop_t *loop, struct ar_str dir, struct ar_error *err)
{
	struct ar_begun *b = ar_new0(sizeof(*b));
	char *path = ar_str_dup(dir);
	enum ar_status status;

	b->loop = loop;
	b->dir = b->file = b->sync_file = b->sync_dir = -1;
	ar_list_init(&b->waiting);
	ar_list_init(&b->syncing);
	status = open_all(b, path, err);
	ar_free(path);
	if (status == AR_OK)
		return b;
	begun_free(b);
	return NULL;
}

/* ---- asking and adding ---- */

bool ar_begun_has(const struct ar_begun *b, struct ar_str ref)
{
	return ar_map_get(&b->newer.map, ref) || ar_map_get(&b->older.map, ref);
}

size_t ar_begun_count(const struct ar_begun *b)
{
	return b->newer.map.count + b->older.map.count;
}

static bool turn_over(struct ar_begun *b)
{
	if (fdatasync(b->file) != 0 || renameat(b->dir, NEWER, b->dir, OLDER) != 0)
		return false;
	ar_fd_close(&b->file);
	refs_fini(&b->older);
	b->older = b->newer;
	b->newer = (struct refs){ 0 };
	return open_file(b, false);
}

/* A line that was written in part must not become the beginning of the next one. */
static bool write_line(struct ar_begun *b, struct ar_str ref)
{
	AR_AUTO(ar_buf_fini) struct ar_buf line = { 0 };
	off_t end = lseek(b->file, 0, SEEK_END);

	ar_buf_adds(&line, ref);
	ar_buf_addc(&line, '\n');
	if (end >= 0 && ar_fd_write_all(b->file, ar_buf_str(&line)))
		return true;
	if (end < 0 || ftruncate(b->file, end) != 0)
		ar_fd_close(&b->file); /* and nothing begins any more */
	return false;
}

enum ar_status ar_begun_add(struct ar_begun *b, struct ar_str ref)
{
	if (b->file < 0 || (b->newer.map.count >= AR_BEGUN_LINES && !turn_over(b)))
		return AR_E_IO;
	if (!write_line(b, ref))
		return AR_E_IO;
	refs_add(&b->newer, ref);
	return AR_OK;
}

/* ---- syncing ---- */

static void start_sync(struct ar_begun *b);

static void answer_all(struct ar_list *list, bool is_durable)
{
	struct ar_list *node;

	while ((node = ar_list_pop(list))) {
		struct ar_begun_wait *w = AR_CONTAINER_OF(node, struct ar_begun_wait, node);

		w->done(w, is_durable);
	}
}

static void sync_files(uv_work_t *work)
{
	struct ar_begun *b = AR_CONTAINER_OF(work, struct ar_begun, work);

	b->is_synced = b->sync_file >= 0 && fdatasync(b->sync_file) == 0 &&
		       (b->sync_dir < 0 || fsync(b->sync_dir) == 0);
}

static void on_synced(uv_work_t *work, int status)
{
	struct ar_begun *b = AR_CONTAINER_OF(work, struct ar_begun, work);

	ar_fd_close(&b->sync_file);
	ar_fd_close(&b->sync_dir);
	b->is_syncing = false;
	if (!b->is_synced)
		b->needs_dir = true;
	answer_all(&b->syncing, status == 0 && b->is_synced && !b->is_closing);
	if (b->is_closing)
		begun_free(b);
	else
		start_sync(b);
}

static void start_sync(struct ar_begun *b)
{
	if (b->is_syncing || ar_list_empty(&b->waiting))
		return;
	ar_list_splice(&b->syncing, &b->waiting);
	b->sync_file = fcntl(b->file, F_DUPFD_CLOEXEC, 0);
	b->sync_dir = b->needs_dir ? fcntl(b->dir, F_DUPFD_CLOEXEC, 0) : -1;
	b->needs_dir = false;
	b->is_syncing = true;
	AR_ASSERT(uv_queue_work(b->loop, &b->work, sync_files, on_synced) == 0);
}

void ar_begun_sync(struct ar_begun *b, struct ar_begun_wait *w)
{
	ar_list_push(&b->waiting, &w->node);
	start_sync(b);
}

bool ar_begun_is_syncing(const struct ar_begun *b)
{
	return b->is_syncing;
}

void ar_begun_close(struct ar_begun *b)
{
	b->is_closing = true;
	answer_all(&b->waiting, false);
	if (!b->is_syncing)
		begun_free(b);
}
