/* The shim: one process, its parts, one thread. Lives in one mapping that is never given back; the parts are
 * distinguished by their headers. */
#ifndef AR_SHIM_H
#define AR_SHIM_H

#include "drive.h"
#include "termination.h"
#include "evidence/kernel_limits.h"
#include "evidence/notify.h"
#include "evidence/missing.h"
#include "evidence/repositories.h"
#include "stdin.h"
#include "journal_file.h"
#include "loop.h"
#include "options.h"
#include "prewarm.h"
#include "start.h"
#include "streams.h"

struct ar_shim {
	struct ar_shim_options options;
	struct ar_journal_file journal;
	struct ar_init_child init;
	struct ar_prewarm prewarm;
	struct ar_streams streams;
	struct ar_stdin input;
	struct ar_drive drive;
	struct ar_termination termination;
	struct ar_notify notify;
	struct ar_limits limits;
	struct ar_missing_paths missing;
	struct ar_repositories repositories;
	int signals; /* signalfd */
	char scratch[AR_INIT_MESSAGE_MAX + 1]; /* the packet that is looked at */
};

#endif
