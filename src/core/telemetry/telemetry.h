/* Facts as spans and log records. Pure: the same fact and state give the same span, whichever process looks.
 * What is returned borrows from the fact, the session and the arena. */
#ifndef AR_CORE_TELEMETRY_TELEMETRY_H
#define AR_CORE_TELEMETRY_TELEMETRY_H

#include "session.h"
#include "span.h"

/* Whether a span ends with the fact; sets its ids. */
bool ar_telemetry_ends_span(const struct ar_event *e, struct ar_trace_context *ret);

/* The span that ends with the fact, except for its ids; `s` is the session with it. Prompts, answers,
 * commands and paths only with `with_content`. */
void ar_telemetry_span(const struct ar_session *s, const struct ar_event *e, bool with_content,
		       struct ar_arena *a, struct ar_span *ret);

/* What a fact that is a warning or a decision says, for the logs. False: it is none. */
bool ar_telemetry_record(const struct ar_session *s, const struct ar_event *e, struct ar_arena *a,
			 struct ar_record *ret);

/* The ids that a request is about: of a client, or to a model. */
struct ar_request_ids {
	struct ar_str session;
	struct ar_str queued_turn; /* its turn, if that waited or waits */
	struct ar_str at[AR_SCOPE_COUNT];
};

/* Adds what follows from the state: the thread of a turn, the child agent of a thread, and so on. Ids that
 * are not of this session stay as they are. */
void ar_telemetry_relate(const struct ar_session *s, struct ar_request_ids *ids);

/* A call to a model that has ended. Nothing of what was asked or answered. */
struct ar_model_line {
	struct ar_request_ids ids;
	struct ar_str provider, model;
	struct ar_str outcome; /* completed, or the word of model.failed */
	struct ar_str category; /* of its error; absent: none */
	struct ar_opt_int status; /* of HTTP, if the provider refused */
	struct ar_opt_int attempt, duration_ms, first_token_ms;
	struct ar_opt_int input_tokens, output_tokens, cached_tokens;
	ar_usec time;
};

/* The call that ends with the fact; `s` is the session with it. False: none does. */
bool ar_telemetry_model_line(const struct ar_session *s, const struct ar_event *e, struct ar_model_line *ret);

#endif
