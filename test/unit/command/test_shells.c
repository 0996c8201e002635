/* The strict reading beside real shells: of random texts those that are taken literally come to the same
 * words in bash and in dash, every one. AR_COMMAND_STRINGS texts (default 20,000) from AR_COMMAND_SEED
 * (default 1) on. */
#include "cmocka_unit.h"
#include "shells.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH 2000

static uint64_t state_of;

static uint32_t roll(uint32_t sides)
{
	state_of ^= state_of << 13;
	state_of ^= state_of >> 7;
	state_of ^= state_of << 17;
	return (uint32_t)(state_of >> 33) % sides;
}

/* What is between the words, and what a reader could stumble over. The rare ones make most texts opaque. */
static const char *const often[] = { " ",   " ",  " ", "\t", ";", " ; ", " && ", "||",
				     " | ", "\n", "|", "&&", "'", "\"",	 "''" };
static const char *const words[] = {
	"a",	    "b",      "-r",   "--",   "a=b",	"=",	       "x.y",  "/a",	"./b",	     "..",
	"1",	    "%1",     "+",    ",",    ":",	"@",	       "-",    "_",	"e\xc3\xa9", "'a b'",
	"\"a 'b\"", "'a\"b'", "'\n'", "'$x'", "'*'",	"''",	       "\"\"", "if",	"then",	     "do",
	"done",	    "in",     "fi",   "time", "'#'",	"\"~\"",       "';'",  "\"|\"", "'&&'",	     "a/b",
	"%",	    "0",      "a:b",  "'\\'", "\"{}\"", "\xe2\x80\x83"
};
static const char *const rare[] = { "$",  "`",	  "\\",	  "!",	  "*",	"?",	    "[",      "]",
				    "{",  "}",	  "(",	  ")",	  "<",	">",	    "&",      "#",
				    "~",  "^",	  "\\\n", "$'",	  "$(", "<<",	    ";;",     "|&",
				    "\r", "\x01", "\x7f", "\xff", "\v", "\xc2\xa0", "coproc " };

static size_t add(char *text, size_t len, const char *piece)
{
	size_t more = strlen(piece);

	memcpy(text + len, piece, more);
	return len + more;
}

/* Mostly a name, words, blanks; sometimes anything. */
static size_t make_text(char *text)
{
	uint32_t pieces = 1 + roll(14);
	size_t len = add(text, 0, roll(4) ? ar_shells_names[roll((uint32_t)ar_shells_name_count)] : "");

	for (uint32_t i = 0; i < pieces; i++) {
		uint32_t which = roll(64);

		if (which < 26)
			len = add(text, len, often[roll(AR_ARRAY_LEN(often))]);
		else if (which < 46)
			len = add(text, len, words[roll(AR_ARRAY_LEN(words))]);
		else if (which < 60)
			len = add(text, len, ar_shells_names[roll((uint32_t)ar_shells_name_count)]);
		else
			len = add(text, len, rare[roll(AR_ARRAY_LEN(rare))]);
	}
	return len;
}

static size_t number_of(const char *name, size_t otherwise)
{
	const char *text = getenv(name);

	return text ? (size_t)strtoull(text, NULL, 10) : otherwise;
}

static size_t compare(const struct ar_shells_text *texts, size_t count, struct ar_arena *a)
{
	size_t wrong = ar_shells_compare("/bin/bash", texts, count, a);

	return wrong + (access("/bin/dash", X_OK) == 0 ? ar_shells_compare("/bin/dash", texts, count, a) : 0);
}

static void shells_come_to_the_same_words(void **state)
{
	size_t total = number_of("AR_COMMAND_STRINGS", 20000), accepted = 0, wrong = 0, held = 0;
	struct ar_shells_text *texts = calloc(BATCH, sizeof(*texts));
	struct ar_arena a = { 0 };

	(void)state;
	state_of = number_of("AR_COMMAND_SEED", 1) * 0x9E3779B97F4A7C15u;
	for (size_t i = 0; i < total; i++) {
		char text[256];
		struct ar_shells_text *t = &texts[held];

		t->text = ar_arena_str(&a, (struct ar_str){ text, make_text(text) });
		ar_command_parse(t->text, &a, &t->parsed);
		held += !t->parsed.is_opaque;
		if (held < BATCH && i + 1 < total)
			continue;
		wrong += compare(texts, held, &a);
		accepted += held;
		held = 0;
		ar_arena_reset(&a);
	}
	free(texts);
	ar_arena_fini(&a);
	printf("%zu texts, %zu literal, %zu disagree\n", total, accepted, wrong);
	assert_int_equal(wrong, 0);
	assert_true(accepted * 10 > total); /* a reader that takes nothing would agree too */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shells_come_to_the_same_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
