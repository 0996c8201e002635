/* A process that is found again after a restart: what was on its way to it is sent again unless it has
 * it, and readers of its output are not told twice what they have. */
#include "cmocka_unit.h"
#include "identity.h"
#include "process/process_run.h"
#include "store_open.h"

struct clock {
	struct ar_clock clock;
	ar_usec now;
};

struct world {
	struct clock clock;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_policy policy;
	struct ar_engine *engine;
	struct ar_live *live;
	struct ar_arena arena;
	struct ar_str session_key;
	struct ar_process_record *record;
	struct ar_process_host host;
	struct ar_process *port; /* what was attached */
	struct ar_buf written; /* "number:bytes " of each, "number:eof " of an end */
	uint64_t newest; /* number of the newest write() */
	struct ar_subscription reader;
	struct ar_buf read; /* what it got, with cursors */
};

/* ---- a host that writes down ---- */

static struct world *world_of(struct ar_process_host *h)
{
	return AR_CONTAINER_OF(h, struct world, host);
}

static void attach(struct ar_process_host *h, struct ar_process *p, struct ar_str handle)
{
	assert_true(ar_str_is(handle, "handle"));
	world_of(h)->port = p;
}

static void go(struct ar_process_host *h AR_UNUSED, struct ar_process *p AR_UNUSED)
{
}

static void write_down(struct ar_process_host *h, struct ar_process *p AR_UNUSED, uint64_t number,
		       struct ar_str bytes, bool is_eof)
{
	struct world *w = world_of(h);

	ar_buf_addf(&w->written, "%d:%.*s%s ", (int)number, AR_STR_ARG(bytes), is_eof ? "eof" : "");
	w->newest = number;
}

static void leave(struct ar_process_host *h AR_UNUSED, struct ar_process *p AR_UNUSED)
{
}

static const struct ar_process_host_vtable host_calls = {
	.attach = attach, .go = go, .write = write_down, .leave = leave
};

/* ---- a session with a process that runs ---- */

static ar_usec now_of(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct clock, clock)->now;
}

static void note(struct ar_store_op *op)
{
	assert_int_equal(op->status, AR_OK);
}

static void put(struct world *w, const struct ar_store_blob *blobs, size_t count)
{
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_append a = { .op = { .kind = AR_STORE_APPEND, .done = note },
				     .session = w->session_key,
				     .first_seq = 1,
				     .last_seq = 1,
				     .body = AR_STR("{}"),
				     .row = &row,
				     .blobs = blobs,
				     .blob_count = count };

	ar_store_submit(w->store, &a.op);
	ar_store_poll(w->store);
}

/* Inputs 4, 5, 6 and the end of the input are on record; 1 to 3 were taken long ago. */
static void keep_inputs(struct world *w)
{
	static const char *const texts[] = { "four", "five", "six", "" };
	struct ar_store_blob blobs[AR_ARRAY_LEN(texts)];

	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++) {
		struct ar_process_input *in = ar_arena_alloc(&w->arena, sizeof(*in));

		blobs[i] = (struct ar_store_blob){ ar_hash_of(ar_str_from(texts[i])), ar_str_from(texts[i]) };
		*in = (struct ar_process_input){ .number = 4 + (int64_t)i,
						 .ref = ar_ref_make(&w->arena, w->session_key,
								    &blobs[i].hash),
						 .is_eof = i == 3 };
		ar_vec_push(&w->arena, &w->record->written, in);
	}
	w->record->inputs = 7;
	put(w, blobs, AR_ARRAY_LEN(blobs));
}

static void open_session(struct world *w)
{
	static const uint8_t uuid[16] = { 0x01, 0x9a, 3 };
	char *session_key = ar_arena_alloc(&w->arena, AR_SESSION_KEY_LEN);

	ar_id_encode(uuid, session_key);
	w->session_key = (struct ar_str){ session_key, AR_SESSION_KEY_LEN };
	w->record = ar_arena_alloc(&w->arena, sizeof(*w->record));
	*w->record = (struct ar_process_record){ .id = ar_arena_fmt(&w->arena, "proc_%.*s_1",
								    AR_STR_ARG(w->session_key)),
						 .call = AR_STR("call"),
						 .handle = AR_STR("handle"),
						 .status = AR_PROCESS_RUNNING,
						 .has_input = true };
	w->live = ar_live_get(w->engine, w->session_key);
	ar_session_init(&w->live->state, w->session_key, w->engine->member_json);
	w->live->state.head = 1;
	w->live->is_loaded = true;
	ar_vec_push(&w->live->state.arena, &w->live->state.processes, w->record);
	keep_inputs(w);
}

static int open_world(void **state)
{
	struct world *w = ar_new0(sizeof(*w));

	*w = (struct world){ .clock = { { now_of, now_of }, 1000000 },
			     .policy = { .process_output_bytes = 65536 },
			     .host = { .v = &host_calls } };
	ar_store_memory_open(NULL, NULL, &w->store);
	w->follow = ar_follow_new(&(struct ar_follow_options){
		.store = w->store, .clock = &w->clock.clock, .ring_bytes = 65536 });
	w->engine = ar_engine_new(&(struct ar_engine_options){ .store = w->store,
							       .follow = w->follow,
							       .clock = &w->clock.clock,
							       .policy = &w->policy,
							       .processes = &w->host,
							       .session_cache = 100 });
	open_session(w);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	ar_follow_close(&w->reader);
	ar_engine_stop(w->engine);
	ar_store_close(w->store);
	ar_engine_free(w->engine);
	ar_follow_free(w->follow);
	ar_arena_fini(&w->arena);
	ar_buf_fini(&w->written);
	ar_buf_fini(&w->read);
	ar_free(w);
	return 0;
}

static void find_again(struct world *w)
{
	ar_process_attach(w->live, w->record);
	assert_non_null(w->port);
}

/* Each write is answered before the next comes. */
static void take_all(struct world *w)
{
	for (uint64_t done = 0; done != w->newest;) {
		done = w->newest;
		w->port->v->on_written(w->port, done, AR_PROC_TOOK);
	}
}

static void expect(struct ar_buf *got, const char *want)
{
	ar_buf_addc(got, 0);
	assert_string_equal(got->p, want);
	ar_buf_clear(got);
}

/* ---- inputs ---- */

static void what_it_has_not_is_sent_again(void **state)
{
	static const struct {
		uint64_t has;
		const char *written;
	} rows[] = {
		{ 0, "4:four 5:five 6:six 7:eof " },
		{ 3, "4:four 5:five 6:six 7:eof " },
		{ 4, "5:five 6:six 7:eof " },
		{ 6, "7:eof " },
		{ 7, "" },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		for (int is_late = 0; is_late < 2;
		     is_late++) { /* the bytes may come before the process does, or after */
			void *made;
			struct world *w;

			open_world(&made);
			w = made;
			find_again(w);
			if (!is_late)
				ar_store_poll(w->store);
			expect(&w->written, ""); /* nothing before it is known what it has */
			w->port->v->on_attached(w->port, rows[i].has);
			ar_store_poll(w->store);
			take_all(w);
			expect(&w->written, rows[i].written);
			close_world(&made);
		}
	}
}

/* What comes meanwhile has to wait for those before it. */
static void new_input_comes_after_what_is_sent_again(void **state)
{
	struct world *w = *state;
	struct ar_effect_process_write effect = { .process = w->record->id,
						  .number = 8,
						  .bytes = AR_STR("eight") };

	find_again(w);
	w->port->v->on_attached(w->port, 5);
	ar_process_write(w->live, &effect);
	expect(&w->written, "");
	ar_store_poll(w->store);
	take_all(w);
	expect(&w->written, "6:six 7:eof 8:eight ");
}

/* ---- output ---- */

static void on_opened(struct ar_subscription *s AR_UNUSED)
{
}

static void on_ready(struct ar_subscription *s)
{
	struct world *w = AR_CONTAINER_OF(s, struct world, reader);
	struct ar_frame *f;

	while ((f = ar_follow_next(s))) {
		ar_buf_addf(&w->read, "%d-%d@%.*s ", (int)f->from, (int)f->until, AR_STR_ARG(f->id));
		ar_frame_unref(f);
	}
}

static void on_ended(struct ar_subscription *s AR_UNUSED, const struct ar_error *err)
{
	fail_msg("the reader was ended: %s", err->msg);
}

static const struct ar_subscription_vtable reader_calls = { on_opened, on_ready, on_ended };

static void a_reader_is_not_told_what_it_has(void **state)
{
	struct world *w = *state;
	struct ar_follow_request request = { .session = w->session_key,
					     .after = AR_STR("1.1o:8,1e:2"),
					     .deltas = true };

	find_again(w);
	w->reader.v = &reader_calls;
	assert_int_equal(ar_follow_open(w->follow, &w->reader, &request, NULL), AR_OK);
	ar_store_poll(w->store);
	w->port->v->on_attached(w->port, 7);
	w->port->v->on_output(w->port, AR_PROC_STDOUT, AR_STR("first\n"));
	w->port->v->on_output(w->port, AR_PROC_STDERR, AR_STR("!\n"));
	expect(&w->read, "");
	w->port->v->on_output(w->port, AR_PROC_STDOUT, AR_STR("second\n"));
	w->port->v->on_output(w->port, AR_PROC_STDERR, AR_STR("?\n"));
	expect(&w->read, "8-13@1.1o:13,1e:2 2-4@1.1o:13,1e:4 ");
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_has_not_is_sent_again),
		WORLD(new_input_comes_after_what_is_sent_again),
		WORLD(a_reader_is_not_told_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
