/* See push.h. */
#include "push.h"
#include "a2a_message.h"
#include "id.h"

#include <string.h>

#define URL_MAX 1024
#define TOKEN_MAX 256
#define SCHEME_MAX 32
#define CREDENTIALS_MAX 2048

bool ar_a2a_read_push_id(struct ar_json v, struct ar_arena *a, struct ar_str *ret, struct ar_a2a_failure *f)
{
	if (!ar_a2a_text(v, "id", a, ret, f))
		return false;
	if (ar_str_absent(*ret) || ar_id_acceptable(*ret))
		return true;
	return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "id",
			   "the id of a push configuration has 1 to 128 of A-Z a-z 0-9 . _ : -");
}

/* Goes into a header as it is: nothing that could end the line, or be read in two ways. */
static bool is_header_text(struct ar_str s, size_t max)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	}
	return s.len <= max && (!s.len || (s.p[0] != ' ' && s.p[s.len - 1] != ' '));
}

static bool is_scheme(struct ar_str s)
{
	return is_header_text(s, SCHEME_MAX) && !memchr(s.p, ' ', s.len) && !memchr(s.p, ':', s.len) &&
	       !memchr(s.p, ',', s.len);
}

static bool check(const struct ar_a2a_push *p, struct ar_a2a_failure *f)
{
	if (ar_str_empty(p->url) || p->url.len > URL_MAX)
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "url", "url has to have 1 to %d bytes", URL_MAX);
	if (!ar_str_absent(p->token) && !is_header_text(p->token, TOKEN_MAX))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "token",
				   "token has to be a header value of at most %d bytes", TOKEN_MAX);
	if (!ar_str_absent(p->scheme) && !is_scheme(p->scheme))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "authentication.scheme",
				   "scheme has to be a word of at most %d bytes", SCHEME_MAX);
	if (!ar_str_absent(p->credentials) &&
	    (ar_str_absent(p->scheme) || !is_header_text(p->credentials, CREDENTIALS_MAX)))
		return ar_a2a_fail(
			f, AR_A2A_INVALID_PARAMS, "authentication.credentials",
			"credentials need a scheme, and have to be a header value of at most %d bytes",
			CREDENTIALS_MAX);
	return true;
}

bool ar_a2a_read_push(struct ar_json v, struct ar_arena *a, struct ar_a2a_push *ret, struct ar_a2a_failure *f)
{
	struct ar_json authentication = ar_json_get(v, "authentication");

	*ret = (struct ar_a2a_push){ .task = AR_STR_NONE };
	return ar_a2a_read_push_id(v, a, &ret->id, f) && ar_a2a_text(v, "url", a, &ret->url, f) &&
	       ar_a2a_text(v, "token", a, &ret->token, f) &&
	       ar_a2a_text(authentication, "scheme", a, &ret->scheme, f) &&
	       ar_a2a_text(authentication, "credentials", a, &ret->credentials, f) && check(ret, f);
}

void ar_a2a_write_push(struct ar_jw *w, const struct ar_a2a_push *p)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "id", p->id);
	ar_jw_mstr(w, "taskId", p->task);
	ar_jw_mstr(w, "url", p->url);
	if (!ar_str_empty(p->scheme)) {
		ar_jw_key(w, "authentication");
		ar_jw_open(w);
		ar_jw_mstr(w, "scheme", p->scheme);
		ar_jw_close(w);
	}
	ar_jw_close(w);
}
