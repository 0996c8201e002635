/* count_events: facts of a session per part of a span of time. The rows of a log are in the order of their
 * times, so where a part begins is found by halving, one row per look; parts between two that begin at the
 * same fact need none. So a call makes as many looks as there are parts, times the logarithm of the log, and
 * reads no more. A clock that was set back moves facts to a part beside theirs; none is lost. Owner: the
 * loop thread. */
#include "codec.h"
#include "control_priv.h"
#include "mem.h"
#include "storage.h"

#define BUCKETS_DEFAULT 60
#define BUCKETS_MAX 240
#define ROOM_MAX 16 /* halves of BUCKETS_MAX parts that wait, at most one per halving */

/* Places of `before` between which others are to be found; `first` and `last` are known. */
struct range {
	size_t first, last;
};

/* In its own memory: it is large, and outlives no answer. */
struct density {
	struct ar_call *call;
	struct ar_store_read read;
	struct ar_str session_key;
	ar_usec since, until;
	bool has_since, has_until; /* the caller said so; else the span has all facts on that side */
	uint64_t head;
	size_t buckets;
	/* facts before each boundary of a part, the end of the span among them; none before the first place,
	 * and all before the last */
	uint64_t before[BUCKETS_MAX + 3];
	struct range ranges[ROOM_MAX];
	size_t range_count;
	uint64_t low, high; /* of the boundary that is looked for: between so many facts */
};

static void find_next(struct density *d);

/* When a part begins; for `buckets`: when the last one ends. */
static ar_usec time_at(const struct density *d, size_t part)
{
	ar_usec span = d->until - d->since, parts = (ar_usec)d->buckets, n = (ar_usec)part;

	return d->since + span / parts * n + span % parts * n / parts;
}

static bool is_before(const struct density *d, ar_usec at, size_t place)
{
	size_t part = place - 1;

	if (part == 0 && !d->has_since)
		return false;
	if (part == d->buckets && !d->has_until)
		return true;
	return at < time_at(d, part);
}

/* ---- answers ---- */

static void end(struct density *d)
{
	ar_store_op_fini(&d->read.op);
	ar_free(d);
}

static void answer(struct density *d)
{
	struct ar_call *c = d->call;
	struct ar_shape_event_bucket *list = ar_arena_alloc(&c->arena, d->buckets * sizeof(*list));
	struct ar_cmd_count_events_out out = {
		.session_id = ar_id_root(&c->arena, "sess", d->session_key),
		.since = d->since,
		.until = d->until,
		.count = (int64_t)(d->before[d->buckets + 1] - d->before[1]),
		.buckets = { list, d->buckets },
		.as_of_sequence = (int64_t)d->head,
	};
	struct ar_jw w = ar_jw(&c->reply);

	for (size_t i = 0; i < d->buckets; i++) {
		uint64_t count = d->before[i + 2] - d->before[i + 1];

		list[i] = (struct ar_shape_event_bucket){ .from = time_at(d, i),
							  .count = (int64_t)count,
							  .first_sequence = { (int64_t)d->before[i + 1] + 1,
									      count > 0 } };
	}
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	end(d);
	ar_call_done(c, 200);
}

/* ---- halving ---- */

static void on_row(struct ar_store_op *op);

static void push_range(struct density *d, size_t first, size_t last)
{
	if (last - first > 1)
		d->ranges[d->range_count++] = (struct range){ first, last };
}

static void found(struct density *d)
{
	struct range r = d->ranges[--d->range_count];
	size_t middle = r.first + (r.last - r.first) / 2;

	d->before[middle] = d->low;
	push_range(d, middle, r.last);
	push_range(d, r.first, middle);
	find_next(d);
}

/* One row: the one that has the fact in the middle. */
static void look_at_middle(struct density *d)
{
	ar_store_op_fini(&d->read.op);
	d->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_row },
					  .session = d->session_key,
					  .from = d->low + (d->high - d->low + 1) / 2,
					  .max_bytes = 1 };
	ar_store_submit(d->call->control->store, &d->read.op);
}

static void on_row(struct ar_store_op *op)
{
	struct density *d = AR_CONTAINER_OF(op, struct density, read.op);
	const struct range *r = &d->ranges[d->range_count - 1];
	const struct ar_store_row *row = d->read.rows;
	struct ar_call *c = d->call;

	if (op->status == AR_OK && d->read.row_count == 0)
		op->status = ar_fail(&op->err, AR_E_CORRUPT, "the log ends before its newest fact");
	if (op->status != AR_OK) {
		struct ar_error err = op->err;

		ar_storage_refuse(&err, op->status, err.msg, d->session_key);
		end(d);
		ar_call_fail(c, &err);
		return;
	}
	if (is_before(d, row->at, r->first + (r->last - r->first) / 2))
		d->low = row->last_seq < d->high ? row->last_seq : d->high;
	else
		d->high = row->first_seq > d->low ? row->first_seq - 1 : d->low;
	if (d->low == d->high)
		found(d);
	else
		look_at_middle(d);
}

static void find_next(struct density *d)
{
	while (d->range_count > 0) {
		struct range r = d->ranges[d->range_count - 1];

		d->low = d->before[r.first];
		d->high = d->before[r.last];
		if (d->low < d->high) {
			look_at_middle(d);
			return;
		}
		for (size_t i = r.first + 1; i < r.last; i++)
			d->before[i] = d->low;
		d->range_count--;
	}
	answer(d);
}

/* ---- the call ---- */

static enum ar_status read_span(struct density *d, const struct ar_cmd_count_events_in *in,
				const struct ar_session *s, struct ar_error *err)
{
	d->has_since = in->since != 0;
	d->has_until = in->until != 0;
	d->since = d->has_since ? in->since : s->created;
	d->until = d->has_until ? in->until : s->updated + 1;
	if (!d->has_until && d->until <= d->since)
		d->until = d->since + 1;
	if (d->until <= d->since)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "until must be later than since");
	return AR_OK;
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_count_events_in *in = c->input;
	struct ar_error why = { 0 };
	struct density *d;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	d = ar_new0(sizeof(*d));
	d->call = c;
	d->session_key = v->session;
	d->head = s->head;
	d->buckets = ar_call_limit(in->buckets, BUCKETS_DEFAULT, BUCKETS_MAX);
	if (read_span(d, in, s, &why) != AR_OK) {
		ar_free(d);
		ar_call_fail(c, &why);
		return;
	}
	d->before[d->buckets + 2] = d->head;
	push_range(d, 0, d->buckets + 2);
	find_next(d);
}

void ar_query_count_events(struct ar_call *c)
{
	const struct ar_cmd_count_events_in *in = c->input;
	struct ar_error err;

	c->work->view.done = on_view;
	if (ar_call_session(in->session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	ar_call_look(c);
}
