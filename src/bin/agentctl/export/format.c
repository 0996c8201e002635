/* A session in a format of src/export: its facts, the texts that they refer to, and where the bytes go. What
 * belongs further down in the document waits in a file that has no name. One thread. */
#include "export/export.h"
#include "mem.h"
#include "session_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A run of bytes in the file. */
struct extent {
	size_t stream;
	off_t at;
	size_t len;
};

struct writer {
	struct ar_ctl *ctl;
	struct ar_export *x;
	FILE *out, *aside;
	off_t end; /* of the file */
	struct extent *extents;
	size_t count, room;
	bool is_empty; /* nothing was written to the output */
	bool has_failed;
};

/* ---- bytes ---- */

static void write_out(struct writer *w, struct ar_str bytes)
{
	w->is_empty = false;
	if (fwrite(bytes.p, 1, bytes.len, w->out) != bytes.len)
		w->has_failed = true;
}

static void note_extent(struct writer *w, size_t stream, size_t len)
{
	struct extent *last = w->count ? &w->extents[w->count - 1] : NULL;

	if (last && last->stream == stream) {
		last->len += len;
		return;
	}
	if (w->count == w->room) {
		w->room = w->room ? w->room * 2 : 64;
		w->extents = ar_grow(w->extents, w->room, sizeof(*w->extents));
	}
	w->extents[w->count++] = (struct extent){ stream, w->end, len };
}

static void on_write(void *arg, size_t stream, struct ar_str bytes)
{
	struct writer *w = arg;

	if (stream == 0) {
		write_out(w, bytes);
		return;
	}
	if (!w->aside)
		w->aside = tmpfile();
	if (!w->aside || fwrite(bytes.p, 1, bytes.len, w->aside) != bytes.len) {
		w->has_failed = true;
		return;
	}
	note_extent(w, stream, bytes.len);
	w->end += (off_t)bytes.len;
}

static void copy_extent(struct writer *w, const struct extent *e)
{
	char piece[65536];
	size_t left = e->len;

	if (fseeko(w->aside, e->at, SEEK_SET) != 0)
		w->has_failed = true;
	while (left && !w->has_failed) {
		size_t n = fread(piece, 1, left < sizeof(piece) ? left : sizeof(piece), w->aside);

		w->has_failed |= n == 0;
		write_out(w, (struct ar_str){ piece, n });
		left -= n;
	}
}

static void on_copy(void *arg, size_t stream)
{
	struct writer *w = arg;

	for (size_t i = 0; i < w->count && !w->has_failed; i++) {
		if (w->extents[i].stream == stream)
			copy_extent(w, &w->extents[i]);
	}
}

/* ---- facts ---- */

static bool on_fact(void *arg, struct ar_json fact)
{
	struct writer *w = arg;
	struct ar_arena arena = { 0 };
	struct ar_export_part *parts;
	size_t count = ar_export_parts(w->x, fact, &arena, &parts);

	for (size_t i = 0; i < count; i++) {
		struct ar_stored stored;

		if (ar_stored_read(w->ctl, parts[i].ref, parts[i].max, &stored))
			parts[i].text = ar_arena_str(&arena, ar_buf_str(&stored.text));
		else
			parts[i].why = ar_str_from(stored.why);
		parts[i].size = stored.size;
		ar_buf_fini(&stored.text);
	}
	ar_export_fact(w->x, fact, parts, count);
	ar_arena_fini(&arena);
	return !w->has_failed;
}

static enum ar_exit finish(struct writer *w, enum ar_exit exit)
{
	if (exit == AR_EXIT_OK && !w->has_failed)
		ar_export_end(w->x);
	if (w->has_failed)
		return ar_ctl_complain(w->ctl, AR_EXIT_FAILED,
				       AR_STR("check the space of /tmp and of the output"),
				       "the export could not be written: %s", strerror(errno));
	if (exit == AR_EXIT_OK && w->is_empty)
		return ar_ctl_complain(w->ctl, AR_EXIT_FAILED, AR_STR("give it a turn first"),
				       "the session has nothing to export");
	return exit;
}

enum ar_exit ar_export_session(struct ar_ctl *c, const char *format, struct ar_str session, int64_t until,
			       FILE *out)
{
	struct writer w = { .ctl = c, .out = out, .is_empty = true };
	struct ar_export_sink sink = { on_write, on_copy, &w };
	struct ar_facts facts = { c, session, until, on_fact, &w };
	enum ar_exit exit;

	w.x = ar_export_new(ar_str_from(format), &sink);
	AR_ASSERT(w.x);
	exit = finish(&w, ar_facts_read(&facts));
	ar_export_free(w.x);
	ar_free(w.extents);
	if (w.aside)
		fclose(w.aside);
	return exit;
}
