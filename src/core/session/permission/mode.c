/* The eight permission modes: their words, how loose they are, what they let run by themselves.
 * Pure tables. */
#include "permission/permission.h"

struct mode {
	const char *name;
	int looseness;
};

static const struct mode modes[AR_MODE_COUNT] = {
	[AR_MODE_DEFAULT] = { "default", 4 },	    [AR_MODE_UNTRUSTED] = { "untrusted", 3 },
	[AR_MODE_ON_REQUEST] = { "on_request", 4 }, [AR_MODE_ON_FAILURE] = { "on_failure", 4 },
	[AR_MODE_NEVER] = { "never", 2 },	    [AR_MODE_PLAN] = { "plan", 1 },
	[AR_MODE_BYPASS] = { "bypass", 5 },	    [AR_MODE_AUTO] = { "auto", 4 },
};

_Static_assert((int)AR_MODE_DEFAULT == (int)AR_TURN_OPTIONS_MODE_DEFAULT &&
		       (int)AR_MODE_AUTO == (int)AR_TURN_OPTIONS_MODE_AUTO,
	       "options.mode of a turn is one of these");

enum ar_permission_mode ar_mode_find(struct ar_str name)
{
	for (int i = AR_MODE_DEFAULT; i < AR_MODE_COUNT; i++) {
		if (ar_str_is(name, modes[i].name))
			return (enum ar_permission_mode)i;
	}
	return 0;
}

const char *ar_mode_name(enum ar_permission_mode mode)
{
	return modes[mode].name;
}

int ar_mode_looseness(enum ar_permission_mode mode)
{
	return modes[mode].looseness;
}

enum ar_verdict ar_mode_verdict(enum ar_permission_mode mode, const struct ar_tool *tool, bool is_confined)
{
	bool is_read_only = tool && tool->is_read_only;
	bool is_own = tool && tool->owner == AR_TOOL_LOCAL;

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
