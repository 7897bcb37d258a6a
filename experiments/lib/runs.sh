# A run: ./train, ./eval, and what they have found as rows.
# shellcheck shell=sh disable=SC2154,SC2086 # of experiment.sh; options are words

value() { # NAME OPTION...: what that option is
    wanted=$1
    shift
    while [ $# -gt 1 ]; do
        [ "$1" != "$wanted" ] || echo "$2"
        shift
    done
}

commit() { # of the programs, with a + if something has changed since
    head=$(git rev-parse --short HEAD 2>/dev/null) || { echo unknown; return; }
    git diff --quiet HEAD -- . ':!*.csv' ':!*.svg' ':!*.md' || head=$head+
    echo "$head"
}

# What ./eval has found of the run in FOLDER, in the columns of results.csv.
rows() { # TEXT FOLDER OPTIONS
    awk -v options="$3" -v commit="$commit" -v trained="$(value --block-size $3)" \
        -v first="$1,$(value --task $3),$(value --attn $3),$(value --norm $3)" \
        -v mixed="$(value --lengths $3)" -v rate="$(value --learning-rate $3)" \
        -v seed="$(value --seed $3)" -v steps="$(value --max-iters $3)" \
        -v batch="$(value --batch-size $3)" \
        -v parameters="$(awk '/ parameters, / { print $1; exit }' "$2.err")" \
        -v bits="$(sed -n 's/.*vectors of \([0-9]*\) bits.*/\1/p' "$2.err")" \
        -v floor="$(awk '/^true entropy/ { print $3 }' "$2.out")" '
        BEGIN { FS = OFS = "," }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        {
            loss = $at["loss"]; ppl = $at["ppl"]
            if (loss !~ /^[0-9]/) loss = ppl = "inf"
            print first, mixed == "" ? trained : "mixed", rate, seed, steps,
                steps * batch * trained, parameters, $at["length"], loss, ppl,
                $at["bits_per_byte"], $at["accuracy"], $at["tokens"],
                floor == "" || loss == "inf" ? "" : sprintf("%.6f", loss - floor), bits, commit,
                "\"" options "\""
        }' "$2.csv"
}

# A run that diverged has a loss of inf, and so has one that ended before anybody noticed.
diverged() { # LENGTHS
    echo length,loss,ppl,bits_per_byte,accuracy,tokens
    echo "$1" | tr , '\n' | sed 's/$/,inf,inf,,,0/'
}

# Leaves FOLDER.rows, and the run in FOLDER.
measure() { # TEXT LENGTHS OPTIONS FOLDER
    status=0
    train_on "$1" $3 --threads 1 --sample-tokens 0 --eval-interval 100000000 --eval-iters 1 \
        --out-dir "$4" >"$4.out" 2>"$4.err" || status=$?
    if [ $status = 1 ] && grep -q 'the run diverged' "$4.err"; then
        diverged "$2" >"$4.csv"
    elif [ $status = 0 ]; then
        patiently ./eval "$4" --lengths "$2" --threads 1 --csv "$4.csv" >/dev/null 2>>"$4.err" ||
            status=$?
    fi
    if [ ! -s "$4.csv" ]; then
        { echo "$name: ./train $3 (on $1) ended with $status:"; tail -n 20 "$4.err"; } >&2
        return 1
    fi
    rows "$1" "$4" "$3" >"$4.rows"
}

also() { :; }

# Runs it, and adds its rows.
run() { # TEXT LENGTHS OPTIONS
    here=$work/run.$(echo "$1 $3" | cksum | tr ' ' .)
    measure "$1" "$2" "$3" "$here" || return
    [ ! -e "$here/model.safetensors" ] || also "$here" "$3" || return
    add_rows "$here.rows"
    is_done "$1" "$2" "$3" || stop "$results lacks the rows that were added to it"
    awk -F , '{ printf "%s, %s %s %s trained at %s, rate %s, seed %s, tested at %s: %.4f\n",
                       $1, $2, $3, $4, $5, $6, $7, $11, $12 }' "$here.rows" | head -n 1
    [ -z "$KEEP" ] || keep "$1 $3" || return
    rm -rf "$here" "$here".*
}

keep() { # NAME
    mkdir -p "$KEEP/$name" && cp -r "$here" "$KEEP/$name/$(echo "$1" | sed 's/ --/ /g' | tr ' ' -)"
}
