/* See people.h. */
#include "people.h"

static const struct ar_str unknown = AR_STR(AR_PERSON_UNKNOWN);

struct ar_texts ar_people_unknown(void)
{
	return (struct ar_texts){ &unknown, 1 };
}

struct ar_texts ar_people_add(struct ar_arena *a, struct ar_texts people, struct ar_str person)
{
	if (ar_str_empty(person))
		person = unknown;
	if (people.count >= AR_PEOPLE_MAX)
		return ar_people_unknown();
	if (ar_texts_have(people, person))
		return people;
	return ar_arena_texts_add(a, people, ar_arena_str(a, person));
}

bool ar_people_may_have(struct ar_texts people, struct ar_str person)
{
	return people.count == 0 || ar_texts_have(people, unknown) || ar_texts_have(people, person);
}

struct ar_texts ar_people_with_caller(struct ar_decision *d, struct ar_texts people)
{
	if (d->input->kind != AR_IN_COMMAND)
		return people;
	return ar_people_add(d->arena, people, d->input->person);
}
