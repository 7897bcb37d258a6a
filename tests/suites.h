/*
 * The table of suites. A new one is a file tests/test_NAME.c with suite_NAME(), and a line here:
 * ROW, or ONCE if it has no `real`, so that float and double are the same to it.
 */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

#ifndef SUITES /* of the Makefile, which then compiles the tests of these alone */
#define SUITES(ROW, ONCE)                                                                          \
    ROW(base)          /* arena, random numbers, tape */                                           \
    ONCE(pool)         /* threads that share a loop */                                             \
    ONCE(processors)   /* how many a process may use */                                            \
    ROW(svd)           /* singular values */                                                       \
    ROW(focus)         /* where the rows of an attention matrix look */                            \
    ROW(analysis)      /* the attention matrices of a model */                                     \
    ROW(transfer)      /* the weights of one model in another; what is not trained */              \
    ROW(growth)        /* the same at several lengths, and fits */                                 \
    ROW(optimiser)     /* every optimiser, and the norm of gradients */                            \
    ROW(muon)          /* Muon */                                                                  \
    ONCE(schedule)     /* learning rates */                                                        \
    ONCE(json)         /* the reader of JSON */                                                    \
    ONCE(report)       /* the page of ./report */                                                  \
    ONCE(cards)        /* its cards, one for each run */                                           \
    ONCE(seeds)        /* its means over seeds */                                                  \
    ROW(maps)          /* its attention maps */                                                    \
    ROW(derivative)    /* what derivatives are compared with */                                    \
    ROW(ops)           /* every op except attention */                                             \
    ROW(activation)    /* activations at large arguments, and of NaN */                            \
    ROW(kernel)        /* the kernel of the matrix product, elementary functions */                \
    ROW(bf16)          /* products of 16-bit operands */                                           \
    ROW(precision)     /* which operands have 16 bits */                                           \
    ROW(rope)          /* RoPE */                                                                  \
    ROW(attention)     /* every attention against its twin, alone and in a block */                \
    ROW(delta)         /* states that are corrected, at extreme numbers */                         \
    ROW(features)      /* feature maps: closed forms, extreme rows */                              \
    ROW(masks)         /* what an attention may see */                                             \
    ROW(patterns)      /* rows that see several spans of keys */                                   \
    ROW(promises)      /* what holds for every attention */                                        \
    ROW(placed)        /* attentions whose weights depend on positions, in short */                \
    ROW(buckets)       /* attentions that sort their keys */                                       \
    ROW(safetensors)   /* tensors in files */                                                      \
    ONCE(headers)      /* which headers of tensor files are valid */                               \
    ONCE(file)         /* whole files, in and out */                                               \
    ONCE(stories)      /* the built-in text and its exact probability */                           \
    ONCE(corpus)       /* text files and batches of them */                                        \
    ONCE(disk_text)    /* texts too large for memory */                                            \
    ONCE(tokenizer)    /* text as tokens, and back */                                              \
    ROW(bpe)           /* byte pair encoding, and the pieces of a text */                          \
    ONCE(gpt2)         /* the tokenizers of imported models */                                     \
    ONCE(masking)      /* what is hidden of a window, and asked of it */                           \
    ONCE(synthetic)    /* synthetic tasks, solved again */                                         \
    ONCE(draws)        /* what they draw, and how often */                                         \
    ONCE(listops)      /* the same of ListOps */                                                   \
    ONCE(lra)          /* ListOps from its own files */                                            \
    ONCE(cifar)        /* images of CIFAR-10 from its files */                                     \
    ONCE(labels)       /* labelled texts from files, and shares of them */                         \
    ONCE(label_rows)   /* labelled texts as rows of tokens */                                      \
    ROW(omega)         /* Performer's directions */                                                \
    ROW(decays)        /* states that fade at once, or hardly ever */                              \
    ROW(layers)        /* the layers around a mix */                                               \
    ROW(model)         /* the whole model */                                                       \
    ROW(classifier)    /* how a model comes to say classes */                                      \
    ROW(config)        /* what follows from a configuration */                                     \
    ROW(sample)        /* samples, and the rules of drawing */                                     \
    ONCE(stream)       /* text on a terminal */                                                    \
    ROW(checkpoint)    /* a model as a file */                                                     \
    ROW(saved)         /* what a run needs to go on, and what is no such thing */                  \
    ROW(tape)          /* parts of a step that are made again, and its memory */                   \
    ROW(decode)        /* token by token: states, draws, text on a terminal */                     \
    ROW(evaluate)      /* what a model is judged by */                                             \
    ONCE(sources)      /* which rows are drawn, and which are held back */                         \
    ROW(training)      /* the training loop, and resuming */                                       \
    ROW(skips)         /* updates that are not taken */                                            \
    ROW(stopping)      /* how runs end, and are continued */                                       \
    ONCE(display)      /* progress on terminals, and what time a run takes */                      \
    ROW(perplexity)    /* a trained model at other lengths */                                      \
    ROW(tally)         /* right and wrong answers, at any length */                                \
    ROW(fill)          /* blanks of a text, and what is put there */                               \
    ONCE(plot)         /* the plotter */                                                           \
    ONCE(csv)          /* the reader of CSV */                                                     \
    ONCE(figure)       /* the cells of ./figure, and its charts */                                 \
    ONCE(tables)       /* its tables */                                                            \
    ONCE(tensorboard)  /* TensorBoard's files */                                                   \
    ROW(form)          /* a model in the form of another's classes */                              \
    ONCE(options)      /* the command line of every program */                                     \
    ONCE(signals)      /* those that ask a program to stop */                                      \
    ONCE(settings)     /* the options of attentions, and what rows forbid */                       \
    ROW(attend)        /* ./attend, run */                                                         \
    ROW(members)       /* ./attend: families of attentions, the place of a layer */                \
    ROW(export)        /* ./export, run */                                                         \
    ROW(import)        /* folders of transformers, as models of ours */                            \
    ONCE(vocabulary)   /* tokenizers of such folders */                                            \
    ROW(bench)         /* the rows of ./bench, and what they were before */                        \
    ROW(trained)       /* what programs measure a trained model on */                              \
    ONCE(outputs)      /* which files results may not replace */                                   \
    ROW(generations)   /* the last two checkpoints of a run */                                     \
    ONCE(kept)         /* the lines of a log that a resumed run keeps */                           \
    ONCE(folder)       /* the folder of a run, locked and overwritten */                           \
    ONCE(configured)   /* options from a file */                                                   \
    ROW(library)       /* attention of the library, as its users call it */                        \
    ROW(library_model) /* and models */                                                            \
    ONCE(print)        /* manual pages and completion */
#endif

#define SUITE_DECLARE(name) Suite *suite_##name(void);
SUITES(SUITE_DECLARE, SUITE_DECLARE)

#endif
