/* Shared by the files of this folder alone. */
#ifndef AR_EXEC_PRIV_H
#define AR_EXEC_PRIV_H

#include "tool.h"

enum ar_exec_kind {
	AR_EXEC_SHELL,
	AR_EXEC_TERMINAL,
	AR_EXEC_WRITE,
	AR_EXEC_READ,
	AR_EXEC_STOP,
	AR_EXEC_KIND_COUNT,
};

const struct ar_tool *ar_exec_tool(enum ar_exec_kind kind);

#endif
