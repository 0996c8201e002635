/* Fuzz target: any text is read without harm; what is literal has words that lie in it, and the lenient
 * reading has seen each of its commands too. */
#include "command.h"
#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_literal(const struct ar_command_line *c, size_t text_len)
{
	size_t total = 0;

	for (size_t i = 0; i < c->count; i++) {
		AR_ASSERT(c->commands[i].count > 0 && c->commands[i].words[0].len > 0 && c->commands[i].join);
		for (size_t n = 0; n < c->commands[i].count; n++)
			total += c->commands[i].words[n].len;
	}
	AR_ASSERT(total <= text_len);
	AR_ASSERT(c->seen_count >= c->count);
}

/* What is kept as not known has an unknown part. */
static void check_shapes(const struct ar_command_line *c)
{
	AR_ASSERT(c->shape_count <= c->seen_count && c->redirect_count <= AR_COMMAND_WORDS_MAX);
	for (size_t i = 0; i < c->shape_count; i++) {
		bool has_mark = false;

		for (size_t n = 0; n < c->shapes[i].count; n++) {
			struct ar_str word = c->shapes[i].words[n];

			has_mark = has_mark || (word.len && (memchr(word.p, AR_ANY_PART, word.len) ||
							     memchr(word.p, AR_ANY_WORDS, word.len)));
		}
		AR_ASSERT(has_mark);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len };
	struct ar_arena a = { 0 };
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_command_line c;

	ar_command_parse(text, &a, &c);
	AR_ASSERT(c.is_opaque == (c.why != NULL) && (!c.is_opaque || c.count == 0));
	if (!c.is_opaque)
		check_literal(&c, len);
	ar_command_words_json(&c, &w);
	AR_ASSERT((c.dangers == 0) == ar_str_absent(ar_command_danger_text(&c, &a)));
	AR_ASSERT(!ar_command_begins(&c, text) || !c.is_opaque);
	check_shapes(&c);
	c.root = AR_STR("/srv/shop");
	c.cwd = text;
	ar_command_judge_writes(&c);
	ar_command_may_mention(&c, AR_STR("git push origin"));
	ar_command_mentions(&c, AR_STR("cat secrets/key"));
	ar_command_of_argv(&text, 1, &a, &c);
	ar_buf_fini(&out);
	ar_arena_fini(&a);
	return 0;
}
