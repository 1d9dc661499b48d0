/*
 * tiny_lm.c - a small language model with scopes: a transformer that makes tokens one after the
 * other.
 *
 *     cc -O2 -g tiny_lm.c $(pkg-config --cflags kelvin) -lm -o tiny_lm
 *     ./tiny_lm --make model.bin                  # a checkpoint of random weights
 *     kelvin record -- ./tiny_lm model.bin 200
 *     kelvin scopes tiny_lm.kelvin --by layer     # time of each layer, p99 of a token, tokens per
 * second
 *
 * Its words make no sense, as nobody trained it; its layers, caches and products are those of real
 * ones.
 */
#include <kelvin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    int dim, hidden, layers, heads, vocabulary, length;
};

struct layer {
    float *norm_attention, *query, *key, *value, *output, *norm_hidden, *gate, *up, *down;
};

struct model {
    struct shape shape;
    float *weights, *embedding, *norm_final;
    struct layer *layers;
    float *keys, *values; /* of all tokens so far: layers x length x dim */
    float *x, *normed, *q, *scores, *mixed, *h, *g, *logits;
};

/* --- the checkpoint: a shape, then the weights --- */

static size_t layer_size(const struct shape *s)
{
    size_t d = (size_t)s->dim, h = (size_t)s->hidden;
    return 2 * d + 4 * d * d + 3 * d * h;
}

static size_t model_size(const struct shape *s)
{
    return (size_t)s->vocabulary * (size_t)s->dim + (size_t)s->dim +
           (size_t)s->layers * layer_size(s);
}

static float random_weight(uint64_t *seed, float scale)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ((float)(*seed >> 40) / (float)(1 << 23) - 1) * scale;
}

static int make_model(const char *path, int layers)
{
    struct shape s = {128, 352, layers, 8, 512, 512};
    FILE *f = fopen(path, "wb");
    uint64_t seed = 1;
    if (!f)
        return perror(path), 1;
    fwrite(&s, sizeof s, 1, f);
    for (size_t i = 0; i < model_size(&s); i++) {
        float w = random_weight(&seed, 0.1f);
        fwrite(&w, sizeof w, 1, f);
    }
    return fclose(f) != 0;
}

static float *take(float **at, size_t n)
{
    float *was = *at;
    *at += n;
    return was;
}

static void lay_out(struct model *m)
{
    const struct shape *s = &m->shape;
    size_t d = (size_t)s->dim, h = (size_t)s->hidden;
    float *at = m->weights;
    m->embedding = take(&at, (size_t)s->vocabulary * d);
    m->norm_final = take(&at, d);
    for (int i = 0; i < s->layers; i++)
        m->layers[i] = (struct layer){take(&at, d),     take(&at, d * d), take(&at, d * d),
                                      take(&at, d * d), take(&at, d * d), take(&at, d),
                                      take(&at, d * h), take(&at, d * h), take(&at, h * d)};
}

static float *floats(size_t n)
{
    float *p = calloc(n, sizeof *p);
    if (!p)
        abort();
    return p;
}

static int load_model(struct model *m, const char *path)
{
    KELVIN_SCOPE("load");
    struct shape *s = &m->shape;
    FILE *f = fopen(path, "rb");
    if (!f || fread(s, sizeof *s, 1, f) != 1)
        return perror(path), -1;
    size_t d = (size_t)s->dim, n = model_size(s);
    m->weights = floats(n);
    if (fread(m->weights, sizeof(float), n, f) != n)
        return fprintf(stderr, "%s: too short\n", path), -1;
    fclose(f);
    m->layers = calloc((size_t)s->layers, sizeof *m->layers);
    lay_out(m);
    m->keys = floats((size_t)s->layers * (size_t)s->length * d);
    m->values = floats((size_t)s->layers * (size_t)s->length * d);
    m->x = floats(d), m->normed = floats(d), m->q = floats(d), m->mixed = floats(d);
    m->scores = floats((size_t)s->length);
    m->h = floats((size_t)s->hidden), m->g = floats((size_t)s->hidden);
    m->logits = floats((size_t)s->vocabulary);
    return 0;
}

/* --- a step --- */

static void multiply(float *to, const float *matrix, const float *x, int rows, int columns)
{
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < columns; c++)
            sum += matrix[(size_t)r * (size_t)columns + (size_t)c] * x[c];
        to[r] = sum;
    }
}

static void normalize(float *to, const float *x, const float *weight, int n)
{
    float squares = 1e-5f;
    for (int i = 0; i < n; i++)
        squares += x[i] * x[i];
    float scale = 1 / sqrtf(squares / (float)n);
    for (int i = 0; i < n; i++)
        to[i] = x[i] * scale * (1 + weight[i]);
}

static void soften(float *x, int n)
{
    float most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++)
        sum += x[i] = expf(x[i] - most);
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

static void attend(struct model *m, const struct layer *l, int i, int position)
{
    KELVIN_SCOPE("attention");
    const struct shape *s = &m->shape;
    int d = s->dim, head = d / s->heads;
    size_t base = (size_t)i * (size_t)s->length * (size_t)d;
    float *key = m->keys + base + (size_t)position * (size_t)d;
    float *value = m->values + base + (size_t)position * (size_t)d;
    normalize(m->normed, m->x, l->norm_attention, d);
    multiply(m->q, l->query, m->normed, d, d);
    multiply(key, l->key, m->normed, d, d);
    multiply(value, l->value, m->normed, d, d);
    memset(m->mixed, 0, (size_t)d * sizeof *m->mixed);
    for (int h = 0; h < s->heads; h++) {
        for (int t = 0; t <= position; t++) {
            const float *k = m->keys + base + (size_t)t * (size_t)d + (size_t)(h * head);
            m->scores[t] = 0;
            for (int c = 0; c < head; c++)
                m->scores[t] += m->q[h * head + c] * k[c] / sqrtf((float)head);
        }
        soften(m->scores, position + 1);
        for (int t = 0; t <= position; t++)
            for (int c = 0; c < head; c++)
                m->mixed[h * head + c] +=
                    m->scores[t] * m->values[base + (size_t)t * (size_t)d + (size_t)(h * head + c)];
    }
    multiply(m->normed, l->output, m->mixed, d, d);
    for (int c = 0; c < d; c++)
        m->x[c] += m->normed[c];
}

static void feed_forward(struct model *m, const struct layer *l)
{
    KELVIN_SCOPE("feed forward");
    int d = m->shape.dim, h = m->shape.hidden;
    normalize(m->normed, m->x, l->norm_hidden, d);
    multiply(m->g, l->gate, m->normed, h, d);
    multiply(m->h, l->up, m->normed, h, d);
    for (int i = 0; i < h; i++)
        m->h[i] *= m->g[i] / (1 + expf(-m->g[i]));
    multiply(m->normed, l->down, m->h, d, h);
    for (int i = 0; i < d; i++)
        m->x[i] += m->normed[i];
}

/* Somebody forgot that words may be reused: one allocation for each token, for kelvin heap to find.
 */
static char *spell(int token)
{
    KELVIN_SCOPE("spell");
    char *word = malloc(16);
    if (word)
        snprintf(word, 16, "%c%c%d ", 'a' + token % 26, 'a' + token / 26 % 26, token % 10);
    return word;
}

static int choose(struct model *m)
{
    KELVIN_SCOPE("sample");
    int best = 0;
    normalize(m->normed, m->x, m->norm_final, m->shape.dim);
    multiply(m->logits, m->embedding, m->normed, m->shape.vocabulary, m->shape.dim);
    for (int i = 1; i < m->shape.vocabulary; i++)
        best = m->logits[i] > m->logits[best] ? i : best;
    return best;
}

static int decode(struct model *m, int token, int position)
{
    KELVIN_SCOPE("token", "position", position);
    memcpy(m->x, m->embedding + (size_t)token * (size_t)m->shape.dim,
           (size_t)m->shape.dim * sizeof *m->x);
    for (int i = 0; i < m->shape.layers; i++) {
        KELVIN_SCOPE("layer", "layer", i);
        attend(m, &m->layers[i], i, position);
        feed_forward(m, &m->layers[i]);
    }
    int next = (choose(m) + position * 7) % m->shape.vocabulary;
    char *word = spell(next);
    if (word)
        fputs(word, stdout);
    free(word);
    KELVIN_COUNT("tokens", 1);
    return next;
}

int main(int argc, char **argv)
{
    struct model m = {0};
    if (argc >= 3 && strcmp(argv[1], "--make") == 0)
        return make_model(argv[2], argc > 3 ? atoi(argv[3]) : 6);
    if (argc < 2 || load_model(&m, argv[1]) != 0)
        return argc < 2
               ? fprintf(stderr,
                         "usage: tiny_lm MODEL [TOKENS], or tiny_lm --make MODEL [LAYERS]\n"),
               2 : 1;
    int n = argc > 2 ? atoi(argv[2]) : 200, token = 1;
    for (int i = 0; i < n; i++)
        token = decode(&m, token, i % m.shape.length);
    putchar('\n');
    return 0;
}
