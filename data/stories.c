/*
 * A grammar is lists of alternatives, separated by '/'. An alternative is text with slots, such as
 *
 *     {friend} lost the {worn} {badge} {spot}, and {hero} {manner} found it.
 *
 * A slot stands for an alternative of its list, chosen when the slot is met. A kept slot is chosen
 * once a story, and every later mention repeats the choice: this is how facts come back. A list
 * marked ONCE gives each of its alternatives at most once a story, so hero and friend differ,
 * nothing happens twice, and {more}, which calls itself, ends. {Slot} is written with a capital;
 * {slot:she} is another form of what was chosen, one of those after the bars in its list.
 *
 * Invariant: where a choice is made, call the head of an alternative its text up to the first slot
 * that is still open. No head is a prefix of another one's. So at every choice the text that
 * follows fits one head and no other, which determines the choice; by induction from the first
 * byte, a text has one derivation or none. choose() and say() are the only way through the grammar,
 * for the writer and for the reader: the writer draws an alternative and writes its head, and from
 * there on is a reader of its own text. A head that fits beside the right one is a bug, and stops.
 *
 * Consequence: with weights w, choice k takes its alternative c_k among those not used up, A_k,
 * with the probability w(c_k) / sum_{a in A_k} w(a) given all choices before it, and as the text
 * has one derivation,
 *
 *     -log2 P(text) = sum_k log2( sum_{a in A_k} w(a) / w(c_k) )          exactly.
 *
 * For a model Q of stories, E[-log2 Q] - E[-log2 P] = KL(P || Q) >= 0: over the stories that the
 * grammar writes, no model's mean loss is below E[-log2 P], the mean of `bits`. Divided by the mean
 * length it is the floor in bits per byte. Weights and draws are integers, so the text is the same
 * on every machine.
 */
#include "data/stories.h"

#include "data/stories_grammar.h"
#include "ops/base/error.h"
#include "ops/base/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LISTS = sizeof lists / sizeof *lists, HEAD_MAX = 512, STORY_MAX = 16384 };
enum {
    PASSAGE_MAX = 1024,
    PASSAGE_ANIMALS = 8,
    PASSAGE_WHO = 1 << 20
}; /* a draw that no passage comes to */
static const char *const forms[] = { "", "she", "her", "him" };
enum { FORMS = sizeof forms / sizeof *forms };

/* The text before `at` is parsed. A writer's text ends there, until it writes the next piece. */
typedef struct {
    bool writing, lost; /* lost: no derivation */
    Random random;
    uint64_t draws;
    char *out; /* the text, if writing */
    const char *text;
    size_t at, end, room;
    double bits;
    const char *kept[LISTS][SLOTS]; /* the alternative in a kept slot, NULL while it is open */
    uint64_t used[LISTS];           /* bit i: alternative i is used up */
} Scribe;

/* A slot as the text mentions it: {Name:form}. */
typedef struct {
    int list, slot, form;
    bool capital;
    const char *after;
} Mention;

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool ends(char c)
{
    return c == '/' || c == '|' || c == 0;
}

static bool same(const char *name, const char *at, size_t n)
{
    return name && upper(name[0]) == upper(at[0]) && strncmp(name + 1, at + 1, n - 1) == 0 &&
           name[n] == 0;
}

static Mention mention(const char *brace)
{
    size_t all = (size_t)(strchr(brace, '}') - brace - 1);
    const char *colon = memchr(brace + 1, ':', all);
    size_t n = colon ? (size_t)(colon - brace - 1) : all;
    Mention m = { 0, 0, 0, brace[1] == upper(brace[1]), brace + all + 2 };

    while (m.list < LISTS && !same(lists[m.list].slot[m.slot], brace + 1, n))
        if (++m.slot == SLOTS)
            m.slot = 0, m.list++;
    if (n < all)
        while (++m.form < FORMS && !same(forms[m.form], brace + n + 2, all - n - 1))
            continue;
    if (m.list == LISTS || m.form == FORMS)
        BUG("no slot %.*s", (int)all + 2, brace);
    return m;
}

static const char *next(const char *alternative)
{
    const char *slash = strchr(alternative, '/');

    return slash ? slash + 1 : strchr(alternative, 0);
}

static const char *form(const char *alternative, int i)
{
    for (; i > 0; i--) {
        alternative += strcspn(alternative, "|/");
        if (*alternative++ != '|')
            BUG("%.20s: no such form", alternative - 1);
    }
    return alternative;
}

static uint64_t weight(const Scribe *s, int list, int i)
{
    if (s->used[list] >> i & 1)
        return 0;
    return lists[list].flags & SKEWED ? 10000u / (unsigned)(i + 5) : 1;
}

/* Renders an alternative up to its end or its first open slot, and leaves *text there. */
static size_t head(const Scribe *s, const char **text, bool capital, char into[HEAD_MAX], size_t n)
{
    const char *p = *text;

    while (!ends(*p)) {
        if (n == HEAD_MAX)
            BUG("a head of %d bytes", HEAD_MAX);
        if (*p != '{') {
            into[n++] = capital ? upper(*p) : *p;
            p++;
        } else {
            Mention m = mention(p);
            const char *again = s->kept[m.list][m.slot];

            if (!again)
                break;
            again = form(again, m.form);
            n = head(s, &again, capital || m.capital, into, n);
            p = m.after;
        }
        capital = false;
    }
    *text = p;
    return n;
}

static void write_out(Scribe *s, const char *piece, size_t n)
{
    if (n > s->room - s->end)
        BUG("a story of more than %d bytes", STORY_MAX);
    memcpy(s->out + s->end, piece, n);
    s->end += n;
}

static bool fits(const Scribe *s, const char *piece, size_t n)
{
    return n <= s->end - s->at && memcmp(s->text + s->at, piece, n) == 0;
}

/* Whether the first byte of an alternative, unless it is a slot's, allows its head to fit. */
static bool may_fit(const Scribe *s, const char *p, bool capital)
{
    return *p == '{' || ends(*p) || fits(s, &(char){ capital ? upper(*p) : *p }, 1);
}

static void say(Scribe *s, const char *text);

/* The alternative that the draw falls on, and its head into the text. */
static void draw(Scribe *s, Mention m, uint64_t total)
{
    uint64_t ticket = random_below(s->random, s->draws++, total);
    const char *a = lists[m.list].text;
    char piece[HEAD_MAX];

    if (total == 0)
        BUG("list %d is used up", m.list);
    for (int i = 0; ticket >= weight(s, m.list, i); i++, a = next(a))
        ticket -= weight(s, m.list, i);
    a = form(a, m.form);
    write_out(s, piece, head(s, &a, m.capital, piece, 0));
}

/* Fills an open slot with the one alternative whose head continues the text. */
static void choose(Scribe *s, Mention m)
{
    const char *chosen = NULL, *rest = NULL, *a;
    uint64_t total = 0;
    size_t length = 0;
    int i = 0, which = 0;
    char piece[HEAD_MAX];

    for (a = lists[m.list].text; *a; a = next(a))
        total += weight(s, m.list, i++);
    if (s->writing)
        draw(s, m, total);
    for (a = lists[m.list].text, i = 0; *a; a = next(a), i++) {
        const char *p = form(a, m.form);

        if (!weight(s, m.list, i) || !may_fit(s, p, m.capital))
            continue;
        const size_t n = head(s, &p, m.capital, piece, 0);

        if (!fits(s, piece, n))
            continue;
        if (chosen)
            BUG("two heads fit: %.20s and %.20s", chosen, a);
        chosen = a, rest = p, length = n, which = i;
    }
    if (!chosen) {
        s->lost = true;
        return;
    }
    s->bits += log2((double)total / (double)weight(s, m.list, which));
    s->at += length;
    if (lists[m.list].flags & ONCE)
        s->used[m.list] |= (uint64_t)1 << which;
    if (m.slot >= KEPT)
        s->kept[m.list][m.slot] = chosen;
    say(s, rest);
}

/* Writes or reads the text from here to its end, choosing at every open slot. */
static void say(Scribe *s, const char *text)
{
    char piece[HEAD_MAX];

    while (!s->lost && !ends(*text)) {
        size_t n = head(s, &text, false, piece, 0);

        if (s->writing)
            write_out(s, piece, n);
        s->lost = !fits(s, piece, n);
        s->at += s->lost ? 0 : n;
        if (!s->lost && *text == '{') {
            Mention m = mention(text);

            choose(s, m);
            text = m.after;
        }
    }
}

static void begin(Scribe *s)
{
    memset(s->kept, 0, sizeof s->kept);
    memset(s->used, 0, sizeof s->used);
    s->draws = 0;
}

static void story(Scribe *s)
{
    begin(s);
    say(s, STORY);
}

Stories stories_write(uint64_t seed, uint64_t first, size_t at_least)
{
    Scribe s = { .writing = true, .room = at_least + STORY_MAX };

    if (s.room < at_least)
        die(EXIT_MEMORY, "%zu bytes of stories are more than fit in memory", at_least);
    s.text = s.out = xmalloc(s.room);
    for (; s.end < at_least; first++) {
        s.random = random_stream(seed, RANDOM_STORY, first);
        story(&s);
    }
    return (Stories){ s.out, s.end, s.bits, first };
}

double stories_bits(const char *text, size_t bytes)
{
    Scribe s = { .text = text, .end = bytes };

    while (s.at < s.end && !s.lost)
        story(&s);
    return s.lost ? -1 : s.bits;
}

/* Writes what fills a kept slot, and a tab, before the text from `start` on. */
static void put_label(Scribe *s, const char *slot, size_t start)
{
    const Mention m = mention(slot);
    const char *label = s->kept[m.list][m.slot];
    const size_t n = strcspn(label, "/|");

    write_out(s, label, n);
    write_out(s, "\t", 1);
    memmove(s->out + start + n + 1, s->out + start, s->end - start - n - 1);
    memcpy(s->out + start, label, n);
    s->out[start + n] = '\t';
    s->at = s->end;
}

Stories stories_labelled(uint64_t seed, uint64_t first, size_t rows)
{
    static const uint64_t apart = (uint64_t)1 << 40; /* from the numbers of stories */
    Scribe s = { .writing = true, .room = (rows + 1) * PASSAGE_MAX };

    s.text = s.out = xmalloc(s.room);
    for (uint64_t number = first; number < first + rows; number++) {
        const size_t start = s.end;
        const Random r = random_stream(seed, RANDOM_STORY, apart + number);
        const int who = (int)random_below(r, PASSAGE_WHO, 2);

        s.random = r;
        begin(&s);
        s.used[mention("{animal}").list] = ~(uint64_t)0 << PASSAGE_ANIMALS;
        say(&s, PASSAGE[who]);
        put_label(&s, who ? "{fanimal}" : "{animal}", start);
    }
    return (Stories){ s.out, s.end, s.bits, first + rows };
}
