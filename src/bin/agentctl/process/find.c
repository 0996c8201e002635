/* See process.h. The id of a process names its session, so a whole one costs one request. */
#include "process/process.h"
#include "id.h"
#include "resolve.h"

#include <string.h>

enum ar_exit ar_process_each(struct ar_ctl *c, struct ar_str session, ar_process_look *look, void *arg)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "get_session", ar_resolve_body_all(c, session), &reply);

	if (exit == AR_EXIT_OK) {
		for (struct ar_json_iter t = ar_json_iter(ar_json_get(reply.doc, "threads"));
		     ar_json_next(&t);) {
			struct ar_json list = ar_json_get(t.value, "processes");

			for (struct ar_json_iter p = ar_json_iter(list); ar_json_next(&p);)
				look(arg, p.value, reply.doc);
		}
	}
	ar_api_fini(&reply);
	return exit;
}

/* The facts of a process begin with the one of its boundary, whose id ends with its sequence. */
static int64_t begins_at(struct ar_json p)
{
	uint64_t sequence = 0;

	ar_id_counter(ar_api_str(p, "sandboxRef"), &sequence);
	return (int64_t)sequence;
}

struct search {
	struct ar_ctl *ctl;
	struct ar_str id; /* absent: the newest */
	struct ar_ctl_process *ret;
};

static void look_at(void *arg, struct ar_json p, struct ar_json session)
{
	struct search *s = arg;
	struct ar_arena *a = &s->ctl->arena;
	struct ar_str id = ar_api_str(p, "processId");
	int64_t sequence = begins_at(p);

	if (ar_str_absent(s->id) ? sequence < s->ret->sequence : !ar_str_eq(id, s->id))
		return;
	*s->ret = (struct ar_ctl_process){ .id = ar_arena_str(a, id),
					   .session = ar_arena_str(a, ar_api_str(session, "sessionId")),
					   .status = ar_arena_str(a, ar_api_str(p, "status")),
					   .sequence = sequence };
	s->ret->is_running = ar_str_is(s->ret->status, "running");
	ar_json_bool(ar_json_get(p, "tty"), &s->ret->has_tty);
}

enum ar_exit ar_process_find(struct ar_ctl *c, const char *word, struct ar_ctl_process *ret)
{
	struct search s = { .ctl = c, .ret = ret };
	struct ar_str session;
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_ctl_process){ 0 };
	if (strcmp(word, "last") == 0) {
		exit = ar_resolve_session(c, word, &session);
	} else {
		struct ar_str session_key = ar_id_session_key(ar_str_from(word));

		if (ar_str_absent(session_key) || !ar_str_starts(ar_str_from(word), AR_STR("proc_")))
			return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl ps lists them"),
					       "'%s' is not a process id", word);
		s.id = ar_str_from(word);
		session = ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(session_key));
	}
	if (exit == AR_EXIT_OK)
		exit = ar_process_each(c, session, look_at, &s);
	if (exit == AR_EXIT_OK && ar_str_absent(ret->id))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("agentctl ps lists them"),
				       "there is no process %s", word);
	return exit;
}
