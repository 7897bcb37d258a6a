# Generates mechanical bugs for the C sources named as arguments and prints one per line, separated
# by tabs: source, row, id, description, the row with the bug in it. An id is
# source/function/kind-N, where N counts the bugs of a kind within the function, up to 2:
#
#     assign   x += y        x = y
#     sign     x -= y        x += y
#     factor   x * y         x           of real numbers only,
#     swap     x - y, x / y  y - x, y / x  not of indices and sizes, nor of a difference that the
#                                        next row squares
#     last     i < n         i + 1 < n   of the first loop of a function of ops/, unless it
#                                        runs over a thread's share of the work
#
# It relies on the layout of clang-format and reads a row at a time.

# Where the bracket at i is matched, looking forward (step 1) or backward (step -1); 0 if nowhere.
function match_bracket(s, i, step,    depth, c) {
    for (; i >= 1 && i <= length(s); i += step) {
        c = substr(s, i, 1)
        depth += (c == "(" || c == "[") - (c == ")" || c == "]")
        if (depth == 0) return i
    }
    return 0
}

# The last character of the operand that begins at i: a name, a number or a bracket, and the calls,
# indices and members behind it; 0 if none begins there.
function operand_end(s, i) {
    while (match(substr(s, i), /^(\((size_t|double|real)\)|-)/)) i += RLENGTH
    if (substr(s, i, 1) == "(") i = match_bracket(s, i, 1)
    else i = match(substr(s, i), /^[A-Za-z0-9_.]+/) ? i + RLENGTH - 1 : 0
    while (i && substr(s, i + 1) ~ /^([[(.]|->)/)
        if (substr(s, i + 1) ~ /^[[(]/) i = match_bracket(s, i + 1, 1)
        else { match(substr(s, i + 1), /^(\.|->)[A-Za-z0-9_]+/); i += RLENGTH }
    return i
}

# The first character of the operand that ends at i, or 0.
function operand_begin(s, i,    bracket) {
    for (;;) {
        bracket = substr(s, i, 1) ~ /[])]/
        if (bracket && !(i = match_bracket(s, i, -1))) return 0
        if (bracket && substr(s, i - 1, 1) ~ /[A-Za-z0-9_\])]/) { i--; continue }
        if (!bracket && substr(s, i, 1) !~ /[A-Za-z0-9_]/) return 0
        while (!bracket && substr(s, i - 1, 1) ~ /[A-Za-z0-9_.]/) i--
        if (substr(s, i - 2, 2) == "->") i -= 3
        else if (substr(s, i - 1, 1) == "." ) i -= 2
        else return i
    }
}

function bug(kind, what, line) {
    if (count[kind] == 2) return
    id = FILENAME "\t" FNR "\t" path "/" name "/" kind "-" ++count[kind] "\t" what "\t" line comment
    if (kind == "swap" && match(code, /[a-z_]+ = [^ ]+ - [^ ]+;$/)) {
        held = id; squared = substr(code, RSTART); sub(/ .*/, "", squared)
    } else print id
}

# The sign of a difference does not matter where it is squared.
function release() {
    if (held && index(code, " * " squared " * " squared)) count["swap"]--
    else if (held) print held
    held = ""
}

function in_index(before,    copy) {
    copy = before
    return gsub(/\[/, "", copy) > gsub(/\]/, "", before)
}

# Every use of the operator op (" + " with its spaces) in the row. Operands of - and / are swapped
# where nothing beside them binds as tightly.
function operators(op,    at, from, l, r, before, after) {
    for (from = 1; (at = index(substr(code, from), op)) > 0; from = at + 1) {
        at += from - 1
        if (in_index(substr(code, 1, at)) || !(r = operand_end(code, at + length(op)))) continue
        before = substr(code, 1, at - 1); after = substr(code, r + 1)
        if (op == " += ") bug("assign", "an addition assigns", before " = " substr(code, at + 4))
        if (op == " -= ") bug("sign", "a subtraction adds", before " += " substr(code, at + 4))
        if (op == " * ")
            bug("factor", "the factor " substr(code, at + 3, r - at - 2) " is lost", before after)
        if ((op != " - " && op != " / ") || !(l = operand_begin(code, at - 1))) continue
        before = substr(code, 1, l - 1)
        if (before ~ /([(!]|[=,?:] |return )$/ && after !~ /^ [*\/%]/)
            bug("swap", "the operands of" op "are swapped", \
                before substr(code, at + 3, r - at - 2) op substr(code, l, at - l) after)
    }
}

function loop() {
    if (count["last"] || path !~ /^ops/ || code ~ / = begin;/) return
    if (code ~ /\+\+/ && match(code, /[a-z0-9]+ < /))
        bug("last", "the last iteration is lost", substr(code, 1, RSTART + RLENGTH - 4) " + 1 < " \
            substr(code, RSTART + RLENGTH))
    else if (match(code, /[a-z0-9]+ >= 0/))
        bug("last", "the last iteration is lost", substr(code, 1, RSTART + RLENGTH - 5) "> 0" \
            substr(code, RSTART + RLENGTH))
}

FNR == 1 { path = FILENAME; sub(/\.c$/, "", path); name = ""; inside = 0 }
inside { inside = !index($0, "*/"); next }
{
    code = $0; comment = ""
    if (match(code, / *\/\*/)) {
        comment = substr(code, RSTART); code = substr(code, 1, RSTART - 1)
        inside = !index(comment, "*/")
    }
}
code ~ /[^ ]/ { release() }
/^[A-Za-z].*[a-z0-9_]\(/ && !/;$/ {
    name = code; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
    numeric = code ~ /^(static )?(inline )?(real|double) [a-z]/
    split("", count)
}
/^}/ { name = "" }
!name || !/^ / || /"/ || name ~ /(cost|memory|state|scratch|bytes|size)$/ { next }
code ~ /^ *for \(/ { loop(); next }
{ operators(" += "); operators(" -= ") }
code ~ /^ *(const )?(real|double) [a-zA-Z]/ || (numeric && code ~ /^ *return /) ||
code ~ /^ *[^ =(][^=(]*\[[^=]*\][^=(]* [-+*\/]?= / {
    operators(" * "); operators(" - "); operators(" / ")
}
