#!/bin/sh
# Prints README.md with what is generated in it: the table of attentions, from ./train --help, the
# first formula of each mechanism's file, and the losses in experiments/stories;
# the table of experiments/bench/table.sh; and the derivation of a file with one of its functions.
LC_ALL=C # numbers have decimal points
export LC_ALL
cd "$(dirname "$0")/.." || exit 1
./train --help | awk '
    function formula(name, path, line) { # what is before three spaces in the first indented line
        gsub(/-/, "_", name)
        path = "ops/attention/" name ".c"
        while ((getline line < path) > 0 && line !~ /^ \*     /) continue
        close(path)
        sub(/^ \* */, "", line)
        sub(/   .*/, "", line)
        gsub(/  /, " ", line)
        gsub(/\|/, "\\|", line) # in a table
        return line
    }
    function excerpt(path, name, line, on) { # the head comment, and a function
        print "```c"
        for (on = 1; (getline line < path) > 0; ) {
            if (index(line, " " name "(")) { print ""; on = 1 }
            if (on) print line
            if (line == " */" || line == "}") on = 0
        }
        close(path)
        print "```"
    }
    FILENAME ~ /stories/ { # its tables, causal and masked: | name | 16 | 64 | 256 |
        if (/^## Masked/) masked = "masked: "
        if (split($0, cell, / *[|] */) > 5 && !(cell[2] in above)) above[cell[2]] = masked cell[5]
        next
    }
    FILENAME == "-" {
        if (/^--attn NAME(,\.\.\.)?$/) { inside = 1; next }
        if (inside && /^$/) inside = 0
        if (inside && /^  [a-z]/) {
            name = $1; line = $0
            sub(/^ *[^ ]+ */, "", line)
            names[++n] = name; text[n] = line
        } else if (inside) {
            line = $0; sub(/^ */, "", line)
            text[n] = text[n] " " line
        }
        next
    }
    /^<!-- attentions:/ {
        print
        print "| `--attn` | formula | what it is | above entropy |"
        print "| --- | --- | --- | --- |"
        for (i = 1; i <= n; i++)
            print "| `" names[i] "` | `" formula(names[i]) "` | " text[i] " | " \
                above[names[i]] " |"
        skip = 1
        next
    }
    /^<!-- peers:/ {
        print
        while (("sh experiments/bench/table.sh" | getline line) > 0) print line
        skip = 1
        next
    }
    /^<!-- excerpt:/ { print; excerpt($3, $4); skip = 1; next }
    /^<!-- end -->/ { skip = 0 }
    !skip
    END { if (n < 2) { print "readme.sh: ./train --help has no list of attentions" >"/dev/stderr"; exit 1 } }
    ' experiments/stories/README.md - README.md
