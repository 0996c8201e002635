/* See secret.h. The head is one that request.c wrote: lines end with CR LF, a name stands before the colon,
 * nothing is folded. */
#include "secret.h"

#include <string.h>
#include <strings.h>

static bool is_authorization(struct ar_str line)
{
	static const char name[] = "authorization:";

	return line.len >= sizeof(name) - 1 && strncasecmp(line.p, name, sizeof(name) - 1) == 0;
}

static const struct ar_egress_secret *first_in(struct ar_str text, const struct ar_egress_request *r,
					       const struct ar_egress_secret *secrets, size_t count,
					       size_t *ret_at)
{
	const struct ar_egress_secret *first = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct ar_egress_secret *s = &secrets[i];
		const char *found = memmem(text.p, text.len, s->placeholder.p, s->placeholder.len);

		if (!found || (first && (size_t)(found - text.p) >= *ret_at) ||
		    !ar_egress_find(s->hosts, s->host_count, r->host, r->port))
			continue;
		first = s;
		*ret_at = (size_t)(found - text.p);
	}
	return first;
}

static void fill_line(struct ar_buf *out, struct ar_str line, const struct ar_egress_request *r,
		      const struct ar_egress_secret *secrets, size_t count)
{
	const struct ar_egress_secret *s;
	size_t at = 0;

	while ((s = first_in(line, r, secrets, count, &at))) {
		ar_buf_adds(out, ar_str_sub(line, 0, at));
		ar_buf_adds(out, s->value);
		line = ar_str_sub(line, at + s->placeholder.len, line.len);
	}
	ar_buf_adds(out, line);
}

void ar_egress_secrets_fill(struct ar_egress_request *r, const struct ar_egress_secret *secrets, size_t count)
{
	struct ar_str rest = ar_buf_str(&r->head), line;
	struct ar_buf filled = { 0 };

	if (r->is_connect || count == 0)
		return;
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (is_authorization(line))
			fill_line(&filled, line, r, secrets, count);
		else
			ar_buf_adds(&filled, line);
		if (!ar_str_absent(rest))
			ar_buf_addz(&filled, "\n");
	}
	ar_buf_fini(&r->head);
	r->head = filled;
}
