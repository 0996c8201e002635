/* Members telemetry of a thread and telemetrySummary of a session: the traces of the turns that are shown,
 * and whether all of them have one. Pure. */
#include "context.h"
#include "thread.h"

struct traces {
	struct ar_jw *w;
	size_t turns, traced;
	struct ar_arena arena;
};

static void count(struct traces *all, const struct ar_thread *t)
{
	for (size_t i = 0; i < t->turns.count; i++) {
		all->turns++;
		all->traced += ((const struct ar_turn *)t->turns.at[i])->trace != NULL;
	}
}

static void write_ids(struct traces *all, const struct ar_session *s, const struct ar_thread *t)
{
	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (turn->trace)
			ar_jw_str(all->w, ar_trace_text(&all->arena, s->id, turn->id));
	}
}

void ar_projection_telemetry(const struct ar_session *s, const struct ar_vec *threads, struct ar_jw *w)
{
	struct traces all = { .w = w };

	for (size_t i = 0; i < threads->count; i++)
		count(&all, threads->at[i]);
	ar_jw_open(w);
	ar_jw_mstr(w, "state", all.traced ? AR_STR("available") : AR_STR("unavailable"));
	if (all.traced) {
		ar_jw_mstr(w, "joinStatus",
			   all.traced == all.turns ? AR_STR("joined") : AR_STR("missing_correlation"));
		ar_jw_key(w, "traceIds");
		ar_jw_open_array(w);
		for (size_t i = 0; i < threads->count; i++)
			write_ids(&all, s, threads->at[i]);
		ar_jw_close_array(w);
	}
	ar_jw_close(w);
	ar_arena_fini(&all.arena);
}
