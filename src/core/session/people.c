/* See people.h. */
#include "people.h"

static const struct ar_str unknown = AR_STR(AR_PERSON_UNKNOWN);

static bool has(struct ar_texts people, struct ar_str person)
{
	for (size_t i = 0; i < people.count; i++) {
		if (ar_str_eq(people.at[i], person))
			return true;
	}
	return false;
}

struct ar_texts ar_people_unknown(void)
{
	return (struct ar_texts){ &unknown, 1 };
}

struct ar_texts ar_people_add(struct ar_arena *a, struct ar_texts people, struct ar_str person)
{
	struct ar_str *all;

	if (ar_str_empty(person))
		person = unknown;
	if (people.count >= AR_PEOPLE_MAX)
		return ar_people_unknown();
	if (has(people, person))
		return people;
	all = ar_arena_alloc(a, (people.count + 1) * sizeof(*all));
	for (size_t i = 0; i < people.count; i++)
		all[i] = people.at[i];
	all[people.count] = ar_arena_str(a, person);
	return (struct ar_texts){ all, people.count + 1 };
}

bool ar_people_may_have(struct ar_texts people, struct ar_str person)
{
	return people.count == 0 || has(people, unknown) || has(people, person);
}

struct ar_texts ar_people_with_caller(struct ar_decision *d, struct ar_texts people)
{
	if (d->input->kind != AR_IN_COMMAND)
		return people;
	return ar_people_add(d->arena, people, d->input->person);
}
