/* See items.h. Which facts open and close items is the table at the end. Pure. */
#include "item/items.h"
#include "describe.h"

/* An item that a fact opens, closes or does both with. */
struct item {
	enum ar_item_kind kind;
	struct ar_str id; /* its stepId */
	struct ar_str title, status, result;
	struct ar_str changed; /* JSON; absent: nothing changes between start and end */
	bool opens, closes;
};

static struct ar_str text_of(struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return text;
}

enum ar_item_kind ar_item_kind_of(struct ar_str tool)
{
	static const struct {
		const char *name;
		enum ar_item_kind kind;
	} kinds[] = {
		{ "shell", AR_ITEM_KIND_COMMAND },	   { "terminal_open", AR_ITEM_KIND_COMMAND },
		{ "web_search", AR_ITEM_KIND_WEB_SEARCH }, { "todo_write", AR_ITEM_KIND_TODO },
		{ "TodoWrite", AR_ITEM_KIND_TODO },	   { "write_todos", AR_ITEM_KIND_TODO },
		{ "update_plan", AR_ITEM_KIND_TODO },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (ar_str_is(tool, kinds[i].name))
			return kinds[i].kind;
	}
	return AR_ITEM_KIND_TOOL_CALL;
}

/* ---- what each fact means ---- */

static struct item model_opens(struct ar_json fact, struct ar_json payload, struct ar_arena *a AR_UNUSED)
{
	return (struct item){ .kind = AR_ITEM_KIND_AGENT_MESSAGE,
			      .id = text_of(fact, "stepId"),
			      .title = text_of(payload, "purpose"),
			      .opens = true };
}

static struct item model_completed(struct ar_json fact, struct ar_json payload, struct ar_arena *a AR_UNUSED)
{
	return (struct item){ .kind = AR_ITEM_KIND_AGENT_MESSAGE,
			      .id = text_of(fact, "stepId"),
			      .status = AR_STR("completed"),
			      .result = text_of(payload, "outputRef"),
			      .closes = true };
}

static struct item model_failed(struct ar_json fact, struct ar_json payload, struct ar_arena *a)
{
	struct item it = model_completed(fact, payload, a);

	it.status = AR_STR("failed");
	return it;
}

static struct item summary(struct ar_json fact, struct ar_json payload, struct ar_arena *a)
{
	return (struct item){ .kind = AR_ITEM_KIND_REASONING,
			      .id = ar_arena_fmt(a, "%.*s.reasoning", AR_STR_ARG(text_of(fact, "stepId"))),
			      .title = AR_STR("summary"),
			      .status = AR_STR("completed"),
			      .result = text_of(payload, "reasoningRef"),
			      .opens = true,
			      .closes = true };
}

/* A list of things to do changes with the call that writes it; no task does. */
static struct ar_str changed_by(struct ar_json payload, struct ar_arena *a)
{
	return ar_arena_fmt(a, "{\"inputRef\":\"%.*s\"}", AR_STR_ARG(text_of(payload, "inputRef")));
}

static struct item tool_opens(struct ar_json fact, struct ar_json payload, struct ar_arena *a)
{
	struct item it = { .kind = ar_item_kind_of(text_of(payload, "toolName")),
			   .id = text_of(fact, "toolCallId"),
			   .title = text_of(payload, "toolName"),
			   .opens = true };

	if (it.kind == AR_ITEM_KIND_TODO && !ar_str_absent(text_of(payload, "inputRef")))
		it.changed = changed_by(payload, a);
	return it;
}

static struct item tool_result(struct ar_json fact, struct ar_json payload, struct ar_arena *a AR_UNUSED)
{
	return (struct item){ .kind = ar_item_kind_of(text_of(payload, "toolName")),
			      .id = text_of(fact, "toolCallId"),
			      .status = AR_STR("completed"),
			      .result = text_of(payload, "outputRef"),
			      .closes = true };
}

static struct item tool_failed(struct ar_json fact, struct ar_json payload, struct ar_arena *a)
{
	struct item it = tool_result(fact, payload, a);

	it.status = text_of(payload, "status");
	it.result = text_of(payload, "errorRef");
	return it;
}

static struct item artifact(struct ar_json fact, struct ar_json payload, struct ar_arena *a AR_UNUSED)
{
	return (struct item){ .kind = AR_ITEM_KIND_FILE_CHANGE,
			      .id = text_of(fact, "artifactId"),
			      .title = text_of(payload, "path"),
			      .status = text_of(payload, "change"),
			      .result = text_of(payload, "readRef"),
			      .opens = true,
			      .closes = true };
}

/* Without it a reader of items would take a turn that failed for one that goes on. */
static struct item turn_failed(struct ar_json fact, struct ar_json payload, struct ar_arena *a)
{
	return (struct item){ .kind = AR_ITEM_KIND_ERROR,
			      .id = ar_arena_fmt(a, "%.*s.end", AR_STR_ARG(text_of(fact, "turnId"))),
			      .title = text_of(ar_json_get(payload, "error"), "category"),
			      .status = text_of(payload, "status"),
			      .result = text_of(payload, "outputRef"),
			      .opens = true,
			      .closes = true };
}

typedef struct item item_fn(struct ar_json fact, struct ar_json payload, struct ar_arena *a);

static item_fn *const items[AR_EV_COUNT] = {
	[AR_EV_MODEL_REQUESTED] = model_opens, [AR_EV_MODEL_COMPLETED] = model_completed,
	[AR_EV_MODEL_FAILED] = model_failed,   [AR_EV_REASONING_SUMMARY] = summary,
	[AR_EV_TOOL_STARTED] = tool_opens,     [AR_EV_TOOL_RESULT] = tool_result,
	[AR_EV_TOOL_FAILED] = tool_failed,     [AR_EV_ARTIFACT_CHANGED] = artifact,
	[AR_EV_TURN_FAILED] = turn_failed,
};

/* ---- their events ---- */

static struct ar_event event_of(enum ar_event_type type, struct ar_json fact, const struct item *it,
				const void *payload)
{
	struct ar_event e = { .type = type, .payload = payload };

	e.ids[AR_SCOPE_THREAD] = text_of(fact, "threadId");
	e.ids[AR_SCOPE_TURN] = text_of(fact, "turnId");
	e.ids[AR_SCOPE_STEP] = it->id;
	return e;
}

static struct ar_event started(struct ar_json fact, const struct item *it, struct ar_arena *a)
{
	struct ar_ev_item_started *p = ar_arena_alloc(a, sizeof(*p));

	*p = (struct ar_ev_item_started){ .item_kind = (int)it->kind,
					  .title = ar_str_utf8_prefix(it->title, 256) };
	if (ar_str_absent(it->title))
		p->title = AR_STR_NONE;
	return event_of(AR_EV_ITEM_STARTED, fact, it, p);
}

static struct ar_event updated(struct ar_json fact, const struct item *it, struct ar_arena *a)
{
	struct ar_ev_item_updated *p = ar_arena_alloc(a, sizeof(*p));

	*p = (struct ar_ev_item_updated){ .item_kind = (int)it->kind, .changed = it->changed };
	return event_of(AR_EV_ITEM_UPDATED, fact, it, p);
}

static struct ar_event completed(struct ar_json fact, const struct item *it, struct ar_arena *a)
{
	struct ar_ev_item_completed *p = ar_arena_alloc(a, sizeof(*p));

	*p = (struct ar_ev_item_completed){ .item_kind = (int)it->kind,
					    .status = it->status,
					    .result_ref = it->result };
	return event_of(AR_EV_ITEM_COMPLETED, fact, it, p);
}

size_t ar_item_events(enum ar_event_type type, struct ar_json fact, struct ar_arena *a,
		      struct ar_event ret[AR_ITEM_EVENTS_MAX])
{
	struct item it;
	size_t n = 0;

	/* An artifact that no turn made is none of its items. */
	if (!items[type] || ar_str_absent(text_of(fact, "turnId")))
		return 0;
	it = items[type](fact, ar_json_get(fact, "payload"), a);
	if (it.opens)
		ret[n++] = started(fact, &it, a);
	if (!ar_str_absent(it.changed))
		ret[n++] = updated(fact, &it, a);
	if (it.closes)
		ret[n++] = completed(fact, &it, a);
	return n;
}
