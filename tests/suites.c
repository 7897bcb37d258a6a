#include "tests/suites.h"

#include <stddef.h>

Suite *(*const suites[])(void) = {
    suite_base,      suite_processors, suite_svd,         suite_focus,      suite_analysis,
    suite_optimiser, suite_muon,       suite_schedule,    suite_json,       suite_report,
    suite_maps,      suite_derivative, suite_ops,         suite_activation, suite_kernel,
    suite_rope,      suite_attention,  suite_masks,       suite_promises,   suite_safetensors,
    suite_headers,   suite_file,       suite_stories,     suite_corpus,     suite_tokenizer,
    suite_bpe,       suite_masking,    suite_synthetic,   suite_draws,      suite_listops,
    suite_lra,       suite_layers,     suite_model,       suite_config,     suite_sample,
    suite_stream,    suite_checkpoint, suite_tape,        suite_decode,     suite_evaluate,
    suite_training,  suite_stopping,   suite_display,     suite_perplexity, suite_plot,
    suite_csv,       suite_figure,     suite_tensorboard, suite_form,       suite_options,
    suite_settings,  suite_attend,     suite_export,      suite_bench,      NULL,
};
