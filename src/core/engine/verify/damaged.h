/* The sessions of this node that are known to be damaged: found by a load or by a verification, until one of
 * them finds the session whole. In memory alone: the next start loads sessions with open work and finds
 * theirs again. Owner: the loop thread. */
#ifndef AR_ENGINE_DAMAGED_H
#define AR_ENGINE_DAMAGED_H

#include "engine.h"

enum ar_damage {
	AR_DAMAGE_NONE = 0, /* that is known */
	AR_DAMAGE_HISTORY, /* facts are lost, but what the session is could be read */
	AR_DAMAGE_STATE, /* it cannot be read: what is stored beside its log may not be what it is */
};

bool ar_engine_has_damage(const struct ar_engine *e); /* any session here; false: not that it is known */

/* Of a session of another node nothing is known here. */
enum ar_damage ar_engine_damage(const struct ar_engine *e, struct ar_str session_key);

/* For the engine: what a load or a verification found. */
void ar_damaged_unread(struct ar_engine *e, struct ar_str session_key); /* a load failed on it */
void ar_damaged_log(struct ar_engine *e, struct ar_str session_key); /* a verification did not fold its log */
void ar_damaged_forget(struct ar_engine *e, struct ar_str session_key); /* it is whole */
void ar_damaged_loaded(struct ar_engine *e, struct ar_str session_key); /* it could be read */
void ar_damaged_fini(struct ar_engine *e);

#endif
