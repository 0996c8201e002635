/* Commands of sessions to sessions of other nodes; see pass.c. Owner: the loop thread. */
#ifndef AR_TRANSPORT_PASS_H
#define AR_TRANSPORT_PASS_H

struct ar_http_server;

/* The server closes: what is on its way is dropped. */
void ar_passes_close(struct ar_http_server *s);

#endif
