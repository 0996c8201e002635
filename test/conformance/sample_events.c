/* Prints one full and one minimal sample per event type as NDJSON, written by the real encoder; with
 * --commands one line {"command","in","out"} per command and form; with --recode the events of standard
 * input, decoded and encoded again. The conformance tests validate every line against the schemas. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_events(struct ar_arena *a, struct ar_buf *out)
{
	for (int type = 1; type < AR_EV_COUNT; type++)
		for (int full = 1; full >= 0; full--) {
			struct ar_event e = ar_sample_event((enum ar_event_type)type, full, a);

			ar_event_encode(&e, out);
			ar_buf_addc(out, '\n');
		}
}

static void print_side(const char *name, const struct ar_struct_desc *d, bool full, struct ar_arena *a,
		       struct ar_jw *w)
{
	void *s = ar_arena_alloc(a, d->size);

	ar_sample_struct(d, full, a, s);
	ar_jw_key(w, name);
	ar_struct_encode(d, s, AR_STR_NONE, w);
}

static void print_commands(struct ar_arena *a, struct ar_buf *out)
{
	for (int i = 2; i < 2 * AR_CMD_COUNT; i++) {
		const struct ar_command_desc *c = &ar_command_descs[i / 2];
		struct ar_jw w = ar_jw(out);

		ar_jw_open(&w);
		ar_jw_mstr(&w, "command", ar_str_from(c->name));
		print_side("in", &c->in, i % 2, a, &w);
		print_side("out", &c->out, i % 2, a, &w);
		ar_jw_close(&w);
		ar_buf_addc(out, '\n');
	}
}

/* One event per line of the input; a line that does not decode ends the program. */
static void recode(struct ar_arena *a, struct ar_buf *out)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0) {
		struct ar_error err;
		struct ar_event e;
		struct ar_json v;

		if (ar_json_parse(parser, (struct ar_str){ line, (size_t)len }, &v, &err) ||
		    ar_event_decode(v, a, &e, &err)) {
			fprintf(stderr, "sample-events: %s\n", err.msg);
			exit(1);
		}
		ar_event_encode(&e, out);
		ar_buf_addc(out, '\n');
	}
	free(line);
	ar_json_parser_free(parser);
}

int main(int argc, char **argv)
{
	struct ar_arena arena = { 0 };
	struct ar_buf out = { 0 };

	if (argc == 2 && strcmp(argv[1], "--commands") == 0)
		print_commands(&arena, &out);
	else if (argc == 2 && strcmp(argv[1], "--recode") == 0)
		recode(&arena, &out);
	else
		print_events(&arena, &out);
	fwrite(out.p, 1, out.len, stdout);
	ar_buf_fini(&out);
	ar_arena_fini(&arena);
	return 0;
}
