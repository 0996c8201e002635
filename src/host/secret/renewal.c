/* See renewal.h. */
#include "secret/renewal.h"

#include "log.h"
#include "mem.h"
#include "secrets.h"

#include <string.h>

#define RETRY_MS 30000 /* after a failure, when the time of a value is longer */
#define LOG_AGAIN_MS (600 * 1000) /* how often a failure that lasts is logged */
#define RENEWED_MAX 1024 /* old values that stay masked; beyond it the oldest are not */

/* One reference of a round: its source is read by the worker, the rest is written by it. */
struct asked {
	struct ar_secret_ref *ref;
	struct ar_secret_got got;
	struct ar_error err;
	enum ar_status status;
};

struct ar_secret_renewal {
	struct ar_secret_renewal_options o;
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_work_t work;
	uv_mutex_t lock; /* of the password: connections are made on other threads */
	char *password;
	struct asked *round; /* what the worker has; NULL: nothing is under way */
	size_t round_count;
	bool is_asked_again; /* while a round was under way */
	atomic_bool stop;
};

/* ---- using a value ---- */

/* The reference's text was read into the one copy of the settings; the one in use may be another. */
static const char **place_in_force(const struct ar_secret_renewal *r, const struct ar_secret_ref *ref)
{
	const char *at = (const char *)ref->at, *read = (const char *)r->o.read;

	if (at < read || at >= read + sizeof(*r->o.read))
		return ref->at; /* an entry of a list, which both share */
	return (const char **)(void *)((char *)r->o.in_force + (at - read));
}

static void keep_password(struct ar_secret_renewal *r)
{
	char *before = r->password;

	uv_mutex_lock(&r->lock);
	r->password = ar_str_dup(ar_str_from(r->o.in_force->store_password));
	uv_mutex_unlock(&r->lock);
	ar_free(before);
}

/* What is masked grows with every value; too many old ones would slow all text down. */
static void forget_oldest(struct ar_secret_renewal *r)
{
	struct ar_secret_refs *refs = r->o.refs;
	size_t half = RENEWED_MAX / 2;

	for (size_t i = 0; i < half; i++)
		ar_free(refs->renewed[i]);
	refs->renewed_count -= half;
	memmove(refs->renewed, refs->renewed + half, refs->renewed_count * sizeof(char *));
	ar_redactor_forget(r->o.redactor);
	ar_secrets_fill(r->o.in_force, r->o.redactor);
	ar_secret_mask_known(refs, r->o.redactor);
}

static void mask(struct ar_secret_renewal *r, const struct ar_buf *value)
{
	struct ar_secret_refs *refs = r->o.refs;

	if (value->len == 0)
		return;
	for (size_t i = 0; i < refs->renewed_count; i++) {
		if (strcmp(refs->renewed[i], value->p) == 0)
			return;
	}
	if (refs->renewed_count == RENEWED_MAX)
		forget_oldest(r);
	refs->renewed = ar_grow(refs->renewed, refs->renewed_count + 1, sizeof(char *));
	refs->renewed[refs->renewed_count++] = ar_str_dup(ar_buf_str(value));
	ar_redactor_add(r->o.redactor, ar_buf_str(value));
}

static void use_value(struct ar_secret_renewal *r, struct ar_secret_ref *ref, const char *value)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	char *before = ref->text;

	ar_buf_addf(&text, "%s%s", ref->prefix, value);
	ref->text = ar_str_dup(ar_buf_str(&text));
	*ref->at = ref->text;
	*place_in_force(r, ref) = ref->text;
	ar_free(before);
}

/* ---- the end of a round ---- */

static uint64_t next_due(const struct ar_secret_renewal *r, const struct ar_secret_ref *ref)
{
	uint64_t pause = (uint64_t)ref->cache_s * 1000;

	if (!pause)
		return 0;
	return uv_now(r->loop) + (ref->trouble && pause > RETRY_MS ? RETRY_MS : pause);
}

static void note_failure(struct ar_secret_renewal *r, struct ar_secret_ref *ref, const char *why)
{
	AR_AUTO(ar_buf_fini) struct ar_buf line = { 0 };
	uint64_t now = uv_now(r->loop);

	ar_free(ref->trouble);
	ref->trouble = ar_str_dup(ar_str_from(why));
	if (ref->logged_ms && now - ref->logged_ms < LOG_AGAIN_MS)
		return;
	ref->logged_ms = now ? now : 1;
	ar_buf_addf(&line, "%s: %s%c", ref->path, why, '\0');
	ar_log_line(r->o.log, "warning", "a secret could not be renewed; the last value stays in use",
		    line.p);
}

static void note_value(struct ar_secret_renewal *r, struct ar_secret_ref *ref, const char *value)
{
	AR_AUTO(ar_buf_fini) struct ar_buf line = { 0 };
	bool has_failed = ref->trouble;

	ar_free(ref->trouble);
	ref->trouble = NULL;
	ref->logged_ms = 0;
	if (strcmp(*ref->at + strlen(ref->prefix), value) != 0) {
		use_value(r, ref, value);
		ar_buf_addf(&line, "%s%s%c", ref->path, ref->key->fixed ? ": restart agentd to use it" : "",
			    '\0');
		ar_log_line(r->o.log, "info", "a secret was renewed", line.p);
	} else if (has_failed) {
		ar_log_line(r->o.log, "info", "a secret is available again", ref->path);
	}
}

static void note_answer(struct ar_secret_renewal *r, struct asked *a)
{
	if (a->status == AR_OK)
		a->status = ar_secret_check_value(a->ref, a->got.value.p, &a->err);
	mask(r, &a->got.token);
	if (a->status == AR_OK) {
		mask(r, &a->got.value);
		note_value(r, a->ref, a->got.value.p);
	} else if (a->status != AR_E_CANCELED) {
		note_failure(r, a->ref, a->err.msg);
	}
	ar_secret_got_fini(&a->got);
	a->ref->due_ms = next_due(r, a->ref);
}

/* ---- rounds ---- */

static void begin(struct ar_secret_renewal *r, bool is_all);

static void on_timer(uv_timer_t *timer)
{
	begin(timer->data, false);
}

static void set_timer(struct ar_secret_renewal *r)
{
	uint64_t now = uv_now(r->loop), due = 0;

	for (const struct ar_secret_ref *ref = r->o.refs->first; ref; ref = ref->next) {
		if (ref->due_ms && (!due || ref->due_ms < due))
			due = ref->due_ms;
	}
	if (due)
		uv_timer_start(&r->timer, on_timer, due > now ? due - now : 0, 0);
}

static void work(uv_work_t *w)
{
	struct ar_secret_renewal *r = w->data;

	for (size_t i = 0; i < r->round_count; i++) {
		struct asked *a = &r->round[i];

		a->status = ar_secret_get(&a->ref->source, &r->stop, &a->got, &a->err);
	}
}

static void on_worked(uv_work_t *w, int status AR_UNUSED)
{
	struct ar_secret_renewal *r = w->data;

	for (size_t i = 0; i < r->round_count; i++)
		note_answer(r, &r->round[i]);
	ar_free(r->round);
	r->round = NULL;
	if (atomic_load(&r->stop))
		return;
	ar_secrets_fill(r->o.in_force, r->o.redactor); /* what a value is part of, or a list of */
	keep_password(r);
	if (r->is_asked_again)
		begin(r, true);
	else
		set_timer(r);
}

static void begin(struct ar_secret_renewal *r, bool is_all)
{
	uint64_t now = uv_now(r->loop);

	r->is_asked_again = false;
	r->round = ar_grow(NULL, r->o.refs->count + 1, sizeof(*r->round));
	r->round_count = 0;
	for (struct ar_secret_ref *ref = r->o.refs->first; ref; ref = ref->next) {
		bool is_due = is_all || (ref->due_ms && ref->due_ms <= now);

		if (is_due && ref->source.kind != AR_SECRET_ENV)
			r->round[r->round_count++] = (struct asked){ .ref = ref };
	}
	AR_ASSERT(uv_queue_work(r->loop, &r->work, work, on_worked) == 0);
}

/* ---- life ---- */

struct ar_secret_renewal *ar_secret_renewal_open(uv_loop_t *loop, const struct ar_secret_renewal_options *o)
{
	struct ar_secret_renewal *r = ar_new0(sizeof(*r));

	r->o = *o;
	r->loop = loop;
	r->timer.data = r->work.data = r;
	AR_ASSERT(uv_mutex_init(&r->lock) == 0);
	uv_timer_init(loop, &r->timer);
	ar_secret_mask_known(o->refs, o->redactor);
	keep_password(r);
	for (struct ar_secret_ref *ref = o->refs->first; ref; ref = ref->next)
		ref->due_ms = ref->source.kind == AR_SECRET_ENV ? 0 : next_due(r, ref);
	set_timer(r);
	return r;
}

void ar_secret_renewal_ask(struct ar_secret_renewal *r)
{
	if (!r || r->o.refs->count == 0)
		return;
	if (r->round) {
		r->is_asked_again = true;
		return;
	}
	uv_timer_stop(&r->timer);
	begin(r, true);
}

void ar_secret_renewal_password(void *renewal, struct ar_buf *out)
{
	struct ar_secret_renewal *r = renewal;

	uv_mutex_lock(&r->lock);
	ar_buf_addz(out, r->password);
	uv_mutex_unlock(&r->lock);
}

void ar_secret_renewal_close(struct ar_secret_renewal *r)
{
	if (!r)
		return;
	atomic_store(&r->stop, true);
	uv_close((uv_handle_t *)&r->timer, NULL);
}

void ar_secret_renewal_free(struct ar_secret_renewal *r)
{
	if (!r)
		return;
	uv_mutex_destroy(&r->lock);
	ar_free(r->password);
	ar_free(r);
}
