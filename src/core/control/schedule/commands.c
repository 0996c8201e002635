/* Commands about schedules. Each has a log of its own (core/session/schedule), which the engine wakes when
 * it is due. A session that a schedule is to submit to must be the caller's: that is looked at here, and
 * again by each turn. One of another tenant is as if it did not exist. Owner: the loop thread. */
#include "control_priv.h"
#include "quota/creating.h"
#include "quota/quota.h"
#include "schedule/schedule.h"
#include "tenant.h"

#define NEXT_TIMES 3

bool ar_schedule_is_command(enum ar_command command)
{
	return command == AR_CMD_CREATE_SCHEDULE || command == AR_CMD_UPDATE_SCHEDULE ||
	       command == AR_CMD_RUN_SCHEDULE || command == AR_CMD_END_SCHEDULE;
}

static void refuse_unknown(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_SCHEDULE_NOT_FOUND, "%s", AR_NO_SCHEDULE);
}

/* ---- writes ---- */

static struct ar_str session_of(const struct ar_call *c)
{
	const struct ar_cmd_create_schedule_in *made = c->input;
	const struct ar_cmd_update_schedule_in *changed = c->input;
	const struct ar_shape_schedule_start *start = c->command == AR_CMD_CREATE_SCHEDULE   ? made->start
						      : c->command == AR_CMD_UPDATE_SCHEDULE ? changed->start
											     : NULL;

	return start ? ar_id_session_key(start->session_id) : AR_STR_NONE;
}

static void create(struct ar_call *c)
{
	ar_creating_check(c, AR_CREATING_SCHEDULE, c->work->write.session, ar_call_send);
}

/* The form of its id is the decision's to check. */
static void check_session(struct ar_call *c)
{
	ar_query_fn *go_on = c->command == AR_CMD_CREATE_SCHEDULE ? create : ar_call_send;
	struct ar_str key = session_of(c);

	if (ar_str_absent(key))
		go_on(c);
	else
		ar_call_check_tenant(c, key, go_on, ar_call_no_session);
}

void ar_schedule_write(struct ar_call *c)
{
	if (c->command == AR_CMD_CREATE_SCHEDULE)
		check_session(c);
	else
		ar_call_check_tenant(c, c->work->write.session, check_session, refuse_unknown);
}

/* ---- get_schedule ---- */

static struct ar_texts next_times(struct ar_call *c, const struct ar_shape_schedule_record *record)
{
	struct ar_str *texts = ar_arena_alloc(&c->arena, NEXT_TIMES * sizeof(*texts));
	struct ar_cron_clock clock = { .anchor = record->anchor_at };
	ar_usec at = record->next_at;
	size_t count = 0;
	bool is_unknown;

	clock.zone = ar_engine_zone(c->control->engine, record->zone, &is_unknown);
	if (!at || is_unknown || ar_cron_parse(record->spec, &clock.cron, NULL) != AR_OK)
		return ar_texts_empty;
	for (; count < NEXT_TIMES; count++, at = ar_cron_next(&clock, at)) {
		char text[AR_TIME_TEXT];

		texts[count] = ar_arena_str(&c->arena, ar_time_format(at, text));
	}
	return (struct ar_texts){ texts, count };
}

static void seen_schedule(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_struct_desc *shape = &ar_command_describe(c->command)->out;
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_cmd_get_schedule_out out;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!s->own_schedule) {
		refuse_unknown(c);
		return;
	}
	out = (struct ar_cmd_get_schedule_out){ .schedule = s->own_schedule,
						.runs = s->schedule_runs,
						.next_times = next_times(c, s->own_schedule) };
	ar_struct_encode(shape, ar_struct_copy(shape, &out, AR_COPY_FILL, &c->arena), AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

void ar_query_get_schedule(struct ar_call *c)
{
	const struct ar_cmd_get_schedule_in *in = c->input;

	c->work->view.done = seen_schedule;
	c->work->view.session = ar_schedule_key_in(in->schedule_id);
	if (ar_str_absent(c->work->view.session))
		refuse_unknown(c);
	else
		ar_call_look_else(c, refuse_unknown);
}

/* ---- list_schedules ---- */

static void on_schedules(struct ar_store_op *op)
{
	ar_list_answer(op, "schedules");
}

static struct ar_str status_word(int wanted)
{
	static const char *const words[] = { [0] = "open",
					     [AR_LIST_SCHEDULES_STATUS_OPEN] = "open",
					     [AR_LIST_SCHEDULES_STATUS_ENDED] = "ended",
					     [AR_LIST_SCHEDULES_STATUS_ALL] = NULL };

	return words[wanted] ? ar_str_from(words[wanted]) : AR_STR_NONE;
}

void ar_query_list_schedules(struct ar_call *c)
{
	const struct ar_cmd_list_schedules_in *in = c->input;
	struct ar_store_sessions *wanted = &c->work->sessions;

	if (!ar_str_absent(in->cursor) && !ar_key_is_schedule(in->cursor)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	*wanted = ar_sessions_of(c, on_schedules);
	wanted->above = ar_str_from(ar_schedules_above);
	wanted->before = ar_str_absent(in->cursor) ? ar_str_from(ar_schedules_below) : in->cursor;
	wanted->status = status_word(in->status);
	wanted->limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX);
	ar_store_submit(c->control->store, &wanted->op);
}
