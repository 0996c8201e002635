/* What boundaries of commands can be had on this host, as a report for people who set it up. */
#ifndef AR_HOST_SANDBOX_REPORT_H
#define AR_HOST_SANDBOX_REPORT_H

#include "buf.h"
#include "config.h"
#include "status.h"

AR_BEGIN_DECLS

/* JSON: `profile` of the settings, `isAvailable` of it, `profiles` with name, isAvailable, reason,
 * remedy and guarantees, `ladder` of mechanisms. Takes as long as the self-test. */
AR_MUST_USE enum ar_status ar_host_sandbox_report(const struct ar_config *c, struct ar_buf *out,
						  struct ar_error *err);

AR_END_DECLS

#endif
