/* A desk to try decisions on: one session, a policy, and what was decided last. A test
 * reads as the life of a session. */
#ifndef DESK_H
#define DESK_H

#include "action/action.h"
#include "cmocka_unit.h"
#include "session.h"

struct desk {
	struct ar_session session;
	struct ar_json_parser *json, *decide_json;
	struct ar_policy policy;
	struct ar_arena arena; /* of the newest decision */
	struct ar_decision decision;
	struct ar_error err;
	ar_usec now;
	struct ar_worker_status worker; /* of the session, as inputs bring it */
};

int desk_open(void **state);
int desk_close(void **state);

/* Decides; the facts are checked against their schemas. */
enum ar_status desk_do(struct desk *d, struct ar_input in);
enum ar_status desk_command(struct desk *d, enum ar_command command, const void *args);
void desk_end_call(struct desk *d, struct ar_str call, const struct ar_tool_result *result);
enum ar_status desk_submit(struct desk *d, const char *turn); /* text "hello", busyPolicy queue */

/* What a caller gives as JSON, as the shape that the decision gets; NULL: it is refused, and
 * d->err says why. */
const void *desk_read(struct desk *d, const struct ar_struct_desc *shape, const char *json);
enum ar_status desk_submit_with(struct desk *d, const char *turn,
				const char *options); /* the same turn with options, as JSON */
enum ar_status desk_answer(struct desk *d,
			   const char *text); /* the open step of the first thread completes */
enum ar_status desk_end_step(struct desk *d, struct ar_model_result end);

/* A turn that is between two steps asks; returns the id, which lives in the session. */
void desk_begin(struct desk *d); /* turn "a" runs, no step of it is open */
struct ar_str desk_ask(struct desk *d, struct ar_ask ask);

/* The type names of the facts decided last, in order, separated by spaces; without those that go with
 * every turn to explain its route and its cost, or with them. */
void desk_expect(struct desk *d, const char *types);
void desk_expect_all(struct desk *d, const char *types);
void desk_expect_refusal(struct desk *d, enum ar_status rc, uint16_t code);
void desk_expect_reply(struct desk *d, const char *part); /* the reply has this text in it */

/* The payload of the first fact of that type decided last, as JSON; it lives in the arena of the decision. */
const char *desk_payload(struct desk *d, enum ar_event_type type);
void desk_expect_payload(struct desk *d, enum ar_event_type type, const char *part);

/* A fact about the active turn of the first thread, as an older version may have stored it. */
void desk_fold(struct desk *d, const char *type, const char *payload);

size_t desk_effects(struct desk *d, enum ar_effect_kind kind); /* how many of them */

struct ar_thread *desk_thread(struct desk *d, size_t index);
struct ar_turn *desk_active(struct desk *d);

#endif
