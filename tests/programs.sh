#!/bin/sh
# The built programs as a user meets them: what goes in, what comes out, what is left behind. The numbers that they
# print are left to numbers.sh; shell.sh says what `refused`, `works` and `check` are.
# shellcheck disable=SC2086 # options are words
LC_ALL=C
export LC_ALL
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=tests/shell.sh
. "$root/tests/shell.sh"

# --- what goes wrong ---------------------------------------------------------------------------

bytes 2000 text
bytes 0 empty
bytes 1 one
bytes 169 short
bytes 170 least
mkdir ../in/folder
mkfifo ../in/fifo
ln -s loop ../in/loop
ln -s nowhere ../in/dangling
long=$(printf '%05000d' 0)
{ tensors_head; head -c 768 /dev/zero; } >../in/tensors
ln ../in/tensors ../in/link
deep=../in/$(printf '%0200d/%0200d/%0200d' 1 2 3)
mkdir -p "$deep"
: >"$deep/empty"
tree() { # FOLDER: what is in it, and the contents
    find "$1" | sort
    find "$1" -type f -exec cksum {} + | sort
}
tree ../in >"$dir/before"
nothing_changed() { tree ../in | cmp -s - "$dir/before"; }

t="$train $small"
a="$attend --attn softmax" tensors=../in/tensors
refused 'a corpus that is read twice'         2 'only once'         sh -c 'echo a text | "$@"' sh $t - -
refused 'a text that is read twice'           2 'only once'         sh -c 'echo a text | "$@"' sh "$tokenize" --tokenizer byte - --text -
refused 'a corpus that is not there'          4 'No such file'      $t ../in/nowhere
refused 'a corpus without a name'             4 'No such file'      $t ''
refused 'a name of 5000 characters'           4 'too long'          $t "$long"
refused 'a name with a newline'               4 'a?b'               $t "a${newline}b"
refused 'a name with an escape'               4 '?]0;x'             $t "${escape}]0;x"
refused 'a name with a direction override'            4 '?x?y?'             $t "${turned}x${isolated}y$c1"
refused 'an option with a direction override'         2 'unknown option --?x' $t "--${turned}x"
refused 'a name that begins like an option'   2 'unknown option'    $t -odd
refused 'an empty corpus'                     5 'is empty'          $t ../in/empty
refused 'an empty corpus with a long name'    5 'is empty'          $t "$deep/empty"
refused 'an empty corpus among others'        5 'in/empty is empty' $t $text ../in/empty
refused 'a corpus of one byte'                5 'too few'           $t ../in/one
refused 'a corpus shorter than the context'   5 '--block-size'      $t --block-size 4096 $text
refused 'a corpus one byte too short'   5 'needs 17 of each'  $t ../in/short
refused 'more stories, and a text'           2 'a text is given'    $t --story-bytes 1000 $text
refused 'more stories for rows'              2 'does not apply'     $t --story-bytes 1000 --task mqar
for option in '--tokenizer char' "--val-file $text" '--val-share 0.5'; do
    refused "${option%% *} for rows"          2 'does not apply to --task mqar' $t --task mqar --block-size 64 $option
done
refused 'a least length for rows without one' 2 'does not apply to --task mqar' $t --task mqar --block-size 64 --least 5
refused 'noise for rows without it'           2 'does not apply to --task copy' $t --task copy --block-size 64 --noise
refused 'too few stories'                    2 'write more stories' $t --story-bytes 1
refused 'a validation file that is too short' 5 'too few'           $t --val-file ../in/one $text
refused 'a validation file without a text' 2 'needs a text'          $t --val-file $text
refused 'a share of the built-in stories' 2 'needs a text'           $t --val-share 0.5
refused 'a validation file and a share' 2 'takes no --val-share'     $t --val-file $text --val-share 0.5 $text
refused 'a validation file that is not there' 4 'No such file'      $t --val-file ../in/no $text
refused 'a folder as corpus'                  4 'is a directory'    $t ../in/folder
refused 'a FIFO nobody writes to'             4 'is a FIFO'         $t ../in/fifo
refused '/dev/zero as corpus'                 4 'is a device'       $t /dev/zero
refused 'an unknown mechanism in a list'      2 'did you mean softmax' $t --attn relu,sofmax $text
refused 'an unknown setting in a list'        2 "no setting 'windw'" $t --attn relu,softmax:windw=3 $text
refused 'a setting that is given twice'       2 'window=8 is given twice in softmax' $t --attn softmax:window=4:window=8 $text
refused 'a colon without a setting'           2 "a ':' in relu has no setting" $t --attn relu: $text
refused 'a number that is 0 as a double'      2 'such as 0.5 or 1e-4' $t --lr 1e-400 $text
refused 'a list with a gated unit'            2 'cannot take turns' $t --attn relu,gau $text
refused 'an even convolution, masked'         2 'odd number'        $t --task mlm --conv 4 $text
refused 'an even convolution by name'         2 'odd number'        $t --task mlm --attn mamba2 --conv 4 $text
refused '/dev/random as corpus'               4 'is a device'       $t /dev/random
refused 'a symbolic link to itself'           4 'symbolic link'     $t ../in/loop
refused 'a symbolic link to nothing'          4 'No such file'      $t ../in/dangling
refused 'a file in place of a folder'           4 'Not a directory'   $t $text/more
refused 'standard input when it is closed'    4 'standard input'    $t - <&-
refused 'standard input with nothing in it'   5 'is empty'          $t - </dev/null

# Holes take no room: more than any machine's memory that this is likely to meet.
if truncate -s 4T ../in/huge 2>/dev/null; then
    refused 'a corpus larger than the memory' 5 'use a part of it, such as that of head -c ' $t ../in/huge
    refused 'tokenize of a text larger than the memory' 5 'head -c ' "$tokenize" ../in/huge
    truncate -s 90M ../in/huge
    limit='timeout 20'
    refused 'tokenize of one long word' 5 'without a space or another end of a word' "$tokenize" ../in/huge
    refused 'a corpus of one long word' 5 '--tokenizer byte' $t --tokenizer bpe:300 ../in/huge
    limit='timeout 2'
else
    skip 'a corpus larger than the memory (this file system has no such holes)'
fi
rm -f ../in/huge

user=
[ "$(id -u)" != 0 ] || user='setpriv --reuid=65534 --clear-groups'
if $user test -x "$train" 2>/dev/null && $user test -r $text; then
    bytes 2000 secret
    chmod 0 ../in/secret
    mkdir -m 555 ../in/fixed
    refused 'an unreadable corpus'     4 'Permission denied' $user $t ../in/secret
    refused 'an out-dir without write permission'  4 'Permission denied' $user $t --out-dir ../in/fixed $text
    refused 'an out-dir that may not be created'   4 'Permission denied' $user $t --out-dir ../in/fixed/x $text
    refused 'a dry run that could not write'       4 'cannot write to the folder ../in/fixed: Permission denied' \
        $user $t --dry-run --out-dir ../in/fixed/x/y $text
    refused 'a dry run that could not write to /'  4 'cannot write to the folder /: Permission denied' \
        $user $t --dry-run --out-dir /nowhere/x $text
    refused 'unreadable tensors'      4 'Permission denied' $user $a ../in/secret out
    refused 'results in a folder without write permission' 4 'Permission denied' $user $a $tensors ../in/fixed/x
    rm -f ../in/secret
    rmdir ../in/fixed
else
    skip 'files without permission (needs setpriv, and a program everybody may run)'
fi

refused 'an unknown option'                2 'did you mean --max-iters?' $t --max-iter 3 $text
refused 'an option of other programs'           2 'there is no --epochs' $t --epochs 3 $text
for words in '--device cuda:threads' '--wandb:tensorboard' '--wandb_project x:tensorboard' '--start x:--prompt' \
    '--num_samples 3:--samples N' '--num-samples=3:--samples N' '--max_new_tokens 3:--sample-tokens' \
    '--num_train_epochs 3:--max-iters' '--epochs=3:--max-time'; do
    refused "the option ${words%%:*}" 2 "there is no $(echo "${words%%:*}" | sed 's/[ =].*//'): " $t ${words%%:*} $text
    refused "the option ${words%%:*} has a hint" 2 "${words#*:}" $t ${words%%:*} $text
done
refused 'a short name is no misspelt other'  2 'unknown option --foo: --help lists' $t --foo 3 $text
refused 'help for an unknown option'       2 'unknown option'            $train help zzzz
refused 'help for a misspelt option'     2 'did you mean --n-layer?'   $train help n-layers
refused 'a configuration that is not there' 4 'No such file'             $train --config ../in/nowhere
refused 'an invalid configuration'     5 'has no'                    $train --config $text
{ printf '{"lengths":[1'; printf '%064d' 0 | sed 's/0/,1/g'; echo ']}'; } >../in/many.json
refused 'a configuration with a long list' 5 'lengths' $train --config ../in/many.json
refused 'a configuration and a run'        2 '--resume'                  $train --resume --config $text ../in
refused 'an option unlike any other'     2 '--help lists all'          $t --zzzzzzzzz $text
refused 'an unknown option with an escape' 2 'unknown option'            $t "--${escape}[31m" $text
refused 'an option of 5000 characters'     2 'unknown option'            $t "--$long"
refused 'an unknown attention'             2 'did you mean softmax?'     $t --attn sofmax $text
refused 'an attention unlike any other'  2 'softmax'                   $t --attn zzzzzzzzz $text
refused 'an unknown task'                  2 'did you mean mlm?'         $t --task mlms $text
refused 'a task unlike any other'        2 'one of causal, mlm'        $t --task nonsense $text
refused 'an unknown preset'                2 'must be one of nanogpt-cpu' $t --preset nanogpt $text
refused 'an unknown precision'             2 'must be one of float, bf16' $t --precision half $text
refused 'an unknown position'              2 'did you mean rope?'        $t --position ropes $text
refused 'a flag with a value'              2 '--no-tied'                 $t --tied=yes $text
refused 'a share of no tokens'             2 'above 0'                  $t --task mlm --mask-share 0 $text
refused 'cautious decay of nothing'        2 'does not apply to --weight-decay 0' $t --cautious-decay --weight-decay 0 $text
refused 'a share of all tokens'            2 'below 1'                  $t --task mlm --mask-share 1 $text
refused 'a mask share without masks'    2 'does not apply to --task causal' $t --mask-share 0.2 $text
refused 'whole words without masks'        2 'does not apply to --task classify' $t --task classify \
    --whole-word $text $text
refused 'heads that do not divide'         2 '--n-head 2 would'          $t --n-head 3 $text
refused 'groups that do not divide the heads' 2 '--n-kv-head 3 does not divide --n-head 2; --n-kv-head 2 would' $t --n-kv-head 3 $text
refused 'a gated unit with shared keys'    2 '--n-kv-head does not apply to --attn gau' $t --attn gau --n-kv-head 1 $text
refused 'more heads than numbers'          2 '--n-head 8 would'          $t --n-head 64 $text
refused 'more heads than numbers, without rope' 2 '--n-head 16 would'      $t --n-head 64 --position learned $text
refused 'a temperature without a sample'   2 'to --sample-tokens 0'     $t --sample-tokens 0 --temperature 1 $text
refused 'a temperature of masks'           2 'continues no text'        $t --task mlm --temperature 1 $text
refused 'heads of an odd width with rope'  2 'even width'                $t --n-embd 6 $text
refused 'a setting of another attention'   2 'does not apply to --attn softmax' $t --norm n $text
refused 'a layer without a gate to leave out' 2 'it is for gau'          $t --attn fastformer --no-gate $text
refused 'weights that softmax cannot share' 2 '--share does not apply'    $t --share qv $text
refused 'an unknown member of a set'     2 'did you mean layers?'      $t --share qv,layer $text
refused 'a value of --no-ffn'              2 '--no-ffn takes no value' $t --no-ffn=gelu $text
refused 'a folder as the value of a flag'     2 'no value: write --resume ../in' $t --resume=../in
refused 'a feed-forward layer in a unit'   2 'has no feed-forward layer' $t --attn gau --ffn gelu $text
refused 'a bias by distance without a gated unit'    2 'it is for gau, flash-gau'  $t --rel-bias rope $text
refused 'gammas without a gated unit'        2 'is not a gated unit'       $t --gamma-init one $text
refused 'gammas that are not a number'        2 'such as 0.5 or 1e-4; or one' $t --attn gau --gamma-init ones $text
refused 'positions that are not rotated'    2 'rope does not apply' $t --attn fastformer --position rope $text
refused 'a rotation without rope'          2 '--rope-at needs --position rope' $t --attn relu \
    --position none --rope-at before $text
refused 'a rotation that is not defined'   2 'rope-at after does not apply' $t --attn efficient \
    --position rope --rope-at after $text
refused 'directions learned and redrawn'     2 'exclude each other'      $t --attn performer \
    --learn-omega --redraw 9 $text
refused 'keys of an odd width with rope'   2 'even width'                $t --key-size 3 $text
refused 'a base without a logarithm'       2 '--base'                    $t --base 1 $text
refused 'an out-dir that is a file'        4 'is not a folder'           $t --out-dir $text $text
refused 'an out-dir below a file'          4 'is not a folder'           $t --out-dir $text/x $text
refused 'an out-dir below a file, in a dry run' 4 'is not a folder' $t --dry-run --out-dir $text/x $text
refused 'an out-dir below a long name'     4 'is not a folder'           $t --out-dir "$deep/empty/x" $text
refused 'an out-dir of 5000 characters'    4 'too long'                  $t --out-dir "$long" $text
refused 'more memory than there is'        3 'GiB'        $t --batch-size 1048576 --block-size 65536 $text
refused 'an argument of bench'             2 "'something'"               "$bench" something
refused 'bench with heads that do not divide'    2 '--n-head'            "$bench" --n-head 3
refused 'bench with a CSV file it cannot write'  4 'No such file'        "$bench" --csv nowhere/x
refused 'bench with --recompute for parts without it'  2 'attention has none'  "$bench" --only attention --recompute
refused 'bench with more memory than there is'   3 'GiB'                 "$bench" --only step \
    --batch-size 1048576 --lengths 16777216
refused 'an argument of gradcheck'         2 "'something'"               "$gradcheck" something
refused 'gradcheck of an unknown attention'        2 '--attn'                    "$gradcheck" --attn sofmax
refused 'gradcheck with another option'    2 'unknown option'            "$gradcheck" --seed 1
b="$bench --only attention"
refused 'bench with an unknown attention'        2 'did you mean relu?'  $b --attn softmax,rellu
refused 'bench with a name missing'              2 'some of softmax'     $b --attn softmax,,relu
refused 'bench with all and another'             2 '`all` stands alone'  $b --attn all,relu
refused 'bench with a setting that does not apply'   2 'is for softmax'      $b --attn relu,elu --scale logn
refused 'bench with a setting and no attention'  2 'gemm has none'       "$bench" --only gemm --window 4
refused 'bench with a figure but no attention'   2 'gemm has none'       "$bench" --only gemm --svg x
refused 'bench with heads that do not divide'    2 '--n-head'            $b --n-head 3
refused 'bench with an SVG file it cannot write' 4 'No such file'        $b --svg nowhere/x
refused 'bench with more attention than memory'  3 'GiB'                 $b --lengths 16777216

refused 'tokenize without a text'              2 'one TEXT to learn from'    "$tokenize"
refused 'tokenize with two texts'              2 'not also in/more'          "$tokenize" in/text in/more
refused 'tokenize with an unknown tokenizer'   2 "'word' is not a tokenizer"    "$tokenize" --tokenizer word $text
refused 'tokenize with a tiny vocabulary'      2 'from 257 to 65536'         "$tokenize" --tokenizer bpe:256 $text
refused 'tokenize of a text that is not there' 4 'No such file'              "$tokenize" ../in/nowhere
refused 'tokenize in place of its text'        2 'another name'              "$tokenize" --json ../in/least ../in/least
refused 'tokenize in place of the other text'  2 'another name'              "$tokenize" --text ../in/least --json ../in/least $text
refused 'tokenize of a folder'                 4 'is a directory'            "$tokenize" ../in/folder
refused 'attend without an attention'      2 '--attn NAME is missing'    "$attend" $tensors out
refused 'attend without files'             2 'two files, not 0'          $a
refused 'attend with one file'             2 'two files, not 1'          $a $tensors
refused 'attend with three files'          2 'two files, not 3'          $a $tensors out more
refused 'attend with an unknown attention' 2 'did you mean softmax?'     $a --attn sofmax $tensors out
refused 'a setting of another attention'   2 'is for gau'                $a --norm n2 $tensors out
refused 'steps that are not causal'        2 '--no-causal'               $a --steps --no-causal $tensors out
refused 'the same file in and out'         2 'another name'              $a $tensors $tensors
refused 'one file under two names'         2 'another name'              $a $tensors ../in/link
refused 'results to standard output'       2 'not to standard output'    $a $tensors -
refused 'tensors that are not there'       4 'No such file'              $a ../in/nowhere out
refused 'tensors in a folder'              4 'is a directory'            $a ../in/folder out
refused 'tensors from a FIFO'              4 'is a FIFO'                 $a ../in/fifo out
refused 'tensors from closed input'        4 'standard input'            $a - out <&-
refused 'tensors in an empty file'         5 'not a safetensors'           $a ../in/empty out
refused 'tensors in a text'                5 'looks like text'           $a $text out
refused 'results where no folder is'       4 'No such file'              $a $tensors nowhere/out
refused 'results in place of a folder'     4 'is a directory'            $a $tensors ../in/folder
refused 'results to a device'              4 'is a device'               $a $tensors /dev/null
refused 'a scale of a rotation without one' 2 '--rope-scale needs --rope' $a --rope-scale linear:2 $tensors out
refused 'a layer beyond the last'          2 'counted from 0'            "$attend" --attn lightning --layer 2 --layers 2 $tensors out
refused 'results larger than a file may be' 4 'too large' \
    env GCOV_PREFIX="$dir/cut-short" GCOV_ERROR_FILE=/dev/null sh -c 'ulimit -f 1; exec "$@"' sh $a --matrix $tensors out

refused 'the beginning of an option'       2 'did you mean --temperature?' $train --temp 1 $text
refused 'an option of nanoGPT'             2 './eval RUN evaluates'      $train --eval_only $text
refused 'resuming what is not there'       2 'there is no such folder'   "$train" --resume ../in/nowhere
refused 'resuming a file'                  2 'a run continues in its folder' "$train" --resume $text
refused 'too large a vocabulary'           2 'from 257 to 65536'         $train --tokenizer bpe:70000 $text
refused 'report without a run'             2 'no run given'              "$report"
refused 'report of a folder that is not there' 4 'does not exist'       "$report" ../in/nowhere
refused 'report of a file'                 5 'is not a folder'           "$report" $text
refused 'report of a folder without a run' 5 'that can be read'          "$report" ../in/folder
refused 'report to standard output'        2 'not to standard output'    "$report" -o - ../in/folder
refused 'report with two texts'            2 'give one of them'          "$report" --prompt x --text $text ../in/folder
refused 'report of maps without a text'    2 'need --prompt or --text'   "$report" --positions 8 ../in/folder
refused 'report of a text that is not there' 4 'No such file'            "$report" --text ../in/no ../in/folder
refused 'report in place of its text'      2 'another name'              "$report" -o ../in/least --text ../in/least ../in/folder
refused 'report of an empty text'          5 'is empty'                  "$report" --text ../in/empty ../in/folder

{ printf 'attn,length,seed,ppl\n'; printf '%s,%s,%s,%s\n' softmax 64 0 2 softmax 64 1 2.5 softmax 256 0 3 \
    relu 64 0 4 relu 256 0 ''; } >../in/ppl.csv
printf 'attn,ppl\nrelu,"4\n' >../in/damaged.csv
printf '[1]\n' >../in/array.jsonl
long_log() { printf '{"step":1,"split":"train",' && head -c $1 /dev/zero | tr '\0' ' ' && echo '"loss":2}'; }
long_log 17000000 >../in/long.jsonl
tree ../in >"$dir/before"
f="$figure --y ppl" csv=../in/ppl.csv
refused 'figure without a file'                2 'no file given'              $f
refused 'figure without numbers'               2 '--y COL is missing'        "$figure" $csv
refused 'figure of a file that is not there'   4 'No such file'              $f ../in/nowhere
refused 'figure of a folder without a run'     4 'folder/log.jsonl'          $f ../in/folder
refused 'figure of an empty file'              5 'line 1: no column names'          $f ../in/empty
refused 'figure of a damaged file'             5 'damaged.csv, line 2: an unclosed quote' \
    $f $csv ../in/damaged.csv
refused 'figure of a log line that is no object' 5 'array.jsonl, line 1: is not an object' "$figure" --y loss ../in/array.jsonl
refused 'figure of a very long log line' 5 'long.jsonl, line 1: has 17' "$figure" --y loss ../in/long.jsonl
refused 'figure of a column that is not there' 2 'did you mean length?'      $f --x lenght $csv
refused 'figure of a column unlike any other'     2 '--by: no column is called' $f --by attn,optimizer $csv
refused 'figure of rows that are not there'    5 'there are softmax, relu'    $f --where attn=gau $csv
refused 'figure of a column without a value'   2 'must be COL=VALUE'           $f --where attn $csv
refused 'figure of one column in two'          2 'must be at most 64 texts'    $f --by attn,,seed $csv
refused 'figure with a line without a value'       2 'must be VALUE:LABEL'         $f --line floor $csv
refused 'figure with an unknown best'             2 'did you mean max?'         $f --best maxi $csv
refused 'figure compared with an unknown line' 2 'did you mean relu?'         $f --x length --by attn --versus relo $csv
refused 'figure of pairs of nothing'           2 '--pair needs --versus'      $f --by attn --pair seed $csv
refused 'figure without an axis'               2 'needs --x COL'             $f --svg x $csv
refused 'figure with words on the x axis'                   2 "'softmax' is not one"         $f --x attn --svg x $csv
refused 'figure in place of its file'          2 'another name'              $f --csv ../in/../in/ppl.csv $csv
mkdir ../out/run
cp $csv ../out/run/log.jsonl
refused 'figure in place of a log'             2 'a file of the run'         $f --csv ../out/run/log.jsonl ../out/run
rm -r ../out/run
refused 'figure and table in one file'         2 'the same file'             $f --x seed --csv x --svg x $csv
refused 'figure to standard output'            2 'not to standard output'    $f --x seed --svg - $csv
refused 'figure where no folder is'            4 'No such file'              $f --x seed --svg nowhere/x $csv
refused 'a table into the file of what is printed' 2 'output or error already' \
    sh -c '"$@" --csv ../out/both >../out/both' sh $f --x seed $csv

# No option takes garbage for a number. The corpus is missing, so that garbage which is taken ends
# with another code.
limit=
garbage() { refused "$program $1 '$2'" 2 "$1" "$root/$program" "$1" "$2" ../in/nowhere; }
options() { "$root/$program" --help | sed -n "s/^  --\([a-z0-9-]*\) \($1\)\( .*\)*\$/--\1/p"; }
tried=0
for program in train eval analyse sample fill classify bench gradcheck attend report figure; do
    for option in $(options 'N\|X\|TIME\|N,N,\.\.\.'); do
        tried=$((tried + 1))
        for value in '' ' ' abc 1x 0x10 ' 1' '1 ' +1 -1 --1 1e 1e999 -1e999 nan inf -inf 1,,5 \
            "1$newline" "${escape}[31m"; do
            garbage "$option" "$value"
        done
    done
    for option in $(options 'N\|N,N,\.\.\.'); do
        for value in 99999999999999999999 18446744073709551616 1.5 1e3; do
            garbage "$option" "$value"
        done
        garbage "$option" abc # whose answer gives the range
        least=${line#* from } most=${line#* to }
        least=${least%% *} most=${most%%[!0-9]*}
        [ ${#most} -gt 18 ] || garbage "$option" $((most + 1))
        garbage "$option" $((least - 1))
    done
    for option in $(options 'N\|X\|TIME\|N,N,\.\.\.\|TEXT\|FILE\|FOLDER\|NAME\|NAME,\.\.\.\|NAMES'); do
        [ "$program $option" = 'sample --prompt' ] || # which may be empty
            refused "$program $option= without a value" 2 "$option" "$root/$program" "$option="
        refused "$program $option at the end" 2 "$option" "$root/$program" "$option"
    done
done
limit='timeout 2'

closed() { "$@" >&-; }
full() { "$@" >/dev/full; }
limit='timeout 20'
for program in train eval analyse sample fill classify export import bench gradcheck attend tokenize report figure; do
    refused "$program --help to nobody" 4 'standard output' closed "$root/$program" --help
    refused "$program --version to nobody" 4 'standard output' closed "$root/$program" --version
    [ ! -c /dev/full ] ||
        refused "$program --help to a full disk" 4 'No space' full "$root/$program" --help
done

# --- what goes well ----------------------------------------------------------------------------

check 'refused commands have changed nothing' nothing_changed
check 'the options with numbers were found' [ $tried -gt 20 ]
check 'report of no runs' [ "$("$report" ../in/folder $text 2>&1 | grep -c 'error: none of the 2 paths')" = 1 ]


# So many bytes of the corpus went to training and validation together.
uses() { said ": $(($1 - $1 / 10)) bytes to train on, $(($1 / 10)) to validate"; }
only_results() {
    rest=$(sed '/^a sample:$/,$d' "$dir/stdout" |
        grep -v '^[0-9]* steps in \|^best evaluation \|^validation loss \|^files in \|^$')
    [ -z "$rest" ] || no "$rest"
}
characters() { LC_ALL=C.UTF-8 wc -m; } # where there is no such locale, bytes: more of them
has_sample() { # 20 tokens are as many characters, or fewer where bytes make up one
    set -- "$(sed '1,/^a sample:$/d' "$dir/stdout" | characters)"
    [ "$1" -ge 8 ] && [ "$1" -le 21 ] || no "$1"
}
no_controls() {
    [ "$(cat "$dir/stdout" "$dir/err" | tr -d '\n' | tr -dc '[:cntrl:]' | wc -c)" -eq 0 ] &&
        ! grep -q -e "$turned" -e "$isolated" -e "$c1" "$dir/stdout" "$dir/err"
}
lone() { set -- * .[!.]*; [ "$*" = '* .[!.]*' ]; }

works 'a small run' $text
check 'all of the text is used' uses 2000
check 'the log has the last step' grep -q '^{"step":3,"split":"train","loss":[0-9]' "$run/log.jsonl"
check 'the log has the validation loss' grep -q '^{"step":3,"split":"val","loss":[0-9]' "$run/log.jsonl"
check 'the log ends with the peak of the memory' eval 'tail -n 1 "$run/log.jsonl" | grep -q "\"final\".*,\"peak_memory\":[0-9]*}$"'
check 'the log begins with the run' eval 'head -n 1 "$run/log.jsonl" | grep -q "^{\"step\":0,\"split\":\"start\","'
for fact in '"command": *".*/train --n-layer 1 .* ../in/text",' '"texts": *\[{"file":"../in/text","bytes":2000,"hash":"[0-9a-f]\{16\}"}\],' \
    '"parameters": *[0-9]*,' '"version": *"[0-9.]*",' '"commit": *"[0-9a-z-]*",' '"compiler": *"\(gcc\|clang\) ' '"flags": *"' \
    '"cpu": *"..*",' '"host": *"..*",' '"started": *"20[0-9][0-9]-[0-9T:.-]*Z"' '"threads": *1[,}]'; do
    check "the log has $fact" grep -q "^{.*$fact" "$run/log.jsonl"
    check "the configuration has $fact" grep -q "^  $fact" "$run/config.json"
done
check 'the configuration records the options' grep -q '"max_iters": 3,$' "$run/config.json"
check 'stdout has the validation loss' grep -q '^validation loss [0-9.]* nats/byte, ppl ' "$dir/stdout"
check 'stdout has the sample, 20 tokens and an end of line' has_sample
check 'stdout has nothing but results' only_results
check 'the progress goes to stderr' said '^step 3/3 '
check 'a pipe gets no control characters' no_controls
check 'nothing is written beside the out-dir' lone

report() { "$report" "$@" >"$dir/stdout" 2>"$dir/err" && [ "$(cat "$dir/err")" = '2 runs in ../out/r.html' ]; }
page_is_whole() { [ "$(head -n 1 $1)$(tail -n 1 $1)" = '<!DOCTYPE html></html>' ]; }
cp -r "$run" "$run-2"
check 'a report of two runs' report -o ../out/r.html --text $text "$run" "$run-2"
check 'a report with an escape in its name' [ "$("$report" -o "../out/r$escape.html" "$run" 2>&1 | grep -c 'in ../out/r?\.html$')" = 1 ]
check 'the report is a complete page' page_is_whole ../out/r.html
check 'it has the maps of both runs' [ "$(grep -c 'class="map"' ../out/r.html)" = 4 ]
cp ../out/r.html ../out/again.html
check 'a report once more' report -o ../out/r.html --text $text --threads 3 "$run" "$run-2"
check 'it is the same to the byte with other threads' cmp -s ../out/r.html ../out/again.html
head -c 3000 "$run/model.safetensors" >"$run-2/best.safetensors"
rm "$run-2/previous.safetensors"
printf damaged | dd of="$run-2/model.safetensors" bs=1 seek=9000 conv=notrunc 2>/dev/null
check 'a report leaves out what is not a run' [ "$("$report" -o ../out/r2.html "$run" ../in/folder $text 2>&1 | grep -c 'left out')" = 2 ]
check 'and what is given twice' [ "$("$report" -o ../out/r2.html "$run" "$run/" 2>&1 | grep -c 'is given twice')" = 1 ]
check 'a report of damaged weights' report -o ../out/r.html --text $text "$run" "$run-2"
check 'it has the maps of the run that is whole' [ "$(grep -c 'class="map"' ../out/r.html)" = 2 ]
check 'and names the other' grep -q 'What could not be read' ../out/r.html
check 'a figure of both' eval '"$figure" --y loss --where split=final "$run" "$run-2" >"$dir/stdout" 2>"$dir/err"'
check 'has their names' [ "$(grep -c "^| ${run##*/}" "$dir/stdout")" = 2 ]
check 'and says nothing else' [ ! -s "$dir/err" ]
sed -i 's/"n_head": [0-9]*/"n_head": 9/' "$run-2/config.json"
check 'a figure leaves out a folder without a log' [ "$("$figure" --y loss --where split=final "$run" ../in/folder 2>&1 >"$dir/stdout" | grep -c 'left out: ../in/folder')" = 1 ]
check 'and has the other' grep -q '^|' "$dir/stdout"
cp -r "$run" ../out/begun && sed -i 1q ../out/begun/log.jsonl
check 'and one with a log that has no losses' [ "$("$figure" --y loss --where split=final "$run" ../out/begun 2>&1 >"$dir/stdout" | grep -c 'left out: ../out/begun')" = 1 ]
check 'and one that is given twice' [ "$("$figure" --y loss --where split=final "$run" "$run/" 2>&1 >"$dir/stdout" | grep -c 'is given twice')" = 1 ]
long_log 70000 >../out/long.jsonl
check 'a figure of a long line, as of a run on many files' eval '"$figure" --y loss ../out/long.jsonl >"$dir/stdout" 2>"$dir/err"'
rm ../out/long.jsonl
refused 'figure of a run without losses' 5 'begun has no losses in a log.jsonl' "$figure" --y loss ../out/begun
refused 'figure of a log without losses' 5 'log.jsonl has no losses' "$figure" --y loss ../out/begun/log.jsonl
check 'figure of no logs' [ "$("$figure" --y loss ../in/folder ../in/folder 2>&1 | grep -c 'error: none of the 2 folders')" = 1 ]
cp -r "$run" ../out/placed
check 'losses by position' eval '"$evaluate" --protocol by-position --lengths 4,8 --csv ../out/placed/eval.csv ../out/placed >"$dir/stdout" 2>"$dir/err"'
check 'a report without them' eval '"$report" -o ../out/placed.html ../out/placed >"$dir/stdout" 2>"$dir/err" && grep -q "Losses by position in eval.csv are left out" ../out/placed.html'

# Random blocks are drawn from the seed of the run: runs that differ in it alone are one model, and a configuration
# with another seed has other blocks.
patterned() { "$train" --out-dir "../out/$1" --attn "$2" --seed "$3" ${small#--n-layer 1} $text >"$dir/stdout" 2>&1; }
pattern() { grep -q "$2" "../out/$1/config.json"; }
for seed in 1 2; do
    check "random blocks of seed $seed" patterned "blocks-$seed" bigbird "$seed"
    check 'are drawn from it' pattern "blocks-$seed" "\"pattern_seed\": $seed,"
done
check 'two of a kind are no list' patterned blocks-two bigbird,bigbird 5
check 'and have the seed of the run' pattern blocks-two '"pattern_seed": 5,'
check 'a list has a seed of its own' patterned blocks-list relu,bigbird 2
check 'which is 1' pattern blocks-list '"attn": "relu,bigbird",'
check 'a configuration with another seed' eval '"$train" --config ../out/blocks-1 --seed 3 --out-dir ../out/blocks-3 >"$dir/stdout" 2>&1'
check 'has other random blocks' pattern blocks-3 '"pattern_seed": 3,'
check 'weights keep theirs' eval '"$train" --init ../out/blocks-1 --seed 4 --out-dir ../out/blocks-4 $text >"$dir/stdout" 2>&1'
check 'with another seed' pattern blocks-4 '"pattern_seed": 1,'
one_model() { # runs that differ in their seeds alone
    "$report" -o ../out/blocks.html "$@" 2>"$dir/err" && grep -q 'Means over seeds' ../out/blocks.html &&
        ! grep -q 'pattern-seed' ../out/blocks.html && "$figure" --y loss --where split=final "$@" >"$dir/stdout" 2>"$dir/err" &&
        [ ! -s "$dir/err" ]
}

# A run does not train on a file that it would overwrite, and a dry run asked for in a configuration writes nothing.
cp $text ../out/blocks-4/eval.csv && ln ../out/blocks-4/eval.csv ../in/linked && ln ../out/blocks-4/config.json ../in/linked-too
over="$train --out-dir ../out/blocks-4 --overwrite --threads 1"
refused 'a text that its run would delete'              2 'would overwrite it: move it' $over ../out/blocks-4/eval.csv
refused 'a validation text that the run would delete'   2 'would overwrite it: move it' $over --val-file ../out/blocks-4/eval.csv $text
refused 'labels that the run would overwrite'           2 'would overwrite it: move it' $over --task classify --labels ../out/blocks-4/log.jsonl
refused 'validation labels that the run would delete'   2 'would overwrite it: move it' $over --task classify \
    --labels $text --labels-val ../out/blocks-4/eval.csv
refused 'a text that is a file of the run by another name' 2 'would overwrite it: move it' $over ../in/linked-too
check 'a text with a name elsewhere' eval '$over $small ../in/linked >"$dir/stdout" 2>&1'
check 'is still there' cmp -s $text ../in/linked
printf '{"texts": ["%s"], "dry_run": true, "block_size": 16}' $text >../in/dry.json
check 'a dry run by a configuration' eval '"$train" --config ../in/dry.json --out-dir ../out/dry --threads 1 >"$dir/stdout" 2>"$dir/err"'
check 'says so' said 'nothing is written$'
check 'and leaves no folder' [ ! -e ../out/dry ]
printf 'a\tone text\nb\tanother text\na\tand one more\nb\tand the last\n' >../in/wanted.tsv
check 'a task without texts by the configuration of a text' eval '"$train" --config ../out/blocks-1 --task mqar --dry-run >"$dir/stdout" 2>"$dir/err"'
check 'makes its own rows' said '^mqar: '
check 'labels by the configuration of a text' eval '"$train" --config ../out/blocks-1 --task classify --labels ../in/wanted.tsv --val-share 0.5 --dry-run >"$dir/stdout" 2>"$dir/err"'
check 'a causal mamba2' patterned mamba mamba2 1
check 'as a masked model' eval '"$train" --config ../out/mamba --task mlm --dry-run >"$dir/stdout" 2>"$dir/err"'
check 'has the convolution of one' said '^mamba2 attention (conv 3)'
check 'seeds of one model' one_model ../out/blocks-1 ../out/blocks-2 ../out/blocks-3
check 'a mean of both' eval '"$figure" --y loss --by task --where split=final "$run" "$run-2" >"$dir/stdout" 2>"$dir/err"'
check 'says that they differ' said 'attn.c: warning: averaged over runs that differ in n_head: .*'
cp -r "$run-2" "$run-3" && sed 's/"hash":"[0-9a-f]*"/"hash":"0123456789abcdef"/' "$run/config.json" >"$run-3/config.json"
check 'a mean of two texts' eval '"$figure" --y loss --by task --where split=final "$run" "$run-3" >"$dir/stdout" 2>"$dir/err"'
check 'says so' said 'attn.c: warning: averaged over runs that differ in texts: .*'
sed 's/"max_time": [^,]*,/"max_time": 3600,/; s/"stop_at": [^,]*,/"stop_at": 2,/' "$run/config.json" >"$run-3/config.json"
grep -v '"final"' "$run/log.jsonl" >"$run-3/log.jsonl"
check 'a mean of a run that ended and one that did not' eval '"$figure" --y loss --by task --where split=val "$run" "$run-3" >"$dir/stdout" 2>"$dir/err"'
check 'says nothing of limits of time' [ ! -s "$dir/err" ]
check 'a mean of its end' eval '"$figure" --y loss --by task --where split=final "$run" "$run-3" >"$dir/stdout" 2>"$dir/err"'
check 'tells whose is missing' said 'attn.c: warning: 1 of 2 runs, such as .*-3/log.jsonl, have no row here: have they ended?'
rm -r "$run-3"
refused 'a report in place of a log'           2 'a file of a run' "$report" -o "$run/log.jsonl" "$run"
printf 'protocol\n' >"$run/eval.csv"
refused 'a report in place of an evaluation'   2 'another name' "$report" -o "$run/eval.csv" "$run"
rm "$run/eval.csv"
check 'a report into a folder that is not there fails' [ "$("$report" -o no/x "$run" 2>&1 | grep -c 'No such')" = 1 ]
rm -r "$run-2"

works 'the shortest text that is long enough' ../in/least
works 'a text from standard input' - <$text
check 'standard input is read to its end' uses 2000
mkfifo ../pipe
{ cat ../in/short; sleep 0.2; cat $text; } >../pipe &
works 'a text from a slow pipe' - <../pipe
check 'a slow pipe is read to its end' uses 2169
odd_name() { (cd ../in && $patience "$train" $small --out-dir ../out/odd -- '-odd é.txt' 2>/dev/null >&2); }
bytes 2000 '-odd é.txt'
check 'a name with a dash, a space and an accent, after --' odd_name
check 'its folder is whole' folder_is_valid ../out/odd
works 'several texts' $text ../in/least ../in/one
check 'several texts follow each other' uses 2171
works 'two texts' ../in/least $text
warned() { "$evaluate" --lengths 16 --val-share 0.1 "$run" $1 2>&1 | grep -c 'the model was trained on'; }
check 'nothing is held back of the first' [ "$(warned ../in/least)" = 1 ]
check 'but of the last' [ "$(warned $text)" = 0 ]
works 'a text given twice' $text "$PWD/$text"
check 'is warned of' said 'is given twice, so its held-out part is also trained on$'
works 'a validation file' --val-file ../in/least $text
check 'a validation file leaves the text whole' said ': 2000 bytes to train on, 170 to validate'
head -c 3000 /dev/zero >../in/zeros
works 'a text of NUL bytes' ../in/zeros
check 'NUL bytes are counted like others' uses 3000
i=0
while [ $i -lt 256 ]; do
    # shellcheck disable=SC2059 # the value is the format
    printf "\\$((i / 64))$((i / 8 % 8))$((i % 8))"
    i=$((i + 1))
done >../in/256
cat ../in/256 ../in/256 ../in/256 ../in/256 >../in/all
works 'a text of all 256 values' ../in/all
check 'all values are counted' uses 1024
printf '%0500d\r\n%0500d\r\nno end of line' 1 2 >../in/crlf
works 'a text with CRLF and without a last newline' ../in/crlf
check 'no byte is added or taken' uses 1018
{ printf ' \r\n<!DOCTYPE html>'; cat $text; } >../in/page
works 'a web page' ../in/page
check 'a web page causes a warning' said '^attn.c: warning: ../in/page looks like a web page'
hostile="../in/e${escape}]0;x${newline}f$turned$isolated$c1"
cp $text "$hostile"
works 'a text whose name has control characters' "$hostile"
check 'control characters of a name reach no terminal' no_controls
look() { $patience "$@" >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")"; }
hostile_run=$run
for program in "$evaluate --lengths 16" "$analyse"; do
    check "${program##*/} of a run on such a name" look $program $hostile_run
    check 'prints none of them' no_controls
    check "${program##*/} of such a name" look $program $hostile_run "$hostile"
    check 'prints none of them' no_controls
done

# Masked tokens instead of the next one.
no_bits() { [ "$(cat "$dir/stdout" "$dir/err" "$run/log.jsonl" | grep -c 'bits.*byte')" = 0 ]; }
no_reference() { ! grep -q 'for comparison' "$dir/stdout"; }
has_filled() { # two lines of a window, in the first of them what is masked
    set -- "$(sed -n '/^masked:$/{n;p;}' "$dir/stdout")" "$(tail -n 1 "$dir/stdout")"
    [ "$(printf %s "$1" | characters)" -le 16 ] && [ "$(printf %s "$2" | characters)" -le 16 ] && says '^filled in, [0-2] of 2 right:$' || no "$*" || return
    case $1 in *_*_*) ;; *) no "$1" ;; esac
}
works 'a masked run' --task mlm $text
check 'the banner says how much is masked' said '^15% of the tokens are masked'
check 'an evaluation on the way has an accuracy' said '^step 3: validation loss .* accuracy [0-9.]*%'
check 'the last one has an accuracy' \
    says '^validation loss [0-9.]* nats/masked byte, ppl [0-9.]*, accuracy [0-9.]*% '
check 'the log has the accuracy' grep -q '"split":"val",.*"accuracy":[0-9]' "$run/log.jsonl"
check 'masked bytes have no bits a byte' no_bits
check 'the configuration has the task' grep -q '"task": "mlm",$' "$run/config.json"
check 'the checkpoint has the task' grep -aq '"attnc.config.task":"mlm"' "$run/model.safetensors"
check 'the plot says what was masked' grep -q 'nats per masked byte' "$run/loss.svg"
check 'the model fills in masked bytes' has_filled
works 'masked words' --task mlm --mask-share 0.4 --whole-word $text
check 'the banner says that they are words' said '^40% of the tokens are masked, whole words at a time,'
check 'the share is in the configuration' grep -q '^  "mask_share": 0.4,$' "$run/config.json"
check 'and that they are words' grep -q '^  "whole_word": true,$' "$run/config.json"
judged_as_trained() { # eval has the loss of the log's last line
    "$evaluate" --lengths 16 --csv "$run.csv" "$run" >/dev/null 2>&1 || return
    loss=$(sed -n '/"split":"final"/s/.*"loss":\([0-9.]*\).*/\1/p' "$run/log.jsonl")
    grep -q ",$loss," "$run.csv" || no "$loss: $(cat "$run.csv")"
}
check 'eval masks as the run did' judged_as_trained
works 'a preset with masks' --preset nanogpt-cpu --task mlm $text
check 'masked bytes are not compared with the next one' no_reference
works 'all available threads' --threads 0 $text
check 'of which there are some' said '^[1-9][0-9]* threads*, vectors'
works 'a preset for names' --preset microgpt $text
works 'a preset for speed' --preset speedrun $text
check 'has nothing to compare with' no_reference
works 'a preset in other sizes' --preset nanogpt-cpu $text
check 'has nothing to compare with, either' no_reference
nanogpt='--n-layer 4 --n-embd 128 --n-head 4 --block-size 64 --batch-size 12'
works 'the sizes of nanoGPT' $nanogpt $text
check 'the next byte is compared' says '^for comparison'
works 'the sizes of nanoGPT for pieces of words' $nanogpt --tokenizer bpe:300 $text
check 'the next piece is not' no_reference

# A configuration instead of options, and what would be done.
configured() { # FOLDER OPTION...
    folder=$1
    shift
    $patience "$train" --config ../out/configured --out-dir "../out/$folder" --threads 1 "$@" >"$dir/stdout" 2>"$dir/err" ||
        no "$(tail -n 1 "$dir/err")"
}
same_weights() { cmp -s "../out/$1/model.safetensors" "../out/$2/model.safetensors"; }
$train --minutes 0.05 --n-layer 1 --n-embd 24 --threads 1 --sample-tokens 0 --out-dir ../out/minutes $text >"$dir/stdout" 2>"$dir/err"
check 'a run of three seconds says what it has chosen' said '^--minutes: 1 x 24, context 64, batches of 8'
check 'and why' said ' updates*, reading the text '
check 'what is given stays' grep -q '"n_layer": 1,' ../out/minutes/config.json
check 'what is chosen is in config.json' grep -q '"batch_size": 8,' ../out/minutes/config.json
check 'and the limit of its time' grep -q '"max_time": 3,' ../out/minutes/config.json
check 'and its optimizer' grep -q '"optimizer": "muon"' ../out/minutes/config.json
check 'and a convolution' grep -q '"conv": 4,' ../out/minutes/config.json
check 'one with a middle where both sides are seen' eval '$train --minutes 0.02 --task mlm --n-layer 1 --n-embd 24 \
    --threads 1 --dry-run $text >"$dir/stdout" 2>"$dir/err" && grep -q "conv 3" "$dir/err"'
check 'it is resumed with what was chosen' eval '$patience "$train" --resume ../out/minutes >"$dir/stdout" 2>"$dir/err"'
planned() { # OPTION...: what --minutes would do
    $patience "$train" --minutes 0.2 --n-layer 1 --n-embd 16 --n-head 2 --max-iters 9 --threads 1 --dry-run "$@" \
        >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")"
}
check 'minutes with a number of updates' planned --dropout 0.3 $text
check 'count these' said '^9 updates (given.*), reading the text 2.56 times;'
check 'and the dropout that is given' said '; dropout 0.3 (given)$'
check 'minutes with updates of many batches' planned --gradient-accumulation-steps 5 --max-iters 3 $text
check 'count all of these' said '^3 updates (given.*), reading the text 4.27 times;'
planned_layers() { # N OPTION...
    layers=$1
    shift
    $patience "$train" --minutes 0.02 --n-embd 16 --max-iters 9 --threads 1 --dry-run "$@" >"$dir/stdout" 2>"$dir/err" ||
        no "$(tail -n 1 "$dir/err")" || return
    said "^timing $layers x 16,.*"
}
timed_as_trained() { # OPTION...: the model that is timed is the one that would be trained
    planned "$@" || return
    timed=$(sed -n 's/^timing .*, \([0-9]*\) parameters,.*/\1/p' "$dir/err" | sort -u)
    said "^$timed parameters, "
}
check 'minutes have a layer for each mechanism' planned_layers 3 --attn relu,elu,exp $text
check 'minutes with options of the model' timed_as_trained --attn relu,softmax:window=8 --n-layer 2 --bias --tied --value-embedding --position learned $text
check 'minutes with options without which it would be refused' timed_as_trained --n-embd 27 --n-head 1 --position learned $text
check 'minutes of a gated unit' timed_as_trained --attn gau $text
check 'minutes with batches of several sizes' planned --batch-stages 4,12 $text
check 'take the largest' said ', batches of 12:'
check 'and count those of each' said ' reading the text 2.42 times'
check 'minutes with batches of several lengths' planned --lengths 16,48 --batch-size 3 $text
check 'take the longest' said ', context 48, batches of 3 (given):'
check 'minutes with a length for each part' planned --length-stages 48,16 --batch-size 3 $text
check 'take the longest as well' said ', context 48, batches of 3 (given):'
check 'minutes of standard input' planned - <$text
check 'know its size' said '^9 updates (given.*), reading the text 2.56 times;'
check 'minutes with tokens that are learned' timed_as_trained --task mlm --tokenizer char $text
check 'minutes of half of a text' planned --val-share 0.5 $text
check 'count what is read' said '^9 updates (given.*), reading the text 4.61 times;'
refused 'a text that is not there, before anything is timed' 4 'No such file' $train --minutes 600 ../in/nowhere
refused 'a FIFO, before anything is timed' 4 'is a FIFO' $train --minutes 600 ../in/fifo
refused 'too short a text, before anything is timed' 5 'too few' $train --minutes 600 ../in/one
refused 'sizes that contradict each other, before anything is timed' 2 'not the largest' $train --minutes 600 --batch-size 4 --batch-stages 4,8 $text
refused 'an option that does not apply, before anything is timed' 2 'does not apply' $train --minutes 600 --cooldown 0.3 $text
refused 'an existing run, before anything is timed' 2 '--resume continues' $train --minutes 600 --out-dir ../out/minutes $text
refused 'minutes of a run that goes on' 2 'use --max-time' $train --resume --minutes 1 ../out/minutes
refused 'minutes of a task without a text' 2 'does not apply to --task' $t --minutes 1 --task mqar
refused 'a shuffled text of many lengths' 2 'takes no --lengths' $t --shuffle --lengths 8,16 $text
refused 'a shuffled task' 2 'does not apply to --task' $t --shuffle --task mqar
check 'a run whose options are not the defaults' $patience "$train" $small --attn cosformer --lengths 8,16 --tied \
    --seed 18446744073709551615 --lr 0.0123 --val-file ../in/least --out-dir ../out/configured $text ../in/one >"$dir/stdout" 2>"$dir/err"
check 'its config.json gives the same run' configured again
check 'with the same weights' same_weights configured again
check 'and the same texts' grep -q '"in/text","bytes":2000\|/text","bytes":2000.*/one","bytes":1,.*/least","bytes":170' ../out/again/config.json
check 'the command line overrides it' configured other --max-iters 20 --seed 3 ../in/least
check 'and what follows from that' grep -q '"lr_decay_iters": 20,$' ../out/other/config.json
check 'but nothing else' grep -q '"learning_rate": 0.0123,$' ../out/other/config.json
check 'a configuration for another optimizer' configured other --overwrite --optimizer muon --max-iters 60 ../in/least
check 'leaves the rate that was given' grep -q '"learning_rate": 0.0123,$' ../out/other/config.json
check 'but not the default warm-up' grep -q '"warmup_iters": 2,$' ../out/other/config.json
check 'a warm-up beyond the decay' eval '"$train" $small --max-iters 9 --lr-decay-iters 3 --warmup-iters 5 --dry-run $text >"$dir/stdout" 2>"$dir/err"'
check 'gets a warning' said 'attn.c: warning: --warmup-iters 5 ends after --lr-decay-iters 3: .*'
warms_up() { "$train" $small --max-iters 9 --warmup-iters "$@" --dry-run $text >"$dir/stdout" 2>"$dir/err"; }
check 'a warm-up longer than the run' warms_up 10 --schedule constant
check 'gets a warning, too' said 'attn.c: warning: --warmup-iters 10: the run ends at update 9, before the peak of the rate'
check 'a warm-up until the end, where the rate is the least' warms_up 9
check 'gets a warning, too' said 'attn.c: warning: --warmup-iters 9: the run ends at update 9, before the peak of the rate'
check 'a warm-up until the end, where the rate is at its peak' warms_up 9 --lr-decay-iters 20
check 'gets none' eval '! grep -q warning "$dir/err"'
check 'a warm-up until the end of a constant rate' warms_up 9 --schedule constant
check 'gets none' eval '! grep -q warning "$dir/err"'
sed 's/"learning_rate": 0.0123/"learning_rate": 0.002/' ../out/configured/config.json >../out/usual.json
check 'default rates and decays as well' $patience "$train" --config ../out/usual.json --overwrite --out-dir ../out/other \
    --threads 1 --optimizer lion >"$dir/stdout" 2>"$dir/err"
check 'are those of the other optimizer' eval "grep -q '\"learning_rate\": 0.0007,\$' ../out/other/config.json &&
    grep -q '\"beta2\": 0.99,\$' ../out/other/config.json && grep -q '\"weight_decay\": 0.3,\$' ../out/other/config.json"
echo '{"version": "0.1", "task": "causal", "texts": [], "max_time": 110, "block_size": 16, "n_layer": 1, "n_embd": 16, "n_head": 1}' >../out/stories.json
check 'a configuration for the built-in stories' $patience "$train" --config ../out/stories.json --story-bytes 20000 --dry-run \
    >"$dir/stdout" 2>"$dir/err"
check 'has their time limit' said ' time limit 1m50s '
check 'and with a text' $patience "$train" --config ../out/stories.json --dry-run $text >"$dir/stdout" 2>"$dir/err"
check 'none' eval '! grep -q " time limit " "$dir/err"'
sed '/"command"/,$d; /"overwrite"\|"config"\|"dry_run"/d' ../out/configured/config.json | sed '$s/,$/}/' >../out/older.json
check 'a config.json of an older version works' $patience "$train" --config ../out/older.json --out-dir ../out/older --threads 1 $text ../in/one \
    >"$dir/stdout" 2>"$dir/err"
check 'and gives the same run' same_weights configured older
sed 's/"n_embd"/"n_embed"/' ../out/configured/config.json >../out/newer.json
refused 'a configuration with another option' 5 'did you mean n-embd?' $train --config ../out/newer.json
cp $text ../out/growing
echo '{"learning_rate": 0.002, "preset": "microgpt", "max_iters": 2, "sample_tokens": 0, "threads": 1,
    "texts": ["../out/growing"], "out_dir": "../out/by_hand"}' >../out/by_hand.json
check 'a configuration written by hand' $patience "$train" --config ../out/by_hand.json --n-embd 8 >"$dir/stdout" 2>"$dir/err"
by_hand() { grep -q "\"$1\": $2,\$" ../out/by_hand/config.json; }
check 'its preset holds'                by_hand block_size 16
check 'where nothing else is given,'    by_hand max_iters 2
check 'before it or after'              by_hand learning_rate 0.002
check 'and the command line has precedence' by_hand n_embd 8
check 'a file of that name is read'     by_hand tokenizer '"char"'
check 'a run of a preset goes on' $patience "$train" --resume ../out/by_hand --max-iters 3 >"$dir/stdout" 2>"$dir/err"
check 'and its preset is still named'   by_hand preset '"microgpt"'
cat ../in/one >>../out/growing
check 'the configuration of a run whose text has changed' $patience "$train" --config ../out/by_hand --dry-run >"$dir/stdout" 2>"$dir/err"
check 'it says so'                       said 'growing has changed since the run of --config: results will differ$'
check 'but not with another text' eval '$patience "$train" --config ../out/by_hand --dry-run $text >"$dir/stdout" 2>"$dir/err" &&
    ! grep -q "has changed" "$dir/err"'
named='"texts": ["../in/text"], "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 16, "max_iters": 2, "threads": 1'
echo "{$named, \"out_dir\": \"../out/named\", \"sample_tokens\": 0, \"horizon\": 0}" >../out/by_hand.json
by_hand_file() { $patience "$train" --config ../out/by_hand.json "$@" >"$dir/stdout" 2>"$dir/err"; }
check 'the folder that it names is begun' eval 'by_hand_file --auto-resume --stop-at 1; [ $? = 130 ] || no "$(cat "$dir/err")"'
check 'and resumed' eval 'by_hand_file --auto-resume && said "^resuming after step 1$"'
echo "{$named, \"minutes\": 0.01}" >../out/by_hand.json
check 'minutes in a file' eval 'by_hand_file --dry-run && said "^--minutes: 1 x 16, context 16"'
refused 'minutes and the configuration of a run' 2 'the --config of a run has all sizes' $train --config ../out/named --minutes 1
while IFS='|' read -r members why; do
    echo "{\"texts\": [\"../in/text\"], $members}" >../out/by_hand.json
    refused "the file's $members" 2 "$why" $train --config ../out/by_hand.json --dry-run
done <<'end'
"attn": "relu", "scale": "entropy"|--scale does not apply to --attn relu
"attn": "softmax", "horizon": 64|--horizon does not apply to --attn softmax
"min_lr": 1|--min-lr 1 is above
"labels": "../in/text"|--labels FILE needs --task classify
"items": 3|--items does not apply to --task causal
"mask_share": 0.5|--mask-share does not apply to --task causal
"story_bytes": 30000|a text is given
"task": "mqar"|takes no text, but got
"optimizer": "adamw", "momentum": 0.5|--momentum
"val_file": "../in/text", "val_share": 0.2|takes no --val-share
end
echo '{"texts": [3]}' >../out/by_hand.json
refused 'texts that are no files'        5 'such as ["corpus.txt"]' $train --config ../out/by_hand.json
echo '{"config": "../out/by_hand"}' >../out/by_hand.json
refused 'a configuration of another one' 5 'cannot name another'     $train --config ../out/by_hand.json
echo '{"attn": "cosfomer"}' >../out/by_hand.json
refused 'a misspelt mechanism in a file' 5 'did you mean cosformer?' $train --config ../out/by_hand.json
echo '{"preset": "fast"}' >../out/by_hand.json
refused 'a preset that there is not'     5 'must be one of nanogpt'  $train --config ../out/by_hand.json
echo '{"resume": true}' >../out/by_hand.json
refused 'a configuration that resumes'   2 'it takes no --config'    $train --config ../out/by_hand.json
echo '{"auto_resume": true}' >../out/by_hand.json
refused 'one that may resume'            2 'for the command line'    $train --config ../out/by_hand.json
tree ../out >"$dir/dry"
check 'a dry run' $patience "$train" $small --max-iters 1000 --dry-run $text >"$dir/stdout" 2>"$dir/err"
check 'it prints the model' said '^[0-9]* parameters, .* MFLOP per token, about [0-9]* MiB of memory$'
check 'that it writes nothing' said '; nothing is written$'
unmeasured() { said '^1 thread, vectors of [0-9]* bits, seed 1337;'; }
check 'of a run this short it does not measure the peak' unmeasured
check 'and how long it would take' grep -q '^expected time [0-9]*s, at [0-9.]* ms per update$' "$dir/stdout"
check 'a dry run of a long run' $patience "$train" $small --max-iters 1000000 --dry-run $text >"$dir/stdout" 2>"$dir/err"
check 'it measures the peak' said '^1 thread, vectors of [0-9]* bits, peak [1-9][0-9]* GFLOP/s, seed'
check 'a dry run of a gated unit' $patience "$train" --attn gau --n-layer 1 --n-embd 16 --block-size 16 --dry-run $text >"$dir/stdout" 2>"$dir/err"
check 'it has one head by default' said '^gau attention .*, 1 x 16, 1 head,'
check 'a dry run of resuming' $patience "$train" --resume --dry-run ../out/configured >"$dir/stdout" 2>"$dir/err"
check 'nothing was written' eval 'tree ../out | cmp -s - "$dir/dry" && lone'
check 'help of a number whose zero means something else' eval '"$sample" help temperature | grep -q "0: .*(0.8)$"'
check 'help has the defaults of all mechanisms' helps out-norm '(none; rms in retnet, decay, lightning, deltanet, gated-delta, kda, rwkv7, gla; all in mamba2)'
check 'and those of a flag' helps out-gate '(off; on in retnet,'
check 'and of a number' helps conv '(0: none; masked models: N odd; 4 in mamba2 (masked: 3), deltanet, gated-delta, kda)'
check 'help of an option' eval '"$train" help lr | grep -q "^  --learning-rate X .*also --lr"'

# Another mechanism for a run: what the old one had by default is not the new one's.
first_line() { $patience "$train" --dry-run --threads 1 "$@" $text 2>&1 | sed -n 1p; }
shape='--n-layer 2 --n-embd 32 --block-size 16 --max-iters 1'
for old in softmax gau gla deltanet cosformer; do
    $patience "$train" $shape --attn $old --eval-iters 1 --sample-tokens 0 --threads 1 --out-dir ../out/old-$old $text \
        >"$dir/stdout" 2>"$dir/err"
    for new in softmax gau gla deltanet retnet mamba2 hedgehog efficient fastformer local; do
        wanted=$(first_line $shape --attn $new)
        check "$new after $old" eval 'case $wanted in "$new "*) ;; *) no "$wanted" ;; esac'
        [ $old = $new ] || check "--config of $old with $new" [ "$(first_line --config ../out/old-$old --attn $new)" = "$wanted" ]
        case $old,$new in softmax,gla | softmax,retnet | deltanet,softmax)
            check "--init of $old with $new" [ "$(first_line $shape --init ../out/old-$old --attn $new)" = "$wanted" ] ;;
        esac
    done
done
$patience "$train" $shape --attn softmax --window 5 --n-head 2 --position learned --eval-iters 1 --sample-tokens 0 --threads 1 \
    --out-dir ../out/own $text >"$dir/stdout" 2>"$dir/err"
check 'but what was asked for is' [ "$(first_line --config ../out/own --attn relu)" = \
    "$(first_line $shape --attn relu --window 5 --n-head 2 --position learned)" ]
refused 'resuming with another share held back' 2 'keeps --val-share 0.1' $train --resume --val-share 0.2 --max-iters 2 --out-dir ../out/own

# The weights of a run in another one.
begins() { # FOLDER OPTION...
    folder=$1 && shift
    rm -rf "../out/$folder"
    $patience "$train" --init "../out/${from:-configured}" --out-dir "../out/$folder" --threads 1 --max-iters 2 \
        "$@" $text >"$dir/stdout" 2>"$dir/err"
}
check 'a run begins with the weights of another' begins again
check 'all of them' said '^starts with [0-9]* tensors of ../out/configured/model.safetensors$'
check 'and --config repeats one of another mechanism' eval 'begins first --attn relu && part 0 again --config ../out/first && same_weights first again'
check 'or with another tokenizer' eval 'begins first --tokenizer char && part 0 again --config ../out/first && same_weights first again'
check 'and with --init its options come first' eval 'begins first --attn relu --n-layer 1 && $patience "$train" --config ../out/first --init ../out/configured --threads 1 \
    --overwrite --out-dir ../out/again >"$dir/stdout" 2>"$dir/err" && same_weights first again'
check 'a run begins once more' begins again
check 'with its options of the model' grep -q '"n_head": 2,$' ../out/again/config.json
check 'with others' begins other --task mlm --block-size 12 --position learned --freeze embed,blocks.0
check 'and lists what is new' said '; initialised: embed from row 256 on, position$'
check 'and says what is trained' said ' parameters to train, '
check 'it can be resumed' $patience "$train" --resume --max-iters 3 --out-dir ../out/other --threads 1 >"$dir/stdout" 2>"$dir/err"
refused 'resuming with other frozen weights'  2 'keeps --freeze embed,blocks.0' \
    $train --resume --max-iters 4 --freeze embed --out-dir ../out/other
$train $small --attn relu --bias --tied --no-residual --out-gate --out-dir ../out/flags $text >"$dir/stdout" 2>"$dir/err"
from=flags
check 'flags of the model' begins again
from=
check 'are those of the run' eval "grep -q '\"bias\": true' ../out/again/config.json &&
    grep -q '\"residual\": false' ../out/again/config.json && grep -q '\"out_gate\": true' ../out/again/config.json"
check 'so that everything is copied' said '^starts with [0-9]* tensors of ../out/flags/model.safetensors$'
$train $small --attn fastformer --share qv,layers --out-dir ../out/flags --overwrite $text >"$dir/stdout" 2>"$dir/err"
from=flags
check 'weights that are shared' begins again
from=
check 'are shared again' said '^starts with [0-9]* tensors of ../out/flags/model.safetensors$'
check 'by the same' grep -q '"share": "qv,layers"' ../out/again/config.json
refused 'resuming with other shared weights' 2 'keeps its model: --share qv,layers, not qv' \
    $train --resume --max-iters 4 --share qv --out-dir ../out/again
$train $small --task mlm --tokenizer bpe:280 --out-dir ../out/flags --overwrite $text >"$dir/stdout" 2>"$dir/err"
refused 'resuming with another share masked' 2 'keeps --mask-share 0.15' \
    $train --resume --max-iters 4 --mask-share 0.3 --out-dir ../out/flags
refused 'resuming with whole words masked' 2 'keeps --whole-word off' \
    $train --resume --max-iters 4 --whole-word --out-dir ../out/flags
labelled() { # OPTION...
    rm -rf ../out/again
    $patience "$train" --init ../out/flags --task classify --seed 3 --max-iters 2 --threads 1 --out-dir ../out/again "$@" \
        >"$dir/stdout" 2>"$dir/err"
}
check 'built-in labels have the tokens of the run' labelled
check 'so that its embedding is copied' said '; initialised: head; not used: head$'
printf 'good\tfine\nbad\tpoor\ngood\tfine film\nbad\tpoor film\n' >../in/few.tsv
check 'and labels of a file' labelled --labels ../in/few.tsv --val-share 0.5
check 'as well' said '; initialised: head; not used: head$'
check 'unless others are asked for' labelled --tokenizer bpe:280
check 'whose embedding is new' said '; initialised: embed, head; not used: embed, head$'
$train $small --task classify --pool attention --out-dir ../out/flags --overwrite >"$dir/stdout" 2>"$dir/err"
check 'a classifier begins as another one' labelled
check 'with its pooling' said '^starts with [0-9]* tensors of ../out/flags/model.safetensors$'
check 'which is in its options' grep -q '"pool": "attention"' ../out/again/config.json
$train --resume ../out/again --max-iters 3 >"$dir/stdout" 2>"$dir/err"
check 'resumed, it still says where it began' grep -q '"init": "../out/flags"' ../out/again/config.json
refused 'weights of another width'            2 '--init: the run has --n-embd' $train --init ../out/configured --n-embd 64 $text
refused 'weights of another shape'            2 'blocks.0.ffn.up is ' $train --init ../out/configured --ffn swiglu $text
refused 'weights of an empty file'                  4 'No such file' $train --init ../out/nowhere $text
refused 'weights of a text'                   5 'in/text' $train --init $text $text
refused '--init with --resume' 2 'takes no --init' $train --resume --init ../out/configured
refused 'freezing nothing'                    2 'some names are embed' $train --freeze nose --block-size 8 $text
refused 'an option too long for a checkpoint'  2 '--freeze is too long to be saved' \
    $train --freeze "$(printf 'blocks.*.attn.w*,%.0s' $(seq 63))embed" --block-size 8 $text
refused 'freezing everything'                 2 'nothing to train' $train --freeze '*' --block-size 8 $text
rm -r ../out/again ../out/other ../out/older ../out/flags ../out/*.json

# --- going on ------------------------------------------------------------------------------------

same_run() { # FOLDER FOLDER
    for file in model.safetensors best.safetensors loss.svg; do
        cmp -s "../out/$1/$file" "../out/$2/$file" || no "$file differs" || return
    done
}
whole_steps=$steps
check 'a whole run' part 0 whole $whole_steps $text
for cut in 1 4 7 9; do
    check "a run that stops at $cut" part 130 cut $steps --stop-at $cut $text
    check 'what it says' said "^stopped at step $cut of 10: --stop-at$"
    check 'its text is known' part 0 cut --resume
    check "a run interrupted at $cut equals an uninterrupted one" same_run cut whole
    check 'its log records the resumed step' [ "$(sed -n 's/^{"step":\([0-9]*\),"split":"start".*/\1/p' \
        ../out/cut/log.jsonl | tr '\n' ' ')" = "0 $cut " ]
    check 'and where it ended' [ "$(grep -c '"peak_memory"' ../out/cut/log.jsonl)" = 2 ]
done
check 'a run that stops at 3' part 130 again $steps --stop-at 3 $text
check 'and at 5' part 130 again --resume --stop-at 5
refused 'stopping where a run is already' 2 'is at update 5 already' $train --resume --stop-at 5 ../out/again
refused 'fewer updates than there were' 2 '--max-iters 4: the run is at update 5' $train --resume --max-iters 4 ../out/again
refused 'an average of weights that begins late' 2 'keeps its average: it has no --ema' $train --resume --ema 0.9 ../out/again
refused 'stopping where a run has been' 2 '--stop-at 3' $train --resume --stop-at 3 ../out/again
check 'and goes on with other threads' part 0 again --resume --threads 2 $text
check 'a run interrupted twice equals an uninterrupted one' same_run again whole
many="$steps --grad-clip 0.1 --gradient-accumulation-steps 2 --lengths 8,16 --ema 0.9 --dropout 0.2 --beta1 0.8
    --weight-decay 0.3 --cautious-decay --skip-spikes 3 --min-lr 0.001 --warmup-iters 3"
check 'a run of many options' part 0 many $many $text
check 'that stops' part 130 less $many --stop-at 5 $text
check 'and goes on' part 0 less --resume
check 'with all of them' same_run less many
check 'a run with --recompute stops at 4' part 130 less $steps --recompute --stop-at 4 $text
check 'and goes on to 5' part 130 less --resume --stop-at 5
check 'with it' grep -q '"recompute": true,$' ../out/less/config.json
check 'and resumes without' part 0 less --resume --no-recompute
check 'to the same end' same_run less whole
check 'a run with products in bf16' part 0 halves $steps --precision bf16 $text
check 'says how they are computed' said '^bf16 products \(with VDPBF16PS\(, slower here than bf16-tiles\)\?\|in plain C\)$'
check 'and records it' grep -q '"precision": "bf16"' ../out/halves/config.json
check 'a run in bf16 stops at 4' part 130 cut $steps --precision bf16 --stop-at 4 --threads 1 $text
check 'and goes on' part 0 cut --resume --threads 2
check 'in bf16, to the same end' same_run cut halves
check 'which is not that of floats' differ ../out/cut/model.safetensors ../out/whole/model.safetensors
check 'a run with products in tiles' part 0 in_tiles $steps --precision bf16-tiles --threads 1 $text
check 'says how those are computed' said '^bf16-tiles products \(on AMX tiles\|in plain C\)$'
check 'two threads in tiles' part 0 in_two $steps --precision bf16-tiles --threads 2 $text
check 'come to the same end' same_run in_tiles in_two
check 'which is not that of pairs' differ ../out/in_tiles/model.safetensors ../out/halves/model.safetensors
check 'a complete run has nothing left to do' part 0 again --resume
check 'and stays the same' same_run again whole
command() { sed -n '/^to .*:$/{n;p;}' "$dir/err"; } # what is printed, for a shell
pasted() { # CODE FOLDER OPTION...
    part "$@" && $patience sh -c "$(command)" >"$dir/stdout" 2>"$dir/err" || no "$(command; cat "$dir/err")"
}
odd="it's \$(1) *\\"
check 'the printed command resumes the run' pasted 130 "$odd" $steps --stop-at 4 $text
check 'and leads to the same end' same_run "$odd" whole
check 'a name with control characters, too' pasted 130 "a'${newline}b${escape}c" $steps --stop-at 4 $text
check 'which do not reach the terminal' no_controls
check 'a run that is validated on standard input' part 130 piped $steps --stop-at 4 --val-file - $text <$text
check 'needs it again' said '^to continue, with the same text on standard input:$'
check 'and one with labels from there' part 130 piped $steps --stop-at 4 --task classify --labels ../in/few.tsv --labels-val - <../in/few.tsv
check 'needs them again' said '^to continue, with the same text on standard input:$'
check 'the printed command trains longer' pasted 0 longer $steps $text
check 'it trains twice as long' said '^stopped at step 20 of 20: all updates are done'
check 'with the options of this part of the run' part 130 longer --resume --max-iters 30 \
    --stop-at 25 --threads 1 --max-time 1h30m
check 'as they are written again' said '^    .*/train --resume ../out/longer --max-time 5400s --threads 1$'
goes_on() { $patience "$train" "$@" >"$dir/stdout" 2>"$dir/err"; }
check 'its folder may be the first word' goes_on --resume ../out/again

# The newest checkpoint is damaged.
check 'a run that stops at 7' part 130 cut $steps --stop-at 7 $text
mkdir ../out/sound
cp ../out/cut/* ../out/sound
damage() { printf damaged | dd of="../out/cut/$1" bs=1 seek=9000 conv=notrunc 2>/dev/null; }
damage model.safetensors
warned() { # of both files and the fault, in one line
    [ "$(grep -c '^attn.c: warning: .*/model.safetensors is damaged: attnc.hash.*, previous.safetensors of step 4$' "$dir/err")" = 1 ] &&
        [ "$(grep -c 'warning\|error' "$dir/err")" = 1 ] || no "$(cat "$dir/err")"
}
uses_previous() { $patience "$@" >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")" || return; warned; }
check 'eval of a damaged run uses the previous checkpoint' uses_previous "$evaluate" --lengths 16 ../out/cut
check 'so does sample' uses_previous "$sample" --tokens 3 ../out/cut
check 'and analyse' uses_previous "$analyse" ../out/cut
check 'and tokenize' uses_previous "$tokenize" --run ../out/cut $text
check 'and export' uses_previous "$export" ../out/cut ../out/exported
check 'and a run that starts with it' uses_previous "$train" --init ../out/cut --dry-run $text
check 'and a dry run of resuming' uses_previous "$train" --resume --dry-run ../out/cut
rm -r ../out/exported
check 'a named file is used, or none' eval '! "$sample" --tokens 3 ../out/cut/model.safetensors >/dev/null 2>&1'
rm ../out/cut/best.safetensors
check 'a report of a damaged run' $patience "$report" -o ../out/r.html --text $text ../out/cut >"$dir/stdout" 2>"$dir/err"
check 'has maps of the previous checkpoint' grep -q 'class="map"' ../out/r.html
check 'a damaged run resumes from the previous checkpoint' part 0 cut --resume
check 'and says so' warned
check 'it ends as if it had not been damaged' same_run cut whole
cp ../out/sound/* ../out/cut
damage model.safetensors
damage previous.safetensors
tree ../out/cut >"$dir/dry"
refused 'both checkpoints damaged' 5 'model.safetensors is damaged: ' $train --resume ../out/cut
refused 'both, for other programs' 5 '; the previous checkpoint fails, too: ' "$sample" ../out/cut
check 'nothing of it is changed' eval 'tree ../out/cut | cmp -s - "$dir/dry"'
cp ../out/sound/* ../out/cut
rm -r ../out/sound
check 'a run is resumed' part 0 cut --resume

cp ../in/text ../in/other
echo more >>../in/other
killed() { # in the middle of whatever it does; what it left is whole
    "$train" $steps --max-iters 100000000 --eval-interval 20 --out-dir ../out/killed $text >/dev/null 2>&1 &
    job=$! tenths=0
    until [ -s ../out/killed/model.safetensors ] || [ $((tenths += 1)) -gt 600 ]; do sleep 0.1; done
    sleep 0.5
    kill -KILL $job
    wait $job 2>/dev/null
    job=
    part 0 killed --resume --max-time 1s && safetensors_is_valid ../out/killed/best.safetensors
}
check 'a killed run can be resumed' killed
killed_early() {
    rm -rf ../out/killed
    steps="$steps --eval-interval 100000000 --save-interval 0.1s"
    killed
}
check 'a run killed before its first evaluation can be resumed' killed_early
rm -rf ../out/broken
check 'a run' part 0 broken $small $text
check 'whose weights become infinite' part 1 broken --resume --max-iters 9 --lr-decay-iters 9 --stop-at 4 --lr 1e300
check 'it says so' said 'diverged at step 4: numbers that are not finite in '
check 'keeps its last checkpoint' $patience "$evaluate" ../out/broken >"$dir/stdout" 2>"$dir/err"
check 'a run that ends with an infinite loss' part 1 huge $small --max-iters 1 --lr 3e38 --warmup-iters 0 \
    --weight-decay 0 --schedule constant --position learned $text
check 'has diverged' said 'the validation loss is not finite'
check 'a run without its spikes' part 0 spikes $small --max-iters 200 --log-interval 100 --skip-spikes 0.5 $text
skipped=$(grep -c 'step [0-9]* skipped: .* standard deviations above its recent mean$' "$dir/err")
check 'skips some' [ "$skipped" -gt 0 ]
check 'and counts them' grep -qx "of the run's 200 updates $skipped were skipped" "$dir/stdout"
check 'a run with rates to 0' part 0 longer0 $small --min-lr 0 $text
check 'is made longer' part 0 longer0 --resume --max-iters 9 --log-interval 1
rate_of() { sed -n "s/.*\"step\":$2,\"split\":\"train\".*\"lr\":\([^,]*\).*/\1/p" ../out/$1/log.jsonl; }
check 'by updates that change it' [ "$(rate_of longer0 7)" != 0 ]
resume="$train --resume --out-dir ../out/cut"
cp $text ../in/held
check 'a run with a validation text' part 0 valued $small --val-file ../in/held $text
rm ../in/held
refused 'resuming without its validation text' 4 '--val-file says where it is' $train --resume ../out/valued
mkdir ../out/dead && cp ../out/valued/log.jsonl ../out/dead
refused 'a run without a checkpoint'           4 'killed before its first checkpoint' $train --resume ../out/dead
cp ../out/valued/best.safetensors ../out/dead
refused 'a run with no weights but the best'   4 'only best.safetensors: name that file' "$sample" ../out/dead
refused 'resuming a run with no other weights' 4 '--init ../out/dead/best.safetensors starts a new run' $train --resume ../out/dead
refused 'resuming nothing'               2 'folder of a run'   $train --resume
refused 'resuming a folder without a run'                4 "not a run's folder" $train --resume --out-dir ../in
refused 'resuming into another folder'        2 'copy it first'      $train --resume ../out/cut --out-dir ../out/copy
refused 'resuming a run that is named twice'  2 'is at update'       $train --resume ../out/cut --out-dir ../out/cut --stop-at 1
refused 'resuming with another text'          5 'differs from'       $resume ../in/other
refused 'resuming a run that is named last'     5 'differs from'       $train ../in/other --resume ../out/cut
mv "$text" ../in/moved
refused 'resuming without its text'               4 "if it has moved, give its path after the run's" $resume
refused 'evaluating without its text'             4 "if it has moved, give its path after the run's" "$evaluate" ../out/cut
mv ../in/moved "$text"
refused 'resuming with another model'         2 'its model: --n-layer 1, not 2' $resume --n-layer 2
refused 'resuming with another attention'     2 '--attn softmax, not relu'   $resume --attn relu
refused 'resuming with another optimizer'     2 'adamw, not muon'   $resume --optimizer muon
refused 'resuming with another task'          2 'its task: causal, not mlm'    $resume --task mlm
check 'a run on generated rows' part 0 generated $small --task copy
refused 'resuming with other rows'            2 'its task: copy, not mqar'     $train --resume --task mqar ../out/generated
refused 'resuming with rows of another length' 2 'keeps --items 0'           $train --resume --items 2 --max-iters 8 ../out/generated
refused 'resuming with another tokenizer'     2 'its tokenizer: byte, not char' $resume --tokenizer char
listed() { ls -lA --time-style=full-iso ../out/whole; }
listed >"$dir/listed"
refused 'a new run in the folder of another'  2 '--resume continues it, --overwrite starts over' \
    $t --out-dir ../out/whole $text
refused 'overwriting without an out-dir'       2 '--out-dir FOLDER'  $t --overwrite $text
refused 'overwriting and resuming'            2 'give only one'  $train --resume --overwrite ../out/whole
auto() { # CODE OPTION...: the same command as always, and its options
    code=$1 && shift
    $patience "$train" --auto-resume --out-dir ../out/auto $whole_steps "$@" $text >"$dir/stdout" 2>"$dir/err"
    [ $? -eq "$code" ] || no "not $code: $(tail -n 1 "$dir/err")"
}
check 'a command that starts a run' auto 130 --stop-at 3
check 'continues it the next time' auto 0 --init ../in/nowhere
check 'and it is the same run' same_run auto whole
cp -p ../out/auto/model.safetensors ../out/auto.before
check 'which is left alone when it has ended' auto 0
check 'to the byte' cmp -s ../out/auto/model.safetensors ../out/auto.before
rm ../out/auto/*.safetensors
check 'without a checkpoint it starts over' auto 0
check 'with the same result' same_run auto whole
refused '--auto-resume without a folder'      2 '--out-dir FOLDER'  $t --auto-resume $text
refused '--auto-resume with --resume'         2 'takes no --resume' $train --auto-resume --resume ../out/auto
refused '--auto-resume with --overwrite'      2 'takes no --overwrite' $t --auto-resume --overwrite --out-dir ../out/auto $text
refused 'overwriting with no text'            5 'is empty'  $t --overwrite --out-dir ../out/whole ../in/empty
untouched() { listed | grep -v ' \.' | cmp -s - "$dir/listed"; }
check 'a run that is not overwritten is not touched' untouched
not_overwritten() { part 1 cut $steps --max-iters 30 --learning-rate 1e30 $text && said 'the new one saved nothing' && same_run cut whole; }
check 'nor is one by a run that diverges' not_overwritten
check 'resuming with another text on purpose' part 0 cut --resume --max-iters 11 \
    --allow-corpus-change ../in/other
check 'which the best loss is of' says '^best evaluation [0-9.]* at step 11$'
rm -f ../in/other
mkdir ../out/older
cp "$root/tests/checkpoints/version-4-cosformer.safetensors" ../out/older/model.safetensors
check 'a run of an older version can be resumed' part 0 older --resume --max-iters 801 --allow-corpus-change $text
check 'with the rotation that it had' grep -q '"rope_ladder": "2d"' ../out/older/config.json
rm -r ../out/older

for optimizer in muon sgd lion; do
    options="$steps --optimizer $optimizer --schedule wsd"
    check "a run of $optimizer that stops" part 130 $optimizer $options --stop-at 6 $text
    check 'goes on' part 0 $optimizer --resume
    check "a run of $optimizer that does not" part 0 $optimizer-whole $options $text
    check 'is the same' same_run $optimizer $optimizer-whole
done
refused 'a momentum for an optimizer without one'              2 'it is for muon, sgd' $t --momentum 0.9 $text
refused 'a beta of sgd'                       2 'does not apply'     $t --optimizer sgd --beta1 0.9 $text
refused "AdamW's Newton-Schulz steps"         2 'it is for muon'    $t --ns-steps 3 $text
refused "Nesterov's momentum of muon"         2 'it is for sgd'     $t --optimizer muon --nesterov $text
refused 'a cooldown for a schedule without one'              2 'does not apply'     $t --cooldown 0.5 $text
refused 'a final rate that is never used'     2 'to --schedule constant' $t --schedule constant --min-lr 1e-4 $text
refused 'a final rate above the first'        2 'is above'          $t --min-lr 1e-3 --lr 1e-4 $text
refused 'a stop that never comes'             2 'ends at update 9'  $t --max-iters 9 --stop-at 10 $text
refused 'a decay that never comes'            2 'to --schedule constant' $t --schedule constant --lr-decay-iters 9 $text
refused 'units of a layer that is not there'  2 'to --ffn none'     $t --ffn none --n-inner 64 $text
refused 'more mechanisms than layers'         2 'for 2 layers'      $t --attn relu,elu,exp --n-layer 2 $text
refused 'a changed text of a new run'         2 'for --resume'      $t --allow-corpus-change $text
refused 'initial weights beside --init'       2 "the run's"         $t --init ../out/muon-whole --init-out zero $text

works_with_a_board() { # an event file begins with 24 as a length, and its CRC
    set -- "../out/board/events.out.tfevents."*
    [ -s "$1" ] && [ "$(head -c 12 "$1" | od -An -tx1 | tr -d ' ')" = 1800000000000000a37f4b22 ] || return
    for tag in train/loss val/loss final/loss optimizer/grad_norm config/text_summary; do
        grep -aq "$tag" "$1" || no "$tag" || return
    done
}
check 'a run with TensorBoard files' part 0 board $steps --tensorboard $text
check "TensorBoard's file is there" works_with_a_board
check 'a run with TensorBoard files is resumed' part 0 board --resume --max-iters 12
check 'and has another file' [ "$(echo ../out/board/events.* | wc -w)" -eq 2 ]

# --- tokenizers, and tasks whose rows are made -----------------------------------------------------

works 'a run of characters' --tokenizer char $text
letters=$run
check 'a loss of characters' says '^validation loss [0-9.]* nats/character, .* bits/byte '
check 'the checkpoint has the tokenizer' grep -aq '"attnc.tokenizer":"char' "$run/model.safetensors"
works 'a run of pairs of bytes' --tokenizer bpe:300 $text
check 'a loss of tokens' says '^validation loss [0-9.]* nats/token, .* bits/byte '
works 'masked characters' --tokenizer char --task mlm $text
characters=$run
check 'a run of pairs that stops' part 130 bpe $steps --tokenizer bpe:270 --stop-at 5 $text
check 'has its tokens when it goes on' part 0 bpe --resume
for from in ../out/bpe ../out/bpe/tokenizer.json; do
    works "a run on another text with the tokenizer of ${from#../out/}" --tokenizer $from "$train"
    check 'the tokenizer is the same' cmp -s ../out/bpe/tokenizer.json "$run/tokenizer.json"
done
works 'a run on the same text with that tokenizer' --tokenizer ../out/bpe $text
compared() { # HEADING RUN...: what says so is there once, and no tokenizer is shown as a difference
    words=$1 && shift
    "$report" -o ../out/compared.html "$@" 2>"$dir/err" &&
        [ "$(grep -c "$words" ../out/compared.html)" = 1 ] && ! grep -q "tokenizer$(printf '\302\240')" ../out/compared.html
}
check 'losses with it can be compared' compared '^<h2>.*bpe:270 · [^<]*<' ../out/bpe "$run"
check 'those with another cannot' compared 'In 2 groups' ../out/bpe "$letters"
refused 'resuming with a tokenizer from elsewhere' 2 'its tokenizer: bpe:270, not ../out/' \
    $train --resume "$run" --tokenizer "$characters" --max-iters 8
check 'resuming with where it was from' part 0 "${run#../out/}" --resume --tokenizer ../out/bpe --max-iters 8
refused 'a tokenizer from a text'  5 "$text has no value at byte 0" $t --tokenizer $text $text
refused 'a tokenizer from a folder without one' 4 'has no tokenizer.json' $t --tokenizer ../in/folder $text
works 'three lengths' --lengths 4,8,16 $text
check 'the lengths are in the configuration' grep -q '"lengths": \[4,8,16\],$' "$run/config.json"
works 'lengths and sizes in turn' --length-stages 8,16 --batch-size 4 --batch-stages 1,3,4 $text
check 'the sizes are in the configuration' grep -q '"batch_stages": \[1,3,4\],$' "$run/config.json"
check 'a dry run takes more steps than the run has' $patience "$train" $small --max-iters 1 --batch-size 4 \
    --batch-stages 2,4 --length-stages 8,16 --dry-run $text
refused 'lengths drawn and in turn'           2 'give one'     $t --length-stages 8 --lengths 8,16 $text
refused 'shuffled batches of several sizes'   2 'takes no --batch-stages' $t --shuffle --batch-stages 2,4 $text
check 'a shuffled run' part 0 shuffled $small --shuffle $text
refused 'shuffled batches of another size' 2 'keeps --batch-size 2' $train --resume --max-iters 4 --batch-size 4 ../out/shuffled
refused 'more shuffled batches for an update' 2 'keeps --gradient-accumulation-steps 1' \
    $train --resume --max-iters 4 --gradient-accumulation-steps 2 ../out/shuffled
refused 'a batch larger than any stage'        2 'which is 4'        $t --batch-size 5 --batch-stages 2,4 $text
refused 'a length that one size does not fit' 2 '--length-stages 16' $t --block-size 24 --batch-stages 1,2 \
    --length-stages 16,24 $text
refused 'an unknown tokenizer'       2 'or the path of a run' $t --tokenizer word $text
refused 'a length that does not fit'          2 '--lengths 5'       $t --lengths 5 $text
refused 'a length beyond the context'         2 'longer than the context' $t --lengths 32 $text

two='../in/text ../in/least'
check 'two texts are classified' part 0 classes $small --block-size 8 --task classify $two
check 'how often' says '^validation loss .* nats/window, .* accuracy [0-9.]*%'
check 'and how often without a model' says '^for comparison: guessing is right 50.0% of the time'
head -c 20 $text >../in/w; head -c 8 ../in/w >../in/w1; head -c 16 ../in/w | tail -c 8 >../in/w2; tail -c 8 ../in/w >../in/w3
share_of() { "$classify" --csv --top 2 ../out/classes "../in/$1" 2>/dev/null | sed -n 's/.*,"text",//p'; }
check 'a long text has the mean of its windows, the last of which ends with it' \
    awk "BEGIN { d = $(share_of w) - ($(share_of w1) + $(share_of w2) + $(share_of w3)) / 3; exit d * d > 1e-12 }"
cp $text ../in/one-class
check 'a run on a copy of a class' part 0 copied $small --block-size 8 --task classify ../in/one-class $two
tr a b <$text >../in/one-class
refused 'resuming with another text of a class' 5 'differs from' $train --resume --max-iters 9 ../out/copied
refused 'classification of one text'                 2 '2 to 256 files'     $t --task classify $text
refused 'a file as two classes'               2 'text is given twice' $t --task classify $text $two
mkdir ../in/en ../in/de ../in/en/more && cp $text ../in/en/corpus.txt && cp ../in/least ../in/de/corpus.txt &&
    cp $text ../in/en/more/corpus.txt
check 'classes of files of one name' $patience "$train" $small --max-iters 1 --block-size 8 --task classify --out-dir ../out/folders \
    ../in/en/corpus.txt ../in/de/corpus.txt >"$dir/stdout" 2>"$dir/err"
check 'are named after their folders' eval '"$classify" ../out/folders ../in/one 2>/dev/null | grep -q "^\(en\|de\)/corpus$(printf "\t")"'
check 'as texts to evaluate are' eval 'mkdir ../in/en/more/de && cp ../in/least ../in/en/more/de/corpus.txt &&
    $patience "$evaluate" ../out/folders ../in/en/more/de/corpus.txt >"$dir/stdout" 2>"$dir/err"'
refused 'a text of neither folder'            2 'one of en/corpus, de/corpus' "$evaluate" ../out/folders ../in/en/more/corpus.txt
refused 'classes and a validation file'       2 '--val-file'        $t --task classify --val-file $text $two

films >../in/labels.tsv
printf '"good, really","a ""fine"" film"\nbad,"a\npoor\nfilm"\n"good, really",fine\nbad,poor\n' >../in/labels.csv
printf 'same\ta\ta\nother\ta\tb\nsame\tb\tb\nother\tb\ta\n' >../in/pairs.tsv
printf 'good\tfine\nbad\t\n' >../in/no-text.tsv
printf 'good\tfine\n\tpoor\n' >../in/no-label.tsv
printf 'good\tfine\nbad poor\n' >../in/no-tab.tsv
printf 'good\tfine\nbad\tpo\0or\n' >../in/zero.tsv
printf 'good,fine\nbad,"po"or\n' >../in/quotes.csv
printf 'good,fine\nbad,"poor\n\n' >../in/open.csv
printf 'good\tfine\nworse\tpoor\n' >../in/unknown.tsv
tree ../in >"$dir/before"
check 'labelled texts are learned' part 0 labels $labels ../in/labels.tsv --labels-val ../in/labels.tsv --block-size 12
check 'how well' says '^validation loss .* nats/row, .* accuracy [0-9.]*%, macro-F1 [0-9.]* (all 4 targets'
check 'a warning says that they are validated on themselves' tell 'labels.tsv is trained on and validated on: results say'
check 'cut texts are counted' tell '^4 of 8 rows are longer than the context and are cut; guessing is right 50.0% of the time$'
check 'the labels are in the configuration' grep -q '"label_names": \["bad","good"\],$' ../out/labels/config.json
check 'and in the checkpoint' grep -aq '"attnc.option.label.1":"good"' ../out/labels/model.safetensors
check 'macro-F1 is in the log' grep -q '"split":"val",.*"macro_f1":' ../out/labels/log.jsonl
check 'labels in CSV, with attention' part 0 quoted $labels ../in/labels.csv --val-share 0.5 --pool attention
check 'have commas' grep -q '"label_names": \["bad","good, really"\],$' ../out/quoted/config.json
check 'a report of two files of labels' $patience "$report" -o ../out/r.html ../out/labels ../out/quoted >"$dir/stdout" 2>"$dir/err"
check 'has a group for each' eval "grep -q ' labels.tsv<' ../out/r.html && grep -q ' labels.csv<' ../out/r.html"
check 'pairs are learned' part 0 pairs $labels ../in/pairs.tsv --val-share 0.5 --pool first
check 'and compared' part 0 compared $labels ../in/pairs.tsv --val-share 0.5 --pairs towers
planned() { # PRESET, on what its line in --help asks for
    case $("$train" --help | sed -n "/^  $1 /,/^  [a-z]/p" | head -n 2) in
    *'two texts'*) set -- "$1" --labels ../in/pairs.tsv --val-share 0.5 ;;
    *--labels*) set -- "$1" --labels ../in/labels.tsv --val-share 0.5 ;;
    *mqar* | *recall* | *parity*) ;;
    *) set -- "$1" $text ;;
    esac
    $patience "$train" --batch-size 1 --threads 1 --dry-run --preset "$@" >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")"
}
presets=$("$train" --help | sed -n '/^--preset NAME/,/^--[^p]/s/^  \([a-z][a-z-]*\) .*/\1/p')
check 'presets are listed' [ "$(echo "$presets" | wc -l)" -eq 9 ]
for preset in $presets; do check "a plan of the preset $preset" planned "$preset"; done
check 'labelled texts, stopped' part 130 stopped $labels ../in/labels.tsv --val-share 0.5 --max-iters 12 --log-interval 1 --stop-at 5
check 'go on' part 0 stopped --resume
check 'labelled texts, not stopped' part 0 straight $labels ../in/labels.tsv --val-share 0.5 --max-iters 12 --log-interval 1
check 'are the same' same_run stopped straight
check 'options of a run with labels' part 0 again --config ../out/labels
check 'four rows are learned by heart' part 0 by-heart $labels ../in/labels.tsv --labels-val ../in/labels.tsv --max-iters 200 --lr 0.02
evaluated() { $patience "$evaluate" --csv ../out/labels.eval ../out/by-heart "$@" >/dev/null 2>&1 && column accuracy ../out/labels.eval; }
check 'eval finds their labels' [ "$(evaluated)" = 1 ]
check 'where guessing is right half of the time' [ "$(column guess ../out/labels.eval)" = 0.5 ]
check 'and no others' [ "$(sed 's/^good/x/;s/^bad/good/;s/^x/bad/' ../in/labels.tsv | evaluated --labels -)" = 0 ]
check 'classify finds them' [ "$(found | cut -f 1 | tr '\n' ' ')" = 'good bad good bad ' ]
check 'in CSV as well' [ "$(found --csv | sed '1d;s/,[^,]*$//;s/.*,//' | tr '\n' ' ')" = '"good" "bad" "good" "bad" ' ]
check 'and in JSON' [ "$(found --json | grep -o '"label":"[a-z]*"' | cut -d '"' -f 4 | tr '\n' ' ')" = 'good bad good bad ' ]
empty_line() { printf 'a fine film\n\n' | "$classify" --lines --csv ../out/by-heart 2>/dev/null | tail -n 1; }
check 'an empty line has a row in CSV' [ "$(empty_line)" = '"",0,1,1,,' ]
check 'built-in labels' part 0 built-in $small --task classify
check 'are eight animals' tell '10000 rows to train on, 1000 to validate, 8 labels'
refused 'labels for another task'             2 'needs --task classify' $t --labels ../in/labels.tsv
refused 'validation labels without labels'            2 'needs --labels' $t --task classify --labels-val ../in/labels.tsv
refused 'labels and a text'                   2 'takes the place of texts' $t --task classify --labels ../in/labels.tsv $text
refused 'labels and a validation file'        2 '--labels-val'      $t --task classify --labels ../in/labels.tsv --val-file $text
refused 'labels that are not there'           4 'No such file'      $t --task classify --labels ../in/nowhere
refused 'an empty labels file'                   5 'has no rows'       $t --task classify --labels ../in/empty
refused 'a row without a tab'                 5 'no-tab.tsv:2: '    $t --task classify --labels ../in/no-tab.tsv
refused 'a row without a label'               5 'no-label.tsv:2: the label is empty' $t --task classify --labels ../in/no-label.tsv
refused 'a row without a text'                5 'no-text.tsv:2: the text is empty' $t --task classify --labels ../in/no-text.tsv
refused 'a row with a zero byte'              5 'zero.tsv:2: there is a zero byte' $t --task classify --labels ../in/zero.tsv
refused 'a row with more after a quote'       5 'quotes.csv:2: text after a closing quote' $t --task classify --labels ../in/quotes.csv
refused 'a row with one quote'                5 'open.csv:2: an unclosed quote' $t --task classify --labels ../in/open.csv
refused 'an unknown label to validate'        5 "unknown.tsv:2: the label 'worse' does not occur" $t --task classify --labels ../in/labels.tsv --labels-val ../in/unknown.tsv
refused 'pairs to validate single texts'      5 'rows of 2 texts'   $t --task classify --labels ../in/labels.tsv --labels-val ../in/pairs.tsv
for pair in 'a\tb\tc' '\tb' 'a\t'; do
    pair_of() { printf "$pair\n" | "$classify" --lines ../out/compared; }
    refused "classify of '$pair' as a pair" 5 'two texts, with a tab' pair_of
done
refused 'towers of single texts'              2 'the rows of ../in/labels.tsv have one' $t --task classify --labels ../in/labels.tsv --val-share 0.5 --pairs towers
refused 'towers without labels'               2 'needs --labels' $t --task classify --pairs towers $two
refused 'towers of an odd context'            2 'even --block-size' $t --task classify --labels ../in/pairs.tsv --pairs towers --block-size 15
refused 'an odd length of towers'              2 '--lengths 5: --pairs towers' $t --task classify --labels ../in/pairs.tsv --pairs towers --block-size 30 --lengths 5
refused 'a pool for a language model'         2 '--pool is for models' $t --pool first $text

made() { "$train" --help | sed -n '/^--task NAME/,/^$/s/^  \([a-z-]*\)  .*/\1/p' | sed '1,3d;/^image$/d'; }
answered() { says '^validation loss .* nats/answer, .* accuracy ' && says '^a held-back row'; }
check 'the tasks were found' [ "$(made | wc -w)" -eq 18 ]
for preset in zoology mad parity; do
    check "a run of the preset $preset" part 0 "made-$preset" --preset $preset --attn relu --block-size 16 \
        --batch-size 2 --max-iters 2 --eval-iters 1
    check "$preset has an accuracy" answered
done
for task in $(made); do
    check "a run of $task" part 0 "made-$task" $small --block-size 144 --task $task
    check "$task has an accuracy" answered
    check "$task says what guessing gets" says '^for comparison: guessing is right [0-9.]*% of the time'
done
made_of() { # CONTEXT OPTION...
    context=$1
    shift
    "$train" --dry-run --n-layer 1 --n-embd 16 --batch-size 1 "$@" >/dev/null 2>"$dir/err" && said ", context $context,"
}
check 'a synthetic task with its own length' part 0 made-own --max-iters 1 --n-layer 1 --n-embd 16 --eval-iters 1 --task passkey
check 'a synthetic task that stops' part 130 made $steps --block-size 64 --task mqar --stop-at 5
check 'goes on' part 0 made --resume
check 'a synthetic task that does not stop' part 0 unmade $steps --block-size 64 --task mqar
check 'is the same' same_run made unmade
refused 'noise from the middle on'                 2 'keeps --noise off' $train --resume --max-iters 19 --noise ../out/made
refused 'a text for a synthetic task'              2 'takes no text'     $t --task mqar $text
refused 'symbols for a task of text'                  2 '--symbols does not apply' $t --symbols 5 $text
refused 'a row that is too short'             2 'positions'         $t --task mqar --items 40
check 'hard images' part 0 hard $small --block-size 256 --task pathfinder --difficulty hard
check 'a held-back image is a picture' grep -q '^[ @.:=+*#%-]\{16\}|$' "$dir/stdout"
evaluates() { "$evaluate" "$@" >/dev/null 2>&1; }
check 'images are evaluated at square sizes' evaluates ../out/hard --rows 20 --lengths 256,576
check 'an image has 1024 pixels by default' made_of 1024 --task pathfinder
mkdir ../in/cifar
for i in 1 2 3 4; do image 1 && image 2; done >../in/cifar/data_batch_1.bin
image 5 >../in/cifar/test_batch.bin
head -c 3072 ../in/cifar/test_batch.bin >../in/cifar/short
check 'images of a folder' part 0 images $images --data ../in/cifar
check 'the test batch is used at the end' says '^test accuracy [0-9.]*% (all 1 rows)'
check 'and by eval' evaluates --csv ../out/images.csv ../out/images
check 'which says so' grep -q '^1024,.*,1,.*,test$' ../out/images.csv
check 'a report names the folder' eval '"$report" -o ../out/page.html ../out/images 2>"$dir/err" && grep -q "image · byte · cifar<" ../out/page.html && ! grep -q stories ../out/page.html'
check 'images of a file' part 0 image $images ../in/cifar/data_batch_1.bin
check 'are in the configuration' grep -q '"texts": \[{"file":"../in/cifar/data_batch_1.bin","bytes":24584,"hash":"[0-9a-f]*"}\],$' ../out/image/config.json
check 'which repeats the run' part 0 again --config ../out/image
check 'with the same weights' same_weights image again
check 'and that of a folder' part 0 again --config ../out/images
check 'as well' same_weights images again
check 'go on' part 0 image --resume --max-iters 3
check 'their last tenth is for validation' evaluates --csv ../out/images.csv ../out/image
check 'as eval says' grep -q '^1024,.*,validation$' ../out/images.csv
check 'and by other images' evaluates --csv ../out/images.csv ../out/image ../in/cifar/test_batch.bin
check 'that are given' grep -q '^1024,.*,given$' ../out/images.csv
refused 'images from a missing folder'                   2 '--data FOLDER'     $t --task image
refused 'images from a folder and files'                 2 'not both'          $t --task image --data ../in/cifar ../in/cifar/data_batch_1.bin
refused 'a folder without images'             4 'data_batch_1.bin'  $t --task image --block-size 1024 --data ../in
refused 'half an image'                       5 '3073 for each image' $t --task image --block-size 1024 ../in/cifar/short
refused 'images that are cut'                 2 '1024 pixels'       $t --task image --block-size 512 --data ../in/cifar
refused 'eval of a part of images'            2 '--val-share is for texts' "$evaluate" --val-share 0.5 ../out/image ../in/cifar/test_batch.bin
refused 'an image that is not square'          2 'squares with sides of 12' $t --task pathfinder --block-size 128
refused 'an unknown difficulty'      2 'easy, medium'      $t --task pathfinder --difficulty hardest
refused 'a difficulty of another task'        2 '--difficulty does not apply' $t --task mqar --difficulty hard
refused 'a folder for another task'           2 '--data does not apply' $t --task copy --data ../in
refused 'a folder without rows'               4 'basic_train.tsv'   $t --task listops --data ../in

mkdir ../in/arena
for part in train val test; do
    printf 'Source\tTarget\n[MAX 2 9 ]\t9\n[MIN 3 [MAX 4 5 6 7 8 9 1 2 3 4 5 6 ] ]\t3\n' >../in/arena/basic_$part.tsv
done
check "the Arena's rows" part 0 arena $small --task listops --data ../in/arena
check 'are counted where they are cut' said '2 of 4 rows are longer than the context and are cut: --block-size sets it$'
check 'and whole where they fit' part 0 whole_arena $small --block-size 24 --task listops --data ../in/arena
check 'without a word' eval '! grep -q "are cut" "$dir/err"'
shows_of() { "$evaluate" --show 1 --seed "$1" ../out/arena 2>"$dir/err" | sed -n 2p; }
check 'another seed shows the other row' [ "$(shows_of 0)" != "$(shows_of 1)" ]
check 'other files' eval "printf '[MAX 2 8 ]\\t8\\n' >>../in/arena/basic_train.tsv"
refused 'are not those of the run' 5 'data differ from those' $train --resume ../out/arena

# --- what a run is for -----------------------------------------------------------------------------

check 'a masked run to look at' part 0 masked $steps --task mlm $text
check 'a cosformer to look at' part 0 learned $steps --attn cosformer --position learned $text
whole=../out/whole
refused 'eval without a run'                  2 'RUN is missing'    "$evaluate"
refused 'eval of a missing run'                      4 "not a run's folder" "$evaluate" ../in
refused 'eval of a text for a checkpoint'     5 'not a safetensors'   "$evaluate" $text
refused 'eval of the best of a file'          2 '--best'            "$evaluate" --best $whole/model.safetensors $text
refused 'eval by an unknown protocol'         2 'must be disjoint'   "$evaluate" --protocol all $whole
refused 'eval with a stride of 0'             2 'S from 1'          "$evaluate" --protocol sliding:0 $whole
refused 'eval with a stride beyond a window'  2 'leave some out'    "$evaluate" --protocol sliding:32 --lengths 16 $whole
refused 'eval of a window beyond the text'    5 'use more tokens'     "$evaluate" --lengths 4096 $whole
refused 'eval of an empty text'               5 'is empty'          "$evaluate" $whole ../in/empty
refused 'eval with half a rope scale'         2 'S from 1 to'       "$evaluate" --rope-scale ntk:0.5 $whole
refused 'eval of a horizon that does not apply' 2 '--horizon'        "$evaluate" --horizon 64 $whole
refused 'eval beyond what positions were learned' 2 'positions for 16' "$evaluate" --lengths 32 ../out/learned
refused 'eval of sliding masks'               2 'protocol disjoint' "$evaluate" --protocol sliding:4 ../out/masked
refused 'eval that would overwrite its input'             2 'overwritten'       "$evaluate" --csv ../in/text $whole ../in/text
refused 'eval in place of the text of its run' 2 'overwritten'      "$evaluate" --csv ../in/text $whole
refused 'eval in place of a file of its run'  2 'overwritten'       "$evaluate" --svg $whole/loss.svg $whole
refused 'eval in place of its labels'         2 'overwritten'       "$evaluate" --csv ../in/pairs.tsv --labels ../in/pairs.tsv ../out/labels
refused 'eval into a folder that is not there' 4 'No such file'     "$evaluate" --csv no/x $whole
refused 'eval of a synthetic task on a text'      2 'takes no text'     "$evaluate" ../out/made $text
refused 'eval of a text of no class'          2 'one of text, least' "$evaluate" ../out/classes ../in/short
refused 'eval of rows of a text'              2 '--rows is for'     "$evaluate" --rows 5 $whole
refused 'eval of items of a text'             2 '--items is for'    "$evaluate" --items 5 $whole
refused 'eval of items where there are none'  2 'does not apply to parity' "$evaluate" --items 5 ../out/made-parity
refused 'eval with --show of a masked run'                 2 '--show is for'     "$evaluate" --show 5 ../out/masked
refused 'eval with a seed but no --show' 2 '--seed selects'  "$evaluate" --seed 5 ../out/made
refused 'eval of a synthetic task with a protocol'    2 '--protocol is for' "$evaluate" --protocol sliding:4 ../out/made
no_room() {
    "$evaluate" --items 60 --show 1 --lengths 4096 ../out/made >"$dir/stdout" 2>"$dir/err"
    [ $? = 2 ] && grep -q '^attn.c: error: --show has rows of the trained length, 64: ' "$dir/err" || no "$(cat "$dir/err")"
}
check 'eval does not show rows without room for the items' no_room
refused 'eval of a synthetic task with --max-tokens'    2 '--max-tokens is for' "$evaluate" --max-tokens 4 ../out/made
refused 'eval of a part of what was held back' 2 '--val-share is for' "$evaluate" --val-share 0.5 $whole
refused 'eval of rows of an odd length'       2 'even number'       "$evaluate" --lengths 63,65 ../out/made

shows() { # rows of a run, others with another seed, and how many answers are right
    $patience "$evaluate" --show 3 --rows 2 --lengths 144 "$1" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")" || return
    cp "$dir/stdout" "$dir/one"
    $patience "$evaluate" --show 3 --seed 2 --rows 2 --lengths 144 "$1" >"$dir/stdout" 2>"$dir/err" || no "$(tail -n 1 "$dir/err")" || return
    ! cmp -s "$dir/one" "$dir/stdout" || no 'the same rows' || return
    [ "$(grep -c '([^:]* : [^:]*)' "$dir/one")" -eq 3 ] && grep -q '^[0-9]* of [0-9]* right (.*%) in the rows above$' "$dir/one" || no "$(cat "$dir/one")"
}
check 'eval of the validation text' table 3 --lengths 4,8,16 $whole
check 'as ./train has it' grep -q ' trained' "$dir/stdout"
check 'eval of another text, into a table' table 2 --lengths 8,64 --csv ../out/one.csv $whole $text
check 'by other threads' table 2 --lengths 8,64 --threads 3 --csv ../out/three.csv $whole $text
check 'the same numbers' cmp -s ../out/one.csv ../out/three.csv
right_numbers() { # perplexity, bits, and a whole number of words, from the loss
    awk -F, 'function off(a, b) { return (a / b - 1) ^ 2 > 1e-12 }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { loss = $at["loss"]; words = loss * $at["tokens"] / log($at["word_ppl"]); words -= int(words + 0.5) }
        off($at["ppl"], exp(loss)) || off($at["bits_per_byte"], loss / log(2)) || words ^ 2 > 1e-6 { bad = 1 }
        END { exit bad || NR < 2 }' ../out/one.csv
}
check 'with the perplexity and the bits of each loss' right_numbers
check 'eval of windows below the stride leaves them out' [ "$("$evaluate" --protocol sliding:16 --lengths 8,16 $whole 2>&1 | grep -c 'left out: length 8; sliding:16 needs windows of at least 16')" = 1 ]
check 'eval of a sliding window, and a plot' table 1 --lengths 16 --protocol sliding:4 --svg ../out/p.svg $whole
check 'the picture' grep -q '</svg>' ../out/p.svg
check 'in bf16' table 2 --lengths 8,64 --precision bf16 --csv ../out/narrow.csv $whole $text
check 'are close but not the same' eval 'paste -d , ../out/one.csv ../out/narrow.csv | awk -F, \
    "NR > 1 { d = \$9 - \$(NF / 2 + 9); n += d != 0 && d < 0.05 && d > -0.05 } END { exit n != 2 }"'
check 'eval of a masked run' table 2 --lengths 8,16 ../out/masked
check 'eval of text and more than its positions' table 2 --lengths 8,16,32,64 ../out/learned
check 'eval tells which lengths it leaves out' tell '^left out: length 32, 64; the model has learned positions for 16 tokens only$'
check 'eval of a cosformer' table 1 --lengths 16 --csv ../out/one.csv ../out/learned
check 'with a horizon of 0' table 1 --lengths 16 --horizon 0 --csv ../out/zero.csv ../out/learned
check 'is as trained' cmp -s ../out/one.csv ../out/zero.csv
check 'eval of the training text' table 1 --lengths 16 $whole $text
check 'eval warns of that' tell '^attn.c: warning: the model was trained on ../in/text'
check 'eval of held-back text' table 1 --lengths 16 --val-share 0.1 $whole $text
check 'eval does not warn of that' quiet
check 'a setting that needs another' part 0 idle $small $text --base 64
check 'causes a warning' tell '^attn.c: warning: --base changes nothing: it is for --scale entropy, logn$'
check 'one that each mechanism has itself' part 0 idle $small $text --attn retnet:decay=3 --decay 4
check 'causes a warning, too' tell '^attn.c: warning: --decay changes nothing: --attn retnet has its own$'
check 'one that a layer uses' part 0 idle $small $text --attn retnet:decay=3,retnet --decay 4 --n-layer 2
check 'causes none' quiet
check 'nor one with what it needs' eval 'part 0 idle $small $text --scale logn --base 64 && quiet'
for task in $(made); do
    check "eval of $task" table 2 --rows 20 --lengths 144,256 --csv ../out/one.csv ../out/made-$task
    check "eval of $task has an accuracy" grep -q '^ *256 .* 20 .* [01]\.[0-9]* .* held-back *extrapolation$' "$dir/stdout"
    check "eval of $task by other threads" table 2 --rows 20 --lengths 144,256 --threads 3 --csv ../out/three.csv ../out/made-$task
    check "eval of $task by other threads is the same" cmp -s ../out/one.csv ../out/three.csv
    check "eval of $task shows rows" shows ../out/made-$task
done
check 'eval of a synthetic task at the default lengths' table 7 --rows 2 --svg ../out/p.svg ../out/made
check 'the plot has accuracies' grep -q 'Accuracy by length' ../out/p.svg
check 'the number of items grows' [ "$(awk '$1 == 1024 { print $2 }' "$dir/stdout")" = 64 ]
check 'eval of as many items at any length' table 7 --rows 2 --items 4 ../out/made
check 'the number of items stays' [ "$(awk '$1 == 1024 { print $2 }' "$dir/stdout")" = 4 ]
check 'eval of a passkey at lengths that are too short for it' table 1 --rows 2 --lengths 64,128 ../out/made-passkey
check 'eval says so' tell '^left out: length 64; passkey needs at least'
check 'eval of classes' table 3 --lengths 4,8,16 ../out/classes
check 'eval of classes has macro-F1' grep -q ' macro_f1 ' "$dir/stdout"
check 'eval of a text of one class' table 1 --lengths 8 ../out/classes ../in/least
rm -f ../out/*.csv ../out/p.svg

refused 'analyse without a run'               2 'RUN is missing'    "$analyse"
refused 'analyse of a missing run'                   4 "not a run's folder" "$analyse" ../in
refused 'analyse of a text for a checkpoint'  5 'not a safetensors'   "$analyse" $text
refused 'analyse of a synthetic task'      2 'use ./eval ../out/made' "$analyse" ../out/made
refused 'analyse of an empty text'            5 'is empty'          "$analyse" $whole ../in/empty
refused 'analyse of a window beyond the text' 5 'takes 4097'        "$analyse" --length 4096 $whole
refused 'analyse beyond what positions were learned' 2 '--length up to' "$analyse" --length 32 ../out/learned
refused 'analyse of a mask that is not there' 2 'is bidirectional'   "$analyse" --unmask ../out/masked
refused 'analyse that would overwrite its input'          2 'overwritten'       "$analyse" --csv ../in/text $whole ../in/text
refused 'activations in place of its input'   2 'overwritten'       "$analyse" --activations ../in/text $whole ../in/text
refused 'analyse into a folder that is not there' 4 'No such file'  "$analyse" --spectra no/x $whole
refused 'analyse into one file twice'         2 '--csv and --svg'   "$analyse" --csv x --svg x $whole
refused 'analyse into one file, spelt in two ways' 2 '--csv and --svg' "$analyse" --csv x --svg ./x $whole
refused 'analyse of a length twice'           2 'has 8 twice'       "$analyse" --lengths 8,4,8 $whole
refused 'an exponent of a run'                2 'takes no RUN'      "$analyse" --exponent 9 $whole
refused 'an exponent in windows'              2 '--windows is for models' "$analyse" --exponent 9 --windows 2
refused 'a rank that cannot be'                2 'at most rank 9'      "$analyse" --exponent 9 --rank 10
refused 'draws of a run'                      2 '--draws is for --exponent' "$analyse" --draws 2 $whole

row() { grep -q "^ *$1 *$2 " "$dir/stdout" || no "$(cat "$dir/stdout")"; } # LAYER and HEAD, or a name
check 'analyse of the validation text' analyses $whole
check 'a row for each head' row 1 2
check 'one for all' row mean ''
check 'one to compare with' row uniform ''
check 'that a triangle has full rank is said' grep -q 'A is triangular' "$dir/stdout"
check 'nothing else goes to stdout' [ "$(head -c 4 "$dir/stdout")" = Rows ]
check 'analyse of another text, into files' analyses --length 8 --windows 5 --band 2 --csv ../out/a.csv \
    --spectra ../out/s.csv --svg ../out/a.svg $whole $text
check 'the table has two heads, a mean and the uniform row' lines 5 ../out/a.csv
check 'ranks are those at their tolerance' [ "$(column rank ../out/a.csv)/$(column score_rank ../out/a.csv)" = \
    "$(column rank_0.001 ../out/a.csv)/$(column score_rank_0.001 ../out/a.csv)" ]
check 'with the protocol' grep -q '^head,1,1,.*,"../out/whole/model.safetensors","../in/text",softmax,causal,causal,8,5,40,2,0.01,0.001,[0-9.]*,' ../out/a.csv
check 'the weights of a softmax sum to 1' grep -q '^head,1,2,\([^,]*,\)\{8\}\(1\|1.00000[0-9]*\|0.99999[0-9]*\),0,' ../out/a.csv
check 'a uniform row of a causal model has ln(8!)/8' grep -q '^uniform,,,1.3255' ../out/a.csv
check 'the spectra have 8 values of two matrices of two heads' lines 33 ../out/s.csv
check 'of which the first is 1' grep -q '^QK,1,2,1,1$' ../out/s.csv
check 'the picture' grep -q 'Singular values of A, and thin' ../out/a.svg
check 'a run of two mechanisms' part 0 listed $small --n-layer 2 --attn softmax,relu $text
check 'analyse of it, into files' analyses --csv ../out/list.csv --activations ../out/lists.csv ../out/listed
check 'no two columns have one name' [ -z "$(head -n 1 ../out/list.csv | tr , '\n' | sort | uniq -d)" ]
check 'its mechanisms are one field' eval 'grep -q ",\"softmax,relu\",causal," ../out/list.csv && grep -q ",\"softmax,relu\"," ../out/lists.csv'
check 'a run of gated units with two heads' part 0 units $small --attn gau --n-layer 1 --n-head 2 $text
check 'analyse of it, into a file' analyses --csv ../out/units.csv ../out/units
check 'its four heads have four numbers' [ "$(cut -d , -f 1-3 ../out/units.csv | grep -c '^head,1,[1-4]$')" -eq 4 ]
check 'which differ' [ -z "$(cut -d , -f 1-3 ../out/units.csv | sort | uniq -d)" ]
refused 'a table into standard output twice'  2 'standard output has the table' "$evaluate" --csv - $whole
check 'results that nobody reads are no failure' unread "$evaluate" --lengths 4,8,16 --csv ../out/unread.csv $whole
latin=$(printf '../in/caf\351') # not UTF-8
cp $text "$latin"
check 'a text with a name that is not UTF-8' part 0 latin $small "$latin"
check 'leaves a run that can be read' $patience "$evaluate" ../out/latin $text >"$dir/stdout" 2>"$dir/err"
check 'by other threads' analyses --length 8 --windows 5 --band 2 --threads 3 --csv ../out/b.csv \
    --spectra ../out/t.csv --svg ../out/b.svg $whole $text
check 'the same numbers' cmp -s ../out/a.csv ../out/b.csv
check 'the same spectra' cmp -s ../out/s.csv ../out/t.csv
check 'the same picture' cmp -s ../out/a.svg ../out/b.svg
check 'analyse of one position' analyses --length 1 --csv ../out/one.csv $whole
check 'which has entropy 0' [ "$(column entropy ../out/one.csv)" = 0 ]
check 'one key' [ "$(column keys ../out/one.csv)" = 1 ]
check 'and rank 1' [ "$(column rank ../out/one.csv)" = 1 ]
check 'analyse of a masked run' analyses --csv ../out/m.csv ../out/masked
check 'whose uniform rows have rank 1' grep -q '^uniform,,,\([^,]*,\)\{10\}1,1[.0-9]*,1,,,,' ../out/m.csv
check 'analyse of a cosformer as if it had no mask' analyses --unmask --csv ../out/u.csv ../out/learned
check 'which is said' grep -q ',cosformer,causal,unmasked,' ../out/u.csv
check 'it has no scores' grep -q '^head,1,1,\([^,]*,\)\{13\},,,"' ../out/u.csv
check 'a rank for each tolerance' grep -q '^ *1 *A\( *[0-9.]*\)\{6\}$' "$dir/stdout"
check 'ranks of the activations' analyses --length 8 --activations ../out/act.csv $whole
check 'of the embeddings and a layer' lines 3 ../out/act.csv
refused 'a tolerance by length'               2 'not for --lengths'  "$analyse" --tolerance 0.1 --lengths 4 $whole
refused 'spectra by length'                   2 'not for --lengths'  "$analyse" --spectra x --lengths 4 $whole
refused 'faint weights by length'             2 'not for --lengths'  "$analyse" --faint 0.1 --lengths 4 $whole
refused 'a plot of one length'                2 '--plot is for --lengths' "$analyse" --plot sum $whole
refused 'a plot without a file'               2 '--plot is for --svg' "$analyse" --plot sum --lengths 4 $whole
refused 'lengths of an exponent'              2 '--lengths is for models' "$analyse" --exponent 9 --lengths 4
refused 'lengths beyond what positions were learned' 2 '--lengths up to' "$analyse" --lengths 4,32 ../out/learned
refused 'lengths beyond the text'             5 'takes 4097'         "$analyse" --lengths 4,4096 $whole
check 'rows by length' analyses --lengths 2,4,8 --windows 3 --band 1 --csv ../out/l.csv --svg ../out/l.svg $whole $text
check 'uniform rows have the exponents 1' grep -q '^ uniform   1.000  0.000  *1.000  0.000  *1.000  0.000$' "$dir/stdout"
check 'two heads, a layer, all and uniform at three lengths' lines 16 ../out/l.csv
check 'the mean of 2 rows of 1 and 2 keys' grep -q '^uniform,,,2,3,1.5,' ../out/l.csv
fitted() { # a factor of ln n of 1, without an error
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == "uniform" { n++; bad += ($at["entropy_slope"] - 1) ^ 2 + $at["entropy_slope_error"] ^ 2 > 1e-18 }
        END { exit bad || n != 3 }' ../out/l.csv
}
check 'and fits in their columns' fitted
check 'a chart of the entropy' grep -q 'Entropy of the rows of A by length' ../out/l.svg
check 'rows by other threads' analyses --lengths 2,4,8 --windows 3 --band 1 --threads 3 --csv ../out/k.csv $whole $text
check 'the same rows' cmp -s ../out/l.csv ../out/k.csv
check 'a chart of the sums' analyses --lengths 2,4 --plot sum --svg ../out/l.svg $whole
check 'has another title' grep -q 'before division, by length' ../out/l.svg
for plot in 'keys Effective number of keys' 'in-band Weight near the diagonal' 'entropy Entropy of the rows of A'; do
    check "a chart of ${plot%% *}" analyses --lengths 2,4 --plot "${plot%% *}" --svg ../out/l.svg $whole
    check "has the title '${plot#* }'" grep -q "${plot#* } by length" ../out/l.svg
done
check 'the exponent of a matrix of rank 1' analyses --exponent 100 --csv ../out/e.csv
check 'has rank 16 or 17 with the tolerance of NumPy' \
    grep -q '^2.2e-14 (NumPy)  *1.00  *1.0  *1.0  *16\.[0-9]*  *1[67].0  *17.0$' "$dir/stdout"
check 'a row for each draw, before and after' lines 17 ../out/e.csv
check 'the exponent by other threads' analyses --exponent 100 --threads 3 --csv ../out/f.csv
check 'is the same' cmp -s ../out/e.csv ../out/f.csv
rm -f ../out/*.csv ../out/*.svg

refused 'sample without a run'                2 'one run, not 0'    "$sample"
refused 'sample of a missing run'                    4 "not a run's folder" "$sample" ../in
refused 'sample of a file that is not a checkpoint'     5 'not a safetensors'   "$sample" $text
refused 'sample of the best of a file'        2 '--best'            "$sample" --best $whole/model.safetensors
refused 'sample after two prompts'            2 'two prompts'       "$sample" --prompt a --prompt-file $text $whole
refused 'sample of a masked run'              2 'use ./fill ../out/masked'  "$sample" ../out/masked
refused 'sample of a synthetic task'               2 'use ./eval ../out/made'    "$sample" ../out/made
refused 'sample of classes'                   2 'use ./classify ../out/classes' "$sample" ../out/classes

not_same() { ! cmp -s "$1" "$2"; }
same_sample() { cp "$dir/stdout" "$dir/before" && samples "$@" && cmp "$dir/stdout" "$dir/before"; }
in_utf8() { iconv -f UTF-8 -t UTF-8 "$dir/stdout" >/dev/null; }
for prompt in '' - --- 'To be' "$(printf '\377\033x')"; do
    check "a sample after '$prompt'" samples --prompt="$prompt" $whole
    check 'is valid UTF-8' in_utf8
done
check 'a sample of standard input' samples --seed 5 - <$whole/model.safetensors
check 'is that of the file' same_sample --seed 5 $whole
check 'a sample by one thread' samples --threads 1 $whole
cp "$dir/stdout" "$dir/one"
check 'by three' samples --threads 3 $whole
check 'is the same' cmp -s "$dir/stdout" "$dir/one"
check 'in bf16, by three' samples --precision bf16 --threads 3 $whole
cp "$dir/stdout" "$dir/narrow"
check 'and by one' samples --precision bf16 --threads 1 $whole
check 'is the same' cmp -s "$dir/stdout" "$dir/narrow"
check 'and in tiles' samples --precision bf16-tiles $whole
check 'another seed' samples --seed 5 $whole
check 'is another sample' not_same "$dir/one" "$dir/stdout"
check 'five samples, one at a time' samples --samples 5 --batch 1 --stop e ../out/bpe
cp "$dir/stdout" "$dir/one"
check 'two at a time' samples --samples 5 --batch 2 --stop e ../out/bpe
check 'are the same samples' cmp -s "$dir/stdout" "$dir/one"
check 'with a line between' [ "$(grep -c '^---$' "$dir/one")" = 4 ]
check 'a sample of the likeliest, of the best' samples --best --temperature 0 --top-k 3 --top-p 0.5 $whole
check 'a sample of pairs of bytes, beyond the context' samples --tokens 100 ../out/bpe
check 'a sample beyond learned positions' samples --tokens 100 ../out/learned
check 'a sample beyond the context that attends to all of it' samples --tokens 100 --extrapolate ../out/bpe
refused 'a sample beyond positions that end' 2 'positions end with its context of ' "$sample" --extrapolate ../out/learned
check 'one that stays within them' samples --tokens 9 --extrapolate ../out/learned
check 'the likeliest after a letter' samples --temperature 0 --prompt a $whole
cp "$dir/stdout" "$dir/free"
stop=$(tail -c +2 "$dir/free" | tr -cd '[:alnum:]' | cut -c 9) # `?` may stand for any byte
check 'the same up to a stop string' samples --temperature 0 --prompt a --stop 'not, there' --stop "$stop" $whole
is_stopped() {
    [ -n "$stop" ] || no "$(cat "$dir/free") has no letters" || return
    rest=$(tail -c +2 "$dir/stdout")
    case $(tail -c +2 "$dir/free") in "$rest$stop"*) ;; *) no "$rest, then $stop" ;; esac
    case $rest in *"$stop"*) no "$rest has $stop" ;; esac
}
check 'is its beginning, without the stop string' is_stopped
converse() { # INPUT OPTION...: no pipe, whose subshell would keep to itself why it failed
    printf %b "$1" >"$dir/typed"
    shift
    samples --interactive --temperature 0 "$@" $whole <"$dir/typed"
}
check 'lines to be continued' converse 'The\n\nAnd' --stop "$newline"
check 'have a line each' lines 3 "$dir/stdout"
carries_on() { # an empty line: as if the first had asked for all of it
    converse 'The\n\n' --raw --tokens 5 || return
    { printf The && tr -d '\n' <"$dir/stdout"; } >"$dir/both"
    samples --prompt The --raw --temperature 0 --tokens 10 $whole || return
    tr -d '\n' <"$dir/stdout" | cmp -s - "$dir/both" || no "$(cat "$dir/stdout"), not $(cat "$dir/both")"
}
check 'an empty line continues the last text' carries_on
refused 'interactive continuation of a prompt' 2 '--interactive' "$sample" --interactive --prompt a $whole
refused 'interactive continuation in a batch' 2 'and --batch' "$sample" --interactive --batch 2 $whole
ends() { # by a signal, though it would go on for hours
    "$sample" --tokens 16000000 $whole >/dev/null 2>&1 &
    job=$!
    sleep 0.5
    kill -TERM $job
    wait $job
    code=$? job=
    [ $code -eq 143 ] || no "$code"
}
check 'a sample ends with a signal' ends
[ ! -c /dev/full ] || refused 'a sample to a full disk' 4 'standard output' sh -c "'$sample' --tokens 9 $whole >/dev/full"

refused 'fill without a run'                  2 'RUN is missing'    "$fill"
refused 'fill of a missing run'                      4 "not a run's folder" "$fill" ../in 'a _'
refused 'fill of a causal run'                2 "use ./sample $whole, not ./fill" "$fill" $whole 'a _'
refused 'fill of a synthetic task'                 2 'use ./eval ../out/made' "$fill" ../out/made 'a _'
cp -r $whole '../out/a run'
refused 'and its command is one for a shell'  2 "use ./sample '../out/a run', not ./fill" "$fill" '../out/a run' 'a _'
refused 'fill of a text without a blank'      2 "no blank in 'a b'" "$fill" ../out/masked 'a b'
refused 'fill with an empty mark'             2 '--blank'           "$fill" --blank= ../out/masked 'a b'
filled_line() { printf "$1" | "$fill" --top 1 --csv ../out/masked 2>/dev/null; }
check 'fill of a line that ends with CRLF' [ "$(filled_line 'int _;\r\n')" = "$(filled_line 'int _;\n')" ]
refused 'fill in two formats'                 2 '--json and --csv'  "$fill" --json --csv ../out/masked 'a _'
head -c 1100000 /dev/zero | tr '\0' _ >../out/blanks
refused 'fill of a million blanks'            5 'more than 1048576 tokens' "$fill" ../out/masked - <../out/blanks
first() { grep -q "$1" <<X || no "$(cat "$dir/stdout")"
$(head -n 1 "$dir/stdout")
X
}
check 'blanks to be filled' fills ../out/masked 'if (x___ > 0)'
check 'are filled' first '^if (x.* > 0)$'
check 'each byte of them has candidates' [ "$(grep -c '^  1.[123]  ".*" [0-9.]*%  "' "$dir/stdout")" = 3 ]
check 'a blank of one token' fills --top 1 --width 1 ../out/masked 'if (x___ > 0)'
check 'has one candidate' lines 2 "$dir/stdout"
filling() { printf 'no blank\n\377\000_ \033[m_\n' | fills "$@"; }
check 'lines to be filled' filling ../out/masked
check 'have no control characters' in_utf8
plain() { ! LC_ALL=C grep -q "$escape" "$dir/stdout"; }
check 'nor escapes' plain
check 'a line without a blank is printed' first '^no blank$'
check 'lines to be filled as JSON' filling --json ../out/masked -
check 'an object a line' [ "$(grep -c '^{"line":[12],"text":.*"filled":.*"blanks":\[.*\]}$' "$dir/stdout")" = 2 ]
check 'lines to be filled as CSV' filling --csv --top 3 ../out/masked -
check 'a row for each candidate' lines 7 "$dir/stdout"
check 'a text beyond the context' fills --top 1 ../out/masked "_$(printf '%0100d' 0)_"
check 'is read in windows' tell '^text 1 has 102 tokens, the context only 16: it is read in 2 windows$'

refused 'classify without a run'              2 'RUN is missing'    "$classify"
refused 'classify of a causal run'            2 'use ./sample'      "$classify" $whole $text
refused 'classify of an empty text'           5 'is empty'          "$classify" ../out/classes ../in/empty
refused 'classify of a text that is not there' 4 'No such file'     "$classify" ../out/classes ../in/nowhere
refused 'classify of lines of a file'         2 'use < FILE'        "$classify" --lines ../out/classes $text
refused 'classify of one text as a pair'      5 'a tab separates'   "$classify" ../out/compared ../in/one
refused 'eval of labels with a text'          2 '--labels FILE'     "$evaluate" ../out/labels $text
refused 'eval of other labels'                5 'unknown.tsv:2'     "$evaluate" ../out/labels --labels ../in/unknown.tsv
refused 'eval of pairs as single texts'       5 'was trained on rows of' "$evaluate" ../out/labels --labels ../in/pairs.tsv
refused 'eval of a causal run with labels'    2 '--labels is for'   "$evaluate" $whole --labels ../in/labels.tsv
refused 'classify in two formats'             2 '--json and --csv'  "$classify" --json --csv ../out/classes $text
tab=$(printf '\t')
check 'texts to be labelled' classifies ../out/classes $text ../in/one "$hostile"
check 'have a class, a probability and a name' [ "$(grep -Ec "^(text|least)${tab}[01]\.[0-9]*$tab\.\./in/" "$dir/stdout")" = 3 ]
check 'and no control characters' plain
check 'the number of windows is printed' tell '^2000 tokens, a mean over 250 windows of 8: ../in/text$'
by_line() { printf 'int x;\n\n\033[m\377' | classifies --lines "$@"; }
check 'lines to be labelled' by_line ../out/classes
check 'a line each' lines 3 "$dir/stdout"
check 'an empty line has no class' grep -q "^-$tab-$tab$" "$dir/stdout"
check 'lines to be labelled as JSON' by_line --json ../out/classes
check 'objects with all classes' [ "$(grep -Ec '^\{"name":.*"label":("(text|least)"|null),.*\}\}$' "$dir/stdout")" = 3 ]
cp "$dir/stdout" "$dir/one"
with_returns() { printf 'int x;\r\n\r\n\033[m\377\r' | classifies --lines --json "$1" && cmp "$dir/stdout" "$dir/one"; }
check 'lines that end with CRLF are the same' with_returns ../out/classes
quoted() { printf 'say "hi", C:\\x\033\n' | classifies --lines --csv --top 1 "$1" && sed -n 2p "$dir/stdout" | grep -q '^"say ""hi"", C:\\x?",'; }
check 'a line is quoted as CSV has it' quoted ../out/classes
long_line() { head -c 1500 $text | tr '\n"' '  ' | classifies --lines --csv --top 1 "$1" && [ "$(sed -n 2p "$dir/stdout" | wc -c)" -gt 1500 ]; }
check 'and is whole' long_line ../out/classes
check 'a text to be labelled as CSV' classifies --csv --top 2 ../out/classes $text
check 'a row for each class' lines 3 "$dir/stdout"
halves() { awk -F, 'NR > 1 { sum += $6 } END { exit !(sum > 0.9999 && sum < 1.0001) }' "$dir/stdout"; }
check 'probabilities of all classes are 1' halves

refused 'export without a folder'             2 'not 1 arguments'   "$export" $whole
refused 'export into a folder that is not empty'           4 'is not empty'      "$export" $whole ../in
refused 'export in place of the model'         2 'a file of the run' "$export" --logits $whole/best.safetensors --text $text $whole ../out/exported
refused 'export in place of its text'          2 'another name'      "$export" --logits $text --text $text $whole ../out/exported
exports() { # FOLDER, and a file of it
    $patience "$export" "$1" ../out/exported >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")" || return
    [ -s ../out/exported/model.safetensors ] && [ -s ../out/exported/tokenizer.json ] &&
        grep -q "$2" ../out/exported/"$3" || no "$2 is not in $3" || return
    rm -rf ../out/exported
}
if [ -c /dev/full ]; then
    refused 'export to a full disk' 4 'standard output' full "$export" $whole ../out/exported
    refused 'import to a full disk' 4 'standard output' full "$import" ../out/exported ../out/imported
    rm -r ../out/exported ../out/imported
fi
check 'a model with a standard class' exports $whole ArceeForCausalLM config.json
check 'an export into new folders' eval '"$export" $whole ../out/new/folder/ >/dev/null 2>"$dir/err" && [ -s ../out/new/folder/config.json ]'
rm -r ../out/new
check 'a model of some megabytes' part 0 large $small --n-layer 2 --n-embd 256 --max-iters 1 $text
hangups_ignored=$({ sh -c 'kill -HUP $$; echo yes'; :; } 2>/dev/null) # as under nohup
stopped_export() { # FIRST LEFT SIGNAL CODE: when a name like FIRST is there; LEFT names remain
    signal=$3 want="$4,$2"
    for try in 1 2 3 4 5 6 7 8 9 10; do # it may have ended before it is stopped
        "$export" ../out/large ../out/exported >/dev/null 2>&1 &
        job=$!
        set -- "$1" "$1"
        while [ ! -e "$2" ] && kill -0 $job; do set -- "$1" $1; done 2>/dev/null
        kill -STOP $job 2>/dev/null
        kill -$signal $job 2>/dev/null
        kill -CONT $job 2>/dev/null
        wait $job
        code=$? job=
        left=$(($(find ../out/exported* 2>/dev/null | wc -l)))
        [ $code = 0 ] || break
        [ -s ../out/exported/config.json ] || no 'it ended well, without its files' || return
        [ "${want#*,}" = 0 ] && rm -rf ../out/exported* || find ../out/exported -mindepth 1 -delete
    done
    [ $code,$left = "$want" ] || no "exit $code, $left, after $try"
}
check 'an export ends with a signal' stopped_export '../out/exported.*' 0 TERM 143
rm -rf ../out/exported*
if [ -z "$hangups_ignored" ]; then
    check 'and with a hangup' stopped_export '../out/exported.*' 0 HUP 129
    rm -rf ../out/exported*
fi
mkdir ../out/exported
check 'and one into a folder that is there' stopped_export '../out/exported/.m*' 1 TERM 143
rm -r ../out/exported ../out/large
mkdir ../out/exported
check 'an export into .' eval '(cd ../out/exported && "$export" ../whole . >/dev/null 2>"$dir/err" && [ -s config.json ])'
rm -r ../out/exported
again() { # what was exported, as a run
    $patience "$export" $whole ../out/exported >"$dir/stdout" 2>"$dir/err" &&
        $patience "$import" ../out/exported ../out/imported >"$dir/stdout" 2>"$dir/err" &&
        $patience "$sample" ../out/imported --tokens 3 >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")"
}
check 'a model that is exported and imported' again
refused 'import without a run'                2 'takes DIR and RUN' "$import" ../out/exported
refused 'import into an existing run'               2 'choose another folder, or --overwrite replaces it' "$import" ../out/exported ../out/imported
refused 'import of a run'                     5 'has no model_type' "$import" $whole ../out/nothing
refused 'import beyond the context'           2 '--block-size 9999' "$import" --block-size 9999 ../out/exported ../out/nothing
refused 'an imported run has no optimizer'    2 'imported, and has no optimizer; --init starts'   "$train" --resume ../out/imported
refused 'a text of an imported run'           5 'no text of its own' "$evaluate" ../out/imported
check 'import over a run' $patience "$import" --overwrite ../out/exported ../out/imported
ends() { # what the end of a text is, after another import and export
    sed 's/"eos_token_id": null/"eos_token_id": 65/' ../out/exported/config.json >../out/config.json &&
        mv ../out/config.json ../out/exported/config.json &&
        $patience "$import" --overwrite ../out/exported ../out/imported >"$dir/stdout" 2>"$dir/err" &&
        $patience "$export" ../out/imported ../out/twice >"$dir/stdout" 2>"$dir/err" || no "$(cat "$dir/err")" || return
    [ "$(cat ../out/twice/config.json ../out/twice/generation_config.json | grep -c '"eos_token_id": 65,$')" = 2 ] ||
        no 'not in both files'
}
check 'the end-of-text token is that of the import' ends
rm -r ../out/twice
mkdir ../out/moved && mv ../out/exported/tokenizer.json ../out/moved
refused 'import without a tokenizer'          4 '--tokenizer PATH'  "$import" --overwrite ../out/exported ../out/imported
refused 'import with one that is not there'   4 'No such file'      "$import" --overwrite --tokenizer ../in/nowhere ../out/exported ../out/imported
for path in ../out/moved ../out/moved/tokenizer.json; do
    check "import with ${path#../out/}" $patience "$import" --overwrite --tokenizer $path ../out/exported ../out/imported
done
rm -r ../out/moved
check 'tokens of another text' $patience "$tokenize" --run ../out/imported --text $text
check 'tokens of an imported run' $patience "$tokenize" --run ../out/imported $text
printf '\037\213rest' >../in/gz
check 'tokens of an archive' $patience "$tokenize" --tokenizer byte ../in/gz >"$dir/stdout" 2>"$dir/err"
check 'cause a warning' said '^attn.c: warning: ../in/gz looks like a gzip archive; it is read as plain bytes$'
refused 'two tokenizers'                      2 'takes no --tokenizer' "$tokenize" --run ../out/imported --tokenizer byte $text
check 'the configuration of an imported run' $patience "$train" --config ../out/imported --block-size 8 --dry-run $text >"$dir/stdout" 2>"$dir/err"
rm -rf ../out/exported ../out/imported
check 'a model without a standard class' exports ../out/learned cosformer README.md

# Every attention, and what is settled for it.
saying() { "$train" --help | awk -v with="$1" -f "$root/experiments/attentions.awk"; }
attentions() { "$train" --help | sed -n '/^--attn NAME/,/^$/s/^  \([a-z][a-z0-9_-]*\)  .*/\1/p'; }
settled() { grep -q "^  \"$1\": $2,\$" "$run/config.json" || no "$1 is not $2"; }
for name in $(attentions); do
    if saying 'bidirectional only' | grep -qx "$name"; then
        works "a run of $name" --attn $name --task mlm $text
    else
        works "a run of $name" --attn $name $text
    fi
    check "$name is in the configuration" settled attn "\"$name\""
    check "$name says what it is" said "^$name attention"
done
check 'the attentions were found' [ "$(attentions | wc -l)" -ge 33 ]
works 'a gated unit' --attn gau --norm entropy --key-size 6 --window 9 --no-gate $text
check 'a gated unit has the heads that were asked for' settled n_head 2
check 'its base is the default' settled base 0
check 'a run without a gate' settled gate false
check 'the banner has the gate' said '^gau attention (norm entropy, base 512, window 9, keys of 6, no gate), 1 x 16, 2 heads,'
works 'a base' --attn gau --norm fixed --base 99 $text
check 'a base that is given is kept' settled base 99
works 'a gate around heads' --attn softmax --gate --weight relu2 $text
check 'it is the gate of their output' settled out_gate true
check 'and the weight is relu^2' said '^softmax attention (scale sqrt, weight relu2, out-gate), 1 x 16, 2 heads,'
refused 'another gate on resuming' 2 '--out-gate on, not off' $train --resume --no-gate --out-dir "$run"
works 'a bias by distance' --attn flash-gau --rel-bias rope --chunk 5 $text
check 'the banner has the bias by distance' said '^flash-gau attention (chunk 5, rel-bias rope, keys of 64), 1 x 16, 2 heads,'
works 'gammas of 1' --attn gau --gamma-init one $text
check 'they are those of 0' settled gamma_init 0
works 'the context as base' --attn gau --norm fixed --base context $text
check 'it is a number' settled base 16
refused 'a base without a context' 2 'whole number' $b --attn gau --norm fixed --base context
works 'efficient attention' --attn efficient $text
check 'without RoPE positions are learned' settled position '"learned"'
works 'a cosformer' --attn cosformer --horizon 3 $text
check 'a horizon is no shorter than the context' settled horizon 16
check 'RoPE is the default where supported' settled position '"rope"'
works 'a performer' --attn performer --features 6 --key-size 4 $text
check 'the banner has the features of a performer' said ' (6 features, kernel softmax, keys of 4), '

attends() { # PROGRAM, and how to call it: says nothing, and leaves one valid file
    $patience "$@" >"$dir/stdout" 2>"$dir/err" || no "exit $?" || return
    [ ! -s "$dir/stdout" ] && [ ! -s "$dir/err" ] || no "$(cat "$dir/stdout" "$dir/err")" || return
    [ "$(echo ../out/t*)" = ../out/tensors ] && safetensors_is_valid ../out/tensors
}
check 'attend writes a file' attends $a $tensors ../out/tensors
check 'attend reads standard input' attends $a - ../out/tensors <$tensors
cp ../out/tensors "$dir/float"
check 'attend64 replaces it' attends "${attend}64" --attn softmax $tensors ../out/tensors
check 'attend64 writes wider numbers' [ "$(wc -c <../out/tensors)" -gt "$(wc -c <"$dir/float")" ]

# Without --out-dir.
unnamed() { $patience "$train" $small "$@" >"$dir/stdout" 2>"$dir/err"; }
check 'a run without --out-dir' unnamed $text
check 'its folder is named after text and attention' folder_is_valid runs/text-softmax
cp runs/text-softmax/log.jsonl "$dir/log"
check 'a second run without --out-dir' unnamed $text
check 'the second folder ends in -2' folder_is_valid runs/text-softmax-2
check 'the first folder is left alone' cmp -s runs/text-softmax/log.jsonl "$dir/log"
check 'a run on a name with control characters' unnamed "$hostile"
check 'control characters of a folder reach no terminal' no_controls
check 'a folder is named without control characters' folder_is_valid 'runs/e?]0;x?f???-softmax'
rm -rf runs

# The same bits. The model is wide enough for its work to be shared.
wide='--n-embd 64 --block-size 64 --batch-size 8 --dropout 0.1 --val-share 0.5'
timeless() { sed '/"split":"start"/d; s/,"\(tok_s\|seconds\|time\|peak_memory\)":[^,}]*//g' "$1/log.jsonl"; }
same_as_first() {
    cmp -s "$run/model.safetensors" "$first/model.safetensors" || no 'other weights' || return
    [ "$(timeless "$run")" = "$(timeless "$first")" ] || no 'another log'
}
other_weights() { ! cmp -s "$run/model.safetensors" "$first/model.safetensors"; }
mebibytes() { sed -n 's/.*about \([0-9]*\) MiB of memory$/\1/p' "$dir/err"; }
works 'a run with one thread' $wide --threads 1 $text
first=$run
for threads in 1 2 3 7; do
    works "a run with $threads threads" $wide --threads $threads $text
    check "$threads threads give the same bits as one" same_as_first
done
for attn in softmax cosformer fastformer flash; do
    works "a run with $attn" $wide --n-layer 3 --attn $attn $text
    kept=$run bytes=$(mebibytes)
    works "a run with $attn that recomputes" $wide --n-layer 3 --attn $attn --recompute $text
    check "recomputing does not change $attn" cmp -s "$run/model.safetensors" "$kept/model.safetensors"
    check "recomputing takes less memory with $attn" [ "$(mebibytes)" -lt "$bytes" ]
done
works 'a masked run with one thread' $wide --task mlm --threads 1 $text
masked=$run
works 'a masked run with 3 threads' $wide --task mlm --threads 3 $text
check 'threads do not change a masked run' \
    cmp -s "$run/model.safetensors" "$masked/model.safetensors"
# Stacks of 130 TB: no thread but the first can have one.
few_threads() {
    (ulimit -s 130000000000 && exec $patience "$train" $small --threads 3 --out-dir ../out/few $text) >"$dir/stdout" 2>"$dir/err"
    [ $? = 0 ] && grep -q 'only 1 of 3 threads could be started' "$dir/err" || no "$(cat "$dir/err")"
}
if (ulimit -s 130000000000) 2>/dev/null; then
    check 'a run does with the threads that could be started' few_threads
    check 'the banner has the threads that could be started' said '^1 thread, '
    check 'and so has the log' grep -q '^{.*"threads":1[,}]' ../out/few/log.jsonl
else
    skip 'threads that cannot be started (needs stacks without a limit)'
fi
# A text that is larger than a quarter of the memory: bytes may stay on disk.
if (ulimit -v 600000 && exec "$train" --version) >/dev/null 2>&1; then
    seq 20000000 | head -c 160000000 >"$dir/large"
    works 'a run on a large text' --seed 3 --val-share 0.0001 "$dir/large"
    in_memory=$run
    little() { (ulimit -v 600000 && exec $patience "$@") >"$dir/stdout" 2>"$dir/err"; }
    little_memory() {
        bytes=$(grep -o '"peak_memory":[0-9]*' ../out/disk/log.jsonl | tail -n 1 | cut -d : -f 2)
        [ "$bytes" -lt 100000000 ] || no "$bytes bytes"
    }
    too_little() { little "$@"; [ $? = 5 ] && said 'room for' || no "$(cat "$dir/err")"; }
    check 'a text too large for the memory stays on disk' \
        little "$train" $small --seed 3 --val-share 0.0001 --out-dir ../out/disk "$dir/large"
    check 'which is said' said 'large: 153 MiB do not fit in memory; the text stays on disk'
    check 'and changes nothing' cmp -s ../out/disk/model.safetensors "$in_memory/model.safetensors"
    check 'and takes little of it' little_memory
    check 'a part of it is evaluated' little "$evaluate" --lengths 16 --max-tokens 1000 ../out/disk
    check 'tokens of several bytes do not stay on disk' too_little \
        "$train" $small --tokenizer bpe:300 --out-dir ../out/pieces "$dir/large"
    rm "$dir/large"
else
    skip 'a text too large for the memory (needs a limit of memory)'
fi
works 'a run with another seed' $wide --seed 7 $text
check 'another seed gives other weights' other_weights

# Standard streams that are closed or full. Nothing but train itself may stand between: timeout
# could open them again.
streams() { # RUN CODE
    "$train" $small --out-dir "../out/$1" $text
    code=$?
    [ $code = "$2" ] || no "exit $code" || return
    folder_is_valid "../out/$1" 2>/dev/null
}
check 'closed stdin has no effect' streams closed0 0 >/dev/null 2>&1 <&-
check 'closed stdout ends with 4' streams closed1 4 2>/dev/null >&-
check 'closed stderr does not spoil the log' streams closed2 0 >/dev/null 2>&-
check 'closed stdin and stdout end with 4' streams closed01 4 2>/dev/null <&- >&-
check 'closed stdin and stderr do not spoil the log' streams closed02 0 >/dev/null <&- 2>&-
check 'closed stdout and stderr end with 4' streams closed12 4 >&- 2>&-
check 'all of them closed end with 4' streams closed012 4 <&- >&- 2>&-
bench_full() {
    $patience "$bench" --only step --lengths 8 --n-layer 1 --n-embd 16 --seconds 0 >/dev/full 2>"$dir/err"
    [ $? = 4 ] && said '^attn.c: error: .*standard output'
}
gradcheck_full() {
    "$gradcheck" --attn efficient >/dev/full 2>"$dir/err"
    [ $? = 4 ] && said '^attn.c: error: .*standard output'
}
if [ -c /dev/full ]; then
    check 'results to a full disk end with 4' streams full1 4 >/dev/full 2>"$dir/err"
    check 'results to a full disk are an error line' said '^attn.c: error: .*standard output'
    check 'progress to a full disk is ignored' streams full2 0 >/dev/null 2>/dev/full
    check 'results of bench to a full disk end with 4' bench_full
    check 'results of gradcheck to a full disk end with 4' gradcheck_full
else
    skip 'full disks (needs /dev/full)'
fi

# Time and signals: a run with its end far away is `started`, gets a signal, and must end `soon`.
forever='--max-iters 1000000 --log-interval 1000 --eval-interval 1000000'
started() { # NAME WORDS COMMAND...: until it says WORDS
    run=../out/$1 words=$2 i=0
    shift 2
    : >"$dir/err" # what is found there is of this run
    "$@" $small $forever --out-dir "$run" $text >"$dir/stdout" 2>>"$dir/err" &
    job=$!
    until grep -q "$words" "$dir/err"; do
        i=$((i + 1))
        [ $i -lt 50 ] && alive || no 'does not start' || return
        sleep 0.1
    done
}
saves() { started "$1" '^step 1/' "$train" && kill "-$1" $job && soon "$2" && folder_is_valid "$run" log.jsonl; }
check 'Ctrl-C saves and ends with 130' saves INT 130
check 'Ctrl-C says at which step' said '^stopped at step [0-9]'
check 'Ctrl-C prints no result' [ ! -s "$dir/stdout" ]
check 'TERM saves and ends with 143' saves TERM 143
copies() { # as timeout(1) does: to the process, and to its group
    started copies '^step 1/' "$train" && kill -TERM $job && sleep 0.01; kill -TERM $job 2>/dev/null; soon 143 &&
        folder_is_valid "$run" log.jsonl && said '^stopped at step [0-9]* of 1000000: SIGTERM$'
}
check 'TERM that comes twice saves as well' copies
check 'USR1 saves and ends with 138' saves USR1 138
check 'it says why' said '^stopped at step [0-9]* of 1000000: SIGUSR1$'
check 'and how to resume' said '^    .*/train --resume ../out/USR1 --threads 1$'
if [ -z "$hangups_ignored" ]; then
    check 'a hangup saves and ends with 129' saves HUP 129
else
    skip 'a hangup (these tests run under nohup)'
fi
often=$forever forever="$forever --log-interval 100000000" # the run says nothing while others do
check 'a long run' started used '^step 1/' "$train"
forever=$often
words="process $job is using the run in ../out/used"
refused 'a second run in its folder'          4 "$words"            $t --out-dir ../out/used $text
refused 'one that would overwrite it'         4 "$words"            $t --overwrite --out-dir ../out/used $text
refused 'one that would resume it'        4 "$words"            $train --resume ../out/used
taken_over() { kill -KILL $job; soon 137; part 0 used $small --max-iters 1 --overwrite $text && folder_is_valid ../out/used; }
check 'when it is killed, its folder is free' taken_over
stops_within() { # a step of a million batches
    started twice 'updates, an' "$train" --gradient-accumulation-steps 1000000 && sleep 0.2 && kill -TERM $job &&
        soon 143 && [ -s "$run/config.json" ]
}
check 'TERM stops within a step' stops_within
nohup_stays() {
    started nohup '^step 1/' nohup "$train" && kill -HUP $job && sleep 0.3 && alive &&
        kill -TERM $job && soon 143
}
check 'nohup keeps a run from hanging up' nohup_stays
works 'a run of a second' $forever --max-time 1s $text
check 'a run of a second takes one' grep -q '^[0-9]* steps in [0-2]\.' "$dir/stdout"
check 'it says that it has a limit' said '; time limit 1s$'
check 'and that it is over' said '^stopped at step [0-9]* of 1000000: the time limit is reached$'
works 'a run on built-in stories' --max-iters 40
check 'it says that it has a limit' said '^40 updates, an evaluation every 4; time limit 1m50s (--max-time changes it)$'
works 'a run on fewer stories' --story-bytes 20000
check 'it says how many' said '^built-in stories: 20[0-9]* bytes to train on, 2[0-9]* to validate'
check 'and their entropy, in two units' awk '/^true entropy/ { n++; d = $3 - $5 * log(2) } END { exit n != 1 || d * d > 1e-7 }' \
    "$dir/stdout"
check 'eval reads the same stories' table 1 --lengths 16 "$run"
check 'and has nothing to say about them' eval '! grep -q warning "$dir/err"'
works 'a run without a limit' --max-time 0
check 'it has none' said '^3 updates, an evaluation every 1$'
works 'a run of one update on one thread' --max-iters 1 $text
check 'it says so in the singular' said '^1 thread, vectors '
check 'and that of the update' said '^1 update, an evaluation every 1$'

diverges() { unnamed --max-iters 30 --eval-interval 1 --learning-rate 1e30 --out-dir ../out/bad $text; [ $? = 1 ]; }
one_error() { [ "$(grep -c '^attn.c: error: ' "$dir/err")" = 1 ] && said 'error: .*--learning-rate'; }
check 'a run that diverges ends with 1' diverges
check 'a diverging run prints one error' one_error
check 'it prints how to resume' said '^    .*/train --resume ../out/bad --threads 1 --learning-rate 1e+29$'
check 'and what would happen otherwise' said '^from its checkpoint of step 1 the run would diverge again; '
lowest_rate() { sed -n 's/.*"min_lr": \([^,]*\),.*/\1/p' ../out/rates/config.json; }
check 'a run whose lowest rate follows from its rate' part 130 rates $steps --stop-at 2 $text
check 'goes on at a tenth of it' part 130 rates --resume --stop-at 4 --learning-rate 0.0002
check 'and so does its lowest rate' [ "$(lowest_rate)" = 2e-05 ]
check 'a lowest rate that was given' part 130 rates --overwrite $steps --stop-at 2 --min-lr 1e-06 $text
check 'and a new rate' part 130 rates --resume --stop-at 4 --learning-rate 0.0002
check 'leave it as it was' [ "$(lowest_rate)" = 1e-06 ]
check 'a run that diverges has a valid log' log_is_valid ../out/bad

# Every derivative of one mechanism.
derives() { # OPTION...: it succeeds, and its output fits 100 columns and ends with the total
    "$gradcheck" "$@" >"$dir/stdout" 2>"$dir/err" || no "exit $?" || return
    [ ! -s "$dir/err" ] || no "$(cat "$dir/err")" || return
    [ "$(awk 'length > 100' "$dir/stdout" | wc -l)" -eq 0 ] || no 'a line is too long' || return
    tail -n 1 "$dir/stdout" | grep -q '^[0-9]* derivatives of .* errors of at most [0-9.]*e-[0-9]*\.$' ||
        no "$(tail -n 1 "$dir/stdout")"
}
has_operands() { [ "$(grep -c '^    [qkv]  *2 x 7 x 2 x [0-9]  *[-+][0-9.e+-]*  *[-+]' "$dir/stdout")" -ge 12 ]; }
check 'gradcheck passes one attention' derives --attn efficient
check 'gradcheck of one attention leaves the ops out' [ "$(grep -c '^dense' "$dir/stdout")" = 0 ]
check 'gradcheck has a line for every operand' derives --attn efficient --elements 3 --verbose
check 'its lines have shapes and two numbers' has_operands
check 'gradcheck passes the plain twin of an attention' derives --attn efficient --elements 3 --plain
check 'a plain twin has its distance from the fast one' \
    grep -Eq '^efficient, plain twin( +[0-9]+){3} +[0-9.]+e-1[0-9] +[0-9.]+e-1[0-9]$' "$dir/stdout"
# ./bench, on sizes that take no time.
has_rows() { # NAME,LENGTH...: the rows of attentions, in that order, with all that is said of one
    rows=$(sed '/^\(group\|machine\|option\),/d; s/"[^"]*"//' ../out/csv | awk -F, '
        { printf "%s,%s ", $7, $8; for (i = 7; ++i <= NF;) if ($i <= 0) printf "(%s: %s) ", i, $i }
        NF != 13 { print NF, "columns" }')
    [ "$rows" = "$(printf '%s ' "$@")" ] || no "rows $rows"
}
without() { attentions | grep -vxF "$(saying "$1"; echo -)"; } # those that do not say so
every_attention() {
    for name in $(without 'bidirectional only'); do
        grep -q "^attention,\"$name, length 7, batch 2;" ../out/csv || no "$name" || return
    done
}
check 'bench of two attentions' benches --only attention --attn relu,softmax --lengths 64,9 --svg ../out/svg
check 'its CSV has a header' grep -q '^group,name,seconds,.*,mechanism,length,batch,forward_ns_token,' ../out/csv
check 'its CSV has a row for each length, shortest first' has_rows relu,9 relu,64 softmax,9 softmax,64
check 'it says how the time grows' grep -q '^relu  *from 9 to 64 positions .* within 15%$' "$dir/stdout"
check 'its plot has a line for each' grep -q '>softmax<' ../out/svg
check 'bench of every op' benches --only ops
check 'it says what ops do not use' grep -qx 'attn.c: warning: --n-layer changes nothing with --only ops' "$dir/err"
check 'bench of every attention' benches --only attention --lengths 7
check 'its CSV has every attention' every_attention
check 'bench bidirectional' benches --only attention --attn all --bidirectional --lengths 7
check 'bench with a setting of one of two' benches --only attention --attn relu,softmax --scale logn --lengths 8
check 'bench leaves out long measurements' benches --only attention --lengths 7,9 --most-quadratic 8
check 'which is said' grep -q '^softmax, .*skipped beyond 8,' "$dir/stdout"
check 'and not done' [ "$(grep -c '^attention,"softmax' ../out/csv)" = 1 ]
check 'bench measures what is named' benches --only attention --attn softmax --lengths 8200 --n-head 1 --batch-size 1
check 'however long it takes' grep -q '^attention,"softmax, length 8200,' ../out/csv
check 'bench of the step of a model' benches --only step --attn relu --lengths 8
check 'whose options all count' quiet
check 'bench of a step with --recompute' benches --only step --attn relu --lengths 8 --recompute
check 'bench of a step in bf16' benches --only step --attn relu --lengths 8 --precision bf16
check 'its row says so' grep -q '^step,"relu 1 x 16, context 8, batch [0-9]*, bf16;' ../out/csv
check 'bench of a step in tiles' benches --only step --attn relu --lengths 8 --precision bf16-tiles
check 'its row says that' grep -q '^step,"relu 1 x 16, context 8, batch [0-9]*, bf16-tiles;' ../out/csv
check 'bench of a step again' benches --only step --attn relu --lengths 8 --recompute
check 'its row is of that attention' grep -q '^step,"relu 1 x 16, context 8,' ../out/csv
check 'it prints the share of matrix products' grep -q 'of which products and attention alone [0-9.]*%$' "$dir/stdout"
check 'and the share of other arithmetic' grep -q ' loss and optimiser alone [0-9.]*%$' "$dir/stdout"
check 'bench of two kinds of step' benches --only step --attn relu,softmax --lengths 16,8
check 'says which takes less time where' grep -q ' takes less time than .* \(positions on\|of these lengths\)$' "$dir/stdout"
check 'bench of more threads' benches --only scaling --attn relu --lengths 8 --threads 3
check 'has a row for each number of them' [ "$(sed -n 's/^scaling,"\([0-9]\) thread.*/\1/p' ../out/csv | tr -d '\n')" = 123 ]
check 'bench of decoding' benches --only decode --lengths 9,2,9
check 'its CSV has every attention at every position, once' [ "$(grep -c '^decode,' ../out/csv)" = \
    "$(without 'bidirectional only' | wc -l | awk '{ print 2 * $1 }')" ]
check 'with a time of a token' [ "$(grep '^decode,' ../out/csv | awk -F, '!($NF > 0)' | wc -l)" = 0 ]
check 'it says how that grows' grep -q '^relu  *from 2 to 9 positions ' "$dir/stdout"
check 'bench of decoding in bf16' benches --only decode --attn relu --lengths 9 --precision bf16
check 'its row says so' grep -q '^decode,"relu 1 x 16, position 9, bf16;' ../out/csv
check 'bench of prompts' benches --only prompt --lengths 9,2 --attn relu,gla
check 'has a row for each mechanism and length' [ "$(grep -c '^prompt,"[rg].* 1 x 16, prompt of [29];' ../out/csv)" = 4 ]

# Against what was measured before, made faster or slower in the file.
check 'bench saves' benches --only step --attn relu --lengths 4,8 --save $saved
check 'with the processor and its peak' grep -q '^machine,"[^"]*, 1 threads, vectors of [0-9]* bits",1,[0-9.e+]*,,1,' $saved
check 'and how it was called' grep -q '^option,"lengths 4,8",' $saved
check 'in the format of the CSV file' [ "$(sed -n '1p; /^option/p' $saved)" = "$(sed -n '1p; /^option/p' ../out/csv)" ]
was 1000
check 'bench against slower rows' against 0
check 'measures the same rows with the same options' grep -q '^2 rows: 2 faster and 0 slower by more than 5%' "$dir/stdout"
was 0.001
check 'bench against faster rows ends with 1' against 1
check 'with a one-line message' said '^attn.c: error: 2 rows are slower than in ../out/before by more than 5%$'
check 'after measuring again' grep -q '^Measuring slower rows again$' "$dir/stdout"
check 'a margin may be wide' against 0 --margin 1000000
check 'rows may differ' against 1 --lengths 8,9
check 'which are named' grep -q '^only there: step, relu 1 x 16, context 4,' "$dir/stdout"
check 'on both sides' grep -q '^only here: step, relu 1 x 16, context 9,' "$dir/stdout"
check 'none in common is bad data' against 5 --lengths 9
sed 's/^machine,"/&Another /' $saved >../out/before
check 'bench against another machine' against 0 --margin 1000
check 'compares shares of the peak' grep -q '^shares of the peak are compared: this is .*, that was Another ' "$dir/stdout"
bad_before() { # SENTENCE SED-SCRIPT
    sed "$2" $saved >../out/before
    refused "bench against a file $1" 5 "$3" "$bench" --against ../out/before
}
last=$(($(wc -l <$saved)))
bad_before 'that is cut' '$s/.$//;$s/,[^,]*$//' "line $last"
bad_before 'with another head' '1s/name/names/' 'line 1'
bad_before 'without a machine' '/^machine/d' 'not written by'
bad_before 'with a word for a number' '/^step/s/",[0-9]/",x/' "line $((last - 1))"
bad_before 'with an option that is none' 's/lengths/length/' '--length 4,8'
bad_before 'with an option that writes' 's/"lengths 4,8/"csv x/' '--csv x'
cut_short() { # after its first row
    rm -f ../out/csv
    "$bench" $tiny --seconds 0.5 --csv ../out/csv --only attention --attn relu \
        --lengths 8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128 >/dev/null 2>&1 &
    job=$! i=0
    until grep -qs '^attention,' ../out/csv || [ $i -gt 300 ]; do
        i=$((i + 1))
        sleep 0.1
    done
    kill -KILL $job
    wait $job 2>/dev/null
    job=
    grep -q '^attention,' ../out/csv && ! grep -q 'length 128,' ../out/csv
}
refused 'bench against an empty file'      5 'line 1'         "$bench" --against ../in/empty
refused 'bench against a text'             5 'line 1'         "$bench" --against $text
refused 'bench against a file that is not there' 4 'No such file' "$bench" --against ../in/nowhere
cp $saved ../out/before
for option in csv svg save; do
    refused "bench in place of what it is against" 2 'another name' "$bench" --only attention --against ../out/before --$option ../out/before
done
refused 'bench with two results in one file' 2 'the same file' "$bench" --csv x --save x
check 'an interrupted bench leaves the rows that it has' cut_short
refused 'bench that cannot save'           4 'No such file'   "$bench" --save nowhere/x
step_flops() { # OPTION...: operations of a step of a gated unit
    benches --only step --attn gau --lengths 64 "$@" || return
    sed -n 's/^step,"[^"]*"//p' ../out/csv | awk -F, 'END { printf "%.0f", $2 * $3 }'
}
more_bidirectional() { [ "$(step_flops --bidirectional)" -gt "$(step_flops)" ]; }
check 'bench of a bidirectional step' more_bidirectional

# ./tokenize, on a text that has all bytes, and on none.
tokenizes() { # LINE OPTION...: the summary's first line is LINE
    line=$1
    shift
    "$tokenize" --check "$@" >"$dir/stdout" 2>"$dir/err" && [ "$(head -n 1 "$dir/stdout")" = "$line" ]
}
cat "$train" $text >../out/bytes
check 'tokenize learns bytes' tokenizes 'byte: 256 tokens in the vocabulary' --tokenizer byte ../out/bytes
check 'tokenize learns pieces' tokenizes 'bpe:400: 400 tokens in the vocabulary' --tokenizer bpe:400 ../out/bytes
check 'and prints the number of tokens' grep -q 'bytes are .* bytes per token; they decode' "$dir/stdout"
check 'tokenize takes an empty text' tokenizes 'char: 256 tokens in the vocabulary' --tokenizer char ../in/empty
check 'which has no tokens' grep -q '^0 bytes are 0 tokens;' "$dir/stdout"
check 'tokenize reads another text than it learns from' tokenizes 'bpe:300: 300 tokens in the vocabulary' \
    --tokenizer bpe:300 --text ../out/bytes --json ../out/json $text
check 'and writes a tokenizer.json' grep -q '^"~": 126,$' ../out/json
check 'which it reads' tokenizes 'bpe:300: 300 tokens in the vocabulary' --tokenizer ../out/json --text ../out/bytes
refused 'a tokenizer and a text to learn from' 2 '--tokenizer has a tokenizer' \
    "$tokenize" --tokenizer ../out/json --text ../out/bytes $text
refused 'a tokenizer.json over the one that is read' 2 'is an input' "$tokenize" --tokenizer ../out/json --json ../out/json $text
refused 'a tokenizer.json in place of a file of a run' 2 'a file of the run' "$tokenize" --run $whole --json $whole/model.safetensors $text
ids() { [ "$("$tokenize" --tokenizer byte --ids ../in/one | wc -l)" = 1 ]; }
check 'tokenize prints tokens, and nothing else' ids

# ./figure, of a small file.
figures() { "$figure" --y ppl --x length --by attn "$@" >"$dir/stdout" 2>"$dir/err"; }
shows() { # LINE...: all of stdout
    printf '%s\n' "$@" | cmp -s - "$dir/stdout"
}
check 'figure makes a table' figures $csv
check 'of means and spreads' shows '| attn | 64 | 256 |' '| --- | --- | --- |' \
    '| softmax | 2.250 ± 0.354 | 3.000 |' '| relu | 4.000 | |'
check 'and says what is left out' said 'attn.c: warning: rows left out: 1 without a number in ppl'
check 'figure selects, orders and counts' figures --where seed=0 --order relu,gau --counts --best min --digits 1 $csv
check 'as requested' shows '| attn | 64 | 256 |' '| --- | --- | --- |' \
    '| relu | 4.0 (n = 1) | |' '| softmax | **2.0** (n = 1) | **3.0** (n = 1) |'
check 'an unknown name causes a warning' grep -q '^attn.c: warning: --order: no line is called gau$' "$dir/err"
check 'figure compares' figures --versus softmax --where length=64 $csv
check 'pairs of seeds' shows '| attn | 64 |' '| --- | --- |' '| softmax | 2.250 ± 0.354 |' '| relu | 4.000 |' '' \
    'Difference from softmax, in pairs with the same seed: mean ± half of the 95% interval; in bold, if that excludes 0.' \
    '' '| attn | 64 |' '| --- | --- |' '| relu | 2.000 |'
check 'figure prints LaTeX' figures --latex --digits 1 --where attn=relu $csv
check 'a tabular' shows '% \usepackage{booktabs}' '\begin{tabular}{lr}' '\toprule' ' attn & 64 \\' '\midrule' ' relu & 4.0 \\' \
    '\bottomrule' '\end{tabular}'
check 'figure tunes' figures --tuned seed --where attn=softmax --best max $csv
check 'with the seed of the highest mean among those of the most rows' grep -q '^Tuned: softmax with seed 0.$' "$dir/stdout"
check 'figure draws' figures --svg ../out/svg --csv ../out/csv --log-x --line 2.5:floor,1:below --line 3:top $csv
check 'and prints nothing' [ ! -s "$dir/stdout" ]
check 'its plot has a line for each' [ "$(grep -c '>\(softmax\|relu\|floor\|below\|top\)<' ../out/svg)" = 5 ]
check 'its plot is complete' grep -q '^</svg>$' ../out/svg
check 'its CSV has full precision' [ "$(sed -n '1p;2p;4p' ../out/csv | tr '\n' ' ')" = \
    'attn,length,n,mean,sd,min,max softmax,64,2,2.25,0.3535533905932738,2,2.5 relu,64,1,4,,4,4 ' ]
check 'figure takes standard input' eval '"$figure" --y ppl - <$csv >"$dir/stdout" 2>"$dir/err"'
check 'which is a file like others' shows '| | ppl |' '| --- | --- |' '| ppl | 2.875 ± 0.854 |'
[ ! -c /dev/full ] || refused 'figure to a full disk' 4 'No space' full $f --where seed=1 $csv
rm -f ../out/svg ../out/csv

# --help and --version.
help_word() { [ "$("$1" help)" = "$("$1" --help)" ]; }
help_fits() { [ "$("$1" --help | awk 'length > 80' | wc -l)" -eq 0 ]; }
version() { # what it is and how it was built
    [ "$("$1" --version | sed 's/^attn.c [0-9.]*$/1/; s/^commit \([0-9a-f]\{12,\}\(-dirty\)*\|unknown\)$/2/
        s/^compiler \(gcc\|clang\) [0-9].*$/3/; s/^flags .*-march=.*$/4/; s/^vectors of [0-9]* bits$/5/' | tr -d '\n')" = 12345 ]
}
help_is_whole() { # every option that a run's configuration knows
    for option in $(sed -n '/"command"/,$d; s/^  "\([a-z0-9_]*\)":.*/\1/p' "$first/config.json" | tr _ -); do
        "$train" --help | grep -q -e "^  --$option\( \|$\)" -e "^  --\[no-\]$option\( \|$\)" || no "$option" || return
    done
}
for program in "$train" "$evaluate" "$analyse" "$sample" "$fill" "$classify" "$export" "$import" "$bench" "$gradcheck" "$attend" "${attend}64" \
    "$tokenize" "$report" "$figure"; do
    check "${program##*/} help is --help" help_word "$program"
    check "${program##*/} --help fits 80 columns" help_fits "$program"
    check "${program##*/} --version says how it was built" version "$program"
done
check 'train --help has every option' help_is_whole
# A sample of what make faults does.
if "$train" --version | grep -q -e -fsanitize -e --coverage; then
    skip 'faults (sanitizers have their own malloc, and counters of coverage no answer to a failing one)'
else
    check 'every failure is reported and loses nothing' eval 'EVERY=150 FLOWS="overwrite resume sample report" "$root/tests/faults.sh" >&3'
fi
check 'nothing is left in the folder' lone

finish
