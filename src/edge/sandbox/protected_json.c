/* What of a workspace is protected, as a list for a program of ours that writes there. */
#include "boundary_priv.h"
#include "json.h"
#include "protected.h"

struct ar_str ar_sandbox_protected_json(const struct ar_sandbox *s, struct ar_str workspace,
					struct ar_arena *a)
{
	const struct ar_protected_options o = { workspace, s->protected_paths, s->roots.home };
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_protected found;

	ar_jw_open_array(&w);
	if (ar_protected_find(&o, a, &found, NULL) == AR_OK) {
		for (size_t i = 0; i < found.paths.count; i++)
			ar_jw_str(&w, ar_str_from(found.paths.at[i]));
		for (size_t i = 0; i < found.replaceable.count; i++)
			ar_jw_str(&w, ar_str_from(found.replaceable.at[i]));
	} /* a launch fails for the same reason */
	ar_jw_close_array(&w);
	return ar_arena_str(a, ar_buf_str(&out));
}
