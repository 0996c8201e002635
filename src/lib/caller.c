/* A caller of the public header as the principal that the core knows. Pure. */
#include "mem.h"
#include "runtime_priv.h"

struct ar_principal *ar_principal_of(const struct ar_caller *caller)
{
	struct ar_caller c = { 0 };
	struct ar_principal given = { 0 }, *who;
	char *at;

	if (!caller)
		return NULL;
	ar_copy_sized(&c, sizeof(c), caller, caller->size);
	given.tenant = ar_str_from(c.tenant ? c.tenant : AR_TENANT_LOCAL);
	given.actor = ar_str_from(c.actor ? c.actor : "local");
	given.person = ar_str_from(c.person);
	who = ar_new0(sizeof(*who) + given.tenant.len + given.actor.len + given.person.len);
	at = (char *)(who + 1);
	who->tenant = ar_str_put(&at, given.tenant);
	who->actor = ar_str_put(&at, given.actor);
	who->person = ar_str_put(&at, given.person);
	who->rights = c.scopes & AR_SCOPE_ADMIN ? AR_RIGHT_ALL : c.scopes & AR_RIGHT_ALL;
	return who;
}
