#include "tools/attend/family.h"

#include "tools/common/settings.h"

#include <string.h>

static bool is_member(const Attention *a, const char *name)
{
    return a->family && strcmp(a->family, name) == 0;
}

static int row_count(void)
{
    int n = 0;

    while (attentions[n])
        n++;
    return n;
}

/* The first member of the i-th family that is called like no row, or -1. */
static int nameless(int i)
{
    for (int row = 0; attentions[row]; row++) {
        const char *name = attentions[row]->family;
        bool seen = !name || attention_find(name);

        for (int before = 0; !seen && before < row; before++)
            seen = is_member(attentions[before], name);
        if (!seen && i-- == 0)
            return row;
    }
    return -1;
}

Choice family_choice(int i)
{
    const int rows = row_count(), row = i < rows ? -1 : nameless(i - rows);

    if (i < rows)
        return settings_attention(i);
    return row < 0 ? (Choice){ 0 }
                   : (Choice){ .name = attentions[row]->family,
                               .summary =
                                   "a family: the member that takes exactly the operands in IN" };
}

int family_row(int choice)
{
    return choice < row_count() ? choice : nameless(choice - row_count());
}

static bool takes(const Attention *a, const char *operand)
{
    for (const Operand *o = a->operands; o && o->name; o++)
        if (strcmp(o->name, operand) == 0)
            return true;
    return false;
}

/* Of all operands of the family, the file has those of the row and no others. */
static bool fits(const Attention *a, const Safetensors *file)
{
    for (const Attention *const *of = attentions; *of; of++)
        for (const Operand *o = (*of)->operands; is_member(*of, a->family) && o && o->name; o++)
            if (takes(a, o->name) != (safetensors_find(file, o->name) != NULL))
                return false;
    return true;
}

const Attention *family_member(const Attention *a, const char *name, const Safetensors *file)
{
    for (const Attention *const *of = attentions; *of; of++)
        if (is_member(*of, name) && fits(*of, file))
            return *of;
    return a;
}
