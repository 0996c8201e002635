/* Records that lists take from the index, of sessions that cannot be read: the row says what the session was
 * at its last commit, and nobody can tell whether that is so. Owner: the loop thread. */
#include "find/degraded.h"
#include "verify/damaged.h"

#define UNKNOWN "unknown"

bool ar_call_cannot_read(const struct ar_call *c, struct ar_str session_key)
{
	return ar_engine_damage(c->control->engine, session_key) == AR_DAMAGE_STATE;
}

/* An exit code would say how the process ended. */
static bool is_claim(struct ar_str name)
{
	return ar_str_is(name, "statusDetail") || ar_str_is(name, "exitCode");
}

void ar_record_write_unknown(struct ar_call *c, struct ar_str record, bool with_degraded, struct ar_jw *w)
{
	struct ar_json v;

	if (ar_json_parse(c->control->json, record, &v, NULL) != AR_OK) {
		ar_jw_raw(w, record);
		return;
	}
	ar_jw_open(w);
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (is_claim(it.name))
			continue;
		ar_jw_name(w, it.name);
		if (ar_str_is(it.name, "status"))
			ar_jw_str(w, AR_STR(UNKNOWN));
		else
			ar_json_print(it.value, w->out);
		w->comma = true;
	}
	if (with_degraded)
		ar_jw_mbool(w, "degraded", true);
	ar_jw_close(w);
}

/* Facts are gone, but what the session is could be read. */
static void write_degraded(struct ar_str shell, struct ar_jw *w)
{
	ar_jw_raw(w, (struct ar_str){ shell.p, shell.len - 1 });
	ar_jw_mbool(w, "degraded", true);
	ar_jw_close(w);
}

void ar_list_write_session(struct ar_call *c, struct ar_str session_key, struct ar_str shell, struct ar_jw *w)
{
	switch (ar_engine_damage(c->control->engine, session_key)) {
	case AR_DAMAGE_NONE:
		ar_jw_raw(w, shell);
		return;
	case AR_DAMAGE_HISTORY:
		write_degraded(shell, w);
		return;
	case AR_DAMAGE_STATE:
		ar_record_write_unknown(c, shell, true, w);
		return;
	}
}

void ar_list_write_sessions(struct ar_call *c, const struct ar_store_sessions *found, struct ar_str status,
			    struct ar_jw *w)
{
	if (!ar_engine_has_damage(c->control->engine) && !ar_list_is_unknown(status)) {
		ar_list_write(found, "sessions", w);
		return;
	}
	ar_jw_open(w);
	ar_jw_key(w, "sessions");
	ar_jw_open_array(w);
	for (size_t i = 0; i < found->count; i++) {
		bool is_unknown = ar_call_cannot_read(c, found->ids[i]);

		if (ar_str_absent(status) || ar_list_is_unknown(status) == is_unknown)
			ar_list_write_session(c, found->ids[i], found->shells[i], w);
	}
	ar_jw_close_array(w);
	if (found->more && found->count > 0)
		ar_jw_mstr(w, "nextCursor", found->ids[found->count - 1]);
	ar_jw_close(w);
}

bool ar_list_is_unknown(struct ar_str status)
{
	return ar_str_is(status, UNKNOWN);
}
