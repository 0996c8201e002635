/* See refusal_counts.h. */
#include "refusal_counts.h"

#include "json.h"
#include "mem.h"

#include <errno.h>
#include <string.h>

#define SHOWN_MAX 512 /* bytes of what was attempted */

struct ar_audit_kind {
	char *attempted; /* owned */
	bool is_landlock;
	int64_t error;
	uint64_t count;
};

/* By the first word of the right that was missing. */
static struct ar_str boundary_of(const struct ar_audit_kind *k)
{
	static const struct {
		const char *start, *boundary;
	} rows[] = { { "net.", "network" },
		     { "scope.abstract_unix_socket", "network" },
		     { "scope.", "process" },
		     { "ptrace", "process" } };

	for (size_t i = 0; k->is_landlock && i < AR_ARRAY_LEN(rows); i++) {
		if (strncmp(k->attempted, rows[i].start, strlen(rows[i].start)) == 0)
			return ar_str_from(rows[i].boundary);
	}
	return AR_STR("filesystem");
}

static void report_kind(struct ar_audit_watcher *w, const struct ar_audit_kind *k, uint64_t count,
			bool is_last)
{
	struct ar_buf out = { 0 };
	struct ar_jw json = ar_jw(&out);

	ar_jw_open(&json);
	ar_jw_mstr(&json, "boundary", boundary_of(k));
	ar_jw_mstr(&json, "attempted", ar_str_from(k->attempted));
	ar_jw_mstr(&json, "effect", AR_STR("blocked"));
	ar_jw_mstr(&json, "evidence", k->is_landlock ? AR_STR("kernel-landlock") : AR_STR("kernel-mount"));
	ar_jw_mint(&json, "errno", k->error);
	ar_jw_mint(&json, "count", (int64_t)count);
	ar_jw_mbool(&json, "isLast", is_last);
	ar_jw_close(&json);
	w->on_violation(w, ar_buf_str(&out));
	ar_buf_fini(&out);
}

static struct ar_audit_kind *find_kind(struct ar_audit_watcher *w, const struct ar_audit_kind *k)
{
	for (size_t i = 0; i < w->kind_count; i++) {
		struct ar_audit_kind *one = &w->kinds[i];

		if (one->is_landlock == k->is_landlock && one->error == k->error &&
		    strcmp(one->attempted, k->attempted) == 0)
			return one;
	}
	return NULL;
}

/* Takes over `attempted`. */
static void count_refusal(struct ar_audit_watcher *w, struct ar_audit_kind k)
{
	struct ar_audit_kind *known = find_kind(w, &k);

	if (known) {
		known->count++;
		ar_free(k.attempted);
		return;
	}
	if (w->kind_count == AR_AUDIT_KINDS_MAX) {
		/* The last place is for all that there was no place for. */
		w->kinds[AR_AUDIT_KINDS_MAX - 1].count++;
		ar_free(k.attempted);
		return;
	}
	if (w->kind_count == AR_AUDIT_KINDS_MAX - 1) {
		ar_free(k.attempted);
		k.attempted = ar_str_dup(AR_STR("files in further places"));
	}
	if (!w->kinds)
		w->kinds = ar_new0(AR_AUDIT_KINDS_MAX * sizeof(*w->kinds));
	k.count = 1;
	w->kinds[w->kind_count++] = k;
	report_kind(w, &w->kinds[w->kind_count - 1], 1, false);
}

/* Interpreters try to keep what they compiled beside the sources, everywhere and always: that is no attempt
 * at anything. */
static bool is_noise(const struct ar_audit_refusal *r)
{
	struct ar_str rest = r->path, name;

	while (!r->is_landlock && !ar_str_absent(rest)) {
		rest = ar_str_split(rest, '/', &name);
		if (ar_str_is(name, "__pycache__"))
			return true;
	}
	return false;
}

void ar_refusal_counts_add(struct ar_audit_watcher *w, const struct ar_audit_refusal *r)
{
	struct ar_buf text = { .cap = SHOWN_MAX };

	if (is_noise(r))
		return;
	ar_buf_adds(&text, ar_str_utf8_prefix(r->op, 100));
	if (!ar_str_absent(r->path)) {
		ar_buf_addc(&text, ' ');
		ar_buf_adds(&text, ar_str_utf8_prefix(r->path, SHOWN_MAX - 110));
	}
	count_refusal(w,
		      (struct ar_audit_kind){ ar_str_dup(ar_buf_str(&text)), r->is_landlock, r->error, 0 });
	ar_buf_fini(&text);
}

void ar_refusal_counts_report(struct ar_audit_watcher *w)
{
	for (size_t i = 0; i < w->kind_count; i++) {
		if (w->kinds[i].count > 1)
			report_kind(w, &w->kinds[i], w->kinds[i].count, true);
	}
	/* The kernel counts every denial, also those whose records nobody got. */
	if (w->denials > w->denied)
		report_kind(w, &(struct ar_audit_kind){ "denials whose details were lost", true, EACCES, 0 },
			    w->denials - w->denied, true);
}

void ar_refusal_counts_fini(struct ar_audit_watcher *w)
{
	for (size_t i = 0; i < w->kind_count; i++)
		ar_free(w->kinds[i].attempted);
	ar_free(w->kinds);
	w->kinds = NULL;
	w->kind_count = 0;
}
