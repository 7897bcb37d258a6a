# The runs of an experiment. Reads the rows in `folder` and those of c03-perplexity, then the plan on
# stdin, one series per line (see Makefile). Prints the runs that have no rows yet: `todo:` and the
# name; `other:` if another PART has it; `later:` and the series while its rate is unknown. With
# page=1 it prints the rows of each series at its rate instead. converging=1: see judged().
BEGIN {
    tests = split(lengths, length_, ",") # none: each run names its own
    if (lengths == "-") length_[1] = "" # the row of the training's own evaluation has no length
    CONVFMT = "%.6g"
    split(part, machine, "/")
    read(folder, 1)
    sub(/[^\/]*$/, "c03-perplexity", folder)
    read(folder, 0)
}

# results.csv comes first, and counts where a run has a file as well. Rows without a column of options
# are known by their task and mechanism, and so are the rates of c03-perplexity.
function read(folder, own,    command, field, options, id) {
    command = "cat " folder "/results.csv " folder "/rows/*.csv 2>/dev/null"
    while ((command | getline) > 0) {
        split($0, field, ","); split($0, options, "\"")
        id = field[1] " " options[2]; gsub(/ --/, "_", id); gsub(/ /, "+", id); gsub(/:/, "~", id)
        if (own && options[2] == "") looked["_task+" field[2] "_attn+" field[1] "_"]
        else if (own && !seen[id, field[11]]++) {
            rows[id]++; text[id] = text[id] $0 "\n"
            if (tests ? field[11] == length_[1] : rows[id] == 1) { loss[id] = field[12]; gain[id] = field[18] }
        } else if (!own && field[1] == "wikitext-2" && field[7] == 1 && field[11] == 256)
            loss["_task+" field[2] "_attn+" field[3] "_", field[6]] = field[12]
    }
}

function name(rate, seed) { return series "_learning-rate+" rate "_seed+" seed }

# The rate with the lowest loss of seed 1, the first of equals; none while a loss is missing.
function lowest(    i, key, found) {
    for (i = first; i <= last; i++) {
        key = c03 ? task_attn SUBSEP rate[i] : name(rate[i], 1)
        if (!(key in loss)) return ""
        if (!diverges(i) && (found == "" || loss[key] < least)) { least = loss[key]; found = i }
    }
    return found
}
function diverges(i,    s) {
    if (c03) return loss[task_attn, rate[i]] == "inf"
    for (s = 1; s <= (goes_on ? seeds : 1); s++)
        if ((name(rate[i], s) in loss) && loss[name(rate[i], s)] == "inf") return 1
}

# Of seeds 1 to s, or "" if one is missing, which is then to be done.
function mean(i, s,    k, sum) {
    for (k = 1; k <= s; k++)
        if (name(rate[i], k) in loss) sum += loss[name(rate[i], k)]
        else { todo(name(rate[i], k)); return "" }
    return sum / s
}

# The number of the rate that gets all seeds, or "" if that is not known yet. With ",.." the rates go on,
# each twice the one before, until the best is inside; of those next to it whose loss with seed 1 is within
# `spread` the mean of two seeds chooses, and again from there on.
function choose(    best, i, next_one, m, tied) {
    if (!swept && !c03) return 1
    best = lowest()
    if (!goes_on) return best == "" ? "" : judged(best)
    while (last - first < 12) {
        for (i = first; i <= last; i++) if (mean(i, 1) == "") return ""
        if (best == "" || best == first) { rate[first - 1] = rate[first] / 2; first--; best = lowest(); continue }
        if (best == last) { rate[last + 1] = rate[last] * 2; last++; best = lowest(); continue }
        tied = next_one = ""
        for (i = best - 1; i <= best + 1; i++)
            if (i != best && !diverges(i) && mean(i, 1) <= mean(best, 1) + spread) tied = tied " " i
        least = mean(best, tied ? 2 : 1)
        for (i = best - 1; i <= best + 1; i++) if (index(tied " ", " " i " ")) {
            m = mean(i, 2)
            if (m == "" || least == "") next_one = "missing"
            else if (m < least) { next_one = i; least = m }
        }
        if (next_one == "missing") return ""
        if (next_one == "") return judged(best)
        best = next_one
    }
    return best
}

# The rule (README.md): a run has converged if the last fifth of its updates gained less than 1%.
function converges(i,    s) {
    for (s = 1; s <= seeds; s++)
        if ((name(rate[i], s) in gain) && gain[name(rate[i], s)] >= 0.01) return 0
    return 1
}

# The best rate; with `converging`, where a run at it has not converged, the best of those whose runs have and
# whose losses are as good, if there is one: with each seed that both have, on average.
function judged(best,    i, m, found, least) {
    if (!converging || converges(best)) return best
    found = best
    for (i = first; i <= last; i++) {
        if (diverges(i) || !converges(i) || mean(i, 1) > mean(best, 1) + spread) continue
        if (mean(i, 2) == "" || mean(best, 2) == "") return ""
        m = behind(i, best)
        if (m <= spread && (found == best || m < least)) { least = m; found = i }
    }
    return found
}
function behind(i, best,    s, a, b, n, sum) {
    for (s = 1; s <= seeds; s++) {
        a = name(rate[i], s); b = name(rate[best], s)
        if ((a in loss) && (b in loss)) { sum += loss[a] - loss[b]; n++ }
    }
    return sum / n
}

function todo(id) { if (!page && (tests ? rows[id] != tests : !rows[id]) && !asked[id]++) print (mine ? "todo:" : "other:") id }

{
    mine = NR % machine[2] == machine[1] % machine[2]
    split($0, word, "@"); series = word[2]
    match(series, /_task\+[^_]*_attn\+[^_]*_/); task_attn = substr(series, RSTART, RLENGTH)
    c03 = sub(/^c03:/, "", word[1]); goes_on = sub(/,\.\.$/, "", word[1])
    rates = last = split(word[1], rate, ","); first = 1
    if (!rates && !(task_attn in looked)) todo(series)
    swept = !c03 && (rates > 1 || goes_on)
    for (i = 1; swept && i <= rates; i++) todo(name(rate[i], 1))
    chosen = rates ? choose() : ""
    for (seed = 1 + (swept && !page); rates && seed <= seeds; seed++)
        if (page) printf "%s", text[name(rate[chosen], seed)]
        else if (chosen == "") print "later:" series
        else todo(name(rate[chosen], seed))
    if (goes_on && chosen == "" && !page) print "later:" series "\nlater:" series # for a choice of two
}
