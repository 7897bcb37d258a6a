#include "tools/common/signals.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_ignored(int number)
{
    struct sigaction a;

    return sigaction(number, NULL, &a) == 0 && a.sa_handler == SIG_IGN;
}

void signals_on(int number, Handler *handler, int flags)
{
    struct sigaction a = { .sa_flags = flags | SA_RESTART };

    sigfillset(&a.sa_mask);
    a.sa_handler = handler;
    sigaction(number, &a, NULL);
}

void signals_catch(Handler *handler, int flags)
{
    signals_on(SIGINT, handler, flags);
    signals_on(SIGTERM, handler, flags);
    if (!is_ignored(SIGHUP))
        signals_on(SIGHUP, handler, flags);
}

void signals_release(void)
{
    signals_catch(SIG_DFL, 0);
}
