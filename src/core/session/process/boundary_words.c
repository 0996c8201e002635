/* What is said of a boundary before anything runs in it, and of attempts to cross it: of a
 * process, or of a tool call that does its work in one itself. Pure. */
#include "describe.h"
#include "process/record.h"

#define BOUNDARY_MAX 65536 /* bytes in the fact; a longer one is content */
#define DETAIL_MAX 4096

static const int modes[AR_SANDBOX_COUNT] = {
	[0] = AR_SANDBOX_APPLIED_MODE_CUSTOM,
	[AR_SANDBOX_READ_ONLY] = AR_SANDBOX_APPLIED_MODE_READ_ONLY,
	[AR_SANDBOX_WORKSPACE_WRITE] = AR_SANDBOX_APPLIED_MODE_WORKSPACE_WRITE,
	[AR_SANDBOX_NO_NETWORK] = AR_SANDBOX_APPLIED_MODE_WORKSPACE_WRITE,
	[AR_SANDBOX_ALLOWLISTED_NETWORK] = AR_SANDBOX_APPLIED_MODE_WORKSPACE_WRITE,
	[AR_SANDBOX_DANGER_FULL_ACCESS] = AR_SANDBOX_APPLIED_MODE_DANGER_FULL_ACCESS,
};

static struct ar_str or_else(struct ar_str json, const char *nothing)
{
	return ar_str_empty(json) ? ar_str_from(nothing) : json;
}

/* What a host tells; absent when it tells nothing, or nothing that is JSON. */
static struct ar_json parsed(struct ar_decision *d, struct ar_str json)
{
	struct ar_json v = { 0 };

	if (ar_str_empty(json) || ar_json_parse(d->json, json, &v, NULL) != AR_OK)
		return (struct ar_json){ 0 };
	return v;
}

struct ar_texts ar_process_roots(struct ar_decision *d, struct ar_str json)
{
	struct ar_json v = parsed(d, json);
	struct ar_str *roots = ar_arena_alloc(d->arena, (ar_json_len(v) + 1) * sizeof(*roots));
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &roots[count]))
			continue;
		roots[count] = ar_arena_str(d->arena, roots[count]);
		count++;
	}
	return (struct ar_texts){ roots, count };
}

static struct ar_str boundary_of(struct ar_decision *d, struct ar_str boundary)
{
	if (ar_str_empty(boundary))
		return AR_STR_NONE;
	if (boundary.len <= BOUNDARY_MAX)
		return boundary;
	return ar_arena_fmt(d->arena, "{\"ref\":\"%.*s\"}", AR_STR_ARG(ar_decide_content(d, boundary)));
}

struct ar_str ar_decide_boundary(struct ar_decision *d, const struct ar_ids *ids,
				 const struct ar_boundary_words *p)
{
	const struct ar_process_ready *r = p->ready;
	enum ar_sandbox_profile profile = (enum ar_sandbox_profile)p->profile;
	struct ar_str network = ar_str_from(ar_profile_network(profile));
	bool has_environment = !ar_str_empty(r->environment) && !ar_str_is(r->environment, "{}");

	ar_decide_emit(d, AR_EV_SANDBOX_APPLIED, ids,
		       &(struct ar_ev_sandbox_applied){
			       .mode = modes[profile],
			       .cwd = ar_str_utf8_prefix(r->cwd, 4096),
			       .read_roots = ar_process_roots(d, r->read_roots),
			       .write_roots = ar_process_roots(d, r->write_roots),
			       .network = ar_enum_find(&ar_sandbox_applied_network_desc, network),
			       .environment_ref =
				       has_environment ? ar_decide_content(d, r->environment) : AR_STR_NONE,
			       .process_limits = or_else(r->limits, "{}"),
			       .override_reason = ar_process_text(p->justification, 1024, AR_STR_NONE),
			       .profile = ar_str_from(ar_sandbox_name(profile)),
			       .boundary = boundary_of(d, r->boundary) });
	return d->events[d->event_count - 1].event_id;
}

static struct ar_str text_of(struct ar_decision *d, struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;
	int64_t n;

	if (!ar_json_str(ar_json_get(v, name), &text) && ar_json_i64(ar_json_get(v, name), &n))
		return ar_arena_fmt(d->arena, "%lld", (long long)n);
	return ar_str_absent(text) ? AR_STR_NONE : ar_arena_str(d->arena, text);
}

/* Hosts tell the number; on every Linux these are the same. */
static struct ar_str error_name(struct ar_str text)
{
	static const struct {
		const char *number, *name;
	} names[] = { { "1", "EPERM" },	       { "2", "ENOENT" },  { "6", "ENXIO" },   { "11", "EAGAIN" },
		      { "12", "ENOMEM" },      { "13", "EACCES" }, { "16", "EBUSY" },  { "17", "EEXIST" },
		      { "18", "EXDEV" },       { "19", "ENODEV" }, { "22", "EINVAL" }, { "26", "ETXTBSY" },
		      { "27", "EFBIG" },       { "28", "ENOSPC" }, { "30", "EROFS" },  { "38", "ENOSYS" },
		      { "97", "EAFNOSUPPORT" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		if (ar_str_is(text, names[i].number))
			return ar_str_from(names[i].name);
	}
	return text;
}

void ar_decide_violation(struct ar_decision *d, const struct ar_ids *ids, const struct ar_violation_words *r)
{
	struct ar_json v = parsed(d, r->detail);
	struct ar_str attempted = text_of(d, v, r->is_limit ? "kind" : "attempted");
	struct ar_str evidence = r->is_limit ? AR_STR("limit") : text_of(d, v, "evidence");
	struct ar_str errno_name = error_name(text_of(d, v, "errno"));
	int boundary = ar_enum_find(&ar_sandbox_violation_boundary_desc, text_of(d, v, "boundary"));
	int effect = ar_enum_find(&ar_sandbox_violation_effect_desc, text_of(d, v, "effect"));
	int64_t count = 1;

	ar_json_i64(ar_json_get(v, "count"), &count);
	ar_decide_emit(d, AR_EV_SANDBOX_VIOLATION, ids,
		       &(struct ar_ev_sandbox_violation){
			       .boundary = boundary ? boundary : AR_SANDBOX_VIOLATION_BOUNDARY_PROCESS,
			       .attempted = ar_str_absent(attempted)
						    ? AR_STR("unknown")
						    : ar_str_utf8_prefix(attempted, DETAIL_MAX),
			       .effect = effect ? effect : AR_SANDBOX_VIOLATION_EFFECT_BLOCKED,
			       .violation_ref = ar_decide_content(d, or_else(r->detail, "{}")),
			       .sandbox_ref = r->sandbox,
			       .evidence = ar_str_utf8_prefix(evidence, 64),
			       .count = AR_OPT_INT(count),
			       .errno_name = ar_str_utf8_prefix(errno_name, 32),
			       .record_seq = { (int64_t)r->seq, r->seq > 0 } });
}
