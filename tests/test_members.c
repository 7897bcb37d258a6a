/* ./attend: families of mechanisms, and the place of a layer in its model. */
#include "tests/attend.h"
#include "tests/folder.h"
#include "tests/suites.h"

#include "ops/base/error.h"

/* A member with all of the family's operands, and one without some of them. */
START_TEST(operands_choose_the_member_of_a_family)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, trials, 13);

        c.called = (*a)->family;
        if (c.called) {
            give_case(&c, true);
            Safetensors *s = attended(&c, WITH(NULL));
            check_results(&c, s);
            safetensors_free(s);
        }
        arena_free(mem);
    }
}
END_TEST

START_TEST(the_index_of_the_layer_is_an_option_where_it_matters)
{
    for (const Attention *const *a = attentions; *a; a++) {
        Arena *mem = arena_new();
        Case c = case_new(mem, *a, trials, 13);

        give_case(&c, true);
        c.mix.layer = 2, c.mix.layers = 5;
        if ((*a)->traits & BY_LAYER) {
            Safetensors *s = attended(&c, WITH("--layer", "2", "--layers=5"));
            check_results(&c, s);
            safetensors_free(s);
            give_case(&c, true);
            check_refused(&c, WITH("--layer=5", "--layers=5"), EXIT_USAGE, "counted from 0");
        } else {
            check_refused(&c, WITH("--layer=2", "--layers=5"), EXIT_USAGE, "mean nothing");
        }
        arena_free(mem);
    }
}
END_TEST

Suite *suite_members(void)
{
    Suite *s = suite_create("members");
    TCase *t = with_folder(s, "members");

    tcase_add_test(t, operands_choose_the_member_of_a_family);
    tcase_add_test(t, the_index_of_the_layer_is_an_option_where_it_matters);
    return s;
}
