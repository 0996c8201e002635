/* A message that a client of A2A sends, and what is asked with it: checked, and turned into the parts of an
 * input. Pure functions over their arguments. */
#ifndef AR_A2A_MESSAGE_H
#define AR_A2A_MESSAGE_H

#include "a2a_error.h"
#include "push.h"

#define AR_A2A_PARTS 64 /* of one message */
#define AR_A2A_COMMENT_BYTES 4096 /* of a message that is no turn, as the log keeps it */
#define AR_A2A_ID_BYTES 256 /* of a message id */
#define AR_A2A_KEPT_BYTES 24576 /* of a message as the log keeps it; a larger one is kept by its text */
#define AR_A2A_KEPT_LEVELS 32 /* of its JSON; the same */

/* SendMessageRequest. Text is in the arena. */
struct ar_a2a_send {
	struct ar_str message_id;
	struct ar_str context, task; /* absent: a new one */
	struct ar_str input; /* JSON: parts of an input */
	struct ar_str text; /* all texts of it, one per line */
	struct ar_str data; /* JSON of the only data part that is an object; absent: none */
	struct ar_str kept; /* JSON: its parts, for the history; absent: too large, or too deep */
	struct ar_a2a_push push; /* of configuration.taskPushNotificationConfig; without a url: none */
	int64_t history; /* -1: not said */
	bool is_immediate; /* returnImmediately */
	bool wants_data; /* no acceptedOutputModes, or JSON among them */
};

/* False: `f` says why. */
bool ar_a2a_read_send(struct ar_json params, struct ar_arena *a, struct ar_a2a_send *ret,
		      struct ar_a2a_failure *f);

/* A member by its name, or by that of the protocol buffer (task_id): readers of ProtoJSON take both. */
struct ar_json ar_a2a_get(struct ar_json object, const char *name);

/* A member that is a text; an empty one counts as absent. False: it is of another type. */
bool ar_a2a_text(struct ar_json object, const char *name, struct ar_arena *a, struct ar_str *ret,
		 struct ar_a2a_failure *f);

/* historyLength: -1 if it is not there. */
bool ar_a2a_history(struct ar_json object, int64_t *ret, struct ar_a2a_failure *f);

#endif
