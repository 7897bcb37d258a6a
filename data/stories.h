/*
 * The built-in training text: short stories in simple English, in which names,
 * places and things of the first lines come back in the last, so that a model
 * which sees further back does better. They are written by a grammar that also
 * says how probable the text is: `bits / bytes` of a long enough text is the
 * loss, in bits per byte, below which no model gets on it except by luck.
 */
#ifndef DATA_STORIES_H
#define DATA_STORIES_H

#include <stddef.h>
#include <stdint.h>

/* Whole stories, each ended by a blank line; no 0 follows the last byte. */
typedef struct {
    char *text; /* free() it */
    size_t bytes;
    double bits;   /* -log2 of the probability that these stories are exactly this text */
    uint64_t next; /* number of the first story not in it */
} Stories;

/*
 * Stories `first`, first + 1, ... of `seed`, until they are at least `at_least` bytes. A story
 * depends on the seed and its number, on nothing else: the text can be written in pieces.
 */
Stories stories_write(uint64_t seed, uint64_t first, size_t at_least);

/*
 * -log2 of the probability of a text of whole stories, found by reading nothing but the text;
 * -1 if the grammar cannot write it. Any bytes may be asked about.
 */
double stories_bits(const char *text, size_t bytes);

/*
 * The grammar itself, for the tests: alternative i of a list with its weight among those that the
 * story has not used up, or NULL after the last; alternative 0 is NULL after the last list. List 0
 * is how a story begins.
 */
const char *stories_alternative(int list, int i, uint64_t *weight);

#endif
