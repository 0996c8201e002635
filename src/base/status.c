/* Filling of ar_error and the end of the process on a bug. No thread owns anything here. */
#include "status.h"
#include "str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[AR_STATUS_COUNT] = {
	[AR_OK] = "ok",
	[AR_E_REFUSED] = "refused",
	[AR_E_INVALID] = "invalid",
	[AR_E_NOT_FOUND] = "not_found",
	[AR_E_EXISTS] = "exists",
	[AR_E_LIMIT] = "limit",
	[AR_E_IO] = "io",
	[AR_E_FENCED] = "fenced",
	[AR_E_CANCELED] = "canceled",
	[AR_E_TIMEOUT] = "timeout",
	[AR_E_UNAVAILABLE] = "unavailable",
	[AR_E_CORRUPT] = "corrupt",
	[AR_E_DOUBT] = "doubt",
};

/* Through a copy, because an argument may be err->msg itself; a cut never leaves half a character. */
static void set_message(struct ar_error *err, const char *fmt, va_list ap)
{
	char text[sizeof err->msg + 4];
	struct ar_str fit;

	vsnprintf(text, sizeof text, fmt, ap);
	fit = ar_str_utf8_prefix(ar_str_from(text), sizeof err->msg - 1);
	memcpy(err->msg, fit.p, fit.len);
	err->msg[fit.len] = '\0';
}

enum ar_status ar_fail(struct ar_error *err, enum ar_status status, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return status;
	va_start(ap, fmt);
	set_message(err, fmt, ap);
	va_end(ap);
	err->status = status;
	err->code = 0;
	return status;
}

enum ar_status ar_refuse(struct ar_error *err, uint16_t code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return AR_E_REFUSED;
	va_start(ap, fmt);
	set_message(err, fmt, ap);
	va_end(ap);
	err->status = AR_E_REFUSED;
	err->code = code;
	return AR_E_REFUSED;
}

enum ar_status ar_fail_wrap(struct ar_error *err, const char *prefix)
{
	uint16_t code;

	AR_ASSERT(err);
	code = err->code;
	ar_fail(err, err->status, "%s: %s", prefix, err->msg);
	err->code = code;
	return err->status;
}

const char *ar_status_name(enum ar_status status)
{
	return (unsigned)status < AR_STATUS_COUNT ? names[status] : "unknown";
}

void ar_assert_failed(const char *cond, const char *file, int line)
{
	dprintf(STDERR_FILENO, "%s:%d: assertion failed: %s\n", file, line, cond);
	abort();
}
