/*
 * A training loop of one's own: cc training.c $(pkg-config --cflags --libs attnc)
 * `./a.out TEXT CHECKPOINT.safetensors` writes a checkpoint for ./sample, ./eval and the others.
 */
#include <attnc.h>
#include <stdio.h>
#include <stdlib.h>

enum { B = 8, T = 64, STEPS = 100, TEXT = 1 << 20, SAMPLE = 100 };
static char text[TEXT];
static int token[TEXT], id[B * T], target[B * T], sample[SAMPLE];

static void draw(long n) /* B random windows; each token's target is the one after it */
{
    for (int b = 0; b < B; b++) {
        const long from = rand() % (n - T);

        for (int t = 0; t < T; t++) {
            id[b * T + t] = token[from + t];
            target[b * T + t] = token[from + t + 1];
        }
    }
}

static int run(attnc_model *m, long n, const char *path)
{
    const attnc_batch batch = { B, T, id, target, NULL };

    for (int step = 1; step <= STEPS; step++) {
        double loss, norm, rate = 2e-3 * (step < 20 ? step / 20.0 : 1 - step / (STEPS + 1.0));

        draw(n);
        if (attnc_model_loss(m, &batch, &loss) || attnc_model_backward(m, 1) ||
            attnc_model_step(m, rate, &norm))
            return 1;
        if (step == 1 || step % 20 == 0)
            printf("step %d  loss %.4f  norm %.3f\n", step, loss, norm);
    }
    return attnc_model_save(m, path) || attnc_model_sample(m, "", token, T, sample, SAMPLE);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    const size_t bytes = file ? fread(text, 1, TEXT, file) : 0;
    attnc_model *m = attnc_model_new(
        "--attn cosformer --n-layer 2 --n-embd 64 --block-size 64 --tokenizer char", text, bytes);
    const long n = m ? (long)attnc_model_encode(m, text, bytes, token) : 0;

    if (n <= T || run(m, n, argv[2]))
        return fprintf(stderr, "%s\n", n > T ? attnc_error() : "needs a TEXT and a path"), 1;
    for (int i = 0; i < SAMPLE; i++) {
        size_t length;
        const char *piece = attnc_model_decode(m, sample[i], &length);

        fwrite(piece, 1, length, stdout);
    }
    attnc_model_free(m);
    return 0;
}
