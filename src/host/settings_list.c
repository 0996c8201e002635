/* See settings_list.h. */
#include "settings_list.h"
#include "settings_value.h"

#include <string.h>

/* One list on its way: `entries` become the struct in force. */
struct reading {
	const struct ar_config_list *list;
	const char *file_entries;
	char *entries;
	size_t count;
	struct ar_arena *arena;
};

static struct ar_setting setting_of(const struct reading *r, size_t entry, const struct ar_config_key *key)
{
	return (struct ar_setting){
		.key = key,
		.path = ar_arena_fmt(r->arena, "%s[%zu].%s", r->list->name, entry, key->name),
		.at = r->entries + entry * r->list->entry_size + key->offset,
		.arena = r->arena,
	};
}

static bool is_given(const struct ar_config_key *key, const void *file_entry)
{
	const char *const *member = (const void *)((const char *)file_entry + key->file_offset);

	if (!*member)
		return false;
	return key->kind == AR_CONFIG_INT || key->kind == AR_CONFIG_BOOL || key->kind == AR_CONFIG_STRINGS ||
	       **member;
}

static enum ar_status refuse_twin(const struct reading *r, size_t entry, const struct ar_setting *s,
				  struct ar_error *err)
{
	for (size_t i = 0; i < entry; i++) {
		const char *other =
			*(const char **)(void *)(r->entries + i * r->list->entry_size + s->key->offset);

		if (strcmp(other, *(const char **)s->at) == 0)
			return ar_fail(err, AR_E_INVALID, "%.*s (from the file): %s[%zu] has the same one",
				       AR_STR_ARG(s->path), r->list->name, i);
	}
	return AR_OK;
}

static enum ar_status read_field(const struct reading *r, size_t entry, const struct ar_config_key *key,
				 struct ar_error *err)
{
	const char *file_entry = r->file_entries + entry * r->list->file_entry_size;
	struct ar_setting s = setting_of(r, entry, key);

	if (key->required && !is_given(key, file_entry))
		return ar_fail(err, AR_E_INVALID, "%.*s (from the file): it is required", AR_STR_ARG(s.path));
	if (!key->required && ar_setting_set(&s, key->preset, "the defaults", err) != AR_OK)
		return AR_E_INVALID;
	if (ar_setting_set_from_file(&s, file_entry, err) != AR_OK)
		return AR_E_INVALID;
	return key->unique ? refuse_twin(r, entry, &s, err) : AR_OK;
}

static enum ar_status read_list(struct reading *r, struct ar_error *err)
{
	r->entries = ar_arena_alloc(r->arena, r->count * r->list->entry_size);
	for (size_t i = 0; i < r->count; i++) {
		for (size_t k = 0; k < r->list->field_count; k++) {
			if (read_field(r, i, &r->list->fields[k], err) != AR_OK)
				return AR_E_INVALID;
		}
	}
	return AR_OK;
}

enum ar_status ar_settings_lists(const struct ar_config_file *file, struct ar_arena *a, struct ar_config *ret,
				 struct ar_error *err)
{
	for (size_t i = 0; i < ar_config_list_count; i++) {
		const struct ar_config_list *list = &ar_config_lists[i];
		const void *entries = (const char *)file + list->file_offset;
		const void *count = (const char *)file + list->file_count_offset;
		struct reading r = { .list = list,
				     .file_entries = *(const char *const *)entries,
				     .count = *(const size_t *)count,
				     .arena = a };

		if (r.count == 0)
			continue;
		if (read_list(&r, err) != AR_OK)
			return AR_E_INVALID;
		*(void **)(void *)((char *)ret + list->offset) = r.entries;
		*(size_t *)(void *)((char *)ret + list->count_offset) = r.count;
	}
	return AR_OK;
}
