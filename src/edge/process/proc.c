/* The life of one process here: made for its owner, woken at its times, given back. See
 * proc.h. Loop thread only. */
#include "proc.h"

#include "io/descriptor.h"
#include "mem.h"

#include <string.h>
#include <unistd.h>

#define RETIRE_USEC \
	(2 * 1000000) /* an end is reported before the shim is gone; what it held is released after it */

ar_usec ar_proc_now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- given back ---- */

static void on_closed(uv_handle_t *handle)
{
	struct ar_proc *p = handle->data;
	struct ar_processes *all = p->all;

	for (size_t i = 0; i < p->cgroup_count; i++)
		ar_free(p->cgroups[i]);
	ar_arena_fini(&p->kept);
	ar_free(p->inputs);
	ar_free(p->folder);
	ar_free(p->handle);
	ar_free(p->session_id);
	ar_free(p->workspace);
	ar_free(p);
	ar_processes_closed(all);
}

static void release_cgroups(struct ar_proc *p)
{
	struct ar_arena a = { 0 };
	struct ar_launch l = { 0 };

	if (p->cgroup_count == 0)
		return;
	l.plan = ar_arena_alloc(&a, sizeof(*l.plan));
	for (size_t i = 0; i < p->cgroup_count; i++)
		l.plan->cgroups.at[i] = p->cgroups[i];
	l.plan->cgroups.count = p->cgroup_count;
	ar_sandbox_release(p->all->sandbox, &l);
	ar_arena_fini(&a);
}

/* Now that nothing of this one needs a processor any more; the next one is seldom wanted at once. */
static void make_prewarmed(struct ar_proc *p)
{
	const struct ar_process_spec like = { .profile = p->profile,
					      .session_id = ar_str_from(p->session_id),
					      .workspace = ar_str_from(p->workspace) };

	ar_prewarm_add(p->all, &like);
}

static void retire_process(struct ar_proc *p)
{
	if (p->is_retired)
		return;
	p->is_retired = true;
	ar_proc_unfollow(p);
	ar_proc_drop_listener(p);
	ar_proc_unwatch(p);
	ar_shim_control_close(&p->control);
	if (p->child)
		p->child->of = NULL;
	p->child = NULL;
	if (p->is_over)
		release_cgroups(p);
	/* Nobody knows its handle, so nobody else would remove it. */
	if (p->is_over && p->is_launched && !p->is_ready_reported && p->folder)
		ar_folder_remove(ar_str_from(p->folder));
	if (p->is_over && p->is_launched && p->is_ready_reported)
		make_prewarmed(p);
	ar_fd_close(&p->journal);
	ar_fd_close(&p->dir);
	ar_fd_close(&p->first);
	ar_fd_close(&p->command);
	ar_list_del(&p->node);
	uv_close((uv_handle_t *)&p->tick, on_closed);
}

void ar_proc_leave(struct ar_proc *p)
{
	if (p->owner)
		p->owner->host_state = NULL;
	p->owner = NULL;
	retire_process(p);
}

void ar_proc_finish(struct ar_proc *p, const struct ar_process_end *e)
{
	struct ar_process *owner = p->owner;

	ar_proc_unfollow(p);
	ar_proc_unwatch(p);
	ar_proc_answer_all(p, AR_PROC_CLOSED);
	ar_proc_report_answers(p);
	if (p->is_retired || !p->owner)
		return;
	p->owner = NULL;
	p->is_over = true;
	p->begin_at = p->retry_at = p->hello_by = p->force_at = p->conclude_at = p->look_at = 0;
	p->retire_at = ar_proc_now() + RETIRE_USEC;
	if (!p->child && !ar_shim_control_is_up(&p->control))
		p->retire_at = 1;
	owner->host_state = NULL;
	owner->v->on_end(owner, e);
	ar_proc_arm(p);
}

void ar_proc_alone(struct ar_proc *p)
{
	if (p->is_over) {
		retire_process(p);
		return;
	}
	p->is_alone = true;
	p->retry_at = p->hello_by = p->force_at = 0;
	ar_shim_control_close(&p->control);
	ar_proc_answer_all(p, AR_PROC_CLOSED);
	ar_proc_follow(p);
}

/* ---- its times ---- */

static void begin_process(struct ar_proc *p)
{
	if (p->trouble)
		ar_proc_conclude(p);
	else
		ar_proc_begin_attach(p);
}

static const struct {
	size_t at;
	void (*act)(struct ar_proc *p);
} times[] = {
	{ offsetof(struct ar_proc, answer_at), ar_proc_report_answers },
	{ offsetof(struct ar_proc, begin_at), begin_process },
	{ offsetof(struct ar_proc, hello_by), ar_proc_follow },
	{ offsetof(struct ar_proc, retry_at), ar_proc_reconnect },
	{ offsetof(struct ar_proc, force_at), ar_proc_force },
	{ offsetof(struct ar_proc, conclude_at), ar_proc_conclude },
	{ offsetof(struct ar_proc, look_at), ar_proc_look },
	{ offsetof(struct ar_proc, retire_at), retire_process },
};

static ar_usec *time_of(struct ar_proc *p, size_t i)
{
	return (ar_usec *)(void *)((char *)p + times[i].at);
}

static void on_tick(uv_timer_t *timer)
{
	struct ar_proc *p = timer->data;
	ar_usec now = ar_proc_now();

	for (size_t i = 0; !p->is_retired && i < AR_ARRAY_LEN(times); i++) {
		ar_usec *at = time_of(p, i);

		if (*at == 0 || *at > now)
			continue;
		*at = 0;
		times[i].act(p);
	}
	ar_proc_arm(p);
}

void ar_proc_arm(struct ar_proc *p)
{
	ar_usec first = 0, left;

	if (p->is_retired)
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(times); i++) {
		ar_usec at = *time_of(p, i);

		if (at && (!first || at < first))
			first = at;
	}
	if (!first) {
		uv_timer_stop(&p->tick);
		return;
	}
	left = first - ar_proc_now();
	uv_update_time(p->all->loop);
	uv_timer_start(&p->tick, on_tick, left > 0 ? (uint64_t)left / 1000 + 1 : 0, 0);
}

/* ---- made ---- */

void ar_proc_fail(struct ar_proc *p, enum ar_process_outcome outcome, const char *step,
		  const struct ar_error *why)
{
	struct ar_str word = ar_str_sub(ar_str_from(step), 0, sizeof(p->step) - 1);

	p->trouble = outcome;
	memcpy(p->step, word.p, word.len);
	p->why = *why;
	p->begin_at = 1;
	ar_proc_arm(p);
}

void ar_proc_copy_cgroups(struct ar_proc *p, const struct ar_plan_paths *cgroups)
{
	for (size_t i = 0; i < cgroups->count && p->cgroup_count < AR_FOLDER_CGROUPS_MAX; i++)
		p->cgroups[p->cgroup_count++] = ar_str_dup(ar_str_from(cgroups->at[i]));
}

/* ---- what its shim says ---- */

static struct ar_proc *proc_of(struct ar_shim_control *c)
{
	return AR_CONTAINER_OF(c, struct ar_proc, control);
}

static void on_hello(struct ar_shim_control *c, const struct ar_shim_hello *h, int listener)
{
	struct ar_proc *p = proc_of(c);

	ar_proc_open_listener(p, listener);
	p->hello_by = 0;
	if (p->is_over)
		return;
	if (!p->is_launched && !p->is_attached_reported) {
		p->is_attached_reported = true;
		p->owner->v->on_attached(p->owner, h->inputs);
	}
	if (p->owner)
		ar_proc_follow(p);
}

static void on_growth(struct ar_shim_control *c)
{
	if (!proc_of(c)->is_over)
		ar_proc_follow(proc_of(c));
}

static void on_input_result(struct ar_shim_control *c, uint64_t number, enum ar_shim_input_status status)
{
	static const enum ar_process_write answers[] = { [AR_SHIM_INPUT_OK] = AR_PROC_TOOK,
							 [AR_SHIM_INPUT_REPEATED] = AR_PROC_TOOK,
							 [AR_SHIM_INPUT_BUSY] = AR_PROC_BUSY,
							 [AR_SHIM_INPUT_CLOSED] = AR_PROC_CLOSED };

	if (status < AR_SHIM_INPUT_OK || status > AR_SHIM_INPUT_CLOSED)
		return;
	ar_proc_answer(proc_of(c), number, answers[status]);
	ar_proc_report_answers(proc_of(c));
}

/* The shim is gone, or is going, or has dropped us: its lock shows which. What was not answered may or may
 * not have been taken; its number makes a second try harmless. */
static void on_down(struct ar_shim_control *c)
{
	struct ar_proc *p = proc_of(c);

	ar_proc_answer_all(p, AR_PROC_BUSY);
	ar_proc_retry(p);
}

static const struct ar_shim_control_vtable control_vtable = { on_hello, on_growth, on_input_result, on_down };

struct ar_proc *ar_proc_new(struct ar_processes *all, struct ar_process *owner)
{
	struct ar_proc *p = ar_new0(sizeof(*p));

	p->all = all;
	p->owner = owner;
	owner->host_state = p;
	p->dir = p->journal = p->first = p->command = -1;
	p->is_same_boot = true;
	p->control.v = &control_vtable;
	p->control.loop = all->loop;
	ar_list_push(&all->all, &p->node);
	ar_list_init(&p->reading);
	uv_timer_init(all->loop, &p->tick);
	p->tick.data = p;
	all->open++;
	return p;
}
