/* Messages over AR_INIT_FD, and the JSON text that they carry. */
#ifndef AR_INIT_MESSAGE_H
#define AR_INIT_MESSAGE_H

#include "init.h"

#include <stddef.h>
#include <stdint.h>

/* JSON in the making, of a fixed room; what does not fit is marked, not written. */
struct ar_message {
	char bytes[AR_INIT_MESSAGE_MAX];
	size_t len;
	bool is_cut;
};

void ar_message_add(struct ar_message *t, const char *text);
void ar_message_add_number(struct ar_message *t, uint64_t n);

/* As a JSON string; what is not UTF-8 becomes U+FFFD. NULL: null. */
void ar_message_add_string(struct ar_message *t, const char *text);

/* Notes what a failing step was about; returns -1 and leaves errno as it is, to be returned in turn. */
int ar_init_fail(struct ar_init *in, const char *what, const char *which);

/* One message; t may be NULL. False: nobody listens. */
bool ar_message_send(enum ar_init_message kind, const struct ar_message *t);

/* READY with the descriptors of in->fds, in order. */
bool ar_message_send_ready(const struct ar_init *in, const struct ar_message *t);

/* FAILED by errno. */
void ar_message_send_failed(const struct ar_init *in, const char *step);

#endif
