/* The settings in force, for people and programs. */
#ifndef AR_HOST_SETTINGS_SHOW_H
#define AR_HOST_SETTINGS_SHOW_H

#include "json.h"
#include "settings/settings_read.h"

struct ar_redactor;

/* The members of get_settings. Secret settings are masked, and what the redactor knows wherever it
 * stands; of references what they say is shown. */
void ar_settings_show(const struct ar_settings *s, const struct ar_redactor *redactor, struct ar_jw *w);

/* The policy of the host as one JSON object: the settings that decide what sessions may do and use, but for
 * those that are as without any setting. */
void ar_settings_policy(const struct ar_config *c, const struct ar_redactor *redactor, struct ar_buf *out);

/* The whole answer of get_settings, without a runtime. */
AR_MUST_USE enum ar_status ar_settings_document(const struct ar_settings *s, struct ar_buf *out,
						struct ar_error *err);

#endif
