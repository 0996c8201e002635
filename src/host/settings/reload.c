/* See reload.h. */
#include "settings/reload.h"
#include "buf.h"
#include "log.h"
#include "secret/reference.h"

#include <string.h>

/* Two settings that are compared. */
struct pair {
	const struct ar_settings *now, *next;
};

/* References are compared, not their values: a new value is no change of the settings. */
static bool is_same_text(const struct pair *p, const char *const *a, const char *const *b)
{
	const struct ar_secret_ref *one = ar_secret_reference_at(p->now->refs, a);
	const struct ar_secret_ref *other = ar_secret_reference_at(p->next->refs, b);

	if (one || other)
		return one && other && ar_str_eq(one->form, other->form);
	return strcmp(*a, *b) == 0;
}

static bool are_same_strings(const struct pair *p, const struct ar_config_strings *a,
			     const struct ar_config_strings *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!is_same_text(p, &a->v[i], &b->v[i]))
			return false;
	}
	return true;
}

/* The member of two structs that the tables describe alike. */
static bool is_same(const struct pair *p, const struct ar_config_key *key, const char *one, const char *other)
{
	const void *a = one + key->offset, *b = other + key->offset;

	switch (key->kind) {
	case AR_CONFIG_STRING:
		return is_same_text(p, a, b);
	case AR_CONFIG_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case AR_CONFIG_ENUM:
		return *(const int *)a == *(const int *)b;
	case AR_CONFIG_STRINGS:
		return are_same_strings(p, a, b);
	case AR_CONFIG_INT:
	case AR_CONFIG_DECIMAL:
		break;
	}
	return *(const int64_t *)a == *(const int64_t *)b;
}

static bool is_same_list(const struct pair *p, const struct ar_config_list *list)
{
	const char *one = (const char *)&p->now->config, *other = (const char *)&p->next->config;
	const void *a = one + list->offset, *b = other + list->offset;
	const void *n = one + list->count_offset, *m = other + list->count_offset;

	if (*(const size_t *)n != *(const size_t *)m)
		return false;
	for (size_t i = 0; i < *(const size_t *)n; i++) {
		for (size_t k = 0; k < list->field_count; k++) {
			if (!is_same(p, &list->fields[k], *(const char *const *)a + i * list->entry_size,
				     *(const char *const *)b + i * list->entry_size))
				return false;
		}
	}
	return true;
}

static void add_name(struct ar_buf *names, const char *name)
{
	ar_buf_addf(names, "%s%s", names->len > 0 ? ", " : "", name);
}

static void log_changes(const struct pair *p, const struct ar_log *log)
{
	const char *a = (const char *)&p->now->config, *b = (const char *)&p->next->config;
	struct ar_buf names = { 0 };

	for (size_t i = 0; i < ar_config_key_count; i++) {
		if (!is_same(p, &ar_config_keys[i], a, b))
			add_name(&names, ar_config_keys[i].name);
	}
	for (size_t i = 0; i < ar_config_list_count; i++) {
		if (!is_same_list(p, &ar_config_lists[i]))
			add_name(&names, ar_config_lists[i].name);
	}
	if (names.len == 0)
		ar_log_line(log, "info", "the settings have not changed", NULL);
	else
		ar_log_line(log, "warning", "these settings have changed; restart agentd to apply them",
			    (ar_buf_addc(&names, '\0'), names.p));
	ar_buf_fini(&names);
}

void ar_settings_reload(const struct ar_settings *now, const struct ar_settings_args *args,
			const struct ar_log *log)
{
	struct ar_arena arena = { 0 };
	struct ar_settings next;

	ar_settings_read(args, &arena, &next);
	for (size_t i = 0; i < next.problems.count; i++)
		ar_log_line(log, "error", "the settings are wrong now; those in force stay",
			    next.problems.v[i].p);
	if (next.problems.count == 0)
		log_changes(&(struct pair){ now, &next }, log);
	ar_arena_fini(&arena);
}
