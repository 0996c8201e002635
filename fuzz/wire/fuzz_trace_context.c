/* Fuzz target: a traceparent, which any client may send, and the pairs of telemetry.headers and
 * telemetry.resource. What is read as a traceparent names a trace and a span; no pair has a control
 * character, which could smuggle a header in. */
#include "context.h"
#include "encode.h"
#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_pair(void *arg AR_UNUSED, struct ar_str name, struct ar_str value)
{
	AR_ASSERT(name.len > 0);
	for (size_t i = 0; i < name.len; i++)
		AR_ASSERT((unsigned char)name.p[i] >= 0x20 && name.p[i] != 0x7f);
	for (size_t i = 0; i < value.len; i++)
		AR_ASSERT((unsigned char)value.p[i] >= 0x20 && value.p[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const uint8_t none[AR_TRACE_BYTES];
	struct ar_str text = { (const char *)bytes, len };
	struct ar_trace_context c;
	struct ar_arena a = { 0 };
	bool is_read = ar_traceparent_parse(text, &c);

	if (is_read)
		AR_ASSERT(len >= AR_TRACEPARENT_LEN && memcmp(c.trace, none, sizeof(c.trace)) != 0 &&
			  memcmp(c.span, none, sizeof(c.span)) != 0);
	(void)ar_otlp_pairs(text, &a, check_pair, NULL);
	ar_arena_fini(&a);
	return 0;
}
