# How long missing runs would take: reads a file for each experiment, with the settings of a run on
# each line. The forward pass is a third of a step; what validates, some 300,000 bytes, is read by
# ./train once and by ./eval at each of three lengths, and 20 batches of it after each fifth of a run.
function say(name, i,    minutes) {
    minutes = int(seconds[i] / jobs / 60 + 1)
    printf "%s: %d runs, %.1f M tokens, about %d h %02d min on this machine, %d at once\n", \
        name, runs[i], tokens[i] / 1e6, minutes / 60, minutes % 60, jobs
}
$0 {
    if (!($0 in ms)) getline ms[$0] < ("build/steps/" $0 ".ms")
    words = split($0, word, /[_+]/)
    for (i = 1; i < words; i++) option[word[i]] = word[i + 1]
    batch = option["batch-size"] * option["block-size"]
    for (i = 0; i < ARGC; i++) if (!i || ARGV[i] == FILENAME) {
        seconds[i] += 1 + ms[$0] / 1000 * (option["max-iters"] + (100 + 4 * 3e5 / batch) / 3)
        tokens[i] += option["max-iters"] * batch
        runs[i]++
    }
}
END {
    for (i = 1; i < ARGC; i++) { name = ARGV[i]; sub(/.*\//, "", name); say(name, i) }
    say("all", 0)
}
