/* From the daemon to a folder: each file from its parts, then the contents that the manifest lists. A file is
 * written aside and gets its name when its digest is right, so a download that was cut goes on with the next
 * part when it is repeated. */
#include "base64.h"
#include "clock.h"
#include "io/descriptor.h"
#include "mem.h"
#include "pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW 1048576
#define PROGRESS_US ((ar_usec)100000)

struct download {
	struct ar_ctl *c;
	int folder, blobs;
	const char *path; /* of the folder, for messages */
	uint64_t files, bytes; /* written or found */
	ar_usec shown_at; /* monotonic */
};

static enum ar_exit cannot(struct download *d, const char *name)
{
	return ar_ctl_complain(d->c, AR_EXIT_FAILED, AR_STR_NONE, "%s/%s cannot be written: %s", d->path,
			       name, strerror(errno));
}

static void show_progress(struct download *d)
{
	ar_usec now = ar_clock_system()->mono(ar_clock_system());

	if (!d->c->err.is_tty || d->c->is_quiet || (d->shown_at && now < d->shown_at + PROGRESS_US))
		return;
	d->shown_at = now;
	ar_out_printf(&d->c->err, "\r%llu files, %llu MiB ", (unsigned long long)d->files,
		      (unsigned long long)(d->bytes >> 20));
}

/* The bytes behind a ref from `offset` on, added to `out`; at most a window of them. */
static enum ar_exit read_window(struct ar_ctl *c, struct ar_str ref, uint64_t offset, struct ar_buf *out,
				uint64_t *ret_size)
{
	struct ar_arena a = { 0 };
	struct ar_str body = ar_arena_fmt(&a, "{\"outputRef\":\"%.*s\",\"offset\":%llu,\"length\":%d}",
					  AR_STR_ARG(ref), (unsigned long long)offset, WINDOW);
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "read_output", body, &reply);
	struct ar_str content;

	if (exit == AR_EXIT_OK) {
		content = ar_api_str(reply.doc, "content");
		*ret_size = (uint64_t)ar_api_int(reply.doc, "sizeBytes");
		if (ar_str_is(ar_api_str(reply.doc, "encoding"), "base64") &&
		    !ar_base64_decode(&a, content, &content))
			exit = ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "the answer is not base64");
		else
			ar_buf_adds(out, content);
	}
	ar_arena_fini(&a);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit read_all(struct ar_ctl *c, struct ar_str ref, struct ar_buf *out)
{
	uint64_t size = 1;
	enum ar_exit exit = AR_EXIT_OK;

	while (exit == AR_EXIT_OK && out->len < size && out->len <= AR_PACK_TEXT_MAX) {
		size_t before = out->len;

		exit = read_window(c, ref, out->len, out, &size);
		if (exit == AR_EXIT_OK && out->len == before)
			break;
	}
	return exit;
}

/* ---- one file ---- */

static bool is_there(int folder, const char *name, struct ar_str digest)
{
	char hex[AR_HASH_HEX];

	return ar_pack_digest(folder, name, hex) && ar_str_eq(digest, (struct ar_str){ hex, sizeof(hex) });
}

static enum ar_exit finish(struct download *d, const char *aside, int folder, const char *name,
			   struct ar_str digest)
{
	if (!is_there(d->folder, aside, digest)) {
		unlinkat(d->folder, aside, 0);
		return ar_ctl_complain(d->c, AR_EXIT_FAILED, AR_STR("repeat the command"),
				       "%s did not arrive as it was announced", name);
	}
	return renameat(d->folder, aside, folder, name) == 0 ? AR_EXIT_OK : cannot(d, name);
}

/* One part, or a content: as many windows as it takes. */
static enum ar_exit write_ref(struct download *d, int fd, struct ar_str ref, const char *name)
{
	struct ar_buf bytes = { 0 };
	uint64_t at = 0, size = 1;
	enum ar_exit exit = AR_EXIT_OK;

	while (exit == AR_EXIT_OK && at < size) {
		ar_buf_clear(&bytes);
		exit = read_window(d->c, ref, at, &bytes, &size);
		if (exit == AR_EXIT_OK && !ar_fd_write_all(fd, ar_buf_str(&bytes)))
			exit = cannot(d, name);
		at += bytes.len;
		if (bytes.len == 0)
			break;
	}
	ar_buf_fini(&bytes);
	return exit;
}

/* Where a download that was cut goes on: the whole parts that are there stay. */
static bool go_on(int fd, struct ar_json_iter *parts)
{
	off_t have = lseek(fd, 0, SEEK_END), at = 0;
	struct ar_json_iter next = *parts;

	while (ar_json_next(&next)) {
		off_t size = (off_t)ar_api_int(next.value, "size");

		if (size <= 0 || at + size > have)
			break;
		at += size;
		*parts = next;
	}
	return ftruncate(fd, at) == 0 && lseek(fd, at, SEEK_SET) == at;
}

static enum ar_exit write_parts(struct download *d, struct ar_json file, const char *name, const char *aside)
{
	AR_AUTO(ar_fd_close)
	int fd = openat(d->folder, aside, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	struct ar_json_iter it = ar_json_iter(ar_json_get(file, "parts"));
	enum ar_exit exit = AR_EXIT_OK;

	if (fd < 0 || !go_on(fd, &it))
		return cannot(d, name);
	while (exit == AR_EXIT_OK && ar_json_next(&it)) {
		exit = write_ref(d, fd, ar_api_str(it.value, "ref"), name);
		d->bytes += (uint64_t)ar_api_int(it.value, "size");
		show_progress(d);
	}
	return exit;
}

/* A name of the daemon's that is to be a file of this folder and nothing else. */
static bool is_plain(struct ar_str name)
{
	return name.len > 0 && name.len < 64 && name.p[0] != '.' && !memchr(name.p, '/', name.len) &&
	       ar_str_is_line(name, 64);
}

static enum ar_exit write_file(struct download *d, struct ar_json file)
{
	struct ar_str name = ar_api_str(file, "name"), digest = ar_api_str(file, "sha256");
	char plain[80], aside[96];
	enum ar_exit exit;

	if (!is_plain(name) || !ar_pack_is_digest(digest))
		return ar_ctl_complain(d->c, AR_EXIT_FAILED, AR_STR_NONE, "the pack names a file wrongly");
	snprintf(plain, sizeof(plain), "%.*s", AR_STR_ARG(name));
	snprintf(aside, sizeof(aside), ".%s.part", plain);
	d->files++;
	if (is_there(d->folder, plain, digest))
		return AR_EXIT_OK;
	exit = write_parts(d, file, plain, aside);
	return exit == AR_EXIT_OK ? finish(d, aside, d->folder, plain, digest) : exit;
}

/* ---- contents ---- */

static enum ar_exit write_content(struct download *d, struct ar_str digest, struct ar_str ref)
{
	AR_AUTO(ar_fd_close) int fd = -1;
	char name[AR_HASH_HEX + 1];
	enum ar_exit exit;

	snprintf(name, sizeof(name), "%.*s", AR_STR_ARG(digest));
	d->files++;
	show_progress(d);
	if (is_there(d->blobs, name, digest))
		return AR_EXIT_OK;
	fd = openat(d->folder, ".content.part", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return cannot(d, name);
	exit = write_ref(d, fd, ref, name);
	return exit == AR_EXIT_OK ? finish(d, ".content.part", d->blobs, name, digest) : exit;
}

static enum ar_exit take_line(struct download *d, struct ar_json_parser *json, struct ar_str line)
{
	struct ar_str digest, ref;
	struct ar_json v;

	if (ar_json_parse(json, line, &v, NULL) != AR_OK)
		return ar_ctl_complain(d->c, AR_EXIT_FAILED, AR_STR_NONE, "manifest.ndjson is damaged");
	if (!ar_str_is(ar_api_str(v, "state"), "included"))
		return AR_EXIT_OK;
	digest = ar_api_str(v, "sha256");
	ref = ar_api_str(v, "ref");
	if (!ar_pack_is_digest(digest))
		return ar_ctl_complain(d->c, AR_EXIT_FAILED, AR_STR_NONE, "manifest.ndjson is damaged");
	return write_content(d, digest, ref);
}

static enum ar_exit write_contents(struct download *d)
{
	int fd = openat(d->folder, "manifest.ndjson", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct ar_json_parser *json = ar_json_parser_new();
	enum ar_exit exit = AR_EXIT_OK;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if ((mkdirat(d->folder, "blobs", 0755) != 0 && errno != EEXIST) || !f ||
	    (d->blobs = openat(d->folder, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		exit = cannot(d, "blobs");
	while (exit == AR_EXIT_OK && (len = getline(&line, &room, f)) > 0)
		exit = take_line(d, json, (struct ar_str){ line, (size_t)len });
	ar_free(line);
	ar_json_parser_free(json);
	if (f)
		fclose(f);
	return exit;
}

enum ar_exit ar_pack_download(struct ar_ctl *c, struct ar_str ref, const char *folder)
{
	struct download d = { .c = c, .folder = -1, .blobs = -1, .path = folder };
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_json doc = { 0 };
	enum ar_exit exit = read_all(c, ref, &text);

	if (exit == AR_EXIT_OK && ar_json_parse(json, ar_buf_str(&text), &doc, NULL) != AR_OK)
		exit = ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "the pack is not JSON");
	if (exit == AR_EXIT_OK && ((mkdir(folder, 0755) != 0 && errno != EEXIST) ||
				   (d.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0))
		exit = cannot(&d, "");
	if (exit == AR_EXIT_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "files"));
		     exit == AR_EXIT_OK && ar_json_next(&it);)
			exit = write_file(&d, it.value);
	}
	if (exit == AR_EXIT_OK)
		exit = write_contents(&d);
	if (c->err.is_tty && !c->is_quiet)
		ar_out_printf(&c->err, "\r\033[K");
	ar_fd_close(&d.folder);
	ar_fd_close(&d.blobs);
	ar_buf_fini(&text);
	ar_json_parser_free(json);
	return exit;
}
