/* ar-schema-check: one line of JSON in, {"schema": S, "values": [...]}; one line out: {"error": "..."} when S
 * does not compile, else {"results": [null | {"pointer": "...", "message": "..."}]}. The suites and the
 * oracle of test/schema drive it. */
#include "mem.h"
#include "schema.h"

#include <stdio.h>
#include <stdlib.h>

static struct ar_str text_of(struct ar_json v, struct ar_buf *b)
{
	ar_buf_clear(b);
	ar_json_print(v, b);
	return ar_buf_str(b);
}

static void write_result(struct ar_jw *w, const struct ar_schema *s, struct ar_json v)
{
	struct ar_schema_fault fault;

	if (ar_schema_check(s, v, NULL, &fault))
		return ar_jw_null(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "pointer", ar_str_from(fault.pointer));
	ar_jw_mstr(w, "message", ar_str_from(fault.message));
	ar_jw_close(w);
}

static void answer(struct ar_json_parser *p, struct ar_str line, struct ar_buf *out)
{
	struct ar_json_parser *own = ar_json_parser_new();
	struct ar_jw w = ar_jw(out);
	struct ar_error err = { 0 };
	struct ar_schema *s = NULL;
	struct ar_buf text = { 0 };
	struct ar_json ask;

	ar_jw_open(&w);
	if (ar_json_parse(p, line, &ask, &err) ||
	    ar_schema_compile(text_of(ar_json_get(ask, "schema"), &text), own, NULL, &s, &err)) {
		ar_jw_mstr(&w, "error", ar_str_from(err.msg));
	} else {
		ar_jw_key(&w, "results");
		ar_jw_open_array(&w);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(ask, "values")); ar_json_next(&it);)
			write_result(&w, s, it.value);
		ar_jw_close_array(&w);
	}
	ar_jw_close(&w);
	ar_schema_free(s);
	ar_json_parser_free(own);
	ar_buf_fini(&text);
}

int main(void)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_buf out = { 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0) {
		ar_buf_clear(&out);
		answer(p, (struct ar_str){ line, (size_t)len }, &out);
		printf("%.*s\n", (int)out.len, out.p);
	}
	free(line);
	ar_buf_fini(&out);
	ar_json_parser_free(p);
	return 0;
}
