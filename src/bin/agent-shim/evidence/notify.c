/* Answers the seccomp listener and writes about it, a bounded number in each round of the loop. */
#include "evidence/notify.h"
#include "shim.h"

#include <unistd.h>

#define AT_ONCE 256

static bool write_violation(struct ar_shim *s, const struct ar_refused_kind *k, bool is_last)
{
	char text[AR_REFUSED_TEXT_MAX];
	int len = ar_refused_text(&s->notify.refused, k, is_last, text);

	return ar_journal_file_add(&s->journal, AR_RECORD_VIOLATION, AR_STREAM_NONE, text, (size_t)len);
}

static void on_request(struct ar_shim *s, int arg)
{
	struct ar_notify *n = &s->notify;
	struct ar_refused_kind *k;
	enum ar_refused_state standing = ar_refused_poll(n->fd);

	(void)arg;
	for (int i = 0; i < AT_ONCE && standing == AR_REFUSED_WAITS; i++) {
		if (!ar_refused_answer(&n->refused, n->fd, &k))
			return;
		if (k)
			write_violation(s, k, false);
		standing = ar_refused_poll(n->fd);
	}
	if (standing == AR_REFUSED_OVER) {
		close(n->fd);
		n->fd = -1;
	}
}

void ar_notify_watch(struct ar_shim *s, struct ar_loop *l)
{
	ar_loop_watch(l, s->notify.fd, POLLIN, on_request, 0);
}

bool ar_notify_finish(struct ar_shim *s)
{
	struct ar_refused *r = &s->notify.refused;

	for (size_t i = 0; i < r->count; i++) {
		struct ar_refused_kind *k = &r->kinds[i];

		/* Of one that came once all is said. */
		if (k->count > 1 && !k->is_closed && !write_violation(s, k, true))
			return false;
		k->is_closed = true;
	}
	if (r->others > 0 && !write_violation(s, NULL, true))
		return false;
	r->others = 0;
	return true;
}
