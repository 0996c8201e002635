/* Runs agent-init's self-test: it sets up each mechanism and attacks it, and says what held. Blocks until it
 * is through or its deadline has passed; called once, at start. */
#ifndef AR_SANDBOX_SELF_TEST_H
#define AR_SANDBOX_SELF_TEST_H

#include "arena.h"
#include "status.h"

struct ar_self_test {
	struct ar_str program; /* agent-init */
	struct ar_str without; /* mechanisms it must take for absent; commas between them */
	int64_t timeout_ms;
};

AR_BEGIN_DECLS

/* The text it wrote, in the arena; what it means is assess.h's. AR_E_NOT_FOUND: there is no such program;
 * AR_E_TIMEOUT, AR_E_IO: it did not answer. */
AR_MUST_USE enum ar_status ar_self_test_run(const struct ar_self_test *t, struct ar_arena *a,
					    struct ar_str *ret_text, struct ar_error *err);

AR_END_DECLS

#endif
