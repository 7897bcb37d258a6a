# The verdict on a claim, by the rule in judge.awk. Reads with kind=value the CSV of ./figure (the values
# that name a cell, with the seed before the last one, then n, mean, sd, min, max), with kind=gain the same
# of the column gain, and with kind=statement the statements of the claim, one per line:
#
#     elu is worse than softmax: elu/256 - softmax/256
#     cosformer is nearer to softmax: 1/2 elu/256 + 1/2 softmax/256 - cosformer/256 > 0.05
#     the scale costs nothing: entropy/64 - softmax/64 = 0.005
#     (the same of relu: relu/256 - softmax/256)
#
# A statement is a weighted sum of cells and numbers that should be positive; or, with `=`, should make no
# difference. After `>` or `=` there may be a floor other than `floor`. What is in brackets is shown and does
# not count, and is judged by itself. `least` is the fewest seeds that decide, `limit` the gain of the last
# fifth of the updates from which on a run has not converged (none: that is no question here).
BEGIN {
    FS = ","
    if (floor == "") floor = 0.02
    if (least == "") least = 5
    if (limit == "") limit = 0.01
}

function fail(words) { print "verdict of " claim ": " words >"/dev/stderr"; failed = 1; exit 1 }

kind != "statement" {
    if (FNR == 1) next
    cell = $1
    for (i = 2; i <= NF - 5; i++) if (i != NF - 6) cell = cell "/" $i
    if ($(NF - 4) != 1) fail("cell " cell " has " $(NF - 4) " rows of seed " $(NF - 6))
    if (kind == "gain") { gain[cell, $(NF - 6)] = $(NF - 3); next }
    if (!seen[$(NF - 6)]++) seed[++seeds] = $(NF - 6)
    value[cell, $(NF - 6)] = $(NF - 3); is_cell[cell]
    next
}

# Into weight[] and constant: the terms "+ 1/2 elu/256 - 0.1".
function parse(terms,    word, words, i, half, sign, c) {
    split("", weight); constant = 0; sign = 1; c = ""
    words = split(terms " +", word, " ")
    for (i = 1; i <= words; i++)
        if (word[i] == "+" || word[i] == "-") {
            constant += sign * c
            sign = word[i] == "-" ? -1 : 1; c = ""
        } else if (word[i] ~ /^[0-9.]+(\/[0-9]+)?$/ && c == "")
            c = split(word[i], half, "/") == 2 ? half[1] / half[2] : word[i] + 0
        else if (word[i] in is_cell) { weight[word[i]] += sign * (c == "" ? 1 : c); c = "" }
        else fail("there is no cell " word[i] " (in: " $0 ")")
}

# The sums within the seeds that all cells have; worst[j] is the largest gain of their runs.
function sums(j,    k, cell, cells, lacking, total) {
    worst[j] = limit == "none" ? "none" : 0
    for (k = 1; k <= seeds; k++) {
        total = constant; lacking = cells = 0
        for (cell in weight) { cells++; if (!((cell, seed[k]) in value)) lacking++ }
        if (lacking || !cells) continue
        for (cell in weight) {
            total += weight[cell] * value[cell, seed[k]]
            if (value[cell, seed[k]] !~ /^[-+0-9.e]+$/) diverged[j] = 1
        }
        d[j, ++n[j]] = total
        for (cell in weight)
            if (worst[j] != "none" && worst[j] != "unknown")
                if (!((cell, seed[k]) in gain)) worst[j] = "unknown"
                else if (gain[cell, seed[k]] > worst[j]) worst[j] = gain[cell, seed[k]] + 0
    }
    if (!n[j]) fail("its cells have no seed in common: " $0)
    if (diverged[j]) n[j] = 0
}

/[^ ]/ {
    if (!(colon = index($0, ": "))) fail("a statement is WORDS: SUM, not: " $0)
    words = substr($0, 1, colon - 1); terms = substr($0, colon + 2)
    beside = sub(/^\(/, "", words) && sub(/\)$/, "", terms)
    j = beside ? 1000 + ++asides : ++counted
    about[j] = words; order[++all] = j; bound[j] = floor
    if (match(terms, / [=>]( [0-9.]+)? *$/)) {
        tail = substr(terms, RSTART + 1); terms = substr(terms, 1, RSTART - 1)
        equal[j] = tail ~ /^=/
        if (tail ~ /[0-9]/) bound[j] = substr(tail, 3) + 0
    }
    parse(terms)
    sums(j)
}

# x with four decimals; from 10 on, as of ranks and of times in ns, with four digits. The size of `scale`
# decides.
function shown(x, scale) {
    scale = abs(scale)
    return sprintf("%.*f", scale < 10 ? 4 : scale < 100 ? 2 : scale < 1000 ? 1 : 0, x)
}

# What is found of statement j for the claim.
function outcome(j) {
    if (worst[j] ~ /^[0-9]/ && worst[j] >= limit) return "not converged"
    if (diverged[j]) return "open: diverged"
    if (worst[j] == "unknown") return "open: convergence unknown" # which no more seeds would change
    if (found[j] == "open") return "open: " (need[j] < 1000 ? need[j] : "over 1000") " seeds"
    return equal[j] && found[j] ~ /holds|contrary/ ? "contrary" : found[j]
}

END {
    if (failed) exit 1
    if (!counted) fail("there are no statements")
    judge(1, counted, least)
    for (j = 1001; j <= 1000 + asides; j++) judge(j, j, least)
    for (i = 1; i <= all; i++) {
        j = order[i]; result = outcome(j)
        interval = half[j] == "" ? "" : " ± " shown(half[j], mean[j])
        table = table sprintf("| %s | %s%s | %s | %d | %s | %s |\n", (j > 1000 ? "*beside:* " : "") about[j], \
            shown(mean[j], mean[j]), interval, half[j] == "" ? "" : shown(sd[j], mean[j]), n[j], \
            worst[j] ~ /^[0-9]/ ? sprintf("%.1f%%", 100 * worst[j]) : worst[j], result)
        if (j > 1000) continue
        numbers = numbers (numbers == "" ? "" : "; ") \
            sprintf("%s: %s%s (%s)", about[j], shown(mean[j], mean[j]), interval, result)
        met += result == (equal[j] ? "no difference" : "holds")
        contrary += result == "contrary"; early += result == "not converged"
    }
    print "**" claim ": " (contrary ? "not reproduced" : early ? "not converged" : \
        met == counted ? "reproduced" : "undecided") ".** " numbers "\n"
    print "| statement | mean | sd | seeds | last fifth | |\n| --- | --- | --- | --- | --- | --- |\n" table
}
