/* What a session shows as a whole: its boundary, stored outputs, history, deliveries and where its calls
 * run. Counts, not lists: what is behind them is read by its own command. Pure. */
#include "parts/parts.h"

/* The thread in which a turn started last; NULL: none did. */
static const struct ar_thread *busiest(const struct ar_shown *shown)
{
	const struct ar_thread *found = NULL;
	int64_t newest = 0;

	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_turn *turn = ar_projection_newest_turn(shown->threads.at[i]);

		if (turn && turn->start.v > newest) {
			newest = turn->start.v;
			found = shown->threads.at[i];
		}
	}
	return found;
}

/* ---- sandbox ---- */

static const struct ar_process_record *newest_process(const struct ar_session *s, struct ar_str thread)
{
	for (size_t i = s->processes.count; i > 0; i--) {
		const struct ar_process_record *p = s->processes.at[i - 1];

		if (ar_str_eq(p->thread, thread))
			return p;
	}
	return NULL;
}

/* Nothing is called applied that has no such fact: before the first process it is what the turn would use. */
static struct ar_str sandbox_word(const struct ar_process_record *p,
				  const struct ar_shape_environment_sandbox *e)
{
	if (p)
		return AR_STR("applied");
	if (!e)
		return AR_STR("unknown");
	return e->is_available.v ? AR_STR("configured") : AR_STR("unavailable");
}

void ar_projection_sandbox(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	const struct ar_process_record *p = t ? newest_process(s, t->id) : NULL;
	const struct ar_shape_turn_environment *in =
		t ? ar_projection_environment_of(s, ar_projection_newest_turn(t)) : NULL;
	const struct ar_shape_environment_sandbox *e = in ? in->sandbox_profile : NULL;

	ar_jw_key(w, "sandboxState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", t ? sandbox_word(p, e) : AR_STR("not_applicable"));
	if (p) {
		ar_jw_mstr(w, "profile", p->profile);
		ar_jw_mstr(w, "sandboxRef", p->sandbox);
	} else if (e) {
		ar_jw_mstr(w, "profile", e->mode);
		ar_jw_mstr(w, "reason", e->reason);
	}
	if (t) {
		ar_jw_mint(w, "violations", t->violations.v);
		if (t->violations.v > 0)
			ar_jw_mtexts(w, "violationRefs", t->violation_refs);
	}
	ar_jw_close(w);
}

/* ---- outputs, history ---- */

static void outputs(const struct ar_shown *shown, struct ar_jw *w)
{
	int64_t count = 0, bytes = 0;

	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		for (size_t k = 0; k < t->outputs.count; k++)
			bytes += ((const struct ar_stored_output *)t->outputs.at[k])->size;
		count += (int64_t)t->outputs.count;
	}
	ar_jw_key(w, "outputSummary");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", count ? AR_STR("stored") : AR_STR("none"));
	ar_jw_mint(w, "outputs", count);
	ar_jw_mint(w, "sizeBytes", bytes);
	ar_jw_mint(w, "windowPerThread", AR_WINDOW_OUTPUTS);
	ar_jw_close(w);
}

static void history(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	int64_t window = 0, messages = 0, omitted = 0, compactions = 0, removed = 0;

	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		window += (int64_t)t->turns.count;
		messages += (int64_t)t->context.count;
		omitted += t->omitted;
		compactions += (int64_t)t->boundaries.count;
		for (size_t k = 0; k < t->turns.count; k++)
			removed += ((const struct ar_turn *)t->turns.at[k])->removed.v;
	}
	ar_jw_key(w, "historySummary");
	ar_jw_open(w);
	ar_jw_mint(w, "facts", (int64_t)s->head);
	ar_jw_mint(w, "turns", s->counters.task - s->declared_count.v);
	ar_jw_mint(w, "windowTurns", window);
	ar_jw_mint(w, "removedTurns", removed);
	ar_jw_mint(w, "contextMessages", messages);
	ar_jw_mint(w, "omittedMessages", omitted);
	ar_jw_mint(w, "compactions", compactions);
	ar_jw_close(w);
}

/* ---- deliveries ---- */

static void deliveries(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	/* the first that occurs is the state of all */
	static const char *const words[] = { "failed", "parent_missing", "pending", "queued", "delivered" };
	int64_t counts[AR_ARRAY_LEN(words)] = { 0 };
	const char *state = NULL;

	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_sheet *sheet = ((const struct ar_task *)s->declared.at[i])->sheet;

		if (!sheet->delivery ||
		    (!ar_str_absent(shown->thread) && !ar_str_eq(sheet->thread, shown->thread)))
			continue;
		for (size_t k = 0; k < AR_ARRAY_LEN(words); k++)
			counts[k] += ar_str_is(sheet->delivery->state, words[k]);
	}
	for (size_t k = AR_ARRAY_LEN(words); k > 0; k--)
		state = counts[k - 1] ? words[k - 1] : state;
	ar_jw_key(w, "deliveryState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", ar_str_from(state ? state : "not_applicable"));
	for (size_t k = 0; k < AR_ARRAY_LEN(words); k++) {
		if (counts[k])
			ar_jw_mint(w, words[k], counts[k]);
	}
	ar_jw_close(w);
}

/* ---- where its calls run ---- */

static void active_processes(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "activeProcesses");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (p->status == AR_PROCESS_RUNNING &&
		    (ar_str_absent(shown->thread) || ar_str_eq(p->thread, shown->thread)))
			ar_jw_str(w, p->id);
	}
	ar_jw_close_array(w);
}

static void environment(const struct ar_session *s, const struct ar_shown *shown, const struct ar_thread *t,
			struct ar_jw *w)
{
	const struct ar_turn *turn = t ? ar_projection_newest_turn(t) : NULL;
	struct ar_shape_turn_environment e;
	bool is_known = ar_projection_turn_environment(s, turn, &e);
	struct ar_buf more = { 0 };
	struct ar_jw j = ar_jw(&more);

	ar_jw_mstr(&j, "state",
		   is_known ? AR_STR("recorded")
		   : t	    ? AR_STR("unknown")
			    : AR_STR("not_applicable"));
	ar_jw_mstr(&j, "turnId", is_known ? turn->id : AR_STR_NONE);
	ar_jw_mraw(&j, "processLimits", s->limits); /* of the newest process, as its host says them */
	active_processes(s, shown, &j);
	ar_jw_key(w, "executionEnvironment");
	if (is_known) {
		ar_struct_encode(&ar_shape_turn_environment_desc, &e, ar_buf_str(&more), w);
	} else {
		ar_jw_open(w);
		ar_buf_adds(w->out, ar_buf_str(&more));
		ar_jw_close(w);
	}
	ar_buf_fini(&more);
}

/* The thread of the newest process: its boundary is the one that is on record. */
static const struct ar_thread *confined(const struct ar_session *s, const struct ar_shown *shown)
{
	for (size_t i = s->processes.count; i > 0; i--) {
		const struct ar_process_record *p = s->processes.at[i - 1];

		for (size_t k = 0; k < shown->threads.count; k++) {
			const struct ar_thread *t = shown->threads.at[k];

			if (ar_str_eq(p->thread, t->id))
				return t;
		}
	}
	return busiest(shown);
}

void ar_projection_session_parts(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	const struct ar_thread *t = busiest(shown);

	ar_projection_sandbox(s, confined(s, shown), w);
	outputs(shown, w);
	history(s, shown, w);
	deliveries(s, shown, w);
	environment(s, shown, t, w);
	if (t && !ar_str_absent(t->catalog_ref))
		ar_jw_mstr(w, "toolInventoryRef", t->catalog_ref);
}
