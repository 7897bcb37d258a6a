# Draws what a program printed on a terminal as SVG:
#     script -qc ./train typescript; awk -f doc/terminal.awk typescript >doc/train.svg
# Of a line that is rewritten, only the last state is drawn; long lines are wrapped. The line with the
# duration is left out, since it depends on the machine.
BEGIN { n = 0; wide = 96; high = 17; add("$ ./train", "c") }
/^Script (started|done)|steps in [0-9.]+ s / { next }
{
    gsub(/\r+$/, "")
    sub(/.*\r/, "")
    gsub(/\033\[[0-9;?]*[A-Za-z]/, "")
    gsub(/&/, "\\&amp;")
    gsub(/</, "\\&lt;")
    if ($0 == "" && last == "") next # at most one empty line
    last = $0
    if (/^to (train longer|continue)/) sample = 0
    class = /validation loss/ ? "v" : sample ? "s" : ""
    for (rest = $0; length(rest) > wide; rest = substr(rest, cut + 1)) {
        for (cut = wide; cut > 1 && substr(rest, cut, 1) != " "; cut--) continue
        add(substr(rest, 1, cut), class)
    }
    add(rest, class)
    if (/^a sample:/) sample = 1
}
function add(s, c) { line[n] = s; of[n++] = c }
END {
    while (line[n - 1] == "") n--
    size = sprintf("%d %d", wide * 8 + 32, n * high + 50)
    split(size, wh)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 %s\" width=\"%d\" height=\"%d\" role=\"img\" " \
        "aria-label=\"./train on a terminal\">\n", size, wh[1], wh[2]
    print "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;" \
        "white-space:pre;fill:#c9d1d9}.c{fill:#7ee787}.v{font-weight:700;fill:#fff}.s{fill:#ffd9a0}</style>"
    print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#10151c\"/>"
    split("ff5f57 febc2e 28c840", dot)
    for (i = 1; i <= 3; i++)
        printf "<circle cx=\"%d\" cy=\"17\" r=\"5\" fill=\"#%s\"/>\n", 2 + 18 * i, dot[i]
    for (i = 0; i < n; i++)
        if (line[i] != "")
            printf "<text x=\"16\" y=\"%d\"%s>%s</text>\n", 48 + i * high, \
                of[i] ? " class=\"" of[i] "\"" : "", line[i]
    print "</svg>"
}
