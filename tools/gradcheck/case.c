/* One case of ./gradcheck: compares both derivatives for every operand, and prints them. */
#include "tools/gradcheck/gradcheck.h"

#include "ops/base/error.h"

static bool is_over(double off) /* true for NaN */
{
    return !(off <= DERIVATIVE_TOLERANCE);
}

void put_operand(Case *c, const char *name, Tensor *x)
{
    if (c->n == MOST_OPERANDS)
        BUG("%s has more than %d operands", c->name, MOST_OPERANDS);
    c->x[c->n] = x;
    c->x_name[c->n++] = name;
}

void print_header(const Report *r)
{
    printf("The derivative by hand, which is what the backward pass computes, and by finite "
           "differences\nof the forward pass, in double, of a loss that weights every output by a "
           "random number. `off`\nis the largest difference over all elements of an operand, "
           "relative to the largest element;\nat most %.0e is allowed.\n",
           DERIVATIVE_TOLERANCE);
    if (r->most != SIZE_MAX)
        printf("Of an operand with more than %zu elements only that many are compared, and the "
               "derivative\nalong one random direction of all.\n",
               r->most);
    if (r->verbose)
        printf("The two numbers on a line are derivatives along one random direction.\n\n"
               "    %-22s %-14s %19s  %19s  %8s\n",
               "operand", "shape", "by hand", "by differences", "off");
    else
        printf("\n%-28s %8s %10s %12s %10s%s\n", "", "cases", "operands", "derivatives", "off",
               r->plain ? "  from fast" : "");
}

static void tally(Tally *t, const Case *c, int j, double off, size_t most)
{
    t->operands++;
    t->over += is_over(off);
    t->derivatives += c->x[j]->n < most ? c->x[j]->n : most;
    if (!(off <= t->worst) || !t->what[0]) {
        t->worst = off;
        snprintf(t->what, sizeof t->what, "%s of %s%s%s", c->x_name[j], c->name,
                 c->set[0] ? ", " : "", c->set);
    }
}

static void print_operand(const Report *r, const Case *c, Loss l, int j, double off)
{
    Tensor *x = c->x[j];
    real *u = arena_take(r->mem, x->n * sizeof *u);
    char shape[48];
    int at = 0;

    for (int i = 0; i < x->ndim; i++)
        at += snprintf(shape + at, sizeof shape - (size_t)at, "%s%d", i ? " x " : "", x->dim[i]);
    fill(u, x->n, 23, 1 / sqrt((double)x->n));
    printf("    %-22s %-14s %+19.12e  %+19.12e  %8.1e%s\n", c->x_name[j], shape,
           derivative_of_along(x, x->grad, u), derivative_along(l, x, u), off,
           is_over(off) ? "  over" : "");
}

static void print_case(const Case *c)
{
    printf("%s%s%s\n", c->name, c->set[0] ? ": " : "", c->set);
}

/* The derivative by hand is in the gradient. Without --verbose only failures are printed. */
static void check_operand(Report *r, const Case *c, Loss l, int j)
{
    Tensor *x = c->x[j];

    if (!x->has_grad) /* no gradient arrived: that is an error even where 0 would be right */
        fill(x->grad, x->n, 0, HUGE_VAL);
    double off = derivative_off(l, x, x->grad, r->most, (uint64_t)r->all.operands);

    if (!r->verbose && is_over(off) && r->shown != r->all.cases)
        print_case(c);
    if (r->verbose || is_over(off)) {
        print_operand(r, c, l, j, off);
        r->shown = r->all.cases;
    }
    tally(&r->these, c, j, off, r->most);
    tally(&r->all, c, j, off, r->most);
}

Loss loss_of(Report *r, const Case *c)
{
    size_t outputs = c->f(&r->tape, c->ctx)->n;
    real *weight = arena_take(r->mem, outputs * sizeof *weight);

    fill(weight, outputs, 17, 1);
    return (Loss){ &r->tape, c->f, c->ctx, weight };
}

void check(Report *r, const Case *c)
{
    Loss l = loss_of(r, c);

    r->these.cases++, r->all.cases++;
    derivative_by_hand(l, c->x, c->n);
    if (r->verbose)
        print_case(c);
    for (int j = 0; j < c->n; j++)
        check_operand(r, c, l, j);
    tape_reset(&r->tape);
    arena_reset(r->mem);
}

void sum_up(Report *r, const char *name, const char *where)
{
    char title[64];

    snprintf(title, sizeof title, "%s%s", name, where);
    if (!r->verbose)
        printf("%-28s %8d %10d %12zu %10.1e", title, r->these.cases, r->these.operands,
               r->these.derivatives, r->these.worst);
    if (!r->verbose && r->these.apart > 0)
        printf(" %10.1e", r->these.apart);
    if (!r->verbose)
        putchar('\n');
    fflush(stdout);
    r->these = (Tally){ 0 };
}

void conclude(const Report *r)
{
    if (r->all.over)
        die(EXIT_FAILED, "the derivatives of %d operands differ by more than %.0e; the largest: %s",
            r->all.over, DERIVATIVE_TOLERANCE, r->all.what);
    if (!(r->all.apart <= TWIN_TOLERANCE))
        die(EXIT_FAILED, "a plain twin differs from its mechanism by %.1e", r->all.apart);
}
