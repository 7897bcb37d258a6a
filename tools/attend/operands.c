#include "tools/attend/operands.h"

#include "ops/base/text.h"
#include "tools/attend/input.h"

#include <string.h>

static Text meaning(const Operand *o)
{
    return text_format("%s%s%s%s%s%s", o->help, o->with ? " (--" : "", o->with ? o->with : "",
                       o->is ? " " : "", o->is ? o->is : "", o->with ? ")" : "");
}

static bool takes(const Attention *a, const Operand *operand)
{
    for (const Operand *o = a->operands; o && o->name; o++)
        if (strcmp(o->name, operand->name) == 0 && strcmp(meaning(o).at, meaning(operand).at) == 0)
            return true;
    return false;
}

static bool taken_before(const Attention *row, const Operand *operand)
{
    for (const Attention *const *a = attentions; *a != row; a++)
        if (takes(*a, operand))
            return true;
    return false;
}

/* The mechanisms that take it: "relu, elu". */
static Text takers(const Operand *o)
{
    Text names = { 0 };

    for (const Attention *const *a = attentions; *a; a++)
        if (takes(*a, o))
            text_add(&names, "%s%s", names.n ? ", " : "", (*a)->name);
    return names;
}

static void put_operand(FILE *to, const Operand *o)
{
    enum { WIDTH = 80, INDENT = 22 };
    const Text name = text_format("%s %s", o->name, input_wanted(&(Input){ 0 }, o->shape).at);
    const Text who = takers(o), what = meaning(o);
    const bool fits = INDENT + strlen(who.at) + 2 + strlen(what.at) <= WIDTH;

    fprintf(to, "  %-*s%s:", INDENT - 2, name.at, who.at);
    fprintf(to, "%*s%s\n", fits ? 1 : 0, "", fits ? what.at : "");
    if (!fits)
        fprintf(to, "%*s%s\n", INDENT, "", what.at);
}

void put_operands(FILE *to)
{
    for (const Attention *const *a = attentions; *a; a++)
        for (const Operand *o = (*a)->operands; o && o->name; o++)
            if (!taken_before(*a, o))
                put_operand(to, o);
}
