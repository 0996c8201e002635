/* What a process writes, on its way in: whole characters, no secrets whatever the cut, the beginning and the
 * end of what is too long, places that stay true where bytes are missing. */
#include "cmocka_unit.h"
#include "process/process_output.h"

#define SECRET "hunter2-and-many-more"

struct desk {
	struct ar_redactor *redactor;
	struct ar_engine_options options;
	struct ar_process_output out;
	struct ar_arena arena;
	struct ar_process_over over;
};

static void open_desk(struct desk *d, size_t keep)
{
	*d = (struct desk){ .redactor = ar_redactor_new(true) };
	ar_redactor_add(d->redactor, AR_STR(SECRET));
	d->options.redactor = d->redactor;
	ar_process_output_init(&d->out, &d->options, keep);
}

static void write_all(struct desk *d, enum ar_process_stream stream, const char *text, size_t len,
		      size_t piece)
{
	for (size_t at = 0; at < len; at += piece)
		ar_process_output_add(&d->out, stream,
				      (struct ar_str){ text + at, len - at < piece ? len - at : piece });
}

static void end(struct desk *d)
{
	ar_process_output_end(&d->out);
	ar_process_output_fill(&d->out, &d->arena, &d->over);
}

static void close_desk(struct desk *d)
{
	ar_process_output_fini(&d->out);
	ar_arena_fini(&d->arena);
	ar_redactor_free(d->redactor);
}

static void expect(struct ar_str got, const char *want)
{
	if (!ar_str_is(got, want))
		fail_msg("'%.*s' is not '%s'", AR_STR_ARG(got), want);
}

static void a_secret_is_masked_wherever_it_is_cut(void **state)
{
	static const char text[] = "the key is " SECRET " and that is it\n";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct desk d;

		open_desk(&d, 1 << 20);
		write_all(&d, AR_PROC_STDOUT, text, sizeof(text) - 1, piece);
		end(&d);
		assert_int_equal(d.over.kept_count, 1);
		expect(d.over.kept[0].bytes, "the key is [redacted:secret] and that is it\n");
		expect(d.over.text, "the key is [redacted:secret] and that is it\n");
		assert_int_equal(d.over.masked.count, 1);
		close_desk(&d);
	}
}

static void a_character_in_two_pieces_is_shown_as_one(void **state)
{
	struct desk d;

	(void)state;
	open_desk(&d, 1 << 20);
	d.out.funnel.redactor = NULL;
	ar_process_output_add(&d.out, AR_PROC_STDOUT, AR_STR("na\xc3"));
	assert_int_equal(d.out.streams[AR_PROC_STDOUT].frames.pos, 2);
	ar_process_output_add(&d.out, AR_PROC_STDERR, AR_STR("!"));
	ar_process_output_add(&d.out, AR_PROC_STDOUT, AR_STR("\xafve \xe2\x98"));
	assert_int_equal(d.out.streams[AR_PROC_STDOUT].frames.pos, 7);
	end(&d); /* what never becomes a character is kept as it is */
	assert_int_equal(d.over.written[AR_PROC_STDOUT], 9);
	expect(d.over.kept[0].bytes, "na\xc3\xafve \xe2\x98");
	assert_int_equal(d.over.kept[1].stream, AR_PROC_STDERR);
	assert_false(d.over.is_truncated);
	close_desk(&d);
}

static void the_beginning_and_the_end_are_kept(void **state)
{
	char text[1000];
	struct desk d;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	for (size_t piece = 1; piece <= sizeof(text); piece += 37) {
		open_desk(&d, 100);
		d.out.funnel.redactor = NULL;
		write_all(&d, AR_PROC_TTY, text, sizeof(text), piece);
		end(&d);
		assert_int_equal(d.over.kept_count, 2);
		assert_int_equal(d.over.kept[0].offset, 0);
		assert_memory_equal(d.over.kept[0].bytes.p, text, 75);
		assert_int_equal(d.over.kept[1].offset, 975);
		assert_int_equal(d.over.kept[1].bytes.len, 25);
		assert_memory_equal(d.over.kept[1].bytes.p, text + 975, 25);
		assert_int_equal(d.over.written[AR_PROC_TTY], 1000);
		assert_true(d.over.is_truncated);
		assert_non_null(strstr(d.over.text.p, "[... 900 of 1000 bytes left out ...]"));
		close_desk(&d);
	}
}

static void what_just_fits_is_one_piece(void **state)
{
	char text[100] = { 0 };
	struct desk d;

	(void)state;
	memset(text, 'x', sizeof(text));
	open_desk(&d, 100);
	d.out.funnel.redactor = NULL;
	write_all(&d, AR_PROC_STDOUT, text, sizeof(text), 7);
	end(&d);
	assert_int_equal(d.over.kept_count, 1);
	assert_int_equal(d.over.kept[0].bytes.len, 100);
	assert_false(d.over.is_truncated);
	close_desk(&d);
}

static void places_stay_true_after_a_gap(void **state)
{
	struct desk d;

	(void)state;
	open_desk(&d, 100);
	d.out.funnel.redactor = NULL;
	ar_process_output_add(&d.out, AR_PROC_STDOUT, AR_STR("first"));
	ar_process_output_skip(&d.out, AR_PROC_STDOUT, 1000);
	ar_process_output_add(&d.out, AR_PROC_STDOUT, AR_STR("last"));
	end(&d);
	assert_int_equal(d.over.kept_count, 2);
	expect(d.over.kept[0].bytes, "first");
	expect(d.over.kept[1].bytes, "last");
	assert_int_equal(d.over.kept[1].offset, 1005);
	assert_int_equal(d.over.written[AR_PROC_STDOUT], 1009);
	assert_true(d.over.is_truncated);
	close_desk(&d);
}

static void readers_who_come_late_get_places_of_what_is_gone(void **state)
{
	char text[65536];
	struct ar_output_piece piece;
	const struct ar_output *o;
	struct desk d;

	(void)state;
	memset(text, 'x', sizeof(text));
	open_desk(&d, 100);
	d.out.funnel.redactor = NULL;
	for (int i = 0; i < 40; i++)
		ar_process_output_add(&d.out, AR_PROC_STDOUT, (struct ar_str){ text, sizeof(text) });
	o = &d.out.streams[AR_PROC_STDOUT].frames;
	assert_true(o->bytes.len <= 2 << 20);
	assert_true(ar_output_piece_at(o, 5, 100, &piece));
	assert_true(ar_str_absent(piece.bytes));
	assert_int_equal(piece.pos + piece.len, o->dropped);
	assert_true(ar_output_piece_at(o, o->dropped, 100, &piece));
	assert_int_equal(piece.bytes.len, 100);
	assert_int_equal(o->pos, 40 * sizeof(text));
	close_desk(&d);
}

static void what_is_no_text_is_called_binary(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool is_binary;
	} rows[] = { { "plain text\n", 11, false },
		     { "a\0b", 3, true },
		     { "mostly text, one \xff byte\n", 24, false },
		     { "\xff\xfe\xfd\xfc text", 9, true } };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk d;

		open_desk(&d, 100);
		d.out.funnel.redactor = NULL;
		write_all(&d, AR_PROC_STDOUT, rows[i].bytes, rows[i].len, rows[i].len);
		end(&d);
		assert_int_equal(d.over.is_binary, rows[i].is_binary);
		close_desk(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_masked_wherever_it_is_cut),
		cmocka_unit_test(a_character_in_two_pieces_is_shown_as_one),
		cmocka_unit_test(the_beginning_and_the_end_are_kept),
		cmocka_unit_test(what_just_fits_is_one_piece),
		cmocka_unit_test(places_stay_true_after_a_gap),
		cmocka_unit_test(readers_who_come_late_get_places_of_what_is_gone),
		cmocka_unit_test(what_is_no_text_is_called_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
