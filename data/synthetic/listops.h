/* The tokens of ListOps, both generated and read from files. */
#ifndef DATA_SYNTHETIC_LISTOPS_H
#define DATA_SYNTHETIC_LISTOPS_H

enum {
    LISTOPS_PADDING,
    LISTOPS_MIN,
    LISTOPS_MAX,
    LISTOPS_MED,
    LISTOPS_SM,
    LISTOPS_END,
    LISTOPS_DIGIT, /* 0, and then 1 to 9 */
    LISTOPS_VOCAB = LISTOPS_DIGIT + 10
};

extern const char *const listops_words[LISTOPS_VOCAB]; /* "", "[MIN", "[MAX", ... */

#endif
