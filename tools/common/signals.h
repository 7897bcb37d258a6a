/*
 * The signals that ask a program to stop: SIGINT, SIGTERM and, unless it is ignored, as by nohup,
 * SIGHUP. System calls go on after them. A program that stops has the exit code 128 + the number.
 */
#ifndef TOOLS_COMMON_SIGNALS_H
#define TOOLS_COMMON_SIGNALS_H

#include <signal.h>

typedef void Handler(int number);

void signals_catch(Handler *handler);

/* A signal is left in `stop`, and the program ends when it is ready. A second one ends it at once.
 */
void signals_ask(volatile sig_atomic_t *stop);

/* The same, and at SIGUSR1, which batch systems send before their time limit. */
void signals_ask_batch(volatile sig_atomic_t *stop);

/* From now on a signal that is not ignored ends the program at once. */
void signals_end(void);

#endif
