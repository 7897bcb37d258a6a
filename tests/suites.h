/* The table of suites. A new one is a file tests/test_NAME.c with suite_NAME(), and a line here. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

#define SUITES(ROW)                                                                                \
    ROW(base)        /* arena, pool, random numbers, tape */                                       \
    ROW(processors)  /* how many a process may use */                                              \
    ROW(svd)         /* singular values */                                                         \
    ROW(focus)       /* where the rows of an attention matrix look */                              \
    ROW(analysis)    /* the attention matrices of a model */                                       \
    ROW(transfer)    /* the weights of one model in another; what is not trained */                \
    ROW(growth)      /* the same at several lengths, and fits */                                   \
    ROW(optimiser)   /* every optimiser, and the norm of gradients */                              \
    ROW(muon)        /* Muon */                                                                    \
    ROW(schedule)    /* learning rates */                                                          \
    ROW(json)        /* the reader of JSON */                                                      \
    ROW(report)      /* the page of ./report */                                                    \
    ROW(maps)        /* its attention maps */                                                      \
    ROW(derivative)  /* what derivatives are compared with */                                      \
    ROW(ops)         /* every op except attention */                                               \
    ROW(activation)  /* activations at large arguments */                                          \
    ROW(kernel)      /* the kernel of the matrix product, elementary functions */                  \
    ROW(bf16)        /* products of 16-bit operands */                                             \
    ROW(rope)        /* RoPE */                                                                    \
    ROW(attention)   /* every attention against its twin, alone and in a block */                  \
    ROW(delta)       /* states that are corrected, at extreme numbers */                           \
    ROW(features)    /* feature maps: closed forms, extreme rows */                                \
    ROW(masks)       /* what an attention may see */                                               \
    ROW(patterns)    /* rows that see several spans of keys */                                     \
    ROW(promises)    /* what holds for every attention */                                          \
    ROW(placed)      /* attentions whose weights depend on positions, in short */                  \
    ROW(buckets)     /* attentions that sort their keys */                                         \
    ROW(safetensors) /* tensors in files */                                                        \
    ROW(headers)     /* which headers of tensor files are valid */                                 \
    ROW(file)        /* whole files, in and out */                                                 \
    ROW(stories)     /* the built-in text and its exact probability */                             \
    ROW(corpus)      /* text files and batches of them */                                          \
    ROW(tokenizer)   /* text as tokens, and back */                                                \
    ROW(bpe)         /* byte pair encoding, and the pieces of a text */                            \
    ROW(gpt2)        /* the tokenizers of imported models */                                       \
    ROW(masking)     /* what is hidden of a window, and asked of it */                             \
    ROW(synthetic)   /* synthetic tasks, solved again */                                           \
    ROW(draws)       /* what they draw, and how often */                                           \
    ROW(listops)     /* the same of ListOps */                                                     \
    ROW(lra)         /* ListOps from its own files */                                              \
    ROW(cifar)       /* images of CIFAR-10 from its files */                                       \
    ROW(labels)      /* labelled texts from files, and rows of them */                             \
    ROW(omega)       /* Performer's directions */                                                  \
    ROW(decays)      /* states that fade at once, or hardly ever */                                \
    ROW(layers)      /* the layers around a mix */                                                 \
    ROW(model)       /* the whole model */                                                         \
    ROW(classifier)  /* how a model comes to say classes */                                        \
    ROW(config)      /* what follows from a configuration */                                       \
    ROW(sample)      /* samples, and the rules of drawing */                                       \
    ROW(stream)      /* text on a terminal */                                                      \
    ROW(checkpoint)  /* a model as a file */                                                       \
    ROW(saved)       /* what a run needs to go on, and what is no such thing */                    \
    ROW(tape)        /* parts of a step that are made again, and its memory */                     \
    ROW(decode)      /* token by token: states, draws, text on a terminal */                       \
    ROW(evaluate)    /* what a model is judged by */                                               \
    ROW(training)    /* the training loop, and resuming */                                         \
    ROW(stopping)    /* how runs end, and are continued */                                         \
    ROW(display)     /* progress on terminals, and what time a run takes */                        \
    ROW(perplexity)  /* a trained model at other lengths */                                        \
    ROW(tally)       /* right and wrong answers, at any length */                                  \
    ROW(fill)        /* blanks of a text, and what is put there */                                 \
    ROW(plot)        /* the plotter */                                                             \
    ROW(csv)         /* the reader of CSV */                                                       \
    ROW(figure)      /* the cells of ./figure, its tables and charts */                            \
    ROW(tensorboard) /* TensorBoard's files */                                                     \
    ROW(form)        /* a model in the form of another's classes */                                \
    ROW(options)     /* the command line of every program */                                       \
    ROW(settings)    /* the options of attentions, and what rows forbid */                         \
    ROW(attend)      /* ./attend, run */                                                           \
    ROW(members)     /* ./attend: families of attentions, the place of a layer */                  \
    ROW(export)      /* ./export, run */                                                           \
    ROW(import)      /* folders of transformers, as models of ours */                              \
    ROW(vocabulary)  /* tokenizers of such folders */                                              \
    ROW(bench)       /* the rows of ./bench, and what they were before */                          \
    ROW(trained)     /* what programs measure a trained model on */                                \
    ROW(generations) /* the last two checkpoints of a run */                                       \
    ROW(folder)      /* the folder of a run, locked and overwritten */                             \
    ROW(configured)  /* options from a file */                                                     \
    ROW(library)     /* the library, as its users call it */                                       \
    ROW(print)       /* manual pages and completion */

#define SUITE_DECLARE(name) Suite *suite_##name(void);
SUITES(SUITE_DECLARE)

#endif
