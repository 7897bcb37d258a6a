# Reads the lists of hand-written bugs named as arguments and prints each bug as generate.awk does:
# source, row, id, description, the row with the bug in it. A list consists of
#
#     # suites: ops layers             run these suites first (optional)
#
#     gain-is-lost: the backward pass ignores the gain
#     - h[c] = gain[c] * g[c];         a text that is in one row of the source, exactly once
#     + h[c] = g[c];                   what stands there instead
#
#     except norm_rows/factor-1: why   leave out this generated bug; a * at the end stands for any
#
# The suites go to the file `suites`, the exceptions to the file `excepted`. `sources` are all
# sources: where the text of a bug is not in its place, the message says where it may be now.
function complain(row, what) {
    print list ":" row ": " what >"/dev/stderr"
    failed = 1
}

# Puts the words of a text into `words`, each with its length, and returns the sum of them.
function weigh(text, words,    w, i, n, sum) {
    split("", words)
    gsub(/[^A-Za-z0-9_]+/, " ", text)
    n = split(text, w, " ")
    for (i = 1; i <= n; i++) { words[w[i]] += length(w[i]); sum += length(w[i]) }
    return sum
}

# The share of their words that two texts have in common.
function likeness(a, b,    in_a, in_b, all, common, w) {
    all = weigh(a, in_a) + weigh(b, in_b)
    for (w in in_a) if (w in in_b) common += in_a[w] < in_b[w] ? in_a[w] : in_b[w]
    return all ? 2 * common / all : 0
}

# Where a text is in all sources or, if nowhere, what is nearest to it in its own source.
function hint(text,    file, n, i, row, line, best, at, near) {
    n = split(sources, file, " ")
    for (i = 1; i <= n; i++) {
        for (row = 1; (getline line <file[i]) > 0; row++)
            if (index(line, text)) at = at ", " file[i] ":" row
        close(file[i])
    }
    if (at) return "it is in " substr(at, 3)
    for (row = 1; row <= rows; row++) {
        near = code[row] ~ /^ \*/ ? 0 : likeness(text, code[row])
        if (near > best) { best = near; at = row }
    }
    if (!at) return "nor is anything like it"
    return "the nearest row is " source ":" at ":\n" code[at]
}

function load() {
    source = list
    sub(/^tests\/mutants\//, "", source); sub(/\.txt$/, ".c", source)
    path = source; sub(/\.c$/, "", path)
    for (rows = 0; (getline code[rows + 1] <source) > 0; rows++) continue
    close(source)
}

function place(wrong,    row, at, found, copy) {
    for (row = 1; row <= rows; row++)
        for (copy = code[row]; (at = index(copy, right)) > 0; copy = substr(copy, at + 1)) {
            found = found ", " row
            change = substr(code[row], 1, index(code[row], right) - 1) wrong \
                substr(code[row], index(code[row], right) + length(right))
        }
    found = substr(found, 3)
    if (found == "") complain(right_row, "\"" right "\" is not in " source "; " hint(right))
    else if (found ~ /,/) complain(right_row, "\"" right "\" is in rows " found " of " source)
    else print source "\t" found "\t" path "/" name "\t" what "\t" change
}

function unfinished() {
    if (name) complain(head, name " needs a row with - and one with +")
    name = right = ""
}

FNR == 1 { unfinished(); list = FILENAME; load() }
/^# suites: / { print source substr($0, 10) >suites; next }
/^#/ || /^$/ { next }
/^except [^ ]+: ./ {
    unfinished()
    print path "/" substr($2, 1, length($2) - 1) "\t" list ":" FNR >excepted
    next
}
/^[a-z0-9-]+: ./ {
    unfinished()
    head = FNR; name = substr($0, 1, index($0, ":") - 1); what = substr($0, length(name) + 3)
    if (seen[path, name]++) complain(FNR, "another bug of this file is called " name)
    next
}
/^- ./ && name && right == "" { right = substr($0, 3); right_row = FNR; next }
/^\+/ && right != "" { place(substr($0, 3)); name = right = ""; next }
{ complain(FNR, "not what is expected here: " $0) }
END { unfinished(); exit failed }
