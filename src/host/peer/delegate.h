/* The tool delegate_to_peer: hands work on to a remote agent of the settings and follows it to its end. The
 * intent is a fact before the message leaves (report_peer_task), and a message that may have arrived is
 * looked for before it is sent again, so that a call which is tried again after a crash goes on with the same
 * work. Owner: the loop thread. */
#ifndef AR_HOST_PEER_DELEGATE_H
#define AR_HOST_PEER_DELEGATE_H

#include "control.h"
#include "peer/peers.h"
#include "tool.h"
#include "transport.h"

struct ar_delegates;

/* Opens the peers of the settings. *ret NULL with AR_OK: there are none. */
AR_MUST_USE enum ar_status ar_delegates_open(const struct ar_host_peers_options *o, struct ar_delegates **ret,
					     struct ar_error *err);

/* For the toolbox, which closes it: then what is open is left as it is at its peers. */
struct ar_tool_source *ar_delegates_source(struct ar_delegates *all);

/* Before the first call. NULL: nothing. */
void ar_delegates_report_to(struct ar_delegates *all, struct ar_control *control);

/* Whether any peer of the settings may post what becomes of its work. */
bool ar_delegates_take_pushes(const struct ar_config *c);

/* As struct ar_http_ops says. */
AR_MUST_USE enum ar_status ar_delegates_push(struct ar_delegates *all, const struct ar_http_peer_push *p,
					     struct ar_error *err);

/* When the toolbox is closed; the loop must run once more. NULL: nothing. */
void ar_delegates_close(struct ar_delegates *all);

/* When control is freed and the loop has run. NULL: nothing. */
void ar_delegates_free(struct ar_delegates *all);

#endif
