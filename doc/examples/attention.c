/* Attention with gradients on one's own arrays: cc attention.c $(pkg-config --cflags --libs attnc)
 */
#include <attnc.h>
#include <stdio.h>

enum { B = 2, N = 50, H = 4, D = 16, SIZE = B * N * H * D };
static float q[SIZE], k[SIZE], v[SIZE], out[SIZE], g[SIZE], dq[SIZE], dk[SIZE], dv[SIZE];

static double loss(attnc_attention *a) /* the sum of g * out */
{
    double sum = 0;

    attnc_attention_forward(a, NULL, out);
    for (int i = 0; i < SIZE; i++)
        sum += (double)g[i] * (double)out[i];
    return sum;
}

int main(void)
{
    attnc_attention *a = attnc_attention_new("--attn softmax --causal");

    for (int i = 0; i < SIZE; i++)
        q[i] = i % 7 / 7.0f, k[i] = i % 11 / 11.0f, v[i] = i % 13 / 13.0f, g[i] = i % 5 - 2.0f;
    if (!a || attnc_attention_shape(a, B, N, H, D, D) || attnc_attention_bind(a, "q", q, dq) ||
        attnc_attention_bind(a, "k", k, dk) || attnc_attention_bind(a, "v", v, dv))
        return fprintf(stderr, "%s\n", attnc_error()), 1;
    loss(a);
    attnc_attention_backward(a, g); /* fills dq, dk and dv */
    const double before = (v[777] -= 0.5f, loss(a)), after = (v[777] += 1, loss(a));
    printf("%.4f by hand, %.4f by differences\n", (double)dv[777], after - before);
    attnc_attention_free(a);
    return 0;
}
