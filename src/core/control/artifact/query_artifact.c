/* Reads of artifacts: a page of their list, and one with its versions. Both are answered from the state. */
#include "artifact/artifact.h"
#include "control_priv.h"
#include "projection.h"

#define VERSIONS_MAX 50

static struct ar_call *call_of(struct ar_engine_view *v)
{
	return AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
}

/* ---- list_artifacts ---- */

static void write_page(struct ar_call *c, const struct ar_session *s, const struct ar_artifact_page *page)
{
	struct ar_jw w = ar_jw(&c->reply);
	int64_t last;

	ar_jw_open(&w);
	ar_jw_key(&w, "artifacts");
	last = ar_projection_artifact_page(s, page, &w);
	if (last > 0)
		ar_jw_mstr(&w, "nextCursor", ar_arena_fmt(&c->arena, "%lld", (long long)last));
	ar_jw_mint(&w, "omitted", s->artifacts_left.v);
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

static void on_list(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	const struct ar_cmd_list_artifacts_in *in = c->input;
	struct ar_artifact_page page = { .before = INT64_MAX,
					 .limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX) };
	struct ar_thread *thread;
	struct ar_texts of;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!ar_str_absent(in->cursor) && (!ar_str_to_i64(in->cursor, &page.before) || page.before < 1)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	if (!ar_str_absent(in->turn_id)) {
		of = ar_artifacts_of_turn(s, in->turn_id, &c->arena);
		page.of = &of;
		if (of.count == 0 && !ar_session_turn(s, in->turn_id, &thread)) {
			ar_call_refuse(c, AR_ERR_TURN_NOT_FOUND,
				       "the session has no such turn among its newest");
			return;
		}
	}
	write_page(c, s, &page);
}

void ar_query_list_artifacts(struct ar_call *c)
{
	const struct ar_cmd_list_artifacts_in *in = c->input;
	struct ar_error err = { 0 };

	if (ar_call_session(in->session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	c->work->view.done = on_list;
	ar_call_look(c);
}

/* ---- get_artifact ---- */

static void on_artifact(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	const struct ar_cmd_get_artifact_in *in = c->input;
	const struct ar_shape_artifact_record *r;
	struct ar_jw w = ar_jw(&c->reply);

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	r = ar_session_artifact(s, in->artifact_id);
	if (!r) {
		ar_call_refuse(c, AR_ERR_ARTIFACT_NOT_FOUND,
			       "the session has no artifact '%.*s' among its newest %d",
			       AR_STR_ARG(ar_str_utf8_prefix(in->artifact_id, 100)), AR_WINDOW_ARTIFACTS);
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "artifact");
	ar_struct_encode(&ar_shape_artifact_record_desc, r, r->extra_, &w);
	ar_jw_key(&w, "versions");
	ar_projection_artifact_versions(s, r, VERSIONS_MAX, &w);
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_query_get_artifact(struct ar_call *c)
{
	const struct ar_cmd_get_artifact_in *in = c->input;
	struct ar_str id = ar_str_absent(in->session_id) ? in->artifact_id : in->session_id;

	c->work->view.session = ar_id_owner(id);
	if (ar_str_absent(c->work->view.session)) {
		ar_call_refuse(c, AR_ERR_ARTIFACT_NOT_FOUND,
			       "the id does not name its session; send the sessionId too");
		return;
	}
	c->work->view.done = on_artifact;
	ar_call_look(c);
}
