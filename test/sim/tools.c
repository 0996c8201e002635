/* Tools whose work is done by processes: `run` waits for its process, `watch` leaves it running. What the
 * source is told of an end is checked: all that the process wrote, in the order it wrote it. */
#include "sim.h"

#include <stdio.h>

struct sim_tool_call {
	struct ar_list node;
	struct sim_actor actor;
	struct sim *sim;
	struct ar_tool_call *call;
	struct ar_tool_result result;
	bool has_asked, is_ending;
	char text[64];
};

static const struct ar_tool tools[] = {
	{ .name = AR_STR("run"),
	  .description = AR_STR("Runs."),
	  .schema = AR_STR("{}"),
	  .owner = AR_TOOL_LOCAL,
	  .runs_process = true,
	  .works_in_folder = true,
	  .limit_ms = 60000 },
	{ .name = AR_STR("watch"),
	  .description = AR_STR("Runs on."),
	  .schema = AR_STR("{}"),
	  .owner = AR_TOOL_LOCAL,
	  .runs_process = true,
	  .works_in_folder = true },
};

static void call_free(struct sim_tool_call *c)
{
	ar_list_del(&c->node);
	ar_list_del(&c->actor.node);
	ar_free(c);
}

static void end(struct sim_tool_call *c)
{
	struct ar_tool_call *call = c->call;
	struct ar_tool_result r = c->result;
	unsigned long long now = (unsigned long long)c->sim->now;
	struct ar_tool_artifact file = { .change = now % 5 ? AR_TOOL_MODIFIED : AR_TOOL_DELETED };
	char text[64], path[16], version[65];

	memcpy(text, c->text, sizeof(text));
	r.text = ar_str_from(text);
	snprintf(path, sizeof(path), "f%llu", now % 7);
	snprintf(version, sizeof(version), "%064llx", now);
	file.path = ar_str_from(path);
	file.version = ar_str_from(version);
	file.content = now % 3 ? r.text : AR_STR_NONE;
	r.artifacts = &file;
	r.artifact_count = 1;
	sim_say(c->sim, "tool", "%.*s ends with outcome %d", AR_STR_ARG(call->tool_call_id), (int)r.outcome);
	call->source_state = NULL;
	call_free(c);
	call->v->on_done(call, &r);
}

/* Now, or a little later. */
static void end_with(struct sim_tool_call *c, enum ar_tool_outcome outcome)
{
	struct sim *s = c->sim;

	c->result = (struct ar_tool_result){ .outcome = outcome, .message = AR_STR("so it was") };
	c->is_ending = true;
	if (sim_chance(s, 400)) {
		end(c);
		return;
	}
	c->actor.at = s->now + (ar_usec)sim_below(s, 8 * SIM_MS);
}

static void ask(struct sim_tool_call *c)
{
	static const struct ar_str argv[] = { { "/bin/sim", 8 } };
	struct sim *s = c->sim;
	struct ar_process_spec spec = { .argv = argv,
					.argc = 1,
					.command = AR_STR("sim --now"),
					.has_input = true,
					.tty = sim_chance(s, 200),
					.profile = AR_SANDBOX_WORKSPACE_WRITE };

	c->has_asked = true;
	c->call->v->on_progress(c->call,
				&(struct ar_tool_progress){ .text = AR_STR("asking"), .percent = 1 });
	c->call->v->on_process(c->call, &spec);
}

static void call_step(struct sim *s, struct sim_actor *a)
{
	struct sim_tool_call *c = AR_CONTAINER_OF(a, struct sim_tool_call, actor);

	if (c->is_ending)
		end(c);
	else if (!c->has_asked && sim_chance(s, 50))
		end_with(c, AR_TOOL_ERROR);
	else if (!c->has_asked)
		ask(c);
}

static void start(struct ar_tool_source *src, struct ar_tool_call *call)
{
	struct sim *s = AR_CONTAINER_OF(src, struct sim, source);
	struct sim_tool_call *c = ar_new0(sizeof(*c));

	c->sim = s;
	c->call = call;
	call->source_state = c;
	c->has_asked = !ar_str_absent(call->process_id);
	s->files = ++s->states;
	if (!sim_worker_takes(s, call->worker) && ar_str_absent(call->process_id)) {
		c->result = (struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN };
		c->is_ending = c->has_asked = true;
	}
	sim_say(s, "tool", "%.*s starts, its process is %.*s", AR_STR_ARG(call->tool_call_id),
		AR_STR_ARG(call->process_id));
	ar_list_push(&s->tool_calls, &c->node);
	sim_actor_start(s, &c->actor,
			c->is_ending   ? s->now
			: c->has_asked ? SIM_NEVER
				       : s->now + (ar_usec)sim_below(s, 5 * SIM_MS),
			call_step);
}

static void cancel(struct ar_tool_source *src, struct ar_tool_call *call)
{
	struct sim_tool_call *c = call->source_state;

	(void)src;
	if (c && !c->is_ending)
		end_with(c, AR_TOOL_CANCELLED);
}

static void answer(struct ar_tool_source *src, struct ar_tool_call *call, const struct ar_tool_answer *a)
{
	(void)call;
	(void)a;
	sim_fail(AR_CONTAINER_OF(src, struct sim, source), "a tool that asks nothing is answered");
}

static void began(struct ar_tool_source *src, struct ar_tool_call *call, struct ar_str process)
{
	struct sim *s = AR_CONTAINER_OF(src, struct sim, source);
	struct sim_tool_call *c = call->source_state;

	if (!c || !c->has_asked)
		sim_fail(s, "%.*s began for a call that did not ask", AR_STR_ARG(process));
	if (ar_str_is(call->tool->name, "watch") && !c->is_ending)
		end_with(c, AR_TOOL_OK);
}

static void ended(struct ar_tool_source *src, struct ar_tool_call *call, const struct ar_process_result *r)
{
	static const enum ar_tool_outcome outcomes[] = {
		[AR_PROC_EXITED] = AR_TOOL_OK,	      [AR_PROC_NOT_STARTED] = AR_TOOL_NOT_RUN,
		[AR_PROC_ENDED] = AR_TOOL_CANCELLED,  [AR_PROC_TIMED_OUT] = AR_TOOL_TIMEOUT,
		[AR_PROC_LIMIT_HIT] = AR_TOOL_ERROR,  [AR_PROC_SUPERVISOR_LOST] = AR_TOOL_ERROR,
		[AR_PROC_UNAVAILABLE] = AR_TOOL_LOST,
	};
	struct sim *s = AR_CONTAINER_OF(src, struct sim, source);
	struct sim_tool_call *c = call->source_state;

	sim_say(s, "tool", "%.*s is told of the end of %.*s: %d", AR_STR_ARG(call->tool_call_id),
		AR_STR_ARG(r->process_id), (int)r->end->outcome);
	if (!c || !c->has_asked)
		sim_fail(s, "an end is told to a call that did not ask");
	if (!ar_str_absent(r->process_id) && r->end->outcome != AR_PROC_UNAVAILABLE)
		sim_check_told(s, r);
	if (!c->is_ending)
		end_with(c, outcomes[r->end->outcome]);
}

static void source_close(struct ar_tool_source *src)
{
	struct sim *s = AR_CONTAINER_OF(src, struct sim, source);

	while (!ar_list_empty(&s->tool_calls)) {
		struct sim_tool_call *c = AR_CONTAINER_OF(s->tool_calls.next, struct sim_tool_call, node);

		c->result.outcome = AR_TOOL_CANCELLED;
		end(c);
	}
}

static const struct ar_tool_source_vtable vtable = { .start = start,
						     .cancel = cancel,
						     .answer = answer,
						     .process_began = began,
						     .process_ended = ended,
						     .close = source_close };

static void show(struct sim *s, bool is_ready)
{
	s->source.tool_count = is_ready ? AR_ARRAY_LEN(tools) : 0;
	s->source.is_ready = is_ready;
	s->source.on_changed(s->source.arg);
	s->policy.inventory = ar_toolbox_inventory(s->toolbox);
}

static void find_tools(struct sim *s, struct sim_actor *a AR_UNUSED)
{
	sim_say(s, "tools", "found");
	show(s, true);
}

void sim_tools_lose(struct sim *s)
{
	show(s, false);
	sim_actor_by(&s->finder, s->now + (ar_usec)sim_below(s, 1000) * SIM_MS);
}

void sim_tools_open(struct sim *s)
{
	ar_list_init(&s->tool_calls);
	s->source = (struct ar_tool_source){ .v = &vtable,
					     .name = "sim",
					     .tools = tools,
					     .tool_count = AR_ARRAY_LEN(tools),
					     .is_ready = true };
	s->toolbox = ar_toolbox_new();
	ar_toolbox_add(s->toolbox, &s->source);
	s->policy.inventory = ar_toolbox_inventory(s->toolbox);
	sim_actor_start(s, &s->finder, SIM_NEVER, find_tools);
}

void sim_tools_cut(struct sim *s)
{
	AR_LIST_FOR_SAFE (it, &s->tool_calls) {
		struct sim_tool_call *c = AR_CONTAINER_OF(it, struct sim_tool_call, node);

		if (ar_str_absent(c->call->worker) || c->has_asked || c->is_ending)
			continue;
		c->result = (struct ar_tool_result){ .outcome = AR_TOOL_LOST };
		c->is_ending = true;
		c->actor.at = s->now;
	}
}

void sim_tools_drop(struct sim *s)
{
	while (!ar_list_empty(&s->tool_calls))
		call_free(AR_CONTAINER_OF(s->tool_calls.next, struct sim_tool_call, node));
}
