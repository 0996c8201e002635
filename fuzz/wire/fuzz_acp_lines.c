/* Fuzz target: what an editor writes to agentctl acp, to lines. Whatever the bytes and however they arrive, a
 * line has no newline in it, is not blank and within its limit; one over the limit is refused once; and what
 * is kept between two portions is within the limit, too. */
#include "acp/acp.h"
#include "portions.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct portions *now; /* of the reading that is under way */

void ar_acp_line(struct ar_acp *a AR_UNUSED, struct ar_str line)
{
	AR_ASSERT(line.len <= AR_ACP_LINE_MAX && !memchr(line.p, '\n', line.len));
	AR_ASSERT(ar_str_trim(line, " \t\r").len > 0);
	portions_mix_str(now, line);
}

void ar_acp_error(struct ar_acp *a, struct ar_str id, enum ar_acp_code code, const char *fmt AR_UNUSED, ...)
{
	AR_ASSERT(a->is_too_long && a->in.len == 0 && ar_str_is(id, "null") &&
		  code == AR_ACP_INVALID_REQUEST);
	portions_mix(now, "refused", 7);
}

static uint64_t read_lines(struct portions how, struct ar_str bytes)
{
	struct ar_ctl ctl = { 0 };
	struct ar_acp a = { .ctl = &ctl };

	now = &how;
	while (bytes.len) {
		size_t n = portions_next(&how, 1, bytes.len);

		ar_acp_feed(&a, ar_str_sub(bytes, 0, n));
		AR_ASSERT(a.in.len <= AR_ACP_LINE_MAX);
		bytes = ar_str_sub(bytes, n, bytes.len);
	}
	portions_mix_str(&how, ar_buf_str(&a.in));
	ar_buf_fini(&a.in);
	ar_arena_fini(&ctl.arena);
	return how.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	return portions_compare(bytes, len, read_lines);
}
