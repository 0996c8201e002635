/* Descendants of a process that has no pid namespace to end them with. */
#ifndef AR_INIT_ORPHANS_H
#define AR_INIT_ORPHANS_H

/* Adopts orphans among our descendants. 0, or -1 with errno. */
int ar_orphans_adopt(void);

/* Kills all descendants and waits until none is left. */
void ar_orphans_kill(void);

#endif
