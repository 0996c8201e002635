/* See prompt.h. A file is read as those of a workspace are, without links on its path: the operator may have
 * put it into a folder that sandboxed commands can write. */
#include "prompt.h"
#include "secrets.h"
#include "workspace/read_text.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_PREFIX "file:"

static enum ar_status read_file(const char *path, const struct ar_redactor *redactor, struct ar_arena *a,
				struct ar_policy *policy, struct ar_error *err)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *trouble = *path == '/' ? ar_read_text(root, path + 1, &text) : "its path is not absolute";

	if (root >= 0)
		close(root);
	if (trouble)
		return ar_fail(err, AR_E_INVALID, "the file '%.200s' of model.system_prompt is not used: %s",
			       path, trouble);
	ar_buf_addc(&text, 0);
	policy->system_prompt = ar_secrets_mask(redactor, text.p, a);
	return AR_OK;
}

enum ar_status ar_prompt_read(const struct ar_config *c, const struct ar_redactor *redactor,
			      struct ar_arena *a, struct ar_policy *policy, struct ar_error *err)
{
	struct ar_str setting = ar_str_from(c->model.system_prompt);

	if (ar_str_starts(setting, AR_STR(FILE_PREFIX)))
		return read_file(setting.p + sizeof(FILE_PREFIX) - 1, redactor, a, policy, err);
	policy->has_standard_prompt = ar_str_is(setting, "standard");
	if (!policy->has_standard_prompt && !ar_str_is(setting, "none"))
		policy->system_prompt = ar_secrets_mask(redactor, setting.p, a);
	return AR_OK;
}
