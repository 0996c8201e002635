/* The funnel: every text from outside passes it before anything is decided, stored or shown, and comes
 * out without its secrets. What was masked is counted, so that the decision can say so
 * (output.redacted). Without a redactor everything passes as it is. Owner: the loop thread. */
#ifndef AR_ENGINE_FUNNEL_H
#define AR_ENGINE_FUNNEL_H

#include "engine.h"
#include "redact.h"

struct ar_funnel_stream;

/* What a model call says. Zero it, set `redactor`. */
struct ar_funnel {
	const struct ar_redactor *redactor;
	struct ar_redact_counts counts;
	/* one per kind and index: pieces of one text meet, whatever comes between them */
	struct ar_funnel_stream *streams;
	size_t count;
};

struct ar_funnel_piece {
	uint8_t kind;
	uint32_t index;
	struct ar_str bytes;
};

/* Output that came: what of it (and of what was held back before) is certain. Valid until the next call. */
struct ar_str ar_funnel_feed(struct ar_funnel *f, uint8_t kind, uint32_t index, struct ar_str bytes);

/* At the end: what was held back, a text at a time; false when there is no more. The
 * counts are complete then. */
bool ar_funnel_next_held(struct ar_funnel *f, struct ar_funnel_piece *ret);
void ar_funnel_fini(struct ar_funnel *f);

/* A text that came whole, in the arena; and an id, which is absent when it holds a secret. */
struct ar_str ar_funnel_text(struct ar_funnel *f, struct ar_str text, struct ar_arena *a);
struct ar_str ar_funnel_id(struct ar_funnel *f, struct ar_str id, struct ar_arena *a);

/* Changed files, in the arena. */
struct ar_tool_artifact;
const struct ar_tool_artifact *ar_funnel_artifacts(struct ar_funnel *f, const struct ar_tool_artifact *files,
						   size_t count, struct ar_arena *a);

/* The counts as a decision takes them. */
struct ar_masked ar_funnel_masked(const struct ar_redact_counts *counts, struct ar_arena *a);

/* What was masked in output that an earlier process saved: its counts are lost, its masks are not. */
struct ar_masked ar_funnel_saved(const struct ar_step_output *out, struct ar_arena *a);

/* The args of a command, and how much was masked in them; those of the caller stay as they are.
 * Refused: a secret in an id or a key, which must not change, or in JSON outside a string. */
AR_MUST_USE enum ar_status ar_funnel_command(struct ar_engine *e, struct ar_engine_request *r,
					     struct ar_arena *a);

#endif
