/* See the header. Costs nothing while no session is damaged. Owner: the loop thread. */
#include "verify/damaged.h"
#include "engine_priv.h"

#include <string.h>

#define DAMAGED_MAX 4096

struct entry {
	char session_key[AR_SESSION_KEY_LEN];
	bool is_log_bad, is_unread;
};

struct ar_damaged {
	struct ar_map entries; /* session key -> struct entry */
	bool has_more; /* than are kept: what is not in memory may be damaged */
};

bool ar_engine_has_damage(const struct ar_engine *e)
{
	return e->damaged && e->damaged->entries.count > 0;
}

enum ar_damage ar_engine_damage(const struct ar_engine *e, struct ar_str session_key)
{
	const struct entry *found;

	if (!e->damaged || session_key.len != AR_SESSION_KEY_LEN ||
	    !ar_partition_has(&e->owned, ar_id_partition(session_key)))
		return AR_DAMAGE_NONE;
	found = ar_map_get(&e->damaged->entries, session_key);
	if (found)
		return found->is_unread ? AR_DAMAGE_STATE : AR_DAMAGE_HISTORY;
	return e->damaged->has_more && !ar_engine_peek(e, session_key) ? AR_DAMAGE_STATE : AR_DAMAGE_NONE;
}

void ar_damaged_forget(struct ar_engine *e, struct ar_str session_key)
{
	if (e->damaged)
		ar_free(ar_map_del(&e->damaged->entries, session_key));
}

static struct entry *entry_of(struct ar_engine *e, struct ar_str session_key)
{
	struct entry *it;

	if (!e->damaged)
		e->damaged = ar_new0(sizeof(*e->damaged));
	it = ar_map_get(&e->damaged->entries, session_key);
	if (it)
		return it;
	if (e->damaged->entries.count == DAMAGED_MAX) {
		e->damaged->has_more = true;
		return NULL;
	}
	it = ar_new0(sizeof(*it));
	memcpy(it->session_key, session_key.p, AR_SESSION_KEY_LEN);
	ar_map_put(&e->damaged->entries, (struct ar_str){ it->session_key, AR_SESSION_KEY_LEN }, it);
	return it;
}

void ar_damaged_unread(struct ar_engine *e, struct ar_str session_key)
{
	struct entry *it = entry_of(e, session_key);

	if (it)
		it->is_unread = true;
}

void ar_damaged_log(struct ar_engine *e, struct ar_str session_key)
{
	struct entry *it = entry_of(e, session_key);

	if (!it)
		return;
	it->is_log_bad = true;
	it->is_unread |= !ar_engine_peek(e, session_key); /* its next load tells */
}

void ar_damaged_loaded(struct ar_engine *e, struct ar_str session_key)
{
	struct entry *it = e->damaged ? ar_map_get(&e->damaged->entries, session_key) : NULL;

	if (!it)
		return;
	it->is_unread = false;
	if (!it->is_log_bad)
		ar_damaged_forget(e, session_key);
}

void ar_damaged_fini(struct ar_engine *e)
{
	struct entry *it;
	size_t cursor = 0;

	if (!e->damaged)
		return;
	while ((it = ar_map_next(&e->damaged->entries, &cursor)))
		ar_free(it); /* its key goes with it: the map is not looked at any more */
	ar_map_fini(&e->damaged->entries);
	ar_free(e->damaged);
}
