/* The workspace of a session that names none, where the settings give one: of the tenant, or of the session
 * alone. It is a workspace as any other, made by its first session: counted against the quota, with a log of
 * its own, owned by the caller. Only where all sessions are on one node. Owner: the loop thread. */
#include "audit/trail.h"
#include "control_priv.h"
#include "quota/creating.h"
#include "tenant.h"
#include "workspace/workspace.h"

struct making {
	struct ar_call *call;
	struct ar_str key;
	struct ar_folder_request request;
	struct ar_workspace_folder folder;
	struct ar_cmd_create_workspace_in in;
	struct ar_engine_request write;
};

/* The same for a repeat of the call, whose session has another key each time. */
static struct ar_str key_of(struct ar_call *c)
{
	const struct ar_engine_request *w = &c->work->write;
	struct ar_str tenant = ar_control_who(c->who)->tenant, of;
	char *key = ar_arena_alloc(&c->arena, AR_SESSION_KEY_LEN);

	if (ar_engine_policy(c->control->engine)->default_workspace == AR_DEFAULT_OF_TENANT)
		of = AR_STR("default");
	else if (w->has_receipt)
		of = ar_arena_fmt(&c->arena, "default %.*s %.*s", AR_STR_ARG(w->receipt.scope),
				  AR_STR_ARG(w->receipt.key));
	else
		of = ar_arena_fmt(&c->arena, "default %.*s", AR_STR_ARG(w->session));
	ar_workspace_key(tenant, of, key); /* no path: it is the key of no other folder */
	return (struct ar_str){ key, AR_SESSION_KEY_LEN };
}

static void on_created(struct ar_engine_request *r)
{
	struct making *m = AR_CONTAINER_OF(r, struct making, write);

	if (r->status != AR_OK)
		ar_call_fail_or_move(m->call, &r->err);
	else
		ar_call_bind(m->call, m->key, ar_workspace_refuse_unknown);
}

static void on_folder(struct ar_folder_request *r)
{
	struct making *m = AR_CONTAINER_OF(r, struct making, request);
	struct ar_call *c = m->call;
	const struct ar_principal *who = ar_control_who(c->who);

	if (r->status != AR_OK) {
		ar_call_fail(c, &r->err);
		return;
	}
	m->folder = (struct ar_workspace_folder){ .root = r->folder, .is_managed = true };
	m->in.name = AR_STR("default");
	m->write = (struct ar_engine_request){
		.session = m->key,
		.may_create = true,
		.done = on_created,
		.audit = ar_trail_of_call(c),
		.input = { .kind = AR_IN_COMMAND,
			   .command = { .id = AR_CMD_CREATE_WORKSPACE, .args = &m->in, .folder = &m->folder },
			   .account = who->actor,
			   .person = who->person,
			   .tenant = who->tenant }
	};
	if (ar_call_is_here(c, m->key))
		ar_engine_write(c->control->engine, &m->write);
}

static void make(struct ar_call *c)
{
	struct making *m = ar_arena_alloc(&c->arena, sizeof(*m));

	m->call = c;
	m->key = key_of(c);
	m->request = (struct ar_folder_request){ .person = ar_control_who(c->who)->person,
						 .home = ar_control_home(c->who, &c->arena),
						 .key = m->key,
						 .arena = &c->arena,
						 .done = on_folder };
	c->control->find_folder(c->control->folder_arg, &m->request);
}

static void make_first(struct ar_call *c)
{
	ar_creating_check(c, AR_CREATING_WORKSPACE, key_of(c), make);
}

/* Whether it is there is asked of the store: in memory it may be before it is durable. Of two sessions that
 * begin at once both make it, and the second is given what the first has made. */
void ar_workspace_use_default(struct ar_call *c)
{
	if (!c->control->find_folder)
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this runtime has no folders for workspaces");
	else
		ar_call_bind(c, key_of(c), make_first);
}
