/* ar-refold FILE: folds the whole log of every session in a store from its first fact, without
 * snapshots, and prints what get_session shows of each, one line per session, newest first. The crash
 * test compares that with the answers of a running agentd. Opens the store as its owner does, so it
 * wants a copy, or a store that nobody has open. A FILE.ndjson has the facts
 * of one session, as in a pack. One thread; the store's own threads wake it. */
#include "projection.h"
#include "store_open.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 100
#define WINDOW_BYTES ((size_t)1024 * 1024)

struct refold {
	struct ar_store *store;
	sem_t wake;
	struct ar_json_parser *json, *member_json;
};

static void woken(void *arg)
{
	sem_post(&((struct refold *)arg)->wake);
}

static void op_done(struct ar_store_op *op)
{
	op->done = NULL; /* tells wait_for() */
}

static enum ar_status wait_for(struct refold *r, struct ar_store_op *op)
{
	op->done = op_done;
	ar_store_submit(r->store, op);
	while (op->done) {
		sem_wait(&r->wake);
		ar_store_poll(r->store);
	}
	return op->status;
}

static enum ar_status fold_line(struct refold *r, struct ar_session *s, struct ar_str line,
				struct ar_error *err)
{
	struct ar_arena arena = { 0 };
	struct ar_event event;
	struct ar_json v;
	enum ar_status rc = ar_json_parse(r->json, line, &v, err);

	if (rc == AR_OK)
		rc = ar_event_decode(v, &arena, &event, err);
	if (rc == AR_OK)
		rc = ar_session_apply(s, &event, err);
	ar_arena_fini(&arena);
	return rc;
}

static enum ar_status fold_rows(struct refold *r, struct ar_session *s, const struct ar_store_read *read,
				struct ar_error *err)
{
	for (size_t i = 0; i < read->row_count; i++) {
		struct ar_str rest = read->rows[i].body, line;

		while (!ar_str_empty(rest)) {
			rest = ar_str_split(rest, '\n', &line);
			if (!ar_str_empty(line) && fold_line(r, s, line, err) != AR_OK)
				return AR_E_CORRUPT;
		}
	}
	return AR_OK;
}

static enum ar_status fold(struct refold *r, struct ar_session *s, struct ar_str session_key,
			   struct ar_error *err)
{
	enum ar_status rc;
	bool at_end;

	do {
		struct ar_store_read read = { .op = { .kind = AR_STORE_READ },
					      .session = session_key,
					      .from = s->head + 1,
					      .max_bytes = WINDOW_BYTES };

		rc = wait_for(r, &read.op);
		if (rc == AR_OK)
			rc = fold_rows(r, s, &read, err);
		else
			*err = read.op.err;
		at_end = read.at_end;
		ar_store_op_fini(&read.op);
	} while (rc == AR_OK && !at_end);
	return rc;
}

static bool print_session(struct refold *r, struct ar_str session_key)
{
	struct ar_session s;
	struct ar_error err = { 0 };
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	bool ok;

	ar_session_init(&s, session_key, r->member_json);
	ok = fold(r, &s, session_key, &err) == AR_OK;
	if (ok) {
		ar_jw_open(&w);
		ar_projection_session(&s, ar_str_from(r->store->runtime_id), NULL, &w);
		ar_jw_close(&w);
		printf("%.*s\n", (int)out.len, out.p);
	} else {
		fprintf(stderr, "ar-refold: session %.*s: %s\n", AR_STR_ARG(session_key), err.msg);
	}
	ar_buf_fini(&out);
	ar_session_fini(&s);
	return ok;
}

static bool print_all(struct refold *r)
{
	struct ar_arena keep = { 0 };
	struct ar_str before = AR_STR_NONE;
	bool ok = true, more = true;

	while (ok && more) {
		struct ar_store_sessions page = { .op = { .kind = AR_STORE_SESSIONS },
						  .limit = PAGE,
						  .before = before };

		ok = wait_for(r, &page.op) == AR_OK;
		for (size_t i = 0; ok && i < page.count; i++) {
			ok = print_session(r, page.ids[i]);
			before = ar_arena_str(&keep, page.ids[i]);
		}
		more = page.more;
		ar_store_op_fini(&page.op);
	}
	ar_arena_fini(&keep);
	return ok;
}

/* The facts of a pack, without any store. */
static bool print_facts(struct refold *r, const char *path)
{
	FILE *file = fopen(path, "r");
	struct ar_arena keep = { 0 };
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str runtime = AR_STR_NONE, line;
	struct ar_error err = { 0 };
	struct ar_session s = { 0 };
	struct ar_json v;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	bool ok = file != NULL;

	while (ok && (len = getline(&text, &room, file)) > 0) {
		line = (struct ar_str){ text, (size_t)len - 1 };
		if (ar_str_absent(runtime) && ar_json_parse(r->json, line, &v, &err) == AR_OK) {
			struct ar_str id;

			ok = ar_json_str(ar_json_get(v, "runtimeId"), &runtime) &&
			     ar_json_str(ar_json_get(v, "sessionId"), &id);
			runtime = ar_arena_str(&keep, runtime);
			if (ok)
				ar_session_init(&s, ar_id_session_key(id), r->member_json);
		}
		ok = ok && fold_line(r, &s, line, &err) == AR_OK;
	}
	if (ok) {
		ar_jw_open(&w);
		ar_projection_session(&s, runtime, NULL, &w);
		ar_jw_close(&w);
		printf("%.*s\n", (int)out.len, out.p);
	} else {
		fprintf(stderr, "ar-refold: %s: %s\n", path, err.msg);
	}
	if (file)
		fclose(file);
	free(text);
	ar_buf_fini(&out);
	ar_session_fini(&s);
	ar_arena_fini(&keep);
	return ok;
}

int main(int argc, char **argv)
{
	struct refold r = { .json = ar_json_parser_new(), .member_json = ar_json_parser_new() };
	struct ar_error err = { 0 };
	bool ok = false;

	sem_init(&r.wake, 0, 0);
	if (argc != 2)
		fputs("usage: ar-refold FILE\n", stderr);
	else if (ar_str_ends(ar_str_from(argv[1]), AR_STR(".ndjson")))
		ok = print_facts(&r, argv[1]);
	else if (ar_store_sqlite_open(
			 &(struct ar_store_sqlite_options){ .path = argv[1], .wake = woken, .wake_arg = &r },
			 &r.store, &err) != AR_OK)
		fprintf(stderr, "ar-refold: %s\n", err.msg);
	else
		ok = print_all(&r);
	ar_store_close(r.store);
	ar_json_parser_free(r.json);
	ar_json_parser_free(r.member_json);
	return ok ? 0 : 1;
}
