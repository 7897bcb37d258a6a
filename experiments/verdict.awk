# The verdict on a claim. Reads the CSV of ./figure (the values that name a cell, with the seed before
# the last one, then n, mean, sd, min, max), then the statements of the claim, one per line:
#
#     elu is worse than softmax: elu/256 - softmax/256
#     cosformer is nearer to softmax: 1/2 elu/256 + 1/2 softmax/256 - cosformer/256
#     (the same of relu: relu/256 - softmax/256)
#
# A statement is a weighted sum of means over seeds that should be positive: a/256 is the mean of the
# cell a, 256, and a number by itself is a constant. With the weights c, and the pooled standard
# deviation s of the seeds of the cells, it holds if the sum exceeds the margin 2 s sqrt(sum of c^2),
# is contrary if it is below minus that, and else open; so it is where a cell has fewer than `seeds`
# runs. The claim is reproduced if all its statements hold, not reproduced if one is contrary, else
# undecided. What is in brackets is shown and does not count; nor do the sums within each seed.
BEGIN { FS = ","; verdict = "reproduced" }

FILENAME != "-" {
    cell = $1
    for (i = 2; i <= NF - 5; i++) if (i != NF - 6) cell = cell "/" $i
    x[cell, ++n[cell]] = within[cell, $(NF - 6)] = $(NF - 3)
    next
}

function finite(number) { return number ~ /^[-+0-9.e]+$/ }

# The value and the margin of "+ 1/2 elu/256 - 0.1": `few` says that there are too few seeds.
function weigh(terms,    word, words, i, half, sign, c) {
    split("", weight); constant = 0; sign = 1; c = ""
    words = split(terms, word, " ")
    for (i = 1; i <= words; i++)
        if (word[i] == "+" || word[i] == "-") {
            constant += sign * c
            sign = word[i] == "-" ? -1 : 1; c = ""
        } else if (word[i] ~ /^[0-9.]+(\/[0-9]+)?$/)
            c = split(word[i], half, "/") == 2 ? half[1] / half[2] : word[i] + 0
        else { weight[word[i]] += sign * (c == "" ? 1 : c); c = "" }
    constant += sign * c
    add_means()
    return few ? "open" : sum > margin ? "holds" : sum < -margin ? "contrary" : "open"
}

function add_means(    cell, cells, squares, variance, i, mean) {
    sum = constant; few = cells = squares = variance = 0
    for (cell in weight) {
        if (!(cell in n)) { print "there is no cell " cell >"/dev/stderr"; failed = 1; exit 1 }
        if (n[cell] < seeds) few = 1
        mean = 0
        for (i = 1; i <= n[cell]; i++) {
            if (!finite(x[cell, i])) few = 1
            mean += x[cell, i] / n[cell]
        }
        for (i = 1; i <= n[cell]; i++) variance += (x[cell, i] - mean) ^ 2 / (n[cell] - (n[cell] > 1))
        sum += weight[cell] * mean; squares += weight[cell] ^ 2; cells++
    }
    margin = cells ? 2 * sqrt(squares * variance / cells) : 0
}

# The sums within seeds 1, 2, .., as far as all cells have them.
function each_seed(    s, total, cell, whole, list) {
    for (s = 1; s <= seeds; s++) {
        total = constant; whole = 1
        for (cell in weight) {
            whole = whole && finite(within[cell, s])
            total += weight[cell] * within[cell, s]
        }
        if (whole) list = list sprintf("%.4f ", total)
    }
    return list
}

/:/ {
    colon = index($0, ": ")
    about = substr($0, 1, colon - 1); terms = substr($0, colon + 2)
    beside = sub(/^\(/, "", about) && sub(/\)$/, "", terms)
    found = weigh(terms)
    value = sprintf("%.4f", sum); spread = few ? "too few seeds" : sprintf("%.4f", margin)
    table = table "| " (beside ? "*beside:* " : "") about " | " value " | " spread \
        " | " each_seed() "| " found " |\n"
    if (beside) next
    numbers = numbers (numbers == "" ? "" : "; ") about ": " value (few ? "" : " ± " spread)
    if (found == "contrary") verdict = "not reproduced"
    else if (found == "open" && verdict == "reproduced") verdict = "undecided"
}

END {
    if (failed) exit 1
    print "**" claim ": " verdict ".** " numbers "\n"
    print "| statement | value | margin | each seed | |\n| --- | --- | --- | --- | --- |\n" table
}
