/* The table of suites. A new one is a file, a line here and a line in suites.c. */
#ifndef TESTS_SUITES_H
#define TESTS_SUITES_H

#include <check.h>

extern Suite *(*const suites[])(void); /* ended by NULL */

Suite *suite_base(void);        /* arena, pool, random numbers, tape */
Suite *suite_processors(void);  /* how many a process may use */
Suite *suite_svd(void);         /* singular values */
Suite *suite_focus(void);       /* where the rows of an attention matrix look */
Suite *suite_analysis(void);    /* the attention matrices of a model */
Suite *suite_optimiser(void);   /* every optimiser, and the norm of gradients */
Suite *suite_muon(void);        /* Muon */
Suite *suite_schedule(void);    /* learning rates */
Suite *suite_json(void);        /* the reader of JSON */
Suite *suite_report(void);      /* the page of ./report */
Suite *suite_maps(void);        /* its attention maps */
Suite *suite_derivative(void);  /* what derivatives are compared with */
Suite *suite_ops(void);         /* every op except attention */
Suite *suite_activation(void);  /* activations at large arguments */
Suite *suite_kernel(void);      /* the kernel of the matrix product, elementary functions */
Suite *suite_rope(void);        /* RoPE */
Suite *suite_attention(void);   /* every attention against its twin, alone and in a block */
Suite *suite_masks(void);       /* what an attention may see */
Suite *suite_promises(void);    /* what holds for every attention */
Suite *suite_safetensors(void); /* tensors in files */
Suite *suite_headers(void);     /* which headers of tensor files are valid */
Suite *suite_file(void);        /* whole files, in and out */
Suite *suite_stories(void);     /* the built-in text and its exact probability */
Suite *suite_corpus(void);      /* text files and batches of them */
Suite *suite_tokenizer(void);   /* text as tokens, and back */
Suite *suite_bpe(void);         /* byte pair encoding, and the pieces of a text */
Suite *suite_masking(void);     /* what is hidden of a window, and asked of it */
Suite *suite_synthetic(void);   /* synthetic tasks, solved again */
Suite *suite_draws(void);       /* what they draw, and how often */
Suite *suite_listops(void);     /* the same of ListOps */
Suite *suite_lra(void);         /* ListOps from its own files */
Suite *suite_layers(void);      /* the layers around a mix */
Suite *suite_model(void);       /* the whole model */
Suite *suite_config(void);      /* what follows from a configuration */
Suite *suite_sample(void);      /* samples, and the rules of drawing */
Suite *suite_stream(void);      /* text on a terminal */
Suite *suite_checkpoint(void);  /* a model as a file */
Suite *suite_tape(void);        /* parts of a step that are made again, and its memory */
Suite *suite_decode(void);      /* token by token: states, draws, text on a terminal */
Suite *suite_evaluate(void);    /* what a model is judged by */
Suite *suite_training(void);    /* the training loop, and resuming */
Suite *suite_stopping(void);    /* how runs end, and are continued */
Suite *suite_display(void);     /* progress on terminals, and what time a run takes */
Suite *suite_perplexity(void);  /* a trained model at other lengths */
Suite *suite_plot(void);        /* the plotter */
Suite *suite_csv(void);         /* the reader of CSV */
Suite *suite_figure(void);      /* the cells of ./figure, its tables and charts */
Suite *suite_tensorboard(void); /* TensorBoard's files */
Suite *suite_form(void);        /* a model in the form of another's classes */
Suite *suite_options(void);     /* the command line of every program */
Suite *suite_settings(void);    /* the options of attentions, and what rows forbid */
Suite *suite_attend(void);      /* ./attend, run */
Suite *suite_export(void);      /* ./export, run */
Suite *suite_bench(void);       /* the rows of ./bench, and what they were before */

#endif
