# The runs of an experiment. Reads the rows in `folder` and those of c03-perplexity, then the plan on
# stdin, one series per line (see Makefile). Prints the runs that have no rows yet: `todo:` and the
# name; `other:` if another PART has it; `later:` and the series while its rate is unknown. With
# page=1 it prints the rows of each series at its rate instead.
BEGIN {
    tests = split(lengths, length_, ",") + (lengths == "") # one, named by the run
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
        id = field[1] " " options[2]; gsub(/ --/, "_", id); gsub(/ /, "+", id)
        if (own && options[2] == "") looked["_task+" field[2] "_attn+" field[1] "_"]
        else if (own && !seen[id, field[11]]++) {
            rows[id]++; text[id] = text[id] $0 "\n"
            if (field[11] == length_[1]) loss[id] = field[12]
        } else if (!own && field[1] == "wikitext-2" && field[7] == 1 && field[11] == 256)
            loss["_task+" field[2] "_attn+" field[3] "_", field[6]] = field[12]
    }
}

function name(rate, seed) { return series "_learning-rate+" rate "_seed+" seed }

# The rate with the lowest loss of seed 1, the first of equals; none while a loss is missing.
function best(    i, key, least, found) {
    if (rates == 1) return rate[1]
    for (i = 1; i <= rates; i++) {
        key = c03 ? task_attn SUBSEP rate[i] : name(rate[i], 1)
        if (!(key in loss)) return ""
        if (loss[key] != "inf" && (found == "" || loss[key] < least)) {
            least = loss[key]; found = rate[i]
        }
    }
    return found
}

function todo(id) { if (!page && rows[id] != tests) print (mine ? "todo:" : "other:") id }

{
    mine = NR % machine[2] == machine[1] % machine[2]
    split($0, word, "@"); series = word[2]
    match(series, /_task\+[^_]*_attn\+[^_]*_/); task_attn = substr(series, RSTART, RLENGTH)
    c03 = sub(/^c03:/, "", word[1])
    rates = split(word[1], rate, ",")
    if (!rates && !(task_attn in looked)) todo(series)
    swept = !c03 && rates > 1
    for (i = 1; swept && i <= rates; i++) todo(name(rate[i], 1))
    chosen = best()
    for (seed = 1 + (swept && !page); rates && seed <= seeds; seed++)
        if (page) printf "%s", text[name(chosen, seed)]
        else if (chosen == "") print "later:" series
        else todo(name(chosen, seed))
}
