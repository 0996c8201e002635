/* How a call ended, and the sentence a person will read. The status is for branching; `code` is the
 * catalogue's stable error code (catalog/errors.cat) for refusals that reach a caller, 0 elsewhere. */
#ifndef AR_BASE_STATUS_H
#define AR_BASE_STATUS_H

#include "compiler.h"

#include <stdbool.h>
#include <stdint.h>

enum ar_status {
	AR_OK = 0,
	AR_E_REFUSED, /* a rule of the runtime said no; err->code says which */
	AR_E_INVALID, /* bytes or arguments that do not parse or validate */
	AR_E_NOT_FOUND,
	AR_E_EXISTS, /* already there (receipt, row) */
	AR_E_LIMIT, /* a cap was reached */
	AR_E_IO, /* disk, network, engine: an outage */
	AR_E_FENCED, /* another owner writes now; never write again under this epoch */
	AR_E_CANCELED,
	AR_E_TIMEOUT,
	AR_E_UNAVAILABLE, /* not built, not configured, not supported here */
	AR_E_CORRUPT, /* stored bytes contradict the contract */
	AR_E_DOUBT, /* it may be stored or not, and nobody can say */
	AR_STATUS_COUNT
};

struct ar_error {
	enum ar_status status;
	uint16_t code;
	char msg[238];
};

AR_BEGIN_DECLS

/* Fills err (which may be NULL) and returns status, so that a guard is one line:
 *	return ar_fail(err, AR_E_IO, "blob '%s' cannot be opened", path); */
enum ar_status ar_fail(struct ar_error *err, enum ar_status status, const char *fmt, ...) AR_PRINTF(3, 4);

/* The same with a catalogue code; the status is AR_E_REFUSED. */
enum ar_status ar_refuse(struct ar_error *err, uint16_t code, const char *fmt, ...) AR_PRINTF(3, 4);

/* Puts "prefix: " before the sentence on the way up; returns err's status. Here err must not be NULL. */
enum ar_status ar_fail_wrap(struct ar_error *err, const char *prefix);

const char *ar_status_name(enum ar_status status);

/* A bug, never an outage: prints where and aborts. Always compiled in. */
#define AR_ASSERT(cond) ((cond) ? (void)0 : ar_assert_failed(#cond, __FILE__, __LINE__))
void ar_assert_failed(const char *cond, const char *file, int line) AR_NORETURN;

AR_END_DECLS

#endif
