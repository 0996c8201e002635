/* Webhooks of the settings: each follows the events of its tenant from the position that the tenant's home
 * session has recorded, sends them signed, and reports there how far it has come and what it gave up. It runs
 * on the node that owns the home. Owner: the loop thread. */
#ifndef AR_HOST_WEBHOOK_WEBHOOKS_H
#define AR_HOST_WEBHOOK_WEBHOOKS_H

#include "config.h"
#include "control.h"
#include "engine.h"
#include "log.h"

#include <uv.h>

struct ar_host_webhooks;

/* What the settings say of them; text in the arena. */
struct ar_host_webhook_list {
	struct ar_webhook_setting *settings;
	size_t count;
};
AR_MUST_USE enum ar_status ar_host_webhooks_read(const struct ar_config *c, struct ar_arena *a,
						 struct ar_host_webhook_list *ret, struct ar_error *err);

/* Their names, for results that are delivered to one. */
void ar_host_webhooks_name(const struct ar_config *c, struct ar_arena *a, struct ar_policy *policy);

struct ar_host_webhooks_options {
	uv_loop_t *loop;
	const struct ar_config *config; /* in force: secrets are renewed in it */
	const struct ar_log *log;
	struct ar_control *control;
	struct ar_engine *engine;
	struct ar_follow *follow;
	struct ar_store *store;
	struct ar_metrics *metrics;
	bool is_shared; /* other nodes may own a home */
};

/* NULL with AR_OK: there are none. All is borrowed for its life. */
AR_MUST_USE enum ar_status ar_host_webhooks_open(const struct ar_host_webhooks_options *o,
						 struct ar_host_webhooks **ret, struct ar_error *err);

/* Nothing is sent any more; before the engine and the store go. NULL: nothing. */
void ar_host_webhooks_close(struct ar_host_webhooks *all);
void ar_host_webhooks_free(struct ar_host_webhooks *all); /* when the loop has run; NULL: nothing */

#endif
