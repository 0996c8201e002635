/* What a started agent-init says and what comes out of its command, as lines on our own output: the letter
 * says what it is.
 *   R json   everything is in force      O text / E text   a line of output or error output
 *   N call   the filter's listener heard of this system call, and refused it
 *   F json   it could not be started     X json            the command's end */
#ifndef AR_TEST_WATCH_H
#define AR_TEST_WATCH_H

/* Lets it go and stays with it until its end; the command's exit status, 128 and the signal, or 125 when it
 * never ran. */
int watch_init(int socket);

#endif
