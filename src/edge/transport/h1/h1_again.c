/* See h1_again.h. */
#include "h1/h1_again.h"
#include "request.h"
#include "mem.h"

#include <string.h>

#define LONGEST ((size_t)1024) /* bytes of a head; a connection holds no more than that for speed alone */

/* What may mean something else the next time, or is asked for once. */
static bool is_always_read(const struct ar_h1 *h)
{
	const struct ar_h1_head *head = &h->head;

	return !h->is_keepalive || head->is_chunked || head->request.is_upgrade ||
	       !ar_str_absent(head->expect) || !ar_str_absent(head->request.origin) || h->raw.len > LONGEST;
}

struct ar_h1_again *ar_h1_again_new(const struct ar_h1 *h, bool is_peer)
{
	struct ar_h1_again *a;
	struct ar_fault fault;

	if (is_always_read(h))
		return NULL;
	a = ar_new0(sizeof *a + h->raw.len);
	a->len = h->raw.len;
	memcpy(a->raw, h->raw.p, a->len);
	if (!ar_h1_head_read((struct ar_str){ a->raw, a->len }, &a->head, &fault) ||
	    !ar_target_parse(a->head.request.target, &a->target)) {
		ar_free(a);
		return NULL;
	}
	ar_http_route_of(&a->head.request, a->target.path, is_peer, &a->route);
	return a;
}

size_t ar_h1_again_length(const struct ar_h1_again *a, struct ar_str bytes)
{
	if (bytes.len < a->len || bytes.len - a->len < a->head.length || memcmp(bytes.p, a->raw, a->len) != 0)
		return 0;
	return a->len + (size_t)a->head.length;
}
