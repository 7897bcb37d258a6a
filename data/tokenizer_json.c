/*
 * A tokenizer.json for Hugging Face's tokenizers (0.13 or later, and the JavaScript
 * version). There a token is a string, so bytes need names:
 *
 *     byte, bpe   "ByteLevel": each byte is a character, itself where that is printable, else one
 *     and gpt2    of those from U+0100 on. bpe splits by the pattern of data/pieces.h first, gpt2
 *                 as the library does.
 *     char        "byte_fallback": a character that is no token becomes the tokens <0xE4>, <0xB8>,
 *                 ... of its bytes. Tokens below 128 are ASCII. Nothing is ever joined.
 */
#include "data/bpe.h"
#include "data/tokenizer.h"
#include "ops/base/text.h"

static void json_text(Bytes token, FILE *out)
{
    Text text = { 0 };

    text_add(&text, "%.*s", (int)token.n, (const char *)token.at);
    text_json(text.at, out);
}

static void json_head(const Tokenizer *t, FILE *out)
{
    fputs("{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n"
          "\"added_tokens\": [",
          out);
    for (int i = 0; i < t->specials; i++) {
        fprintf(out, "%s\n{\"id\": %d, \"content\": ", i ? "," : "", t->special[i]);
        json_text(tokenizer_token(t, t->special[i]), out);
        fputs(", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
              "\"normalized\": false, \"special\": true}",
              out);
    }
    fputs("],\n\"normalizer\": null,\n\"post_processor\": null,\n", out);
}

static void json_model(bool byte_fallback, FILE *out)
{
    fprintf(out,
            "\"model\": {\n\"type\": \"BPE\",\n\"dropout\": null,\n\"unk_token\": null,\n"
            "\"continuing_subword_prefix\": null,\n\"end_of_word_suffix\": null,\n"
            "\"fuse_unk\": false,\n\"byte_fallback\": %s,\n\"ignore_merges\": false,\n",
            byte_fallback ? "true" : "false");
}

uint32_t tokenizer_letter(unsigned byte)
{
    const bool low = byte <= ' ', high = byte >= 0x7f && byte <= 0xa0;

    return low ? 0x100 + byte : high ? 0x121 + byte - 0x7f : byte == 0xad ? 0x143 : byte;
}

static Text letters_of(Bytes token)
{
    Text text = { 0 };
    unsigned char letter[5];

    for (size_t i = 0; i < token.n; i++) {
        letter[utf8_encode(letter, tokenizer_letter(token.at[i]))] = 0;
        text_add(&text, "%s", (const char *)letter);
    }
    return text;
}

_Static_assert(2 * BPE_TOKEN_BYTES + 1 + 2 * BPE_TOKEN_BYTES < sizeof((Text *)0)->at,
               "two tokens of two bytes a letter, and a space");

static void json_merge(const Tokenizer *t, uint32_t pair, FILE *out)
{
    Text merge = letters_of(tokenizer_token(t, (int)(pair >> 16)));

    text_add(&merge, " %s", letters_of(tokenizer_token(t, (int)(pair & 0xffff))).at);
    text_json(merge.at, out);
}

static void json_byte_level(bool regex, FILE *out)
{
    fprintf(out,
            "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false, "
            "\"use_regex\": %s}",
            regex ? "true" : "false");
}

static void json_pieces(const TokenizerKind *kind, FILE *out)
{
    const bool two = kind->pattern || kind->digits;

    fputs(two ? "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n"
              : "\"pre_tokenizer\": ",
          out);
    if (kind->pattern) {
        fputs("{\"type\": \"Split\", \"pattern\": {\"Regex\": ", out);
        text_json(kind->pattern, out);
        fputs("},\n \"behavior\": \"Isolated\", \"invert\": false},\n", out);
    }
    if (kind->digits)
        fputs("{\"type\": \"Digits\", \"individual_digits\": true},\n", out);
    json_byte_level(kind->gpt2, out);
    fputs(two ? "]},\n\"decoder\": " : ",\n\"decoder\": ", out);
    json_byte_level(false, out);
    fputs(",\n", out);
}

/* The name of a token in the vocabulary: a special one is its text. */
static void json_name(const Tokenizer *t, int token, FILE *out)
{
    for (int i = 0; i < t->specials; i++)
        if (t->special[i] == token) {
            json_text(tokenizer_token(t, token), out);
            return;
        }
    text_json(letters_of(tokenizer_token(t, token)).at, out);
}

void tokenizer_json_bytes(const Tokenizer *t, FILE *out)
{
    const char *between = "\n";

    json_head(t, out);
    json_pieces(t->kind, out);
    json_model(false, out);
    fputs("\"vocab\": {", out);
    for (int i = 0; i < t->size; i++)
        if (tokenizer_token(t, i).n) {
            fputs(between, out);
            json_name(t, i, out);
            fprintf(out, ": %d", i);
            between = ",\n";
        }
    fputs("},\n\"merges\": [", out);
    for (uint32_t i = 0; i < t->parts.n; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_merge(t, (uint32_t)t->parts.thing[i].n, out);
    }
    fputs("]\n}\n}\n", out);
}

void tokenizer_json_characters(const Tokenizer *t, FILE *out)
{
    json_head(t, out);
    fputs("\"pre_tokenizer\": null,\n\"decoder\": {\"type\": \"Sequence\", \"decoders\": "
          "[{\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}]},\n",
          out);
    json_model(true, out);
    fputs("\"vocab\": {\n\"\\u0000\": 0", out);
    for (int i = 1; i < t->size; i++) {
        fputs(",\n", out);
        if (i >= 0x80 && i < FIRST)
            fprintf(out, "\"<0x%02X>\"", (unsigned)i);
        else
            json_text(tokenizer_token(t, i), out);
        fprintf(out, ": %d", i);
    }
    fputs("},\n\"merges\": []\n}\n}\n", out);
}
