/* What a reader gets back after a restart, layer by layer. The session itself is the fold of its
 * log: that it is here at all shows that the log was read. The texts of a conversation lie
 * beside the log, and may be gone: those that were looked for and not found are named. Pure. */
#include "decide.h"

static struct ar_texts missing_of(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_texts gone = { d->input->missing.refs, d->input->missing.count };
	struct ar_str *refs = ar_arena_alloc(d->arena, (t->context.count + 1) * sizeof(*refs));
	size_t n = 0;

	for (size_t i = 0; i < t->context.count; i++) {
		struct ar_str ref = ((const struct ar_context_entry *)t->context.at[i])->ref;

		if (ar_texts_have(gone, ref))
			refs[n++] = ref;
	}
	return (struct ar_texts){ refs, n };
}

/* `texts`: the word for what needs the texts too. */
static struct ar_str layers_of(struct ar_decision *d, struct ar_str texts)
{
	const struct {
		const char *name;
		struct ar_str state;
	} layers[] = { { "sessionShell", AR_STR("restored") },
		       { "threadSummaries", AR_STR("restored") },
		       { "queuedTurns", AR_STR("restored") },
		       { "pendingActions", AR_STR("restored") },
		       { "recentWindow", texts },
		       { "activeThreadRead", texts },
		       { "subagents", AR_STR("not_applicable") },
		       { "jobs", AR_STR("not_applicable") } };
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open(&j);
	for (size_t i = 0; i < AR_ARRAY_LEN(layers); i++)
		ar_jw_mstr(&j, layers[i].name, layers[i].state);
	ar_jw_close(&j);
	return ar_decide_json_end(d);
}

void ar_decide_reconstructed(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_ids ids = ar_ids_thread(t);
	struct ar_texts missing = missing_of(d, t);
	struct ar_str texts = missing.count		   ? AR_STR("degraded")
			      : d->input->missing.is_known ? AR_STR("restored")
							   : AR_STR("unknown");

	ar_decide_emit(d, AR_EV_HISTORY_RECONSTRUCTED, &ids,
		       &(struct ar_ev_history_reconstructed){ .layers = layers_of(d, texts),
							      .degraded = missing.count > 0,
							      .missing = missing,
							      .as_of_sequence =
								      AR_OPT_INT((int64_t)d->head) });
}
