/* See complete.h. What a command takes is read from its synopsis: words in capitals are kinds of things,
 * small ones stand for themselves. */
#include "complete.h"
#include "api.h"
#include "catalog.h"
#include "id.h"

#include <string.h>

#define ASK_MS 700L
#define ASK_MOST 100
#define SHORT_ID 6
#define WORD_MAX 64

struct typed {
	struct ar_ctl *ctl;
	const struct ar_ctl_table *table;
	const struct ar_ctl_command *command; /* NULL: not there yet */
	const char *option; /* the word before, when it is an option; NULL: it is not */
	int place; /* of the typed word among those behind the command, from 0 */
	struct ar_str word;
};

static void offer(struct typed *t, struct ar_str word, struct ar_str about)
{
	if (!ar_str_starts(word, t->word))
		return;
	ar_out_line(&t->ctl->out, word);
	ar_out_printf(&t->ctl->out, "\t");
	ar_out_line(&t->ctl->out, about);
	ar_out_printf(&t->ctl->out, "\n");
}

static void offer_options(struct typed *t, const struct ar_ctl_option *options, size_t count)
{
	char name[WORD_MAX];

	for (size_t i = 0; i < count && options[i].name; i++) {
		snprintf(name, sizeof(name), "--%s", options[i].name);
		offer(t, ar_str_from(name), ar_str_from(options[i].doc));
	}
}

static void offer_commands(struct typed *t)
{
	for (size_t i = 0; i < t->table->count; i++)
		offer(t, ar_str_from(t->table->commands[i]->name),
		      ar_str_from(t->table->commands[i]->summary));
	offer(t, AR_STR("help"), AR_STR("the page of a command"));
}

/* ---- what the daemon knows ---- */

/* Kinds of things by the word that stands for them. */
static const struct kind {
	const char *word, *command, *body, *array, *member, *about;
	bool is_whole; /* no id: its end alone says nothing */
} kinds[] = {
	{ "SESSION", "list_sessions", "{\"limit\":100}", "sessions", "sessionId", "title", false },
	{ "ACTION", "list_actions", "{\"limit\":100,\"status\":\"pending\"}", "actions", "actionId", "title",
	  false },
	{ "WORKER", "list_workers", "{\"limit\":100}", "workers", "workerId", "name", true },
	{ "SCHEDULE", "list_schedules", "{\"limit\":100}", "schedules", "scheduleId", "name", true },
	{ "WORKSPACE", "list_workspaces", "{\"limit\":100}", "workspaces", "root", "name", true },
};

/* An id as it was begun, or its end, which is what people read in lists. */
static void offer_id(struct typed *t, struct ar_str id, struct ar_str about)
{
	struct ar_str end = ar_str_sub(id, id.len > SHORT_ID ? id.len - SHORT_ID : 0, id.len);

	offer(t, ar_str_empty(t->word) || ar_str_starts(end, t->word) ? end : id, about);
}

static void offer_things(struct typed *t, const struct kind *k)
{
	struct ar_api_reply reply;

	if (!t->ctl->socket && !t->ctl->url)
		return;
	if (strcmp(k->word, "SESSION") == 0)
		offer(t, AR_STR("last"), AR_STR("the newest session"));
	if (ar_api_call_within(t->ctl, k->command, ar_str_from(k->body), ASK_MS, &reply) == AR_EXIT_OK) {
		struct ar_json list = ar_json_get(reply.doc, k->array);

		for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);)
			(k->is_whole ? offer : offer_id)(t, ar_api_str(it.value, k->member),
							 ar_api_str(it.value, k->about));
	}
	ar_api_fini(&reply);
}

static void offer_api(struct typed *t)
{
	for (size_t i = 1; i < AR_CMD_COUNT; i++) {
		if (ar_command_descs[i].built)
			offer(t, ar_str_from(ar_command_descs[i].name), ar_str_from(ar_command_descs[i].doc));
	}
}

static void offer_kind(struct typed *t, struct ar_str kind)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (ar_str_is(kind, kinds[i].word))
			offer_things(t, &kinds[i]);
	}
	if (ar_str_is(kind, "COMMAND"))
		offer_api(t);
}

/* ---- words ---- */

static bool is_small(struct ar_str word)
{
	return word.len && word.p[0] >= 'a' && word.p[0] <= 'z';
}

/* Whether the word of the synopsis may stand where something is typed. Words that lead, as in
 * `list|show [WORKSPACE]`, are a place of their own and only there; others follow the first thing that is
 * named, as in `SESSION promote TURN`. */
static bool is_due(const struct typed *t, struct ar_str word, bool is_led, int place)
{
	if (is_led)
		return is_small(word) == (t->place == 0) && (t->place == 0 || t->place == place + 1);
	return is_small(word) ? place == 0 || t->place > 0 : place == t->place;
}

/* The words of the synopsis without brackets and bars, with their place. */
static void offer_words(struct typed *t)
{
	char text[WORD_MAX * 2];
	struct ar_str rest, word;
	bool is_led = t->command->synopsis[0] && is_small(ar_str_from(t->command->synopsis));
	int place = 0;

	snprintf(text, sizeof(text), "%s", t->command->synopsis);
	for (char *p = text; *p; p++)
		*p = strchr("[]|", *p) ? ' ' : *p;
	rest = ar_str_from(text);
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &word);
		if (ar_str_empty(word))
			continue;
		if (is_due(t, word, is_led, place) && is_small(word))
			offer(t, word, AR_STR(""));
		else if (is_due(t, word, is_led, place))
			offer_kind(t, word);
		place += !is_small(word);
	}
}

static const struct ar_ctl_option *find_option(const struct typed *t, const char *word)
{
	for (size_t i = 0; i < ar_global_option_count; i++) {
		if (strcmp(ar_global_options[i].name, word + 2) == 0)
			return &ar_global_options[i];
	}
	for (size_t i = 0; t->command && i < AR_CTL_OPTIONS && t->command->options[i].name; i++) {
		if (strcmp(t->command->options[i].name, word + 2) == 0)
			return &t->command->options[i];
	}
	return NULL;
}

static const struct ar_ctl_command *find_command(const struct ar_ctl_table *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->commands[i]->name, name) == 0)
			return t->commands[i];
	}
	return NULL;
}

/* What stands in front of the typed word. `help X` is a command's name again. */
static void read_words(struct typed *t, int count, char **words)
{
	bool is_value = false;

	for (int i = 0; i + 1 < count; i++) {
		const struct ar_ctl_option *o =
			strncmp(words[i], "--", 2) == 0 ? find_option(t, words[i]) : NULL;

		t->option = o && o->value ? o->value : NULL;
		if (is_value || words[i][0] == '-') {
			is_value = !is_value && t->option;
			continue;
		}
		if (t->command)
			t->place++;
		else
			t->command = find_command(t->table, words[i]);
	}
	if (!is_value)
		t->option = NULL;
}

void ar_complete_globals(int count, char **words, struct ar_globals *ret)
{
	*ret = (struct ar_globals){ 0 };
	for (int i = 0; i + 2 < count; i++) {
		if (strcmp(words[i], "--socket") == 0)
			ret->socket = words[i + 1];
		if (strcmp(words[i], "--data-dir") == 0)
			ret->data_dir = words[i + 1];
		if (strcmp(words[i], "--url") == 0)
			ret->url = words[i + 1];
	}
}

void ar_complete(struct ar_ctl *c, const struct ar_ctl_table *table, int count, char **words)
{
	struct typed t = { .ctl = c, .table = table, .word = ar_str_from(count ? words[count - 1] : "") };

	read_words(&t, count, words);
	if (t.option) {
		offer_kind(&t, ar_str_from(t.option));
		return;
	}
	if (ar_str_starts(t.word, AR_STR("-"))) {
		if (t.command)
			offer_options(&t, t.command->options, AR_CTL_OPTIONS);
		offer_options(&t, ar_global_options, ar_global_option_count);
		return;
	}
	if (t.command)
		offer_words(&t);
	else
		offer_commands(&t);
}
