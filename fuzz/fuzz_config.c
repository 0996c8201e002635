/* Fuzz target: the settings, as an operator may write them: a YAML file, then, after NULs, variables
 * (NAME=value) and flags (--listen=...). What is taken is within the catalogue's bounds; what is refused says
 * why, and never with a secret in it. */
#include "secrets.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A variable that files may name by `env:`. */
#define SECRET_NAME "FUZZ_KEY"
#define SECRET "never-to-be-said-0815"

#define PARTS 16

static int file;
static char path[32];
static struct ar_arena arena;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	file = memfd_create("settings", MFD_CLOEXEC);
	AR_ASSERT(file >= 0 && fchmod(file, 0600) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	clearenv();
	setenv("HOME", "/home/user", 1);
	setenv(SECRET_NAME, SECRET, 1);
	return 0;
}

/* ---- what is put in ---- */

static void take_part(struct ar_str part, struct ar_settings_args *args, const char **ret_name)
{
	const struct {
		const char *flag;
		const char **at;
	} flags[] = { { "--data-dir=", &args->data_dir },
		      { "--listen=", &args->listen },
		      { "--socket=", &args->socket } };
	struct ar_str name, value = ar_str_split(part, '=', &name);
	const char *text = ar_arena_str(&arena, part).p;

	for (size_t i = 0; i < AR_ARRAY_LEN(flags); i++) {
		if (ar_str_starts(part, ar_str_from(flags[i].flag)))
			*flags[i].at = text + strlen(flags[i].flag);
	}
	if (ar_str_starts(part, AR_STR("--")) || ar_str_absent(value) || !name.len ||
	    ar_str_is(name, SECRET_NAME) || ar_str_is(name, "HOME"))
		return;
	*ret_name = ar_arena_str(&arena, name).p;
	setenv(*ret_name, text + name.len + 1, 1);
}

/* ---- what comes out ---- */

static void check_value(const struct ar_config_key *key, const void *at)
{
	size_t words = 0;

	switch (key->kind) {
	case AR_CONFIG_INT:
		AR_ASSERT(*(const int64_t *)at >= key->min &&
			  (!key->max || *(const int64_t *)at <= key->max));
		return;
	case AR_CONFIG_DECIMAL:
		AR_ASSERT(*(const int64_t *)at == AR_CONFIG_UNSET || *(const int64_t *)at >= 0);
		return;
	case AR_CONFIG_ENUM:
		while (key->values[words])
			words++;
		AR_ASSERT(*(const int *)at >= 0 && (size_t) * (const int *)at < words);
		return;
	case AR_CONFIG_STRING:
		AR_ASSERT(*(const char *const *)at && (!key->required || **(const char *const *)at));
		return;
	case AR_CONFIG_STRINGS:
		for (size_t i = 0; i < ((const struct ar_config_strings *)at)->count; i++)
			AR_ASSERT(((const struct ar_config_strings *)at)->v[i]);
		return;
	default:
		return;
	}
}

static void check_list(const struct ar_config *c, const struct ar_config_list *list)
{
	const void *entries = (const char *)c + list->offset, *count = (const char *)c + list->count_offset;

	for (size_t i = 0; i < *(const size_t *)count; i++) {
		for (size_t k = 0; k < list->field_count; k++)
			check_value(&list->fields[k], *(const char *const *)entries + i * list->entry_size +
							      list->fields[k].offset);
	}
}

static void check_config(const struct ar_config *c)
{
	struct ar_redactor *secrets = NULL;
	struct ar_error err = { 0 };

	for (size_t i = 0; i < ar_config_key_count; i++)
		check_value(&ar_config_keys[i], (const char *)c + ar_config_keys[i].offset);
	for (size_t i = 0; i < ar_config_list_count; i++)
		check_list(c, &ar_config_lists[i]);
	AR_ASSERT(*c->data_dir && *c->socket && *c->node.id);
	if (ar_secrets_load(c, &secrets, &err) != AR_OK) {
		AR_ASSERT(err.status == AR_E_INVALID && err.msg[0]);
		return;
	}
	AR_ASSERT(!strstr(ar_secrets_mask(secrets, "a " SECRET " b", &arena).p, SECRET));
	ar_redactor_free(secrets);
}

static void load(const struct ar_settings_args *args, struct ar_str input)
{
	struct ar_error err = { 0 };
	struct ar_config c;

	if (ar_settings_load(args, &arena, &c, &err) == AR_OK) {
		check_config(&c);
		return;
	}
	AR_ASSERT(err.status == AR_E_INVALID && err.msg[0]);
	if (!memmem(input.p, input.len, SECRET, strlen(SECRET)))
		AR_ASSERT(!strstr(err.msg, SECRET));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_settings_args args = { .config_file = path, .no_listeners = len & 1 };
	struct ar_str input = { (const char *)bytes, len }, yaml, part, rest;
	const char *names[PARTS] = { 0 };

	ar_arena_reset(&arena);
	rest = ar_str_split(input, '\0', &yaml);
	AR_ASSERT(ftruncate(file, 0) == 0 && pwrite(file, yaml.p, yaml.len, 0) == (ssize_t)yaml.len);
	for (size_t i = 0; i < PARTS && rest.len; i++) {
		rest = ar_str_split(rest, '\0', &part);
		take_part(part, &args, &names[i]);
	}
	load(&args, input);
	for (size_t i = 0; i < PARTS; i++) {
		if (names[i])
			unsetenv(names[i]);
	}
	return 0;
}
