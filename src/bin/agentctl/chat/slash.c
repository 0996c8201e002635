/* See chat.h: the commands of a conversation, as one table; it also is the help. */
#include "chat/chat.h"
#include "reasons.h"
#include "term/term.h"

static void help(struct ar_chat *t, struct ar_str word);

void ar_chat_explain(struct ar_chat *t, struct ar_str id)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", id);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_close(&w);
	if (ar_api_call(t->ctl, "explain", ar_ctl_take_buf(t->ctl, &body), &reply) == AR_EXIT_OK) {
		ar_out_break(t->side);
		ar_reasons_print(t->side, reply.doc);
	}
	ar_api_fini(&reply);
}

static void explain(struct ar_chat *t, struct ar_str word)
{
	bool is_last = ar_str_empty(word) || ar_str_is(word, "last");

	if (is_last && !t->last.len)
		ar_chat_printf(t, "there was no turn yet");
	else
		ar_chat_explain(t, is_last ? ar_buf_str(&t->last) : word);
}

static void interrupt(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	ar_chat_interrupt(t);
}

static void choose(struct ar_chat *t, struct ar_str *what, const char *name, struct ar_str word)
{
	*what = ar_str_empty(word) ? AR_STR_NONE : ar_arena_str(&t->ctl->arena, word);
	ar_chat_printf(t, "%s of the next turns: %.*s", name,
		       AR_STR_ARG(ar_str_empty(word) ? AR_STR("the daemon's") : word));
}

static void model(struct ar_chat *t, struct ar_str word)
{
	choose(t, &t->model, "model", word);
}

static void mode(struct ar_chat *t, struct ar_str word)
{
	choose(t, &t->mode, "mode", word);
}

static void cost(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	if (!ar_chat_begin(t, AR_STYLE_PLAIN))
		return;
	ar_out_printf(t->side, "%d turn%s seen here: ", t->all.turns, t->all.turns == 1 ? "" : "s");
	ar_chat_tally_print(t->side, &t->all);
	ar_chat_end(t);
}

static void new_session(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	ar_chat_printf(t, "the next line begins a new session");
	t->is_elsewhere = true;
}

/* Only where it is drawn. */
static void resume(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	if (t->term)
		ar_term_pick(t->term);
	else
		ar_chat_printf(t, "agentctl sessions lists them, agentctl chat --session ID continues one");
}

static void keys(struct ar_chat *t, struct ar_str word)
{
	if (!t->term)
		ar_chat_printf(t, "lines are edited by the terminal itself");
	else if (ar_str_empty(word))
		ar_term_show_keys(t->term);
	else if (!ar_term_set_keys(t->term, word))
		ar_chat_printf(t, "/keys vi and /keys emacs change the keys; /keys lists them");
}

static void output(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	if (t->term)
		ar_term_show_output(t->term);
	else
		ar_chat_printf(t, "agentctl show prints results whole");
}

static void quit_chat(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	ar_chat_leave(t, AR_EXIT_OK);
}

static const struct {
	const char *name, *takes, *doc;
	bool needs_session;
	void (*run)(struct ar_chat *t, struct ar_str word);
} commands[] = {
	{ "help", "", "this list", false, help },
	{ "queue", "", "the turns that wait", true, ar_chat_queue },
	{ "steer", " TEXT", "give a text to the running turn", true, ar_chat_steer },
	{ "interrupt", "", "stop the running turn, as Ctrl-C does", false, interrupt },
	{ "model", " NAME", "model of the next turns; without a name the daemon's choice", false, model },
	{ "mode", " MODE", "permission mode of the next turns; without one the daemon's", false, mode },
	{ "cost", "", "tokens, money and time of the turns seen here", false, cost },
	{ "explain", " [last|ID]", "explain the decisions of the last turn", true, explain },
	{ "compact", "", "replace the older part of the conversation by a summary", true, ar_chat_compact },
	{ "fork", "", "continue in a branch; the thread is not changed", true, ar_chat_fork },
	{ "rollback", "", "roll the last turn back", true, ar_chat_rollback },
	{ "undo", "", "restore the files that the last turn changed", true, ar_chat_undo },
	{ "diff", "", "what the last turn changed in the files", true, ar_chat_diff },
	{ "output", "", "all of the last command's output", false, output },
	{ "keys", " [vi|emacs]", "what the keys do; or other keys", false, keys },
	{ "new", "", "begin a new session", false, new_session },
	{ "resume", "", "choose another session of this folder", false, resume },
	{ "exit", "", "exit; running work continues", false, quit_chat },
};

static void help(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	ar_out_break(t->side);
	for (size_t i = 0; i < AR_ARRAY_LEN(commands); i++)
		ar_out_printf(t->side, "  /%s%-*s %s\n", commands[i].name,
			      (int)(20 - ar_str_from(commands[i].name).len), commands[i].takes,
			      commands[i].doc);
}

bool ar_chat_command_at(size_t i, struct ar_chat_command_words *ret)
{
	if (i >= AR_ARRAY_LEN(commands))
		return false;
	*ret = (struct ar_chat_command_words){ commands[i].name, commands[i].doc };
	return true;
}

bool ar_chat_command(struct ar_chat *t, struct ar_str line)
{
	struct ar_str name, word = ar_str_split(ar_str_sub(line, 1, line.len), ' ', &name);
	size_t i = 0;

	while (i < AR_ARRAY_LEN(commands) && !ar_str_is(name, commands[i].name))
		i++;
	if (i == AR_ARRAY_LEN(commands))
		return false;
	while (ar_str_starts(word, AR_STR(" ")))
		word = ar_str_sub(word, 1, word.len);
	if (commands[i].needs_session && ar_str_absent(t->session))
		ar_chat_printf(t, "there is no turn yet");
	else
		commands[i].run(t, word);
	return true;
}
