/* Variables that a text assigns. It is read from its beginning to its end, but it may run in another
 * order: so of several values any may hold, and one that comes after the variable was used as a command
 * makes that command unreadable. Pure. */
#include "danger.h"

struct ar_variable *ar_variables_find(struct ar_variables *v, struct ar_str name)
{
	for (size_t i = 0; i < v->count; i++) {
		if (ar_str_eq(v->at[i].name, name))
			return &v->at[i];
	}
	return NULL;
}

bool ar_variables_learn(struct ar_variables *v, const struct ar_variable *one, struct ar_arena *a)
{
	struct ar_variable *known = ar_variables_find(v, one->name);
	struct ar_str shape;

	if (!known) {
		v->is_full = v->is_full || v->count == AR_VARIABLES_MAX;
		if (!v->is_full)
			v->at[v->count++] = *one;
		return true;
	}
	shape = ar_shape_merge(known->shape, one->shape, a);
	known->text = one->text;
	if (ar_str_eq(shape, known->shape))
		return true;
	known->shape = shape;
	return !known->is_program;
}
