/*
 * ./attend: attention on your own tensors.
 *
 *     IN:  q k v ...  [dout] [lengths]   -->   OUT:  out  [dq dk dv ...]  [A]
 *
 * Every tensor of IN is checked before memory is allocated for it, and OUT is written at the end.
 * ./attend64 is the same in double.
 */
#include "tools/attend/family.h"
#include "tools/attend/input.h"
#include "tools/attend/operands.h"

#include "model/checkpoint.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/processors.h"
#include "ops/base/text.h"
#include "ops/decoding.h"
#include "tools/common/options.h"
#include "tools/common/outputs.h"
#include "tools/common/settings.h"

#include <stdint.h>
#include <string.h>

/* RESULTS: out, A, and a gradient for each operand. */
enum { RESULTS = OPERANDS_MAX + 2, PATH_SHOWN = 100 };

static SettingsOptions settings = { .attention = -1, .has_context = true };
static bool causal, rope, with_matrix, by_steps;
static const char *rope_scale;
static int threads, layer, layers = 1;

static Option options[] = {
    { .name = "Computation" },
    { "attn", OPTION_CHOICE, &settings.attention, .choice = family_choice,
      .help = "the attention" },
    { "causal", OPTION_FLAG, &causal,
      .help = "attend only to the query's position and earlier ones" },
    { "rope", OPTION_FLAG, &rope, .help = "apply RoPE to q and k, or to their features" },
    { "rope-scale", OPTION_TEXT, &rope_scale, .word = "KIND:S",
      .help = "slow RoPE's rotations: linear:S all by S; ntk:S the slowest by S, the fastest not" },
    { "layer", OPTION_INT, &layer, .max = 100000,
      .help = "index of the layer in its model, from 0, for decays that depend on it" },
    { "layers", OPTION_INT, &layers, .min = 1, .max = 100000,
      .help = "number of layers of that model" },
    SETTINGS_HERE,
    { .name = "Output and execution" },
    { "matrix", OPTION_FLAG, &with_matrix,
      .help = "also write the attention matrix A of each head" },
    { "steps", OPTION_FLAG, &by_steps,
      .help = "compute causal attention position by position, as in decoding" },
    THREADS_OPTION(threads),
    { 0 },
};

#ifdef PROOF
#define NAME "./attend64"
#define NUMBERS "F64"
#else
#define NAME "./attend"
#define NUMBERS "F32"
#endif

static Program program = {
    .usage = NAME " --attn NAME [options] IN.safetensors OUT.safetensors",
    .summary = "Computes attention, and its gradients, on the tensors in a file.",
    .options = options,
};

/* The notes of --help, with the operands of all rows. */
static void put_notes(FILE *to, void *unused)
{
    (void)unused;
    fputs("IN, in F32 or F64\n"
          "  q, k [B,N,H,d]      N positions of B sequences, H heads\n"
          "  v [B,N,H,e]         their values\n"
          "  dout [B,N,H,e]      the gradient of out; optional, enables gradients\n"
          "  lengths [B]         lengths of the sequences, in I32 or I64; later keys are\n"
          "                      padding\n",
          to);
    put_operands(to);
    fputs("\n"
          "OUT, in " NUMBERS "\n"
          "  out [B,N,H,e]       with dout also dq, dk, dv, dpool_q, ...\n"
          "  A [B,H,N,N]         with --matrix; out = A v",
          to);
}

/* A mix and its results. */
typedef struct {
    Tape tape;
    Arena *mem; /* of what outlives a reset of the tape */
    Mix mix;
    Tensor *dout;
    Entry result[RESULTS];
    int results;
} Job;

/* The numbers in a file are unaligned. */
static Tensor *convert(Arena *mem, const Entry *e)
{
    int dim[4] = { 0 };

    for (int d = 0; d < e->ndim; d++)
        dim[d] = (int)e->dim[d];
    Tensor *t = tensor_new(mem, e->ndim, dim);
    for (size_t i = 0; i < t->n; i++)
        if (e->dtype == DTYPE_F32) {
            float x;

            memcpy(&x, (const float *)e->data + i, sizeof x);
            t->data[i] = R(x);
        } else {
            double x;

            memcpy(&x, (const double *)e->data + i, sizeof x);
            t->data[i] = R(x);
        }
    return t;
}

static const int *convert_lengths(Arena *mem, const Input *in)
{
    const Entry *e = in->lengths;
    const size_t size = dtype_size(e->dtype);
    int *length = arena_take(mem, e->dim[0] * sizeof *length);

    for (size_t b = 0; b < e->dim[0]; b++) {
        const unsigned char *at = (const unsigned char *)e->data + b * size;
        int32_t narrow = 0;
        int64_t n = 0;

        memcpy(size == sizeof n ? (void *)&n : &narrow, at, size);
        n += narrow; /* one of them is 0 */
        if (n < 0 || n > (int64_t)in->size['N'])
            die(EXIT_DATA, "%s: lengths[%zu] is %lld, but it must be from 0 to %zu, the N of q",
                in->path.at, b, (long long)n, in->size['N']);
        length[b] = (int)n;
    }
    return length;
}

/* Such results may be of any size, or NaN. */
static void warn_of_numbers(const Input *in, const Operand *o, const Tensor *x)
{
    const size_t i = operand_misfit(o, x);

    if (i < x->n)
        warn("%s: number %zu of %s is %g, but it is a %s", in->path.at, i, o->name,
             (double)x->data[i], o->help);
}

static Job job_open(const Input *in)
{
    Job j = { .tape = { .mem = arena_new(), .pool = pool_new(threads) },
              .mem = arena_new(),
              .mix = { .attention = in->attention,
                       .causal = causal,
                       .rope = rope,
                       .rope_scale = settings_rope_scale(rope_scale),
                       .layer = layer,
                       .layers = layers,
                       .set = in->set } };

    settings_fit_context(&j.mix.set, in->attention, CONTEXT_IF_ASKED, (int)in->size['N']);
    if (in->lengths)
        j.mix.length = convert_lengths(j.mem, in);
    for (int i = 0; i < OPERANDS_MAX; i++)
        if (in->operand[i]) {
            j.mix.x[i] = convert(j.mem, in->operand[i]);
            warn_of_numbers(in, attention_operand(in->attention, i), j.mix.x[i]);
        }
    if (in->dout)
        j.dout = convert(j.mem, in->dout);
    return j;
}

static void job_close(Job *j)
{
    pool_free(j->tape.pool);
    arena_free(j->tape.mem);
    arena_free(j->mem);
}

static void add(Job *j, const char *name, const Tensor *shape, real *data)
{
    j->result[j->results++] = checkpoint_entry(name, shape, data);
}

static void add_gradient(Job *j, const Operand *o, Tensor *x)
{
    if (!x->has_grad) /* nothing depends on it */
        memset(x->grad, 0, x->n * sizeof(real));
    add(j, arena_format(j->mem, "d%s", o->name), x, x->grad);
}

/* Gradients are allocated before the pass, so that none overwrites its operand. */
static void differentiate(Job *j, Tensor *out)
{
    const Operand *o;

    for (int i = 0; i < OPERANDS_MAX; i++)
        if (j->mix.x[i])
            j->mix.x[i]->grad = arena_take(j->mem, j->mix.x[i]->n * sizeof(real));
    tape_backward(&j->tape, out, j->dout->data);
    for (int i = 0; (o = attention_operand(j->mix.attention, i)); i++)
        if (j->mix.x[i] && operand_learned(o, &j->mix.set))
            add_gradient(j, o, j->mix.x[i]);
}

/* A mix of position t of sequence b alone, with tensors in `row`. */
static Mix position(const Job *j, int b, int t, Tensor row[OPERANDS_MAX])
{
    const int T = j->mix.q->dim[1];
    Mix in = j->mix;

    for (int i = 0; i < OPERANDS_MAX; i++) {
        if (!in.x[i] || *attention_operand(in.attention, i)->shape != 'B')
            continue;
        row[i] = *in.x[i];
        row[i].n /= (size_t)(row[i].dim[0] * row[i].dim[1]);
        row[i].data += ((size_t)b * (size_t)T + (size_t)t) * row[i].n;
        row[i].dim[0] = row[i].dim[1] = 1;
        in.x[i] = &row[i];
    }
    in.length = in.length ? in.length + b : NULL;
    settings_fit_context(&in.set, in.attention, CONTEXT_AT_LEAST,
                         T); /* as for the whole sequence */
    return in;
}

static Tensor *decode(Job *j)
{
    const Tensor *v = j->mix.v;
    const int B = v->dim[0], T = v->dim[1];
    Tensor *out = tensor_new(j->mem, 4, v->dim), row[OPERANDS_MAX];
    const size_t n = out->n / (size_t)(B * T);
    Tape tape = { arena_new(), j->tape.pool, .forward_only = true, .decoding = decoding_new(T, 1) };

    for (int b = 0; b < B; b++, decoding_reset(tape.decoding))
        for (int t = 0; t < T; t++, tape_reset(&tape)) {
            const Mix in = position(j, b, t, row);

            tape.decoding->t = t;
            memcpy(out->data + (size_t)(b * T + t) * n, attention_mix(&tape, &in)->data,
                   n * sizeof(real));
        }
    decoding_free(tape.decoding);
    arena_free(tape.mem);
    return out;
}

static void add_matrix(Job *j)
{
    const int *dim = j->mix.q->dim, B = dim[0], T = dim[1], H = dim[2];
    const size_t n = (size_t)B * (size_t)H * (size_t)T * (size_t)T;
    real *A = arena_take(j->mem, n * sizeof(real));

    j->tape.forward_only = true;
    attention_matrix(&j->tape, &j->mix, A);
    add(j, "A", &(Tensor){ .ndim = 4, .dim = { B, H, T, T }, .n = n }, A);
}

/* A copy, since the backward pass frees results. */
static real *copied(Arena *mem, const Tensor *t)
{
    return memcpy(arena_take(mem, t->n * sizeof(real)), t->data, t->n * sizeof(real));
}

static void compute(Job *j)
{
    Tensor *y = NULL;

    j->tape.forward_only = !j->dout;
    if (j->dout || !by_steps)
        y = attention_mix(&j->tape, &j->mix);
    add(j, "out", j->mix.v, by_steps ? decode(j)->data : copied(j->mem, y));
    if (j->dout)
        differentiate(j, y);
    tape_reset(&j->tape);
    if (with_matrix)
        add_matrix(j);
}

/* With metadata: the settings of the mechanism, and RoPE if it is supported. */
static void write_results(const Job *j, const char *path)
{
    const Attention *a = j->mix.attention;
    Meta meta[SETTINGS_MAX + 4];
    int metas = 0;

    meta[metas++] = (Meta){ "attnc.attn", a->name };
    meta[metas++] = (Meta){ "attnc.causal", causal ? "true" : "false" };
    if (a->traits & CAN_ROPE) {
        meta[metas++] = (Meta){ "attnc.rope", rope ? "true" : "false" };
        meta[metas++] =
            (Meta){ "attnc.rope_scale",
                    arena_string(j->mem, settings_rope_scale_text(j->mix.rope_scale).at) };
    }
    for (const Setting *s = a->settings; s && s->name; s++)
        if (!s->layer)
            meta[metas++] =
                (Meta){ arena_format(j->mem, "attnc.%s", setting_key(s).at),
                        arena_string(j->mem,
                                     setting_print(s, setting_or_zero(&j->mix.set, s->name)).at) };
    safetensors_write(path, (Contents){ j->result, j->results, meta, metas, NULL });
}

static void check_files(int files, char **file)
{
    if (files != 2)
        die(EXIT_USAGE, "attend takes two files, not %d: %s", files, options_usage(&program).at);
    if (strcmp(file[1], "-") == 0)
        die(EXIT_USAGE, "the results must go to a file, not to standard output");
    outputs_check(&(Output){ .path = file[1] }, 1, (const char *const *)file, 1);
}

static void check_layer(const Attention *a)
{
    settings_check_layer(&program, a);
    if (layer >= layers)
        die(EXIT_USAGE, "--layer is %d, but there are %d --layers, counted from 0", layer, layers);
}

/* Whether the mechanism can do what the command line asks. */
static void check_row(const Attention *a, const Values *set)
{
    settings_check_rope(&program, "rope", a);
    check_layer(a);
    if (with_matrix && !(a->traits & HAS_MATRIX))
        die(EXIT_USAGE, "--matrix: %s has no matrix, since its output is not a weighted sum of v",
            a->name);
    if (by_steps && !attention_decodes(a))
        die(EXIT_USAGE, "--steps: %s cannot decode", a->name);
    if (by_steps && !causal && options_given(&program, "causal"))
        die(EXIT_USAGE, "--steps is for causal attention: it cannot be combined with --no-causal");
    causal = causal || by_steps;
    const Text why = attention_refuses(a, set, causal);
    if (why.n)
        die(EXIT_USAGE, "--attn %s %s: %s --causal", a->name, why.at, causal ? "leave out" : "add");
}

/* Checks the command line before anything is read; returns the name in it. */
static const char *settle(int files, char **file, Input *in)
{
    if (settings.attention < 0)
        die(EXIT_USAGE, "--attn NAME is missing; --help lists the names");
    const char *name = family_choice(settings.attention).name;
    settings.attention = family_row(settings.attention);
    in->attention = settings_of(&program, &settings, &in->set);
    settings_rope_scale(rope_scale);
    if (rope_scale && !rope)
        die(EXIT_USAGE, "--rope-scale needs --rope");
    settings_check_rotated(&program, rope, "--rope");
    check_row(in->attention, &in->set);
    check_files(files, file);
    if (threads == 0)
        threads = processors_available();
    return name;
}

/* Another member of the family, by the operands in the file, with its own defaults. */
static void choose_member(Input *in, const char *name)
{
    const Attention *a = family_member(in->attention, name, in->file);

    for (const Setting *s = a->settings; s && s->name; s++)
        if (!attention_takes(in->attention, s->name))
            *setting_at(&in->set, s->name) = s->value;
    in->attention = a;
    check_row(a, &in->set);
}

int main(int argc, char **argv)
{
    size_t bytes;

    settings_add(&program, &settings, false);
    program.notes = print_to_memory(put_notes, NULL, &bytes);
    const int files = options_parse(&program, argc, argv);
    Input in = { 0 };

    const char *name = settle(files, argv, &in);
    in.path = text_cut(strcmp(argv[0], "-") == 0 ? "standard input" : argv[0], PATH_SHOWN);
    in.file = safetensors_read(argv[0]);
    choose_member(&in, name);
    input_inspect(&in, rope);
    input_check_memory(&in, with_matrix);
    Job job = job_open(&in);
    input_warn_of_others(&in);
    safetensors_free(in.file);
    compute(&job);
    write_results(&job, argv[1]);
    job_close(&job);
    return 0;
}
