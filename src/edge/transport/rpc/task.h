/* Inside a JSON-RPC peer: one request on its way to an answer (task.c), and what it becomes when the
 * answer is a stream (subscription.c). Owner: the loop thread. */
#ifndef AR_TRANSPORT_RPC_TASK_H
#define AR_TRANSPORT_RPC_TASK_H

#include "request.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc.h"
#include "rpc/sse_text.h"

#define AR_RPC_BATCH_BYTES ((size_t)16 * 1024 * 1024) /* answers of a batch together */

/* What requests of one message share: their text, and the array of a batch. Goes with the last answer. */
struct ar_rpc_post {
	struct ar_arena arena;
	struct ar_rpc *rpc;
	struct ar_buf answers; /* of a batch */
	struct ar_list held; /* subscriptions that it opened: they begin when the answers are out */
	size_t open; /* requests without an answer */
	size_t bytes;
	bool is_batch;
};

struct ar_rpc_task {
	struct ar_carrier carrier;
	struct ar_rpc *rpc;
	struct ar_list node; /* in rpc->calls or rpc->subscriptions */
	struct ar_rpc_post *post; /* NULL: its answer is out */
	struct ar_str id; /* of the request, in the post */

	struct ar_list waiting; /* in rpc->waiting, rpc->served or post->held; a subscription from here on */
	uint64_t number; /* 0: none */
	struct ar_buf cursor; /* where its reader is */
	struct ar_sse_text text; /* of a stream at another node */
};

/* ---- task.c ---- */

/* Runs one request of a post; it may be answered before this returns. */
void ar_rpc_task_run(struct ar_rpc *r, struct ar_rpc_post *post, const struct ar_rpc_request *request);

/* The answer of a task goes to its post; the last one sends it. `text` is a whole response,
 * or empty when nobody waits. */
void ar_rpc_post_answer(struct ar_rpc_post *post, struct ar_str text);

/* Takes the task off its lists and frees it, now or when the core has answered. */
void ar_rpc_task_drop(struct ar_rpc_task *t);

/* The answer is out, or nobody waits for it. */
void ar_rpc_task_answered(struct ar_rpc_task *t, struct ar_str text);

/* ---- subscription.c ---- */

extern const struct ar_carrier_vtable ar_rpc_carrier;

/* The method `unsubscribe`; writes its whole response. */
void ar_rpc_unsubscribe(struct ar_rpc *r, const struct ar_rpc_request *request, struct ar_buf *out);

#endif
