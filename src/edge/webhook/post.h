/* One attempt to deliver an event: a POST, signed or with what A2A shows, answered by any 2xx. Not repeated
 * and not redirected; TLS is verified (edge/curl). Each webhook of the settings has a poster of its own, so
 * that no receiver holds up another. Loop thread only. */
#ifndef AR_WEBHOOK_POST_H
#define AR_WEBHOOK_POST_H

#include "arena.h"
#include "transfer.h"

struct ar_webhook_poster;

struct ar_webhook_outcome {
	bool is_delivered;
	bool is_cancelled; /* the poster closes */
	int http; /* 0: there was no answer */
	int64_t retry_after_ms; /* the receiver asks not to be called again before; 0: it does not */
	const char *reason; /* a sentence; valid during the call */
};

/* Embedded by the caller, zeroed; it lives until done(). */
struct ar_webhook_post {
	struct ar_str url, id, key, body; /* borrowed until done(); key absent: it is not signed */
	const char *content_type; /* NULL: application/json */
	struct ar_str authorization, token; /* borrowed; absent: none. Headers of that name, and of A2A */
	bool is_public; /* only an address that is public is dialled, whatever its name stands for */
	struct ar_str trace_parent; /* the same; absent: the event is in no trace */
	uint32_t timeout_ms; /* for all of it */
	/* Exactly once, never before ar_webhook_post_start() returned. */
	void (*done)(struct ar_webhook_post *p, const struct ar_webhook_outcome *o);

	struct ar_transfer transfer; /* private */
	struct ar_arena arena;
};

AR_BEGIN_DECLS

/* ca_file: NULL or empty, the system's certificates; borrowed. */
struct ar_webhook_poster *ar_webhook_poster_new(uv_loop_t *loop, bool is_tls, const char *ca_file);

/* Ends what is open as cancelled; the memory goes when the loop has run once more. */
void ar_webhook_poster_close(struct ar_webhook_poster *p);

/* What speaks against an address in figures as the one of a receiver that is not in the settings: this
 * machine, its network, a cloud's own services. NULL: nothing, or it is a name, which is judged when it was
 * looked up. */
const char *ar_webhook_address_fault(const char *figures);

void ar_webhook_post_start(struct ar_webhook_poster *p, struct ar_webhook_post *post);

AR_END_DECLS

#endif
