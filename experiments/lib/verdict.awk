# The verdict on a claim. Reads the CSV of ./figure (the values that make a cell, its n, mean, sd,
# min, max), the same seed by seed (the file `by_seed`, where the seed stands before the last
# value), then the claim's statements, one a line:
#
#     elu is worse than softmax: elu/256 - softmax/256
#     cosformer is nearer to softmax: 1/2 elu/256 + 1/2 softmax/256 - cosformer/256
#     (the same of relu: relu/256 - softmax/256)
#
# A statement is a weighted sum of means that should be positive; the name of a mean is its cell's
# values with / between them, and a number by itself is a constant. With the weights c, and the
# pooled standard deviation s of the seeds of the cells, it holds if the sum exceeds the margin
# 2 s sqrt(sum of c^2), is contrary if it is below minus that, and else open; so it is where a
# cell has fewer than `seeds` runs. The claim is reproduced if all its statements hold, not
# reproduced if one is contrary, else undecided. What is in brackets is shown and does not count;
# nor do the sums within each seed.
BEGIN { FS = ","; verdict = "reproduced" }

FNR == 1 && FILENAME != "-" { next }

FILENAME == by_seed {
    cell = $1
    for (i = 2; i <= NF - 5; i++) if (i != NF - 6) cell = cell "/" $i
    within[cell, $(NF - 6)] = $(NF - 3)
    next
}

FILENAME != "-" {
    cell = $1
    for (i = 2; i <= NF - 5; i++) cell = cell "/" $i
    n[cell] = $(NF - 4); mean[cell] = $(NF - 3); sd[cell] = $(NF - 2)
    next
}

function is_number(word) { return word ~ /^[0-9.]+(\/[0-9]+)?$/ }
function number(word,    half) { return split(word, half, "/") == 2 ? half[1] / half[2] : word + 0 }

# The value and the margin of "+ 1/2 elu/256 - 0.1": `few` says that there are too few seeds.
function weigh(terms,    word, words, i, sign, c) {
    sum = 0; split("", weight)
    words = split(terms, word, " ")
    sign = 1; c = ""
    for (i = 1; i <= words; i++) {
        if (word[i] == "+" || word[i] == "-") {
            sum += sign * c
            sign = word[i] == "-" ? -1 : 1; c = ""
        } else if (is_number(word[i])) c = number(word[i])
        else { weight[word[i]] += sign * (c == "" ? 1 : c); c = "" }
    }
    constant = sum += sign * c
    add_means()
    return few ? "open" : sum > margin ? "holds" : sum < -margin ? "contrary" : "open"
}

function add_means(    cell, cells, squares, variance) {
    few = cells = squares = variance = 0
    for (cell in weight) {
        if (!(cell in mean)) { print "there is no cell " cell >"/dev/stderr"; failed = 1; exit 1 }
        if (n[cell] < seeds || mean[cell] !~ /^[-+0-9.e]+$/) few = 1
        sum += weight[cell] * mean[cell]; squares += weight[cell] ^ 2
        variance += sd[cell] ^ 2; cells++
    }
    margin = cells ? 2 * sqrt(squares * variance / cells) : 0
}

# The sums within seeds 1, 2, .., as far as all cells have them.
function each_seed(    seed, total, cell, whole, list) {
    for (seed = 1; seed <= seeds; seed++) {
        total = constant; whole = 1
        for (cell in weight) {
            whole = whole && within[cell, seed] ~ /^[-+0-9.e]+$/
            total += weight[cell] * within[cell, seed]
        }
        if (whole) list = list sprintf("%.4f ", total)
    }
    return list
}

/:/ {
    colon = index($0, ": ")
    about = substr($0, 1, colon - 1); terms = substr($0, colon + 2)
    counts = sub(/^\(/, "", about) == 0
    if (!counts) sub(/\)$/, "", terms)
    found = weigh(terms)
    value = sprintf("%.4f", sum); spread = few ? "too few seeds" : sprintf("%.4f", margin)
    table = table "| " (counts ? "" : "*beside:* ") about " | " value " | " spread \
        " | " each_seed() "| " found " |\n"
    if (!counts) next
    numbers = numbers (numbers == "" ? "" : "; ") about ": " value (few ? "" : " ± " spread)
    if (found == "contrary") verdict = "not reproduced"
    else if (found == "open" && verdict == "reproduced") verdict = "undecided"
}

END {
    if (failed) exit 1
    print "**" claim ": " verdict ".** " numbers "\n"
    print "| statement | value | margin | each seed | |\n| --- | --- | --- | --- | --- |\n" table
}
