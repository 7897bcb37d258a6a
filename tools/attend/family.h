/* Names for several mechanisms that differ in their operands: those that are in IN choose the row.
 */
#ifndef TOOLS_ATTEND_FAMILY_H
#define TOOLS_ATTEND_FAMILY_H

#include "model/safetensors.h"
#include "ops/attention.h"
#include "tools/common/options.h"

/* The choices of --attn: all rows, then the families that are called like none of them. */
Choice family_choice(int i);

/* The row of a choice: of a family, its first. */
int family_row(int choice);

/*
 * The member of the family `name` with exactly the operands in the file; `a` if there is none, or
 * if `name` is not a family.
 */
const Attention *family_member(const Attention *a, const char *name, const Safetensors *file);

#endif
