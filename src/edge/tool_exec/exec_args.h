/* The arguments of a call of one of these tools. Plain data; texts live in the arena given. */
#ifndef AR_EXEC_ARGS_H
#define AR_EXEC_ARGS_H

#include "arena.h"
#include "json.h"
#include "tool.h"

#define AR_EXEC_ARGV_MAX 1024

struct ar_exec_args {
	struct ar_str command; /* for people: the text, or the words */
	struct ar_str argv[AR_EXEC_ARGV_MAX + 1];
	size_t argc;
	struct ar_str cwd; /* absolute; absent: the workspace */
	struct ar_str input;
	struct ar_str justification;
	int64_t timeout_ms; /* 0: not named */
	bool is_background;
	bool tty;
	uint16_t rows, columns;
	struct ar_tool_act act; /* of the process_* tools */
};

/* False: `*ret_fault` says what is wrong, in words for the model. */
bool ar_exec_read_command(struct ar_json args, struct ar_str workspace, struct ar_arena *a,
			  struct ar_exec_args *ret, const char **ret_fault);
bool ar_exec_read_terminal(struct ar_json args, struct ar_str workspace, struct ar_arena *a,
			   struct ar_exec_args *ret, const char **ret_fault);
bool ar_exec_read_act(struct ar_json args, enum ar_tool_act_kind kind, struct ar_arena *a,
		      struct ar_exec_args *ret, const char **ret_fault);

#endif
