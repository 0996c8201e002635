/* The daemon's commands as calls: JSON out, parsed JSON back. A refusal is shown to the user here, in the
 * server's words. */
#ifndef AR_CTL_API_H
#define AR_CTL_API_H

#include "ctl.h"
#include "http.h"
#include "json.h"

struct ar_api_reply {
	struct ar_http_reply http;
	struct ar_json_parser *parser;
	struct ar_json doc; /* valid until fini */
};

/* A request to the daemon with its place filled in; `path` begins with a slash and has to outlive it. */
struct ar_http_request ar_api_request(struct ar_ctl *c, const char *path);

/* POST /v1/<command>. Everything but success has been said on standard error when it returns. `ret` always
 * wants fini. */
AR_MUST_USE enum ar_exit ar_api_call(struct ar_ctl *c, const char *command, struct ar_str body,
				     struct ar_api_reply *ret);

/* The same with another patience than a minute. */
AR_MUST_USE enum ar_exit ar_api_call_within(struct ar_ctl *c, const char *command, struct ar_str body,
					    long ms, struct ar_api_reply *ret);

/* The whole of most commands: calls it and shows the answer, as JSON where that is wanted, else by
 * `print`. */
typedef void ar_api_print_fn(struct ar_ctl *c, const struct ar_api_reply *r);
AR_MUST_USE enum ar_exit ar_api_show(struct ar_ctl *c, const char *command, struct ar_buf *body,
				     ar_api_print_fn *print);

/* The same for a list of records: its first page, of those that are active or of all. */
AR_MUST_USE enum ar_exit ar_api_list(struct ar_ctl *c, const char *command, bool is_all,
				     ar_api_print_fn *print);

/* The same as a call without a word: the status of the transport, with the reply of any HTTP status. */
AR_MUST_USE enum ar_status ar_api_try(struct ar_ctl *c, const char *command, struct ar_str body,
				      struct ar_api_reply *ret, struct ar_error *err);
enum ar_exit ar_api_explain(struct ar_ctl *c, enum ar_status st, const struct ar_api_reply *r,
			    const struct ar_error *err);
void ar_api_fini(struct ar_api_reply *r);

/* The sentence for a reply that is an error, and its advice; how it should end the program. */
enum ar_exit ar_api_refused(struct ar_ctl *c, long status, struct ar_json doc);
enum ar_exit ar_api_unreachable(struct ar_ctl *c, enum ar_status st, const struct ar_error *err);

/* Prints the reply as one line of JSON. */
void ar_api_print(struct ar_ctl *c, const struct ar_api_reply *r);

/* A member as text, number or absent. */
struct ar_str ar_api_str(struct ar_json object, const char *name);
int64_t ar_api_int(struct ar_json object, const char *name);
ar_usec ar_api_time(struct ar_json object, const char *name);

/* A member further down, dots between the names. */
struct ar_json ar_api_path(struct ar_json object, const char *path);

#endif
