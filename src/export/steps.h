/* For formats that people read: facts are put together to steps, each written as a whole. Of a thread only
 * the open step is held. */
#ifndef AR_EXPORT_STEPS_H
#define AR_EXPORT_STEPS_H

#include "export_priv.h"

/* A fact beside messages and calls. */
struct ar_export_note {
	struct ar_export_note *next;
	char *type, *id, *time;
	struct {
		const char *name;
		char *value; /* NULL: no more */
	} members[AR_EXPORT_MEMBERS];
	char *text; /* the difference of a file, or an answer in words; NULL: none */
};

struct ar_export_notes {
	struct ar_export_note *first, **end;
	size_t count;
	int64_t left_out; /* that were too many for one step */
};

struct ar_export_call {
	struct ar_export_call *next;
	char *id, *name, *child; /* child: thread that it began; NULL: none */
	char *status, *category, *event, *time; /* of its end; NULL: it has none */
	char *command, *profile, *exit; /* of a process; NULL: not one, or not recorded */
	struct ar_buf args, result;
	int64_t duration; /* milliseconds; -1: not recorded */
	struct ar_export_notes notes;
};

enum ar_export_step_kind {
	AR_STEP_NONE,
	AR_STEP_INPUT, /* of a person or another system */
	AR_STEP_ANSWER, /* of the model */
	AR_STEP_SUMMARY, /* that replaces what was said before */
	AR_STEP_END, /* of a turn */
};

struct ar_export_step {
	struct ar_export_step *next; /* inputs that wait */
	enum ar_export_step_kind kind;
	char *turn, *id, *time; /* id: of its event */
	char *from; /* source of an input, model of an answer, status of an end */
	char *options; /* of an input: JSON; NULL: none */
	char *category; /* of an end with an error; NULL: none */
	struct ar_buf text, reasoning;
	struct ar_export_call *calls, **last_call;
	struct ar_export_notes notes;
	int64_t input, output, cached; /* tokens */
	int64_t duration; /* milliseconds; -1: not recorded */
};

/* What the page says at its top. */
struct ar_export_counts {
	int64_t turns, failed_turns, calls, failed_calls, questions, processes, violations, files, summaries,
		limits, agents, checkpoints, boundaries;
};

struct ar_export_steps {
	void (*write)(struct ar_export *x, struct ar_export_thread *t, const struct ar_export_step *s);
	struct ar_export_counts counts;
};

/* As the functions of a format. */
void ar_export_steps_fact(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps);
void ar_export_steps_end(struct ar_export *x, struct ar_export_steps *steps);
void ar_export_steps_drop(struct ar_export_thread *t);

#endif
