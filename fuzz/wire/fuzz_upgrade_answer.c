/* Bytes of a server that was asked for a WebSocket. Agreement needs the whole proof, what came behind the
 * head changes nothing, and every shorter beginning was incomplete. */
#include "upgrade_answer.h"

#include <stdlib.h>
#include <string.h>

#define ACCEPT AR_STR("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
#define PROTOCOL AR_STR("agentruntime.worker.1")

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct ar_str bytes = { (const char *)p, len };
	struct ar_upgrade_answer whole, part;
	enum ar_upgrade_outcome outcome = ar_upgrade_answer_read(bytes, ACCEPT, PROTOCOL, &whole);

	if (outcome == AR_UPGRADE_MORE && len > AR_UPGRADE_HEAD_MAX)
		abort();
	if (outcome != AR_UPGRADE_DONE && outcome != AR_UPGRADE_REFUSED)
		return 0;
	if (whole.head_bytes > len || whole.status < 100 || whole.status > 999)
		abort();
	if (outcome == AR_UPGRADE_DONE && !memmem(p, whole.head_bytes, ACCEPT.p, ACCEPT.len))
		abort();
	if (ar_upgrade_answer_read(ar_str_sub(bytes, 0, whole.head_bytes), ACCEPT, PROTOCOL, &part) !=
		    outcome ||
	    part.head_bytes != whole.head_bytes)
		abort();
	for (size_t i = 0; i < whole.head_bytes; i++) {
		if (ar_upgrade_answer_read(ar_str_sub(bytes, 0, i), ACCEPT, PROTOCOL, &part) !=
		    AR_UPGRADE_MORE)
			abort();
	}
	return 0;
}
