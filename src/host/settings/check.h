/* What values alone do not show: settings that need one another, and the files and folders that they name. */
#ifndef AR_HOST_SETTINGS_CHECK_H
#define AR_HOST_SETTINGS_CHECK_H

#include "settings/settings_read.h"

/* Adds what would keep agentd from starting with these settings. Opens no socket, starts
 * and writes nothing. */
void ar_settings_check(struct ar_settings *s);

/* Adds warnings of what works and is not safe. */
void ar_settings_look(struct ar_settings *s);

#endif
