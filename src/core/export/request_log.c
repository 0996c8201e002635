/* See request_log.h. */
#include "request_log.h"
#include "identity.h"
#include "mem.h"
#include "pack.h"

#include <string.h>

struct ar_request_log_entry {
	struct ar_hash hash;
	struct ar_str evidence_id, source;
	bool is_inside; /* recorded for the scope of the export */
};

/* What a line says it is about. */
struct ids {
	struct ar_str session, turn, request;
};

enum place { PLACE_UNKNOWN, PLACE_OUTSIDE, PLACE_INSIDE };

void ar_request_logs_fini(struct ar_request_logs *l)
{
	ar_id_set_fini(&l->inside);
	ar_id_set_fini(&l->outside);
	ar_free(l->at);
	if (l->json)
		ar_json_parser_free(l->json);
}

/* ---- ids of the log ---- */

/* A line may name both: then the request must be of that turn. */
static struct ar_hash key_of(const struct ids *of)
{
	struct ar_buf text = { 0 };
	struct ar_hash hash;

	ar_buf_addf(&text, "%.*s\n%.*s", AR_STR_ARG(of->turn), AR_STR_ARG(of->request));
	hash = ar_hash_of(ar_buf_str(&text));
	ar_buf_fini(&text);
	return hash;
}

static void note_id(struct ar_request_logs *l, struct ids of, bool is_inside)
{
	struct ar_hash key = key_of(&of);

	(void)ar_id_set_add(is_inside ? &l->inside : &l->outside, &key, AR_REQUEST_IDS);
}

static void note_log(struct ar_pack *p, const struct ar_event *e, bool is_inside)
{
	const struct ar_ev_evidence_changed *of = e->payload;
	struct ar_request_logs *l = &p->logs;
	struct ar_str key;
	struct ar_hash hash;

	if (ar_str_absent(of->request_log_ref) || !ar_ref_parse(of->request_log_ref, &key, &hash) ||
	    !ar_str_eq(key, p->session_key))
		return;
	if (l->count == AR_REQUEST_LOGS) {
		ar_pack_gap(p, of->request_log_ref, "there are more request logs than one pack takes");
		return;
	}
	l->at = ar_grow(l->at, l->count + 1, sizeof(*l->at));
	l->at[l->count++] = (struct ar_request_log_entry){
		.hash = hash,
		.evidence_id = ar_arena_str(&p->arena, e->ids[AR_SCOPE_EVIDENCE]),
		.source = ar_arena_str(&p->arena, of->source),
		.is_inside = is_inside,
	};
}

void ar_request_logs_fact(struct ar_pack *p, const struct ar_event *e, bool is_inside)
{
	struct ar_str turn = e->ids[AR_SCOPE_TURN], request = e->ids[AR_SCOPE_MODEL_REQUEST];

	if (e->type == AR_EV_TURN_SUBMITTED)
		note_id(&p->logs, (struct ids){ .turn = turn }, is_inside);
	if (e->type == AR_EV_MODEL_REQUESTED && !ar_str_absent(request)) {
		note_id(&p->logs, (struct ids){ .request = request }, is_inside);
		note_id(&p->logs, (struct ids){ .turn = turn, .request = request }, is_inside);
	}
	if (e->type == AR_EV_EVIDENCE_CHANGED)
		note_log(p, e, is_inside);
}

/* ---- lines ---- */

bool ar_request_logs_wanted(const struct ar_pack *p, struct ar_hash *ret)
{
	if (p->logs.read == p->logs.count)
		return false;
	*ret = p->logs.at[p->logs.read].hash;
	return true;
}

/* An id of a line; what is no id of ours is none. */
static struct ar_str id_of(struct ar_json line, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	if (!ar_json_str(ar_json_get(line, name), &s) || s.len == 0 || s.len > 256 ||
	    memchr(s.p, '\n', s.len))
		return AR_STR_NONE;
	return s;
}

static enum place place_of(const struct ar_pack *p, const struct ids *of)
{
	struct ar_hash key = key_of(of);

	if (ar_str_absent(of->turn) && ar_str_absent(of->request))
		return PLACE_UNKNOWN;
	if (!ar_str_absent(of->session) && !ar_str_eq(of->session, p->request.scope.session_id))
		return PLACE_UNKNOWN;
	if (ar_id_set_has(&p->logs.inside, &key))
		return PLACE_INSIDE;
	return ar_id_set_has(&p->logs.outside, &key) ? PLACE_OUTSIDE : PLACE_UNKNOWN;
}

static void write_line(struct ar_pack *p, const struct ar_request_log_entry *log, int64_t number,
		       struct ar_str text, const struct ids *of)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "evidenceId", log->evidence_id);
	ar_jw_mstr(&w, "source", log->source);
	ar_jw_mint(&w, "line", number);
	ar_jw_mstr(&w, "state", of ? AR_STR("joined") : AR_STR("missing_correlation"));
	ar_jw_mstr(&w, "turnId", of ? of->turn : AR_STR_NONE);
	ar_jw_mstr(&w, "modelRequestId", of ? of->request : AR_STR_NONE);
	ar_jw_mstr(&w, "text", text);
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	p->files[AR_PACK_REQUESTS].is_used = true;
	ar_pack_file_add(&p->files[AR_PACK_REQUESTS], ar_buf_str(&line));
	ar_buf_fini(&line);
}

/* A line about another part of the session is not of this export; one that names nothing we know is of the
 * scope that it was recorded for. */
static void take_line(struct ar_pack *p, const struct ar_request_log_entry *log, int64_t number,
		      struct ar_str text)
{
	struct ar_json doc = { 0 };
	struct ids of = { 0 };
	enum place place;

	if (ar_json_parse(p->logs.json, text, &doc, NULL) == AR_OK && ar_json_type(doc) == AR_JSON_OBJECT)
		of = (struct ids){ id_of(doc, "sessionId"), id_of(doc, "turnId"),
				   id_of(doc, "modelRequestId") };
	place = place_of(p, &of);
	if (place == PLACE_INSIDE) {
		write_line(p, log, number, text, &of);
		p->logs.joined++;
	} else if (place == PLACE_UNKNOWN && log->is_inside) {
		write_line(p, log, number, text, NULL);
		p->logs.unjoined++;
	}
}

void ar_request_logs_bring(struct ar_pack *p, struct ar_str bytes)
{
	const struct ar_request_log_entry *log = &p->logs.at[p->logs.read++];
	int64_t number = 0;

	if (!p->logs.json)
		p->logs.json = ar_json_parser_new();
	while (!ar_str_absent(bytes) && bytes.len > 0) {
		struct ar_str line;

		bytes = ar_str_split(bytes, '\n', &line);
		line = ar_str_trim(line, " \t\r");
		number++;
		if (line.len > 0)
			take_line(p, log, number, line);
	}
}
