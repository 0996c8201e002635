/* The settings file: a YAML tree read against the catalogue's tables. */
#ifndef AR_HOST_SETTINGS_FILE_H
#define AR_HOST_SETTINGS_FILE_H

#include "settings/settings_read.h"

/* Sets what the file names, and remembers where; what is wrong with it is added to the problems. */
void ar_settings_file(const char *path, struct ar_settings *s);

#endif
