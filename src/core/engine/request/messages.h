/* The conversation of a request: from refs in session state to the messages that a provider
 * sends. Private to engine/. */
#ifndef AR_ENGINE_MESSAGES_H
#define AR_ENGINE_MESSAGES_H

#include "json.h"
#include "output.h"
#include "provider.h"
#include "session.h"

struct ar_message_images {
	size_t count; /* that its tool brought */
	size_t taken; /* of these, that are fetched */
};

struct ar_messages {
	struct ar_message *list;
	size_t count;
	bool *is_summary; /* of each message: it stands for older ones */
	struct ar_hash *hashes; /* contents to fetch, in the order fill() takes them */
	size_t hash_count;
	struct ar_message_images *images; /* of each message */
	size_t image_bytes; /* put in so far */
	bool can_see; /* the model takes images */
};

/* Copies what the effect's messages say and lists the contents they need. */
void ar_messages_plan(struct ar_messages *m, const struct ar_effect_model_call *effect, struct ar_arena *a);

/* Puts the fetched contents in, which must live as long as the messages; false when one is missing. */
bool ar_messages_fill(struct ar_messages *m, const struct ar_str *contents, struct ar_arena *a,
		      struct ar_json_parser *json);

/* images.c: which of them a request carries; their contents among those to fetch; and what
 * came, put into message `i`. */
void ar_images_plan(struct ar_messages *m, const struct ar_context_entry *entries, size_t count,
		    bool can_see);
void ar_images_refs(struct ar_messages *m, size_t i, struct ar_texts refs);
void ar_images_add(struct ar_messages *m, size_t i, const struct ar_str *images, struct ar_arena *a);

/* Renders all but the first message as one user message: for a summary of them. */
void ar_messages_to_transcript(struct ar_messages *m, struct ar_arena *a, struct ar_json_parser *json);

/* The output of a step as an input of the session. */
void ar_step_output_of(const struct ar_output *o, struct ar_arena *a, struct ar_step_output *ret);
struct ar_str ar_step_tool_args(const struct ar_output *o, struct ar_arena *a, uint32_t index);

#endif
