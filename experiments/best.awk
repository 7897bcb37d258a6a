# What a screen found: for each mechanism and trained length the position and the rate with the lowest mean
# loss over seeds. Reads the rows of its page, prints ATTN:POSITION:LENGTH:RATE.
BEGIN { FS = "," }
FNR > 1 {
    position = match($0, / --position [a-z]+/) ? substr($0, RSTART + 12, RLENGTH - 12) : "-"
    cell = $3 ":" position ":" $5 ":" $6
    if (!(cell in runs)) order[++cells] = cell
    group[cell] = $3 ":" $5; sum[cell] += $12; runs[cell]++
    if ($12 == "inf") sum[cell] = 1e9
}
END {
    for (i = 1; i <= cells; i++) {
        cell = order[i]; mean = sum[cell] / runs[cell]
        if (!(group[cell] in best) || mean < least[group[cell]]) {
            best[group[cell]] = cell; least[group[cell]] = mean
        }
    }
    for (i = 1; i <= cells; i++) if (best[group[order[i]]] == order[i]) print order[i]
}
