/* A document is read to 64 levels. What is put into another document later has to leave room for the
 * levels of that one, or nobody could read it again. Pure. */
#ifndef AR_BASE_JSON_DEPTH_H
#define AR_BASE_JSON_DEPTH_H

#include "json.h"

/* Of what comes from outside and is put into documents of ours: facts, pages of them, snapshots, answers. */
#define AR_JSON_LEVELS 48

AR_BEGIN_DECLS

/* Whether arrays and objects stand in each other more than `levels` deep. */
bool ar_json_is_deeper(struct ar_json v, unsigned levels);

AR_END_DECLS

#endif
