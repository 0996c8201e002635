/* See people.h. */
#include "people.h"

static bool has(struct ar_json people, struct ar_str person)
{
	struct ar_str one;

	for (struct ar_json_iter it = ar_json_iter(people); ar_json_next(&it);) {
		if (ar_json_str(it.value, &one) && ar_str_eq(one, person))
			return true;
	}
	return false;
}

struct ar_str ar_people_add(struct ar_json_parser *json, struct ar_arena *a, struct ar_str people,
			    struct ar_str person)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_json old;
	struct ar_str one, text;

	if (ar_str_empty(person))
		person = AR_STR(AR_PERSON_UNKNOWN);
	if (ar_json_parse(json, ar_str_empty(people) ? AR_STR("[]") : people, &old, NULL) != AR_OK ||
	    ar_json_len(old) >= AR_PEOPLE_MAX)
		return AR_STR("[\"" AR_PERSON_UNKNOWN "\"]");
	if (has(old, person))
		return people;
	ar_jw_open_array(&w);
	for (struct ar_json_iter it = ar_json_iter(old); ar_json_next(&it);) {
		if (ar_json_str(it.value, &one))
			ar_jw_str(&w, one);
	}
	ar_jw_str(&w, person);
	ar_jw_close_array(&w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

bool ar_people_may_have(struct ar_json_parser *json, struct ar_str people, struct ar_str person)
{
	struct ar_json v;

	if (ar_str_empty(people) || ar_json_parse(json, people, &v, NULL) != AR_OK || ar_json_len(v) == 0)
		return true;
	return has(v, AR_STR(AR_PERSON_UNKNOWN)) || has(v, person);
}

struct ar_str ar_people_with_caller(struct ar_decision *d, struct ar_str people)
{
	if (d->input->kind != AR_IN_COMMAND)
		return people;
	return ar_people_add(d->json, d->arena, people, d->input->person);
}
