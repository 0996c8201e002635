/* What is stored, read straight from the memory store and decoded once. Every line is checked on the
 * way: sequences without gap, valid by the catalogue, and the same bytes after decoding and encoding. */
#include "sim.h"
#include "describe.h"
#include "identity.h"

#include <string.h>

struct ar_str sim_text(struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return text;
}

struct ar_str sim_keep(struct sim *s, struct ar_str text)
{
	return ar_arena_str(&s->arena, text);
}

static void take_line(struct sim *s, struct sim_log *log, struct ar_str line)
{
	struct sim_fact *f = &log->facts[log->count];
	struct ar_error err = { 0 };
	struct ar_buf again = { 0 };
	struct ar_json v;

	f->json = ar_arena_str(&log->arena, line);
	if (ar_json_parse(s->json, line, &v, &err) != AR_OK ||
	    ar_event_decode(v, &log->arena, &f->e, &err) != AR_OK || ar_event_validate(&f->e, &err) != AR_OK)
		sim_fail(s, "stored fact %zu is not valid: %s: %.*s", log->count + 1, err.msg,
			 AR_STR_ARG(line));
	if (f->e.sequence != log->count + 1)
		sim_fail(s, "stored fact %zu has sequence %llu", log->count + 1,
			 (unsigned long long)f->e.sequence);
	ar_event_encode(&f->e, &again);
	if (!ar_str_eq(ar_buf_str(&again), line))
		sim_fail(s, "stored fact %zu is other bytes when encoded again: %.*s", log->count + 1,
			 AR_STR_ARG(ar_buf_str(&again)));
	ar_buf_fini(&again);
	log->count++;
}

static void take_row(struct sim *s, struct sim_log *log, const struct ar_store_row *row)
{
	size_t n = (size_t)(row->last_seq - row->first_seq + 1);
	struct ar_str rest = row->body, line;

	if (row->first_seq != log->count + 1)
		sim_fail(s, "a stored row begins at %llu after %zu", (unsigned long long)row->first_seq,
			 log->count);
	log->facts = ar_grow(log->facts, log->count + n, sizeof(*log->facts));
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (log->count == row->last_seq)
			sim_fail(s, "a stored row holds more than it says");
		take_line(s, log, line);
	}
	if (log->count != row->last_seq)
		sim_fail(s, "a stored row ends at %zu and says %llu", log->count,
			 (unsigned long long)row->last_seq);
	s->counts->facts += n;
}

struct sim_log *sim_log_of(struct sim *s, struct ar_str session_key)
{
	struct sim_log *log = ar_map_get(&s->logs, session_key);
	const struct ar_memory_session *ms;
	struct ar_store_key key;

	if (!ar_store_key_parse(session_key, &key))
		sim_fail(s, "'%.*s' names no session", AR_STR_ARG(session_key));
	ms = ar_memory_session(sim_memory(s), &key);
	if (!ms || ms->row_count == 0)
		return NULL;
	if (!log) {
		log = ar_new0(sizeof(*log));
		memcpy(log->session_key, session_key.p, AR_SESSION_KEY_LEN);
		ar_map_put(&s->logs, (struct ar_str){ log->session_key, AR_SESSION_KEY_LEN }, log);
	}
	while (log->rows < ms->row_count)
		take_row(s, log, &ms->rows[log->rows++]);
	return log;
}

const struct sim_fact *sim_log_find(struct sim *s, struct ar_str session_key, enum ar_event_type type,
				    int scope, struct ar_str id)
{
	const struct sim_log *log = sim_log_of(s, session_key);

	for (size_t i = log ? log->count : 0; i > 0; i--) {
		if (log->facts[i - 1].e.type == type && ar_str_eq(log->facts[i - 1].e.ids[scope], id))
			return &log->facts[i - 1];
	}
	return NULL;
}

struct ar_str sim_content(struct sim *s, struct ar_str ref)
{
	const struct ar_store_blob *b;
	struct ar_hash hash;
	struct ar_str session_key;

	if (ar_str_absent(ref) || !ar_ref_parse(ref, &session_key, &hash))
		return AR_STR_NONE;
	b = ar_map_get(&sim_memory(s)->blobs, (struct ar_str){ (const char *)hash.b, AR_HASH_LEN });
	return b ? b->bytes : AR_STR_NONE;
}

void sim_logs_close(struct sim *s)
{
	struct sim_log *log;

	for (size_t i = 0; (log = ar_map_next(&s->logs, &i)); ar_free(log)) {
		ar_arena_fini(&log->arena);
		ar_free(log->facts);
	}
	ar_map_fini(&s->logs);
}
