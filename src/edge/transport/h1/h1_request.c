/* Requests of HTTP/1: a few that were answered are kept with their buffers, so that the next ones take
 * memory which is there and warm. Owner: the loop thread. */
#include "h1/h1_conn.h"
#include "mem.h"
#include "server.h"

/* A request that is used after it was given back is found by the sanitizer only if its memory is freed. */
static bool has_room(const struct ar_http_server *s)
{
#ifdef __SANITIZE_ADDRESS__
	(void)s;
	return false;
#else
	return s->h1_spare_count < AR_H1_SPARES && !s->is_closing;
#endif
}

struct ar_h1_request *ar_h1_request_begin(struct ar_carrier *c)
{
	struct ar_http_server *s = c->server;
	struct ar_h1_request *r;

	if (s->h1_spare_count) {
		r = s->h1_spares[--s->h1_spare_count];
	} else {
		r = ar_new0(sizeof *r);
		ar_h1_init(&r->h1, &s->limits);
	}
	ar_http_request_init(&r->base, c);
	r->base.head = &r->h1.head.request;
	return r;
}

static void request_free(struct ar_h1_request *r)
{
	ar_arena_fini(&r->base.pool);
	ar_call_fini(&r->base.call);
	ar_h1_fini(&r->h1);
	ar_free(r);
}

void ar_h1_request_end(struct ar_h1_request *r)
{
	struct ar_http_server *s = r->base.carrier->server;

	ar_http_request_reset(&r->base);
	if (!has_room(s)) {
		request_free(r);
		return;
	}
	ar_h1_restart(&r->h1);
	s->h1_spares[s->h1_spare_count++] = r;
}

void ar_h1_spares_fini(struct ar_http_server *s)
{
	while (s->h1_spare_count)
		request_free(s->h1_spares[--s->h1_spare_count]);
}
