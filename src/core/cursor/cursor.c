/* See cursor.h. Reads bytes that clients choose: fuzzed by fuzz/fuzz_cursor.c. */
#include "cursor.h"
#include "catalog.h"
#include "mem.h"

#define FIRST_STEPS ((size_t)4)

static const char letters[] = { 0, 'o', 'e', 't' }; /* of streams, by enum ar_process_stream */

static int stream_of(struct ar_str step)
{
	for (int i = 1; step.len > 0 && i < (int)AR_ARRAY_LEN(letters); i++) {
		if (step.p[step.len - 1] == letters[i])
			return i;
	}
	return 0;
}

static bool parse_key(struct ar_str step, uint64_t *ret)
{
	int stream = stream_of(step);

	if (!ar_str_to_u64(ar_str_sub(step, 0, step.len - (stream ? 1 : 0)), ret) || *ret >> 60)
		return false;
	if (stream)
		*ret = ar_cursor_stream(*ret, stream);
	return true;
}

void ar_cursor_fini(struct ar_cursor *c)
{
	ar_free(c->steps);
	c->steps = NULL;
	c->count = 0;
}

/* The room doubles at powers of two, so that the count gives the capacity. */
static void append(struct ar_cursor *c, struct ar_cursor_step step)
{
	if (!c->steps)
		c->steps = ar_grow(NULL, FIRST_STEPS, sizeof *c->steps);
	else if (c->count >= FIRST_STEPS && !(c->count & (c->count - 1)))
		c->steps = ar_grow(c->steps, 2 * c->count, sizeof *c->steps);
	c->steps[c->count++] = step;
}

static bool parse_step(struct ar_str part, struct ar_cursor *c)
{
	struct ar_str name, pos = ar_str_split(part, ':', &name);
	struct ar_cursor_step step;

	if (c->count == AR_CURSOR_STEPS || ar_str_absent(pos) || !parse_key(name, &step.step) ||
	    !ar_str_to_u64(pos, &step.pos))
		return false;
	append(c, step);
	return true;
}

enum ar_status ar_cursor_parse(struct ar_str text, struct ar_cursor *ret, struct ar_error *err)
{
	struct ar_str head, rest;

	*ret = (struct ar_cursor){ 0 };
	if (ar_str_empty(text))
		return AR_OK;
	rest = ar_str_split(text, '.', &head);
	if (!ar_str_to_u64(head, &ret->sequence) || ret->sequence > INT64_MAX)
		goto invalid;
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ',', &head);
		if (!parse_step(head, ret))
			goto invalid;
	}
	return AR_OK;
invalid:
	ar_cursor_fini(ret);
	return ar_refuse(err, AR_ERR_INVALID_CURSOR,
			 "a cursor is sequence[.step:pos,...], as the id of an event gives it");
}

void ar_cursor_print(const struct ar_cursor *c, struct ar_buf *out)
{
	ar_buf_addf(out, "%llu", (unsigned long long)c->sequence);
	for (size_t i = 0; i < c->count; i++) {
		uint64_t key = c->steps[i].step;
		bool is_stream = key & AR_CURSOR_PROCESS;

		ar_buf_addf(out, "%c%llu", i ? ',' : '.',
			    (unsigned long long)(is_stream ? (key & ~AR_CURSOR_PROCESS) >> 2 : key));
		if (is_stream)
			ar_buf_addc(out, letters[key & 3]);
		ar_buf_addf(out, ":%llu", (unsigned long long)c->steps[i].pos);
	}
}

uint64_t ar_cursor_pos(const struct ar_cursor *c, uint64_t step)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->steps[i].step == step)
			return c->steps[i].pos;
	}
	return 0;
}

void ar_cursor_set(struct ar_cursor *c, uint64_t step, uint64_t pos)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->steps[i].step != step)
			continue;
		c->steps[i].pos = pos;
		return;
	}
	if (c->count < AR_CURSOR_STEPS)
		append(c, (struct ar_cursor_step){ step, pos });
}

void ar_cursor_drop(struct ar_cursor *c, uint64_t step)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->steps[i].step != step)
			continue;
		c->steps[i] = c->steps[--c->count];
		return;
	}
}

void ar_cursor_drop_process(struct ar_cursor *c, uint64_t process)
{
	for (int stream = 1; stream < (int)AR_ARRAY_LEN(letters); stream++)
		ar_cursor_drop(c, ar_cursor_stream(process, stream));
}
