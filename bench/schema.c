/* Checks of a typical tool's arguments against its schema, per second; and how often such a schema is
 * compiled in that time. */
#include "clock.h"
#include "schema.h"

#include <stdio.h>

static const char schema_text[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,\"description\":\"Where to look\"},"
	"\"pattern\":{\"type\":\"string\",\"description\":\"What to look for\"},"
	"\"mode\":{\"type\":\"string\",\"enum\":[\"content\",\"files\",\"count\"]},"
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10000,\"default\":100},"
	"\"flags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z-]+$\"},"
	"\"uniqueItems\":true},"
	"\"range\":{\"type\":\"object\",\"properties\":{\"from\":{\"type\":\"number\"},\"to\":{\"type\":"
	"\"number\"}},"
	"\"required\":[\"from\"],\"additionalProperties\":false},"
	"\"since\":{\"anyOf\":[{\"type\":\"string\",\"format\":\"date-time\"},{\"type\":\"null\"}]}},"
	"\"required\":[\"path\",\"pattern\"],\"additionalProperties\":false}";

static const char args_text[] =
	"{\"path\":\"src/core\",\"pattern\":\"struct [a-z]+\",\"mode\":\"content\",\"limit\":50,"
	"\"flags\":[\"multi-line\",\"case\"],\"range\":{\"from\":1,\"to\":20.5},\"since\":null}";

enum { CHECKS = 500000, COMPILES = 20000 };

static double seconds_since(ar_usec start)
{
	return (double)(ar_clock_system()->mono(ar_clock_system()) - start) / 1e6;
}

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

int main(void)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_schema *s = NULL;
	struct ar_json v;
	ar_usec start = now();
	int good = 0;

	for (int i = 0; i < COMPILES; i++) {
		ar_schema_free(s);
		if (ar_schema_compile(ar_str_from(schema_text), p, NULL, &s, NULL))
			return 1;
	}
	printf("compiled %.0f schemas/s\n", COMPILES / seconds_since(start));
	if (ar_json_parse(p, ar_str_from(args_text), &v, NULL))
		return 1;
	start = now();
	for (int i = 0; i < CHECKS; i++)
		good += ar_schema_check(s, v, NULL, NULL);
	printf("checked %.0f values/s\n", CHECKS / seconds_since(start));
	ar_schema_free(s);
	ar_json_parser_free(p);
	return good == CHECKS ? 0 : 1;
}
