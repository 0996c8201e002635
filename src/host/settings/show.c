/* See show.h. */
#include "settings/show.h"
#include "limits/money.h"
#include "secret/reference.h"
#include "secrets.h"

#include <string.h>

#define MASK AR_STR("***")

struct showing {
	const struct ar_redactor *redactor;
	const struct ar_secret_refs *refs;
	struct ar_arena arena;
	struct ar_jw *w;
};

/* Of a reference what it says, of another secret that there is one. */
static void show_text(struct showing *s, const char *const *at, bool is_secret)
{
	const struct ar_secret_ref *ref = is_secret ? ar_secret_reference_at(s->refs, at) : NULL;

	if (ref)
		ar_jw_raw(s->w, ar_secrets_mask(s->redactor, ref->form.p, &s->arena));
	else
		ar_jw_str(s->w, is_secret && **at ? MASK : ar_secrets_mask(s->redactor, *at, &s->arena));
}

static void show_strings(struct showing *s, const struct ar_config_strings *all, bool is_secret)
{
	ar_jw_open_array(s->w);
	for (size_t i = 0; i < all->count; i++)
		show_text(s, &all->v[i], is_secret);
	ar_jw_close_array(s->w);
}

static void show_decimal(struct showing *s, int64_t v)
{
	ar_jw_str(s->w, v == AR_CONFIG_UNSET ? AR_STR("") : ar_money_text(&s->arena, v));
}

static void show_value(struct showing *s, const struct ar_config_key *key, const void *at)
{
	switch (key->kind) {
	case AR_CONFIG_STRING:
		show_text(s, at, key->secret);
		return;
	case AR_CONFIG_INT:
		ar_jw_int(s->w, *(const int64_t *)at);
		return;
	case AR_CONFIG_BOOL:
		ar_jw_bool(s->w, *(const bool *)at);
		return;
	case AR_CONFIG_ENUM:
		ar_jw_str(s->w, ar_str_from(key->values[*(const int *)at]));
		return;
	case AR_CONFIG_DECIMAL:
		show_decimal(s, *(const int64_t *)at);
		return;
	case AR_CONFIG_STRINGS:
		show_strings(s, at, key->secret);
		return;
	}
}

static void show_origin(struct showing *s, const struct ar_origin *o)
{
	static const char *const words[] = { [AR_FROM_DEFAULT] = "default",
					     [AR_FROM_FILE] = "file",
					     [AR_FROM_ENVIRONMENT] = "environment",
					     [AR_FROM_COMMAND_LINE] = "command_line",
					     [AR_FROM_HOST] = "host" };

	ar_jw_mstr(s->w, "origin", ar_str_from(words[o->kind]));
	if (o->kind == AR_FROM_FILE)
		ar_jw_mstr(s->w, "source", ar_origin_text(o, &s->arena));
	else if (o->name)
		ar_jw_mstr(s->w, "source", ar_str_from(o->name));
}

static void show_entries(struct showing *s, const struct ar_config_list *list, const char *entries,
			 size_t count)
{
	ar_jw_open_array(s->w);
	for (size_t i = 0; i < count; i++) {
		ar_jw_open(s->w);
		for (size_t k = 0; k < list->field_count; k++) {
			ar_jw_key(s->w, list->fields[k].name);
			show_value(s, &list->fields[k],
				   entries + i * list->entry_size + list->fields[k].offset);
		}
		ar_jw_close(s->w);
	}
	ar_jw_close_array(s->w);
}

static void show_rows(struct showing *s, const struct ar_settings *settings)
{
	const char *config = (const char *)&settings->config;
	struct ar_jw *w = s->w;

	ar_jw_open_array(w);
	for (size_t i = 0; i < ar_config_key_count; i++) {
		const struct ar_config_key *key = &ar_config_keys[i];

		ar_jw_open(w);
		ar_jw_mstr(w, "key", ar_str_from(key->name));
		ar_jw_key(w, "value");
		show_value(s, key, config + key->offset);
		if (key->secret)
			ar_jw_mbool(w, "isSecret", true);
		show_origin(s, &settings->origins[i]);
		ar_jw_close(w);
	}
	for (size_t i = 0; i < ar_config_list_count; i++) {
		const struct ar_config_list *list = &ar_config_lists[i];
		const void *entries = config + list->offset, *count = config + list->count_offset;

		ar_jw_open(w);
		ar_jw_mstr(w, "key", ar_str_from(list->name));
		ar_jw_key(w, "value");
		show_entries(s, list, *(const char *const *)entries, *(const size_t *)count);
		show_origin(s, &settings->lists[i]);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void show_warnings(struct showing *s, const struct ar_settings *settings)
{
	ar_jw_open_array(s->w);
	for (size_t i = 0; i < settings->warnings.count; i++)
		ar_jw_str(s->w, ar_secrets_mask(s->redactor, settings->warnings.v[i].p, &s->arena));
	for (const struct ar_secret_ref *ref = s->refs->first; ref; ref = ref->next) {
		if (!ref->trouble)
			continue;
		ar_jw_str(s->w,
			  ar_secrets_mask(s->redactor,
					  ar_arena_fmt(&s->arena,
						       "%s: %s: the last value stays in use, it could not "
						       "be renewed: %s",
						       ar_origin_text(&ref->origin, &s->arena).p, ref->path,
						       ref->trouble)
						  .p,
					  &s->arena));
	}
	ar_jw_close_array(s->w);
}

void ar_settings_show(const struct ar_settings *settings, const struct ar_redactor *redactor, struct ar_jw *w)
{
	struct showing s = { .redactor = redactor, .refs = settings->refs, .w = w };

	ar_jw_key(w, "settings");
	show_rows(&s, settings);
	ar_jw_key(w, "warnings");
	show_warnings(&s, settings);
	ar_arena_fini(&s.arena);
}

/* ---- the policy ---- */

/* Settings, and with a dot at the end all of a section. */
static const char *const policy_settings[] = {
	"permission.",		"permission_rules",    "budget.", "guard.", "sandbox.profile",
	"sandbox.allow_danger", "sandbox.allow_hosts", "hooks",	  "tenants"
};

/* Asked of every setting at every start: most differ in their first letter. */
static bool is_of_policy(const char *name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(policy_settings); i++) {
		const char *policy = policy_settings[i];

		if (name[0] == policy[0] && strncmp(name, policy, strlen(policy)) == 0)
			return true;
	}
	return false;
}

static bool is_preset(const struct ar_config_key *key, struct ar_str shown)
{
	if (key->kind == AR_CONFIG_STRINGS)
		return ar_str_is(shown, "[]");
	if (shown.p[0] == '"')
		shown = ar_str_sub(shown, 1, shown.len - 2);
	return ar_str_is(shown, key->preset);
}

/* Nothing, if it is as without any setting. */
static void show_changed(struct showing *s, const struct ar_config_key *key, const void *at)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text), *to = s->w;

	s->w = &w;
	show_value(s, key, at);
	s->w = to;
	if (!is_preset(key, ar_buf_str(&text)))
		ar_jw_name_raw(s->w, ar_str_from(key->name), ar_buf_str(&text));
}

static void show_changed_entries(struct showing *s, const struct ar_config_list *list, const char *entries,
				 size_t count)
{
	if (count == 0)
		return;
	ar_jw_key(s->w, list->name);
	ar_jw_open_array(s->w);
	for (size_t i = 0; i < count; i++, entries += list->entry_size) {
		ar_jw_open(s->w);
		for (size_t k = 0; k < list->field_count; k++)
			show_changed(s, &list->fields[k], entries + list->fields[k].offset);
		ar_jw_close(s->w);
	}
	ar_jw_close_array(s->w);
}

void ar_settings_policy(const struct ar_config *c, const struct ar_redactor *redactor, struct ar_buf *out)
{
	static const struct ar_secret_refs none;
	struct ar_jw w = ar_jw(out);
	struct showing s = { .redactor = redactor, .refs = &none, .w = &w };
	const char *config = (const char *)c;

	ar_jw_open(&w);
	for (size_t i = 0; i < ar_config_key_count; i++) {
		if (is_of_policy(ar_config_keys[i].name))
			show_changed(&s, &ar_config_keys[i], config + ar_config_keys[i].offset);
	}
	for (size_t i = 0; i < ar_config_list_count; i++) {
		const struct ar_config_list *list = &ar_config_lists[i];
		const void *entries = config + list->offset, *count = config + list->count_offset;

		if (is_of_policy(list->name))
			show_changed_entries(&s, list, *(const char *const *)entries, *(const size_t *)count);
	}
	ar_jw_close(&w);
	ar_arena_fini(&s.arena);
}

enum ar_status ar_settings_document(const struct ar_settings *s, struct ar_buf *out, struct ar_error *err)
{
	struct ar_redactor *redactor = NULL;
	struct ar_jw w = ar_jw(out);

	if (ar_secrets_load(&s->config, &redactor, err) != AR_OK)
		return err->status;
	ar_jw_open(&w);
	ar_settings_show(s, redactor, &w);
	ar_jw_close(&w);
	ar_redactor_free(redactor);
	return AR_OK;
}
