/* See the header. Only what is known is written: a member that is not there was not known. */
#include "audit_act.h"
#include "catalog.h"
#include "describe.h"

/* The credential, by the name that authentication gave to its holder. */
static struct ar_str credential_of(struct ar_str actor)
{
	static const struct {
		const char *prefix, *kind;
	} kinds[] = { { "token:", "token" },
		      { "jwt:", "jwt" },
		      { "certificate:", "certificate" },
		      { "signal:", "signal" },
		      { "unknown", "none" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (ar_str_starts(actor, ar_str_from(kinds[i].prefix)))
			return ar_str_from(kinds[i].kind);
	}
	return AR_STR("operator");
}

void ar_origin_write(struct ar_jw *w, const struct ar_call_origin *from)
{
	if (from->via)
		ar_jw_mstr(w, "via", ar_str_from(from->via));
	ar_jw_mstr(w, "address", from->address);
	if (from->has_uid)
		ar_jw_mint(w, "uid", from->uid);
	ar_jw_mstr(w, "requestId", from->request_id);
}

void ar_origin_read(struct ar_json v, struct ar_call_origin *ret)
{
	static const char *const ways[] = { "tcp", "unix", "stdio" };
	struct ar_str via;
	int64_t uid;

	*ret = (struct ar_call_origin){ 0 };
	ar_json_str(ar_json_get(v, "address"), &ret->address);
	ar_json_str(ar_json_get(v, "requestId"), &ret->request_id);
	ret->has_uid = ar_json_i64(ar_json_get(v, "uid"), &uid) && uid >= 0 && uid <= UINT32_MAX;
	ret->uid = ret->has_uid ? (unsigned)uid : 0;
	for (size_t i = 0; ar_json_str(ar_json_get(v, "via"), &via) && i < AR_ARRAY_LEN(ways); i++) {
		if (ar_str_is(via, ways[i]))
			ret->via = ways[i];
	}
}

void ar_audit_act_open(struct ar_jw *w, const struct ar_audit_act *a)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "actor", a->actor);
	ar_jw_mstr(w, "credential", credential_of(a->actor));
	if (a->from)
		ar_origin_write(w, a->from);
	if (!ar_str_empty(a->command))
		ar_jw_mstr(w, "command", a->command);
	ar_jw_mstr(w, "outcome", a->code ? AR_STR("refused") : AR_STR("allowed"));
	if (a->code)
		ar_jw_mstr(w, "code", ar_str_from(ar_error_describe(a->code)->name));
}
