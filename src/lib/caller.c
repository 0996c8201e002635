/* A caller of the public header as the principal that the core knows. Pure. */
#include "mem.h"
#include "runtime_priv.h"

#include <string.h>

static struct ar_str append_text(char **at, const char *text)
{
	size_t len = strlen(text);
	struct ar_str copy = { memcpy(*at, text, len), len };

	*at += len;
	return copy;
}

struct ar_principal *ar_principal_of(const struct ar_caller *caller)
{
	struct ar_caller c = { 0 };
	struct ar_principal *who;
	char *at;

	if (!caller)
		return NULL;
	ar_copy_sized(&c, sizeof(c), caller, caller->size);
	c.tenant = c.tenant ? c.tenant : AR_TENANT_LOCAL;
	c.actor = c.actor ? c.actor : "local";
	who = ar_new0(sizeof(*who) + strlen(c.tenant) + strlen(c.actor) + (c.person ? strlen(c.person) : 0));
	at = (char *)(who + 1);
	who->tenant = append_text(&at, c.tenant);
	who->actor = append_text(&at, c.actor);
	who->person = c.person ? append_text(&at, c.person) : AR_STR_NONE;
	who->rights = c.scopes & AR_SCOPE_ADMIN ? AR_RIGHT_ALL : c.scopes & AR_RIGHT_ALL;
	return who;
}
