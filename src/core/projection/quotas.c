/* See quotas.h. Only what facts said is shown: a budget that is far from its end has none. Pure. */
#include "quotas.h"
#include "limits/budget.h"

static const struct ar_quota_mark *mark_of(const struct ar_session *s, const struct ar_turn *turn,
					   const struct ar_quota_name *q)
{
	if (q->is_session)
		return &s->budget.marks[q->quota];
	return turn ? &turn->budget.marks[q->quota] : NULL;
}

static struct ar_str word_of(const struct ar_quota_mark *m)
{
	if (!m)
		return AR_STR_NONE;
	if (m->blocked.set)
		return AR_STR("quota_blocked");
	if (m->warned.set && m->warned.v >= m->limit.v)
		return AR_STR("quota_low");
	return m->limit.set ? AR_STR("extended") : AR_STR_NONE;
}

struct ar_str ar_projection_quota_word(const struct ar_session *s, const struct ar_turn *turn)
{
	static const char *const gravest[] = { "quota_blocked", "quota_low" };

	for (size_t k = 0; k < AR_ARRAY_LEN(gravest); k++) {
		for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
			if (ar_str_is(word_of(mark_of(s, turn, &ar_quota_names[i])), gravest[k]))
				return ar_str_from(gravest[k]);
		}
	}
	return AR_STR_NONE;
}

static int64_t limit_of(const struct ar_quota_mark *m)
{
	int64_t limit = m->blocked.set ? m->blocked.v : m->warned.v;

	return m->limit.v > limit ? m->limit.v : limit;
}

void ar_projection_quotas(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	ar_jw_key(w, "quotas");
	ar_jw_open_array(w);
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		const struct ar_quota_name *q = &ar_quota_names[i];
		const struct ar_quota_mark *m = mark_of(s, turn, q);
		int64_t preset = q->is_session ? ar_budget_preset(s, q->quota) : 0;
		struct ar_str word = word_of(m);

		if (ar_str_absent(word) && preset > 0)
			word = AR_STR(
				"policy"); /* that of the session or its workspace; it is far from its end */
		if (ar_str_absent(word))
			continue;
		ar_jw_open(w);
		ar_jw_mstr(w, "quotaKind", ar_str_from(q->name));
		ar_jw_mstr(w, "state", word);
		ar_jw_key(w, "limit");
		ar_jw_num(w, ar_quota_units(q->quota, limit_of(m) > 0 ? limit_of(m) : preset));
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}
