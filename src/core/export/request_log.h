/* Request logs that others recorded, joined to the facts of an export by ids: a line that names a turn or a
 * model request of the session. Nothing is joined by text or time; what names neither is listed alone. */
#ifndef AR_EXPORT_REQUEST_LOG_H
#define AR_EXPORT_REQUEST_LOG_H

#include "crypto/id_set.h"
#include "json.h"

#define AR_REQUEST_LOGS 256 /* of an export at most */
#define AR_REQUEST_IDS ((size_t)1000000) /* of turns and requests in each set at most */

struct ar_pack;
struct ar_event;

struct ar_request_logs {
	struct ar_id_set inside, outside; /* ids of the session: of facts of the scope, of others */
	struct ar_request_log_entry *at;
	size_t count, read;
	uint64_t joined, unjoined; /* lines */
	struct ar_json_parser *json;
};

void ar_request_logs_fini(struct ar_request_logs *l);

/* A fact of the log; is_inside: of the scope, too. */
void ar_request_logs_fact(struct ar_pack *p, const struct ar_event *e, bool is_inside);

/* The content that the next log is; false: all were read. Then its bytes; absent: not stored. */
bool ar_request_logs_wanted(const struct ar_pack *p, struct ar_hash *ret);
void ar_request_logs_bring(struct ar_pack *p, struct ar_str bytes);

#endif
