/* Lookups over the generated tables. Event names are searched by halving because every stored event passes
 * here when it is read back; the other lists are short and asked once per request. */
#include "describe.h"

#include <string.h>

const struct ar_event_desc *ar_event_describe(enum ar_event_type type)
{
	if (type <= AR_EV_NONE || type >= AR_EV_COUNT)
		return NULL;
	return &ar_event_descs[type];
}

const struct ar_command_desc *ar_command_describe(enum ar_command command)
{
	if (command <= AR_CMD_NONE || command >= AR_CMD_COUNT)
		return NULL;
	return &ar_command_descs[command];
}

const struct ar_error_desc *ar_error_describe(int code)
{
	if (code <= AR_ERR_NONE || code >= AR_ERR_COUNT)
		return NULL;
	return &ar_error_descs[code];
}

const struct ar_event_desc *ar_event_find(struct ar_str name)
{
	size_t low = 0, high = AR_EV_COUNT - 1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct ar_event_desc *d = &ar_event_descs[ar_event_order[mid]];
		int order = ar_str_cmp(name, ar_str_from(d->name));

		if (order == 0)
			return d;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

const struct ar_command_desc *ar_command_find(struct ar_str name)
{
	for (int i = 1; i < AR_CMD_COUNT; i++)
		if (ar_str_is(name, ar_command_descs[i].name))
			return &ar_command_descs[i];
	return NULL;
}

enum ar_error_code ar_error_find(struct ar_str name)
{
	for (int i = 1; i < AR_ERR_COUNT; i++)
		if (ar_str_is(name, ar_error_descs[i].name))
			return (enum ar_error_code)i;
	return AR_ERR_NONE;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool ar_field_named(const char *field, struct ar_str name)
{
	const char *p = name.p, *end = name.p + name.len;

	for (; *field && p < end; field++, p++) {
		if (*field == *p)
			continue;
		if (*p != '_' || !is_upper(*field) || p + 1 == end || p[1] != *field - 'A' + 'a')
			return false;
		p++;
	}
	return !*field && p == end;
}

const struct ar_field_desc *ar_field_find(const struct ar_struct_desc *d, struct ar_str name)
{
	for (size_t i = 0; i < d->count; i++)
		if (ar_field_named(d->fields[i].name, name))
			return &d->fields[i];
	return NULL;
}

int ar_enum_find(const struct ar_enum_desc *d, struct ar_str name)
{
	for (int i = 1; i < d->count; i++)
		if (ar_str_is(name, d->names[i]))
			return i;
	return 0;
}

const char *ar_enum_name(const struct ar_enum_desc *d, int value)
{
	if (value <= 0 || value >= d->count)
		return NULL;
	return d->names[value];
}

static bool add_family(struct ar_str pattern, uint8_t *flags)
{
	struct ar_str prefix = ar_str_sub(pattern, 0, pattern.len - 1);
	bool is_any = false;

	for (int type = 1; type < AR_EV_COUNT; type++) {
		if (!ar_str_starts(ar_str_from(ar_event_describe((enum ar_event_type)type)->name), prefix))
			continue;
		flags[type] = 1;
		is_any = true;
	}
	return is_any;
}

bool ar_event_types_add(struct ar_str pattern, uint8_t *flags)
{
	const struct ar_event_desc *desc = ar_event_find(pattern);

	if (pattern.len > 2 && ar_str_eq(ar_str_sub(pattern, pattern.len - 2, 2), AR_STR(".*")))
		return add_family(pattern, flags);
	if (desc)
		flags[desc->type] = 1;
	return desc;
}
