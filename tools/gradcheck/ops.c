/* The ops, each with every subset of its optional operands. */
#include "tools/common/op_table.h"
#include "tools/gradcheck/gradcheck.h"

static void check_op(Report *r, const OpRow *row, unsigned given)
{
    OpCall call = op_call(r->mem, row, (OpSize){ .B = 2, .T = 3, .C = 5, .O = 4, .V = 7 }, given);
    Case c = { .name = row->name, .f = op_run, .ctx = &call };

    op_fill(&call, 1);
    op_describe(&call, c.set, sizeof c.set);
    for (int i = 0; i < OP_OPERANDS; i++)
        if (call.x[i] && !op_is_constant(&row->operand[i]))
            put_operand(&c, row->operand[i].name, call.x[i]);
    check(r, &c);
}

void check_ops(Report *r)
{
    for (const OpRow *row = op_rows; row->name; row++) {
        unsigned given = 0;

        do {
            check_op(r, row, given);
            given = op_given_after(row, given);
        } while (given);
        sum_up(r, row->name, "");
    }
}
