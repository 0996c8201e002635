/* See scan.h. Names of a folder are read and sorted before the first is looked at; a descriptor is open for
 * each level, so the depth has a limit. */
#include "checkpoint/scan.h"

#include "clock.h"
#include "mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEPTH_MAX 256
#define NAMES_MAX (2 * AR_TREE_ENTRIES_MAX) /* with folders and what is left out */
#define LATE_EVERY 256

struct names {
	struct ar_buf text; /* each with its kind before it and a NUL behind */
	size_t *at; /* of each, in text: of its kind */
	size_t count, room;
};

bool ar_files_is_late(const struct ar_files_work *w)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock) > w->until;
}

static void add_name(struct names *n, const struct dirent *d)
{
	if (n->count == n->room) {
		n->room = n->room ? n->room * 2 : 64;
		n->at = ar_grow(n->at, n->room, sizeof(*n->at));
	}
	n->at[n->count++] = n->text.len;
	ar_buf_addc(&n->text, (char)d->d_type);
	ar_buf_add(&n->text, d->d_name, strlen(d->d_name) + 1);
}

static int compare_names(const void *a, const void *b, void *text)
{
	return strcmp((const char *)text + *(const size_t *)a + 1,
		      (const char *)text + *(const size_t *)b + 1);
}

static bool check_limits(struct ar_scan *s)
{
	if (++s->seen > NAMES_MAX)
		ar_files_fail(s->work, "too_large",
			      "Delete files that are not needed, or use a smaller folder.",
			      "The workspace has more than %d files and folders.", NAMES_MAX);
	else if (s->seen % LATE_EVERY == 0 && ar_files_is_late(s->work))
		ar_files_fail(s->work, "timeout", "Try again, or use a smaller folder.",
			      "The files of the workspace could not be looked at in time.");
	return !ar_files_failed(s->work);
}

/* False with the failure in the work. A folder that cannot be read is left out. */
static bool read_names(struct ar_scan *s, int folder, struct names *ret)
{
	int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		s->left_out++;
		return true;
	}
	while (!ar_files_failed(s->work) && (errno = 0, d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (check_limits(s))
			add_name(ret, d);
	}
	if (!ar_files_failed(s->work) && errno != 0) /* a part of it would look as if the rest were deleted */
		ar_files_fail(s->work, "io", "Try again; tell the operator if it happens again.",
			      "A folder of the workspace cannot be read to its end: %s.", strerror(errno));
	closedir(dir);
	if (ret->count > 0)
		qsort_r(ret->at, ret->count, sizeof(*ret->at), compare_names, ret->text.p);
	return !ar_files_failed(s->work);
}

/* git refuses a link of this name: its content steers what git fetches. */
static bool is_refused_link(const struct ar_scan_found *f)
{
	return S_ISLNK(f->st.st_mode) && strcasecmp(f->name, ".gitmodules") == 0;
}

static bool scan_folder(struct ar_scan *s, int folder, size_t len, unsigned depth);

static bool enter(struct ar_scan *s, int folder, const char *name, size_t len, unsigned depth)
{
	int fd = depth < DEPTH_MAX
			 ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;

	if (fd < 0) {
		s->left_out += depth == DEPTH_MAX || errno != ENOENT;
		return true;
	}
	bool goes_on = scan_folder(s, fd, len, depth);

	close(fd);
	return goes_on;
}

/* One name; `len` is the length of its path, which is in s->path. */
static bool scan_name(struct ar_scan *s, int folder, unsigned char kind, size_t len, unsigned depth)
{
	struct ar_scan_found f = { .path = { s->path, len }, .folder = folder };

	f.name = s->path + len;
	while (f.name > s->path && f.name[-1] != '/')
		f.name--;
	if (!ar_tree_entry_is_name(ar_str_from(f.name))) {
		s->left_out++;
		return true;
	}
	if (kind == DT_DIR)
		return enter(s, folder, f.name, len, depth + 1);
	if (fstatat(folder, f.name, &f.st, AT_SYMLINK_NOFOLLOW) != 0)
		return true; /* gone since it was listed */
	if (S_ISDIR(f.st.st_mode))
		return enter(s, folder, f.name, len, depth + 1);
	if ((!S_ISREG(f.st.st_mode) && !S_ISLNK(f.st.st_mode)) || is_refused_link(&f)) {
		s->left_out++;
		return true;
	}
	return s->found(s->arg, &f);
}

/* `len` of s->path names the folder; 0: the workspace. */
static bool scan_names(struct ar_scan *s, int folder, size_t len, unsigned depth, const struct names *n)
{
	size_t from = len > 0 ? len + 1 : 0;
	bool goes_on = true;

	if (len > 0)
		s->path[len] = '/';
	for (size_t i = 0; goes_on && i < n->count; i++) {
		const char *row = n->text.p + n->at[i];
		size_t name_len = strlen(row + 1);

		if (from + name_len > AR_TREE_ENTRY_PATH_MAX) {
			s->left_out++;
			continue;
		}
		memcpy(s->path + from, row + 1, name_len + 1);
		goes_on = scan_name(s, folder, (unsigned char)row[0], from + name_len, depth);
	}
	return goes_on;
}

static bool scan_folder(struct ar_scan *s, int folder, size_t len, unsigned depth)
{
	struct names n = { 0 };
	bool goes_on = read_names(s, folder, &n) && scan_names(s, folder, len, depth, &n);

	ar_buf_fini(&n.text);
	ar_free(n.at);
	return goes_on;
}

bool ar_scan_run(struct ar_scan *s, int root)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	s->seen = 0;
	s->left_out = 0;
	if (fd < 0) {
		ar_files_fail(s->work, "io", "Give the folder to the user that tools run as.",
			      "The workspace cannot be read: %s.", strerror(errno));
		return false;
	}
	bool goes_on = scan_folder(s, fd, 0, 0);

	close(fd);
	return goes_on;
}
