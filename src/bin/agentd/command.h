/* What agentd does instead of serving, by the first word of its command line. */
#ifndef AR_BIN_AGENTD_COMMAND_H
#define AR_BIN_AGENTD_COMMAND_H

#include "compiler.h"

AR_BEGIN_DECLS

/* `agentd migrate [--config FILE]`: reads the options after the word, which is argv[0], brings the store to the newest schema and says
 * what it did. Returns the exit status. */
int ar_agentd_migrate(int argc, char **argv);

AR_END_DECLS

#endif
