/* Commands that sessions send to other sessions of their tenant: called here, or passed on to the node that
 * owns the other session. Implements port/sender.h. Nothing is repeated here: the engine does, by the code of
 * the answer. Owner: the loop thread. */
#include "control_priv.h"
#include "mem.h"
#include "sender.h"

struct ar_control_send {
	struct ar_list node; /* control's sends */
	struct ar_send_run *run;
	struct ar_principal who;
	struct ar_call call;
	struct ar_passed_call passed;
};

static void send_free(struct ar_control_send *s)
{
	ar_list_del(&s->node);
	ar_call_fini(&s->call);
	ar_free(s);
}

static void finish(struct ar_control_send *s, uint16_t code, struct ar_str reply)
{
	s->run->on_done(s->run, code, reply);
	send_free(s);
}

static void on_passed(struct ar_passed_call *p, uint16_t code, struct ar_str reply)
{
	finish(AR_CONTAINER_OF(p, struct ar_control_send, passed), code, reply);
}

bool ar_control_pass(struct ar_control *c, struct ar_passed_call *p)
{
	return c->pass && c->pass(c->pass_arg, p);
}

static void pass_on(struct ar_control_send *s)
{
	struct ar_control *c = s->call.control;

	s->passed = (struct ar_passed_call){ .address = s->call.peer,
					     .body = s->call.body,
					     .command = ar_command_describe(s->call.command)->name,
					     .who = &s->who,
					     .done = on_passed };
	if (!ar_control_pass(c, &s->passed))
		finish(s, AR_ERR_OWNER_UNREACHABLE, AR_STR("{}"));
}

static void on_called(struct ar_call *call)
{
	struct ar_control_send *s = AR_CONTAINER_OF(call, struct ar_control_send, call);

	if (call->place == AR_PLACE_HERE)
		finish(s, call->code, ar_call_reply(call));
	else if (call->place == AR_PLACE_PEER)
		pass_on(s);
	else
		finish(s, AR_ERR_NOT_OWNER, AR_STR("{}"));
}

static void start(struct ar_sender *sender, struct ar_send_run *run)
{
	struct ar_control *c = AR_CONTAINER_OF(sender, struct ar_control, sender);
	struct ar_control_send *s = ar_new0(sizeof(*s));

	s->run = run;
	s->who = (struct ar_principal){ .tenant = run->tenant,
					.actor = AR_STR("runtime"),
					.person = run->person,
					.rights = AR_RIGHT_READ | AR_RIGHT_SUBMIT,
					.is_runtime = true };
	s->call = (struct ar_call){
		.command = (enum ar_command)run->command, .body = run->body, .who = &s->who, .done = on_called
	};
	ar_list_push(&c->sends, &s->node);
	ar_control_call(c, &s->call);
}

struct ar_sender *ar_control_sender(struct ar_control *c)
{
	static const struct ar_sender_vtable vtable = { start };

	c->sender.v = &vtable;
	return &c->sender;
}

void ar_control_pass_calls(struct ar_control *c, ar_control_pass_fn *pass, void *arg)
{
	c->pass = pass;
	c->pass_arg = arg;
}

void ar_control_forget_sends(struct ar_control *c)
{
	while (!ar_list_empty(&c->sends))
		send_free(AR_CONTAINER_OF(c->sends.next, struct ar_control_send, node));
}
