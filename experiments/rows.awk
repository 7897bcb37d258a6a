# The rows of a run, in `columns`, from its log, what ./train printed (the errors first) and the CSV of
# ./eval, a row for each length; without lengths it is one row of what ./train found. `gain` is the share of
# the validation loss that the last fifth of the updates took off. `commit` is that of the
# programs, with a + if something has changed since. A run that diverged has a loss of inf, and so
# has one that ended before anybody noticed.
BEGIN {
    words = split(options, word, " ")
    for (i = 1; i < words; i++) option[word[i]] = word[i + 1]
    pairs = split("task task attn attn norm norm rate learning-rate seed seed steps max-iters", word, " ")
    for (i = 1; i < pairs; i += 2) v[word[i]] = option["--" word[i + 1]]
    gsub(/,/, "+", v["attn"]) # layers of several mechanisms
    v["trained"] = "--lengths" in option ? "mixed" : option["--block-size"]
    v["tokens"] = v["steps"] * option["--batch-size"] * option["--block-size"]
    v["text"] = text; v["commit"] = commit; v["options"] = "\"" options "\""; v["loss"] = "inf"
    names = split(columns, name, ",")
}

function after(words) { # the number that follows them
    return match($0, words " [0-9.]+") ? substr($0, RSTART + length(words) + 1, RLENGTH - length(words) - 1) : ""
}
function row() { for (i = 1; i <= names; i++) printf "%s%s", v[name[i]], (i < names ? "," : "\n") }

/"split":"train"/ && "--batch-stages" in option { # batches grow up to --batch-size
    match($0, /"tokens":[0-9]+/); v["tokens"] = substr($0, RSTART + 9, RLENGTH - 9)
}
/"split":"val"/ {
    match($0, /"loss":[^,]*/); last = substr($0, RSTART + 7, RLENGTH - 7)
    if (substr($0, 9) + 0 <= 0.8 * v["steps"]) before = last
    v["gain"] = before > 0 && last > 0 ? sprintf("%.6f", 1 - last / before) : ""
}
/ parameters, / && !("parameters" in v) { v["parameters"] = $1 }
/vectors of [0-9]+ bits/ { v["vector_bits"] = after("vectors of") }
/^true entropy/ { entropy = $3 }
/^validation loss/ { v["loss"] = $3; v["accuracy"] = after("accuracy") }
/^for comparison/ {
    v["guessing"] = after("guessing is right")
    v["most_frequent"] = after("the most frequent answer")
}
/^length,/ { fields = split($0, head, ","); FS = ","; next }
fields {
    for (i = 1; i <= fields; i++) cell[head[i]] = $i
    finite = cell["loss"] ~ /^[0-9]/
    v["length"] = cell["length"]; v["scored"] = cell["tokens"]
    v["bits_per_byte"] = cell["bits_per_byte"]; v["accuracy"] = cell["accuracy"]
    v["loss"] = finite ? cell["loss"] : "inf"; v["ppl"] = finite ? cell["ppl"] : "inf"
    a_byte = "--tokenizer" in option ? cell["bits_per_byte"] * log(2) : cell["loss"]
    v["above_floor"] = entropy != "" && finite && a_byte ? sprintf("%.6f", a_byte - entropy) : ""
    row()
}
END { if (!fields) row() }
