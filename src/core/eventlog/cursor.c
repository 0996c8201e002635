/* See cursor.h. Reads bytes that clients choose: fuzzed by fuzz/fuzz_cursor.c. */
#include "cursor.h"
#include "catalog.h"

static bool parse_step(struct ar_str part, struct ar_cursor *c)
{
	struct ar_str step, pos = ar_str_split(part, ':', &step);
	size_t n = c->count;

	if (n == AR_CURSOR_STEPS || ar_str_absent(pos) || !ar_str_to_u64(step, &c->steps[n].step) ||
	    !ar_str_to_u64(pos, &c->steps[n].pos))
		return false;
	c->count++;
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
	return ar_refuse(err, AR_ERR_INVALID_CURSOR,
			 "a cursor is sequence[.step:pos,...], as the id of an event gives it");
}

void ar_cursor_print(const struct ar_cursor *c, struct ar_buf *out)
{
	ar_buf_addf(out, "%llu", (unsigned long long)c->sequence);
	for (size_t i = 0; i < c->count; i++)
		ar_buf_addf(out, "%c%llu:%llu", i ? ',' : '.', (unsigned long long)c->steps[i].step,
			    (unsigned long long)c->steps[i].pos);
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
	if (c->count == AR_CURSOR_STEPS)
		return;
	c->steps[c->count].step = step;
	c->steps[c->count++].pos = pos;
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
