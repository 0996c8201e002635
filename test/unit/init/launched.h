/* One agent-init under test: started with a plan, spoken to, its streams collected. Whatever takes longer
 * than a minute fails the test. */
#ifndef AR_TEST_LAUNCHED_H
#define AR_TEST_LAUNCHED_H

#include "init_wire.h"
#include "plan.h"

#include <sys/types.h>

#define STREAM_MAX 65536

struct launched {
	pid_t pid;
	int socket; /* our end */
	int fds[AR_INIT_FD_COUNT]; /* as READY brought them; -1: not */
	char ready[AR_INIT_MESSAGE_MAX], failed[1024], runs[256], exit[512]; /* text of each; "": not said */
	bool is_empty; /* EMPTY was said */
	bool is_over; /* the other end is closed */
	char out[3][STREAM_MAX]; /* what stdout, stderr and the terminal gave, with an end */
	size_t len[3];
};

enum { OUT, ERR, TTY };

/* As this user (0: as we are). */
void launch(struct launched *l, const struct ar_plan *plan, uid_t user);
void launch_text(struct launched *l, const char *text, size_t len, uid_t user);

/* To a prewarmed sandbox: this plan, with these descriptors behind it. */
void send_plan(struct launched *l, const struct ar_plan *plan, const int *fds, size_t count);

/* Until this was said, or (0) until nobody says anything any more. */
void hear(struct launched *l, enum ar_init_message kind);

void say(struct launched *l, const char *message);

/* launch, GO, and all until the end. */
void run(struct launched *l, const struct ar_plan *plan, uid_t user);

/* Closes everything; the exit status of agent-init as waitpid gives it. */
int end(struct launched *l);

/* Path of agent-init, beside this program. */
const char *init_path(void);

#endif
