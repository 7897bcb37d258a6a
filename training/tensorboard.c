/*
 * A file of TensorBoard is a row of records, each an Event of Protocol Buffers:
 *
 *     length      8 bytes, little-endian, like all numbers here
 *     checksum    4 bytes, of the length
 *     event       1: wall time   2: step   3: "brain.Event:2", in the first record,
 *                 or 5: summary, or 7: session log
 *     checksum    4 bytes, of the event
 *
 * A checksum is CRC-32C, rotated by 15 bits, plus a constant, so that data which
 * contains a checksum does not have a constant checksum itself.
 *
 * A field of a message is a key, 8 times its number plus how its value is stored,
 * and the value: a VARINT (seven bits a byte, the lowest first, the top bit set if
 * more follow), FIXED32, FIXED64, or LENGTH, a varint, and that many bytes, which
 * may be another message. So a message is assembled from the inside out.
 *
 *     summary     1: value, for each curve
 *     value       1: tag   2: number, FIXED32   8: tensor   9: metadata
 */
#include "training/tensorboard.h"

#include "ops/base/buffer.h"
#include "ops/base/error.h"
#include "ops/base/file.h"
#include "ops/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VARINT, FIXED64, LENGTH, FIXED32 = 5 };
enum { HOST_BYTES = 256, HEAD = 12 };

struct Tensorboard {
    int fd;
    char path[PATH_BYTES];
    Buffer record, summary, value; /* keep their memory between events */
};

static void put_fixed(Buffer *m, uint64_t x, int bytes)
{
    for (; bytes > 0; bytes--, x >>= 8)
        buffer_add(m, &(unsigned char){ x & 0xff }, 1);
}

static void put_varint(Buffer *m, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        put_fixed(m, x | 0x80, 1);
    put_fixed(m, x, 1);
}

static void put_key(Buffer *m, int field, int stored)
{
    put_varint(m, (uint64_t)(8 * field + stored));
}

static void put_double(Buffer *m, int field, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    put_key(m, field, FIXED64);
    put_fixed(m, bits, 8);
}

static void put_float(Buffer *m, int field, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    put_key(m, field, FIXED32);
    put_fixed(m, bits, 4);
}

static void put_field(Buffer *m, int field, const void *at, size_t bytes)
{
    put_key(m, field, LENGTH);
    put_varint(m, bytes);
    buffer_add(m, at, bytes);
}

static void put_string(Buffer *m, int field, const char *s)
{
    put_field(m, field, s, strlen(s));
}

static uint32_t masked(const void *at, size_t bytes)
{
    const uint32_t crc = hash_crc32c(at, bytes);

    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* Begins the record of an event, behind room for its head. */
static Buffer *event(Tensorboard *t, Instant at)
{
    Buffer *m = &t->record;

    m->n = 0;
    buffer_add(m, (const char[HEAD]){ 0 }, HEAD);
    put_double(m, 1, at.wall);
    if (at.step != 0) { /* a missing field is 0 */
        put_key(m, 2, VARINT);
        put_varint(m, (uint64_t)at.step);
    }
    return m;
}

/* Ends the record, and writes it. */
static void write_event(Tensorboard *t)
{
    Buffer *m = &t->record;
    const size_t all = m->n;

    m->n = 0;
    put_fixed(m, all - HEAD, 8);
    put_fixed(m, masked(m->at, 8), 4);
    m->n = all;
    put_fixed(m, masked(m->at + HEAD, all - HEAD), 4);
    if (!file_append(t->fd, m->at, m->n))
        die(EXIT_IO, "cannot write %.200s: %s", t->path, strerror(errno));
}

/* The values of t->summary. */
static void write_summary(Tensorboard *t, Instant at)
{
    put_field(event(t, at), 5, t->summary.at, t->summary.n);
    write_event(t);
    t->summary.n = 0;
}

static Buffer *value(Tensorboard *t, const char *tag)
{
    t->value.n = 0;
    put_string(&t->value, 1, tag);
    return &t->value;
}

void tensorboard_scalars(Tensorboard *t, Instant at, const Scalar *scalar, int n)
{
    for (int i = 0; i < n; i++) {
        Buffer *m = value(t, scalar[i].tag);

        put_float(m, 2, (float)scalar[i].value);
        put_field(&t->summary, 1, m->at, m->n);
    }
    write_summary(t, at);
}

/* The tensor: 1: its type, strings   2: shape {2: dimension {1: size 1}}   8: the string. */
void tensorboard_text(Tensorboard *t, Instant at, const char *tag, const char *text)
{
    static const char shape[] = { 1 << 3 | VARINT, 7, 2 << 3 | LENGTH, 4,
                                  2 << 3 | LENGTH, 2, 1 << 3 | VARINT, 1 };
    static const char plugin[] = { 1 << 3 | LENGTH, 6, 1 << 3 | LENGTH, 4, 't', 'e', 'x', 't' };
    Buffer tensor = { 0 }, *m = value(t, tag);

    buffer_add(&tensor, shape, sizeof shape);
    put_string(&tensor, 8, text);
    put_field(m, 8, tensor.at, tensor.n);
    put_field(m, 9, plugin, sizeof plugin);
    put_field(&t->summary, 1, m->at, m->n);
    write_summary(t, at);
    free(tensor.at);
}

Instant instant_now(int64_t step)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (Instant){ step, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec };
}

/* events.out.tfevents.SECONDS.HOST.PID.N, with the first N for which there is no such file. */
static void open_new(Tensorboard *t, const char *folder, double wall)
{
    char host[HOST_BYTES] = "";

    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++)
        if (*c == '/' || (unsigned char)*c <= ' ')
            *c = '_';
    for (int i = 0; i == 0 || (t->fd < 0 && errno == EEXIST); i++) {
        const int n = snprintf(t->path, PATH_BYTES, "%s/events.out.tfevents.%010.0f.%.64s.%ld.%d",
                               folder, floor(wall), *host ? host : "localhost", (long)getpid(), i);

        if (n >= PATH_BYTES)
            die(EXIT_IO, "the path %.60s... is too long", folder);
        t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    }
    if (t->fd < 0)
        die(EXIT_IO, "cannot write %.200s: %s", t->path, strerror(errno));
}

Tensorboard *tensorboard_open(const char *folder, Instant start)
{
    static const char started[] = { 1 << 3 | VARINT, 1 };
    Tensorboard *t = xmalloc(sizeof *t);

    *t = (Tensorboard){ .fd = -1 };
    open_new(t, folder, start.wall);
    put_string(event(t, (Instant){ 0, start.wall }), 3, "brain.Event:2");
    write_event(t);
    if (start.step >= 0) {
        put_field(event(t, start), 7, started, sizeof started);
        write_event(t);
    }
    return t;
}

void tensorboard_close(Tensorboard *t)
{
    if (close(t->fd) != 0 && errno != EINTR)
        die(EXIT_IO, "cannot write %.200s: %s", t->path, strerror(errno));
    free(t->record.at), free(t->summary.at), free(t->value.at);
    free(t);
}
