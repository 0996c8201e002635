/* Time as a port: the core receives times, it never asks for them. */
#ifndef AR_BASE_CLOCK_H
#define AR_BASE_CLOCK_H

#include "str.h"

struct ar_clock {
	ar_usec (*wall)(struct ar_clock *c); /* since 1970, may step */
	ar_usec (*mono)(struct ar_clock *c); /* never steps back */
};

#define AR_TIME_TEXT 28 /* "2026-11-15T01:55:26.123456Z" and NUL */

AR_BEGIN_DECLS

struct ar_clock *ar_clock_system(void);

/* The same, but its monotonic time goes on while the machine sleeps: for leases that others count too. */
struct ar_clock *ar_clock_boot(void);

/* Processor time of this thread: for measuring what was done, never for deciding when. */
ar_usec ar_clock_thread_cpu(void);

/* RFC 3339 in UTC with six decimals; out holds AR_TIME_TEXT bytes. Returns the text. */
struct ar_str ar_time_format(ar_usec t, char out[AR_TIME_TEXT]);
bool ar_time_parse(struct ar_str s, ar_usec *ret); /* any RFC 3339 date-time with a zone */

AR_END_DECLS

#endif
