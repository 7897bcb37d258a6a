#include "tools/common/signals.h"

#include "ops/base/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t *asked;

static bool is_ignored(int number)
{
    struct sigaction a;

    return sigaction(number, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

static void on(int number, Handler *handler)
{
    struct sigaction a = { .sa_flags = SA_RESTART };

    sigfillset(&a.sa_mask);
    a.sa_handler = handler;
    sigaction(number, &a, NULL);
}

static void end(int number)
{
    _exit(128 + number);
}

/* timeout(1) sends a signal to the process and a copy to its group. */
static void ask(int number)
{
    static double first;

    if (!*asked)
        first = seconds_now();
    else if (seconds_now() - first > 0.1)
        end(number);
    *asked = number;
}

void signals_catch(Handler *handler)
{
    on(SIGINT, handler);
    on(SIGTERM, handler);
    if (!is_ignored(SIGHUP))
        on(SIGHUP, handler);
}

void signals_ask(volatile sig_atomic_t *stop)
{
    asked = stop;
    signals_catch(ask);
}

void signals_ask_batch(volatile sig_atomic_t *stop)
{
    signals_ask(stop);
    on(SIGUSR1, ask);
}

void signals_end(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

    for (int i = 0; i < 3; i++)
        if (!is_ignored(numbers[i]))
            on(numbers[i], end);
}
