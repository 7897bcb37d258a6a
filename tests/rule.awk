# A test of experiments/judge.awk: examples with known answers, then simulated claims: how often it finds
# what is not there, with one statement and with four, and what is there, twice the floor at ten seeds, with
# the spreads of committed rows. Reads those of c03-perplexity and c15-c18-lengths; `times` is the number of
# simulated claims. Ends with 1 if an answer or a rate is not what the rule promises.
BEGIN { FS = ","; if (!times) times = 20000 }

# Two mechanisms in pairs within seeds, each at the rate that has three: losses in c03, at 256; in c15-c18
# accuracies at all lengths, as far as the trained one and beyond.
FNR == 1 { file++; next }
file == 1 && $1 == "wikitext-2" && $2 == "causal" && $11 == 256 { keep("loss", $3 "@" $6, $12) }
file == 2 && $5 == 64 { keep($11 <= 64 ? "accuracy" : "accuracy beyond", $4 "@" $6 "@" $11, $15) }
function keep(kind, cell, number) { if (number != "inf") { kinds[kind]; x[kind, cell, $7] = number; cells[kind, cell]++ } }

function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
function normal() { return sqrt(-2 * log(uniform())) * cos(8 * atan2(1, 1) * uniform()) }

# The share of claims with a statement that is found to be `what`: all of them have this effect, and each
# its own values in 5 or 10 seeds; their spread is 1 unless told.
function rate(what, statements, seeds, effect, floor, spread,    i, j, k, hits, hit) {
    for (i = 0; i < times; i++) {
        for (j = 1; j <= statements; j++) {
            n[j] = seeds; bound[j] = floor
            for (k = 1; k <= seeds; k++) d[j, k] = effect + spread * normal()
        }
        judge(1, statements, 5)
        for (j = hit = 0; ++j <= statements;) hit += found[j] == what
        hits += hit > 0
    }
    return hits / times
}

# Statement j gets five seeds with this mean and a standard error of 1.
function five(j, mean_, floor,    k) {
    n[j] = 5; bound[j] = floor
    for (k = 1; k <= 5; k++) d[j, k] = mean_ + sqrt(5) * (k < 5) * (k % 2 ? 1 : -1)
}
function answer(words, got, want) {
    if (got == want) return
    print words ": " got ", not " want " -- WRONG"
    wrong = 1
}
function examples() {
    five(1, 2.8, 0.1); judge(1, 1, 5)
    answer("standard deviation", sprintf("%.6f", sd[1]), "2.236068")
    answer("half of an interval", sprintf("%.6f", half[1]), "2.776445")
    answer("above the interval", found[1], "holds")
    five(1, -2.8, 0.1); judge(1, 1, 5); answer("below the interval", found[1], "contrary")
    five(1, 2.8, 0.1); judge(1, 1, 6); answer("too few seeds", found[1] need[1], "open6")
    five(1, 2.8, 2.9); judge(1, 1, 5); answer("below the floor", found[1], "open")
    five(1, 0.1, 2.9); judge(1, 1, 5); answer("within the floor", found[1], "no difference")
    five(1, 0.2, 2.9); judge(1, 1, 5); answer("not quite within", found[1], "open")
    five(1, sqrt(5) / 2, 0.1); judge(1, 1, 5); answer("seeds for half a deviation", found[1] need[1], "open18")
    five(1, 0.2, 1.3); judge(1, 1, 5); answer("seeds for no difference", found[1] need[1], "open19")
    for (j = 1; j <= 4; j++) five(j, j == 1 ? 4.5 : j == 2 ? 3.5 : j == 3 ? 3 : 2.8, 0.1)
    judge(1, 4, 5); answer("Holm stops", found[1] found[2] found[3] found[4], "holdsopenopenopen")
    for (j = 1; j <= 4; j++) five(j, j == 1 ? 2.8 : j == 2 ? 3.6 : j == 3 ? 4.1 : 5, 0.1)
    judge(1, 4, 5); answer("Holm goes on", found[1] found[2] found[3] found[4], "holdsholdsholdsholds")
}

# Expects a rate between the two, give or take four standard deviations of it.
function expect(words, got, least, most,    slack) {
    slack = 4 * sqrt(0.025 / times)
    if (got < least - slack || got > most + slack) { words = words " -- WRONG"; wrong = 1 }
    printf "%7.3f%%  %s\n", 100 * got, words
}

# The middle one of the standard deviations of the differences of two cells of a kind.
function middle(kind,    key, part, name, count, i, j, sorted, of, swap) {
    for (key in cells) {
        split(key, part, SUBSEP)
        if (part[1] == kind && cells[key] == 3) name[++count] = part[2]
    }
    for (i = 1; i <= count; i++) for (j = 1; j < i; j++) if (length_of(name[i]) == length_of(name[j])) {
        sorted[++of] = spread_of(kind, name[i], name[j])
        for (k = of; k > 1 && sorted[k] < sorted[k - 1]; k--) {
            swap = sorted[k]; sorted[k] = sorted[k - 1]; sorted[k - 1] = swap
        }
    }
    return sorted[int((of + 1) / 2)]
}
function length_of(name) { return kind_length(split(name, at, "@")) }
function kind_length(parts) { return parts > 2 ? at[3] : 0 }
function spread_of(kind, a, b,    s, sum, square) {
    for (s = 1; s <= 3; s++) sum += (diff[s] = x[kind, a, s] - x[kind, b, s]) / 3
    for (s = 1; s <= 3; s++) square += (diff[s] - sum) ^ 2
    return sqrt(square / 2)
}

END {
    examples()
    state = 1
    print "without an effect, no floor: claims with a statement that holds"
    for (m = 1; m <= 4; m += 3) for (s = 5; s <= 10; s += 5)
        expect(m " of " s " seeds", rate("holds", m, s, 0, 0, 1), m == 1 ? 0.025 : 0.02, 0.025)
    print "without an effect, with a floor of half the spread of a seed"
    expect("1 of 10 seeds holds", rate("holds", 1, 10, 0, 0.5, 1), 0, 0.025)
    expect("4 of 10 seeds hold", rate("holds", 4, 10, 0, 0.5, 1), 0, 0.025)
    print "an effect of the floor: claims in which there is said to be no difference"
    expect("1 of 10 seeds", rate("no difference", 1, 10, 0.5, 0.5, 0.25), 0, 0.025)
    print "an effect of twice the floor, 10 seeds, with the middle spread of committed rows"
    for (kind in kinds) {
        spread = middle(kind); bar = kind == "loss" ? 0.02 : 0.005
        # beyond the trained length the spread is ten floors: ten seeds cannot do
        expect(sprintf("hold: %s, floor %g, spread %.4f", kind, bar, spread),
            rate("holds", 1, 10, 2 * bar, bar, spread), kind ~ /beyond/ ? 0 : 0.8, 1)
    }
    exit wrong
}
