#!/bin/sh
# `make install` into a temporary folder, and everything from there: programs under their new names,
# manual pages, completion, the library with the examples; then `make dist`. One line for each
# failure, and `N passed, M failed` at the end. What the machine lacks is skipped.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
prefix=$dir/root/usr share=$dir/root/usr/share
CC=${CC:-cc} CXX=${CXX:-c++}
make="${MAKE:-make} --no-print-directory CC=$CC ARCH=${ARCH:-native}"
PATH=$prefix/bin:$PATH
unset MAKEFLAGS MFLAGS MAKELEVEL

passed=0 failed=0
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); echo "FAILED: $*"; tail -n 5 "$dir/out"; }
skip() { echo "skipped: $*"; }
check() { # SENTENCE COMMAND...
    sentence=$1
    shift
    [ ! -e "$dir/out" ] || mv "$dir/out" "$dir/before" # for a check of what came out
    if "$@" >"$dir/out" 2>&1; then pass; else fail "$sentence"; fi
}
has() { command -v "$1" >/dev/null; }
said() { grep -qF -e "$1" "$dir/before"; }

cd "$root" || exit 1
check 'make install' $make install PREFIX=/usr DESTDIR="$dir/root"
check 'make install into a folder with a space' $make install PREFIX="$dir/a prefix"
check 'puts everything there' [ "$(find "$dir/a prefix" -type f | wc -l)" = "$(find "$dir/root" -type f | wc -l)" ]
version=$(sed -n 's/^.define ATTNC_VERSION "\(.*\)"/\1/p' tools/lib/attnc.h)
programs=$(cd "$prefix/bin" && ls)
check 'all programs are there' [ "$(echo $programs)" = "$(echo attnc-analyse attnc-attend attnc-attend64 attnc-bench \
    attnc-classify attnc-eval attnc-export attnc-figure attnc-fill attnc-gradcheck attnc-import attnc-report \
    attnc-sample attnc-tokenize attnc-train)" ]

# --- programs ------------------------------------------------------------------------------------

calls_itself() { "$1" --help | grep -q "^usage: $1 " && ! "$1" --help | grep -E '(^|[ (])\./[a-z]'; }
for program in $programs; do
    check "$program --help names $program" calls_itself "$program"
done
has_version() { attnc-train --version | grep -qF "attn.c $version"; }
check '--version is that of the header' has_version
refuses() { ! "$1" 2>"$dir/err" && grep -qF "$1 [options] " "$dir/err"; }
for name in sample eval fill classify analyse report export import figure; do
    check "a message of attnc-$name names it as it was called" refuses "attnc-$name"
done
check 'a run of an installed program' attnc-train --attn relu --n-layer 1 --n-embd 16 --n-head 2 \
    --block-size 16 --max-iters 2 --threads 1 --out-dir "$dir/run" README.md

# --- manual pages --------------------------------------------------------------------------------

page() {
    man --warnings=w -l "$share/man/man1/$1.1" >"$dir/page" 2>"$dir/warnings" && [ ! -s "$dir/warnings" ] &&
        grep -q SYNOPSIS "$dir/page" && grep -qF -e --help "$dir/page"
}
if has man && has groff; then
    for program in $programs; do check "the manual page of $program" page "$program"; done
else
    skip 'manual pages: no man and groff'
fi

# --- completion ----------------------------------------------------------------------------------

mkdir -p "$dir/in/folder" && : >"$dir/in/file.txt" && : >"$dir/in/model.safetensors"

completes() { # PROGRAM WORDS... : what bash offers for the last word, one a line
    (cd "$dir/in" && bash --norc -c '
        source "'"$share"'/bash-completion/completions/$1"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        compopt() { :; } # which only works while the shell itself completes
        "_${1//-/_}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@")
}
offers() { # WANTED PROGRAM WORDS...
    wanted=$1
    shift
    [ "$(completes "$@" | sort | tr '\n' ' ')" = "$wanted " ]
}
if has bash && [ -e /dev/fd ]; then
    check 'bash: the name of an option'   offers --attn                     attnc-train --att
    check 'bash: its value'               offers cosformer                  attnc-train --attn cos
    check 'bash: its value after ='       offers cosformer                  attnc-train --attn = cos
    check 'bash: nothing yet after ='     offers 'adamw lion muon sgd'      attnc-train --optimizer =
    check 'bash: a flag'                  offers --causal                   attnc-attend --cau
    check 'bash: RUN is a folder or file' offers 'folder model.safetensors' attnc-sample ''
    check 'bash: a text'                  offers file.txt                   attnc-train fi
    check 'bash: the file of an option'   offers file.txt                   attnc-sample --prompt-file fi
    check 'bash: a number is not offered' offers ''                         attnc-train --n-layer fi
    for program in $programs; do
        check "bash reads $program" bash -n "$share/bash-completion/completions/$program"
    done
else
    skip "completion of bash (needs bash and /dev/fd)"
fi

# A terminal with zsh in it: types the words and the key Tab, and prints what the line is then.
cat >"$dir/type.zsh" <<'END'
zmodload zsh/zpty
zpty shell "TERM=dumb zsh -f -i"
zpty -w shell "cd $2; fpath=($1 \$fpath); PS1=; autoload -U compinit; compinit -u -d $3/dump"
zpty -w shell "setopt no_beep; show() { print -r -- \$BUFFER >>$3/line; BUFFER= }; zle -N show; bindkey '^X' show; bindkey '^I' complete-word"
zpty -w shell "print ready >$3/ready"
for ((i = 0; i < 200; i++)) { [[ -e $3/ready ]] && break; sleep 0.05 }
shift 3
zpty -w -n shell "$1"$'\t\x18'
for ((i = 0; i < 200; i++)) { [[ -s $dir/line ]] && break; sleep 0.05 }
zpty -d shell
END
types() { # WANTED TYPED
    rm -f "$dir/line" "$dir/ready"
    dir=$dir zsh -f "$dir/type.zsh" "$share/zsh/site-functions" "$dir/in" "$dir" "$2"
    [ "$(cat "$dir/line")" = "$1" ]
}
if has zsh; then
    check 'zsh: the name of an option' types 'attnc-train --attn=' 'attnc-train --attn'
    check 'zsh: its value'             types 'attnc-train --attn cosformer ' 'attnc-train --attn cos'
    check 'zsh: RUN is a folder'       types 'attnc-sample folder/' 'attnc-sample fol'
    check 'zsh: not any file'          types 'attnc-sample fil' 'attnc-sample fil'
    for program in $programs; do
        check "zsh reads $program" zsh -n "$share/zsh/site-functions/_$program"
    done
else
    skip 'completion of zsh: no zsh'
fi
if has fish; then
    fish_offers() { fish -N -c "source $share/fish/vendor_completions.d/attnc-train.fish; complete -C '$2'" | grep -qx -e "$1.*"; }
    check 'fish: the name of an option' fish_offers --attn 'attnc-train --att'
    check 'fish: its value' fish_offers cosformer 'attnc-train --attn cos'
else
    skip 'completion of fish: no fish'
fi

# --- the library ---------------------------------------------------------------------------------

symbols() { nm "$@" | awk 'NF > 1 && $(NF - 1) ~ /^[A-TV-Z]$/ { print $NF }' | sort -u; }
declared() { grep -oE 'attnc_[a-z_]+\(' tools/lib/attnc.h | tr -d '(' | sort -u; }
exports() { # FILE OPTIONS OF NM
    file=$1
    shift
    symbols "$@" --defined-only "$file" >"$dir/symbols" && declared >"$dir/declared" &&
        diff "$dir/declared" "$dir/symbols"
}
check 'the shared library has the symbols of the header, and no others' exports "$prefix/lib/libattnc.so" -D
check 'the archive has the symbols of the header, and no others' exports "$prefix/lib/libattnc.a" -g

strict='-Wall -Wextra -Wpedantic -Wshadow -Werror -O1'
flags() { PKG_CONFIG_SYSROOT_DIR=$dir/root PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config "$@" attnc; }
agree() { # of two numbers: "0.123 by hand, 0.123 by differences"
    awk '/ by hand, / { n++; d = $1 - $4; if ($1 == 0 || d > 2e-3 || d < -2e-3) bad = 1 }
        END { exit bad || !n }' "$dir/before"
}
learns() { awk '/^step/ { if (!n++) first = $4; last = $4 } END { exit !(n > 2 && last < 0.8 * first) }' "$dir/before"; }
build() { # LANGUAGE NAME OPTIONS
    case $1 in
        c11) $CC -std=c11 $strict "doc/examples/$2.c" -o "$dir/$2" $3 ;;
        c++17) $CXX -std=c++17 -x c++ $strict "doc/examples/$2.c" -x none -o "$dir/$2" $3 ;;
    esac
}
without_text() { [ "$(attnc-eval "$1" 2>&1 | grep -c 'has no text of its own: give one')" = 1 ]; }
pairs() { # by a model that the library made
    cat >"$dir/pairs.c" <<'END'
#include <attnc.h>
int main(int argc, char **argv)
{
    attnc_model *m = attnc_model_new("--task classify --classes 3 --pairs towers --n-layer 1 --n-embd 16 "
                                     "--n-head 2 --block-size 8", 0, 0);
    return argc != 2 || !m || attnc_model_save(m, argv[1]);
}
END
    $CC -std=c11 $strict "$dir/pairs.c" -o "$dir/pairs" $1 && "$dir/pairs" "$dir/pairs.safetensors" &&
        printf 'one\ttwo\n' | attnc-classify --lines "$dir/pairs.safetensors"
}
examples() { # LANGUAGE HOW FLAGS
    check "$1, $2: attention.c compiles" build $1 attention "$3"
    check "$1, $2: attention.c runs" "$dir/attention"
    check "$1, $2: its derivatives agree" agree
    check "$1, $2: training.c compiles" build $1 training "$3"
    check "$1, $2: training.c runs" "$dir/training" README.md "$dir/$1.safetensors"
    check "$1, $2: it learns" learns
    check "$1, $2: ./sample opens its checkpoint" attnc-sample --tokens 5 "$dir/$1.safetensors"
    check "$1, $2: ./eval opens its checkpoint" attnc-eval "$dir/$1.safetensors" README.md --max-tokens 200
    check "$1, $2: and asks for a text" without_text "$dir/$1.safetensors"
}
same_version() { [ "$(flags --modversion)" = "$version" ] && grep -qx "version: \"$version\"" CITATION.cff; }
LD_LIBRARY_PATH=$prefix/lib
export LD_LIBRARY_PATH
if has pkg-config; then
    check 'pkg-config and CITATION.cff have the version of the header' same_version
    shared=$(flags --cflags --libs) static=$(flags --static --cflags --libs)
else
    skip 'the file for pkg-config: no pkg-config'
    shared="-I$prefix/include -L$prefix/lib -lattnc" static="$shared -lm -pthread"
fi
examples c11 shared "$shared"
check './classify labels pairs by its model' pairs "$shared"
static=$(echo "$static" | sed 's/-lattnc/-l:libattnc.a/')
if has $CXX; then examples c++17 static "$static"; else skip 'C++: no compiler'; fi
if has python3; then
    check 'Python: attention.py runs' python3 doc/examples/attention.py
    check 'Python: its derivatives agree' agree
    check 'Python: attention.py opens a checkpoint' python3 doc/examples/attention.py "$dir/c11.safetensors"
    check 'Python: logits of it' said logits,
else
    skip 'Python: there is none'
fi

# --- uninstall, and the source archive -----------------------------------------------------------

check 'make uninstall' $make uninstall PREFIX=/usr DESTDIR="$dir/root"
nothing_left() { [ -z "$(find "$dir/root" ! -type d | tee "$dir/out")" ]; }
check 'it leaves nothing behind' nothing_left

archive=attnc-$version.tar.gz
dist() { (cd "$root" && $make dist) && mv "$root/$archive" "$1"; }
if git rev-parse HEAD >/dev/null 2>&1; then
    check 'make dist' dist "$dir/one.tar.gz"
    check 'again' env TZ=Asia/Tokyo sh -c "umask 077; $make dist" && mv "$archive" "$dir/other.tar.gz"
    check 'both archives have the same bytes' cmp "$dir/one.tar.gz" "$dir/other.tar.gz"
    check 'it unpacks' tar -xzf "$dir/one.tar.gz" -C "$dir"
    outside() {
        cd "$dir/attnc-$version" && GIT_DIR=/nowhere $make CFLAGS=-O0 tokenize lib && ./tokenize --version
    }
    check 'make works in it, outside git' outside
    busy() {
        cd "$dir/attnc-$version" && printf x >>tokenize || return
        sleep 20 | ./tokenize - >/dev/null 2>&1 &
        sleep 0.5
        GIT_DIR=/nowhere $make CFLAGS=-O0 tokenize && ! tail -c 1 tokenize | grep -q x
        code=$?
        kill $! 2>/dev/null
        return $code
    }
    check 'make replaces a program that is running' busy
else
    skip 'make dist: not in git'
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
