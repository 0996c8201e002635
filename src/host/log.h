/* One JSON line per happening on stderr. Never content, never secrets. */
#ifndef AR_HOST_LOG_H
#define AR_HOST_LOG_H

/* level: error, warning, info; detail may be NULL. */
void ar_log_line(const char *level, const char *message, const char *detail);

#endif
