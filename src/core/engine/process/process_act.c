/* What a tool call asks of a process that keeps running: write to it, read its output, end it. Writing and
 * ending go the way of the commands, as facts before anything is done; reading uses the output in memory, or
 * what is stored of a process that has ended. Answers come later, never from inside the call. Owner: the loop
 * thread. */
#include "identity.h"
#include "process/process_priv.h"
#include "process/record.h"

#define READ_MAX 65536
#define LOOK_AGAIN ((ar_usec)50000)

struct act {
	struct ar_live *live;
	struct ar_arena arena;
	struct ar_str call;
	struct ar_tool_act asked;
	struct ar_engine_request request;
	union {
		struct ar_cmd_write_process_stdin_in write;
		struct ar_cmd_terminate_process_in end;
	} args;
	struct ar_timer timer;
	ar_usec until; /* monotonic */
	struct ar_store_blobs_get blobs;
	struct ar_hash hash;
};

static void act_free(struct act *act)
{
	ar_store_op_fini(&act->blobs.op);
	ar_arena_fini(&act->arena);
	ar_free(act);
}

static void answer_call(struct act *act, const struct ar_tool_acted *acted)
{
	ar_tool_process_acted(act->live, act->call, acted);
	act_free(act);
}

static void answer_over(struct act *act, struct ar_str text)
{
	const struct ar_process_record *r = ar_session_process(&act->live->state, act->asked.process_id);
	const struct ar_shape_process_ending *ending = r ? r->end : NULL;
	struct ar_process_end end = ar_process_end_told(ending);
	uint64_t offset = act->asked.offset < text.len ? act->asked.offset : text.len;

	answer_call(act, &(struct ar_tool_acted){ .standing = AR_TOOL_PROCESS_OVER,
						  .output = ar_str_sub(text, offset, READ_MAX),
						  .offset = offset,
						  .is_binary = ending && ending->is_binary.v,
						  .end = ending ? &end : NULL });
}

/* ---- reading ---- */

static void read_output(struct ar_timer *t);

static void dropped(struct ar_timer *t)
{
	act_free(AR_CONTAINER_OF(t, struct act, timer));
}

static void look_later(struct act *act, ar_usec delay)
{
	act->timer = (struct ar_timer){ .live = act->live, .fire = read_output, .drop = dropped };
	ar_timer_start(act->live->engine, &act->timer, delay);
}

static bool may_wait(struct act *act)
{
	struct ar_clock *clock = act->live->engine->o.clock;

	return clock->mono(clock) < act->until;
}

/* What is kept from `*offset` on, as one piece; `*offset` moves over what is not. */
static struct ar_str kept_from(const struct ar_keeper *k, uint64_t *offset, struct ar_arena *a)
{
	uint64_t tail_at = k->written - k->tail.len;
	struct ar_str parts[2] = { AR_STR(""), AR_STR("") };

	if (*offset > k->written)
		*offset = k->written;
	if (*offset >= k->head.len && *offset < tail_at)
		*offset = tail_at;
	if (*offset < k->head.len)
		parts[0] = ar_str_sub(ar_buf_str(&k->head), *offset, READ_MAX);
	if (*offset >= tail_at)
		parts[1] = ar_str_sub(ar_buf_str(&k->tail), *offset - tail_at, READ_MAX);
	else if (tail_at == k->head.len)
		parts[1] = ar_str_sub(ar_buf_str(&k->tail), 0, READ_MAX - parts[0].len);
	return ar_arena_join(a, parts, 2);
}

static void read_live(struct act *act, const struct ar_live_process *p)
{
	const struct ar_process_output *o = &p->output;
	uint64_t offset = act->asked.offset;
	struct ar_str text = kept_from(&o->text, &offset, &act->arena);

	if (text.len == 0 && !p->has_ended && may_wait(act)) {
		look_later(act, LOOK_AGAIN);
		return;
	}
	answer_call(act, &(struct ar_tool_acted){
				 .standing = p->has_ended ? AR_TOOL_PROCESS_OVER : AR_TOOL_PROCESS_RUNNING,
				 .output = text,
				 .offset = offset,
				 .is_binary = o->has_nul || o->invalid * 10 > o->text.written,
				 .end = p->has_ended ? &p->over.end : NULL });
}

static void on_text(struct ar_store_op *op)
{
	struct act *act = AR_CONTAINER_OF(op, struct act, blobs.op);
	bool is_there = op->status == AR_OK && !ar_str_absent(act->blobs.bytes[0]);

	act->live->busy--;
	answer_over(act, is_there ? act->blobs.bytes[0] : AR_STR(""));
}

static void read_stored(struct act *act, const struct ar_process_record *r)
{
	struct ar_str session_key;

	if (!ar_ref_parse(r->end ? r->end->text_ref : AR_STR_NONE, &session_key, &act->hash)) {
		answer_over(act, AR_STR(""));
		return;
	}
	act->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_text },
						  .hashes = &act->hash,
						  .count = 1 };
	act->live->busy++;
	ar_store_submit(act->live->engine->o.store, &act->blobs.op);
}

static void read_output(struct ar_timer *t)
{
	struct act *act = AR_CONTAINER_OF(t, struct act, timer);
	const struct ar_live_process *p = ar_process_find(act->live, act->asked.process_id);
	const struct ar_process_record *r = ar_session_process(&act->live->state, act->asked.process_id);

	if (p)
		read_live(act, p);
	else if (!r)
		answer_call(act, &(struct ar_tool_acted){ .standing = AR_TOOL_PROCESS_UNKNOWN });
	else if (!ar_process_is_running(r))
		read_stored(act, r);
	else if (may_wait(act))
		look_later(act, LOOK_AGAIN); /* it is being found again */
	else
		answer_call(act, &(struct ar_tool_acted){ .standing = AR_TOOL_PROCESS_RUNNING,
							  .offset = act->asked.offset });
}

/* ---- writing and ending ---- */

static enum ar_tool_act_standing standing_of(const struct ar_engine_request *r)
{
	if (r->status == AR_OK)
		return AR_TOOL_PROCESS_RUNNING;
	if (r->err.code == AR_ERR_PROCESS_NOT_FOUND)
		return AR_TOOL_PROCESS_UNKNOWN;
	if (r->err.code == AR_ERR_EXITED || r->err.code == AR_ERR_UNAVAILABLE)
		return AR_TOOL_PROCESS_OVER;
	return r->err.code == AR_ERR_STDIN_CLOSED ? AR_TOOL_PROCESS_CLOSED : AR_TOOL_PROCESS_BUSY;
}

static void decided(struct ar_engine_request *request)
{
	struct act *act = AR_CONTAINER_OF(request, struct act, request);
	const struct ar_process_record *r = ar_session_process(&act->live->state, act->asked.process_id);
	enum ar_tool_act_standing standing = standing_of(request);

	if (standing == AR_TOOL_PROCESS_OVER ||
	    (standing == AR_TOOL_PROCESS_RUNNING && r && !ar_process_is_running(r)))
		answer_over(act, AR_STR(""));
	else
		answer_call(act, &(struct ar_tool_acted){ .standing = standing });
}

static void push_command(struct act *act, enum ar_command command, const void *args)
{
	act->request.done = decided;
	act->request.input =
		(struct ar_input){ .kind = AR_IN_COMMAND,
				   .command = { .id = command, .args = args, .call = act->call } };
	ar_inbox_push(act->live, &act->request);
}

void ar_process_act(struct ar_live *l, struct ar_str call, const struct ar_tool_act *asked)
{
	struct act *act = ar_new0(sizeof(*act));
	struct ar_clock *clock = l->engine->o.clock;
	struct ar_arena *a = &act->arena;

	act->live = l;
	act->call = ar_arena_str(a, call);
	act->asked = *asked;
	act->asked.process_id = ar_arena_str(a, asked->process_id);
	act->until = clock->mono(clock) + asked->wait_ms * 1000;
	if (asked->kind == AR_TOOL_ACT_READ) {
		look_later(act, 0);
	} else if (asked->kind == AR_TOOL_ACT_WRITE) {
		act->args.write = (struct ar_cmd_write_process_stdin_in){
			.process_id = act->asked.process_id,
			.input = ar_str_absent(asked->bytes) ? AR_STR("") : ar_arena_str(a, asked->bytes),
			.eof = AR_OPT_BOOL(asked->is_eof)
		};
		push_command(act, AR_CMD_WRITE_PROCESS_STDIN, &act->args.write);
	} else {
		act->args.end =
			(struct ar_cmd_terminate_process_in){ .process_id = act->asked.process_id,
							      .reason = ar_arena_str(a, asked->reason),
							      .signal = ar_arena_str(a, asked->signal) };
		push_command(act, AR_CMD_TERMINATE_PROCESS, &act->args.end);
	}
}

/* ---- what it wrote so far ---- */

bool ar_engine_output(struct ar_engine *e, struct ar_engine_output *o)
{
	struct ar_live *l = ar_map_get(&e->sessions, o->session_key);
	const struct ar_live_process *p = l ? ar_process_find(l, o->process) : NULL;

	if (!p)
		return false;
	o->bytes = ar_process_output_from(&p->output, (enum ar_process_stream)o->stream, o->from, &o->offset);
	o->size = p->output.streams[o->stream].kept.written;
	return true;
}
