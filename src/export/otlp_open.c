/* See otlp_open.h. */
#include "otlp_open.h"
#include "mem.h"

#define BILLION 1000000000
#define AMOUNT_MAX 9e9 /* more is no price of ours */

/* ---- what is open ---- */

static struct ar_str key_of(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id)
{
	ar_buf_clear(&k->key);
	ar_buf_addf(&k->key, "%d %.*s", (int)type, AR_STR_ARG(id));
	return ar_buf_str(&k->key);
}

struct ar_otlp_open *ar_otlp_find(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id)
{
	return ar_str_absent(id) ? NULL : ar_map_get(&k->open, key_of(k, type, id));
}

static struct ar_otlp_open *begin(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id)
{
	struct ar_otlp_open *o = ar_otlp_find(k, type, id);

	if (o)
		return o;
	o = ar_new0(sizeof(*o));
	o->key = ar_str_dup(key_of(k, type, id));
	ar_map_put(&k->open, ar_str_from(o->key), o);
	return o;
}

static void open_free(struct ar_otlp_open *o)
{
	ar_free(o->key);
	ar_free(o->provider);
	ar_free(o->model);
	ar_free(o->mode);
	ar_free(o->source);
	ar_free(o->parent);
	ar_free(o);
}

void ar_otlp_forget(struct ar_otlp_known *k, enum ar_span_type type, struct ar_str id)
{
	struct ar_otlp_open *o = ar_map_del(&k->open, key_of(k, type, id));

	if (o)
		open_free(o);
}

/* ---- child agents ---- */

struct child {
	char *thread, *id;
};

static void add_child(struct ar_otlp_known *k, struct ar_str thread, struct ar_str id)
{
	struct child *c;

	if (ar_str_absent(thread) || ar_str_absent(id) || ar_map_get(&k->children, thread))
		return;
	c = ar_new0(sizeof(*c));
	c->thread = ar_str_dup(thread);
	c->id = ar_str_dup(id);
	ar_map_put(&k->children, ar_str_from(c->thread), c);
}

struct ar_str ar_otlp_child(const struct ar_otlp_known *k, struct ar_str thread)
{
	const struct child *c = ar_str_absent(thread) ? NULL : ar_map_get(&k->children, thread);

	return c ? ar_str_from(c->id) : AR_STR_NONE;
}

void ar_otlp_known_fini(struct ar_otlp_known *k)
{
	size_t at = 0;
	struct ar_otlp_open *o;
	struct child *c;

	while ((o = ar_map_next(&k->open, &at)))
		open_free(o);
	for (at = 0; (c = ar_map_next(&k->children, &at));) {
		ar_free(c->thread);
		ar_free(c->id);
		ar_free(c);
	}
	ar_map_fini(&k->open);
	ar_map_fini(&k->children);
	ar_buf_fini(&k->key);
	ar_free(k->tenant);
}

/* ---- what facts say ---- */

static void take_price(struct ar_export *x, struct ar_otlp_open *turn, const struct ar_export_fact *f)
{
	double amount;

	turn->requests++;
	if (ar_export_amount(x, ar_json_get(f->payload, "amount"), &amount) && amount >= 0 &&
	    amount <= AMOUNT_MAX)
		turn->cost += (int64_t)(amount * BILLION + 0.5);
	else
		turn->unpriced++;
}

static void take_usage(struct ar_otlp_open *turn, struct ar_json usage)
{
	turn->input += ar_export_int(usage, "inputTokens");
	turn->output += ar_export_int(usage, "outputTokens");
	turn->cached += ar_export_int(usage, "cachedTokens");
}

static void take_route(struct ar_otlp_open *turn, const struct ar_export_fact *f)
{
	struct ar_json to = ar_json_get(f->payload, "to");

	turn->is_routed = true;
	if (ar_str_is(f->type, "routing.candidates.resolved")) {
		ar_export_keep(&turn->provider,
			       ar_export_str(ar_json_at(ar_json_get(f->payload, "candidates"), 0),
					     "provider"));
	} else if (ar_str_is(f->type, "routing.fallback.applied")) {
		ar_export_keep(&turn->provider, ar_export_str(to, "provider"));
		ar_export_keep(&turn->model, ar_export_str(to, "model"));
		ar_export_keep(&turn->source, AR_STR("runtime_fallback"));
		turn->fallbacks++;
	} else if (ar_str_is(f->type, "routing.not_possible")) {
		ar_export_keep(&turn->mode, AR_STR("no_candidate"));
	} else {
		ar_export_keep(&turn->provider, ar_export_str(f->payload, "selectedProvider"));
		ar_export_keep(&turn->model, ar_export_str(f->payload, "selectedModel"));
		ar_export_keep(&turn->source, ar_export_str(f->payload, "decisionSource"));
		ar_export_keep(&turn->mode, ar_str_is(f->type, "routing.decided")
						    ? ar_export_str(f->payload, "routingMode")
						    : AR_STR("single_candidate"));
	}
}

static void learn_turn(struct ar_export *x, struct ar_otlp_open *turn, const struct ar_export_fact *f,
		       ar_usec now)
{
	if (ar_str_is(f->type, "turn.submitted")) {
		turn->submitted = now;
		ar_export_keep(&turn->parent, ar_export_str(f->payload, "traceParent"));
	} else if (ar_str_is(f->type, "turn.started")) {
		turn->started = now;
	} else if (ar_str_is(f->type, "cost.recorded")) {
		take_price(x, turn, f);
	} else if (ar_str_is(f->type, "model.completed")) {
		take_usage(turn, ar_json_get(f->payload, "usage"));
	} else if (ar_str_is(f->type, "task.profile.resolved") ||
		   ar_str_starts(f->type, AR_STR("routing."))) {
		take_route(turn, f);
	}
}

/* Facts with which a span begins that the fact of its end does not tell the start of. */
static const struct {
	const char *type;
	enum ar_span_type span;
	const char *id, *attempt;
} beginnings[] = {
	{ "task.attempt.started", AR_SPAN_TASK_RUN, "runId", "attemptCount" },
	{ "model.requested", AR_SPAN_MODEL_REQUEST, "modelRequestId", NULL },
	{ "tool.started", AR_SPAN_TOOL_CALL, "toolCallId", "attempt" },
	{ "process.started", AR_SPAN_PROCESS_EXEC, "processId", NULL },
};

static void learn_start(struct ar_otlp_known *k, const struct ar_export_fact *f, ar_usec now)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(beginnings); i++) {
		struct ar_otlp_open *o;

		if (!ar_str_is(f->type, beginnings[i].type))
			continue;
		o = begin(k, beginnings[i].span, ar_export_str(f->doc, beginnings[i].id));
		o->started = now;
		o->attempt = 1;
		if (beginnings[i].attempt)
			ar_json_i64(ar_json_get(f->payload, beginnings[i].attempt), &o->attempt);
	}
}

void ar_otlp_learn(struct ar_export *x, struct ar_otlp_known *k, const struct ar_export_fact *f)
{
	struct ar_str turn = ar_export_str(f->doc, "turnId");
	struct ar_otlp_open *o = ar_str_is(f->type, "turn.submitted") && !ar_str_absent(turn)
					 ? begin(k, AR_SPAN_INTERACTION, turn)
					 : ar_otlp_find(k, AR_SPAN_INTERACTION, turn);
	ar_usec now = 0;

	if (ar_str_absent(f->time) || !ar_time_parse(f->time, &now))
		return;
	if (o)
		learn_turn(x, o, f, now);
	learn_start(k, f, now);
	if (ar_str_is(f->type, "session.created"))
		ar_export_keep(&k->tenant, ar_export_str(f->payload, "tenant"));
	if (ar_str_is(f->type, "subagent.spawned"))
		add_child(k, ar_export_str(f->payload, "childThreadId"), ar_export_str(f->doc, "subagentId"));
}
