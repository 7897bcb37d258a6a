/* The signals that ask a program to stop. */
#ifndef TOOLS_COMMON_SIGNALS_H
#define TOOLS_COMMON_SIGNALS_H

#include <signal.h>

typedef void Handler(int number);

/* Calls `handler` at a signal; system calls go on afterwards. `flags`: more of sigaction()'s. */
void signals_on(int number, Handler *handler, int flags);

/* The same at SIGINT and SIGTERM, and at SIGHUP unless it is ignored, as by nohup. */
void signals_catch(Handler *handler, int flags);

/* From now on these end the program. */
void signals_release(void);

#endif
