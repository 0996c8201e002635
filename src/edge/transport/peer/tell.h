/* Notes for home sessions that another node owns; see tell.c. Owner: the loop thread. */
#ifndef AR_TRANSPORT_TELL_H
#define AR_TRANSPORT_TELL_H

struct ar_http_server;

/* The server closes: what is on its way is dropped. */
void ar_tells_close(struct ar_http_server *s);

#endif
