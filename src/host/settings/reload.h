/* What SIGHUP makes of the settings. */
#ifndef AR_HOST_SETTINGS_RELOAD_H
#define AR_HOST_SETTINGS_RELOAD_H

#include "log.h"
#include "settings/settings_read.h"

/* Reads the settings again and logs what changed since `now` and needs a restart, or what is wrong with
 * them. Nothing in force changes. */
void ar_settings_reload(const struct ar_settings *now, const struct ar_settings_args *args,
			const struct ar_log *log);

#endif
