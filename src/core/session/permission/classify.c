/* The classifier of mode auto: a fixed list of rules over what is known of a call before it runs. It reads
 * no prose, asks no model, and is no boundary: what it lets change something runs inside a sandbox that
 * the kernel enforces. Pure. */
#include "command.h"
#include "decide.h"
#include "permission/raise.h"

/* In the order in which they are tried; a change of their meaning is a new version. */
static const struct ar_class reads = { AR_ALLOW, "reads", "it only reads" },
			     destroys = { AR_ASK, "destroys", "it may destroy something" },
			     danger = { AR_ASK, "danger", "the command looks dangerous" },
			     outside = { AR_ASK, "outside",
					 "it changes something and no sandbox confines it" },
			     opaque = { AR_ASK, "opaque", "its text does not show all that it runs" },
			     confined = { AR_SANDBOXED, "confined",
					  "what it changes stays inside the sandbox" };

/* A text that is opaque only because of where its output goes is read like a plain one. */
static bool shows_all(const struct ar_evaluation *b)
{
	const struct ar_command_line *c = b->act->command;

	return !c || !c->is_opaque || !ar_str_absent(b->act->covers);
}

const struct ar_class *ar_permission_classify(const struct ar_evaluation *b)
{
	const struct ar_tool *tool = b->act->tool;
	const struct ar_command_line *c = b->act->command;

	if (tool && tool->is_read_only)
		return &reads;
	if ((tool && tool->is_destructive) || (c && ar_command_is_destructive(c)))
		return &destroys;
	if (c && c->dangers)
		return &danger;
	if (!ar_profile_confines(&b->profile))
		return &outside;
	return shows_all(b) ? &confined : &opaque;
}
