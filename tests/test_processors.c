/* The processors that a process may use, as Linux's files say. */
#include "ops/base/groups.h"
#include "ops/base/processors.h"
#include "ops/base/text.h"
#include "tests/folder.h"
#include "tests/suites.h"
#include "tests/tests.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

START_TEST(a_list_of_processors_is_counted)
{
    static const struct {
        const char *list;
        int n;
    } row[] = { { "0", 1 },  { "0-3", 4 }, { "0-3,7", 5 },    { "\t2,4,6-6\n", 3 },
                { "", 0 },   { "all", 0 }, { "3-1", 0 },      { "1,", 0 },
                { "0-", 0 }, { "1 2", 0 }, { "0-127\n", 128 } };

    for (int i = 0; i < COUNT(row); i++)
        ck_assert_msg(processors_listed(row[i].list) == row[i].n, "'%s'", row[i].list);
}
END_TEST

/* Files of control groups, and their folders: everything that was made, in order. */
static char made[64][1024];
static int n_made;

static void make_group(const char *path, const char *name, const char *text)
{
    const Text folder_of = text_format("%s", in_folder(path));
    const Text file = text_format("%s/%s", folder_of.at, name);

    snprintf(made[n_made++], sizeof *made, "%s", folder_of.at);
    snprintf(made[n_made++], sizeof *made, "%s", file.at);
    mkdir(folder_of.at, 0700);
    put(file.at, text, strlen(text));
}

static void remove_groups(void)
{
    while (n_made > 0)
        remove(made[--n_made]);
}

typedef double Limit(const char *groups, const char *root);

static void check_limit(Limit *limit, const char *groups, double want)
{
    put(in_folder("own"), groups, strlen(groups));
    double got = limit(in_folder("own"), in_folder("all"));
    ck_assert_msg(got == want, "%s: %g, not %g", groups, got, want);
}

static void check_quota(const char *groups, double want)
{
    check_limit(groups_processors, groups, want);
}

START_TEST(the_smallest_quota_of_all_groups_counts)
{
    make_group("all", "cpu.max", "400000 100000\n");
    make_group("all/a", "cpu.max", "150000 100000\n");
    make_group("all/a/b", "cpu.max", "max 100000\n");
    make_group("all/free", "cpu.max", "max 100000\n");
    check_quota("0::/\n", 4);
    check_quota("0::/a/b\n", 1.5);
    check_quota("0::/free\n", 4);
    check_quota("0::/nowhere\n", 4);
    check_quota("1:name=systemd:/a\n", HUGE_VAL);
    check_quota("", HUGE_VAL);

    make_group("all/cpu,cpuacct", "cpu.cfs_quota_us", "-1\n");
    make_group("all/cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    make_group("all/cpu,cpuacct/a", "cpu.cfs_quota_us", "50000\n");
    make_group("all/cpu,cpuacct/a", "cpu.cfs_period_us", "100000\n");
    check_quota("4:memory:/a\n3:cpu,cpuacct:/a\n", 0.5);
    check_quota("3:cpu,cpuacct:/\n", HUGE_VAL);
    make_group("all/cpuset", "cpu.max", "100000 100000\n");
    check_quota("3:cpuset:/\n", HUGE_VAL);
    check_quota("3:cpu,cpuacct:/a\n0::/a\n", 0.5);
    ck_assert_double_eq(groups_processors(in_folder("none"), in_folder("all")), HUGE_VAL);
    remove_groups();
}
END_TEST

static void check_memory(const char *groups, double want)
{
    check_limit(groups_memory, groups, want);
}

START_TEST(the_smallest_memory_of_all_groups_counts)
{
    make_group("all", "memory.max", "4000\n");
    make_group("all/a", "memory.max", "max\n");
    make_group("all/a/b", "memory.max", "1500\n");
    make_group("all/none", "memory.max", "0\n");
    make_group("all/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    make_group("all/memory/a", "memory.limit_in_bytes", "3000\n");
    make_group("all/cpu", "memory.max", "5\n");
    check_memory("0::/\n", 4000);
    check_memory("0::/a\n", 4000);
    check_memory("0::/a/b\n", 1500);
    check_memory("0::/none\n", 4000);
    check_memory("9:memory:/a\n", 3000);
    check_memory("9:memory:/\n", 9223372036854771712.0);
    check_memory("3:cpu:/\n", HUGE_VAL);
    check_memory("", HUGE_VAL);
    remove_groups();
}
END_TEST

Suite *suite_processors(void)
{
    Suite *s = suite_create("processors");
    TCase *t = with_folder(s, "processors");

    tcase_add_test(t, a_list_of_processors_is_counted);
    tcase_add_test(t, the_smallest_quota_of_all_groups_counts);
    tcase_add_test(t, the_smallest_memory_of_all_groups_counts);
    return s;
}
