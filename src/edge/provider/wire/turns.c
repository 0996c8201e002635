/* See turns.h. */
#include "wire/turns.h"

#include <string.h>

void ar_turns_end(struct ar_turns *t)
{
	if (!t->role)
		return;
	ar_jw_close_array(t->w);
	ar_jw_close(t->w);
	t->role = NULL;
}

void ar_turns_role(struct ar_turns *t, const char *role)
{
	if (t->role && strcmp(t->role, role) == 0)
		return;
	ar_turns_end(t);
	t->role = role;
	ar_jw_open(t->w);
	ar_jw_mstr(t->w, "role", ar_str_from(role));
	ar_jw_key(t->w, t->list);
	ar_jw_open_array(t->w);
}
