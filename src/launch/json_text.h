/* Text as JSON, for helpers without libraries. */
#ifndef AR_LAUNCH_JSON_TEXT_H
#define AR_LAUNCH_JSON_TEXT_H

#include <stddef.h>

#define AR_JSON_CHARACTER_MAX 8

/* The character at `text`, which is not at its end, as it stands in a JSON string: control characters, quotes
 * and backslashes as \u00XX, what is not UTF-8 as U+FFFD. Returns how many bytes of `text` it was; `out` is
 * terminated. */
size_t ar_json_character(const char *text, char out[AR_JSON_CHARACTER_MAX]);

#endif
