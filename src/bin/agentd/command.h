/* What agentd does instead of serving, by the first word of its command line. */
#ifndef AR_BIN_AGENTD_COMMAND_H
#define AR_BIN_AGENTD_COMMAND_H

#include "compiler.h"
#include "log.h"

AR_BEGIN_DECLS

/* The log of the process: lines on stderr. */
extern struct ar_log ar_agentd_log;

/* `agentd migrate [--config FILE]`: reads the options after the word, which is argv[0], brings the
 * store to the newest schema and says what it did. Returns the exit status. */
int ar_agentd_migrate(int argc, char **argv);

/* `agentd sandbox [--config FILE] [--json]`: attacks what boundaries are made of and says what works
 * here. Returns the exit status. */
int ar_agentd_sandbox(int argc, char **argv);

/* `agentd check [options of the daemon]`: says what is wrong with the settings. Returns the exit status. */
int ar_agentd_check(int argc, char **argv);

/* `agentd settings [options of the daemon] [--json]`: prints them with where each comes
 * from. Returns the exit status. */
int ar_agentd_settings(int argc, char **argv);

/* `agentd worker --join URL`: joins a daemon and runs calls for it until it is stopped. Returns the exit
 * status. */
int ar_agentd_worker(int argc, char **argv);

/* Each on a line of its own on stderr, with the level in front. */
struct ar_problems;
void ar_agentd_list(const char *level, const struct ar_problems *p);

/* `agentd stdio` serves one peer on stdin and stdout, with the options of the daemon. */
extern const char ar_agentd_stdio_help[];

/* Another node has taken this one's place: says so. The peer is not served by a second runtime, of
 * which it knows nothing. Returns the exit status. */
int ar_agentd_stdio_fenced(const char *why);

AR_END_DECLS

#endif
