# The texts, none of which is part of the project: who runs an experiment puts them into DATA.
#
#     wikitext-2      trained on its test part, validated on the first 262,144 bytes of its
#                     validation part
#     war-and-peace   the last tenth validates
#     stories         what ./train writes itself, for each seed another text
#
# shellcheck shell=sh disable=SC2154 # of experiment.sh

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi |
        cut -d' ' -f 1
}

need_text() { # FILE SHA-256 WHAT IT IS
    [ -f "$DATA/$1" ] || stop "there is no $DATA/$1: it is $3; DATA=folder says where it is"
    [ "$(sha256 "$DATA/$1")" = "$2" ] ||
        stop "$DATA/$1 is not the text of the results: that is $3, with the SHA-256 $2"
}

need_wikitext() {
    need_text wikitext2-a.txt d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0 \
        "the test part of WikiText-2 in words with <unk>, 1,256,449 bytes"
    need_text wikitext2-b.txt f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8 \
        "the validation part of WikiText-2 in words with <unk>, 1,121,681 bytes"
}

need_book() {
    need_text warandpeace.txt 6cbcc5ca5e590fb9ace161a5b93e4ecf280d7118104be0d63b686c004cfa70ae \
        "Project Gutenberg's War and Peace, no. 2600, with its licence, 3,359,542 bytes"
}

# QUICK takes the project's own source for them.
stand_in() {
    DATA=$work
    cat ops/*.c | head -c 40000 >"$work/wikitext2-a.txt"
    cat model/*.c | head -c 4096 >"$work/wikitext2-b.txt"
    cat tests/*.c | head -c 40000 >"$work/warandpeace.txt"
}

open_texts() { # the names of those that are used
    DATA=${DATA:-texts}
    [ -z "$QUICK" ] || stand_in
    for text in $1; do
        case $QUICK$text in
        wikitext-2) need_wikitext ;;
        war-and-peace) need_book ;;
        esac
        [ "$text" != wikitext-2 ] || head -c 262144 "$DATA/wikitext2-b.txt" >"$work/held-back"
    done
}

held_back() { # how many bytes of a text validate
    case $1 in
    wikitext-2) wc -c <"$work/held-back" ;;
    war-and-peace) echo $(($(wc -c <"$DATA/warandpeace.txt") / 10)) ;;
    stories) echo 419430 ;;
    esac
}

# ./train on a text.
train_on() { # TEXT OPTION...
    text=$1
    shift
    case $text in
    wikitext-2) set -- "$@" --val-file "$work/held-back" "$DATA/wikitext2-a.txt" ;;
    war-and-peace) set -- "$@" "$DATA/warandpeace.txt" ;;
    stories) ;;
    *) stop "there is no text called '$text'" ;;
    esac
    patiently ./train "$@"
}
