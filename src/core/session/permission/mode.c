/* The eight permission modes: how loose they are, what they let run by themselves. Pure tables; their
 * words are the catalogue's. */
#include "describe.h"
#include "session.h"

static const int looseness[AR_MODE_COUNT] = {
	[AR_MODE_DEFAULT] = 4, [AR_MODE_UNTRUSTED] = 3, [AR_MODE_ON_REQUEST] = 4, [AR_MODE_ON_FAILURE] = 4,
	[AR_MODE_NEVER] = 2,   [AR_MODE_PLAN] = 1,	[AR_MODE_BYPASS] = 5,	  [AR_MODE_AUTO] = 4,
};

_Static_assert((int)AR_MODE_DEFAULT == (int)AR_TURN_OPTIONS_MODE_DEFAULT &&
		       (int)AR_MODE_AUTO == (int)AR_TURN_OPTIONS_MODE_AUTO,
	       "options.mode of a turn is one of these");

enum ar_permission_mode ar_mode_find(struct ar_str name)
{
	return (enum ar_permission_mode)ar_enum_find(&ar_turn_options_mode_desc, name);
}

const char *ar_mode_name(enum ar_permission_mode mode)
{
	return ar_enum_name(&ar_turn_options_mode_desc, (int)mode);
}

enum ar_permission_mode ar_session_workspace_mode(const struct ar_session *s)
{
	return s->workspace_policy ? ar_mode_find(s->workspace_policy->preset->mode) : 0;
}

int ar_mode_looseness(enum ar_permission_mode mode)
{
	return looseness[mode];
}

enum ar_verdict ar_mode_verdict(enum ar_permission_mode mode, const struct ar_tool *tool, bool is_confined)
{
	bool is_read_only = tool && tool->is_read_only;
	bool is_own = tool && (tool->owner == AR_TOOL_LOCAL || tool->owner == AR_TOOL_SUBAGENT);

	switch (mode) {
	case AR_MODE_BYPASS:
		return AR_ALLOW;
	case AR_MODE_PLAN:
	case AR_MODE_NEVER:
		return is_read_only ? AR_ALLOW : AR_DENY;
	case AR_MODE_UNTRUSTED:
		return is_read_only && is_own ? AR_ALLOW : AR_ASK;
	case AR_MODE_ON_REQUEST:
	case AR_MODE_ON_FAILURE:
		if (is_confined && !is_read_only)
			return AR_SANDBOXED;
		return is_read_only ? AR_ALLOW : AR_ASK;
	default:
		return is_read_only ? AR_ALLOW : AR_ASK;
	}
}
