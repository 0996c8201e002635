/* The head of a proxy request and the text of a rule: bytes that a process in a sandbox chooses. Whatever is
 * taken has to be one host in its one form. */
#include "request.h"

#include <stdlib.h>
#include <string.h>

static void check_host(const char *host)
{
	char again[AR_EGRESS_HOST_MAX];

	/* An IPv6 address stands without brackets in its one form. */
	if (strchr(host, ':'))
		return;
	if (!ar_egress_host(ar_str_from(host), again) || strcmp(again, host) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len };
	struct ar_egress_request r;
	struct ar_egress_rule rule;

	if (len == 0)
		return 0;
	if (ar_egress_request_read(text, &r) == AR_EGRESS_WHOLE) {
		check_host(r.host);
		if (r.port == 0 || r.size > len || (!r.is_connect && memchr(r.head.p, 0, r.head.len)))
			abort();
	}
	ar_egress_request_fini(&r);
	if (ar_egress_rule_read(text, &rule) && rule.host[0] != '*')
		check_host(rule.host);
	return 0;
}
