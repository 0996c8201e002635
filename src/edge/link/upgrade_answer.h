/* The answer to a request for a WebSocket: whether the server agrees, and has read this request. Pure. */
#ifndef AR_LINK_UPGRADE_ANSWER_H
#define AR_LINK_UPGRADE_ANSWER_H

#include "str.h"

#define AR_UPGRADE_HEAD_MAX ((size_t)8 * 1024)

enum ar_upgrade_outcome {
	AR_UPGRADE_MORE, /* the head is not complete */
	AR_UPGRADE_DONE, /* what follows are frames */
	AR_UPGRADE_REFUSED, /* another status than 101 */
	AR_UPGRADE_BAD, /* no answer to our request, or longer than the cap */
};

struct ar_upgrade_answer {
	int status; /* with DONE and REFUSED */
	size_t head_bytes; /* with DONE */
	struct ar_str node; /* with DONE: which node has answered, in `bytes`; absent: it does not say */
};

/* `bytes` is all that came so far; `accept` and `protocol` are what the answer must name. */
enum ar_upgrade_outcome ar_upgrade_answer_read(struct ar_str bytes, struct ar_str accept,
					       struct ar_str protocol, struct ar_upgrade_answer *ret);

#endif
