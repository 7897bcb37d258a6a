/* What Hugging Face's libraries write: folders, the JSON in them, and tokenizers. */
#ifndef TOOLS_COMMON_FOREIGN_H
#define TOOLS_COMMON_FOREIGN_H

#include "data/tokenizer.h"
#include "ops/base/json.h"

/* Whether the folder has that file. */
bool foreign_has(const char *dir, const char *name);

/* A file that must be a JSON object; dies (EXIT_DATA) otherwise. */
const Json *foreign_json(Arena *mem, const char *path);

/*
 * The tokenizer of a tokenizer.json, or of a folder with one or with vocab.json and merges.txt,
 * such as a run's, for a model with `vocab` tokens; 0: with as many as the tokenizer. Dies
 * (EXIT_IO, EXIT_DATA).
 */
Tokenizer *foreign_tokenizer(const char *path, int vocab);

/* The same of the path in --tokenizer PATH; NULL: those are words of a tokenizer to be learned.
 * Dies (EXIT_USAGE) if they are neither. */
Tokenizer *foreign_asked(const char *words);

#endif
