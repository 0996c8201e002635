/* People who gave the work of a turn or a task, as authentication knows them (principal.person):
 * names, each once. Where somebody among them is not known, everybody could be: the name
 * AR_PERSON_UNKNOWN stands for that. Pure; texts are made in the arena given. */
#ifndef AR_SESSION_PEOPLE_H
#define AR_SESSION_PEOPLE_H

#include "decide.h"

#define AR_PERSON_UNKNOWN "unknown"
#define AR_PEOPLE_MAX 16 /* with more of them nobody counts as another */

struct ar_texts ar_people_unknown(void);
struct ar_texts ar_people_add(struct ar_arena *a, struct ar_texts people, struct ar_str person);

/* Whether the person may be one of them: also when nobody, or not all of them, are on record. */
bool ar_people_may_have(struct ar_texts people, struct ar_str person);

/* Those, and the caller of the command that is decided; only those when no command is. */
struct ar_texts ar_people_with_caller(struct ar_decision *d, struct ar_texts people);

#endif
