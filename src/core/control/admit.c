/* Whether a principal may ask for something at all: its rights against the one that the
 * catalogue names for a command. That a session is its tenant's is another question
 * (tenant_check.c). Owner: the loop thread. */
#include "control_priv.h"
#include "tenant.h"

_Static_assert(AR_RIGHT_READ == 1u << 0 && AR_RIGHT_SUBMIT == 1u << 1 && AR_RIGHT_DECIDE == 1u << 2 &&
		       AR_RIGHT_WORKER == 1u << 3 && AR_RIGHT_ADMIN == 1u << 4,
	       "rights and the scopes of the catalogue are in one order");

const struct ar_principal *ar_control_who(const struct ar_principal *who)
{
	static const struct ar_principal local = { .tenant = { AR_TENANT_LOCAL, sizeof(AR_TENANT_LOCAL) - 1 },
						   .actor = { AR_TENANT_LOCAL, sizeof(AR_TENANT_LOCAL) - 1 },
						   .person = { AR_PERSON_LOCAL, sizeof(AR_PERSON_LOCAL) - 1 },
						   .rights = AR_RIGHT_ALL };

	return who ? who : &local;
}

/* core/access makes facts of refusals, together with others alike. */
static void report_refusal(struct ar_control *c, const struct ar_principal *who,
			   const struct ar_call_origin *from, const char *what, const struct ar_error *err)
{
	struct ar_audit a = { .tenant = who->tenant,
			      .actor = who->actor,
			      .token = who->token,
			      .command = ar_str_from(what),
			      .code = err->code,
			      .message = ar_str_from(err->msg),
			      .count = 1 };

	if (from)
		a.from = *from;
	if (c->auth)
		c->auth->v->refused(c->auth, &a);
}

enum ar_status ar_control_admit(struct ar_control *c, const struct ar_principal *who,
				const struct ar_call_origin *from, const struct ar_command_desc *what,
				struct ar_error *err)
{
	struct ar_error why = { 0 };

	who = ar_control_who(who);
	if (!ar_str_absent(who->worker)) {
		if (what->id == AR_CMD_ENROL_WORKER && who->is_enrolment && (who->rights & AR_RIGHT_WORKER))
			return AR_OK;
		ar_refuse(
			&why, AR_ERR_NOT_AUTHORIZED,
			"the token is a worker's: it enrols or connects the worker, and calls nothing else");
	} else if (who->rights & (what->right | AR_RIGHT_ADMIN)) {
		return AR_OK;
	} else {
		ar_refuse(&why, AR_ERR_NOT_AUTHORIZED,
			  "%s needs the scope '%s', which the caller does not have", what->name, what->scope);
	}
	report_refusal(c, who, from, what->name, &why);
	*err = why;
	return AR_E_REFUSED;
}

enum ar_status ar_control_need_right(const struct ar_call *c, unsigned right, const char *scope,
				     const char *what, struct ar_error *err)
{
	const struct ar_principal *who = ar_control_who(c->who);
	struct ar_error why = { 0 };

	if (who->rights & (right | AR_RIGHT_ADMIN))
		return AR_OK;
	ar_refuse(&why, AR_ERR_NOT_AUTHORIZED, "%s needs the scope '%s', which the caller does not have",
		  what, scope);
	report_refusal(c->control, who, &c->from, ar_command_describe(c->command)->name, &why);
	*err = why;
	return AR_E_REFUSED;
}

/* The scope submit is for work. These end some of it, or make it smaller. */
static bool ends_work(const struct ar_command_desc *what)
{
	static const bool ends[AR_CMD_COUNT] = {
		[AR_CMD_INTERRUPT_TURN] = true,	    [AR_CMD_PAUSE_TASK] = true,
		[AR_CMD_CANCEL_TASK] = true,	    [AR_CMD_ARCHIVE_TASK] = true,
		[AR_CMD_REMOVE_QUEUED_TURN] = true, [AR_CMD_CANCEL_JOB] = true,
		[AR_CMD_TERMINATE_PROCESS] = true,  [AR_CMD_CLOSE_SUBAGENT] = true,
		[AR_CMD_END_SCHEDULE] = true,	    [AR_CMD_REPORT_WEBHOOK] = true,
		[AR_CMD_REMOVE_TASK_PUSH] = true,
	};

	return ends[what->id];
}

void ar_control_mind_memory(struct ar_control *c, ar_control_room_fn *has_room, void *arg)
{
	c->has_room = has_room;
	c->room_arg = arg;
}

void ar_control_drain(struct ar_control *c)
{
	c->is_draining = true;
}

enum ar_status ar_control_reserve_memory(struct ar_call *c, const struct ar_command_desc *what,
					 struct ar_error *err)
{
	struct ar_control *control = c->control;

	if (!what->write || what->right != AR_RIGHT_SUBMIT || ends_work(what))
		return AR_OK;
	if (control->is_draining)
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "the server is stopping and accepts no new work; repeat in a moment");
	if (control->has_room && !control->has_room(control->room_arg, control->held + c->body.len))
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "the server is short of memory and accepts no new work; repeat in a moment");
	c->held = c->body.len;
	control->held += c->held;
	return AR_OK;
}

enum ar_status ar_control_check_home(struct ar_control *c, const struct ar_principal *who,
				     struct ar_str session_key, struct ar_error *err)
{
	struct ar_error why = { 0 };

	who = ar_control_who(who);
	if ((who->rights & AR_RIGHT_ADMIN) || !ar_tenant_is_home(who->tenant, session_key))
		return AR_OK;
	ar_refuse(&why, AR_ERR_NOT_AUTHORIZED,
		  "the home session of a tenant needs the scope 'admin', which the caller does not have");
	report_refusal(c, who, NULL, "home", &why);
	*err = why;
	return AR_E_REFUSED;
}

struct ar_str ar_control_home(const struct ar_principal *who, struct ar_arena *a)
{
	char *home = ar_arena_alloc(a, AR_SESSION_KEY_LEN);

	ar_tenant_home(ar_control_who(who)->tenant, home);
	return (struct ar_str){ home, AR_SESSION_KEY_LEN };
}

void ar_control_guard(struct ar_control *c, struct ar_auth *auth)
{
	c->auth = auth;
}
