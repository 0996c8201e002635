/* See env_name.h. */
#include "text/env_name.h"

/* A star stands for the rest, or for what comes before. */
static const char *const refused[] = {
	"LD_*",
	"DYLD_*",
	"GLIBC_TUNABLES",
	"GCONV_PATH",
	"MALLOC_*",
	"BASH_ENV",
	"ENV",
	"SHELLOPTS",
	"BASHOPTS",
	"BASH_FUNC_*",
	"PROMPT_COMMAND",
	"PS4",
	"IFS",
	"ZDOTDIR",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_ASKPASS",
	"GIT_EXTERNAL_DIFF",
	"GIT_PROXY_COMMAND",
	"GIT_EXEC_PATH",
	"GIT_TEMPLATE_DIR",
	"GIT_CONFIG",
	"GIT_CONFIG_*",
	"NODE_OPTIONS",
	"PYTHONSTARTUP",
	"PYTHONHOME",
	"PERL5OPT",
	"PERL5DB",
	"RUBYOPT",
	"JAVA_TOOL_OPTIONS",
	"_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS",
	"SSH_AUTH_SOCK",
	"SSH_ASKPASS",
	"DBUS_*",
	"*_PROXY",
	"*_proxy",
	"HOME",
	"USER",
	"LOGNAME",
	"PWD",
	"AGENTRUNTIME_*",
};

static bool fits(struct ar_str name, struct ar_str pattern)
{
	if (pattern.p[0] == '*')
		return ar_str_ends(name, ar_str_sub(pattern, 1, pattern.len));
	if (pattern.p[pattern.len - 1] == '*')
		return ar_str_starts(name, ar_str_sub(pattern, 0, pattern.len - 1));
	return ar_str_eq(name, pattern);
}

bool ar_env_is_one_of(struct ar_str name, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fits(name, ar_str_from(patterns[i])))
			return true;
	}
	return false;
}

bool ar_env_may_be_requested(struct ar_str name)
{
	return !ar_env_is_one_of(name, refused, AR_ARRAY_LEN(refused));
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool ar_env_is_name(struct ar_str name)
{
	if (name.len == 0 || !is_letter(name.p[0]))
		return false;
	for (size_t i = 1; i < name.len; i++) {
		if (!is_letter(name.p[i]) && (name.p[i] < '0' || name.p[i] > '9'))
			return false;
	}
	return true;
}
