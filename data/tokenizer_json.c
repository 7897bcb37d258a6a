/*
 * A tokenizer.json for Hugging Face's tokenizers (0.13 or later, and the JavaScript
 * version). There a token is a string, so bytes need names:
 *
 *     byte, bpe   "ByteLevel": each byte is a character, itself where that is printable, else one
 *                 of those from U+0100 on. bpe splits by the pattern of data/pieces.h first.
 *     char        "byte_fallback": a character that is no token becomes the tokens <0xE4>, <0xB8>,
 *                 ... of its bytes. Tokens below 128 are ASCII. Nothing is ever joined.
 */
#include "data/bpe.h"
#include "data/tokenizer.h"
#include "ops/base/text.h"

static void json_head(FILE *out)
{
    fputs("{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n"
          "\"added_tokens\": [],\n\"normalizer\": null,\n\"post_processor\": null,\n",
          out);
}

static void json_model(bool byte_fallback, FILE *out)
{
    fprintf(out,
            "\"model\": {\n\"type\": \"BPE\",\n\"dropout\": null,\n\"unk_token\": null,\n"
            "\"continuing_subword_prefix\": null,\n\"end_of_word_suffix\": null,\n"
            "\"fuse_unk\": false,\n\"byte_fallback\": %s,\n\"ignore_merges\": false,\n",
            byte_fallback ? "true" : "false");
}

/* The character that stands for a byte. */
static uint32_t letter_of(unsigned byte)
{
    const bool low = byte <= ' ', high = byte >= 0x7f && byte <= 0xa0;

    return low ? 0x100 + byte : high ? 0x121 + byte - 0x7f : byte == 0xad ? 0x143 : byte;
}

static Text letters_of(Bytes token)
{
    Text text = { 0 };
    unsigned char letter[5];

    for (size_t i = 0; i < token.n; i++) {
        letter[utf8_encode(letter, letter_of(token.at[i]))] = 0;
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

void tokenizer_json_bytes(const Tokenizer *t, FILE *out)
{
    static const char byte_level[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                                     "\"trim_offsets\": false, \"use_regex\": false}";

    json_head(out);
    fputs("\"pre_tokenizer\": ", out);
    if (t->kind->pattern) {
        fputs("{\"type\": \"Sequence\", \"pretokenizers\": [\n"
              "{\"type\": \"Split\", \"pattern\": {\"Regex\": ",
              out);
        text_json(t->kind->pattern, out);
        fputs("},\n \"behavior\": \"Isolated\", \"invert\": false},\n", out);
    }
    fprintf(out, "%s%s,\n\"decoder\": %s,\n", byte_level, t->kind->pattern ? "]}" : "", byte_level);
    json_model(false, out);
    fputs("\"vocab\": {", out);
    for (int i = 0; i < t->size; i++) {
        fputs(i ? ",\n" : "\n", out);
        text_json(letters_of(tokenizer_token(t, i)).at, out);
        fprintf(out, ": %d", i);
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
    json_head(out);
    fputs("\"pre_tokenizer\": null,\n\"decoder\": {\"type\": \"Sequence\", \"decoders\": "
          "[{\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}]},\n",
          out);
    json_model(true, out);
    fputs("\"vocab\": {\n\"\\u0000\": 0", out);
    for (int i = 1; i < t->size; i++) {
        const Bytes token = tokenizer_token(t, i);
        Text text = { 0 };

        if (i >= 0x80 && i < FIRST)
            text_add(&text, "<0x%02X>", (unsigned)i);
        else
            text_add(&text, "%.*s", (int)token.n, (const char *)token.at);
        fputs(",\n", out);
        text_json(text.at, out);
        fprintf(out, ": %d", i);
    }
    fputs("},\n\"merges\": []\n}\n}\n", out);
}
