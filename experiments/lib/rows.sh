# results.csv: a row for each run and length, sorted, with the run's options as its last column.
# shellcheck shell=sh disable=SC2154 # of experiment.sh
columns=text,task,attn,norm,trained,rate,seed,steps,tokens,parameters,length,loss,ppl,bits_per_byte
columns=$columns,accuracy,scored,above_floor,vector_bits,commit,options

# Whoever makes the link has the file to himself; it says who that is.
lock() {
    tries=0
    until ln -s "$me" "$1.lock" 2>/dev/null; do
        [ $((tries += 1)) -le 60 ] ||
            stop "$1 is locked: remove $1.lock if process $(readlink "$1.lock") has ended"
        sleep 1
    done
}

# The rows of FILE take the place of those with the same text and options. Who reads meanwhile
# finds the rows before or the rows after.
add_rows() { # FILE
    lock "$results"
    [ -s "$results" ] || echo $columns >"$results"
    {
        echo $columns
        awk -F '"' '{ key = substr($1, 1, index($1, ",")) $2 }
                    NR == FNR { fresh[key]; print; next }
                    FNR > 1 && !(key in fresh)' "$1" "$results" |
            sort -t , -k 1,4 -k 5,5n -k 6,6n -k 7,7n -k 11,11n
    } >"$results.new" && mv "$results.new" "$results"
    rm -f "$results.lock"
}

rows_of() { # FILE TEXT BEGIN: those with options that begin so, up to a space or their end
    [ ! -s "$1" ] || awk -F '"' -v text="$2," -v begin="$3 " \
        'FNR > 1 && index($1, text) == 1 && index($2 " ", begin) == 1' "$1"
}

is_done() { # TEXT LENGTHS OPTIONS: there is a row for each length
    [ "$(rows_of "$results" "$1" "$3" | cut -d, -f 11 | sort)" = \
        "$(echo "$2" | tr , '\n' | sort)" ]
}

all_missing() { # TEXT LENGTHS: of the runs on stdin those that are not done
    while IFS= read -r options; do
        is_done "$1" "$2" "$options" || echo "$options"
    done
}
first_missing() { all_missing "$@" | head -n 1; }

# With the lowest loss of seed 1, the smaller of equals; nothing unless so many rates have one.
best_rate() { # FILE TEXT LENGTH SETTINGS HOW MANY
    rows_of "$1" "$2" "$4" | awk -F , -v length_="$3" -v wanted="$5" '
        $7 == 1 && $11 == length_ {
            rates++
            if ($12 != "inf" && (best == "" || $12 < least)) { least = $12; best = $6 }
        }
        END { if (rates == wanted) print best }'
}

count() { echo "$1" | tr , '\n' | wc -l; } # of a list

rate_of() { # TEXT RATES LENGTHS SETTINGS: that of all seeds; nothing while it is not known
    case $2 in
    c03) best_rate "$OUT/c03-perplexity/results.csv" wikitext-2 256 \
        "$(echo "$4" | cut -d' ' -f 1-4)" "$(count "$rates")" ;;
    *,*) best_rate "$results" "$1" "${3%%,*}" "$4" "$(count "$2")" ;;
    *) echo "$2" ;;
    esac
}

# The options of all runs of a series, with a rate of `?` while it is not known.
runs_of() { # TEXT RATES LENGTHS SETTINGS
    seed=1
    case $2 in *,*)
        seed=2
        for rate in $(echo "$2" | tr , ' '); do
            echo "$4 --learning-rate $rate --seed 1"
        done ;;
    esac
    rate=$(rate_of "$@")
    while [ $seed -le "$seeds" ]; do
        echo "$4 --learning-rate ${rate:-?} --seed $seed"
        seed=$((seed + 1))
    done
}

# The rows of all seeds at the rate of the series; of all series those of the page.
series_rows() { rows_of "$results" "$1" "$4 --learning-rate $(rate_of "$@")"; }
chosen_rows() {
    echo $columns
    plan | while IFS= read -r line; do
        with series_rows "$line"
    done
}
