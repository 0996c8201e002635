/* See the header: submit, poll, close, and the thread's loop. submit, poll and close are the loop
 * thread's. */
#include "member_threaded.h"

#include <signal.h>

static struct ar_member_threaded *threaded_of(struct ar_member *m)
{
	return AR_CONTAINER_OF(m, struct ar_member_threaded, member);
}

/* Waits for a heartbeat; NULL when there will be none any more. */
static struct ar_member_beat *wait_for_heartbeat(struct ar_member_threaded *t)
{
	struct ar_member_beat *b;

	pthread_mutex_lock(&t->lock);
	while (!t->submitted && !t->stopping)
		pthread_cond_wait(&t->changed, &t->lock);
	b = t->submitted;
	pthread_mutex_unlock(&t->lock);
	return b;
}

static void hand_over(struct ar_member_threaded *t, struct ar_member_beat *b)
{
	pthread_mutex_lock(&t->lock);
	t->submitted = NULL;
	t->finished = b;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->wake)
		t->wake(t->wake_arg);
}

static void *thread_main(void *arg)
{
	struct ar_member_threaded *t = arg;
	struct ar_member_beat *b;

	while ((b = wait_for_heartbeat(t))) {
		t->serve(t, b);
		hand_over(t, b);
	}
	return NULL;
}

static void member_submit(struct ar_member *member, struct ar_member_beat *b)
{
	struct ar_member_threaded *t = threaded_of(member);

	pthread_mutex_lock(&t->lock);
	AR_ASSERT(!t->submitted && !t->finished);
	t->submitted = b;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static void member_poll(struct ar_member *member)
{
	struct ar_member_threaded *t = threaded_of(member);
	struct ar_member_beat *b;

	pthread_mutex_lock(&t->lock);
	b = t->finished;
	t->finished = NULL;
	pthread_mutex_unlock(&t->lock);
	if (b)
		b->done(b);
}

/* True when a heartbeat was under way: its done() may have submitted another. */
static bool finish_one(struct ar_member_threaded *t)
{
	bool is_busy;

	pthread_mutex_lock(&t->lock);
	while (t->submitted)
		pthread_cond_wait(&t->changed, &t->lock);
	is_busy = t->finished;
	pthread_mutex_unlock(&t->lock);
	member_poll(&t->member);
	return is_busy;
}

void ar_member_threaded_free(struct ar_member_threaded *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	t->dispose(t);
}

static void member_close(struct ar_member *member)
{
	struct ar_member_threaded *t = threaded_of(member);

	while (finish_one(t))
		;
	ar_member_threaded_free(t);
}

static const struct ar_member_vtable vtable = {
	.submit = member_submit,
	.poll = member_poll,
	.close = member_close,
};

void ar_member_threaded_init(struct ar_member_threaded *t)
{
	t->member.v = &vtable;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
}

/* Signals are the process's business: this thread takes none. */
enum ar_status ar_member_threaded_start(struct ar_member_threaded *t, struct ar_error *err)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&t->thread, NULL, thread_main, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return ar_fail(err, AR_E_IO, "the member's thread cannot be started (error %d)", rc);
	t->started = true;
	pthread_setname_np(t->thread, "store-member");
	return AR_OK;
}
