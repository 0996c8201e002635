/* Takes a mechanism of the kernel away from this process and all that it starts, so that a host without it
 * can be tried on one that has it. */
#ifndef AR_TEST_FORBID_H
#define AR_TEST_FORBID_H

#include <stdbool.h>

/* landlock: its calls are unknown. userns: none can be made. notify: a filter cannot have a listener. netns,
 * pidns: none can be made. False: no such word, or it could not be done. */
bool forbid(const char *word);

#endif
