/* See prewarm.h. Closing its connection is all that it takes to be rid of one: the shim clears away
 * what there is of it, its folder too, also when it is this process that ends. */
#include "prewarm/prewarm.h"

#include "id.h"
#include "io/descriptor.h"
#include "mem.h"
#include "packet.h"
#include "proc.h"
#include "prewarm/fingerprint.h"
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPTIONS "prewarmed"
#define BASE "base"

/* ---- given back ---- */

void ar_prewarmed_free(struct ar_prewarmed *s)
{
	ar_arena_fini(&s->arena);
	ar_free(s);
}

static void arm_timer(struct ar_prewarm_pool *all);

static void remove_from_pool(struct ar_prewarmed *s)
{
	ar_list_del(&s->node);
	s->host->prewarmed.count--;
	s->child->prewarmed = NULL;
	arm_timer(&s->host->prewarmed);
}

static void drop_sandbox(struct ar_prewarmed *s)
{
	s->host->prewarmed.unused++;
	remove_from_pool(s);
	close(s->control);
	close(s->dir);
	ar_prewarmed_free(s);
}

static void remove_rest(struct ar_prewarmed *s)
{
	const struct ar_launch l = { .plan = s->plan };

	for (size_t i = 0; i < s->plan->cgroups.count; i++)
		ar_tree_kill_cgroup(s->plan->cgroups.at[i]);
	ar_sandbox_release(s->host->sandbox, &l);
	if (!ar_str_absent(s->folder))
		ar_folder_remove(s->folder);
}

void ar_prewarmed_lost(struct ar_prewarmed *s)
{
	remove_rest(s);
	drop_sandbox(s);
}

static void drop_all(struct ar_prewarm_pool *all)
{
	AR_LIST_FOR_SAFE (it, &all->all)
		drop_sandbox(AR_CONTAINER_OF(it, struct ar_prewarmed, node));
}

/* ---- their time ---- */

static struct ar_prewarmed *oldest_of(struct ar_prewarm_pool *all)
{
	return ar_list_empty(&all->all) ? NULL : AR_CONTAINER_OF(all->all.next, struct ar_prewarmed, node);
}

static void on_tick(uv_timer_t *timer)
{
	struct ar_prewarm_pool *all = timer->data;
	struct ar_prewarmed *s;

	while ((s = oldest_of(all)) && s->until <= ar_proc_now())
		drop_sandbox(s);
	arm_timer(all);
}

static void arm_timer(struct ar_prewarm_pool *all)
{
	struct ar_prewarmed *s = oldest_of(all);
	ar_usec left = s ? s->until - ar_proc_now() : 0;

	if (uv_is_closing((uv_handle_t *)&all->tick))
		return;
	if (!s) {
		uv_timer_stop(&all->tick);
		return;
	}
	uv_update_time(all->tick.loop);
	uv_timer_start(&all->tick, on_tick, left > 0 ? (uint64_t)left / 1000 + 1 : 0, 0);
}

/* The daemon that made them is gone, and so are they. */
static void sweep_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		struct ar_arena a = { 0 };

		ar_folder_remove(ar_arena_fmt(&a, "%s/%s", folder, e->d_name));
		ar_arena_fini(&a);
	}
	if (d)
		closedir(d);
}

void ar_prewarm_open(struct ar_processes *host, size_t most, ar_usec wait)
{
	struct ar_prewarm_pool *all = &host->prewarmed;
	struct ar_error err = { 0 };
	struct ar_arena a = { 0 };
	const char *folder = ar_arena_fmt(&a, "%s.prewarmed", host->folder).p;

	ar_list_init(&all->all);
	all->wait = wait;
	sweep_folder(folder);
	if (most > 0 && ar_folder_prepare(folder, &all->folder, &err) == AR_OK)
		all->most = most;
	ar_arena_fini(&a);
	all->mounts = most > 0 ? ar_mounts_watch() : -1;
	AR_ASSERT(uv_timer_init(host->loop, &all->tick) == 0);
	all->tick.data = all;
	host->open++;
}

static void on_closed(uv_handle_t *handle)
{
	ar_processes_closed(AR_CONTAINER_OF(handle->data, struct ar_processes, prewarmed));
}

void ar_prewarm_close(struct ar_processes *host)
{
	struct ar_prewarm_pool *all = &host->prewarmed;

	all->most = 0;
	drop_all(all);
	if (all->mounts >= 0)
		close(all->mounts);
	if (all->folder)
		rmdir(all->folder); /* refused while one is still going */
	ar_free(all->folder);
	uv_close((uv_handle_t *)&all->tick, on_closed);
}

/* ---- made ---- */

static struct ar_prewarmed *find_for(struct ar_prewarm_pool *all, const struct ar_process_spec *like)
{
	AR_LIST_FOR (it, &all->all) {
		struct ar_prewarmed *s = AR_CONTAINER_OF(it, struct ar_prewarmed, node);

		if (s->profile == like->profile && ar_str_eq(s->session_id, like->session_id))
			return s;
	}
	return NULL;
}

static bool make_plan(struct ar_prewarmed *s, const struct ar_process_spec *like)
{
	const struct ar_str word = AR_STR("prewarmed");
	const struct ar_process_spec spec = { .argv = &word,
					      .argc = 1,
					      .profile = like->profile,
					      .session_id = like->session_id,
					      .workspace = like->workspace };
	struct ar_launch launch;
	struct ar_error err = { 0 };

	if (ar_sandbox_plan(s->host->sandbox, &spec, &s->arena, &launch, &err) != AR_OK)
		return false;
	s->plan = ar_arena_alloc(&s->arena, sizeof(*s->plan));
	ar_plan_strip(launch.plan, s->plan);
	s->fingerprint = ar_fingerprint_of(s->plan);
	s->session_id = ar_arena_str(&s->arena, like->session_id);
	s->profile = like->profile;
	return true;
}

static bool write_files(struct ar_prewarmed *s)
{
	struct ar_error err = { 0 };
	struct ar_buf options = { 0 };
	bool is_written;

	s->dir = ar_folder_make(ar_str_from(s->host->prewarmed.folder), &s->arena, &s->folder, &err);
	if (s->dir < 0)
		return false;
	ar_buf_addf(&options, "init %s\n", s->host->init);
	for (size_t i = 0; i < s->plan->cgroups.count; i++)
		ar_buf_addf(&options, "cgroup %s\n", s->plan->cgroups.at[i]);
	is_written = ar_folder_write(s->dir, OPTIONS, ar_buf_str(&options), &err) == AR_OK &&
		     ar_folder_write_plan(s->dir, BASE, s->plan, &err) == AR_OK;
	ar_buf_fini(&options);
	return is_written;
}

static bool start_shim(struct ar_prewarmed *s)
{
	char *argv[] = { "agent-shim", (char *)(uintptr_t)s->folder.p, "prewarmed", NULL };
	int pair[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ar_error err = { 0 };

	if (null >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		int fds[] = { null, null, null, pair[1] };

		s->control = pair[0];
		s->child = ar_shim_child_start(s->host, argv, fds, AR_ARRAY_LEN(fds), &err);
		close(pair[1]);
	}
	if (null >= 0)
		close(null);
	return s->child != NULL;
}

/* One that waits for long gives way; others do not, or many sessions would make them for nobody. */
static bool make_room(struct ar_prewarm_pool *all)
{
	if (all->count < all->most)
		return true;
	if (oldest_of(all)->until - ar_proc_now() > all->wait / 2)
		return false;
	drop_sandbox(oldest_of(all));
	return true;
}

void ar_prewarm_add(struct ar_processes *host, const struct ar_process_spec *like)
{
	struct ar_prewarm_pool *all = &host->prewarmed;
	struct ar_prewarmed *s;

	if (all->most == 0 || like->profile == AR_SANDBOX_DANGER_FULL_ACCESS || find_for(all, like) ||
	    !make_room(all))
		return;
	s = ar_new0(sizeof(*s));
	*s = (struct ar_prewarmed){ .host = host, .dir = -1, .control = -1 };
	if (!make_plan(s, like) || !write_files(s) || !start_shim(s)) {
		if (s->plan)
			remove_rest(s);
		ar_fd_close(&s->dir);
		ar_fd_close(&s->control);
		ar_prewarmed_free(s);
		return;
	}
	s->child->prewarmed = s;
	s->until = ar_proc_now() + all->wait;
	ar_list_push(&all->all, &s->node);
	all->count++;
	arm_timer(all);
}

/* ---- taken ---- */

/* A shim says nothing to the daemon while it waits: whatever comes is its end. */
static bool is_there(const struct ar_prewarmed *s)
{
	struct pollfd end = { .fd = s->control, .events = POLLIN };

	return poll(&end, 1, 0) == 0;
}

static bool move_folder(struct ar_prewarmed *s)
{
	struct ar_str name = ar_str_sub(s->folder, s->folder.len - AR_SESSION_KEY_LEN, AR_SESSION_KEY_LEN);
	struct ar_str to = ar_arena_fmt(&s->arena, "%s/%.*s", s->host->folder, AR_STR_ARG(name));

	if (rename(s->folder.p, to.p) != 0)
		return false;
	s->folder = to;
	return true;
}

struct ar_prewarmed *ar_prewarm_take(struct ar_processes *host, const struct ar_process_spec *spec,
				     struct ar_arena *a, struct ar_launch *ret)
{
	struct ar_prewarm_pool *all = &host->prewarmed;
	struct ar_error err = { 0 };
	struct ar_prewarmed *s;

	if (all->count > 0 && ar_mounts_changed(all->mounts))
		drop_all(all);
	s = find_for(all, spec);
	/* Why a plan cannot be settled is reported when it is settled without a prewarmed sandbox. */
	if (!s || ar_sandbox_plan_in(host->sandbox, spec, &s->plan->cgroups, a, ret, &err) != AR_OK)
		return NULL;
	if (!is_there(s) || ar_plan_differs(s->plan, ret->plan) ||
	    ar_fingerprint_of(ret->plan) != s->fingerprint || !move_folder(s)) {
		drop_sandbox(s);
		return NULL;
	}
	all->used++;
	remove_from_pool(s);
	return s;
}

bool ar_prewarmed_launch(struct ar_prewarmed *s, int *fds, size_t count)
{
	char kind = AR_SHIM_LAUNCH;
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = fds, .fd_count = count };

	return ar_packet_send(s->control, &p, MSG_DONTWAIT) == 1;
}
