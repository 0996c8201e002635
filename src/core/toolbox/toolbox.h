/* All sources of tools as one: one list sorted by name, the source behind each tool, and word of
 * changes. It runs no call (the engine starts them at the source) and judges none (core/session does).
 *
 * Everything happens on the loop thread. */
#ifndef AR_TOOLBOX_H
#define AR_TOOLBOX_H

#include "tool.h"

struct ar_toolbox; /* owner: loop thread */

struct ar_toolbox *ar_toolbox_new(void);

/* Closes every source, which ends the calls that are open (their on_done is called from
 * here), and frees. NULL is fine. */
void ar_toolbox_close(struct ar_toolbox *b);

/* Takes over the source and its on_changed. Of two tools with one name, the one whose source
 * was added first is listed. */
void ar_toolbox_add(struct ar_toolbox *b, struct ar_tool_source *s);

/* The same for those alone that have the key: their list is all other tools and these. A tool for all wins a
 * name. The key is copied. */
void ar_toolbox_add_for(struct ar_toolbox *b, struct ar_str key, struct ar_tool_source *s);

/* Takes it out and closes it, which ends its open calls. */
void ar_toolbox_remove(struct ar_toolbox *b, struct ar_tool_source *s);

/* The list of those with the key; the list for all where no source has it. Valid like that. */
const struct ar_inventory *ar_toolbox_inventory_for(struct ar_toolbox *b, struct ar_str key);

/* The list as it is now, made anew when a source has changed. It and the tools in it are valid until
 * the next word of change; a tool of an open call stays valid until its on_done. */
const struct ar_inventory *ar_toolbox_inventory(struct ar_toolbox *b);

/* Why fewer tools are listed than the sources should bring, one line per reason; NULL: nothing is
 * missing. Valid like the list. */
const char *ar_toolbox_trouble(struct ar_toolbox *b);

/* The source of a tool that is in the list as it is now; NULL: it is in no source. */
struct ar_tool_source *ar_toolbox_source_of(const struct ar_toolbox *b, const struct ar_tool *tool);

/* Calls fn(arg) after a source was added, was removed, or has changed; one listener, the last one set.
 * Not called from close. */
void ar_toolbox_on_change(struct ar_toolbox *b, void (*fn)(void *arg), void *arg);

#endif
