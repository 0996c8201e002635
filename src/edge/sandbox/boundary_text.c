/* See boundary_text.h. */
#include "boundary_text.h"

/* Of the one process alone, or members of their own of the same fact. */
static bool is_left_out(struct ar_str name)
{
	static const char *const names[] = { "pid", "fds", "readRoots", "writeRoots", "guarantees" };

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		if (ar_str_is(name, names[i]))
			return true;
	}
	return false;
}

struct ar_str ar_boundary_text(struct ar_arena *a, struct ar_json ready, struct ar_str guarantees)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf value = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_jw_open(&w);
	for (struct ar_json_iter it = ar_json_iter(ready); ar_json_next(&it);) {
		if (is_left_out(it.name))
			continue;
		ar_buf_clear(&value);
		ar_json_print(it.value, &value);
		ar_jw_name(&w, it.name);
		ar_jw_raw(&w, ar_buf_str(&value));
	}
	ar_jw_mraw(&w, "guarantees", guarantees);
	ar_jw_close(&w);
	return ar_arena_str(a, ar_buf_str(&out));
}
